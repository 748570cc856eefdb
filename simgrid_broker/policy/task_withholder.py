"""The task withholder: which tasks with heavy input wait because all of it lies where they could not run now.

Source: lifecycle reference, 7.1; brokerage reference, 11.4; panda-server, AtlasTaskWithholderWatchDog.
"""

from typing import NamedTuple

import numpy as np

from simgrid_broker.gdpconfig import jobbroker, task_withholder
from simgrid_broker.names import JobStatus, TaskStatus
from simgrid_broker.views import Gdpconfig

S, T = JobStatus, TaskStatus
QUEUED = (S.DEFINED, S.ASSIGNED, S.ACTIVATED, S.STARTING)
"""Statuses of the jobs that make a queue busy."""
WITHHELD = (T.READY, T.RUNNING, T.SCOUTING)
"""Statuses of the tasks that are looked at."""
LABELS = ("managed",)
"""prodSourceLabels of the tasks that are looked at."""
RUNNING_FACTOR = 2
"""Queued jobs for each running one above which a queue is busy."""


class Limits(NamedTuple):
    """ioIntensity from which, kB/s, and priority below which tasks may be withheld."""

    iointensity: float
    priority: int


def withheld_from(label: str, cfg: Gdpconfig) -> Limits:
    """Limits of the tasks of a label; without keys none is withheld."""
    return Limits(cfg.value(task_withholder.LIMIT_IOINTENSITY, label=label),
                  cfg.value(task_withholder.LIMIT_PRIORITY, label=label))


def concerned(iointensity: np.ndarray, priority: np.ndarray, bound: Limits) -> np.ndarray:
    """Tasks that may be withheld, (n,) bool: of at least the ioIntensity, kB/s, 0 = unknown, and below the priority."""
    return (iointensity >= bound.iointensity) & (priority < bound.priority)


def busy(queued: np.ndarray, running: np.ndarray, gshare: str, cfg: Gdpconfig) -> np.ndarray:
    """Queues with too many queued jobs of a share, (n_queues,) bool: above NQUEUELIMITSITE and twice the running ones.
    """
    return queued > np.maximum(cfg.value(jobbroker.NQUEUELIMITSITE, gshare=gshare), RUNNING_FACTOR * running)


def is_withheld(locations: set[int], closed: set[int]) -> bool:
    """Whether a task waits: some endpoints are busy or closed, and all that have its input are among them."""
    return bool(closed) and locations <= closed
