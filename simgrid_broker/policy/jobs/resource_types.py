"""Resource types, and the cores and memory that a job asks for; source: lifecycle reference, sections 1.5 and 2.6;
PanDA's `ResourceSpec` and `JobUtils`."""

from collections.abc import Iterable
from math import isnan
from typing import Any

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.editions import ByEdition
from simgrid_broker.names import ANY_CORES, COMPENSATION, CORES_OF_ANY, RAM_LIMITS_MB
from simgrid_broker.views import Task

PER_CORE_UNITS = ("MBPerCore", "MBPerCoreFixed")
UNDEFINED = -1
HIGH_MEMORY_MB = 2000
"""Memory per core above which a type is one of high memory; source: lifecycle reference, section 1.5."""

OF_ONE_TYPE = ByEdition(documented=False, deployed=True)
"""True if brokers count the jobs of a task's resource type alone, by edition."""


def resource_type_of(bounds: Iterable[Any], corecount: int | None, ramcount: float, ramunit: str,
                     baseramcount: float) -> int:
    """Index of the first type that fits a task, UNDEFINED if none does.

    bounds: objects with mincore, maxcore, minrampercore and maxrampercore, inclusive, MB, None = open. corecount:
    None = 1; ramcount in `ramunit`, NaN = unknown, which adds none; baseramcount in MB. Source: lifecycle reference,
    section 1.5.
    """
    claimed = 0.0 if isnan(ramcount) else ramcount
    cores = 1 if corecount is None else CORES_OF_ANY if corecount == ANY_CORES else corecount
    total = claimed * cores + baseramcount if ramunit in PER_CORE_UNITS else claimed + baseramcount
    ram_per_core = int(COMPENSATION * (total / cores))
    fitting = (index for index, kind in enumerate(bounds) if _within(cores, kind.mincore, kind.maxcore)
               and _within(ram_per_core, kind.minrampercore, kind.maxrampercore))
    return next(fitting, UNDEFINED)


def with_memory(task: Task, level: int, bounds: Iterable[Any]) -> Task:
    """View of a task for inputs with a raised ramCount: memory and resource type are those of their jobs.

    level: of `names.RAM_LIMITS_MB`, from 1 on; bounds: as in `resource_type_of`.
    """
    ramcount = float(np.fmax(task.ramcount, RAM_LIMITS_MB[level - 1]))       # an unknown one is less
    found = resource_type_of(bounds, task.corecount, ramcount, task.ramunit, task.baseramcount)
    return Task.of(vars(task) | dict(
        ramcount=ramcount, resource_type=task.resource_type if found == UNDEFINED else found))


def is_high_memory(kind: Any) -> bool:
    """True if a resource type is of high memory: without an upper bound, or with a high one; lifecycle, 1.5."""
    return kind.maxrampercore is None or kind.maxrampercore > HIGH_MEMORY_MB


def cores_of_worker(kind: Any, corecount: int) -> int:
    """Cores of a worker of a resource type at a queue: its core count for multi-core types, else 1; lifecycle, 1.5."""
    return max(corecount, 1) if kind.mincore is not None and kind.mincore > 1 else 1


@compiled
def job_ramcount(ramcount, per_core, baseramcount, corecount):
    """Memory that a job asks for, MB, with compensation; an unknown ramcount adds none. Source: section 1.5.

    per_core: whether ramcount is in one of PER_CORE_UNITS.
    """
    claimed = 0.0 if isnan(ramcount) else ramcount
    total = claimed * corecount + baseramcount if per_core else claimed
    return int(total * COMPENSATION)


def asked_ramcount(task: Task, queue_corecount: int) -> int:
    """Memory that a job of a task asks for at a queue, MB."""
    cores = job_corecount(task.corecount, queue_corecount)
    return job_ramcount(task.ramcount, task.ramunit in PER_CORE_UNITS, task.baseramcount, cores)


@compiled
def job_corecount(task_corecount, queue_corecount):
    """Cores of the jobs of a task at a queue.

    1 if the task asks for one core or the queue has none; the task's own number where the queue's is -1; else the
    queue's. Source: lifecycle reference, section 2.6, job attributes.
    """
    if task_corecount == 1:
        return 1
    cores = task_corecount if queue_corecount == -1 else queue_corecount
    return cores if cores else 1


def _within(value: float, lowest: float | None, highest: float | None) -> bool:
    return (lowest is None or value >= lowest) and (highest is None or value <= highest)
