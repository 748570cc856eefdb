"""Retry bookkeeping of an ended attempt: its input is retried or given up, the retry module learns of the failure, and
lost or broken input is skipped; source: JEDI TWiki, protection against lost/broken input files."""

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.transfers.dispatch_data import keep_brought
from simgrid_broker.luck import STREAMS, uniform
from simgrid_broker.names import MOST_ATTEMPTS, PILOT_RSS_GRACE, Cause, JobStatus
from simgrid_broker.world.arrays import GROWING, Arrays
from simgrid_broker.world.rows import next_place, push_retry, take_retry
from simgrid_broker.world.tasks.input_files import dataset_of, file_in_task, give_up_pieces

FAILED = int(JobStatus.FAILED)
INBOX = GROWING.index("lessons")
NONE, INPUT_LOST, INPUT_BROKEN = int(Cause.NONE), int(Cause.INPUT_LOST), int(Cause.INPUT_BROKEN)
INPUT_LOSS = STREAMS["input_loss"]


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
    """True if an input may be tried again: while attemptNr < maxAttempt and failedAttempt < maxFailure.

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


@compiled
def lost_part(world: Arrays, task_row, piece):
    """Part of the dataset of a piece that is gone: for the task alone, or because no replica of a shared one has it."""
    own = world.input_loss[task_row]["lost"]
    return 1.0 - (1.0 - own) * (1.0 - world.datasets[dataset_of(world, task_row, piece)]["lost"])


@compiled
def condition(world: Arrays, task_row, piece):
    """INPUT_LOST or INPUT_BROKEN if the file of a piece is, else NONE; the random draw is keyed by the file."""
    loss, lost = world.input_loss[task_row], lost_part(world, task_row, piece)
    if lost <= 0 and loss["broken"] <= 0:
        return NONE
    seed, luck = world.settings[0]["seed"], world.tasks[task_row]["luck"]
    file = file_in_task(world, task_row, piece)
    if uniform(seed, INPUT_LOSS, luck, file, 0) < lost:
        return INPUT_LOST
    return INPUT_BROKEN if uniform(seed, INPUT_LOSS, luck, file, 1) < loss["broken"] else NONE


@compiled
def first_bad(world: Arrays, job):
    """The first piece of a job's input that is lost or broken, -1 if none is."""
    if lost_part(world, job["task"], job["chunk"]) > 0 or world.input_loss[job["task"]]["broken"] > 0:
        for piece in range(job["chunk"], job["chunk"] + job["n_chunks"]):
            if condition(world, job["task"], piece) != NONE:
                return piece
    return -1


@compiled
def is_bad(cause):
    """True if a job failed because of its input."""
    return cause == INPUT_LOST or cause == INPUT_BROKEN


@compiled
def skip_bad(world: Arrays, job_row, failures, limit):
    """Give up the bad piece of a job, and queue the pieces before and after it again, in at most two runs.

    The caller makes room.
    """
    job = world.jobs[job_row]
    bad, end = first_bad(world, job), job["chunk"] + job["n_chunks"]
    if bad < 0:                                            # it has been recovered
        give_run_back(world, job_row, job["chunk"], job["n_chunks"], failures, limit)
        return
    give_up_pieces(world, job["task"], bad, 1)
    give_run_back(world, job_row, job["chunk"], bad - job["chunk"], failures, limit)
    give_run_back(world, job_row, bad + 1, end - bad - 1, failures, limit)


@compiled
def give_run_back(world: Arrays, job_row, begin, count, failures, limit):
    """Queue `count` pieces of a failed job from `begin` on for another attempt, or give them up if none is left."""
    if count <= 0:
        return
    job = world.jobs[job_row]
    if not may_try_again(world, job, failures, limit):
        give_up_pieces(world, job["task"], begin, count)
        return
    row = retry_of(world, job_row, failures, limit)
    world.retries[row]["chunk"], world.retries[row]["n_chunks"] = begin, count
    push_retry(world, job["task"], row, job["ram_level"])
