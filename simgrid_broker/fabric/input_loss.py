"""Lost and broken input: the condition of a piece, and the rest of a job that met one; source: JEDI TWiki, protection
against lost/broken input files."""

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.attempts import may_try_again, retry_of
from simgrid_broker.luck import STREAMS, uniform
from simgrid_broker.names import Cause
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.input_files import dataset_of, file_in_task
from simgrid_broker.world.rows import push_retry

NONE, INPUT_LOST, INPUT_BROKEN = int(Cause.NONE), int(Cause.INPUT_LOST), int(Cause.INPUT_BROKEN)
INPUT_LOSS = STREAMS["input_loss"]


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
    """Whether a job failed because of its input."""
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
    world.tasks[job["task"]]["n_failed"] += 1
    give_run_back(world, job_row, job["chunk"], bad - job["chunk"], failures, limit)
    give_run_back(world, job_row, bad + 1, end - bad - 1, failures, limit)


@compiled
def give_run_back(world: Arrays, job_row, begin, count, failures, limit):
    """Queue `count` pieces of a failed job from `begin` on for another attempt, or give them up if none is left."""
    if count <= 0:
        return
    job = world.jobs[job_row]
    if not may_try_again(world, job, failures, limit):
        world.tasks[job["task"]]["n_failed"] += count
        return
    row = retry_of(world, job_row, failures, limit)
    world.retries[row]["chunk"], world.retries[row]["n_chunks"] = begin, count
    push_retry(world, job["task"], row, job["ram_level"])
