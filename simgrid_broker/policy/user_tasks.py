"""What the server and JEDI's refiner set for tasks of users; only the production code is known.

Sources: lifecycle reference, sections 2.6, 3.5, 8.1 and 8.5.
"""

from simgrid_broker.gdpconfig import pandaserver_dbproxy, taskrefiner
from simgrid_broker.names import JUMP_OVER_PRIORITY, USER_PRIORITY, TaskStatus
from simgrid_broker.units import HOUR
from simgrid_broker.views import Gdpconfig

T = TaskStatus
ACTIVE = (T.REGISTERED, T.DEFINED, T.READY, T.SCOUTING, T.RUNNING, T.PAUSED, T.THROTTLED)
"""Statuses in which a task counts for MAX_ACTIVE_TASKS_PER_USER."""
USER_PRIORITIES = 900, 1100
"""Range of priorities that analysis tasks may choose."""
GROUP, USER = "group", "user"
"""Types of an entry of USER_JOB_PRIO_BOOST_DICTS."""


def user_priority(priority: int) -> int:
    """Priority of an analysis task in the deployed edition: kept from 900 to 1100 and from 1500 on, otherwise 1000.

    A priority of 1500 or more marks users who may jump the queue.
    """
    low, high = USER_PRIORITIES
    return priority if low <= priority <= high or priority >= JUMP_OVER_PRIORITY else USER_PRIORITY


def most_active_tasks(label: str, cfg: Gdpconfig) -> int | None:
    """Active tasks of a label that a user may have when one more is accepted, None = any number."""
    return cfg.value(pandaserver_dbproxy.MAX_ACTIVE_TASKS_PER_USER, label=label)


def priority_boost(user: str, working_group: str, cfg: Gdpconfig) -> int:
    """What is added to the priority of a user's jobs in place of the reduction by live jobs, 0 = neither.

    The first entry that names the user, or the working group of the task, decides.
    """
    for entry in cfg.value(pandaserver_dbproxy.USER_JOB_PRIO_BOOST_DICTS) or ():
        if entry["name"] == (working_group if entry["type"] == GROUP else user):
            return int(entry["prio"])
    return 0


def most_cores(cfg: Gdpconfig) -> int:
    """maxCoreCount of analysis tasks that say none."""
    return cfg.value(taskrefiner.USER_TASKS_MAX_CORE_COUNT)


def target_walltime_s(cfg: Gdpconfig) -> float | None:
    """maxWalltime of analysis tasks whose jobs are cut from files, s; None = as long as the queue allows."""
    hours = cfg.value(taskrefiner.USER_JOB_TARGET_WALLTIME)
    return None if hours is None else hours * HOUR
