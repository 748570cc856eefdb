"""Retry bookkeeping of an ended attempt: whether its input is retried, and the failure for the retry module."""

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.dispatch_data import keep_brought
from simgrid_broker.fabric.pilots import PILOT_RSS_GRACE
from simgrid_broker.names import MOST_ATTEMPTS, JobStatus
from simgrid_broker.world.arrays import GROWING, Arrays
from simgrid_broker.world.rows import next_place, push_retry, take_retry

FAILED = int(JobStatus.FAILED)
INBOX = GROWING.index("lessons")


@compiled
def rule_of(world: Arrays, job):
    """The retry rule for the failure of a job, a row of RETRY_RULE."""
    return world.retry_rules[world.tasks[job["task"]]["retry_class"], job["cause"]]


@compiled
def failures_after(world: Arrays, job, status):
    """Failures of the input that count for maxFailure, after an attempt that ended with `status`.

    Only failed jobs count, and not those whose error is of class system; source: lifecycle reference, 3.2 and 3.4.
    """
    counts = status == FAILED and not rule_of(world, job)["system"] and job["failures"] < MOST_ATTEMPTS
    return job["failures"] + (1 if counts else 0)


@compiled
def limit_after(world: Arrays, job, status):
    """Limit of attempts that retry rules set to the input after an attempt with final `status`; 0 = no limit."""
    limit = job["attempt_limit"]
    if status != FAILED:
        return limit
    new = rule_of(world, job)["attempt_limit"]
    return new if limit == 0 or 0 < new < limit else limit


@compiled
def may_try_again(world: Arrays, job, failures, limit):
    """Whether an input may be tried again: while attemptNr < maxAttempt and failedAttempt < maxFailure.

    Source: lifecycle reference, section 3.2.
    """
    task = world.tasks[job["task"]]
    if job["attempt"] >= task["max_attempt"] or 0 < limit <= job["attempt"]:
        return False
    return task["max_failure"] == 0 or failures < task["max_failure"]


@compiled
def retry_of(world: Arrays, job_row, failures, limit):
    """Row of `retries` for the next attempt at the input of a job, not yet in a list."""
    job = world.jobs[job_row]
    row = take_retry(world, job["task"])
    retry = world.retries[row]
    retry["chunk"], retry["attempt"], retry["old_panda_id"] = job["chunk"], job["attempt"] + 1, job["panda_id"]
    retry["failures"], retry["attempt_limit"], retry["n_chunks"] = failures, limit, job["n_chunks"]
    keep_brought(retry, world.job_files[job_row])
    return row


@compiled
def put_lesson(world: Arrays, job, retry):
    """Hand a failed job to the retry module; `retry`: row of `retries` that waits for its answer, -1 = none.

    The pilot kills a payload at its memory limit, so the limit counts as the measured memory.
    """
    state = world.state[0]
    place = next_place(world, state["n_lessons"], len(world.lessons), INBOX)
    if place < 0:
        return
    lesson = world.lessons[place]
    lesson["task"], lesson["retry"], lesson["queue"] = job["task"], retry, job["queue"]
    lesson["cause"], lesson["ram_level"], lesson["n_events"] = job["cause"], job["ram_level"], job["n_events"]
    lesson["corecount"], lesson["hs06_milli"] = job["corecount"], job["hs06_milli"]
    lesson["ramcount_mb"], lesson["n_inputs"] = job["ramcount_mb"], job["n_chunks"]
    limit = PILOT_RSS_GRACE * world.pseudo_queues[job["pseudo_queue"]]["worker_mb"]
    lesson["maxpss_mb"] = min(job["maxpss_mb"], limit)
    state["n_lessons"] += 1


@compiled
def learned(world: Arrays, place, level):
    """Queue the input of the lesson at `place` for its next attempt, with the ramCount of `level`."""
    lesson = world.lessons[place]
    levels = world.ram_levels[lesson["task"]]
    if lesson["ram_level"] > 0:
        levels[lesson["ram_level"]]["inputs"] -= lesson["n_inputs"]
    if level > 0:
        levels[level]["inputs"] += lesson["n_inputs"]
    if lesson["retry"] >= 0:
        push_retry(world, lesson["task"], lesson["retry"], level)
