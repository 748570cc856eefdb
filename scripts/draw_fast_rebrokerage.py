#!/usr/bin/env python3
"""Draw the picture of fast rebrokerage in README.md: scenarios/fast_rebrokerage.yaml run with and without it.

    scripts/draw_fast_rebrokerage.py                  simulate both and draw
    scripts/draw_fast_rebrokerage.py WITH WITHOUT     draw two runs that are there

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
from simgrid_broker.report.context import context
from simgrid_broker.report.series import overlaid

ROOT = Path(__file__).resolve().parents[1]
SCENARIO = ROOT / "scenarios" / "fast_rebrokerage.yaml"
THRESHOLD = "gdpconfig.FAST_REBRO_THRESHOLD_NQUEUE_Simulation"
QUEUE, SHARE = "LARGE", "Simulation"
NAMES = ("with fast rebrokerage", "without")
SAID = (f"no more workers for {QUEUE}", "workers again")
"""What the two incidents of the scenario do."""


def runs(results: str) -> list[sb.Run]:
    """The scenario as it is, and with the threshold of the share set to none."""
    scenario = sb.load_scenario(SCENARIO)
    return [sb.simulate(one, out=Path(results) / name) for name, one in
            zip(NAMES, (scenario, scenario.with_values({THRESHOLD: 0})), strict=True)]


def waiting_at_queue(run: sb.Run) -> pd.Series:
    """Jobs of the share that wait at the queue, by time in s, at the times of the samples."""
    jobs = run.table("jobs", ["queue", "share", "activated_s", "running_s", "closed_s"])
    jobs = jobs[(jobs.queue == QUEUE) & (jobs.share == SHARE)]
    times = np.unique(run.table("shares", ["time_s"]).time_s)
    left = np.fmin(jobs.running_s, jobs.closed_s).fillna(np.inf)
    waiting = [(jobs.activated_s <= time) & (left > time) for time in times]
    return pd.Series([int(one.sum()) for one in waiting], times)


def delivered(run: sb.Run) -> pd.Series:
    """Power in use by the share, kHS06, by time in s."""
    shares = run.table("shares", ["time_s", "share", "hs06"])
    return shares[shares.share == SHARE].groupby("time_s").hs06.sum() / 1000


def table(of_runs: list[sb.Run], figure) -> pd.DataFrame:
    """A figure of each run as one long table: run, time_s, value."""
    return pd.concat([figure(run).rename("value").rename_axis("time_s").reset_index().assign(run=name)
                      for name, run in zip(NAMES, of_runs, strict=True)], ignore_index=True)


def main(arguments: list[str]) -> None:
    """Draw the picture of two runs that are named, or of two that are made for it."""
    with tempfile.TemporaryDirectory() as results:
        of_runs = [sb.read_run(path) for path in arguments] or runs(results)
        marks = context(of_runs[0]).marks
        moments = [at for at, _ in marks.incidents]

        def draw(tables, axes):
            for panel, (one, label), words in zip(axes, tables, (SAID, ("", "")), strict=True):
                overlaid(one, panel, label, Marks(marks.warm_up_s, tuple(zip(moments, words, strict=True))))
            axes[0].set_xlabel("")
            axes[0].get_legend().remove()
        tables = ((table(of_runs, waiting_at_queue), f"{SHARE} jobs waiting at {QUEUE}"),
                  (table(of_runs, delivered), f"given to {SHARE} (kHS06)"))
        picture = png(draw, tables, (10, 5.6), (2, 1))
    print(write_whole(ROOT / "docs" / "img" / "fast_rebrokerage.png", picture))


if __name__ == "__main__":
    main(sys.argv[1:])
