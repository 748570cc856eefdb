"""The time window that figures cover."""

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
        """Length; 0 if the run ended within its warm-up."""
        return max(self.end_s - self.start_s, 0.0)

    def holds(self, times) -> np.ndarray:
        """Mask of the times within the window; False for NaN."""
        return (np.asarray(times) >= self.start_s) & (np.asarray(times) <= self.end_s)

    def covers(self, times) -> np.ndarray:
        """Mask of the samples whose interval since the previous sample lies in the window; false at its start."""
        return (np.asarray(times) > self.start_s) & (np.asarray(times) <= self.end_s)


def window_of(run: Run) -> Window:
    """The window of a run's figures: from the end of the warm-up to the end of the recorded data."""
    return Window(float(run.manifest["warm_up_s"]), run.end_s)
