"""Rows of the datasets of a task of the world, as the rules of its progress and end read them."""

from simgrid_broker.views import DatasetRow
from simgrid_broker.views.tasks import usable_files
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.data.datasets import members_of
from simgrid_broker.world.tasks.input_files import inputs_to_use, staged_inputs_of


def datasets_of_task(arrays: Arrays, row: int, mutable: bool) -> tuple[DatasetRow, ...]:
    """Master input and output of a task, in pieces of input; mutable: whether the last input may still grow.

    Input is one dataset, or those of the container that the task reads whole.
    """
    task = arrays.tasks[row]
    masters = container_rows(arrays, row) if arrays.containers["number"][row] else [single_row(arrays, row)]
    masters[-1] = masters[-1]._replace(state="mutable" if mutable else "closed")
    finished, failed = int(task["n_finished"]), int(task["n_failed"])
    return *masters, DatasetRow(type="output", n_files=finished + failed, to_be_used=None,
                             finished=finished, failed=failed)


def single_row(arrays: Arrays, row: int) -> DatasetRow:
    """The only dataset that a task reads."""
    task, usable = arrays.tasks[row], int(staged_inputs_of(arrays, row))
    pieces = int(task["n_jobs"])
    return DatasetRow(n_files=pieces, to_be_used=usable_files(dict(ready=usable, staging=pieces - usable)),
                      used=int(task["next_chunk"]), finished=int(task["n_finished"]), failed=int(task["n_failed"]))


def container_rows(arrays: Arrays, row: int) -> list[DatasetRow]:
    """The datasets of the container that a task reads whole; scouts use the first new pieces of all."""
    left, found = int(inputs_to_use(arrays, row)) - int(arrays.tasks["next_chunk"][row]), []
    for pieces, used, finished, failed in members_of(arrays, row)[
            ["n_pieces", "used", "n_finished", "n_failed"]].tolist():
        usable = used + max(0, min(pieces - used, left))
        left -= usable - used
        found.append(DatasetRow(n_files=pieces, to_be_used=usable, used=used, finished=finished, failed=failed))
    return found
