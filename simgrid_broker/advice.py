"""Remarks on a scenario, and which policies read which keys of gdpconfig; obstacles of work: typical tasks of
streams that no PanDA queue would take, by those rules of the brokers that depend neither on load nor on data, asked
about an empty grid."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module
from math import isfinite, log, nan
from pathlib import Path
from pkgutil import walk_packages
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from simgrid_broker import policy
from simgrid_broker.compiled import uncompiled
from simgrid_broker.editions import family_of
from simgrid_broker.errors import Problem, ScenarioError, first_three, nearest
from simgrid_broker.gdpconfig import REGISTRY, GdpconfigKey, jobgen, taskrefiner
from simgrid_broker.gdpconfig.components import user_output
from simgrid_broker.names import ANALYSIS_LABELS, EDITIONS, QueueStatus
from simgrid_broker.plugins import AGENT_GROUP, offered
from simgrid_broker.policy.brokerage.analysis import requirements as of_users
from simgrid_broker.policy.brokerage.analysis.editions import ANALYSIS
from simgrid_broker.policy.brokerage.analysis.question import AnalysisCase
from simgrid_broker.policy.brokerage.analysis.question import task_record as record_for_analysis
from simgrid_broker.policy.brokerage.analysis.users import count
from simgrid_broker.policy.brokerage.production import requirements
from simgrid_broker.policy.brokerage.production.editions import PRODUCTION
from simgrid_broker.policy.brokerage.production.editions import PRODUCTION as JOBS
from simgrid_broker.policy.brokerage.production.question import JobCase, task_record
from simgrid_broker.policy.brokerage.task.editions import PRODUCTION as TASKS
from simgrid_broker.policy.funnel import Liftable
from simgrid_broker.policy.jobs.resource_types import UNDEFINED, resource_type_of
from simgrid_broker.policy.queues import as_read, check_policy
from simgrid_broker.policy.readings import asks_a_record, keys_named, plain
from simgrid_broker.policy.registry import BUILT_IN, names
from simgrid_broker.policy.rule import Answer, CriterionFunction, refused_of
from simgrid_broker.policy.software.architecture import check_architecture
from simgrid_broker.scenario import Scenario, Snapshot, as_scenario, find, in_force
from simgrid_broker.scenario.checks import cross_checks
from simgrid_broker.scenario.checks.snapshot import unread_keys
from simgrid_broker.scenario.loading.origins import CRIC
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
             and getattr(rule, "py_func", rule).__module__ == requirements.__name__)
    return Questions(criteria, tuple(alone), JobCase(task, queues, edition), task_record(task, cfg, edition)[0])


def obstacles(task: Task, queues: Queues, cfg: Gdpconfig, edition: str,
              by_users: bool = True) -> list[Obstacle] | None:
    """Refusals of a task, one for each candidate; None if one takes it; by_users: as in `questions`."""
    found = dict[int, Obstacle]()
    criteria, alone, case, record = questions(task, queues, cfg, edition, by_users)
    answers = [(rule, rule(case)) for rule in criteria if rule.rule.static is not None]
    asked = [(rule, uncompiled(rule)) for rule in criteria if rule in alone]
    is_refused = np.any([np.broadcast_to(refused_of(answer), len(queues.names)) for _, answer in answers], axis=0)
    for k in np.flatnonzero(~is_refused).tolist():
        obstacle = _of_candidate(queues.names[k], record, queues.records[k], asked, edition)
        if obstacle is None:
            return None
        found[k] = obstacle
    for rule, answer in answers:
        value, limit = (np.broadcast_to(side, len(queues.names)) for side in (
            (answer.value, answer.limit) if isinstance(answer, Answer) else (np.nan, np.nan)))
        for k in np.flatnonzero(refused_of(answer)).tolist():
            found.setdefault(k, Obstacle(queues.names[k], rule, edition, float(value[k]), float(limit[k]), (case, k)))
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


def refuse_unusable(scenario: Scenario) -> None:
    """Raise ScenarioError for what `load_scenario` does not see: unknown policies and agents, and architectures and
    zero shares that PanDA would ignore."""
    if problems := [*unknown_plugins(scenario), *malformed_architectures(scenario), *malformed_zero_shares(scenario)]:
        raise ScenarioError(problems)


def unknown_plugins(scenario: Scenario | Snapshot) -> list[Problem]:
    """A problem for each unknown policy or agent named by a scenario or snapshot."""
    wanted = [(f"policies.{kind}", name, names(kind)) for kind, own in BUILT_IN.items()
              if (name := getattr(scenario.policies, kind)) not in own]       # else what is installed is not searched
    if hasattr(scenario, "agents"):
        wanted += [("agents.own", name, offered(AGENT_GROUP)) for name in scenario.agents.own]
    problems = []
    for key, name, valid in wanted:
        if name not in valid:
            origin, what = scenario.origin(key), key.partition(".")[0].replace("policies", "policy").removesuffix("s")
            problems.append(Problem(origin.file or origin.kind, origin.line, key, name,
                                    f"unknown {what}; known are {', '.join(valid) or 'none'}", nearest(name, valid)))
    return problems


def malformed_architectures(scenario: Scenario) -> list[Problem]:
    """A problem for each part of an architecture of the workload that PanDA would ignore or never match."""
    return malformed_architectures_of(scenario, [
        (f"workload.{part}[{position}].architecture", stream.architecture) for part in ("campaigns", "users")
        for position, stream in enumerate(getattr(scenario.workload, part))])


def malformed_architectures_of(whole: Scenario | Snapshot, architectures: Iterable[tuple[str, str]]) -> list[Problem]:
    """As `malformed_architectures`, for (key, architecture) pairs of a scenario or snapshot."""
    problems = []
    for key, architecture in architectures:
        origin = whole.origin(key)
        problems += [Problem(origin.file or origin.kind, origin.line, key, architecture, str(wrong))
                     for wrong in check_architecture(architecture, whole.edition)]
    return problems


def malformed_zero_shares(scenario: Scenario) -> list[Problem]:
    """A problem for each part of a `fairsharepolicy` that PanDA would ignore or never match.

    Problems of queues imported from CRIC are remarks instead (`remarks_on_zero_share`).
    """
    return [Problem(origin.file or origin.kind, origin.line, key, text, str(wrong))
            for key, origin, text, wrong in _wrong_zero_shares(scenario) if origin.kind != CRIC]


def remarks_on_zero_share(scenario: Scenario) -> tuple[str, ...]:
    """A sentence for each part of an imported queue's `fairsharepolicy` that PanDA ignores."""
    return tuple(f"{key} = {text!r}: {wrong}." for key, origin, text, wrong in _wrong_zero_shares(scenario)
                 if origin.kind == CRIC)


def _wrong_zero_shares(scenario: Scenario) -> Iterator[tuple]:
    """Key, origin, policy and problem of each malformed `fairsharepolicy`."""
    for name, queue in scenario.grid.queues.items():
        key = f"grid.queues.{name}.fairsharepolicy"
        for wrong in check_policy(queue.fairsharepolicy, scenario.edition):
            yield key, scenario.origin(key), queue.fairsharepolicy, wrong


def policies_as_read(grid: dict) -> list[str]:
    """Replace each malformed `fairsharepolicy` of a grid by what PanDA reads in it; a sentence for each."""
    remarks = []
    for name, queue in grid["queues"].items():
        if wrong := check_policy(said := queue.get("fairsharepolicy", "")):
            queue["fairsharepolicy"] = as_read(said)
            remarks.append(f"{name}: fairsharepolicy {said!r} is written as PanDA reads it, "
                           f"{queue['fairsharepolicy']!r}; {wrong[0]}")
    return remarks


UNREAD = {
    taskrefiner.USER_TASKS_MESSAGE_DRIVEN_PERCENT: "agents act on their periods, not on messages",
    taskrefiner.USER_TASKS_PUSH_STATUS_CHANGES_PERCENT: "no one outside listens to changes of tasks",
    taskrefiner.PROD_TASKS_PUSH_STATUS_CHANGES_PERCENT: "no one outside listens to changes of tasks",
    taskrefiner.OUTDISKCOUNT_ANALY_KB: "streams say what their jobs write, which tasks claim as well",
    jobgen.MERGE_JOB_MAX_WALLTIME: "merge jobs have the maxtime of their queue as their limit",
    user_output.OUTPUT_CONTAINER_LIFETIME: "accounts say how long output counts, by output_lifetime"}
"""Why nothing reads a key, where there is more to say."""


def remarks(scenario: Scenario | Snapshot | str | Path) -> tuple[str, ...]:
    """Warnings about legal but suspicious settings, and remarks from the importers; one sentence each.

    Of a snapshot, keys that no rule reads. Of a path, the scenario in the file.
    """
    if isinstance(scenario, Snapshot):
        return (*scenario.import_remarks, *map(str, unread_keys(scenario)), *tasks_without_type(scenario),
                *settings_without_effect(scenario.scenario()))
    scenario = as_scenario(scenario, "remarks")
    return (*cross_checks.remarks(scenario), *work_that_no_queue_takes(scenario), *settings_without_effect(scenario))


def tasks_without_type(snapshot: Snapshot) -> Iterator[str]:
    """Tasks of a lenient snapshot that no resource type fits, in one line."""
    bounds = tuple(snapshot.resource_types.values())
    found = [f"tasks.{name}" for name, task in snapshot.tasks.items()
             if not snapshot.strict and task.resource_type is None and UNDEFINED == resource_type_of(
                 bounds, task.corecount, task.ramcount or nan, task.ramunit, task.baseramcount)]
    if found:
        yield (f"{len(found)} x no resource type fits a task, which then has that of none, as PanDA's Undefined: "
               f"{first_three(found)}")


def settings_without_effect(scenario: Scenario) -> Iterator[str]:
    """Keys of gdpconfig that nothing in the simulator reads, or nothing in the edition of the scenario.

    What a policy or agent of another package reads is not known.
    """
    policies = scenario.policies
    others = [name for kind, name in policies if name not in BUILT_IN[kind]] + list(scenario.agents.own)
    unless = f" unless {' or '.join(map(repr, others))} reads it" if others else ""
    for name in cross_checks.settings_of(scenario):
        editions = {edition for match in find(name) for edition in editions_of(match.entry)}
        if not editions:
            reason = next((UNREAD[match.entry] for match in find(name) if match.entry in UNREAD),
                          "nothing in the simulator reads it")
            yield f"gdpconfig key {name!r} has no effect{unless}: {reason}."
        elif family_of(scenario.edition) not in editions:
            yield f"gdpconfig key {name!r} has no effect{unless}: only the {editions.pop()} edition reads it."


def editions_of(entry: GdpconfigKey) -> tuple[str, ...]:
    """The editions in which something reads a key."""
    return tuple(edition for edition in EDITIONS if entry in readers(edition))


@cache
def readers(edition: str | None = None) -> dict[GdpconfigKey, tuple[str, ...]]:
    """The public functions that read each key, as `policy.tasks.scouts.measure`, in an edition, None = in any of them.

    A rule of the brokers reads its keys in the editions whose tuples have the rule, but for those that an edition sets
    for good (`question.TERMS`); other functions do in the editions that the row of the key names. A family falls back
    to the key without placeholders, so what reads the family reads that key, too. A key that nothing reads is missing.
    """
    found: dict[GdpconfigKey, set[str]] = {entry: set() for entry in REGISTRY}
    for each in EDITIONS if edition is None else (edition,):
        for name, (function, keys) in _readings(each).items():
            for entry in keys & found.keys():
                if _reads(function, entry, each):
                    found[entry].add(name)
    return {entry: tuple(sorted(names)) for entry, names in found.items() if names}


@cache
def _readings(edition: str) -> dict[str, tuple[Callable, frozenset[GdpconfigKey]]]:
    """Every public function of the policies, with the keys that its code names, as an edition fills in columns."""
    general = {(entry.component, entry.key): entry for entry in REGISTRY}
    found = {}
    for info in walk_packages(policy.__path__, f"{policy.__name__}."):
        module, short = import_module(info.name), info.name.partition(".")[2]
        for name, function in _public_functions(module):
            keys = set(keys_named(function, edition))
            keys |= {general[key.component, key.prefix] for key in keys if (key.component, key.prefix) in general}
            found[f"{short}.{name}"] = function, frozenset(keys)
    return found


def _public_functions(module: ModuleType) -> Iterator[tuple[str, Callable]]:
    """Public functions that a module defines, and public methods of its public classes, by name."""
    for name, thing in vars(module).items():
        if name[0] == "_" or getattr(plain(thing), "__module__", None) != module.__name__:
            continue
        if isinstance(thing, type):
            yield from ((f"{name}.{method}", function) for method, function in vars(thing).items()
                        if isinstance(function, FunctionType) and method[0] != "_")
        elif isinstance(plain(thing), FunctionType):
            yield name, thing


def _reads(function: Callable, entry: GdpconfigKey, edition: str) -> bool:
    """True if a function that names a key reads it in an edition."""
    if function in _rules_of(edition):
        return True
    is_part_of_rules = hasattr(function, "rule") or asks_a_record(plain(function))
    return not is_part_of_rules and edition in entry.editions


@cache
def _rules_of(edition: str) -> frozenset[Callable]:
    """The rules of all brokers in an edition, what lifts some of them, and the functions that count jobs for them."""
    jobs, tasks, analysis = JOBS[edition], TASKS[edition], ANALYSIS[edition]
    lifting = [step.when for step in tasks.funnel.steps if isinstance(step, Liftable)]
    return frozenset((*jobs.funnel.criteria, *jobs.factors, jobs.count, *tasks.funnel.criteria, *tasks.factors,
                      *lifting, *analysis.gate, *analysis.funnel.criteria, *analysis.factors, count))
