"""Criteria on queue activity: pledges, idle queues, missing pilots, disk I/O, output backlog, and job numbers of a
queue as the brokerage counts them, with the weight made of them."""

from typing import Any

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.names import HIGH_PRIORITY
from simgrid_broker.policy.brokerage.production import question
from simgrid_broker.policy.brokerage.production.network import near_nucleus
from simgrid_broker.policy.rule import FINAL_STAGE, JOB_BROKERAGE, candidate_criterion, candidate_factor
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


@candidate_criterion("-inactive", unit="s", says="{text}, none started for {value}", text=question.jobs_that_wait,
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


BOOTSTRAP_WORKERS = 20
"""Workers count as running jobs up to this number while a queue starts up; source: step 3."""
WEIGHT_OFFSET = 10
"""Added to the queued jobs in the weight; source: step 3."""
FILES_PER_HALVING = 100
"""Number of missing files that halves the weight; source: step 3."""
MOST_ASSIGNED = 2
"""Upper limit of manyAssigned; source: step 3."""
ROUNDING = 1e-9
"""Fractions of a file below this are rounding errors."""

DOCUMENTED: Any = {"source": f"{JOB_BROKERAGE}, step 4", "editions": ("documented",)}
DEPLOYED: Any = {"source": "brokerage reference, 10.3", "stage": FINAL_STAGE, "final": True,
                 "editions": ("deployed",)}


@compiled
def input_is_local(task, numbers):
    """True if all input of the task is on disk at the candidate, or there is none."""
    return task["total_bytes"] <= 0 or numbers["disk_bytes"] >= 1.0


@compiled
def files_missing(task, part):
    """Files of the task's input beyond the fraction at hand; a file that is there in part is missing."""
    return np.ceil((1.0 - part) * task["total_files"] - ROUNDING)


@compiled
def documented_numbers(task, queue, load, link, store, numbers):
    """Job numbers with the largest of the documented figures as running; source: step 3.

    The documentation does not describe the draw; a queue takes jobs while step 4 would not refuse it.
    """
    running = float(max(load["running"], min(load["n_batch_job"], BOOTSTRAP_WORKERS)))
    if load["num_slots"] >= 0:
        running = max(running, float(load["starting"] if load["num_slots"] == 0 else load["num_slots"]))
    assigned = 0.0 if input_is_local(task, numbers) else float(load["assigned"])
    ready = float(load["activated"] + load["starting"])
    queued = ready + load["defined"] + load["placed"] + assigned
    numbers["running"], numbers["assigned"], numbers["ready"], numbers["queued"] = running, assigned, ready, queued
    numbers["backlog"], numbers["cap"] = queued, 2 * running + 1


@compiled
def running_deployed(task, queue, load):
    """Running jobs as the deployed edition counts them, workers only where the task names no queue.

    Source: brokerage reference, 10.1 (D57).
    """
    running = float(load["running"])
    if task["currentpriority"] > task["MAX_PRIO_TO_BOOTSTRAP"]:
        return running
    workers = 0 if task["single"] or task["listed"] else min(load["n_batch_job"], BOOTSTRAP_WORKERS)
    if queue["pull_ups"] and load["n_pilot"] != 0 and running < BOOTSTRAP_WORKERS and workers > running:
        running = float(workers)
    if load["num_slots"] == 0:
        return load["starting"] + running
    if load["num_slots"] > 0:
        return max(float(load["num_slots"] // max(queue["corecount"], 1)), running)
    return running


@compiled
def deployed_numbers(task, queue, load, link, store, numbers):
    """Job numbers as the deployed edition counts them; the backlog of a unified queue is that of the resource type.

    Express tasks have no cap. Source: brokerage reference, 10.1 to 10.3.
    """
    running = running_deployed(task, queue, load)
    local = input_is_local(task, numbers)
    assigned = 0.0 if local else float(load["assigned"])
    ready = float(load["activated"] + load["starting"])
    backlog, busy = ready + assigned, running
    if queue["unified"]:
        known = load["running_of_type"] >= 0
        backlog = load["queued_of_type"] + (0.0 if local else float(load["assigned_of_type"])) if known else 0.0
        busy = max(float(load["running_of_type"]), running) if known else 0.0
    numbers["running"], numbers["assigned"], numbers["ready"] = running, assigned, ready
    numbers["queued"] = ready + load["defined"] + load["placed"] + assigned
    numbers["backlog"], numbers["cap"] = backlog, np.inf if task["express"] else max(task["NQUEUELIMITSITE"], 2 * busy)


@candidate_factor("running/queued", panda="weight", source=f"{JOB_BROKERAGE}, step 3")
def running_over_queued(task, queue, load, link, store, numbers):
    """(running + 1) / (activated + assigned + starting + defined + 10)."""
    return (numbers["running"] + 1) / (numbers["queued"] + WEIGHT_OFFSET)


@candidate_factor("1/manyAssigned", panda="weight", source=f"{JOB_BROKERAGE}, step 3; brokerage reference, 10.1 (D56)")
def many_assigned(task, queue, load, link, store, numbers):
    """1 / max(1, min(2, assigned / activated)); without activated jobs any assigned job counts for 2.

    The deployed edition adds 1 to both numbers. The factor is 1 where the input is local, as no job counts as assigned.
    """
    assigned, activated = numbers["assigned"] + task["assigned_offset"], load["activated"] + task["assigned_offset"]
    if activated == 0:
        return 1 / MOST_ASSIGNED if assigned > 0 else 1.0
    return 1 / max(1.0, min(float(MOST_ASSIGNED), assigned / activated))


@candidate_factor("data availability", panda="weight", source=f"{JOB_BROKERAGE}, step 3; brokerage reference, 10.1")
def data_availability(task, queue, load, link, store, numbers):
    """(availableSize + totalSize) / (totalSize x (numMissingFiles / 100 + 1)); 1 without input."""
    if task["total_bytes"] <= 0:
        return 1.0
    if queue["use_only_local_data"] and task["local_only_refuses"] and not input_is_local(task, numbers):
        return 1.0                                                       # it is refused, and not weighed by its input
    return (numbers["disk_bytes"] + 1) / (files_missing(task, numbers["disk_files"]) / FILES_PER_HALVING + 1)


@candidate_factor("bootstrap", panda="weight", before="-below_min_weight", editions=("deployed",),
                  source="brokerage reference, 10.3 rule 6 (D60)")
def bootstrap(task, queue, load, link, store, numbers):
    """0 for a queue without any job, which is then used first and once; 1 for the others."""
    if task["is_merging"] or task["express"] or task["currentpriority"] > task["MAX_PRIO_TO_BOOTSTRAP"]:
        return 1.0
    jobs = (numbers["running"] + load["activated"] + load["assigned"] + load["starting"] + load["defined"]
            + load["placed"])
    return 1.0 if jobs > 0 else 0.0


@candidate_criterion("-cap", unit="jobs", says="{value} activated and starting, at most {limit:plain}",
                     panda="skip queues with many activated and starting jobs", needs_numbers=True, **DOCUMENTED)
def too_many_ready(task, queue, load, link, store, numbers):
    """Refuse queues where activated + starting > 2 x running (D58)."""
    return numbers["ready"] > 2 * numbers["running"], numbers["ready"], 2 * numbers["running"]


@candidate_criterion("-cap_rt", unit="jobs", says="{value} queued, at most {limit:plain}",
                     panda="skip queues with many queued jobs", needs_numbers=True, **DOCUMENTED)
def too_many_queued(task, queue, load, link, store, numbers):
    """Refuse queues where defined + activated + assigned + starting > 2 x running (D58)."""
    return numbers["queued"] > 2 * numbers["running"], numbers["queued"], 2 * numbers["running"]


@candidate_criterion("-lock", says="another broker has locked it", panda="lock of another broker", cap=True, **DEPLOYED)
def locked(task, queue, load, link, store, numbers):
    """Refuse candidates that another broker holds a lock on."""
    return queue["locked"], np.nan, np.nan


@candidate_criterion("-cap", unit="jobs", says="{value} activated, starting and assigned, at most {limit:plain}",
                     panda="skip queues with many activated and starting jobs", needs_numbers=True, **DEPLOYED)
def over_cap(task, queue, load, link, store, numbers):
    """Refuse queues that are not unified where activated + starting (+ assigned) > max(cut, 2 x running) (D58)."""
    return not queue["unified"] and numbers["backlog"] > numbers["cap"], numbers["backlog"], numbers["cap"]


@candidate_criterion("-cap_rt", unit="jobs", says="{value} of the resource type queued, at most {limit:plain}",
                     panda="skip queues with many queued jobs of the resource type", needs_numbers=True, **DEPLOYED)
def over_cap_of_type(task, queue, load, link, store, numbers):
    """Refuse queues where the queued jobs of the task's resource type exceed max(cut, 2 x running of it) (D58)."""
    if load["running_of_type"] < 0 or task["express"]:
        return False, np.nan, np.nan
    queued = load["queued_of_type"] + (0.0 if input_is_local(task, numbers) else float(load["assigned_of_type"]))
    cap = max(task["NQUEUELIMITSITE"], 2 * max(float(load["running_of_type"]), numbers["running"]))
    return queued > cap, queued, cap


@candidate_criterion("+usejumbo", says="set apart for the jumbo jobs of the task",
                     applies=lambda task: task["jumbo_apart"], panda="queues for jumbo jobs", cap=True, **DEPLOYED)
def set_apart(task, queue, load, link, store, numbers):
    """Refuse queues with useJumboJobs, kept for the jumbo jobs of the task, unless its next jobs are such."""
    return task["jumbo_apart"] and queue["use_jumbo_jobs"], np.nan, np.nan


@candidate_criterion("-below_min_weight", unit="weight", says="weight {value}, at least {limit} needed",
                     applies=lambda task: task["MIN_WEIGHT"] > 0, panda="minimum weight", stage=FINAL_STAGE, final=True,
                     needs_numbers=True, editions=("deployed",),
                     source="brokerage reference, 10.3 rule 7 (D23)")
def below_min_weight(task, queue, load, link, store, numbers):
    """Refuse queues whose weight is below the minimum of the label and share; bootstrap queues are spared."""
    return 0 < numbers["weight"] < task["MIN_WEIGHT"], numbers["weight"], task["MIN_WEIGHT"]
