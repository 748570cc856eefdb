"""A trace replayed: jobs keep what was recorded of them, and the report compares recorded with simulated waits."""

import numpy as np
import pytest

from simgrid_broker import load_scenario, metrics, simulate
from simgrid_broker.report.sections import write_report
from simgrid_broker.scenario import Scenario
from simgrid_broker.scenario.importers import read_swf_grid, write_grid
from simgrid_broker.units import HOUR

PLAN = {"name": "replay", "duration": "4h", "edition": "deployed", "shares": [{"name": "All", "value": 1}],
        "grid": {"sites": {name: {"cores": 8, "nucleus": True, "failure_rate": 1} for name in ("east", "west")},
                 "queues": {name: {"atlas_site": name, "corepower": 10} for name in ("east", "west")},
                 "storages": {f"{name}_DISK": {"site": name, "total": "1 PB", "free": "1 PB"}
                              for name in ("east", "west")}}}
"""Two sites of eight cores, at which every job would fail of the site."""

HEADER = ("; Partition: 1 east", "; Partition: 2 west", "; Queue: 3 short")


def record(job, submit, wait, run=600, status=1, queue=3, partition=1):
    """One record of SWF."""
    return f"{job} {submit} {wait} {run} 1 -1 -1 1 -1 -1 {status} 1 1 -1 {queue} {partition} -1 -1"


def replayed(tmp_path, *records, **trace):
    """A run of these records on the two sites."""
    path = tmp_path / "trace.swf"
    path.write_text("\n".join((*HEADER, *records)) + "\n")
    plan = PLAN | {"workload": {"trace": {"file": str(path), **trace}}}
    return simulate(Scenario.from_dict(plan), folder=tmp_path / "run")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Three jobs in the west and one in the east, one without a recorded wait, one that was cancelled."""
    return replayed(tmp_path_factory.mktemp("replay"), record(1, 0, 7200, partition=2), record(2, 1, 3600, partition=2),
                    record(3, 2, -1, partition=2), record(4, 3, 0, status=5), place="recorded")


def test_what_was_recorded_of_a_job_is_kept(run):
    kept = run.trace.sort_values("jeditaskid")
    assert kept["wait_s"].tolist() == pytest.approx([7200, 3600, np.nan, 0], nan_ok=True)
    assert kept["partition"].tolist() == ["west", "west", "west", "east"]
    assert kept["batch_queue"].tolist() == ["short"] * 4
    assert kept["status"].tolist() == ["completed"] * 3 + ["cancelled"]


def test_recorded_jobs_run_in_their_partition_and_do_not_fail_of_the_site(run):
    jobs = run.jobs.sort_values("jeditaskid")
    assert jobs["queue"].tolist() == ["west", "west", "west", "east"]
    assert set(jobs["status"]) == {"finished"}


def test_recorded_and_simulated_waits_are_of_the_same_jobs(run):
    waits = metrics.wide(metrics.recorded_waits(run)).set_index(["source", "partition"])
    assert waits.jobs["recorded", "west"] == waits.jobs["simulated", "west"] == 2
    assert waits.wait_p50["recorded", "west"] == 1.5
    started = run.jobs[run.jobs["queue"] == "west"].sort_values("chunk")["running_s"].to_numpy()
    assert waits.wait_p50["simulated", "west"] == pytest.approx(np.median(started[:2] - [0, 1]) / HOUR)
    assert waits.jobs["simulated", "all"] == 3


def test_recorded_ends_are_counted(run):
    ends = metrics.wide(metrics.recorded_statuses(run)).set_index("recorded").jobs
    assert ends.to_dict() == {"completed": 3, "cancelled": 1}


def test_the_report_shows_the_comparison(run):
    text = write_report(run).read_text()
    assert "Recorded and simulated waiting time by partition" in text
    assert "Recorded ends of the jobs of the trace" in text
    assert "Waiting time of recorded jobs from their submission" in text


def test_without_recorded_waits_nothing_is_compared_and_it_is_remarked(tmp_path):
    run = replayed(tmp_path, record(1, 0, -1))
    assert not len(metrics.recorded_waits(run))
    assert any("no job has a recorded waiting time" in remark for remark in run.manifest["remarks"])
    assert "records no waiting times" in write_report(run).read_text()


@pytest.mark.parametrize(("time_scale", "compared"), [(1, True), (0.5, False), (2, False)])
def test_waits_under_another_load_are_not_compared(tmp_path, time_scale, compared):
    run = replayed(tmp_path, record(1, 0, 60), record(2, 100, 60), time_scale=time_scale)
    assert bool(len(metrics.recorded_waits(run))) == compared == run.trace["wait_s"].notna().all()
    told = [remark for remark in run.manifest["remarks"] if "recorded waiting times are left out" in remark]
    assert bool(told) != compared and all(f"time_scale of {time_scale}" in remark for remark in told)


def test_a_partition_that_is_no_queue_of_the_grid_is_brokered_and_remarked(tmp_path):
    run = replayed(tmp_path, record(1, 0, 5, partition=9), place="recorded")
    assert set(run.jobs["status"]) == {"finished"}
    assert "jobs whose partition is no PanDA queue of the grid are brokered: 1 (P9)" in run.manifest["remarks"]


@pytest.mark.parametrize(("header", "records", "cores"), [
    pytest.param((), [(1, 0, 0, 1), (2, 100, 0, 1), (3, 0, 0, 2)], {"east": 2, "west": 1}, id="most used at one time"),
    pytest.param((), [(1, 0, 0, 1), (2, 600, 0, 1)], {"east": 1}, id="one job ends as the next begins"),
    pytest.param((), [(1, 0, 0, 1), (2, 600, 700, 1), (3, 1300, 0, 1)], {"east": 2}, id="a wait shifts the start"),
    pytest.param(("; MaxProcs: 30",), [(1, 0, 0, 1), (2, 0, 0, 1), (3, 0, 0, 2)], {"east": 20, "west": 10},
                 id="MaxProcs in proportion"),
    pytest.param(("; MaxProcs: 30 (25, 5)",), [(1, 0, 0, 1), (2, 0, 0, 2)], {"east": 25, "west": 5},
                 id="sizes of partitions in the header"),
    pytest.param(("; MaxProcs: 1",), [(1, 0, 0, 1), (2, 0, 0, 2)], {"east": 1, "west": 1}, id="MaxProcs too small"),
])
def test_a_grid_of_partitions(tmp_path, header, records, cores):
    path = tmp_path / "trace.swf"
    path.write_text("\n".join((*HEADER, *header, *(record(job, submit, wait, partition=partition)
                                                   for job, submit, wait, partition in records))) + "\n")
    grid, _, _ = read_swf_grid(path)
    assert {name: site["cores"] for name, site in grid["sites"].items()} == cores


def test_an_imported_trace_runs_as_it_is(tmp_path):
    path = tmp_path / "trace.swf"
    path.write_text("\n".join((*HEADER, record(1, 0, 60, partition=2), record(2, 5, 30))) + "\n")
    grid, others, remarks = read_swf_grid(path)
    write_grid(grid, tmp_path / "grid.yaml", remarks, others)
    run = simulate(load_scenario(tmp_path / "grid.yaml").with_values({"duration": "2h"}), folder=tmp_path / "run")
    jobs = run.jobs.sort_values("jeditaskid")
    assert jobs["queue"].tolist() == ["west", "east"] and set(jobs["status"]) == {"finished"}
