"""DIRAC's task queues in a run: which one the jobs of a task join, and the priorities of all."""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from simgrid_broker.agents.dirac_limits import Limits
from simgrid_broker.agents.dirac_usage import Usage
from simgrid_broker.fabric.fabric import Fabric
from simgrid_broker.fabric.task_queue_draw import shut_queues
from simgrid_broker.policy.brokerage.production.decide import RANKING
from simgrid_broker.policy.dirac.acceptance import Acceptance
from simgrid_broker.policy.dirac.edition import cpu_classes
from simgrid_broker.policy.dirac.editions import DIRAC_EDITIONS
from simgrid_broker.policy.dirac.identity import Identity, identity_of
from simgrid_broker.policy.dirac.pilot_report import Credentials, processor_tags, request_of_pilot
from simgrid_broker.policy.dirac.priorities import Group, compute_priorities
from simgrid_broker.policy.dirac.request import Request, checked_request
from simgrid_broker.policy.dirac.share_correction import corrected, correctors_of
from simgrid_broker.policy.dirac.task_queues import TaskQueue
from simgrid_broker.policy.jobs.resource_types import asked_ramcount, job_corecount
from simgrid_broker.schema.dirac import PRIVATE
from simgrid_broker.views import KEPT, Queues, Task, Verdict
from simgrid_broker.world.world import World

EMPTY_FOR = {"documented": 0.0, "deployed": 300.0}
"""Time for which an empty task queue counts as one of its owner, s; source: DIRAC reference, sections 1 and 5."""
LONGEST = 10**9
"""CPUTime of a slot without limit, s."""


class CountedQueue(TaskQueue):
    """A task queue of which only the number of jobs is known; all have the priority of their group."""

    user_priority: int = 1
    left_s: float = -math.inf           # when jobs were last seen in it

    def count(self, n_jobs: int, now: float) -> None:
        """Note how many jobs wait."""
        self.jobs = {0: n_jobs} if n_jobs else {}
        self.left_s = now if n_jobs else self.left_s

    def numbers(self) -> list[tuple[int, int]]:
        """The one user priority, with the number of jobs."""
        return [(self.user_priority, self.jobs.get(0, 0))]


class CentralQueue:
    """All task queues of a run; n_classes: CPU classes that a new pilot of each pseudo-queue reaches, (n,)."""

    def __init__(self, world: World, fabric: Fabric):
        self.world, self.fabric = world, fabric
        scheduling = world.scenario.dirac.operations.get("JobScheduling", {})
        edition = DIRAC_EDITIONS[world.scenario.edition]
        self.edition = replace(edition, cpu_classes=cpu_classes(edition, scheduling))
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
        compute_priorities(known, self.groups, self.edition, self._corrected)
        self.fabric.set_task_queue_priorities(numbers, np.array([queue.priority for queue in queues]))

    def shut(self, now: float) -> np.ndarray:
        """Which task queues the limits exclude for pilots of each pseudo-queue, (n, n_task_queues) bool."""
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
        """What the pilots of a pseudo-queue ask for at their start: of a generic one the groups of its VO."""
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
        """What the pilots of a pseudo-queue offer at their start."""
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
