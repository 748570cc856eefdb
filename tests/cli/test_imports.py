"""Commands import only the libraries that they use, for whose import users would wait."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

MINIMAL = str(Path(__file__).parents[2] / "scenarios" / "minimal.yaml")
OF_REPORTS = "matplotlib", "dask", "distributed", "optuna", "SALib", "pyarrow.dataset"
OF_TABLES = *OF_REPORTS, "pandas"
OF_FILES = *OF_TABLES, "pyarrow", "simgrid_broker.engine", "simgrid_broker.metrics"
OF_RUNS = "dask", "distributed", "optuna", "pyarrow.dataset", "numba", "simpy", "yaml", "simgrid_broker.scenario"
CODE = """import json, os, sys
from simgrid_broker.cli import main
try:
    main()
except SystemExit as end:
    threads = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1
    print(json.dumps([end.code, threads, sorted(sys.modules)]))
"""


def modules_of(*command: str) -> set[str]:
    """Modules that a command has imported at its end."""
    ended = subprocess.run([sys.executable, "-c", CODE, *command], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    status, threads, modules = json.loads(ended.stdout.splitlines()[-1])
    assert status in (None, 0), ended.stdout
    assert threads == 1 or "pyarrow" in modules, "libraries made threads that nothing uses"
    return set(modules)


@pytest.mark.slow
def test_commands_import_what_they_use(tmp_path):
    """No command but a report draws, what runs or checks makes no DataFrames, and what reads a run does not run."""
    out, snapshot = tmp_path / "out", str(Path(MINIMAL).with_name("snapshot.yaml"))
    run = str(out / "minimal" / "seed-1")
    for command, unused in {("run", MINIMAL, "--quiet", "--no-report", "--out", str(out)): OF_TABLES,
                            ("check", MINIMAL): OF_FILES, ("broker", snapshot, "--task", "102"): OF_FILES,
                            ("describe", "-cap"): OF_FILES, ("gdpconfig", "cap_rt"): (*OF_FILES, "simpy"),
                            ("explain", run): (*OF_RUNS, "matplotlib"), ("why", run): (*OF_RUNS, "matplotlib"),
                            ("report", run, "--format", "pdf"): OF_RUNS}.items():
        assert (found := modules_of(*command)).isdisjoint(unused), (command, found & set(unused))


def test_workers_of_studies_load_no_library_that_only_some_studies_use():
    unused = *OF_REPORTS[:-1], "scipy.stats", "scipy.optimize", "scipy.sparse"
    code = ("import sys, scipy.special\nown = {*sys.modules}\nimport simgrid_broker.experiments.running\n"   # old SciPy
            f"print([one for one in {unused!r} if one in {{*sys.modules}} - own])")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
