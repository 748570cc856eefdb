"""Weights of analysis: the original basic weight, the new one by classes of sites and room for the user, and the data.

Source: PanDA brokerage documentation, analysis job brokerage, step 4; brokerage reference, 11.5 (D69, D70).
"""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.names import SiteClass, TaskClass
from simgrid_broker.policy.brokerage.production.activity import BOOTSTRAP_WORKERS
from simgrid_broker.policy.rule import list_factor

STEP_4 = "PanDA brokerage documentation, analysis job brokerage, step 4"
LEAST_MAIN = 0.001
"""Main weight of a class that gets no jobs, and part of the main weight that the numerator of the room has at least."""
HI_TO_MID, HI_TO_LO, MID_TO_LO = 0.05, 0.002, 0.1
"""Main weight that the preferred class passes on to the others; source: brokerage reference, 11.5."""
TINY = 2.0**-20
GB_PER_UNIT = 10
"""Local input, GB, that counts as much as any; source: brokerage reference, 11.5."""
HI, MID, LO = int(SiteClass.HI), int(SiteClass.MID), int(SiteClass.LO)
CLASS_B, CLASS_C = int(TaskClass.B), int(TaskClass.C)

SUMS = np.dtype([("left", "f8"), ("number", "i8"), ("main", "f8")])
"""Of a class of sites: jobs that the user may still queue there, PanDA queues, and main weight; index class + 1."""


@list_factor("running/queued", panda="original basic weight", editions=("documented",), source=f"{STEP_4} (D69)")
def original(tables, number):
    """(running + 1) / (activated + assigned + starting + defined + 1), with the largest of several running numbers."""
    for k in range(len(tables.queues)):
        if tables.listed[k]:
            load, numbers = tables.load[tables.queues[k]["queue"]], tables.numbers[k]
            tables.factors[number, k] = (running_documented(load) + 1) / (numbers["queued"] + 1)


@compiled
def running_documented(load):
    """The largest number that counts as running: jobs, up to 20 workers, numSlots, or starting jobs if that is 0."""
    running = float(max(load["running"], min(load["n_batch_job"], BOOTSTRAP_WORKERS)))
    if load["num_slots"] >= 0:
        running = max(running, float(load["starting"] if load["num_slots"] == 0 else load["num_slots"]))
    return running


@list_factor("basic weight", panda="new basic weight", editions=("deployed",), source="brokerage reference, 11.5 (D70)")
def by_class(tables, number):
    """Main weight of the site's class x room for the user's jobs there + 2^-20; without classes all are one class."""
    task, sums = tables.task[0], tables.sums
    add_up(tables)
    if task["by_class"]:
        share_out(task, sums)
    else:
        merge_classes(sums, task["n_jobs_to_submit"])
    for k in range(len(tables.queues)):
        if tables.listed[k]:
            place = tables.queues[k]["queue"]
            own = sums[tables.user[place]["site_class"] + 1]
            room = room_for_user(tables.numbers[k]["left"], own, task["is_merging"])
            tables.factors[number, k] = own["main"] * room + TINY


@compiled
def add_up(tables):
    """Fill in the sums of the classes over the PanDA queues of the list, each of which counts once."""
    for place in range(len(tables.sums)):
        tables.sums[place]["left"], tables.sums[place]["number"] = 0.0, 0
        tables.sums[place]["main"] = LEAST_MAIN
    tables.counted[:] = False
    for k in range(len(tables.queues)):
        place = tables.queues[k]["queue"]
        if tables.listed[k] and not tables.counted[place]:
            tables.counted[place] = True
            own = tables.sums[tables.user[place]["site_class"] + 1]
            own["left"] += tables.numbers[k]["left"]
            own["number"] += 1


@compiled
def share_out(task, sums):
    """Fill in the main weights of the classes: the jobs of the cycle, in the order that the class of the task prefers.

    Classes that are full pass the rest on.
    """
    hi, mid, lo = sums[HI + 1], sums[MID + 1], sums[LO + 1]
    rest = min(task["n_jobs_to_submit"], hi["left"] + mid["left"] + lo["left"])
    if task["task_class"] == CLASS_C:
        lo["main"] = rest
        return
    if task["task_class"] != CLASS_B:
        hi["main"] = min(rest, hi["left"])
        rest -= hi["main"]
    mid["main"] = min(rest, mid["left"])
    lo["main"] = rest - mid["main"]
    if task["task_class"] == CLASS_B:
        if mid["main"] > 0:
            mid["main"] -= MID_TO_LO
            lo["main"] += MID_TO_LO
    elif hi["main"] > 0:
        hi["main"] -= HI_TO_MID + HI_TO_LO
        mid["main"] += HI_TO_MID
        lo["main"] += HI_TO_LO


@compiled
def merge_classes(sums, n_jobs):
    """Give each class the sums of all, and all jobs as main weight."""
    left, number = 0.0, 0
    for place in range(len(sums)):
        left += sums[place]["left"]
        number += sums[place]["number"]
    for place in range(len(sums)):
        sums[place]["left"], sums[place]["number"], sums[place]["main"] = left, number, n_jobs


@compiled
def room_for_user(left, own, is_merging):
    """Part of the room of a class that a queue has for jobs of the user; own: row of SUMS of the class."""
    rest = own["left"] - own["main"]
    if rest > 0 and not is_merging:
        return max(left - own["main"] / own["number"], LEAST_MAIN * own["main"]) / rest
    return left / own["left"] if own["left"] > 0 else 1.0 / own["number"]


@list_factor("input data", panda="data availability", editions=("deployed",), source="brokerage reference, 11.5")
def by_data(tables, number):
    """Datasets at the queue, those on tape as a thousandth; where others may be asked, 1 + local GB / 10."""
    task = tables.task[0]
    for k in range(len(tables.queues)):
        if not tables.listed[k]:
            continue
        data, factor = tables.data[tables.queues[k]["queue"]], 1.0
        if not task["with_locality"] or task["union"]:
            if task["total_gb"] > 0:
                factor += data["disk_gb"] / GB_PER_UNIT
        elif data["weight"] > 0:
            factor = data["weight"]
        tables.factors[number, k] = factor
