"""The weight of a nucleus: remaining work, local input, free space (D12 to D15)."""

from typing import Any

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.policy.brokerage.task.question import TERMS, left_gib, whole_gib
from simgrid_broker.policy.rule import candidate_factor
from simgrid_broker.units import TB

RW_OFFSET_HS06S = 50
"""Work below this does not count (documented) or leaves the factor at 1 (deployed); source: step 3 (D12)."""
GIB_PER_TB = TERMS["deployed"]["space_per_tb"]
TAPE_WEIGHT = 0.001
"""Source: PanDA brokerage documentation, production task brokerage, step 3; brokerage reference, 1.4."""
DOCUMENTED: Any = {"source": "PanDA brokerage documentation, production task brokerage, step 3",
                   "editions": ("documented",)}
DEPLOYED: Any = {"source": "brokerage reference, 1.4", "editions": ("deployed",)}
BOTH: Any = {"source": f"{DOCUMENTED['source']}; {DEPLOYED['source']}"}


@candidate_factor("1/RW", panda="weight", **DOCUMENTED)
def remaining_work(task, nucleus):
    """1 / max(rwOffset, RW)."""
    return 1 / max(RW_OFFSET_HS06S, nucleus["remaining_work_hs06s"])


@candidate_factor("1/RW", panda="weight", **DEPLOYED)
def remaining_work_deployed(task, nucleus):
    """1 / RW from 50 on, else 1: a jump (D12); RW of the task's share at its priority or above (D15)."""
    work = nucleus["priority_work_hs06s"]
    return 1 / work if work >= RW_OFFSET_HS06S else 1.0


@candidate_factor("local input", panda="weight", **BOTH)
def local_input(task, nucleus):
    """localInputSize / totalInputSize for tasks that read much; 1 for others and without input (D14).

    In the deployed edition it is 1 if the locality check was lifted, and an unknown I/O intensity counts as much.
    """
    intensity = task["iointensity"]
    reads_much = (task["unknown_reads_much"] if np.isnan(intensity)
                  else intensity > task["MIN_IO_INTENSITY_WITH_LOCAL_DATA"])
    return nucleus["local_input_bytes"] / task["total_input_bytes"] if _counts_input(task) and reads_much else 1.0


@candidate_factor("tape", panda="weight", **BOTH)
def on_tape(task, nucleus):
    """0.001 where some of the local input is on tape alone, 1 elsewhere (JEDI TWiki, task brokerage: tapeWeight).

    In the deployed edition it is 1 if the locality check was lifted.
    """
    return TAPE_WEIGHT if _counts_input(task) and nucleus["local_input_bytes"] > nucleus["disk_input_bytes"] else 1.0


@compiled
def _counts_input(task):
    """Whether the place of the input counts."""
    return task["total_input_bytes"] > 0 and not (task["locality_lifted"] and task["lifting_drops_data"])


@candidate_factor("free part", panda="weight", **DOCUMENTED)
def free_part(task, nucleus):
    """(spaceFree + spaceExpired) / spaceTotal (D13)."""
    return (nucleus["free_bytes"] + nucleus["expired_bytes"]) / nucleus["total_bytes"]


@candidate_factor("free part", panda="weight", **DEPLOYED)
def free_part_deployed(task, nucleus):
    """(usable - projected demand) / total (D13)."""
    return left_gib(nucleus) / whole_gib(nucleus["total_bytes"])


@candidate_factor("free space", panda="weight", **DOCUMENTED)
def free_space(task, nucleus):
    """min(FREE_DISK_CUTOFF, spaceFree) in TB (D13)."""
    return min(task["FREE_DISK_CUTOFF"], nucleus["free_bytes"] / TB)


@candidate_factor("free space", panda="weight", **DEPLOYED)
def free_space_deployed(task, nucleus):
    """min(FREE_DISK_CUTOFF, usable - projected demand) in whole TB (D13)."""
    return min(task["FREE_DISK_CUTOFF"], np.floor(left_gib(nucleus) / GIB_PER_TB))
