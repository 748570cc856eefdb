"""Facts that a snapshot gives and no table of the world holds: of a task, and of the work that nuclei owe."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from simgrid_broker.views import InputAt, InputOfNuclei, JobInput, UserView


class TaskFacts(NamedTuple):
    """Facts of a task; None = the tables of the world have them.

    fields: of `views.Task`, by name; input: of its next jobs; uniform: number of its draw of a nucleus; work_hs06s:
    work left; output: storage of its output at each site, (n_sites,), -1 = none; input_of_nuclei: its input at each
    site. Of an analysis task user: its user; input_at_queues: its input, and the jobs that this makes.
    """

    fields: Mapping[str, Any] = {}
    input: JobInput | None = None
    uniform: float | None = None
    work_hs06s: float | None = None
    output: np.ndarray | None = None
    input_of_nuclei: InputOfNuclei | None = None
    user: UserView | None = None
    input_at_queues: tuple[InputAt, float] | None = None


NO_FACTS = TaskFacts()


class NucleusWork(NamedTuple):
    """Work that nuclei owe at the start of a turn, HS06 s, (n_sites,) each.

    total: of all tasks, NaN = as the tables say; from_priority: of the share in question from a priority on.
    """

    total: np.ndarray
    from_priority: Mapping[int, np.ndarray]
