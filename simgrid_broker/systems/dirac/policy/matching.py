"""Matching of requests with task queues: the first condition that each fails, and those that known requests match."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simgrid_broker.systems.dirac.policy.conditions import Condition, cpu_time, negative_condition
from simgrid_broker.systems.dirac.policy.edition import Edition
from simgrid_broker.systems.dirac.policy.request import Request
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
