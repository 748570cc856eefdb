"""How full a queue is: the job numbers as the brokerage counts them, the weight, and the criteria about backlogs.

What lives here: compiled functions of one candidate. What does not: what a queue is for (`candidates`, `requirements`),
and the draw of queues by weight (`selection`).

Sources: PanDA brokerage documentation, production job brokerage, steps 3 and 4; brokerage reference, section 10.
"""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.policy.job_brokerage.ask import JOBBROKER
from simgrid_broker.policy.rule import criterion, factor

BOOTSTRAP_WORKERS = 20
"""Workers count as running jobs up to this number while a queue starts up; source: step 3."""
WEIGHT_OFFSET = 10
"""Added to the queued jobs in the weight; source: step 3."""
FILES_PER_HALVING = 100
"""So many missing files halve the weight; source: step 3."""
MOST_ASSIGNED = 2
"""Upper limit of manyAssigned; source: step 3."""
ROUNDING = 1e-9
"""Parts of a file below this come from rounding and are none."""

DOCUMENTED = {"source": "PanDA brokerage documentation, production job brokerage, step 4", "editions": ("documented",)}
DEPLOYED = {"source": "brokerage reference, 10.3", "editions": ("deployed",)}


@compiled
def input_is_local(ask, n):
    """Whether all input of the task is on disk at the candidate, or there is none."""
    return ask["total_bytes"] <= 0 or n["disk_bytes"] >= 1.0


@compiled
def files_missing(ask, part):
    """Files of the task's input beyond the part that is there; a file that is there in part is missing."""
    return np.ceil((1.0 - part) * ask["total_files"] - ROUNDING)


@compiled
def missing_files(ask, n):
    """Files of the task's input that are not on disk at the candidate."""
    return files_missing(ask, n["disk_files"])


@compiled
def documented_numbers(ask, queue, load, link, store, n):
    """Job numbers with the largest of the documented figures as running; source: step 3.

    The documentation does not describe the draw; a queue goes on taking jobs as long as step 4 would not refuse it.
    """
    running = float(max(load["running"], min(load["n_batch_job"], BOOTSTRAP_WORKERS)))
    if load["num_slots"] >= 0:
        running = max(running, float(load["starting"] if load["num_slots"] == 0 else load["num_slots"]))
    assigned = 0.0 if input_is_local(ask, n) else float(load["assigned"])
    ready = float(load["activated"] + load["starting"])
    queued = ready + load["defined"] + load["placed"] + assigned
    n["running"], n["assigned"], n["ready"], n["queued"] = running, assigned, ready, queued
    n["backlog"], n["cap"] = queued, 2 * running + 1


@compiled
def running_deployed(ask, queue, load):
    """Running jobs as the code finds them; source: brokerage reference, 10.1 (D57)."""
    running = float(load["running"])
    if ask["priority"] > ask["max_prio_to_bootstrap"]:
        return running
    workers = min(load["n_batch_job"], BOOTSTRAP_WORKERS)
    if queue["pull_ups"] and load["n_pilot"] != 0 and running < BOOTSTRAP_WORKERS and workers > running:
        running = float(workers)
    if load["num_slots"] == 0:
        return load["starting"] + running
    if load["num_slots"] > 0:
        return max(float(load["num_slots"] // max(queue["corecount"], 1)), running)
    return running


@compiled
def deployed_numbers(ask, queue, load, link, store, n):
    """Job numbers as the code counts them; the backlog of a unified queue is that of the task's resource type.

    Express tasks have no cap. Source: brokerage reference, 10.1 to 10.3.
    """
    running = running_deployed(ask, queue, load)
    local = input_is_local(ask, n)
    assigned = 0.0 if local else float(load["assigned"])
    ready = float(load["activated"] + load["starting"])
    backlog, busy = ready + assigned, running
    if queue["unified"] and load["running_of_type"] >= 0:
        backlog = load["queued_of_type"] + (0.0 if local else float(load["assigned_of_type"]))
        busy = max(float(load["running_of_type"]), running)
    n["running"], n["assigned"], n["ready"] = running, assigned, ready
    n["queued"] = ready + load["defined"] + load["placed"] + assigned
    n["backlog"], n["cap"] = backlog, np.inf if ask["express"] else max(ask["cut"], 2 * busy)


@factor("running/queued", panda="weight", source="PanDA brokerage documentation, production job brokerage, step 3")
@compiled
def running_over_queued(ask, queue, load, link, store, n):
    """(running + 1) / (activated + assigned + starting + defined + 10)."""
    return (n["running"] + 1) / (n["queued"] + WEIGHT_OFFSET)


@factor("1/manyAssigned", panda="weight", editions=("documented",),
        source="PanDA brokerage documentation, production job brokerage, step 3 (D56)")
@compiled
def many_assigned(ask, queue, load, link, store, n):
    """1 / max(1, min(2, assigned / activated)); without activated jobs any assigned job counts for 2."""
    assigned, activated = n["assigned"], load["activated"]
    if activated == 0:
        return 1 / MOST_ASSIGNED if assigned > 0 else 1.0
    return 1 / max(1.0, min(float(MOST_ASSIGNED), assigned / activated))


@factor("1/manyAssigned", panda="weight", editions=("deployed",), source="brokerage reference, 10.1 (D56)")
@compiled
def many_assigned_deployed(ask, queue, load, link, store, n):
    """1 / max(1, min(2, (assigned + 1) / (activated + 1))); 1 where the input is local."""
    if input_is_local(ask, n):
        return 1.0
    return 1 / max(1.0, min(float(MOST_ASSIGNED), (n["assigned"] + 1) / (load["activated"] + 1)))


@factor("data availability", panda="weight",
        source="PanDA brokerage documentation, production job brokerage, step 3; brokerage reference, 10.1")
@compiled
def data_availability(ask, queue, load, link, store, n):
    """(availableSize + totalSize) / (totalSize x (numMissingFiles / 100 + 1)); 1 without input."""
    if ask["total_bytes"] <= 0:
        return 1.0
    return (n["disk_bytes"] + 1) / (missing_files(ask, n) / FILES_PER_HALVING + 1)


@factor("bootstrap", panda="weight", editions=("deployed",), source="brokerage reference, 10.3 rule 6 (D60)",
        gdpconfig=((JOBBROKER, "MAX_PRIO_TO_BOOTSTRAP"),))
@compiled
def bootstrap(ask, queue, load, link, store, n):
    """0 for a queue without any job, which is then used first and once; 1 for the others."""
    if ask["is_merging"] or ask["express"] or ask["priority"] > ask["max_prio_to_bootstrap"]:
        return 1.0
    jobs = n["running"] + load["activated"] + load["assigned"] + load["starting"] + load["defined"] + load["placed"]
    return 1.0 if jobs > 0 else 0.0


@criterion("-cap", panda="skip queues with many activated and starting jobs", **DOCUMENTED)
@compiled
def too_many_ready(ask, queue, load, link, store, n):
    """Refuse queues where activated + starting > 2 x running (D58)."""
    return n["ready"] > 2 * n["running"], n["ready"], 2 * n["running"]


@criterion("-cap_rt", panda="skip queues with many queued jobs", **DOCUMENTED)
@compiled
def too_many_queued(ask, queue, load, link, store, n):
    """Refuse queues where defined + activated + assigned + starting > 2 x running (D58)."""
    return n["queued"] > 2 * n["running"], n["queued"], 2 * n["running"]


@criterion("-cap", panda="skip queues with many activated and starting jobs",
           gdpconfig=((JOBBROKER, "NQUEUELIMITSITE_<gshare>"),), **DEPLOYED)
@compiled
def over_cap(ask, queue, load, link, store, n):
    """Refuse queues that are not unified where activated + starting (+ assigned) > max(cut, 2 x running) (D58)."""
    return not queue["unified"] and n["backlog"] > n["cap"], n["backlog"], n["cap"]


@criterion("-cap_rt", panda="skip queues with many queued jobs of the resource type",
           gdpconfig=((JOBBROKER, "NQUEUELIMITSITE_<gshare>"),), **DEPLOYED)
@compiled
def over_cap_of_type(ask, queue, load, link, store, n):
    """Refuse queues where the queued jobs of the task's resource type exceed max(cut, 2 x running of it) (D58)."""
    if load["running_of_type"] < 0 or ask["express"]:
        return False, np.nan, np.nan
    queued = load["queued_of_type"] + (0.0 if input_is_local(ask, n) else float(load["assigned_of_type"]))
    cap = max(ask["cut"], 2 * max(float(load["running_of_type"]), n["running"]))
    return queued > cap, queued, cap


@criterion("-below_min_weight", panda="minimum weight", source="brokerage reference, 10.3 rule 7 (D23)",
           gdpconfig=((JOBBROKER, "MIN_WEIGHT_<label>[_<gshare>]"),), editions=("deployed",))
@compiled
def below_min_weight(ask, queue, load, link, store, n):
    """Refuse queues whose weight is below the minimum of the label and share; bootstrap queues are spared."""
    return 0 < n["weight"] < ask["min_weight"], n["weight"], ask["min_weight"]
