"""Files of a task from which jobs are cut: order of the pieces, their events, sizes and random draws, keyed by file."""

import math

import numpy as np

from simgrid_broker.compiled import compiled, uncompiled
from simgrid_broker.luck import ATTEMPTS, STREAMS, normal_quantile_of, uniform
from simgrid_broker.views import PIECE
from simgrid_broker.world.arrays import Arrays

FILE_EVENTS, FILE_SIZE = STREAMS["file_events"], STREAMS["file_size"]
ROUNDING = 1e-6
"""Part of an input that may be missing by rounding."""


@compiled
def spread_factor(seed, stream, task, chunk, sigma):
    """Log-normal factor with mean 1, keyed by the chunk of a task."""
    if sigma <= 0:
        return 1.0
    sigma = np.float64(sigma)                    # uncompiled NumPy would continue in single precision
    luck = uniform(seed, stream, task["luck"], chunk, 0)
    return math.exp(sigma * normal_quantile_of(luck) - 0.5 * sigma * sigma)


@compiled
def is_cut(world: Arrays, task_row):
    """Whether the jobs of a task are cut from files; otherwise all have one size."""
    return world.splitting[task_row]["n_files"] > 0


@compiled
def inputs_to_use(world: Arrays, task_row):
    """Inputs of a task available for jobs: JEDI's nFilesToBeUsed, limited to the scouts until they are assessed.

    Source: lifecycle reference, section 2.7.
    """
    scouts, inputs = world.scout_inputs[task_row], world.tasks[task_row]["n_jobs"]
    return min(scouts, inputs) if scouts > 0 else inputs


@compiled
def staged_inputs(world: Arrays, task_row):
    """Inputs of a task of which jobs can be made now: with inputPreStaging only those that have come from tape.

    Source: lifecycle reference, section 7.5.
    """
    inputs, task = inputs_to_use(world, task_row), world.tasks[task_row]
    unstaged = world.datasets[world.input_dataset[task_row]]["unstaged"]
    if unstaged <= 0.0 or not task["inputprestaging"]:
        return inputs
    return min(inputs, np.int64(np.floor(task["n_jobs"] * (1.0 - unstaged) + ROUNDING)))


staged_inputs_of = uncompiled(staged_inputs)
"""As `staged_inputs`, for Python, which asks so seldom that compiling takes longer."""


@compiled
def waiting_at(world: Arrays, task_row, level):
    """Pieces of a task's input at one level of ramCount that await jobs, new ones at the level of the task."""
    waiting = np.int64(world.ram_levels[task_row, level]["waiting"])
    if level == 0:
        waiting += max(0, staged_inputs(world, task_row) - world.tasks[task_row]["next_chunk"])
    return waiting


@compiled
def first_waiting(world: Arrays, task_row, level):
    """Chunk and attempt of the first input of a task at one level of ramCount that awaits a job, as one number.

    It keys the draws of queues for jobs that begin there. A retried piece comes before new input.
    """
    row = world.ram_levels[task_row, level]["head"]
    if row < 0:
        return ATTEMPTS * np.int64(world.tasks[task_row]["next_chunk"]) + 1
    return ATTEMPTS * np.int64(world.retries[row]["chunk"]) + world.retries[row]["attempt"]


@compiled
def first_event(split, piece):
    """First event of a piece, counted through all files of the task."""
    size, events = np.int64(split["events_per_piece"]), np.int64(split["events_per_file"])
    if split["across_files"]:
        return piece * size
    parts = (events + size - 1) // size
    return piece // parts * events + piece % parts * size


@compiled
def last_event(split, piece):
    """End of a piece: of its events or of its file; if events cross files, of the last file.

    Pieces of files that are added to a task later are complete.
    """
    events = np.int64(split["events_per_file"])
    first = first_event(split, piece)
    end = np.int64(split["n_files"]) * events if split["across_files"] else (first // events + 1) * events
    whole = first + split["events_per_piece"]
    return whole if first >= end else min(whole, end)


@compiled
def file_of(split, piece):
    """Number of the file in which a piece begins."""
    return first_event(split, piece) // split["events_per_file"] if split["events_per_piece"] > 0 else piece


@compiled
def last_file_of(split, piece):
    """Number of the file in which a piece ends."""
    return (last_event(split, piece) - 1) // split["events_per_file"] if split["events_per_piece"] > 0 else piece


@compiled
def events_of(world: Arrays, task_row, piece):
    """Events of a piece."""
    split, task = world.splitting[task_row], world.tasks[task_row]
    if split["events_per_piece"] > 0:
        return np.float64(last_event(split, piece) - first_event(split, piece))
    factor = spread_factor(world.settings[0]["seed"], FILE_EVENTS, task, piece, split["events_spread"])
    return max(1.0, np.float64(round(split["events_per_file"] * factor)))


@compiled
def bytes_of(world: Arrays, task_row, piece, events):
    """Size of a piece with `events` events, in proportion to the file (lifecycle reference, 2.6)."""
    split, task = world.splitting[task_row], world.tasks[task_row]
    factor = spread_factor(world.settings[0]["seed"], FILE_SIZE, task, file_of(split, piece), split["size_spread"])
    return split["file_bytes"] * factor * events / split["events_per_file"]


@compiled
def boundary_of(split, piece):
    """A number that changes with every respected lumi block or boundaryID."""
    file = file_of(split, piece)
    blocks = file // split["files_per_lumiblock"] if split["files_per_lumiblock"] > 0 else 0
    return blocks + (file // split["files_per_boundary"] if split["files_per_boundary"] > 0 else 0)


@compiled
def fill_pieces(world: Arrays, task_row, level, pieces):
    """Fill `pieces`, (k,) of PIECE, with input of a task at one level of ramCount that awaits jobs; returns the number.

    Retried pieces come first, in the order of their list; new input has the ramCount of the task.
    """
    task = world.tasks[task_row]
    n, retry = 0, world.ram_levels[task_row, level]["head"]
    while retry >= 0 and n < len(pieces):
        begin = world.retries[retry]["chunk"]
        for piece in range(begin, begin + world.retries[retry]["n_chunks"]):
            if n < len(pieces):
                fill_piece(world, task_row, piece, retry, pieces[n])
                n += 1
        retry = world.retries[retry]["next"]
    piece, end = task["next_chunk"], staged_inputs(world, task_row)
    while level == 0 and piece < end and n < len(pieces):
        fill_piece(world, task_row, piece, -1, pieces[n])
        piece += 1
        n += 1
    return n


@compiled
def fill_piece(world: Arrays, task_row, piece, retry, record):
    """Fill one record of PIECE."""
    events = events_of(world, task_row, piece)
    record["unit"], record["retry"], record["events"] = piece, retry, events
    record["bytes"] = bytes_of(world, task_row, piece, events)
    record["boundary"] = boundary_of(world.splitting[task_row], piece)


@compiled
def pieces_at_once(world: Arrays, task_row):
    """Number of pieces in the smallest job of a task: nFilesPerJob, else 1.

    Source: lifecycle reference, section 2.6 (precedence).
    """
    split = world.splitting[task_row]
    return 1 if split["neventsperjob"] else max(1, np.int64(split["nfilesperjob"]))


def jobs_to_come(arrays: Arrays, task_row: int) -> float:
    """Jobs for which a task has new input, scouts or not, if all have the smallest size."""
    task = arrays.tasks[task_row]
    return (int(task["n_jobs"]) - int(task["next_chunk"])) / pieces_at_once(arrays, task_row)


def files_left(arrays: Arrays, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Files of tasks of which jobs can be made now, and all that have no job, (n,) each."""
    tasks, split = arrays.tasks[rows], arrays.splitting[rows]
    of_piece = np.where(split["n_files"] > 0, split["n_files"] / np.maximum(tasks["n_jobs"], 1), tasks["n_input_files"])
    again = arrays.ram_levels["waiting"][rows].sum(axis=1)
    usable = np.array([int(staged_inputs_of(arrays, row)) for row in rows.tolist()], np.int64)
    return (of_piece * (again + np.maximum(usable - tasks["next_chunk"], 0)),
            of_piece * (again + tasks["n_jobs"] - tasks["next_chunk"]))


def waiting_pieces(arrays: Arrays, task_row: int, level: int, most: int) -> np.ndarray:
    """Input of a task at one level of ramCount that awaits jobs, at most `most` pieces, (k,) of PIECE."""
    pieces = np.zeros(most, PIECE)
    return pieces[:fill_pieces(arrays, task_row, level, pieces)]
