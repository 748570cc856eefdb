"""Waiting times from jobs of which some still wait, were withdrawn, or waited before the window began."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Waits:
    """Waits as a window sees them: arrays (n,) of times since activation, and whether the job started (bool).

    entry: when the window first sees the job, 0 if it was activated in the window; exit: when the job started, was
    withdrawn or the window ended.
    """

    entry: np.ndarray
    exit: np.ndarray
    started: np.ndarray

    def quantiles(self, at: Sequence[float] | np.ndarray) -> np.ndarray:
        """Product-limit estimate of the quantiles `at` of the waiting time; NaN beyond the last one that is reached.

        Source: Kaplan and Meier, J. Am. Stat. Assoc. 53 (1958) 457; jobs seen late enter the set at risk late.
        """
        times, n_started = np.unique(self.exit[self.started], return_counts=True)
        entered = np.searchsorted(np.sort(self.entry), times, side="right")
        at_risk = entered - np.searchsorted(np.sort(self.exit), times, side="left")
        waiting = np.cumprod(1 - n_started / at_risk)
        reached = np.searchsorted(-waiting, -(1 - np.asarray(at)) - 1e-12)
        return np.append(times, np.nan)[reached]

    def mean(self) -> float:
        """Mean number waiting over the rate of starts (Little's law); NaN if no job started."""
        n_started = np.count_nonzero(self.started)
        return float((self.exit - self.entry).sum() / n_started) if n_started else np.nan
