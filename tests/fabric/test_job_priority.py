"""Priority of jobs: that of their task, but in the code those of users lose some for each of their live jobs."""

import pytest
from builders import Bench, S, Stage, T, put_job, put_task, scenario

from simgrid_broker.agents.jedi.task_refiner import task_refiner
from simgrid_broker.fabric.jobs.submission import priority_of

pytestmark = pytest.mark.rule("priority_of", "user_priority")


@pytest.mark.parametrize(("edition", "label", "priority", "first", "eleventh"), [
    pytest.param("deployed", "user", 1000, 1000, 998, id="ten jobs cost a user two points"),
    pytest.param("deployed", "panda", 950, 1000, 998, id="whatever priority the task has"),
    pytest.param("deployed", "user", 1499, 1000, 998, id="below the limit of those who may jump over"),
    pytest.param("deployed", "user", 1500, 1500, 1500, id="who may jump over keeps it"),
    pytest.param("deployed", "managed", 700, 700, 700, id="production has that of the task"),
    pytest.param("documented", "user", 950, 950, 950, id="not documented"),
])
def test_priority_of_new_jobs(edition, label, priority, first, eleventh):
    bench = Bench(scenario(edition=edition), dict(n_jobs=11, label=label, priority=priority))
    bench.make(11)
    found = bench.arrays.jobs["priority"][bench.live()]
    assert (found[0], found[10]) == (first, eleventh)


@pytest.mark.parametrize(("inputs", "priority", "expected"), [
    pytest.param(0, 500, 500, id="no scouts"),
    pytest.param(1, 500, 901, id="the last scout"),
    pytest.param(10, 899, 901, id="scouts have 901"),
    pytest.param(10, 900, 901, id="one more than their task"),
    pytest.param(10, 1000, 1001, id="of high priority as well"),
])
@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_priority_of_scouts(edition, inputs, priority, expected):
    bench = Bench(scenario(edition=edition), dict(priority=priority))
    bench.arrays.scout_inputs[0] = inputs
    assert priority_of(bench.arrays, 0) == expected


@pytest.mark.parametrize(("others", "expected"), [
    pytest.param([], 1000, id="none"),
    pytest.param([S.RUNNING] * 4, 999, id="less than a point is rounded down"),
    pytest.param([S.RUNNING] * 5, 999, id="a whole point"),
    pytest.param([S.MERGING] * 5, 1000, id="jobs that merge do not count"),
    pytest.param([S.ACTIVATED] * 6000, -200, id="below zero"),
])
def test_live_jobs_of_the_user_count(others, expected):
    bench = Bench(scenario(edition="deployed"), dict(label="user", user="alice"))
    for status in others:
        put_job(bench, status, user=bench.arrays.tasks["user"][0])
    bench.make()
    assert bench.arrays.jobs["priority"][bench.live()[-1]] == expected


@pytest.mark.parametrize(("label", "priority", "documented", "deployed"), [
    pytest.param("user", 899, 899, 1000, id="below what users may choose"),
    pytest.param("user", 900, 900, 900, id="the lowest"),
    pytest.param("user", 1100, 1100, 1100, id="the highest"),
    pytest.param("user", 1101, 1101, 1000, id="above it"),
    pytest.param("user", 1500, 1500, 1000, id="jumping over needs a permission"),
    pytest.param("managed", 500, 500, 500, id="production"),
])
def test_priority_of_tasks(label, priority, documented, deployed):
    for edition, expected in (("documented", documented), ("deployed", deployed)):
        stage = Stage((task_refiner,), scenario(edition=edition), dict(label=label, priority=priority))
        put_task(stage, 0, T.REGISTERED)
        stage.control.books.live_tasks.add([0])
        stage.run(3600.0)
        assert stage.arrays.tasks["priority"][0] == expected and stage.task() != "registered"
