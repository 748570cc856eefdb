"""Results of jobs of event service as JEDI learns them: the next attempt of the input, and its status of processing.

Source: lifecycle reference, 6.2 and 6.6; panda-server, `propagateResultToJEDI` and `updateInputStatusJedi`.
"""

from simgrid_broker.names import EventService, EventStatus, JobStatus
from simgrid_broker.systems.events.policy.jobset import WAITING_CO_JUMBO, EventJob, Jobset, is_cancelled
from simgrid_broker.systems.events.table import ANY, mask

J, S = JobStatus, EventStatus
READY, FINISHED, FAILED = "ready", "finished", "failed"
MAY_BECOME = {
    READY: ("queued", "starting", "running", "merging", "transferring"), "queued": (READY, "starting", "running"),
    "starting": ("queued", "running", READY), "running": ("starting", "queued", READY),
    "merging": ("queued", "running"), "transferring": ("running", "merging"),
    FINISHED: ("running", "transferring", "merging"),
    FAILED: ("running", "transferring", "merging", "queued", "starting")}
"""Statuses of processing that may precede each."""
PILOT_RETRIED = 107


def propagate(jobset: Jobset, job: EventJob) -> None:
    """Tell JEDI the result of a job: its input is finished, or ready for the next attempt."""
    for file_id, attempt in zip(job.files, job.file_attempts, strict=True):
        file = jobset.files[file_id]
        if file.attempt != attempt:
            continue
        if job.status == J.FINISHED:
            jobset.change((file_id,), ANY, mask(S.DONE), S.MERGED)
        if file.status != "cancelled":
            file.status = FINISHED if job.status == J.FINISHED else READY
            file.attempt += 1
            file.failed_attempts += job.status == J.FAILED
    fake = job.queue == WAITING_CO_JUMBO and not is_cancelled(job)
    if job.kind != EventService.JUMBO and not fake and job.error != PILOT_RETRIED:
        note_processing(jobset, job, FAILED if is_cancelled(job) else job.status.word)


def note_processing(jobset: Jobset, job: EventJob, status: str, checks_others: bool = False) -> None:
    """Set proc_status of the input of a job if its attempt is the one at hand and the transition is allowed.

    checks_others: a file on which another job, or the job itself, runs stays as it is.
    """
    for file_id, number in zip(job.files, job.file_attempts, strict=True):
        file, attempt = jobset.files[file_id], number + (status in (FINISHED, FAILED))
        if checks_others and any(other.status == J.RUNNING and (file_id, attempt) in zip(
                other.files, other.file_attempts, strict=True) for other in jobset.active()):
            continue
        old = file.proc_status
        if file.attempt != attempt or status not in MAY_BECOME or old not in (None, status, *MAY_BECOME[status]):
            continue
        again = file.attempt < (file.max_attempt or 0) and (
            file.max_failure is None or file.failed_attempts < file.max_failure)
        new = READY if status == FAILED and again else status
        if new != old and not (new in (READY, FAILED) and file.status != READY):
            file.proc_status = new
