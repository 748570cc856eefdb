"""Fast rebrokerage: how many queued jobs are withdrawn from queues where their share hardly runs.

Sources: PanDA brokerage documentation, Timeout Rules; lifecycle reference, section 4.4, for the number of jobs.
"""

import numpy as np

from simgrid_broker.gdpconfig import rebroker
from simgrid_broker.names import QueueStatus
from simgrid_broker.views import Gdpconfig


def queues_left_alone(num_slots: np.ndarray, status: np.ndarray, disable_reassign: np.ndarray,
                      edition: str) -> np.ndarray:
    """Queues exempt from fast rebrokerage, (n_queues,) bool: those with slots in Harvester_Slots.

    In the documented edition it is a timeout rule, which a paused queue and disableReassign turn off; the deployed
    edition ignores both. num_slots: -1 = not set; status: of names.QueueStatus; all (n_queues,).
    """
    with_slots = num_slots >= 0
    if edition == "deployed":
        return with_slots
    return with_slots | (status == QueueStatus.PAUSED) | (disable_reassign != 0)


def jobs_to_take_back(queued: np.ndarray, running: np.ndarray, shares: tuple[str, ...], cfg: Gdpconfig,
                      left_alone: np.ndarray | None = None) -> np.ndarray:
    """Jobs to close at each queue and share, (n_queues, n_shares) int64, oldest first.

    queued: defined, assigned, activated and starting jobs; running: running jobs; both (n_queues, n_shares).
    left_alone: (n_queues,) bool, `queues_left_alone`. Shares without a key of their own are exempt. One job fewer than
    the excess is withdrawn, as in PanDA.
    """
    ratio = cfg.value(rebroker.FAST_REBRO_THRESHOLD_NQNR_RATIO)
    part = cfg.value(rebroker.FAST_REBRO_THRESHOLD_NQUEUE_FRAC)
    least = np.array([cfg.value(rebroker.FAST_REBRO_THRESHOLD_NQUEUE, gshare=share) or np.inf for share in shares])
    margins = (queued - running * ratio, queued - least, queued - queued.sum(axis=0) * part)
    excess = np.minimum.reduce(margins)
    excess = np.where(np.isfinite(excess) & (excess > 0), np.ceil(excess) - 1, 0)
    if left_alone is not None:
        excess[left_alone] = 0
    return excess.astype(np.int64)


def oldest_of_each(excess: np.ndarray, queue: np.ndarray, share: np.ndarray, panda_id: np.ndarray) -> np.ndarray:
    """Positions of the oldest `excess[queue, share]` jobs of each queue and share, (k,).

    queue, share, panda_id: of the queued jobs, (n,); a smaller PandaID is older.
    """
    order = np.lexsort((panda_id, share, queue))
    pair = queue[order].astype(np.int64) * excess.shape[1] + share[order]
    age = np.arange(len(order)) - np.searchsorted(pair, pair)        # oldest of the queue and share: 0
    return order[age < excess.ravel()[pair]]
