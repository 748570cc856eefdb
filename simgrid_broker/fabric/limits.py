"""DIRAC's limits at a site in a run: which task queues they exclude; source: DIRAC reference, 8.1 to 8.3.

The rules are those of `policy.dirac.limiter` and of the negative condition; a job has one owner, group and job type.
"""

from simgrid_broker.compiled import compiled
from simgrid_broker.world.task_queues import JOB_TYPE, OWNER, OWNER_GROUP

FULL = 1e-9
"""Part of a token that rounding may lose."""


@compiled
def look_at_limits(lottery, kind, queue, now):
    """Note which limits of the site and the PanDA queue of a request block."""
    for k in range(lottery.limits_of[kind, 0], lottery.limits_of[kind, 1]):
        limit = lottery.limits[k]
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
def is_shut(lottery, kind, number):
    """Whether the limits that block exclude a task queue: it has a blocked value of every attribute with any.

    Two blocked owners, or groups, exclude none, as in DIRAC.
    """
    task_queue, shut = lottery.task_queues[number], 0
    first, end = lottery.limits_of[kind, 0], lottery.limits_of[kind, 1]
    for attribute in range(JOB_TYPE + 1):
        value, own, others = value_of(task_queue, attribute), False, False
        for k in range(first, end):
            limit = lottery.limits[k]
            if limit["blocks"] and limit["attribute"] == attribute:
                own = own or limit["value"] == value
                others = others or limit["value"] != value
        if (others and not own) or (own and others and attribute != JOB_TYPE):
            return False
        shut += own
    return shut > 0


@compiled
def note_match(lottery, kind, number):
    """Count a match with a task queue at the site of a kind of request, and take a token of each delay that has one."""
    for k in range(lottery.limits_of[kind, 0], lottery.limits_of[kind, 1]):
        limit = lottery.limits[k]
        if limit["value"] == value_of(lottery.task_queues[number], limit["attribute"]):
            limit["n_jobs"] += 1
            limit["tokens"] -= 1.0 if limit["tokens"] >= 1 - FULL else 0.0


@compiled
def shut_queues(lottery, kind, queue, now, n, found):
    """Fill in which of the first `n` task queues the limits exclude."""
    look_at_limits(lottery, kind, queue, now)
    for number in range(n):
        found[number] = is_shut(lottery, kind, number)
