"""Kills of jobs of event service: of the job itself, of other consumers of its events, and what becomes of the ranges.

Source: lifecycle reference, 3.3, 6.1 and 6.2; panda-server, `killJob`, `killEventServiceConsumers`,
`killUnusedEventServiceConsumers` and `updateRelatedEventServiceJobs`.
"""

import simgrid_broker.systems.events.table as ranges
from simgrid_broker.names import EventService, EventStatus, JobStatus
from simgrid_broker.systems.events.policy.jobset import WAITING_CO_JUMBO, EventJob, Jobset, archive, propagate
from simgrid_broker.systems.events.table import ALL, ANY, CANCELLABLE, GONE, KEPT, PROCESSED, TAKEN, mask

J, S = JobStatus, EventStatus
KILLED, EXPIRED, ABORTED, REBROKERED, UNUSED, KILLED_WITH_OTHER, FAST_REBROKERAGE = 100, 102, 103, 105, 116, 120, 130
"""PanDA's error codes of jobs that were taken away."""
DEALT_WITH = (105, 106, 107)
"""Error codes of jobs that were retried before: a kill leaves the other consumers."""
WAIT_UNUSED = (J.ACTIVATED, J.ASSIGNED, J.THROTTLED)
FORCED = (2, 9, 10, 51, 52, 60, 99)
"""Codes of kills that do not ask whether the pilot was told before."""
FORCED_WHILE_RUNNING = (9, 52)
CODES: dict[int, tuple[JobStatus, str | None, int]] = {
    2: (J.CLOSED, "toreassign", EXPIRED), 4: (J.CLOSED, "toreassign", EXPIRED), 3: (J.CANCELLED, None, ABORTED),
    8: (J.CANCELLED, None, REBROKERED), 51: (J.CLOSED, "toreassign", KILLED), 55: (J.CLOSED, "taskdone", KILLED),
    60: (J.CLOSED, None, KILLED), 10: (J.CLOSED, None, FAST_REBROKERAGE)}
"""Status, sub-status (None = as it was) and error of a killed job by code; other codes cancel it."""


def kill(jobset: Jobset, panda_id: int, code: int) -> tuple[bool, bool]:
    """Kill a job; returns two bools: the kill was accepted, and its result is passed on to JEDI."""
    job = jobset.jobs.get(panda_id)
    if job is None or job.is_archived:
        return False, False
    told = job.is_to_be_killed and code not in FORCED and not job.is_consumer and job.status != J.MERGING
    if told:
        return False, False
    if job.status == J.RUNNING and not job.is_consumer and code not in FORCED_WHILE_RUNNING:
        job.is_to_be_killed = True
        return True, False
    error = job.error
    status, sub_status, new_error = CODES.get(code, (J.CANCELLED, None, KILLED))
    if job.status == J.FAILED:
        status, sub_status, new_error = J.FAILED, None, error
    archive(job, status, sub_status or job.sub_status, new_error)
    if jobset.is_live:
        if error not in DEALT_WITH:
            _kill_others(jobset, job)
        propagate(jobset, job)
    return True, jobset.is_live


def _kill_others(jobset: Jobset, job: EventJob) -> None:
    """Kill the other consumers of the events of a killed job, and take back its events."""
    if job.is_consumer:
        kill_consumers(jobset, job)
        if job.queue != WAITING_CO_JUMBO:
            close_unused(jobset, job, kills_all=True, same_attempt=True)
    if job.is_consumer or job.is_merge:
        update_related(jobset, job, takes_events=True)
    if job.is_consumer and not job.has("notDiscardEvents"):
        cancel_ready(jobset, job.jobset)
    if job.kind == EventService.JUMBO:
        table, fewer = jobset.ranges, 0 if job.has("decAttOnFailedES") else 1
        ranges.release(table.rows, table.chunks, jobset.chunks_of(), job.panda_id, TAKEN, ANY, fewer)


def kill_consumers(jobset: Jobset, job: EventJob) -> None:
    """Cancel the active consumers of the jobset that hold ranges of the input of a killed job."""
    for owner in jobset.owners(job.files, ALL & ~GONE):
        other = jobset.jobs.get(owner)
        if other is None or other.is_archived or other is job or other.jobset != job.jobset \
                or other.kind == EventService.JUMBO or other.is_in_defined_table:
            continue
        archive(other, J.CANCELLED, "es_killed", KILLED_WITH_OTHER)
        discard(jobset, job.files, owner, job.has("notDiscardEvents"))


def close_unused(jobset: Jobset, job: EventJob, kills_all: bool, same_attempt: bool,
                 at_work: str = "es_unused") -> None:
    """Close the consumers of the input of a job that were not dispatched yet, or all; same_attempt: of the input.

    at_work: sub-status of those that were dispatched.
    """
    attempts = dict(zip(job.files, job.file_attempts, strict=True))
    for other in list(jobset.active()):
        shared = [attempt for file, attempt in zip(other.files, other.file_attempts, strict=True) if file in attempts]
        if other.panda_id == job.panda_id or not shared or other.is_merge or other.kind == EventService.JUMBO:
            continue
        if same_attempt and list(attempts.values())[-1] not in shared:
            continue
        waits = other.status in WAIT_UNUSED or other.is_in_defined_table
        if kills_all or other.status in WAIT_UNUSED:
            archive(other, J.CLOSED, "es_unused" if waits else at_work, UNUSED)


def abort_others(jobset: Jobset, job: EventJob) -> None:
    """Close the other consumers of the jobset of a job that has failed; edition documented."""
    for other in list(jobset.active()):
        if other.jobset == job.jobset and other.panda_id != job.panda_id and other.is_consumer:
            archive(other, J.CLOSED, "es_aborted", KILLED_WITH_OTHER)


def update_related(jobset: Jobset, job: EventJob, takes_events: bool) -> None:
    """Give the archived consumers whose events a job shares or merges its status, and take back their events.

    Nothing happens if the job did not finish and its events are kept.
    """
    if job.status != J.FINISHED and (not takes_events or job.has("notDiscardEvents")):
        return
    for owner in jobset.owners(job.files, PROCESSED):
        other = jobset.jobs.get(owner)
        if other is None or not other.is_archived or other.kind == EventService.JUMBO \
                or other.status not in (J.CLOSED, J.MERGING, J.FAILED):
            continue
        other.status = job.status
        if job.status == J.FAILED:
            other.sub_status = "es_merge_failed" if job.is_merge else "es_ass_failed"
        if takes_events:
            discard(jobset, None, owner, job.has("notDiscardEvents"))


def discard(jobset: Jobset, files: tuple[int, ...] | None, owner: int, keeps: bool) -> None:
    """Discard the processed ranges of an owner, unless they are kept, and cancel the others that are not over."""
    if not keeps:
        jobset.change(files, owner, KEPT, S.DISCARDED)
    jobset.change(files, owner, CANCELLABLE, S.CANCELLED)


def cancel_ready(jobset: Jobset, owner: int) -> None:
    """Cancel the ranges of a jobset that wait."""
    jobset.change(None, owner, mask(S.READY), S.CANCELLED)
