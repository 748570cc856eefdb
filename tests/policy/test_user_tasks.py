"""What the production code sets for tasks of users."""

import numpy as np
import pytest
from builders import Bench, Stage, T, put_task, scenario
from policy_builders import cfg

from simgrid_broker.agents.jedi.task_refiner import task_refiner
from simgrid_broker.policy.users.tasks import (
    jumps_the_queue,
    most_active_tasks,
    most_cores,
    moves_input,
    priority_boost,
    target_walltime_s,
    user_priority,
)

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


@pytest.mark.rule("user_priority")
@pytest.mark.parametrize(("priority", "jumps", "expected"), [
    pytest.param(899, False, 1000, id="below the range"), pytest.param(900, False, 900, id="lowest"),
    pytest.param(1100, False, 1100, id="highest"), pytest.param(1101, False, 1000, id="above the range"),
    pytest.param(1500, False, 1000, id="no permission to jump"), pytest.param(1000, True, 1500, id="jumps"),
    pytest.param(1600, True, 1600, id="jumps further")])
def test_priorities_of_tasks(priority, jumps, expected):
    assert user_priority(priority, jumps) == expected


@pytest.mark.rule("jumps_the_queue")
@pytest.mark.parametrize(("permissions", "in_group", "jumps"), [
    ("", False, False), ("", True, False), ("s", False, True), ("g", False, False), ("g", True, True),
    ("sg", False, True)])
def test_permissions_of_a_user(permissions, in_group, jumps):
    assert jumps_the_queue(permissions, in_group) == jumps


@pytest.mark.rule("moves_input")
def test_a_part_of_the_tasks_may_move_input():
    assert not moves_input(0.0, cfg("deployed"))
    quarter = cfg("deployed", taskrefiner={"USER_TASKS_MOVE_INPUT": 25})
    assert [moves_input(uniform, quarter) for uniform in (0.2499, 0.25)] == [True, False]


@pytest.mark.rule("most_cores", "target_walltime_s")
def test_limits_of_jobs():
    assert (most_cores(cfg("deployed")), target_walltime_s(cfg("deployed"))) == (16, None)
    given = cfg("deployed", taskrefiner={"USER_TASKS_MAX_CORE_COUNT": 4, "USER_JOB_TARGET_WALLTIME": 2})
    assert (most_cores(given), target_walltime_s(given)) == (4, 7200.0)


def refined(edition, *tasks, accounts=None, **keys):
    """Tasks of ann after the refiner has seen them."""
    stage = Stage((task_refiner,), scenario(edition=edition, gdpconfig=keys, accounts=accounts or {}),
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


@pytest.mark.rule("task_refiner.refine_for_users", "limit_for_users")
@pytest.mark.parametrize(("edition", "cores", "walltime_h", "boost"), [
    pytest.param("deployed", 16, 3, 200, id="the code"), pytest.param("documented", np.inf, 0, 0, id="not documented")])
def test_settings_of_new_tasks(edition, cores, walltime_h, boost):
    stage = refined(edition, {}, USER_JOB_TARGET_WALLTIME=3, USER_JOB_PRIO_BOOST_DICTS=BOOSTS)
    task = stage.arrays.tasks[0]
    assert (task["maxcorecount"], stage.arrays.splitting["maxwalltime"][0], task["priority_boost"]) == (
        cores, walltime_h, boost)


@pytest.mark.rule("task_refiner.priority_of_user")
def test_tasks_jump_the_queue_by_the_permissions_of_their_user_or_move_input():
    groups = dict(working_group="GP"), {}
    of_s, of_g, plain = ([int(number) for number in refined("deployed", *groups, accounts=accounts).arrays.tasks[
        "priority"]] for accounts in ({"ann": {"permissions": "s"}}, {"a*": {"permissions": "g"}}, None))
    assert (of_s, of_g, plain) == ([1500, 1500], [1500, 1000], [1000, 1000])
    moved = refined("deployed", {}, USER_TASKS_MOVE_INPUT=100).arrays.tasks["priority"]
    assert moved.tolist() == [1001]


@pytest.mark.rule("priority_of")
def test_boosted_jobs_do_not_lose_priority_by_other_jobs_of_their_user():
    bench = Bench(scenario(edition="deployed"), dict(n_jobs=11, label="user", priority=1000))
    bench.arrays.tasks["priority_boost"][0] = 70
    bench.make(11)
    assert set(bench.arrays.jobs["priority"][bench.live()].tolist()) == {1070}
