"""The queue filler: tasks are pinned to queues that have their input and too little to do, and released again."""

import numpy as np
import pytest
from builders import Stage, T, put_job, put_task, two_sites

from simgrid_broker.agents.jedi.queue_filler import QueueFiller
from simgrid_broker.agents.panda.statistics import statistics
from simgrid_broker.agents.run.timeline import task_source
from simgrid_broker.names import JobStatus
from simgrid_broker.policy.queues import (
    Limits,
    Work,
    fat_containers,
    fits_memory,
    has_files,
    is_for_arm_alone,
    is_full,
    jobs_to_close,
    jobs_to_fill,
    limits_of_filling,
    may_be_filled,
    processing_type,
)
from simgrid_broker.scenario.gdpconfig import in_force
from simgrid_broker.schema.queues import Hardware, InstalledRelease, PublishedSoftware
from simgrid_broker.views import Gdpconfig
from simgrid_broker.views.candidates import QueueSoftware
from simgrid_broker.world.columns import set_task

BIG = dict(n_jobs=150, input_bytes_per_job=1e9, replicas={1: 1.0})
THERE = 1
"""The queue that is filled."""


def work(running=0, waiting=0, standby=0, rate=1.0) -> Work:
    """What one queue has to do."""
    return Work(*(np.array([value]) for value in (running, waiting, standby, rate)))


@pytest.mark.rule("jobs_to_fill")
@pytest.mark.parametrize(("said", "lacking"), [
    pytest.param(dict(), 5, id="idle"), pytest.param(dict(running=10), 5, id="ten running"),
    pytest.param(dict(running=11), 5.5, id="eleven running"), pytest.param(dict(standby=20), 10, id="slots of its own"),
    pytest.param(dict(waiting=5), 0, id="five waiting"), pytest.param(dict(running=100, waiting=49), 1, id="busy"),
])
def test_jobs_that_a_queue_lacks(said, lacking):
    assert jobs_to_fill(work(**said)).tolist() == [lacking]


@pytest.mark.rule("is_full")
@pytest.mark.parametrize(("said", "full"), [
    (dict(waiting=7), False), (dict(waiting=8), True), (dict(waiting=15, running=20), False),
    (dict(waiting=16, running=20), True), (dict(waiting=30, standby=30), False), (dict(waiting=31, standby=30), True),
])
def test_a_queue_with_enough_to_do(said, full):
    assert is_full(work(**said)).tolist() == [full]


@pytest.mark.rule("may_be_filled")
@pytest.mark.parametrize(("rate", "seldom", "slots", "expected"), [
    (0.59, False, 0, False), (0.6, False, 0, True), (0, True, 0, True), (0, False, 8, True),
])
def test_jobs_must_start_at_a_queue(rate, seldom, slots, expected):
    assert may_be_filled(work(rate=rate), np.array([seldom]), np.array([slots])).tolist() == [expected]


@pytest.mark.rule("limits_of_filling")
def test_limits_are_keys_of_gdpconfig():
    plain = two_sites(edition="deployed")
    assert limits_of_filling(Gdpconfig(in_force(plain))) == Limits(3, 50, 10, 100)
    said = dict(MAX_PREASSIGNED_TASKS_managed=1, MIN_FILES_READY_managed=2, MIN_FILES_READY_managed_FC=3,
                MIN_FILES_REMAINING_managed=4)
    assert limits_of_filling(Gdpconfig(in_force(plain.with_config(said)))) == Limits(1, 2, 3, 4)


@pytest.mark.rule("has_files")
@pytest.mark.parametrize(("ready", "remaining", "in_container", "expected"), [
    (50, 100, False, True), (49, 100, False, False), (50, 99, False, False), (10, 100, True, True),
    (9, 100, True, False),
])
def test_a_task_needs_files(ready, remaining, in_container, expected):
    found = has_files(np.array([ready]), np.array([remaining]), in_container, Limits(3, 50, 10, 100))
    assert found.tolist() == [expected]


@pytest.mark.rule("fits_memory")
@pytest.mark.parametrize(("per_core", "maxrss", "expected"), [
    pytest.param(False, 1045, False, id="at the limit"), pytest.param(False, 1046, True, id="below it"),
    pytest.param(True, 1046, False, id="per core"), pytest.param(True, 7696, True, id="enough for eight cores"),
    pytest.param(True, np.inf, True, id="no limit"),
])
def test_95_percent_of_the_memory_must_be_below_the_limit(per_core, maxrss, expected):
    task = dict(ramcount=np.array([1000.0]), baseramcount=np.array([100.0]))
    assert fits_memory(task, np.array([per_core]), 8, maxrss).tolist() == [expected]


@pytest.mark.rule("is_for_arm_alone")
@pytest.mark.parametrize(("arch", "expected"), [
    (("aarch64",), True), (("aarch64", "x86_64"), False), (("aarch64", "x86_64", "excl"), True), (("x86_64",), False),
    (None, False),
])
def test_queues_for_arm_alone(arch, expected):
    assert is_for_arm_alone(QueueSoftware(("AUTO",), PublishedSoftware(
        architectures=(Hardware(type="cpu", arch=arch),)))) is expected
    assert not is_for_arm_alone(QueueSoftware())


@pytest.mark.rule("fat_containers")
@pytest.mark.parametrize(("sources", "expected"), [((), ("one",)), (("any",), None), (("/cvmfs",), None)])
def test_queues_for_fat_containers_alone(sources, expected):
    published = PublishedSoftware(containers=sources, tags=(InstalledRelease(container_name="one"), InstalledRelease()))
    assert fat_containers(QueueSoftware(("AUTO",), published)) == expected
    assert fat_containers(QueueSoftware()) is None


@pytest.mark.rule("policy.queues.processing_type")
@pytest.mark.parametrize(("policy", "expected"), [
    ("", ""), ("type=evgen:100%,type=any:0%", "simul"), ("type=simul:0%", None)])
def test_a_queue_with_a_policy_takes_simulation_alone(policy, expected):
    assert processing_type(policy) == expected


@pytest.mark.rule("jobs_to_close")
@pytest.mark.parametrize(("lacking", "expected"), [(2.9, 0), (3, 1), (5, 1), (50, 16)])
def test_a_third_of_what_is_lacking_is_closed_elsewhere(lacking, expected):
    assert jobs_to_close(lacking) == expected


class Filling(Stage):
    """Tasks at work at two sites, of which THERE started a job an hour; the filler is called by hand."""

    def __init__(self, *said, here=None, queues=None, **others):
        names = dict(HERE=dict(atlas_site="HERE") | (here or {}), THERE=dict(atlas_site="THERE") | (queues or {}))
        super().__init__((task_source, statistics), two_sites(
            edition="deployed", queues=names, agents=dict(statistics=10), **others), *said)
        self.run(1)
        for row in range(len(said)):
            put_task(self, row, T.RUNNING)
        self.filler = QueueFiller(self.control)

    def fill(self, *times):
        """Let the filler look at some times, s; a job begins at THERE before each."""
        for now in times:
            self.run(now)
            self.arrays.queues["n_started"][THERE] += 1
            self.filler.cycle()
        return self

    def sites(self) -> list[str]:
        """Queue that each task is pinned to."""
        return [self.filler._queue_of(row) for row in range(len(self.arrays.tasks))]


@pytest.mark.rule("QueueFiller._fill")
def test_a_queue_is_filled_after_half_an_hour_without_work():
    stage = Filling(BIG).fill(600, 1200, 2390)
    assert stage.sites() == [""]
    stage.fill(2400)
    assert stage.sites() == ["THERE"]
    assert stage.fill(3000).sites() == ["THERE"]


@pytest.mark.rule("QueueFiller._chosen", "QueueFiller._candidates")
@pytest.mark.parametrize(("said", "pinned"), [
    pytest.param({}, True, id="enough files, all at the queue"),
    pytest.param(dict(n_jobs=100), True, id="100 files"), pytest.param(dict(n_jobs=99), False, id="99 files"),
    pytest.param(dict(replicas={0: 1.0}), False, id="no copy at the queue"),
    pytest.param(dict(replicas={0: 1.0, 1: 0.99}), False, id="not all at the queue"),
    pytest.param(dict(label="ptest"), False, id="not managed"),
    pytest.param(dict(preassigned="HERE"), False, id="names a queue"),
    pytest.param(dict(eventservice=1), False, id="event service"),
    pytest.param(dict(input_bytes_per_job=0), False, id="no input"),
])
def test_tasks_that_are_pinned(said, pinned):
    before = said.get("preassigned", "")
    assert Filling(BIG | said).fill(600, 2400).sites() == ["THERE" if pinned else before]


@pytest.mark.rule("QueueFiller._fill")
@pytest.mark.parametrize("queue", [dict(status="brokeroff"), dict(minrss=1000), dict(jobseed="es"),
                                   dict(fairsharepolicy="type=simul:0%"), dict(type="analysis"), dict(maxrss=1)])
def test_queues_that_are_not_filled(queue):
    assert Filling(BIG | dict(ramcount=1000), queues=queue).fill(600, 2400).sites() == [""]


@pytest.mark.rule("QueueFiller._fill")
def test_a_queue_with_slots_of_its_own_need_not_wait():
    assert Filling(BIG, queues=dict(num_slots=1)).fill(600).sites() == ["THERE"]


@pytest.mark.rule("QueueFiller._fill")
def test_the_queue_that_lacks_most_is_filled_first():
    both = BIG | dict(replicas={0: 1.0, 1: 1.0})
    assert Filling(both, here=dict(num_slots=8), queues=dict(num_slots=20)).fill(600).sites() == ["THERE"]
    assert Filling(both, here=dict(num_slots=20), queues=dict(num_slots=8)).fill(600).sites() == ["HERE"]


@pytest.mark.rule("QueueFiller._fill")
@pytest.mark.parametrize(("said", "seldom", "filled"), [
    pytest.param(dict(running=100, waiting=49), "", True, id="a job is lacking"),
    pytest.param(dict(running=100, waiting=50), "", False, id="none is"),
    pytest.param(dict(rate=0.0), "", False, id="no job begins"),
    pytest.param(dict(rate=0.0), "arm", True, id="no job begins at a queue for ARM alone"),
    pytest.param(dict(rate=0.0), "containers", True, id="nor at one for containers alone"),
])
def test_queues_that_lack_jobs(said, seldom, filled):
    stage = Filling(BIG | dict(architecture="aarch64", container_name="one"))
    if seldom:
        getattr(stage.filler, seldom)[THERE] = True if seldom == "arm" else ("one",)
    of_both = Work(*(np.concatenate(pair) for pair in zip(work(waiting=99), work(**said), strict=True)))
    stage.filler._work = lambda: of_both
    assert stage.fill(600, 2400).sites() == ["THERE" if filled else ""]


@pytest.mark.rule("QueueFiller._fill")
def test_starts_are_counted_by_the_hour():
    for until, site in ((6000, "THERE"), (6010, "")):                     # one in 1 h 40 min is enough
        stage = Filling(BIG).fill(3600)
        stage.run(until)
        stage.filler.cycle()
        assert stage.sites() == [site]


@pytest.mark.rule("QueueFiller._chosen")
@pytest.mark.parametrize(("capability", "pinned"), [("score", [1, 0, 1]), ("mcore", [0, 1, 1]), ("ucore", [1, 1, 1])])
def test_a_queue_takes_the_resource_types_of_its_capability(capability, pinned):
    types = dict(SCORE=dict(maxcore=1), MCORE=dict(mincore=2), SCORE_HIMEM={})
    stage = Filling(*(BIG | dict(resource_type=k, corecount=1) for k in range(3)), resource_types=types,
                    queues=dict(capability=capability, corecount=1 if capability == "score" else 8))
    assert stage.fill(600, 2400).sites() == ["THERE" if one else "" for one in pinned]


@pytest.mark.rule("QueueFiller._chosen")
@pytest.mark.parametrize(("column", "value", "suits"), [
    pytest.param("fairsharepolicy", "", [1, 1, 1, 1, 0, 1], id="all but one with too much memory per core"),
    pytest.param("fairsharepolicy", "type=evgen:100%,type=any:0%", [1, 0, 1, 1, 0, 1], id="simulation alone"),
    pytest.param("arm", True, [0, 0, 1, 0, 0, 0], id="ARM alone"),
    pytest.param("containers", ("one",), [0, 0, 0, 1, 0, 0], id="a container alone"),
])
def test_tasks_that_suit_a_queue(column, value, suits):
    said = ({}, dict(processing_type="evgen"), dict(architecture="aarch64"), dict(container_name="one"),
            dict(ramcount=1000, ramunit="MBPerCore"), dict(ramcount=1000, ramunit="MB"))
    policy = {column: value} if column == "fairsharepolicy" else {}
    stage = Filling(*(BIG | one for one in said), queues=dict(corecount=8, maxrss=2000, **policy))
    if not policy:
        getattr(stage.filler, column)[THERE] = value
    bound = limits_of_filling(stage.control.cfg)
    tasks = stage.filler._candidates(bound)
    found = stage.filler._suits(THERE, tasks._replace(ready=np.full(6, 40 if column == "containers" else 50)), bound)
    assert found[np.argsort(tasks.rows)].tolist() == [bool(one) for one in suits]


@pytest.mark.rule("QueueFiller._chosen", "QueueFiller._release")
def test_three_tasks_of_the_highest_priority_are_pinned():
    stage = Filling(*(BIG | dict(priority=priority) for priority in (500, 700, 600, 800))).fill(600, 2400)
    assert stage.sites() == ["", "THERE", "THERE", "THERE"]
    stage.arrays.tasks["priority"][0] = 900
    assert stage.fill(2700).sites() == ["", "THERE", "THERE", "THERE"]                  # as many as may be
    stage.arrays.tasks["priority"][0] = 500
    stage.control.policies.set_config("MAX_PREASSIGNED_TASKS_managed", 2)
    stage.fill(3000)                                        # all are released by force, and two are pinned at once
    assert stage.sites() == ["", "THERE", "", "THERE"]


@pytest.mark.rule("QueueFiller._release")
def test_tasks_are_released_when_their_queue_has_enough_to_do():
    stage = Filling(BIG, dict()).fill(600, 2400)
    for _ in range(8):
        put_job(stage, JobStatus.ACTIVATED, task=1, queue=THERE, pseudo_queue=THERE)
    assert stage.fill(3000).sites() == ["", ""] and not stage.filler.released


@pytest.mark.rule("QueueFiller._release")
@pytest.mark.parametrize("change", ["paused", "few files"])
def test_a_task_that_is_released_for_itself_is_not_pinned_again_for_twelve_hours(change):
    stage = Filling(BIG, BIG).fill(600, 2400)
    if change == "paused":
        put_task(stage, 0, T.PAUSED)
    else:
        stage.arrays.tasks["next_chunk"][0] = 51
    assert stage.fill(3000).sites() == ["", "THERE"] and stage.filler.pinned == {(THERE, 0): [2]}
    put_task(stage, 0, T.RUNNING)
    stage.arrays.tasks["next_chunk"][0] = 0
    assert stage.fill(*range(3600, 12 * 3600 + 1, 600)).sites() == ["", "THERE"]
    assert stage.fill(12 * 3600 + 600).sites() == ["THERE", "THERE"]      # twelve hours after the hour of 3000 s


@pytest.mark.rule("QueueFiller._release")
def test_a_task_that_names_another_queue_meanwhile_keeps_it():
    stage = Filling(BIG).fill(600, 2400)
    set_task(stage.world, 0, preassigned=stage.world.vocabularies["preassigned"].index("HERE"))
    put_task(stage, 0, T.PAUSED)
    assert stage.fill(3000).sites() == ["HERE"] and not stage.filler.pinned


@pytest.mark.rule("QueueFiller._reassign")
@pytest.mark.parametrize("goes_on", [True, False], ids=["at work", "paused meanwhile"])
def test_some_waiting_jobs_of_a_pinned_task_are_closed_elsewhere_five_minutes_later(goes_on):
    stage = Filling(BIG)
    jobs = [put_job(stage, status, task=0, queue=0, chunk=k, jeditaskid=1) for k, status in enumerate(
        (JobStatus.DEFINED, JobStatus.DEFINED, JobStatus.DEFINED))]
    stage.arrays.tasks["n_alive"][0], stage.arrays.tasks["next_chunk"][0] = 3, 3
    stage.fill(600, 2400)
    stage.run(2699)
    assert len(stage.live()) == len(jobs)
    put_task(stage, 0, T.RUNNING if goes_on else T.PAUSED)
    stage.run(2701)
    assert stage.live().tolist() == jobs[goes_on:]                        # a third of five, the oldest first
