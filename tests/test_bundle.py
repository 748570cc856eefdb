"""Arrays that compiled code is handed as one pointer: it sees what Python sees, and changes it."""

import numba
import numpy as np
import pytest

from simgrid_broker.bundle import LINE, Bundle, address_of, fetch, zeros_in_lines
from simgrid_broker.compiled import compiled

ROW = np.dtype([("number", "i4"), ("size", "f8")])


class Shelf(Bundle):
    """Two arrays of different kinds."""

    rows: np.ndarray
    grid: np.ndarray


def shelf() -> Shelf:
    rows = np.zeros(3, ROW)
    rows["number"], rows["size"] = (1, 2, 3), (0.5, 1.5, 2.5)
    return Shelf(rows=rows, grid=np.arange(6.0).reshape(2, 3))


def test_the_address_of_an_array_is_that_of_its_first_item():
    grid = np.arange(6.0).reshape(2, 3)
    for array in (grid, grid[1:], np.broadcast_to(grid, (4, 2, 3)), np.zeros(3, ROW), np.zeros(0, ROW)):
        assert address_of(array) == array.ctypes.data


@compiled
def look(shelf, row, column):
    return shelf.rows[row]["size"] + shelf.grid[1, column] + len(shelf.rows) + shelf.grid.shape[1]


@compiled
def fetch_and_look(shelf, row):
    fetch(shelf.rows, row, shelf.rows.itemsize)
    fetch(shelf.grid, 1, 24)
    return shelf.rows[row]["size"]


@compiled
def change(shelf, row):
    shelf.rows[row]["number"] += 10
    shelf.grid[0, row] = -1.0


def test_compiled_code_reads_rows_cells_and_shapes():
    assert look(shelf(), 1, 2) == 1.5 + 5.0 + 3 + 3


def test_a_row_that_is_fetched_ahead_is_as_it_was():
    ours = shelf()
    assert [fetch_and_look(ours, row) for row in range(3)] == ours.rows["size"].tolist() == [0.5, 1.5, 2.5]


def test_what_compiled_code_writes_is_in_the_arrays():
    ours = shelf()
    change(ours, 2)
    assert ours.rows["number"].tolist() == [1, 2, 13] and ours.grid[0].tolist() == [0.0, 1.0, -1.0]


@pytest.mark.parametrize(("shape", "dtype"), [(3, ROW), ((5, 16), float), (0, ROW)])
def test_zeros_in_lines_begin_at_a_line_of_the_processors_cache(shape, dtype):
    zeros = zeros_in_lines(shape, dtype)
    assert zeros.size == 0 or zeros.ctypes.data % LINE == 0
    assert zeros.shape == np.zeros(shape).shape and zeros.dtype == dtype
    assert zeros.flags.c_contiguous and not zeros.view(np.uint8).any()


def test_a_longer_array_is_seen_at_once():
    ours = shelf()
    assert look(ours, 0, 0) == 0.5 + 3.0 + 3 + 3
    longer = ours.with_arrays(rows=np.zeros(7, ROW))
    assert look(longer, 6, 0) == 0.0 + 3.0 + 7 + 3
    assert look(ours, 0, 0) == 0.5 + 3.0 + 3 + 3, "the old one is as it was"


class Case(Bundle):
    """A shelf among arrays."""

    marks: np.ndarray
    shelf: Shelf
    sizes: np.ndarray


@compiled
def look_inside(case, row):
    return look(case.shelf, row, 0) + case.sizes[row]


def test_a_bundle_within_a_bundle_is_seen_and_can_be_replaced():
    case = Case(marks=np.zeros(2, bool), shelf=shelf(), sizes=np.array([10.0, 20.0]))
    assert look_inside(case, 1) == 1.5 + 3.0 + 3 + 3 + 20
    longer = case.with_arrays(shelf=case.shelf.with_arrays(rows=np.zeros(7, ROW)))
    assert look_inside(longer, 1) == 0.0 + 3.0 + 7 + 3 + 20
    assert look_inside(case, 1) == 1.5 + 3.0 + 3 + 3 + 20, "the old one is as it was"


def test_bundles_of_other_arrays_are_of_another_type():
    assert numba.typeof(shelf()) is numba.typeof(shelf())
    ours = shelf()
    look(ours, 0, 0)
    assert numba.typeof(ours) != numba.typeof(ours.with_arrays(grid=np.zeros(3)))


@pytest.mark.parametrize("arrays, said", [
    pytest.param(dict(rows=np.zeros(1)), "missing or unknown: grid", id="one is missing"),
    pytest.param(dict(rows=np.zeros(1), grid=np.zeros(1), shape=np.zeros(1)), "unknown: shape", id="one is unknown"),
    pytest.param(dict(rows=np.zeros(1), grid=np.zeros((2, 3)).T), "Shelf.grid is not in C order", id="another order"),
])
def test_what_does_not_fit_is_refused(arrays, said):
    with pytest.raises(TypeError, match=said):
        Shelf(**arrays)
