"""Files made to exhaust memory, no home folder, and signals at any moment: the program ends quickly and in words."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from simgrid_broker.cli.signals import SIGNALS, closing, end_at_once
from simgrid_broker.scenario.loading.documents import read_yaml

MINIMAL = Path(__file__).parents[2] / "scenarios" / "minimal.yaml"
UNCOMPILED = os.environ | {"NUMBA_DISABLE_JIT": "1"}
MOST_MIB, MOST_S = 200, 1.0

DOUBLING = "\n".join(["a0: &a0 {k: x}", *(f"a{k}: &a{k} {{l: *a{k - 1}, r: *a{k - 1}}}" for k in range(1, 40))])
CHAIN = "\n".join(["a0: &a0 [x]", *(f"a{k}: &a{k} [*a{k - 1}]" for k in range(1, 5000))])
ENDLESS = {
    "brackets left open": "name: " + "[" * 100_000, "brackets": "name: " + "[" * 100_000 + "]" * 100_000,
    "braces": "name: " + "{a: " * 100_000, "dashes": "- " * 100_000,
    "indents": "".join(" " * k + "a:\n" for k in range(1000)),
    "aliases that double": DOUBLING, "a chain of aliases": CHAIN}

REFUSED = """
import sys, time
from simgrid_broker.errors import ScenarioError
from simgrid_broker.scenario import load_scenario
for path in sys.argv[1:]:
    began = time.process_time()
    try:
        load_scenario(path)
    except ScenarioError as error:
        print(f"{time.process_time() - began:.2f}", len(error.problems), error.problems[0])
print(next(int(line.split()[1]) >> 10 for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def program(*arguments, code=None, **options):
    """The program in a process of its own, or Python code."""
    called = ["-c", code] if code else ["-m", "simgrid_broker"]
    return subprocess.Popen([sys.executable, *called, *map(str, arguments)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env=UNCOMPILED, **options)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is not told here")
def test_files_made_to_exhaust_memory_are_refused_at_once(tmp_path):
    for name, text in ENDLESS.items():
        (tmp_path / name).write_text(text)
    with (tmp_path / "huge").open("wb") as huge:
        huge.truncate(1 << 40)
    paths = [*(tmp_path / name for name in ENDLESS), tmp_path / "huge", Path("/dev/zero")]
    out, err = program(*paths, code=REFUSED).communicate(timeout=60)
    *answers, mib = out.splitlines()
    assert len(answers) == len(paths), err
    for path, answer in zip(paths, answers, strict=True):
        taken, n_problems, told = answer.split(" ", 2)
        assert float(taken) < MOST_S and n_problems == "1" and told.startswith(str(path)), answer
    assert "it holds more than 64 MiB" in answers[-2] and "it is a device, not a file" in answers[-1]
    assert int(mib) < MOST_MIB


@pytest.mark.parametrize(("name", "line"), [("brackets", 1), ("indents", 101), ("aliases that double", 1)])
def test_what_is_too_much_is_named_with_its_line(name, line):
    problem, = read_yaml(ENDLESS[name], "f.yaml").problems
    assert problem.line == line and ("nested too deeply" in str(problem) or "aliases repeat" in str(problem))


def test_aliases_within_reason_are_read():
    text = "a: &a {k: 1}\nb: [" + ", ".join(["*a"] * 1000) + "]\nc: " + "[" * 90 + "]" * 90
    assert read_yaml(text, None).values["b"] == [{"k": 1}] * 1000


def test_a_user_without_a_home_folder_runs_a_scenario(tmp_path):
    code = """if True:
        import os, pwd
        def unknown(uid):
            raise KeyError(f"uid not found: {uid}")
        os.environ.pop("HOME", None), os.environ.pop("SIMGRID_BROKER_CACHE", None)
        pwd.getpwuid = unknown
        from simgrid_broker.cli import main
        main()"""
    told = program("run", MINIMAL, "--set", "warm_up=0", "--until", "10 min", "--quiet", "--out", tmp_path, code=code)
    out, err = told.communicate(timeout=120)
    assert told.returncode == 0, err
    assert out.strip() == str(tmp_path / "minimal" / "seed-1")


def handles_sigterm(pid: int) -> bool:
    """Whether a process of the program has begun to handle SIGTERM."""
    caught, = (line.split()[1] for line in Path(f"/proc/{pid}/status").read_text().splitlines()
               if line.startswith("SigCgt:"))
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


@pytest.mark.parametrize(("number", "after_s"), [
    pytest.param(signal.SIGINT, 0.1, id="Ctrl-C while libraries are imported"),
    pytest.param(signal.SIGTERM, 0.4, id="SIGTERM while libraries are imported"),
])
def test_a_signal_before_the_run_ends_the_program_without_results(tmp_path, number, after_s):
    """While libraries are imported it says nothing; a fast machine may be a step further."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)    # a background job of a shell ignores it
    try:
        told = program("run", MINIMAL, "--out", tmp_path)
    finally:
        signal.signal(signal.SIGINT, before)
    while not handles_sigterm(told.pid) and told.poll() is None:             # a busy machine starts Python slowly
        time.sleep(0.01)
    time.sleep(after_s)
    told.send_signal(number)
    assert told.communicate(timeout=60) in (("", ""), ("", "Interrupted before the simulation began; no results are "
                                                           "kept.\n"))
    assert told.returncode == 130
    assert list(tmp_path.iterdir()) == []


def test_sigterm_closes_a_run_like_ctrl_c(tmp_path):
    folder = tmp_path / "minimal" / "seed-1"
    told = program("run", MINIMAL, "--set", "warm_up=0", "--until", "20d", "--set", "warm_up=19d", "--out", tmp_path)
    while not (folder / "manifest.json").exists() and told.poll() is None:
        time.sleep(0.1)
    told.terminate()
    _, err = told.communicate(timeout=120)
    assert told.returncode == 130, err
    assert f"Interrupted; complete results are kept in {folder}." in err
    assert '"status": "interrupted"' in (folder / "manifest.json").read_text()


@pytest.fixture
def handlers():
    """The handlers of both signals, put back after the test."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield before
    for number, handler in before.items():
        signal.signal(number, handler)


def test_within_a_run_signals_are_exceptions_and_afterwards_as_before(handlers):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with pytest.raises(KeyboardInterrupt), closing():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN                # as under nohup
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is handlers[signal.SIGTERM]
    end_at_once()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    assert signal.getsignal(signal.SIGTERM) is not handlers[signal.SIGTERM]
