"""The rows of the time series, and the books of the brokers' decisions."""

from dataclasses import replace

import numpy as np
import pytest
from builders import S, Stage, put_job, scenario, two_sites

from simgrid_broker.agents.data.network import network_metrics
from simgrid_broker.agents.run.samples import sampler, take_sample
from simgrid_broker.errors import InvariantBroken
from simgrid_broker.names import DecisionKind
from simgrid_broker.policy.brokerage.production.editions import PRODUCTION
from simgrid_broker.turns.brokers import all_criteria, all_reasons, all_tags, criteria_in_order, reason
from simgrid_broker.turns.decision_log import DecisionLog
from simgrid_broker.views import KEPT, Figures, Verdict
from simgrid_broker.world.views import observe

SHARES = [dict(name="A", value=1), dict(name="B", value=3)]
OTHERS = tuple("0123456789")
TYPES = dict(SCORE=dict(mincore=1, maxcore=1), MCORE=dict(mincore=2))


def test_shares_are_counted_by_resource_type():
    stage = Stage((sampler,), scenario(shares=SHARES, resource_types=TYPES, agents=dict(sampler=600)))
    power = dict(hs06_milli=80_000, corecount=8, resource_type=1, share=1)
    for status in (S.RUNNING, S.HOLDING, S.ACTIVATED, S.ASSIGNED, S.DEFINED, S.TRANSFERRING):
        put_job(stage, status, **power)
    stage.arrays.hs06_milli[:] = 0, 80_000
    stage.arrays.running_cores[0, 1, 1] = 8
    stage.run(601.0)
    rows = stage.recorded("shares")
    assert rows["time_s"].tolist() == [0.0] * 4 + [600.0] * 4
    row = rows[7]
    assert (row["share"], row["resource_type"]) == (1, 1)
    assert (row["hs06"], row["running_cores"], row["target_hs06"]) == (80.0, 8, 60.0)
    assert [row[name] for name in ("running", "activated", "assigned", "transferring", "queued")] == [1, 1, 1, 1, 3]
    assert rows["target_hs06"][4:].tolist() == [20.0, 20.0, 60.0, 60.0]
    assert rows["running"][4:7].sum() == 0


def test_queues():
    queues = {"Q": dict(atlas_site="HERE"), "R": dict(atlas_site="HERE", status="brokeroff", cores=3)}
    stage = Stage((sampler,), scenario(queues=queues), {})
    stage.submit()
    stage.fabric.submit_workers([0, 1], [10, 1], 0.0)
    stage.run(1.0)
    first = stage.recorded("queues")[:2]
    assert first["workers_running"].tolist() == [8, 1] and first["workers_submitted"].tolist() == [2, 0]
    assert first["free_cores"].tolist() == [0, 2] and first["status"].tolist() == [0, 1]
    assert first["running"].tolist() == [1, 0] and first["running_cores"].tolist() == [1, 0]
    stage.fabric.site_goes_down(0, 1.0)
    stage.run(1000.0)
    assert stage.recorded("queues")[-2:]["free_cores"].tolist() == [0, 0]


def link_rows(n_jobs, megabytes, until, **link):
    """Rows of the link from THERE to HERE when so many jobs fetch input at time 0, sampled every 100 s."""
    far = dict(n_jobs=n_jobs, input_bytes_per_job=megabytes * 1e6, replicas={1: 1.0})
    stage = Stage((sampler,), two_sites(link=dict(bandwidth=1e6) | link, agents=dict(sampler=100)), far)
    stage.run(1.0)
    stage.submit(n_jobs)
    stage.run(until)
    rows = stage.recorded("links")
    assert set(rows[["source", "destination"]].tolist()) == {(1, 0)}
    return rows


def test_links_are_recorded_while_they_have_traffic():
    rows = link_rows(1, 249, 601.0)
    assert rows["time_s"].tolist() == [100.0, 200.0, 300.0]
    assert rows["utilisation"].tolist() == pytest.approx([0.99, 1.0, 0.5])
    assert rows["bytes"].tolist() == [0.0, 0.0, 249e6] and rows["files"].tolist() == [0, 0, 1]
    assert rows["active_files"].tolist() == rows["queued_files"].tolist() == [1, 1, 0]


@pytest.mark.rule("network", "agents.data.network.network_metrics")
def test_links_have_the_throughput_that_brokers_know():
    far = dict(n_jobs=2, input_bytes_per_job=100e6, replicas={1: 1.0})
    stage = Stage((network_metrics, sampler), two_sites(link=dict(bandwidth=1e6), agents=dict(
        sampler=100, network_metrics=150)), far)
    stage.run(1.0)
    stage.submit(2)
    stage.run(1000.0)                                      # both of a bunch arrive at 201 s
    rows = stage.recorded("links")
    assert rows["time_s"].tolist() == [100.0, 200.0, 300.0]
    assert np.isnan(rows["mbps_hour"][:2]).all()
    assert stage.world.network.throughput(np.array([2]))[0] == pytest.approx(0.5)
    assert rows["queued_output"].tolist() == [0, 0, 0]


def test_waiting_files_are_queued_files():
    rows = link_rows(50, 10, 102.0, max_active_files=20)   # bunches of 20, 20 and 10
    assert (rows["queued_files"][0], rows["active_files"][0]) == (50, 20)


def test_attempts_that_fail_use_the_link_and_deliver_nothing():
    rows = link_rows(1, 49, 102.0, failure_rate=1)
    assert (rows["bytes"][0], rows["utilisation"][0]) == (0.0, pytest.approx(0.99))


def test_storages():
    plan = scenario(storages={"A": dict(site="HERE", total=100, free=60, expired=5)})
    stage = Stage((sampler,), plan)
    stage.run(1.0)
    row = stage.recorded("storages")[0]
    assert [row[name] for name in ("storage", "total_bytes", "free_bytes", "expired_bytes", "written_bytes",
                                   "deleted_bytes")] == [0, 100, 60, 5, 0, 0]


def test_samples_stand_on_the_hour_and_a_moment_is_sampled_once():
    stage = Stage((sampler,), scenario(agents=dict(sampler=1800)))
    stage.run(7200.0)
    take_sample(stage.control)
    take_sample(stage.control)
    assert stage.recorded("storages")["time_s"].tolist() == [0.0, 1800.0, 3600.0, 5400.0, 7200.0]


def test_series_that_are_not_wanted_are_not_written():
    stage = Stage((sampler,), scenario(record=dict(series=False)))
    stage.run(1.0)
    assert not stage.kept


def test_with_validation_a_sample_finds_a_broken_world():
    stage = Stage((sampler,))
    stage.validate = True
    stage.run(1.0)
    stage.arrays.counts[0, 0, 0, 0] += 1
    with pytest.raises(InvariantBroken):
        stage.run(1000.0)


def books_of(stage):
    """The decision log of a stage; vocabularies of tags and criteria begin with ten others."""
    policies = stage.control.policies
    stage.world.vocabularies.update(tags=(*OTHERS, *all_tags(policies)), criteria=(*OTHERS, *all_criteria(policies)))
    log = DecisionLog(stage.world, policies)
    log.begin(np.arange(len(stage.arrays.tasks)))
    stage.world.vocabularies["texts"] = log.texts
    return log


def log_of(queues=None, **record):
    """The books of a world of two queues and a nucleus, and two tasks as a broker sees them."""
    queues = queues or {"Q": dict(atlas_site="HERE", capability="ucore", corecount=8), "R": dict(atlas_site="HERE")}
    stage = Stage((), scenario(queues=queues, resource_types=TYPES, record=dict(unplaced=0) | record), {}, {})
    return books_of(stage), [observe.task(stage.world, row) for row in (0, 1)]


def verdict(refused_by, order=(), tags=("-status", "-job")):
    """A verdict on three candidates by two rules."""
    return Verdict(tags, np.array(refused_by), np.arange(1.0, 1.0 + len(refused_by)), np.array(order, np.int64))


def of_queues(refused_by, order=(), tags=("-status", "-cap")):
    """A verdict on three pseudo-queues."""
    return verdict(refused_by, order, tags)


def written(log):
    """What the books write, by table."""
    found = {}
    log.flush(600.0, found.__setitem__)
    return found


def rows_with_words(log, rows, *columns):
    """Columns of rows with tags and criteria as words."""
    words = log.world.vocabularies
    spelled = {"tag": (*words["tags"], ""), "criterion": (*words["criteria"], "")}
    return [tuple(spelled[name][row[name]] if name in spelled else row[name].item() for name in columns)
            for row in rows]


def test_a_decision_is_written_with_its_best_candidate():
    log, tasks = log_of()
    log.add(DecisionKind.JOB_BROKERAGE, 5.0, tasks[0], of_queues([KEPT, KEPT, 0], [1, 0]), 7)
    log.add(DecisionKind.JOB_BROKERAGE, 6.0, tasks[1], of_queues([0, 0, 1]), 0)
    rows = written(log)["decisions"]
    assert rows[["time_s", "decision", "jeditaskid", "n_candidates", "n_kept", "n_jobs", "best"]].tolist() == [
        (5.0, 1, 1, 3, 2, 7, 1), (6.0, 2, 2, 3, 0, 0, -1)]
    assert rows["best_weight"][0] == 2.0 and np.isnan(rows["best_weight"][1])


def test_the_best_candidate_of_task_brokerage_is_a_site():
    log, tasks = log_of()
    log.add(DecisionKind.TASK_BROKERAGE, 5.0, tasks[0], verdict([KEPT], [0]), 0, offset=3, candidates=np.array([0]))
    assert written(log)["decisions"]["best"].tolist() == [3 + 0]


def test_refusals_of_task_brokerage_are_counted_by_site_whatever_the_candidates():
    stage = Stage((), scenario({"A": {}, "B": dict(nucleus=False), "C": {}}), {})
    log, task = books_of(stage), observe.task(stage.world, 0)
    for sites, refused_by in (([0, 2], [KEPT, 0]), ([0, 2, 1], [0, KEPT, 1])):
        log.add(DecisionKind.TASK_BROKERAGE, 5.0, task, verdict(refused_by), 0, 3, np.array(sites))
    columns = "candidate", "tag", "criterion", "count", "queue_count", "pool_count"
    assert rows_with_words(log, written(log)["refusals"], *columns) == [
        (3, "-status", "not_active", 1, 1, 1), (5, "-status", "not_active", 1, 1, 1),
        (4, "-job", "cannot_run", 1, 1, 1), (3, "", "", 1, 1, 1), (5, "", "", 1, 1, 1)]


def test_refusals_are_counted_by_queue_rule_and_share():
    log, tasks = log_of()
    for refused_by in ([0, 0, 1], [0, 1, KEPT], [KEPT, KEPT, KEPT]):
        log.add(DecisionKind.JOB_BROKERAGE, 5.0, tasks[0], of_queues(refused_by), 0)
    assert rows_with_words(log, written(log)["refusals"], "time_s", "candidate", "tag", "count") == [
        (600.0, 0, "-status", 3), (600.0, 0, "-cap", 1), (600.0, 1, "-cap", 1), (600.0, 0, "", 2), (600.0, 1, "", 2)]


def test_the_rule_that_stops_a_queue_or_a_batch_pool_is_that_of_the_candidate_that_came_furthest():
    log, tasks = log_of()
    for refused_by in ([0, 0, 1], [1, 0, 0], [KEPT, 0, 1], [0, KEPT, KEPT], [0, 0, 0]):
        log.add(DecisionKind.JOB_BROKERAGE, 5.0, tasks[0], of_queues(refused_by), 0)
    assert rows_with_words(log, written(log)["refusals"], "candidate", "tag", "count", "queue_count", "pool_count") == [
        (0, "-status", 7, 2, 1), (1, "-status", 2, 2, 0), (0, "-cap", 1, 1, 1), (1, "-cap", 2, 2, 1),
        (0, "", 2, 2, 2), (1, "", 1, 1, 0)]


def test_queues_with_cores_of_their_own_are_pools_of_their_own():
    queues = {"Q": dict(atlas_site="HERE", capability="ucore", corecount=8), "R": dict(atlas_site="HERE", cores=8)}
    log, tasks = log_of(queues)
    log.add(DecisionKind.JOB_BROKERAGE, 5.0, tasks[0], of_queues([0, 0, 1]), 0)
    assert rows_with_words(log, written(log)["refusals"], "candidate", "tag", "pool_count") == [
        (0, "-status", 1), (1, "-cap", 1)]


def test_a_temporary_refusal_comes_behind_all_permanent_ones():
    log, tasks = log_of()
    log.add(DecisionKind.JOB_BROKERAGE, 5.0, tasks[0], of_queues([0, 0, 1], tags=("-transferring", "-cap")), 0)
    assert rows_with_words(log, written(log)["refusals"], "candidate", "tag", "pool_count") == [
        (0, "-transferring", 1), (1, "-cap", 0)]


def test_a_rule_that_shares_its_tag_is_recorded_by_its_name():
    log, tasks = log_of(candidates=1)
    tags = PRODUCTION["documented"].tags
    scratch, space = (k for k, tag in enumerate(tags) if tag == "-disk")
    log.add(DecisionKind.JOB_BROKERAGE, 5.0, tasks[0], of_queues([scratch, space, KEPT], [2], tags), 1)
    found = written(log)
    for name in ("candidates", "refusals"):
        assert rows_with_words(log, found[name], "tag", "criterion") == [
            ("-disk", "too_little_scratch"), ("-disk", "too_little_space"), ("", "")]


def test_candidates_of_unplaced_tasks_are_recorded_within_a_bound():
    log, tasks = log_of(decisions=0, unplaced=1)

    def ask(task, n):
        for _ in range(n):
            log.add(DecisionKind.JOB_BROKERAGE, 5.0, task, of_queues([0, 0, 1]), 0)
    ask(tasks[0], 5)
    assert [row[1] for row in log.rows] == [1, 2, 4]                     # the first, second and fourth
    ask(tasks[1], 9)
    assert [row[1] for row in log.rows] == [1, 2, 4, 13]                 # of the other only the eighth is new
    assert len(log.candidates) == 4


def test_a_task_that_has_had_a_job_or_finds_a_queue_is_not_unplaced():
    log, tasks = log_of(decisions=0, unplaced=3)
    log.add(DecisionKind.JOB_BROKERAGE, 5.0, tasks[0], of_queues([KEPT, 0, 1], [0]), 4)
    log.world.arrays.tasks["n_attempts"][1] = 4
    log.add(DecisionKind.JOB_BROKERAGE, 5.0, tasks[1], of_queues([0, 0, 1]), 0)
    assert not len(log.rows)


def test_what_was_written_is_not_written_again():
    log, tasks = log_of()
    log.add(DecisionKind.JOB_BROKERAGE, 5.0, tasks[0], of_queues([0, 0, 1]), 0)
    written(log)
    assert written(log) == {}


def test_a_part_of_the_decisions_is_chosen_by_task_and_all_refusals_are_counted():
    log, tasks = log_of(decisions=0)
    log.add(DecisionKind.JOB_BROKERAGE, 5.0, tasks[0], of_queues([0, 0, 1]), 0)
    assert log.n_decisions == 1
    assert set(written(log)) == {"refusals"}


def figures():
    """Figures of the three pseudo-queues; whoever asks for them without need is told so."""
    return Figures(np.array([np.nan, np.nan, 7.0]), np.array([np.nan, np.nan, 5.0]),
                   {"1/RW": np.array([0.5, 0.25, np.nan])})


def test_candidates_of_the_tasks_that_are_asked_for_are_kept_whole():
    log, tasks = log_of(decisions=0, tasks=[2])
    for task in tasks:
        log.add(DecisionKind.JOB_BROKERAGE, 5.0, task, replace(of_queues([KEPT, KEPT, 1], [1, 0]), figures=figures), 7)
    found = written(log)
    assert found["decisions"]["jeditaskid"].tolist() == [2]
    rows = found["candidates"]
    assert rows_with_words(log, rows, "decision", "candidate", "tag", "order") == [
        (2, 0, "", 1), (2, 1, "", 0), (2, 2, "-cap", -1)]
    assert (rows["value"][2], rows["limit"][2]) == (7, 5) and np.isnan(rows["value"][:2]).all()
    factor = log.world.vocabularies["factors"].index("1/RW")
    assert found["factors"].tolist() == [(2, 1, factor, 0.25), (2, 0, factor, 0.5)]


def test_the_rules_that_concern_a_task_and_what_they_name_are_kept():
    def named():
        return replace(figures(), texts={0: "brokeroff", 1: "test", 2: "brokeroff"}, unasked=frozenset({1}))
    log, tasks = log_of(candidates=1)
    for _ in range(2):
        log.add(DecisionKind.JOB_BROKERAGE, 5.0, tasks[0], replace(of_queues([0, 0, 0]), figures=named), 0)
    found = written(log)
    assert found["candidates"]["text"].tolist() == [0, 1, 0] and log.texts == ["brokeroff", "test"]
    assert rows_with_words(log, found["steps"], "decision", "criterion", "refused", "left") == [
        (2, "not_open", 3, 0)]


@pytest.mark.parametrize(("refused_by", "reason_"), [
    pytest.param(["too_little_scratch"] * 3, "-disk (too little scratch)", id="one rule"),
    pytest.param(["too_little_scratch", "too_little_space", "not_open"], "-disk (too little space)",
                 id="temporary refusals come last"),
    pytest.param(["inactive", "too_many_ready", "not_open"], "-inactive", id="though the rule stands first"),
])
def test_errordialog_names_the_rule_that_removed_the_last_candidates(refused_by, reason_):
    policies = Stage((), scenario(), {}).control.policies
    names = [rule.name for rule in policies.job_rules.rules]
    found = of_queues([names.index(name) for name in refused_by], (), policies.job_rules.tags)
    assert reason(policies, DecisionKind.JOB_BROKERAGE, found) == reason_ and reason_ in all_reasons(policies)
    kept = of_queues([KEPT, 0, 0], [0], policies.job_rules.tags)
    assert reason(policies, DecisionKind.JOB_BROKERAGE, kept) == ""


def test_tasks_are_asked_for_by_name_too():
    log, _ = log_of(decisions=0, tasks=["task"])
    assert log.log.whole.tolist() == [1, 2]


def test_candidates_of_a_verdict_without_figures():
    log, tasks = log_of(candidates=1)
    log.add(DecisionKind.TASK_BROKERAGE, 5.0, tasks[0], verdict([0, KEPT, 1], [1]), 0, 3, np.array([0, 0, 0]))
    found = written(log)
    assert found["candidates"]["candidate"].tolist() == [3, 3, 3] and "factors" not in found
    assert np.isnan(found["candidates"]["limit"]).all()


def test_whoever_keeps_no_candidates_asks_for_no_figures():
    def never():
        raise AssertionError("asked")
    log, tasks = log_of()
    log.add(DecisionKind.JOB_BROKERAGE, 5.0, tasks[0], replace(of_queues([0, 0, 1]), figures=never), 0)
    assert set(written(log)) == {"decisions", "refusals"}


def test_decisions_whose_candidates_are_kept_are_kept_too():
    log, tasks = log_of(decisions=0.2, candidates=0.5)
    for number in range(200):
        log.world.arrays.tasks["luck"][0] = number
        log.add(DecisionKind.JOB_BROKERAGE, 5.0, tasks[0], of_queues([0, 0, 1]), 0)
    found = [rows["decision"].tolist() for rows in log.candidates]
    assert sorted({number for one in found for number in one}) == [row[1] for row in log.rows]
    assert 70 < len(log.rows) < 130


@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_every_tag_has_its_place_among_the_criteria(edition):
    policies = Stage((), scenario(edition=edition), {}).control.policies
    steps = [step for steps in criteria_in_order(policies).values() for step in steps]
    assert {step["tag"] for step in steps} == set(all_tags(policies))
    assert {step["criterion"] for step in steps} == set(all_criteria(policies))


@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_tags_of_an_edition_are_listed_once(edition):
    tags = all_tags(Stage((), scenario(edition=edition), {}).control.policies)
    assert len(set(tags)) == len(tags) > 20
