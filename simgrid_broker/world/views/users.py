"""Views of the user of a task for analysis brokerage, and the fields that the word of a task's row holds for it."""

from functools import cache

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.names import SiteClass, TaskClass
from simgrid_broker.schema.attribute import fields_shown
from simgrid_broker.schema.tasks import UserParameters
from simgrid_broker.units import HOUR, MINUTE
from simgrid_broker.views import UNCLASSIFIED, USER, USER_AT, UserView
from simgrid_broker.views import Owner as OwnerView
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.users.jobs import CORES, NEAR, OVER, QUEUED, RUNNING, THROTTLED
from simgrid_broker.world.users.metrics import CLASSIFIED, TIMES, UserFigures, count_ends
from simgrid_broker.world.world import World

AGE_S = MINUTE
"""Age of the jobs of all users of a share, s; source: brokerage reference, section 11.1."""
OLDEST_TASK_S, OLDEST_SLOTS_S, OLDEST_SITES_S = 15 * MINUTE, 20 * MINUTE, HOUR
"""Ages up to which brokers use classes of tasks and use of shares, slots of users, and classes of queues, s.

Source: brokerage reference, sections 3.1, 11.2 and 11.3.
"""
RECOUNTED = ("counted_at", "users_running", "n_users", "earlier", "last_of_user")
"""Figures that a view replaces when they are too old."""
MID = int(SiteClass.MID)


def user_figures(world: World) -> UserFigures:
    """Figures of users now; the same object as long as nothing is replaced."""
    metrics, rows, kept, output = world.analysis, world.user_rows, world.analysis.figures, world.user_output
    metrics.used.lengthen(len(world.arrays.tasks))
    if kept is None or kept[0] is not metrics.task_class or len(kept[1].task_class) < len(world.arrays.tasks):
        classes = classes_by_row(world)
    else:
        classes = kept[1].task_class
    now = dict(
        owners=rows.table, named=rows.named, earlier=rows.earlier, last_of_user=rows.last_of_user,
        site_class=metrics.site_class, to_running_rate=metrics.to_running_rate, in_hi=metrics.in_hi,
        leaf_usage=metrics.leaf_usage, equivalent_usage=metrics.equivalent_usage,
        counted_at=metrics.counted_at, users_running=metrics.users_running, n_users=metrics.n_users,
        task_class=classes, used=metrics.used.table, used_by=metrics.used.of, ends=metrics.ends.table,
        heads=metrics.ends.heads, account_of_user=output.of_user, account_of_group=output.of_group,
        quota_state=output.state, full=output.full)
    if kept is None:
        figures = UserFigures(times=np.zeros(1, TIMES), **now)
    else:
        known = vars(kept[1])
        changed = {name: array for name, array in now.items() if known[name] is not array}
        figures = kept[1].with_arrays(**changed) if changed else kept[1]
    figures.times[0] = metrics.sites_at, metrics.slots_at, metrics.tasks_at, metrics.shares_at, metrics.ends.window_s
    metrics.figures = metrics.task_class, figures
    return figures


def figures_to_look_at(world: World) -> UserFigures:
    """Figures of users now, of which a recount is no brokerage's: brokers go on with those that they had."""
    figures = user_figures(world)
    return figures.with_arrays(**{name: vars(figures)[name].copy() for name in RECOUNTED})


def classes_by_row(world: World) -> np.ndarray:
    """The class of each task that has one, by its row, (n_tasks,) of CLASSIFIED."""
    classes = np.zeros(len(world.arrays.tasks), CLASSIFIED)
    for jeditaskid, task_class in world.analysis.task_class.items():
        if (row := world.row_of.get(jeditaskid)) is not None:
            classes[row] = jeditaskid, task_class
    return classes


def user_view(world: World, row: int, now: float, slots_of_class_a: float, figures: UserFigures | None = None
              ) -> UserView:
    """The user of the task in a row; slots_of_class_a: USER_USAGE_THRESHOLD_A; figures: default `user_figures`."""
    user, at = np.zeros(1, USER), np.zeros(len(world.arrays.queues), USER_AT)
    if world.user_rows.owner(world.arrays.tasks, row) is None:
        return UserView(at)
    fill_user(world.arrays, figures or user_figures(world), row, now, slots_of_class_a, user[0], at)
    said = dict(zip(USER.names or (), user[0].item(), strict=True))
    task_class = said["task_class"]
    return UserView(
        at, OwnerView(*(said[name] for name in OwnerView._fields)),
        None if task_class == UNCLASSIFIED else TaskClass(task_class), said["rem_slots_a"], said["usage"],
        said["equivalent_usage"], world.user_output.quota_of(world.arrays.tasks[row]))


@compiled
def fill_user(world: Arrays, figures, row, now, slots_of_class_a, user, at):
    """Fill in the user of the task in a row, a record of USER, and `at`, that user at each PanDA queue, of USER_AT.

    The task is of analysis and has a share.
    """
    task, times = world.tasks[row], figures.times[0]
    share, known = task["share"], figures.task_class[row]
    user["task_class"], user["rem_slots_a"] = UNCLASSIFIED, np.nan
    user["usage"] = user["equivalent_usage"] = np.nan
    quota = figures.quota_state[account_of(figures, task)]
    user["over_quota"], user["near_quota"] = quota == OVER, quota == NEAR
    if now - times["tasks_at"] <= OLDEST_TASK_S and known["jeditaskid"] == task["jeditaskid"]:
        user["task_class"] = known["task_class"]
    if now - times["slots_at"] <= OLDEST_SLOTS_S:
        user["rem_slots_a"] = slots_of_class_a - figures.in_hi[task["user"]]
    if now - times["shares_at"] <= OLDEST_TASK_S:
        user["usage"], user["equivalent_usage"] = figures.leaf_usage[share], figures.equivalent_usage[share]
    if now - figures.counted_at[share] >= AGE_S:
        count_users(world, figures, share)
        figures.counted_at[share] = now
    fill_owner(world, figures, task, user)
    fill_queues(world, figures, row, now, at)


@compiled
def account_of(figures, task):
    """Row of the quota of the owner of a task, -1 = none."""
    group = task["working_group"]
    return figures.account_of_group[group] if figures.named[group] else figures.account_of_user[task["user"]]


@compiled
def count_users(world: Arrays, figures, share):
    """Count the running jobs of all users of a share, and its users with jobs, at each queue."""
    owners = figures.owners
    figures.users_running[share, :] = 0.0
    figures.n_users[share, :] = 0.0
    figures.last_of_user[:] = -1
    for row in range(len(owners)):
        if owners[row, 2] == share:
            user = owners[row, 0]
            figures.earlier[row], figures.last_of_user[user] = figures.last_of_user[user], row
            for queue in range(world.user_jobs.shape[1]):
                figures.users_running[share, queue] += world.user_jobs[row, queue, RUNNING]
                if has_jobs(world, row, queue) and not has_had_jobs(world, figures.earlier, row, queue):
                    figures.n_users[share, queue] += 1


@compiled
def has_jobs(world: Arrays, row, queue):
    """True if a row of users counts queued or running jobs at a queue."""
    return world.user_jobs[row, queue, QUEUED] > 0 or world.user_jobs[row, queue, RUNNING] > 0


@compiled
def has_had_jobs(world: Arrays, earlier, row, queue):
    """True if an earlier row of a user and share counts jobs at a queue; earlier: of each row, -1 = none."""
    other = earlier[row]
    while other >= 0 and not has_jobs(world, other, queue):
        other = earlier[other]
    return other >= 0


@compiled
def fill_owner(world: Arrays, figures, task, user):
    """Fill in jobs and cores of the user without those for groups, or of the working group, at all queues."""
    group, owners = task["working_group"], figures.owners
    of_group = figures.named[group]
    user["running_jobs"] = user["queued_jobs"] = user["running_cores"] = user["queued_cores"] = 0.0
    for row in range(len(owners)):
        if (owners[row, 1] == group) if of_group else (owners[row, 0] == task["user"] and owners[row, 1] == -1):
            for queue in range(world.user_jobs.shape[1]):
                jobs = world.user_jobs[row, queue]
                user["running_jobs"] += jobs[RUNNING]
                user["queued_jobs"] += jobs[QUEUED] + jobs[THROTTLED]
                user["running_cores"] += jobs[CORES]
            user["queued_cores"] += world.user_queued_cores[row]


@compiled
def fill_queues(world: Arrays, figures, row, now, at):
    """Fill in the user of a task at each PanDA queue."""
    task, owners, times = world.tasks[row], figures.owners, figures.times[0]
    share, is_used = task["share"], figures.used_by[row] == task["jeditaskid"]
    classes_known, account = now - times["sites_at"] <= OLDEST_SITES_S, account_of(figures, task)
    for queue in range(len(at)):
        one = at[queue]
        one["user_queued"] = one["user_running"] = one["failed"] = one["closed"] = one["finished"] = 0.0
        one["users_running"], one["n_users"] = figures.users_running[share, queue], figures.n_users[share, queue]
        one["to_running_rate"] = figures.to_running_rate[queue]
        one["site_class"] = figures.site_class[queue] if classes_known else MID
        one["used"], one["over_quota"] = is_used and figures.used[row, queue], figures.full[account, queue]
    for other in range(len(owners)):
        if owners[other, 0] == task["user"] and owners[other, 2] == share:
            for queue in range(len(at)):
                at[queue]["user_queued"] += world.user_jobs[other, queue, QUEUED]
                at[queue]["user_running"] += world.user_jobs[other, queue, RUNNING]
    for queue in range(len(at)):
        one = at[queue]
        if one["user_queued"] == 0 and one["user_running"] == 0:
            one["user_queued"] = one["user_running"] = np.nan
    count_ends(figures.ends, figures.heads, task["jeditaskid"], now - times["window_s"], at)


@cache
def fields_of_word(word: str, storages: tuple[str, ...]) -> dict:
    """Fields of `views.Task`, not to be changed, behind a word of the column user_parameters."""
    return fields_shown(UserParameters.of_word(word), {"storages": storages})
