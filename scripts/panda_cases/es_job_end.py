"""The end of a job of event service: its status, ranges, the retry or merge job, the other jobs and the input files."""

from dataclasses import replace

from panda_cases import event_service
from panda_cases.shape import fields, reads, text, whole
from simgrid_broker.names import EventService, JobStatus
from simgrid_broker.systems.events.policy.ends import end_job
from simgrid_broker.systems.events.policy.jobset import EventJob

ERRORS = ("pilotErrorCode", "ddmErrorCode", "jobDispatcherErrorCode")
MULTI_CORE, HIGH_MEMORY_MB = ("SCORE", "MCORE"), 2000


@reads(**event_service.PARTS, ended=fields(
    PandaID=whole(), jobStatus=text(None, JobStatus.words()), jobSubStatus=text(), nEvents=whole(0),
    **dict.fromkeys((*ERRORS, "taskBufferErrorCode"), whole(0))))
def answer(case: dict) -> dict:
    """Changes by the end of a job; nothing is done about one that the tables do not have."""
    before, after, ended = event_service.jobset(case), event_service.jobset(case), case["ended"]
    if (stored := after.jobs.get(ended["PandaID"])) is None:
        return dict(code=None, propagated=False, job=None, new_jobs=[], other_jobs={}, files={},
                    ranges=event_service.all_ranges(after), limits=[f"ended.PandaID = {ended['PandaID']}: no such job"])
    code, is_told = end_job(after, replace(
        stored, status=JobStatus.of(ended["jobStatus"] or stored.status.word), sub_status=ended["jobSubStatus"],
        n_events=ended["nEvents"], error=ended["taskBufferErrorCode"] or stored.error,
        has_pilot_error=any(ended[name] for name in ERRORS)))
    others = event_service.changed_jobs(before, after)
    others.pop(str(ended["PandaID"]), None)
    return dict(
        code=None if code is None else int(code), propagated=is_told,
        job=event_service.job_attributes(after.jobs[ended["PandaID"]]), new_jobs=[_new(one) for one in after.made],
        other_jobs={key: event_service.job_attributes(one) for key, one in others.items()},
        ranges=event_service.all_ranges(after), files=event_service.changed_files(before, after))


def _new(one: EventJob) -> dict:
    kind = "waiting_co_jumbo" if one.status == JobStatus.WAITING else (
        "merge" if one.kind == EventService.MERGE else "retry")
    return dict(
        kind=kind, jobStatus=one.status.word, jobSubStatus=one.sub_status, attemptNr=one.attempt,
        maxAttempt=one.max_attempt, currentPriority=one.priority, computingSite=one.queue, coreCount=one.corecount,
        minRamCount=one.ramcount, gshare=one.share, eventService=int(one.kind), resource_type=_resource_type(one),
        flags=sorted(one.flags))


def _resource_type(one: EventJob) -> str | None:
    if one.status == JobStatus.WAITING:
        return None                          # that of the job before, which cases do not have
    cores = one.corecount or 1
    return MULTI_CORE[cores > 1] + "_HIMEM" * (round(one.ramcount / cores) > HIGH_MEMORY_MB)
