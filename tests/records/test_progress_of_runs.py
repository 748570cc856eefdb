"""The progress file of a run that is under way, and the folders of which files may be read."""

import json
import os
import subprocess

import numpy as np
import pytest

from simgrid_broker import load_scenario, simulate
from simgrid_broker.errors import ScenarioError
from simgrid_broker.files import READABLE, read_bytes, reading_only
from simgrid_broker.records import progress
from simgrid_broker.records.progress import ProgressFile, process, read_progress


def test_progress_is_written_at_once_then_once_a_second_with_shares_so_far(tmp_path, monkeypatch):
    now = 100.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    file = ProgressFile(tmp_path, 3600.0, ["A", "B"], np.array([25.0, 75.0]))
    file.add(0.0, np.array([0.0, 0.0]), {"jobs_ended": 0})
    assert [share["got"] for share in read_progress(tmp_path)["shares"]] == [0, 0]
    now = 100.9
    file.add(18.0, np.array([10.0, 10.0]), {"jobs_ended": 1})
    assert read_progress(tmp_path)["simulated_s"] == 0
    now = 101.0
    file.add(36.0, np.array([0.0, 20.0]), {"jobs_ended": 5})
    read = read_progress(tmp_path)
    assert (read["simulated_s"], read["duration_s"], read["jobs_ended"]) == (36, 3600, 5)
    assert read["shares"] == [dict(share="A", target=25, got=25), dict(share="B", target=75, got=75)]
    file.remove()
    assert read_progress(tmp_path) is None


def test_a_killed_process_has_no_progress(tmp_path):
    child = subprocess.Popen(["sleep", "60"])
    (tmp_path / "progress.json").write_text(json.dumps(process(child.pid)))
    assert read_progress(tmp_path) is not None
    child.kill()
    child.wait()
    assert read_progress(tmp_path) is None
    (tmp_path / "progress.json").write_text(json.dumps({**process(os.getpid()), "begun": "1"}))
    assert read_progress(tmp_path) is None, "another process has the number"
    (tmp_path / "progress.json").write_text("{")
    assert read_progress(tmp_path) is None


def test_a_run_leaves_no_progress_file(tmp_path):
    seen = []
    scenario = load_scenario("minimal").with_values({"duration": "2h", "warm_up": "0h"})
    run = simulate(scenario, folder=tmp_path / "run",
                   progress=lambda simulation: seen.append(read_progress(tmp_path / "run")))
    assert [share["share"] for share in seen[0]["shares"]] == ["Analysis", "Production"]
    assert not (run.folder / progress.FILE).exists()


@pytest.fixture
def two_folders(tmp_path):
    """A folder that may be read, and one that may not, with a scenario and a link to it."""
    for name in ("mine", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "base.yaml").write_text("name: base\n")
    (tmp_path / "mine" / "link.yaml").symlink_to(tmp_path / "other" / "base.yaml")
    return tmp_path / "mine", tmp_path / "other"


def test_files_are_read_only_in_folders_that_were_named(two_folders, monkeypatch):
    mine, other = two_folders
    with reading_only([mine]):
        assert read_bytes(mine / "base.yaml")
        for path in (other / "base.yaml", mine / "link.yaml", mine / ".." / "other" / "base.yaml"):
            with pytest.raises(OSError, match="outside the folders"):
                read_bytes(path)
    assert read_bytes(other / "base.yaml")
    monkeypatch.setenv(READABLE, f"{mine}{os.pathsep}/nowhere")
    with pytest.raises(OSError, match="outside the folders"):
        read_bytes(other / "base.yaml")


@pytest.mark.parametrize("line", [
    "extends: ../other/base.yaml", "extends: link.yaml", "grid: {pandaqueues: ../other/base.yaml}",
    "grid: {software: ../other/base.yaml}", "workload: {trace: {file: /etc/passwd}}",
    "workload: {trace: {file: ../other/none.swf}}"])
def test_a_scenario_names_no_file_outside(two_folders, line):
    mine, _ = two_folders
    (mine / "asks.yaml").write_text(line + "\n")
    with reading_only([mine]), pytest.raises(ScenarioError, match="outside the folders") as refused:
        load_scenario(mine / "asks.yaml")
    assert "did you mean 'base.yaml'" not in str(refused.value)
