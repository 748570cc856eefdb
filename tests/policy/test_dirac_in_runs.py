"""DIRAC's dispatch in runs: pilots for the jobs in task queues, groups of shares, and what a CPU class needs."""

from types import SimpleNamespace

import numpy as np
import pytest

from simgrid_broker.compiled import uncompiled
from simgrid_broker.fabric.dispatch import classes_within
from simgrid_broker.fabric.jobs.activated import put_into_task_queue
from simgrid_broker.fabric.task_queues import note_match, shut_queues
from simgrid_broker.names import JobStatus
from simgrid_broker.policy.brokerage.production.decide import RANKING
from simgrid_broker.policy.jobs import timeouts
from simgrid_broker.scenario.gdpconfig import DEFAULTS
from simgrid_broker.scenario.model import DiracGroupOfRun, DiracRun
from simgrid_broker.systems.dirac import dispatch
from simgrid_broker.systems.dirac.dispatch import CentralQueue, CountedQueue, groups_of, pilots_wanted
from simgrid_broker.systems.dirac.policy.priorities import DEPLOYED, DOCUMENTED, Group, compute_priorities
from simgrid_broker.systems.dirac.policy.task_queues import Identity
from simgrid_broker.turns.job_turn import is_elsewhere
from simgrid_broker.views import KEPT, Gdpconfig, ShareTree
from simgrid_broker.world.arrays import AGE
from simgrid_broker.world.task_queues import JOB_TYPE, LIMIT, OWNER, OWNER_GROUP, Draw, draw_tables


@pytest.mark.rule("dirac.dispatch.pilots_wanted")
def test_pilots_are_submitted_for_the_jobs_of_matching_task_queues_less_those_that_wait():
    accepts = np.array([[True, True, False], [False, True, True], [True, True, True]])
    found = pilots_wanted(accepts, np.array([0, 1, 2]), np.array([3, 3, 1]), np.array([10, 4, 100]),
                          np.array([3, 200, 10]))
    assert found.tolist() == [11, 0, 0]


@pytest.mark.rule("dispatch.classes_within")
@pytest.mark.parametrize(("offered", "n"), [(0, 0), (359.9, 0), (360, 1), (1799, 1), (1800, 2), (np.inf, 3), (-1, 0)])
def test_classes_that_an_offer_reaches(offered, n):
    assert classes_within(np.array([360.0, 1800.0, 3600.0]), offered) == n


@pytest.mark.rule("dispatch.groups_of")
def test_shares_without_a_group_are_groups_with_ten_for_each_percent():
    tree = ShareTree(("", "A", "B", "C"), np.array([-1, 0, 0, 0]), np.array([100, 74.96, 25, 0.04]),
                     np.array([1, 2, 3]))
    described = DiracRun(groups=dict(user=DiracGroupOfRun(shares=("B",), job_share=7, user_priority=3)))
    world = SimpleNamespace(scenario=SimpleNamespace(dirac=described), tree=tree)
    group_of, groups, priority_of = groups_of(world)
    assert group_of == dict(A="A", B="user", C="C") and priority_of == dict(user=3, A=1, C=1)
    assert groups == dict(user=Group(7, False), A=Group(750, True), C=Group(1, True))


@pytest.mark.rule("priorities.compute_priorities")
@pytest.mark.parametrize(("edition", "expected"), [(DEPLOYED, [500, 500]), (DOCUMENTED, [100, 900])])
def test_task_queues_of_which_only_the_number_of_jobs_is_known(edition, expected):
    single, lists = ("a", "g", "")[:len(edition.single)], tuple(frozenset() for _ in edition.lists)
    queues = [CountedQueue(Identity(single, cpu_class, lists)) for cpu_class in edition.cpu_classes[:2]]
    for queue, n_jobs in zip(queues, (1, 9), strict=True):
        queue.count(n_jobs, 5.0)
    compute_priorities(queues, {}, edition, lambda shares, group: dict(shares))
    assert [queue.priority for queue in queues] == expected
    queues[0].count(0, 8.0)
    assert queues[0].left_s == 5.0 and not queues[0].jobs


@pytest.mark.parametrize(("edition", "looks"), [
    pytest.param(DEPLOYED, [(0, [5, 0], 1), (120, [4, 0], 0), (240, [4, 1], 1), (360, [4, 0], 1), (540, [4, 0], 0),
                            (541, [4, 0], 1), (600, [4, 0], 0)], id="jobs or none, and 300 s without any"),
    pytest.param(DOCUMENTED, [(0, [5, 0], 1), (120, [5, 0], 0), (240, [4, 0], 1),
                              (360, [0, 4], 1), (480, [0, 4], 0)], id="their number, and which have jobs"),
])
def test_priorities_are_computed_again_when_what_they_depend_on_has_changed(edition, looks, monkeypatch):
    central, computed = CentralQueue.__new__(CentralQueue), []
    single, lists = ("a", "g", "")[:len(edition.single)], tuple(frozenset() for _ in edition.lists)
    vars(central).update(
        edition=edition, usage=None, correctors=(), groups={}, basis=(), world=SimpleNamespace(),
        queues=[CountedQueue(Identity(single, cpu_class, lists)) for cpu_class in edition.cpu_classes[:2]],
        fabric=SimpleNamespace(set_task_queue_priorities=lambda numbers, priorities: computed.append(priorities)))
    monkeypatch.setattr(dispatch, "AWAKE", False)
    for now, n_jobs, expected in looks:
        central.world.arrays = SimpleNamespace(task_queues=dict(n_jobs=np.array(n_jobs)))
        computed.clear()
        central.refresh(now)
        assert len(computed) == expected, now


@pytest.mark.rule("timeouts.without_waiting")
@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_no_timeout_ends_a_job_that_waits_for_a_pilot(edition):
    in_force = timeouts.rules(Gdpconfig(DEFAULTS), edition)
    left = timeouts.without_waiting(in_force)
    waiting = {JobStatus.ACTIVATED, JobStatus.THROTTLED}
    assert all(waiting & {*rule.statuses} for rule in in_force if rule not in left)
    assert not any(waiting & {*rule.statuses} for rule in left if not rule.only) and len(left) < len(in_force)
    others = {each for rule in left for each in rule.statuses}
    assert {JobStatus.RUNNING, JobStatus.STARTING, JobStatus.ASSIGNED} <= others


@pytest.mark.rule("CentralQueue.place")
def test_a_task_queue_names_every_queue_that_can_run_the_jobs_ranked_among_the_best_or_not():
    central, waits = CentralQueue.__new__(CentralQueue), []
    central.number_of, central.fabric = {(0, 2, 4): 7}, SimpleNamespace(wait_in=lambda *where: waits.append(where))
    central._identity = lambda row, task, kept, queues: tuple(kept)
    tags = ("-lowmemory", "-input", *(rule.tag for rule in RANKING))
    verdict = SimpleNamespace(refused_by=[KEPT, 0, 2, 1, 3], tags=tags)
    central.place(5, 1, None, verdict, None, 0.0)
    assert waits == [(5, 1, 7)]


def test_the_task_queue_is_found_again_when_other_queues_can_run_the_jobs():
    tables = SimpleNamespace(orders=[dict(n_criteria=2)], split=[dict(n_open=3)],
                             open=np.array([[0, 1, 2]], np.int32), refused_by=np.array([KEPT, 1, 2]))
    slot, ask = dict(can_run=0), uncompiled(is_elsewhere)
    assert [ask(tables, slot, 0), ask(tables, slot, 0)] == [True, False]
    tables.refused_by[0] = 2                              # ranked behind others now
    assert not ask(tables, slot, 0)
    for changed in (1, KEPT):
        tables.refused_by[0] = changed
        assert ask(tables, slot, 0) and not ask(tables, slot, 0)


@pytest.mark.parametrize(("level", "task_queue"), [(0, -1), (1, 0)])
def test_a_job_of_raised_ramcount_waits_in_a_task_queue_of_its_own(level, task_queue):
    draw = Draw(**draw_tables(1, 1, 1))
    draw.task_queues["priority"] = 1.0
    job = dict(panda_id=3, task=0, ram_level=level, n_chunks=1)
    world = SimpleNamespace(**draw.arrays(), jobs=[job],
                            ages=np.zeros(1, AGE), waits_in=np.array([[-1, 0]]))
    assert uncompiled(put_into_task_queue)(world, 0) == (task_queue >= 0)
    assert world.ages[0]["task_queue"] == task_queue


KIND, CE, OTHER_CE = 0, 3, 4


def limited(*limits, now=0.0, queue=CE):
    """Which of four task queues limits exclude: of ada and bob (owners 0, 1) in the groups 0 and 1."""
    draw = Draw(**draw_tables(4, 1, 1))
    draw.task_queues["owner"], draw.task_queues["owner_group"] = (0, 1, 0, 1), (0, 0, 1, 1)
    draw.task_queues["job_type"] = 7
    table = np.zeros(len(limits), LIMIT)
    for row, values in zip(table, limits, strict=True):
        for name, value in (dict(queue=-1, most=-1, burst=1, tokens=1) | values).items():
            row[name] = value
    draw = draw.with_arrays(limits=table, limits_of=np.array([[0, len(table)]]))
    found = np.zeros(4, bool)
    shut_queues(draw, KIND, queue, now, 4, found)
    return found.tolist()


FULL = dict(attribute=OWNER_GROUP, value=0, most=2, n_jobs=2)


@pytest.mark.rule("task_queues.is_shut", "task_queues.look_at_limits", "task_queues.shut_queues")
@pytest.mark.parametrize(("limits", "excluded"), [
    pytest.param([FULL], [1, 1, 0, 0], id="at its limit"),
    pytest.param([FULL | dict(n_jobs=1)], [0, 0, 0, 0], id="one below"),
    pytest.param([FULL | dict(most=0, n_jobs=0)], [1, 1, 0, 0], id="a limit of none"),
    pytest.param([FULL, dict(attribute=OWNER, value=0, most=0)], [1, 0, 0, 0], id="two attributes"),
    pytest.param([FULL, FULL | dict(value=1)], [0, 0, 0, 0], id="two groups exclude none"),
    pytest.param([FULL, FULL | dict(queue=CE)], [1, 1, 0, 0], id="one group twice"),
    pytest.param([FULL | dict(queue=OTHER_CE)], [0, 0, 0, 0], id="at another CE"),
    pytest.param([dict(attribute=JOB_TYPE, value=7, most=0),
                  dict(attribute=JOB_TYPE, value=8, most=0)],
                 [1, 1, 1, 1], id="two job types"),
    pytest.param([dict(attribute=OWNER, value=0, delay_s=10, tokens=0, since_s=-9.9)], [1, 0, 1, 0], id="too early"),
    pytest.param([dict(attribute=OWNER, value=0, delay_s=10, tokens=0, since_s=-10)], [0, 0, 0, 0],
                 id="after a delay")])
def test_limits_of_a_site_exclude_task_queues(limits, excluded):
    assert limited(*limits) == [bool(each) for each in excluded]


@pytest.mark.rule("task_queues.note_match")
def test_a_match_counts_for_the_values_of_its_task_queue():
    draw = Draw(**draw_tables(1, 1, 1))
    table = np.zeros(2, LIMIT)
    table["attribute"], table["value"], table["tokens"], table["burst"] = OWNER, (0, 1), 1.5, 2
    draw = draw.with_arrays(limits=table, limits_of=np.array([[0, 2]]))
    for tokens in (0.5, 0.5):                            # the second match finds no token to take
        note_match(draw, KIND, 0)
        assert draw.limits["tokens"].tolist() == [tokens, 1.5]
    assert draw.limits["n_jobs"].tolist() == [2, 0]
