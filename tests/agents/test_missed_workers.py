"""Workers that cannot be submitted: Harvester's throttler, attempts at the worker of a job, values of sites."""

import pytest
from builders import S, Stage, scenario

from simgrid_broker.agents.harvester.harvester import LOCK_S
from simgrid_broker.agents.harvester.workers import harvester_submitter, job_fetcher
from simgrid_broker.errors import ScenarioError
from simgrid_broker.policy.harvester import is_throttled

TEN_MINUTES = dict(timeWindow=10, maxMissed=10)
OF_THE_SITE = TEN_MINUTES | dict(level="site")


def stage_with(agents=(), site=None, edition="documented", **queues) -> Stage:
    """A site without free cores, with single-core queues."""
    said = {name: dict(atlas_site="HERE") | queue for name, queue in queues.items()}
    plan = scenario({"HERE": dict(cores=0) | (site or {})}, said, edition=edition)
    return Stage(agents, plan, dict(n_jobs=100))


@pytest.mark.rule("is_throttled")
@pytest.mark.parametrize(("missed", "most", "all_rules", "expected"), [
    pytest.param([10], [10], False, False, id="as many as are allowed"),
    pytest.param([11], [10], False, True, id="one more"),
    pytest.param([11, 3], [10, 3], False, True, id="one rule of two is enough"),
    pytest.param([11, 3], [10, 3], True, False, id="unless all must be met"),
    pytest.param([11, 4], [10, 3], True, True, id="all are met"),
])
def test_too_many_missed_workers(missed, most, all_rules, expected):
    assert is_throttled(missed, most, all_rules) is expected


def throttled(stage, *cycles) -> list[list[bool]]:
    """Which queues are throttled at each moment, after which so many workers of each queue are missed."""
    found = []
    for now, *numbers in cycles:
        found.append(stage.control.books.harvester.throttled(now).tolist())
        stage.arrays.worker_accounts["n_missed"] += numbers
    return found


@pytest.mark.rule("Harvester.throttled")
def test_missed_workers_count_for_as_long_as_the_rule_says():
    stage = stage_with(A=dict(throttler=dict(rulesForMissed=[TEN_MINUTES])))
    cycles = [(0, 6), (300, 5), (360, 0), (600, 0), (600.5, 0), (660, 0)]
    assert throttled(stage, *cycles) == [[False], [False], [True], [True], [False], [False]]


@pytest.mark.rule("Harvester.throttled")
@pytest.mark.parametrize(("rule", "expected"), [
    pytest.param(TEN_MINUTES, [False, False], id="each PanDA queue for itself"),
    pytest.param(OF_THE_SITE, [True, False], id="all queues of the site together"),
])
def test_whose_missed_workers_count(rule, expected):
    stage = stage_with(A=dict(throttler=dict(rulesForMissed=[rule])), B={})
    assert throttled(stage, (0, 10, 1), (60, 0, 0))[1] == expected


@pytest.mark.rule("Harvester.throttled")
def test_several_rules_of_a_queue():
    rules = [TEN_MINUTES, dict(timeWindow=60, maxMissed=20)]
    for logic, expected in (("OR", True), ("AND", False)):
        stage = stage_with(A=dict(throttler=dict(rulesForMissed=rules, logicType=logic)))
        assert throttled(stage, (0, 11), (60, 0))[1] == [expected]


@pytest.mark.rule("Harvester.throttled", "harvester_submitter")
@pytest.mark.parametrize(("throttler", "missed"), [
    pytest.param(None, 120, id="without a throttler: 20 in each of six cycles"),
    pytest.param(dict(rulesForMissed=[TEN_MINUTES]), 20, id="with one: none for ten minutes"),
])
def test_a_throttled_queue_gets_no_workers(throttler, missed):
    stage = stage_with((harvester_submitter,), Q=dict(submission_failures=1, throttler=throttler))
    for minute in range(1, 7):
        stage.control.books.harvester.asked[0, 0] = 20
        stage.run(minute * 60.0)
    assert stage.arrays.worker_accounts["n_missed"].tolist() == [missed]


@pytest.mark.rule("Harvester.not_submitted", "Harvester.look")
@pytest.mark.parametrize(("params", "attempts"), [
    pytest.param({}, 3, id="three attempts"), pytest.param({"maxSubmissionAttempts": 1}, 1, id="as the queue says"),
])
def test_a_job_is_tried_again_ten_minutes_after_a_failed_submission(params, attempts):
    push = dict(workflow="push", submission_failures=1, params=params)
    stage = stage_with((job_fetcher, harvester_submitter), Q=push)
    stage.submit(2)
    missed, found = stage.arrays.worker_accounts["n_missed"], []
    for second in range(1, 1500):
        stage.run(float(second))
        if missed[0] > 2 * len(found):
            found.append(second)
    assert [later - found[0] for later in found] == [number * LOCK_S for number in range(attempts)]
    assert missed.tolist() == [2 * attempts]
    assert [S(status).word for status in stage.ended()["status"]] == ["failed"] * 2
    assert not stage.control.books.harvester.attempts and not stage.control.books.harvester.again
    stage.check()


@pytest.mark.rule("Harvester.not_submitted")
def test_of_jobs_submitted_together_those_that_failed_are_tried_again():
    stage = stage_with((job_fetcher, harvester_submitter), Q=dict(workflow="push", submission_failures=0.5))
    stage.submit(80)
    stage.run(120.0)
    first = int(stage.arrays.worker_accounts["n_missed"][0])
    assert 20 < first < 60 and stage.arrays.pseudo_queues["n_submitted"].tolist() == [80 - first]
    stage.run(240.0 + 2 * LOCK_S)
    assert stage.arrays.pseudo_queues["n_submitted"][0] + len(stage.ended()) == 80
    assert 0 < len(stage.ended()) < first / 2
    stage.check()


@pytest.mark.rule("Harvester.not_submitted")
def test_a_job_whose_second_attempt_succeeds_waits_in_the_batch_system():
    stage = stage_with((job_fetcher, harvester_submitter), Q=dict(workflow="push", submission_failures=1))
    stage.submit(2)
    stage.run(120.0)
    stage.arrays.queues["submission_failures"] = 0
    stage.take_back(stage.live()[0])
    stage.run(240.0 + LOCK_S)
    assert stage.arrays.pseudo_queues["n_submitted"].tolist() == [1] and stage.statuses() == ["starting"]
    assert not stage.control.books.harvester.attempts
    stage.check()


@pytest.mark.rule("queue_table")
@pytest.mark.parametrize("key", ["batch_latency", "batch_latency_spread", "submission_failures"])
def test_a_site_says_what_its_queues_do_not(key):
    stage = stage_with(site={key: 0.5}, A={}, B={key: 0.25}, C={key: 0})
    column = "batch_latency_s" if key == "batch_latency" else key
    assert stage.arrays.queues[column].tolist() == [0.5, 0.25, 0]


@pytest.mark.parametrize(("throttler", "expected"), [
    pytest.param(dict(rulesForMissed=[]), "rulesForMissed", id="no rule"),
    pytest.param(dict(rulesForMissed=[TEN_MINUTES | dict(level="ce")]), "level", id="there are no computing elements"),
    pytest.param(dict(rulesForMissed=[dict(timeWindow=0, maxMissed=1)]), "timeWindow", id="no time"),
])
def test_throttlers_that_are_refused(throttler, expected):
    with pytest.raises(ScenarioError, match=expected):
        stage_with(A=dict(throttler=throttler))
