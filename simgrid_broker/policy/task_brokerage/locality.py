"""Data locality: how much of the input a nucleus must hold.

What lives here: the scan for a complete replica, the two criteria about the part at each nucleus, and the condition
under which both are lifted. What does not: data in the weight (`weight`), which datasets count (who makes the view).

Sources: PanDA brokerage documentation, production task brokerage, data locality check; brokerage reference, 1.3.
"""

import numpy as np

from simgrid_broker.policy.funnel import Liftable
from simgrid_broker.policy.rule import Answer, at_most, below, criterion
from simgrid_broker.policy.task_brokerage.case import TASKBROKERAGE, TaskCase
from simgrid_broker.units import DAY, GB, GIB

DATA_LOCALITY = "data locality"
"""Name of the group."""
SIZE_KEYS = tuple((TASKBROKERAGE, key) for key in
                  ("INPUT_SIZE_THRESHOLD", "INPUT_SIZE_FRACTION", "DATA_LOCATION_CHECK_PERIOD"))
NUM_KEYS = tuple((TASKBROKERAGE, key) for key in
                 ("INPUT_NUM_THRESHOLD", "INPUT_NUM_FRACTION", "DATA_LOCATION_CHECK_PERIOD"))
DOCUMENTED = {"source": "PanDA brokerage documentation, production task brokerage, data locality check (D9)",
              "editions": ("documented",)}
DEPLOYED = {"source": "brokerage reference, 1.3 (D9)", "editions": ("deployed",)}


@criterion("-no_complete_replica", panda="input replica scan", source="brokerage reference, T2", editions=("deployed",))
def no_complete_replica(case: TaskCase) -> np.ndarray:
    """Refuse every nucleus if no complete replica of the input can be read over WAN; PanDA logs a text, not a tag."""
    return np.full(case.n_candidates, case.task.total_input_bytes > 0 and not case.nuclei.complete_replica)


@criterion("-insize", panda="selection for input size", gdpconfig=SIZE_KEYS, **DOCUMENTED)
def too_little_input(case: TaskCase) -> Answer:
    """Refuse nuclei whose part of a large input is not larger than INPUT_SIZE_FRACTION."""
    local, total = case.nuclei.local_input_bytes, case.task.total_input_bytes
    concerned = total > case.value("INPUT_SIZE_THRESHOLD") * GB and not _exempt(case)
    return at_most(local, total * _part(case, "INPUT_SIZE_FRACTION"), concerned)


@criterion("-innum", panda="selection for number of input files", gdpconfig=NUM_KEYS, **DOCUMENTED)
def too_few_files(case: TaskCase) -> Answer:
    """Refuse nuclei whose part of the files is not larger than INPUT_NUM_FRACTION.

    The documentation compares the total input size with INPUT_NUM_THRESHOLD; the unit is taken as that of
    INPUT_SIZE_THRESHOLD, GB.
    """
    local, total = case.nuclei.local_input_files, case.task.total_input_files
    concerned = case.task.total_input_bytes > case.value("INPUT_NUM_THRESHOLD") * GB and not _exempt(case)
    return at_most(local, total * _part(case, "INPUT_NUM_FRACTION"), concerned)


@criterion("-insize", panda="selection for input size", gdpconfig=SIZE_KEYS, **DEPLOYED)
def too_little_input_deployed(case: TaskCase) -> Answer:
    """Refuse nuclei whose part of a large input is below INPUT_SIZE_FRACTION."""
    local, total = case.nuclei.local_input_bytes, case.task.total_input_bytes
    concerned = total > case.value("INPUT_SIZE_THRESHOLD") * GIB and not _dropped(case)
    return below(local, total * _part(case, "INPUT_SIZE_FRACTION"), concerned & ~_is_staging(case))


@criterion("-innum", panda="selection for number of input files", gdpconfig=NUM_KEYS, **DEPLOYED)
def too_few_files_deployed(case: TaskCase) -> Answer:
    """Refuse nuclei whose part of many files is below INPUT_NUM_FRACTION."""
    local, total = case.nuclei.local_input_files, case.task.total_input_files
    concerned = total > case.value("INPUT_NUM_THRESHOLD") and not _dropped(case)
    return below(local, total * _part(case, "INPUT_NUM_FRACTION"), concerned & ~_is_staging(case))


def waived(case: TaskCase) -> bool:
    """Whether the check is disabled when no nucleus passes it: little input, or a high priority as submitted (D10)."""
    task = case.task
    priority = task.currentpriority if task.taskpriority is None else task.taskpriority
    return _light_input(case, GB) or priority >= case.value("MAX_TASK_PRIO_WITH_LOCAL_DATA")


def waived_deployed(case: TaskCase) -> bool:
    """The same in the code, which looks at the current priority (D10)."""
    return _light_input(case, GIB) or case.task.currentpriority >= case.value("MAX_TASK_PRIO_WITH_LOCAL_DATA")


LOCALITY = Liftable(DATA_LOCALITY, (too_little_input, too_few_files), waived)
LOCALITY_DEPLOYED = Liftable(DATA_LOCALITY, (too_little_input_deployed, too_few_files_deployed), waived_deployed)


def _part(case: TaskCase, key: str) -> float:
    """A key in % as a fraction."""
    return case.value(key) / 100


def _exempt(case: TaskCase) -> bool:
    """Whether the documented check is off for all nuclei: dropped, or the data carousel completes the input (D11)."""
    return case.task.inputprestaging or _dropped(case)


def _is_staging(case: TaskCase) -> np.ndarray:
    """Nuclei, (n,), at which the data carousel has begun: in the code at least one file must be there (D11)."""
    return case.task.inputprestaging & (case.nuclei.local_input_files > 0)


def _dropped(case: TaskCase) -> bool:
    """Whether brokerage has failed for so long that the check is off: DATA_LOCATION_CHECK_PERIOD, days."""
    return case.task.frozen_for_s > case.value("DATA_LOCATION_CHECK_PERIOD") * DAY


def _light_input(case: TaskCase, gigabyte: float) -> bool:
    """Whether the task neither reads much nor has much to read."""
    return (case.task.iointensity <= case.value("MIN_IO_INTENSITY_WITH_LOCAL_DATA")
            and case.task.total_input_bytes <= case.value("MIN_INPUT_SIZE_WITH_LOCAL_DATA") * gigabyte)
