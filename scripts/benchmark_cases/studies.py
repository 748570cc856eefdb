"""What a study adds to the time of its runs."""

import json
import statistics
import tempfile
import time
from pathlib import Path

import simgrid_broker as sb
from benchmark_cases.commands import MODULE, command
from benchmark_cases.measures import ROOT

SCENARIO = ROOT / "scenarios" / "quickstart.yaml"


def short_points(n_points: int = 64, workers: int = 2) -> dict[str, float]:
    """A study of many short points as a whole command: start, workers, figures, tables and report included.

    point_s: processor time of a run in this process, median of three after one that is not counted; lost_percent: part
    of the command's processor time that is not that of its runs; idle_percent: part of the time of the workers in which
    they did nothing, which says something on an idle machine only.
    """
    with tempfile.TemporaryDirectory() as folder:
        scenario = sb.load_scenario(SCENARIO)
        spent = []
        for seed in range(1, 5):
            began = time.process_time()
            sb.simulate(scenario.with_values({"seed": seed}), out=Path(folder) / "alone" / str(seed))
            spent.append(time.process_time() - began)
        point_s = statistics.median(spent[1:])
        out = Path(folder) / "study"
        found = command((*MODULE, "replicate", str(SCENARIO), "--seeds", str(n_points), "--workers", str(workers),
                         "--out", str(out)))
        done = [json.loads(path.read_text())["status"] for path in out.glob("*/seed-*/manifest.json")]
        assert done == ["complete"] * n_points, "every point must run"
    return {"points": float(n_points), "point_s": point_s, "cpu_seconds": found["cpu_seconds"],
            "seconds": found["seconds"], "lost_percent": 100 * (1 - n_points * point_s / found["cpu_seconds"]),
            "idle_percent": 100 * (1 - found["cpu_seconds"] / (workers * found["seconds"]))}
