"""What a snapshot says to analysis brokerage of users, their jobs, shares and sites, for one task."""

from math import nan

import numpy as np

from simgrid_broker.names import SiteClass, TaskClass
from simgrid_broker.scenario.snapshot import OwnerNumbers, Snapshot
from simgrid_broker.scenario.snapshot_task import SnapshotTask
from simgrid_broker.views import USER_AT, Owner, Quota, UserView
from simgrid_broker.world.world import World

OVER, NEAR, UNKNOWN = "over global quota", "close to global limit", "failed to check quota"
"""PanDA's words for a global quota, where a snapshot does not say them."""


def user_view(world: World, snapshot: Snapshot, task: SnapshotTask, share: str) -> UserView:
    """What is known of the user of a task in a share."""
    owner = snapshot.users.get(task.workinggroup or task.username, OwnerNumbers())
    user = snapshot.users.get(task.username, OwnerNumbers())
    used = snapshot.share_usage.get(share)
    numbers = (owner.running_jobs, owner.queued_jobs, owner.running_cores, owner.queued_cores)
    return UserView(
        users_at(world, snapshot, task, share, owner), Owner(*(known(number) for number in numbers)),
        None if task.task_class is None else int(TaskClass[task.task_class]), known(user.rem_slots_A),
        nan if used is None else used.usage, nan if used is None else known(used.equivalent), quota_of(owner))


def known(number: float | None) -> float:
    """A number, NaN = unknown."""
    return nan if number is None else float(number)


def quota_of(owner: OwnerNumbers) -> Quota:
    """The global quota of a user or a working group."""
    words = {"over": OVER, "near": NEAR, "unknown": UNKNOWN}
    message = words.get(owner.quota, "") if owner.quota_message is None else owner.quota_message
    return Quota(owner.quota in ("over", "unknown"), owner.quota == "near", message)


def users_at(world: World, snapshot: Snapshot, task: SnapshotTask, share: str, owner: OwnerNumbers) -> np.ndarray:
    """Users at each PanDA queue, (n_queues,) of `views.USER_AT`."""
    queues, storages = world.vocabularies["queues"], list(world.scenario.grid.storages)
    at = np.zeros(len(queues), USER_AT)
    at["user_queued"] = at["user_running"] = at["users_running"] = nan
    for row in snapshot.user_jobs:
        if row.share == share:
            one = at[queues.index(row.queue)]
            if row.user is None:
                one["users_running"] = row.running
            counted = row.users if row.users is not None else one["n_users"] + (row.user is not None)
            one["n_users"] = max(counted, one["n_users"])
            if row.user == task.username:
                one["user_queued"], one["user_running"] = row.queued, row.running
    full = [storages.index(name) for name in owner.full_storages]
    at["over_quota"] = np.isin(world.analysis_places.output, full)
    for number, name in enumerate(queues):
        told, one = snapshot.queues.get(name), at[number]
        if told is not None:
            one["to_running_rate"] = told.to_running_rate
            one["site_class"] = SiteClass.MID if told.site_class is None else SiteClass.of(told.site_class)
        if (ended := task.ended_jobs.get(name)) is not None:
            one["failed"], one["closed"], one["finished"] = ended.failed, ended.closed, ended.finished
        one["used"] = name in task.used_queues
    return at
