#!/usr/bin/env python3
"""Run small scenarios with the lowest and the highest version of Numba that is allowed, each with the own compiler and
with stock Numba, and print what the first run took and if the rows are the same.

    scripts/try_numba.py                            the first and the last of the versions that were tried
    scripts/try_numba.py 0.63.1 0.68.1              these versions
    scripts/try_numba.py --environments FOLDER      keep the virtual environments, and use those that are there

Each version has a virtual environment with the NumPy and the llvmlite that fit. Python's `venv`, pip and access to a
package index are needed. A version that does the same belongs into `simgrid_broker.compiled.stock.TRIED`.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from digest_tables import BUILD, ROOT, digests
from tqdm import tqdm

from simgrid_broker.compiled.stock import CHOICE, REMARK, TRIED

CASES = {
    "minimal": ("scenarios/minimal.yaml", "--validate"),
    "users": ("scenarios/users_week.yaml", "--until", "1h", "--set", "warm_up=0h"),
}
"""Arguments of `run` by the name of the case; the second begins with what the first has compiled."""
COMPILERS = {"own": "0", "stock": "1"}
ROW = "{:8} {:6} {:8} {:8} {:8} {:>16} {:>10}  {}"


def environment(version: str, folder: Path) -> Path:
    """Python of a virtual environment with a version of Numba, created if missing."""
    home = folder / version
    python = home / "bin" / "python"
    if not python.exists():
        needs = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", f"numba=={version}", *needs, "setuptools"],
                       check=True)
        site = subprocess.check_output([python, "-c", "import site; print(site.getsitepackages()[0])"], text=True)
        subprocess.run([python, "-W", "ignore", "-c", BUILD, "-q", "egg_info", "--egg-base", site.strip()], cwd=ROOT,
                       check=True, capture_output=True)
    return python


def versions_of(python: Path) -> list[str]:
    """Versions of Numba, llvmlite and NumPy in an environment."""
    names = "numba", "llvmlite", "numpy"
    code = f"from importlib.metadata import version as v; print(*map(v, {names}))"
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


def main() -> int:
    """Run all cases with all versions and both compilers; status 1 if rows differ, a run fails or falls back."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", metavar="VERSION", help=f"default: {TRIED[0]} {TRIED[-1]}")
    parser.add_argument("--environments", type=Path, metavar="FOLDER", help="folder of the virtual environments")
    options = parser.parse_args()
    expected: dict[str, dict] = {}
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        turns = [(version, compiler) for version in options.versions or (TRIED[0], TRIED[-1]) for compiler in COMPILERS]
        print(ROW.format("numba", "", "llvmlite", "numpy", "case", "first run, CPU s", "rows", "same rows"), flush=True)
        for version, compiler in tqdm(turns, unit="compiler", disable=not sys.stderr.isatty()):
            python = environment(version, (options.environments or Path(scratch)).resolve())
            for case in CASES:
                found, taken, word = run(python, compiler, case, Path(scratch) / f"{version}-{compiler}")
                same = word == "ok" and found == expected.setdefault(case, found)
                wrong += not same
                rows = sum(int(table["rows"]) for table in found.values())
                print(ROW.format(version, compiler, *versions_of(python)[1:], case, f"{taken:.1f}", f"{rows:,}",
                                 "yes" if same else "no" if word == "ok" else word), flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
