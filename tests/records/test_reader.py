"""Tests of reading runs back: complete, killed, damaged, and paths that are no runs."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fake_run import DAY, write_fake_run

from simgrid_broker.errors import InputFileError, OutputError
from simgrid_broker.names import Cause
from simgrid_broker.records import new_run_folder, read_manifest, read_run, reader, write_manifest
from simgrid_broker.records.writer import MOST_WAITING
from simgrid_broker.schema import RECORDED


@pytest.fixture
def killed(tmp_path):
    return write_fake_run(tmp_path, n_jobs=3000, close=False, batch_rows=1000)


def test_a_run_gives_its_tables_lazily_and_keeps_them(tmp_path):
    run = read_run(write_fake_run(tmp_path, n_jobs=500, sample_s=3600.0))
    assert run.manifest["status"] == "complete"
    assert run.name == "fake-day/seed-1"
    assert run.jobs is run.jobs
    assert len(run.jobs) == 500
    assert run.jobs.status.cat.categories[0] == "pending"
    assert all(len(getattr(run, name)) >= 0 for name in RECORDED)
    assert list(run.table("jobs", ["share", "running_s"]).columns) == ["share", "running_s"]
    assert run.remarks == []


@pytest.mark.parametrize(("at_once", "pieces"), [(999, [1000, 1000, 500]), (1999, [1000, 1500]),
                                                 (2000, [2000, 500]), (2500, [2500])])
def test_a_table_is_read_in_pieces_of_whole_row_groups(tmp_path, monkeypatch, at_once, pieces):
    monkeypatch.setattr(reader, "ROWS_AT_ONCE", at_once)
    run = read_run(write_fake_run(tmp_path, n_jobs=2500, batch_rows=1000))
    read = list(run.batches("jobs", ["panda_id"]))
    assert [len(rows) for rows in read] == pieces
    assert pd.concat(read).panda_id.tolist() == run.jobs.panda_id.tolist() == list(range(1, 2501))


@pytest.mark.parametrize(("more", "is_kept"), [(0, True), (-1, False)])
def test_a_small_table_is_read_once_and_gives_frames_of_their_own(tmp_path, monkeypatch, more, is_kept):
    run, columns = read_run(write_fake_run(tmp_path, n_jobs=500)), ["share", "running_s"]
    monkeypatch.setattr(reader, "SMALL", (run.folder / "jobs.parquet").stat().st_size + more)
    first = run.table("jobs", columns)
    given = first.copy()
    first["running_s"] = 0.0
    if is_kept:
        (run.folder / "jobs.parquet").write_bytes(b"")
    pd.testing.assert_frame_equal(run.table("jobs", columns), given)
    pd.testing.assert_frame_equal(run.jobs[columns], given)
    with pytest.raises(ValueError, match="no column 'shore'"):
        run.table("jobs", ["shore"])


def test_a_killed_run_is_read_as_far_as_it_was_complete(killed):
    run = read_run(killed)
    assert run.manifest["status"] == "running"
    assert run.jobs.panda_id.tolist() == list(range(1, 3001))
    assert 0 < len(run.shares) % 1000 or len(run.shares) >= 1000
    assert run.table("shares", ["time_s"]).columns.tolist() == ["time_s"]


def test_the_last_part_is_left_out_with_a_remark_if_it_is_damaged(killed):
    last = sorted((killed / "jobs.parquet").iterdir())[-1]
    last.write_bytes(last.read_bytes()[:100])
    run = read_run(killed)
    assert run.jobs.panda_id.tolist() == list(range(1, 2001))
    assert len(run.remarks) == 1
    assert last.name in run.remarks[0]


def test_a_damaged_part_in_the_middle_is_an_error(killed):
    part = sorted((killed / "jobs.parquet").iterdir())[1]
    part.write_bytes(b"")
    with pytest.raises(InputFileError, match=part.name):
        read_run(killed).table("jobs")


def test_a_table_that_is_missing_is_refused_if_the_run_wrote_it_and_else_reads_as_empty_with_a_remark(tmp_path):
    folder = write_fake_run(tmp_path, n_jobs=100, sample_s=3600.0)
    (folder / "refusals.parquet").unlink()
    with pytest.raises(InputFileError, match=r"refusals\.parquet.* is missing, although the run wrote it"):
        read_run(folder).table("refusals")
    written = json.loads((folder / "manifest.json").read_text())
    del written["results"]["refusals"]
    (folder / "manifest.json").write_text(json.dumps(written))
    run = read_run(folder)
    assert len(run.refusals) == 0
    assert run.refusals.columns.tolist() == [column.name for column in RECORDED["refusals"].recorded]
    assert "it lacks refusals." in run.remarks[0]
    assert "refusals.parquet is missing" in run.remarks[1]


def test_the_moment_between_two_renames_is_readable(killed):
    (killed / "jobs.parquet").rename(killed / ".jobs.parquet.parts")
    assert len(read_run(killed).jobs) == 3000


def test_a_path_that_is_no_run_lists_runs_nearby(tmp_path):
    folder = write_fake_run(tmp_path, n_jobs=50, sample_s=DAY)
    for path in (tmp_path, folder.parent, folder.parent / "seed-9", folder / "plots"):
        with pytest.raises(InputFileError, match="runs nearby") as caught:
            read_run(path)
        assert str(folder) in str(caught.value)
    with pytest.raises(InputFileError, match="no runs nearby"):
        read_run(Path("/proc/nowhere/at/all"))


@pytest.mark.parametrize(("text", "message"), [
    pytest.param("{", "is not JSON", id="cut off"),
    pytest.param("[]", "a manifest has a status", id="not an object"),
    pytest.param('{"status": "done"}', "a manifest has a status", id="an unknown status"),
])
def test_a_broken_manifest_is_told(tmp_path, text, message):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(InputFileError, match=message):
        read_run(tmp_path)


def test_the_manifest_is_plain_sorted_json(tmp_path):
    write_manifest(tmp_path, {
        "status": "failed", "seed": np.int64(3), "limits": (1.5, float("inf")), "tree": np.array([1, 2]),
        "gdpconfig": {("jobbroker", "KEY"): Cause.SITE_ERROR}, "path": Path("a/b"), 7: float("nan")})
    text = (tmp_path / "manifest.json").read_text()
    written = json.loads(text)
    assert {table: len(columns) for table, columns in written.pop("results").items()} == {
        name: len(table.recorded) for name, table in RECORDED.items()}
    assert written == {"7": "nan", "gdpconfig": {"jobbroker.KEY": "site_error"}, "limits": [1.5, "inf"],
                       "path": "a/b", "seed": 3, "status": "failed", "tree": [1, 2]}
    assert list(json.loads(text)) == sorted(json.loads(text))
    assert read_manifest(tmp_path)["seed"] == 3


def test_a_manifest_needs_a_known_status(tmp_path):
    with pytest.raises(ValueError, match="status 'done'"):
        write_manifest(tmp_path, {"status": "done"})


def test_a_manifest_that_cannot_be_written_is_an_output_error(tmp_path):
    with pytest.raises(OutputError, match="manifest.json"):
        (tmp_path / "file").write_text("in the way")
        write_manifest(tmp_path / "file" / "run", {"status": "running"})


def test_run_folders_never_clash(tmp_path):
    names = [new_run_folder(tmp_path, "a week, with / oddities", 7).relative_to(tmp_path) for _ in range(3)]
    assert [str(name) for name in names] == [f"a-week-with-oddities/seed-7{end}" for end in ("", "-2", "-3")]


def test_a_results_root_that_is_a_file_is_an_output_error(tmp_path):
    (tmp_path / "results").write_text("")
    with pytest.raises(OutputError, match="cannot make the folder"):
        new_run_folder(tmp_path / "results", "x", 1)


ENDLESS = """
import sys
from pathlib import Path
from fake_run import VOCABULARIES, make_jobs
from simgrid_broker.records import RunWriter, write_manifest
folder = Path(sys.argv[1])
write_manifest(folder, {"status": "running"})
rows, times = make_jobs(700, 86400.0)
with RunWriter(folder, VOCABULARIES, batch_rows=300) as writer:
    while True:
        writer.write("jobs", rows, times)
        rows["panda_id"] += 700
        print(flush=True)
"""


@pytest.mark.parametrize("n_writes", [6, 30])
def test_a_run_killed_at_any_moment_keeps_its_first_rows(tmp_path, n_writes):
    program = subprocess.Popen([sys.executable, "-c", ENDLESS, tmp_path], stdout=subprocess.PIPE,
                               cwd=Path(__file__).parent)
    for _ in range(n_writes):
        program.stdout.readline()
    program.kill()
    program.communicate()
    n_rows = len(read_run(tmp_path).jobs)
    assert n_rows >= n_writes * 700 - (MOST_WAITING + 2) * 300
    assert read_run(tmp_path).jobs.panda_id.tolist() == list(range(1, n_rows + 1))
    assert pd.read_parquet(tmp_path / "jobs.parquet").panda_id.tolist() == list(range(1, n_rows + 1))
    assert read_run(tmp_path).remarks == []


def test_a_table_of_another_kind_is_an_error(tmp_path):
    folder = write_fake_run(tmp_path, n_jobs=100, sample_s=3600.0)
    whole = pd.read_parquet(folder / "shares.parquet")
    for name, found, columns, said in (
            ("another table", pd.read_parquet(folder / "queues.parquet"), ["share"], "lacks share"),
            ("read as a whole", pd.DataFrame({"a": [1]}), None, "lacks time_s, share"),
            ("text for numbers", whole.assign(hs06="a"), ["time_s", "hs06"], "something else in hs06"),
            ("no text", whole.assign(share=1.0), ["share"], "something else in share")):
        found.to_parquet(folder / "shares.parquet")
        with pytest.raises(InputFileError, match="is not the table shares") as caught:
            read_run(folder).table("shares", columns)
        assert said in str(caught.value), name
    whole.drop(columns="queued").to_parquet(folder / "shares.parquet")
    assert len(read_run(folder).shares) == len(whole), "as of an earlier version"
