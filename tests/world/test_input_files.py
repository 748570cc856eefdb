"""The pieces into which the files of a task are split."""

import numpy as np
import pytest
from builders import Bench
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker.scenario.work.synthetic import n_pieces
from simgrid_broker.schema import SPLITTING
from simgrid_broker.world.tasks import input_files
from simgrid_broker.world.tasks.input_files import bytes_of, events_of, waiting_pieces

pytestmark = pytest.mark.rule("first_event", "last_event", "file_of", "last_file_of", "input_files.events_of",
                              "bytes_of", "fill_pieces")


FILES = dict(n_files=3, events_per_file=150, file_bytes=3e9)


def split(**columns):
    """A row of splitting."""
    rows = SPLITTING.empty(1)
    for name, value in (FILES | columns).items():
        rows[name] = value
    return rows


def parts(rows):
    """First and last file, and events, of every part of the files."""
    row = rows[0]
    return [(int(input_files.file_of(row, piece)), int(input_files.last_file_of(row, piece, row["n_files"])),
             int(input_files.last_event(row, piece, row["n_files"]) - input_files.first_event(row, piece)))
            for piece in range(n_pieces(rows)[0])]


@pytest.mark.parametrize(("columns", "expected"), [
    pytest.param(dict(events_per_piece=100, across_files=1),
                 [(0, 0, 100), (0, 1, 100), (1, 1, 100), (2, 2, 100), (2, 2, 50)],
                 id="documented: a piece may begin in one file and end in the next"),
    pytest.param(dict(events_per_piece=100),
                 [(0, 0, 100), (0, 0, 50), (1, 1, 100), (1, 1, 50), (2, 2, 100), (2, 2, 50)],
                 id="deployed: every piece is part of one file"),
    pytest.param(dict(events_per_piece=75), [(0, 0, 75), (0, 0, 75), (1, 1, 75), (1, 1, 75), (2, 2, 75), (2, 2, 75)],
                 id="equal parts"),
])
def test_parts_of_files(columns, expected):
    assert parts(split(**columns)) == expected


@given(n_files=st.integers(1, 40), events=st.integers(2, 500), size=st.integers(1, 499), across=st.booleans())
def test_every_event_is_in_one_part(n_files, events, size, across):
    rows = split(n_files=n_files, events_per_file=events, events_per_piece=min(size, events - 1), across_files=across)
    row, n = rows[0], int(n_pieces(rows)[0])
    ends = [(int(input_files.first_event(row, piece)), int(input_files.last_event(row, piece, n_files)))
            for piece in range(n)]
    assert ends[0][0] == 0 and ends[-1][1] == n_files * events
    assert all(before[1] == after[0] for before, after in zip(ends, ends[1:], strict=False))
    assert all(0 < last - first <= row["events_per_piece"] for first, last in ends)


def test_parts_that_are_added_later_are_whole():
    rows = split(events_per_piece=100, across_files=1)
    assert [int(input_files.last_event(rows[0], piece, 3) - input_files.first_event(rows[0], piece))
            for piece in range(3, 7)] == [100, 50, 100, 100]


def test_files_differ_and_stay_the_same():
    one, other = (Bench(None, dict(luck=7, split=FILES | dict(n_files=500, events_spread=0.3, size_spread=0.5)))
                  for _ in range(2))
    pieces = waiting_pieces(one.arrays, 0, 0, 500)
    assert len(np.unique(pieces["events"])) > 100 and len(np.unique(pieces["bytes"])) == 500
    assert pieces["events"].mean() == pytest.approx(150, rel=0.05)
    assert pieces["bytes"].mean() == pytest.approx(3e9, rel=0.1)
    assert (waiting_pieces(other.arrays, 0, 0, 500) == pieces).all()


def test_parts_share_the_size_of_their_file():
    bench = Bench(None, dict(split=FILES | dict(events_per_piece=100, size_spread=0.5)))
    sizes = [bytes_of(bench.arrays, 0, piece, events_of(bench.arrays, 0, piece)) for piece in range(6)]
    assert sizes[0] == pytest.approx(2 * sizes[1]) and sizes[2] == pytest.approx(2 * sizes[3])
    assert sizes[0] != pytest.approx(sizes[2])


@pytest.mark.parametrize(("said", "changes"), [
    pytest.param(dict(files_per_lumiblock=2), [1, 3, 5], id="lumi blocks of two files"),
    pytest.param(dict(files_per_boundary=3), [2, 5], id="boundaries of three files"),
    pytest.param(dict(files_per_lumiblock=1), [0, 1, 2, 3, 4, 5, 6], id="every file"),
])
def test_where_input_may_not_be_joined(said, changes):
    bench = Bench(None, dict(split=FILES | dict(n_files=8) | said))
    kept = "lumiblock" if "files_per_lumiblock" in said else "boundary"
    pieces = waiting_pieces(bench.arrays, 0, 0, 8)
    assert np.flatnonzero(np.diff(pieces[kept])).tolist() == changes and pieces[kept][0] == 0
    assert (pieces["boundary" if kept == "lumiblock" else "lumiblock"] == -1).all()


def test_pieces_as_jobs_find_them():
    bench = Bench(None, dict(split=FILES))
    bench.arrays.tasks["next_chunk"] = 1
    pieces = waiting_pieces(bench.arrays, 0, 0, 8)
    assert pieces[["unit", "retry", "events", "bytes"]].tolist() == [(1, -1, 150.0, 3e9), (2, -1, 150.0, 3e9)]


def test_boundaries():
    bench = Bench(None, dict(split=FILES | dict(n_files=8, files_per_lumiblock=2, files_per_boundary=3)))
    pieces = waiting_pieces(bench.arrays, 0, 0, 8)
    assert [np.flatnonzero(np.diff(pieces[name])).tolist() for name in ("lumiblock", "boundary")] == [[1, 3, 5], [2, 5]]


@pytest.mark.parametrize(("said", "events"), [
    pytest.param({}, [(0, 99, 100, 0), (0, 99, 100, 1)], id="whole files"),
    pytest.param(dict(events_per_piece=60), [(0, 59, 100, 0), (60, 99, 100, 0), (0, 59, 100, 1), (60, 99, 100, 1)],
                 id="parts of files"),
    pytest.param(dict(events_per_piece=60, across_files=1), [(0, 59, -1, 0), (60, 119, -1, 0), (120, 179, -1, 0),
                                                            (180, 199, -1, 0)], id="across files"),
])
def test_events_of_pieces(said, events):
    bench = Bench(None, dict(split=dict(n_files=2, events_per_file=100, file_bytes=1e9) | said))
    pieces = waiting_pieces(bench.arrays, 0, 0, 9)
    assert pieces[["first_event", "last_event", "file_events", "file"]].tolist() == events
    assert pieces["bytes"] == pytest.approx(1e9) or said.get("across_files")


def test_no_more_is_read_than_asked_for():
    bench = Bench(None, dict(split=FILES | dict(n_files=8)))
    assert waiting_pieces(bench.arrays, 0, 0, 5)["unit"].tolist() == [0, 1, 2, 3, 4]
    assert len(waiting_pieces(bench.arrays, 0, 1, 5)) == 0


@pytest.mark.parametrize("said", [dict(events_per_piece=1), dict(events_per_file=1)], ids=["parts", "files"])
def test_pieces_of_one_event(said):
    assert events_of(Bench(None, dict(split=FILES | said)).arrays, 0, 2) == 1


@pytest.mark.parametrize(("scouts", "inputs"), [(0, 5), (1, 1), (4, 4), (5, 5), (6, 5)])
def test_only_the_input_of_scouts_is_used_until_they_are_assessed(scouts, inputs):
    bench = Bench(None, dict(split=FILES | dict(n_files=5)))
    bench.arrays.scout_inputs[0] = scouts
    assert len(waiting_pieces(bench.arrays, 0, 0, 9)) == inputs


@pytest.mark.parametrize(("size", "piece", "files"), [
    pytest.param(7, 42, (1, 2), id="a piece that ends with the first event of a file"),
    pytest.param(1, 149, (0, 0), id="the last event of the first file"),
    pytest.param(1, 150, (1, 1), id="the first event of the second file"),
    pytest.param(0, 2, (2, 2), id="whole files"),
])
def test_files_of_a_piece(size, piece, files):
    row = split(events_per_piece=size, across_files=1)[0]
    assert (input_files.file_of(row, piece), input_files.last_file_of(row, piece, row["n_files"])) == files
