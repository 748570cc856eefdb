"""The end of a job of event service: its status, its ranges, the retry or merge job, and the other jobs.

Source: lifecycle reference, 6.2, 6.3 and 6.6; panda-server, `archiveJob`, `ppEventServiceJob` and `makeFakeCoJumbo`;
edition documented: JEDI TWiki, final status of event service jobs, and the code where that page is silent.

Job cloning: several jobs have the same input and one event range, and JEDI learns of the one that has the range. With
runonce a clone takes the range when it starts, with storeonce when its payload has succeeded. Source: lifecycle
reference, 6.2; panda-server, `checkClonedJob` and the adder. Simplified: the last clone gives the input back to JEDI
however it ends; in the code one that is closed or cancelled without the range does not.
"""

from dataclasses import replace
from enum import IntEnum
from typing import NamedTuple

import numpy as np

import simgrid_broker.systems.events.table as ranges
from simgrid_broker.editions import ByEdition
from simgrid_broker.names import EventService, EventStatus, JobStatus, QueueStatus
from simgrid_broker.systems.events.policy.jobset import (
    WAITING_CO_JUMBO,
    EventJob,
    Jobset,
    archive,
    is_cancelled,
    note_processing,
    propagate,
)
from simgrid_broker.systems.events.policy.kills import abort_others, cancel_ready, close_unused, update_related
from simgrid_broker.systems.events.policy.queues import merge_queue, single_core_queue
from simgrid_broker.systems.events.table import ALL, ANY, GONE, OF_JUMBO, TAKEN, UNTOUCHED, mask

J, S = JobStatus, EventStatus
MERGE_PRIORITY, MERGE_SHARE, MERGE_RAMCOUNT, MORE_FAILURES = 5000, "Express", 2000, 5
"""Attributes of merge jobs: priority, share, memory in MB, and failures of the input that are allowed more."""


class End(IntEnum):
    """Action of the server at the end of a consumer; the numbers of `ppEventServiceJob`."""

    RETRIED, NOTHING, MERGED = 0, 1, 2
    WAITS, INACTIVE, LAST, ALL_FAILED, RETRIED_IDLE, BAD_STATUS, MERGED_IDLE = range(4, 11)


RETRY_ERROR, MERGE_ERROR, INCONSISTENT, BAD_STATUS_ERROR, NO_QUEUES = 111, 112, 124, 126, 125
INACTIVE_ERRORS = (117, 118)
STATUSES: dict[End, tuple[JobStatus, str | None, int]] = {
    End.RETRIED: (J.MERGING, "es_retry", RETRY_ERROR), End.MERGED: (J.MERGING, "es_merge", MERGE_ERROR),
    End.WAITS: (J.MERGING, "es_wait", 115), End.INACTIVE: (J.CLOSED, "es_inaction", 117),
    End.LAST: (J.FAILED, None, 118), End.ALL_FAILED: (J.FAILED, None, 119),
    End.RETRIED_IDLE: (J.CLOSED, "es_noevent", 123), End.BAD_STATUS: (J.CLOSED, "es_badstatus", BAD_STATUS_ERROR),
    End.MERGED_IDLE: (J.CLOSED, "es_merge", MERGE_ERROR)}
"""Status, sub-status (None = as reported) and error of a consumer by what the server did."""


class Terms(NamedTuple):
    """An edition: status and sub-status of a consumer that processed nothing and is retried; sub-status of consumers at
    work when the merge job is made; True if a consumer fails as soon as the ranges left have no attempts, and one that
    fails closes the others; True if errors, and queues that preempt, overrule the end in the archive."""

    idle: tuple[JobStatus, str]
    at_work: str
    aborts: bool
    overrules: bool


TERMS = ByEdition(documented=Terms((J.MERGING, "es_inaction"), "es_killed", True, False),
                  deployed=Terms((J.CLOSED, "es_noevent"), "es_unused", False, True))
WITHOUT_MORE = (End.RETRIED, End.WAITS, End.INACTIVE, End.RETRIED_IDLE, End.BAD_STATUS)
"""Ends after which another consumer must be there to go on."""


class Ended(NamedTuple):
    """The code of an end, None if the job was not looked at, and whether JEDI was told."""

    code: End | None
    is_told: bool


def end_job(jobset: Jobset, reported: EventJob) -> Ended:
    """Archive a job as it was reported; the row of the jobset with its PandaID has the attributes until then."""
    job, code, sub_status = reported, None, None
    if jobset.is_live and job.is_merge and job.status == J.FINISHED and not _is_input_consistent(jobset, job):
        job.status, job.error = J.FAILED, INCONSISTENT
    if jobset.is_live and job.is_consumer:
        sub_status = job.sub_status
        code, successor = process_ranges(jobset, job)
        _settle(jobset, job, code, successor)
    stored = jobset.jobs[job.panda_id] = replace(job, is_archived=True)
    is_told = jobset.is_live and not (job.is_consumer and (is_cancelled(job) or job.status == J.MERGING))
    if is_told:
        propagate(jobset, job)
    if jobset.is_live and job.is_merge and job.error != 107 and not is_cancelled(job):
        update_related(jobset, job, takes_events=job.status == J.FAILED)
    _overrule(jobset, stored, sub_status)
    return Ended(code, is_told)


def _is_input_consistent(jobset: Jobset, job: EventJob) -> bool:
    """True if JEDI expects the result of a merge job: attempt, status and PandaID of its input agree."""
    files = ((jobset.files[file], attempt) for file, attempt in zip(job.files, job.file_attempts, strict=True))
    return all(file.attempt == attempt and file.status == "running" and file.panda_id == job.panda_id
               for file, attempt in files)


def _settle(jobset: Jobset, job: EventJob, code: End, successor: EventJob | None) -> None:
    """Set the status of a consumer by what was done for its events, and look after the other consumers."""
    terms = TERMS[jobset.edition]
    if code in STATUSES:
        status, sub_status, error = STATUSES[code]
        if code == End.RETRIED_IDLE:
            status, sub_status = terms.idle
        job.status, job.sub_status, job.error = status, sub_status or job.sub_status, error
    if code in (End.MERGED, End.MERGED_IDLE):
        close_unused(jobset, job, kills_all=True, same_attempt=False, at_work=terms.at_work)
    may_be_fake = job.kind == EventService.CO_JUMBO or bool(jobset.use_jumbo)
    if code in WITHOUT_MORE and job.queue != WAITING_CO_JUMBO and successor is None and (
            code != End.WAITS or may_be_fake) and not _other_consumers(jobset, job):
        if may_be_fake and code in (End.WAITS, End.INACTIVE):
            jobset.made.append(replace(job, status=J.WAITING, sub_status=None, error=0, queue=WAITING_CO_JUMBO,
                                       is_archived=False))
        else:
            job.status, job.error = J.FAILED, NO_QUEUES
    if job.status == J.FAILED:
        if terms.aborts:
            abort_others(jobset, job)
        if not job.has("notDiscardEvents"):
            cancel_ready(jobset, job.jobset)
        update_related(jobset, job, takes_events=True)


def _other_consumers(jobset: Jobset, job: EventJob) -> int:
    """Other jobs of the jobset that are active; without any, fake co-jumbo jobs for the same attempt at the input."""
    same = sum(other.jobset == job.jobset and other.panda_id != job.panda_id for other in jobset.active())
    mine = set(zip(job.files, job.file_attempts, strict=True))
    return same or sum(other.queue == WAITING_CO_JUMBO and other.panda_id != job.panda_id and not mine.isdisjoint(
        zip(other.files, other.file_attempts, strict=True)) for other in jobset.active())


def process_ranges(jobset: Jobset, job: EventJob) -> tuple[End, EventJob | None]:
    """Settle the ranges of a consumer that ends, and make the job that goes on with them: a retry or a merge job."""
    if job.error in (RETRY_ERROR, MERGE_ERROR, INCONSISTENT, BAD_STATUS_ERROR):
        return End.NOTHING, None
    n_done, n_jumbo = settle_ranges(jobset, job)
    n_hopeless = jobset.count(job.files, ANY, ALL & ~GONE, 0, 0)
    if n_hopeless and job.has("acceptPartial"):
        jobset.tally(None, job.jobset, ALL, 0, 0, S.FATAL)
    n_left = jobset.count(None, job.jobset, mask(S.READY), least=1)
    if not n_left:
        if ranges.is_awaited(jobset.ranges.rows, jobset.ranges.chunks, jobset.chunks_of(job.files)):
            return (End.WAITS if n_done else End.INACTIVE), None
        if not jobset.count(job.files, ANY, mask(S.DONE)):
            return End.ALL_FAILED, None
    if (job.attempt >= job.max_attempt and n_left) or (not n_left and n_hopeless):
        active = sum(other.jobset == job.jobset for other in jobset.active())
        fails = active <= 1 or (not n_left and TERMS[jobset.edition].aborts)
        return (End.LAST if fails else End.INACTIVE), None
    if n_left:
        return _retry(jobset, job, n_left, n_done)
    if not n_jumbo and not n_done and not job.has("allOkEvents"):
        return End.INACTIVE, None
    return (End.MERGED if n_done else End.MERGED_IDLE), _merge(jobset, job)


def settle_ranges(jobset: Jobset, job: EventJob) -> tuple[int, int]:
    """Settle the ranges of a consumer that ends: finished ones are done, failed ones get a copy, others are ready.

    A co-jumbo job also settles what jumbo jobs did with its input. The numbers of ranges done: its own, of jumbo jobs.
    """
    n_jumbo, table = 0, jobset.ranges
    if job.kind == EventService.CO_JUMBO:
        n_jumbo = jobset.change(job.files, OF_JUMBO, mask(S.FINISHED), S.DONE)
        jobset.copy_failed(job.files, OF_JUMBO, ANY, job.panda_id)
    n_done = jobset.change(None, job.panda_id, mask(S.FINISHED), S.DONE)
    ranges.release(table.rows, table.chunks, jobset.chunks_of(), job.panda_id, ALL & ~UNTOUCHED, job.jobset,
                   0 if job.has("decAttOnFailedES") else 1)
    jobset.copy_failed(None, job.panda_id, job.jobset, ANY)
    return n_done, n_jumbo


def _retry(jobset: Jobset, job: EventJob, n_left: int, n_done: int) -> tuple[End, EventJob | None]:
    """Make the next consumer of a jobset, on one core if few ranges are left; none where event service is off."""
    stored, queue = jobset.jobs[job.panda_id], jobset.queues.get(job.queue)
    is_bad = stored.status in (J.DEFINED, J.PENDING)
    new = _successor(job, stored, replace(job, priority=job.priority + 1))
    least = [number for number in (jobset.minimum, queue.corecount if queue else None) if number is not None]
    if (job.corecount or 0) > 1 and least and max(least) > n_left:
        small = single_core_queue(jobset, job.queue) if queue else None
        new = new if small is None else replace(new, queue=small, corecount=1, ramcount=0)
    is_off = is_bad or (queue is not None and (
        queue.status not in (QueueStatus.ONLINE, QueueStatus.BROKEROFF) or queue.jobseed == "std"))
    if not is_off:
        note_processing(jobset, job, "queued", checks_others=True)
        jobset.made.append(new)
    code = End.BAD_STATUS if is_bad else End.RETRIED if n_done else End.RETRIED_IDLE
    return code, None if is_off else new


def _merge(jobset: Jobset, job: EventJob) -> EventJob:
    """Make the job that merges the output of all consumers of a jobset."""
    stored, is_partial = jobset.jobs[job.panda_id], jobset.count(None, job.jobset, mask(S.FATAL))
    new = _successor(job, stored, replace(
        job, kind=EventService.MERGE, priority=MERGE_PRIORITY, share=MERGE_SHARE, corecount=None,
        ramcount=MERGE_RAMCOUNT, max_attempt=job.attempt + 1, queue=merge_queue(jobset, job),
        flags=job.flags - {"eventservice"} | {"esmerge"}))
    new.sub_status = "partial" if is_partial else None
    new.status = J.ACTIVATED if new.status == J.ASSIGNED else new.status
    note_processing(jobset, job, "merging")
    for file in map(jobset.files.__getitem__, job.files):
        most = file.failed_attempts + MORE_FAILURES
        file.max_failure = most if file.max_failure is None else min(file.max_failure, most)
    jobset.made.append(new)
    return new


def _successor(job: EventJob, stored: EventJob, changed: EventJob) -> EventJob:
    """A job after another one for the same events; it waits where that one was if it was not activated."""
    waits = stored.status if stored.is_in_defined_table else J.ACTIVATED if job.is_input_ready else J.ASSIGNED
    return replace(changed, attempt=job.attempt + 1, status=waits, sub_status=None, error=0, n_events=0,
                   has_pilot_error=False, is_archived=False)


def _overrule(jobset: Jobset, job: EventJob, reported: str | None) -> None:
    """Change the status of an archived job by what its pilot reported, after JEDI was told.

    A failed pilot or a lost heartbeat fails it, or closes it on a queue that preempts; events that were processed wait
    for others; the last consumer that did nothing without an error is closed. As documented only a failed pilot, and a
    lost heartbeat of a consumer that processed nothing, fail it.
    """
    over = (job.status, job.sub_status)
    if not TERMS[jobset.edition].overrules:
        if reported == "pilot_failed" or (reported == "es_heartbeat" and not job.n_events):
            archive(job, J.FAILED, reported, job.error)
        return
    if reported in ("pilot_failed", "es_heartbeat") or (
            reported == "pilot_killed" and job.sub_status in ("es_noevent", "es_inaction")):
        queue = jobset.queues.get(job.queue)
        is_preempted = queue is not None and queue.is_preemptable and reported != "pilot_failed"
        over = (J.CLOSED, "es_preempted") if is_preempted else (J.FAILED, reported)
    if job.is_consumer and job.status in (J.FAILED, J.CLOSED) and job.error in INACTIVE_ERRORS:
        if job.n_events > 0:
            over = J.MERGING, reported if reported == "es_toolong" else "es_wait"
        elif job.status == J.FAILED and (reported == "pilot_noevents" or not job.has_pilot_error):
            over = J.CLOSED, reported
    archive(job, *over, job.error)


def finish_range(jobset: Jobset, panda_id: int) -> None:
    """Finish the range of a clone whose payload has succeeded; it takes the range first if no other clone has it."""
    table = jobset.ranges
    ranges.take(table.rows, table.chunks, jobset.chunks_of(), ANY, panda_id, False, 1, np.empty(2, np.int64))
    jobset.change(None, panda_id, TAKEN, EventStatus.FINISHED)


def end_clone(jobset: Jobset, panda_id: int, status: JobStatus) -> bool:
    """End a clone; True if JEDI learns of it: of the one with the range, which closes all others, or of the last one.

    Without the range it is closed (jc_unlock) as long as there are others.
    """
    job, has_range = jobset.jobs[panda_id], jobset.count(None, panda_id) > 0
    if has_range:
        close_unused(jobset, job, kills_all=True, same_attempt=True)
    is_last = all(other is job for other in jobset.active())
    archive(job, status if is_last else JobStatus.CLOSED, None if is_last else "jc_unlock", job.error)
    return is_last
