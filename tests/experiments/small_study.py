"""A grid and work so small that a run takes a fraction of a second."""

from pathlib import Path

import simgrid_broker as sb

MINIMAL = Path(__file__).parents[2] / "scenarios" / "minimal.yaml"
QUICK = {"duration": "40 min", "warm_up": "10 min", "start": "filled", "agents.sampler": 60, "record.transfers": False,
         "workload.campaigns.simulation.events_per_job": 20, "workload.users.analysis.events_per_job": 200,
         "workload.campaigns.simulation.offered_cores": 60, "workload.users.analysis.offered_cores": 20}
"""Settings that leave some tens of jobs."""


def quick(**more):
    """The smallest scenario, for forty simulated minutes."""
    return sb.load_scenario(MINIMAL).with_values(QUICK | more)


def study_file(folder, **keys):
    """Path of a study file of this scenario with `keys`."""
    import json
    path = Path(folder) / "study.yaml"
    settings = QUICK | keys.pop("settings", {})
    path.write_text(json.dumps({"scenario": str(MINIMAL), "set": settings, **keys}, indent=1))
    return path


def runs_of(folder, scenario, seeds, group="base"):
    """Runs of a scenario with some seeds, in this process."""
    from simgrid_broker.experiments.running import Common, run_point
    from simgrid_broker.experiments.study import Point
    from simgrid_broker.records import read_run
    points = [Point(group, seed) for seed in seeds]
    assert all(run_point(Common(folder, (scenario,)), point)[0] == "done" for point in points)
    return [read_run(point.folder(folder)) for point in points]
