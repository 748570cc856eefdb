"""Settings of tasks of users by the server and the refiner of JEDI, of which only the production code is known; and
their build jobs: what they ask for, how long their library is used, and when their failures break a task.

Sources: lifecycle reference, 1.5, 2.6, 3.5, 8.1 and 8.5; panda-server, JobGenerator; JEDI TWiki, broken tasks.
"""

from math import inf
from typing import NamedTuple

from simgrid_broker.editions import ByEdition
from simgrid_broker.gdpconfig import jobgen, pandaserver_dbproxy, taskrefiner
from simgrid_broker.names import JUMP_OVER_PRIORITY, USER_PRIORITY, TaskStatus
from simgrid_broker.units import DAY, HOUR
from simgrid_broker.views import Gdpconfig

T = TaskStatus
ACTIVE = (T.REGISTERED, T.DEFINED, T.READY, T.SCOUTING, T.RUNNING, T.PAUSED, T.THROTTLED)
"""Statuses in which a task counts for MAX_ACTIVE_TASKS_PER_USER."""
MOVING_PRIORITY = 1001
"""Priority of tasks whose input may be moved; source: lifecycle reference, section 3.5."""
USER_PRIORITIES = 900, 1100
"""Range of priorities that analysis tasks may choose."""
GROUP, USER = "group", "user"
"""Types of an entry of USER_JOB_PRIO_BOOST_DICTS."""


class Terms(NamedTuple):
    """Terms in which the editions differ.

    refines: priority, cores and wall time of tasks of users are set on arrival; limits_tasks: a user with too many
    active tasks is refused another one.
    """

    refines: bool
    limits_tasks: bool


TERMS = ByEdition(documented=Terms(refines=False, limits_tasks=False), deployed=Terms(refines=True, limits_tasks=True))


def user_priority(priority: int, jumps: bool) -> int:
    """Priority of an analysis task in the deployed edition: kept from 900 to 1100, otherwise 1000.

    That of a task that jumps the queue is at least 1500.
    """
    low, high = USER_PRIORITIES
    if jumps:
        return max(priority, JUMP_OVER_PRIORITY)
    return priority if low <= priority <= high else USER_PRIORITY


def jumps_the_queue(permissions: str, in_group: bool) -> bool:
    """True if a task may jump the queue: GRIDPREF of its user has s, or g and the task has a working group."""
    return "s" in permissions or ("g" in permissions and in_group)


def moves_input(uniform: float, cfg: Gdpconfig) -> bool:
    """True if a task is among the USER_TASKS_MOVE_INPUT % whose priority lets input be moved."""
    percent = cfg.value(taskrefiner.USER_TASKS_MOVE_INPUT)
    return percent is not None and 100 * uniform < percent


def most_active_tasks(label: str, cfg: Gdpconfig) -> int | None:
    """Active tasks of a label that a user may have when one more is accepted, None = any number."""
    return cfg.value(pandaserver_dbproxy.MAX_ACTIVE_TASKS_PER_USER, label=label)


def priority_boost(user: str, working_group: str, cfg: Gdpconfig) -> int:
    """Points added to the priority of a user's jobs in place of the reduction by live jobs, 0 = neither.

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


PRIORITY = 2000
"""Priority of a build job, to which that of USER_JOB_PRIO_BOOST_DICTS is added."""
MB_PER_CORE = 2000.0
"""Memory that a build job asks for, by core, if the queue has as much."""
LIBRARY_S = 7 * DAY
"""Age up to which jobs use a library."""
FAILURES = 3
"""Failed build jobs that break a scouting task."""
BUILD_FAILURES = "build_failures"
"""Why they do, as errorDialog of the task holds it."""


def corecount(task_corecount: int, is_unified: bool, queue_corecount: int) -> int:
    """Cores of a build job: one of a task with one core and at a unified queue, else those of the queue."""
    return 1 if task_corecount == 1 or is_unified else max(1, queue_corecount)


def memory_asked(cores: int, maxrss_mb: float) -> float:
    """Memory that a build job asks for, MB; maxrss_mb: of the queue, inf = no limit."""
    return min(MB_PER_CORE * cores, maxrss_mb)


def max_walltime_s(cfg: Gdpconfig) -> float:
    """Limit of the wall time of build jobs, without baseWalltime, s; inf = that of their queue."""
    hours = cfg.value(jobgen.BUILD_JOB_MAX_WALLTIME)
    return inf if hours is None else hours * HOUR


def is_usable(made_s: float, now: float) -> bool:
    """True if jobs use a library that was made at a time, NaN = it is not made."""
    return now - made_s <= LIBRARY_S


def breaks_task(failures: int, is_scouting: bool) -> bool:
    """True if so many failed build jobs break a task."""
    return is_scouting and failures >= FAILURES
