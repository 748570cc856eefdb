"""Full chain in task brokerage: who may have a bare nucleus, who must, and who follows the parent."""

import numpy as np
import pytest
from policy_builders import cfg, nuclei, task

from simgrid_broker.names import EDITIONS, BareNucleus, FullChain
from simgrid_broker.policy.brokerage.task import editions
from simgrid_broker.policy.brokerage.task import nuclei as rules
from simgrid_broker.policy.brokerage.task.broker import broker_task
from simgrid_broker.policy.brokerage.task.question import task_record

pytestmark = pytest.mark.rule("nuclei.off_the_chain", "off_the_chain_deployed")

NONE, ONLY, REQUIRE, CAPABLE = FullChain
PLAIN, ALLOW, BARE, SATELLITE = range(4)
"""Sites: a normal nucleus, one that allows full chains, one for nothing else, a bare satellite."""

RULES = dict(zip(EDITIONS, (rules.off_the_chain, rules.off_the_chain_deployed), strict=True))


def view():
    """The four kinds of candidates."""
    return nuclei(4, bare=[BareNucleus.NO, BareNucleus.ALLOW, BareNucleus.ONLY, BareNucleus.ALLOW],
                  satellite=[False, False, False, True])


def refused(edition, view_, **fields):
    """Whether the rule of an edition refuses a task each of the candidates."""
    record = task_record(task(**fields), True, cfg(), edition)
    editions.begin(record[0], view_.records, np.empty(len(view_.records), np.int16))
    return [bool(RULES[edition](record[0], nucleus)[0]) for nucleus in view_.records]


def kept(edition, **fields):
    """Sites to which a task may go."""
    return np.flatnonzero(~np.array(refused(edition, view(), **fields))).tolist()


@pytest.mark.parametrize(("fullchain", "documented", "deployed"), [
    pytest.param(ONLY, [BARE], [ALLOW, BARE, SATELLITE], id="D35 only: bareNucleus=only, or in the code any bare"),
    pytest.param(REQUIRE, [ALLOW, BARE, SATELLITE], [ALLOW, BARE, SATELLITE], id="D35 require: any bare nucleus"),
    pytest.param(CAPABLE, [PLAIN, ALLOW], [PLAIN, ALLOW, BARE, SATELLITE],
                 id="D36 capable without a bare parent: like a normal task, or in the code anywhere"),
])
def test_without_a_parent(fullchain, documented, deployed):
    assert kept("documented", fullchain=fullchain) == documented
    assert kept("deployed", fullchain=fullchain) == deployed


@pytest.mark.parametrize("edition", EDITIONS)
def test_normal_tasks_keep_off_nuclei_for_full_chains_alone(edition):
    view_ = nuclei(3, bare=[BareNucleus.NO, BareNucleus.ALLOW, BareNucleus.ONLY])
    assert refused(edition, view_) == [False, False, True]


@pytest.mark.parametrize(("fields", "documented", "deployed"), [
    pytest.param(dict(fullchain=CAPABLE, parent_nucleus=ALLOW, parent_fullchain=REQUIRE), [ALLOW], [ALLOW],
                 id="D36 capable follows a bare parent"),
    pytest.param(dict(fullchain=CAPABLE, parent_nucleus=SATELLITE, parent_fullchain=CAPABLE), [SATELLITE], [SATELLITE],
                 id="to a bare satellite too"),
    pytest.param(dict(fullchain=CAPABLE, parent_nucleus=ALLOW), [ALLOW], [PLAIN, ALLOW, BARE, SATELLITE],
                 id="D36 in the code the parent must be of a full chain itself"),
    pytest.param(dict(fullchain=CAPABLE, parent_nucleus=PLAIN, parent_fullchain=CAPABLE), [PLAIN, ALLOW],
                 [PLAIN, ALLOW, BARE, SATELLITE], id="D36 a parent at a normal nucleus does not matter"),
    pytest.param(dict(fullchain=REQUIRE, parent_nucleus=ALLOW, parent_fullchain=REQUIRE), [ALLOW, BARE, SATELLITE],
                 [ALLOW], id="D36 in the code require follows too"),
    pytest.param(dict(fullchain=ONLY, parent_nucleus=ALLOW, parent_fullchain=REQUIRE), [BARE], [ALLOW],
                 id="D36 and only, wherever the parent is"),
    pytest.param(dict(parent_nucleus=ALLOW, parent_fullchain=REQUIRE), [PLAIN, ALLOW], [PLAIN, ALLOW, SATELLITE],
                 id="a normal task does not follow"),
])
def test_d36_with_a_parent(fields, documented, deployed):
    assert kept("documented", **fields) == documented
    assert kept("deployed", **fields) == deployed


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_grid_without_bare_nuclei(edition):
    refuses = {fullchain: all(refused(edition, nuclei(2), fullchain=fullchain)) for fullchain in FullChain}
    assert refuses == {NONE: False, ONLY: True, REQUIRE: True, CAPABLE: False}


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_whole_decision(edition):
    verdict = broker_task(task(fullchain=ONLY), nuclei(2, bare=[BareNucleus.NO, BareNucleus.ONLY]), cfg(), edition, 0.1)
    assert verdict.order.tolist() == [1] and verdict.tags[verdict.refused_by[0]] == "-full_chain"
