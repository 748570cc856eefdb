"""JEDI's TaskCommando: commands to tasks are carried out.

Commands that kill jobs are repeated until no job of the task is left. A running job is only marked, and ends when its
pilot next tells of it; finish ends running production jobs at once, as kill code 52 does. Source: lifecycle reference,
2.1, 2.8, 2.13 and 3.3; JEDI TWiki, task aborting and forced termination, task retry.
"""

from dataclasses import dataclass, field

import numpy as np

from simgrid_broker.agents.command_book import Given
from simgrid_broker.fabric.commands import jobs_of
from simgrid_broker.names import PRODUCTION_LABELS, Cause, JobStatus, TaskCommand, TaskStatus
from simgrid_broker.policy.task_commands import INCREMENT, NOT_RETRIED_WITH_PARENT, accepts, retry_refused
from simgrid_broker.world.task_transitions import set_status

C, S, T = TaskCommand, JobStatus, TaskStatus

BEGIN = {C.ABORT: T.ABORTING, C.FINISH: T.FINISHING, C.REASSIGN: T.TOREASSIGN}
"""Status of a task while a command that kills jobs is carried out."""
AFTER = {C.ABORT: T.TOABORT, C.FINISH: T.PASSED, C.REASSIGN: T.REASSIGNING}
"""Status when that is done."""
KILL = {C.ABORT: (S.CANCELLED, Cause.TASK_ABORTED), C.FINISH: (S.CANCELLED, Cause.TASK_FINISHED),
        C.REASSIGN: (S.CLOSED, Cause.REASSIGNED)}
"""How jobs end, by the kill codes 50, 52 and 51; source: lifecycle reference, 3.3."""

RETRY_HEAD_START_S = 6 * 3600.0
"""A retried task counts as last touched so long ago; source: lifecycle reference, 2.13."""


@dataclass
class Killing:
    """A command that waits until no job of a task is left: since when, and when it was last repeated."""

    command: TaskCommand
    since_s: float
    last_s: float
    options: dict = field(default_factory=dict)


def task_commando(control):
    """The process that carries commands out."""
    commando = TaskCommando(control)
    yield control.every(control.periods.task_commando, commando.cycle, "taskcmd")


class TaskCommando:
    """Takes commands up, and repeats those that are not yet carried out; `killing` is by row of the task."""

    def __init__(self, control):
        self.control = control
        self.killing: dict[int, Killing] = {}

    def cycle(self) -> None:
        """Take up what was given, end marked jobs whose pilots have told of them, repeat what is not done."""
        waiting, self.control.commands.waiting = self.control.commands.waiting, []
        if waiting and self.control.fabric.orders:
            self.control.fabric.make_jobs()                          # what is placed must be there to be killed
        for given in waiting:
            for row in given.rows:
                self._take_up(given, row)
        for row, killing in [*self.killing.items()]:
            self._end_marked(row, killing)
            if self.control.now - killing.last_s >= self.control.periods.command_again:
                self._carry_out(row, killing)

    def _take_up(self, given: Given, row: int) -> None:
        """Carry a command out for one task, or note why not."""
        status, command = T(self.control.world.arrays.tasks["status"][row]), C.of(given.command)
        if not accepts(command, status, self.control.edition):
            given.ignored[status.word] += 1
            return
        reason = OTHERS[command](self, row, given) if command in OTHERS else self._begin(command, row, given)
        if reason:
            given.ignored[reason] += 1
        else:
            given.n_done += 1

    def _begin(self, command: TaskCommand, row: int, given: Given) -> None:
        """Begin to abort, finish or reassign a task."""
        control = self.control
        if command is C.REASSIGN:
            control.world.arrays.tasks["old_status"][row] = control.world.arrays.tasks["status"][row]
        set_status(control.world, row, BEGIN[command], control.now)
        self.killing[row] = Killing(command, control.now, control.now, given.options)
        self._carry_out(row, self.killing[row])

    def _carry_out(self, row: int, killing: Killing) -> None:
        """Kill the jobs of a task, or go on if there are none."""
        control, tasks = self.control, self.control.world.arrays.tasks
        killing.last_s = control.now
        if tasks["status"][row] == T.PAUSED:
            return                                                   # it goes on when the task is resumed
        if tasks["status"][row] != BEGIN[killing.command]:
            del self.killing[row]                                    # another command came in between
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
        """End the jobs of a task that do not run, and those that run if the kill is forced."""
        control, arrays = self.control, self.control.world.arrays
        rows = jobs_of(arrays, [row])
        forced = killing.command is C.FINISH and self._label(row) in PRODUCTION_LABELS
        if not forced:
            rows = rows[arrays.jobs["status"][rows] != S.RUNNING]
        status, cause = KILL[killing.command]
        control.fabric.take_back(rows, int(status), int(cause), control.now)

    def _end_marked(self, row: int, killing: Killing) -> None:
        """End the running jobs of a task that is killed, if their pilots have told of them since."""
        control, arrays = self.control, self.control.world.arrays
        if killing.options.get("soft") or not arrays.tasks["n_alive"][row]:
            return
        rows = jobs_of(arrays, [row], S.RUNNING)
        rows = rows[arrays.jobs["due_sequence"][rows] != 0]          # those of a lost site tell nothing
        begin, period = arrays.job_times[rows, S.RUNNING], control.periods.heartbeat
        told = np.floor((control.now - begin) / period) > np.floor((killing.since_s - begin) / period)
        status, cause = KILL[killing.command]
        control.fabric.take_back(rows[told], int(status), int(cause), control.now)

    def _take_from_nucleus(self, row: int, options: dict) -> None:
        """Give a task the nucleus or the queue to which it is reassigned, or none; the WatchDog sends it on."""
        world, words = self.control.world, self.control.world.vocabularies
        tasks = world.arrays.tasks
        if options.get("nucleus") is not None:
            tasks["nucleus"][row] = words["sites"].index(options["nucleus"])
        elif options.get("queue") is None:
            tasks["nucleus"][row] = -1
        if options.get("queue") is not None:
            tasks["preassigned"][row] = words["preassigned"].index(options["queue"])

    def _pause(self, row: int, given: Given) -> None:
        """Let a task do nothing, and its activated jobs wait."""
        pause(self.control, row)

    def _resume(self, row: int, given: Given) -> None:
        """Let a task go on where it was."""
        control, tasks = self.control, self.control.world.arrays.tasks
        paused = tasks["status"][row] == T.PAUSED
        set_status(control.world, row, T(tasks["old_status"][row]), control.now)
        if paused:
            control.fabric.activate_throttled([row], control.now)

    def _avalanche(self, row: int, given: Given) -> None:
        """Let a task make all its jobs, whatever its scouts say."""
        set_status(self.control.world, row, T.SCOUTED, self.control.now)

    def _retry(self, row: int, given: Given) -> str:
        """Try the input of a task again that is left or was given up, and with it its children; why not, else empty."""
        control, world = self.control, self.control.world
        tasks, old = world.arrays.tasks, T(world.arrays.tasks["status"][row])
        set_status(world, row, T.TORETRY, control.now)
        exhausts, key = retry_refused(control.ledger.past(row), self._label(row), control.cfg, control.edition)
        left = tasks["n_jobs"][row] - tasks["n_finished"][row] - tasks["n_failed"][row]
        reason = key or ("" if left + len(control.ledger.given_up(row)) else "nothing left to do")
        if reason:
            set_status(world, row, T.EXHAUSTED if exhausts else old, control.now)
            if exhausts:
                control.live_tasks.bring_back(row)
        else:
            self._revive(row)
            control.ledger.take_back_changes(row)
            set_status(world, row, self._after_retry(row, old), control.now)
            tasks["modification_s"][row] = control.now - RETRY_HEAD_START_S
        if not key:
            self._retry_children(row)
        return reason

    def _after_retry(self, row: int, old: TaskStatus) -> TaskStatus:
        """Status of a task that is tried again: one that was exhausted at work goes on, else it begins as ready."""
        task = self.control.world.arrays.tasks[row]
        if task["nucleus"] < 0 and self._label(row) in PRODUCTION_LABELS:
            return T.ASSIGNING
        if self.control.world.arrays.scout_inputs[row]:
            return T.READY                                           # its scouts are not yet assessed
        return T.RUNNING if old is T.EXHAUSTED and task["old_status"] in (T.RUNNING, T.SCOUTING) else T.READY

    def _retry_children(self, row: int) -> None:
        """Let the children of a task be retried, too, in the next cycle."""
        tasks = self.control.world.arrays.tasks
        children = np.flatnonzero(tasks["parent"] == tasks["jeditaskid"][row])
        chosen = [child for child in children.tolist() if T(tasks["status"][child]) not in NOT_RETRIED_WITH_PARENT
                  and accepts(C.RETRY, T(tasks["status"][child]), self.control.edition)]
        if chosen:
            self.control.commands.give_unasked("retry", chosen, self.control.now)

    def _incexec(self, row: int, given: Given) -> None:
        """Let a task look for more input, and try again what was given up."""
        control, world = self.control, self.control.world
        set_status(world, row, T.TOINCEXEC, control.now)
        world.arrays.tasks["n_jobs"][row] += given.options.get("jobs") or 0
        self._revive(row, lost=True)
        set_status(world, row, T.REREFINE, control.now)
        task = world.arrays.tasks[row]
        if task["n_finished"] + task["n_failed"] == task["n_jobs"]:
            control.fabric.nothing_left(row)

    def _revive(self, row: int, lost: bool = False) -> None:
        """Give input that was given up more attempts, lost files only if asked, and put the task among the live."""
        control, ledger = self.control, self.control.ledger
        given_up, tasks = ledger.given_up(row, lost), control.world.arrays.tasks
        if len(given_up):
            tasks["max_attempt"][row] += INCREMENT
            tasks["max_failure"][row] += INCREMENT if tasks["max_failure"][row] else 0
            control.fabric.try_again(row, given_up)
        ledger.times_tried[row] += 1
        control.live_tasks.bring_back(row)

    def _label(self, row: int) -> str:
        return self.control.world.vocabularies["labels"][self.control.world.arrays.tasks["label"][row]]


OTHERS = {C.PAUSE: TaskCommando._pause, C.RESUME: TaskCommando._resume, C.AVALANCHE: TaskCommando._avalanche,
          C.RETRY: TaskCommando._retry, C.INCEXEC: TaskCommando._incexec}
"""Commands that are carried out at once."""


def pause(control, row: int) -> None:
    """Let a task do nothing until it is resumed; its activated jobs wait as throttled.

    Source: lifecycle reference, 2.8.
    """
    tasks = control.world.arrays.tasks
    if tasks["status"][row] not in (T.PENDING, T.THROTTLED):         # these know already where to go back to
        tasks["old_status"][row] = tasks["status"][row]
    set_status(control.world, row, T.PAUSED, control.now)
    control.fabric.throttle_activated([row], control.now)
