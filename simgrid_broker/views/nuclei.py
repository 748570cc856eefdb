"""The candidates of task brokerage."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

NUCLEUS = np.dtype([
    ("site", "i8"), ("active", "?"), ("has_storage", "?"), ("read_wan", "?"), ("write_wan", "?"),
    ("free_bytes", "f8"), ("expired_bytes", "f8"), ("total_bytes", "f8"),
    ("min_free_bytes", "f8"),        # free space that must stay
    ("unavailable_bytes", "f8"),     # space promised to transfers under way
    ("queued_output_files", "f8"),
    ("remaining_work_hs06s", "f8"),  # RW, the work assigned to the nucleus
    ("priority_work_hs06s", "f8"),   # as documented the same; else that of the task's share at its priority or above
    ("local_input_bytes", "f8"), ("local_input_files", "f8"),    # on disk or tape, of the datasets that count for the
    ("disk_input_bytes", "f8"),      # task (taskBrokerOnMaster); and on disk
    ("bare", "i1"),                  # names.BareNucleus
    ("satellite", "?"),              # candidate only for a full chain
    ("draw", "f8"),                  # number in (0, 1) of its own; NaN = one number draws one of all
    ("can_run", "?"),                # it has a queue for the jobs of the task, as far as it was asked
])
"""A site that can be a nucleus, as task brokerage sees it for one task."""


@dataclass(frozen=True)
class Nuclei:
    """The candidates of task brokerage: sites that can be a nucleus, (n,).

    records: (n,) of NUCLEUS; a column is also an attribute: `nuclei.free_bytes`. complete_replica: a complete replica
    of the input can be read from somewhere; can_run: which of the nuclei asked, (n,) bool, have a queue for the jobs of
    the task, (n,) bool; None = all; why_not: what refuses the queues of a site; None = not known.
    """

    records: np.ndarray
    complete_replica: bool = True
    can_run: Callable[[np.ndarray], np.ndarray] | None = None
    why_not: Callable[[int], str] | None = None

    def __getattr__(self, column: str) -> Any:
        """A column, (n,); raises AttributeError for an unknown one."""
        if column not in (NUCLEUS.names or ()):
            raise AttributeError(f"nuclei have no column {column!r}")
        found = vars(self)[column] = np.ascontiguousarray(self.records[column])
        return found
