"""Event service in a run: jobsets of consumers, their ends, retries and merge jobs, by the rules of `policy`.

The job that JEDI makes of an input is the first consumer of a jobset; the server makes the others. One consumer holds
the input for JEDI, which learns of the result when the jobset is over. Consumers with processed events wait in merging.
Clones are jobsets, too: they run as ordinary jobs, and the one of which JEDI learns leaves the jobset and goes on.
Source: lifecycle reference, 6.1 and 6.2. Simplified: events go to the merge job from the site, or the object store, of
the consumer that ended last; an upload to an object store takes no time; consumers that are not needed are closed
within a minute; PanDA's activity of pilots at a queue is the number of its workers.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.agents.own import records
from simgrid_broker.errors import InvariantBroken
from simgrid_broker.ledgers.hourly_sums import HourlySums
from simgrid_broker.names import DEFINED_TABLE, Cause, EventService, EventStatus, JobStatus, TaskStatus
from simgrid_broker.schema import Column, Table
from simgrid_broker.systems.events.jobsets import Jobsets, Live
from simgrid_broker.systems.events.policy.audit import FAULTS, audit
from simgrid_broker.systems.events.policy.ends import end_clone, end_job, finish_range
from simgrid_broker.systems.events.policy.jobset import WAITING_CO_JUMBO, archive
from simgrid_broker.systems.events.policy.kills import close_unused, kill
from simgrid_broker.systems.events.refining import Conversion
from simgrid_broker.systems.events.table import ALL, ANY, GONE, KEPT, PROCESSED, TAKEN, mask, release
from simgrid_broker.units import MINUTE
from simgrid_broker.world.jobs.transitions import pass_pieces

J = JobStatus
S = EventStatus
MADE_AGAIN = (Cause.TIMEOUT_ACTIVATED, Cause.TIMEOUT_STARTING)
"""Causes after which a merge job is made again; source: lifecycle reference, 4.2, rows 12 and 16."""
AT_WORK = frozenset(map(int, (J.SENT, J.STARTING, J.RUNNING, J.HOLDING)))
"""Statuses of jobs that have, or had last, the events for which others are not needed: one that waits while jumbo jobs
have all of them makes the merge job."""
NOT_BEGUN = (J.PENDING, J.DEFINED, J.ASSIGNED, J.ACTIVATED)
"""Statuses of consumers that were not dispatched and do not wait for jumbo jobs."""
STAND = (J.WAITING, J.RUNNING, J.HOLDING)
"""Statuses of jobs that can wait until their events are merged."""
NO_JOBS = np.zeros(0, np.int64)
NOTHING = (0, 0), 0
"""Figures of a consumer that was not dispatched: ranges and events that it processed, ranges in hand."""
PERIOD = MINUTE
"""Period in which consumers that are not needed are closed, s."""
KILL_CODES = {Cause.TASK_ABORTED: 50, Cause.TASK_FINISHED: 52, Cause.REASSIGNED: 51, Cause.FAST_REBROKERAGE: 10}
"""Code of a kill by its cause; 51 for all others, after which JEDI makes the next attempt."""
EVENTS = Table("event_service", "jobs of one kind and task that ended at one queue in one hour with one status", (
    Column("time_s", "f8", "s", "simulator", "Begin of the hour"),
    Column("jeditaskid", "i8", "", "JEDI_Tasks", "Task"),
    Column("kind", "i1", "", "PanDA eventService", "Role of the jobs", codes="event_jobs"),
    Column("queue", "i4", "", "PanDA computingSite", "PanDA queue", codes="queues"),
    Column("status", "i4", "", "PanDA jobStatus", "Status of the jobs", codes="job_status"),
    Column("sub_status", "i4", "", "PanDA jobSubStatus", "Sub-status; null = none", codes="texts"),
    Column("jobs", "i8", "jobs", "PanDA", "Jobs"),
    Column("ranges", "i8", "ranges", "JEDI_Events", "Event ranges that they processed"),
    Column("events", "i8", "events", "JEDI_Events", "Events of these"),
    Column("released", "i8", "ranges", "JEDI_Events", "Event ranges that they had in hand and did not finish"),
    Column("walltime_s", "f8", "s", "PanDA endTime - startTime", "Their wall time"),
    Column("kept_s", "f8", "s", "simulator", "Of this, the time of the events that they processed"),
), words={"event_jobs": EventService.words()})


@records(EVENTS)
def event_service(control: Control) -> Process:
    """Look after the jobs of tasks with nEventsPerWorker, and close consumers that are not needed."""
    desk = Desk(control)
    control.fabric.event_service = desk
    control.fabric.watchers.append(desk.watch)
    yield from control.every(PERIOD, desk.look, "event_service")


class Desk:
    """Event service, as the fabric asks it."""

    def __init__(self, control: Control):
        self.control = control
        self.jobsets = Jobsets(control)
        self.ranges = self.jobsets.ranges
        self.of_job, self.of_merge = self.jobsets.of_job, self.jobsets.of_merge
        self.of_jumbo_job = self.jobsets.of_jumbo_job
        self.ended_merges: list[np.void] = []
        self.makes_fakes, self.conversion = False, Conversion(control)
        self.sums: HourlySums = control.books.hourly_sums(EVENTS)

    def refining(self, row: int) -> None:
        """Make a task one of event service if it is to be converted."""
        self.conversion.look(row)

    def made(self) -> None:
        """Make jobsets of the new jobs of tasks with event service."""
        arrays = self.control.arrays
        inbox = arrays.pending[:arrays.state[0]["n_pending"]]
        rows = inbox["row"][inbox["panda_id"] == arrays.jobs["panda_id"][inbox["row"]]]
        new = (arrays.jobs["n_chunks"][rows] > 0) & (arrays.event_jobs["chunk"][rows] < 0) & (
            arrays.tasks["eventservice"][arrays.jobs["task"][rows]] != 0)
        for row in rows[new].tolist():
            rule = self.control.world.event_rule(int(self.control.arrays.jobs["task"][row]))
            if rule.nEventsPerWorker or rule.useJobCloning:
                self.jobsets.begin(row, rule, self.makes_fakes)

    def ended(self, rows: np.ndarray, now: float) -> None:
        """End consumers and clones whose payloads are over."""
        leave = []
        for panda_id, row in zip(self.control.arrays.jobs["panda_id"][rows].tolist(), rows.tolist(), strict=True):
            job = self.control.arrays.jobs[row]
            if job["panda_id"] == panda_id and job["status"] == J.HOLDING:       # else the end of another ended it
                status = J.FINISHED if job["cause"] == Cause.NONE else J.FAILED
                if panda_id in self.of_jumbo_job:
                    at_limit = job["cause"] == Cause.WALLTIME_EXCEEDED
                    job["cause"] = Cause.NONE if at_limit else job["cause"]
                    self.end_jumbo(panda_id, J.FINISHED if at_limit else status, int(job["cause"]))
                elif self.of_job[panda_id].is_cloned:
                    leave += [row] if self._end_clone(panda_id, status, int(job["cause"])) else []
                else:
                    self._end(panda_id, status, "pilot_killed" if job["cause"] == Cause.PREEMPTED else None)
        if leave:
            self.control.fabric.leave_jobset(np.array(leave), now)

    def taken_back(self, rows: np.ndarray, status: int, cause: int, now: float) -> np.ndarray:
        """End consumers by force: those without heartbeats fail, and give their events back; others are killed."""
        of_us, leave = self.control.arrays.event_jobs["chunk"][rows] >= 0, []
        panda_ids = self.control.arrays.jobs["panda_id"][rows[of_us]].tolist()
        for panda_id, row in zip(panda_ids, rows[of_us].tolist(), strict=True):
            if panda_id in self.of_jumbo_job:
                self.end_jumbo(panda_id, J(status), cause)
            elif panda_id not in self.of_job:
                continue
            elif self.of_job[panda_id].is_cloned:
                leave += [row] if self._end_clone(panda_id, J(status), cause) else []
            elif cause == Cause.TIMEOUT_RUNNING:
                self._report(panda_id)
                self._end(panda_id, J.FAILED, "es_toolong", cause)
            elif status == J.FAILED:
                self._report(panda_id)
                self._end(panda_id, J.FAILED, "es_heartbeat" if cause == Cause.LOST_HEARTBEAT else None, cause)
            else:
                self._kill(panda_id, KILL_CODES.get(Cause(cause), 51), cause)
        self.control.arrays.event_jobs["chunk"][leave] = -1
        rows = np.append(rows[~of_us], np.array(leave, rows.dtype))
        return rows[self.control.arrays.jobs["panda_id"][rows] > 0]

    def watch(self, rows: np.ndarray, times: np.ndarray) -> None:
        """Note merge jobs that have ended."""
        for job in rows[rows["n_chunks"] == 0] if self.of_merge else ():
            if int(job["panda_id"]) in self.of_merge:
                self.ended_merges.append(job.copy())

    def look(self) -> None:
        """Close the consumers that wait and are not needed, and end the jobsets whose merge jobs have ended."""
        status = self.control.arrays.jobs["status"]
        for live in self.jobsets.without_open():
            if AT_WORK.intersection(status[[*live.rows.values()]].tolist()):
                self._refresh(live)
                if live.is_cloned:
                    self._give(live, int(self.ranges.rows["owner"][self.ranges.chunks["head"][live.chunk]]))
                with self.counting(live, tally=False):
                    close_unused(live.jobset, live.jobset.jobs[live.holder], kills_all=False, same_attempt=True)
                self.apply(live, Cause.NONE)
        self.control.fabric.empty_outboxes()
        ended, self.ended_merges = self.ended_merges, []
        for job in ended:
            end = J(int(job["status"]))
            self._count((EventService.MERGE, end, None), job, (0, 0, 0, float(job["walltime_s"]), 0.0))
            self._end_merge(self.of_merge.pop(int(job["panda_id"])), end, int(job["cause"]))
        self.jobsets.free_kept()
        if self.control.recorder.validate:
            self.check()

    def _report(self, panda_id: int) -> None:
        """Report the ranges that a consumer had finished when it was heard last."""
        arrays = self.control.arrays
        jumbo = self.of_jumbo_job.get(panda_id)
        row = (self.of_job[panda_id].rows if jumbo is None else jumbo.jobs)[panda_id]
        if arrays.jobs["status"][row] == J.RUNNING:
            silent = arrays.jobs["due_sequence"][row] == 0
            self.control.fabric.report_events(row, float(arrays.jobs["modification_s"][row]) if silent
                                              else self.control.now)

    def _refresh(self, live: Live) -> None:
        """Tell the rules the status and the priority that live jobs have now."""
        jobs = self.control.arrays.jobs
        for panda_id, row in live.rows.items():
            job = live.jobset.jobs[panda_id]
            if not job.is_archived:
                job.status, job.priority = J(int(jobs["status"][row])), int(jobs["priority"][row])
        live.jobset.status = TaskStatus(int(self.control.arrays.tasks["status"][live.task]))
        live.jobset.use_jumbo = "" if live.jumbo is None else live.jumbo.flag

    def _end(self, panda_id: int, status: J, sub_status: str | None, cause: int | None = None) -> None:
        """End a consumer by the rules: its ranges, and the job that goes on."""
        live = self.of_job[panda_id]
        self._refresh(live)
        jobset, row = live.jobset, live.rows[panda_id]
        jobset.queues = self.jobsets.queues()
        job, caused = jobset.jobs[panda_id], int(self.control.arrays.jobs["cause"][row]) if cause is None else cause
        with self.counting(live) as figures:
            _, is_told = end_job(jobset, replace(
                job, status=status, sub_status=sub_status, n_events=figures.get(panda_id, NOTHING)[0][1],
                has_pilot_error=caused != Cause.NONE))
        self._successors(live)
        if is_told or not jobset.is_live:
            self._give(live, panda_id)
            self._over(live, J.FAILED if is_told else J.CLOSED, caused)
        else:
            self.apply(live, caused)

    def _end_clone(self, panda_id: int, status: J, cause: int) -> bool:
        """End a clone by the rules; True if it goes on as the ordinary job of its input, without a jobset."""
        live, arrays = self.of_job[panda_id], self.control.arrays
        self._refresh(live)
        own, job = arrays.event_jobs[live.rows[panda_id]], arrays.jobs[live.rows[panda_id]]
        own["each_s"] = job["walltime_s"] / max(live.n_events, 1)
        if status == J.FINISHED:
            finish_range(live.jobset, panda_id)
        with self.counting(live):
            is_last = end_clone(live.jobset, panda_id, status)
        if not is_last:
            self.apply(live, cause)
            return False
        self._give(live, panda_id)
        del live.rows[panda_id], self.of_job[panda_id]
        for other in [*live.rows]:
            self._leave(live, other, J.CLOSED, Cause.NONE)
        self._forget(live)
        return True

    def finish(self, panda_id: int) -> None:
        """End a co-jumbo job that has not started, since jumbo jobs have processed its events."""
        self._end(panda_id, J.FINISHED, None, Cause.NONE)

    def end_jumbo(self, panda_id: int, status: J, cause: int) -> None:
        """End a jumbo job: what it has finished stays so until the co-jumbo job ends, the rest is ready again."""
        control = self.control
        self._report(panda_id)
        jumbo = self.of_jumbo_job.pop(panda_id)
        row, which = jumbo.jobs.pop(panda_id), self.ranges.in_ring(jumbo.ring)
        own, job = control.arrays.event_jobs[row], control.arrays.jobs[row]
        fewer = 0 if control.world.event_rule(int(job["task"])).decAttOnFailedES else 1
        released = release(self.ranges.rows, self.ranges.chunks, which, panda_id, TAKEN, ANY, fewer)
        self._count_consumer((EventService.JUMBO, status, None), row, (int(own["n_done"]), int(own["n_events"])),
                             released)
        job["n_events"] = own["n_events"]
        if status == J.FINISHED:
            control.fabric.finish_merged([row], control.now)
        else:
            control.fabric.end_by_force(np.array([row]), int(status), int(cause), control.now)

    def _tally(self, live: Live, panda_id: int) -> tuple[tuple[int, int], int]:
        """Ranges that a consumer processed, and their events, and ranges that it has in hand."""
        return live.jobset.tally(None, panda_id, PROCESSED), live.jobset.count(None, panda_id, TAKEN)

    @contextmanager
    def counting(self, live: Live, tally: bool = True) -> Iterator[dict[int, tuple[tuple[int, int], int]]]:
        """Count the consumers of a jobset that the rules end meanwhile; gives the figures, as NOTHING, of open ones.

        tally: False if only consumers that were not dispatched can end.
        """
        jobs = live.jobset.jobs
        figures = {one: self._tally(live, one) if tally else NOTHING for one in live.rows if not jobs[one].is_archived}
        yield figures
        for one, found in figures.items():
            if jobs[one].is_archived:
                self._count_consumer((jobs[one].kind, jobs[one].status, jobs[one].sub_status), live.rows[one], *found)

    def _count(self, end: tuple[EventService, J, str | None], job: np.void, figures: tuple[float, ...]) -> None:
        """Add a job that has ended, a row of JOBS, to the sums of its task, queue and hour.

        end: its kind, status and sub-status; figures: ranges and events that it processed, ranges that it had in hand,
        its wall time and that of the events, s.
        """
        kind, status, sub_status = end
        code = self.control.books.decisions.code(sub_status) if sub_status else -1
        key = (int(job["jeditaskid"]), int(kind), int(job["queue"]), int(status), code)
        self.sums.add(self.control.now, key, (1, *figures))

    def _count_consumer(self, end: tuple[EventService, J, str | None], row: int, done: tuple[int, int],
                        released: int) -> None:
        """Add a job that processes events, in a row, to the sums; one that runs has its wall time until now."""
        arrays = self.control.arrays
        job, runs = arrays.jobs[row], arrays.jobs["status"][row] == J.RUNNING and arrays.jobs["due_sequence"][row] > 0
        walltime_s = self.control.now - arrays.job_times[row, J.RUNNING] if runs else job["walltime_s"]
        self._count(end, job, (*done, released, float(walltime_s), done[1] * float(arrays.event_jobs["each_s"][row])))

    def _successors(self, live: Live) -> None:
        """Make the jobs that the rules want."""
        made, live.jobset.made = live.jobset.made, []
        for job in made:
            if job.kind == EventService.MERGE:
                self.jobsets.make_merge(live, job)
            elif job.queue == WAITING_CO_JUMBO:
                own = int(self.control.arrays.jobs["pseudo_queue"][live.rows[live.holder]])
                self.jobsets.let_wait(live, self.jobsets.make(live, job, own))
            else:
                self.jobsets.make(live, job, self.jobsets.pseudo_queue(live, job, job.corecount == 1))

    def _kill(self, panda_id: int, code: int, cause: int) -> None:
        """Kill a consumer, and with it the jobset, whose input JEDI tries again."""
        live = self.of_job[panda_id]
        for other in [*live.rows]:
            self._report(other)
        self._refresh(live)
        with self.counting(live):
            kill(live.jobset, panda_id, code)
        self._over(live, J.CANCELLED if code in (50, 52) else J.CLOSED, cause)

    def apply(self, live: Live, cause: int) -> None:
        """End the live jobs that the rules have archived; those with events wait for the merge job."""
        control = self.control
        for panda_id, row in [*live.rows.items()]:
            job, status = live.jobset.jobs[panda_id], int(control.arrays.jobs["status"][row])
            if not job.is_archived or status == J.MERGING:
                continue
            if job.status == J.MERGING and status in NOT_BEGUN:
                job.status = J.CLOSED                      # ranges of jumbo jobs that failed are retried without it
            if panda_id == live.holder and job.status != J.MERGING and not self._pass_on(live):
                if not live.merge:
                    continue                               # the last one is ended with the jobset
                if status not in STAND:
                    self._stand_in(live, panda_id)
                else:
                    control.fabric.wait_for_merge(row, control.now)
                    continue
            if job.status == J.MERGING:
                control.fabric.wait_for_merge(row, control.now)
            else:
                self._leave(live, panda_id, J.FAILED if job.status == J.FAILED else J.CLOSED, cause)

    def _stand_in(self, live: Live, panda_id: int) -> None:
        """Let another job hold the input of a co-jumbo job that was not dispatched, until its events are merged."""
        control, job = self.control, live.jobset.jobs[panda_id]
        own = int(control.arrays.jobs["pseudo_queue"][live.rows[panda_id]])
        other = self.jobsets.make(live, job, own)
        self.jobsets.let_wait(live, other)
        archive(live.jobset.jobs[other], J.MERGING, "es_merge", 0)
        control.fabric.wait_for_merge(live.rows[other], control.now)
        self._give(live, other)

    def _pass_on(self, live: Live) -> bool:
        """Give the input of the holder to another live job of the jobset, one that waits for the merge job first."""
        jobs = self.control.arrays.jobs
        others = [other for other in live.rows if other != live.holder]
        if not others:
            return False
        self._give(live, min(others, key=lambda other: (jobs["status"][live.rows[other]] != J.MERGING, other)))
        return True

    def _give(self, live: Live, chosen: int) -> None:
        """Give the input of a jobset to one of its live jobs."""
        if chosen != live.holder:
            pass_pieces(self.control.arrays, live.rows[live.holder], live.rows[chosen])
            live.holder = chosen

    def _leave(self, live: Live, panda_id: int, status: J, cause: int) -> None:
        """End a live job of a jobset by force; one that was not dispatched cannot fail, and is closed."""
        job, row = live.jobset.jobs[panda_id], live.rows[panda_id]
        if not job.is_archived:
            self._count_consumer((job.kind, status, None), row, *self._tally(live, panda_id))
        del live.rows[panda_id]
        if self.control.arrays.jobs["status"][row] in (*DEFINED_TABLE, J.ACTIVATED):
            status = J.CLOSED if status == J.FAILED else status
        del self.of_job[panda_id]
        if live.jumbo is not None:
            live.jumbo.fakes.pop(panda_id, None)
        self.control.fabric.end_by_force(np.array([row]), int(status), int(cause), self.control.now)

    def _end_merge(self, live: Live, status: J, cause: int) -> None:
        """End a jobset with its merge job; one that waited too long at its queue is made again."""
        live.merge = 0
        self._refresh(live)
        if status == J.CLOSED and cause in MADE_AGAIN and live.jobset.is_live and live.like_merge is not None:
            self.jobsets.make_merge(live, live.like_merge)
            return
        if status == J.FINISHED:
            live.jobset.change(None, ANY, mask(S.DONE), S.MERGED)
        self._over(live, status if status in (J.FINISHED, J.FAILED) else J.CLOSED, Cause.NONE if (
            status == J.FINISHED) else Cause.MERGE_FAILED)

    def _over(self, live: Live, status: J, cause: int) -> None:
        """End all jobs of a jobset, the holder of the input last, and forget it; kept events stay for the next one."""
        control = self.control
        if live.holder not in live.rows:
            return
        if live.merge and control.arrays.jobs["panda_id"][live.merge_row] == live.merge:
            self.of_merge.pop(live.merge, None)
            control.fabric.end_by_force(np.array([live.merge_row]), int(J.CLOSED), int(cause), control.now)
        for panda_id in sorted(live.rows, key=lambda one: one == live.holder):
            row = live.rows[panda_id]
            merging = control.arrays.jobs["status"][row] == J.MERGING
            if status == J.FINISHED and merging:
                live.rows.pop(panda_id)
                del self.of_job[panda_id]
                if live.jumbo is not None:
                    live.jumbo.fakes.pop(panda_id, None)
                control.fabric.finish_merged([row], control.now)
            else:
                of_holder = panda_id == live.holder
                self._leave(live, panda_id, status if of_holder or merging else J.CLOSED, cause)
        self._forget(live)

    def _forget(self, live: Live) -> None:
        """Free the ranges of a jobset, or keep those that are processed for the next attempt at the input."""
        self.jobsets.detach(live)
        self.jobsets.shared.pop(id(live), None)
        keeps = live.jobset.jobs[live.holder].has("notDiscardEvents") and live.jobset.count(None, ANY, KEPT) > 0
        if keeps:
            live.jobset.change(None, ANY, mask(S.FINISHED), S.DONE)
            live.jobset.change(None, ANY, ALL & ~(PROCESSED | GONE), S.CANCELLED)
            self.jobsets.kept[live.key] = live.jobset.chunks.tolist()
        else:
            self.jobsets.remove(live.jobset.chunks.tolist())

    def check(self) -> None:
        """Raise InvariantBroken unless each event of an input in use is in one range that no copy has replaced, ranges
        in work are with jobs that are alive, and there are as many ranges as were inserted, copied and not removed."""
        table, status, messages, n = self.ranges, self.control.arrays.jobs["status"], [], 0
        for live in self.jobsets.all():
            working = live.rows if live.jumbo is None else live.rows | live.jumbo.jobs
            alive = np.array([one for one, row in working.items() if status[row] != J.MERGING], np.int64)
            faults, n_of_input = audit(table.rows, table.chunks, live.jobset.chunks, alive,
                                       np.zeros(live.n_events + 1, bool))
            messages += [f"{fault}: input {live.key[1]} of task {live.key[0]}" for place, fault in enumerate(FAULTS)
                         if faults >> place & 1]
            n += n_of_input
        for chunks in self.jobsets.kept.values():
            n += audit(table.rows, table.chunks, np.array(chunks), NO_JOBS, np.zeros(1, bool))[1]
        if not n == table.n_made == table.n_used:
            messages.append(f"{table.n_used} event ranges are in use, {n} of them with inputs, of {table.n_made} that "
                            "were inserted or copied and not removed")
        if messages:
            raise InvariantBroken(messages)
