"""Harvester's worker modes: pilot streaming, pull and push; source: lifecycle reference, section 5.1."""

from collections.abc import Iterator
from math import exp, inf
from typing import TYPE_CHECKING

import numpy as np

from simgrid_broker.errors import first_three
from simgrid_broker.names import COMPENSATION
from simgrid_broker.systems.worker_mode import WorkerMode, mode_of

if TYPE_CHECKING:                                       # a command that asks for a limit has no need of scenarios
    from simgrid_broker.scenario.model import Scenario
    from simgrid_broker.scenario.work.input_files import Spread
    from simgrid_broker.views import WorkerStatus

MANY = 999_999
"""ATLAS's way to write that there is no limit."""


def as_asked(status: "WorkerStatus") -> np.ndarray:
    """Workers that the server asked for, or one for each fetched job, (n_queues, n_types)."""
    return status.asked


def as_counted(status: "WorkerStatus") -> np.ndarray:
    """Workers for the activated jobs, by a factor, less those that wait, (n_queues, n_types).

    For a queue without statistics one worker, unless one waits or runs. Source: lifecycle reference, section 5.4.
    """
    factor, least = status.limits["pull_factor"], status.limits["pull_least"]
    number = np.maximum(np.floor(status.activated * factor), np.where(status.activated * factor > 0, 1, least))
    none = np.maximum(least[:, None] - status.queued - status.running, 0)
    found = np.where(np.isnan(number)[:, None], none, number[:, None])
    counted = largest_type(status) if status.counted is None else status.counted
    return np.where(counted, np.maximum(found - status.queued, 0), 0)


def largest_type(status: "WorkerStatus") -> np.ndarray:
    """The type of each queue with most cores, then most memory, then the first, (n_queues, n_types) bool."""
    has_most_cores = status.cores == status.cores.max(axis=1, keepdims=True)
    largest = np.argmax(np.where(has_most_cores, status.memory, -np.inf), axis=1)
    return np.arange(status.cores.shape[1]) == largest[:, None]


def few_of_high_memory(scenario: "Scenario") -> Iterator[str]:
    """Unified queues where one worker of a type puts the mean memory above `meanrss`, as no worker is below it.

    Only where work may need the type; source: lifecycle reference, 5.3, step 5.
    """
    work = (*scenario.workload.campaigns, *scenario.workload.users)
    claimed = max((_large(stream.memory_per_core) for stream in work), default=0.0)
    if not scenario.keeps_meanrss:
        return
    bounds = [inf if kind.maxrampercore is None else kind.maxrampercore for kind in scenario.resource_types.values()]
    least, queues = min(bounds), scenario.grid.queues.items()
    short = [name for name, queue in queues
             if queue.pull_ups and least == queue.meanrss < queue.maxrss / max(queue.corecount, 1)]
    types = [name for name, most in zip(scenario.resource_types, bounds, strict=True) if most > least]
    if short and types and claimed * COMPENSATION > least:
        yield (f"{len(short)} queue(s) ({first_three(short)}) hardly get workers of type {' or '.join(types)}: those "
               f"of other types have the {least:.15g} MB per core of meanrss, so that a single larger one puts their "
               "mean above it, and pilot streaming asks for no more; give a smaller type as well (SCORE_LOMEM), a "
               "higher meanrss, or IGNORE_MEANRSS: true.")


def whole_slots_for_small_jobs(scenario: "Scenario") -> Iterator[str]:
    """Unified queues in pull mode, whose workers all have the cores of the queue, with work of fewer cores."""
    least = min((stream.corecount for stream in (*scenario.workload.campaigns, *scenario.workload.users)), default=inf)
    unified = {name: queue.corecount for name, queue in scenario.grid.queues.items()
               if queue.capability == "ucore" and mode_of(queue.workflow) is PULL and queue.corecount > least}
    if unified:
        yield (f"{len(unified)} unified queue(s) ({first_three(list(unified))}) have workflow: pull, so that each "
               f"worker takes the {max(unified.values())} cores of the queue, also for a job of {least} core(s), and "
               "leaves the others unused; with workflow: pull_ups workers have the cores of each resource type.")


def _large(memory: "Spread") -> float:
    """Memory that few of the tasks of a stream exceed, MB: two standard deviations above the median."""
    most = memory.median * exp(2 * memory.sigma)
    return most if memory.max is None else min(most, memory.max)


STREAMING = WorkerMode(
    name="streaming", template="pull_ups",
    asked_by_server=True, fetches_jobs=False, serves_all_types=False, asks_again=True,
    wanted=as_asked, options=(), checks=(), remarks=(few_of_high_memory,), limits=dict(
        production=dict(nQueueLimitWorkerRatio=40, nQueueLimitWorkerMin=100, nQueueLimitWorkerMax=MANY,
                        maxWorkers=MANY, maxNewWorkersPerCycle=150),
        analysis=dict(nQueueLimitWorkerRatio=60, nQueueLimitWorkerMin=100, nQueueLimitWorkerMax=500,
                      maxWorkers=MANY, maxNewWorkersPerCycle=50)))
"""The server says how many workers of each resource type are wanted."""

PULL = WorkerMode(
    name="pull", template="pull",
    asked_by_server=False, fetches_jobs=False, serves_all_types=True, asks_again=True,
    wanted=as_counted, options=(), checks=(), remarks=(whole_slots_for_small_jobs,), limits=dict(
        production=dict(nQueueLimitWorkerRatio=40, nQueueLimitWorkerMin=100, nQueueLimitWorker=1000,
                        maxWorkers=100_000, maxNewWorkersPerCycle=50),
        analysis=dict(nQueueLimitWorkerRatio=100, nQueueLimitWorkerMin=100, nQueueLimitWorkerMax=500,
                      maxWorkers=MANY, maxNewWorkersPerCycle=100)))
"""Harvester counts activated jobs and submits workers of one kind."""

PUSH = WorkerMode(
    name="push", template="push",
    asked_by_server=False, fetches_jobs=True, serves_all_types=False, asks_again=False,
    wanted=as_asked, options=(), checks=(), remarks=(), limits=dict(
        production=dict(nQueueLimitJobRatio=40, nQueueLimitJobMin=100, nQueueLimitJobMax=MANY,
                        nQueueLimitWorker=MANY, maxWorkers=MANY, maxNewWorkersPerCycle=100),
        analysis=dict(nQueueLimitJobRatio=50, nQueueLimitJobMin=100, nQueueLimitJobMax=1000,
                      nQueueLimitWorker=MANY, maxWorkers=MANY, maxNewWorkersPerCycle=100)))
"""Harvester fetches jobs and submits one worker for each. Limits of all modes: formats reference, section 11."""
