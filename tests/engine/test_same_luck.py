"""Two runs with one seed see the same jobs with the same intrinsic work and memory, whatever the policies do."""

from pathlib import Path

import numpy as np
import pytest

from simgrid_broker.engine import simulate
from simgrid_broker.scenario import load_scenario

SCENARIOS = Path(__file__).parents[2] / "scenarios"
KEY = ["jeditaskid", "chunk", "attempt"]
INTRINSIC = ["work_hs06s", "maxpss_mb", "n_events", "input_bytes", "output_bytes", "n_input_files"]
OF_A_TASK = ["arrival_s", "n_jobs", "work_hs06s_per_event", "maxpss_mb", "failure_rate"]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A run of the smallest scenario as it is."""
    plan = load_scenario(SCENARIOS / "minimal.yaml")
    return plan, simulate(plan, folder=tmp_path_factory.mktemp("base") / "run")


@pytest.mark.parametrize("change", [
    pytest.param({"policies.dispatch_order": "age"}, id="another order of dispatch"),
    pytest.param({"gdpconfig.jobbroker.NQUEUELIMITSITE_Production": 500}, id="another key of gdpconfig"),
    pytest.param({"edition": "deployed"}, id="the other edition"),
    pytest.param({"grid.sites.NORTH.cores": 40}, id="a smaller site"),
    pytest.param({"incidents": [dict(at=3600, what="site_outage", site="NORTH")]}, id="an incident"),
])
def test_jobs_are_the_same_and_their_way_is_not(base, change, tmp_path):
    plan, one = base
    other = simulate(plan.with_values(change), folder=tmp_path / "run")
    assert one.tasks.sort_values("jeditaskid")[OF_A_TASK].to_numpy().tolist() == other.tasks.sort_values(
        "jeditaskid")[OF_A_TASK].to_numpy().tolist()
    both = one.jobs.merge(other.jobs, on=KEY, suffixes=("", "_other"))
    assert len(both) > 0.6 * len(one.jobs)
    for column in INTRINSIC:
        assert (both[column] == both[f"{column}_other"]).all(), column
    assert not np.array_equal(both["running_s"], both["running_s_other"])


def test_all_attempts_of_a_chunk_have_the_same_work(base):
    _, run = base
    chunks = run.jobs.groupby(["jeditaskid", "chunk"])
    assert (chunks.size() > 1).any()
    assert (chunks[["work_hs06s", "maxpss_mb"]].nunique() == 1).all().all()


def test_a_longer_run_begins_like_a_shorter_one(base, tmp_path):
    plan, run = base
    short = simulate(plan.with_values({"duration": 6 * 3600}), folder=tmp_path / "run")
    ended = short.jobs[short.jobs["status"] == "finished"].set_index("panda_id")
    same = run.jobs.set_index("panda_id").loc[ended.index]
    assert len(ended) > 100
    for column in ("activated_s", "running_s", "finished_s", "work_hs06s"):
        assert (ended[column] == same[column]).all(), column
