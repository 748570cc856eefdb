"""Disk quotas of users and groups: what their output holds, and what brokerage sees of it."""

import numpy as np
import pytest
from builders import S, Stage, T, put_task, scenario

from simgrid_broker.agents.users.analysis_watch_dog import AnalysisWatchDog
from simgrid_broker.schema import JOB_TIMES, JOBS
from simgrid_broker.units import HOUR
from simgrid_broker.world.views.users import user_view

TB = 1e12


def stage_of(accounts, *tasks) -> Stage:
    """Tasks of users at two sites."""
    plan = scenario({"HERE": {}, "THERE": {}}, edition="deployed", accounts=accounts,
                    workload={"users": [{"name": name, "users": 1, "hs06sec_per_event": 1, "offered_cores": 1,
                                         "workinggroup": group} for name, group in (("ann", ""), ("bob", "GP"))]})
    stage = Stage((), plan, *(dict(label="user", user="ann-0001") | task for task in tasks or ({},)))
    for row in range(len(tasks or ({},))):
        put_task(stage, row, T.RUNNING)
    stage.world.count_for_users(range(len(tasks or ({},))))
    return stage


def finish(stage, size, task=0, queue=0, status=S.FINISHED, at=0.0):
    """A job of a task ends with so much output."""
    rows, times = JOBS.empty(1), np.full((1, len(JOB_TIMES)), np.nan)
    rows["task"], rows["queue"], rows["status"], rows["output_bytes"] = task, queue, status, size
    times[0, status] = at
    AnalysisWatchDog(stage.control).note_output(rows, times)


def seen(stage, now=0.0, task=0):
    """State of the global quota and queues without room, as brokerage sees it."""
    stage.world.user_output.refresh(now)
    view = user_view(stage.world, task, now, 1000.0)
    return (view.quota.over, view.quota.near), view.at["over_quota"].tolist()


@pytest.mark.rule("UserOutput.refresh")
@pytest.mark.parametrize(("used", "state"), [
    pytest.param(0.9 * TB, (False, False), id="90 % is not near"), pytest.param(0.91 * TB, (False, True), id="near"),
    pytest.param(TB, (False, True), id="as much as the quota"), pytest.param(1.01 * TB, (True, False), id="over")])
def test_the_global_quota_is_exceeded_above_it(used, state):
    stage = stage_of({"ann-0001": {"quota": "1 TB"}})
    finish(stage, used)
    assert seen(stage)[0] == state
    assert bool(user_view(stage.world, 0, 0.0, 1.0).quota.message) == (state != (False, False))


@pytest.mark.rule("UserOutput.refresh")
@pytest.mark.parametrize(("used", "full"), [
    pytest.param(0.99 * TB, False, id="below"), pytest.param(TB, True, id="reached")])
def test_a_local_quota_is_used_up_when_it_is_reached(used, full):
    stage = stage_of({"ann-*": {"local_quotas": {"THERE": "1 TB"}}})
    finish(stage, 5 * TB, queue=0)
    finish(stage, used, queue=1)
    assert seen(stage) == ((False, False), [False, full])


@pytest.mark.rule("UserOutput.add")
def test_only_output_of_finished_jobs_counts_for_the_user_or_the_group():
    accounts = {"ann-0001": {"quota": "1 TB"}, "GP": {"quota": "3 TB"}}
    stage = stage_of(accounts, {}, dict(working_group="GP"), dict(user="bob-0001"))
    finish(stage, 9 * TB, status=S.FAILED)
    finish(stage, 2 * TB, task=1)
    finish(stage, 9 * TB, task=2)
    assert [seen(stage, task=task)[0] for task in range(3)] == [(False, False)] * 3
    finish(stage, 2 * TB, task=1)
    assert [seen(stage, task=task)[0] for task in range(3)] == [(False, False), (True, False), (False, False)]


@pytest.mark.rule("UserOutput.forget")
def test_output_counts_until_its_lifetime_is_over():
    stage = stage_of({"ann-0001": {"quota": "1 TB", "held": {"HERE": "0.5 TB"}, "output_lifetime": "1h"}})
    finish(stage, 0.6 * TB, at=HOUR)
    assert seen(stage, 2 * HOUR - 1)[0] == (True, False)
    assert seen(stage, 2 * HOUR)[0] == (False, False)
    assert stage.world.user_output.held[0].sum() == 0.5 * TB
