"""JEDI's analysis watchdog: throttles the tasks of users and groups with too many jobs, and of users who move too much.

Source: brokerage reference, section 11.4; lifecycle reference, section 2.10. For their jobs the JEDI TWiki throttles
jobs only, which `policy.user_caps` does.
"""

from typing import NamedTuple

import numpy as np

from simgrid_broker.gdpconfig import anal_watchdog, prio_mgr
from simgrid_broker.names import ThrottledBy
from simgrid_broker.units import GB, GIB
from simgrid_broker.views import Gdpconfig

C = ThrottledBy

BEGIN, END = 0.95, 0.85
"""Fractions of a cap above which tasks are throttled, and up to which they are released."""
QUEUED_OVER_CAP = 2
"""Jobs or cores of an owner that may be queued, as a multiple of the cap of running ones."""
WAIT_S = 7200.0
"""Time after which a throttled task is looked at again whatever its owner has, s; source: lifecycle reference, 2.10."""


class Work(NamedTuple):
    """Jobs and cores of owners, (n,) each; queued: defined, assigned, activated, starting and throttled."""

    running_jobs: np.ndarray
    queued_jobs: np.ndarray
    running_cores: np.ndarray
    queued_cores: np.ndarray


class Moving(NamedTuple):
    """Input on its way to jobs of users, bytes, (n,) each: from tape, and from disk."""

    prestaging: np.ndarray
    transfer: np.ndarray


class Limit(NamedTuple):
    """A number of an owner with the value above which tasks are throttled and that up to which they are released."""

    cause: ThrottledBy
    throttles: np.ndarray
    releases: np.ndarray


def work_limits(is_group: np.ndarray, cfg: Gdpconfig) -> list[Limit]:
    """The limits of owners, users or groups, in the order of `Work`; infinite where a cap is unset.

    Running jobs of groups, and running cores of both, are compared with the cap itself, everything else with 95 % of
    it, as the production code does.
    """
    jobs, cores = (np.where(is_group, _cap(of_group, cfg), _cap(of_user, cfg)) for of_user, of_group in (
        (prio_mgr.CAP_RUNNING_USER_JOBS, prio_mgr.CAP_RUNNING_GROUP_JOBS),
        (prio_mgr.CAP_RUNNING_USER_CORES, prio_mgr.CAP_RUNNING_GROUP_CORES)))
    return [Limit(C.RUNNING_JOBS, np.where(is_group, jobs, BEGIN * jobs), END * jobs),
            Limit(C.QUEUED_JOBS, QUEUED_OVER_CAP * BEGIN * jobs, QUEUED_OVER_CAP * END * jobs),
            Limit(C.RUNNING_CORES, cores, END * cores),
            Limit(C.QUEUED_CORES, QUEUED_OVER_CAP * BEGIN * cores, QUEUED_OVER_CAP * END * cores)]


def exceeded(work: Work, bounds: list[Limit]) -> np.ndarray:
    """Position of the first limit that each owner exceeds, (n,), -1 = none."""
    exceeds = np.array([number > limit.throttles for number, limit in zip(work, bounds, strict=True)])
    return np.where(exceeds.any(axis=0), exceeds.argmax(axis=0), -1)


def far_below(work: Work, bounds: list[Limit]) -> np.ndarray:
    """Which owners are far enough below all limits for their tasks to go on, (n,) bool."""
    return np.logical_and.reduce([number <= limit.releases for number, limit in zip(work, bounds, strict=True)])


def least_bytes(cfg: Gdpconfig) -> float:
    """Input on its way up to which no user has too much, in either edition."""
    return GB * min(cfg.value(anal_watchdog.USER_PRESTAGE_LIMIT), cfg.value(anal_watchdog.USER_TRANSFER_LIMIT))


def by_user(user: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray, Moving]:
    """Users with input on its way, the place of each part among them, and their sums.

    user: of each part, (k,); size: its bytes from tape and from disk, (k, 2).
    """
    users, place = np.unique(user, return_inverse=True)
    place = place.ravel()
    return users, place, Moving(*(np.bincount(place, part, len(users)) for part in size.T))


def moves_too_much(moving: Moving, cfg: Gdpconfig, edition: str) -> Moving:
    """For which of the two users have too much input on its way, (n,) bool each.

    The documentation compares tape and disk together with USER_PRESTAGE_LIMIT, and throttles for both; the deployed
    edition compares each with a limit of its own, in whole GiB. Source: JEDI TWiki, throttled jobs and tasks, whose
    PRESTAGE_LIMIT is the key's former name; lifecycle reference, section 2.10.
    """
    if edition == "documented":
        above = (moving.prestaging + moving.transfer) / GB > cfg.value(anal_watchdog.USER_PRESTAGE_LIMIT)
        return Moving(above, above)
    return Moving(moving.prestaging // GIB > cfg.value(anal_watchdog.USER_PRESTAGE_LIMIT),
                  moving.transfer // GIB > cfg.value(anal_watchdog.USER_TRANSFER_LIMIT))


def _cap(key, cfg: Gdpconfig) -> float:
    """A cap under gdpconfig; infinite if it is unset."""
    return cfg.value(key) or np.inf
