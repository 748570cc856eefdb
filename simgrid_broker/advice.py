"""Remarks on a scenario, and which policies read which keys of gdpconfig."""

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from math import nan
from pathlib import Path
from pkgutil import walk_packages
from types import FunctionType

from simgrid_broker import policy
from simgrid_broker.editions import family_of
from simgrid_broker.errors import first_three
from simgrid_broker.gdpconfig import REGISTRY, GdpconfigKey, jobgen, taskrefiner
from simgrid_broker.gdpconfig.components import user_output
from simgrid_broker.names import EDITIONS
from simgrid_broker.obstacles import work_that_no_queue_takes
from simgrid_broker.policy.brokerage.analysis.editions import ANALYSIS
from simgrid_broker.policy.brokerage.analysis.users import count
from simgrid_broker.policy.brokerage.production.editions import PRODUCTION as JOBS
from simgrid_broker.policy.brokerage.task.editions import PRODUCTION as TASKS
from simgrid_broker.policy.funnel import Liftable
from simgrid_broker.policy.jobs.resource_types import UNDEFINED, resource_type_of
from simgrid_broker.policy.readings import asks_a_record, keys_named, plain
from simgrid_broker.policy.registry import BUILT_IN
from simgrid_broker.scenario import Scenario, Snapshot, as_scenario, find
from simgrid_broker.scenario.checks import cross_checks
from simgrid_broker.scenario.checks.snapshot import unread_keys

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
        for name, thing in vars(module).items():
            if isinstance(plain(thing), FunctionType) and thing.__module__ == module.__name__ and name[0] != "_":
                keys = set(keys_named(thing, edition))
                keys |= {general[key.component, key.prefix] for key in keys if (key.component, key.prefix) in general}
                found[f"{short}.{name}"] = thing, frozenset(keys)
    return found


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
