"""What analysis brokerage knows of users in a running world, as plain values of a snapshot."""

from collections.abc import Iterable

import numpy as np

from simgrid_broker.names import SiteClass, TaskClass
from simgrid_broker.views import UserView
from simgrid_broker.world.views.users import user_view
from simgrid_broker.world.world import World


def of_users(world: World, rows: Iterable[int], slots_of_class_a: float) -> tuple[dict, dict[int, dict]]:
    """Users, their jobs and the use of shares, for some analysis tasks, and what their tasks say, by row."""
    words, now = world.vocabularies, float(world.state["now_s"])
    users: dict[str, dict] = {}
    jobs: dict[tuple, dict] = {}
    usage: dict[str, dict] = {}
    tasks: dict[int, dict] = {}
    for row in rows:
        task, seen = world.arrays.tasks[row], user_view(world, row, now, slots_of_class_a)
        user, group, share = (words[kind][task[column]] for kind, column in (
            ("users", "user"), ("working_groups", "working_group"), ("shares", "share")))
        users.setdefault(group or user, {}).update(_known(seen.owner._asdict()))
        users.setdefault(user, {}).update(_known(dict(rem_slots_A=seen.rem_slots_a)))
        users[group or user].update(_quota(seen, world.user_output.full_storages(task)))
        usage[share] = _known(dict(usage=seen.usage, equivalent=seen.equivalent_usage))
        jobs |= {(one["queue"], share, one.get("user")): one for one in _jobs(words, seen, user, share)}
        tasks[row] = _task(words, seen)
    return dict(users=users, user_jobs=list(jobs.values()),
                share_usage={share: one for share, one in usage.items() if "usage" in one}), tasks


def of_queues(world: World) -> dict[str, dict]:
    """Classes and rates of the PanDA queues, by name."""
    metrics = world.analysis
    return {name: dict(site_class=SiteClass(int(number)).word, to_running_rate=rate)
            for name, number, rate in zip(world.vocabularies["queues"], metrics.site_class.tolist(),
                                          metrics.to_running_rate.tolist(), strict=True)}


def _quota(seen: UserView, full: list[str]) -> dict:
    """The quotas of an owner, as far as they are used up or nearly so; full: endpoints without room."""
    said: dict = dict(full_storages=full) if full else {}
    if seen.quota.message:
        said |= dict(quota="over" if seen.quota.over else "near", quota_message=seen.quota.message)
    return said


def _known(numbers: dict) -> dict:
    """The numbers that are known."""
    return {name: float(value) if name.startswith(("rem", "usage", "equi")) else int(value)
            for name, value in numbers.items() if not np.isnan(value)}


def _jobs(words, seen: UserView, user: str, share: str) -> Iterable[dict]:
    """Jobs of a user, and of all users together, at each PanDA queue."""
    for name, one in zip(words["queues"], seen.at, strict=True):
        if not np.isnan(one["user_queued"]):
            yield dict(queue=name, share=share, user=user, queued=int(one["user_queued"]),
                       running=int(one["user_running"]))
        if not np.isnan(one["users_running"]):
            yield dict(queue=name, share=share, running=int(one["users_running"]), users=int(one["n_users"]))


def _task(words, seen: UserView) -> dict:
    """Class of a task, ended jobs, and the queues that it has used."""
    ended = {name: {kind: int(one[kind]) for kind in ("failed", "closed", "finished") if one[kind]}
             for name, one in zip(words["queues"], seen.at, strict=True)}
    return dict(task_class=None if seen.task_class is None else TaskClass(seen.task_class).name,
                ended_jobs={name: numbers for name, numbers in ended.items() if numbers},
                used_queues=[name for name, one in zip(words["queues"], seen.at, strict=True) if one["used"]])
