"""Runs and studies that the control room starts: their queue, their end, and what a second or a later server sees."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from simgrid_broker.desk import jobs
from simgrid_broker.desk.jobs import CANCELLED, DONE, FAILED, KILLED, RUNNING, WAITING, Queue
from simgrid_broker.desk.security import Places
from simgrid_broker.errors import InputFileError
from simgrid_broker.records.progress import process

SLEEPER = """import signal, sys, time
if "deaf" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(*sys.argv[1:], flush=True)
time.sleep(0 if "quick" in sys.argv else 60)
sys.exit("bad" in sys.argv)
"""


class Sleeper(subprocess.Popen):
    """A process in place of the program: it prints its arguments and sleeps, unless they say `quick`; `bad` fails, and
    `deaf` does not end when it is asked to."""

    def __init__(self, arguments, **options):
        assert arguments[:4] == [sys.executable, "-P", "-m", "simgrid_broker"]
        super().__init__([sys.executable, "-S", "-E", "-c", SLEEPER, *arguments[4:]], **options)


@pytest.fixture(autouse=True)
def no_program(monkeypatch):
    monkeypatch.setattr(jobs.subprocess, "Popen", Sleeper)


@pytest.fixture
def queue(results):
    """A queue of two cores without its thread: a test calls `step`."""
    queue = Queue(Places(results), 2)
    yield queue
    for child in queue._own.values():
        child.kill()
        child.wait()


def states(queue):
    return [job.state for job in queue.jobs()]


def until_ended(queue):
    """Look until no job runs."""
    for child in list(queue._own.values()):
        child.wait(10)
    queue.step()


def wait_until(is_so):
    """Wait for a state that another thread brings about; fails after ten seconds."""
    until = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_jobs_begin_in_order_and_take_no_more_cores_than_there_are(queue):
    for title, cores in (("one", 1), ("all", 9), ("small", 1)):
        queue.add(title, [["run", "--", title]], f"results/{title}", cores)
    queue.step()
    assert [job.cores for job in queue.jobs()] == [1, 2, 1] and states(queue) == [RUNNING, WAITING, WAITING]
    queue.cancel(queue.jobs()[0].name)
    until_ended(queue)
    queue.step()
    assert states(queue) == [CANCELLED, RUNNING, WAITING]


@pytest.mark.parametrize(("commands", "state", "log"), [
    ([["quick"]], DONE, "quick\n"), ([["quick", "1"], ["quick", "2"]], DONE, "quick 1\nquick 2\n"),
    ([["quick", "bad"], ["quick", "2"]], FAILED, "quick bad\n")])
def test_commands_of_a_job_run_one_after_the_other_until_one_fails(queue, commands, state, log):
    job = queue.add("a", [["run", "--", *words] for words in commands], "results/a")
    for _ in commands:
        queue.step()
        until_ended(queue)
    assert states(queue) == [state] and queue.log(job).replace("run -- ", "") == log


def test_names_are_arguments_and_never_a_shell(queue):
    job = queue.add("a", [["run", "--", "quick", "; touch x", "$(touch x)", "-x"]], "results/a")
    queue.step()
    until_ended(queue)
    assert queue.log(job) == "run -- quick ; touch x $(touch x) -x\n"


def test_a_waiting_job_is_taken_out_and_an_ended_one_forgotten(queue):
    job = queue.add("a", [["run", "--"]], "results/a")
    queue.cancel(job.name)
    queue.step()
    assert states(queue) == [CANCELLED]
    queue.forget(job.name)
    assert states(queue) == [] and not (queue.folder / job.name).exists()
    with pytest.raises(InputFileError, match="no such job"):
        queue.cancel("../../etc")


def test_a_killed_process_is_told_from_a_cancelled_and_a_failed_one(queue):
    queue.add("a", [["run", "--"]], "results/a")
    queue.step()
    next(iter(queue._own.values())).kill()
    until_ended(queue)
    assert states(queue) == [KILLED]


def test_two_servers_share_one_queue(queue, results):
    second = Queue(Places(results), 2)
    for title in "abc":
        queue.add(title, [["run", "--", title]], f"results/{title}")
    queue.step()
    second.step()
    assert states(second) == states(queue) == [RUNNING, RUNNING, WAITING] and not second._own
    second.cancel(queue.jobs()[0].name)
    until_ended_one = next(iter(queue._own.values()))
    until_ended_one.wait(10)
    second.step()
    assert states(second)[0] == CANCELLED and len(second._own) == 1, "the second server runs the job that waited"
    second.start()
    second.end()
    assert states(queue)[2] == CANCELLED and states(queue)[1] == RUNNING, "it ends its own alone"


def test_a_restarted_server_finds_those_that_run_and_those_that_ended_meanwhile(queue, results):
    queue.add("a", [["run", "--", "a"]], "results/a")
    queue.step()
    child = next(iter(queue._own.values()))
    later = Queue(Places(results), 2)
    assert states(later) == [RUNNING]
    child.kill()
    child.wait()
    assert states(later) == [KILLED]
    job = later.jobs()[0]
    (later.folder / job.name / "process.json").write_text(json.dumps({**process(os.getpid()), "begun": "1"}))
    assert states(later) == [KILLED], "another process has the number of the one that was started"


def test_the_end_of_a_server_ends_its_runs_and_keeps_those_that_wait(queue):
    for title in "abc":
        queue.add(title, [["run", "--", title]], f"results/{title}")
    queue.start()
    wait_until(lambda: states(queue).count(RUNNING) == 2)
    queue.end()
    assert states(queue) == [CANCELLED, CANCELLED, WAITING]


def test_a_process_that_does_not_end_is_killed(queue, monkeypatch):
    monkeypatch.setattr(jobs, "GRACE_S", 0.2)
    job = queue.add("a", [["run", "--", "deaf"]], "results/a")
    queue.start()
    wait_until(lambda: queue.log(job))
    queue.end()
    assert states(queue) == [CANCELLED]


@pytest.mark.parametrize("command", [
    ["tune", "--scheduler=tcp://elsewhere.example", "--", "a"], ["serve", "--"], ["run", "--out=/tmp/x", "--", "a"],
    ["replicate", "--scheduler=tcp://elsewhere.example", "--", "a"], ["run", "--workload=/etc/passwd", "--", "a"], [],
    ["run", "--into=RESULTS/../x", "--", "a"], ["run", "a"], ["run", "--into=RESULTS/out/x", "--", "a"]])
def test_a_job_that_others_put_into_the_folder_can_ask_for_nothing_else(queue, results, tmp_path, command):
    (results / "out").symlink_to(tmp_path)
    command = [word.replace("RESULTS", str(results)) for word in command]
    with pytest.raises(ValueError):
        queue.add("a", [command], "results/a")
    job = queue.add("a", [["run", "--"]], "results/a")
    file = queue.folder / job.name / "job.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"commands": [command]}))
    queue.step()
    assert queue.jobs() == [] and queue._own == {}


def test_a_record_that_is_gone_stops_neither_the_queue_nor_the_end_of_the_server(queue, results):
    gone = queue.add("a", [["run", "--", "a"]], "results/a")
    queue.step()
    child = queue._own[gone.name]
    shutil.rmtree(queue.folder / gone.name)
    queue.start()
    kept = queue.add("b", [["run", "--", "quick"]], "results/b")
    wait_until(lambda: queue.job(kept.name).state == DONE)
    queue.end()
    assert child.returncode == -signal.SIGTERM


def test_damaged_records_of_jobs_are_left_out(queue):
    queue.add("a", [["run", "--"]], "results/a")
    for name, text in (("b", "{"), ("c", "[]"), ("d", '{"name": 1}')):
        (queue.folder / name).mkdir()
        (queue.folder / name / "job.json").write_text(text)
    assert states(queue) == [WAITING]
