"""Worker processes of this machine: results as they end, errors, deaths; nobody else can reach them."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from simgrid_broker.compiled.kept_code import kept_folder
from simgrid_broker.experiments.processes import MOST_DEATHS, Processes


def sums(common, task):
    """A task: a sum, an error, the end of the process each time, or once."""
    if task == "fails":
        raise ValueError("no number")
    if task == "dies" or (isinstance(task, Path) and not task.exists()):
        if task != "dies":
            task.touch()
        os._exit(9)
    return common + (7 if isinstance(task, Path) else task)


def test_results_come_with_the_places_of_their_tasks(tmp_path):
    with Processes(2) as workers:
        first = dict(workers.results(sums, 100, [1, 2, 3, "fails", tmp_path / "once"]))
        again = dict(workers.results(sums, 200, [1]))
    error = first.pop(3)
    assert first == {0: 101, 1: 102, 2: 103, 4: 107} and again == {0: 201}
    assert isinstance(error, ValueError) and str(error) == "no number"


@pytest.mark.slow
def test_a_task_that_kills_its_workers_fails_after_some_of_them():
    with Processes(1) as workers:
        (place, error), (_, other) = workers.results(sums, 1, ["dies", 1])
        assert place == 0 and isinstance(error, RuntimeError) and "memory" in str(error) and other == 2
    assert MOST_DEATHS == 3


def test_a_result_that_cannot_be_sent_is_an_error():
    with Processes(1) as workers:
        (_, found), = workers.results(lambda_of, None, [1])
    assert isinstance(found, RuntimeError) and "function" in str(found)


def lambda_of(common, task):
    """A function without a name, which no pipe takes."""
    return lambda: (common, task)


def test_workers_listen_nowhere():
    with Processes(2) as workers:
        for _ in workers.results(sums, 1, [1, 2]):
            family = [psutil.Process(), *psutil.Process().children(recursive=True)]
            sockets = [each for process in family for each in process.net_connections("all")]
            assert not [each for each in sockets if each.status == psutil.CONN_LISTEN]
            ours = [each for process in family[1:] for each in process.net_connections("all")]
            assert not [each for each in ours if each.laddr], "their sockets have no name"


ANOTHER = """
import os, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
for path in (sys.argv[1] + "/code.nbi", *sys.argv[2:]):
    try:
        open(path, "wb").close()
    except PermissionError:
        continue
    sys.exit(f"{path} could be written")
try:
    os.kill(int(os.environ["WORKER"]), 0)
except PermissionError:
    sys.exit(0)
sys.exit("its processes take signals of others")
"""


def test_another_user_can_neither_reach_a_study_nor_feed_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("SIMGRID_BROKER_CACHE", str(tmp_path / "code"))
    folder = kept_folder()
    assert folder is not None and folder.stat().st_mode & 0o022 == 0
    kept = folder / "kept"
    kept.write_bytes(b"code")
    kept.chmod(0o600)
    if os.geteuid() != 0:
        assert kept.stat().st_mode & 0o022 == 0
        return
    with Processes(1) as workers:
        list(workers.results(sums, 1, [1]))
        child = psutil.Process().children()[-1]
        pipes = [f"/proc/{child.pid}/fd/{number}" for number in range(3, 12)]
        done = subprocess.run([sys.executable, "-c", ANOTHER, str(folder), str(kept), *pipes], check=False,
                              capture_output=True, text=True, env=os.environ | {"WORKER": str(child.pid)})
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("above", "kept"), [(0o700, True), (0o755, True), (0o777, False), (0o1777, True),
                                             (0o775, os.getegid() == 0)])
def test_folders_above_the_cache_count_as_well(monkeypatch, tmp_path, above, kept):
    (tmp_path / "above").mkdir()
    (tmp_path / "above").chmod(above)
    monkeypatch.setenv("SIMGRID_BROKER_CACHE", str(tmp_path / "above" / "code"))
    assert (kept_folder() is not None) == kept
