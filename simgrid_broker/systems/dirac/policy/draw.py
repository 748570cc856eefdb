"""The law of DIRAC's draws: the smallest of U/p wins, U uniform; source: DIRAC reference, sections 9, 10 and 14.

The probability of i among weights q relative to the largest is q_i times the integral over 0 < t < 1 of the product of
(1 - q_j t) over all others. Weights may be repeated: `counts` says how often.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from simgrid_broker.systems.dirac.policy.edition import Edition
from simgrid_broker.systems.dirac.policy.priorities import real_priority
from simgrid_broker.systems.dirac.policy.task_queues import TaskQueue

NODES, DECAY_OF_PANEL, END = 24, 2.0, 45.0
"""Points of Gauss-Legendre in each panel, in which the product falls by exp(-2) or more; it is nothing at exp(-45)."""
ROUNDS = 3
"""Times that DIRAC looks for a job before it gives up; source: DIRAC reference, section 9."""


def chances(weights: Sequence[float] | np.ndarray, counts: Sequence[int] | np.ndarray | None = None) -> np.ndarray:
    """Probability that each weight, with all its repetitions, has the smallest U/p, (n,) float64; 0 for weight 0."""
    weights = np.asarray(weights, np.float64)
    counts = np.ones(len(weights)) if counts is None else np.asarray(counts, np.float64)
    found = np.zeros(len(weights))
    used = (weights > 0) & (counts > 0)
    if not used.any():
        return found
    relative, number = weights[used] / weights[used].max(), counts[used]
    total = relative @ number
    end = min(1.0, END / total)
    panels = int(np.ceil(end * total / DECAY_OF_PANEL))
    points, shares = np.polynomial.legendre.leggauss(NODES)
    sums = np.zeros(len(relative))
    for panel in range(panels):
        width = end / panels
        for t, share in zip(width * (panel + (points + 1) / 2), shares * width / 2, strict=True):
            left = np.log1p(-relative * t)
            sums += share * np.exp(number @ left - left)
    found[used] = relative * number * sums
    return found


def queue_chances(queues: Sequence[TaskQueue], edition: Edition) -> np.ndarray:
    """Probability of each matching task queue to be drawn, (n,); empty ones have 0.

    `documented`: only those of the highest CPU time compete (D1).
    """
    return chances(weights_in_draw(queues, edition))


def weights_in_draw(queues: Sequence[TaskQueue], edition: Edition) -> np.ndarray:
    """Priorities with which matching task queues compete, (n,); 0 for those that do not."""
    waiting = np.array([bool(queue.jobs) for queue in queues], bool)
    if edition.longest_first and waiting.any():
        cpu = np.array([queue.identity.cpu_time for queue in queues])
        waiting &= cpu == cpu[waiting].max()
    return np.where(waiting, [queue.priority for queue in queues], 0.0)


def class_chances(classes: Mapping[int, Sequence[int]]) -> np.ndarray:
    """Probability of each class, jobs of one user priority, to be drawn inside a task queue, (n,)."""
    return chances([real_priority(priority) for priority in classes], [len(jobs) for jobs in classes.values()])


def job_chances(queue: TaskQueue, edition: Edition) -> dict[int, float]:
    """Probability of each job of a task queue once this is drawn; only the oldest of a class have one (D3)."""
    classes = queue.classes
    found: dict[int, float] = {}
    for jobs, chance in zip(classes.values(), class_chances(classes), strict=True):
        oldest = jobs[:edition.window]
        found |= dict.fromkeys(oldest, float(chance) / len(oldest))
    return found


def requested_job_chance(queue: TaskQueue, job: int) -> float:
    """Probability that a job which a request names is found: its class must be drawn in one of three rounds.

    Source: DIRAC reference, 7.8; no window and no negative condition applies.
    """
    classes = queue.classes
    drawn = class_chances(classes)[list(classes).index(queue.jobs[job])]
    return 1.0 - (1.0 - float(drawn)) ** ROUNDS


def smallest_key(weights: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Index of the smallest U/p of each row, (n_draws,), for weights (n,) and uniform numbers (n_draws, n)."""
    with np.errstate(divide="ignore"):
        return np.argmin(np.where(weights > 0, uniforms / weights, np.inf), axis=1)


def drawn_classes(weights: np.ndarray, counts: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Index of the class of each row, (n_draws,): of n jobs of one weight the smallest number is 1 - V^(1/n)."""
    smallest = -np.expm1(np.log(uniforms) / counts)
    return smallest_key(weights, smallest)
