"""The draw: which queue gets the next block of jobs.

What lives here: the roulette wheel of the splitter. What does not: the weights and the caps (`load`), the splitting of
input into jobs (agents), and random numbers, which are handed in.

Source: brokerage reference, section 10.4; lifecycle reference, section 2.5; PanDA's `InputChunk.getOneSiteCandidate`.
"""

import math
from collections.abc import Sequence

import numpy as np

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
    wheel = _Wheel(verdict, verdict.queued if queued is None else queued, verdict.cap if cap is None else cap)
    chosen, sizes = [], []
    for uniform in np.asarray(uniforms[:n_blocks], float).tolist():
        candidate = wheel.draw(uniform, block)
        if candidate is None:
            break
        chosen.append(candidate)
        sizes.append(min(block, n_jobs - block * len(sizes)))
    return np.array(chosen, np.int64), np.array(sizes, np.int64)


class _Wheel:
    """The candidates of one verdict while blocks are being handed out; plain lists, because there are at most ten."""

    def __init__(self, verdict: Verdict, queued: np.ndarray | None, cap: np.ndarray | None):
        order = verdict.order
        self.candidates = order.tolist()
        self.weights = verdict.weight[order].tolist()
        self.unused = [k for k, weight in enumerate(self.weights) if weight == 0]
        self.queued = None if queued is None else queued[order].tolist()
        self.cap = [math.inf] * len(order) if cap is None or queued is None else cap[order].tolist()

    def draw(self, uniform: float, block: int) -> int | None:
        """The candidate that gets the next block; None if none is left."""
        if self.unused:
            return self.candidates[self.unused.pop(int(uniform * len(self.unused)))]
        open_ = [k for k, weight in enumerate(self.weights)
                 if weight > 0 and (self.queued is None or self.queued[k] < self.cap[k])]
        if not open_:
            return None
        rest = uniform * sum(self.weights[k] for k in open_)
        for k in open_:
            rest -= self.weights[k]
            if rest <= 0:
                break
        self._fill(k, block)
        return self.candidates[k]

    def _fill(self, k: int, block: int) -> None:
        if self.queued is not None:
            before = self.queued[k]
            self.queued[k] = before + block
            self.weights[k] *= (before + 1) / (self.queued[k] + 1)
