"""The end of a process: its status, and what still runs."""

import subprocess
import sys

import pytest

CODE = """import atexit
from simgrid_broker import process
ending = process.Ending()
atexit.register(print, "at exit")
class Kept:
    def __del__(self):
        print("taken apart")
kept = Kept()
ending.status = {status!r}
{then}
"""


@pytest.mark.parametrize(("status", "then", "code", "said"), [
    pytest.param(3, "raise SystemExit(3)", 3, ["at exit"], id="a status"),
    pytest.param(None, "print('unflushed', end=' ')", 0, ["unflushed at exit"], id="no status is success"),
    pytest.param(0, "raise ValueError", 1, ["at exit", "taken apart"], id="an error after all"),
    pytest.param("full", "raise SystemExit('full')", 1, ["at exit", "taken apart"], id="a text as status"),
])
def test_a_process_ends_with_its_status_without_taking_apart_what_it_made(status, then, code, said):
    told = subprocess.run([sys.executable, "-c", CODE.format(status=status, then=then)], capture_output=True, text=True)
    assert (told.returncode, told.stdout.splitlines()) == (code, said), told.stderr
