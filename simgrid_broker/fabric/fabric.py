"""The fabric as agents use it: operations on the world that also grow tables, empty full outboxes and report faults."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from simgrid_broker.fabric import batch, incidents
from simgrid_broker.fabric.dispatch import Request, fetch_jobs
from simgrid_broker.fabric.jobs import auxiliary, consumers, effects
from simgrid_broker.fabric.jobs.adder import add_jobs, by_subdataset
from simgrid_broker.fabric.jobs.early_ends import turn_windows
from simgrid_broker.fabric.jobs.ending import take_back_all
from simgrid_broker.fabric.jobs.retries import learned
from simgrid_broker.fabric.jobs.submission import cut_jobs, make_jobs, set_up_jobs
from simgrid_broker.fabric.jobs.timeouts import Timeouts, forget_queues, looked_at_again, overdue, timeouts_of
from simgrid_broker.fabric.loop import FAULT, OUTBOX_FULL, REACHED, advance
from simgrid_broker.fabric.task_queues import set_priority
from simgrid_broker.fabric.transfers import links
from simgrid_broker.fabric.transfers.network import Shipment, follow_rule, send_staged
from simgrid_broker.names import RANKED, JobStatus
from simgrid_broker.world.arrays import FETCHED, JOB_INPUT, ORDERED, TIMEOUT_SCAN
from simgrid_broker.world.data.network import Rule
from simgrid_broker.world.jobs.transitions import raise_fault
from simgrid_broker.world.task_queues import draw_tables, longer_tables
from simgrid_broker.world.world import World

FIRST_TASK_QUEUES = 256
"""Task queues for which there is room at first; it doubles when it is used up."""


class EventDesk(Protocol):
    """Calls by which event service learns of tasks and jobs; rows: (n,) of jobs."""

    def refining(self, row: int) -> None:
        """A task is about to be refined."""

    def made(self) -> None:
        """New jobs are in the inbox of the Setupper."""

    def ended(self, rows: np.ndarray, now: float) -> None:
        """Consumers, or clones, are holding: their payloads have ended."""

    def taken_back(self, rows: np.ndarray, status: int, cause: int, now: float) -> np.ndarray:
        """Jobs are to be ended by force; those on which event service does not decide are returned."""


class Fabric:
    """Compiled event loop over a world.

    `sink(name, rows, times)` receives ended attempts ("jobs", with their transition times) and ended transfers
    ("transfers", times None) whenever an outbox is emptied; it must copy the arrays. `watchers`, functions of rows and
    times, receive the ended attempts first. `retry_module(lesson)` returns the level of ramCount for the input of a
    failed job, a row of LESSON, if its retry rule consults the module. `event_service` decides on consumers.
    """

    def __init__(self, world: World, sink: Any):
        self.world = world
        self.sink = sink
        self.watchers: list = []
        self.orders: list[tuple] = []
        self.submitted_s = 0.0                               # no worker that waits was submitted before
        self.scans: dict[int, tuple[tuple, Timeouts]] = {}   # the last of each kind, and what it asked for
        self.retry_module: Callable[[np.void], Any]
        self.event_service: EventDesk | None = None

    def advance(self, until: float) -> None:
        """Handle all events up to and including time `until`, s."""
        while (reason := advance(self.world.arrays, float(until))) != REACHED:
            if reason == FAULT:
                raise_fault(self.world.arrays)
            elif reason == OUTBOX_FULL:
                self.empty_outboxes()
            else:
                self.world.make_room()

    def empty_outboxes(self) -> None:
        """Pass ended attempts and transfers to the sink."""
        arrays, state = self.world.arrays, self.world.state
        jobs, transfers = int(state["n_done_jobs"]), int(state["n_done_transfers"])
        if jobs:
            for watcher in self.watchers:
                watcher(arrays.done_jobs[:jobs], arrays.done_times[:jobs])
            self.sink("jobs", arrays.done_jobs[:jobs], arrays.done_times[:jobs])
        if transfers:
            self.sink("transfers", arrays.done_transfers[:transfers], None)
        state["n_done_jobs"] = state["n_done_transfers"] = 0

    def order_jobs(self, task_row: int, number: int, count: int, ramcount_mb: float, now: float, ram_level: int = 0,
                   resource_type: int | None = None) -> None:
        """Order `count` jobs of a task at a pseudo-queue with a memory request of `ramcount_mb` each.

        ram_level: level of raised ramCount of the inputs, 0 = the ramCount of the task, new inputs included;
        resource_type: type of the jobs at a queue for every type, None = type of the task.
        """
        if resource_type is None:
            resource_type = self.world.arrays.tasks["resource_type"][task_row]
        self.orders.append((now, task_row, number, count, ramcount_mb, ram_level, resource_type))

    def cut_jobs(self, order: tuple, jobs: np.ndarray, inputs: np.ndarray | None = None) -> None:
        """Make pending jobs from the next pieces of a task's input: one per element of `jobs`, (k,): count, closed_by.

        order: the arguments of `order_jobs`, in the order of ORDERED; inputs: what each job reads of the secondary
        datasets of its task that have replicas of their own, (k, n) of JOB_INPUT.
        """
        self._call_with_room(cut_jobs, np.array([order], ORDERED), jobs,
                             np.zeros((0, 1), JOB_INPUT) if inputs is None else inputs, jobs=len(jobs))
        if self.event_service is not None:
            self.event_service.made()

    def make_jobs(self, orders: np.ndarray | None = None) -> None:
        """Make all ordered jobs, which takes their input; an agent calls it at the time of the orders.

        orders: (k,) of ORDERED, by default those of `order_jobs`.
        """
        if orders is None:
            if not self.orders:
                return
            orders = np.array(self.orders, ORDERED)
            self.orders.clear()
        elif not len(orders):
            return
        self._call_with_room(make_jobs, orders, jobs=sum(orders["count"].tolist()))
        if self.event_service is not None:
            self.event_service.made()

    def set_up_jobs(self, now: float) -> None:
        """Define all pending jobs, and activate them or transfer their input."""
        if pending := self.world.arrays.state["n_pending"].item():
            self._call_with_room(set_up_jobs, now, transfers=pending, replicas=pending, subdatasets=pending)

    def send_staged(self, shipment: Shipment, now: float) -> tuple[int, int]:
        """Transfer files that have been read from tape to another site: row and identifier of the transfer."""
        row, transfer_id = self._call_with_room(send_staged, shipment, now)
        return int(row), int(transfer_id)

    def follow_rule(self, rule: Rule) -> None:
        """Transfer files for which no job waits."""
        self._call_with_room(follow_rule, rule, transfers=1)

    def add_jobs(self, now: float) -> None:
        """Fail or finish every job in the Adder's inbox, or transfer its output."""
        arrays = self.world.arrays
        if n_holding := arrays.state["n_holding"].item():
            inbox = arrays.holding[:n_holding]
            self._call_in_turns(add_jobs, by_subdataset(arrays, inbox["row"]), now, jobs=1, transfers=1, retries=2)
            arrays.state["n_holding"] = 0
            if self.event_service is not None:
                self.event_service.ended(inbox["row"][self._still_holding(inbox)], now)

    def _still_holding(self, inbox: np.ndarray) -> np.ndarray:
        """Which jobs of an inbox of the Adder are consumers that it has left, (n,) bool."""
        jobs, rows = self.world.arrays.jobs, inbox["row"]
        return ((jobs["panda_id"][rows] == inbox["panda_id"]) & (jobs["status"][rows] == JobStatus.HOLDING)
                & (self.world.arrays.event_jobs["chunk"][rows] >= 0))

    def _call(self, operation: Callable[..., Any], *arguments: object) -> Any:
        """The result of an operation on the world; raises the fault that it reports."""
        result = operation(self.world.arrays, *arguments)
        raise_fault(self.world.arrays)
        return result

    def _call_with_room(self, operation: Callable[..., Any], *arguments: object, **room: int) -> Any:
        """The result of an operation for which `World.make_room` makes room: new rows of tables by name."""
        self.world.make_room(**room)
        return self._call(operation, *arguments)

    def _call_in_turns(self, operation: Callable[..., Any], rows, *arguments: object, **room_for_each: int) -> None:
        """Call an operation that returns how many of `rows` are done, until all are; it stops at a full outbox."""
        while len(rows):
            room = {name: number * len(rows) for name, number in room_for_each.items()}
            done = self._call_with_room(operation, rows, *arguments, **room)
            self._learn()
            rows = rows[done:]
            if len(rows):
                self.empty_outboxes()

    def _learn(self) -> None:
        """Pass failed jobs to the retry module and queue their inputs for the next attempt."""
        arrays = self.world.arrays
        if n_lessons := arrays.state["n_lessons"].item():
            for place in range(n_lessons):
                learned(arrays, place, self.retry_module(arrays.lessons[place]))
            arrays.state["n_lessons"] = 0

    def submit_workers(self, numbers, counts, now: float) -> None:
        """Submit `counts[k]` workers of pseudo-queue `numbers[k]` to their batch systems."""
        counts = np.asarray(counts, np.int32)
        self._call_with_room(batch.submit, np.asarray(numbers, np.int32), counts, now, submissions=int(counts.sum()))

    def submit_for_jobs(self, jobs: np.ndarray, ends: np.ndarray, now: float) -> np.ndarray:
        """Submit a worker for each starting job, (n,) of FETCHED; returns the rows of those for which that failed.

        ends: where those of each queue end, ascending.
        """
        failed = np.empty(len(jobs), np.int64)
        return failed[:self._call_with_room(batch.submit_for_jobs, jobs, ends, now, failed, submissions=len(jobs))]

    def open_slots(self, pool: int, cores: int, memory_mb: float, now: float) -> None:
        """Give a batch system more cores and memory."""
        self.world.state["total_cores"] += cores
        self._call_with_room(batch.open_slots, pool, cores, memory_mb, now)

    def close_slots(self, pool: int, cores: int, memory_mb: float) -> None:
        """Take cores and memory away from a batch system, as soon as they are free."""
        batch.close_slots(self.world.arrays, pool, cores, memory_mb)

    def turn_windows(self, now: float) -> None:
        """Open and close the batch systems whose windows begin or end now."""
        self._call_with_room(turn_windows, now)

    def cancel_old_workers(self, now: float) -> np.ndarray:
        """Cancel the workers that have waited for too long; returns rows of the starting jobs that have lost theirs."""
        if now - self.submitted_s > batch.QUEUED_MOST_S:
            self.submitted_s = batch.cancel_old(self.world.arrays, now)
        return batch.jobs_left(self.world.arrays)

    def fetch_jobs(self, queues: np.ndarray, ranges: np.ndarray, most: np.ndarray, numbers: np.ndarray,
                   now: float) -> tuple[np.ndarray, np.ndarray]:
        """Fetch jobs of queues: (n,) of FETCHED, and where those of each queue end; arguments as of a `Request`."""
        request = Request(queues=queues, ranges=ranges, most=most, numbers=numbers, room=np.empty(most.shape[1]),
                          jobs=np.empty(int(numbers.sum()), FETCHED), ends=np.empty(len(queues), np.int64))
        self._call(fetch_jobs, request, now)
        return request.jobs[:request.ends[-1]], request.ends

    def overdue(self, rules, limits, for_label, now: float, scan: int = TIMEOUT_SCAN) -> tuple[np.ndarray, np.ndarray]:
        """Rows of the jobs that exceed a timeout, and the first rule that each exceeds; arguments as in `timeouts`."""
        arrays = self.world.arrays
        asked = rules.tobytes(), limits.tobytes(), for_label.tobytes(), len(arrays.jobs)
        known, timeouts = self.scans.get(scan, ((), None))
        if timeouts is None or known != asked:
            before, timeouts = timeouts, timeouts_of(rules, limits, for_label, len(arrays.jobs))
            self.scans[scan] = asked, timeouts
            if (again := looked_at_again(timeouts, before)).any():
                forget_queues(arrays, again, scan)
        n_overdue = overdue(arrays, timeouts, scan, now)
        return timeouts.rows[:n_overdue].copy(), timeouts.broken[:n_overdue].copy()

    def take_back(self, rows, status: int, cause: int, now: float) -> None:
        """End live jobs by force with a status and a cause; event service looks after its own."""
        if self.event_service is not None:
            rows = self.event_service.taken_back(np.asarray(rows), status, cause, now)
        self.end_by_force(rows, status, cause, now)

    def end_by_force(self, rows, status: int, cause: int, now: float) -> None:
        """End live jobs by force, whatever they are."""
        self._call_in_turns(take_back_all, rows, status, cause, now, retries=1)

    def make_consumer(self, order: tuple, source: int, chunk: int, number: int) -> int:
        """Make a further consumer of a jobset; order: as ORDERED, the others as of `consumers`. Returns its row."""
        orders = np.array([order], ORDERED)
        return int(self._call_with_room(consumers.make_consumer, orders, source, chunk, number))

    def join_jobset(self, row: int, chunk: int, cloning: int) -> None:
        """Make a new job the first consumer of a chunk of event ranges, or the first clone; cloning: names.Cloning."""
        self._call(consumers.join_jobset, row, chunk, 0, cloning)

    def leave_jobset(self, rows: np.ndarray, now: float) -> None:
        """Let the Adder look at holding jobs that were clones, and go on as ordinary jobs."""
        self.world.arrays.event_jobs["chunk"][rows] = -1
        inbox = self.world.arrays.holding[:len(rows)]
        inbox["row"], inbox["panda_id"] = rows, self.world.arrays.jobs["panda_id"][rows]
        self.world.state["n_holding"] = len(rows)
        self.add_jobs(now)

    def make_jumbo_job(self, order: tuple, source: int, ring: int, number: int) -> int:
        """Make a jumbo job; order: as ORDERED, the others as of `consumers`. Returns its row."""
        orders = np.array([order], ORDERED)
        return int(self._call_with_room(consumers.make_jumbo_job, orders, source, ring, number))

    def let_wait(self, row: int, now: float) -> None:
        """Let a new consumer wait for jumbo jobs."""
        self._call(consumers.let_wait, row, now)

    def drop_ranges(self, row: int, chunk: int) -> None:
        """Take the ranges of a chunk that is over from a jumbo job."""
        self._call(consumers.drop_ranges, row, chunk)

    def report_events(self, row: int, until: float) -> None:
        """Finish the ranges that a consumer has processed by a time."""
        self._call(consumers.report_events, row, until)

    def delete_events(self, chunk: int) -> None:
        """Delete the output of the ranges of a chunk that is over in object stores."""
        self._call(consumers.delete_events, chunk)

    def wait_for_merge(self, row: int, now: float) -> None:
        """Let a consumer that has ended, or is not heard any more, wait until its events are merged."""
        self._call(consumers.wait_for_merge, row, now)

    def set_share_of(self, rows: np.ndarray, share: int) -> None:
        """Change the share of live jobs."""
        effects.set_share(self.world.arrays, rows, share)

    def make_merge_job(self, order: tuple, members) -> int:
        """Make a merge job for the output of the jobs in rows `members`; order: as MERGE_ORDER. Returns its row."""
        orders = np.array([order], auxiliary.MERGE_ORDER)
        return int(self._call_with_room(auxiliary.make_merge_job, orders, np.asarray(members, np.int32)))

    def limit_build_jobs(self, processing_type: int, walltime_s: float) -> None:
        """Set the processing type of build jobs and their maxWalltime without baseWalltime, s; inf = of their queue."""
        settings = self.world.arrays.settings
        settings["build"], settings["build_walltime_s"] = processing_type, walltime_s

    def make_build_job(self, order: tuple) -> int:
        """Make a build job; order: as BUILD_ORDER. Returns its row."""
        return int(self._call_with_room(auxiliary.make_build_job, np.array([order], auxiliary.BUILD_ORDER)))

    def hold_for_library(self, places: np.ndarray, now: float) -> None:
        """Let jobs of the Setupper's inbox wait for a library; places: in the inbox."""
        self._call(auxiliary.hold_for_library, places, now)

    def go_on(self, rows: np.ndarray) -> None:
        """Put jobs whose library is there into the Setupper's inbox."""
        self._call_with_room(auxiliary.go_on, rows, jobs=len(rows))

    def finish_merged(self, rows, now: float) -> None:
        """Finish jobs whose output was merged."""
        self._call_in_turns(auxiliary.finish_merged, np.asarray(rows, np.int32), now)

    def hold_back(self, rows, now: float) -> None:
        """Throttle activated jobs."""
        self._call(effects.throttle_jobs, rows, now)

    def release(self, rows, now: float) -> None:
        """Activate throttled jobs."""
        self._call(effects.activate_jobs, rows, now)

    def lift(self, rows, points: int) -> None:
        """Raise the priority of activated jobs."""
        effects.lift(self.world.arrays, rows, points)

    def look_at_owners(self, owner_of_task: np.ndarray, *numbers) -> np.ndarray:
        """Count the jobs of owners: rows of the activated and throttled ones; owner_of_task: (n_tasks,);
        numbers as in `effects.look_at_owners`."""
        rows = np.empty(int(self.world.state["n_job_rows"]), np.int32)
        return rows[:effects.look_at_owners(self.world.arrays, rows, owner_of_task, *numbers)]

    def jobs_of_owners(self, among: np.ndarray, owner_of_task: np.ndarray, chosen: np.ndarray,
                       status: int) -> np.ndarray:
        """Rows of the jobs of chosen owners in a status; arguments as in `effects.jobs_of_owners`."""
        rows = np.empty(len(among), np.int32)
        return rows[:effects.jobs_of_owners(self.world.arrays, among, owner_of_task, chosen, int(status), rows)]

    def share_gates(self, now: float, period: float = 0.0) -> None:
        """Share doors and backbones among the links; period: of a cycle of the optimiser, s, 0 = between cycles."""
        if self.world.arrays.state["n_busy_links"]:
            self.world.make_room()
        self._call(links.share_gates, period, now)

    def set_background(self, load: float) -> None:
        """Leave a part 1 - `load` of doors and backbones to the links; the caller calls `share_gates`."""
        self.world.capacities.background = load
        self.world.capacities.put_gates_in_force(self.world.arrays.gates)

    def scale_capacity(self, cause: object, now: float, what: tuple[list[int], list[int]] | None = None,
                       factor: float = 1.0) -> None:
        """Multiply capacities by a factor, for a cause; what: links and gates; None ends the effect of the cause."""
        factors = self.world.capacities.factors
        factors.pop(cause, None)
        if what is not None:
            factors[cause] = (*what, factor)
        self.world.capacities.put_in_force(self.world.arrays.links, self.world.arrays.gates)
        self.share_gates(now)

    def site_goes_down(self, site: int, now: float) -> None:
        """Begin the outage of a site."""
        incidents.site_goes_down(self.world.arrays, site, now)

    def site_comes_back(self, site: int, now: float) -> None:
        """End the outage of a site."""
        self.world.make_room()
        incidents.site_comes_back(self.world.arrays, site, now)

    def storage_is_switched(self, storage: int, activity: str, off: bool, now: float) -> None:
        """Switch an activity of a storage off or on again: transfers over WAN stop, jobs that read from it fail."""
        self.world.make_room()
        if activity.endswith("_wan"):
            incidents.storage_is_switched(self.world.arrays, storage, activity == "read_wan", off, now)
        elif activity == "read_lan" and off:
            incidents.fail_readers(self.world.arrays, storage, now)

    def link_goes_down(self, source: int, destination: int, now: float) -> None:
        """Begin the outage of a link."""
        incidents.link_goes_down(self.world.arrays, source, destination, now)

    def link_comes_back(self, source: int, destination: int, now: float) -> None:
        """End the outage of a link."""
        self.world.make_room()
        incidents.link_comes_back(self.world.arrays, source, destination, now)

    def sources_vanish(self, dataset: int, now: float) -> None:
        """Fail what moves or reads files of a dataset from where it has no replica any more."""
        self.world.make_room()
        incidents.sources_vanish_of(self.world.arrays, dataset, now)

    def dispatch_by(self, share: bool, sloppy_fraction: float, urgent_first: bool = False,
                    keeps_ages: bool | None = None, **weights: int) -> None:
        """Set the order of dispatch before the first job is activated; weights: of the columns in the rank of a job.

        keeps_ages: whether some requests may ever be served by age alone, by default if `sloppy_fraction` is not 0.
        """
        settings = self.world.arrays.settings[0]
        settings["keeps_ages"] = sloppy_fraction > 0 if keeps_ages is None else keeps_ages
        settings["urgent_first"] = urgent_first and settings["urgent"] >= 0
        settings["by_share"], settings["sloppy_fraction"] = share, sloppy_fraction
        for name in RANKED:
            settings[f"rank_by_{name}"] = weights.get(name, 0)

    def use_task_queues(self, cpu_classes: Sequence[int], job_window: int, longest_first: bool, limits: np.ndarray,
                        limits_of: np.ndarray) -> None:
        """Let activated jobs wait in DIRAC's task queues, before the first one is activated.

        cpu_classes: CPU times of task queues, ascending; job_window: oldest jobs of which a pilot gets one;
        longest_first: whether only matching task queues of the highest CPU time compete; limits, limits_of: as in
        `Draw`.
        """
        world = self.world
        settings = world.arrays.settings[0]
        settings["task_queues"], settings["job_window"], settings["longest_first"] = True, job_window, longest_first
        tables = draw_tables(FIRST_TASK_QUEUES, len(world.arrays.pseudo_queues), len(cpu_classes))
        tables |= dict(limits=limits, limits_of=limits_of)
        world.arrays = world.arrays.with_arrays(**tables, cpu_classes=np.array(cpu_classes, float))

    def open_task_queue(self, number: int, accepts: np.ndarray, **values: int) -> None:
        """Make the task queue of the next number.

        accepts: whether pilots of each pseudo-queue match it, (n,) bool; values: of columns of TASK_QUEUE.
        """
        if number == len(self.world.arrays.task_queues):
            self.world.arrays = self.world.arrays.with_arrays(**longer_tables(self.world.arrays))
        arrays = self.world.arrays
        for name, value in values.items():
            arrays.task_queues[number][name] = value
        arrays.task_queues[number]["priority"] = 1.0
        arrays.accepts[:, number] = accepts

    def wait_in(self, task_row: int, ram_level: int, number: int) -> None:
        """Let the next jobs of a task with one ramCount wait in a task queue."""
        self.world.arrays.waits_in[task_row, ram_level] = number

    def set_task_queue_priorities(self, numbers: Sequence[int], priorities: np.ndarray) -> None:
        """Set the priorities of task queues, (n,) each."""
        arrays = self.world.arrays
        for k in np.flatnonzero(arrays.task_queues["priority"][numbers] != priorities).tolist():
            set_priority(arrays, numbers[k], priorities[k])

    def serve_shares(self, order: np.ndarray, ranks: np.ndarray, sloppy_fraction: float | None = None) -> None:
        """Set the order of shares, most under-served first, and their ranks in dispatch, (n_shares,) each.

        sloppy_fraction: part of the requests served by age alone; default: unchanged.
        """
        arrays = self.world.arrays
        self.world.n_moves += 1
        if sloppy_fraction is not None:
            arrays.settings[0]["sloppy_fraction"] = sloppy_fraction
        arrays.share_order[:], arrays.share_rank[:] = order, ranks
        arrays.shares_by_rank[:] = order[np.argsort(ranks[order], kind="stable")]

    def set_priority(self, task_rows, priority: int, jobs=None) -> None:
        """Change the priority of tasks and of their live jobs; jobs: rows that include these jobs, if known."""
        arrays = self.world.arrays
        self.world.n_moves += len(task_rows)
        arrays.tasks["priority"][task_rows] = priority
        effects.set_priority(arrays, effects.jobs_of(arrays, task_rows, among=jobs), priority)

    def set_share(self, task_rows, share: int, jobs=None, running: bool = False) -> None:
        """Change the share of tasks and of their jobs that have not started, or of running and starting ones, too.

        jobs: as for `set_priority`.
        """
        arrays, statuses = self.world.arrays, effects.RETAGGED_RUNNING if running else effects.RETAGGED
        arrays.tasks["share"][task_rows] = share
        self.world.n_moves += len(task_rows)
        self.world.count_for_users(task_rows)
        arrays = self.world.arrays
        effects.set_share(arrays, effects.jobs_of(arrays, task_rows, *statuses, among=jobs), share)

    def try_again(self, task_row: int, given_up) -> None:
        """Queue pieces of a task's input that were given up, (k,) of `effects.GIVEN_UP`, for another attempt."""
        self._call_with_room(effects.try_again, task_row, given_up, retries=len(given_up))

    def nothing_left(self, task_row: int) -> None:
        """Notify the PostProcessor that a task has no input left."""
        self.world.make_room()
        effects.nothing_left(self.world.arrays, task_row)
