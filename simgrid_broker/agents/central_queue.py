"""DIRAC's task queues in a run: which one the jobs of a task join, and the priorities of all."""

import math
from typing import Any

import numpy as np

from simgrid_broker.fabric.fabric import Fabric
from simgrid_broker.policy.dirac.acceptance import Acceptance
from simgrid_broker.policy.dirac.editions import DIRAC_EDITIONS
from simgrid_broker.policy.dirac.identity import Identity, identity_of
from simgrid_broker.policy.dirac.pilot_report import processor_tags
from simgrid_broker.policy.dirac.priorities import Group, compute_priorities
from simgrid_broker.policy.dirac.request import checked_request
from simgrid_broker.policy.dirac.task_queues import TaskQueue
from simgrid_broker.policy.resource_types import asked_ramcount, job_corecount
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
        self.edition = DIRAC_EDITIONS[world.scenario.edition]
        self.queues: list[CountedQueue] = []
        self.number_of: dict[Identity, int] = {}
        self.group_of, self.groups, self.priority_of = groups_of(world)
        names, pseudo = world.vocabularies["pseudo_queues"], world.arrays.pseudo_queues
        sites = world.arrays.queues["site"][pseudo["queue"]]
        offers = [self._offer(k, names[k], world.vocabularies["sites"][site]) for k, site in enumerate(sites.tolist())]
        self.acceptance = Acceptance(self.edition, [checked_request(offer, self.edition.request_fields)
                                                    for offer in offers])
        classes = self.edition.cpu_classes
        self.n_classes = np.array([np.searchsorted(classes, offer["CPUTime"], side="right") for offer in offers])
        fabric.use_task_queues(classes, self.edition.window, self.edition.longest_first)

    def place(self, row: int, task: Task, verdict: Verdict, queues: Queues, now: float) -> None:
        """Note the task queue that the next jobs of the task in a row join: those of all queues that can run them."""
        kept = np.flatnonzero(np.asarray(verdict.refused_by) == KEPT)
        if not len(kept):
            return
        identity = self._identity(row, task, kept.tolist(), queues)
        if identity not in self.number_of:
            self._open(identity, self.priority_of[identity.single[1]], now)
        self.fabric.wait_in(row, self.number_of[identity])

    def refresh(self, now: float) -> None:
        """Compute the priorities of all task queues; empty ones count for a while. DIRAC reference, 11 and 13."""
        waiting = self.world.arrays.task_queues["n_jobs"].tolist()
        for queue, n_jobs in zip(self.queues, waiting, strict=False):
            queue.count(n_jobs, now)
        grace = EMPTY_FOR[self.edition.name]
        known = [queue for queue in self.queues if queue.jobs or now - queue.left_s <= grace]
        compute_priorities(known, self.groups, self.edition, lambda shares, group: dict(shares))
        self.fabric.set_task_queue_priorities(np.array([queue.priority for queue in self.queues]))

    def _identity(self, row: int, task: Task, kept: list[int], queues: Queues) -> Identity:
        """Requirements of the jobs of a task, as DIRAC's."""
        world, tasks = self.world, self.world.arrays.tasks
        group = self.group_of[world.tree.names[world.tree.leaves[tasks["share"][row]]]]
        cores = {int(job_corecount(task.corecount, queues.queue_and_cores[k][1])) for k in kept}
        work = task.cputime * max(task.n_events_per_job, 1) / min(cores) if task.cputime > 0 else None
        many = [f"{min(cores)}Processors"] if len(cores) == 1 else []
        job: dict[str, Any] = {
            self.edition.owner: world.vocabularies["users"][tasks["user"][row]], "OwnerGroup": group,
            "Sites": sorted({world.vocabularies["sites"][queues.site[k]] for k in kept}),
            "GridCEs": [queues.names[k] for k in kept],
            "Tags": [*many, "MultiProcessor"] if min(cores) > 1 else [],
            "MinRAM": int(min(asked_ramcount(task, queues.queue_and_cores[k][1]) for k in kept))}
        return identity_of(job | ({} if work is None else {"CPUTime": int(min(work, LONGEST))}), self.edition,
                           self.edition.cpu_classes)

    def _open(self, identity: Identity, user_priority: int, now: float) -> None:
        """Make a task queue; the priorities of all are computed again."""
        queue = CountedQueue(identity)
        queue.user_priority, queue.left_s = user_priority, now
        self.number_of[identity] = len(self.queues)
        self.queues.append(queue)
        cpu_class = self.edition.cpu_classes.index(identity.cpu_time)
        self.fabric.open_task_queue(self.number_of[identity], cpu_class, self.acceptance.of(identity))
        self.refresh(now)

    def _offer(self, number: int, name: str, site: str) -> dict[str, Any]:
        """What the pilots of a pseudo-queue offer at their start."""
        pseudo = self.world.arrays.pseudo_queues[number]
        queue = self.world.arrays.queues[pseudo["queue"]]
        offer = dict(CPUTime=int(min(queue["maxtime_s"] * queue["corepower"], LONGEST)), Site=site, GridCE=name,
                     Tag=processor_tags(int(pseudo["corecount"])))
        return offer if np.isinf(pseudo["maxrss_mb"]) else offer | dict(MaxRAM=math.ceil(pseudo["worker_mb"]))


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
