"""The answer of a dry run: decision, candidates, the fields of its JSON, and the probabilities of candidates."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from simgrid_broker.views import KEPT, Task, Verdict

FORMAT = 3
"""Version; it grows whenever a field changes its meaning or goes."""

OF_DECISION = {
    "format": "version of this list, 3",
    "snapshot": "name of the snapshot",
    "time_s": "its time, s",
    "edition": "documented, or deployed with the release in force, such as deployed-1.0.4",
    "brokerage": "task_brokerage, job_brokerage or analysis_brokerage",
    "policy": "name of the policy that decided",
    "status": "SUCCEEDED, FAILED if there is no candidate, or FATAL if PanDA gives up the attempt for good",
    "error": "text with which the attempt ended; null if it succeeded",
    "drawn": "nucleus that task brokerage chose; null if none, and for job brokerage",
    "n_jobs": "jobs for which queues are sought; null in task brokerage",
    "task": "the task: jeditaskid, name, gshare, priority, prodsourcelabel, processingtype, nucleus",
    "funnel": "rules that refused candidates, in PanDA's order of removal: tag, refused, left, criterion, and label, "
              "the tag with the name of the rule where several share it",
    "candidates": "every candidate, in the order of the grid",
}
"""Fields of a decision."""

OF_CANDIDATE = {
    "name": "nucleus, or PanDA queue with its resource type, such as NORTH/SCORE",
    "queue": "PanDA queue; null for a nucleus",
    "kept": "whether it is used",
    "tag": "what PanDA logs for a refused candidate; null if it is kept",
    "criterion": "name of the rule that refused it; several may share a tag",
    "stage": "PanDA's name of the check in which it left the list; null if PanDA does not list it or has none",
    "temporary": "whether the problem is temporary: PanDA removes such candidates together, before the final check",
    "value": "figure that the rule compared; null if it has none",
    "limit": "what it was compared with",
    "unit": "unit of both",
    "reason": "the refusal in words; empty for a candidate that is kept",
    "weighed": "whether it got as far as the weight, kept or refused behind that",
    "weight": "weight of a candidate that was weighed, else 0; 0 of a kept one: it is used first and once",
    "factors": "multipliers of which the weight is the product, by name",
    "running": "running jobs as the weight counts them",
    "assigned": "assigned jobs, where the input is not local",
    "queued": "jobs that wait at the queue, as the draw counts them",
    "cap": "number that `queued` must stay below to be given more jobs; null = none",
    "network_weight": "weight of the link to the nucleus; null without a nucleus",
    "jumbo": "whether the queue takes jumbo jobs of the task",
    "longest": "jobs that the user may have queued there, of an analysis job",
    "room": "how many more that are",
    "order": "1 for the best of the candidates that are used; null for the others",
    "probability": "that the nucleus, or the first block of jobs, is drawn there",
}
"""Fields of each of its candidates; in task brokerage those of jobs are null."""


@dataclass(frozen=True)
class Candidate:
    """Result for one candidate.

    queue: PanDA queue of a job's candidate. Of the rule that refused it, None = kept: tag; criterion: its name in the
    program; stage: PanDA's name of the check that removed it; temporary: whether the problem may pass; value, limit:
    figures that it compared, None = it has none; unit: theirs; reason: the refusal in words, empty if there are none
    beside the tag. weighed: whether it got as far as the weight, kept or
    not; then weight, factors by name, and of a job's candidate the running, assigned and queued jobs that count, the
    number below which the queue gets more, None = no cap, the network weight, and whether it takes jumbo jobs of the
    task; of an analysis job's the jobs that the user may have queued there, and how many more. order: 1 is best,
    None = not used; probability: that the nucleus, or the first block of jobs, is drawn there.
    """

    name: str
    tag: str | None
    criterion: str | None = None
    stage: str | None = None
    temporary: bool | None = None
    value: float | None = None
    limit: float | None = None
    unit: str | None = None
    reason: str = ""
    weighed: bool = False
    weight: float = 0.0
    factors: Mapping[str, float] = field(default_factory=dict)
    order: int | None = None
    probability: float = 0.0
    running: float | None = None
    assigned: float | None = None
    queued: float | None = None
    cap: float | None = None
    network_weight: float | None = None
    longest: float | None = None
    room: float | None = None
    jumbo: bool = False
    queue: str | None = None

    @property
    def kept(self) -> bool:
        """True if the candidate is used."""
        return self.tag is None


@dataclass(frozen=True)
class Step:
    """One step of the funnel: candidates refused by a rule, and candidates left after it.

    criterion: name of the rule, None = not known; label: what the rule is called, its tag, with its name where several
    rules of the broker share the tag.
    """

    tag: str
    refused: int
    left: int
    criterion: str | None = None
    label: str = ""


@dataclass(frozen=True)
class Decision:
    """The answer of a dry run.

    brokerage: task_brokerage, job_brokerage or analysis_brokerage; policy: its name; task: as the broker saw it;
    nucleus: name of the task's nucleus; n_jobs: jobs to broker, None for task brokerage; funnel: the rules that refused
    candidates, in the order in which PanDA removes these; candidates: in the order of the grid; error: with which text
    the attempt ended, None = it did not; drawn: the nucleus that task brokerage chose; fatal: PanDA gives it up.
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
    error: str | None = None
    drawn: str | None = None
    fatal: bool = False

    @property
    def kept(self) -> tuple[Candidate, ...]:
        """The candidates that are used, best first."""
        return tuple(sorted((each for each in self.candidates if each.kept), key=lambda each: each.order or 0))

    def to_dict(self) -> dict:
        """The decision as JSON-compatible types (`fields`); None means unknown or infinite."""
        task = self.task
        return dict(
            format=FORMAT, snapshot=self.snapshot, time_s=self.time_s, edition=self.edition, brokerage=self.brokerage,
            policy=self.policy, n_jobs=self.n_jobs,
            status=("FATAL" if self.fatal else "FAILED") if self.error else "SUCCEEDED",
            error=self.error, drawn=self.drawn,
            task=dict(jeditaskid=task.jeditaskid, name=self.name, gshare=task.gshare, priority=task.currentpriority,
                      prodsourcelabel=task.prodsourcelabel, processingtype=task.processingtype, nucleus=self.nucleus),
            funnel=[vars(step) for step in self.funnel],
            candidates=[dict(vars(each), kept=each.kept, factors=dict(each.factors)) for each in self.candidates])


def chances_of_nuclei(verdict: Verdict) -> np.ndarray:
    """Probability of each nucleus, (n,): its part of the weights; the first if all are 0; brokerage reference, 1.4."""
    kept = verdict.refused_by == KEPT
    weight = np.where(kept, verdict.weight, 0.0)
    if weight.sum() > 0:
        return weight / weight.sum()
    first = np.zeros(len(weight))
    first[np.flatnonzero(kept)[:1]] = 1.0
    return first


def chances_of_queues(verdict: Verdict) -> np.ndarray:
    """Probability that the first block of jobs goes to each candidate, (n,); all 0 if every queue is full.

    Candidates of weight 0 are used first, with equal probabilities; then candidates with queued jobs below their cap,
    by weight. Source: brokerage reference, section 10.4; `policy.brokerage.production.broker`.
    """
    weight, order = verdict.weight, verdict.order
    chance = np.zeros(len(weight))
    unused = order[weight[order] == 0]
    if len(unused):
        chance[unused] = 1 / len(unused)
        return chance
    if verdict.queued is not None and verdict.cap is not None:
        order = order[verdict.queued[order] < verdict.cap[order]]
    chance[order] = weight[order]
    return chance / chance.sum() if len(order) else chance
