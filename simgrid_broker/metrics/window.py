"""The stretch of time that figures stand for.

What lives here: `Window` and its choice for a run: from the end of the warm-up to the end of what is on disk. What does
not: any figure.
"""

from dataclasses import dataclass

import numpy as np

from simgrid_broker.records import Run
from simgrid_broker.units import format_seconds


@dataclass(frozen=True)
class Window:
    """From start_s to end_s, both included, s since the scenario's start."""

    start_s: float
    end_s: float

    def __str__(self) -> str:
        if self.end_s < self.start_s:
            end, warm_up = format_seconds(self.end_s), format_seconds(self.start_s)
            return f"nothing: the run ends at {end}, its warm-up at {warm_up}"
        return f"{format_seconds(self.start_s)} to {format_seconds(self.end_s)}"

    @property
    def length_s(self) -> float:
        """Length; 0 if the run ended before its warm-up was over."""
        return max(self.end_s - self.start_s, 0.0)

    def holds(self, times) -> np.ndarray:
        """Which moments lie in the window; NaN never does."""
        return (np.asarray(times) >= self.start_s) & (np.asarray(times) <= self.end_s)

    def covers(self, times) -> np.ndarray:
        """Which samples that count since the sample before lie in the window: the one at its start counts earlier."""
        return (np.asarray(times) > self.start_s) & (np.asarray(times) <= self.end_s)


def window_of(run: Run) -> Window:
    """The window of a run's figures: warm-up left out, and for a run that did not end, up to what all tables hold."""
    return Window(float(run.manifest["warm_up_s"]), run.end_s)
