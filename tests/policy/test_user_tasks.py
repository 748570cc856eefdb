"""What the production code sets for tasks of users."""

import numpy as np
import pytest
from builders import Bench, Stage, T, put_task, scenario
from policy_builders import cfg

from simgrid_broker.agents.task_refiner import task_refiner
from simgrid_broker.policy.user_tasks import most_active_tasks, most_cores, priority_boost, target_walltime_s

BOOSTS = [{"name": "ann", "type": "user", "prio": 200}, {"name": "GP_Top", "type": "group", "prio": 300},
          {"name": "ann", "type": "user", "prio": 400}]


@pytest.mark.rule("most_active_tasks")
def test_most_active_tasks_go_by_label():
    keys = cfg("deployed", dbproxy={"MAX_ACTIVE_TASKS_PER_USER_user": 0})
    assert (most_active_tasks("user", keys), most_active_tasks("panda", keys)) == (0, None)


@pytest.mark.rule("priority_boost")
@pytest.mark.parametrize(("user", "group", "boost"), [
    pytest.param("ann", "", 200, id="the first entry of the user"), pytest.param("bob", "GP_Top", 300, id="a group"),
    pytest.param("bob", "", 0, id="a user without a boost"),
    pytest.param("GP_Top", "", 0, id="a user with the name of a group"),
    pytest.param("ann", "GP_Top", 200, id="the first that matches")])
def test_boosts(user, group, boost):
    assert priority_boost(user, group, cfg("deployed", dbproxy={"USER_JOB_PRIO_BOOST_DICTS": BOOSTS})) == boost
    assert priority_boost(user, group, cfg("deployed")) == 0


@pytest.mark.rule("most_cores", "target_walltime_s")
def test_limits_of_jobs():
    assert (most_cores(cfg("deployed")), target_walltime_s(cfg("deployed"))) == (16, None)
    given = cfg("deployed", taskrefiner={"USER_TASKS_MAX_CORE_COUNT": 4, "USER_JOB_TARGET_WALLTIME": 2})
    assert (most_cores(given), target_walltime_s(given)) == (4, 7200.0)


def refined(edition, *tasks, **keys):
    """Tasks of ann after the refiner has seen them."""
    stage = Stage((task_refiner,), scenario(edition=edition, gdpconfig=keys),
                  *(dict(label="user", user="ann") | task for task in tasks))
    for row in range(len(tasks)):
        put_task(stage, row, T.REGISTERED)
    stage.control.books.live_tasks.add([*range(len(tasks))])
    stage.run(100.0)
    return stage


@pytest.mark.rule("task_refiner.accepted")
def test_a_user_with_too_many_tasks_gets_no_more():
    keys = {"MAX_ACTIVE_TASKS_PER_USER_user": 1}
    others = dict(user="bob"), dict(label="managed")
    stage = refined("deployed", {}, {}, {}, *others, **keys)
    assert [stage.task(row) for row in range(5)] == ["broken", "ready", "ready", "ready", "assigning"]
    documented = refined("documented", {}, {}, {}, **keys)
    assert "broken" not in [documented.task(row) for row in range(3)]


@pytest.mark.rule("task_refiner.refine_for_users")
@pytest.mark.parametrize(("edition", "cores", "walltime_h", "boost"), [
    pytest.param("deployed", 16, 3, 200, id="the code"), pytest.param("documented", np.inf, 0, 0, id="not documented")])
def test_settings_of_new_tasks(edition, cores, walltime_h, boost):
    stage = refined(edition, {}, USER_JOB_TARGET_WALLTIME=3, USER_JOB_PRIO_BOOST_DICTS=BOOSTS)
    task = stage.arrays.tasks[0]
    assert (task["maxcorecount"], stage.arrays.splitting["maxwalltime"][0], task["priority_boost"]) == (
        cores, walltime_h, boost)


@pytest.mark.rule("priority_of")
def test_boosted_jobs_do_not_lose_priority_by_other_jobs_of_their_user():
    bench = Bench(scenario(edition="deployed"), dict(n_jobs=11, label="user", priority=1000))
    bench.arrays.tasks["priority_boost"][0] = 70
    bench.make(11)
    assert set(bench.arrays.jobs["priority"][bench.live()].tolist()) == {1070}
