"""The storages of a queue and the input of a task: space, access over LAN and WAN, completeness, and input to be moved.

A site without storage passes. Source of the completeness: brokerage reference, 2.3 P1 (D23), which the documentation
does not have.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from simgrid_broker.compiled import compiled, uncompiled
from simgrid_broker.gdpconfig import jobbroker
from simgrid_broker.policy.brokerage.production.activity import files_missing, input_is_local
from simgrid_broker.policy.brokerage.production.network import in_nucleus
from simgrid_broker.policy.rule import FINAL_STAGE, JOB_BROKERAGE, candidate_criterion
from simgrid_broker.units import GIB, MB, MIB
from simgrid_broker.views import SOURCE, Gdpconfig, InputDataset, Task
from simgrid_broker.wording import figure, plain

MIN_FREE_BYTES = 200e9
"""Space that must be free; source: step 2."""

STEP_2 = f"{JOB_BROKERAGE}, step 2"
STATUS: Any = {"panda": "selection for storage endpoints", "stage": "Storage check", "temporary": True,
          "source": f"{STEP_2}; brokerage reference, 2.5"}


@candidate_criterion("-disk", unit="bytes", says="{value} free in its storage, more than {limit} needed",
                     panda="selection for storage space", stage="Storage check", temporary=True, source=STEP_2,
                     editions=("documented",))
def too_little_space(task, queue, load, link, store, numbers):
    """Refuse queues whose storage does not have more than 200 GB free (D73)."""
    return store["present"] and store["free_bytes"] <= MIN_FREE_BYTES, store["free_bytes"], MIN_FREE_BYTES


@candidate_criterion("-disk", unit="bytes",
                     says="{value:binary} usable in its storage, {limit:binary} needed (STORAGE_MIN_FREE_SIZE)",
                     panda="selection for storage space", stage="Storage check", temporary=True, editions=("deployed",),
                     source="brokerage reference, 2.3 P15")
def too_little_space_deployed(task, queue, load, link, store, numbers):
    """Refuse queues whose storage has less usable space than STORAGE_MIN_FREE_SIZE (D73)."""
    usable, limit = store["usable_bytes"], task["STORAGE_MIN_FREE_SIZE"] * GIB
    return store["present"] and usable < limit, usable, limit


@candidate_criterion("-read_lan_blacklist", says="jobs cannot read from its storage", **STATUS)
def not_readable(task, queue, load, link, store, numbers):
    """Refuse queues whose storage jobs cannot read (D2)."""
    return store["present"] and not store["read_lan"], np.nan, np.nan


@candidate_criterion("-write_lan_blacklist", says="jobs cannot write to its storage", **STATUS)
def not_writable(task, queue, load, link, store, numbers):
    """Refuse queues whose storage jobs cannot write to (D2)."""
    return store["present"] and not store["write_lan"], np.nan, np.nan


@candidate_criterion("-write_wan_blacklist", says="its storage receives no files over WAN", **STATUS)
def receives_nothing(task, queue, load, link, store, numbers):
    """Refuse satellites whose storage cannot receive files over WAN.

    The deployed edition refuses queues of the nucleus as well if complete replicas of the input exist, but none there.
    """
    needs_input = task["complete_somewhere"] and not numbers["complete"]
    closed = store["present"] and not store["write_wan"]
    return closed and (needs_input or not in_nucleus(task, link)), np.nan, np.nan


@candidate_criterion("-read_wan_blacklist", says="its storage sends no files over WAN", **STATUS)
def sends_nothing(task, queue, load, link, store, numbers):
    """Refuse satellites whose storage cannot send files over WAN (D2)."""
    return store["present"] and not store["read_wan"] and not in_nucleus(task, link), np.nan, np.nan


@candidate_criterion("-source_blacklist", says="no storage with all of the input sends files over WAN",
                     applies=lambda task: task["no_remote_source"] or task["total_bytes"] > 0,
                     **STATUS | {"source": "brokerage reference, 2.5"}, editions=("deployed",))
def input_cannot_be_sent(task, queue, load, link, store, numbers):
    """Refuse satellites if no storage with a complete replica of the input sends files over WAN."""
    return task["no_remote_source"] and not in_nucleus(task, link), np.nan, np.nan


# ---- completeness of the input ---------------------------------------------------------------------------------------

FINE, INCOMPLETE, CLOSED = range(3)
"""True if a dataset can be read: it can, it is complete at no storage, or only where it cannot be read."""


class Readable(NamedTuple):
    """Ways in which the input of a task can be read.

    failure: why it cannot, empty if it can; best_part: the largest part of the dataset in question at one storage;
    remotely: whether other sites can read all of it.
    """

    failure: str = ""
    best_part: float = 1.0
    remotely: bool = True


def readable(inputs: Iterable[InputDataset], task: Task, cfg: Gdpconfig) -> Readable:
    """Ways in which the input can be read; the first dataset that cannot be read decides."""
    remotely = True
    for dataset in inputs:
        if dataset.scattered:
            continue
        found = _whole(dataset, task, cfg)
        if found.failure:
            return found
        remotely = remotely and found.remotely
    return Readable(remotely=remotely)


def _whole(dataset: InputDataset, task: Task, cfg: Gdpconfig) -> Readable:
    sources, n = np.zeros(max(len(dataset.sources), 1), SOURCE), len(dataset.sources)
    for row, source in zip(sources, dataset.sources, strict=False):
        row["part"], row["missing"], row["lan"], row["wan"] = source[1:]
    problem, best, remotely = reading_of(sources, n, task.inputprestaging, *(
        float(cfg.value(key)) for key in (jobbroker.MAX_MISSING_INPUT_FILES, jobbroker.MIN_INPUT_COMPLETENESS)))
    if problem == INCOMPLETE:
        return Readable(f"{dataset.name} is incomplete at any online storage", best)
    if problem == CLOSED:
        enough = zip(enough_at(sources, n, cfg), dataset.sources, strict=False)
        places = ",".join(sorted(source.name for is_enough, source in enough if is_enough))
        return Readable(f"{dataset.name} is only complete at {places} which is currently in downtime or offline", best)
    return Readable(best_part=best, remotely=bool(remotely))


def enough_at(sources: np.ndarray, n: int, cfg: Gdpconfig) -> list[bool]:
    """Which of the first `n` sources count as complete."""
    limits = cfg.value(jobbroker.MAX_MISSING_INPUT_FILES), cfg.value(jobbroker.MIN_INPUT_COMPLETENESS)
    return [bool(uncompiled(is_complete)(source, *limits)) for source in sources[:n]]


@compiled
def reading_of(sources, n, is_staged, most_missing, least_percent):
    """Reading of a dataset with `n` sources, of `views.SOURCE`: problem, largest part, whether by other sites.

    problem: FINE, INCOMPLETE or CLOSED; is_staged: it is brought from tape first, and so need not be complete yet;
    most_missing, least_percent: MAX_MISSING_INPUT_FILES and MIN_INPUT_COMPLETENESS.
    """
    best, n_enough, nearby, remotely = 0.0, 0, False, False
    for k in range(n):
        source = sources[k]
        best = max(best, source["part"])
        if is_complete(source, most_missing, least_percent):
            n_enough += 1
            nearby, remotely = nearby or source["lan"], remotely or source["wan"]
    if is_staged:
        return FINE, best, remotely or n_enough == 0
    if n_enough == 0:
        return INCOMPLETE, best, True
    return (FINE, best, remotely) if nearby or remotely else (CLOSED, best, True)


@compiled
def is_complete(source, most_missing, least_percent):
    """True if a replica counts as complete: it lacks little, by MAX_MISSING_INPUT_FILES or MIN_INPUT_COMPLETENESS.

    A replica without any file never counts.
    """
    return source["part"] > 0 and (source["part"] >= 1 or source["missing"] <= most_missing
                                   or 100 * source["part"] >= least_percent)


@candidate_criterion("-incomplete", unit="part of the files",
                     says="at most {value} of an input dataset at one storage, {limit} needed where it can be read",
                     applies=lambda task: task["incomplete"] or task["total_bytes"] > 0,
                     panda="check of input datasets", editions=("deployed",),
                     source="brokerage reference, 2.3 P1 (D23)")
def input_incomplete(task, queue, load, link, store, numbers):
    """Refuse every queue if an input dataset is complete, or nearly so, at no storage that may be read."""
    return task["incomplete"], task["best_part"], task["MIN_INPUT_COMPLETENESS"] / 100


# ---- input that must be moved ----------------------------------------------------------------------------------------

DISK_CLASS, TAPE_CLASS, REFUSED = range(3)
"""Classes of queues: input missing on disk may be moved, or only input missing on disk and tape, or neither."""


@compiled
def reads_much(task):
    """True if a task with input has a known ioIntensity above IO_INTENSITY_CUTOFF."""
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
"""Uncompiled, for sentences: Python takes longer to hand over a record than to do the sum."""


def files_to_move(task, queue, load, link, store, numbers) -> str:
    """Files of input that are missing at a queue, and how many may be."""
    return _fewer_files(FILES_MISSING(task, numbers["any_files"]), task["NUM_CUTOFF_TO_MOVE_INPUT"])


@lru_cache
def _fewer_files(missing: float, most: float) -> str:
    """Sentence of `files_to_move`: most queues lack the same, that is all."""
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
    """True if the queues of a task are classified by the input that they miss."""
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
    """True if the ioIntensity of a task counts."""
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
