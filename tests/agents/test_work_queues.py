"""Work queues in a world: mapping, Resource queues with numbers of their own, turns of groups, keys read live."""

from types import SimpleNamespace

import numpy as np
import pytest
from builders import S, Stage, T, everyone, put_job, put_task, scenario

from simgrid_broker.agents.jedi.job_generator import Generator, job_generator
from simgrid_broker.agents.jedi.task_refiner import task_refiner
from simgrid_broker.agents.panda.copy_archive import piled_up
from simgrid_broker.agents.panda.jobs import setupper
from simgrid_broker.agents.panda.statistics import gdpconfig_cache, statistics
from simgrid_broker.agents.run.timeline import task_source, timeline
from simgrid_broker.agents.users.priority_massage import priority_massage
from simgrid_broker.policy.tasks.throttle import throttle
from simgrid_broker.turns.work_queues import JobNumbers
from simgrid_broker.units import HOUR
from simgrid_broker.world.jobs.loads import load_row
from simgrid_broker.world.shares import aligned_queues

GENERATION = (timeline, gdpconfig_cache, task_source, task_refiner, statistics, job_generator, setupper)
FAST = dict(task_refiner=10, gdpconfig=60)
TWO_TYPES = dict(SCORE=dict(mincore=1, maxcore=1), MCORE=dict(mincore=2))
HPC = dict(name="HPC", function="Resource", order=1, criteria="workingGroup = 'HPC'")
EVGENSIMUL = dict(name="evgensimul", order=2, criteria="processingType IN (:p1,:p2)", variables="p1:evgen,p2:simul",
                  share=60)
GROUP = dict(name="group", order=3, criteria="workingGroup LIKE :p1", variables="p1:GP_%", share=10, partition="rest")
OTHERS = dict(name="others", order=9, share=30, partition="rest", stretchable=True)
NORMAL = [EVGENSIMUL, GROUP, OTHERS, dict(name="rest", function="partition", share=40)]
UNTAGGED = dict(share=-1, resource_type=-1)


def stage_of(*tasks, agents=GENERATION, **values):
    """Agents over a plan in which every queue takes as many jobs as come; analysis needs no nucleus."""
    stage = Stage(agents, scenario(agents=FAST, **values), *({"label": "user"} | task for task in tasks))
    stage.control.policies.job_brokerage = lambda task, queues, *_: everyone(
        len(queues.queue))
    return stage


def made(stage):
    """Live jobs of each task."""
    return np.bincount(stage.arrays.jobs["task"][stage.live()], minlength=len(stage.arrays.tasks)).tolist()


@pytest.mark.rule("map_task")
@pytest.mark.parametrize(("task", "edition", "share", "queue"), [
    pytest.param(dict(processing_type="evgen"), "documented", "evgensimul", "evgensimul", id="L4: a normal queue"),
    pytest.param(dict(processing_type="pile", working_group="GP_Top"), "documented", "group", "group",
                 id="L4: a sub queue"),
    pytest.param(dict(processing_type="pile"), "documented", "others", "others", id="L4: the last by order"),
    pytest.param(dict(processing_type="evgen", working_group="GP_Top"), "documented", "evgensimul", "evgensimul",
                 id="L4: the first that it passes"),
    pytest.param(dict(processing_type="evgen"), "deployed", "All", "evgensimul", id="L4: in the code only a mark"),
])
def test_a_task_belongs_to_the_first_queue_whose_criteria_it_passes(task, edition, share, queue):
    stage = stage_of(UNTAGGED | task, edition=edition, work_queues=NORMAL)
    stage.run(20.0)
    words = stage.world.vocabularies
    assert words["shares"][stage.arrays.tasks["share"][0]] == share
    assert words["work_queues"][stage.arrays.tasks["work_queue"][0]] == queue and stage.task() != "broken"


@pytest.mark.rule("inactive", "map_task")
@pytest.mark.parametrize(("queues", "status"), [
    pytest.param([EVGENSIMUL], "broken", id="normal queues: some must take it"),
    pytest.param([EVGENSIMUL | dict(status="inactive")], "ready", id="an inactive one is none"),
    pytest.param([HPC], "ready", id="Resource queues leave the others to their shares"),
])
def test_a_task_that_no_queue_takes(queues, status):
    for edition in ("documented", "deployed"):
        stage = stage_of(UNTAGGED | dict(processing_type="pile"), edition=edition, work_queues=queues,
                         agents=(task_source, task_refiner))
        stage.run(20.0)
        assert stage.task() == status


@pytest.mark.parametrize(("edition", "names"), [
    pytest.param("documented", ["evgensimul SCORE", "evgensimul MCORE", "rest SCORE", "rest MCORE", "HPC "],
                 id="L4: normal queues and partitions"),
    pytest.param("deployed", ["All SCORE", "All MCORE", "HPC "], id="L4: leaf shares"),
])
def test_queues_for_which_jobs_are_generated(edition, names):
    plan = scenario(edition=edition, work_queues=[*NORMAL, HPC], resource_types=TWO_TYPES)
    assert [f"{queue.name} {queue.resource_type}" for queue in aligned_queues(plan)] == names


@pytest.mark.parametrize(("edition", "types"), [
    pytest.param("documented", [(0, 1)], id="as documented one queue for all types"),
    pytest.param("deployed", [(0,), (1,)], id="in the code a queue for each type"),
])
def test_queues_of_event_service(edition, types):
    plan = scenario(shares=[dict(name="eventservice", value=1)], resource_types=TWO_TYPES, edition=edition)
    assert [queue.types for queue in aligned_queues(plan)] == types


@pytest.mark.rule("JobNumbers.of")
@pytest.mark.parametrize(("option", "status_of_queue", "numbers"), [
    pytest.param("nStandby=All:SCORE:7", "standby", (7, 10), id="a fixed number"),
    pytest.param("nStandby=All:SCORE:0", "standby", (4, 6), id="0: the starting jobs"),
    pytest.param("nStandby=All:SCORE:7|All:MCORE:9", "standby", (7, 10), id="several types"),
    pytest.param("nStandby=All:SCORE:7|All:SCORE:0", "standby", (4, 6), id="both: the starting jobs are the last"),
    pytest.param("nStandby=All:SCORE:7", "online", (0, 10), id="a queue that is not on standby"),
    pytest.param("nStandby=Other:SCORE:7", "standby", (0, 10), id="another share"),
    pytest.param("nStandby=7", "standby", (0, 10), id="a bare number is not understood"),
])
def test_standby_slots_of_a_queue(option, status_of_queue, numbers):
    queues = {"Q": dict(atlas_site="HERE", catchall=option, status=status_of_queue)}
    stage = Stage((statistics,), scenario(edition="deployed", queues=queues, resource_types=TWO_TYPES))
    for status, number in ((S.STARTING, 4), (S.ACTIVATED, 6)):
        for _ in range(number):
            put_job(stage, status)
    stage.run(61.0)
    queue = aligned_queues(stage.world.scenario)[0]
    counts = JobNumbers(stage.control).of(queue, queue.types, of_type=True)
    assert (counts.running, counts.not_running) == numbers


@pytest.mark.rule("Generator._throttle")
@pytest.mark.parametrize(("name", "work_queues", "keys", "running"), [
    pytest.param("All", [], ("NQUEUELIMIT_All_SCORE*", "NQUEUECAP_All"), [7, 10, 10],
                 id="of one type they replace the running jobs, of several they are added"),
    pytest.param("HPC", [HPC], ("NQUEUELIMIT_HPC",), [10, 10], id="a Resource queue is of all types"),
])
def test_standby_slots_in_the_numbers_of_the_throttler(name, work_queues, keys, running):
    queues = {"HERE": dict(atlas_site="HERE"), "REST": dict(
        atlas_site="HERE", catchall=f"nStandby={name}:SCORE:7", status="standby")}
    stage = stage_of(dict(n_jobs=9, working_group="HPC", work_hs06s_per_event=1e6), edition="deployed", queues=queues,
                     work_queues=work_queues, gdpconfig={f"anal_job_throttler.{key}": 9999 for key in keys})
    stage.run(2000.0)
    stage.workers(3)
    stage.run(2100.0)
    asked = []
    stage.control.policies.throttle = lambda *numbers: asked.append(numbers) or throttle(*numbers)
    stage.arrays.tasks["n_jobs"][0] += 9
    stage.run(2400.0)
    counts, _, *others = asked[-1]
    assert [one.running for one in (counts, *others) if one] == running


@pytest.mark.rule("Generator._throttle")
@pytest.mark.parametrize(("cputime", "n_jobs"), [
    pytest.param(1e6, 8 * 260, id="much wall time is queued: four bunches wait"),
    pytest.param(100.0, 5000, id="little wall time: the code never stops"),
])
def test_the_code_counts_the_wall_time_of_queued_jobs_where_it_decides(cputime, n_jobs):
    stage = stage_of(dict(n_jobs=5000, cputime=cputime, cpuefficiency=100), edition="deployed")
    stage.run(1.9 * HOUR)
    assert len(stage.live()) == n_jobs


@pytest.mark.rule("loads.slots_of")
@pytest.mark.parametrize(("share", "resource_type", "expected"), [
    pytest.param(0, 0, 7, id="the row of the share wins"),
    pytest.param(0, 1, 7, id="it is for every type"),
    pytest.param(1, 0, 3, id="another share: the row of any"),
    pytest.param(1, 1, 5, id="of these that of the type"),
    pytest.param(1, None, 8, id="a task without a type: their sum"),
])
def test_slot_requests_of_a_share_and_type(share, resource_type, expected):
    requests = [dict(gshare="All", slots=7), dict(slots=3), dict(resource_type="MCORE", slots=5)]
    queues = {"Q": dict(atlas_site="HERE", slot_requests=requests, num_slots=99), "P": dict(atlas_site="HERE")}
    stage = Stage((statistics,), scenario(queues=queues, resource_types=TWO_TYPES, shares=[
        dict(name="All", value=1), dict(name="Other", value=1)], edition="deployed"))
    stage.run(61.0)
    snapshot = stage.control.brokers.snapshot
    load = snapshot.load[load_row(stage.world, snapshot, share, resource_type)]
    assert load["num_slots"].tolist() == [expected, -1]


@pytest.mark.rule("JobNumbers.of")
def test_jobs_of_a_resource_queue_do_not_count_for_their_share():
    stage = stage_of(dict(n_jobs=2000, working_group="HPC"), dict(n_jobs=2000, user="another"), work_queues=[HPC],
                     gdpconfig={"NQUEUECAP_All": 100, "NQUEUECAP_HPC": 500})
    stage.run(300.0)
    assert made(stage) == [100, 20]                       # a fifth of each cap, then queued > 2 x running
    assert stage.control.brokers.snapshot.by_share[:, S.ACTIVATED].sum(axis=1).tolist() == [20, 100]
    assert stage.arrays.counts.sum() == 120
    stage.check()


def test_a_resource_queue_serves_all_types_together():
    queues = {"U": dict(atlas_site="HERE", capability="ucore", corecount=8)}
    stage = stage_of(dict(n_jobs=2000, working_group="HPC"), dict(n_jobs=2000, working_group="HPC", corecount=8,
                     resource_type=1), sites={"HERE": dict(cores=64)}, queues=queues, work_queues=[HPC],
                     resource_types=TWO_TYPES)
    stage.run(200.0)
    assert sum(made(stage)) == 250                        # one throttler, not one for each type
    stage.check()


@pytest.mark.rule("piled_up")
def test_fast_rebrokerage_does_not_count_resource_queues_and_takes_the_oldest_jobs_of_any():
    keys = {"FAST_REBRO_THRESHOLD_NQUEUE_All": 20}
    for queues, others, taken in (([], 0, True), ([HPC], 0, False), ([HPC], 200, True)):
        stage = stage_of(dict(n_jobs=30, working_group="HPC"), dict(n_jobs=others), work_queues=queues, gdpconfig=keys)
        stage.run(200.0)
        assert (0 in stage.arrays.jobs["task"][piled_up(stage.control)]) is taken


@pytest.mark.rule("WorkQueues.in_turn")
def test_users_take_turns_as_a_key_says_from_the_moment_it_is_set():
    later = [dict(at=1000, what="gdpconfig", key="GROUPBYATTR_All", value="userName")]
    tasks = [dict(n_jobs=30, user="busy", label="managed", status=int(T.READY)) for _ in range(60)]
    tasks.append(dict(n_jobs=30, user="small", label="managed"))
    agents = (timeline, gdpconfig_cache, statistics, job_generator, setupper)
    stage = stage_of(*tasks, agents=agents, incidents=later, gdpconfig={"NQUEUELIMIT_All": 100_000, "NTASKS_All": 10})
    stage.control.books.live_tasks.add(range(61))
    stage.arrays.tasks["status"] = int(T.READY)
    stage.run(900.0)
    assert made(stage)[-1] == 0                           # by priority and age the last task waits
    stage.run(1300.0)
    assert made(stage)[-1] == 30


@pytest.mark.rule("WorkQueues.in_turn")
@pytest.mark.parametrize(("edition", "jobs"), [
    pytest.param("documented", 25, id="L7: as documented users take turns"),
    pytest.param("deployed", 0, id="L7: in the code the older tasks come first"),
])
def test_users_of_analysis(edition, jobs):
    tasks = [dict(n_jobs=200, user="busy") for _ in range(10)] + [dict(n_jobs=25, user="small")]
    stage = stage_of(*tasks, edition=edition, gdpconfig={"THROTTLE_THRESHOLD": 0.0, "NQUEUELIMIT_All": 100})
    stage.run(185.0)
    assert made(stage)[-1] == jobs


def test_ntasks_limits_the_tasks_of_a_cycle():
    stage = stage_of(*[dict(n_jobs=10)] * 9, gdpconfig={"NTASKS_All": 4})
    stage.run(185.0)
    assert sum(made(stage)) == 40


@pytest.mark.rule("Generator._is_visited")
@pytest.mark.parametrize(("edition", "resource_type", "has_jobs", "visits"), [
    pytest.param("deployed", "SCORE", False, 1000, id="in the code one cycle of four"),
    pytest.param("deployed", "SCORE", True, 4000, id="with jobs every cycle"),
    pytest.param("deployed", "", False, 4000, id="a queue for every type"),
    pytest.param("documented", "SCORE", False, 4000, id="not documented"),
])
def test_cycles_in_which_an_inactive_queue_is_visited(edition, resource_type, has_jobs, visits):
    stage = stage_of({}, edition=edition)
    inactive = SimpleNamespace(control=stage.control, queue=SimpleNamespace(resource_type=resource_type), key=1,
                               numbers=SimpleNamespace(has_jobs=lambda _: has_jobs), n_polls=0, generates=True)
    found = sum(Generator._is_visited(inactive) for _ in range(4000))
    # four standard errors
    assert abs(found - visits) < (110 if visits < 4000 else 1)


@pytest.mark.rule("Generator._is_visited")
def test_no_jobs_are_made_while_submission_is_off():
    stage = stage_of(dict(n_jobs=10), gdpconfig={"JOB_SUBMISSION": False},
                     incidents=[dict(at=1000, what="gdpconfig", key="JOB_SUBMISSION", value=True)])
    stage.run(990.0)
    assert made(stage) == [0]
    stage.run(1300.0)
    assert made(stage) == [10]


def test_a_task_of_high_priority_passes_a_throttled_queue_in_the_code():
    for edition, jobs in (("documented", 0), ("deployed", 50)):
        first = dict(n_jobs=9000, priority=500, label="managed")
        stage = stage_of(first, first | dict(n_jobs=50, priority=900), edition=edition, resource_types=dict(
            SCORE=dict(mincore=1, maxcore=1)), agents=(statistics, job_generator, setupper),
            gdpconfig={"NQUEUELIMIT_All": 400, "NQUEUECAP_All": 0})
        put_task(stage, 0, T.READY)
        stage.control.books.live_tasks.add([0, 1])
        stage.run(2000.0)
        put_task(stage, 1, T.READY)
        stage.run(2400.0)
        assert made(stage)[1] == jobs


@pytest.mark.rule("PriorityMassage._throttle")
@pytest.mark.parametrize(("edition", "held"), [
    pytest.param("documented", 30, id="as documented above the cap"),
    pytest.param("deployed", 0, id="in the code short jobs stay"),
])
def test_jobs_of_a_user_above_the_cap_are_throttled_and_let_go(edition, held):
    stage = stage_of(dict(n_jobs=36, work_hs06s_per_event=20_000.0, cputime=100.0), edition=edition,
                     agents=(*GENERATION, priority_massage), gdpconfig={"CAP_RUNNING_USER_JOBS": 5})
    stage.run(1990.0)
    stage.workers(6)
    stage.run(2400.0)
    assert [stage.statuses().count(word) for word in ("running", "throttled")] == [6, held]
    asked, acted = stage.control.cycles["priority_massage"]
    assert acted < asked and (acted > 0) == (held > 0), "a cycle has acted if it throttled a job"
    stage.check()
    stage.run(5000.0)                                     # the six have ended after 2000 s
    assert stage.statuses().count("throttled") == 0
    stage.check()


@pytest.mark.rule("PriorityMassage._throttle")
def test_only_jobs_of_the_user_above_the_cap_are_throttled():
    long = dict(work_hs06s_per_event=20_000.0)
    stage = stage_of(long | dict(n_jobs=36, user="busy", priority=600), long | dict(n_jobs=10, user="calm"),
                     agents=(*GENERATION, priority_massage), gdpconfig={"CAP_RUNNING_USER_JOBS": 5})
    stage.run(1990.0)
    stage.workers(6)
    stage.run(2400.0)
    jobs = stage.arrays.jobs[stage.live()]
    assert (jobs["task"][jobs["status"] == S.RUNNING] == 0).all()
    assert np.bincount(jobs["task"][jobs["status"] == S.THROTTLED], minlength=2).tolist() == [30, 0]
    stage.run(5000.0)                                     # the six have ended, and the calm user never had any
    assert stage.statuses().count("throttled") == 0
    stage.check()


@pytest.mark.rule("PriorityMassage._throttle")
def test_long_jobs_are_throttled_in_the_code():
    stage = stage_of(dict(n_jobs=36, work_hs06s_per_event=900_000.0, cputime=900_000.0, cpuefficiency=100),
                     edition="deployed", agents=(*GENERATION, priority_massage), gdpconfig={"CAP_RUNNING_USER_JOBS": 6})
    stage.run(2000.0)
    stage.workers(6)
    stage.run(2500.0)
    assert [stage.statuses().count(word) for word in ("running", "throttled")] == [6, 30]


@pytest.mark.rule("PriorityMassage._boost")
def test_a_user_who_got_little_is_lifted_in_the_code():
    for edition, expected in (("documented", 950), ("deployed", 1000)):
        stage = stage_of(dict(n_jobs=12, user="busy", work_hs06s_per_event=90_000.0), dict(n_jobs=6, user="poor",
                         arrival_s=1000.0), edition=edition, agents=(*GENERATION, priority_massage))
        stage.run(999.0)
        stage.workers(8)
        stage.run(2000.0)
        assert stage.statuses() == ["running"] * 8 + ["activated"] * 10
        stage.control.fabric.set_priority([0, 1], 950)
        stage.run(2400.0)
        jobs = stage.arrays.jobs[stage.live()]
        assert jobs["priority"][jobs["task"] == 1].max() == expected
        assert jobs["priority"][jobs["task"] == 0].max() == 950, "who got more is not lifted"
