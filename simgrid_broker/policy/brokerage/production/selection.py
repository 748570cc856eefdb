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

PLACE = np.dtype([("candidate", "i8"), ("weight", "f8"), ("queued", "f8"), ("cap", "f8"), ("counted", "?")])
"""A candidate in the race: its number, and its weight and queued jobs, which change from block to block if these are
counted, and its cap. Without a count, 0 jobs are queued, and there is no cap."""


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
    places, blocks = np.empty(n_used, PLACE), np.empty((2, n_blocks), np.int64)
    seat(places, verdict.order, n_used, verdict.weight)
    if queued is not None:
        count_queued(places, n_used, queued, np.full(len(queued), np.inf) if cap is None else cap)
    drawn = draw_blocks(places, n_used, uniforms, block, n_jobs, *blocks)
    chosen, sizes = blocks[:, :drawn]
    return chosen, sizes


@compiled
def seat(places, order, n_used, weight):
    """Enter the first `n_used` candidates of an order into the race; weight: (n,) of all candidates."""
    for k in range(n_used):
        place, candidate = places[k], order[k]
        place["candidate"], place["weight"] = candidate, weight[candidate]
        place["queued"], place["cap"], place["counted"] = 0.0, np.inf, False


@compiled
def count_queued(places, n_used, queued, cap):
    """Count the queued jobs of the candidates in the race, so that they lower the weight; both: (n,) of all."""
    for k in range(n_used):
        place = places[k]
        place["queued"], place["cap"] = queued[place["candidate"]], cap[place["candidate"]]
        place["counted"] = True


@compiled
def draw_blocks(places, n_used, uniforms, block, n_jobs, chosen, sizes):
    """Draw a candidate for each block of `n_jobs` jobs into `chosen`, and the size of the block into `sizes`.

    places: (n_used,) of PLACE, where a candidate of weight 0 that was used gets NaN. Returns how many blocks found one.
    """
    n_blocks = (n_jobs + block - 1) // block
    for number in range(n_blocks):
        k = first_unused(places, n_used, uniforms, number)
        if k < 0:
            k = first_open(places, n_used, uniforms, number)
            if k < 0:
                return number
            place = places[k]
            if place["counted"]:
                place["weight"] *= (place["queued"] + 1) / (place["queued"] + block + 1)
                place["queued"] += block
        else:
            places[k]["weight"] = np.nan
        chosen[number], sizes[number] = places[k]["candidate"], min(block, n_jobs - block * number)
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
