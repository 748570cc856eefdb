import re

import pytest

from simgrid_broker.policy.shares.dispatch import UNDEFINED, TagRule, tag

pytestmark = pytest.mark.rule("tag")

RULES = (
    TagRule(0, prodsourcelabel="managed", processingtype="(evgen|simul)", campaign="MC16.*"),
    TagRule(1, prodsourcelabel="managed", workinggroup="AP_"),
    TagRule(2, prodsourcelabel="managed"),
    TagRule(3, prodsourcelabel="user", workinggroup=" "),
    TagRule(4, prodsourcelabel="user", rtype="hpc"),
)


@pytest.mark.parametrize(("task", "leaf"), [
    pytest.param({"prodsourcelabel": "managed", "processingtype": "simul", "campaign": "MC16a"}, 0, id="all match"),
    pytest.param({"prodsourcelabel": "managed", "processingtype": "simul"}, 0, id="an empty campaign is not tested"),
    pytest.param({"prodsourcelabel": "managed", "processingtype": "simul2", "campaign": "MC16a"}, 0,
                 id="only the beginning must match"),
    pytest.param({"prodsourcelabel": "managed", "processingtype": "pile", "workinggroup": "AP_MCGN"}, 1,
                 id="the next rule"),
    pytest.param({"prodsourcelabel": "managed", "processingtype": "pile", "campaign": "MC20"}, 2, id="the last resort"),
    pytest.param({"prodsourcelabel": "user", "workinggroup": ""}, 3, id="an empty group is a blank"),
    pytest.param({"prodsourcelabel": "user", "workinggroup": "phys", "rtype": "hpc"}, 4, id="by resource"),
    pytest.param({"prodsourcelabel": "user", "workinggroup": "phys"}, 4, id="without a queue rtype is not tested"),
    pytest.param({"prodsourcelabel": "user", "workinggroup": "phys", "rtype": "GRID"}, UNDEFINED, id="nobody"),
    pytest.param({"prodsourcelabel": "user2"}, 3, id="user matches user2"),
    pytest.param({"prodsourcelabel": "a user"}, UNDEFINED, id="but not in the middle"),
])
def test_the_first_rule_that_matches(task, leaf):
    assert tag(RULES, task) == leaf


def test_no_rules():
    assert tag((), {"prodsourcelabel": "managed"}) == UNDEFINED


def test_an_expression_that_is_none():
    with pytest.raises(re.error):
        tag((TagRule(0, campaign="("),), {"campaign": "MC16"})
