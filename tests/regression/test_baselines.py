"""Small result tables of three runs against committed CSVs: what changed in the grid is what the difference shows.

`pytest tests/regression --update` writes the CSVs anew; look at the difference before committing it.
"""

from pathlib import Path

import pandas as pd
import pytest
from builders import EVENTFUL

from simgrid_broker.engine import simulate
from simgrid_broker.scenario import load_scenario
from simgrid_broker.units import HOUR

SCENARIOS = Path(__file__).parents[2] / "scenarios"
BASELINES = Path(__file__).parent / "baselines"
RUNS = {"minimal": {}, "deployed": {"edition": "deployed"}, "eventful": EVENTFUL}
"""Name of the run to its changes of `minimal.yaml`."""


def jobs_by_queue(run) -> pd.DataFrame:
    """Attempts and core hours by queue, share and end."""
    jobs = run.jobs.assign(core_h=run.jobs["walltime_s"].astype(float) * run.jobs["corecount"] / HOUR)
    grouped = jobs.groupby(["queue", "share", "status", "cause"], observed=True)
    return grouped.agg(n_jobs=("panda_id", "size"), core_h=("core_h", "sum")).reset_index()


def waits(run) -> pd.DataFrame:
    """Hours between the steps of a job, by share and resource type, of the jobs that came so far."""
    jobs = run.jobs
    hours = pd.DataFrame({"share": jobs["share"], "resource_type": jobs["resource_type"],
                          "to_activated_h": (jobs["activated_s"] - jobs["pending_s"]) / HOUR,
                          "to_running_h": (jobs["running_s"] - jobs["activated_s"]) / HOUR,
                          "running_h": (jobs["holding_s"] - jobs["running_s"]) / HOUR})
    return hours.groupby(["share", "resource_type"], observed=True).mean().reset_index()


def tasks(run) -> pd.DataFrame:
    """One row a task."""
    columns = ["jeditaskid", "name", "share", "nucleus", "status", "n_jobs", "n_finished", "n_failed", "n_attempts",
               "ready_s", "done_s", "used_hs06s"]
    return run.tasks.sort_values("jeditaskid")[columns].reset_index(drop=True)


def traffic(run) -> pd.DataFrame:
    """Transfers by way and kind."""
    moved = run.transfers.assign(hours=(run.transfers["ended_s"] - run.transfers["submitted_s"]) / HOUR)
    grouped = moved.groupby(["source", "destination", "kind"], observed=True)
    return grouped.agg(n_transfers=("transfer_id", "size"), n_files=("n_files", "sum"), attempts=("attempt", "sum"),
                       terabytes=("bytes", lambda size: size.sum() / 1e12), mean_h=("hours", "mean")).reset_index()


def refusals(run) -> pd.DataFrame:
    """Refusals by broker and rule."""
    return run.refusals.groupby(["kind", "tag"], observed=True)["count"].sum().reset_index()


TABLES = (jobs_by_queue, waits, tasks, traffic, refusals)


@pytest.fixture(scope="module", params=RUNS)
def run(request, tmp_path_factory):
    """A run and its name."""
    plan = load_scenario(SCENARIOS / "minimal.yaml").with_values(RUNS[request.param])
    return request.param, simulate(plan, folder=tmp_path_factory.mktemp(request.param) / "run")


def assert_matches_baseline(table: pd.DataFrame, path: Path, update: bool) -> None:
    """Compare a small result table with its committed CSV; with `update` write the CSV instead."""
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        table.to_csv(path, index=False)
    words = {name: object for name in table.select_dtypes("category")}
    found, known = table.astype(words).fillna(dict.fromkeys(words, "")), pd.read_csv(path, dtype=words)
    known = known.fillna(dict.fromkeys(words, ""))
    pd.testing.assert_frame_equal(found, known, rtol=1e-9, check_dtype=False)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)
def test_nothing_has_changed(run, table, request):
    name, found = run
    path = BASELINES / name / f"{table.__name__}.csv"
    assert_matches_baseline(table(found), path, request.config.getoption("--update"))
