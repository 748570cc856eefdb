"""Data locality: how much of the input a nucleus must hold, and when the check is lifted."""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.editions import ByEdition
from simgrid_broker.policy.brokerage.task.question import too_few
from simgrid_broker.policy.funnel import Liftable
from simgrid_broker.policy.rule import candidate_criterion
from simgrid_broker.units import DAY, GB

SOURCE = ("PanDA brokerage documentation, production task brokerage, data locality check; "
          "brokerage reference, 1.3 (D9)")


@candidate_criterion("-no_complete_replica", says="no complete replica of the input can be read over WAN",
                     applies=lambda task: task["total_input_bytes"] > 0, panda="input replica scan",
                     source="brokerage reference, T2", editions=("deployed",))
def no_complete_replica(task, nucleus):
    """Refuse every nucleus if no complete replica of the input can be read over WAN; PanDA logs a text, not a tag."""
    return not task["complete_replica"], np.nan, np.nan


@compiled
def is_large(task):
    """Whether the size of the input counts."""
    large = task["total_input_bytes"] > task["INPUT_SIZE_THRESHOLD"] * task["gigabyte"]
    return large and not _is_dropped(task)


@compiled
def has_many_files(task):
    """Whether the number of input files counts."""
    total, threshold = task["total_input_files"], task["INPUT_NUM_THRESHOLD"]
    many = total > threshold if task["files_decide"] else task["total_input_bytes"] > threshold * GB
    return many and not _is_dropped(task)


@compiled
def _is_dropped(task):
    """Whether the check is left out: after DATA_LOCATION_CHECK_PERIOD, days, without a nucleus."""
    return task["frozen_for_s"] > task["DATA_LOCATION_CHECK_PERIOD"] * DAY


ENOUGH = ByEdition("{value} of the input there, more than {limit} needed", "{value} of the input there, {limit} needed")


@candidate_criterion("-insize", unit="bytes", says=ENOUGH, applies=is_large, panda="selection for input size",
                     source=SOURCE)
def too_little_input(task, nucleus):
    """Refuse nuclei whose part of a large input is not larger than INPUT_SIZE_FRACTION.

    The deployed edition accepts exactly that fraction.
    """
    local, total = nucleus["local_input_bytes"], task["total_input_bytes"]
    least = total * task["INPUT_SIZE_FRACTION"] / 100
    return is_large(task) and _checked(task, nucleus) and too_few(task, local, least), local, least


@candidate_criterion("-innum", unit="files", says=ENOUGH, applies=has_many_files,
                     panda="selection for number of input files", source=SOURCE)
def too_few_files(task, nucleus):
    """Refuse nuclei whose part of the files is not larger than INPUT_NUM_FRACTION.

    The documentation compares the total input size with INPUT_NUM_THRESHOLD; the unit is taken as that of
    INPUT_SIZE_THRESHOLD, GB. The deployed edition compares the number of files, and accepts exactly that fraction.
    """
    local, total = nucleus["local_input_files"], task["total_input_files"]
    least = total * task["INPUT_NUM_FRACTION"] / 100
    return has_many_files(task) and _checked(task, nucleus) and too_few(task, local, least), local, least


@compiled
def waived(task):
    """Whether the check is lifted when no nucleus passes it: little input, or a high priority (D10).

    That is the priority as submitted, in the deployed edition the current one.
    """
    return _light_input(task) or task["priority"] >= task["MAX_TASK_PRIO_WITH_LOCAL_DATA"]


@compiled
def _checked(task, nucleus):
    """Whether a nucleus is asked for the input of a task, if that counts.

    Not where the data carousel completes the input: in the deployed edition at least one file must be there (D11).
    """
    staging = task["inputprestaging"] and (nucleus["local_input_files"] > 0 or not task["asks_for_a_file"])
    return not staging


@compiled
def _light_input(task):
    """Whether the task neither reads much nor has much to read."""
    most_bytes = task["MIN_INPUT_SIZE_WITH_LOCAL_DATA"] * task["gigabyte"]
    intensity = task["iointensity"]
    reads_little = np.isnan(intensity) or intensity <= task["MIN_IO_INTENSITY_WITH_LOCAL_DATA"]
    return reads_little and task["total_input_bytes"] <= most_bytes


LOCALITY = Liftable("locality_lifted", (too_little_input, too_few_files), waived)
"""The check of data locality."""
