"""Build jobs: what they ask for, how long their library is used, and when their failures break a task.

Source: lifecycle reference, 1.5, 2.6 and 3.5; panda-server, JobGenerator; JEDI TWiki, broken tasks.
"""

from math import inf

from simgrid_broker.gdpconfig import jobgen
from simgrid_broker.units import DAY, HOUR
from simgrid_broker.views import Gdpconfig

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
