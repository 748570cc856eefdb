"""The draw: which queue gets the next block of jobs.

What lives here: the roulette wheel of the splitter. What does not: the weights and the caps (`load`), the splitting of
input into jobs (agents), and random numbers, which are handed in.

Source: brokerage reference, section 10.4; lifecycle reference, section 2.5; PanDA's `InputChunk.getOneSiteCandidate`.
"""

import math
from collections.abc import Sequence

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.views import Verdict

JOBS_PER_BLOCK = 25
"""Jobs that go to one queue for each draw."""
SCOUTS_PER_BLOCK = 2
"""The same for scouts."""


def spread_jobs(verdict: Verdict, n_jobs: int, uniforms: Sequence[float], queued: np.ndarray | None = None,
                cap: np.ndarray | None = None, block: int = JOBS_PER_BLOCK) -> tuple[np.ndarray, np.ndarray]:
    """Candidate index and number of jobs of each block, (k,) each; fewer jobs than asked for if every queue fills up.

    `uniforms` holds at least one number in (0, 1) for each block (ValueError otherwise); `queued` and `cap`, (n,),
    stand in for those of the verdict. Each candidate of weight 0 is used first and once; the others are drawn by
    weight while their queued jobs are below their cap, and every draw lowers the weight by (queued + 1) / (new + 1).
    """
    n_blocks = math.ceil(n_jobs / block)
    if len(uniforms) < n_blocks:
        raise ValueError(f"{n_blocks} blocks of jobs need as many uniform numbers, not {len(uniforms)}")
    order = verdict.order
    queued, cap = verdict.queued if queued is None else queued, verdict.cap if cap is None else cap
    weights, waiting, limits = np.zeros((3, len(order)))
    weights[:] = verdict.weight[order]
    if queued is not None:
        waiting[:] = queued[order]
    limits[:] = np.inf if queued is None or cap is None else cap[order]
    chosen, sizes = np.empty((2, n_blocks), np.int64)
    drawn = draw_blocks(weights, waiting, limits, queued is not None, np.asarray(uniforms, float), block, n_jobs,
                        chosen, sizes)
    return order[chosen[:drawn]], sizes[:drawn]


@compiled
def draw_blocks(weights, queued, caps, is_counted, uniforms, block, n_jobs, chosen, sizes):
    """Draw a candidate for each block of `n_jobs` jobs into `chosen`, and the size of the block into `sizes`.

    weights, queued, caps: (n,) of the candidates in order, of which the first two change; a candidate of weight 0 that
    was used gets NaN. is_counted: whether queued jobs lower the weight. Returns how many blocks found one.
    """
    for number in range(len(chosen)):
        k = unused(weights, uniforms[number])
        if k < 0:
            k = turn_wheel(weights, queued, caps, uniforms[number])
            if k < 0:
                return number
            if is_counted:
                weights[k] *= (queued[k] + 1) / (queued[k] + block + 1)
                queued[k] += block
        else:
            weights[k] = np.nan
        chosen[number], sizes[number] = k, min(block, n_jobs - block * number)
    return len(chosen)


@compiled
def unused(weights, uniform):
    """One of the candidates of weight 0, all equally likely; -1 if there is none."""
    n = 0
    for weight in weights:
        n += weight == 0
    wanted = int(uniform * n)
    for k in range(len(weights)):
        if weights[k] == 0:
            if wanted == 0:
                return k
            wanted -= 1
    return -1


@compiled
def turn_wheel(weights, queued, caps, uniform):
    """One of the candidates below their cap, as likely as its weight; -1 if there is none."""
    total, last = 0.0, -1
    for k in range(len(weights)):
        if weights[k] > 0 and queued[k] < caps[k]:
            total += weights[k]
    rest = uniform * total
    for k in range(len(weights)):
        if weights[k] > 0 and queued[k] < caps[k]:
            rest -= weights[k]
            last = k
            if rest <= 0:
                break
    return last
