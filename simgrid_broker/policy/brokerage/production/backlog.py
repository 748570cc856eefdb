"""Job numbers of a queue as the brokerage counts them, the weight made of them, and the criteria about backlogs."""

from typing import Any

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.policy.rule import FINAL_STAGE, JOB_BROKERAGE, candidate_criterion, candidate_factor

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
