"""The answer of a dry run, with every candidate."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from simgrid_broker.views import Task


@dataclass(frozen=True)
class Candidate:
    """Result for one candidate.

    tag: of the rule that refused it, None = kept; value, limit: figures that the rule compared, None = it has none;
    weight: 0 if refused; factors: of the weight, by name; order: 1 is best, None = not used; probability: that the
    nucleus, or the first block of jobs, is drawn there; queued, cap: queued jobs and the number below which the queue
    gets more, None = no cap.
    """

    name: str
    tag: str | None
    value: float | None = None
    limit: float | None = None
    weight: float = 0.0
    factors: Mapping[str, float] = field(default_factory=dict)
    order: int | None = None
    probability: float = 0.0
    queued: float | None = None
    cap: float | None = None

    @property
    def kept(self) -> bool:
        """Whether the candidate is used."""
        return self.tag is None


@dataclass(frozen=True)
class Step:
    """One step of the funnel: candidates refused with a tag, and candidates left after it."""

    tag: str
    refused: int
    left: int


@dataclass(frozen=True)
class Decision:
    """The answer of a dry run.

    brokerage: task_brokerage or job_brokerage; policy: its name; task: as the broker saw it; nucleus: name of the
    task's nucleus; n_jobs: jobs to broker, None for task brokerage; funnel: the tags that refused candidates, in
    PanDA's order; candidates: in the order of the grid.
    """

    snapshot: str
    time_s: float
    edition: str
    brokerage: str
    policy: str
    task: Task
    name: str
    nucleus: str | None
    n_jobs: int | None
    funnel: tuple[Step, ...]
    candidates: tuple[Candidate, ...]

    @property
    def kept(self) -> tuple[Candidate, ...]:
        """The candidates that are used, best first."""
        return tuple(sorted((each for each in self.candidates if each.kept), key=lambda each: each.order or 0))

    def to_dict(self) -> dict:
        """The decision as JSON-compatible types; None means unknown or infinite."""
        task = self.task
        return dict(
            snapshot=self.snapshot, time_s=self.time_s, edition=self.edition, brokerage=self.brokerage,
            policy=self.policy, n_jobs=self.n_jobs,
            task=dict(jeditaskid=task.jeditaskid, name=self.name, gshare=task.gshare, priority=task.currentpriority,
                      prodsourcelabel=task.prodsourcelabel, processingtype=task.processingtype, nucleus=self.nucleus),
            funnel=[vars(step) for step in self.funnel],
            candidates=[dict(vars(each), kept=each.kept, factors=dict(each.factors)) for each in self.candidates])
