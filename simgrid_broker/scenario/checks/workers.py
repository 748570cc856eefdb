"""Checks of how workers come to queues: workflows, Harvester's limits, nodes."""

from collections import Counter
from collections.abc import Iterator
from math import nan

from simgrid_broker.errors import did_you_mean, nearest
from simgrid_broker.names import KNOWN_RESOURCE_TYPES
from simgrid_broker.scenario.loading.origins import Finding, Rules
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.schema.harvester import FACTORS, LIMITS, RATIOS, TARGET, TYPE_LIMITS, options_of
from simgrid_broker.schema.queues import Queue
from simgrid_broker.systems.dispatch import DISPATCHERS, Dispatch, dispatcher
from simgrid_broker.systems.worker_mode import MODES, WorkerMode, mode_of

BEGINNINGS = ("nQueueLimit", "maxWorker", "maxNewWorker", "maxSubmission", "nNewWorker")
"""Beginnings of the names of Harvester's options."""


def unknown_workflow(scenario: Scenario) -> Iterator[Finding]:
    """The workflow of a queue is that of a worker mode, or none."""
    others = {name: queue.workflow for name, queue in scenario.grid.queues.items()
              if queue.workflow and queue.workflow not in dict(MODES.built_in)}
    workflows = MODES.names() if others else ()                          # what is installed is searched only then
    for name, workflow in others.items():
        if workflow not in workflows:
            yield Finding(("grid", "queues", name, "workflow"), workflow,
                          f"expected one of {', '.join(workflows)}, or none", nearest(workflow, workflows),
                          thing="worker mode")


def limit_of_workers(scenario: Scenario) -> Iterator[Finding]:
    """Harvester's options of a queue are known, and allow at least one worker or job; those of streaming are numbers.

    A limit of a resource type may be 0, which closes the queue to it.
    """
    of_modes = {key for mode in modes_in_use(scenario) for key in mode.options}
    for name, queue in scenario.grid.queues.items():
        for key, value in queue.params.items():
            place, number = ("grid", "queues", name, "params", key), _number(value)
            if key in RATIOS:
                if not number > 0:
                    yield Finding(place, value, "expected a number of percent above 0")
            elif key in LIMITS:
                if not number >= 1:
                    yield Finding(place, value, "expected a number from 1 on: with less the queue would get no workers")
            elif key.startswith(BEGINNINGS):
                yield Finding(place, value, "unknown option of Harvester", nearest(key, (*LIMITS, *RATIOS)))
            elif key in FACTORS and not (number > 0 or value == "auto"):
                yield Finding(place, value, "expected a number above 0, or auto")
            elif key == TARGET and not number >= 0:
                yield Finding(place, value, "expected a number of cores, 0 or above")
            elif key in of_modes and not number >= 0:
                yield Finding(place, value, "expected a number from 0 on")
            elif key.startswith(f"{TYPE_LIMITS}.") and not (number >= 1 or number == 0):
                yield Finding(place, value, "expected a number from 1 on, or 0 for no workers of the type")


def _number(value: object) -> float:
    """A number, also as text; NaN for anything else."""
    try:
        return float(str(value))
    except ValueError:
        return nan


def slot_larger_than_node(scenario: Scenario) -> Iterator[Finding]:
    """A slot of a queue fits one node of its site."""
    for name, queue in scenario.grid.queues.items():
        site = scenario.grid.sites.get(queue.atlas_site)
        if site is not None and site.node is not None and site.node.cores < queue.corecount:
            yield Finding(("grid", "queues", name, "corecount"), queue.corecount,
                          f"must not exceed the {site.node.cores} cores of a node of {queue.atlas_site}")


def partition_of_a_batch_system(scenario: Scenario) -> Iterator[Finding]:
    """Static partitions fit their site, and a slot of a unified queue fits each of them and what they leave."""
    for name, site in scenario.grid.sites.items():
        key, total = ("grid", "sites", name, "partitions"), sum(site.partitions.values())
        sharing = [queue for queue in scenario.grid.queues.values() if queue.atlas_site == name and queue.cores is None]
        unified = [queue for queue in sharing if queue.unified]
        if not site.partitions or site.cores is None:
            continue
        if not unified:
            yield Finding(key, None, "is for unified queues that share the cores of the site: there is none")
        elif total > site.cores:
            yield Finding(key, total, f"must not exceed the {site.cores} cores of the site")
        for kind, cores in site.partitions.items():
            most = max((_slot(scenario, queue, kind) for queue in unified), default=0)
            if 0 < cores < most:
                yield Finding((*key, kind), cores, f"a slot has {most} cores")
        others = [kind for kind in scenario.resource_types if kind not in site.partitions]
        most = max([_slot(scenario, queue, kind) for queue in unified for kind in others]
                   + [queue.corecount for queue in sharing if not queue.unified], default=0)
        if 0 < site.cores - total < most:
            yield Finding(key, total, f"leaves {site.cores - total} cores, and a slot of the other types has {most}")


def _slot(scenario: Scenario, queue: Queue, kind: str) -> int:
    """Most cores of a worker of a resource type at a unified queue."""
    bounds = scenario.resource_types.get(kind)
    return 1 if bounds is None or bounds.maxcore == 1 else queue.corecount


def slots_that_open(scenario: Scenario) -> Iterator[Finding]:
    """Slots open before they close, at a batch system whose cores are not those of nodes."""
    for name, queue in scenario.grid.queues.items():
        site = scenario.grid.sites.get(queue.atlas_site)
        for position, row in enumerate(queue.slot_requests):
            key = ("grid", "queues", name, "slot_requests", position, "opens")
            if row.opens is None:
                continue
            if row.expires is not None and row.expires <= row.opens:
                yield Finding(key, row.opens, f"must be before they expire, {row.expires:.15g} s")
            if site is not None and site.node is not None:
                yield Finding(key, row.opens, f"the cores of {queue.atlas_site} are those of its nodes, which stay")


def notice_of_nothing(scenario: Scenario) -> Iterator[str]:
    """A notice before slots are taken away, at queues where none is."""
    for name, queue in scenario.grid.queues.items():
        if queue.eviction_notice is not None and not queue.ends_early:
            yield (f"eviction_notice of queue {name!r} has no effect: without eviction_rate, slot_life and window its "
                   "batch system takes no slot away.")


def slots_below_all_types(scenario: Scenario) -> Iterator[str]:
    """Unified queues with slots of fewer cores than jobs of any resource type have, which run nothing."""
    least = min(bounds.mincore or 1 for bounds in scenario.resource_types.values())
    for name, queue in scenario.grid.queues.items():
        if queue.unified and queue.corecount < least:
            yield (f"Queue {name!r} runs nothing: its corecount is {queue.corecount}, and each of resource_types has a "
                   f"mincore of {least} or more.")


def option_unread(scenario: Scenario) -> Iterator[str]:
    """Options in `params` that nothing reads: each that is close to one that is read, the others together."""
    known = (*options_of(scenario.resource_types), *(key for mode in modes_in_use(scenario) for key in mode.options))
    unread = Counter(key for queue in scenario.grid.queues.values() for key in queue.params if key not in known)
    types, others = list[str](), list[str]()
    for key, number in unread.items():
        if key.removeprefix(f"{TYPE_LIMITS}.") in KNOWN_RESOURCE_TYPES:
            types.append(f"{key} ({number})")
        elif near := nearest(key, known, 1):
            yield f"Option {key} in params of {number} queue(s) has no effect{did_you_mean(near)}"
        else:
            others.append(f"{key} ({number})")
    for what, keys in (("for resource types that the scenario does not have", types),
                       ("that nothing here reads", others)):
        if keys:
            yield f"Options in params {what}, with the number of queues: {', '.join(keys)}."


def modes_in_use(scenario: Scenario) -> tuple[WorkerMode, ...]:
    """Worker modes of the queues, each once; none for a workflow that is unknown."""
    workflows = dict.fromkeys(queue.workflow for queue in scenario.grid.queues.values())
    return tuple(dict.fromkeys(mode_of(one) for one in workflows if not one or one in MODES.names()))


def unknown_dispatcher(scenario: Scenario) -> Iterator[Finding]:
    """The dispatcher is known, and no options are given of another one, which stand under its name."""
    names, fields = DISPATCHERS.names(), type(scenario).model_fields
    if scenario.dispatch not in names:
        yield Finding(("dispatch",), scenario.dispatch, f"expected {' or '.join(map(repr, names))}",
                      nearest(scenario.dispatch, names))
    for name in {*names} & fields.keys() - {scenario.dispatch}:
        if getattr(scenario, name) != fields[name].default:
            yield Finding((name,), None, f"has no effect without `dispatch: {name}`")


def brokerage_not_asked(scenario: Scenario) -> Iterator[Finding]:
    """No brokerage of jobs is named beside a dispatcher that has rules of its own for all jobs."""
    if scenario.dispatch not in DISPATCHERS.names() or dispatcher(scenario.dispatch).job_rules is None:
        return
    for kind in ("job_brokerage", "analysis_brokerage"):
        if (name := getattr(scenario.policies, kind)) != type(scenario.policies).model_fields[kind].default:
            yield Finding(("policies", kind), name, f"is not asked: with `dispatch: {scenario.dispatch}` jobs wait for "
                          "any queue that can run them")


def systems_in_use(scenario: Scenario) -> tuple[Dispatch | WorkerMode, ...]:
    """The dispatcher, if it is known, and the worker modes of a scenario."""
    known = scenario.dispatch in DISPATCHERS.names()
    return (*((dispatcher(scenario.dispatch),) if known else ()), *modes_in_use(scenario))


def checks_of_systems(scenario: Scenario) -> Iterator[Finding]:
    """Everything that the dispatcher and the worker modes in use refuse."""
    for system in systems_in_use(scenario):
        for check in system.checks:
            yield from check(scenario)


def remarks_of_systems(scenario: Scenario) -> Iterator[str]:
    """Remarks of the dispatcher and the worker modes in use."""
    for system in systems_in_use(scenario):
        for look in system.remarks:
            yield from look(scenario)


WORKER_RULES: Rules = (unknown_workflow, limit_of_workers, slot_larger_than_node, partition_of_a_batch_system,
                       slots_that_open, unknown_dispatcher, brokerage_not_asked, checks_of_systems)
