"""Tables of DIRAC's task queues, for draws (`fabric/task_queues.py`)."""

import numpy as np

from simgrid_broker.bundle import Bundle
from simgrid_broker.names import JobStatus
from simgrid_broker.world.arrays import Arrays

N_BINS, LEAST_POWER = 24, -6
"""Bins of a CPU class, and the power of four that is the top of the first."""
TASK_QUEUE = np.dtype([
    ("priority", "f8"),
    ("cpu_class", "i4"),             # number of its CPU class, ascending
    ("n_jobs", "i4"),                # jobs that wait in it
    ("head", "i4"), ("tail", "i4"),  # rows of the oldest and the newest of them, -1 = none
    ("bin", "i4"), ("place", "i4"),  # where it lies, -1 = nowhere: no job waits in it
    ("owner", "i4"), ("owner_group", "i4"), ("job_type", "i4"),      # of its jobs, numbers of the run
])
"""A task queue in draws."""
AT_THE_SITE = JobStatus.SENT, JobStatus.STARTING, JobStatus.RUNNING
"""Statuses that count as Running, Matched or Stalled."""
OWNER, OWNER_GROUP, JOB_TYPE = range(3)
"""Attributes of limits."""
LIMIT = np.dtype([
    ("attribute", "i4"), ("value", "i4"),                # value: number of the run
    ("queue", "i4"),                                     # PanDA queue whose limit it is, -1 = that of the site
    ("most", "i8"), ("n_jobs", "i8"),                    # of the jobs that run at the site; most: -1 = without limit
    ("delay_s", "f8"), ("burst", "f8"), ("tokens", "f8"), ("since_s", "f8"),     # delay_s: 0 = without delay
    ("blocks", "?"),                                     # whether it does in the request in hand
])
"""A limit of running jobs, or a delay between matches, at a site, for one value of an attribute."""
WALK = np.dtype([("key", "f8"), ("top", "f8"), ("bin", "i4"), ("left", "i4")])
"""Progress of a draw in a bin."""


def draw_tables(n: int, n_kinds: int, n_classes: int) -> dict[str, np.ndarray]:
    """The arrays of a `Draw` without task queues, with room for `n`."""
    task_queues = np.zeros(n, TASK_QUEUE)
    for name in ("head", "tail", "bin", "place"):
        task_queues[name] = -1
    bins = n_classes * N_BINS
    return dict(task_queues=task_queues, accepts=np.zeros((n_kinds, n), bool), n_open=np.zeros(n_kinds, np.int32),
                drawable=np.empty((bins, n), np.int32), n_drawable=np.zeros(bins, np.int32), walks=np.zeros(bins, WALK),
                limits=np.zeros(0, LIMIT), limits_of=np.zeros((n_kinds, 2), np.int64))


def longer_tables(old) -> dict[str, np.ndarray]:
    """The arrays of a `Draw`, or of a bundle that has them, with twice the room."""
    n, n_classes = len(old.task_queues), len(old.n_drawable) // N_BINS
    new = draw_tables(2 * n, len(old.n_open), n_classes)
    new["task_queues"][:n], new["n_open"], new["n_drawable"] = old.task_queues, old.n_open, old.n_drawable
    new["limits"], new["limits_of"] = old.limits, old.limits_of
    new["accepts"][:, :n], new["drawable"][:, :n] = old.accepts, old.drawable
    return new


def running_jobs(jobs: np.ndarray, group_of_share: np.ndarray, group: int, n: int) -> np.ndarray:
    """Running jobs of each of `n` groups, (n,), or of each of `n` users in one group; group: -1 = all groups."""
    running = jobs[(jobs["panda_id"] > 0) & (jobs["status"] == JobStatus.RUNNING)]
    groups = group_of_share[running["share"]]
    return np.bincount(groups if group < 0 else running["user"][groups == group], minlength=n).astype(float)


def count_at_sites(arrays: Arrays, site_of_limit: np.ndarray, group_of_share: np.ndarray) -> None:
    """Count the jobs that each limit is about at its site; site_of_limit: (n_limits,), group_of_share: (n_shares,)."""
    jobs = arrays.jobs[(arrays.jobs["panda_id"] > 0) & np.isin(arrays.jobs["status"], AT_THE_SITE)]
    site = arrays.queues["site"][jobs["queue"]]
    values = {OWNER: jobs["user"], OWNER_GROUP: group_of_share[jobs["share"]], JOB_TYPE: jobs["processing_type"]}
    for limit, of_site in zip(arrays.limits, site_of_limit, strict=True):
        limit["n_jobs"] = np.count_nonzero((site == of_site) & (values[int(limit["attribute"])] == limit["value"]))


class Draw(Bundle):
    """Task queues in draws, (n,), and requests of n_kinds kinds."""

    task_queues: np.ndarray
    accepts: np.ndarray            # (n_kinds, n), whether a task queue matches a kind of request, CPU time apart
    n_open: np.ndarray             # (n_kinds,), task queues in the draw that do
    drawable: np.ndarray           # (n_classes * N_BINS, n), the task queues of each bin
    n_drawable: np.ndarray         # (n_classes * N_BINS,)
    walks: np.ndarray              # (n_classes * N_BINS,) of WALK, room for a draw
    limits: np.ndarray             # of LIMIT, site by site
    limits_of: np.ndarray          # (n_kinds, 2), the first and the end of those at the site of a kind
