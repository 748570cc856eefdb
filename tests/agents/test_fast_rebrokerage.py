"""Fast rebrokerage: the oldest jobs that pile up at a queue go back to JEDI."""

import pytest
from builders import S, Stage, put_job, scenario

from simgrid_broker.agents.panda.copy_archive import copy_archive
from simgrid_broker.agents.panda.copy_archive import piled_up as taken_back
from simgrid_broker.fabric.jobs.activated import put_activated
from simgrid_broker.names import Cause
from simgrid_broker.units import DAY

pytestmark = pytest.mark.rule("piled_up", "oldest_of_each")

KEY = "FAST_REBRO_THRESHOLD_NQUEUE_All"


def piled_up(n_jobs, gdpconfig, edition="documented", **queue):
    """A stage at which so many activated jobs wait at one queue, of which something is said, and none runs."""
    plan = scenario(queues={"HERE": dict(atlas_site="HERE") | queue}, gdpconfig=gdpconfig, edition=edition)
    stage = Stage((copy_archive,), plan, dict(n_jobs=1000, max_attempt=3))
    rows = [put_job(stage, S.ACTIVATED, transfer=-1) for _ in range(n_jobs)]
    for row in rows:
        put_activated(stage.arrays, row)
    return stage, rows


@pytest.mark.parametrize(("edition", "n_jobs", "least", "taken"), [
    pytest.param("documented", 20, 20, 0, id="at the threshold nothing is taken"),
    pytest.param("documented", 21, 20, 1, id="above it what is too much"),
    pytest.param("documented", 30, 20, 10, id="the excess over the smallest margin"),
    pytest.param("documented", 3, 0, 3, id="a threshold of 0 leaves none"),
    pytest.param("deployed", 22, 20, 1, id="L27 the code takes one less than the excess"),
    pytest.param("deployed", 30, 0, 0, id="and takes a threshold of 0 for none"),
])
def test_the_oldest_jobs_are_taken(edition, n_jobs, least, taken):
    stage, rows = piled_up(n_jobs, {KEY: least}, edition)
    assert sorted(taken_back(stage.control).tolist()) == sorted(rows[:taken])


def test_a_share_without_a_threshold_is_left_alone():
    stage, _ = piled_up(50, {})
    assert taken_back(stage.control).tolist() == []


def test_the_agent_closes_them_and_their_input_waits_for_another_attempt():
    stage, _ = piled_up(30, {KEY: 20})
    stage.run(2400.0)
    ended = stage.ended()
    assert len(ended) == 10 and set(ended["status"]) == {S.CLOSED}
    assert stage.arrays.tasks["n_retry"][0] == 10


@pytest.mark.rule("copy_archive.apply")
@pytest.mark.parametrize(("edition", "rebrokered", "timed_out"), [
    pytest.param("documented", 5, 5, id="as documented after all rules"),
    pytest.param("deployed", 9, 0, id="in the code before the rule of 2 days"),
])
def test_its_turn_among_the_rules(edition, rebrokered, timed_out):
    stage, rows = piled_up(30, {KEY: 20}, edition)
    stage.arrays.job_times[rows[:5], S.ACTIVATED] = stage.arrays.jobs["modification_s"][rows[:5]] = -2 * DAY
    stage.arrays.job_times[rows, S.PENDING] = -2 * DAY
    stage.run(2400.0)
    causes = stage.ended()["cause"].tolist()
    assert causes.count(Cause.FAST_REBROKERAGE) == rebrokered
    assert causes.count(Cause.TIMEOUT_ACTIVATED) == timed_out


@pytest.mark.parametrize(("edition", "n_taken"), [
    pytest.param("documented", 0, id="L28 documented, a paused queue is left alone"),
    pytest.param("deployed", 9, id="L28 deployed, it is not"),
])
def test_a_paused_queue(edition, n_taken):
    stage, _ = piled_up(30, {KEY: 20}, edition, status="paused")
    assert len(taken_back(stage.control)) == n_taken


@pytest.mark.parametrize(("requests", "taken"), [
    (dict(num_slots=-1), 10), (dict(num_slots=0), 0), (dict(num_slots=100), 0),
    (dict(slot_requests=[dict(gshare="All", slots=5)]), 0),
])
def test_a_queue_with_a_slot_request_is_left_alone(requests, taken):
    stage, _ = piled_up(30, {KEY: 20}, **requests)
    assert len(taken_back(stage.control)) == taken


def test_jobs_that_run_stay_however_old_they_are():
    stage, rows = piled_up(40, {KEY: 20})
    stage.arrays.jobs["panda_id"][rows] += 1
    stage.arrays.jobs["panda_id"][put_job(stage, S.RUNNING)] = 1
    assert sorted(taken_back(stage.control).tolist()) == rows[:20]


def test_rows_of_jobs_that_have_ended_are_not_taken():
    stage, rows = piled_up(40, {KEY: 20})
    for row in rows[:10]:
        stage.take_back(row)
    assert sorted(taken_back(stage.control).tolist()) == rows[10:20]


def test_a_share_of_which_too_many_jobs_wait_is_enough():
    plan = scenario(queues={name: dict(atlas_site="HERE") for name in ("FULL", "FREE")}, gdpconfig={KEY: 20})
    stage = Stage((copy_archive,), plan, dict(n_jobs=100))
    rows = [put_job(stage, S.ACTIVATED, queue=queue, pseudo_queue=queue) for queue in (0,) * 30 + (1,) * 20]
    assert sorted(taken_back(stage.control).tolist()) == rows[:10]


def test_the_timeline_turns_it_on_and_off():
    stage, _ = piled_up(30, {})
    stage.control.policies.set_config(KEY, 20)
    assert len(taken_back(stage.control)) == 10
    stage.control.policies.set_config(KEY, None)
    assert len(taken_back(stage.control)) == 0
