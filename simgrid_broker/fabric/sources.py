"""Where the input of a job comes from: the replica that is its source, and the activity under which it is moved."""

import numpy as np

from simgrid_broker import names
from simgrid_broker.compiled import compiled
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.replicas import part_of_staged

EXPRESS, STAGING = int(names.Activity.EXPRESS), int(names.Activity.STAGING)
PRODUCTION_INPUT, ANALYSIS_INPUT = int(names.Activity.PRODUCTION_INPUT), int(names.Activity.ANALYSIS_INPUT)

FAR = 1000.0
"""Distance by which tape is further away than any site for a task whose input is staged before."""


@compiled
def best_source(world: Arrays, task_row, number, destination):
    """Source site of a dataset that a task reads (-1 = none), and the fraction missing at the destination.

    The source is the most complete replica, among equal ones the closest to the destination, with a link that is up. A
    replica of virtual placement has no files to send, and jobs at its site read through its cache. Staged input is
    brought from disk even to the site of the tape, unless no disk elsewhere has it any more.
    """
    n_sites = len(world.sites)
    best, best_fraction, best_distance, here, on_tape = -1, 0.0, 0.0, 0.0, 0.0
    place = world.datasets[number]["first_replica"]
    any_replica = place >= 0
    while place >= 0:
        replica = world.replicas[place]
        place, site = replica["next"], replica["site"]
        fraction = part_of_staged(world, task_row, number, replica["part"])
        is_staged = replica["tape"] != 0 and world.tasks[task_row]["inputprestaging"] != 0
        if site == destination:
            on_tape, here = (max(on_tape, fraction), here) if is_staged else (on_tape, max(here, fraction))
            continue
        closeness = world.links[site * n_sites + destination]["closeness"]
        if closeness == names.CLOSENESS_BLOCKED or replica["virtual"]:
            continue
        distance = np.float64(closeness) if closeness >= 0 else names.MISSING_CLOSENESS
        if is_staged:
            distance += FAR                                # what the data carousel has brought is read from disk
        if fraction > best_fraction or (fraction == best_fraction and distance < best_distance):
            best, best_fraction, best_distance = site, fraction, distance
    if best < 0:
        here = max(here, on_tape)
    if not any_replica or here >= names.COMPLETE:
        return -1, 0.0
    return best, 1.0 - here


@compiled
def is_express(world: Arrays, task):
    """Whether FTS transfers the files of a task as Express: it is urgent or of high priority."""
    settings = world.settings[0]
    return task["priority"] >= settings["express_priority"] or task["processing_type"] == settings["urgent"]


@compiled
def activity_of_input(world: Arrays, task_row, number, source):
    """Activity under which FTS transfers a dataset for a task from a site; source: lifecycle reference, section 7.2."""
    task = world.tasks[task_row]
    if (world.settings[0]["users"] >> task["label"]) & 1:
        return ANALYSIS_INPUT
    if is_express(world, task):
        return EXPRESS
    place = world.datasets[number]["first_replica"]
    while place >= 0:
        replica = world.replicas[place]
        if replica["site"] == source and not replica["tape"]:
            return PRODUCTION_INPUT
        place = replica["next"]
    return STAGING
