"""Jobs in DIRAC's task queues, in each a list by age, and the draw of a task queue among those that match.

The list is threaded through a table with the columns panda_id, sibling (the next younger one) and previous.

The draw takes the task queue with the smallest U/p, without a look at all of them. Numbers U/p are walked in ascending
order until the first one belongs to a task queue that matches. Task queues lie in bins by CPU class and by a power of
four that is not below their priority p, the top of the bin. In a bin of n, of which some are done, the next number of a
uniform draw on (0, 1/top) follows from those before, and belongs to any of those that are left; it is accepted with
probability p/top, which makes it a draw of U/p below 1/top, and otherwise U/p lies beyond 1/top. The law is exactly
that of a number for each task queue. Source: DIRAC reference, sections 9 and 14.

Limits at a site exclude task queues from the draw (DIRAC reference, 8.1 to 8.3), by the rules of
`systems.dirac.policy.priorities` and of the negative condition; a job has one owner, group and job type.
"""

import math

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.luck import STREAMS, uniform
from simgrid_broker.world.task_queues import JOB_TYPE, LEAST_POWER, N_BINS, OWNER, OWNER_GROUP

LOG_4 = math.log(4.0)
DIRAC_QUEUE = STREAMS["dirac_queue"]
FULL = 1e-9
"""Part of a token that rounding may lose."""


@compiled
def put_waiting(draw, nodes, number, row):
    """Put a job into a task queue, by age; jobs mostly come in that order."""
    queue, node = draw.task_queues[number], nodes[row]
    before, after = queue["tail"], -1
    while before >= 0 and nodes[before]["panda_id"] > node["panda_id"]:
        before, after = nodes[before]["previous"], before
    node["previous"], node["sibling"] = before, after
    if before < 0:
        queue["head"] = row
    else:
        nodes[before]["sibling"] = row
    if after < 0:
        queue["tail"] = row
    else:
        nodes[after]["previous"] = row
    queue["n_jobs"] += 1
    if queue["n_jobs"] == 1:
        enter_draw(draw, number)


@compiled
def stop_waiting(draw, nodes, number, row):
    """Take a job out of any place of a task queue; an empty one leaves the draw."""
    queue, before, after = draw.task_queues[number], nodes[row]["previous"], nodes[row]["sibling"]
    if before < 0:
        queue["head"] = after
    else:
        nodes[before]["sibling"] = after
    if after < 0:
        queue["tail"] = before
    else:
        nodes[after]["previous"] = before
    queue["n_jobs"] -= 1
    if queue["n_jobs"] == 0:
        leave_draw(draw, number)


@compiled
def one_of_the_oldest(draw, nodes, number, window, luck):
    """Row of one of the `window` oldest jobs of a task queue; luck: uniform number. DIRAC reference, section 10."""
    queue = draw.task_queues[number]
    row = queue["head"]
    for _ in range(int(luck * min(queue["n_jobs"], window))):
        row = nodes[row]["sibling"]
    return row


@compiled
def bin_of(queue):
    """Bin of a task queue by its CPU class and priority."""
    power = int(math.ceil(math.log(queue["priority"]) / LOG_4 - 1e-9)) - LEAST_POWER
    return queue["cpu_class"] * N_BINS + min(max(power, 0), N_BINS - 1)


@compiled
def enter_draw(draw, number):
    """Put a task queue into the draw."""
    queue = draw.task_queues[number]
    where = bin_of(queue)
    queue["bin"], queue["place"] = where, draw.n_drawable[where]
    draw.drawable[where, queue["place"]] = number
    draw.n_drawable[where] += 1
    for kind in range(len(draw.n_open)):
        draw.n_open[kind] += draw.accepts[kind, number]


@compiled
def leave_draw(draw, number):
    """Take a task queue out of the draw."""
    queue = draw.task_queues[number]
    where, last = queue["bin"], draw.n_drawable[queue["bin"]] - 1
    swap(draw, where, queue["place"], last)
    draw.n_drawable[where] = last
    queue["bin"] = queue["place"] = -1
    for kind in range(len(draw.n_open)):
        draw.n_open[kind] -= draw.accepts[kind, number]


@compiled
def set_priority(draw, number, priority):
    """Change the priority of a task queue, in the draw or not."""
    queue = draw.task_queues[number]
    drawn = queue["bin"] >= 0
    if drawn:
        leave_draw(draw, number)
    queue["priority"] = priority
    if drawn:
        enter_draw(draw, number)


@compiled
def swap(draw, where, one, other):
    """Exchange two places of a bin."""
    first, second = draw.drawable[where, one], draw.drawable[where, other]
    draw.drawable[where, one], draw.drawable[where, other] = second, first
    draw.task_queues[first]["place"], draw.task_queues[second]["place"] = other, one


@compiled
def drawn_queue(draw, kind, first_class, last_class, seed, a, b):
    """Task queue that a request of a kind draws from the classes first_class to last_class - 1; -1 = none matches.

    a, b: key of the draw.
    """
    if draw.n_open[kind] == 0:
        return -1
    n_draws, n_walks, best, best_key = 0, 0, -1, np.inf
    has_limits = draw.limits_of[kind, 0] < draw.limits_of[kind, 1]
    for where in range(first_class * N_BINS, last_class * N_BINS):
        if draw.n_drawable[where] > 0:
            walk = draw.walks[n_walks]
            walk["bin"], walk["left"], walk["key"] = where, draw.n_drawable[where], 0.0
            walk["top"] = 4.0 ** (where % N_BINS + LEAST_POWER)
            step(walk, uniform(seed, DIRAC_QUEUE, a, b, n_draws))
            n_walks += 1
            n_draws += 1
    while True:
        nearest = -1
        for k in range(n_walks):
            if draw.walks[k]["key"] < best_key and (
                    nearest < 0 or draw.walks[k]["key"] < draw.walks[nearest]["key"]):
                nearest = k
        if nearest < 0:
            return best
        walk = draw.walks[nearest]
        pick = int(uniform(seed, DIRAC_QUEUE, a, b, n_draws) * walk["left"])
        number, walk["left"] = draw.drawable[walk["bin"], pick], walk["left"] - 1
        swap(draw, walk["bin"], pick, walk["left"])
        if draw.accepts[kind, number] and not (has_limits and is_shut(draw, kind, number)):
            part = draw.task_queues[number]["priority"] / walk["top"]
            luck = uniform(seed, DIRAC_QUEUE, a, b, n_draws + 1)
            if luck < part:
                return number
            beyond = (1.0 + (luck - part) / (1.0 - part) * (1.0 / part - 1.0)) / walk["top"]
            if beyond < best_key:
                best, best_key = number, beyond
        step(walk, uniform(seed, DIRAC_QUEUE, a, b, n_draws + 2))
        n_draws += 3


@compiled
def step(walk, luck):
    """Go on to the next number of a bin: the smallest of those that are left, all uniform between here and 1/top."""
    if walk["left"] == 0:
        walk["key"] = np.inf
        return
    rest = 1.0 - walk["key"] * walk["top"]
    walk["key"] += rest * -math.expm1(math.log(luck) / walk["left"]) / walk["top"]


@compiled
def look_at_limits(draw, kind, queue, now):
    """Note which limits of the site and the PanDA queue of a request block."""
    for k in range(draw.limits_of[kind, 0], draw.limits_of[kind, 1]):
        limit = draw.limits[k]
        if limit["delay_s"] > 0:
            limit["tokens"] = min(limit["tokens"] + (now - limit["since_s"]) / limit["delay_s"], limit["burst"])
            limit["since_s"] = now
        limit["blocks"] = (limit["queue"] < 0 or limit["queue"] == queue) and (
            0 <= limit["most"] <= limit["n_jobs"] or (limit["delay_s"] > 0 and limit["tokens"] < 1 - FULL))


@compiled
def value_of(queue, attribute):
    """Value of an attribute of the jobs of a task queue."""
    if attribute == OWNER:
        return queue["owner"]
    return queue["owner_group"] if attribute == OWNER_GROUP else queue["job_type"]


@compiled
def is_shut(draw, kind, number):
    """True if the limits that block exclude a task queue: it has a blocked value of every attribute that has any.

    Two blocked owners, or groups, exclude none, as in DIRAC.
    """
    task_queue, shut = draw.task_queues[number], 0
    first, end = draw.limits_of[kind, 0], draw.limits_of[kind, 1]
    for attribute in range(JOB_TYPE + 1):
        value, own, others = value_of(task_queue, attribute), False, False
        for k in range(first, end):
            limit = draw.limits[k]
            if limit["blocks"] and limit["attribute"] == attribute:
                own = own or limit["value"] == value
                others = others or limit["value"] != value
        if (others and not own) or (own and others and attribute != JOB_TYPE):
            return False
        shut += own
    return shut > 0


@compiled
def note_match(draw, kind, number):
    """Count a match with a task queue at the site of a kind of request, and take a token of each delay that has one."""
    for k in range(draw.limits_of[kind, 0], draw.limits_of[kind, 1]):
        limit = draw.limits[k]
        if limit["value"] == value_of(draw.task_queues[number], limit["attribute"]):
            limit["n_jobs"] += 1
            limit["tokens"] -= 1.0 if limit["tokens"] >= 1 - FULL else 0.0


@compiled
def shut_queues(draw, kind, queue, now, n, mask):
    """Fill in which of the first `n` task queues the limits exclude."""
    look_at_limits(draw, kind, queue, now)
    for number in range(n):
        mask[number] = is_shut(draw, kind, number)
