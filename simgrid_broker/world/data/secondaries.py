"""Secondary datasets with replicas of their own: which a task reads, and how much of its input lies at a site.

Source: brokerage reference, 1.2 (T2), 1.3 and 2.6: of a secondary dataset only complete replicas count for jobs.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simgrid_broker.compiled import compiled, uncompiled
from simgrid_broker.schema.datasets import SecondaryInput
from simgrid_broker.world.arrays import BUNCH, JOB_INPUT, SECONDARY, Arrays


class Secondary(NamedTuple):
    """A row of SECONDARY: number of the dataset, means of a piece of input, whether files are read again, and the key
    of its random draws, which no decision on a snapshot needs."""

    dataset: int
    bytes: float
    files: float
    read_again: bool
    luck: int = 0


def secondary_tables(lists: Sequence[Sequence[Secondary]], n_jobs: int) -> dict[str, np.ndarray]:
    """Tables of the lists of secondary datasets, numbered from 1 on, and of what `n_jobs` rows of jobs read."""
    sizes, most = [len(one) for one in lists], max((len(one) for one in lists), default=0)
    rows = np.zeros(sum(sizes), SECONDARY)
    for row, one in zip(rows, (each for secondaries in lists for each in secondaries), strict=True):
        for name, value in one._asdict().items():
            row[name] = value
    bunches = np.zeros(most, BUNCH)
    bunches["transfer"] = -1
    return dict(secondaries=rows, secondary_lists=np.cumsum([0, 0, *sizes]), bunches=bunches,
                job_inputs=np.zeros((n_jobs if most else 0, max(most, 1)), JOB_INPUT))


@compiled
def secondaries_of(world: Arrays, task_row):
    """First row and end of the secondary datasets of a task in their table."""
    number = world.splitting[task_row]["secondaries"]
    return world.secondary_lists[number], world.secondary_lists[number + 1]


@compiled
def version_of(world: Arrays, task_row):
    """Changes so far of the replicas of what a task reads."""
    version = world.datasets[world.input_dataset[task_row]]["version"]
    first, end = secondaries_of(world, task_row)
    for k in range(first, end):
        version += world.datasets[world.secondaries[k]["dataset"]]["version"]
    return version


@compiled
def own_part(world: Arrays, task_row):
    """Parts of a piece of a task's input that its secondary datasets do not have: of the bytes, and of the files."""
    task, size, files = world.tasks[task_row], 0.0, 0.0
    first, end = secondaries_of(world, task_row)
    for k in range(first, end):
        size += world.secondaries[k]["bytes"]
        files += world.secondaries[k]["files"]
    return max(1.0 - size / max(task["input_bytes_per_job"], 1.0), 0.0), max(1.0 - files / task["n_input_files"], 0.0)


@compiled
def master_bytes(world: Arrays, row):
    """Input of a job without what it reads of secondary datasets with replicas of their own, bytes."""
    size = np.float64(world.jobs[row]["input_bytes"])
    if len(world.job_inputs) > 0:
        for place in range(world.job_inputs.shape[1]):
            size -= world.job_inputs[row, place]["bytes"]
    return max(size, 0.0)


@compiled
def clear_inputs(world: Arrays, row):
    """Note that a new job reads no secondary dataset with replicas of its own."""
    if len(world.job_inputs) > 0:
        for place in range(world.job_inputs.shape[1]):
            read = world.job_inputs[row, place]
            read["bytes"], read["files"], read["awaited"], read["awaited_id"] = 0.0, 0, -1, 0


@compiled
def give_inputs(world: Arrays, row, inputs, k):
    """Let a job read what row k of `inputs`, (n, most of a list) of JOB_INPUT, says, unless these are none."""
    if len(inputs) > 0:
        for place in range(inputs.shape[1]):
            world.job_inputs[row, place] = inputs[k, place]


@compiled
def keep_inputs(world: Arrays, to, of):
    """Let a job read what another has read of secondary datasets with replicas of their own."""
    if len(world.job_inputs) > 0:
        for place in range(world.job_inputs.shape[1]):
            world.job_inputs[to, place] = world.job_inputs[of, place]
            world.job_inputs[to, place]["awaited_id"] = 0


secondaries_of_task, version_of_input = uncompiled(secondaries_of), uncompiled(version_of)
"""As `secondaries_of` and `version_of`, for Python, which asks so seldom that compiling takes longer."""


def inputs_of(jobs: np.ndarray, reads: np.ndarray, secondaries: Sequence[SecondaryInput]) -> np.ndarray:
    """Files and bytes that jobs read of the secondary datasets with replicas of their own, (k, n) of JOB_INPUT.

    jobs, reads: as in `policy.tasks.cutting.Room`; secondaries: all of the task.
    """
    own = [number for number, one in enumerate(secondaries) if one.dataset is not None]
    inputs = np.zeros((len(jobs), len(own)), JOB_INPUT)
    for k, job in enumerate(jobs):
        mine = reads["dataset"][job["first_read"]:job["first_read"] + job["n_reads"]]
        inputs["files"][k] = np.bincount(mine, minlength=len(secondaries))[own]
    inputs["bytes"] = inputs["files"] * np.array([secondaries[number].file_size for number in own])
    return inputs


def numbers_of(arrays: Arrays, row: int) -> list[int]:
    """Numbers of the secondary datasets with replicas of their own that a task reads."""
    first, end = secondaries_of_task(arrays, row)
    return arrays.secondaries["dataset"][first:end].tolist()
