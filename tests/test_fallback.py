"""Stock Numba takes the place of the own compiler wherever that one fails: one remark, the same results."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numba
import pytest
from builders import assert_same_tables
from packaging.requirements import Requirement
from packaging.version import Version

from simgrid_broker.compiled import stock

ROOT = Path(__file__).parents[1]
REMARK = "note: the own compiler fails with Numba"

AT_IMPORT = "import sys\nsys.modules['simgrid_broker.compiled.passes'] = None\n"
AT_A_DECORATOR = """
from numba import _dispatcher
from simgrid_broker.compiled import compiler
class Changed:
    def __init__(self, *_):
        raise TypeError("takes fewer arguments")
compiler._dispatcher = type("", (), dict(Dispatcher=Changed))
"""
AT_LINKING = """
from simgrid_broker.compiled import compiler
def changed(self):
    raise AttributeError("'Whole' object has no attribute '_final_module'")
compiler.Whole._link_parts = changed
"""
AT_READING = """
from simgrid_broker.compiled import kept_code
class Changed:
    def __init__(self, _content):
        raise AttributeError("no such attribute")
kept_code._Content = Changed
"""
"""Faults that an upgrade of Numba may bring to the own compiler, as lines of Python that cause them."""

PROGRAM = """
import numpy as np
from simgrid_broker.bundle import Bundle
from simgrid_broker.compiled import compiled, compiled_with, watched
from simgrid_broker.compiled.columns import copy_columns, same_columns

class Shelf(Bundle):
    rows: np.ndarray

@compiled
def twice(x):
    return 2 * x

def change(x):
    return x

@compiled
def put(shelf, k):
    copy_columns(shelf.rows[0], shelf.rows[k], ("a", "b"))
    shelf.rows[k]["a"] = change(shelf.rows[k]["a"])
    return same_columns(shelf.rows[0], shelf.rows[k], ("a",))

put_twice = compiled_with(put, change=twice)

@compiled
def fill(shelf):
    number = 0
    for k in range(1, len(shelf.rows)):
        number += put_twice(shelf, k)
    return number

names = []
with watched(names.append):
    shelf = Shelf(rows=np.array([(3, 0.5), (0, 0.0), (0, 0.0)], [("a", "i2"), ("b", "f8")]))
    print(twice(4), fill(shelf), shelf.rows.tolist())
print("fill" in " ".join(names))
"""
EXPECTED = "8 0 [(3, 0.5), (6, 0.5), (6, 0.5)]"

RUN = """
import sys
from simgrid_broker.cli import main
sys.argv = ["", "run", sys.argv[1], "--set", "warm_up=0h", "--until", "10 min", "--quiet", "--no-report",
            "--validate", "--out", sys.argv[2]]
main()
"""
ONE_MODULE = """
from simgrid_broker.compiled import kept_code
load = kept_code.KeptCode.load_overload
def load_others(self, sig, context):
    return None if self.function.__module__ == "simgrid_broker.fabric.jobs.submission" else load(self, sig, context)
kept_code.KeptCode.load_overload = load_others
"""
"""Code of one module is not at hand."""


def answer(program, *words, **variables):
    """Lines that a program prints, and its remarks, in a new process."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "0", stock.CHOICE: "0"} | variables
    return subprocess.run([sys.executable, "-c", program, *words], env=environment, capture_output=True, text=True,
                          timeout=900, cwd=ROOT)


@pytest.mark.parametrize("broken", [
    pytest.param(AT_IMPORT, id="at import"), pytest.param(AT_A_DECORATOR, id="at a decorator"),
    pytest.param(AT_LINKING, id="at linking"), pytest.param(AT_READING, id="at reading what is kept")])
def test_whatever_fails_in_the_own_compiler_stock_numba_compiles_after_one_remark(broken, tmp_path):
    kept = str(tmp_path)
    if broken is AT_READING:
        assert answer(PROGRAM, SIMGRID_BROKER_CACHE=kept).stdout.splitlines() == [EXPECTED, "True"]
    done = answer(broken + PROGRAM, SIMGRID_BROKER_CACHE=kept)
    assert (done.returncode, done.stdout.splitlines()[:1], done.stderr.count("\n")) == (0, [EXPECTED], 1), done.stderr
    assert done.stderr.startswith(REMARK) and numba.__version__ in done.stderr


def test_stock_numba_is_chosen_without_a_remark_and_keeps_its_code(tmp_path):
    runs = [answer(PROGRAM, SIMGRID_BROKER_CACHE=str(tmp_path), **{stock.CHOICE: "1"}) for _ in range(2)]
    assert [(done.stdout.splitlines(), done.stderr) for done in runs] == [([EXPECTED, "True"], ""),
                                                                         ([EXPECTED, "False"], "")]


MISTAKEN = """
from simgrid_broker.compiled import compiled
@compiled
def mistaken(x):
    return x + "one"
mistaken(1)
"""


def test_a_mistake_of_the_function_is_not_one_of_the_compiler():
    done = answer(MISTAKEN)
    assert done.returncode == 1 and "TypingError" in done.stderr and REMARK not in done.stderr


@pytest.mark.slow
def test_a_run_succeeds_when_the_own_compiler_fails_in_the_middle(tmp_path):
    """All code is at hand but that of one module: stock Numba compiles it, and all that is called first after it."""
    words = "scenarios/minimal.yaml", str(tmp_path)
    first, done = answer(RUN, *words), answer(AT_LINKING + ONE_MODULE + RUN, *words)
    assert (first.returncode, first.stderr.count(REMARK)) == (0, 0), first.stderr
    assert (done.returncode, done.stderr.count(REMARK)) == (0, 1), done.stderr
    one, other = (path.parent for path in tmp_path.rglob("jobs.parquet"))
    assert_same_tables(one, other)


def test_versions_of_numba_that_are_allowed_are_those_tried():
    """pyproject.toml allows from the lowest that was tried up to the minor version after the highest."""
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    allowed = next(need.specifier for need in map(Requirement, needs) if need.name == "numba")
    lowest, *_, highest = sorted(map(Version, stock.TRIED))
    assert str(allowed) == f"<{highest.major}.{highest.minor + 1},>={lowest}"
