"""DIRAC's dispatch in runs: pilots for the jobs in task queues, groups of shares, and what a CPU class needs."""

from types import SimpleNamespace

import numpy as np
import pytest

from simgrid_broker.agents.central_queue import CountedQueue, groups_of
from simgrid_broker.fabric.matcher import classes_within
from simgrid_broker.policy.dirac.editions import DEPLOYED, DOCUMENTED
from simgrid_broker.policy.dirac.identity import Identity
from simgrid_broker.policy.dirac.priorities import Group, compute_priorities
from simgrid_broker.policy.dirac.site_director import pilots_wanted
from simgrid_broker.scenario.dirac_run import DiracGroupOfRun, DiracRun
from simgrid_broker.views import ShareTree


@pytest.mark.rule("site_director.pilots_wanted")
def test_pilots_are_submitted_for_the_jobs_of_matching_task_queues_less_those_that_wait():
    accepts = np.array([[True, True, False], [False, True, True], [True, True, True]])
    found = pilots_wanted(accepts, np.array([0, 1, 2]), np.array([3, 3, 1]), np.array([10, 4, 100]),
                          np.array([3, 200, 10]))
    assert found.tolist() == [11, 0, 0]


@pytest.mark.rule("matcher.classes_within")
@pytest.mark.parametrize(("offered", "n"), [(0, 0), (359.9, 0), (360, 1), (1799, 1), (1800, 2), (np.inf, 3), (-1, 0)])
def test_classes_that_an_offer_reaches(offered, n):
    assert classes_within(np.array([360.0, 1800.0, 3600.0]), offered) == n


@pytest.mark.rule("central_queue.groups_of")
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
