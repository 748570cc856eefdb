"""Matching of a request with task queues: which match, and the first condition that others fail."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from simgrid_broker.policy.dirac.conditions import Condition
from simgrid_broker.policy.dirac.edition import Edition
from simgrid_broker.policy.dirac.request import Request
from simgrid_broker.policy.dirac.task_queues import TaskQueue


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
