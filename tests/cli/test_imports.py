"""Commands import only the libraries that they use, for whose import users would wait."""

import json
import subprocess
import sys
from pathlib import Path

MINIMAL = str(Path(__file__).parents[2] / "scenarios" / "minimal.yaml")
OF_REPORTS = "matplotlib", "dask", "distributed", "optuna", "SALib", "pyarrow.dataset"
OF_TABLES = *OF_REPORTS, "pandas"
OF_RUNS = *OF_REPORTS, "simpy", "simgrid_broker.engine", "simgrid_broker.agents"
CODE = """import json, sys
from simgrid_broker.cli.app import app
status = app(sys.argv[1:], standalone_mode=False)
print(json.dumps([status, sorted(sys.modules)]))
"""


def modules_of(*command: str) -> set[str]:
    """Modules that a command has imported at its end."""
    ended = subprocess.run([sys.executable, "-c", CODE, *command], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    status, modules = json.loads(ended.stdout.splitlines()[-1])
    assert status in (None, 0), ended.stdout
    return set(modules)


def test_commands_import_what_they_use(tmp_path):
    """No command but a report draws, a run and a description make no DataFrames, and what reads a run does not run."""
    out = tmp_path / "out"
    for command, unused in {("run", MINIMAL, "--quiet", "--no-report", "--out", str(out)): OF_TABLES,
                            ("describe", "scenario"): OF_TABLES,
                            ("explain", str(out / "minimal" / "seed-1")): OF_RUNS}.items():
        assert (found := modules_of(*command)).isdisjoint(unused), (command, found & set(unused))
