"""Jobsets of a run: made of the new jobs of tasks with event service, with their ranges, further consumers, and merge
jobs; source: lifecycle reference, 6.1 and 6.2."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from simgrid_broker import luck
from simgrid_broker.agents.control import Control
from simgrid_broker.names import Cloning, EventService, JobMark, JobStatus, QueueStatus, TaskStatus
from simgrid_broker.policy.brokerage.production.broker import spread_jobs
from simgrid_broker.policy.jobs.resource_types import asked_ramcount
from simgrid_broker.policy.jobs.retry_module import fewest_ranges
from simgrid_broker.scenario.work.event_rule import EventRule
from simgrid_broker.systems.events.policy.jobset import WAITING_CO_JUMBO, EventFile, EventJob, EventQueue, Jobset
from simgrid_broker.systems.events.policy.jumbo import DISABLED, WAITING
from simgrid_broker.systems.events.policy.queues import NUCLEUS
from simgrid_broker.systems.events.table import EventRanges, find_processed
from simgrid_broker.world.jobs.counts import account_of_task
from simgrid_broker.world.views import observe

J = JobStatus
CONSUMER_DRAW = luck.STREAMS["consumer_draw"]
MERGE_MEMORY_MB = 1000.0
"""True memory of merge jobs of event service, MB; assumed as that of other merge jobs."""
FLAGS = {"notDiscardEvents": "notDiscardEvents", "decAttOnFailedES": "decAttOnFailedES",
         "acceptPartialFinish": "acceptPartial", "mergeEsOnOS": "mergeAtOs"}
"""Task parameters to the tags that jobs get."""


@dataclass
class JumboTask:
    """A task with jumbo jobs.

    ring: of the chunks of its events; flag: useJumbo; n_jobs, per_site: nJumboJobs, maxJumboPerSite; jobs: rows of its
    live jumbo jobs by PandaID; fakes: jobsets by their fake co-jumbo jobs; n_made, n_drawn: jumbo jobs made, and draws
    of queues so far; n_used: attempts at its input at the last cycle.
    """

    jeditaskid: int
    ring: int
    n_jobs: int
    per_site: int
    flag: str = WAITING
    jobs: dict[int, int] = field(default_factory=dict)
    fakes: dict[int, "Live"] = field(default_factory=dict)
    n_made: int = 0
    n_drawn: int = 0
    n_used: int = -1

    def draws(self) -> int:
        """Key of the next draw of queues."""
        self.n_drawn += 1
        return luck.ATTEMPTS * self.n_drawn


@dataclass
class Live:
    """A jobset that is not over.

    jobset: as the rules read it; rows: of its live jobs by PandaID; holder: the consumer that holds the input; numbers:
    consumers so far; merge, merge_row, like_merge: the merge job, 0 = none, and its requests; n_events: of the input;
    key: task and input, for what later attempts keep; jumbo: its task if that has jumbo jobs; chunk: of the ranges that
    were inserted for it, the last one of the jobset.
    """

    jobset: Jobset
    task: int
    holder: int
    rows: dict[int, int] = field(default_factory=dict)
    numbers: int = 1
    merge: int = 0
    merge_row: int = -1
    like_merge: EventJob | None = None
    output_bytes: float = 0.0
    n_events: int = 0
    key: tuple[int, int, int] = (0, 0, 0)
    jumbo: JumboTask | None = None
    chunk: int = -1

    @property
    def is_cloned(self) -> bool:
        """True if its jobs are clones."""
        return self.jobset.jobs[self.holder].kind == EventService.CLONE


class Jobsets:
    """The jobsets of a run that are not over, by the PandaIDs of their live jobs, and of their merge jobs.

    ranges: the table of their events; shared: those that had several consumers, by identity; kept: chunks of processed
    events for the next attempt at an input; jumbo: tasks with jumbo jobs by jeditaskid; of_chunk: jobsets of such
    tasks by their chunks.
    """

    def __init__(self, control: Control):
        self.control = control
        self.ranges = EventRanges(control.world.hold_events)
        control.world.hold_events(self.ranges)
        self.of_job: dict[int, Live] = {}
        self.of_merge: dict[int, Live] = {}
        self.kept: dict[tuple[int, int, int], list[int]] = {}
        self.shared: dict[int, Live] = {}
        self.of_chunk: dict[int, Live] = {}
        self.jumbo: dict[int, JumboTask] = {}
        self.of_jumbo_job: dict[int, JumboTask] = {}
        self.n_made = 0
        self.has_stores = bool((control.arrays.queues["object_store"] >= 0).any())

    def all(self) -> list[Live]:
        """Each jobset once."""
        return [*{id(live): live for live in self.of_job.values()}.values()]

    def begin(self, row: int, rule: EventRule, is_fake: bool = False) -> None:
        """Make the jobset of a new job, its ranges and its other consumers; is_fake: the job waits for jumbo jobs."""
        control, job = self.control, self.control.arrays.jobs[row]
        task, panda_id, n_events = int(job["task"]), int(job["panda_id"]), int(job["n_events"])
        key = (int(job["jeditaskid"]), int(job["chunk"]), int(job["n_chunks"]))
        self.n_made += 1
        owner = -2 - self.n_made
        kept = self.kept.pop(key, [])
        self.ranges.chunks["file"][kept] = self.n_made
        cloning = Cloning.of(rule.useJobCloning) if rule.useJobCloning else Cloning.NONE
        chunks = [*kept, self._insert(owner, n_events, rule.nEventsPerWorker if cloning == Cloning.NONE else n_events,
                                      rule.maxAttemptES, kept)]
        self.ranges.chunks["event_bytes"][chunks[-1]] = job["output_bytes"] / max(n_events, 1)
        attempt = int(job["attempt"]) - 1
        flags = frozenset({"eventservice", *(flag for name, flag in FLAGS.items() if getattr(rule, name))})
        flags |= set() if self.ranges.chunks["head"][chunks[-1]] >= 0 else {"allOkEvents"}
        most = int(control.arrays.tasks["max_attempt_es"][task]) + 1
        jumbo, file = self.jumbo_task(task), self.n_made
        found = self._described(row, owner, attempt, flags, most)
        if cloning != Cloning.NONE:
            found.kind = EventService.CLONE
        elif jumbo is not None and jumbo.flag != DISABLED:
            found.kind = EventService.CO_JUMBO
        jobset = Jobset(TaskStatus.RUNNING, {panda_id: found},
                        {file: EventFile(file, "running", "running", attempt, None, 0, None, panda_id)},
                        self.ranges, own_chunks=np.array(chunks),
                        minimum=fewest_ranges(control.cfg), use_jumbo="" if jumbo is None else jumbo.flag,
                        edition=control.edition)
        live = Live(jobset, task, panda_id, {panda_id: row}, output_bytes=float(job["output_bytes"]),
                    n_events=n_events, key=key, jumbo=jumbo, chunk=chunks[-1])
        self.of_job[panda_id] = live
        control.fabric.join_jobset(row, chunks[-1], int(cloning))
        if jumbo is not None:
            self._join(live, jumbo)
        if is_fake:
            self.let_wait(live, panda_id)
            return
        for queue in self._further_queues(live, row, rule):
            self.make(live, found, queue)

    def _insert(self, owner: int, n_events: int, size: int, attempts: int, kept: list[int]) -> int:
        """Insert the ranges of `size` events of an input but those that earlier attempts have kept; their chunk."""
        firsts, table = np.arange(1, n_events + 1, size), self.ranges
        lasts, is_kept = np.minimum(firsts + size - 1, n_events), np.zeros(len(firsts), bool)
        find_processed(table.rows, table.chunks, np.array(kept, np.int64), size, is_kept)
        return table.add_chunk(owner, self.n_made, firsts[~is_kept], lasts[~is_kept], attempts=attempts)

    def jumbo_task(self, row: int) -> JumboTask | None:
        """The task in a row if it has, or had, jumbo jobs; none are made of a task that names its queue."""
        task = self.control.arrays.tasks[row]
        known, rule = self.jumbo.get(int(task["jeditaskid"])), self.control.world.event_rule(row)
        if known is None and task["n_jumbo_jobs"] > 0 and rule.nEventsPerWorker and not self.names_queue(row):
            return self.enable(row, int(task["n_jumbo_jobs"]), rule.maxJumboPerSite)
        return known

    def names_queue(self, row: int) -> bool:
        """True if a task names the queue of its jobs."""
        return bool(self.control.world.vocabularies["preassigned"][self.control.arrays.tasks["preassigned"][row]])

    def enable(self, row: int, n_jobs: int, per_site: int) -> JumboTask:
        """Give a task jumbo jobs; its consumers become co-jumbo jobs."""
        number = int(self.control.arrays.tasks["jeditaskid"][row])
        jumbo = self.jumbo[number] = JumboTask(number, self.ranges.add_ring(), n_jobs, per_site)
        for live in self.all():
            if live.key[0] == number:
                live.jumbo, live.jobset.use_jumbo = jumbo, jumbo.flag
                self._join(live, jumbo)
                for job in live.jobset.jobs.values():
                    job.kind = EventService.CO_JUMBO if job.kind == EventService.CONSUMER else job.kind
        return jumbo

    def _join(self, live: Live, jumbo: JumboTask) -> None:
        """Let jumbo jobs take the ranges of a jobset."""
        self.ranges.join_ring(jumbo.ring, live.chunk)
        self.of_chunk[live.chunk] = live

    def add_jumbo(self, jumbo: JumboTask, panda_id: int, row: int) -> None:
        """Note a new jumbo job."""
        jumbo.jobs[panda_id], self.of_jumbo_job[panda_id] = row, jumbo
        jumbo.n_made += 1

    def of_jumbo(self, jumbo: JumboTask) -> Iterator[Live]:
        """Jobsets of a task with jumbo jobs."""
        return (live for live in self.of_job.values() if live.jumbo is jumbo)

    def count(self, jumbo: JumboTask, kind: str) -> int:
        """Ranges of a task with jumbo jobs, of inputs that are not over, as a column of CHUNK counts them."""
        return int(self.ranges.chunks[kind][self.ranges.in_ring(jumbo.ring)].sum())

    def forget_jumbo(self, jumbo: JumboTask) -> None:
        """Forget a task whose row is free."""
        self.ranges.remove(self.jumbo.pop(jumbo.jeditaskid).ring)

    def detach(self, live: Live) -> None:
        """Take the ranges of a jobset that is over from jumbo jobs."""
        jumbo = live.jumbo
        if jumbo is None:
            return
        for chunk in live.jobset.chunks.tolist():
            for row in jumbo.jobs.values():
                self.control.fabric.drop_ranges(row, chunk)
            self.ranges.leave_ring(chunk)
        self.of_chunk.pop(live.chunk, None)

    def without_open(self) -> list[Live]:
        """Jobsets of several consumers, and without a merge job, that have no ready range with attempts left."""
        for key in [key for key, live in self.shared.items() if len(live.rows) < 2]:
            del self.shared[key]
        jobsets = [live for live in self.shared.values() if not live.merge]
        n_open = self.ranges.chunks["n_open"][np.array([live.chunk for live in jobsets], np.int64)]
        return [live for live, n in zip(jobsets, n_open.tolist(), strict=True) if n == 0]

    def free_kept(self) -> None:
        """Free what was kept for further attempts at the input of tasks that are over and forgotten."""
        for key in [key for key in self.kept if key[0] not in self.control.world.row_of]:
            self.remove(self.kept.pop(key))

    def remove(self, chunks: list[int]) -> None:
        """Free chunks that are over, and what their ranges take in object stores."""
        for chunk in chunks:
            if self.has_stores:
                self.control.fabric.delete_events(chunk)
            self.ranges.remove(chunk)

    def _described(self, row: int, owner: int, attempt: int, flags: frozenset[str], most: int) -> EventJob:
        """A consumer as the rules read it."""
        world, job = self.control.world, self.control.arrays.jobs[row]
        nucleus = int(job["nucleus"])
        destination = NUCLEUS + world.vocabularies["sites"][nucleus] if nucleus >= 0 else (
            world.vocabularies["queues"][job["queue"]])
        return EventJob(
            int(job["panda_id"]), owner, J(int(job["status"])), EventService.CONSUMER,
            world.vocabularies["queues"][job["queue"]], world.vocabularies["shares"][job["share"]], destination, 1,
            most, int(job["priority"]), int(job["corecount"]), float(job["ramcount_mb"]), flags, (self.n_made,),
            (attempt,))

    def queues(self) -> dict[str, EventQueue]:
        """Queues as the choice of queues for retries and merge jobs reads them."""
        arrays, grid = self.control.arrays, self.control.world.scenario.grid
        workers = (arrays.queues["status"] == QueueStatus.ONLINE).astype(float)      # idle ones have a pilot at times
        np.add.at(workers, arrays.pseudo_queues["queue"], arrays.pseudo_queues["n_running"])
        return {name: EventQueue(
            queue.atlas_site, QueueStatus(int(arrays.queues["status"][number])),
            1 if queue.capability == "score" else queue.corecount, queue.capability, queue.jobseed, queue.catchall,
            queue.maxtime, queue.maxrss or None, queue.minrss, queue.type == "analysis", queue.wnconnectivity,
            queue.pledgedcpu == -1,
            grid.storages[queue.objectstores].site if queue.objectstores else None, float(workers[number]))
            for number, (name, queue) in enumerate(grid.queues.items())}

    def _further_queues(self, live: Live, row: int, rule: EventRule) -> list[int]:
        """Pseudo-queues of the other consumers of a jobset: nSitesPerJob queues in turn, the last that of the job.

        Queues are drawn by weight without replacement, as far as there are any.
        """
        world, control = self.control.world, self.control
        n, job = int(self.control.arrays.tasks["n_es_consumers"][live.task]) - 1, self.control.arrays.jobs[row]
        own = int(job["pseudo_queue"])
        if n <= 0 or rule.nSitesPerJob <= 1:
            return [own] * max(n, 0)
        task = observe.task(world, live.task)
        _, verdict = control.brokers.broker(live.task, task, observe.job_input(world, live.task), n,
                                            account_of_task(world.arrays, live.task), cache=False)
        begins = luck.ATTEMPTS * int(job["chunk"]) + int(job["attempt"])
        places = [own]
        for _ in range(rule.nSitesPerJob - 1):
            rest = replace(verdict, order=verdict.order[~np.isin(verdict.order, places)])
            drawn, _ = spread_jobs(rest, 1, control.brokers.uniforms(CONSUMER_DRAW, task, begins, rest))
            places[-1:] = [*drawn.tolist(), own]
        return [places[k % len(places)] for k in range(n)]

    def make(self, live: Live, like: EventJob, number: int) -> int:
        """Make a consumer like another one at a pseudo-queue; its PandaID."""
        control, world = self.control, self.control.world
        source = live.rows[like.panda_id if like.panda_id in live.rows else live.holder]
        pseudo = world.arrays.pseudo_queues[number]
        ram = like.ramcount if like.ramcount else asked_ramcount(
            observe.task(world, live.task), int(pseudo["corecount"]))
        order = (control.now, live.task, number, 1, ram, int(world.arrays.jobs["ram_level"][source]),
                 int(world.arrays.tasks["resource_type"][live.task]))
        row = control.fabric.make_consumer(order, source, int(live.jobset.chunks[-1]), live.numbers)
        job = world.arrays.jobs[row]
        panda_id, live.numbers = int(job["panda_id"]), live.numbers + 1
        job["priority"] = like.priority
        live.rows[panda_id], self.of_job[panda_id] = row, live
        self.shared[id(live)] = live
        live.jobset.jobs[panda_id] = replace(
            like, panda_id=panda_id, queue=world.vocabularies["queues"][job["queue"]], ramcount=ram, status=J.PENDING,
            sub_status=None, error=0, is_archived=False)
        return panda_id

    def let_wait(self, live: Live, panda_id: int) -> None:
        """Make a new consumer a fake co-jumbo job, which waits for jumbo jobs."""
        self.control.fabric.let_wait(live.rows[panda_id], self.control.now)
        job = live.jobset.jobs[panda_id]
        job.queue, job.status = WAITING_CO_JUMBO, J.WAITING
        if live.jumbo is not None:
            live.jumbo.fakes[panda_id] = live

    def pseudo_queue(self, live: Live, like: EventJob, one_core: bool) -> int:
        """Pseudo-queue of a queue for a new job: that of the job before if it stays there, else the one that fits."""
        arrays = self.control.arrays
        own = int(arrays.jobs["pseudo_queue"][live.rows[live.holder]])
        if like.queue == WAITING_CO_JUMBO:                 # no queue takes the merge job of a fake co-jumbo job
            return own
        queue = self.control.world.vocabularies["queues"].index(like.queue)
        of_queue = np.flatnonzero(arrays.pseudo_queues["queue"] == queue)
        if own in of_queue and not one_core:
            return own
        cores = arrays.pseudo_queues["corecount"][of_queue]
        return int(of_queue[np.argmin(np.abs(cores - 1) if one_core else -cores)])

    def make_merge(self, live: Live, like: EventJob) -> None:
        """Make the merge job of a jobset."""
        control, world, arrays = self.control, self.control.world, self.control.arrays
        holder = live.rows[live.holder]
        number, shares = self.pseudo_queue(live, like, True), world.vocabularies["shares"]
        own, there = arrays.queues[arrays.jobs["queue"][holder]], int(
            arrays.queues["site"][arrays.pseudo_queues["queue"][number]])
        site = int(own["site"] if own["object_store"] < 0 else arrays.storages["site"][own["object_store"]])
        arrays.jobs["output_bytes"][holder] = live.output_bytes
        live.like_merge = like
        row = control.fabric.make_merge_job(
            (control.now, live.task, number, int(arrays.jobs["attempt"][holder]), live.holder, like.ramcount,
             int(arrays.tasks["resource_type"][live.task]), 1, like.priority,
             int(arrays.tasks["processing_type"][live.task]), -1 if site == there else site,
             world.event_rule(live.task).es_merge_hs06sec_per_gb, MERGE_MEMORY_MB, 0.0), [holder])
        arrays = self.control.arrays
        arrays.jobs["output_bytes"][holder], arrays.job_files["marks"][row] = 0.0, JobMark.MERGES_EVENTS
        if like.share in shares:
            control.fabric.set_share_of(np.array([row]), shares.index(like.share))
        live.merge, live.merge_row = int(self.control.arrays.jobs["panda_id"][row]), row
        self.of_merge[live.merge] = live

