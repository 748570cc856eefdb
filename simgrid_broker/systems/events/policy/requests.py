"""Requests of running consumers: the event ranges that they get, and the results that they report.

Source: lifecycle reference, 6.1; panda-server, `getEventRanges` and `updateEventRanges`.
"""

import numpy as np

import simgrid_broker.systems.events.table as ranges
from simgrid_broker.names import EventService, EventStatus, JobStatus
from simgrid_broker.systems.events.policy.jobset import Jobset
from simgrid_broker.systems.events.policy.kills import close_unused
from simgrid_broker.systems.events.table import ANY, PROCESSED, TAKEN

J = JobStatus
BUNCH = 8
"""Ranges of a request without a number."""
MAY_ASK = (J.SENT, J.RUNNING, J.STARTING)
MAY_REPORT = (J.SENT, J.RUNNING, J.STARTING, J.TRANSFERRING)
FINAL = {"finished": EventStatus.FINISHED, "failed": EventStatus.FAILED, "fatal": EventStatus.FAILED}
"""Reports that change a range."""
OTHER_REPORTS = ("running", "transferring")
"""Reports that are ignored; any other is refused."""


def get_event_ranges(jobset: Jobset, panda_id: int, owner: int, n: int = BUNCH) -> np.ndarray:
    """Rows of up to `n` ranges given to a job; owner: jobset that it asks for, which a jumbo job need not heed.

    Jobs that are not dispatched or have left, or are to be killed, get none. If a consumer gets the last ranges, or
    none, the consumers of the input that wait are closed.
    """
    job = jobset.jobs.get(panda_id)
    if job is None or job.is_archived or job.status not in MAY_ASK or job.is_to_be_killed:
        return np.empty(0, np.int64)
    is_jumbo, taken, table = job.kind == EventService.JUMBO, np.empty(n + 1, np.int64), jobset.ranges
    given = ranges.take(table.rows, table.chunks, jobset.chunks_of(), ANY if is_jumbo else owner, panda_id, is_jumbo, n,
                        taken)
    if not is_jumbo and given <= n:
        close_unused(jobset, job, kills_all=False, same_attempt=True)
    return taken[:min(given, n)]


def update_event_range(jobset: Jobset, row: int, owner: int, status: str) -> bool | None:
    """Result of one report on a range of a job: True if it is accepted, False if refused, None if ignored.

    row: that of the range, -1 = it is not with the job. A fatal range fails with one attempt left.
    """
    if status not in FINAL:
        return None if status in OTHER_REPORTS else False
    job = jobset.jobs.get(owner)
    if job is None or job.is_archived or job.status not in MAY_REPORT:
        return False
    if row >= 0:
        one = jobset.ranges.rows[row]
        new = FINAL[status] if (TAKEN >> int(one["status"])) & 1 else EventStatus(int(one["status"]))
        is_fatal = status == "fatal" and new == EventStatus.FAILED
        ranges.set_range(jobset.ranges.rows, jobset.ranges.chunks, row, int(new),
                         1 if is_fatal else int(one["attempts"]))
    return True


def processed_events(jobset: Jobset, panda_id: int, events_per_range: int) -> int:
    """Events that a job has processed: nEvents."""
    return jobset.count(None, panda_id, PROCESSED) * events_per_range
