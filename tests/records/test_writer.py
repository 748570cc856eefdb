"""Tests of the recorder: what is on disk while a run goes on, after it, and when the disk refuses."""

import json
import resource
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from fake_run import VOCABULARIES, make_jobs, write_fake_run

from simgrid_broker.errors import OutputError
from simgrid_broker.records import RunWriter, read_run, write_manifest
from simgrid_broker.records.layout import arrow_schema, layout
from simgrid_broker.records.parts import TableFiles
from simgrid_broker.records.writer import MOST_WAITING, PAUSE_S
from simgrid_broker.schema import JOB_TIMES, JOBS, RECORDED, Column, Table


@pytest.fixture
def jobs():
    return make_jobs(1000, 86400.0)


def parts(folder, name="jobs"):
    return [pq.read_metadata(part).num_rows for part in sorted((folder / f"{name}.parquet").glob("*"))]


@pytest.fixture
def clock(monkeypatch):
    """The writer's clock, which stands still until its element 0 is changed, s."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize(("n_rows", "at_once", "expected"), [
    pytest.param(0, [0], [0], id="a part without rows is there from the start"),
    pytest.param(1, [0], [1], id="the first row"),
    pytest.param(99, [0], [99], id="one row short of the first batch"),
    pytest.param(100, [100], [100], id="the first batch is whole"),
    pytest.param(101, [100], [100, 1], id="the first row of the second batch"),
    pytest.param(199, [100], [100, 99], id="one row short of the second batch"),
    pytest.param(299, [100, 100], [100, 100, 99], id="every whole batch is a part"),
])
@pytest.mark.parametrize("step", [1, 7, 1000])
def test_whole_batches_are_written_at_once_and_others_after_a_while(tmp_path, jobs, clock, n_rows, at_once, expected,
                                                                    step):
    rows, times = jobs
    writer = RunWriter(tmp_path, VOCABULARIES, batch_rows=100)
    for first in range(0, n_rows, step):
        last = min(first + step, n_rows)
        writer.write("jobs", rows[first:last], times[first:last])
    writer.wait()
    assert parts(tmp_path) == at_once
    clock[0] += PAUSE_S - 0.1
    writer.write("shares", RECORDED["shares"].empty(0))
    writer.wait()
    assert parts(tmp_path) == at_once, "not yet"
    clock[0] += 0.1
    writer.write("shares", RECORDED["shares"].empty(0))
    writer.wait()
    assert parts(tmp_path) == expected, "rows of one table bring the others along"
    assert pd.read_parquet(tmp_path / "jobs.parquet").panda_id.tolist() == list(range(1, n_rows + 1))


def test_a_batch_is_written_again_only_if_it_has_grown(tmp_path, jobs, clock):
    writer = RunWriter(tmp_path, VOCABULARIES, batch_rows=100)
    when = []
    for n_rows in (10, 0, 30):
        writer.write("jobs", *(part[:n_rows] for part in jobs))
        clock[0] += PAUSE_S
        writer.write("shares", RECORDED["shares"].empty(0))
        writer.wait()
        when.append(next((tmp_path / "jobs.parquet").iterdir()).stat().st_ino)
    assert when[0] == when[1] != when[2]
    assert parts(tmp_path) == [40]


def test_a_closed_table_is_one_file_with_whole_batches(tmp_path, jobs):
    with RunWriter(tmp_path, VOCABULARIES, batch_rows=100) as writer:
        writer.write("jobs", *(part[:250] for part in jobs))
    file = pq.ParquetFile(tmp_path / "jobs.parquet")
    assert [file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)] == [100, 100, 50]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(f"{name}.parquet" for name in RECORDED)


def test_rows_come_back_as_they_were_written(tmp_path, jobs):
    rows, times = jobs
    rows["source_site"][::2] = 3
    with RunWriter(tmp_path, VOCABULARIES, batch_rows=300) as writer:
        writer.write("jobs", rows, times)
    table = pd.read_parquet(tmp_path / "jobs.parquet")
    assert list(table.columns) == [column.name for column in JOBS.recorded] + list(JOB_TIMES)
    for column in JOBS.recorded:
        if column.codes is None:
            np.testing.assert_array_equal(table[column.name], rows[column.name])
    for k, name in enumerate(JOB_TIMES):
        np.testing.assert_array_equal(table[name], times[:, k])
    sites = np.array(VOCABULARIES["sites"], object)
    np.testing.assert_array_equal(table.source_site.astype(object)[::2], sites[3])
    assert table.source_site[1::2].isna().all()


def test_rows_are_copied_at_once(tmp_path, jobs):
    rows, times = (part[:5].copy() for part in jobs)
    with RunWriter(tmp_path, VOCABULARIES) as writer:
        writer.write("jobs", rows, times)
        rows["panda_id"], times[:] = -1, -1
    table = pd.read_parquet(tmp_path / "jobs.parquet")
    assert table.panda_id.tolist() == [1, 2, 3, 4, 5]
    assert not (table.defined_s == -1).any()


def test_every_second_row_of_an_array_can_be_written(tmp_path, jobs):
    with RunWriter(tmp_path, VOCABULARIES) as writer:
        writer.write("jobs", jobs[0][:10:2], jobs[1][:10:2])
    assert pd.read_parquet(tmp_path / "jobs.parquet").panda_id.tolist() == [1, 3, 5, 7, 9]


def test_a_table_without_rows_is_a_file_with_the_right_schema(tmp_path):
    RunWriter(tmp_path, VOCABULARIES).close()
    for name in RECORDED:
        file = pq.ParquetFile(tmp_path / f"{name}.parquet")
        assert file.metadata.num_rows == 0
        assert file.schema_arrow.equals(arrow_schema(RECORDED[name]))


def test_fields_say_unit_description_and_source(tmp_path):
    RunWriter(tmp_path, VOCABULARIES).close()
    schema = pq.read_schema(tmp_path / "jobs.parquet")
    about = {name: dict(schema.field(name).metadata) for name in schema.names}
    assert about["input_bytes"][b"unit"] == b"bytes"
    assert about["running_s"][b"unit"] == b"s"
    assert all({b"unit", b"description", b"source"} <= set(one) for one in about.values())


def test_tables_that_differ_in_the_unit_of_a_column_alone_say_so_without_rows(tmp_path):
    units = []
    for unit in ("bytes", "files"):
        own = Table("own", "a moment", (Column("size", "f8", unit, "simulator", "Size"),))
        RunWriter(tmp_path / unit, VOCABULARIES, tables={"own": own}).close()
        units.append(pq.read_schema(tmp_path / unit / "own.parquet").field("size").metadata[b"unit"])
    assert units == [b"bytes", b"files"]


def test_the_same_rows_give_the_same_bytes(tmp_path):
    first, second = (write_fake_run(tmp_path, n_jobs=3000, batch_rows=1000, sample_s=3600.0) for _ in range(2))
    for name in RECORDED:
        assert (first / f"{name}.parquet").read_bytes() == (second / f"{name}.parquet").read_bytes(), name


def test_bytes_do_not_depend_on_how_rows_were_handed_over(tmp_path, jobs):
    for step, folder in ((13, "a"), (1000, "b")):
        with RunWriter(tmp_path / folder, VOCABULARIES, batch_rows=300) as writer:
            for first in range(0, 1000, step):
                writer.write("jobs", jobs[0][first:first + step], jobs[1][first:first + step])
    assert (tmp_path / "a/jobs.parquet").read_bytes() == (tmp_path / "b/jobs.parquet").read_bytes()


def test_a_running_table_is_readable_by_pandas(tmp_path, jobs):
    writer = RunWriter(tmp_path, VOCABULARIES, batch_rows=200)
    assert len(pd.read_parquet(tmp_path / "shares.parquet")) == 0
    writer.write("jobs", *(part[:405] for part in jobs))
    writer.wait()
    table = pd.read_parquet(tmp_path / "jobs.parquet")
    assert table.panda_id.tolist() == list(range(1, 401))
    assert set(table.share.dropna()) <= set(VOCABULARIES["shares"])


WRITES = """
import json, sys
from simgrid_broker.records import RunWriter
from simgrid_broker.schema import RECORDED

with RunWriter(sys.argv[1], json.loads(sys.argv[2]), batch_rows=10) as writer:
    for name in ("queues", "links", "transfers"):
        writer.write(name, RECORDED[name].empty(20))
sys.exit("pandas" in sys.modules)
"""


def test_tables_are_written_without_pandas(tmp_path):
    words = json.dumps({name: list(listed) for name, listed in VOCABULARIES.items()})
    assert subprocess.run([sys.executable, "-c", WRITES, tmp_path / "run", words], timeout=120).returncode == 0


def test_columns_by_name_may_leave_out_what_is_not_recorded(tmp_path):
    columns = {column.name: np.arange(3) for column in RECORDED["refusals"].columns}
    with RunWriter(tmp_path, VOCABULARIES) as writer:
        writer.write("refusals", columns | {"kind": np.array([0, 1, -1])})
    assert pd.read_parquet(tmp_path / "refusals.parquet")["count"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(("change", "message"), [
    pytest.param({"kind": np.array([0, 2, 3])}, "refusals.kind: code 3, but decision_kind has 3 words", id="a code "
                 "one past the last word"),
    pytest.param({"kind": np.array([0, 1, -2])}, "code -2", id="a code below -1"),
    pytest.param({"kind": None}, "missing columns ['kind']", id="a column is missing"),
    pytest.param({"knid": np.arange(3)}, "unknown columns ['knid']", id="an unknown column"),
])
def test_rows_that_do_not_fit_are_refused(tmp_path, change, message):
    columns = {column.name: np.zeros(3, int) for column in RECORDED["refusals"].columns} | change
    writer = RunWriter(tmp_path, VOCABULARIES)
    with pytest.raises(ValueError) as caught:
        writer.write("refusals", {name: values for name, values in columns.items() if values is not None})
        writer.close()
    assert message in str(caught.value)


def test_times_must_come_with_jobs(tmp_path, jobs):
    with pytest.raises(ValueError, match="each row has 16 times"):
        RunWriter(tmp_path, VOCABULARIES).write("jobs", jobs[0])


def test_a_missing_vocabulary_is_named_at_once(tmp_path):
    with pytest.raises(ValueError, match="table jobs needs the vocabularies queues, users"):
        RunWriter(tmp_path, {name: words for name, words in VOCABULARIES.items() if name not in ("queues", "users")})
    assert layout(RECORDED["shares"], VOCABULARIES).words["shares"].to_pylist() == list(VOCABULARIES["shares"])


def test_an_unknown_table_is_refused(tmp_path, jobs):
    with RunWriter(tmp_path, VOCABULARIES) as writer, pytest.raises(ValueError, match="'job' is not an open table"):
        writer.write("job", *jobs)


def test_a_folder_that_holds_a_run_is_not_overwritten(tmp_path):
    RunWriter(tmp_path, VOCABULARIES).close()
    with pytest.raises(OutputError, match="jobs.parquet exists already"):
        RunWriter(tmp_path, VOCABULARIES)


def test_a_folder_that_cannot_be_made_is_an_output_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError, match="cannot write results to .*file/run"):
        RunWriter(tmp_path / "file" / "run", VOCABULARIES)


@contextmanager
def largest_file(n_bytes):
    """No file of this process may grow past `n_bytes`: the disk refuses as a full one does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_keeps_what_was_complete(tmp_path, jobs):
    rows, times = jobs
    writer = RunWriter(tmp_path, VOCABULARIES, batch_rows=100)
    writer.write("jobs", rows[:300], times[:300])
    writer.wait()
    with largest_file(1000), pytest.raises(OutputError) as caught:
        writer.write("jobs", rows[300:], times[300:])
        writer.wait()
    assert str(tmp_path / "jobs.parquet") in str(caught.value)
    assert "300 jobs" in str(caught.value)
    assert pd.read_parquet(tmp_path / "jobs.parquet").panda_id.tolist() == list(range(1, 301))
    assert not list(tmp_path.glob(".*"))


def test_a_table_that_cannot_be_merged_stays_readable_and_closes_later(tmp_path, jobs):
    rows, times = jobs
    write_manifest(tmp_path, {"status": "running"})
    writer = RunWriter(tmp_path, VOCABULARIES, batch_rows=100)
    writer.write("jobs", rows, times)
    writer.wait()
    largest_part = max(path.stat().st_size for path in (tmp_path / "jobs.parquet").iterdir())
    with largest_file(largest_part + 1000), pytest.raises(OutputError, match="1,000 jobs .*complete: ended, tasks, "):
        writer.close()
    assert len(read_run(tmp_path).jobs) == 1000
    assert not list(tmp_path.glob(".*"))
    writer.close()
    assert len(pd.read_parquet(tmp_path / "jobs.parquet")) == 1000


def test_closing_twice_is_harmless(tmp_path, jobs):
    writer = RunWriter(tmp_path, VOCABULARIES)
    writer.write("jobs", *jobs)
    writer.close()
    writer.close()
    assert len(pd.read_parquet(tmp_path / "jobs.parquet")) == 1000


@pytest.fixture
def slow_thread(monkeypatch):
    """The writer's thread takes a while for some parts; a list that notes how many of the table's batches waited."""
    waiting, write = [], TableFiles._write

    def slow(table, batch):
        waiting.append(len(table.waiting))
        time.sleep(0.01 * (batch.number % 3))
        write(table, batch)
    monkeypatch.setattr(TableFiles, "_write", slow)
    return waiting


def test_bytes_do_not_depend_on_when_the_thread_writes(tmp_path, jobs, slow_thread):
    for folder, pause in (("a", 0.0), ("b", 0.02)):
        with RunWriter(tmp_path / folder, VOCABULARIES, batch_rows=60) as writer:
            for first in range(0, 1000, 50):
                writer.write("jobs", jobs[0][first:first + 50], jobs[1][first:first + 50])
                time.sleep(pause)
    assert (tmp_path / "a/jobs.parquet").read_bytes() == (tmp_path / "b/jobs.parquet").read_bytes()
    assert pd.read_parquet(tmp_path / "a/jobs.parquet").panda_id.tolist() == list(range(1, 1001))


def test_the_run_waits_for_a_slow_thread(tmp_path, jobs, slow_thread):
    with RunWriter(tmp_path, VOCABULARIES, batch_rows=20) as writer:
        writer.write("jobs", *jobs)
    assert 1 < max(slow_thread) <= MOST_WAITING + 1


def test_a_part_that_the_disk_refuses_is_an_error_of_a_later_call_and_written_at_the_end(tmp_path, jobs):
    rows, times = jobs
    writer = RunWriter(tmp_path, VOCABULARIES, batch_rows=100)
    refused = pytest.raises(OutputError, match="cannot write results:\n  - .*jobs.parquet: .*File too large")
    with largest_file(1000), refused:
        writer.write("jobs", rows[:100], times[:100])
        writer.wait()
    with pytest.raises(OutputError, match="0 jobs"):
        writer.write("jobs", rows[100:200], times[100:200])
        writer.wait()
    writer.close()
    assert pd.read_parquet(tmp_path / "jobs.parquet").panda_id.tolist() == list(range(1, 201))


def test_an_interrupt_inside_the_block_still_closes(tmp_path, jobs):
    with pytest.raises(KeyboardInterrupt), RunWriter(tmp_path, VOCABULARIES) as writer:
        writer.write("jobs", *jobs)
        raise KeyboardInterrupt
    assert (tmp_path / "jobs.parquet").is_file()
    assert len(pd.read_parquet(tmp_path / "jobs.parquet")) == 1000
