"""What all tests share: how Hypothesis looks for examples, and the option that renews the baselines.

Its folder is importable, so that every test can say `from builders import ...`.
"""

import fcntl
import gc
import os
import signal
import subprocess
import sys
import venv
from functools import partial
from pathlib import Path

import pytest
from hypothesis import settings

from simgrid_broker import process

process.begin()                     # as processes of the program do: one thread in products, whose others would wait

import numba  # noqa: E402

from simgrid_broker.compiled import stock  # noqa: E402

# the first example may wait for compiling; the same examples come in every session, so that more of them find no more
settings.register_profile("house", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("house")


os.environ["COLUMNS"] = "110"       # the width of the outputs that the tests compare with, in every worker process


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Keeps the bytecode of the tests in pytest's own folder where Python may not write it beside the sources.

    Otherwise each process of a session would rewrite and compile the assertions of all tests, half a minute's work.
    """
    kept = sys.dont_write_bytecode, sys.pycache_prefix
    if sys.dont_write_bytecode:
        sys.dont_write_bytecode, sys.pycache_prefix = False, str(session.config.rootpath / ".pytest_cache" / "bytecode")
    try:
        return (yield)
    finally:
        sys.dont_write_bytecode, sys.pycache_prefix = kept


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Lets every other process collect from the last file on, so that two of them share the work of rewriting tests."""
    report = yield
    if isinstance(collector, pytest.Dir) and int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 2:
        report.result.reverse()
    return report


def pytest_addoption(parser):
    """`pytest --update` writes the baselines of the regression tests anew instead of comparing with them."""
    parser.addoption("--update", action="store_true", help="write the baselines anew instead of comparing")


@pytest.fixture(scope="session", autouse=True)
def own_compiler():
    """Fails if the own compiler failed with a version of Numba with which it was tried."""
    yield
    assert stock.failure() is None or numba.__version__ not in stock.TRIED, repr(stock.failure())


WHOLE = 2000
"""Number of tests from which on a session runs most of the compiled code anyway."""
OF_SOURCES = ("test_language.py", "test_house.py", "test_columns.py", "test_readings.py", "test_scenario_text.py",
              "test_writers.py", "test_mutate.py", "test_units.py", "test_one_row.py", "test_software_architecture.py",
              "test_import_cric.py", "test_import_panda_jobs.py", "test_import_cgsim.py", "test_import_traces.py",
              "test_compare_with_dirac.py", "test_documents.py", "test_gdpconfig.py", "test_retry_module.py")
"""Files of tests that run no compiled code, which a process does while another one compiles."""


LONGEST = "test_types.py", "test_fallback.py", "test_packaging.py", "test_manual.py"
"""Files with the longest of the slow tests, which begin first, so that no process ends with one alone."""


def pytest_collection_modifyitems(config, items):
    """Puts the files in order, whichever was collected first, and those of OF_SOURCES behind the first one, for the
    second process; of slow tests the longest come first.
    """
    items.sort(key=lambda item: item.path.parts)
    if config.getoption("markexpr") == "slow":
        items.sort(key=lambda item: [*LONGEST, item.path.name].index(item.path.name))
        return
    first = items[0].path if items else None
    items.sort(key=lambda item: item.path != first and 2 - (item.path.name in OF_SOURCES))


def pytest_collection_finish(session):
    """Lets no search for garbage look at what was imported and collected, more than half a million objects; few begin.
    """
    if len(session.items) > WHOLE:
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="module", autouse=True)
def compiled_once(request):
    """Of several processes of a large session, one compiles the code of plain runs; the others wait and load it."""
    if (request.path.name not in OF_SOURCES and "PYTEST_XDIST_WORKER" in os.environ
            and len(request.session.items) > WHOLE and not numba.config.DISABLE_JIT):
        request.getfixturevalue("plain_runs")


COMMON = ("minimal", "documented"), ("minimal", "deployed"), ("dispatch_dirac", "deployed")
"""Scenarios and editions whose compiled code many files of tests run; what they share is translated once in a process.
"""


@pytest.fixture(scope="session")
def plain_runs(tmp_path_factory):
    """An hour of each of COMMON, run by one process at a time."""
    from simgrid_broker import load_scenario, simulate
    from simgrid_broker.compiled.kept_code import cache_folder
    with open(cache_folder() / "first_run.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name, edition in COMMON:
            plan = load_scenario(Path(__file__).parents[1] / "scenarios" / f"{name}.yaml")
            simulate(plan.with_values({"duration": 3600, "warm_up": 0, "edition": edition}),
                     folder=tmp_path_factory.mktemp("first") / "run")


@pytest.fixture(scope="session")
def heeds_ctrl_c():
    """A function for a new process: a shell lets what it starts in the background ignore Ctrl-C, which this undoes."""
    return partial(signal.signal, signal.SIGINT, signal.SIG_DFL)


@pytest.fixture(scope="session")
def wheel_of():
    """A function that makes the wheel of a checkout in a folder."""
    def made(checkout, folder):
        building = subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder,
                                   "--disable-pip-version-check", checkout], capture_output=True, text=True)
        if building.returncode and "hatchling" in building.stderr:
            pytest.skip("the build backend cannot be downloaded here")
        assert building.returncode == 0, building.stderr
        return next(folder.glob("*.whl"))
    return made


@pytest.fixture(scope="session")
def wheel(wheel_of, tmp_path_factory):
    """The wheel that this checkout makes."""
    return wheel_of(Path(__file__).parents[1], tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory):
    """The folder of programs of an environment with the wheel and, by their path, the libraries of this one."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False)
    subprocess.run([sys.executable, "-m", "pip", "--python", home / "bin" / "python", "install", "--quiet", "--no-deps",
                    "--no-index", "--disable-pip-version-check", wheel], check=True)
    libraries = [path for path in sys.path if path.endswith("site-packages")]
    (next(home.glob("lib/python*/site-packages")) / "libraries.pth").write_text("\n".join(libraries))
    return home / "bin"
