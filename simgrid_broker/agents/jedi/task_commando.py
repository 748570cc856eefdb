"""JEDI's TaskCommando: carries out commands to tasks.

Commands that kill jobs are repeated until no job of the task is left. A running job is marked, and ends at the next
heartbeat of its pilot; finish ends running production jobs at once, as kill code 52 does. Source: lifecycle reference,
2.1, 2.8, 2.13 and 3.3; JEDI TWiki, task aborting and forced termination, task retry.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.fabric.jobs.effects import jobs_of
from simgrid_broker.ledgers.live_tasks import Command
from simgrid_broker.names import PRODUCTION_LABELS, Cause, JobStatus, TaskCommand, TaskStatus
from simgrid_broker.policy.tasks.commands import INCREMENT, NOT_RETRIED_WITH_PARENT, accepts, retry_refused
from simgrid_broker.schema.tasks import changed
from simgrid_broker.world.columns import add_attempts, add_input, return_to, set_task
from simgrid_broker.world.tasks.transitions import set_status

C, S, T = TaskCommand, JobStatus, TaskStatus

BEGIN = {C.ABORT: T.ABORTING, C.FINISH: T.FINISHING, C.REASSIGN: T.TOREASSIGN}
"""Status of a task while a command kills its jobs."""
AFTER = {C.ABORT: T.TOABORT, C.FINISH: T.PASSED, C.REASSIGN: T.REASSIGNING}
"""Status once no job is left."""
KILL = {C.ABORT: (S.CANCELLED, Cause.TASK_ABORTED), C.FINISH: (S.CANCELLED, Cause.TASK_FINISHED),
        C.REASSIGN: (S.CLOSED, Cause.REASSIGNED)}
"""Status and cause of killed jobs, for kill codes 50, 52 and 51; source: lifecycle reference, 3.3."""

RETRY_HEAD_START_S = 6 * 3600.0
"""Time before a retry at which the task counts as last modified, s; source: lifecycle reference, 2.13."""


@dataclass
class Killing:
    """A command that waits until no job of a task is left, with the times when it was given and last repeated, s."""

    command: TaskCommand
    since_s: float
    last_s: float
    options: dict = field(default_factory=dict)


def task_commando(control: Control) -> Process:
    """Carry out commands."""
    commando = TaskCommando(control)
    yield from control.every(control.periods.task_commando, commando.cycle, "taskcmd", lambda: not commando.killing)


class TaskCommando:
    """Takes up commands and repeats unfinished ones; `killing` is by row of the task."""

    def __init__(self, control: Control):
        self.control = control
        self.killing: dict[int, Killing] = {}

    def cycle(self) -> None:
        """Take up new commands, end marked jobs whose pilots sent a heartbeat, repeat unfinished commands."""
        waiting, self.control.books.commands.waiting = self.control.books.commands.waiting, []
        for given in waiting:
            for row in given.rows:
                self._take_up(given, row)
        for row in self.control.books.live_tasks.in_status(T.STAGING).tolist():
            if self.control.books.staging.has_rule(row):
                set_status(self.control.world, row, T.STAGED, self.control.now)
        for row, killing in [*self.killing.items()]:
            self._end_marked(row, killing)
            if self.control.now - killing.last_s >= self.control.periods.command_again:
                self._carry_out(row, killing)

    def _take_up(self, given: Command, row: int) -> None:
        """Carry out a command for one task, or note why it is ignored."""
        status, command = T(self.control.arrays.tasks["status"][row]), C.of(given.command)
        if not accepts(command, status, self.control.edition):
            given.ignored[status.word] += 1
            return
        reason = OTHERS.get(command, TaskCommando._begin)(self, row, given)
        if reason:
            given.ignored[reason] += 1
        else:
            given.n_done += 1

    def _begin(self, row: int, given: Command) -> None:
        """Start to abort, finish or reassign a task."""
        control, command = self.control, C.of(given.command)
        if command is C.REASSIGN:
            return_to(control.world, row)
        set_status(control.world, row, BEGIN[command], control.now)
        self.killing[row] = Killing(command, control.now, control.now, given.options)
        self._carry_out(row, self.killing[row])

    def _carry_out(self, row: int, killing: Killing) -> None:
        """Kill the jobs of a task; without jobs, move it to the status after the command."""
        control, tasks = self.control, self.control.arrays.tasks
        killing.last_s = control.now
        if tasks["status"][row] == T.PAUSED:
            return                                                   # continues when the task is resumed
        if tasks["status"][row] != BEGIN[killing.command]:
            del self.killing[row]                                    # another command was given in the meantime
            return
        soft = bool(killing.options.get("soft"))
        if tasks["n_alive"][row] and not (soft and killing.command is C.REASSIGN):
            if not soft:
                self._kill(row, killing)
            return
        del self.killing[row]
        set_status(control.world, row, AFTER[killing.command], control.now)
        if killing.command is C.REASSIGN:
            self._take_from_nucleus(row, killing.options)

    def _kill(self, row: int, killing: Killing) -> None:
        """End the jobs of a task that are not running, and running ones if the kill is forced."""
        control, arrays = self.control, self.control.arrays
        rows = jobs_of(arrays, [row])
        forced = killing.command is C.FINISH and self._label(row) in PRODUCTION_LABELS
        if not forced:
            rows = rows[arrays.jobs["status"][rows] != S.RUNNING]
        status, cause = KILL[killing.command]
        control.fabric.take_back(rows, int(status), int(cause), control.now)

    def _end_marked(self, row: int, killing: Killing) -> None:
        """End the running jobs of a killed task whose pilots have sent a heartbeat since."""
        control, arrays = self.control, self.control.arrays
        if killing.options.get("soft") or not arrays.tasks["n_alive"][row]:
            return
        rows = jobs_of(arrays, [row], S.RUNNING)
        rows = rows[arrays.jobs["due_sequence"][rows] != 0]          # pilots of a lost site send no heartbeats
        begin, period = arrays.job_times[rows, S.RUNNING], control.periods.heartbeat
        told = np.floor((control.now - begin) / period) > np.floor((killing.since_s - begin) / period)
        status, cause = KILL[killing.command]
        control.fabric.take_back(rows[told], int(status), int(cause), control.now)

    def _take_from_nucleus(self, row: int, options: dict) -> None:
        """Reassign a task to the nucleus or queue of the command, or to none; the WatchDog sends it on."""
        world, nucleus, queue = self.control.world, options.get("nucleus"), options.get("queue")
        if nucleus is not None or queue is None:
            set_task(world, row, nucleus=-1 if nucleus is None else world.vocabularies["sites"].index(nucleus))
        if queue is not None:
            set_task(world, row, preassigned=world.vocabularies["preassigned"].index(queue))

    def _resume(self, row: int, given: Command) -> None:
        """Return a task to the status that it had before it was paused."""
        control, tasks = self.control, self.control.arrays.tasks
        paused = tasks["status"][row] == T.PAUSED
        set_status(control.world, row, T(tasks["old_status"][row]), control.now)
        if paused:
            control.fabric.release(jobs_of(control.arrays, [row], S.THROTTLED), control.now)

    def _retry(self, row: int, given: Command) -> str:
        """Retry unprocessed input of a task, and its children; returns why not, empty if it is retried."""
        control, world = self.control, self.control.world
        tasks, old = world.arrays.tasks, T(world.arrays.tasks["status"][row])
        set_status(world, row, T.TORETRY, control.now)
        exhausts, key = retry_refused(control.books.ledger.past(row), self._label(row), control.cfg, control.edition)
        left = tasks["n_jobs"][row] - tasks["n_finished"][row] - tasks["n_failed"][row]
        reason = key or ("" if left + len(control.books.ledger.given_up(row)) else "nothing left to do")
        if reason:
            set_status(world, row, T.EXHAUSTED if exhausts else old, control.now)
            if exhausts:
                control.books.live_tasks.bring_back(row)
        else:
            self._revive(row)
            self._change_sites(row, given.options.get("new_sites") or {})
            control.books.ledger.take_back_changes(row)
            set_status(world, row, self._after_retry(row, old), control.now)
            set_task(world, row, modification_s=control.now - RETRY_HEAD_START_S)
        if not key:
            self._retry_children(row)
        return reason

    def _change_sites(self, row: int, sites: dict[str, tuple[str, ...]]) -> None:
        """Replace the lists of queues of a task by those of a retry, by key."""
        world = self.control.world
        words = world.vocabularies["user_parameters"]
        if sites:
            word = changed(words[world.arrays.tasks["user_parameters"][row]], sites)
            set_task(world, row, user_parameters=words.index(word))

    def _after_retry(self, row: int, old: TaskStatus) -> TaskStatus:
        """Status of a retried task: running if it was exhausted while running, otherwise ready."""
        task = self.control.arrays.tasks[row]
        if task["nucleus"] < 0 and self._label(row) in PRODUCTION_LABELS:
            return T.ASSIGNING
        if self.control.arrays.scout_inputs[row]:
            return T.READY                                           # its scouts are not assessed yet
        return T.RUNNING if old is T.EXHAUSTED and task["old_status"] in (T.RUNNING, T.SCOUTING) else T.READY

    def _retry_children(self, row: int) -> None:
        """Retry the children of a task in the next cycle."""
        tasks = self.control.arrays.tasks
        children = np.flatnonzero(tasks["parent"] == tasks["jeditaskid"][row])
        chosen = [child for child in children.tolist() if T(tasks["status"][child]) not in NOT_RETRIED_WITH_PARENT
                  and accepts(C.RETRY, T(tasks["status"][child]), self.control.edition)]
        if chosen:
            self.control.books.commands.give_unasked("retry", chosen, self.control.now)

    def _incexec(self, row: int, given: Command) -> None:
        """Let a task find more input and retry what was given up (incremental execution)."""
        control, world = self.control, self.control.world
        set_status(world, row, T.TOINCEXEC, control.now)
        add_input(world, row, given.options.get("jobs") or 0)
        self._revive(row, lost=True)
        set_status(world, row, T.REREFINE, control.now)
        task = world.arrays.tasks[row]
        if task["n_finished"] + task["n_failed"] == task["n_jobs"]:
            control.fabric.nothing_left(row)

    def _revive(self, row: int, lost: bool = False) -> None:
        """Allow more attempts at input that was given up, lost files only if asked, and make the task live again."""
        control, ledger = self.control, self.control.books.ledger
        given_up = ledger.given_up(row, lost)
        if len(given_up):
            add_attempts(control.world, row, INCREMENT)
            control.fabric.try_again(row, given_up)
        ledger.times_tried[row] += 1
        control.books.live_tasks.bring_back(row)

    def _label(self, row: int) -> str:
        return self.control.world.vocabularies["labels"][self.control.arrays.tasks["label"][row]]


OTHERS: dict[TaskCommand, Callable[[TaskCommando, int, Command], str | None]] = {
    C.PAUSE: lambda self, row, given: pause(self.control, row),
    C.AVALANCHE: lambda self, row, given: self.control.books.scouts.force(row),
    C.RESUME: TaskCommando._resume, C.RETRY: TaskCommando._retry, C.INCEXEC: TaskCommando._incexec}
"""Commands that take effect at once; of avalanche the PostProcessor takes note, which judges the scouts so far."""


def pause(control: Control, row: int) -> None:
    """Pause a task until it is resumed and throttle its activated jobs; source: lifecycle reference, 2.8."""
    if control.arrays.tasks["status"][row] not in (T.PENDING, T.THROTTLED):      # these already have an old status
        return_to(control.world, row)
    set_status(control.world, row, T.PAUSED, control.now)
    control.fabric.hold_back(jobs_of(control.arrays, [row], S.ACTIVATED), control.now)
