"""Run a scenario in a process of its own, and write what each part of the run took as JSON.

    window.py SCENARIO FROM TO FOLDER OVERRIDE...      hours; FOLDER gets the run and figures.json

Only names are used that other sources have too, so that `windows` can run it on those. Times are processor time, s,
of the process and its threads: `imports_s`, `building_s` (reading, checking, tables), `before_s` (hours before FROM),
`window_s`, and `closing_s`; `jobs` and `events` are those of the window. The first hours load the compiled code.
"""

import json
import sys
import time
from itertools import pairwise
from pathlib import Path


def main(scenario: str, begin_h: str, end_h: str, folder: str, *overrides: str) -> None:
    """Run the scenario up to `end_h` and write the figures."""
    marks = [time.process_time()]

    def mark() -> None:
        marks.append(time.process_time())
    from simgrid_broker import load_scenario
    from simgrid_broker.engine import Simulation
    mark()
    loaded = load_scenario(scenario, overrides=[f"duration={end_h}h", "warm_up=0", *overrides])
    with Simulation(loaded, Path(folder) / "run") as simulation:
        mark()
        counts = []
        for hour in (float(begin_h), float(end_h)):
            if hour:
                simulation.env.run(until=hour * 3600)
            mark()
            counts.append((simulation.jobs_ended, int(simulation.world.state["n_processed"])))
    mark()
    names = ("imports_s", "building_s", "before_s", "window_s", "closing_s")
    figures = {name: later - before for name, (before, later) in zip(names, pairwise(marks), strict=True)}
    figures |= {name: after - before for name, before, after in zip(("jobs", "events"), *counts, strict=True)}
    (Path(folder) / "figures.json").write_text(json.dumps(figures))


if __name__ == "__main__":
    main(*sys.argv[1:])
