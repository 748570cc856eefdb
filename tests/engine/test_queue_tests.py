"""Functional tests go to every queue; failures set a queue to test, successes bring it back."""

import pytest
from builders import Stage, scenario

import simgrid_broker as sb
from simgrid_broker.agents.panda.queue_tests import QueueTests
from simgrid_broker.names import QueueStatus
from simgrid_broker.policy.queues import status_after

ONLINE, TEST, OFFLINE = QueueStatus.ONLINE, QueueStatus.TEST, QueueStatus.OFFLINE
GOOD, BAD = True, False


@pytest.mark.rule("status_after")
@pytest.mark.parametrize(("outcomes", "status", "set_aside", "expected"), [
    pytest.param([GOOD, BAD, BAD], ONLINE, False, None, id="two failures are too few"),
    pytest.param([GOOD, BAD, BAD, BAD], ONLINE, False, TEST, id="three failures in a row"),
    pytest.param([BAD, BAD, GOOD, BAD], ONLINE, False, None, id="not in a row"),
    pytest.param([GOOD], TEST, True, None, id="one success is too little"),
    pytest.param([BAD, GOOD, GOOD], TEST, True, ONLINE, id="two successes in a row"),
    pytest.param([GOOD, GOOD], TEST, False, None, id="operators have set it to test"),
    pytest.param([BAD, BAD, BAD], OFFLINE, False, None, id="an offline queue stays"),
    pytest.param([GOOD, GOOD], OFFLINE, True, None, id="operators have set it offline since"),
    pytest.param([], ONLINE, False, None, id="no test yet"),
])
def test_the_status_follows_the_last_tests(outcomes, status, set_aside, expected):
    assert status_after(outcomes, status, set_aside, failures=3, successes=2) == expected


def plan(edition="deployed", **tests):
    """A good and a bad site, each with a queue; the bad one fails every job."""
    sites = {"GOOD": dict(cores=16), "BAD": dict(cores=16, nucleus=False, failure_rate=1.0, lost_heartbeats=0)}
    campaign = dict(name="work", hs06sec_per_event=6000, events_per_job=1, jobs_per_task=20, corecount=1, ramcount=500,
                    backlog=20, max_attempt=9, failure_rate=0, output_per_event=0)
    return scenario(sites, duration=8 * 3600.0, edition=edition, workload=dict(campaigns=[campaign], tests=tests),
                    shares=[dict(name="All", value=1), dict(name="Test", value=1)])


@pytest.mark.rule("QueueTests.look")
@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_a_queue_that_fails_its_tests_is_set_to_test(tmp_path, edition):
    run = sb.simulate(plan(edition, period=1800, failures=2), out=tmp_path)
    tests = run.jobs[run.jobs.processing_type == "gangarobot"].astype({"queue": object, "status": object})
    assert set(tests.queue) == {"GOOD", "BAD"} and set(tests.share.astype(object)) == {"Test"}
    assert set(tests[tests.queue == "GOOD"].status) <= {"finished", "running", "transferring", "holding", "activated"}
    last = run.queues[run.queues.time_s == run.queues.time_s.max()].astype({"queue": object, "status": object})
    assert dict(zip(last.queue, last.status, strict=True)) == {"GOOD": "online", "BAD": "test"}


@pytest.mark.rule("QueueTests.look")
def test_tests_are_off_by_default(tmp_path):
    run = sb.simulate(plan(), out=tmp_path)
    assert "gangarobot" not in set(run.jobs.processing_type.astype(object))
    assert set(run.queues.status.astype(object)) == {"online"}


@pytest.fixture
def watched():
    """A stage and the look at its tests: one failure sets a queue to test, two successes bring it back."""
    stage = Stage((), plan(period=1800, failures=1, successes=2))
    return stage, QueueTests(stage.control)


def look(watched, *outcomes) -> str:
    """Status of the first queue after a look at more outcomes of its tests."""
    stage, tests = watched
    tests.outcomes[0] += outcomes
    tests.look()
    return QueueStatus(stage.arrays.queues["status"][0]).word


@pytest.mark.rule("QueueTests.look")
def test_a_queue_goes_to_test_and_back_and_its_tests_are_counted_from_each_change_on(watched):
    found = [look(watched, *outcomes) for outcomes in ([GOOD, BAD], [], [GOOD], [BAD, GOOD], [GOOD], [GOOD], [BAD])]
    assert found == ["test", "test", "test", "test", "online", "online", "test"]


@pytest.mark.rule("QueueTests.look")
def test_what_operators_have_set_stays(watched):
    stage, _ = watched
    stage.arrays.queues["status"][0] = TEST
    assert look(watched, GOOD, GOOD, GOOD) == "test"
    stage.arrays.queues["status"][0] = ONLINE
    assert look(watched, BAD) == "test" and look(watched, GOOD, GOOD) == "online"
    stage.arrays.queues["status"][0] = TEST                # it is the operators' again
    assert look(watched, GOOD, GOOD) == "test"


@pytest.mark.rule("QueueTests.look")
def test_brokers_learn_of_a_change_alone(watched):
    stage, _ = watched
    version = stage.control.brokers.queues.version
    look(watched, GOOD)
    assert stage.control.brokers.queues.version == version
    look(watched, BAD)
    assert stage.control.brokers.queues.version == version + 1


@pytest.mark.rule("QueueTests.look")
def test_no_more_outcomes_are_kept_than_decide(watched):
    look(watched, GOOD, GOOD, GOOD)
    assert watched[1].outcomes[0] == [GOOD, GOOD]
