"""Jobs read their input over a slow link while they run: doors hold, and tables and commands show what was read."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from simgrid_broker import metrics
from simgrid_broker.cli.app import app
from simgrid_broker.engine import simulate
from simgrid_broker.scenario import load_scenario

PLAN = Path(__file__).parents[2] / "scenarios" / "remote_reading.yaml"


@pytest.fixture(scope="module", params=["documented", "deployed"])
def run(request, tmp_path_factory):
    """The first eight hours of the scenario in an edition."""
    plan = load_scenario(PLAN).with_values({"duration": "8h", "warm_up": "0", "edition": request.param})
    return simulate(plan, folder=tmp_path_factory.mktemp("far") / "run", validate=True)


def test_input_is_read_and_not_moved(run):
    kinds = run.transfers.kind.value_counts()
    assert kinds["reading"] > 200 and kinds.get("input", 0) == 0
    assert set(run.transfers.activity[run.transfers.kind == "reading"]) == {"direct_reading"}
    jobs = run.jobs[run.jobs.status == "finished"]
    assert (jobs.missing_bytes[jobs.queue != "NUCLEUS"] == jobs.input_bytes[jobs.queue != "NUCLEUS"]).all()


def test_a_slow_link_costs_cpu_efficiency(run):
    jobs = run.jobs[run.jobs.status == "finished"]
    used = (jobs.cputime_s / (jobs.walltime_s * jobs.corecount)).groupby(jobs.queue.astype(object)).mean()
    assert used["FAR"] < 0.75 < used["NEAR"]


def test_the_door_of_the_readers_holds(run):
    series = metrics.wide(metrics.door_series(run))
    far = series[series.door == "FAR in"]
    assert 0.399 < far.rate.max() <= 0.4 * (1 + 1e-6)


def test_links_and_report_show_what_was_read(run):
    read = metrics.wide(metrics.direct_reading(run))
    assert set(zip(read.source, read.destination, strict=True)) == {("NUCLEUS", "NEAR"), ("NUCLEUS", "FAR")}
    told = CliRunner().invoke(app, ["links", str(run.folder)])
    assert told.exit_code == 0 and "direct_reading" in told.output
