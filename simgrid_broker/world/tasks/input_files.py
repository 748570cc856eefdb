"""Files of a task from which jobs are cut: order of the pieces, their events, sizes and random draws, keyed by file."""

import math

import numpy as np

from simgrid_broker.compiled import compiled, uncompiled
from simgrid_broker.luck import ATTEMPTS, STREAMS, normal_quantile_of, uniform
from simgrid_broker.units import MIB
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
    """True if the jobs of a task are cut from files; otherwise all have one size."""
    return world.splitting[task_row]["n_files"] > 0


@compiled
def inputs_to_use(world: Arrays, task_row):
    """Inputs of a task available for jobs: JEDI's nFilesToBeUsed, limited to the scouts until they are assessed.

    Source: lifecycle reference, section 2.7.
    """
    scouts, inputs = world.scout_inputs[task_row], world.tasks[task_row]["n_jobs"]
    return min(scouts, inputs) if scouts > 0 else inputs


@compiled
def reads_container(world: Arrays, task_row):
    """True if a task reads all datasets of a container, its members."""
    return world.containers[task_row]["number"] > 0


@compiled
def member_of(world: Arrays, task_row, piece):
    """Row of the member in which a piece of a task with a container lies; pieces never cross members."""
    container = world.containers[task_row]
    row, last = np.int64(container["first"]), container["first"] + container["number"] - 1
    while row < last and world.members[row + 1]["first_piece"] <= piece:
        row += 1
    return row


@compiled
def dataset_of(world: Arrays, task_row, piece):
    """Number of the dataset in which a piece of a task's input lies."""
    if not reads_container(world, task_row):
        return np.int64(world.input_dataset[task_row])
    return np.int64(world.members[member_of(world, task_row, piece)]["dataset"])


@compiled
def staged_of(world: Arrays, task_row, number, pieces):
    """Number of the pieces of a dataset that a task may use: with inputPreStaging those that have come from tape.

    Source: lifecycle reference, section 7.5.
    """
    unstaged = world.datasets[number]["unstaged"]
    if unstaged <= 0.0 or not world.tasks[task_row]["inputprestaging"]:
        return np.int64(pieces)
    return np.int64(np.floor(pieces * (1.0 - unstaged) + ROUNDING))


@compiled
def new_pieces(world: Arrays, task_row, row):
    """Pieces of a member of a task's container that may be used and have no job."""
    member = world.members[row]
    return max(0, staged_of(world, task_row, member["dataset"], member["n_pieces"]) - member["used"])


@compiled
def next_member(world: Arrays, task_row, after):
    """Row of the first member of a task's container behind a row that has new pieces; -1 = none has any."""
    container = world.containers[task_row]
    for row in range(container["first"], container["first"] + container["number"]):
        if row > after and new_pieces(world, task_row, row) > 0:
            return np.int64(row)
    return np.int64(-1)


@compiled
def fresh_member(world: Arrays, task_row):
    """Row of the member of which the next new pieces are: the one in hand, else the first that has any; -1 = none."""
    now = np.int64(world.containers[task_row]["now"])
    return now if new_pieces(world, task_row, now) > 0 else next_member(world, task_row, -1)


@compiled
def next_piece(world: Arrays, task_row):
    """The next piece of a task's input of which no job was ever made."""
    if reads_container(world, task_row):
        row = fresh_member(world, task_row)
        if row >= 0:
            return np.int64(world.members[row]["first_piece"] + world.members[row]["used"])
    return np.int64(world.tasks[task_row]["next_chunk"])


@compiled
def use_pieces(world: Arrays, task_row, pieces):
    """Note that a job was made of the next new pieces of a task's input."""
    row = fresh_member(world, task_row) if reads_container(world, task_row) else -1
    if row >= 0:
        world.members[row]["used"] += pieces
    world.tasks[task_row]["next_chunk"] += pieces


@compiled
def finish_pieces(world: Arrays, task_row, piece, pieces):
    """Count pieces of a dataset of a task, from `piece` on, as processed."""
    world.tasks[task_row]["n_finished"] += pieces
    if reads_container(world, task_row):
        world.members[member_of(world, task_row, piece)]["n_finished"] += pieces


@compiled
def give_up_pieces(world: Arrays, task_row, piece, pieces):
    """Count pieces of a dataset of a task, from `piece` on, as given up; a negative number takes them back."""
    world.tasks[task_row]["n_failed"] += pieces
    if reads_container(world, task_row):
        world.members[member_of(world, task_row, piece)]["n_failed"] += pieces


@compiled
def staged_inputs(world: Arrays, task_row):
    """Inputs of a task of which jobs were or can be made now; source: lifecycle reference, section 7.5."""
    inputs, task = inputs_to_use(world, task_row), world.tasks[task_row]
    if not reads_container(world, task_row):
        return min(inputs, staged_of(world, task_row, world.input_dataset[task_row], task["n_jobs"]))
    container, known = world.containers[task_row], np.int64(task["next_chunk"])
    for row in range(container["first"], container["first"] + container["number"]):
        known += new_pieces(world, task_row, row)
    return min(inputs, known)


@compiled
def waiting_at(world: Arrays, task_row, level):
    """Pieces of a task's input at one level of ramCount that await jobs, new ones at the level of the task."""
    waiting = np.int64(world.ram_levels[task_row, level]["waiting"])
    if level == 0:
        waiting += max(0, staged_inputs(world, task_row) - world.tasks[task_row]["next_chunk"])
    return waiting


@compiled
def offered(world: Arrays, task_row, level):
    """Number of the pieces of `waiting_at` that are brokered together: of a container those of one dataset.

    JEDI makes an input chunk of each dataset and brokers it by itself. Source: JEDI TWiki, database design and workflow
    for analysis; lifecycle reference, section 2.3.
    """
    if not reads_container(world, task_row):
        return waiting_at(world, task_row, level)
    member, pieces, retry = np.int64(-1), np.int64(0), world.ram_levels[task_row, level]["head"]
    while retry >= 0:
        of = member_of(world, task_row, world.retries[retry]["chunk"])
        if member >= 0 and of != member:
            return pieces
        member, pieces = of, pieces + world.retries[retry]["n_chunks"]
        retry = world.retries[retry]["next"]
    member = fresh_member(world, task_row) if member < 0 else member
    if level > 0 or member < 0:
        return pieces
    left = inputs_to_use(world, task_row) - world.tasks[task_row]["next_chunk"]
    return pieces + max(0, min(new_pieces(world, task_row, member), left))


@compiled
def take_in_hand(world: Arrays, task_row, level, after):
    """Turn a task to the dataset of the input that is brokered next at a level; returns `offered`.

    after: row of the last member of which new pieces were brokered in this cycle, -1 = of none. Retried pieces come
    first.
    """
    if not reads_container(world, task_row):
        return waiting_at(world, task_row, level)
    head = world.ram_levels[task_row, level]["head"]
    if head < 0 and level > 0:
        return np.int64(0)
    row = member_of(world, task_row, world.retries[head]["chunk"]) if head >= 0 else next_member(world, task_row, after)
    if row < 0:
        return np.int64(0)
    world.containers[task_row]["now"], world.input_dataset[task_row] = row, world.members[row]["dataset"]
    return offered(world, task_row, level)


@compiled
def first_waiting(world: Arrays, task_row, level):
    """Chunk and attempt of the first input of a task at one level of ramCount that awaits a job, as one number.

    It keys the draws of queues for jobs that begin there. A retried piece comes before new input.
    """
    row = world.ram_levels[task_row, level]["head"]
    if row < 0:
        return ATTEMPTS * next_piece(world, task_row) + 1
    return ATTEMPTS * np.int64(world.retries[row]["chunk"]) + world.retries[row]["attempt"]


@compiled
def place_of(world: Arrays, task_row, piece):
    """The dataset of a piece within a task's input: its first piece, the files before it, and its files."""
    if not reads_container(world, task_row):
        return np.int64(0), np.int64(0), np.int64(world.splitting[task_row]["n_files"])
    member = world.members[member_of(world, task_row, piece)]
    n_files = np.int64(world.datasets[member["dataset"]]["n_files"])
    return np.int64(member["first_piece"]), np.int64(member["first_file"]), n_files


@compiled
def input_bytes_of(world: Arrays, task_row, piece):
    """Input of a job of a task whose jobs have one size, which begins with a piece, bytes; -1 = with none."""
    if piece < 0 or not reads_container(world, task_row):
        return world.tasks[task_row]["input_bytes_per_job"]
    return world.members[member_of(world, task_row, piece)]["piece_bytes"]


@compiled
def in_hand(world: Arrays, task_row):
    """Pieces of the dataset of a task that is brokered, and their mean size, bytes."""
    if not reads_container(world, task_row):
        task = world.tasks[task_row]
        return np.int64(task["n_jobs"]), task["input_bytes_per_job"]
    member = world.members[world.containers[task_row]["now"]]
    return np.int64(member["n_pieces"]), member["piece_bytes"]


@compiled
def first_event(split, piece):
    """First event of a piece, counted through all files of the dataset."""
    size, events = np.int64(split["events_per_piece"]), np.int64(split["events_per_file"])
    if split["across_files"]:
        return piece * size
    parts = (events + size - 1) // size
    return piece // parts * events + piece % parts * size


@compiled
def last_event(split, piece, n_files):
    """End of a piece: of its events or of its file; if events cross files, of the last one of `n_files`.

    Pieces of files that are added to a task later are complete.
    """
    events = np.int64(split["events_per_file"])
    first = first_event(split, piece)
    end = np.int64(n_files) * events if split["across_files"] else (first // events + 1) * events
    whole = first + split["events_per_piece"]
    return whole if first >= end else min(whole, end)


@compiled
def file_of(split, piece):
    """Number of the file in which a piece begins."""
    return first_event(split, piece) // split["events_per_file"] if split["events_per_piece"] > 0 else piece


@compiled
def last_file_of(split, piece, n_files):
    """Number of the file in which a piece of a dataset of `n_files` ends."""
    if split["events_per_piece"] <= 0:
        return piece
    return (last_event(split, piece, n_files) - 1) // split["events_per_file"]


@compiled
def file_in_task(world: Arrays, task_row, piece):
    """Number of the file in which a piece begins, counted through all datasets of the task."""
    first, before, _ = place_of(world, task_row, piece)
    return before + file_of(world.splitting[task_row], piece - first)


@compiled
def events_of(world: Arrays, task_row, piece):
    """Events of a piece."""
    split, task = world.splitting[task_row], world.tasks[task_row]
    if split["events_per_piece"] > 0:
        first, _, n_files = place_of(world, task_row, piece)
        return np.float64(last_event(split, piece - first, n_files) - first_event(split, piece - first))
    factor = spread_factor(world.settings[0]["seed"], FILE_EVENTS, task, piece, split["events_spread"])
    return max(1.0, np.float64(round(split["events_per_file"] * factor)))


@compiled
def bytes_of(world: Arrays, task_row, piece, events):
    """Size of a piece with `events` events, in proportion to the file (lifecycle reference, 2.6)."""
    split, task = world.splitting[task_row], world.tasks[task_row]
    file = file_in_task(world, task_row, piece)
    factor = spread_factor(world.settings[0]["seed"], FILE_SIZE, task, file, split["size_spread"])
    return file_bytes_of(world, task_row, piece) * factor * events / split["events_per_file"]


@compiled
def file_bytes_of(world: Arrays, task_row, piece):
    """Mean size of the files of the dataset in which a piece lies, bytes."""
    if not reads_container(world, task_row):
        return world.splitting[task_row]["file_bytes"]
    dataset = world.datasets[world.members[member_of(world, task_row, piece)]["dataset"]]
    return dataset["bytes"] / dataset["n_files"]


@compiled
def fill_pieces(world: Arrays, task_row, level, pieces):
    """Fill `pieces`, (k,) of PIECE, with the input of a task at one level of ramCount that is brokered next; returns
    the number.

    Retried pieces come first, in the order of their list; new input has the ramCount of the task.
    """
    n, retry = 0, world.ram_levels[task_row, level]["head"]
    most = min(len(pieces), offered(world, task_row, level))
    while retry >= 0 and n < most:
        begin = world.retries[retry]["chunk"]
        for piece in range(begin, begin + world.retries[retry]["n_chunks"]):
            if n < most:
                fill_piece(world, task_row, piece, retry, pieces[n])
                n += 1
        retry = world.retries[retry]["next"]
    piece = next_piece(world, task_row)
    while n < most:
        fill_piece(world, task_row, piece, -1, pieces[n])
        piece += 1
        n += 1
    return n


@compiled
def fill_piece(world: Arrays, task_row, piece, retry, record):
    """Fill one record of PIECE."""
    events, split = events_of(world, task_row, piece), world.splitting[task_row]
    file, size = file_in_task(world, task_row, piece), bytes_of(world, task_row, piece, events)
    record["unit"], record["retry"], record["events"], record["file"] = piece, retry, events, file
    record["part_bytes"] = size if size > 0 else MIB                 # an unknown one counts 1 MiB
    record["bytes"] = size if split["events_per_piece"] <= 0 else size * split["events_per_file"] / events
    record["lumiblock"] = file // split["files_per_lumiblock"] if split["files_per_lumiblock"] > 0 else -1
    record["boundary"] = file // split["files_per_boundary"] if split["files_per_boundary"] > 0 else -1
    record["field"] = 0
    fill_events(world, task_row, piece, events, record)


@compiled
def fill_events(world: Arrays, task_row, piece, events, record):
    """Fill the events that a piece reads: those of its file, or counted through the dataset if pieces cross files."""
    split = world.splitting[task_row]
    if split["events_per_piece"] <= 0:
        record["first_event"], record["last_event"], record["file_events"] = 0, np.int64(events) - 1, np.int64(events)
        return
    first, _, n_files = place_of(world, task_row, piece)
    begin, end = first_event(split, piece - first), last_event(split, piece - first, n_files)
    if split["across_files"]:
        record["file"], record["file_events"] = 0, -1
    else:
        record["file_events"] = split["events_per_file"]
        begin, end = begin % record["file_events"], end - begin // record["file_events"] * record["file_events"]
    record["first_event"], record["last_event"] = begin, end - 1


@compiled
def pieces_at_once(world: Arrays, task_row):
    """Number of pieces in the smallest job of a task: nFilesPerJob, else 1.

    Source: lifecycle reference, section 2.6 (precedence).
    """
    split = world.splitting[task_row]
    return 1 if split["neventsperjob"] else max(1, np.int64(split["nfilesperjob"]))


def end_of_dataset(arrays: Arrays, task_row: int) -> int:
    """End of the pieces of the dataset in hand of a task of which jobs may be made, scouts or not."""
    usable = int(inputs_to_use(arrays, task_row))
    if not arrays.containers["number"][task_row]:
        return usable
    member = arrays.members[arrays.containers["now"][task_row]]
    left = usable - int(arrays.tasks["next_chunk"][task_row])
    return int(member["first_piece"]) + min(int(member["n_pieces"]), int(member["used"]) + left)


in_hand_of, take_in_hand_of = uncompiled(in_hand), uncompiled(take_in_hand)
"""As `in_hand`, `take_in_hand` and `member_of`, for Python, which asks so seldom that compiling takes longer."""


def files_left(arrays: Arrays, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Files of tasks of which jobs can be made now, and all that have no job, (n,) each."""
    n_jobs, next_chunk, files_of_job = (arrays.tasks[name][rows] for name in ("n_jobs", "next_chunk", "n_input_files"))
    n_files = arrays.splitting["n_files"][rows]
    of_piece = np.where(n_files > 0, n_files / np.maximum(n_jobs, 1), files_of_job)
    again, usable = arrays.ram_levels["waiting"][rows].sum(axis=1), np.empty(len(rows), np.int64)
    find_staged(arrays, rows, usable)
    return of_piece * (again + np.maximum(usable - next_chunk, 0)), of_piece * (again + n_jobs - next_chunk)


@compiled
def find_staged(world: Arrays, rows, found):
    """Write `staged_inputs` of the tasks in `rows`, (n,), to `found`."""
    for k in range(len(rows)):
        found[k] = staged_inputs(world, rows[k])


def staged_inputs_of(arrays: Arrays, task_row: int) -> int:
    """As `staged_inputs`, for Python, by code that every run has compiled."""
    found = np.empty(1, np.int64)
    find_staged(arrays, np.array([task_row]), found)
    return found.item()


def waiting_pieces(arrays: Arrays, task_row: int, level: int, most: int) -> np.ndarray:
    """Input of a task at one level of ramCount that awaits jobs, at most `most` pieces, (k,) of PIECE."""
    pieces = np.zeros(most, PIECE)
    return pieces[:fill_pieces(arrays, task_row, level, pieces)]
