"""Views of jobs and workers for the job throttler, Harvester and pilot streaming, and statistics as JEDI read them."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, nan
from typing import NamedTuple

import numpy as np

from simgrid_broker.names import QueueStatus
from simgrid_broker.schema.grid import ACTIVITIES, LINK_NUMBERS, LINKS, STORAGES
from simgrid_broker.schema.queues import QUEUE_NUMBERS
from simgrid_broker.views.records import view


class WorkQueueCounts(NamedTuple):
    """Job numbers of one work queue (share x resource type), as the job throttler reads them."""

    running: int
    not_running: int               # assigned, activated, starting
    defined: int
    waiting: int
    walltime_s: float | None = None  # wall time asked for by defined, activated and starting jobs; None = unknown


WAITING_JOBS = np.dtype([("queue", "i4"), ("share", "i4"), ("resource_type", "i4"), ("priority", "i4"),
                         ("number", "i8")])
"""Activated jobs of one priority."""


QUEUE_WORKERS = np.dtype([("running", "i8"), ("cores_running", "f8"), ("cores_queued", "f8"),
                          ("memory_running", "f8"), ("memory_queued", "f8")])
"""Sums over the workers of a queue: those that run, and cores and memory, MB, of running and of waiting ones."""


class WorkerStatus(NamedTuple):
    """View of all queues at once for Harvester before it submits workers.

    activated: (n_queues,), activated jobs where Harvester counts them, NaN = PanDA says nothing of the queue, inf = it
    says nothing at all; status: (n_queues,) of names.QueueStatus;
    throttled: (n_queues,) bool, True where too many workers were missed; unified, by_type: (n_queues,) bool, capability
    ucore, and queues of which Harvester counts workers by resource type (these, and those that the server asks for);
    sums: (n_queues,) of QUEUE_WORKERS; option: values of a key of `params`, (n_queues,), by its name and the value
    where a queue does not have it; max_new_workers: most new workers of a queue in one cycle, 0 = no limit;
    limits: (n_queues,) of schema.harvester.HARVESTER; all others (n_queues, n_resource_types): workers asked for (by
    the server, or of which the jobs were fetched), waiting workers and those that hold a slot, their cores and their
    memory, MB, 0 cores = no such type.
    """

    status: np.ndarray
    activated: np.ndarray
    limits: np.ndarray
    asked: np.ndarray
    queued: np.ndarray
    running: np.ndarray
    cores: np.ndarray
    memory: np.ndarray
    throttled: np.ndarray
    unified: np.ndarray
    by_type: np.ndarray
    sums: np.ndarray
    option: Callable[[str, float], np.ndarray]
    max_new_workers: int
    counted: np.ndarray | None = None              # types for which Harvester counts jobs, bool; None = the largest one


@dataclass(frozen=True)
class PilotStatus:
    """View of all queues at once for unified pilot streaming.

    corecount, cores_running, cores_queued: (n_queues,); workers_queued: (n_queues, n_resource_types);
    activated: (n_queues, n_shares, n_resource_types) jobs; share_order: (n_shares,) most under-served first;
    worker_cores: (n_queues, n_resource_types) cores of a worker of a type, 0 where the queue has no such type.
    """

    corecount: np.ndarray
    cores_running: np.ndarray
    cores_queued: np.ndarray
    workers_queued: np.ndarray
    worker_cores: np.ndarray
    activated: np.ndarray
    share_order: np.ndarray
    score: int = 0                 # resource type of the worker that keeps an idle queue alive
    by_priority: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray] | None = None   # jobs of queues and their
    # shares, both (m,), the first of each type up to a number, (m, n_resource_types), at least, as WAITING_JOBS in
    # order of age; None = all jobs of a share and type have one priority
    jobs: np.ndarray | None = None                 # (n,) of WAITING_JOBS; None = those of `activated`
    status: np.ndarray | int = QueueStatus.ONLINE  # (n_queues,) of names.QueueStatus
    core_target: np.ndarray | float = 0            # (n_queues,) ups_core_target, 0 = none
    running_of_type: np.ndarray | int = 0          # (n_queues, n_resource_types) workers that hold a slot
    limit_of_type: np.ndarray | float = inf        # (n_queues, n_resource_types) resource_type_limits, workers
    high_memory_limit: np.ndarray | float = inf    # (n_queues,) the limit HIMEM, cores of all high-memory types
    high_memory: np.ndarray | bool = False         # (n_resource_types,) whether a type is one of these
    most_memory: np.ndarray | float = inf          # (n_resource_types,) maxrampercore, MB
    meanrss: np.ndarray | float = 0                # (n_queues,) target of the mean memory per core, MB, 0 = none
    mean_memory: np.ndarray | float = nan          # (n_queues,) MB per core of running and submitted workers
    mean_memory_running: np.ndarray | float = nan  # (n_queues,) of running workers alone
    ignore_meanrss: bool = False                   # meanrss.IGNORE_MEANRSS


LOAD = view(
    ("running", "i8"), ("defined", "i8"), ("assigned", "i8"), ("activated", "i8"), ("starting", "i8"),
    ("placed", "i8"),                # jobs made since the numbers were read
    ("running_of_type", "i8"), ("queued_of_type", "i8"), ("assigned_of_type", "i8"),   # of one type; -1 = unknown
    ("n_batch_job", "i8"),           # workers submitted or running
    ("num_slots", "i8"),             # Harvester_Slots; -1 = not set
    # of all shares:
    ("transferring", "i8"), ("running_all", "i8"), ("activated_all", "i8"), ("starting_all", "i8"),
    ("cores_running", "i8"), ("cores_starting", "i8"),
    ("idle_s", "f8"),                # since a job last started, s
    *QUEUE_NUMBERS)
"""Job numbers of one share at a PanDA queue; queued means defined, activated and starting."""

STORE = view(("present", "?"), ("usable_bytes", "f8"), *((activity, "?") for activity in ACTIVITIES), STORAGES)
"""The storages of a queue, or the one that takes a site's output; a flag says that one of them may be used so.

read_lan, write_wan: of its input; write_lan, read_wan: of its output; the space is where output goes by default.

usable: free and expired, less what must stay free (brokerage reference, 0.2).
"""

LINK = view(("in_nucleus", "?"), ("sharing", "?"), ("at_nucleus", "?"), ("unmapped", "?"), ("known", "?"), LINKS,
            *LINK_NUMBERS)
"""The way of output from a queue to a nucleus.

in_nucleus: the queue belongs to the nucleus; sharing: it does not, but the nucleus reads its output; at_nucleus: its
output lies at the nucleus; unmapped: where its output lies is not known; known: there is a record of the link;
closeness: 0 best to 11 worst, -1 blocked, -2 unknown; throughput in MB/s, NaN = unknown.
"""


class Stats(NamedTuple):
    """Statistics of the grid that JEDI last read, for one share and one nucleus, with the jobs placed since.

    load: (n_queues,) of LOAD, whose `placed` goes on counting; store: (n_queues,) of STORE; link: (n_queues,) of LINK,
    of which nothing is known if the task has no nucleus. Of the nucleus: whether the storage that takes its output
    receives and sends files, and the output that waits for it, without and of express tasks.
    """

    taken_at: float
    load: np.ndarray
    store: np.ndarray
    link: np.ndarray
    writable: bool = True
    readable: bool = True
    files_to_nucleus: float = 0.0
    express_to_nucleus: float = 0.0
