"""Snapshot files are YAML that reads back as what was written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker.records import write_snapshot
from simgrid_broker.records.writer import snapshot_text
from simgrid_broker.scenario.loading.documents import read_yaml

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-10**15, 10**15), st.floats(allow_nan=False,
                                                                                     allow_infinity=False),
                    st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=8))
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), min_size=1, max_size=6)
ENTRY = st.dictionaries(NAMES, SCALARS, max_size=3)


@given(st.dictionaries(NAMES, ENTRY, max_size=3), st.lists(ENTRY, max_size=3), SCALARS)
def test_what_was_written_is_read(entries, rows, scalar):
    values = {"name": scalar, "grid": {"sites": entries, "links": {"pairs": rows}, "queues": {}}, "jobs": rows,
              "tasks": entries, "time": 1.5}
    document = read_yaml(snapshot_text(values), "x")
    assert document.problems == [] and document.values == values


@pytest.mark.parametrize(("time", "name"), [(129600.0, "t=129600.yaml"), (0.5, "t=0.5.yaml")])
def test_files_are_called_by_their_time(tmp_path, time, name):
    assert write_snapshot(tmp_path, {"time": time}) == tmp_path / "snapshots" / name
