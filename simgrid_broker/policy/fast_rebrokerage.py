"""Fast rebrokerage: jobs that queue where the share hardly runs are taken back.

What lives here: how many jobs to take back at each queue and share. What does not: choosing the jobs, oldest first, and
closing them (agents).

Sources: PanDA brokerage documentation, Timeout Rules; lifecycle reference, section 4.4, for the number of jobs.
"""

import numpy as np

from simgrid_broker.views import Gdpconfig

REBROKER = "rebroker"
RATIO_KEY = "FAST_REBRO_THRESHOLD_NQNR_RATIO"
PART_KEY = "FAST_REBRO_THRESHOLD_NQUEUE_FRAC"
LEAST_KEY = "FAST_REBRO_THRESHOLD_NQUEUE"
GDPCONFIG = ((REBROKER, RATIO_KEY), (REBROKER, PART_KEY), (REBROKER, LEAST_KEY + "_<gshare>"))


def jobs_to_take_back(queued: np.ndarray, running: np.ndarray, shares: tuple[str, ...], cfg: Gdpconfig,
                      slots_set: np.ndarray | None = None) -> np.ndarray:
    """Jobs to close at each queue and share, (n_queues, n_shares) int64, oldest first.

    queued: defined, assigned, activated and starting jobs; running: running jobs; both (n_queues, n_shares).
    slots_set: (n_queues,) bool, queues with numSlots, which are left alone. A share without a key of its own is left
    alone, too. One job fewer than the excess is taken, as in PanDA.
    """
    ratio = cfg.values.get((REBROKER, RATIO_KEY)) or 3
    part = cfg.values.get((REBROKER, PART_KEY)) or 0.3
    least = np.array([cfg.values.get((REBROKER, f"{LEAST_KEY}_{share}")) or np.inf for share in shares])
    margins = (queued - running * ratio, queued - least, queued - queued.sum(axis=0) * part)
    excess = np.minimum.reduce(margins)
    excess = np.where(np.isfinite(excess) & (excess > 0), np.ceil(excess) - 1, 0)
    if slots_set is not None:
        excess[slots_set] = 0
    return excess.astype(np.int64)
