"""Unified pilot streaming: the workers that the server asks Harvester for, by queue and resource type.

Source: Global Shares paper, section 2.4; lifecycle reference, section 5.3.
"""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.editions import ByEdition
from simgrid_broker.gdpconfig import meanrss
from simgrid_broker.names import QueueStatus
from simgrid_broker.views import WAITING_JOBS, Gdpconfig, PilotStatus

QUEUED_PART = 0.4
"""Target of waiting cores as a fraction of the running ones."""
MIN_SLOTS_QUEUED, MIN_SLOTS_NEEDED = 75, 5
"""Least number of waiting slots, and of slots requested if there are jobs for them."""

COUNTED = np.isin(list(QueueStatus), (QueueStatus.ONLINE, QueueStatus.BROKEROFF))
"""True for the statuses of queues of which `core_target` cores count as running."""
COUNTS_MEMORY = ByEdition(documented=False, deployed=True)
"""True if fewer workers are asked for where the mean memory is high, by edition."""


def ignores_memory(cfg: Gdpconfig) -> bool:
    """True if gdpconfig turns the comparison with `meanrss` off."""
    return bool(cfg.value(meanrss.IGNORE_MEANRSS))


def new_workers(status: PilotStatus) -> np.ndarray:
    """Workers to ask for, (n_queues, n_resource_types) int64.

    Jobs are walked by share, in the order of shares, and by priority. A job takes a worker of its type that already
    waits, if there is one; otherwise cores are taken from the need, until it is met. A type that ran out gets what it
    lacks and one more; a queue without any gets one worker of the type `status.score` (or its first type) as a
    keep-alive.
    """
    waiting, cores = (np.array(numbers, np.int64, order="C") for numbers in (
        status.workers_queued, status.worker_cores))
    wanted, need = np.where(_wanted(status), cores, 0), _need(status)
    take_workers(_jobs(status, waiting.copy(), wanted, need), waiting, wanted, need)
    ask_for_lacking(waiting, cores, status.score)
    return waiting


def _jobs(status: PilotStatus, waiting: np.ndarray, cores: np.ndarray, need: np.ndarray) -> np.ndarray:
    """Activated jobs in the order in which they get workers, (n,) of WAITING_JOBS, those behind all need left out.

    Their priorities are looked up only where they change the answer: in the share in which the need of a queue is met,
    if it has jobs of several types. Of the shares before it all jobs get workers, of those behind it none. Changes
    `waiting`, workers without a job.
    """
    if status.jobs is not None:
        return _in_order(status.jobs, status.share_order)
    activated, order = (np.ascontiguousarray(each, np.int64) for each in (status.activated, status.share_order))
    jobs, last = np.empty(np.count_nonzero(activated), WAITING_JOBS), np.full(len(need), -1)
    if len(jobs):
        jobs = jobs[:list_jobs(activated, order, waiting, cores, need, jobs, last)]
    queue = np.flatnonzero(last >= 0)
    if status.by_priority is None or not len(queue):
        return jobs
    free = np.maximum(np.asarray(status.workers_queued) - 1, 0)
    most = np.where(cores > 0, free + np.ceil(need[:, None] / np.maximum(cores, 1)).astype(np.int64), 0)
    looked_up = status.by_priority(queue, last[queue], most[queue])       # more get no worker before the need is met
    return _in_order(np.concatenate([jobs[last[jobs["queue"]] != jobs["share"]], looked_up]), status.share_order)


@compiled
def list_jobs(activated, order, waiting, cores, need, jobs, last):
    """List the jobs of each queue in `jobs`, share by share, until its need is met; returns the rows in use.

    activated: (n_queues, n_shares, n_types) jobs; waiting: workers without a job, which is changed; last: (n_queues,),
    -1 before, the share in which the need is met, if several of its types have jobs.
    """
    n = 0
    for queue in range(len(need)):
        left = need[queue]
        for share in order:
            n_types = 0
            for kind in range(cores.shape[1]):
                number = activated[queue, share, kind]
                if number > 0 and cores[queue, kind] > 0:
                    row = jobs[n]
                    row["queue"], row["share"], row["resource_type"] = queue, share, kind
                    row["priority"], row["number"] = 0, number
                    n, n_types = n + 1, n_types + 1
                    left -= cores[queue, kind] * max(number - max(waiting[queue, kind] - 1, 0), 0)
                    waiting[queue, kind] -= number
            if left <= 0:
                last[queue] = share if n_types > 1 else -1
                break
    return n


def _in_order(jobs: np.ndarray, share_order: np.ndarray) -> np.ndarray:
    """Jobs in the order in which they get workers: by queue, share and priority."""
    place = np.argsort(share_order)
    return jobs[np.lexsort((-jobs["priority"], place[jobs["share"]], jobs["queue"]))]


def _wanted(status: PilotStatus) -> np.ndarray:
    """Types of which workers may be requested, (n_queues, n_types) bool; lifecycle reference, 5.3, steps 4 and 5.

    A type below its limit of running workers; a high-memory type below that of their cores as well; where the mean
    memory is above its target, a type that is not above the target, if there is one.
    """
    below: np.ndarray = np.less(status.running_of_type, status.limit_of_type)
    if np.isfinite(status.high_memory_limit).any():
        cores = status.worker_cores * np.asarray(status.high_memory)
        left = status.high_memory_limit - (status.running_of_type * cores).sum(axis=1)
        below = below & ~(status.high_memory & (left <= 0)[:, None])
    if not np.any(status.meanrss):
        return below
    memory = np.fmax(status.mean_memory, status.mean_memory_running)
    too_high = (status.meanrss < memory) & (np.asarray(status.meanrss) != 0) & (not status.ignore_meanrss)
    fitting = status.most_memory <= np.reshape(status.meanrss, (-1, 1))
    too_high = np.reshape(too_high, (-1, 1)) & fitting.any(axis=1, keepdims=True)
    return below & (fitting | ~too_high)


def _need(status: PilotStatus) -> np.ndarray:
    """Cores to ask for, (n_queues,); where brokerage is not stopped at least `core_target` cores count as running."""
    slot = np.maximum(status.corecount, 1)
    running = np.maximum(status.cores_running, np.where(COUNTED[np.asarray(status.status)], status.core_target, 0))
    target = np.maximum(np.trunc(QUEUED_PART * running), MIN_SLOTS_QUEUED * slot)
    return np.maximum(target - status.cores_queued, MIN_SLOTS_NEEDED * slot)


@compiled
def take_workers(jobs, waiting, cores, need):
    """Take workers for the jobs of all queues, (n,) of WAITING_JOBS, in their order.

    Changes `waiting`, workers without a job, (n_queues, n_types), negative by the number lacking, and `need`, cores
    still to be asked for, (n_queues,); cores: of a worker, (n_queues, n_types), 0 = no such type. The job that takes
    the last waiting worker already costs cores, as in PanDA.
    """
    for each in jobs:
        queue, kind = each["queue"], each["resource_type"]
        if cores[queue, kind] == 0 or need[queue] <= 0:
            continue
        free = max(waiting[queue, kind] - 1, 0)
        affordable = np.int64(np.ceil(need[queue] / cores[queue, kind]))
        taken = min(each["number"], free + affordable)
        need[queue] -= cores[queue, kind] * max(taken - free, 0)
        waiting[queue, kind] -= taken


@compiled
def ask_for_lacking(waiting, cores, score):
    """Turn `waiting`, as `take_workers` leaves it, into workers to ask for: those lacking and one more of each type.

    A queue for which there are none gets one of the type `score`, or of its first; cores: as there, of all types.
    """
    for queue in range(len(waiting)):
        is_idle, kept_alive = True, -1
        for kind in range(waiting.shape[1]):
            lacking = -waiting[queue, kind]
            waiting[queue, kind] = lacking + 1 if lacking > 0 else 0
            is_idle = is_idle and lacking <= 0
            if cores[queue, kind] > 0 and (kept_alive < 0 or kind == score):
                kept_alive = kind
        if is_idle and kept_alive >= 0:
            waiting[queue, kept_alive] = 1
