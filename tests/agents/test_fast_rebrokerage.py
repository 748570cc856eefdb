"""Fast rebrokerage: the oldest jobs that pile up at a queue go back to JEDI."""

import pytest
from builders import S, Stage, put_job, scenario

from simgrid_broker.agents.copy_archive import copy_archive, fast_rebrokerage
from simgrid_broker.fabric.activated import put_activated

KEY = "FAST_REBRO_THRESHOLD_NQUEUE_All"


def piled_up(n_jobs, gdpconfig):
    """A stage at which so many activated jobs wait at one queue and none runs."""
    stage = Stage((copy_archive,), scenario(gdpconfig=gdpconfig), dict(n_jobs=1000, max_attempt=3))
    rows = [put_job(stage, S.ACTIVATED, transfer=-1) for _ in range(n_jobs)]
    for row in rows:
        put_activated(stage.arrays, row)
    return stage, rows


@pytest.mark.parametrize(("n_jobs", "least", "taken"), [
    pytest.param(20, 20, 0, id="at the threshold nothing is taken"),
    pytest.param(22, 20, 1, id="one fewer than the excess is taken, as in PanDA"),
    pytest.param(30, 20, 9, id="the excess over the smallest margin"),
])
def test_the_oldest_jobs_are_taken(n_jobs, least, taken):
    stage, rows = piled_up(n_jobs, {KEY: least})
    assert sorted(fast_rebrokerage(stage.control).tolist()) == sorted(rows[:taken])


def test_a_share_without_a_threshold_is_left_alone():
    stage, _ = piled_up(50, {})
    assert fast_rebrokerage(stage.control).tolist() == []


def test_the_agent_closes_them_and_their_input_waits_for_another_attempt():
    stage, _ = piled_up(30, {KEY: 20})
    stage.run(2400.0)
    ended = stage.ended()
    assert len(ended) == 9 and set(ended["status"]) == {S.CLOSED}
    assert stage.arrays.tasks["n_retry"][0] == 9
