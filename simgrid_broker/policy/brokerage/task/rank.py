"""The compiled frame of one decision of task brokerage: its beginning, and the draw of the nucleus."""

import math

from simgrid_broker.compiled import compiled
from simgrid_broker.views import KEPT


@compiled
def begin(task, nuclei, refused_by):
    """Leave every nucleus in the list, and see whether one of them is the parent's and how bare that is."""
    task["parent_bare"] = 0
    for k in range(len(nuclei)):
        refused_by[k] = KEPT
        if nuclei[k]["site"] == task["parent_nucleus"]:
            task["parent_bare"] = nuclei[k]["bare"]


@compiled
def is_left(refused_by, k):
    """Whether no criterion has refused nucleus k so far."""
    return refused_by[k] == KEPT


@compiled
def best_first(nuclei, uniform, refused_by, weights, order):
    """Fill `order` with the nuclei that are left, the drawn one first, then by weight; returns how many there are."""
    n_left = 0
    for k in range(len(nuclei)):
        if is_left(refused_by, k):
            place = n_left
            while place > 0 and weights[order[place - 1]] < weights[k]:
                order[place] = order[place - 1]
                place -= 1
            order[place] = k
            n_left += 1
    if n_left:
        first, place = drawn(nuclei, uniform, refused_by, weights), 0
        while order[place] != first:
            place += 1
        while place > 0:
            order[place] = order[place - 1]
            place -= 1
        order[0] = first
    return n_left


@compiled
def drawn(nuclei, uniform, refused_by, weights):
    """The nucleus drawn of those that are left: by numbers of their own where they have some, else on the wheel."""
    if math.isnan(nuclei[0]["draw"]):
        return on_wheel(uniform, refused_by, weights)
    return in_race(nuclei, refused_by, weights)


@compiled
def on_wheel(uniform, refused_by, weights):
    """The candidate that one number draws, likely in proportion to its weight; -1 if none is left.

    They are walked in list order; if all weights are 0 the first one is taken. Source: brokerage reference, 1.4.
    """
    total = 0.0
    for k in range(len(weights)):
        if is_left(refused_by, k):
            total += weights[k]
    so_far, last = 0.0, -1
    for k in range(len(weights)):
        if is_left(refused_by, k):
            so_far, last = so_far + weights[k], k
            if so_far >= uniform * total:
                return k
    return last


@compiled
def in_race(nuclei, refused_by, weights):
    """The first in a race of exponential times, as likely as on the wheel; the first if all weights are 0.

    A change of one weight changes few draws.
    """
    best, first = math.inf, -1
    for k in range(len(weights)):
        if is_left(refused_by, k):
            time = -math.log(nuclei[k]["draw"]) / weights[k] if weights[k] != 0 else math.inf
            if first < 0 or time < best:
                best, first = time, k
    return first
