"""Items of arrays and columns of records in compiled code: the same as in Python."""

import operator

import numba
import numpy as np
import pytest
from numba.core.registry import cpu_target

from simgrid_broker.bundle import Bundle
from simgrid_broker.compiled import compiled
from simgrid_broker.compiled.columns import copy_columns, copy_known, same_columns

ROW = np.dtype([("number", "i4"), ("share", "f8"), ("flag", "?")])
STORED = np.dtype([("count", "i2"), ("part", "f4"), ("flag", "i1"), ("claim", "i4")])
SHOWN = np.dtype([("count", "i8"), ("part", "f8"), ("flag", "?"), ("claim", "f8")])
PLAIN, CLAIMS = ("count", "part", "flag"), ("claim",)
CONSTANT = np.arange(5)
needs_numba = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="about compiled code")


class Tables(Bundle):
    """Arrays of one, two and three dimensions, and of records."""

    line: np.ndarray
    plane: np.ndarray
    block: np.ndarray
    rows: np.ndarray
    flags: np.ndarray


def tables():
    """Arrays whose items differ."""
    rows = np.zeros(4, ROW)
    rows["number"], rows["share"] = range(4), np.arange(4) / 3
    return Tables(line=np.arange(6.0), plane=np.arange(12.0).reshape(4, 3), block=np.arange(24).reshape(2, 3, 4),
                  rows=rows, flags=np.array([True, True]))


@compiled
def read_and_write(tables, k, unsigned, columns):
    """Items from both ends, by constants, signed and unsigned numbers, of arrays in C order and of a column."""
    total = tables.line[k] + 10 * tables.line[-1] + 100 * tables.line[2] + 1000 * len(tables.line)
    tables.plane[k, -1] = k
    tables.plane[1, 0] += 0.5
    tables.block[-1, k, unsigned] = 7.9
    tables.rows[0] = tables.rows[k]
    tables.rows[1]["number"] = 7.9
    tables.flags[1] = not tables.flags[0]
    columns[k] = columns[-2] + 1
    return (total + CONSTANT[k] + CONSTANT[unsigned] + tables.plane[0, 2] + tables.block[1, k, 3]
            + tables.plane.shape[1] + tables.plane.size + tables.line.size + tables.plane.strides[0]
            + tables.block.strides[1])


@needs_numba
@pytest.mark.parametrize("k", [2, -1])
def test_items_are_read_and_written_as_in_python(k):
    one, other = tables(), tables()
    first, second = (np.arange(9).reshape(3, 3)[:, 1] for _ in range(2))
    assert read_and_write(one, k, np.uint8(2), first) == read_and_write.py_func(other, k, np.uint8(2), second)
    assert first.tolist() == second.tolist()
    for name, array in one.arrays().items():
        assert array.tobytes() == other.arrays()[name].tobytes(), name


@compiled
def show(stored, shown):
    """Copy a row, and say whether two rows agree, and one with itself."""
    copy_columns(stored[0], shown[0], PLAIN)
    copy_known(stored[0], shown[0], CLAIMS)
    copy_columns(stored[1], shown[1], PLAIN)
    copy_known(stored[1], shown[1], CLAIMS)
    return same_columns(stored[0], stored[1], PLAIN), same_columns(shown[1], shown[1], PLAIN)


@needs_numba
def test_columns_are_converted_and_a_claim_of_0_is_unknown():
    stored, shown, plainly = np.array([(1, 2.5, 4, 0), (1, 2.5, 0, 5)], STORED), np.zeros(2, SHOWN), np.zeros(2, SHOWN)
    assert show(stored, shown) == show.py_func(stored, plainly) == (False, True)
    assert str(shown.tolist()) == str(plainly.tolist()) == "[(1, 2.5, True, nan), (1, 2.5, False, 5.0)]"


@needs_numba
def test_an_unknown_part_agrees_with_nothing():
    stored = np.array([(1, np.nan, 0, 0), (1, np.nan, 0, 0)], STORED)
    assert show(stored, np.zeros(2, SHOWN)) == show.py_func(stored, np.zeros(2, SHOWN)) == (False, False)


@needs_numba
def test_numbas_own_way_with_items_stays_for_other_code():
    context = cpu_target.target_context
    context.refresh()
    ways = [way for name in (operator.getitem, operator.setitem, len) for _, way in context._defns[name].versions]
    assert ways and not [way for way in ways if way.__module__.startswith("simgrid_broker")]
