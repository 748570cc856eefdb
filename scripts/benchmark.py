#!/usr/bin/env python3
"""Measure the speed of the simulator relative to a plain SimPy model in the same process.

    scripts/benchmark.py                      all cases, a table
    scripts/benchmark.py fabric decision      some of them
    scripts/benchmark.py --json               the figures as JSON
    scripts/benchmark.py minimal waiting first_run --against DIR
                                              whole commands, in alternation with the sources in another folder
    scripts/benchmark.py steady users idle small --against COMMIT
                                              hours of frozen scenarios, five pairs with a commit of this repository
    scripts/benchmark.py sizes --write        the table of sizes and times in docs/performance.md

Times are processor time of the process, its threads and its children, wall-clock time is given beside. Ratios to the
SimPy model, or to other sources, are comparable between machines; absolute figures depend on the machine and its load.
A case is a function in a module of `benchmark_cases` and a line in CASES or COMMANDS.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmark_cases import atlas, commands, sizes, windows
from benchmark_cases.event_ranges import event_ranges
from benchmark_cases.growth import growth, long_run
from benchmark_cases.handover import handover
from benchmark_cases.matching import dirac, match
from benchmark_cases.measures import HOUR
from benchmark_cases.network import files, optimiser
from benchmark_cases.slots import Feed, busy_cores, fabric
from benchmark_cases.studies import short_points
from benchmark_cases.tasks import task_brokerage
from benchmark_cases.timeouts import timeouts
from benchmark_cases.users import user_decision
from benchmark_cases.yardstick import yardstick

COMMANDS: dict[str, Callable[..., dict]] = {
    "minimal": commands.minimal, "waiting": commands.waiting, "first_run": commands.first_run,
    "one_job_tasks": commands.one_job_tasks, "atlas_day": commands.atlas_day, "whole_run": commands.whole_run,
    "steady": windows.steady, "users": windows.users, "idle": windows.idle, "small": windows.small}
"""Cases that run whole commands and can be compared with other sources."""

CASES: dict[str, Callable[..., dict]] = {
    "fabric": fabric, "busy_cores": busy_cores, "decision": atlas.decision,
    "loading": atlas.loading, "user_decision": user_decision, "task_brokerage": task_brokerage,
    "timeouts": timeouts, "handover": handover, "event_ranges": event_ranges,
    "dirac": dirac, "match": match, "optimiser": optimiser, "files": files, "growth": growth, "long_run": long_run,
    "short_points": short_points, "report": commands.report,
    "whole_run_atlas": lambda: atlas.whole_run(6), "whole_run_atlas_2d": lambda: atlas.whole_run(48), **COMMANDS}

BUDGETS = {
    ("fabric", "ratio_to_simpy"): "at least 165", ("busy_cores", "cost_ratio"): "at most 1.6",
    ("loading", "cpu_ms"): "at most 1000", ("decision", "median_us_uncached"): "at most 300",
    ("timeouts", "median_ms"): "at most 50",
    ("event_ranges", "us_per_transition"): "at most 1", ("event_ranges", "bytes_per_range"): "at most 40",
    ("user_decision", "in_run_us"): "at most 200", ("user_decision", "median_us"): "at most 60",
    ("task_brokerage", "us_per_task"): "at most 50", ("task_brokerage", "small_us_per_task"): "at most 50",
    ("dirac", "median_us"): "at most 50", ("match", "cost_ratio"): "at most 2",
    ("optimiser", "cpu_ms"): "at most 10", ("files", "us_per_file"): "at most 2",
    ("long_run", "cost_ratio"): "at most 1.05", ("long_run", "cost_ratio_at_equal_jobs"): "at most 1.05",
    ("long_run", "memory_ratio"): "at most 1.1",
    ("whole_run_atlas", "ratio_to_simpy"): "at least 11", ("whole_run_atlas_2d", "ratio_to_simpy"): "at least 11",
    ("whole_run_atlas", "decision_us"): "at most 100",
    ("short_points", "lost_percent"): "less than 10",
    ("waiting", "imports_cpu_seconds"): "at most 0.7", ("waiting", "report_cpu_seconds"): "at most 1.2",
    **{("waiting", f"{name}_cpu_seconds"): "at most 1" for name in commands.ANSWERS if name != "report"},
    ("waiting", "member_cpu_seconds"): "at most 1.4",
    ("report", "megabytes"): "at most 1.5", ("report", "first_curve_seconds"): "at most 1",
    ("minimal", "cpu_seconds"): "at most 3", ("first_run", "ratio_to_against"): "at most 0.5 of 1e0ff5c",
    ("one_job_tasks", "cpu_seconds"): "at most 3", ("atlas_day", "peak_mib"): "at most 1024",
    ("whole_run", "ratio_to_against_by_job"): "at most 0.5 of 1e0ff5c",
    ("steady", "ratio_to_against_by_job"): "at most 0.45 of 5730435",
    ("steady", "ratio_to_against_by_event"): "at most 0.45 of 5730435",
    ("users", "ratio_to_against"): "at most 0.4 of 5730435",
    **{("idle", f"{name}_ratio_to_against"): "at most 0.25 of 5730435" for name in ("atlas", "minimal")},
    **{("small", f"{name}_ratio_to_against"): "at most 0.4 of 5730435" for name in windows.SMALL}}
"""What the figures of some cases should be."""


def warm_up() -> None:
    """Load or make the compiled code, so that no case pays for it."""
    feed = Feed(2, 4, 2)
    feed.turn(HOUR)
    feed.turn(HOUR)


def measured(names: Sequence[str], against: Path | None = None) -> dict[str, dict]:
    """Figures of the cases, and of both variants of the SimPy model, each the median of three.

    The variants are measured before the first case and after each one until there are three of them, which takes two
    minutes; not for whole commands alone, whose figures have no ratio to them. `ratio_to_simpy` is that to exponential
    waits. against: folder of other sources for whole commands.
    """
    speeds: dict[str, list[float]] = {} if COMMANDS.keys() >= set(names) else {"simpy": [], "simpy_equal_waits": []}

    def is_timed() -> bool:
        return all(len(found) == 3 for found in speeds.values())

    def time_simpy() -> None:
        if not is_timed():
            for name, found in speeds.items():
                found.append(yardstick(equal_waits=name == "simpy_equal_waits")["jobs_per_s"])
    figures: dict[str, dict[str, Any]] = {}
    time_simpy()
    for name in names:
        print(f"{name} ...", file=sys.stderr)
        figures[name] = CASES[name](against) if against and name in COMMANDS else CASES[name]()
        time_simpy()
    while not is_timed():
        time_simpy()
    plain = {name: statistics.median(found) for name, found in speeds.items()}
    for values in figures.values():
        if "jobs_per_s" in values:
            for name, speed in plain.items():
                values[f"ratio_to_{name}"] = values["jobs_per_s"] / speed
    return {name: {"jobs_per_s": speed} for name, speed in plain.items()} | figures


def main() -> None:
    """Run the cases that were asked for and print their figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}, or sizes; default: all")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--against", metavar="DIR|COMMIT", help="other sources, for whole commands and their hours")
    parser.add_argument("--write", action="store_true", help="with sizes: replace the rows in docs/performance.md")
    parser.add_argument("--scenarios", nargs="+", choices=sizes.SCENARIOS, default=sizes.SCENARIOS,
                        help="with sizes: rows to measure; the others stay as they are")
    arguments = parser.parse_args()
    if arguments.cases == ["sizes"]:
        return print_sizes(arguments.scenarios, arguments.write)
    unknown = [name for name in arguments.cases if name not in CASES]
    if unknown:
        parser.error(f"no case {', '.join(unknown)}; there are {', '.join(CASES)}, and, alone, sizes")
    try:
        against = commands.sources(arguments.against) if arguments.against else None
    except ValueError as error:
        parser.error(str(error))
    warm_up()
    figures = measured(arguments.cases or list(CASES), against)
    if arguments.json:
        print(json.dumps({"cases": figures}, indent=1))
        return
    for name, values in figures.items():
        print(name)
        for key, value in values.items():
            budget = f"   ({BUDGETS[name, key]})" if (name, key) in BUDGETS else ""
            print(f"    {key:30s} {printed(value):>14}{budget}")


def printed(value: object) -> str:
    """A figure as it is printed: with two decimals below 100, so that a ratio is not rounded to its budget."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.1f}" if abs(value) >= 100 else f"{value:.2f}"


def print_sizes(scenarios: Sequence[str], write: bool) -> None:
    """Measure rows of the table of sizes, print them, and write them if asked to."""
    rows = sizes.sizes(scenarios)
    print(sizes.HEAD + "".join(rows.values()), end="")
    if write:
        sizes.write(rows)


if __name__ == "__main__":
    main()
