"""Jobs, input files and queues of a task as the rules of event service read them, the ranges of its events, and results
of its jobs as JEDI learns them: the next attempt of the input, and its status of processing.

Source: lifecycle reference, 6.1, 6.2 and 6.6; panda-server, `task_event_module`, `propagateResultToJEDI` and
`updateInputStatusJedi`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

import simgrid_broker.systems.events.table as ranges
from simgrid_broker.editions import DEPLOYED
from simgrid_broker.names import (
    DEFINED_TABLE,
    EventService,
    EventStatus,
    JobStatus,
    QueueStatus,
    TaskStatus,
)
from simgrid_broker.systems.events.table import ALL, ANY, NO_LIMIT, STAYS, EventRanges, mask

T = TaskStatus
NOT_LIVE = (T.DONE, T.FINISHED, T.FAILED, T.BROKEN, T.ABORTED, T.PREPARED)
"""Statuses of a task to which results of jobs are not told; source: `checkTaskStatusJEDI`."""
WAITING_CO_JUMBO = "WAITING_CO_JUMBO"
"""Queue of fake co-jumbo jobs, which wait until jumbo jobs have processed the events."""
CONSUMERS = (EventService.CONSUMER, EventService.JUMBO, EventService.CO_JUMBO)
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


@dataclass
class EventJob:
    """A job of event service, with PanDA's attributes.

    flags: full names of the tags of specialHandling, as `notDiscardEvents`. file_attempts: attempt number of each of
    its `files` as the job knows it. is_archived: merging jobs of event service are in the archive too.
    """

    panda_id: int
    jobset: int
    status: JobStatus
    kind: EventService
    queue: str
    share: str = ""
    destination: str = ""
    attempt: int = 1
    max_attempt: int = 1
    priority: int = 0
    corecount: int | None = 1
    ramcount: float = 0.0
    flags: frozenset[str] = frozenset()
    files: tuple[int, ...] = ()
    file_attempts: tuple[int, ...] = ()
    is_input_ready: bool = True
    n_events: int = 0
    sub_status: str | None = None
    error: int = 0
    has_pilot_error: bool = False
    is_to_be_killed: bool = False
    is_archived: bool = False

    @property
    def is_consumer(self) -> bool:
        """True if it processes ranges of events."""
        return self.kind in CONSUMERS and "esmerge" not in self.flags

    @property
    def is_merge(self) -> bool:
        """True if it merges the output of consumers."""
        return self.kind == EventService.MERGE or "esmerge" in self.flags

    @property
    def is_in_defined_table(self) -> bool:
        """True if it was not activated yet."""
        return not self.is_archived and self.status in DEFINED_TABLE

    def has(self, flag: str) -> bool:
        """True if specialHandling has a tag."""
        return flag in self.flags


@dataclass
class EventFile:
    """An input file of a task, with the attributes of JEDI_Dataset_Contents."""

    file_id: int
    status: str
    proc_status: str | None
    attempt: int
    max_attempt: int | None
    failed_attempts: int
    max_failure: int | None
    panda_id: int | None


@dataclass(frozen=True)
class EventQueue:
    """A PanDA queue as the choice of queues for retries and merge jobs reads it; None = no value in CRIC.

    pilots: requests for and updates of jobs in 3 h; object_store_site: of its first object store.
    """

    site: str
    status: QueueStatus
    corecount: int | None = None
    capability: str = ""
    jobseed: str = ""
    catchall: str = ""
    maxtime: float | None = 0
    maxrss: float | None = None
    minrss: float | None = 0
    is_analysis: bool = False
    wnconnectivity: str = ""
    is_preemptable: bool = False
    object_store_site: str | None = None
    pilots: float = 0


@dataclass
class Jobset:
    """A task with event service: its jobs and files by identifier, ranges, and the grid.

    use_jumbo: flag W, R, P, L or D, "" = no jumbo jobs. minimum: AES_MINEVENTSFORMCORE. own_chunks: numbers of its
    chunks of ranges, None = all. edition: of the rules of the ends of its jobs.
    """

    status: TaskStatus
    jobs: dict[int, EventJob]
    files: dict[int, EventFile]
    ranges: EventRanges
    use_jumbo: str = ""
    queues: Mapping[str, EventQueue] = field(default_factory=dict)
    minimum: int | None = None
    own_chunks: np.ndarray | None = None
    edition: str = DEPLOYED
    made: list[EventJob] = field(default_factory=list)

    @property
    def is_live(self) -> bool:
        """True if results of jobs are told to JEDI."""
        return self.status not in NOT_LIVE

    @property
    def chunks(self) -> np.ndarray:
        """Numbers of its chunks of ranges."""
        return np.arange(self.ranges.n_chunks) if self.own_chunks is None else self.own_chunks

    @property
    def is_processed(self) -> bool:
        """True if no job has a range in work, and none is ready that has attempts left."""
        chunks = self.ranges.chunks[self.chunks]
        return not (chunks["n_open"].any() or chunks["n_taken"].any())

    def active(self) -> Iterator[EventJob]:
        """Jobs that are not archived, by PandaID."""
        return (job for _, job in sorted(self.jobs.items()) if not job.is_archived)

    def chunks_of(self, files: Iterable[int] | None = None) -> np.ndarray:
        """Numbers of the chunks of some files, or of all, in the order of jobset and file."""
        chunks, which = self.ranges.chunks, self.chunks
        if files is not None:
            which = which[np.isin(chunks["file"][which], [*files])]
        return which[np.lexsort((chunks["file"][which], chunks["jobset"][which]))]

    def tally(self, files: Iterable[int] | None, owner: int = ANY, statuses: int = ALL, least: int = -NO_LIMIT,
              most: int = NO_LIMIT, status: int = STAYS) -> tuple[int, int]:
        """Numbers of ranges and of their events; as `table.tally`."""
        return ranges.tally(self.ranges.rows, self.ranges.chunks, self.chunks_of(files), owner, statuses, least, most,
                            status)

    def change(self, files: Iterable[int] | None, owner: int, statuses: int, status: EventStatus) -> int:
        """Set the status of ranges; their number."""
        return self.tally(files, owner, statuses, status=status)[0]

    def count(self, files: Iterable[int] | None, owner: int = ANY, statuses: int = ALL, least: int = -NO_LIMIT,
              most: int = NO_LIMIT) -> int:
        """Number of ranges; arguments as of `tally`."""
        return self.tally(files, owner, statuses, least, most)[0]

    def owners(self, files: Iterable[int], statuses: int) -> list[int]:
        """Distinct owners of ranges in one of `statuses`, sorted."""
        which = self.chunks_of(files)
        known = np.empty(len(self.jobs) + 1 + len(which), np.int64)
        n = ranges.owners(self.ranges.rows, self.ranges.chunks, which, statuses, known)
        return sorted(known[:n].tolist())

    def copy_failed(self, files: Iterable[int] | None, owner: int, jobset: int, new_owner: int) -> int:
        """Copy failed ranges; as `ranges.copy_failed`."""
        which = self.chunks_of(files)
        self.ranges.make_room(self.count(files, owner, ranges.mask(EventStatus.FAILED)))
        return ranges.copy_failed(self.ranges.rows, self.ranges.chunks, self.ranges.state, which, owner, jobset,
                                  new_owner)


def archive(job: EventJob, status: JobStatus, sub_status: str | None, error: int) -> None:
    """Move a job to the archive."""
    job.status, job.sub_status, job.error, job.is_archived = status, sub_status, error, True


def is_cancelled(job: EventJob) -> bool:
    """True for PanDA's isCancelled: cancelled or closed."""
    return job.status in (JobStatus.CANCELLED, JobStatus.CLOSED)


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
