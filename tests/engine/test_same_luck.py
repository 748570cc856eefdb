"""Two runs with one seed have the same random draws: jobs of the same work and memory whatever the policies do, and
tasks of the same nuclei and queues whatever other tasks there are."""

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
    """Eight hours of the smallest scenario as it is."""
    plan = load_scenario(SCENARIOS / "minimal.yaml", until="8h")
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
    short = simulate(plan.with_values({"duration": 5 * 3600}), folder=tmp_path / "run")
    ended = short.jobs[short.jobs["status"] == "finished"].set_index("panda_id")
    same = run.jobs.set_index("panda_id").loc[ended.index]
    assert len(ended) > 100
    for column in ("activated_s", "running_s", "finished_s", "work_hs06s"):
        assert (ended[column] == same[column]).all(), column


# ---- a task of one job that arrives before all others --------------------------------------------------------------

def with_one_more(plan, **said):
    """The scenario with a stream of one task of one job that stands and arrives before all others."""
    streams = [stream.model_dump(exclude_unset=True) for stream in plan.workload.campaigns]
    kept = {key: value for key, value in streams[0].items() if key not in ("backlog_time", "offered_cores")}
    one = kept | dict(name="one more", jobs_per_task=1, backlog=1, tasks_per_day=1e-6) | said
    return plan.with_values({"workload.campaigns": [one, *streams]})


def others(run):
    """Tasks and jobs of a run without the one more, with the place of each task among the others."""
    tasks = run.tasks.sort_values("jeditaskid")
    tasks = tasks[tasks["name"] != "one more"].reset_index(drop=True)
    place = dict(zip(tasks["jeditaskid"], tasks.index, strict=True))
    jobs = run.jobs[run.jobs["jeditaskid"].isin(place)]
    return tasks.astype({"nucleus": object}), jobs.assign(task=jobs["jeditaskid"].map(place))


def test_a_task_that_finds_no_nucleus_changes_nothing_for_others(tmp_path):
    plan = load_scenario(SCENARIOS / "minimal.yaml").with_values(
        {"duration": "6h", "grid.links.default.failure_rate": 0.3, "workload.campaigns[0].failure_rate": 0.2,
         "workload.campaigns[0].jobs_per_task": {"median": 40, "sigma": 1}})
    more = with_one_more(plan, ramcount="90 GB", priority=900)
    (tasks, jobs), (tasks_then, jobs_then) = (others(simulate(each, folder=tmp_path / name))
                                              for name, each in (("as it is", plan), ("one more", more)))
    assert len(jobs) > 300 and (jobs["attempt"] > 1).sum() > 10
    for column in ("nucleus", "status", "n_attempts", "used_hs06s"):
        assert tasks[column].equals(tasks_then[column]), column
    for column in ("panda_id", "task", "chunk", "queue", "status", "work_hs06s", "activated_s", "running_s",
                   "transferring_s", "finished_s", "failed_s"):
        assert np.array_equal(jobs[column].astype(object).fillna("-"), jobs_then[column].astype(object).fillna("-"))


def test_a_task_of_one_job_changes_few_draws_of_others(tmp_path):
    """Its job and its work change weights a little; of several seeds, as one draw changes those that follow from it."""
    same_nucleus, same_queue = [], []
    for seed in range(1, 5):
        plan = load_scenario(SCENARIOS / "quickstart.yaml").with_values(
            {"duration": "20min", "warm_up": 0, "incidents": [], "seed": seed})
        (tasks, jobs), (tasks_then, jobs_then) = (others(simulate(each, folder=tmp_path / f"{name} {seed}"))
                                                  for name, each in (("base", plan), ("more", with_one_more(plan))))
        placed = tasks["nucleus"].notna()
        same_nucleus += (tasks["nucleus"] == tasks_then["nucleus"])[placed].tolist()
        both = jobs.merge(jobs_then, on=["task", "chunk", "attempt"], suffixes=("", "_then"))
        assert len(both) > 0.95 * len(jobs)
        same_queue += (both["queue"].astype(str) == both["queue_then"].astype(str)).tolist()
    assert len(same_nucleus) > 150 and np.mean(same_nucleus) >= 0.95
    assert len(same_queue) > 3000 and np.mean(same_queue) >= 0.90
