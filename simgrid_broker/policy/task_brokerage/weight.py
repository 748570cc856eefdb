"""The weight of a nucleus: remaining work, local input, free space (D12 to D15)."""

from math import isnan

import numpy as np

from simgrid_broker.gdpconfig import taskbrokerage
from simgrid_broker.policy.funnel import ONE
from simgrid_broker.policy.rule import factor
from simgrid_broker.policy.task_brokerage.case import TERMS, TaskCase, input_fraction, left_gib, whole_gib
from simgrid_broker.policy.task_brokerage.locality import DATA_LOCALITY
from simgrid_broker.units import TB

RW_OFFSET_HS06S = 50
"""Work below this does not count (documented) or leaves the factor at 1 (deployed); source: step 3 (D12)."""
TAPE_WEIGHT = 0.001
"""Source: PanDA brokerage documentation, production task brokerage, step 3; brokerage reference, 1.4."""
DOCUMENTED = {"source": "PanDA brokerage documentation, production task brokerage, step 3", "editions": ("documented",)}
DEPLOYED = {"source": "brokerage reference, 1.4", "editions": ("deployed",)}
BOTH = {"source": f"{DOCUMENTED['source']}; {DEPLOYED['source']}"}


@factor("1/RW", panda="weight", **DOCUMENTED)
def remaining_work(case: TaskCase) -> np.ndarray:
    """1 / max(rwOffset, RW)."""
    return 1 / np.maximum(RW_OFFSET_HS06S, case.nuclei.remaining_work_hs06s)


@factor("1/RW", panda="weight", **DEPLOYED)
def remaining_work_deployed(case: TaskCase) -> np.ndarray:
    """1 / RW from 50 on, else 1: a jump (D12); RW of the task's share at its priority or above (D15)."""
    nuclei = case.nuclei
    work = nuclei.remaining_work_hs06s if nuclei.priority_work_hs06s is None else nuclei.priority_work_hs06s
    return np.where(work >= RW_OFFSET_HS06S, 1 / np.maximum(work, RW_OFFSET_HS06S), 1.0)


@factor("local input", panda="weight", **BOTH)
def local_input(case: TaskCase) -> np.ndarray | float:
    """localInputSize / totalInputSize for tasks that read much; 1 for others and without input (D14).

    In the deployed edition it is 1 if the locality check was lifted, and an unknown I/O intensity counts as much.
    """
    intensity = case.task.iointensity
    reads_much = (case.edition == "deployed" if isnan(intensity)
                  else intensity > case.cfg.value(taskbrokerage.MIN_IO_INTENSITY_WITH_LOCAL_DATA))
    return input_fraction(case) if _counts_input(case) and reads_much else ONE


@factor("tape", panda="weight", **BOTH)
def on_tape(case: TaskCase) -> np.ndarray | float:
    """0.001 where some of the local input is on tape alone, 1 elsewhere (JEDI TWiki, task brokerage: tapeWeight).

    In the deployed edition it is 1 if the locality check was lifted.
    """
    if not _counts_input(case) or case.nuclei.disk_input_bytes is None:
        return ONE
    return np.where(case.nuclei.local_input_bytes > case.nuclei.disk_input_bytes, TAPE_WEIGHT, ONE)


def _counts_input(case: TaskCase) -> bool:
    """Whether the place of the input counts."""
    is_lifted = case.edition == "deployed" and DATA_LOCALITY in case.lifted
    return case.task.total_input_bytes > 0 and not is_lifted


@factor("free part", panda="weight", **DOCUMENTED)
def free_part(case: TaskCase) -> np.ndarray:
    """(spaceFree + spaceExpired) / spaceTotal (D13)."""
    return (case.nuclei.free_bytes + case.nuclei.expired_bytes) / case.nuclei.total_bytes


@factor("free part", panda="weight", **DEPLOYED)
def free_part_deployed(case: TaskCase) -> np.ndarray:
    """(usable - projected demand) / total (D13)."""
    return left_gib(case.nuclei) / whole_gib(case.nuclei.total_bytes)


@factor("free space", panda="weight", **DOCUMENTED)
def free_space(case: TaskCase) -> np.ndarray:
    """min(FREE_DISK_CUTOFF, spaceFree) in TB (D13)."""
    return np.minimum(case.cfg.value(taskbrokerage.FREE_DISK_CUTOFF), case.nuclei.free_bytes / TB)


@factor("free space", panda="weight", **DEPLOYED)
def free_space_deployed(case: TaskCase) -> np.ndarray:
    """min(FREE_DISK_CUTOFF, usable - projected demand) in whole TB (D13)."""
    left_tb = np.floor(left_gib(case.nuclei) / TERMS["deployed"].space_per_tb)
    return np.minimum(case.cfg.value(taskbrokerage.FREE_DISK_CUTOFF), left_tb)
