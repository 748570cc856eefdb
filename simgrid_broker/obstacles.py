"""Obstacles of work: typical tasks of streams that no PanDA queue would take, by those rules of the brokers that
depend neither on load nor on data, asked about an empty grid."""

from collections import Counter
from collections.abc import Callable, Iterator
from math import isfinite, log
from typing import Any, NamedTuple

import numpy as np

from simgrid_broker.compiled import uncompiled
from simgrid_broker.names import ANALYSIS_LABELS, QueueStatus
from simgrid_broker.policy.brokerage.analysis import requirements as of_users
from simgrid_broker.policy.brokerage.analysis.editions import ANALYSIS
from simgrid_broker.policy.brokerage.analysis.question import AnalysisCase
from simgrid_broker.policy.brokerage.analysis.question import task_record as record_for_analysis
from simgrid_broker.policy.brokerage.production import requirements
from simgrid_broker.policy.brokerage.production.editions import PRODUCTION
from simgrid_broker.policy.brokerage.production.question import JobCase, task_record
from simgrid_broker.policy.jobs.resource_types import UNDEFINED, resource_type_of
from simgrid_broker.policy.rule import Answer, CriterionFunction, refused_of
from simgrid_broker.scenario import Scenario, in_force
from simgrid_broker.scenario.model import Record
from simgrid_broker.scenario.shares import leaf_of
from simgrid_broker.scenario.work.synthetic import typical_tasks
from simgrid_broker.systems.dispatch import dispatcher
from simgrid_broker.views import Gdpconfig, Queues, Task
from simgrid_broker.wording import worded
from simgrid_broker.world.build import build
from simgrid_broker.world.views import observe
from simgrid_broker.world.world import World

PACKAGED = {"job_brokerage": "production", "analysis_brokerage": "analysis"}
"""Names of the package's own brokerages; the rules of others are not known."""


ABOUT_MEMORY = requirements.too_little_memory, requirements.too_much_memory
"""Rules of production that analysis brokerage shares."""


class Obstacle(NamedTuple):
    """The first rule that refuses a candidate in an edition, and the figures that it compared, NaN = it has none.

    asked: what the text of the rule is a function of.
    """

    candidate: str
    rule: CriterionFunction
    edition: str
    value: float
    limit: float
    asked: tuple[Any, ...]

    @property
    def distance(self) -> float:
        """Distance of the figure from the limit, as a factor."""
        known = isfinite(self.value) and isfinite(self.limit) and self.value > 0 and self.limit > 0
        return abs(log(self.value / self.limit)) if known else np.inf

    def __str__(self) -> str:
        about = self.rule.rule
        text = "" if about.text is None else about.text(*self.asked)
        says, unit = about.says_in(self.edition), about.unit_in(self.edition)
        return f"{self.candidate}, {worded(says, unit, self.value, self.limit, text)}"


def work_that_no_queue_takes(scenario: Scenario) -> Iterator[str]:
    """Streams of which no queue that is online, or that an incident opens, takes a typical task."""
    streams = scenario.workload.streams
    if not streams or any(getattr(scenario.policies, kind) != name for kind, name in PACKAGED.items()):
        return
    world, by_users = _world(scenario), dispatcher(scenario.dispatch).job_rules is None
    queues, cfg = observe.queues(world), Gdpconfig(in_force(scenario))
    kinds = tuple(scenario.resource_types.values())
    for row, stream in enumerate(streams):
        task = observe.task(world, row)
        if resource_type_of(kinds, task.corecount, task.ramcount, task.ramunit, task.baseramcount) == UNDEFINED:
            yield (f"No resource type takes a typical task of {stream.name!r}, with {task.corecount} core(s) and "
                   f"{task.ramcount:.6g} {task.ramunit}; it will be broken.")
        elif (refusals := obstacles(task, queues, cfg, scenario.edition, by_users)) is not None:
            yield f"No queue can run a typical task of {stream.name!r}: {summary(refusals)}."


class Questions(NamedTuple):
    """A question to a broker about a task: its criteria, those of them about a description alone, a case, a record."""

    criteria: tuple[CriterionFunction, ...]
    alone: tuple[CriterionFunction, ...]
    case: JobCase | AnalysisCase
    record: np.void


def questions(task: Task, queues: Queues, cfg: Gdpconfig, edition: str, by_users: bool) -> Questions:
    """The question to the broker of a task; by_users: true if analysis brokerage decides about tasks of users."""
    if by_users and task.prodsourcelabel in ANALYSIS_LABELS:
        return Questions(ANALYSIS[edition].funnel.criteria, (*ABOUT_MEMORY, *of_users.ABOUT_DESCRIPTIONS),
                         AnalysisCase(task, queues, edition), record_for_analysis(task, queues, cfg, edition)[0])
    criteria = PRODUCTION[edition].funnel.criteria
    alone = (rule for rule in criteria if rule.rule.per_candidate
             and uncompiled(rule).__module__ == requirements.__name__)
    return Questions(criteria, tuple(alone), JobCase(task, queues, edition), task_record(task, cfg, edition)[0])


def obstacles(task: Task, queues: Queues, cfg: Gdpconfig, edition: str,
              by_users: bool = True) -> list[Obstacle] | None:
    """Refusals of a task, one for each candidate; None if one takes it; by_users: as in `questions`."""
    found = dict[int, Obstacle]()
    criteria, alone, case, record = questions(task, queues, cfg, edition, by_users)
    for rule in (rule for rule in criteria if rule.rule.static is not None):
        answer = rule(case)
        value, limit = (np.broadcast_to(side, len(queues.names)) for side in (
            (answer.value, answer.limit) if isinstance(answer, Answer) else (np.nan, np.nan)))
        for k in np.flatnonzero(refused_of(answer)).tolist():
            found.setdefault(k, Obstacle(queues.names[k], rule, edition, float(value[k]), float(limit[k]), (case, k)))
    asked = [(rule, uncompiled(rule)) for rule in criteria if rule in alone]
    for k, name in enumerate(queues.names):
        if k not in found:
            obstacle = _of_candidate(name, record, queues.records[k], asked, edition)
            if obstacle is None:
                return None
            found[k] = obstacle
    return [found[k] for k in sorted(found)]


def summary(refusals: list[Obstacle]) -> str:
    """The rules that refuse the candidates, and of each that compares figures the candidate nearest to its limit."""
    numbers = Counter(one.rule.rule.tag for one in refusals)
    nearest = {tag: min((one for one in refusals if one.rule.rule.tag == tag), key=lambda one: one.distance)
               for tag in numbers}
    return "; ".join(f"{tag} refuses {number} candidate(s)" + (
        f", nearest {nearest[tag]}" if isfinite(nearest[tag].distance) else f" ({nearest[tag].candidate}, ...)"
        if number > 1 else f" ({nearest[tag].candidate})") for tag, number in numbers.most_common())


def _of_candidate(name: str, task: np.void, queue: np.void,
                  asked: list[tuple[CriterionFunction, Callable]], edition: str) -> Obstacle | None:
    """The refusal of a task at one candidate; None if it takes the task."""
    with np.errstate(all="ignore"):
        for rule, ask in asked:
            refused, value, limit = ask(*(records := (task, queue, None, None, None, None)))
            if refused:
                return Obstacle(name, rule, edition, float(value), float(limit), records)
    return None


def _world(scenario: Scenario) -> World:
    """The empty grid, with a typical task of each stream; queues that an incident opens are online."""
    streams = scenario.workload.streams
    world = build(scenario.model_copy(update=dict(incidents=(), record=Record())), typical_tasks(scenario))
    shares = world.vocabularies["shares"]
    for row, stream in enumerate(streams):
        leaf = leaf_of(scenario, stream)
        world.arrays.tasks["share"][row] = shares.index(leaf) if leaf in shares else -1
        world.arrays.scout_inputs[row] = int(stream.useScout)
    for incident in scenario.incidents:
        if incident.what == "queue_status" and incident.status == QueueStatus.ONLINE.word:
            world.arrays.queues["status"][world.vocabularies["queues"].index(incident.queue)] = QueueStatus.ONLINE
    return world
