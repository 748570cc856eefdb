"""Rows of the datasets of a task, as JEDI_Datasets has them: what progress and end of a task are judged by."""

from collections.abc import Mapping
from typing import NamedTuple

INPUT_TYPES = ("input", "pseudo_input")
PROCESS_TYPES = (*INPUT_TYPES, "pp_input", "trn_log", "trn_output")
"""Types of datasets of which jobs are made: input, and output that is to be merged."""
OUTPUT_TYPES = ("output", "log", "lib")
UNUSABLE = "pending", "lost", "missing", "staging"
"""Statuses of files that no job can read."""


class DatasetRow(NamedTuple):
    """A dataset of a task; counts are numbers of files, None = not set.

    secondary: it is read beside a master dataset (masterID is set); state: open, closed or mutable; used: files for
    which jobs were made.
    """

    type: str = "input"
    secondary: bool = False
    status: str = "ready"
    state: str | None = "closed"
    n_files: int = 0
    to_be_used: int | None = 0
    used: int = 0
    finished: int = 0
    failed: int = 0
    events: int | None = None
    events_used: int | None = None

    @property
    def is_master(self) -> bool:
        """True if jobs are made of it: master input, or output to be merged."""
        return not self.secondary and self.type in PROCESS_TYPES

    @property
    def is_master_input(self) -> bool:
        """True if it is master input."""
        return not self.secondary and self.type in INPUT_TYPES


def usable_files(files: Mapping[str, int]) -> int:
    """Files of a dataset that jobs may use once its scouts are over; files: numbers by status."""
    return sum(number for status, number in files.items() if status not in UNUSABLE)
