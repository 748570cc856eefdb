"""Disk traffic, scratch disk, storage, wall time and pilots of a queue as analysis asks for them.

Memory and ioIntensity are asked for as in production (`job_brokerage.requirements`, `data_motion`).
"""

from typing import Any

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.policy.brokerage.analysis.candidates import STEP_3
from simgrid_broker.policy.brokerage.production import estimates, question
from simgrid_broker.policy.brokerage.production.requirements import (
    DAY_SAYS,
    DAY_UNITS,
    SCRATCH,
    WORK,
    below_a_day,
    others_want_a_day,
    scouts_want_a_day,
)
from simgrid_broker.policy.rule import candidate_criterion
from simgrid_broker.units import GIB, MIB

MIN_FREE_BYTES = 200e9
"""Space that must be free; source: step 3."""
DOCUMENTED: Any = {"editions": ("documented",), "source": STEP_3}
DEPLOYED: Any = {"editions": ("deployed",)}


@candidate_criterion("-diskIO", unit="kB/s per core", says="running jobs move {value}, at most {limit}",
                     applies=lambda task: not np.isnan(task["diskio"]), panda="selection for disk IO",
                     stage="diskIO check", source=f"{STEP_3}; brokerage reference, 3.3 A4")
def disks_too_busy(task, queue, load, user, store, data):
    """Refuse queues whose running jobs exceed the limit of disk traffic per core, to tasks that exceed it as well.

    Unknown traffic exceeds nothing. The figure of a multi-core task is divided by the cores of the queue.
    """
    limit = task["MAX_DISKIO_DEFAULT"] if np.isnan(queue["maxdiskio"]) else queue["maxdiskio"]
    value = task["diskio"]
    if not load["diskio"] > limit or np.isnan(value):
        return False, load["diskio"], limit
    if task["corecount"] > 1 and queue["slot_corecount"] > 0:
        value = value / queue["slot_corecount"]
    return value > limit, load["diskio"], limit


@compiled
def copied_mib(task, queue):
    """Disk usage of a job in whole MiB, as the deployed edition estimates it; nGBPerJob is a lower bound.

    (output for each MiB of input) x input + work space, and the input where it is copied; twice the input for merging.
    Source: brokerage reference, 8.2.
    """
    if task["is_merging"]:
        return 2 * task["input_bytes_per_job"] // MIB
    largest = 0.0 if np.isnan(task["bytes_per_job"]) else task["bytes_per_job"] // MIB
    if estimates.is_read_directly(False, task["reads_lan"], queue):
        return max(task["scratch_bytes"] // MIB,
                   (task["output_per_mib"] * largest + task["scratch_bytes"] - task["output_bytes_per_job"]) / MIB
                   if largest > 0 else 0.0)
    return max((task["scratch_bytes"] + task["input_bytes_per_job"]) // MIB, largest)


SCRATCH_DISK: Any = {"says": SCRATCH, "panda": "selection for scratch disk", "stage": "scratch disk check"}


@candidate_criterion("-disk", unit="bytes", **SCRATCH_DISK, **DOCUMENTED)
def scratch_too_small(task, queue, load, user, store, data):
    """Refuse queues whose maxwdir divided by their core count is not larger than the disk usage of a job (D50)."""
    need = task["output_bytes_per_job"] + (0.0 if np.isnan(task["workdisk_bytes"]) else task["workdisk_bytes"])
    need += 0.0 if queue["direct_io"] else task["input_bytes_per_job"]
    limit = queue["maxwdir_mb"] * 1e6 / estimates.slot_cores(queue)
    return 0 < limit <= need, need, limit


@candidate_criterion("-disk", unit="MiB", **SCRATCH_DISK, **DEPLOYED, source="brokerage reference, 3.3 A13 and 8.2")
def scratch_too_small_deployed(task, queue, load, user, store, data):
    """Refuse queues whose maxwdir, for single-core tasks per core, is below the disk usage of a job (D50, D51)."""
    limit = queue["maxwdir_mb"] / (estimates.slot_cores(queue) if task["single_core"] else 1)
    need = copied_mib(task, queue)
    return 0 < limit < need, need, limit


# ---- storage -------------------------------------------------------------------------------------------------------

STORAGE: Any = {"panda": "selection for storage", "stage": "storage space check"}
USABLE = "{value:binary} usable, {limit:binary} needed"


@candidate_criterion("-disk", unit="bytes", says="{value} free in its storage, more than {limit} needed",
                     **STORAGE, **DOCUMENTED)
def storage_nearly_full(task, queue, load, user, store, data):
    """Refuse queues whose storage does not have more than 200 GB free (D73)."""
    return store["output"] >= 0 and store["free_bytes"] <= MIN_FREE_BYTES, store["free_bytes"], MIN_FREE_BYTES


@candidate_criterion("-disk", says="no storage of its scope takes output", **STORAGE, **DEPLOYED,
                     source="brokerage reference, 3.3 A14")
def without_output(task, queue, load, user, store, data):
    """Refuse queues without any storage for the output of analysis."""
    return not store["has_output"], np.nan, np.nan


@candidate_criterion("-disk", unit="bytes", says=f"{USABLE} for output (STORAGE_MIN_FREE_SIZE_OUTPUT)", **STORAGE,
                     **DEPLOYED, source="brokerage reference, 3.3 A14")
def too_little_output_space(task, queue, load, user, store, data):
    """Refuse queues whose default storage of output has less usable space than STORAGE_MIN_FREE_SIZE_OUTPUT (D73)."""
    limit = task["STORAGE_MIN_FREE_SIZE_OUTPUT"] * GIB
    return store["usable_output"] < limit, store["usable_output"], limit


@candidate_criterion("-disk", unit="bytes", says=f"{USABLE} for input (STORAGE_MIN_FREE_SIZE)", **STORAGE, **DEPLOYED,
                     applies=lambda task: task["has_input"], source="brokerage reference, 3.3 A14")
def too_little_input_space(task, queue, load, user, store, data):
    """Refuse queues to which input would be moved without storage for it, or with too little usable space there.

    The loop without data locality moves input; one storage for input and output was looked at before.
    """
    limit = task["STORAGE_MIN_FREE_SIZE"] * GIB
    if task["with_locality"] or not task["has_input"]:
        return False, store["usable_input"], limit
    return not store["has_input"] or (not store["one"] and store["usable_input"] < limit), store["usable_input"], limit


@candidate_criterion("-blacklist", says="its storage is closed", **STORAGE,
                     source=f"{STEP_3}; brokerage reference, 2.5")
def closed_storage(task, queue, load, user, store, data):
    """Refuse queues whose storage jobs cannot read or write, or that receives or sends no files, if it has no input.

    In the deployed edition storages of every type count, and so does input that other sites cannot read.
    """
    holds = data["listed"] and task["with_locality"]
    closed = not store["read_lan"] or not store["write_lan"]
    moves = not store["write_wan"] or not store["read_wan"] or (task["deployed"] and not task["remote_source"])
    return closed or (moves and not holds), np.nan, np.nan


@candidate_criterion("-local_quota", says="the user's local quota is used up at its storage", **STORAGE, **DEPLOYED,
                     source="brokerage reference, 3.3 A14c")
def over_local_quota(task, queue, load, user, store, data):
    """Refuse queues whose default storage of output is one where the user's local quota is used up."""
    return user["over_quota"], np.nan, np.nan


# ---- wall time -----------------------------------------------------------------------------------------------------

TIME: Any = {"panda": "selection for walltime", "stage": "walltime check"}


@compiled
def knows_walltime(task):
    """True if the work of a job is known and counts: not that of merge jobs in the deployed edition."""
    return task["walltime_is_known"] and task["usual_work"] > 0 and not (task["deployed"] and task["is_merging"])


@candidate_criterion("-shortwalltime", unit="s", says="{value} needed, maxtime {limit}", applies=knows_walltime, **TIME,
                     **DOCUMENTED)
def maxtime_too_short(task, queue, load, user, store, data):
    """Refuse queues whose maxtime is below the estimated wall time; a task whose wall time is not known passes."""
    need = estimates.walltime_s(task, queue, task["usual_work"])
    return task["walltime_is_known"] and need > queue["maxtime_s"], need, queue["maxtime_s"]


@candidate_criterion("-longwalltime", unit="s", says="{value} needed, mintime {limit}", applies=knows_walltime, **TIME,
                     **DOCUMENTED)
def mintime_too_long(task, queue, load, user, store, data):
    """Refuse queues whose mintime is above the estimated wall time."""
    need = estimates.walltime_s(task, queue, task["usual_work"])
    return task["walltime_is_known"] and need < queue["mintime_s"], need, queue["mintime_s"]


@candidate_criterion("-shortwalltime", unit=WORK, text=question.unit_of_work, applies=knows_walltime,
                     says="{value:plain} {text} of work needed, {limit:plain} {text} fit into maxtime", **TIME,
                     **DEPLOYED, source="brokerage reference, 3.3 A15 and 8.3")
def maxtime_too_short_deployed(task, queue, load, user, store, data):
    """Refuse queues whose maxtime, scaled to whole HS06 s, is below the work of a job (D54)."""
    limit = estimates.work_limit(task, queue, queue["maxtime_s"])
    return knows_walltime(task) and task["usual_work"] > limit, task["usual_work"], limit


@candidate_criterion("-longwalltime", unit=WORK, text=question.unit_of_work, applies=knows_walltime,
                     says="{value:plain} {text} of work needed, mintime asks for {limit:plain} {text}", **TIME,
                     **DEPLOYED, source="brokerage reference, 3.3 A15 and 8.3")
def mintime_too_long_deployed(task, queue, load, user, store, data):
    """Refuse queues with a mintime whose scaled value is above the work of a job (D54)."""
    limit = estimates.work_limit(task, queue, queue["mintime_s"])
    return knows_walltime(task) and queue["mintime_s"] > 0 and task["usual_work"] < limit, task["usual_work"], limit


DAY_RULE: Any = {"unit": DAY_UNITS, "says": DAY_SAYS, "stage": "minimum walltime capacity check",
                 "source": f"{STEP_3}; brokerage reference, 3.3 A16 and 8.3 (D52, D53)"}


@candidate_criterion("-scout_walltime", applies=scouts_want_a_day, panda="selection for walltime of scouts", **DAY_RULE)
def no_day_for_scouts(task, queue, load, user, store, data):
    """Refuse queues with less than 24 hours, in the deployed edition of a reference core, to scouts (D52).

    The deployed edition spares a queue that the task names, unless the rule for other jobs concerns the task.
    """
    return below_a_day(task, queue, scouts_want_a_day(task))


@compiled
def others_need_a_day(task):
    """True if jobs that do not scout need queues of 24 hours: of unknown wall time, and as documented for merging."""
    return others_want_a_day(task) or (task["is_merging"] and not task["deployed"])


@candidate_criterion("-min_walltime", applies=others_need_a_day, panda="selection for undefined walltime", **DAY_RULE)
def no_day_for_unknown(task, queue, load, user, store, data):
    """Refuse queues with less than 24 hours to tasks whose wall time is not defined, as documented to merging too.

    In the deployed edition hours of a reference core (D52, D53).
    """
    return below_a_day(task, queue, others_need_a_day(task))


ABOUT_DESCRIPTIONS = (
    scratch_too_small, scratch_too_small_deployed, maxtime_too_short, maxtime_too_short_deployed, mintime_too_long,
    mintime_too_long_deployed, no_day_for_scouts, no_day_for_unknown)
"""The rules that compare what a task asks for with the description of a queue alone."""


@candidate_criterion("-nopilot", unit="pilots", says="no pilot called for 3 h", panda="selection for pilots",
                     stage="pilot activity check", source=f"{STEP_3}; brokerage reference, 3.3 A17")
def pilots_missing(task, queue, load, user, store, data):
    """Refuse queues without pilots for 3 h, in the deployed edition not to tests."""
    spared = task["deployed"] and task["label_test"]
    return load["n_pilot"] == 0 and not spared, float(load["n_pilot"]), 1.0
