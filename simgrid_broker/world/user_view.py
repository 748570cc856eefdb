"""What analysis brokerage sees of the user of a task in a run."""

from operator import itemgetter

import numpy as np

from simgrid_broker.names import TaskClass
from simgrid_broker.units import HOUR, MINUTE
from simgrid_broker.views import USER_AT, UserView
from simgrid_broker.views import Owner as OwnerView
from simgrid_broker.world.user_jobs import CORES, QUEUED, RUNNING, THROTTLED, Owner
from simgrid_broker.world.world import World

AGE_S = MINUTE
"""Age of the jobs of all users of a share, s; source: brokerage reference, section 11.1."""
OLDEST_TASK_S, OLDEST_SLOTS_S, OLDEST_SITES_S = 15 * MINUTE, 20 * MINUTE, HOUR
"""Ages up to which brokers use classes of tasks and use of shares, slots of users, and classes of queues, s.

Source: brokerage reference, sections 3.1, 11.2 and 11.3.
"""


def user_view(world: World, row: int, now: float, slots_of_class_a: float) -> UserView:
    """The user of the task in a row; slots_of_class_a: USER_USAGE_THRESHOLD_A."""
    task, metrics = world.arrays.tasks[row], world.analysis
    owner = world.user_rows.owner(task)
    if owner is None:
        return UserView(np.zeros(len(world.arrays.queues), USER_AT))
    jeditaskid = int(task["jeditaskid"])
    known = now - metrics.tasks_at <= OLDEST_TASK_S
    task_class = metrics.task_class.get(jeditaskid) if known else None
    shares_known = now - metrics.shares_at <= OLDEST_TASK_S
    return UserView(
        at_queues(world, owner, jeditaskid, now), _owner_view(world, owner),
        None if task_class is None else TaskClass(task_class),
        slots_of_class_a - metrics.in_hi[owner.user] if now - metrics.slots_at <= OLDEST_SLOTS_S else np.nan,
        float(metrics.leaf_usage[owner.share]) if shares_known else np.nan,
        float(metrics.equivalent_usage[owner.share]) if shares_known else np.nan)


def at_queues(world: World, owner: Owner, jeditaskid: int, now: float) -> np.ndarray:
    """The user at each PanDA queue, (n_queues,) of USER_AT."""
    metrics, found = world.analysis, np.zeros(len(world.arrays.queues), USER_AT)
    own = world.arrays.user_jobs[world.user_rows.rows_of_user[owner.user, owner.share]].sum(axis=0)
    there = own[:, (QUEUED, RUNNING)].any(axis=1)
    for name, column in (("user_queued", QUEUED), ("user_running", RUNNING)):
        found[name] = np.where(there, own[:, column], np.nan)
    found["users_running"], found["n_users"] = _of_share(world, owner.share, now)
    found["to_running_rate"] = metrics.to_running_rate
    found["site_class"] = metrics.site_class if now - metrics.sites_at <= OLDEST_SITES_S else 0
    found["failed"], found["closed"], found["finished"] = metrics.ends.of_task(jeditaskid, now)
    found["used"][[*metrics.used.get(jeditaskid, ())]] = True
    return found


def _of_share(world: World, share: int, now: float) -> tuple[np.ndarray, np.ndarray]:
    """Running jobs of all users of a share, and users with jobs of it, at each queue, (n_queues,) each."""
    kept = world.analysis.users_of_share
    if share not in kept or now - kept[share][0] >= AGE_S:
        rows = [(number, owner.user) for number, owner in enumerate(world.user_rows.owners)
                if owner is not None and owner.share == share]
        numbers, users = np.array(sorted(rows, key=itemgetter(1)), np.int64).reshape(-1, 2).T
        table = world.arrays.user_jobs[numbers]
        busy = (table[:, :, QUEUED] > 0) | (table[:, :, RUNNING] > 0)
        first = np.flatnonzero(np.append(True, users[1:] != users[:-1]))               # rows of a user are side by side
        kept[share] = now, table[:, :, RUNNING].sum(axis=0), np.logical_or.reduceat(busy, first).sum(axis=0)
    return kept[share][1:]


def _owner_view(world: World, owner: Owner) -> OwnerView:
    """Jobs and cores of the user without those for groups, or of the working group, at all queues."""
    rows = world.user_rows.rows_of_account[owner.account]
    numbers = world.arrays.user_jobs[rows].sum(axis=(0, 1))
    return OwnerView(float(numbers[RUNNING]), float(numbers[QUEUED] + numbers[THROTTLED]), float(numbers[CORES]),
                     float(world.arrays.user_queued_cores[rows].sum()))
