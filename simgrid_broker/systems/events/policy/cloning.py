"""Job cloning: several jobs have the same input and one event range, and JEDI learns of the one that has the range.

With runonce a clone takes the range when it starts, with storeonce when its payload has succeeded. Source: lifecycle
reference, 6.2; panda-server, `archiveJob`, `checkClonedJob` and the adder. Simplified: the last clone gives the input
back to JEDI however it ends; in the code one that is closed or cancelled without the range does not.
"""

import numpy as np

import simgrid_broker.systems.events.table as ranges
from simgrid_broker.names import EventStatus, JobStatus
from simgrid_broker.systems.events.policy.jobset import Jobset, archive
from simgrid_broker.systems.events.policy.kills import close_unused
from simgrid_broker.systems.events.table import ANY, TAKEN


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
