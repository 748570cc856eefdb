"""Draws of jobs from matching task queues, by DIRAC's law, keyed by the task queue, the request and the draw."""

from collections.abc import Iterator, Sequence

import numpy as np

from simgrid_broker.luck import uniforms
from simgrid_broker.policy.dirac.draw import ROUNDS, drawn_classes, smallest_key, weights_in_draw
from simgrid_broker.policy.dirac.edition import Edition
from simgrid_broker.policy.dirac.priorities import real_priority
from simgrid_broker.policy.dirac.task_queues import TaskQueue

AT_ONCE = 1_000_000
"""Uniform numbers that are drawn at once, at most."""

Drawn = list[tuple[TaskQueue, int] | None]
"""The task queue and job of each draw; None for a draw without a job."""


def jobs_drawn(matching: Sequence[TaskQueue], edition: Edition, seed: int, request: int, draws: int) -> Drawn:
    """The job of each draw from matching task queues; every draw finds all jobs."""
    weights = weights_in_draw(matching, edition)
    if not draws or not weights.any():
        return [None] * draws
    of_draw = np.concatenate(list(_queues_drawn(matching, weights, seed, request, draws)))
    found: Drawn = [None] * draws
    for place in np.unique(of_draw):
        numbers = np.nonzero(of_draw == place)[0]
        queue = matching[place]
        for number, job in zip(numbers, _jobs_of(queue, edition, seed, request, numbers), strict=True):
            found[number] = queue, job
    return found


def named_job_drawn(queue: TaskQueue | None, job: int, seed: int, request: int, draws: int) -> Drawn:
    """Each draw of a job that a request names: found if its class is drawn in one of the rounds."""
    if queue is None:
        return [None] * draws
    numbers = np.arange(draws)
    found = np.zeros(draws, bool)
    for turn in range(ROUNDS):
        drawn = _classes_of(queue, seed, request, numbers * ROUNDS + turn)
        found |= np.array(list(queue.classes))[drawn] == queue.jobs[job]
    return [(queue, job) if hit else None for hit in found]


def _queues_drawn(matching: Sequence[TaskQueue], weights: np.ndarray, seed: int, request: int,
                  draws: int) -> Iterator[np.ndarray]:
    names = np.array([min(queue.jobs, default=0) for queue in matching])
    step = max(1, AT_ONCE // len(matching))
    for first in range(0, draws, step):
        numbers = np.arange(first, min(first + step, draws))
        yield smallest_key(weights, uniforms(seed, "dirac_queue", numbers[:, None], names[None, :], request))


def _classes_of(queue: TaskQueue, seed: int, request: int, numbers: np.ndarray) -> np.ndarray:
    """Index of the class of each draw."""
    classes = queue.classes
    priorities = np.array(list(classes))
    keys = uniforms(seed, "dirac_class", numbers[:, None], priorities[None, :], _key(queue, request))
    return drawn_classes(np.array([real_priority(priority) for priority in classes]),
                         np.array([len(jobs) for jobs in classes.values()]), keys)


def _jobs_of(queue: TaskQueue, edition: Edition, seed: int, request: int, numbers: np.ndarray) -> list[int]:
    """The job of each draw that drew a task queue: one of the oldest of the class that it drew."""
    oldest = [jobs[:edition.window] for jobs in queue.classes.values()]
    places = uniforms(seed, "dirac_job", numbers, _key(queue, request))
    return [oldest[k][int(place * len(oldest[k]))]
            for k, place in zip(_classes_of(queue, seed, request, numbers), places, strict=True)]


def _key(queue: TaskQueue, request: int) -> int:
    return min(queue.jobs) * 1_000_003 + request
