"""Refusals of a queue for the jobs of users: the stabilizer, bad jobs of the task, overload; marks and refusals.

Source: PanDA brokerage documentation, analysis job brokerage, step 3; brokerage reference, 3.3 A21, A22 and 11.1.
"""

from typing import Any

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.policy.brokerage.analysis.candidates import STEP_3
from simgrid_broker.policy.rule import FINAL_STAGE, candidate_criterion

LEAST_RUNNING, PER_RUNNING = 20, 2
"""Jobs that count as running at least, and jobs per running one that may be queued; source: step 3."""
ALL_SCOPES = 1
"""Value of `uses_vp` of queues where PanDA sees virtual placement: it looks at the scope of production."""
STABILIZER = f"{STEP_3}, Analysis Stabilizer; brokerage reference, 11.1"


# ---- numbers -------------------------------------------------------------------------------------------------------

@compiled
def count(task, queue, load, user, store, data, numbers):
    """Fill in the numbers of a candidate, of the task's share."""
    numbers["queued"] = load["defined"] + load["assigned"] + load["activated"] + load["starting"]
    numbers["running"] = float(load["running"])
    numbers["rate"] = to_running_rate(task, load, user)
    numbers["longest"] = longest_queue(task, load, user, numbers["rate"])
    queued = 0.0 if np.isnan(user["user_queued"]) else user["user_queued"]
    numbers["left"] = max(numbers["longest"] - queued, 0.0)


@compiled
def to_running_rate(task, load, user):
    """Jobs that begin to run in an hour: of the share by its part of the running jobs, as documented of all (D63)."""
    if not task["deployed"]:
        return user["to_running_rate"]
    if load["running_all"] == 0:
        return 0.0
    return load["running"] * user["to_running_rate"] / load["running_all"]


@compiled
def longest_queue(task, load, user, rate):
    """Jobs that the user may have queued at a queue: max_q_len of the Analysis Stabilizer.

    The deployed edition counts the row of all users as one more user (D62).
    """
    known = not np.isnan(user["users_running"])
    running = user["users_running"] if known else float(load["running"])
    users = max(user["n_users"] + (1 if known and task["deployed"] else 0), 1.0)
    own = 0.0 if np.isnan(user["user_running"]) else user["user_running"]
    part = max(1 / users, own / running if running > 0 else 0.0)
    longest = max(task["BASE_QUEUE_LENGTH_PER_PQ"], task["STATIC_MAX_QUEUE_RUNNING_RATIO"] * running,
                  task["MAX_EXPECTED_WAIT_HOUR"] * rate)
    return max(task["BASE_DEFAULT_QUEUE_LENGTH_PER_PQ_USER"], task["BASE_QUEUE_RATIO_ON_PQ"] * running, longest * part)


@compiled
def can_be_throttled(task, numbers):
    """True if the queue of the share is long enough to be kept short."""
    return (numbers["queued"] >= task["BASE_QUEUE_LENGTH_PER_PQ"]
            and numbers["queued"] >= task["BASE_EXPECTED_WAIT_HOUR_ON_PQ"] * numbers["rate"])


@compiled
def is_overloaded(task, numbers):
    """True if the share waits longer at a queue than elsewhere, or runs nothing there though jobs wait."""
    if numbers["queued"] <= task["OVERLOAD_MIN_QUEUE"]:
        return False
    return numbers["running"] == 0 or (
        numbers["queued"] / numbers["running"] > task["grand_ratio"] * task["OVERLOAD_RATIO_OFFSET"])


# ---- problems --------------------------------------------------------------------------------------------------------

def is_no_merging(task):
    """True if a rule that spares merge jobs concerns the jobs."""
    return not task["is_merging"]


BAD: Any = {"applies": is_no_merging, "stage": FINAL_STAGE, "final": True, "needs_numbers": True,
            "editions": ("deployed",)}
PASSING: Any = {"stage": "temporary check", "temporary": True, "needs_numbers": True, "editions": ("documented",)}


@candidate_criterion("-badsite", unit="jobs", says="{value} of the share queued, more than {limit}, and none running",
                     panda="problematic queues", source="brokerage reference, 3.3 A21", **BAD)
def nothing_runs(task, queue, load, user, store, data, numbers):
    """Remove queues where more than OVERLOAD_MIN_QUEUE jobs of the share wait and none runs, if no other mark did."""
    limit = task["OVERLOAD_MIN_QUEUE"]
    idle = numbers["queued"] > limit and numbers["running"] == 0
    return idle and not task["is_merging"], numbers["queued"], limit


@candidate_criterion("-badsite", unit="jobs", says="{value} of the user queued, at most {limit:plain}",
                     panda="Analysis Stabilizer", source=f"{STABILIZER} (D62, D63)", **BAD)
def long_queue_of_user(task, queue, load, user, store, data, numbers):
    """Remove queues where the user has more queued jobs of the share than the stabilizer allows."""
    throttled = can_be_throttled(task, numbers) and not task["is_merging"]
    return throttled and user["user_queued"] > numbers["longest"], user["user_queued"], numbers["longest"]


@compiled
def bad_jobs(user):
    """Jobs of the task that failed or were closed."""
    return user["failed"] + user["closed"]


@candidate_criterion("-badsite", unit="jobs", says="{value} of the task failed or closed, at most {limit:plain}",
                     panda="problematic queues", source="brokerage reference, 11.1 (D64)", **BAD)
def many_bad_jobs(task, queue, load, user, store, data, numbers):
    """Remove queues where more than max(2 x finished, MIN_BAD_JOBS_TO_SKIP_PQ) jobs of the task failed or were closed.

    Only where the stabilizer looks: the queue of the share is long, and the user has jobs there.
    """
    looked = can_be_throttled(task, numbers) and not np.isnan(user["user_queued"]) and not task["is_merging"]
    limit = max(2 * user["finished"], task["MIN_BAD_JOBS_TO_SKIP_PQ"])
    return looked and bad_jobs(user) > limit, bad_jobs(user), limit


@candidate_criterion("-badsite", unit="jobs", says="{value} of the task failed or closed, fewer than {limit:plain} may",
                     panda="closed and failed jobs", source=f"{STEP_3} (D64)", **PASSING)
def many_bad_jobs_documented(task, queue, load, user, store, data, numbers):
    """Skip queues unless fewer than max(2 x finished, MIN_BAD_JOBS_TO_SKIP_PQ) jobs of the task failed or were closed.
    """
    limit = max(2 * user["finished"], task["MIN_BAD_JOBS_TO_SKIP_PQ"])
    return bad_jobs(user) >= limit, bad_jobs(user), limit


@candidate_criterion("-overloaded", unit="jobs", says="{value} of the share queued, at most {limit:plain}",
                     panda="queued jobs", source=f"{STEP_3} (D32)", **PASSING)
def share_queue_too_long(task, queue, load, user, store, data, numbers):
    """Skip queues where defined + activated + assigned + starting > 2 x max(20, running)."""
    limit = PER_RUNNING * max(float(LEAST_RUNNING), numbers["running"])
    return numbers["queued"] > limit, numbers["queued"], limit


@candidate_criterion("-overloaded_vp", unit="jobs", says="{value} of the share queued, at most {limit:plain}",
                     panda="overloaded queues of virtual placement", source=STEP_3, stage="overload check",
                     needs_numbers=True, editions=("documented",))
def overloaded_vp_documented(task, queue, load, user, store, data, numbers):
    """Skip overloaded queues of virtual placement, which have more than 2 x max(20, running) queued jobs."""
    limit = PER_RUNNING * max(float(LEAST_RUNNING), numbers["running"])
    return queue["uses_vp"] > 0 and numbers["queued"] > limit, numbers["queued"], limit


@candidate_criterion("-user_queue", unit="jobs", says="{value} of the user queued, at most {limit:plain}",
                     panda="Analysis Stabilizer", source=f"{STABILIZER} (D62, D63)", **PASSING)
def long_queue_of_user_documented(task, queue, load, user, store, data, numbers):
    """Skip queues where the user has more queued jobs than the stabilizer allows, if their queue is long at all."""
    throttled = can_be_throttled(task, numbers)
    return throttled and user["user_queued"] > numbers["longest"], user["user_queued"], numbers["longest"]


# ---- closed jobs, data and virtual placement -------------------------------------------------------------------------

@candidate_criterion("-closed", unit="jobs", says="{value} of the task closed lately", applies=is_no_merging,
                     panda="closed jobs", stage="too many closed check", editions=("deployed",),
                     source="brokerage reference, 3.3 A9 (D33)")
def had_closed_jobs(task, queue, load, user, store, data):
    """Refuse queues where a job of the task was closed within TW_DONE_JOB_STAT hours, unless the task names its queue.
    """
    concerned = not (task["single"] or task["is_merging"])
    return concerned and user["closed"] > 0, user["closed"], 0.0


@candidate_criterion("-no_local_data", says="it does not have the input", applies=lambda task: task["has_input"],
                     panda="data locality", stage="input data check",
                     source=f"{STEP_3}; brokerage reference, 3.3 A1 and 3.4 (D29)")
def without_data(task, queue, load, user, store, data):
    """Refuse queues without the input, in the loop with data locality; PanDA logs no tag.

    As documented the check is left out for taskPriority from 2000 on, for low ioIntensity and after a long wait.
    """
    return task["with_locality"] and task["has_input"] and not data["listed"], np.nan, np.nan


@candidate_criterion("-avoid_vp", says="it reads from virtual placement", panda="virtual placement",
                     stage="avoid VP queue check", source=f"{STEP_3}; brokerage reference, 3.3 A6")
def virtual_placement(task, queue, load, user, store, data):
    """Refuse queues with virtual placement to tasks that avoid it; PanDA logs no tag.

    The deployed edition sees it only among the storages of production, and avoids it for merging, distributed input,
    input of which no queue has all, and in the loop without data locality as well.
    """
    if not task["deployed"]:
        return queue["uses_vp"] > 0 and task["avoids_vp"], np.nan, np.nan
    avoided = task["avoids_vp"] or task["union"] or task["distributed"] or not task["with_locality"]
    return queue["uses_vp"] == ALL_SCOPES and avoided, np.nan, np.nan
