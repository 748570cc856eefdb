"""Dispatch by DIRAC: jobs wait in task queues for a pilot of any queue that can run them; the task queues of a run,
priorities, limits at sites and past usage; agents and checks.

DIRAC has no job brokerage; a task queue names sites and CEs. These are the queues that the rules of PanDA on what a
queue is like leave over: not those on what waits or runs there, on links and nuclei, caps and weights. Jobs with input
go where all of it is on disk.

The DIRAC reference does not describe the SiteDirector: pilots for jobs in matching task queues, within the limits that
Harvester has for each queue, are a reading of this project. Source: DIRAC reference, 8.2 and 8.3 (limits), 11 to 13
(priorities, usage, TaskQueuesAgent).
"""

import math
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from simgrid_broker.agents.control import AWAKE, Control, Process
from simgrid_broker.editions import ByEdition
from simgrid_broker.errors import nearest
from simgrid_broker.fabric.fabric import Fabric
from simgrid_broker.fabric.task_queues import shut_queues
from simgrid_broker.policy.brokerage.production import candidates, requirements
from simgrid_broker.policy.brokerage.production.decide import RANKING
from simgrid_broker.policy.brokerage.production.editions import PRODUCTION, JobBrokerage
from simgrid_broker.policy.brokerage.production.storage import input_is_local
from simgrid_broker.policy.funnel import Funnel
from simgrid_broker.policy.jobs.resource_types import asked_ramcount, job_corecount
from simgrid_broker.policy.rule import candidate_criterion
from simgrid_broker.scenario.loading.origins import Finding, Key
from simgrid_broker.scenario.model import ATTRIBUTES_OF_RUN, PRIVATE, Scenario
from simgrid_broker.scenario.shares import leaf_names
from simgrid_broker.systems.dirac.input.snapshot import SCHEDULING, option_findings
from simgrid_broker.systems.dirac.policy.matching import Acceptance
from simgrid_broker.systems.dirac.policy.priorities import (
    BURST,
    CES,
    DIRAC_EDITIONS,
    Corrector,
    Group,
    compute_priorities,
    corrected,
    correctors_of,
    is_on,
    option_remarks,
    whole_option,
)
from simgrid_broker.systems.dirac.policy.request import (
    Credentials,
    Request,
    checked_request,
    cpu_classes,
    processor_tags,
    request_of_pilot,
)
from simgrid_broker.systems.dirac.policy.task_queues import Identity, TaskQueue, identity_of
from simgrid_broker.systems.dispatch import Dispatch
from simgrid_broker.views import KEPT, Queues, Task, Verdict
from simgrid_broker.world.task_queues import JOB_TYPE, LIMIT, OWNER, OWNER_GROUP, count_at_sites, running_jobs
from simgrid_broker.world.world import World

EMPTY_FOR = ByEdition(documented=0.0, deployed=300.0)
"""Time for which an empty task queue counts as one of its owner, s; source: DIRAC reference, sections 1 and 5."""
LONGEST = 10**9
"""CPUTime of a slot without limit, s."""
ATTRIBUTES = dict(zip(ATTRIBUTES_OF_RUN, (OWNER, OWNER_GROUP, JOB_TYPE), strict=True))
"""Numbers of the attributes of limits."""
LIMITS_PERIOD = 10.0
"""Period in which running jobs are counted, s; source: DIRAC reference, 8.2."""
HISTORY_PERIOD = 900.0
"""UpdateHistoryPeriod: time after which usage is read again, s; source: DIRAC reference, section 12."""


class CountedQueue(TaskQueue):
    """A task queue of which only the number of jobs is known; all have the priority of their group."""

    user_priority: int = 1
    left_s: float = -math.inf           # when jobs were last seen in it

    def count(self, n_jobs: int, now: float) -> None:
        """Note how many jobs wait."""
        self.jobs = {0: n_jobs} if n_jobs else {}
        self.left_s = now if n_jobs else self.left_s

    def numbers(self) -> tuple[tuple[int, int]]:
        """The one user priority, with the number of jobs."""
        return (self.user_priority, self.jobs.get(0, 0)),


class CentralQueue:
    """All task queues of a run; n_classes: CPU classes that a new pilot of each pseudo-queue reaches, (n,); basis:
    what the priorities in force were computed from."""

    def __init__(self, world: World, fabric: Fabric):
        self.world, self.fabric = world, fabric
        scheduling = world.scenario.dirac.operations.get("JobScheduling", {})
        edition = DIRAC_EDITIONS[world.scenario.edition]
        weight: Callable[..., float] = lru_cache(1024)(edition.weight)
        self.edition = replace(edition, cpu_classes=cpu_classes(edition, scheduling), weight=weight)
        self.basis: tuple = ()
        self.queues: list[CountedQueue] = []
        self.number_of: dict[Identity, int] = {}
        self.of_group = defaultdict[str, list[int]](list)
        self.group_of, self.groups, self.priority_of = groups_of(world)
        self.group_numbers = {name: number for number, name in enumerate(self.groups)}
        self.group_of_share = np.array([self.group_numbers[self.group_of[world.tree.names[leaf]]]
                                        for leaf in world.tree.leaves], np.int64)
        self.values: dict[str, dict[str, int]] = {
            "Owner": _numbered(world.vocabularies["users"]), "OwnerGroup": self.group_numbers,
            "JobType": _numbered(world.vocabularies["processing_types"])}
        self.correctors = correctors_of(scheduling)
        self.usage = Usage(world, self.correctors, list(self.groups), self.group_of_share) if self.correctors else None
        requests = [self._request(k) for k in range(len(world.arrays.pseudo_queues))]
        self.acceptance = Acceptance(self.edition, requests)
        classes = self.edition.cpu_classes
        self.n_classes = np.array([np.searchsorted(classes, request.values["CPUTime"][0], side="right")
                                   for request in requests])
        self.limits = Limits(world, scheduling, self._number)
        fabric.use_task_queues(classes, self.edition.window, self.edition.longest_first, self.limits.table,
                               self.limits.of_kind)

    def place(self, row: int, ram_level: int, task: Task, verdict: Verdict, queues: Queues, now: float) -> None:
        """Note the task queue that the next jobs of a task with one ramCount join: those of all queues that can run
        them, whether or not brokerage ranks them among the best."""
        refused_by, first_ranking = np.asarray(verdict.refused_by), len(verdict.tags) - len(RANKING)
        kept = np.flatnonzero((refused_by == KEPT) | (refused_by >= first_ranking))
        if not len(kept):
            return
        identity = self._identity(row, task, kept.tolist(), queues)
        if identity not in self.number_of:
            self._open(identity, row, now)
        self.fabric.wait_in(row, ram_level, self.number_of[identity])

    def refresh(self, now: float, group: str | None = None) -> None:
        """Compute the priorities of all task queues, or of those of a group; empty ones count for a while.

        Source: DIRAC reference, 11 and 13. Corrected shares of all groups depend on which groups have task queues.
        """
        if self.usage is not None:
            self.usage.look(now)
        numbers = (self.of_group[group] if group is not None and not self.correctors
                   else list(range(len(self.queues))))
        queues = [self.queues[number] for number in numbers]
        for queue, n_jobs in zip(queues, self.world.arrays.task_queues["n_jobs"][numbers].tolist(), strict=True):
            queue.count(n_jobs, now)
        grace = EMPTY_FOR[self.edition.name]
        known = [queue for queue in queues if queue.jobs or now - queue.left_s <= grace]
        weights = [self.edition.weight(queue.numbers()) if queue.jobs else 0.0 for queue in known]
        before, self.basis = self.basis, (group, known, weights, self.usage and self.usage.read_s)
        if self.basis == before and not AWAKE:
            return
        compute_priorities(known, self.groups, self.edition, self._corrected)
        self.fabric.set_task_queue_priorities(numbers, np.array([queue.priority for queue in queues]))

    def shut(self, now: float) -> np.ndarray:
        """Task queues that the limits exclude for pilots of each pseudo-queue, (n, n_task_queues) bool."""
        arrays, n = self.world.arrays, len(self.queues)
        found = np.zeros(arrays.accepts.shape, bool)
        for kind in np.flatnonzero(arrays.limits_of[:, 0] < arrays.limits_of[:, 1]).tolist():
            shut_queues(arrays, kind, int(arrays.pseudo_queues["queue"][kind]), now, n, found[kind])
        return found

    def _corrected(self, shares: Mapping[str, float], group: str) -> dict[str, float]:
        return dict(shares) if self.usage is None else corrected(shares, group, self.correctors, self.usage.read)

    def _identity(self, row: int, task: Task, kept: list[int], queues: Queues) -> Identity:
        """Requirements of the jobs of a task, as DIRAC's."""
        world, tasks = self.world, self.world.arrays.tasks
        cores = {int(job_corecount(task.corecount, queues.queue_and_cores[k][1])) for k in kept}
        work = task.cputime * max(task.n_events_per_job, 1) / min(cores) if task.cputime > 0 else None
        many = [f"{min(cores)}Processors"] if len(cores) == 1 else []
        group = list(self.groups)[self.group_of_share[tasks["share"][row]]]
        job: dict[str, Any] = {
            self.edition.owner: world.vocabularies["users"][tasks["user"][row]], "OwnerGroup": group,
            "Sites": [world.vocabularies["sites"][queues.site[k]] for k in kept],
            "GridCEs": [queues.names[k] for k in kept], "JobTypes": [task.processingtype],
            "PilotTypes": world.scenario.dirac.pilot_types(group),
            "Tags": [*many, "MultiProcessor"] if min(cores) > 1 else [],
            "MinRAM": int(min(asked_ramcount(task, queues.queue_and_cores[k][1]) for k in kept))}
        return identity_of(job | ({} if work is None else {"CPUTime": int(min(work, LONGEST))}), self.edition,
                           self.edition.cpu_classes)

    def _open(self, identity: Identity, row: int, now: float) -> None:
        """Make a task queue for the jobs of a task; the priorities of its group are computed again."""
        tasks, group, queue = self.world.arrays.tasks, identity.single[1], CountedQueue(identity)
        queue.user_priority, queue.left_s = self.priority_of[group], now
        self.number_of[identity] = number = len(self.queues)
        self.queues.append(queue)
        self.of_group[group].append(number)
        self.fabric.open_task_queue(
            number, self.acceptance.of(identity), cpu_class=self.edition.cpu_classes.index(identity.cpu_time),
            owner=tasks["user"][row], owner_group=self.group_numbers[group], job_type=tasks["processing_type"][row])
        self.refresh(now, group)

    def _request(self, number: int) -> Request:
        """Request of the pilots of a pseudo-queue at their start: of a generic one the groups of its VO."""
        world, sharing = self.world, frozenset(name for name, group in self.groups.items() if group.job_sharing)
        names, dirac = world.vocabularies["pseudo_queues"], world.scenario.dirac
        queue = world.arrays.queues[world.arrays.pseudo_queues["queue"][number]]
        offer = self._offer(number, names[number], world.vocabularies["sites"][queue["site"]])
        pilot = dirac.pilots.get(list(world.scenario.grid.queues)[world.arrays.pseudo_queues["queue"][number]])
        if pilot is not None:
            of_vo = tuple(name for name in self.groups if dirac.vo(name) == pilot.VO)
            offer |= {} if pilot.is_generic else {"PilotType": PRIVATE}
            credentials = Credentials(pilot.is_generic, pilot.username, pilot.group, of_vo)
            offer, _named = request_of_pilot(offer, sharing, credentials, edition=self.edition)
        return checked_request(offer, self.edition.request_fields, sharing)

    def _offer(self, number: int, name: str, site: str) -> dict[str, Any]:
        """Values that the pilots of a pseudo-queue offer at their start."""
        pseudo = self.world.arrays.pseudo_queues[number]
        queue = self.world.arrays.queues[pseudo["queue"]]
        offer = dict(CPUTime=int(min(queue["maxtime_s"] * queue["corepower"], LONGEST)), Site=site, GridCE=name,
                     Tag=processor_tags(int(pseudo["corecount"])))
        return offer if np.isinf(pseudo["maxrss_mb"]) else offer | dict(MaxRAM=math.ceil(pseudo["worker_mb"]))

    def _number(self, attribute: str, value: str) -> int:
        """Number of a value of an attribute; one that no job has gets a new one."""
        known = self.values[attribute]
        return known.setdefault(value, len(known))


def _numbered(names: Any) -> dict[str, int]:
    return {name: number for number, name in enumerate(names)}


def groups_of(world: World) -> tuple[dict[str, str], dict[str, Group], dict[str, int]]:
    """Group of each leaf share, and share, sharing and user priority of each group, as the scenario says."""
    described, tree = world.scenario.dirac.groups, world.tree
    group_of = {share: name for name, group in described.items() for share in group.shares}
    groups = {name: Group(group.job_share, group.job_sharing, group.allow_background)
              for name, group in described.items()}
    for node in tree.leaves:
        share = tree.names[node]
        if share not in group_of:
            group_of[share] = share
            groups.setdefault(share, Group(max(round(10 * float(tree.value[node])), 1), True))
    return group_of, groups, {name: described[name].user_priority if name in described else 1 for name in groups}


class Limits:
    """The limits and delays of a run; numbers: of an attribute and the name of a value, the number that jobs have."""

    def __init__(self, world: World, scheduling: Mapping[str, Any], numbers: Callable[[str, str], int]):
        self.world = world
        rows = sorted(rows_of(world, scheduling, numbers)) if DIRAC_EDITIONS[world.scenario.edition].limits else []
        self.sites = np.array([row[0] for row in rows], np.int64)
        self.table = np.zeros(len(rows), LIMIT)
        names = "queue", "attribute", "value", "most", "delay_s", "burst"
        for number, row in enumerate(rows):
            for name, value in zip(names, row[1:], strict=True):
                self.table[number][name] = value
        self.table["tokens"] = self.table["burst"]
        site = world.arrays.queues["site"][world.arrays.pseudo_queues["queue"]]
        self.of_kind = np.stack([np.searchsorted(self.sites, site, side) for side in ("left", "right")], axis=1)

    def count(self, group_of_share: np.ndarray) -> None:
        """Count the jobs that run at each site; matches since the last count are among them."""
        count_at_sites(self.world.arrays, self.sites, group_of_share)


def rows_of(world: World, scheduling: Mapping[str, Any], numbers: Callable[[str, str], int]) -> Iterator[tuple]:
    """A row for each limit and delay: site, PanDA queue (-1 = the site), attribute, value, limit, delay, burst."""
    sites, queues = world.vocabularies["sites"], list(world.scenario.grid.queues)
    running = scheduling.get("RunningLimit", {}) if is_on(scheduling.get("CheckJobLimits", True)) else {}
    for site, options in running.items():
        branches = [(-1, options), *((queues.index(ce), limits) for ce, limits in options.get(CES, {}).items())]
        for queue, branch in branches:
            for attribute, limits in branch.items():
                for value, limit in limits.items() if attribute != CES else ():
                    yield (sites.index(site), queue, ATTRIBUTES[attribute], numbers(attribute, value),
                           whole_option(limit, 0), 0.0, 1)
    delayed = scheduling.get("MatchingDelay", {}) if is_on(scheduling.get("CheckMatchingDelay", True)) else {}
    for site, options in delayed.items():
        for attribute, delays in options.items():
            for value, delay in delays.items() if attribute != BURST else ():
                burst = whole_option(options.get(BURST, {}).get(attribute, {}).get(value), 1)
                yield (sites.index(site), -1, ATTRIBUTES[attribute], numbers(attribute, value), -1,
                       max(float(delay), 0.0), burst)


class Usage:
    """Running jobs by group and owner, summed over time; read: usage as correctors last read it.

    groups: names by number; group_of_share: number of the group of each share. Before a slice has passed, the average
    is over the time since the begin of the run.
    """

    def __init__(self, world: World, correctors: Sequence[Corrector], groups: Sequence[str],
                 group_of_share: np.ndarray):
        self.world, self.groups, self.group_of_share = world, list(groups), group_of_share
        self.spans = sorted({(piece.span, corrector.group) for corrector in correctors for piece in corrector.slices})
        self.names = {"": self.groups} | dict.fromkeys({group for _, group in self.spans} - {""},
                                                       world.vocabularies["users"])
        self.now = {level: np.zeros(len(names)) for level, names in self.names.items()}      # jobs that run
        self.sums = {level: np.zeros(len(names)) for level, names in self.names.items()}     # job seconds
        self.time_s, self.kept = 0.0, deque([(0.0, self.sums)])
        self.read: dict[tuple[int, str], dict[str, float]] = {}
        self.read_s = -np.inf

    def look(self, now: float) -> None:
        """Count the jobs that run, and read the usage again if it is time."""
        passed, self.time_s = now - self.time_s, now
        self.sums = {level: self.sums[level] + jobs * passed for level, jobs in self.now.items()}
        self.now = self._running()
        if now - self.read_s >= HISTORY_PERIOD and now > 0:
            self.read_s = now
            self.kept.append((now, self.sums))
            self.read = {(span, level): self._average(span, level) for span, level in self.spans}
            longest = max(span for span, _ in self.spans)
            while len(self.kept) > 1 and self.kept[1][0] <= now - longest:
                self.kept.popleft()

    def _running(self) -> dict[str, np.ndarray]:
        jobs = self.world.arrays.jobs
        return {level: running_jobs(jobs, self.group_of_share, self.groups.index(level) if level else -1, len(names))
                for level, names in self.names.items()}

    def _average(self, span: int, level: str) -> dict[str, float]:
        """Mean number of jobs of all that had any in a slice of time."""
        begin, before = next((kept for kept in reversed(self.kept) if kept[0] <= self.time_s - span), self.kept[0])
        jobs = (self.sums[level] - before[level]) / (self.time_s - begin)
        return {name: float(number) for name, number in zip(self.names[level], jobs, strict=True) if number > 0}


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
