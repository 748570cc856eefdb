"""The task withholder: tasks whose input lies only where they could not run now go on hold."""

import numpy as np
import pytest
from builders import Stage, T, put_job, put_task, two_sites

from simgrid_broker.agents.jedi.watchdogs import task_withholder, watch_dog
from simgrid_broker.agents.panda.statistics import statistics
from simgrid_broker.agents.run.timeline import task_source
from simgrid_broker.names import JobStatus
from simgrid_broker.policy.tasks.watchdogs import Limits, busy, concerned, is_withheld, withheld_from
from simgrid_broker.scenario.gdpconfig import in_force
from simgrid_broker.views import Gdpconfig

LIMITS = dict(LIMIT_IOINTENSITY_managed=500, LIMIT_PRIORITY_managed=600)
HEAVY = dict(iointensity=500, priority=599, input_bytes_per_job=1e9, n_jobs=100, replicas={0: 1.0})


def config(**said) -> Gdpconfig:
    """Gdpconfig in force with some keys."""
    return Gdpconfig(in_force(two_sites(gdpconfig=said, edition="deployed")))


@pytest.mark.rule("withheld_from", "concerned")
def test_without_keys_no_task_is_withheld():
    assert withheld_from("managed", config()) == Limits(999999, -999999)
    assert not concerned(np.array([1e6]), np.array([-1000]), withheld_from("managed", config())).any()


@pytest.mark.rule("concerned")
@pytest.mark.parametrize(("iointensity", "priority", "expected"), [
    pytest.param(499, 599, False, id="light"), pytest.param(500, 599, True, id="heavy, low priority"),
    pytest.param(500, 600, False, id="of the priority"), pytest.param(0, 0, False, id="unknown ioIntensity"),
])
def test_heavy_tasks_of_low_priority_may_be_withheld(iointensity, priority, expected):
    found = concerned(np.array([iointensity]), np.array([priority]), withheld_from("managed", config(**LIMITS)))
    assert found.tolist() == [expected]


@pytest.mark.rule("policy.tasks.watchdogs.busy")
@pytest.mark.parametrize(("queued", "running", "keys", "expected"), [
    (20, 0, {}, False), (21, 0, {}, True), (40, 20, {}, False), (41, 20, {}, True),
    (21, 0, {"NQUEUELIMITSITE_All": 21}, False), (22, 0, {"NQUEUELIMITSITE_All": 21}, True),
])
def test_a_queue_is_busy_above_its_cut_and_twice_its_running_jobs(queued, running, keys, expected):
    assert busy(np.array([queued]), np.array([running]), "All", config(**keys)).tolist() == [expected]


@pytest.mark.rule("is_withheld")
@pytest.mark.parametrize(("locations", "closed", "expected"), [
    ({1}, {1, 2}, True), ({1, 2}, {1, 2}, True), ({1, 3}, {1, 2}, False), ({1}, set(), False), (set(), {1}, True),
    (set(), set(), False),
])
def test_a_task_waits_if_all_of_its_input_is_where_it_cannot_run(locations, closed, expected):
    assert is_withheld(locations, closed) is expected


def at_work(*tasks, status=T.RUNNING, edition="deployed", agents=(), **others) -> Stage:
    """Tasks at work at two sites with a storage each, and the withholder."""
    plan = two_sites(edition=edition, gdpconfig=LIMITS, agents=dict(statistics=10, task_withholder=100,
                     pending_production=500), **others)
    stage = Stage((task_source, statistics, *agents, task_withholder), plan, *tasks)
    stage.run(1)
    for row in range(len(tasks)):
        put_task(stage, row, status)
    return stage


def queue_jobs(stage, number, queue=0, status=JobStatus.ACTIVATED):
    """Put jobs of a task without input at a queue."""
    for _ in range(number):
        put_job(stage, status, task=0, queue=queue, pseudo_queue=queue)


@pytest.mark.rule("agents.jedi.watchdogs.withhold")
@pytest.mark.parametrize(("said", "status", "queued", "withheld"), [
    pytest.param({}, T.RUNNING, 21, True, id="all at the busy queue"),
    pytest.param({}, T.READY, 21, True, id="ready"), pytest.param({}, T.SCOUTING, 21, True, id="scouting"),
    pytest.param({}, T.EXHAUSTED, 21, False, id="at rest"),
    pytest.param({}, T.RUNNING, 20, False, id="the queue is not busy"),
    pytest.param(dict(replicas={0: 1.0, 1: 1.0}), T.RUNNING, 21, False, id="a copy elsewhere"),
    pytest.param(dict(replicas={0: 1.0, 1: 0.9}), T.RUNNING, 21, True, id="a part elsewhere"),
    pytest.param(dict(input_bytes_per_job=0), T.RUNNING, 21, False, id="no input"),
    pytest.param(dict(priority=600), T.RUNNING, 21, False, id="of high priority"),
    pytest.param(dict(label="ptest"), T.RUNNING, 21, False, id="not managed"),
])
def test_tasks_wait_whose_input_is_at_busy_queues(said, status, queued, withheld):
    stage = at_work(dict(), HEAVY | said, status=status)
    queue_jobs(stage, queued)
    stage.run(250)
    assert (stage.task(1) == "pending") is withheld and stage.task(0) == T(status).word


@pytest.mark.rule("agents.jedi.watchdogs.withhold")
@pytest.mark.parametrize(("place", "lists", "withheld"), [
    pytest.param(1, False, True, id="on the tape of the site"),
    pytest.param(1, True, False, id="on a tape that the queue does not list"),
    pytest.param(-1, False, True, id="at the site, which has no storage for it"),
])
def test_a_queue_without_storages_of_its_own_reads_all_of_its_site(place, lists, withheld):
    stage = at_work(dict(), HEAVY, storages=dict(HERE=dict(site="HERE"), TAPE=dict(site="HERE", tape=True),
                                                 THERE=dict(site="THERE")))
    stage.arrays.replicas["storage"][stage.arrays.replicas["dataset"] >= 0] = place
    stage.control.world.places.lists_storages[0] = lists
    queue_jobs(stage, 21)
    stage.run(250)
    assert (stage.task(1) == "pending") is withheld


def test_only_queues_with_jobs_of_the_share_are_busy():
    stage = at_work(dict(), HEAVY | dict(share=1), shares=[dict(name="All", value=1), dict(name="Other", value=1)])
    queue_jobs(stage, 100)
    stage.run(250)
    assert stage.task(1) == "running"


def test_input_at_a_storage_that_takes_no_files_waits():
    stage = at_work(dict(), HEAVY, storages=dict(HERE=dict(site="HERE", write_wan="OFF"), THERE=dict(site="THERE")))
    stage.run(250)
    assert stage.task(1) == "pending"


def test_the_documented_edition_withholds_nothing():
    stage = at_work(dict(), HEAVY, edition="documented")
    queue_jobs(stage, 100)
    stage.run(250)
    assert stage.task(1) == "running"


def test_a_withheld_task_goes_on_after_the_usual_wait():
    stage = at_work(dict(), HEAVY, agents=(watch_dog,), storages=dict(
        HERE=dict(site="HERE", write_wan="OFF"), THERE=dict(site="THERE")))
    stage.run(250)
    assert stage.task(1) == "pending"
    stage.arrays.storages["write_wan_off"][0] = 0
    stage.run(1500)
    assert stage.task(1) == "running"
