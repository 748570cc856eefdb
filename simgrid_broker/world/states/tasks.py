"""The state machine of JEDI tasks. Source: JEDI TWiki, task status; lifecycle reference, sections 2.7 to 2.13."""

from simgrid_broker.names import TASK_NOT_FINAL, TASK_REASSIGNABLE, TaskStatus, Word
from simgrid_broker.world.states.machine import Machine, Move

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
PREPARABLE = (T.RUNNING, T.MERGING, T.PREPROCESSING, T.READY, T.THROTTLED)
"""Statuses from which a task without remaining input is prepared for its end."""
PAUSABLE = tuple(status for status in TASK_NOT_FINAL if status is not T.PAUSED)
RETRIABLE = (T.FINISHED, T.FAILED, T.ABORTED, T.EXHAUSTED)


def _each(olds: tuple[TaskStatus, ...], news: tuple[TaskStatus, ...], *others) -> tuple[Move, ...]:
    """One move from statuses to each of several."""
    return tuple(Move(olds, new, *others) for new in news)


MEANING: dict[Word, str] = {
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
    Move((T.RUNNING, T.READY), T.THROTTLED, "WatchDog", "too many attempts, or its user has too much work", THROTTLED),
    *_each((T.THROTTLED,), (T.RUNNING, T.READY), "WatchDog", "the time or the reason is over", THROTTLED),
    Move((T.RUNNING,), T.PAUSED, "WatchDog", "too many failures", PAUSED),
)
"""On hold, throttled, paused automatically."""

ENDING = (
    Move(PREPARABLE, T.PREPARED, "PostProcessor", "no input is left", STATES),
    Move((*PREPARABLE, T.PREPARED), T.DEFINED, "PostProcessor", "no input is left, but a dataset is open", STATES),
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

TASK = Machine("task", MEANING, (*REFINING, *GENERATING, *WAITING, *ENDING, *COMMANDED),
               "JEDI TWiki, task status; lifecycle reference, 2.8")
