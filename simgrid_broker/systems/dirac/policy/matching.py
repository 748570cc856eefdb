"""Matching of requests with task queues, and the law of draws among these: the smallest of U/p wins, U uniform.

The probability of i among weights q relative to the largest is q_i times the integral over 0 < t < 1 of the product of
(1 - q_j t) over all others. Weights may be repeated: `counts` says how often. Source: DIRAC reference, sections 9, 10
and 14.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simgrid_broker.systems.dirac.policy.priorities import real_priority
from simgrid_broker.systems.dirac.policy.request import Condition, Edition, Request, cpu_time, negative_condition
from simgrid_broker.systems.dirac.policy.task_queues import Identity, TaskQueue


@dataclass(frozen=True)
class Failure:
    """The first condition that a task queue fails: the values of both sides, and the reason in words."""

    condition: Condition
    queue: dict[str, Any]
    request: dict[str, Any]
    reason: str


def failures(queues: Sequence[TaskQueue], request: Request, edition: Edition) -> list[Failure | None]:
    """The first failed condition of each task queue; None for those that match."""
    if "JobID" in request.values:
        request = replace(request, bans=())            # not applied to a job that is named: DIRAC reference, 7.8
    return [_first(queue, request, edition) for queue in queues]


def _first(queue: TaskQueue, request: Request, edition: Edition) -> Failure | None:
    fields = queue.identity.fields(edition)
    for condition in edition.conditions:
        if not condition.met(fields, request):
            return Failure(condition, {name: fields[name] for name in condition.queue},
                           {name: request.values[name] for name in condition.request if name in request.values},
                           condition.reason(fields, request))
    return None


class Acceptance:
    """The conditions of an edition for requests of several kinds, whose CPU time may change from one to the next."""

    def __init__(self, edition: Edition, requests: Sequence[Request]) -> None:
        self.edition, self.requests = edition, requests
        limited = any(request.bans for request in requests)
        self.conditions = [condition for condition in edition.conditions
                           if condition is not cpu_time and (limited or condition is not negative_condition)]
        self._known: dict[tuple[str, Hashable], np.ndarray] = {}
        self._kinds = {condition.name: self._alike(condition) for condition in self.conditions}
        self._offers = {condition.name: self._offers_of(condition.request[0]) for condition in self.conditions
                        if condition.membership and not any(request.named_ce for request in requests)}

    def of(self, identity: Identity) -> np.ndarray:
        """Kinds of requests that a task queue matches if they offer its CPU time, (n_kinds,) bool."""
        fields, found = identity.fields(self.edition), np.ones(len(self.requests), bool)
        for condition in self.conditions:
            key = condition.name, tuple(fields[name] for name in condition.queue)
            if key not in self._known:
                self._known[key] = self._met(condition, fields)
            found &= self._known[key]
        return found

    def _met(self, condition: Condition, fields: Mapping[str, Any]) -> np.ndarray:
        """Kinds of requests for which a task queue meets a condition, (n_kinds,) bool."""
        if condition.name in self._offers:
            named, nothing = fields[condition.queue[0]], self._offers[condition.name][None]
            met = nothing.copy() if named else np.ones(len(self.requests), bool)
            for value in named:
                met |= self._offers[condition.name].get(value, False)
            return met
        first, kind = self._kinds[condition.name]
        return np.array([condition.met(fields, self.requests[k]) for k in first], bool)[kind]

    def _offers_of(self, field: str) -> dict[Any, np.ndarray]:
        """Kinds of requests that offer each value of a field; None: nothing."""
        found = {None: np.zeros(len(self.requests), bool)}
        for kind, request in enumerate(self.requests):
            for value in request.given(field) or (None,):
                found.setdefault(value, np.zeros(len(self.requests), bool))[kind] = True
        return found

    def _alike(self, condition: Condition) -> tuple[list[int], np.ndarray]:
        """The first of the kinds of requests that are alike to a condition, and the place of each kind among these."""
        places: dict[tuple, int] = {}
        first, kinds = list[int](), np.zeros(len(self.requests), np.int64)
        for kind, request in enumerate(self.requests):
            key = (*(request.values.get(name) for name in condition.request), request.sharing, request.named_ce,
                   str(request.bans))
            if key not in places:
                first.append(kind)
            kinds[kind] = places.setdefault(key, len(places))
        return first, kinds


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
