#!/usr/bin/env python3
"""Compile what scenarios use and put it into the package, so that a wheel built afterwards brings it: a first run then
starts without compiling.

    scripts/make_kept_code.py                 code for every processor with the instructions of x86-64-v3
    scripts/make_kept_code.py --machine       code for the processor of this machine alone, as a first run makes it
    scripts/make_kept_code.py --remove        take it out again; a checkout needs none
    pip wheel --no-deps .                     a wheel of this platform, with the code

The code serves the versions of Python, Numba, llvmlite and NumPy that made it; with others, functions are compiled as
in a checkout, and a remark says so. It takes some two minutes.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path

from digest_tables import CASES, ROOT
from tqdm import tqdm

from simgrid_broker.compiled.kept_code import DIGESTS, GENERIC, SHIPPED, VERSIONS

COMMANDS = {
    **{name: ("run", *CASES[name], "--no-report", "--quiet") for name in (
        "minimal", "deployed", "dirac", "push", "pull", "users", "carousel", "merging", "scouts", "containers")},
    "jumbo": ("run", "scenarios/jumbo.yaml", "--until", "2h", "--no-report", "--quiet"),
    "preemptible": ("run", "scenarios/preemptible.yaml", "--until", "8h", "--no-report", "--quiet"),
    "broker": ("broker", "scenarios/snapshot.yaml", "--task", "101"),
    "match": ("match", "scenarios/dirac_snapshot.yaml", "scenarios/dirac_resource.json"),
}
"""Arguments of commands that use what users use, by name."""


def compile_into(folder: Path, processor: dict[str, str], names: list[str]) -> None:
    """Run the commands with an empty cache, which holds all that they compile afterwards."""
    environment = os.environ | processor | {"SIMGRID_BROKER_CACHE": str(folder / "cache")}
    for name in tqdm(names, desc="Compiling", unit="command", file=sys.stderr):
        out = ("--out", str(folder / name)) if COMMANDS[name][0] == "run" else ()
        subprocess.run([sys.executable, "-m", "simgrid_broker", *COMMANDS[name], *out], cwd=ROOT, env=environment,
                       check=True, stdout=subprocess.DEVNULL)


def ship(code: list[Path]) -> int:
    """Put files of compiled code into the package, with the list of their digests; returns their bytes."""
    SHIPPED.mkdir(exist_ok=True)
    for path in code:
        shutil.copyfile(path, SHIPPED / path.name)
    files = {path.name: sha256(path.read_bytes()).hexdigest() for path in sorted(code)}
    (SHIPPED / DIGESTS).write_text(json.dumps({"versions": VERSIONS, "files": files}, indent=1) + "\n")
    return sum(path.stat().st_size for path in code)


def main() -> None:
    """Read the arguments, compile, and say what was put where."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machine", action="store_true", help="compile for the processor of this machine")
    parser.add_argument("--remove", action="store_true", help="remove the code from the package")
    parser.add_argument("commands", nargs="*", choices=[[], *COMMANDS], help="only these commands; default: all")
    given = parser.parse_args()
    if SHIPPED.exists():
        shutil.rmtree(SHIPPED)
    if given.remove:
        return
    processor = {} if given.machine else {"NUMBA_CPU_NAME": GENERIC, "NUMBA_CPU_FEATURES": ""}
    with tempfile.TemporaryDirectory() as folder:
        compile_into(Path(folder), processor, given.commands or [*COMMANDS])
        code = sorted(Path(folder, "cache").glob("*.code"))
        size = ship(code)
    print(f"{len(code)} files of {size / 1e6:.1f} MB in {SHIPPED.relative_to(ROOT)}, for {VERSIONS}, "
          f"{'this processor' if given.machine else GENERIC}")


if __name__ == "__main__":
    main()
