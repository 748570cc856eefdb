#!/usr/bin/env python3
"""Print a digest of every column of every table that a dozen scenarios leave, to compare two states of the program.

    scripts/digest_tables.py --write BEFORE.json            run the cases, keep their digests
    scripts/digest_tables.py --against BEFORE.json          list tables, rows and columns that differ; status 1 if any
    scripts/digest_tables.py --against BEFORE.json users push           two of the cases

A digest is that of the values of a column, whatever the container of Parquet looks like: row groups, encodings and
dictionaries do not count.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples" / "simgrid_broker_examples"
BUILD = "import setuptools; setuptools.setup()"
CASES: dict[str, tuple[str, ...]] = {
    "minimal": ("scenarios/minimal.yaml", "--validate"),
    "deployed": ("scenarios/quickstart.yaml", "--until", "30h", "--set", "edition=deployed"),
    "dirac": ("scenarios/dispatch_dirac.yaml", "--until", "20h"),
    "push": ("scenarios/pilot_modes.yaml", "--until", "28h", "--set", "grid.queues.EAST.workflow=push",
             "--set", "grid.queues.WEST.workflow=push"),
    "streaming": ("scenarios/pilot_modes.yaml", "--until", "28h"),
    "pull": ("scenarios/pilot_modes.yaml", "--until", "28h", "--set", "grid.queues.EAST.workflow=pull",
             "--set", "grid.queues.WEST.workflow=pull"),
    "users": ("scenarios/users_week.yaml", "--until", "5h", "--set", "warm_up=0h"),
    "users_documented": ("scenarios/users_week.yaml", "--until", "4h", "--set", "warm_up=0h",
                         "--set", "edition=documented"),
    "greedy": ("scenarios/greedy_user.yaml", "--until", "20h"),
    "carousel": ("scenarios/data_carousel.yaml", "--until", "30h"),
    "commands": ("scenarios/task_commands.yaml",),
    "outage": ("scenarios/site_outage.yaml", "--until", "40h"),
    "containers": ("scenarios/whole_container.yaml",),
    "merging": ("scenarios/merging.yaml",),
    "scouts": ("scenarios/scouts.yaml", "--set", "edition=deployed"),
    "work_queues": ("scenarios/work_queues.yaml", "--until", "12h"),
    "atlas": ("scripts/benchmark_atlas.yaml", "--until", "2h"),
    "atlas_day": ("scenarios/atlas_day.yaml", "--until", "2h", "--set", "warm_up=0h", "--set", "edition=deployed"),
    "own_policies": ("examples/own_policies.yaml",),
}
"""Arguments of `run` by the name of the case."""


def digests(folder: Path) -> dict[str, dict[str, str]]:
    """Digests of the columns of each table in a folder of results, and the number of rows."""
    return {path.stem: columns(pq.ParquetFile(path).read()) for path in sorted(folder.rglob("*.parquet"))}


def columns(table: pa.Table) -> dict[str, str]:
    """Digest of each column of a table, and its number of rows."""
    return {"rows": str(len(table))} | {name: digest(table.column(name)) for name in table.column_names}


def digest(column: pa.ChunkedArray) -> str:
    """Digest of the type and the values of a column."""
    kind = column.type
    whole = column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column
    sink = pa.BufferOutputStream()
    batch = pa.record_batch([whole.combine_chunks()], names=["values"])
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return sha256(sink.getvalue()).hexdigest()[:16]


def install_examples(folder: Path) -> None:
    """Install the package of examples into a folder, without a network."""
    source = folder / "source"
    subprocess.run(["cp", "-r", str(EXAMPLES), str(source)], check=True)
    subprocess.run([sys.executable, "-W", "ignore", "-c", BUILD, "-q", "egg_info", "--egg-base", str(folder),
                    "build_py", "--build-lib", str(folder)], cwd=source, check=True, capture_output=True)


def run(name: str, folder: Path) -> dict[str, dict[str, str]]:
    """Digests of the tables of a case; a case that fails has its message as the only digest."""
    paths = os.pathsep.join((str(ROOT), str(folder)))
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([sys.executable, "-m", "simgrid_broker", "run", *CASES[name], "--no-report", "--quiet",
                               "--out", out], cwd=ROOT, env=os.environ | {"PYTHONPATH": paths}, text=True,
                              capture_output=True)
        return digests(Path(out)) if done.returncode == 0 else {"failed": {"message": done.stderr[-2000:]}}


def differences(before: dict, after: dict) -> Iterable[str]:
    """A line for each table that one side lacks, and for each column that differs."""
    for table in sorted(before.keys() | after.keys()):
        one, other = before.get(table), after.get(table)
        if one is None or other is None:
            yield f"{table}: only {'after' if one is None else 'before'} {other if one is None else ''}"
            continue
        columns = [name for name in sorted(one.keys() | other.keys()) if one.get(name) != other.get(name)]
        if columns:
            yield f"{table}: {one.get('rows')} and {other.get('rows')} rows; differ: {', '.join(columns)}"


def main() -> int:
    """Run the cases and print, keep or compare their digests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"default: all of {', '.join(CASES)}")
    parser.add_argument("--write", type=Path, metavar="FILE", help="file for the digests")
    parser.add_argument("--against", type=Path, metavar="FILE", help="file with the digests of another state")
    options = parser.parse_args()
    if unknown := [name for name in options.cases if name not in CASES]:
        parser.error(f"unknown case {', '.join(unknown)}; possible: {', '.join(CASES)}")
    if options.write and not options.write.resolve().parent.is_dir():
        parser.error(f"{options.write} lies in no folder that exists")
    try:
        before = json.loads(options.against.read_text()) if options.against else {}
    except (OSError, ValueError) as error:
        parser.error(f"{options.against} holds no digests, as --write keeps them: {error}")
    found, different = {}, 0
    with tempfile.TemporaryDirectory() as folder:
        install_examples(Path(folder))
        for name in tqdm(options.cases or list(CASES), unit="case", disable=not sys.stderr.isatty()):
            found[name] = run(name, Path(folder))
            lines = list(differences(before.get(name, {}), found[name])) if before else []
            different += len(lines)
            rows = sum(int(table.get("rows", 0)) for table in found[name].values())
            state = f"{len(lines)} tables differ" if lines else "same" if before else "done"
            if "failed" in found[name]:
                state, lines = "failed", [found[name]["failed"]["message"]]
            print(f"{name:16} {len(found[name]):3} tables {rows:10,} rows  {state}", *lines, sep="\n    ", flush=True)
    if options.write:
        options.write.write_text(json.dumps(found, indent=1))
    return int(different > 0 or any("failed" in tables for tables in found.values()))


if __name__ == "__main__":
    sys.exit(main())
