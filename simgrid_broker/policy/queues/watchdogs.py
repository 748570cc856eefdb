"""Watchdogs of queues: status by functional tests, whose thresholds are scenario values as no public source gives them,
and the queue filler, which pins tasks to queues that have too little to do.

Source: lifecycle reference, 7.1; panda-server, AtlasQueueFillerWatchDog.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from simgrid_broker.editions import ByEdition
from simgrid_broker.gdpconfig import queue_filler
from simgrid_broker.names import QueueStatus, TaskStatus
from simgrid_broker.policy.software.check import takes_images
from simgrid_broker.units import HOUR, MINUTE
from simgrid_broker.views import Gdpconfig
from simgrid_broker.views.candidates import QueueSoftware

FILLS_QUEUES = ByEdition(documented=False, deployed=True)
"""True if the queue filler runs, by edition."""


def status_after(outcomes: Sequence[bool], status: QueueStatus, set_aside: bool, failures: int,
                 successes: int) -> QueueStatus | None:
    """New status of a queue by the outcomes of its tests, the last one last; None = it stays.

    A queue that is online is set to test after so many failures in a row; one that was set aside so, and is in test
    still, is online again after so many successes in a row. What operators have set otherwise stays.
    """
    if status == QueueStatus.ONLINE and len(outcomes) >= failures and not any(outcomes[-failures:]):
        return QueueStatus.TEST
    if status == QueueStatus.TEST and set_aside and len(outcomes) >= successes and all(outcomes[-successes:]):
        return QueueStatus.ONLINE
    return None


T = TaskStatus
LABEL = "managed"
"""prodSourceLabel of the tasks that are pinned."""
SERVED = (T.READY, T.RUNNING)
"""Statuses of the tasks that are pinned, and stay so."""
LEAST_RATE = 0.6
"""Jobs that must have begun to run at a queue in an hour, unless it is of a kind that seldom runs."""
LEAST_JOBS, RUNNING_FACTOR = 20, 2
"""Jobs that a queue should have at hand: at least so many, and so many for each running one."""
FILLED_TO, FULL_FROM = 0.25, 0.375
"""Parts of these below which a queue is filled, and above which its tasks are released."""
EMPTY_S = 30 * MINUTE
"""Time for which a queue must have had too little to do, s; one with slots of its own need not wait."""
REASSIGN_S = 5 * MINUTE
"""Time from pinning a task to closing some of its jobs elsewhere, s."""
LISTED_S = 12 * HOUR
"""Time for which a task that was released for itself is not pinned again, s, from the beginning of that hour."""
MEMORY_PART = 0.95
"""Part of the memory of a job that must be below the limit of the queue."""
ONLY_SIMULATION, NO_SIMULATION = "simul", "type=simul:0%"
"""Processing type to which a queue with a `fairsharepolicy` is held, and the policy that rules it out."""
ARM, X86 = "aarch64", "x86_64"


class Limits(NamedTuple):
    """Tasks that are pinned to a queue and resource type; files that each needs: ready, in fat containers, remaining.
    """

    tasks: int
    ready: int
    ready_in_container: int
    remaining: int


def limits_of_filling(cfg: Gdpconfig) -> Limits:
    """Limits in force."""
    keys = (queue_filler.MAX_PREASSIGNED_TASKS, queue_filler.MIN_FILES_READY, queue_filler.MIN_FILES_READY_FC,
            queue_filler.MIN_FILES_REMAINING)
    return Limits(*(cfg.value(key, label=LABEL) for key in keys))


class Work(NamedTuple):
    """Work of queues, (n_queues,) each: jobs that run, and that are activated or starting; slots of its own
    (Harvester_Slots, 0 = none) in jobs; and jobs that began to run in an hour."""

    running: np.ndarray
    waiting: np.ndarray
    standby: np.ndarray
    rate: np.ndarray


def jobs_to_fill(work: Work) -> np.ndarray:
    """Jobs that each queue lacks, (n_queues,); none if not above 0."""
    wanted = np.maximum(LEAST_JOBS, RUNNING_FACTOR * np.maximum(work.running, work.standby))
    return FILLED_TO * wanted - work.waiting


def may_be_filled(work: Work, seldom_runs: np.ndarray, slots: np.ndarray) -> np.ndarray:
    """Queues at which jobs start often enough, (n_queues,) bool.

    seldom_runs: for ARM or fat containers alone, which may stand idle for days; slots: those of its own, 0 = none.
    """
    return seldom_runs | (slots > 0) | (work.rate >= LEAST_RATE)


def is_full(work: Work) -> np.ndarray:
    """Queues with enough to do, (n_queues,) bool: the tasks that are pinned to them are released."""
    return work.waiting > np.maximum(FULL_FROM * np.maximum(LEAST_JOBS, RUNNING_FACTOR * work.running), work.standby)


def is_for_arm_alone(software: QueueSoftware) -> bool:
    """True if a queue runs software for ARM alone, by the first CPUs that it publishes."""
    published = software.published
    arch = next((one.arch or () for one in published.architectures if one.type == "cpu"), ()) if published else ()
    return ARM in arch and ("excl" in arch or X86 not in arch)


def fat_containers(software: QueueSoftware) -> tuple[str, ...] | None:
    """Fat containers that a queue has, if it runs nothing else; None if it is no such queue."""
    published = software.published
    if published is None or takes_images(published):
        return None
    return tuple(tag.container_name for tag in published.tags if tag.container_name)


def processing_type(fairsharepolicy: str) -> str | None:
    """Processing type to which the tasks for a queue are held, "" = any; None: no task may be pinned to it."""
    if not fairsharepolicy:
        return ""
    return None if NO_SIMULATION in fairsharepolicy else ONLY_SIMULATION


def fits_memory(task: Mapping[str, np.ndarray], per_core: np.ndarray, cores: int, maxrss_mb: float) -> np.ndarray:
    """Tasks whose jobs have memory at a queue, (n,) bool; task: columns in MB; per_core: what `ramcount` counts."""
    need = task["baseramcount"] + task["ramcount"] * np.where(per_core, cores, 1)
    return need * MEMORY_PART < maxrss_mb


def has_files(ready: np.ndarray, remaining: np.ndarray, in_container: bool, bound: Limits) -> np.ndarray:
    """Tasks with files enough, (n,) bool; ready: of which jobs can be made now; remaining: without a job so far."""
    return (ready >= (bound.ready_in_container if in_container else bound.ready)) & (remaining >= bound.remaining)


def by_priority(priority: np.ndarray) -> np.ndarray:
    """Places of tasks in the order in which they are pinned, (n,): the highest priority first."""
    return np.argsort(-priority.astype(np.int64), kind="stable")


def jobs_to_close(lacking: float) -> int:
    """Jobs of a pinned task that are closed at other queues."""
    return int(lacking / 3)
