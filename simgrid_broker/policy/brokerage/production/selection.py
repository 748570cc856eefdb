"""The draw of the queue that gets the next block of jobs, with the probabilities of the splitter's roulette wheel.

Source: brokerage reference, section 10.4; lifecycle reference, section 2.5; PanDA's `InputChunk.getOneSiteCandidate`.
Each candidate draws a number of its own, and the first of a race of exponential times wins: as likely as on a wheel,
but a change of one weight changes few draws.
"""

import math

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.views import Verdict

JOBS_PER_BLOCK, SCOUTS_PER_BLOCK = 25, 2
"""Jobs, and scout jobs, that go to one queue for each draw."""

PLACE = np.dtype([("weight", "f8"), ("queued", "f8"), ("cap", "f8")])
"""A candidate in the race: its weight and its queued jobs, which change from block to block, and its cap."""


def spread_jobs(verdict: Verdict, n_jobs: int, uniforms: np.ndarray, queued: np.ndarray | None = None,
                cap: np.ndarray | None = None, block: int = JOBS_PER_BLOCK) -> tuple[np.ndarray, np.ndarray]:
    """Candidate index and number of jobs of each block, (k,) each; fewer jobs than asked for if every queue fills up.

    uniforms: numbers in (0, 1), a row for each block with one for each candidate in `verdict.order` (ValueError
    otherwise); queued, cap: (n,), stand in for those of the verdict. Each candidate of weight 0 is used first and once;
    the others are drawn by weight while their queued jobs are below their cap, and every draw lowers the weight by
    (queued + 1) / (new + 1).
    """
    n_blocks, n_used = math.ceil(n_jobs / block), len(verdict.order)
    if len(uniforms) < n_blocks or n_blocks and uniforms.shape[1] != n_used:
        raise ValueError(f"{n_blocks} blocks of jobs at {n_used} queues need as many uniform numbers, not "
                         f"{' x '.join(map(str, uniforms.shape))}")
    queued, cap = verdict.queued if queued is None else queued, verdict.cap if cap is None else cap
    is_counted = queued is not None
    is_capped = is_counted and cap is not None
    unread = verdict.weight                                # stands where there is nothing to be read
    weight, n_queued, most = (np.asarray(column, float) for column in (
        verdict.weight, queued if is_counted else unread, cap if is_capped else unread))
    chosen, sizes = np.empty(n_blocks, np.int64), np.empty(n_blocks, np.int64)
    drawn = draw_blocks(verdict.order, n_used, weight, n_queued, most, uniforms, is_counted, is_capped, block, n_jobs,
                        np.empty(n_used, PLACE), chosen, sizes)
    return chosen[:drawn], sizes[:drawn]


@compiled
def draw_blocks(order, n_used, weight, queued, cap, uniforms, is_counted, is_capped, block, n_jobs, places, chosen,
                sizes):
    """Draw a candidate for each block of `n_jobs` jobs into `chosen`, and the size of the block into `sizes`.

    order: candidates, of which the first `n_used` are used; weight, queued, cap: (n,) of all; is_counted, is_capped:
    whether the last two mean anything, and so whether queued jobs lower the weight. places: room for (n_used,) of
    PLACE, where a candidate of weight 0 that was used gets NaN. Returns how many blocks found one.
    """
    for k in range(n_used):
        place, candidate = places[k], order[k]
        place["weight"] = weight[candidate]
        place["queued"] = queued[candidate] if is_counted else 0.0
        place["cap"] = cap[candidate] if is_capped else np.inf
    n_blocks = (n_jobs + block - 1) // block
    for number in range(n_blocks):
        k = first_unused(places, n_used, uniforms, number)
        if k < 0:
            k = first_open(places, n_used, uniforms, number)
            if k < 0:
                return number
            if is_counted:
                place = places[k]
                place["weight"] *= (place["queued"] + 1) / (place["queued"] + block + 1)
                place["queued"] += block
        else:
            places[k]["weight"] = np.nan
        chosen[number], sizes[number] = order[k], min(block, n_jobs - block * number)
    return n_blocks


@compiled
def first_unused(places, n_used, uniforms, number):
    """The winner among the candidates of weight 0, all equally likely; -1 if there is none."""
    best = -1
    for k in range(n_used):
        if places[k]["weight"] == 0 and (best < 0 or uniforms[number, k] > uniforms[number, best]):
            best = k
    return best


@compiled
def first_open(places, n_used, uniforms, number):
    """The winner among the candidates below their cap, as likely as its weight; -1 if there is none."""
    best, best_time, best_weight = -1, 0.0, 0.0
    for k in range(n_used):
        if is_open(places[k]):
            time, weight = -math.log(uniforms[number, k]), places[k]["weight"]
            if best < 0 or time * best_weight < best_time * weight:          # time / weight is less
                best, best_time, best_weight = k, time, weight
    return best


@compiled
def is_open(place):
    """True if a candidate can be drawn."""
    return place["weight"] > 0 and place["queued"] < place["cap"]
