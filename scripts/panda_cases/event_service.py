"""A task with event service of a case as the package's own: its jobs, input files, event ranges and queues."""

from itertools import groupby

from simgrid_broker.names import EventService, EventStatus, JobStatus, QueueStatus, TaskStatus
from simgrid_broker.systems.events.policy.jobset import EventFile, EventJob, EventQueue, Jobset
from simgrid_broker.systems.events.table import EventRanges

ATTRIBUTES = ("jobStatus", "jobSubStatus", "taskBufferErrorCode")
OPPORTUNISTIC = -1
"""Value of pledgedcpu at a queue that preempts."""


def jobset(case: dict) -> Jobset:
    """The task of a case, with everything that belongs to it."""
    files = {one["fileID"]: _file(one) for one in case["files"]}
    endpoints = case.get("endpoints") or {}
    return Jobset(
        TaskStatus.of(case["task"]["status"]), {one["PandaID"]: job(one, files) for one in case["jobs"]}, files,
        table(case), case["task"]["useJumbo"] or "",
        {name: _queue(one, endpoints) for name, one in case["queues"].items()} if case.get("queues") else {},
        (case.get("config") or {}).get("AES_MINEVENTSFORMCORE"))


def table(case: dict) -> EventRanges:
    """Event ranges of a case, a chunk for each jobset and file."""
    def key(one: dict) -> tuple[int, int]:
        return one.get("jobsetID") or case["jobsetID"], one["fileID"]

    found = EventRanges()
    ordered = sorted(case["ranges"], key=lambda one: (*key(one), one["startEvent"], -one["attemptNr"]))
    for (owner, file), group in groupby(ordered, key=key):
        rows = [*group]
        found.add_chunk(owner, file, [one["startEvent"] for one in rows], [one["lastEvent"] for one in rows],
                        owner=[one["owner"] for one in rows], attempts=[one["attemptNr"] for one in rows],
                        status=[EventStatus.of(one["status"]) for one in rows],
                        is_settled=[one.get("to_copy") is False for one in rows],
                        is_jumbo=[bool(one.get("is_jumbo")) for one in rows])
    return found


def job(one: dict, files: dict[int, EventFile]) -> EventJob:
    """A job of a case."""
    attempts = tuple(files[file].attempt if one.get("file_attemptNr") is None else one["file_attemptNr"]
                     for file in one["files"])
    return EventJob(
        one["PandaID"], one["jobsetID"], JobStatus.of(one["jobStatus"]), EventService(one["eventService"]),
        one["computingSite"], one["gshare"], one["destinationSE"] or "", one["attemptNr"], one["maxAttempt"],
        one["currentPriority"], one["coreCount"], one["minRamCount"], frozenset(one["flags"]), tuple(one["files"]),
        attempts, one.get("input_status", "ready") == "ready", one.get("nEvents") or 0, one.get("jobSubStatus"),
        one.get("taskBufferErrorCode") or 0, is_to_be_killed=one.get("commandToPilot") == "tobekilled",
        is_archived=one["where"] == "archived")


def job_attributes(one: EventJob) -> dict:
    """Attributes of a job that an answer has."""
    return dict(zip(ATTRIBUTES, (one.status.word, one.sub_status, one.error), strict=True))


def changed_jobs(before: Jobset, after: Jobset) -> dict[str, EventJob]:
    """Jobs whose status, sub-status or error changed, or that were archived."""
    return {str(panda_id): one for panda_id, one in after.jobs.items()
            if one.is_archived != before.jobs[panda_id].is_archived
            or job_attributes(one) != job_attributes(before.jobs[panda_id])}


def changed_files(before: Jobset, after: Jobset) -> dict[str, dict]:
    """Attributes of input files that changed."""
    names = dict(status="status", proc_status="proc_status", attempt="attemptNr", failed_attempts="failedAttempt",
                 max_failure="maxFailure")
    found = {str(file): {word: getattr(one, name) for name, word in names.items()
                         if getattr(one, name) != getattr(before.files[file], name)}
             for file, one in after.files.items()}
    return {file: values for file, values in found.items() if values}


def all_ranges(after: Jobset) -> list[dict]:
    """All event ranges."""
    table = after.ranges
    return [dict(fileID=int(table.chunks["file"][chunk]), startEvent=int(one["first"]), owner=int(one["owner"]),
                 attemptNr=int(one["attempts"]), status=EventStatus(int(one["status"])).word)
            for chunk in range(table.n_chunks) for one in table.rows[[*table.rows_of(chunk)]]]


def _file(one: dict) -> EventFile:
    return EventFile(one["fileID"], one["status"], one["proc_status"], one["attemptNr"], one["maxAttempt"],
                     one["failedAttempt"], one["maxFailure"], one["PandaID"])


def _queue(one: dict, endpoints: dict[str, str]) -> EventQueue:
    stores = one["objectstores"] or []
    return EventQueue(
        one["site"], QueueStatus.of(one["status"] or "offline"), one["corecount"], one["capability"] or "",
        one["jobseed"] or "", one["catchall"] or "", one["maxtime"], one["maxrss"], one["minrss"],
        one["type"] == "analysis", one["wnconnectivity"] or "", one["pledgedcpu"] == OPPORTUNISTIC,
        endpoints.get(stores[0]) if stores else None, one["pilots"] or 0)
