"""Probabilities that candidates are drawn."""

import numpy as np

from simgrid_broker.views import KEPT, Verdict


def chances_of_nuclei(verdict: Verdict) -> np.ndarray:
    """Probability of each nucleus, (n,): its part of the weights; the first if all are 0; brokerage reference, 1.4."""
    kept = verdict.refused_by == KEPT
    weight = np.where(kept, verdict.weight, 0.0)
    if weight.sum() > 0:
        return weight / weight.sum()
    first = np.zeros(len(weight))
    first[np.flatnonzero(kept)[:1]] = 1.0
    return first


def chances_of_queues(verdict: Verdict) -> np.ndarray:
    """Probability that the first block of jobs goes to each candidate, (n,); all 0 if every queue is full.

    Candidates of weight 0 are used first, with equal probabilities; then candidates with queued jobs below their cap,
    by weight. Source: brokerage reference, section 10.4; `policy.job_brokerage.selection`.
    """
    weight, order = verdict.weight, verdict.order
    chance = np.zeros(len(weight))
    unused = order[weight[order] == 0]
    if len(unused):
        chance[unused] = 1 / len(unused)
        return chance
    if verdict.queued is not None and verdict.cap is not None:
        order = order[verdict.queued[order] < verdict.cap[order]]
    chance[order] = weight[order]
    return chance / chance.sum() if len(order) else chance
