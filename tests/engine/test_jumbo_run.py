"""Jumbo jobs in runs: they process the events of all inputs of a task, and co-jumbo jobs merge them."""

import numpy as np
import pytest

from simgrid_broker import remarks
from simgrid_broker.cli.explain import told_events
from simgrid_broker.engine import simulate
from simgrid_broker.gdpconfig import JumboWatchDog
from simgrid_broker.scenario import Scenario
from simgrid_broker.systems.events import jumbo_jobs as jumbo_jobs_agent

N_JOBS, N_EVENTS = 30, 60
STREAM = "workload.campaigns.ranges."


def plan(edition, **values):
    """One task of 30 inputs with 60 events each, a small nucleus, and an HPC centre of two slots for jumbo jobs."""
    stream = dict(name="ranges", corecount=8, events_per_job=N_EVENTS, hs06sec_per_event=6000, work_spread=0,
                  cpu_efficiency=1, cputime_ratio=0.01, jobs_per_task=N_JOBS, backlog=1, failure_rate=0, basewalltime=0,
                  memory_per_core=500, output_per_event="10 kB", input_per_job="1 MB", eventService=True,
                  nEventsPerWorker=1, maxAttemptEsJob=10, nJumboJobs=2)
    place = dict(failure_rate=0, stage_latency=0)
    queue = dict(corepower=10, jobseed="all")
    grid = dict(
        sites=dict(A=dict(tier=0, cores=24, nucleus=True, **place), HPC=dict(tier=2, cores=128, **place)),
        queues=dict(A=dict(atlas_site="A", corecount=8, capability="mcore", **queue),
                    M=dict(atlas_site="A", corecount=1, capability="score", **queue),
                    HPC=dict(atlas_site="HPC", corecount=64, capability="mcore", maxtime="1h", catchall="useJumboJobs",
                             **queue)),
        storages={name: dict(site=name, total=1e15, free=1e15) for name in ("A", "HPC")})
    return Scenario.from_dict(dict(
        name="jumbo", duration="12h", edition=edition, shares=[dict(name="All", value=1)], grid=grid,
        gdpconfig=dict(JUMBO_MIN_EVENTS_DISABLE=200), workload=dict(campaigns=[stream]))).with_values(values)


def jumbo_jobs(run):
    """Jumbo jobs of a run: those at the HPC centre without input of their own."""
    return run.jobs[(run.jobs.queue == "HPC") & (run.jobs.n_chunks == 0)]


@pytest.mark.rule("find_in_ring", "jobs_wanted", "next_flag", "make_jumbo_job", "let_wait")
@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_jumbo_jobs_process_events_of_all_inputs(tmp_path, edition):
    run = simulate(plan(edition), folder=tmp_path / "run", validate=True)
    jumbo, ended = jumbo_jobs(run), run.event_service
    assert jumbo.n_events.sum() > N_EVENTS, "more than one input has"
    assert jumbo.walltime_s.max() <= 3600, "a jumbo job ends with its slot, and keeps what it has processed"
    assert run.tasks.status.tolist() == ["done"]
    assert ended.ranges.sum() == N_JOBS * N_EVENTS
    told = " ".join(told_events(run, 1)[0].split())
    assert "processed 1,800 event ranges, 1,800 events in all" in told and "co-jumbo: " in told
    assert "jumbo: " in told and f"{N_JOBS} finished" in told.partition("merge: ")[2]
    merges = run.jobs[(run.jobs.n_chunks == 0) & (run.jobs.queue != "HPC")]
    assert (merges.status == "finished").sum() == N_JOBS, "each input is merged once, though some wait too long first"
    at_once = [int((jumbo.activated_s <= time).sum() - (jumbo.holding_s < time).sum())
               for time in jumbo.activated_s]
    assert max(at_once) <= 1, "maxJumboPerSite"


@pytest.mark.rule("Jobsets.begin")
@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_events_that_jumbo_jobs_processed_are_kept_for_the_next_attempt(tmp_path, edition):
    """All inputs are tried again after three hours, by when jumbo jobs have processed all events of some of them."""
    run = simulate(plan(edition, **{STREAM + "notDiscardEvents": True, STREAM + "max_attempt": 9, "duration": "9h",
                                    "incidents": [dict(at="3h", what="task_command", task=1, command="reassign")]}),
                   folder=tmp_path / "run", validate=True)
    holders = run.jobs[(run.jobs.n_chunks > 0) & (run.jobs.status == "finished")]
    assert (holders.attempt > 1).any() and not holders.duplicated("chunk").any()
    assert run.event_service.ranges.sum() <= N_JOBS * N_EVENTS, "no event twice"
    assert not (run.jobs.status == "failed").any()
    co_jumbo = run.jobs[(run.jobs.n_chunks != 0) & (run.jobs.queue == "A")]
    assert co_jumbo.ramcount_mb.max() <= 8 * 1000, "not those of a slot for jumbo jobs"


@pytest.mark.rule("jumbo.watch", "tasks_to_enable")
@pytest.mark.parametrize(("edition", "values", "has_jumbo"), [
    ("deployed", {"gdpconfig.JUMBO_MIN_EVENTS_DISABLE": 10_000, "duration": "6h"}, 1),
    ("documented", {STREAM + "nJumboJobs": 0, "gdpconfig.JUMBO_MIN_EVENTS_ENABLE": 1800}, 0),
    ("documented", {STREAM + "nJumboJobs": 0, "gdpconfig.JUMBO_MIN_EVENTS_ENABLE": 1000,
                    "gdpconfig.JUMBO_MAX_EVENTS": 1000, "gdpconfig.JUMBO_MAX_CURR_PRIO": 10_000, "duration": "6h"}, 2)])
def test_the_watchdog_disables_and_enables(tmp_path, edition, values, has_jumbo):
    """has_jumbo: 0 = none is made, 1 = those of the first minutes alone, 2 = later ones."""
    run = simulate(plan(edition, **values), folder=tmp_path / "run")
    made, started = jumbo_jobs(run).pending_s.tolist(), jumbo_jobs(run).dropna(subset="running_s")
    assert (started.status == "finished").all(), "those that run are left when jumbo jobs are disabled"
    assert bool(made) is (has_jumbo > 0)
    assert (max(made, default=0) > 1200) is (has_jumbo == 2)


@pytest.mark.rule("jumbo.watch")
@pytest.mark.parametrize(("duration", "statuses", "priorities"), [
    ("30 min", {"waiting", "activated", "running"}, {777}),                     # where jumbo jobs are disabled
    ("2h", {"activated", "running"}, {900})])          # for few files left, also of those that replace fake ones
def test_the_watchdog_gives_its_priority_to_all_live_jobs_of_a_task(tmp_path, duration, statuses, priorities):
    values = {"gdpconfig.JUMBO_MIN_EVENTS_DISABLE": 10_000, "gdpconfig.JUMBO_PRIO_DISABLED": 777}
    jobs = simulate(plan("deployed", duration=duration, **values), folder=tmp_path / "run").jobs
    live = jobs[jobs.status.isin(["waiting", "activated", "running"]) & (jobs.priority < 5000)]       # no merge jobs
    assert set(live.status) == statuses and set(live.priority) == priorities


@pytest.mark.rule("let_wait", "JumboJobs.finish_co_jumbo")
def test_fake_co_jumbo_jobs_wait_on_when_jumbo_jobs_are_disabled(tmp_path):
    """add_sub selects those without progress for kill 51 once jumbo jobs are disabled, or after 6 h; in the code the
    call fails, so that all of them are there after 9 h, where no queue takes co-jumbo jobs."""
    incidents = [dict(at="10 min", what="queue_status", queue="A", status="brokeroff"),
                 dict(at="1h", what="gdpconfig", key="JUMBO_MIN_EVENTS_DISABLE", value=10_000)]
    run = simulate(plan("deployed", duration="9h", incidents=incidents, **{"grid.sites.HPC.cores": 64}),
                   folder=tmp_path / "run", validate=True)
    fakes = run.jobs[run.jobs.n_chunks != 0]
    assert len(jumbo_jobs(run)) == 1 and len(fakes) == N_JOBS
    assert (fakes.pending_s < 3600).all() and (fakes.status == "waiting").all()


@pytest.mark.rule("kept_for_jumbo")
def test_queues_for_jumbo_jobs_take_no_others(tmp_path):
    run = simulate(plan("deployed", duration="4h", **{STREAM + "nJumboJobs": 0}),
                   folder=tmp_path / "run")
    assert "-jumbo" in set(run.refusals.tag) and "HPC" not in set(run.jobs.queue.astype(str))


@pytest.mark.rule("too_few_events", "set_apart")
@pytest.mark.parametrize(("least", "times"), [(N_JOBS * N_EVENTS, 1), (N_JOBS * N_EVENTS + 1, 0)])
def test_queues_that_ask_for_more_events_than_are_ready_get_no_jumbo_jobs(tmp_path, least, times):
    """A queue that asks for all events of the task gets jumbo jobs once; only fake co-jumbo jobs stand there."""
    run = simulate(plan("deployed", duration="4h", **{
        "grid.queues.HPC.catchall": f"useJumboJobs,minEventsForJumbo={least}"}), folder=tmp_path / "run")
    assert jumbo_jobs(run).pending_s.nunique() == times
    assert run.jobs.activated_s[(run.jobs.queue == "HPC") & (run.jobs.n_chunks != 0)].isna().all()
    assert ("-fewevents" in set(run.refusals.tag)) is (times == 0), "fake jobs leave none to the JobGenerator"


def test_no_jumbo_job_is_made_where_all_queues_are_full(tmp_path, monkeypatch):
    full = np.empty(0, np.int64), np.empty(0, np.int64)
    monkeypatch.setattr(jumbo_jobs_agent, "spread_jobs", lambda verdict, n, uniforms: full)
    run = simulate(plan("deployed", duration="1h"), folder=tmp_path / "run", validate=True)
    assert run.tasks.n_jobs.tolist() == [N_JOBS] and not len(jumbo_jobs(run))


def test_keys_act_in_the_edition_that_has_them():
    for edition, key in (("deployed", "JUMBO_MAX_TASKS"), ("deployed", "JUMBO_PER_SITE"),
                         ("deployed", "JUMBO_MAX_CURR_PRIO"), ("documented", "JUMBO_PROG_TO_BOOST")):
        told = [one for one in remarks(plan(edition, **{f"gdpconfig.{key}": 7})) if "JUMBO" in one]
        assert len(told) == 1 and key in told[0] and "edition reads it" in told[0]
    assert not [one for one in remarks(plan("deployed")) if "umbo" in one]
    without = plan("deployed", **{"grid.queues.HPC.catchall": ""})
    assert any("no queue has useJumboJobs" in one for one in remarks(without))
    assert JumboWatchDog.JUMBO_MIN_EVENTS_DISABLE.editions == ("documented", "deployed")


@pytest.mark.rule("store_range", "settle_ranges")
@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_ranges_of_jumbo_jobs_that_no_object_store_takes_are_retried(tmp_path, edition):
    """Co-jumbo jobs that have not started end with the failed ranges of jumbo jobs, and consumers retry these."""
    store = dict(site="HPC", type="OS_ES", total=1e15, free=2 * N_EVENTS * 1e4)
    run = simulate(plan(edition, **{
        "duration": "20h", "grid.storages.STORE": store, "grid.queues.HPC.objectstores": "STORE",
        STREAM + "maxAttemptES": 30, STREAM + "max_attempt": 30, STREAM + "maxAttemptEsJob": 30}),
        folder=tmp_path / "run", validate=True)
    free = run.table("storages").set_index("storage").free_bytes["STORE"]
    assert free.min() == 0 and free.iloc[-1] == 2 * N_EVENTS * 1e4
    assert run.tasks.status.tolist() == ["done"] and run.event_service.ranges.sum() >= N_JOBS * N_EVENTS
