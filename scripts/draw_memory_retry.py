#!/usr/bin/env python3
"""Draw the picture of the retry module in README.md: scenarios/memory_retry.yaml run in both editions.

    scripts/draw_memory_retry.py                        simulate both and draw
    scripts/draw_memory_retry.py DOCUMENTED DEPLOYED    draw two runs that are there

What lives here: what is shown. What does not: how curves look (report).
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import simgrid_broker as sb
from simgrid_broker.records import write_whole
from simgrid_broker.report.canvas import Marks, png
from simgrid_broker.report.series import overlaid

ROOT = Path(__file__).resolve().parents[1]
SCENARIO = ROOT / "scenarios" / "memory_retry.yaml"
EDITIONS = ("documented", "deployed")
SHARE = "Reconstruction"


def runs(results: str) -> list[sb.Run]:
    """The scenario in each edition."""
    scenario = sb.load_scenario(SCENARIO)
    return [sb.simulate(scenario.with_values({"edition": edition}), out=Path(results) / edition)
            for edition in EDITIONS]


def ended(run: sb.Run, outcome: str) -> pd.Series:
    """Jobs of the share that have ended so, by time in s, at the times of the samples."""
    jobs = run.table("jobs", ["share", "status", "cause", "finished_s", "failed_s"])
    chosen = jobs[(jobs.share == SHARE) & ((jobs.status == outcome) | (jobs.cause == outcome))]
    moments = np.sort(np.fmax(chosen.finished_s, chosen.failed_s))
    times = np.unique(run.table("shares", ["time_s"]).time_s)
    return pd.Series(np.searchsorted(moments, times, side="right"), times)


def table(of_runs: list[sb.Run], outcome: str) -> pd.DataFrame:
    """The jobs that ended so in each run as one long table: run, time_s, value."""
    return pd.concat([ended(run, outcome).rename("value").rename_axis("time_s").reset_index().assign(run=edition)
                      for edition, run in zip(EDITIONS, of_runs, strict=True)], ignore_index=True)


def main(arguments: list[str]) -> None:
    """Draw the picture of two runs that are named, or of two that are made for it."""
    with tempfile.TemporaryDirectory() as results:
        of_runs = [sb.read_run(path) for path in arguments] or runs(results)

        def draw(tables, axes):
            for panel, (one, label) in zip(axes, tables, strict=True):
                overlaid(one, panel, label, Marks(0.0, ()))
            axes[0].set_xlabel("")
            axes[1].get_legend().remove()
        tables = ((table(of_runs, "memory_exceeded"), f"{SHARE} jobs killed\nfor their memory so far"),
                  (table(of_runs, "finished"), f"{SHARE} jobs\nfinished so far"))
        picture = png(draw, tables, (10, 5.6), (2, 1))
    print(write_whole(ROOT / "docs" / "img" / "memory_retry.png", picture))


if __name__ == "__main__":
    main(sys.argv[1:])
