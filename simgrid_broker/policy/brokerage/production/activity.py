"""Criteria on queue activity: pledges, idle queues, missing pilots, disk I/O, output backlog."""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.names import HIGH_PRIORITY
from simgrid_broker.policy.brokerage.production import named_values
from simgrid_broker.policy.brokerage.production.network import near_nucleus
from simgrid_broker.policy.rule import JOB_BROKERAGE, candidate_criterion
from simgrid_broker.units import HOUR

OPPORTUNISTIC = -1.0
"""Value of pledgedcpu; source: step 2."""
INACTIVE_AFTER_S = 2 * HOUR
"""A queue is inactive if no job has started for longer than this; source: step 2."""
PER_RUNNING = 2
"""Number of jobs per running job that may await output transfer; source: step 2."""
SOURCE = f"{JOB_BROKERAGE}, step 2; brokerage reference, "


@compiled
def preassigned(task):
    """True if the task names its queues, which the deployed edition spares."""
    return task["single"] or task["listed"]


@compiled
def is_careful(task):
    """True if a task does not go to opportunistic queues."""
    return (task["currentpriority"] >= HIGH_PRIORITY or task["is_scout"]) and not preassigned(task)


@compiled
def is_quick(task):
    """True if a task does not wait at inactive queues."""
    quick = task["currentpriority"] >= HIGH_PRIORITY or task["is_scout"] or task["is_merging"] or task["merge_output"]
    return quick and not preassigned(task)


@compiled
def short_of_work(task):
    """True if only pledged cores are to be used."""
    return task["WORK_SHORTAGE"] and not task["single"]


@candidate_criterion("-opportunistic", unit="cores", says="pledgedcpu {value:plain}", applies=is_careful,
                     panda="selection for opportunistic queues", stage="opportunistic check", source=SOURCE + "2.3 P5")
def opportunistic(task, queue, load, link, store, numbers):
    """Refuse opportunistic queues (pledgedcpu -1) to scouts and from priority 800 on."""
    return is_careful(task) and queue["pledgedcpu"] == OPPORTUNISTIC, queue["pledgedcpu"], 0.0


@candidate_criterion("-inactive", unit="s", says="{text}, none started for {value}", text=named_values.jobs_that_wait,
                     applies=is_quick, panda="selection for inactive queues", stage="slowness/inactive check",
                     temporary=True, source=SOURCE + "2.3")
def inactive(task, queue, load, link, store, numbers):
    """Refuse queues where jobs wait and none started for 2 h, to scouts, merging and from priority 800 on (D20).

    Activated jobs wait, in the deployed edition starting jobs as well.
    """
    waiting = load["activated_all"] + (load["starting_all"] if task["starting_counts"] else 0)
    return is_quick(task) and load["idle_s"] > INACTIVE_AFTER_S and waiting > 0, load["idle_s"], INACTIVE_AFTER_S


@candidate_criterion("-diskIO", unit="kB/s per core", says="running jobs move {value}, at most {limit}",
                     applies=lambda task: not np.isnan(task["diskio"]), panda="selection for disk IO",
                     stage="diskIO check", temporary=True, source=SOURCE + "2.3 P9")
def disk_io(task, queue, load, link, store, numbers):
    """Refuse queues whose running jobs exceed the limit of disk traffic per core, to tasks that exceed it as well.

    Unknown traffic, of a queue or a task, exceeds nothing.
    The figure of a multi-core task is divided, in whole numbers, by the cores of the queue (deployed edition).
    """
    limit = task["MAX_DISKIO_DEFAULT"] if np.isnan(queue["maxdiskio"]) else queue["maxdiskio"]
    value = task["diskio"]
    if not load["diskio"] > limit or np.isnan(value):      # nearly always: the division is as long as all other rules
        return False, load["diskio"], limit
    if task["corecount"] > 1 and queue["corecount"] > 0:
        value = value // queue["corecount"]
    return value > limit, load["diskio"], limit


@candidate_criterion("-transferring", unit="jobs", says="{value} transferring, at most {limit:plain}", 
                     panda="selection for transferring jobs", stage="transferring check", temporary=True,
                     source=SOURCE + "2.3")
def output_backlog(task, queue, load, link, store, numbers):
    """Refuse queues where transferring > max(transferringlimit, 2 x running), jobs of all shares.

    The deployed edition spares queues near the nucleus and does not count jobs whose nucleus receives no files.
    """
    limit = max(queue["transferringlimit"], float(PER_RUNNING * load["running_all"]))
    not_counted = 0 if task["all_output_counts"] else load["transferring_unwritable"]
    transferring = float(load["transferring"] - not_counted)
    spared = near_nucleus(task, link) or link["at_nucleus"] or link["unmapped"]
    concerned = task["all_output_counts"] or not spared
    return transferring > limit and concerned, transferring, limit


@candidate_criterion("-non_pledged", unit="cores", says="pledgedcpu {value:plain}, while work is short",
                     applies=short_of_work, panda="selection for pledge", stage="pledge check", source=SOURCE + "9")
def non_pledged(task, queue, load, link, store, numbers):
    """Refuse opportunistic queues (pledgedcpu -1) while work is short."""
    return short_of_work(task) and queue["pledgedcpu"] == OPPORTUNISTIC, queue["pledgedcpu"], 0.0


@candidate_criterion("-over_pledged", unit="cores", says="{value} in use, pledge {limit:plain}, while work is short",
                     applies=short_of_work, panda="selection for pledge", stage="pledge check", source=SOURCE + "9")
def over_pledged(task, queue, load, link, store, numbers):
    """Refuse queues whose running (deployed: or starting) cores exceed their pledge while work is short (D55)."""
    pledge = queue["pledgedcpu"]
    cores = float(load["cores_running"] + (load["cores_starting"] if task["starting_counts"] else 0))
    return short_of_work(task) and 0 < pledge < cores, cores, pledge


@candidate_criterion("-nopilot", unit="pilots", says="no pilot called for 3 h",
                     panda="selection for pilots", stage="pilot check",
                     temporary=True, source=SOURCE + "2.3")
def no_pilots(task, queue, load, link, store, numbers):
    """Refuse queues without pilots for 3 h.

    The deployed edition spares queues with numSlots, pre-assigned tasks, and labels with `test` that are not express.
    """
    concerned = (not task["label_test"] or task["express"]) and not preassigned(task) and load["num_slots"] < 0
    return (task["pilots_required"] or concerned) and load["n_pilot"] == 0, float(load["n_pilot"]), 1.0
