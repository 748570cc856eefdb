"""Jumbo and co-jumbo jobs in a run: jumbo jobs process the events of all inputs of a task, and the consumers of an
input become co-jumbo jobs, which make the merge job once all events of their input are processed.

Source: JEDI TWiki, jumbo jobs and co-jumbo jobs, jumbo job switcher; lifecycle reference, 6.3 and 6.4. Simplified: a
fake co-jumbo job stands at a queue for jumbo jobs; it is made for an input for which the JobGenerator has made no job
since its last cycle; all events of a jumbo job take as long as those of one input of the task.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from simgrid_broker import luck
from simgrid_broker.agents.control import Control, Process
from simgrid_broker.fabric.jobs.effects import jobs_of
from simgrid_broker.names import DEFINED_TABLE, Cause, JobStatus, TaskStatus
from simgrid_broker.policy.brokerage.production.broker import spread_jobs
from simgrid_broker.policy.jobs.resource_types import asked_ramcount
from simgrid_broker.policy.jobs.retry_module import jumbo_limits
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.schema.queues import has_option
from simgrid_broker.systems.events.jobsets import CONSUMER_DRAW, JumboTask, Live
from simgrid_broker.systems.events.policy import jumbo as rules
from simgrid_broker.systems.events.policy.jobset import archive
from simgrid_broker.systems.events.policy.jumbo import Actions, Limits, flag_after_kick, tasks_to_enable, watch
from simgrid_broker.systems.events.policy.kills import UNUSED
from simgrid_broker.systems.events.refining import may_convert
from simgrid_broker.systems.events.service import Desk, event_service
from simgrid_broker.units import MINUTE
from simgrid_broker.views import Task, Verdict
from simgrid_broker.world.arrays import ORDERED
from simgrid_broker.world.jobs.counts import account_of_task
from simgrid_broker.world.tasks.input_files import waiting_at
from simgrid_broker.world.tasks.transitions import set_status
from simgrid_broker.world.views import observe

J, T = JobStatus, TaskStatus
JUMBO_DRAW = luck.STREAMS["jumbo_draw"]
ADD_SUB_S, WATCH_DOG_S = 4 * MINUTE, 10 * MINUTE
"""Periods of add_sub and of the JumboWatchDog."""
MAY_MAKE = (T.READY, T.RUNNING, T.PENDING)
MOST_AT_ONCE = 1000
"""Fake co-jumbo jobs, and co-jumbo jobs in their place, made of a task in a cycle."""
AT_REST = frozenset((int(J.WAITING), int(J.MERGING)))
"""Statuses of consumers that are at work on nothing."""
NO_CHUNKS = np.zeros(0, np.int64)
STAY = (J.TRANSFERRING, J.RUNNING, J.HOLDING)
"""Statuses of jumbo jobs that run to their end when their task needs no more."""


def jumbo_jobs(control: Control) -> Process:
    """Make jumbo jobs, finish co-jumbo jobs whose events are processed, and watch the tasks of both."""
    desk = control.fabric.event_service
    assert isinstance(desk, Desk)
    jobs = JumboJobs(control, desk)
    yield control.env.all_of([control.env.process(control.every(period, work, name)) for period, work, name in (
        (control.periods.job_generator, jobs.make, "jumbo jobs"), (ADD_SUB_S, jobs.finish_co_jumbo, "add_sub"),
        (WATCH_DOG_S, jobs.watch, "JumboWatchDog"))])


def agents_of(scenario: Scenario) -> tuple[Any, ...]:
    """The agents of event service, and of jumbo jobs, if any task of a scenario has them or may get them."""
    streams = (*scenario.workload.campaigns, *scenario.workload.users)
    work, clones = [one for one in streams if one.nEventsPerWorker], any(one.useJobCloning for one in streams)
    may_enable = rules.TERMS[scenario.edition].enables and any(
        has_option(queue, "useJumboJobs") for queue in scenario.grid.queues.values())
    has_jumbo = any(one.nJumboJobs for one in work) or (work and may_enable)
    has_jobsets = bool(work) or clones or may_convert(scenario)
    return ((event_service,) if has_jobsets else ()) + ((jumbo_jobs,) if has_jumbo else ())


class JumboJobs:
    """The agents of jumbo jobs, on the jobsets of event service."""

    def __init__(self, control: Control, desk: Desk):
        self.control, self.desk, self.jobsets = control, desk, desk.jobsets
        self.terms = rules.TERMS[control.edition]

    def make(self) -> None:
        """Do what JobGenerator and copyArchive do about jumbo jobs: task by task make and close some."""
        world, tasks = self.control.world, self.control.arrays.tasks
        rows = self.control.books.live_tasks.in_status(*MAY_MAKE)
        for row in rows[tasks["n_jumbo_jobs"][rows] > 0].tolist():
            self.jobsets.jumbo_task(row)
        for jumbo in [*self.jobsets.jumbo.values()]:
            row = world.row_of.get(jumbo.jeditaskid)
            if row is None:
                self.jobsets.forget_jumbo(jumbo)
                continue
            self._close(jumbo, row)
            if tasks["status"][row] in MAY_MAKE and self.control.arrays.scout_inputs[row] == 0:
                self._make(jumbo, row)

    def _make(self, jumbo: JumboTask, row: int) -> None:
        """Make fake co-jumbo jobs, co-jumbo jobs in place of fake ones, and jumbo jobs of a task, and set its flag."""
        task = observe.task(self.control.world, row)
        if jumbo.fakes:
            self._replace_fakes(jumbo, row, task)
        if jumbo.flag == rules.DISABLED:
            return
        places = self._candidates(row, self._with_events(jumbo, row, task), jumbo.n_jobs, only=True)
        if places is not None:
            self._make_fakes(jumbo, row, places)
        n = rules.jobs_wanted(jumbo.flag, jumbo.n_jobs, self._statuses(jumbo), self.jobsets.count(jumbo, "n_open"),
                              self.control.edition)
        made = self._make_jumbo(jumbo, row, task, places, n) if n > 0 and places is not None else 0
        n_running = sum(other.flag == rules.RUNNING for other in self.jobsets.jumbo.values())
        jumbo.flag = rules.next_flag(jumbo.flag, waiting_at(self.control.arrays, row, 0) <= 0, made > 0, n_running)

    def _with_events(self, jumbo: JumboTask, row: int, task: Task) -> Task:
        """A task as the broker reads it for jumbo jobs: with its ready events, counted as far as any queue asks."""
        control = self.control
        most = float(control.brokers.queues.min_events_for_jumbo.max(initial=0))
        if not most:
            return replace(task, jumbo_chunk="only")
        n_ready = (self.jobsets.count(jumbo, "n_open") * control.world.event_rule(row).nEventsPerWorker
                   + int(waiting_at(control.arrays, row, 0)) * int(control.arrays.tasks["n_events_per_job"][row]))
        return replace(task, jumbo_chunk="only", jumbo_events=min(float(n_ready), most))

    def _candidates(self, row: int, task: Task, n: int, only: bool) -> Verdict | None:
        """Verdict of the broker on `n` jobs of a task, None if no queue takes any; only: those for jumbo jobs."""
        control = self.control
        _, verdict = control.brokers.broker(row, task, observe.job_input(control.world, row), n,
                                            account_of_task(control.arrays, row), cache=False)
        order = verdict.order
        if only:
            order = order[control.brokers.queues.use_jumbo_jobs[order]]
        return replace(verdict, order=order) if len(order) else None

    def _make_fakes(self, jumbo: JumboTask, row: int, places: Verdict) -> None:
        """Make fake co-jumbo jobs for input that waits, if no job was made of the task since the last cycle."""
        control, task = self.control, self.control.arrays.tasks[row]
        waits, used = int(waiting_at(control.arrays, row, 0)), int(task["next_chunk"])
        if waits > 0 and used == jumbo.n_used:
            number = int(places.order[0])
            cores = int(control.arrays.pseudo_queues["corecount"][number])
            ram = asked_ramcount(observe.task(control.world, row), cores)
            self.desk.makes_fakes = True
            control.fabric.make_jobs(np.array([(control.now, row, number, min(waits, MOST_AT_ONCE), ram, 0,
                                                int(task["resource_type"]))], ORDERED))
            self.desk.makes_fakes = False
            if task["status"] == T.READY:
                set_status(control.world, row, T.RUNNING, control.now)
        jumbo.n_used = int(control.arrays.tasks["next_chunk"][row])

    def _replace_fakes(self, jumbo: JumboTask, row: int, task: Task) -> None:
        """Make co-jumbo jobs in place of fake ones whose inputs no other job works on, as far as queues take them."""
        verdict = self._candidates(row, task, len(jumbo.fakes), only=False)
        if verdict is None:
            return
        asked = [*islice(self._replaceable(jumbo), MOST_AT_ONCE)]
        n = len(asked)
        uniforms = self.control.brokers.uniforms(CONSUMER_DRAW, task, jumbo.draws(), verdict, n)
        numbers = np.repeat(*spread_jobs(verdict, n, uniforms)).tolist()
        for number, (panda_id, live) in zip(numbers, asked, strict=False):
            job, priority = live.jobset.jobs[panda_id], int(self.control.arrays.jobs["priority"][live.rows[panda_id]])
            # the fake one asked for a slot of a jumbo job
            self.jobsets.make(live, replace(job, ramcount=0, priority=priority), number)
            with self.desk.counting(live, tally=False):
                archive(job, J.CLOSED, "es_unused", UNUSED)
            self.desk.apply(live, Cause.NONE)

    def _replaceable(self, jumbo: JumboTask) -> Iterator[tuple[int, Live]]:
        """Fake co-jumbo jobs, and their jobsets, at which no other job is at work, and a co-jumbo job would have work.

        In the deployed edition it may also be made to end a jobset of which all events are processed.
        """
        fakes, status = [*jumbo.fakes.items()], self.control.arrays.jobs["status"]
        chunks, numbers = self.jobsets.ranges.chunks, np.array([live.chunk for _, live in fakes], np.int64)
        may = chunks["n_open"][numbers] > 0
        if not self.terms.finishes_fakes:
            may |= chunks["n_taken"][numbers] == 0
        return ((one, live) for (one, live), has_work in zip(fakes, may.tolist(), strict=True) if has_work and (
            not live.merge and AT_REST.issuperset(status[[*live.rows.values()]].tolist())))

    def _make_jumbo(self, jumbo: JumboTask, row: int, task: Task, places: Verdict, n: int) -> int:
        """Make up to `n` jumbo jobs at queues drawn by weight, maxJumboPerSite at each; their number."""
        control, arrays = self.control, self.control.arrays
        source = next((live.rows[live.holder] for live in self.jobsets.of_jumbo(jumbo)), None)
        if source is None:
            return 0
        for made in range(n):
            taken = np.bincount(arrays.jobs["queue"][[*jumbo.jobs.values()]], minlength=len(arrays.queues))
            free = places.order[taken[arrays.pseudo_queues["queue"][places.order]] < jumbo.per_site]
            if not len(free):
                return made
            verdict = replace(places, order=free)
            uniforms = control.brokers.uniforms(JUMBO_DRAW, task, jumbo.draws(), verdict, 1)
            chosen, _ = spread_jobs(verdict, 1, uniforms)
            if not len(chosen):                                     # all queues are full
                return made
            number = int(chosen[0])
            ram = asked_ramcount(task, int(arrays.pseudo_queues["corecount"][number]))
            order = (control.now, row, number, 1, ram, 0, int(arrays.tasks["resource_type"][row]))
            new = control.fabric.make_jumbo_job(order, source, jumbo.ring, jumbo.n_made)
            arrays = control.arrays
            self.jobsets.add_jumbo(jumbo, int(arrays.jobs["panda_id"][new]), new)
        return n

    def _close(self, jumbo: JumboTask, row: int) -> None:
        """Close the jumbo jobs that have not started of a task that is over, is disabled, or has no input left."""
        task = self.control.arrays.tasks[row]
        if jumbo.jobs and rules.needs_no_more(T(int(task["status"])), jumbo.flag, int(task["n_jobs"]),
                                              int(task["n_finished"] + task["n_failed"])):
            status = self.control.arrays.jobs["status"]
            for panda_id, of_job in [*jumbo.jobs.items()]:
                if status[of_job] not in STAY:
                    self.desk.end_jumbo(panda_id, J.CLOSED, Cause.TASK_FINISHED)

    def _statuses(self, jumbo: JumboTask) -> list[JobStatus]:
        """Statuses of the live jumbo jobs of a task."""
        status = self.control.arrays.jobs["status"]
        return [J(int(status[row])) for row in jumbo.jobs.values()]

    def finish_co_jumbo(self) -> None:
        """End co-jumbo jobs that have not started and whose events are processed, which makes their merge jobs."""
        status, of_chunk = self.control.arrays.jobs["status"], self.jobsets.of_chunk
        for live in [of_chunk[chunk] for chunk in self._processed()]:
            at_rest = [one for one, row in live.rows.items() if status[row] in self.terms.finished]
            if at_rest and not live.merge:
                self.desk.finish(at_rest[-1])

    def _processed(self) -> list[int]:
        """Chunks that are looked at now and have no range in work, nor ready with attempts left."""
        chunks, jobs, now = self.jobsets.ranges.chunks, self.control.arrays.jobs, self.control.now
        rings = [self.jobsets.ranges.in_ring(jumbo.ring) for jumbo in self.jobsets.jumbo.values()]
        due = np.concatenate([NO_CHUNKS, *rings])
        due = due[rules.are_due(chunks["looked_s"][due], now, self.control.edition)]
        lives = map(self.jobsets.of_chunk.__getitem__, due.tolist())
        holders = np.fromiter((live.rows[live.holder] for live in lives), np.int64, len(due))
        due = due[rules.in_pass(np.isin(jobs["status"][holders], DEFINED_TABLE), self.control.edition)]
        chunks["looked_s"][due] = now
        return due[chunks["n_open"][due] + chunks["n_taken"][due] == 0].tolist()

    def watch(self) -> None:
        """Let the JumboWatchDog look at all tasks with jumbo jobs."""
        edition, limits = self.control.edition, Limits(**jumbo_limits(self.control.cfg))
        seen = [(jumbo, row, self._task(jumbo, row)) for jumbo, row in self._rows() if jumbo.flag]
        for jumbo, row, task in seen:
            self._act(jumbo, row, rules.in_edition(watch(task, limits), edition))
        if self.terms.enables:
            self._enable([task for *_, task in seen], limits)

    def _rows(self) -> Iterable[tuple[JumboTask, int]]:
        """Tasks with jumbo jobs, and their rows."""
        known = self.control.world.row_of
        return ((jumbo, known[number]) for number, jumbo in self.jobsets.jumbo.items() if number in known)

    def _task(self, jumbo: JumboTask | None, row: int) -> rules.JumboTask:
        """A task as the watchdog reads it."""
        task, n_done, active = self.control.arrays.tasks[row], 0, 0
        if jumbo is not None:
            n_done = self.jobsets.count(jumbo, "n_processed")
            active = sum(status in rules.ACTIVE for status in self._statuses(jumbo))
        each = int(task["n_events_per_job"])
        return rules.JumboTask(
            T(int(task["status"])), jumbo.flag if jumbo else "", int(task["priority"]), self.jobsets.names_queue(row),
            int(task["n_jobs"]) * each, int(task["n_finished"]) * each + n_done, int(task["n_jobs"]),
            int(task["n_finished"] + task["n_failed"]), active)

    def _act(self, jumbo: JumboTask, row: int, actions: Actions) -> None:
        """Do to a task what the watchdog wants."""
        if actions.disables:
            jumbo.flag, jumbo.n_jobs, jumbo.per_site = rules.DISABLED, 0, 0
            self.control.arrays.tasks["n_jumbo_jobs"][row] = 0
        if actions.priorities:
            self.control.books.ledger.changes(row)
            self.control.fabric.set_priority(np.array([row]), int(actions.priorities[-1]),
                                             jobs_of(self.control.arrays, [row]))
        if actions.kicks:
            jumbo.flag = flag_after_kick(jumbo.flag, False)

    def _enable(self, with_jumbo: list[rules.JumboTask], limits: Limits) -> None:
        """Enable jumbo jobs in the largest tasks of event service that have none, if a queue takes any."""
        control, world, tasks = self.control, self.control.world, self.control.arrays.tasks
        rows = control.books.live_tasks.in_status(*rules.WATCHED)
        rows = rows[(tasks["eventservice"][rows] != 0) & (tasks["n_jumbo_jobs"][rows] == 0)]
        others = {row: self._task(None, row) for row in rows.tolist()
                  if tasks["jeditaskid"][row] not in self.jobsets.jumbo and world.event_rule(row).nEventsPerWorker
                  and not self.jobsets.names_queue(row) and self._counts_in_files(row)}
        for row in tasks_to_enable(with_jumbo, others, limits):
            if self._candidates(row, observe.task(world, row), 1, only=True) is not None:
                tasks["n_jumbo_jobs"][row] = limits.per_task
                self.jobsets.enable(row, limits.per_task, limits.per_site)

    def _counts_in_files(self, row: int) -> bool:
        """True if events are numbered by their place in a file: a job reads one file, or a part of one."""
        arrays = self.control.arrays
        return bool(arrays.tasks["n_input_files"][row] <= 1 or arrays.splitting["events_per_piece"][row] > 0)
