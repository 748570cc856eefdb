"""One question to the task brokerage, and the terms in which its editions differ; brokerage reference, 0.2 and 1."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from simgrid_broker.policy.rule import above, at_least, at_most, below
from simgrid_broker.units import DAY, GB, GIB, TB
from simgrid_broker.views import Gdpconfig, Nuclei, Task

REFERENCE_COREPOWER = 10
"""HS06 per core by which work is turned into core-days; source: JEDI TWiki, task brokerage."""
OUTPUT_GB_PER_CORE_DAY = 0.25
"""Expected output of a core-day of work; source: PanDA brokerage documentation, normalizedExpOutSize."""


@dataclass(frozen=True)
class TaskCase:
    """What the criteria and factors of task brokerage see.

    lifted: names of the groups of criteria that were lifted; left: (n,) bool, the nuclei that no criterion has refused
    so far, kept up to date by the walk.
    """

    task: Task
    nuclei: Nuclei
    cfg: Gdpconfig
    edition: str
    lifted: tuple[str, ...] = ()
    left: np.ndarray = field(default_factory=lambda: np.ones(0, bool))

    @property
    def n_candidates(self) -> int:
        """Number of candidates, nuclei."""
        return len(self.nuclei.site)

    @property
    def terms(self) -> "Terms":
        """Terms of the edition."""
        return TERMS[self.edition]


def demand_gb(nuclei: Nuclei) -> np.ndarray:
    """Expected output of the work assigned to each nucleus, (n,) GB: RW / 10 / day x 0.25."""
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
    """Usable space less the projected demand, (n,) GiB; source: brokerage reference, T5c and 1.4."""
    return usable_gib(nuclei) - np.trunc(demand_gb(nuclei))


def left_bytes(nuclei: Nuclei) -> np.ndarray:
    """spaceFree + spaceExpired - normalizedExpOutSize x RW, (n,) bytes; source: step 2."""
    return nuclei.free_bytes + nuclei.expired_bytes - demand_gb(nuclei) * GB


def input_fraction(case: TaskCase) -> np.ndarray:
    """Fraction of the input of a task, which must have some, at each nucleus, (n,)."""
    return case.nuclei.local_input_bytes / case.task.total_input_bytes


class Terms(NamedTuple):
    """Terms in which rules of both editions differ.

    gigabyte: bytes of a GB in limits on input; space_left: space less the projected demand (D1), in units of which
    space_per_tb are a TB (D7); fails_full: comparison with a cap (D8); fails_short: with a required amount (D7, D9).
    """

    gigabyte: float
    space_left: Callable
    space_per_tb: float
    fails_full: Callable
    fails_short: Callable


TERMS = {"documented": Terms(GB, left_bytes, TB, at_least, at_most),
         "deployed": Terms(GIB, left_gib, 1024, above, below)}
"""Terms by edition; source: brokerage reference, section 1 (D7 to D10)."""
