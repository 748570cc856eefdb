"""One question to the task brokerage: which nucleus shall collect the output of this task?

What lives here: the case that every criterion and factor is handed, and the space that the rules talk about. What does
not: rules.

Sources: PanDA brokerage documentation, production task brokerage; brokerage reference, sections 0.2 and 1.
"""

from dataclasses import dataclass

import numpy as np

from simgrid_broker.units import DAY, GIB
from simgrid_broker.views import Gdpconfig, Nuclei, Task

TASKBROKERAGE = "taskbrokerage"
"""Component of gdpconfig."""
REFERENCE_COREPOWER = 10
"""HS06 per core by which work is turned into core-days; source: JEDI TWiki, task brokerage."""
OUTPUT_GB_PER_CORE_DAY = 0.25
"""Output that a core-day of work is expected to leave; source: PanDA brokerage documentation, normalizedExpOutSize."""


@dataclass(frozen=True)
class TaskCase:
    """What the criteria and factors of task brokerage see.

    lifted names the groups of criteria that were lifted; left: (n,) bool, the nuclei that nobody has refused so far,
    out of which the walk strikes whoever is refused.
    """

    task: Task
    nuclei: Nuclei
    cfg: Gdpconfig
    lifted: tuple[str, ...] = ()
    left: np.ndarray | None = None

    @property
    def n_candidates(self) -> int:
        """Number of candidates, nuclei."""
        return len(self.nuclei.site)

    def value(self, key: str) -> float:
        """Value of one key of the task brokerage, in the unit of the key."""
        return self.cfg.value(TASKBROKERAGE, key)


def demand_gb(nuclei: Nuclei) -> np.ndarray:
    """Output that the work assigned to each nucleus will leave, (n,) GB: RW / 10 / day x 0.25."""
    return nuclei.remaining_work_hs06s / REFERENCE_COREPOWER / DAY * OUTPUT_GB_PER_CORE_DAY


def usable_gib(nuclei: Nuclei) -> np.ndarray:
    """Space that may be used, (n,) GiB: free + expired - what must stay free - what is promised, each in whole GiB.

    Source: brokerage reference, 0.2 (D1); formats reference, section 2.3 (whole GB).
    """
    usable = whole_gib(nuclei.free_bytes) + whole_gib(nuclei.expired_bytes)
    for taken in (nuclei.min_free_bytes, nuclei.unavailable_bytes):
        if taken is not None:
            usable = usable - whole_gib(taken)
    return usable


def whole_gib(size: np.ndarray) -> np.ndarray:
    """Bytes as whole GiB, (n,), the way PanDA keeps the space of an endpoint."""
    return np.floor(size / GIB)


def left_gib(nuclei: Nuclei) -> np.ndarray:
    """Usable space less the projected demand, (n,) in the code's GB; source: brokerage reference, T5c and 1.4."""
    return usable_gib(nuclei) - np.trunc(demand_gb(nuclei))


def input_fraction(case: TaskCase) -> np.ndarray:
    """Part of the input of a task that has some that lies at each nucleus, (n,)."""
    return case.nuclei.local_input_bytes / case.task.total_input_bytes
