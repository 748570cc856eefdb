"""State machines of tasks and jobs: every status with its meaning, and every allowed move with who makes it and when.

One job is one attempt. Sources: JEDI TWiki, status of jobs and tasks; lifecycle reference, sections 2.7 to 2.13, 3.1
and 3.3.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from simgrid_broker.names import (
    JOB_ENDS,
    TASK_NOT_FINAL,
    TASK_PREPARABLE,
    TASK_REASSIGNABLE,
    JobStatus,
    TaskStatus,
    Word,
)

S = JobStatus
MOVES_SOURCE = "lifecycle reference, 3.1"
KILLS = "lifecycle reference, 3.3"
LIVE = tuple(status for status in S if status not in JOB_ENDS)
T = TaskStatus
STATES = "lifecycle reference, 2.8"
SCOUTS = "lifecycle reference, 2.7"
PENDING = "lifecycle reference, 2.9"
THROTTLED = "lifecycle reference, 2.10"
PAUSED = "lifecycle reference, 2.11"
RETRIED = "lifecycle reference, 2.13"
MERGED = "JEDI TWiki, Output merging; lifecycle reference, 2.14"

HELD = (T.READY, T.RUNNING, T.SCOUTING, T.MERGING, T.DEFINED, T.TOPREPROCESS, T.PREPROCESSING, T.REGISTERED, T.PREPARED,
        T.REREFINE, T.ASSIGNING)
"""Statuses in which a task can be put on hold, and to which it returns."""
PAUSABLE = tuple(status for status in TASK_NOT_FINAL if status is not T.PAUSED)
RETRIABLE = (T.FINISHED, T.FAILED, T.ABORTED, T.EXHAUSTED)


@dataclass(frozen=True)
class Move:
    """An allowed move from one or several statuses to one.

    by: PanDA's name of the agent; when: condition; whence: common name of the statuses in `old`, if there are too many
    to draw.
    """

    old: tuple[Word, ...]
    new: Word
    by: str
    when: str
    source: str
    whence: str = ""


@dataclass(frozen=True)
class Machine:
    """All statuses of tasks or jobs with their meaning, and all their moves; source: of the statuses."""

    title: str
    meaning: Mapping[Word, str]
    moves: tuple[Move, ...]
    source: str

    @property
    def pairs(self) -> frozenset[tuple[Word, Word]]:
        """Every allowed move as (old, new)."""
        return frozenset((old, move.new) for move in self.moves for old in move.old if old != move.new)

    def next(self, status: Word) -> tuple[Word, ...]:
        """Successors of a status, in the order of the moves, each once."""
        return tuple(dict.fromkeys(move.new for move in self.moves if status in move.old and status != move.new))

    def sources(self, status: Word) -> str:
        """Sources of a status and of the moves from it."""
        texts = (*self.source.split("; "), *(move.source for move in self.moves if status in move.old))
        return "; ".join(dict.fromkeys(texts))


def _move(old: tuple[JobStatus, ...], new: JobStatus, by: str, when: str, source: str = MOVES_SOURCE,
          whence: str = "") -> Move:
    return Move(old, new, by, when, source, whence)


JOB_MEANING: dict[Word, str] = {
    S.PENDING: "made by JEDI, not yet set up by the server",
    S.DEFINED: "set up; its input is looked for, or the library that it uses is built",
    S.WAITING: "waits for others: a stand-in of jumbo jobs, or a merge job of event service",
    S.ASSIGNED: "at its queue, input still on the way",
    S.THROTTLED: "would be ready, but its user has too many or its task is paused",
    S.ACTIVATED: "ready; the next pilot that fits can have it",
    S.SENT: "handed to a pilot or to Harvester",
    S.STARTING: "waits in a batch system that was given it beforehand",
    S.RUNNING: "the payload runs",
    S.HOLDING: "the payload has ended; the Adder has not looked yet",
    S.MERGING: "done, and its output waits to be merged with that of others",
    S.TRANSFERRING: "done, and its output is on the way to the nucleus",
    S.FINISHED: "succeeded, output in place",
    S.FAILED: "did not succeed",
    S.CLOSED: "taken back by the system, which brokers its input again",
    S.CANCELLED: "killed by a person or with its task, or the library that it uses could not be built",
}

JOB = Machine("job", JOB_MEANING, (
    _move((S.PENDING,), S.DEFINED, "Setupper", "after each bunch of submissions"),
    _move((S.PENDING,), S.WAITING, "JobGenerator, server", "no queue takes its events, but jumbo jobs of the task may",
          "lifecycle reference, 6.3"),
    _move((S.DEFINED,), S.ACTIVATED, "Setupper", "no input must be moved"),
    _move((S.DEFINED,), S.ASSIGNED, "Setupper", "input must be moved"),
    _move((S.DEFINED,), S.FAILED, "Setupper", "unknown site or dataset"),
    _move((S.ASSIGNED,), S.ACTIVATED, "Activator", "all input has arrived"),
    _move((S.ACTIVATED,), S.THROTTLED, "priority massage, TaskCommando", "cap of the user, or the task is paused"),
    _move((S.THROTTLED,), S.ACTIVATED, "priority massage, TaskCommando", "below the cap, or the task is resumed"),
    _move((S.ACTIVATED,), S.SENT, "getJob", "a pilot that fits asks for a job"),
    _move((S.SENT,), S.STARTING, "updateJob", "Harvester has it (push)"),
    _move((S.SENT, S.STARTING), S.RUNNING, "updateJob", "the pilot says that the payload runs"),
    _move((S.RUNNING,), S.HOLDING, "updateJob", "the pilot reports the end"),
    _move((S.HOLDING,), S.TRANSFERRING, "Adder", "succeeded, output must go to the nucleus"),
    _move((S.HOLDING,), S.MERGING, "Adder", "succeeded, output is to be merged"),
    _move((S.HOLDING,), S.FINISHED, "Adder", "succeeded, nothing to move"),
    _move((S.HOLDING,), S.FAILED, "Adder", "the payload or a check failed"),
    _move((S.TRANSFERRING,), S.FINISHED, "Finisher", "all output is at the nucleus"),
    _move((S.TRANSFERRING,), S.FAILED, "Finisher", "timeout"),
    _move((S.WAITING,), S.MERGING, "add_sub", "jumbo jobs have processed its events", "lifecycle reference, 6.3"),
    _move((S.MERGING,), S.FINISHED, "merge job", "merged"),
    _move((S.MERGING,), S.FAILED, "merge job of event service", "not merged, or an event without attempts left",
          "lifecycle reference, 6.2"),
    _move((S.SENT, S.STARTING, S.RUNNING), S.FAILED, "Watcher", "no heartbeat"),
    _move(LIVE, S.CLOSED, "server", "kill codes 2, 4, 10, 51, 55, 60", KILLS, "any status that is not final"),
    _move(LIVE, S.CANCELLED, "server", "other kill codes", KILLS, "any status that is not final"),
), "JEDI TWiki, job status")


def _each(olds: tuple[TaskStatus, ...], news: tuple[TaskStatus, ...], *others) -> tuple[Move, ...]:
    """One move from statuses to each of several."""
    return tuple(Move(olds, new, *others) for new in news)


TASK_MEANING: dict[Word, str] = {
    T.REGISTERED: "has arrived",
    T.DEFINED: "its parameters are in order",
    T.ASSIGNING: "task brokerage looks for its nucleus",
    T.READY: "jobs can be made as soon as there is room",
    T.PENDING: "put on hold by a passing trouble, such as no queue for its jobs",
    T.SCOUTING: "scout jobs measure what its jobs need",
    T.SCOUTED: "the scouts succeeded",
    T.RUNNING: "its jobs are made and run",
    T.THROTTLED: "no jobs are made for a while, because attempts fail too often or its user has too much work",
    T.PAUSED: "does nothing until it is resumed",
    T.EXHAUSTED: "waits for a person: out of attempts, scouts far from the claim, or on hold for too long",
    T.PREPARED: "nothing is left to do; the final status is due",
    T.DONE: "all input was processed",
    T.FINISHED: "some input was processed, and the rest failed or was left",
    T.FAILED: "no input was processed",
    T.ABORTED: "was killed",
    T.BROKEN: "cannot be worked on",
    T.STAGING: "its input comes from tape first",
    T.STAGED: "its input has come from tape",
    T.TOPREPROCESS: "a job that prepares the input is due",
    T.PREPROCESSING: "the job that prepares the input runs",
    T.MERGING: "its output is merged",
    T.PASSED: "on the way to its final status by order or after the time limit of exhausted tasks",
    T.ABORTING: "is being killed",
    T.TOABORT: "was killed; the final status is due",
    T.FINISHING: "is being brought to an end",
    T.TOBROKEN: "is about to be broken",
    T.TORETRY: "is being tried again",
    T.TOINCEXEC: "is about to look for more input",
    T.REREFINE: "its parameters are read again for more input",
    T.TOREASSIGN: "is being taken from its nucleus",
    T.REASSIGNING: "has been taken from its nucleus",
}

REFINING = (
    Move((T.REGISTERED, T.STAGED, T.REREFINE), T.DEFINED, "TaskRefiner", "parameters in order", STATES),
    Move((T.REGISTERED,), T.STAGING, "TaskRefiner", "input must come from tape", STATES),
    Move((T.STAGING,), T.STAGED, "TaskCommando", "the data carousel has brought it", STATES),
    Move((T.REGISTERED, T.STAGED, T.DEFINED), T.TOBROKEN, "TaskRefiner, ContentsFeeder",
         "no share, wrong parameters, no such dataset, or the parent failed", STATES),
    Move((T.DEFINED,), T.ASSIGNING, "ContentsFeeder", "production without a nucleus", STATES),
    Move((T.DEFINED,), T.READY, "ContentsFeeder", "any other task", STATES),
    Move((T.ASSIGNING,), T.READY, "TaskBroker", "it has a nucleus", STATES),
)
"""From arrival to job generation."""

GENERATING = (
    Move((T.READY,), T.SCOUTING, "JobGenerator", "first jobs made, as scouts", STATES),
    Move((T.READY,), T.RUNNING, "JobGenerator", "first jobs made, no scouts", STATES),
    Move((T.READY,), T.TOPREPROCESS, "JobGenerator", "input must be prepared", STATES),
    Move((T.TOPREPROCESS,), T.PREPROCESSING, "JobGenerator", "the job is made", STATES),
    Move((T.PREPROCESSING,), T.REGISTERED, "PostProcessor", "input is prepared", STATES),
    Move((T.SCOUTING,), T.SCOUTED, "PostProcessor", "half of the scouts finished, or all are over and enough did",
         SCOUTS),
    Move((T.SCOUTING, T.RUNNING), T.EXHAUSTED, "PostProcessor, WatchDog", "measured far from the claim", SCOUTS),
    Move((T.SCOUTING,), T.TOBROKEN, "PostProcessor", "too few scouts succeeded, or three build jobs failed", SCOUTS),
    Move((T.SCOUTED,), T.RUNNING, "PostProcessor", "in its next cycle", SCOUTS),
    Move((T.RUNNING,), T.MERGING, "JobGenerator", "only merge jobs are left", STATES),
    Move((T.MERGING,), T.RUNNING, "JobGenerator", "input is tried again because it could not be merged", MERGED),
)
"""Scouts and jobs."""

WAITING = (
    Move(HELD, T.PENDING, "any agent", "put on hold", STATES, "any status that can be held"),
    *_each((T.PENDING,), HELD, "WatchDog", "after a while, back to where it was", PENDING),
    Move((T.PENDING,), T.EXHAUSTED, "WatchDog", "on hold for longer than PENDING_TIMEOUT", PENDING),
    Move((T.RUNNING, T.READY, T.PENDING), T.THROTTLED, "WatchDog", "too many attempts, or its user has too much work",
         THROTTLED),
    *_each((T.THROTTLED,), (T.RUNNING, T.READY), "WatchDog", "the time or the reason is over", THROTTLED),
    Move((T.RUNNING,), T.PAUSED, "WatchDog", "too many failures", PAUSED),
)
"""On hold, throttled, paused automatically."""

ENDING = (
    Move(TASK_PREPARABLE, T.PREPARED, "PostProcessor", "no input is left", STATES),
    Move((*TASK_PREPARABLE, T.PREPARED), T.DEFINED, "PostProcessor", "no input is left, but a dataset is open", STATES),
    *_each((T.PREPARED, T.PASSED), (T.DONE, T.FINISHED, T.FAILED, T.PAUSED), "PostProcessor",
           "by the part that was processed", STATES),
    Move((T.PREPARED,), T.EXHAUSTED, "PostProcessor", "useExhausted, and the goal was not reached", STATES),
    Move((T.EXHAUSTED,), T.FINISHING, "WatchDog", "exhausted for too long", STATES),
    Move((T.TOBROKEN,), T.BROKEN, "PostProcessor", "in its next cycle", STATES),
    Move((T.TOABORT,), T.ABORTED, "PostProcessor", "in its next cycle", STATES),
)
"""Final statuses and the moves to them."""

COMMANDED = (
    Move(TASK_NOT_FINAL, T.ABORTING, "TaskCommando", "command abort", STATES, "any status that is not final"),
    Move((T.ABORTING,), T.TOABORT, "TaskCommando", "its jobs are killed", STATES),
    Move(TASK_NOT_FINAL, T.FINISHING, "TaskCommando, WatchDog", "command finish, or the goal is reached", STATES,
         "any status that is not final"),
    Move((T.FINISHING,), T.PASSED, "TaskCommando", "no job is left", STATES),
    Move(RETRIABLE, T.TORETRY, "TaskCommando", "command retry", RETRIED),
    *_each((T.TORETRY,), (T.READY, T.RUNNING, T.SCOUTING), "TaskCommando", "there is input to try again", RETRIED),
    Move((T.TORETRY,), T.ASSIGNING, "TaskCommando", "the same, and it never got a nucleus", RETRIED),
    *_each((T.TORETRY,), RETRIABLE, "TaskCommando", "there is none, or the retry is refused", RETRIED),
    Move((*RETRIABLE, T.DONE), T.TOINCEXEC, "TaskCommando", "command incexec", RETRIED),
    Move((T.TOINCEXEC,), T.REREFINE, "TaskCommando", "datasets are to be read again", RETRIED),
    Move(TASK_REASSIGNABLE, T.TOREASSIGN, "TaskCommando", "command reassign", STATES),
    Move((T.TOREASSIGN,), T.REASSIGNING, "TaskCommando", "its jobs are killed, unless soft", STATES),
    *_each((T.REASSIGNING,), (T.ASSIGNING, T.READY), "WatchDog", "after 5 min, without or with a nucleus", STATES),
    Move(PAUSABLE, T.PAUSED, "TaskCommando", "command pause", STATES, "any status that is not final"),
    *_each((T.PAUSED,), PAUSABLE, "TaskCommando", "command resume: back to where it was", STATES),
    Move((T.SCOUTING,), T.SCOUTED, "TaskCommando", "command avalanche", SCOUTS),
)
"""Commands; resume of a throttled task is covered by the move of the WatchDog."""

TASK = Machine("task", TASK_MEANING, (*REFINING, *GENERATING, *WAITING, *ENDING, *COMMANDED),
               "JEDI TWiki, task status; lifecycle reference, 2.8")

MACHINES = (TASK, JOB)
"""All machines, in the order of the documentation."""
