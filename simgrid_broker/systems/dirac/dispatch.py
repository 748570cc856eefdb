"""DIRAC's dispatch: jobs wait in task queues for a pilot of any queue that can run them; its agents and its checks.

DIRAC has no job brokerage; a task queue names sites and CEs. These are the queues that PanDA's rules on what a queue is
like leave over: not those on what waits or runs there, on links and nuclei, caps and weights. Jobs with input go where
all of it is on disk.

The DIRAC reference does not describe the SiteDirector: pilots for jobs in matching task queues, within the limits that
Harvester has for each queue, are this project's own reading. Source of the TaskQueuesAgent: DIRAC reference, 13.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.errors import nearest
from simgrid_broker.policy.brokerage.production import candidates, requirements
from simgrid_broker.policy.brokerage.production.editions import PRODUCTION, JobBrokerage
from simgrid_broker.policy.brokerage.production.storage import input_is_local
from simgrid_broker.policy.funnel import Funnel
from simgrid_broker.policy.rule import candidate_criterion
from simgrid_broker.scenario.dirac_run import ATTRIBUTES_OF_RUN
from simgrid_broker.scenario.loading.origins import Finding, Key
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.scenario.shares import leaf_names
from simgrid_broker.systems.dirac.central_queue import LIMITS_PERIOD, CentralQueue
from simgrid_broker.systems.dirac.input.snapshot import SCHEDULING, option_findings
from simgrid_broker.systems.dirac.policy.editions import DIRAC_EDITIONS
from simgrid_broker.systems.dirac.policy.options import option_remarks
from simgrid_broker.systems.dispatch import Dispatch

STATIC = {candidates.not_preassigned, candidates.of_the_other_kind, candidates.not_open,
          candidates.core_count_mismatch, candidates.too_many_cores, candidates.software_missing,
          candidates.platform_missing, requirements.too_little_memory, requirements.too_much_memory,
          requirements.too_little_scratch, requirements.too_little_scratch_deployed,
          requirements.too_little_walltime, requirements.too_little_walltime_deployed,
          requirements.too_much_walltime, requirements.too_much_walltime_deployed}
"""Rules of either edition that depend on the task and the description of a queue."""


@candidate_criterion("-input", unit="part of the input", says="{value} of the input on its disk, {limit} needed",
                     applies=lambda task: task["total_bytes"] > 0, panda="none; DIRAC: Sites of the job",
                     source="DIRAC reference, 2", editions=("documented", "deployed"))
def input_elsewhere(task, queue, load, link, store, numbers):
    """Refuse queues where some of the input is not on disk."""
    return not input_is_local(task, numbers), numbers["disk_bytes"], 1.0


def for_any_queue(edition: JobBrokerage) -> JobBrokerage:
    """The static rules of an edition, without weights."""
    kept = tuple(rule for rule in edition.funnel.criteria if rule in STATIC)
    return replace(edition, funnel=Funnel((*kept, input_elsewhere)), factors=())


TASK_QUEUES = {name: for_any_queue(edition) for name, edition in PRODUCTION.items()}
"""Rules of job brokerage by edition: every queue that can run the jobs."""


def group_findings(scenario: Scenario) -> Iterator[Finding]:
    """Groups name leaf shares, each at most one group."""
    leaves, taken = leaf_names(scenario), dict[str, str]()
    for name, group in scenario.dirac.groups.items():
        for position, share in enumerate(group.shares):
            key = ("dirac", "groups", name, "shares", position)
            if share not in leaves:
                yield Finding(key, share, "unknown leaf share", nearest(share, leaves), of_absence=True)
            elif share in taken:
                yield Finding(key, share, f"belongs to the group {taken[share]!r} already")
            taken[share] = name
    known = {*scenario.dirac.groups, *(leaf for leaf in leaves if leaf not in taken)}
    for queue, pilot in scenario.dirac.pilots.items():
        if not pilot.is_generic and pilot.group not in known:
            yield Finding(("dirac", "pilots", queue, "group"), pilot.group, "a private pilot needs the name of a group",
                          nearest(pilot.group, known))
    yield from misfits_in_run(scenario, known)


def misfits_in_run(scenario: Scenario, groups: Collection[str]) -> Iterator[Finding]:
    """Options of the right shape whose limits name sites, queues, attributes and groups of the run."""
    above = ("dirac", *SCHEDULING)
    wrong = list(option_findings(scenario.dirac.operations, ("dirac",)))
    yield from wrong
    for name in () if wrong else ("RunningLimit", "MatchingDelay"):
        for site, options in scenario.dirac.operations.get("JobScheduling", {}).get(name, {}).items():
            if site not in scenario.grid.sites:
                yield Finding((*above, name, site), site, "unknown site", nearest(site, scenario.grid.sites))
            yield from unknown_in_limits((*above, name, site), options, groups)
            for branch, more in options.items() if name == "RunningLimit" else ():
                for queue, limits in more.items() if branch == "CEs" else ():
                    key = (*above, name, site, branch, queue)
                    if queue not in scenario.grid.queues:
                        yield Finding(key, queue, "unknown queue", nearest(queue, scenario.grid.queues))
                    yield from unknown_in_limits(key, limits, groups)


def unknown_in_limits(key: Key, options: Mapping[str, Any], groups: Collection[str]) -> Iterator[Finding]:
    """Attributes that jobs of a run do not have, and unknown groups."""
    for attribute, values in options.items():
        if attribute in ("CEs", "Burst"):
            continue
        if attribute not in ATTRIBUTES_OF_RUN:
            yield Finding((*key, attribute), attribute, f"expected {', '.join(ATTRIBUTES_OF_RUN)}",
                          nearest(attribute, ATTRIBUTES_OF_RUN))
        for group in values if attribute == "OwnerGroup" else ():
            if group not in groups:
                yield Finding((*key, attribute, group), group, "unknown group", nearest(group, groups))


def dirac_without_effect(scenario: Scenario) -> Iterator[str]:
    """Options of DIRAC that have no effect in the edition, or name what no job has."""
    edition, dirac = DIRAC_EDITIONS[scenario.edition], scenario.dirac
    yield from (f"dirac: {remark}." for remark in option_remarks(dirac.operations, edition))


PERIOD = 120.0
"""Period, s."""


def site_director(control: Control) -> Process:
    """Ask for pilots."""
    central, harvester = control.books.waiting_place, control.books.harvester
    assert isinstance(central, CentralQueue)

    def direct() -> None:
        arrays = control.arrays
        accepts = arrays.accepts & ~central.shut(control.now)
        wanted = pilots_wanted(accepts, arrays.task_queues["cpu_class"], central.n_classes,
                               arrays.task_queues["n_jobs"], arrays.pseudo_queues["n_submitted"])
        pseudo_queue = harvester.types.pseudo_queue
        harvester.command(np.where(pseudo_queue >= 0, wanted[pseudo_queue], 0))
    yield from control.every(control.periods.pilot_streaming, direct, "pilots")


def task_queues(control: Control) -> Process:
    """Compute priorities, and count the jobs of limits."""
    central = control.books.waiting_place
    assert isinstance(central, CentralQueue)
    agents = [control.every(PERIOD, lambda: central.refresh(control.now), "task_queues")]
    if len(central.limits.table):
        agents.append(control.every(LIMITS_PERIOD, lambda: central.limits.count(central.group_of_share), "limits"))
    yield control.env.all_of([control.env.process(agent) for agent in agents])


def pilots_wanted(accepts: np.ndarray, cpu_class: np.ndarray, n_classes: np.ndarray, n_jobs: np.ndarray,
                  waiting: np.ndarray) -> np.ndarray:
    """Pilots to submit at each pseudo-queue, (n,): jobs that wait in matching task queues less waiting pilots.

    accepts: (n, n_task_queues); cpu_class, n_jobs: of each task queue; n_classes: CPU classes that a new pilot of each
    pseudo-queue reaches; waiting: pilots that wait in its batch system, (n,).
    """
    matching = accepts & (cpu_class[None, :] < n_classes[:, None])
    return np.maximum(matching @ n_jobs - waiting, 0)


DIRAC = Dispatch(name="DIRAC", binds_jobs=False, job_rules=TASK_QUEUES, workflow="pull_ups", place=CentralQueue,
                 agents=(task_queues, site_director), checks=(group_findings,), remarks=(dirac_without_effect,))
"""A pilot gets a job of a task queue that is drawn by priority among those that it matches."""
