"""Criteria on tasks that read much: how much input may be moved to a queue, and which queues move none."""

import numpy as np

from simgrid_broker.compiled import compiled, uncompiled
from simgrid_broker.policy.brokerage.production.backlog import files_missing, input_is_local
from simgrid_broker.policy.rule import FINAL_STAGE, JOB_BROKERAGE, candidate_criterion
from simgrid_broker.units import MB, MIB
from simgrid_broker.wording import figure, plain

DISK_CLASS, TAPE_CLASS, REFUSED = range(3)
"""Classes of queues: input missing on disk may be moved, or only input missing on disk and tape, or neither."""


@compiled
def reads_much(task):
    """Whether a task with input has a known ioIntensity above IO_INTENSITY_CUTOFF."""
    intensity = task["iointensity"]
    return task["total_bytes"] > 0 and not np.isnan(intensity) and intensity > task["IO_INTENSITY_CUTOFF"]


@compiled
def size_cutoff_mb(task):
    """SIZE_CUTOFF_TO_MOVE_INPUT, MB of the edition."""
    return task["SIZE_CUTOFF_TO_MOVE_INPUT"] * task["mb_per_gb"]


@compiled
def bytes_missing(task, part):
    """Bytes of the input beyond the fraction at hand, rounded to whole bytes."""
    return np.rint((1.0 - part) * task["total_bytes"])


FILES_MISSING, BYTES_MISSING = uncompiled(files_missing), uncompiled(bytes_missing)
CUTOFF_MB = uncompiled(size_cutoff_mb)
"""The same for sentences: Python takes longer to hand over a record than to do the sum."""


def files_to_move(task, queue, load, link, store, numbers) -> str:
    """Files of input that are missing at a queue, and how many may be."""
    missing, most = FILES_MISSING(task, numbers["any_files"]), task["NUM_CUTOFF_TO_MOVE_INPUT"]
    return f"{figure(missing, 'files')}, fewer than {plain(most)} allowed"


@candidate_criterion("-io", unit="MB", says="{value} of input to move, less than {limit} allowed; {text}",
                     text=files_to_move, applies=reads_much, panda="selection for data motion",
                     stage="IO check", cap=True, editions=("documented",), source=f"{JOB_BROKERAGE}, step 2")
def too_much_to_move(task, queue, load, link, store, numbers):
    """Refuse queues that lack a cutoff or more of the input, in size or number, disk and tape together (D18, D28)."""
    missing_mb, cutoff_mb = bytes_missing(task, numbers["any_bytes"]) / MB, size_cutoff_mb(task)
    many_files = files_missing(task, numbers["any_files"]) >= task["NUM_CUTOFF_TO_MOVE_INPUT"]
    return reads_much(task) and (missing_mb >= cutoff_mb or many_files), missing_mb, cutoff_mb


def missing_input(task, queue, load, link, store, numbers) -> str:
    """Input that is missing at a queue, on disk, and on disk and tape, and how much may be."""
    missing = (f"{figure(BYTES_MISSING(task, numbers[place + '_bytes']), 'binary')} and "
               f"{figure(FILES_MISSING(task, numbers[place + '_files']), 'files')} not on {what}"
               for place, what in (("disk", "disk"), ("any", "disk or tape")))
    return (f"{', '.join(missing)}, at most {figure(CUTOFF_MB(task), 'MiB')} and "
            f"{plain(task['NUM_CUTOFF_TO_MOVE_INPUT'])} may be moved")


@compiled
def is_classified(task):
    """Whether the queues of a task are classified by the input that they miss."""
    return reads_much(task) and not (task["single"] or task["is_merging"] or task["event_service"])


@candidate_criterion("-io", unit="class", says="{text}; other queues miss less", text=missing_input,
                     applies=is_classified, panda="selection for data motion", stage="IO check", is_choice=True,
                     editions=("deployed",), source="brokerage reference, 2.7 (D18, D28)")
def io_class(task, queue, load, link, store, numbers):
    """Refuse queues whose missing input is of a worse class than that of others; all pass if every class is 2.

    Class 0: input that is not on disk exceeds no cutoff; 1: input on neither disk nor tape exceeds none; 2: it does.
    """
    if not is_classified(task):
        return DISK_CLASS
    disk_mb = np.floor(bytes_missing(task, numbers["disk_bytes"]) / MIB)
    any_mb = np.floor(bytes_missing(task, numbers["any_bytes"]) / MIB)
    disk_files, any_files = files_missing(task, numbers["disk_files"]), files_missing(task, numbers["any_files"])
    cutoff_mb, cutoff_files = size_cutoff_mb(task), task["NUM_CUTOFF_TO_MOVE_INPUT"]
    if min(disk_mb, any_mb) > cutoff_mb or min(disk_files, any_files) > cutoff_files:
        return REFUSED
    return TAPE_CLASS if disk_mb > cutoff_mb or disk_files > cutoff_files else DISK_CLASS


@compiled
def has_intensity(task):
    """Whether the ioIntensity of a task counts."""
    return not np.isnan(task["iointensity"]) and not task["is_merging"]


@candidate_criterion("-max_io_intensity", unit="kB/s", says="ioIntensity {value}, max_io_intensity {limit}",
                     applies=has_intensity, panda="selection for IO intensity", stage="max IO intensity check",
                     editions=("deployed",),
                     source="brokerage reference, 2.3 P23 (D23)")
def too_intense(task, queue, load, link, store, numbers):
    """Refuse queues whose max_io_intensity is below the task's ioIntensity, if that is known, except for merging."""
    intensity, limit = task["iointensity"], queue["max_io_intensity"]
    return has_intensity(task) and intensity > limit, intensity, limit


@candidate_criterion("-non_local", unit="part of the input",
                     says="{value} of the input on its disk, {limit} needed (use_only_local_data)",
                     applies=lambda task: not task["total_bytes"] <= 0, panda="use_only_local_data", stage=FINAL_STAGE,
                     final=True, cap=True, source="brokerage reference, 10.3 rule 2",
                     editions=("deployed",))
def not_local(task, queue, load, link, store, numbers):
    """Refuse queues that use local data only where some of the input is not on their disk."""
    return queue["use_only_local_data"] and not input_is_local(task, numbers), numbers["disk_bytes"], 1.0
