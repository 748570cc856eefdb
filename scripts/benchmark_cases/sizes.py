"""The table of sizes and times in docs/performance.md: measured on the machine that each row names."""

import json
import os
import platform
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numba

from benchmark_cases.commands import MODULE, command
from benchmark_cases.measures import ROOT

SCENARIOS = ("quickstart", "saturated_day", "atlas_day")
PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- sizes: rows written by scripts/benchmark.py sizes --write -->\n", "<!-- end of sizes -->\n"
HEAD = ("| run | job attempts | simulation | report | memory | results | measured on |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n")
MINUTES_FROM_S = 100.0
"""Time from which minutes are given, s."""


def sizes(names: Iterable[str] = SCENARIOS) -> dict[str, str]:
    """A row of the table for each scenario, by its name; a first run translates the sources of the program."""
    with tempfile.TemporaryDirectory() as folder:
        command((*MODULE, "run", "scenarios/minimal.yaml", "--quiet", "--out", folder))
    return {name: _row(name) for name in names}


def _row(name: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        scenario = f"scenarios/{name}.yaml"
        run = command((*MODULE, "run", scenario, "--quiet", "--no-report", "--out", folder))
        results, = Path(folder, name).iterdir()
        jobs = json.loads((results / "manifest.json").read_text())["counters"]["jobs_ended"]
        report = command((*MODULE, "report", str(results)))
        size = sum(file.stat().st_size for file in results.rglob("*") if file.is_file())
    memory = max(run["peak_mib"], report["peak_mib"]) / 1024
    cells = (f"`{name}.yaml`", _number(jobs), _time(run["seconds"]), _time(report["seconds"]), f"{memory:.1f} GiB",
             _size(size), machine())
    return f"| {' | '.join(cells)} |\n"


def _number(jobs: int) -> str:
    return f"{jobs / 1e6:.1f} million" if jobs >= 1e6 else f"{round(jobs, -2):,}"


def _time(seconds: float) -> str:
    return f"{seconds / 60:.1f} min" if seconds >= MINUTES_FROM_S else f"{seconds:.0f} s"


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e8 else f"{n_bytes / 1e6:.0f} MB"


def machine() -> str:
    """Cores, processor, clock and memory of this machine, and the versions of Python and Numba."""
    text = Path("/proc/cpuinfo").read_text()
    about = {name: re.search(rf"^{name}\s*: (.*)$", text, re.MULTILINE) for name in ("model name", "cpu MHz")}
    named = about["model name"].group(1).strip() if about["model name"] else platform.processor()
    clock = f" {float(about['cpu MHz'].group(1)) / 1000:.1f} GHz" if about["cpu MHz"] else ""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (f"{len(os.sched_getaffinity(0))} cores {named}{clock}, {memory:.0f} GiB; "
            f"Python {platform.python_version()}, Numba {numba.__version__}")


def written(text: str, rows: dict[str, str]) -> str:
    """The page with the rows measured, those of other scenarios as they were; raises ValueError without markers."""
    before, begin, rest = text.partition(BEGIN)
    table, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no table between {BEGIN.strip()} and {END.strip()}")
    known = {row.split("`")[1].removesuffix(".yaml"): row for row in table.splitlines(keepends=True) if "`" in row}
    return before + BEGIN + HEAD + "".join((known | rows).values()) + END + after


def write(rows: dict[str, str]) -> None:
    """Replace rows on the page."""
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")
