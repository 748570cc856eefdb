"""Workers and whole studies may die at any moment: the same call continues, without losing or repeating a point."""

import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from small_study import quick

from simgrid_broker.errors import StudyError
from simgrid_broker.experiments.replicate import replicated
from simgrid_broker.experiments.running import Workers

pytestmark = pytest.mark.slow

SEEDS = 6
SCRIPT = f"""
import sys
import simgrid_broker as sb
from small_study import quick
from simgrid_broker.experiments.replicate import replicated
from simgrid_broker.experiments.running import Workers

if __name__ == "__main__":
    replicated(quick(duration="20 min"), {SEEDS}, sys.argv[1], Workers(2))
"""


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch):
    """Workers run plain Python: on a machine without kept code each of them would compile for a minute."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")


def finished(folder):
    """Time of writing of the manifest of each finished run, by seed."""
    return {path.parent.name: path.stat().st_mtime_ns for path in folder.glob("minimal/seed-*/manifest.json")}


def until(condition, seconds=400):
    """Wait for a condition."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "this took too long"
        time.sleep(0.02)


def test_a_study_survives_the_death_of_a_worker_and_of_itself(tmp_path):
    folder, script = tmp_path / "study", tmp_path / "script.py"
    script.write_text(SCRIPT)
    paths = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    with subprocess.Popen([sys.executable, str(script), str(folder)], env=os.environ | {"PYTHONPATH": paths},
                          start_new_session=True) as study:
        process = psutil.Process(study.pid)
        until(lambda: len(finished(folder)) >= 1)
        workers = [child for child in process.children(recursive=True) if "spawn_main" in " ".join(child.cmdline())]
        workers[0].kill()
        until(lambda: len(finished(folder)) >= 3)
        others = process.children(recursive=True)
        os.kill(study.pid, signal.SIGKILL)
        study.wait()
    gone, alive = psutil.wait_procs(others, timeout=20)
    assert not alive, "workers end with the study"
    before = finished(folder)
    assert 3 <= len(before) < SEEDS
    states = []
    done = replicated(quick(duration="20 min"), SEEDS, folder, Workers(2, watcher=states.append))
    after = finished(folder)
    assert set(done.points().state) == {"done"} and len(after) == SEEDS
    assert {seed: after[seed] for seed in before} == before
    assert states[0].done == len(before) and states[-1][:4] == (SEEDS, 0, 0, SEEDS)
    assert not list(folder.glob("*/.*"))


@pytest.fixture
def scheduler(tmp_path):
    """Address of a scheduler with one worker, each a process of its own."""
    file, options = tmp_path / "scheduler.json", {"cwd": tmp_path, "stderr": subprocess.DEVNULL, "env": os.environ | {
        "PYTHONPATH": os.pathsep.join(sys.path)}}
    dask = [sys.executable, "-m", "dask"]
    with (subprocess.Popen([*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
                            "--dashboard-address", "127.0.0.1:0", "--scheduler-file", str(file)], **options) as first,
          subprocess.Popen([*dask, "worker", "--scheduler-file", str(file), "--nthreads", "1", "--no-nanny",
                            "--no-dashboard"], **options) as second):
        until(lambda: file.is_file() and "address" in file.read_text())
        yield json.loads(file.read_text())["address"]
        second.kill()
        first.kill()


def test_points_run_behind_a_scheduler_that_was_there_before(tmp_path, scheduler):
    states = []
    done = replicated(quick(duration="20 min"), 2, tmp_path / "study", Workers(scheduler=scheduler,
                                                                               watcher=states.append))
    assert list(done.points().state) == ["done", "done"] and states[-1][:4] == (2, 0, 0, 2)
    assert len(done.results()) and done.plan[0].folder(done.folder).is_dir()


def test_a_finished_study_starts_no_worker(tmp_path, monkeypatch, here_and_now):
    first = replicated(quick(), 1, tmp_path / "study", Workers(1))
    monkeypatch.setattr("simgrid_broker.experiments.running.started", None)
    assert replicated(quick(), 1, tmp_path / "study", Workers(1)).results().equals(first.results())


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense"])
def test_a_scheduler_that_does_not_answer_is_refused_before_anything_runs(tmp_path, address):
    began = time.monotonic()
    with pytest.raises(StudyError, match="no scheduler answers"):
        replicated(quick(), 2, tmp_path / "study", Workers(scheduler=address))
    assert time.monotonic() - began < 15 and not (tmp_path / "study").exists()
