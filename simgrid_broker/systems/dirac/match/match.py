"""`match`: what DIRAC's matcher answers to a resource, with exact probabilities and drawn frequencies."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from simgrid_broker.errors import RequestError, SnapshotError
from simgrid_broker.luck import uniforms
from simgrid_broker.systems.dirac.input.snapshot import DiracRequests, DiracSnapshot, load_dirac_snapshot, load_requests
from simgrid_broker.systems.dirac.match.inputs import MatchInput, remarks_on
from simgrid_broker.systems.dirac.policy.matching import (
    ROUNDS,
    Failure,
    drawn_classes,
    failures,
    job_chances,
    queue_chances,
    requested_job_chance,
    smallest_key,
    weights_in_draw,
)
from simgrid_broker.systems.dirac.policy.priorities import real_priority
from simgrid_broker.systems.dirac.policy.request import Condition, Edition, Malformed, Request, checked_request
from simgrid_broker.systems.dirac.policy.task_queues import TaskQueue

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


NO_MATCH, ERROR = "no match", "error"
"""DIRAC's answers to a resource that gets no job."""
AT_ONCE = 1_000_000
"""Uniform numbers that are drawn at once, at most."""

Drawn = list[tuple[TaskQueue, int] | None]
"""The task queue and job of each draw; None for a draw without a job."""


def match(snapshot: DiracSnapshot | Mapping[str, Any] | str | Path,
          resource: DiracRequests | Mapping[str, Any] | Sequence[Mapping[str, Any]] | str | Path, draws: int = 0,
          edition: str | None = None, report: bool | None = None, **overrides: object) -> Matching:
    """The answers of DIRAC's matcher to a resource, or to each of several.

    snapshot, resource: a file, what it holds as plain values, or loaded; draws: of each request, keyed by the seed;
    edition: instead of the snapshot's; report: whether the resource is a pilot's report, instead of `raw_resource`;
    overrides: values of the snapshot by dotted key. Raises SnapshotError and RequestError.
    """
    given, asked = inputs(lambda: _snapshot(snapshot, edition, report, overrides), resource)
    prepared = MatchInput(given)
    queues = [queue for queue in prepared.queues if queue.jobs]
    answers = tuple(_answer(prepared, request.model_dump(exclude_unset=True), number, draws)
                    for number, request in enumerate(asked.requests))
    return Matching(given.name, given.edition, given.seed, draws, prepared.refused,
                    len(prepared.queues.queues) - len(queues), remarks_on(prepared, asked),
                    tuple((_described(queue, prepared), tuple(sorted(queue.jobs))) for queue in queues), answers)


def inputs(read: Callable[[], DiracSnapshot], resource: Any) -> tuple[DiracSnapshot, DiracRequests]:
    """The snapshot that `read` gives, and the requests; raises SnapshotError with what is wrong with either."""
    try:
        snapshot = read()
    except SnapshotError as wrong:
        try:
            requests_of(resource)
        except RequestError as too:
            raise SnapshotError([*wrong.problems, *too.problems]) from None
        raise
    return snapshot, requests_of(resource)


def requests_of(resource: Any) -> DiracRequests:
    """Requests of a file, or of plain values; raises RequestError."""
    if isinstance(resource, DiracRequests):
        return resource
    if isinstance(resource, (str, Path)):
        return load_requests(resource)
    return DiracRequests.from_dict({"requests": [resource] if isinstance(resource, Mapping) else list(resource)})


def _snapshot(snapshot: Any, edition: str | None, report: bool | None, overrides: Mapping[str, object]) -> Any:
    """A snapshot of a file or of plain values with other values."""
    if isinstance(snapshot, (str, Path)):
        snapshot = load_dirac_snapshot(snapshot)
    elif not isinstance(snapshot, DiracSnapshot):
        snapshot = DiracSnapshot.from_dict(snapshot)
    values = dict(overrides) | {name: value for name, value in (("edition", edition), ("raw_resource", report))
                                if value is not None}
    return snapshot.with_values(values) if values else snapshot


def _answer(prepared: MatchInput, given: Mapping[str, Any], number: int, draws: int) -> RequestAnswer:
    """The answer to one request."""
    asked, named_ce = prepared.request(given)
    try:
        request = checked_request(asked, prepared.edition.request_fields, prepared.sharing, named_ce=named_ce,
                                  negative=prepared.bans(asked))
    except Malformed as wrong:
        return RequestAnswer(asked, error={"type": wrong.kind, "text": str(wrong)})
    queues = list(prepared.queues)
    failed = failures(queues, request, prepared.edition)
    matching = [queue for queue, why in zip(queues, failed, strict=True) if why is None]
    if "JobID" in request.values:
        return _named_job(prepared, asked, request, failed, number, draws)
    chances = dict(zip(map(id, matching), queue_chances(matching, prepared.edition), strict=True))
    jobs = {job: chance * float(chances[id(queue)]) for queue in matching if chances[id(queue)]
            for job, chance in job_chances(queue, prepared.edition).items()}
    drawn = jobs_drawn(matching, prepared.edition, prepared.snapshot.seed, number, draws)
    return RequestAnswer(asked, None, _queues(prepared, queues, failed, chances, drawn if draws else None), jobs,
                         {} if jobs else {NO_MATCH: 1.0}, _counted(drawn, NO_MATCH) if draws else None)


def _named_job(prepared: MatchInput, asked: Mapping[str, Any], request: Request, failed: list[Failure | None],
               number: int, draws: int) -> RequestAnswer:
    """The answer to a request that names a job; source: DIRAC reference, 7.8."""
    queues, (job,) = list(prepared.queues), request.values["JobID"]
    matching = [queue for queue, why in zip(queues, failed, strict=True) if why is None]
    holder = prepared.queues.of_job(job)
    found = holder is not None and holder in matching
    chance = requested_job_chance(holder, job) if holder is not None and found else 0.0
    otherwise = NO_MATCH if not all(queue.jobs for queue in matching) or not matching else ERROR
    drawn = named_job_drawn(holder if found else None, job, prepared.snapshot.seed, number, draws)
    return RequestAnswer(
        asked, None, _queues(prepared, queues, failed, {id(holder): chance} if found else {}, drawn if draws else None),
        {job: chance} if chance else {}, {otherwise: 1.0 - chance} if chance < 1 else {},
        _counted(drawn, otherwise) if draws else None)


def _counted(drawn: Sequence[tuple[TaskQueue, int] | None], otherwise: str) -> Counter:
    """Number of draws of each job, and of those without one."""
    return Counter(otherwise if found is None else found[1] for found in drawn)


def _queues(prepared: MatchInput, queues: Sequence[TaskQueue], failed: Sequence[Failure | None],
            chances: Mapping[int, float], drawn: Sequence[tuple[TaskQueue, int] | None] | None
            ) -> tuple[QueueAnswer, ...]:
    """Every task queue with jobs, with its chance or the condition that it fails."""
    times = Counter(id(found[0]) for found in drawn or () if found is not None)
    return tuple(_described(queue, prepared, None if why is None else _failed(why), float(chances.get(id(queue), 0.0)),
                            None if drawn is None else times[id(queue)])
                 for queue, why in zip(queues, failed, strict=True) if queue.jobs)


def _described(queue: TaskQueue, prepared: MatchInput, failed: Mapping[str, Any] | None = None,
               probability: float = 0.0, drawn: int | None = None) -> QueueAnswer:
    return QueueAnswer(min(queue.jobs), len(queue.jobs), queue.identity.values(prepared.edition), queue.priority,
                       failed, probability, drawn)


def _failed(why: Failure) -> dict[str, Any]:
    """A failed condition as JSON-compatible types."""
    condition: Condition = why.condition
    return {"condition": condition.name, "queue": _plain(why.queue), "request": _plain(why.request),
            "reason": why.reason, "source": condition.source}


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: sorted(value) if isinstance(value, frozenset) else list(value) if isinstance(value, tuple) else value
            for name, value in values.items()}


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
