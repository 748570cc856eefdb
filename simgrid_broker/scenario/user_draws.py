"""What is drawn of users: the working group of each, the inputs to which they return, and storms of tasks."""

from typing import NamedTuple

import numpy as np

from simgrid_broker.luck import key_of, uniforms
from simgrid_broker.scenario.arrivals import zipf_ranks
from simgrid_broker.scenario.campaigns import UserActivity

_MEMBER, _GROUP, _FAVOURITE = 52, 53, 54
FAVOURITES, STORM = "/favourites", "/storm"
"""Suffixes of a stream's name that key the places of favourite inputs, and the tasks of storms."""
_MANY = 1 << 20


class StormTasks(NamedTuple):
    """Tasks of all storms of a group of users: arrival, s, user, and number, (n,) each, in order of arrival."""

    arrival_s: np.ndarray
    user: np.ndarray
    number: np.ndarray


def groups_of_users(activity: UserActivity, seed: int) -> np.ndarray:
    """Number of the group of each user in ("", *groups), (n_users,), 0 = none."""
    key, rank = key_of(activity.name), np.arange(activity.users)
    member = uniforms(seed, "task_draw", key, rank, _MEMBER) < activity.in_groups
    group = (uniforms(seed, "task_draw", key, rank, _GROUP) * len(activity.groups)).astype(int)
    return np.where(member, 1 + group, 0)


def favourites(activity: UserActivity, seed: int, key: int, index: np.ndarray,
               user: np.ndarray) -> tuple[int, np.ndarray]:
    """Key and number of the input of each task of a stream, (n,): the same for tasks of a user that read the same."""
    number = zipf_ranks(uniforms(seed, "task_draw", key, index, _FAVOURITE), activity.favourite_inputs, 1.0)
    return key_of(activity.name + FAVOURITES), user * _MANY + number


def storm_tasks(activity: UserActivity, seed: int) -> StormTasks:
    """Tasks of the storms of a group of users; each storm is keyed by its number."""
    size = np.array([storm.tasks for storm in activity.storms], np.int64)
    which = np.repeat(np.arange(len(size)), size)
    number = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
    key = key_of(activity.name + STORM)
    drawn = zipf_ranks(uniforms(seed, "task_arrival", key, np.arange(len(size))), activity.users, activity.zipf)
    user = np.array([drawn[k] if storm.user is None else storm.user - 1 for k, storm in enumerate(activity.storms)],
                    np.int64)
    at, within = (np.array([getattr(storm, name) for storm in activity.storms]) for name in ("at", "within"))
    offset = np.where(number == 0, 0.0, uniforms(seed, "task_arrival", key, which, 8 + number))
    arrival = at[which] + offset * within[which]
    order = np.argsort(arrival, kind="stable")
    return StormTasks(arrival[order], user[which][order], (which * _MANY + number)[order])
