"""What only a snapshot says for task brokerage: of a task, and of the work that nuclei owe."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from simgrid_broker.views import InputOfNuclei


class ToldTask(NamedTuple):
    """A task: number of its draw, work left in HS06 s, storage of its output at each site, (n_sites,), -1 = none, and
    its input at each site; None = the world says it."""

    uniform: float | None = None
    work_hs06s: float | None = None
    output: np.ndarray | None = None
    input: InputOfNuclei | None = None


class Owed(NamedTuple):
    """Work that nuclei owe at the start of a turn, HS06 s, (n_sites,) each: of all tasks, NaN = not said, and of the
    share in question from a priority on."""

    total: np.ndarray
    from_priority: Mapping[int, np.ndarray]
