"""The files of a task whose jobs are cut from them: which piece of input is which, its events, its size, its luck.

What lives here: looking up pieces, which are files or parts of files. What does not: how many make a job (policy), and
what the task says of them (`schema.splitting`).

Every figure of a file is keyed by the file, so that it is the same under every policy and costs no memory.
"""

import math

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.luck import STREAMS, normal_quantile_of, uniform
from simgrid_broker.views import PIECE

FILE_EVENTS, FILE_SIZE = STREAMS["file_events"], STREAMS["file_size"]


@compiled
def spread_factor(seed, stream, task, chunk, sigma):
    """Log-normal factor with mean 1 that belongs to a chunk of a task."""
    if sigma <= 0:
        return 1.0
    sigma = np.float64(sigma)                    # NumPy alone would go on in single precision
    luck = uniform(seed, stream, task["luck"], chunk, 0)
    return math.exp(sigma * normal_quantile_of(luck) - 0.5 * sigma * sigma)


@compiled
def is_cut(world, task_row):
    """Whether the jobs of a task are cut from files, and not all of one size."""
    return world.splitting[task_row]["n_files"] > 0


@compiled
def inputs_to_use(world, task_row):
    """Inputs of a task of which jobs may be made: JEDI's nFilesToBeUsed, those of the scouts until they are assessed.

    Source: lifecycle reference, section 2.7.
    """
    scouts, inputs = world.scout_inputs[task_row], world.tasks[task_row]["n_jobs"]
    return min(scouts, inputs) if scouts > 0 else inputs


@compiled
def look_at_input(world, rows, waiting, cut):
    """Of some tasks, (n,) rows: the input of which jobs can be made, and whether these are cut from files, (n,) bool.

    waiting: (n, N_RAM_LEVELS) pieces by level of ramCount, new ones included, which have that of the task.
    """
    for k in range(len(rows)):
        row = rows[k]
        cut[k] = is_cut(world, row)
        for level in range(waiting.shape[1]):
            waiting[k, level] = world.ram_levels[row, level]["waiting"]
        waiting[k, 0] += max(0, inputs_to_use(world, row) - world.tasks[row]["next_chunk"])


@compiled
def first_event(split, piece):
    """Where a part of a file begins, counted through all files of the task."""
    size, events = np.int64(split["events_per_piece"]), np.int64(split["events_per_file"])
    if split["across_files"]:
        return piece * size
    parts = (events + size - 1) // size
    return piece // parts * events + piece % parts * size


@compiled
def last_event(split, piece):
    """Where a part of a file ends: with its events, or with its file; across files, with the last file.

    Parts of files that are added to a task later are whole.
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
def events_of(world, task_row, piece):
    """Events of a piece."""
    split, task = world.splitting[task_row], world.tasks[task_row]
    if split["events_per_piece"] > 0:
        return np.float64(last_event(split, piece) - first_event(split, piece))
    factor = spread_factor(world.settings[0]["seed"], FILE_EVENTS, task, piece, split["events_spread"])
    return max(1.0, np.float64(round(split["events_per_file"] * factor)))


@compiled
def bytes_of(world, task_row, piece, events):
    """Size of a piece of so many events; a part of a file has that part of its size (lifecycle reference, 2.6)."""
    split, task = world.splitting[task_row], world.tasks[task_row]
    factor = spread_factor(world.settings[0]["seed"], FILE_SIZE, task, file_of(split, piece), split["size_spread"])
    return split["file_bytes"] * factor * events / split["events_per_file"]


@compiled
def boundary_of(split, piece):
    """A number that changes wherever the lumi block or the boundaryID changes that are respected."""
    file = file_of(split, piece)
    blocks = file // split["files_per_lumiblock"] if split["files_per_lumiblock"] > 0 else 0
    return blocks + (file // split["files_per_boundary"] if split["files_per_boundary"] > 0 else 0)


@compiled
def fill_pieces(world, task_row, level, pieces):
    """Put the input of a task with one ramCount that awaits jobs into `pieces`, (k,) of PIECE; returns how much it is.

    What is tried again comes first, as it stands in its list; new input has the ramCount of the task.
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
    piece, end = task["next_chunk"], inputs_to_use(world, task_row)
    while level == 0 and piece < end and n < len(pieces):
        fill_piece(world, task_row, piece, -1, pieces[n])
        piece += 1
        n += 1
    return n


@compiled
def fill_piece(world, task_row, piece, retry, record):
    """Describe a piece of input."""
    events = events_of(world, task_row, piece)
    record["unit"], record["retry"], record["events"] = piece, retry, events
    record["bytes"] = bytes_of(world, task_row, piece, events)
    record["boundary"] = boundary_of(world.splitting[task_row], piece)


def pieces_at_once(arrays, task_row: int) -> int:
    """Pieces of input that the smallest job of a task has: those of nFilesPerJob, else one.

    Source: lifecycle reference, section 2.6 (precedence).
    """
    split = arrays.splitting[task_row]
    return 1 if split["neventsperjob"] else max(1, int(split["nfilesperjob"]))


def waiting_pieces(arrays, task_row: int, level: int, most: int) -> np.ndarray:
    """Input of a task with one ramCount that awaits jobs, at most so many pieces, (k,) of PIECE."""
    pieces = np.zeros(most, PIECE)
    return pieces[:fill_pieces(arrays, task_row, level, pieces)]
