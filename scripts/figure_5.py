#!/usr/bin/env python3
"""Measure how a unified queue turns under a boost, after Figure 5 of the Global Shares paper, for scenarios/README.md.

    scripts/figure_5.py                  run and print both tables
    scripts/figure_5.py --write          write them into scenarios/README.md
    scripts/figure_5.py --write turn     only the first one, or `delays`
    scripts/figure_5.py delays --keep F  keep runs in folder F; those that are there are not repeated

turn: scenarios/unified_queue_evgen_boost.yaml by pilot streaming and by push, seeds SEEDS: after the boost at 24 h the
time until event generation has its target, how far it rises above that, and between which parts of the power it swings
from then until the boost ends at 48 h; and the time until it falls to its old target. delays: elementary effects
(Morris) of the delays of the loop on the mean distance from a target of 70 % that does not change, by `sensitivity`.
"""

import argparse
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import simgrid_broker as sb
from simgrid_broker.records import write_whole
from simgrid_broker.units import HOUR

ROOT = Path(__file__).resolve().parents[1]
README, SCENARIO = ROOT / "scenarios" / "README.md", ROOT / "scenarios" / "unified_queue_evgen_boost.yaml"
SHARE, BOOSTED, BEFORE = "Event generation", 0.7, 0.1
BEGIN_S, END_S = 24 * HOUR, 48 * HOUR
SEEDS = (1, 2)
WAYS = {"pilot streaming": "pull_ups", "push": "push"}
DELAYS: dict[str, tuple[str, Any]] = {
    "agents.statistics": ("counts that the share order is made of, 10 to 300 s", {"from": 10, "to": 300}),
    "agents.pilot_streaming": ("period of pilot streaming, 1 to 20 min", {"from": 60, "to": 1200}),
    "grid.sites.CERN.batch_latency": ("latency of the batch system, 0 to 1 h", {"from": 0, "to": 3600}),
    "workload.campaigns.evgen.hs06sec_per_event.median": ("jobs of event generation, 0.8 to 5.6 h",
                                                          {"from": 300, "to": 2000}),
    "workload.campaigns.simulation.hs06sec_per_event.median": ("jobs of simulation, 0.8 to 5.6 h",
                                                               {"from": 2400, "to": 16000})}
"""Delays of the loop from shares to running jobs, with the ranges in which they are varied."""
TRAJECTORIES, WORKERS = 8, 2
FIGURE = f"shares.{SHARE}.deviation"


def part_of(run: sb.Run) -> pd.Series:
    """Part of the power that event generation has, by time in s."""
    rows = run.table("shares", ["time_s", "share", "hs06"]).astype({"share": object})
    power = rows.pivot_table(index="time_s", columns="share", values="hs06", aggfunc="sum")
    return power[SHARE] / power.sum(axis=1)


def turned(part: pd.Series) -> dict[str, float]:
    """Figures of one run; NaN where the part does not come to a target."""
    boost, after = part[(part.index > BEGIN_S) & (part.index <= END_S)], part[part.index > END_S]
    up, down = boost.index[boost >= BOOSTED], after.index[after <= BEFORE]
    settled = boost[boost.index >= up[0]] if len(up) else boost[:0]
    return {"turn": (up[0] - BEGIN_S) / HOUR if len(up) else np.nan, "most": boost.max(), "least": settled.min(),
            "mean": boost.mean(), "back": (down[0] - END_S) / HOUR if len(down) else np.nan}


def turns(folder: Path) -> list[str]:
    """The table of turns, a row for each way and seed."""
    lines = ["| workers | seed | target reached after, h | highest part | above the target, points | lowest part after "
             "that | mean of the day | old target reached after, h |", "| --- " * 8 + "|"]
    for way, workflow in WAYS.items():
        for seed in SEEDS:
            plan = sb.load_scenario(SCENARIO).with_values({"grid.queues.CERN.workflow": workflow, "seed": seed})
            found = turned(part_of(sb.simulate(plan, folder=folder / f"{workflow}-{seed}")))
            lines.append(f"| {way} | {seed} | {shown(found['turn'], 1)} | {found['most']:.2f} | "
                         f"{100 * (found['most'] - BOOSTED):.0f} | {shown(found['least'], 2)} | {found['mean']:.2f} | "
                         f"{shown(found['back'], 1)} |")
    return lines


def shown(value: float, digits: int) -> str:
    """A figure, or `never`."""
    return "never" if np.isnan(value) else f"{value:.{digits}f}"


def study() -> Mapping[str, Any]:
    """The study file of the delays: boosted for good, 18 h after 12 h of warm-up."""
    return {"scenario": str(SCENARIO), "method": "morris", "points": TRAJECTORIES, "seeds": 1, "figures": [FIGURE],
            "set": {"incidents": [], "duration": "30h", f"shares.{SHARE}.value": 100 * BOOSTED,
                    "shares.Other production.value": 100 - 100 * BOOSTED},
            "vary": {key: values for key, (_, values) in DELAYS.items()}}


def delays(folder: Path) -> list[str]:
    """The table of elementary effects, the largest first; points that the folder of the study has are not run again."""
    effects = sb.sensitivity(study(), folder / "delays", WORKERS)
    table = effects.pivot(index="setting", columns="index", values=["value", "low", "high"])
    lines = ["| delay | key | mean size of the effect, points | 95 % interval | mean effect |", "| --- " * 5 + "|"]
    for key, row in table.sort_values(("value", "mu_star"), ascending=False).iterrows():
        low, high = max(row["low", "mu_star"], 0.0), row["high", "mu_star"]
        lines.append(f"| {DELAYS[key][0]} | `{key}` | {row['value', 'mu_star']:.1f} | {low:.1f} to {high:.1f} | "
                     f"{row['value', 'mu']:.1f} |")
    return lines


def write(name: str, lines: list[str]) -> None:
    """Replace a table in scenarios/README.md."""
    text = README.read_text(encoding="utf-8")
    begin, end = f"<!-- begin of {name}, by scripts/figure_5.py -->", f"<!-- end of {name} -->"
    made = f"{begin}\n\n" + "\n".join(lines) + f"\n\n{end}"
    write_whole(README, re.sub(f"{re.escape(begin)}.*{re.escape(end)}", lambda _: made, text, flags=re.DOTALL))


def main() -> None:
    """Run what was asked for, and print or write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="turn or delays; default: both")
    parser.add_argument("--write", action="store_true", help="write into scenarios/README.md")
    parser.add_argument("--keep", type=Path, metavar="F", help="folder of runs that are kept")
    arguments = parser.parse_args()
    made = {"turn": turns, "delays": delays}
    for name in arguments.tables or made:
        with tempfile.TemporaryDirectory() as folder:
            lines = made[name](arguments.keep or Path(folder))
        if arguments.write:
            write(name, lines)
        else:
            print("\n".join(lines))


if __name__ == "__main__":
    main()
