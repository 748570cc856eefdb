"""What agents need of the recorder of a run."""

from typing import Protocol

import numpy as np


class Recorder(Protocol):
    """Takes rows and snapshots; `validate` asks for a check of all invariants at every sample."""

    validate: bool

    def write(self, name: str, rows: np.ndarray, times: np.ndarray | None = None) -> None:
        """Record rows of a table, with the times of their transitions where it has any."""

    def keep_snapshot(self, values: dict) -> None:
        """Keep a snapshot for `broker`."""
