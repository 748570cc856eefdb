"""A trace fills the grid that it loads: as input of tasks of many jobs, and as jobs that go to the server directly."""

import numpy as np
import pytest

from simgrid_broker import metrics, simulate
from simgrid_broker.errors import ScenarioError
from simgrid_broker.report.terminal import terminal_summary
from simgrid_broker.scenario import Scenario
from simgrid_broker.turns import job_tables, user_tables
from simgrid_broker.units import HOUR

N_SITES, SLOTS, N_JOBS, RUN_S, LOAD = 4, 10, 320, 1200, 0.9
EVERY_S = RUN_S / (LOAD * N_SITES * SLOTS)
"""Time between submissions at which the jobs keep this part of the slots busy."""

NAMES = [f"S{number}" for number in range(N_SITES)]
PLAN = {"name": "full", "duration": "4h", "shares": [{"name": "All", "value": 1}],
        "grid": {"sites": {name: {"cores": SLOTS, "nucleus": True, "failure_rate": 0} for name in NAMES},
                 "queues": {name: {"atlas_site": name, "corepower": 10, "num_slots": SLOTS} for name in NAMES},
                 "storages": {f"{name}_DISK": {"site": name, "total": "1 PB", "free": "1 PB"} for name in NAMES}}}
"""Sites of equal cores, one queue each."""


OF_TRACE = ("as", "place", "group_by")
"""Keys of a trace."""


def record(number, submit, run=RUN_S, user=1, executable=1, partition=1, cores=1):
    """One record of SWF."""
    return f"{number} {submit:.3f} -1 {run} {cores} -1 -1 {cores} -1 -1 1 {user} 1 {executable} 1 {partition} -1 -1"


def steady(n_jobs=N_JOBS):
    """Jobs of six users with two programs each, at an even rate."""
    return [record(k, EVERY_S * k, user=k % 6, executable=k % 2) for k in range(n_jobs)]


def replayed(folder, records, header=(), **changes):
    """A run of these records; changes: values of the scenario by dotted key, those of the trace by their own."""
    path = folder / "trace.swf"
    path.write_text("\n".join((*header, *records)) + "\n")
    plan = Scenario.from_dict(PLAN | {"workload": {"trace": {"file": str(path)}}})
    keys = {f"workload.trace.{key}" if key in OF_TRACE else key: value for key, value in changes.items()}
    return simulate(plan.with_values(keys), folder=folder / "run", validate=True)


@pytest.fixture(scope="module", params=["tasks", "jobs"])
def run(request, tmp_path_factory):
    """A steady load of nine tenths of the slots, submitted in either way."""
    return replayed(tmp_path_factory.mktemp(request.param), steady(), **{"as": request.param})


def occupancy(run, begin_s, end_s) -> float:
    """Part of the cores that payloads kept busy between two times."""
    starts, spent = run.jobs.running_s, run.jobs.walltime_s
    busy = (np.minimum(starts + spent, end_s) - np.maximum(starts, begin_s)).clip(lower=0) * run.jobs.corecount
    return busy.sum() / (end_s - begin_s) / metrics.core_capacity(run)


def test_slots_are_busy_between_the_first_quarter_and_the_last_submission(run):
    last = run.trace.submitted_s.max()
    assert occupancy(run, last / 4, last) > 0.85


def test_all_recorded_jobs_end_as_they_were_recorded(run):
    assert set(run.jobs.status) == {"finished"} and len(run.jobs) == N_JOBS
    assert run.jobs.walltime_s.tolist() == pytest.approx([RUN_S] * N_JOBS)
    assert set(run.tasks.status) == {"done"} and run.tasks.n_jobs.sum() == N_JOBS


@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_jobs_without_tasks_go_to_the_queues_that_a_brokerage_asked_job_by_job_gives_them(tmp_path, monkeypatch,
                                                                                         edition):
    def tables(name):
        (tmp_path / name).mkdir()
        found = replayed(tmp_path / name, steady(60), **{
            "as": "jobs", "edition": edition, "duration": "1h", "record.candidates": 0.5,
            "grid.sites.S0.failure_rate": 0.5})
        return {table: getattr(found, table).to_csv() for table in ("jobs", "tasks", "decisions", "candidates",
                                                                    "refusals")}
    compiled = tables("compiled")
    for module, broker in ((job_tables, "broker_jobs"), (user_tables, "broker_analysis")):
        monkeypatch.setattr(module, broker, None)                     # as own brokerages are asked
    asked = tables("asked")
    assert compiled == asked and len(compiled["candidates"]) > len(compiled["decisions"])


def test_the_jobs_of_an_owner_and_a_program_are_one_task(run):
    by_task = run.tasks.set_index("jeditaskid").n_jobs
    assert len(by_task) == 6 and by_task.max() == 54


@pytest.mark.parametrize("n_tasks", [pytest.param(1, id="one task a cycle"), pytest.param(50, id="all in a cycle")])
def test_no_owner_starves_while_others_submit(tmp_path, n_tasks):
    records = [record(k, 20 * k, run=60, user=k % 4) for k in range(240)]
    run = replayed(tmp_path, records, duration="2h", **{"gdpconfig.NTASKS_All": n_tasks, "shares.All.throttled": False})
    jobs = run.jobs.merge(run.trace, on=["jeditaskid", "chunk"])
    waits = (jobs.pending_s - jobs.submitted_s).groupby(jobs.user, observed=True).mean()
    assert len(waits) == 4 and waits.max() < 1.6 * waits.min()
    assert (jobs.pending_s - jobs.submitted_s).max() < 180 + 4 * 180 / n_tasks + 120


def test_no_job_is_made_before_it_is_submitted(run):
    jobs = run.jobs.merge(run.trace, on=["jeditaskid", "chunk"])
    assert len(jobs) == N_JOBS
    assert (jobs.pending_s >= jobs.submitted_s).all()


def test_the_wait_from_submission_includes_the_time_before_activation(run):
    jobs = run.jobs.merge(run.trace, on=["jeditaskid", "chunk"])
    found = metrics.wide(metrics.submission_waits(run, None)).iloc[0]
    assert found.from_submission_p50 == pytest.approx((jobs.running_s - jobs.submitted_s).median() / HOUR)
    assert found.from_submission_p50 > metrics.wide(metrics.waiting_times(run, None)).wait_p50[0]
    assert found.not_started == 0


def test_the_terminal_shows_the_wait_from_submission(run):
    assert "from submission: median" in terminal_summary(run)


def test_waits_from_submission_by_share_are_those_of_all_here(run):
    by_share, of_all = (metrics.wide(metrics.submission_waits(run, by)) for by in ("share", None))
    assert by_share["share"].tolist() == ["All"]
    assert by_share.drop(columns="share").iloc[0].tolist() == of_all.iloc[0].tolist()


@pytest.mark.parametrize(("way", "n_jobs"), [("tasks", 0), ("jobs", 12)])
def test_jobs_without_tasks_do_not_need_the_job_generator(tmp_path, way, n_jobs):
    run = replayed(tmp_path, steady(12), **{"as": way, "gdpconfig.JOB_SUBMISSION": False, "duration": "1h"})
    assert len(run.jobs) == n_jobs
    waits = metrics.wide(metrics.submission_waits(run, None)).iloc[0]
    assert waits.not_started == 12 - n_jobs


def test_jobs_without_tasks_are_sent_at_the_next_look_of_the_setupper(tmp_path):
    run = replayed(tmp_path, steady(12), duration="1h", **{"as": "jobs", "agents.setupper": 7})
    jobs = run.jobs.merge(run.trace, on=["jeditaskid", "chunk"])
    assert (jobs.activated_s - jobs.submitted_s).between(0, 7).all()


def test_jobs_without_tasks_go_where_they_ran_whatever_brokerage_says(tmp_path):
    run = replayed(tmp_path, [record(1, 0, partition=3), record(2, 1, partition=3), record(3, 2, partition=1)],
                   header=("; Partition: 3 S2", "; Partition: 1 S0"), place="recorded", duration="1h",
                   **{"as": "jobs", "grid.queues.S2.status": "brokeroff"})
    placed = run.jobs.merge(run.trace, on=["jeditaskid", "chunk"]).sort_values("submitted_s")
    assert placed["queue"].tolist() == ["S2", "S2", "S0"]
    assert not len(run.table("decisions"))


def test_jobs_without_tasks_that_find_no_queue_are_brokered_again(tmp_path):
    changes = {f"grid.queues.{name}.status": "brokeroff" for name in NAMES}
    back = [{"at": "30min", "what": "queue_status", "queue": "S1", "status": "online"}]
    run = replayed(tmp_path, steady(5), duration="2h", incidents=back, **{"as": "jobs"}, **changes)
    assert set(run.jobs.queue) == {"S1"} and set(run.jobs.status) == {"finished"}
    assert run.jobs.pending_s.between(1800, 1800 + 180 + 60).all()


def test_a_new_record_leaves_the_queues_of_the_others_as_they_were(tmp_path):
    queues = []
    for more in ([], [record(99, 5, user=9)]):
        folder = tmp_path / str(len(more))
        folder.mkdir()
        run = replayed(folder, [*steady(20), *more], duration="1h", **{"as": "jobs"})
        owned = run.jobs[run.jobs.user != "U9"]
        queues.append(owned.sort_values("pending_s", kind="stable")["queue"].tolist())
    assert np.mean(np.array(queues[0]) == np.array(queues[1])) > 0.8


@pytest.mark.parametrize(("cores", "slot"), [(1, 1), (3, 8)])
def test_a_recorded_job_runs_as_long_on_a_wider_slot(tmp_path, cores, slot):
    run = replayed(tmp_path, [record(1, 0, cores=cores)], duration="1h", **{"grid.queues.S0.corecount": 8,
                                                                          "place": "recorded"},
                   header=("; Partition: 1 S0",))
    job, = run.jobs.itertuples()
    assert (job.corecount, job.walltime_s, job.cputime_s) == (slot, RUN_S, cores * RUN_S)


def test_the_key_as_is_written_and_read_under_its_name(tmp_path):
    (tmp_path / "trace.swf").write_text(record(1, 0))
    plan = Scenario.from_dict(PLAN | {"workload": {"trace": {"file": str(tmp_path / "trace.swf"), "as": "jobs"}}})
    assert plan.to_dict()["workload"]["trace"]["as"] == "jobs"
    assert Scenario.from_dict(plan.to_dict()) == plan
    assert plan.with_values({"workload.trace.as": "tasks"}).workload.trace.enters_as == "tasks"
    with pytest.raises(ScenarioError, match="did you mean 'as'"):
        plan.with_values({"workload.trace.ass": "tasks"})


@pytest.mark.parametrize(("changes", "is_remarked"), [
    pytest.param({"group_by": ["record"]}, True, id="more tasks than a cycle looks at"),
    pytest.param({}, False, id="the same jobs in few tasks"),
    pytest.param({"agents.job_generator_lacking": 100_000}, True, id="more jobs than a cycle makes"),
    pytest.param({"as": "jobs"}, False, id="no generator"),
])
def test_a_trace_of_which_more_is_submitted_than_is_taken_in_is_remarked(tmp_path, changes, is_remarked):
    run = replayed(tmp_path, steady(40), duration="20min", **{"gdpconfig.NTASKS_All": 1} | changes)
    found = [remark for remark in run.manifest["remarks"] if "JobGenerator makes at most" in remark]
    assert bool(found) == is_remarked
    if "group_by" in changes:
        assert "share 'All' gets up to 36 recorded jobs, of 36 tasks, of type SCORE in an hour" in found[0]
        assert "of 20 tasks" in found[0]
