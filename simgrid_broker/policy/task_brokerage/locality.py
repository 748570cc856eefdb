"""Data locality: how much of the input a nucleus must hold, and when the check is lifted."""

from math import isnan

import numpy as np

from simgrid_broker.gdpconfig import taskbrokerage
from simgrid_broker.policy.funnel import Liftable
from simgrid_broker.policy.rule import Answer, criterion
from simgrid_broker.policy.task_brokerage.case import TaskCase
from simgrid_broker.units import DAY, GB

DATA_LOCALITY = "data locality"
"""Name of the group."""
SOURCE = ("PanDA brokerage documentation, production task brokerage, data locality check; "
          "brokerage reference, 1.3 (D9)")


@criterion("-no_complete_replica", panda="input replica scan", source="brokerage reference, T2", editions=("deployed",))
def no_complete_replica(case: TaskCase) -> np.ndarray:
    """Refuse every nucleus if no complete replica of the input can be read over WAN; PanDA logs a text, not a tag."""
    return np.full(case.n_candidates, not case.nuclei.complete_replica)


@criterion("-insize", panda="selection for input size", source=SOURCE)
def too_little_input(case: TaskCase) -> Answer:
    """Refuse nuclei whose part of a large input is not larger than INPUT_SIZE_FRACTION.

    The deployed edition accepts exactly that fraction.
    """
    local, total = case.nuclei.local_input_bytes, case.task.total_input_bytes
    is_large = total > case.cfg.value(taskbrokerage.INPUT_SIZE_THRESHOLD) * case.terms.gigabyte
    least = total * case.cfg.value(taskbrokerage.INPUT_SIZE_FRACTION) / 100
    return case.terms.fails_short(local, least, _checked(case, is_large))


@criterion("-innum", panda="selection for number of input files", source=SOURCE)
def too_few_files(case: TaskCase) -> Answer:
    """Refuse nuclei whose part of the files is not larger than INPUT_NUM_FRACTION.

    The documentation compares the total input size with INPUT_NUM_THRESHOLD; the unit is taken as that of
    INPUT_SIZE_THRESHOLD, GB. The deployed edition compares the number of files, and accepts exactly that fraction.
    """
    local, total = case.nuclei.local_input_files, case.task.total_input_files
    threshold = case.cfg.value(taskbrokerage.INPUT_NUM_THRESHOLD)
    is_large = total > threshold if case.edition == "deployed" else case.task.total_input_bytes > threshold * GB
    least = total * case.cfg.value(taskbrokerage.INPUT_NUM_FRACTION) / 100
    return case.terms.fails_short(local, least, _checked(case, is_large))


def waived(case: TaskCase) -> bool:
    """Whether the check is lifted when no nucleus passes it: little input, or a high priority (D10).

    That is the priority as submitted, in the deployed edition the current one.
    """
    task = case.task
    is_current = case.edition == "deployed" or task.taskpriority is None
    priority = task.currentpriority if is_current else task.taskpriority
    return _light_input(case) or priority >= case.cfg.value(taskbrokerage.MAX_TASK_PRIO_WITH_LOCAL_DATA)


LOCALITY = Liftable(DATA_LOCALITY, (too_little_input, too_few_files), waived)


def _checked(case: TaskCase, is_large: bool) -> np.ndarray:
    """Nuclei, (n,) bool, at which the input is checked, if it is large.

    Not after DATA_LOCATION_CHECK_PERIOD, days, without a nucleus, nor where the data carousel completes the input: in
    the deployed edition at least one file must be there (D11).
    """
    is_dropped = case.task.frozen_for_s > case.cfg.value(taskbrokerage.DATA_LOCATION_CHECK_PERIOD) * DAY
    staging = case.task.inputprestaging & ((case.nuclei.local_input_files > 0) | (case.edition == "documented"))
    return ~staging & (is_large and not is_dropped)


def _light_input(case: TaskCase) -> bool:
    """Whether the task neither reads much nor has much to read."""
    most_bytes = case.cfg.value(taskbrokerage.MIN_INPUT_SIZE_WITH_LOCAL_DATA) * case.terms.gigabyte
    intensity = case.task.iointensity
    return ((isnan(intensity) or intensity <= case.cfg.value(taskbrokerage.MIN_IO_INTENSITY_WITH_LOCAL_DATA))
            and case.task.total_input_bytes <= most_bytes)
