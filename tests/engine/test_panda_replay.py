"""PanDA job records replayed where they ran and brokered: wall times as predicted, and their errors by queue."""

import sys
from pathlib import Path

import pytest

from simgrid_broker import metrics, simulate
from simgrid_broker.report.sections import write_report
from simgrid_broker.scenario import Scenario

sys.path.append(str(Path(__file__).parents[1] / "scenario"))
from panda_job import job, written  # noqa: E402

PLAN = {"name": "panda", "duration": "6h", "edition": "deployed",
        "shares": [{"name": name, "value": 1} for name in ("Analysis", "Production")],
        "grid": {"sites": {name: {"cores": 80, "nucleus": True} for name in ("east", "west")},
                 "queues": {"A": {"atlas_site": "east", "corepower": 10}, "B": {"atlas_site": "west", "corepower": 10}},
                 "storages": {f"{name}_DISK": {"site": name, "total": "1 PB", "free": "1 PB"}
                              for name in ("east", "west")}}}
"""Two sites that are alike."""

JOBS = [job(pandaid=k, jeditaskid=1 + k % 2, computingsite="AB"[k % 2], gshare=("Production", "Analysis")[k % 2],
            nevents=100) for k in range(1, 9)]
"""Four jobs of an hour on eight cores at each queue."""


def replayed(folder, jobs=JOBS, kind="json", grid=None, **trace):
    """A run of these records; grid: other values of the queue B."""
    changed = PLAN["grid"] | {"queues": PLAN["grid"]["queues"] | {"B": PLAN["grid"]["queues"]["B"] | (grid or {})}}
    plan = PLAN | {"grid": changed, "workload": {"trace": {"file": str(written(folder, *jobs, kind=kind)), **trace}}}
    return simulate(Scenario.from_dict(plan), folder=folder / "run", validate=True)


@pytest.mark.parametrize("grid", [
    pytest.param({}, id="as described"), pytest.param({"corepower": 17}, id="another power"),
    pytest.param({"cpu_efficiency": 0.9}, id="a factor of efficiency"),
    pytest.param({"payload_overhead": 600}, id="an overhead")])
def test_a_job_that_runs_where_it_ran_takes_as_long_again(tmp_path, grid):
    run = replayed(tmp_path, grid=grid, place="recorded")
    found = metrics.replayed_walltimes(run)
    assert set(found["where"]) == {"where recorded"} and len(found) == len(JOBS)
    assert found.simulated_s.tolist() == pytest.approx([3600] * len(JOBS), rel=1e-6)
    cpu = run.jobs.merge(run.trace, on=["jeditaskid", "chunk"])
    assert cpu.cputime_s.tolist() == pytest.approx(cpu.recorded_cputime_s.tolist(), rel=1e-6)


@pytest.mark.parametrize(("grid", "walltime_s"), [
    ({"corepower": 20}, 1800), ({"payload_overhead": 900}, 4500), ({"cpu_efficiency": 0.5}, 7200)])
def test_elsewhere_a_job_takes_as_long_as_that_queue_says(tmp_path, grid, walltime_s):
    jobs = [job(pandaid=k, computingsite="A") for k in range(1, 20)]
    run = replayed(tmp_path, jobs, grid=grid, place="brokered", **{"as": "jobs"})
    times = metrics.replayed_walltimes(run).groupby("where").simulated_s.unique()
    assert times["where recorded"].tolist() == pytest.approx([3600])
    assert times["elsewhere"].tolist() == pytest.approx([walltime_s])


def test_recorded_power_shows_that_a_queue_is_described_as_too_slow(tmp_path):
    run = replayed(tmp_path, [one | {"hs06": 80} for one in JOBS], grid={"corepower": 8}, place="recorded")
    table = metrics.wide(metrics.recorded_walltimes(run)).set_index("partition")
    assert table.error_p50.to_dict() == {"all": pytest.approx(12.5), "A": pytest.approx(0), "B": pytest.approx(25)}
    assert table.jobs.to_dict() == {"all": 8, "A": 4, "B": 4}
    of_shares = metrics.wide(metrics.recorded_walltimes(run, "share")).set_index("share")
    assert of_shares.error_p50["Analysis"] == pytest.approx(25)


def test_the_report_shows_wall_times_and_their_errors(tmp_path):
    run = replayed(tmp_path, place="recorded", kind="csv")
    text = write_report(run).read_text()
    for title in ("Recorded and simulated wall time of each job", "Error of the simulated wall times by queue",
                  "Recorded and simulated wall times by share", "Recorded and simulated waiting time by partition"):
        assert title in text
    assert not [remark for remark in run.manifest["remarks"] if "tagged" in remark]
