"""`broker`: one decision of a broker on a snapshot, made as the agents of a run make it; and the check of the
decisions of a run: each is compared with the dry run on a snapshot of the state in which it was made."""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import isclose
from pathlib import Path
from typing import Any

import numpy as np

from simgrid_broker import luck
from simgrid_broker.agents.control import Control
from simgrid_broker.agents.run.samples import snapshot_now
from simgrid_broker.dry_run.decision import Candidate, Decision, Step, chances_of_nuclei, chances_of_queues
from simgrid_broker.dry_run.tasks import add_facts
from simgrid_broker.editions import edition_of
from simgrid_broker.errors import DecisionsDiffer, Problem, SnapshotError, nearest
from simgrid_broker.names import DecisionKind
from simgrid_broker.policy.brokerage.analysis.editions import ANALYSIS
from simgrid_broker.policy.brokerage.analysis.lists import FATAL
from simgrid_broker.policy.brokerage.production.candidates import has_unknown_nucleus
from simgrid_broker.policy.brokerage.production.storage import input_incomplete, readable
from simgrid_broker.policy.brokerage.task.nuclei import cannot_run, no_complete_replica, output_unmatched
from simgrid_broker.policy.jobs.resource_types import UNDEFINED
from simgrid_broker.policy.rule import Criterion
from simgrid_broker.scenario import Snapshot, in_force, load_snapshot
from simgrid_broker.scenario.snapshot import ANALYSIS_BROKERAGE, TASK_BROKERAGE
from simgrid_broker.turns.brokers import Brokers, last_refusal, rules_of
from simgrid_broker.turns.policies import Policies
from simgrid_broker.turns.tagging import Tagger, tag_task
from simgrid_broker.views import KEPT, Figures, Verdict
from simgrid_broker.wording import labels, worded
from simgrid_broker.world.snapshot.reading import statistics_of, world_of
from simgrid_broker.world.snapshot.tasks import InHand, PlannedMerge
from simgrid_broker.world.views import observe
from simgrid_broker.world.views.nuclei import Burden
from simgrid_broker.world.world import World

ENDS = {cannot_run.rule.tag: "no sites can run jobs", output_unmatched.rule.tag: "no endpoint for the output"}
"""Words with which task brokerage ends an attempt whose last nuclei are refused with a tag."""
GATE = frozenset(rule.rule.name for brokerage in ANALYSIS.values() for rule in brokerage.gate)
"""Rules of analysis brokerage that end an attempt with words of their own."""
NO_CANDIDATES = "no candidates"
"""Words with which PanDA's brokers end an attempt whose list is empty."""


def broker(snapshot: Snapshot | str | Path, task: int | str | None = None, edition: str | None = None,
           **overrides) -> Decision:
    """One decision of a broker about a task of a snapshot.

    snapshot: a file, or the result of `load_snapshot`; task: its jeditaskid, required if there are several; edition:
    instead of the snapshot's; overrides: values by dotted key, such as `**{"gdpconfig.NQUEUELIMITSITE_Express": 100}`.
    Raises SnapshotError, for an unknown task too, and PluginError for an unknown policy.
    """
    snapshot = _changed(snapshot, edition, overrides)
    row = _row_of(snapshot, task)
    brokers = _brokers(snapshot, [row])
    return _decide(snapshot, brokers, row, _burden(brokers.world))


def broker_turn(snapshot: Snapshot | str | Path, edition: str | None = None, **overrides) -> tuple[Decision, ...]:
    """Decisions of the task brokerage about all tasks of a snapshot that wait for it, one after the other.

    In the order of the snapshot; the work of each is added to the nucleus that it gets, for the tasks that follow, as
    in one turn of the TaskBroker. Arguments and errors as for `broker`.
    """
    snapshot = _changed(snapshot, edition, overrides)
    rows = [row for row, task in enumerate(snapshot.tasks.values()) if task.broker == TASK_BROKERAGE]
    brokers, decisions = _brokers(snapshot, rows), []
    burden, tasks = _burden(brokers.world), brokers.world.arrays.tasks
    for row in rows:
        decisions.append(_decide(snapshot, brokers, row, burden))
        if (drawn := decisions[-1].drawn) is not None:
            tasks["nucleus"][row] = brokers.world.vocabularies["sites"].index(drawn)
            burden.add(row)
    return tuple(decisions)


def _changed(snapshot: Snapshot | str | Path, edition: str | None, overrides: dict) -> Snapshot:
    """A snapshot with other values."""
    snapshot = snapshot if isinstance(snapshot, Snapshot) else load_snapshot(snapshot)
    values = overrides | ({} if edition is None else {"edition": edition})
    return snapshot.with_values(values) if values else snapshot


def _brokers(snapshot: Snapshot, rows: Sequence[int]) -> Brokers:
    """The brokers in the world of a snapshot; raises SnapshotError if a task in `rows` gets no share."""
    world, in_force_now = world_of(snapshot), in_force(snapshot)
    brokers = Brokers(world, Policies(world.scenario, lambda changes: in_force_now), statistics_of(world, snapshot))
    _tag(world, snapshot, rows)
    for number, task in enumerate(snapshot.tasks.values()):
        add_facts(world, snapshot, number, task, brokers.policies.cfg)
    return brokers


def _burden(world: World) -> Burden:
    """Load of the nuclei at the start of a turn."""
    return Burden(world, np.arange(len(world.arrays.tasks)))


def _decide(snapshot: Snapshot, brokers: Brokers, row: int, burden: Burden) -> Decision:
    """The decision about the task in a row."""
    about = list(snapshot.tasks.values())[row]
    if about.broker == TASK_BROKERAGE:
        seen, n_jobs, names, verdict = _nucleus(brokers, row, burden)
        drawn = names[verdict.order[0]] if len(verdict.order) else None
    else:
        ask = _analysis if about.broker == ANALYSIS_BROKERAGE else _queues
        (seen, n_jobs, names, verdict), drawn = ask(brokers, row, about), None
    known: dict[str, Any] = dict(
        snapshot=snapshot.name, time_s=snapshot.time, edition=edition_of(snapshot.edition).name, brokerage=about.broker,
        policy=getattr(snapshot.policies, about.broker), task=seen, name=about.name, nucleus=about.nucleus,
        n_jobs=n_jobs, drawn=drawn)
    if verdict is None:
        return Decision(**known, funnel=(), error=f"unknown nucleus {about.nucleus}", fatal=False, candidates=())
    return Decision(
        **known, funnel=_funnel(verdict, *rules_of(brokers.policies, about.broker, verdict)),
        error=_error(brokers, row, DecisionKind.of(about.broker), verdict),
        fatal=_is_fatal(brokers, about, verdict),
        candidates=candidates_of(brokers, about.broker, names, verdict))


def candidates_of(brokers: Brokers, brokerage: str, names: Sequence[str], verdict: Verdict) -> tuple[Candidate, ...]:
    """Every candidate of a verdict by a brokerage, with all that the verdict says of it; names: of the candidates."""
    steps, _ = rules_of(brokers.policies, brokerage, verdict)
    chances = chances_of_nuclei(verdict) if brokerage == TASK_BROKERAGE else chances_of_queues(verdict)
    return _candidates(names, verdict, chances, steps, _queues_of(brokers, names), brokers.policies.edition)


def _row_of(snapshot: Snapshot, task: int | str | None) -> int:
    """Position of a task; raises SnapshotError if there is no such task, or several and none is named."""
    numbers = list(snapshot.tasks)
    if not numbers:
        raise SnapshotError([Problem(None, None, "tasks", None, "the snapshot has no task that waits for brokerage")])
    if task is None and len(numbers) == 1:
        return 0
    if task is None:
        raise SnapshotError([Problem(None, None, "task", None, f"the snapshot has {len(numbers)} tasks; say which: "
                                     + ", ".join(numbers[:10]) + (", ..." if len(numbers) > 10 else ""))])
    if str(task) not in numbers:
        raise SnapshotError([Problem(None, None, "task", task, "no task of the snapshot has this jeditaskid",
                                     nearest(str(task), numbers) or tuple(numbers[:3]))])
    return numbers.index(str(task))


def _tag(world: World, snapshot: Snapshot, rows: Sequence[int]) -> None:
    """Give all tasks share and resource type as JEDI does; raises SnapshotError if one in `rows` gets none.

    A lenient snapshot may have tasks that no resource type fits, as PanDA's tables may.
    """
    tagger = Tagger(world, snapshot.shares)
    is_tagged = [tag_task(world, number, tagger) for number in range(len(snapshot.tasks))]
    for row in (row for row in rows if not is_tagged[row]):
        if not snapshot.strict and world.arrays.tasks["share"][row] != UNDEFINED:
            continue
        key = f"tasks.{list(snapshot.tasks)[row]}"
        place = snapshot.origin(key)
        raise SnapshotError([Problem(place.file, place.line, key, None, "no share takes the task, or no resource type "
                                     "fits it; PanDA would declare it broken (give gshare, look at corecount)")])


def _nucleus(brokers: Brokers, row: int, burden: Burden) -> tuple:
    """View and verdict of the task brokerage."""
    world = brokers.world
    task, seen, verdict = brokers.nucleus_for(row, burden)
    names = [world.vocabularies["sites"][site] for site in seen.site]
    return task, None, names, verdict


def _queues(brokers: Brokers, row: int, about) -> tuple:
    """View and verdict of the job brokerage; no verdict if the nucleus of the task is unknown."""
    wanted, task = about.n_jobs_to_broker or about.jobs_left, observe.task(brokers.world, row)
    is_lost = has_unknown_nucleus(task, brokers.queues, brokers.policies.edition)
    verdict = None if is_lost else brokers.queues_for(task, observe.job_input(brokers.world, row), wanted)
    return task, wanted, brokers.queues.names, verdict


def _analysis(brokers: Brokers, row: int, about) -> tuple:
    """View and verdict of the analysis brokerage."""
    wanted, task = about.n_jobs_to_broker or about.jobs_left, observe.task(brokers.world, row)
    verdict = brokers.analysis_queues_for(row, task, wanted)
    return task, wanted, brokers.queues.names, verdict


def _error(brokers: Brokers, row: int, kind: DecisionKind, verdict: Verdict) -> str | None:
    """The text with which the attempt ended; None if there are candidates."""
    if len(verdict.order):
        return None
    last, nuclei = last_refusal(brokers.policies, kind, verdict), brokers.world.facts_of(row).input_of_nuclei
    tag = "" if last is None else last.tag
    if last is not None and last.name in GATE:
        figures = verdict.figures() if verdict.figures is not None else None
        return figures.texts.get(0, NO_CANDIDATES) if figures is not None else NO_CANDIDATES
    if tag == no_complete_replica.rule.tag:
        missing = "input" if nuclei is None else nuclei.missing
        return f"dataset={missing} is incomplete/missing at online endpoints with read_wan=ON"
    if tag in ENDS:
        return ENDS[tag]
    parts = observe.job_input(brokers.world, row)
    if tag == input_incomplete.rule.tag and parts is not None:
        return readable(parts.inputs, observe.task(brokers.world, row), brokers.policies.cfg).failure
    return NO_CANDIDATES


def _is_fatal(brokers: Brokers, about, verdict: Verdict) -> bool:
    """True if PanDA gives up the attempt for good: the queue that an analysis task names was refused."""
    last = last_refusal(brokers.policies, DecisionKind.of(about.broker), verdict)
    return last is not None and last.name == FATAL


def _queues_of(brokers: Brokers, names: Sequence[str]) -> list[str | None]:
    """The PanDA queue of each candidate; None for a nucleus."""
    if list(names) != list(brokers.queues.names):
        return [None] * len(names)
    return [brokers.world.vocabularies["queues"][queue] for queue in brokers.queues.queue.tolist()]


def _funnel(verdict: Verdict, steps: Sequence[Criterion | None], order: Sequence[int]) -> tuple[Step, ...]:
    """Each rule that refused a candidate, in the order of removal, with the candidates left after it."""
    refusals = np.bincount(verdict.refused_by[verdict.refused_by != KEPT], minlength=len(verdict.tags)).tolist()
    names = ["" if step is None else step.name for step in steps]
    called = labels(names, verdict.tags) if all(names) else verdict.tags
    left, refused = len(verdict.refused_by), []
    for place in order:
        left -= refusals[place]
        if refusals[place]:
            refused.append(Step(verdict.tags[place], refusals[place], left, names[place] or None, called[place]))
    return tuple(refused)


def _candidates(names, verdict: Verdict, chances: np.ndarray, steps: Sequence[Criterion | None],
                queues: Sequence[str | None], edition: str) -> tuple[Candidate, ...]:
    """Every candidate with its tag, figures, weight and probability; steps: of each tag, queues: of each candidate."""
    unknown = np.full(len(chances), np.nan)
    figures = Figures(unknown, unknown, {}) if verdict.figures is None else verdict.figures()
    by_weight = verdict.order[np.argsort(-verdict.weight[verdict.order], kind="stable")]
    best = by_weight if all(queue is None for queue in queues) else verdict.order
    place = {int(k): number for number, k in enumerate(best, start=1)}
    rows = []
    for k, name in enumerate(names):
        refused_by = int(verdict.refused_by[k])
        kept = refused_by == KEPT
        numbers: dict[str, Any] = {told.replace(" ", "_"): _figure(column, k)
                                   for told, column in figures.numbers.items()}
        weight, jumbo = numbers.pop("weight", None), bool(numbers.pop("jumbo", 0))
        value, limit = _figure(figures.value, k), _figure(figures.limit, k)
        refusal: dict[str, Any] = dict(tag=None) if kept else _refusal(
            verdict.tags[refused_by], steps[refused_by], edition, value, limit, figures.texts.get(k, ""))
        rows.append(Candidate(
            name=name, queue=queues[k], value=value, limit=limit,
            weight=float(verdict.weight[k]) if weight is None else weight, weighed=kept or weight is not None,
            jumbo=jumbo,
            factors={factor: number for factor, column in figures.factors.items()
                     if (number := _figure(column, k)) is not None},
            order=place.get(k), probability=float(chances[k]),
            **numbers, **refusal))
    return tuple(rows)


def _refusal(tag: str, step: Criterion | None, edition: str, value: float | None, limit: float | None,
             text: str) -> dict:
    """Tag, reason and rule of a refused candidate; step None = of a policy of another package."""
    if step is None:
        return dict(tag=tag, reason=worded("", "", value, limit, text))
    unit = step.unit_in(edition)
    return dict(tag=tag, criterion=step.name, stage=step.removed_in or None, temporary=step.temporary,
                unit=unit or None, reason=worded(step.says_in(edition), unit, value, limit, text))


def _figure(column, k: int) -> float | None:
    """Number of candidate k in a column; None if it is missing or not finite."""
    if column is None:
        return None
    number = float(column[k])
    return number if np.isfinite(number) else None


TOLERANCE = 1e-9
"""Relative difference of figures that are still equal: sums may be taken in another order."""
COMPARED = ("criterion", "value", "limit", "weighed", "weight", "order", "probability", "running", "assigned", "queued",
            "cap", "network_weight", "longest", "room", "jumbo")
"""Figures of a candidate that are compared, beside its factors."""
DECISION_CHECK = luck.STREAMS["decision_check"]


class DecisionCheck:
    """Check of a part of the decisions of a run; raises DecisionsDiffer.

    A decision is chosen by its task, its broker and its number among those of this broker about the task. n_checked:
    decisions compared so far.
    """

    def __init__(self, control: Control, part: float):
        self.control, self.part, self.n_checked = control, part, 0
        self.numbers: Counter[tuple[DecisionKind, int]] = Counter()

    def __call__(self, kind: DecisionKind, asked: InHand | PlannedMerge, verdict: Verdict,
                 sites: np.ndarray | None = None) -> None:
        """Compare a decision, if it is chosen, with the dry run of the state in which it was made."""
        if not self._is_chosen(kind, asked.row):
            return
        self.n_checked += 1
        control, words = self.control, self.control.world.vocabularies["sites"]
        names = control.brokers.queues.names if sites is None else [words[site] for site in sites]
        made = candidates_of(control.brokers, kind.word, names, verdict)
        values = snapshot_now(control, asked)
        dry = broker(Snapshot.from_dict(values))
        found = list(differences(made, dry.candidates))
        if dry.brokerage != kind.word:
            found = [f"{kind.word} in the run, {dry.brokerage} in the dry run"]
        if found:
            jeditaskid = control.arrays.tasks["jeditaskid"][asked.row]
            raise DecisionsDiffer(f"{kind.word} at {control.now:.15g} s about task {jeditaskid}", found, values)

    def _is_chosen(self, kind: DecisionKind, row: int) -> bool:
        """Choose a part of the decisions."""
        task = self.control.arrays.tasks[row]
        key = kind, int(task["jeditaskid"])
        self.numbers[key] += 1
        draw = luck.uniform(self.control.seed, DECISION_CHECK, task["luck"], int(kind), self.numbers[key])
        return bool(draw < self.part)


def differences(made: Sequence[Candidate], dry: Sequence[Candidate]) -> Iterator[str]:
    """Sentences about the figures in which the candidates of a run and of a dry run differ."""
    of_dry = {each.name: each for each in dry}
    for each in made:
        other = of_dry.pop(each.name, None)
        if other is None:
            yield f"{each.name} is a candidate in the run alone"
            continue
        first, second = figures_of(each), figures_of(other)
        for name in first | second:
            if not is_equal(first.get(name), second.get(name)):
                yield (f"{each.name}: {name} {shown(first.get(name))} in the run, {shown(second.get(name))} in the "
                       f"dry run ({each.criterion or 'kept'} in the run, {other.criterion or 'kept'} in the dry run)")
                break
    yield from (f"{name} is a candidate in the dry run alone" for name in of_dry)


def figures_of(candidate: Candidate) -> dict[str, Any]:
    """Figures of a candidate by name."""
    return {name: getattr(candidate, name) for name in COMPARED} | {
        f"factor {name}": number for name, number in candidate.factors.items()}


def is_equal(one: Any, other: Any) -> bool:
    """Equality of two figures, of numbers within the tolerance."""
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return one == other or isclose(one, other, rel_tol=TOLERANCE, abs_tol=1e-300)
    return bool(one == other)


def shown(figure: Any) -> str:
    """Figure in a message."""
    return "none" if figure is None else f"{figure:.12g}" if isinstance(figure, float) else str(figure)
