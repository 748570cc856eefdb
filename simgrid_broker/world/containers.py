"""Containers that tasks read whole: a row for each of their datasets and task, as in JEDI_Datasets."""

import numpy as np

from simgrid_broker.scenario.synthetic import pieces_of_members
from simgrid_broker.scenario.tasklist import TaskList
from simgrid_broker.world.arrays import CONTAINER, MEMBER, Arrays

FIRST_MEMBERS = 16
"""Rows of members that a world begins with."""


class MemberRows:
    """Which rows of `arrays.members` are free: first rows of such blocks by length, and rows used so far."""

    def __init__(self) -> None:
        self.free: dict[int, list[int]] = {}
        self.n_used = 0

    def take(self, number: int) -> int:
        """First of so many rows side by side; the caller makes room for `n_used`."""
        known = self.free.get(number)
        if known:
            return known.pop()
        self.n_used += number
        return self.n_used - number

    def give_back(self, first: int, number: int) -> None:
        """Free such a block."""
        self.free.setdefault(number, []).append(first)


def container_tables(n_tasks: int) -> dict[str, np.ndarray]:
    """Tables of tasks that read no container."""
    return dict(containers=np.zeros(n_tasks, CONTAINER), members=np.zeros(FIRST_MEMBERS, MEMBER))


def hold_containers(world, rows: np.ndarray, task_list: TaskList) -> None:
    """Give the tasks of a list that read whole containers their members."""
    containers, of_tasks = list(world.catalogue.members.values()), task_list.containers()
    for place in np.flatnonzero(of_tasks >= 0).tolist():
        numbers = containers[of_tasks[place]]
        first = world.member_rows.take(len(numbers))
        world.make_room_for_members(world.member_rows.n_used)
        _fill(world.arrays, int(rows[place]), first, numbers)


def _fill(arrays: Arrays, row: int, first: int, numbers: np.ndarray) -> None:
    """Fill the rows of the members of one task from `first` on; numbers: of the datasets, (n,)."""
    task, files, size = arrays.tasks[row], arrays.datasets["n_files"][numbers], arrays.datasets["bytes"][numbers]
    pieces = pieces_of_members(files, arrays.splitting[row], int(task["n_input_files"]))
    members = arrays.members[first:first + len(numbers)]
    secondary = task["input_bytes_per_job"] - size.sum() / pieces.sum()
    members["dataset"], members["n_pieces"], members["used"] = numbers, pieces, 0
    members["piece_bytes"] = size / pieces + secondary
    members["first_piece"], members["first_file"] = np.cumsum(pieces) - pieces, np.cumsum(files) - files
    arrays.containers[row], arrays.input_dataset[row] = (first, len(numbers), first), numbers[0]


def forget_containers(world, rows: np.ndarray) -> None:
    """Free the members of tasks that are gone."""
    containers = world.arrays.containers
    for row in rows[containers["number"][rows] > 0].tolist():
        world.member_rows.give_back(int(containers["first"][row]), int(containers["number"][row]))
    containers[rows] = np.zeros((), CONTAINER)


def datasets_of(arrays: Arrays, row: int) -> list[int]:
    """Numbers of the datasets that a task reads."""
    if not arrays.containers["number"][row]:
        return [int(arrays.input_dataset[row])]
    return members_of(arrays, row)["dataset"].tolist()


def members_of(arrays: Arrays, row: int) -> np.ndarray:
    """The members of the container that a task reads whole, (n,) of MEMBER, not a copy; none of another task."""
    container = arrays.containers[row]
    return arrays.members[container["first"]:container["first"] + container["number"]]


def note_added(arrays: Arrays, row: int, pieces: int) -> None:
    """Note that pieces were added to the input of a task: those of a container belong to its last dataset."""
    if arrays.containers["number"][row]:
        members_of(arrays, row)["n_pieces"][-1:] += pieces
