#!/usr/bin/env python3
"""Run small scenarios with the lowest versions of all libraries that pyproject.toml allows, and with the lowest and the
highest version of Numba, each with the own compiler and with stock Numba; print what the first run took and if the rows
are the same. The tests of commands, figures, reports, studies and the control room run with the lowest of all libraries
too.

    scripts/try_versions.py                           the lowest of all libraries, and the two of Numba that were tried
    scripts/try_versions.py lowest                    the lowest of all libraries
    scripts/try_versions.py 0.63.1 0.68.1             these versions of Numba, with the latest of all other libraries
    scripts/try_versions.py --environments FOLDER     keep the virtual environments, and use those that are there

Each choice has a virtual environment of its own. Python's `venv`, pip and access to a package index are needed. A
version of Numba that does the same belongs into `simgrid_broker.compiled.stock.TRIED`, a bound into pyproject.toml.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from digest_tables import ROOT, digests
from packaging.requirements import Requirement
from tqdm import tqdm

from simgrid_broker.compiled.stock import CHOICE, REMARK, TRIED

CASES = {
    "minimal": ("scenarios/minimal.yaml", "--validate"),
    "users": ("scenarios/users_week.yaml", "--until", "1h", "--set", "warm_up=0h"),
}
"""Arguments of `run` by the name of the case; the second begins with what the first has compiled."""
COMPILERS = {"own": "0", "stock": "1"}
LOWEST = "lowest"
TESTS = "tests/cli", "tests/metrics", "tests/report", "tests/experiments", "tests/desk"
LIBRARIES = "numba", "llvmlite", "numpy"
ROW = "{:8} {:8} {:8} {:8} {:8} {:8} {:>16} {:>10}  {}"


def requirements(choice: str) -> list[str]:
    """Libraries for pip: those of the package and of its extras pinned to their lower bounds, and those of its tests;
    or those of the package with a version of Numba."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needs, extras = project["dependencies"], project["optional-dependencies"]
    if choice != LOWEST:
        return [f"numba=={choice}", *needs]
    tools = [need for need in extras["test"] if not need.startswith(project["name"])]
    return [*map(lowest, map(Requirement, needs + extras["studies"] + extras["desk"])), *tools]


def lowest(need: Requirement) -> str:
    """A requirement with its lower bound as the only version."""
    bound = next(part.version for part in need.specifier if part.operator == ">=")
    return f"{need.name}=={bound}"


def environment(choice: str, folder: Path) -> Path:
    """Python of a virtual environment with the package and a choice of libraries, created if missing."""
    home = folder / choice
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *requirements(choice)], check=True)
        subprocess.run([*install, "--no-deps", "--editable", ROOT], check=True)
    return python


def versions_of(python: Path) -> list[str]:
    """Versions of `LIBRARIES` in an environment."""
    code = f"from importlib.metadata import version as v; print(*map(v, {LIBRARIES}))"
    return subprocess.check_output([python, "-c", code], text=True).split()


def run(python: Path, compiler: str, case: str, cache: Path) -> tuple[dict, float, str]:
    """Digests of the tables of a case, CPU time, s, and a word on how it went: ok, fell back or failed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([python, "-m", "simgrid_broker", "run", *CASES[case], "--no-report", "--quiet", "--out",
                               out], cwd=ROOT, capture_output=True, text=True, env=os.environ | {
                                   "PYTHONPATH": str(ROOT), "SIMGRID_BROKER_CACHE": str(cache),
                                   CHOICE: COMPILERS[compiler]})
        found = digests(Path(out))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode:
        return {}, taken, f"failed: {done.stderr.strip()[-300:]}"
    return found, taken, "fell back" if REMARK[:30] in done.stderr else "ok"


def tests(python: Path, cache: Path) -> bool:
    """Run `TESTS` in an environment; old versions of libraries may warn. Returns if one fails."""
    done = subprocess.run([python, "-m", "pytest", "-q", "-W", "default", *TESTS], cwd=ROOT,
                          env=os.environ | {"SIMGRID_BROKER_CACHE": str(cache)})
    return done.returncode != 0


def main() -> int:
    """Run all cases with all versions and both compilers; status 1 if rows differ, a run or a test fails, or a run
    falls back."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    choices = LOWEST, TRIED[0], TRIED[-1]
    parser.add_argument("versions", nargs="*", metavar="VERSION", help=f"default: {' '.join(choices)}")
    parser.add_argument("--environments", type=Path, metavar="FOLDER", help="folder of the virtual environments")
    options = parser.parse_args()
    expected: dict[str, dict] = {}
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        turns = [(version, compiler) for version in options.versions or choices for compiler in COMPILERS]
        print(ROW.format("choice", "compiler", *LIBRARIES, "case", "first run, CPU s", "rows", "same rows"), flush=True)
        for version, compiler in tqdm(turns, unit="compiler", disable=not sys.stderr.isatty()):
            python = environment(version, (options.environments or Path(scratch)).resolve())
            for case in CASES:
                found, taken, word = run(python, compiler, case, Path(scratch) / f"{version}-{compiler}")
                same = word == "ok" and found == expected.setdefault(case, found)
                wrong += not same
                rows = sum(int(table["rows"]) for table in found.values())
                print(ROW.format(version, compiler, *versions_of(python), case, f"{taken:.1f}", f"{rows:,}",
                                 "yes" if same else "no" if word == "ok" else word), flush=True)
            if (version, compiler) == (LOWEST, "own"):
                wrong += tests(python, Path(scratch) / f"{version}-{compiler}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
