"""The state machine of jobs; one job is one attempt.

Source: JEDI TWiki, job status; lifecycle reference, sections 3.1 and 3.3.
"""

from simgrid_broker.names import JOB_ENDS, JobStatus, Word
from simgrid_broker.world.states.machine import Machine, Move

S = JobStatus
MOVES_SOURCE = "lifecycle reference, 3.1"
KILLS = "lifecycle reference, 3.3"
LIVE = tuple(status for status in S if status not in JOB_ENDS)


def _move(old: tuple[JobStatus, ...], new: JobStatus, by: str, when: str, source: str = MOVES_SOURCE,
          whence: str = "") -> Move:
    return Move(old, new, by, when, source, whence)


MEANING: dict[Word, str] = {
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

JOB = Machine("job", MEANING, (
    _move((S.PENDING,), S.DEFINED, "Setupper", "after each bunch of submissions"),
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
    _move((S.MERGING,), S.FINISHED, "merge job", "merged"),
    _move((S.SENT, S.STARTING, S.RUNNING), S.FAILED, "Watcher", "no heartbeat"),
    _move(LIVE, S.CLOSED, "server", "kill codes 2, 4, 10, 51, 55, 60", KILLS, "any status that is not final"),
    _move(LIVE, S.CANCELLED, "server", "other kill codes", KILLS, "any status that is not final"),
), "JEDI TWiki, job status")
