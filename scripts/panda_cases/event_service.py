"""A task with event service of a case as the package's own: its jobs, input files, event ranges and queues."""

from itertools import groupby

from panda_cases.shape import fields, flag, named, real, rows, text, whole
from simgrid_broker.names import EventService, EventStatus, JobStatus, QueueStatus, TaskStatus
from simgrid_broker.systems.events.policy.jobset import EventFile, EventJob, EventQueue, Jobset
from simgrid_broker.systems.events.table import EventRanges

ATTRIBUTES = ("jobStatus", "jobSubStatus", "taskBufferErrorCode")
OPPORTUNISTIC = -1
"""Value of pledgedcpu at a queue that preempts."""
LARGE = 2**31 - 1
FILES = rows(fields(
    **dict.fromkeys(("fileID", "maxAttempt", "maxFailure", "PandaID"), whole()), attemptNr=whole(0),
    failedAttempt=whole(0), status=text("ready"), proc_status=text()), "fileID")
JOBS = rows(fields(
    PandaID=whole(), jobsetID=whole(0), where=text("active"), jobStatus=text("running", JobStatus.words()),
    eventService=whole(0, 0, len(EventService) - 1), computingSite=text(""), gshare=text(""), destinationSE=text(""),
    attemptNr=whole(1), maxAttempt=whole(1), currentPriority=whole(0), coreCount=whole(), minRamCount=real(0),
    flags=rows(text()), files=rows(whole()), file_attemptNr=whole(), input_status=text("ready"), nEvents=whole(0),
    jobSubStatus=text(), taskBufferErrorCode=whole(0), commandToPilot=text()), "PandaID")
RANGES = rows(fields(
    fileID=whole(), jobsetID=whole(), owner=whole(), startEvent=whole(0, -LARGE, LARGE), to_copy=flag(None),
    lastEvent=whole(0, -LARGE, LARGE), attemptNr=whole(0, -2**15, 2**15 - 1), is_jumbo=flag(),
    status=text("ready", EventStatus.words())), "fileID")
QUEUES = named(fields(
    **dict.fromkeys(("site", "capability", "jobseed", "catchall", "wnconnectivity", "type"), text("")),
    **dict.fromkeys(("maxtime", "maxrss", "minrss", "pledgedcpu"), real()), corecount=whole(), pilots=real(0),
    status=text("offline", QueueStatus.words()), objectstores=rows(text())))
TASK = fields(jediTaskID=whole(0), status=text("running", TaskStatus.words()), useJumbo=text(""),
              nEventsPerWorker=whole(0))
PARTS = dict(task=TASK, jobsetID=whole(0), files=FILES, jobs=JOBS, ranges=RANGES, queues=QUEUES,
             endpoints=named(text()), config=fields(AES_MINEVENTSFORMCORE=whole()))
"""Fields of every case with a task; an unknown status reads as running, of a range as ready, of a queue as offline."""


def jobset(case: dict) -> Jobset:
    """The task of a case, with everything that belongs to it."""
    files = {one["fileID"]: _file(one) for one in case["files"]}
    return Jobset(
        TaskStatus.of(case["task"]["status"]), {one["PandaID"]: job(one, files) for one in case["jobs"]}, files,
        table(case), case["task"]["useJumbo"],
        {name: _queue(one, case["endpoints"]) for name, one in case["queues"].items()},
        case["config"]["AES_MINEVENTSFORMCORE"])


def table(case: dict) -> EventRanges:
    """Event ranges of a case, a chunk for each jobset and file."""
    def key(one: dict) -> tuple[int, int]:
        return one["jobsetID"] or case["jobsetID"], one["fileID"]

    found = EventRanges()
    ordered = sorted(case["ranges"], key=lambda one: (*key(one), one["startEvent"], -one["attemptNr"]))
    for (owner, file), group in groupby(ordered, key=key):
        group = [*group]
        found.add_chunk(owner, file, [one["startEvent"] for one in group], [one["lastEvent"] for one in group],
                        owner=[owner if one["owner"] is None else one["owner"] for one in group],
                        attempts=[one["attemptNr"] for one in group],
                        status=[EventStatus.of(one["status"]) for one in group],
                        is_settled=[one["to_copy"] is False for one in group],
                        is_jumbo=[one["is_jumbo"] for one in group])
    return found


def job(one: dict, files: dict[int, EventFile]) -> EventJob:
    """A job of a case; files that the task does not have are not among its input."""
    own = tuple(file for file in one["files"] if file in files)
    attempts = tuple(files[file].attempt if one["file_attemptNr"] is None else one["file_attemptNr"] for file in own)
    return EventJob(
        one["PandaID"], one["jobsetID"], JobStatus.of(one["jobStatus"]), EventService(one["eventService"]),
        one["computingSite"], one["gshare"], one["destinationSE"], one["attemptNr"], one["maxAttempt"],
        one["currentPriority"], one["coreCount"], one["minRamCount"], frozenset(one["flags"]), own,
        attempts, one["input_status"] == "ready", one["nEvents"], one["jobSubStatus"],
        one["taskBufferErrorCode"], is_to_be_killed=one["commandToPilot"] == "tobekilled",
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
    stores = one["objectstores"]
    return EventQueue(
        one["site"], QueueStatus.of(one["status"]), one["corecount"], one["capability"], one["jobseed"],
        one["catchall"], one["maxtime"], one["maxrss"], one["minrss"],
        one["type"] == "analysis", one["wnconnectivity"], one["pledgedcpu"] == OPPORTUNISTIC,
        endpoints.get(stores[0]) if stores else None, one["pilots"])
