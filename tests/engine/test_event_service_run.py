"""Event service in runs: consumers share the ranges of an input, keep what they have processed, and merge it."""

import math

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from simgrid_broker.engine import simulate
from simgrid_broker.metrics import event_service_ends, kept_where_slots_end
from simgrid_broker.metrics.coverage import event_ends_used
from simgrid_broker.scenario import Scenario, load_scenario
from simgrid_broker.scenario.checks.cross_checks import remarks

EVENT_S = 360.0
CLOSED_FORMS = [pytest.param(1.0, 2, id="rate x range = 1"), pytest.param(0.05, 40, id="rate x range = 0.05")]


def plan(rate, n_ranges, jobs=50, **campaign):
    """Eight tasks of `jobs` inputs with ranges of 360 s, on single cores that are taken away at a rate per range."""
    stream = dict(name="ranges", corecount=1, events_per_job=n_ranges, hs06sec_per_event=10 * EVENT_S, work_spread=0,
                  cpu_efficiency=1, cputime_ratio=0.01, jobs_per_task=jobs, backlog=8, failure_rate=0, basewalltime=0,
                  max_attempt=250, memory_per_core=500, output_per_event=0)
    queue = dict(atlas_site="A", capability="score", corecount=1, timefloor=0, jobseed="all",
                 eviction_rate=rate / EVENT_S * 3600, eviction_notice=0)
    return Scenario.from_dict(dict(
        name="ranges", duration="30h", shares=[dict(name="All", value=1)],
        resource_types=dict(SCORE=dict(mincore=1, maxcore=1)), workload=dict(campaigns=[stream | campaign]),
        grid=dict(sites=dict(A=dict(tier=0, cores=400, nucleus=True, failure_rate=0, stage_latency=0)),
                  queues=dict(A=queue), storages=dict(A=dict(site="A", total=1e15, free=1e15)))))


SLOW = dict(copy_archive=600, job_generator=300, job_generator_lacking=300, statistics=600, setupper=300, adder=300)
"""Agents wake seldom, so that a run is short."""
RANGES = dict(eventService=True, nEventsPerWorker=1, maxAttemptES=1000, maxAttemptEsJob=250, decAttOnFailedES=True)


@pytest.mark.slow
@pytest.mark.rule("fetches_more", "fetch_ranges", "report_events", "evict")
@pytest.mark.parametrize(("rate", "n_ranges"), CLOSED_FORMS)
def test_events_that_are_processed_are_kept(tmp_path, rate, n_ranges):
    run = simulate(plan(rate, n_ranges, **RANGES), folder=tmp_path / "run", validate=True)
    consumers = run.jobs[run.jobs.n_chunks != 0]
    slot_s = consumers.groupby(["jeditaskid", "chunk"]).walltime_s.sum()
    assert (run.tasks.status == "done").all()
    expected = n_ranges * math.expm1(rate) / (rate / EVENT_S)
    assert slot_s.mean() == pytest.approx(expected, abs=float(4 * slot_s.std() / math.sqrt(len(slot_s))))
    ended = run.event_service
    assert ended.ranges.sum() == 8 * 50 * n_ranges
    assert ended.kept_s.sum() == pytest.approx(8 * 50 * n_ranges * EVENT_S)
    assert ended.walltime_s[ended.kind != "merge"].sum() == pytest.approx(consumers.walltime_s.sum())
    kept = kept_where_slots_end(run).set_index(["queue", "work"]).kept
    assert kept["A", "event service"] == pytest.approx(100 * rate / math.expm1(rate), rel=0.1)


@pytest.mark.rule("end_job")
def test_a_retry_has_the_priority_that_its_consumer_got_in_the_meantime(tmp_path):
    tasks = [dict(at="1h", what="task_priority", task=task, priority=700) for task in range(1, 9)]
    run = simulate(plan(1.0, 10, **RANGES).with_values({"incidents": tasks, "duration": "3h"}), folder=tmp_path / "run")
    later = run.jobs[(run.jobs.n_chunks < 0) & (run.jobs.pending_s > 3600)]
    assert len(later) > 100 and (later.priority > 700).all()


@pytest.mark.rule("evict")
@pytest.mark.parametrize(("rate", "n_ranges"), CLOSED_FORMS)
def test_ordinary_jobs_begin_again(tmp_path, rate, n_ranges):
    """Of first attempts, which all inputs have, whatever throttles the later ones."""
    run = simulate(plan(rate, n_ranges).with_values({"agents": SLOW}), folder=tmp_path / "run")
    first = run.jobs[run.jobs.attempt == 1]
    succeeded = (first.status == "finished").mean()
    error = math.sqrt((1 - succeeded) / (succeeded * len(first)))
    kept, own = kept_where_slots_end(run), run.jobs[run.jobs.status.isin(["finished", "failed", "closed"])]
    assert kept.work.tolist() == ["ordinary"] and not len(event_service_ends(run))
    assert kept.kept.item() == pytest.approx(
        100 * own.walltime_s[own.status == "finished"].sum() / own.walltime_s.sum()), "of jobs that have ended"
    assert first.walltime_s.mean() / succeeded == pytest.approx(math.expm1(rate * n_ranges) / (rate / EVENT_S),
                                                                rel=4 * error)


DEFAULT_LIMITS = [
    pytest.param({}, 0.04, 1, id="ordinary"),
    pytest.param(dict(eventService=True, nEventsPerWorker=1), 0.1, 3, id="three consumers"),
    pytest.param(dict(eventService=True, nEventsPerWorker=1, maxAttemptES=1), 0.04, 1, id="one attempt at a range")]


@pytest.mark.slow
@pytest.mark.rule("end_job", "process_ranges")
@pytest.mark.parametrize(("campaign", "rate", "n_lives"), DEFAULT_LIMITS)
def test_parts_that_end_failed_with_the_default_limits(tmp_path, campaign, rate, n_lives):
    """An attempt at an input of N ranges fails once `n_lives` slots were taken away before all were processed.

    A range is done with probability q = exp(-rate) before its slot is taken away, so that k are taken away before the
    N-th is done with probability C(N - 1 + k, k) q^N (1 - q)^k; three attempts, the default, must fail.
    """
    n_ranges, done = 40, math.exp(-rate)
    run = simulate(plan(rate, n_ranges, max_attempt=None, noAutoPause=True, **campaign).with_values(
        {"duration": "40h", "agents": SLOW}), folder=tmp_path / "run")
    succeeds = sum(math.comb(n_ranges - 1 + lost, lost) * done**n_ranges * (1 - done)**lost for lost in range(n_lives))
    expected, n = (1 - succeeds)**3, 8 * 50
    assert (run.tasks.n_finished + run.tasks.n_failed).sum() == n, "all inputs are over"
    assert run.tasks.n_failed.sum() / n == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / n))


@pytest.mark.slow
@pytest.mark.rule("turn_windows", "window_left")
@pytest.mark.parametrize("campaign", [{}, RANGES], ids=["ordinary", "event service"])
def test_jobs_longer_than_the_window(tmp_path, campaign):
    """Ordinary jobs of four hours never end in windows of three; consumers keep their ranges, and go on in the next."""
    scenario = plan(0, 40, jobs=20, backlog=2, **campaign).with_values({
        "grid.queues.A.cores": 100, "grid.queues.A.window": dict(begins="1h", lasts="3h", every="5h")})
    run = simulate(scenario, folder=tmp_path / "run", validate=True)
    begun = run.jobs.running_s.dropna() / 3600
    assert ((begun - 1) % 5 < 3).all(), "no payload begins outside of a window"
    assert bool((run.jobs.status == "finished").any()) is bool(campaign)
    assert (run.jobs.cause == "preempted").any()
    assert not campaign or (run.tasks.status == "done").all()


@pytest.mark.rule("Desk.ended", "Desk.taken_back", "Jobsets.begin")
def test_consumers_share_inputs_while_everything_happens(tmp_path):
    """Failures, lost heartbeats, an outage, and commands: no event is lost or counted twice, no input is held twice."""
    stream = "workload.campaigns.simulation."
    queues = {f"grid.queues.{name}.{key}": value for name in ("CENTRE", "NORTH", "SOUTH")
              for key, value in dict(jobseed="all", eviction_rate=0.1).items()}
    scenario = load_scenario("scenarios/minimal.yaml").with_values(queues | {
        "grid.queues.SOUTH.eviction_notice": 60, "gdpconfig.HEARTBEAT_TIMEOUT_production": 1,
        stream + "eventService": True, stream + "nEventsPerWorker": 7, stream + "nEsConsumers": 3,
        stream + "nSitesPerJob": 2, stream + "notDiscardEvents": True, stream + "failure_rate": 0.1,
        "incidents": [dict(at="4h", what="site_outage", site="NORTH", until="7h"),
                      dict(at="5h", what="task_command", task=2, command="pause"),
                      dict(at="6h", what="task_command", task=2, command="resume"),
                      dict(at="7h", what="task_command", task=3, command="abort")]})
    run = simulate(scenario, folder=tmp_path / "run", validate=True)
    jobs = run.jobs
    holders = jobs[(jobs.n_chunks > 0) & (jobs.status == "finished") & (jobs.processing_type == "simul")]
    assert not holders.duplicated(["jeditaskid", "chunk"]).any()
    assert {"merging", "closed", "failed"} <= set(run.event_service.status)
    ends = event_ends_used(run).set_index("end").jobs
    assert (ends[["es_retry", "es_merge", "es_wait", "es_heartbeat", "es_inaction", "es_unused"]] > 0).all()
    assert ends["es_badstatus"] == 0
    assert len(jobs[(jobs.n_chunks == 0) & (jobs.status == "finished")]) >= len(holders)


COMMANDS = st.sampled_from([(), ("pause", "resume"), ("reassign",), ("finish", "retry"), ("pause", "abort")])
CONSUMERS = st.fixed_dictionaries(dict(
    nEventsPerWorker=st.integers(1, 5), nEsConsumers=st.integers(1, 3), nSitesPerJob=st.integers(1, 2),
    maxAttemptES=st.integers(1, 4), maxAttemptEsJob=st.integers(1, 4), max_attempt=st.integers(1, 4),
    notDiscardEvents=st.booleans(), decAttOnFailedES=st.booleans(), acceptPartialFinish=st.booleans(),
    failure_rate=st.sampled_from([0, 0.3])))


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck),
          phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(consumers=CONSUMERS, commands=COMMANDS, begin=st.integers(20, 90), rate=st.sampled_from([0.0, 0.05, 0.5]),
       notice=st.sampled_from([None, 0, 600]), loss=st.sampled_from([0, 0.3]), outage=st.booleans())
def test_no_event_is_lost_or_counted_twice(tmp_path_factory, consumers, commands, begin, rate, notice, loss, outage):
    """Random commands, failures, evictions, lost heartbeats and outages: the invariants hold at every sample."""
    out = [dict(at="90 min", what="site_outage", site="A", until="2h")] if outage else []
    told = [dict(at=f"{begin * (place + 1)} min", what="task_command", task=1, command=command)
            for place, command in enumerate(commands)]
    scenario = plan(rate, 12, jobs=6, backlog=2, eventService=True, **consumers).with_values({
        "duration": "5h", "agents": SLOW, "grid.sites.A.cores": 8,
        "grid.sites.A.failure_rate": loss, "grid.sites.A.lost_heartbeats": 1,
        "grid.queues.A.eviction_notice": notice, "gdpconfig.HEARTBEAT_TIMEOUT_production": 1,
        "incidents": [*told, *out]})
    run = simulate(scenario, folder=tmp_path_factory.mktemp("events") / "run", validate=True)
    jobs = run.jobs[run.jobs.status == "finished"]
    holders, merges = jobs[jobs.n_chunks > 0], jobs[jobs.n_chunks == 0]
    assert not holders.duplicated(["jeditaskid", "chunk"]).any()
    assert len(merges) == len(holders), "each input in use is merged once"


@pytest.mark.rule("without_event_service", "kept_for_high_event_service", "single_core_of_unified",
                  "only_event_service")
def test_queues_of_consumers_and_of_ordinary_jobs(tmp_path):
    """Queues with jobseed std and single cores of unified queues take no consumers, and with eshigh only urgent ones;
    queues with jobseed es take no ordinary jobs."""
    values = plan(0, 4, jobs=8, backlog=4, **RANGES).to_dict() | dict(duration="4h", agents=SLOW)
    queues, streams = values["grid"]["queues"], values["workload"]["campaigns"]
    queues |= {name: queues["A"] | dict(jobseed=name) for name in ("std", "es", "eshigh")}
    queues["unified"] = queues["A"] | dict(capability="ucore")
    no_events = {name: value for name, value in streams[0].items() if name not in RANGES}
    streams += [streams[0] | dict(name="urgent", priority=900), no_events | dict(name="ordinary")]
    run = simulate(Scenario.from_dict(values), folder=tmp_path / "run")
    urgency = run.tasks.priority.where(run.tasks.eventservice != 0, -1).gt(899).astype(int)
    kinds = dict(zip(run.tasks.jeditaskid, run.tasks.eventservice + urgency, strict=True))
    jobs = run.jobs[run.jobs.n_chunks != 0]
    used = jobs.groupby(jobs.jeditaskid.map(kinds)).queue.agg(lambda one: set(one.astype(str))).to_dict()
    allowed = {0: {"A", "std", "eshigh", "unified"}, 1: {"A", "es"}, 2: {"A", "es", "eshigh"}}
    assert used.keys() == allowed.keys() and all(used[kind] <= allowed[kind] for kind in used)
    assert used[0] & {"std", "unified"} and "es" in used[2]
    assert {"-es", "-eshigh", "-es_ucore", "-nones"} <= set(run.refusals.tag)


@pytest.mark.parametrize(("campaign", "remark"), [
    (dict(eventService=True), "makes ordinary jobs"), (dict(eventService=True, nJumboJobs=2), "jumbo jobs need"),
    (RANGES | dict(nJumboJobs=2), "no queue has useJumboJobs"),
    (RANGES | dict(nEventsPerWorker=3), "above the 2 events"), (RANGES | dict(nSitesPerJob=2), "above the 1 queues")])
def test_remarks(campaign, remark):
    assert sum(remark in one for one in remarks(plan(0, 2, **campaign))) == 1
    words = " ".join(remarks(plan(0, 2, **RANGES)))
    assert "queues with event service" not in words and "events of a job" not in words


@pytest.mark.rule("conversion_keys")
@pytest.mark.parametrize(("edition", "keys", "campaign", "n"), [
    ("deployed", dict(AES_EVENTPOOLSIZE=10**6, AES_MAXPENDING=9), dict(esConvertible=True), 1),
    ("deployed", dict(AES_EVENTPOOLSIZE=10), dict(esConvertible=True), 0),
    ("deployed", {}, dict(esFraction=1), 3), ("documented", {}, dict(esFraction=1), 0)])
def test_tasks_are_converted(tmp_path, edition, keys, campaign, n):
    """One of three that come together for the pool, or all with esFraction 1; none without both keys, or as documented.
    """
    scenario = plan(0, 4, jobs=2, backlog=3, **campaign).with_values(
        {"edition": edition, "duration": "2h", "resource_types.MCORE": dict(mincore=2), "grid.queues.A.corecount": 8,
         "grid.queues.A.capability": "ucore"} | {f"gdpconfig.{key}": value for key, value in keys.items()})
    run = simulate(Scenario.from_dict(scenario.to_dict()), folder=tmp_path / "run")    # as the manifest repeats it
    assert len(run.tasks) == 3 and (run.tasks.eventservice == 1).sum() == n
    assert (run.jobs.n_chunks == 0).any() == (n > 0), "consumers have merge jobs"
    assert any("only the deployed edition" in one for one in remarks(scenario)) is (edition == "documented")


@pytest.mark.rule("Jobsets.begin")
def test_ranges_and_consumers_of_an_input(tmp_path):
    """Ranges of five events, the last of two; three consumers at two queues in turn, the last one that of the job."""
    shared = RANGES | dict(nEventsPerWorker=5, nEsConsumers=3, nSitesPerJob=2)
    values = plan(0, 12, jobs=4, backlog=1, **shared).to_dict() | dict(duration="8h", agents=SLOW)
    values["grid"]["queues"] |= {name: dict(values["grid"]["queues"]["A"]) for name in "BC"}
    run = simulate(Scenario.from_dict(values), folder=tmp_path / "run", validate=True)
    consumers, ended = run.jobs[run.jobs.n_chunks != 0], run.event_service
    assert (ended.ranges.sum(), ended.events.sum()) == (4 * 3, 4 * 12)
    by_input = consumers.groupby("chunk").queue.agg(lambda one: tuple(sorted(one.astype(str).value_counts())))
    assert by_input.tolist() == [(1, 2)] * 4
    assert ended.jobs[ended.kind == "consumer"].sum() == len(consumers) == 12, "each has its end"


@pytest.mark.rule("Generator._throttle")
@pytest.mark.parametrize(("edition", "resource_type"), [("documented", None), ("deployed", "SCORE")])
def test_how_the_work_queue_of_event_service_is_throttled(tmp_path, edition, resource_type):
    """As a whole in the documented edition; a limit of one queued job stops generation as long as nothing runs."""
    scenario = plan(0, 4, jobs=8, backlog=4, **RANGES).with_values({
        "edition": edition, "duration": "90 min", "shares": [dict(name="eventservice", value=1)],
        "gdpconfig.NQUEUELIMIT_eventservice": 1, "agents": dict(harvester_submitter=7200)})
    rows = simulate(scenario, folder=tmp_path / "run").throttler
    assert [*rows.resource_type.astype(object).where(rows.resource_type.notna(), None).unique()] == [resource_type]
    skips = rows.key[rows.skip == 1].astype(str)
    assert skips.str.startswith("NQUEUELIMIT_eventservice").all() and (len(skips) or edition == "deployed")


@pytest.mark.parametrize(("keys", "words"), [
    ({}, "AES_EVENTPOOLSIZE and AES_MAXPENDING above 0"), (dict(AES_EVENTPOOLSIZE=9), "needs AES_MAXPENDING above 0"),
    (dict(AES_EVENTPOOLSIZE=9, AES_MAXPENDING=0), "needs AES_MAXPENDING above 0"),
    (dict(AES_EVENTPOOLSIZE=9, AES_MAXPENDING=1), None),
    (dict(AES_EVENTPOOLSIZE=9, AES_MAXPENDING=1, AES_MINTASKPRIORITY=5, AES_MAXTASKPRIORITY=5), None),
    (dict(AES_EVENTPOOLSIZE=9, AES_MAXPENDING=1, AES_MINTASKPRIORITY=6, AES_MAXTASKPRIORITY=5),
     "'AES_MINTASKPRIORITY', 6, is above 'AES_MAXTASKPRIORITY', 5")])
def test_keys_without_which_no_task_is_converted(keys, words):
    scenario = plan(0, 2, esConvertible=True).with_values(
        {"edition": "deployed"} | {f"gdpconfig.{key}": value for key, value in keys.items()})
    said = [one for one in remarks(scenario) if "esConvertible" in one]
    assert [words in one for one in said] == ([True] if words else [])
    later = scenario.with_values({"incidents": [dict(at="1h", what="gdpconfig", key=key, value=1) for key in (
        "AES_EVENTPOOLSIZE", "AES_MAXPENDING", "AES_MAXTASKPRIORITY")]})
    assert not [one for one in remarks(later) if "esConvertible" in one], "an incident sets them"


@pytest.mark.parametrize(("key", "campaign", "needs"), [
    ("AES_EVENTPOOLSIZE", dict(esFraction=1), "esConvertible"), ("AES_MAXPENDING", dict(esConvertible=True), None),
    ("AES_MINTASKPRIORITY", RANGES, "esConvertible"), ("AES_MAXTASKPRIORITY", {}, "esConvertible"),
    ("AES_NESCONSUMERS", dict(esFraction=1), None), ("taskrefiner.AES_NESCONSUMERS", RANGES, "esConvertible or"),
    ("AES_NSITESPERJOB", {}, "esConvertible or"), ("AES_MINEVENTSFORMCORE", RANGES, None),
    ("AES_MINEVENTSFORMCORE", {}, "nEventsPerWorker"), ("AES_MINEVENTSFORMCORE", dict(esFraction=1), None),
    ("JUMBO_MIN_EVENTS_DISABLE", {}, "nEventsPerWorker"), ("JUMBO_MIN_EVENTS_DISABLE", RANGES, None)])
def test_keys_of_event_service_that_no_stream_reads(key, campaign, needs):
    """At the start and by an incident; in the other edition conversion has no keys, which is said of the key itself."""
    scenario = plan(0, 2, **campaign).with_values({"edition": "deployed"})
    for values in ({f"gdpconfig.{key}": 1}, {"incidents": [dict(at="1h", what="gdpconfig", key=key, value=1)]}):
        said = [one for one in remarks(scenario.with_values(values)) if f"{key!r} has no effect: no stream" in one]
        assert [f"no stream has {needs}" in one for one in said] == ([True] if needs else [])
    documented = remarks(scenario.with_values({"edition": "documented", f"gdpconfig.{key}": 1}))
    assert not [one for one in documented if key in one and "no stream has esConvertible" in one]


@pytest.mark.parametrize(("campaign", "message"), [
    (dict(nEventsPerWorker=1), "consumers need eventService: true"),
    (dict(eventService=True, maxAttemptES=3), "consumers need eventService: true and nEventsPerWorker"),
    (RANGES | dict(mergeOutput=True), "has merge jobs of its own")])
def test_parameters_that_go_with_each_other(campaign, message):
    with pytest.raises(Exception, match=message):
        plan(0, 2, **campaign)
