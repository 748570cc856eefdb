"""Tests of joining Parquet files without encoding them again: the same bytes as one writer."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from fake_run import VOCABULARIES

from simgrid_broker.records.layout import layout
from simgrid_broker.records.parts import (
    BYTE,
    FALSE,
    I16,
    I64,
    LIST,
    STRUCT,
    TRUE,
    decoded,
    encoded,
    join_files,
    writer_options,
)
from simgrid_broker.schema import RECORDED

LAYOUT = layout(RECORDED["transfers"], VOCABULARIES)


@pytest.fixture
def table():
    rows = RECORDED["transfers"].empty(130)
    rows["transfer_id"] = rows["bytes"] = np.arange(130)
    rows["destination"] = np.arange(130) % 12 - 1
    rows["submitted_s"] = np.where(np.arange(130) % 3, np.arange(130), np.nan)
    return LAYOUT.arrow(rows, np.empty((130, 0)))


def written(path, table, group_rows):
    """A file with the table, written by one writer in groups of some rows."""
    with pq.ParquetWriter(path, LAYOUT.schema, **writer_options(LAYOUT.schema)) as writer:
        for first in range(0, len(table), group_rows):
            writer.write_table(table.slice(first, group_rows).combine_chunks(), row_group_size=group_rows)
    return path


@pytest.mark.parametrize("group_rows", [
    pytest.param(130, id="one file"),
    pytest.param(100, id="a short last file"),
    pytest.param(8, id="more files than fit into the short form of a list"),
    pytest.param(1, id="more files than fit into one byte of a number"),
])
def test_joined_files_are_as_written_by_one_writer(tmp_path, table, group_rows):
    parts = [written(tmp_path / f"part-{first}", table.slice(first, group_rows), group_rows)
             for first in range(0, len(table), group_rows)]
    join_files(parts, tmp_path / "joined")
    assert (tmp_path / "joined").read_bytes() == written(tmp_path / "one", table, group_rows).read_bytes()
    assert pq.read_table(tmp_path / "joined").equals(table)


def test_files_of_several_groups_are_joined(tmp_path, table):
    join_files([written(tmp_path / "first", table.slice(0, 80), 40), written(tmp_path / "second", table.slice(80), 40)],
               tmp_path / "joined")
    assert (tmp_path / "joined").read_bytes() == written(tmp_path / "one", table, 40).read_bytes()


@pytest.mark.parametrize("fields", [
    pytest.param({}, id="nothing"),
    pytest.param({1: (TRUE, True), 2: (FALSE, False), 3: (BYTE, 255)}, id="short values"),
    pytest.param({1: (I16, -1), 16: (I64, 1 << 40), 40: (I64, -(1 << 40))}, id="a step between fields over 15"),
    pytest.param({4: (LIST, (I64, list(range(-200, 200))))}, id="a long list"),
    pytest.param({4: (LIST, (STRUCT, [{}, {2: (I64, 64)}]))}, id="structs in a list"),
])
def test_footers_are_read_as_written(fields):
    assert decoded(encoded(STRUCT, fields)) == fields


def test_a_footer_with_a_number_that_footers_do_not_have_is_refused():
    with pytest.raises(ValueError, match="no values of kind 7"):
        decoded(bytes([0x17]) + bytes(8) + b"\0")
