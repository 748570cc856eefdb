"""Records of a run read back to the same jobs, and a calibration finds the figures of the run's queues in them."""

import numpy as np
import pytest

import simgrid_broker as sb
from simgrid_broker.records import read_run
from simgrid_broker.records.panda_records import EPOCH_S, missing_in, write_panda_records
from simgrid_broker.scenario.importers.files import Tally
from simgrid_broker.scenario.importers.panda import read_panda_jobs

GRID = {"CENTRE": 10, "NORTH": 12, "SOUTH": 8}
SCENARIO = {"duration": "12h", "warm_up": 0, "workload.campaigns.simulation.offered_cores": 100,
            "workload.campaigns.simulation.work_spread": 0.2, "workload.campaigns.simulation.events_per_job": 20,
            "workload.campaigns.simulation.corecount": 1, "grid.queues.NORTH.payload_overhead": 100}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Half a day of small jobs."""
    scenario = sb.load_scenario("scenarios/minimal.yaml").with_values(SCENARIO)
    return sb.simulate(scenario, folder=tmp_path_factory.mktemp("runs") / "run")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_records_read_back_to_the_same_jobs(run, tmp_path, suffix):
    records = write_panda_records(run, tmp_path / f"jobs.{suffix}")
    jobs, back = run.table("jobs"), read_panda_jobs(tmp_path / f"jobs.{suffix}", Tally())
    assert (back.pandaid.astype(int) == jobs.panda_id).all() and (back.jeditaskid.astype(int) == jobs.jeditaskid).all()
    ran = (jobs.status == "finished").to_numpy()
    for name, value in {"run_s": jobs.walltime_s, "cpuconsumptiontime": jobs.cputime_s, "cores": jobs.corecount,
                        "submit_s": EPOCH_S + jobs.pending_s, "work": jobs.work_hs06s,
                        "stage_in_s": jobs.stage_in_s, "wait_s": jobs.running_s - jobs.pending_s}.items():
        assert back[name][ran].to_numpy() == pytest.approx(value[ran].to_numpy(float), abs=2e-3, rel=1e-5), name
    assert (back.jobstatus == jobs.status.astype(str)).all() and (back.computingsite == jobs.queue.astype(str)).all()
    assert any("transformation" in text for text in missing_in(records))


def test_another_format_is_refused(run, tmp_path):
    with pytest.raises(sb.SimgridBrokerError, match="jobs.json: expected a name that ends with .csv or .parquet"):
        write_panda_records(run, tmp_path / "jobs.json")


def test_a_calibration_finds_the_queues_of_the_run(run, tmp_path):
    write_panda_records(run, tmp_path / "jobs.parquet")
    wrong = sb.load_scenario("scenarios/minimal.yaml").with_values(
        {f"grid.queues.{name}.corepower": 10 for name in GRID})
    found = sb.calibrate(wrong, tmp_path / "jobs.parquet").parameters.set_index(["name", "parameter"])
    for name, power in GRID.items():
        row = found.loc[name, "corepower"]
        assert row.state != "fitted" or row.after == pytest.approx(power, rel=0.01)
    assert found.after["NORTH", "payload_overhead"] == pytest.approx(100, abs=3)
    assert np.isfinite(found.loc["CENTRE", "corepower"].low)


def test_the_command_names_what_is_missing(run):
    from typer.testing import CliRunner

    from simgrid_broker.cli.app import app
    result = CliRunner().invoke(app, ["export", "records", str(run.folder)])
    assert result.exit_code == 0 and "missing:" in result.output and "panda_jobs.csv" in result.output
    assert read_run(run.folder).remarks == []
