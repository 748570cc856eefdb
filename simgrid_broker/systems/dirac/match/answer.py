"""The answer of `match`: for each request every task queue with its chance, or the condition that it fails."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

FORMAT = 1
"""Version of the JSON; it grows whenever a field changes its meaning or goes."""

OF_MATCHING = {
    "format": "version of this list, 1",
    "snapshot": "name of the snapshot",
    "edition": "documented or deployed",
    "seed": "seed of the draws",
    "draws": "number of draws of each request; 0 = none",
    "refused": "jobs that DIRAC does not insert: id, reason",
    "empty_queues": "number of task queues without jobs; they count for the shares of owners and are not listed",
    "remarks": "what is in the input and has no effect",
    "requests": "the answer to each request",
}
"""Fields of an answer."""
OF_REQUEST = {
    "request": "the request as it is asked, translated if it is a pilot's report",
    "error": "null, or why DIRAC answers with an error: type (type, required tags, query) and text",
    "task_queues": "every task queue with jobs, in the order in which they were made; empty with an error",
    "jobs": "jobs that can be drawn: id, probability, and with draws their number and frequency",
    "outcomes": "probability that no job is found, by DIRAC's answer: no match, error; with draws also their number",
}
"""Fields of the answer to a request."""
OF_TASK_QUEUE = {
    "name": "smallest id of its jobs",
    "jobs": "number of its jobs",
    "identity": "requirements that its jobs share, by DIRAC's names; lists sorted, what is not required left out",
    "priority": "stored priority, not rounded",
    "matches": "whether it matches the request",
    "failed": "null, or the first condition that it fails: condition, queue and request (the values of both sides), "
              "reason, source",
    "probability": "that it is drawn, exact",
    "drawn": "number of draws that took it; null without draws",
    "frequency": "the same as a fraction of the draws",
}
"""Fields of a task queue."""


@dataclass(frozen=True)
class QueueAnswer:
    """A task queue, and what a request makes of it; fields as in OF_TASK_QUEUE."""

    name: int
    jobs: int
    identity: Mapping[str, Any]
    priority: float
    failed: Mapping[str, Any] | None = None
    probability: float = 0.0
    drawn: int | None = None

    @property
    def matches(self) -> bool:
        """True if it matches."""
        return self.failed is None

    def to_dict(self, draws: int) -> dict[str, Any]:
        """As JSON-compatible types; fields as in OF_TASK_QUEUE."""
        return {"name": self.name, "jobs": self.jobs, "identity": dict(self.identity), "priority": self.priority,
                "matches": self.matches, "failed": None if self.failed is None else dict(self.failed),
                "probability": self.probability, **_frequency(self.drawn, draws)}


@dataclass(frozen=True)
class RequestAnswer:
    """The answer to one request; fields as in OF_REQUEST, drawn: number of draws of each job or outcome."""

    request: Mapping[str, Any]
    error: Mapping[str, str] | None = None
    queues: tuple[QueueAnswer, ...] = ()
    jobs: Mapping[int, float] = field(default_factory=dict)
    outcomes: Mapping[str, float] = field(default_factory=dict)
    drawn: Mapping[int | str, int] | None = None

    @property
    def matching(self) -> tuple[QueueAnswer, ...]:
        """The task queues that match, most probable first."""
        return tuple(sorted((queue for queue in self.queues if queue.matches),
                            key=lambda queue: (-queue.probability, queue.name)))

    def to_dict(self, draws: int) -> dict[str, Any]:
        """As JSON-compatible types; fields as in OF_REQUEST."""
        drawn = {} if self.drawn is None else self.drawn

        def row(name: str, key: int | str, chance: float) -> dict[str, Any]:
            return {name: key, "probability": chance} | _frequency(drawn.get(key, 0) if draws else None, draws)
        return {"request": dict(self.request), "error": None if self.error is None else dict(self.error),
                "task_queues": [queue.to_dict(draws) for queue in self.queues],
                "jobs": [row("id", job, chance) for job, chance in self.jobs.items()],
                "outcomes": [row("outcome", name, chance) for name, chance in self.outcomes.items()]}


@dataclass(frozen=True)
class Matching:
    """The answers to all requests about one snapshot; fields as in OF_MATCHING, queues: as computed, before a request.
    """

    snapshot: str
    edition: str
    seed: int
    draws: int
    refused: Mapping[int, str]
    empty_queues: int
    remarks: tuple[str, ...]
    queues: tuple[tuple[QueueAnswer, tuple[int, ...]], ...]
    requests: tuple[RequestAnswer, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON-compatible types; fields as in OF_MATCHING."""
        return {"format": FORMAT, "snapshot": self.snapshot, "edition": self.edition, "seed": self.seed,
                "draws": self.draws, "refused": [{"id": job, "reason": why} for job, why in self.refused.items()],
                "empty_queues": self.empty_queues, "remarks": list(self.remarks),
                "requests": [answer.to_dict(self.draws) for answer in self.requests]}


def _frequency(drawn: int | None, draws: int) -> dict[str, Any]:
    return {"drawn": drawn, "frequency": None if drawn is None else drawn / draws}
