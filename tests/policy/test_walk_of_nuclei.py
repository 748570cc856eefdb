"""The steps of task brokerage one after the other: what is left, groups that are lifted, and the weight."""

from functools import partial

import numpy as np
import pytest
from policy_builders import cfg, nuclei, task

from simgrid_broker.policy.brokerage import brokerage
from simgrid_broker.policy.brokerage.task.broker import run_brokerage
from simgrid_broker.policy.brokerage.task.editions import TaskBrokerage
from simgrid_broker.policy.funnel import Funnel, Liftable
from simgrid_broker.policy.rule import candidate_criterion, candidate_factor, criterion
from simgrid_broker.views import KEPT

pytestmark = pytest.mark.rule("brokerage.brokerage.composed")


def refuses(tag, *sites, **description):
    """A criterion in plain Python that refuses the nuclei named."""
    def rule(task, nucleus):
        return nucleus["site"] in sites, float(nucleus["site"]), 0.5
    return candidate_criterion(tag, plain=True, panda="", source="", **description)(rule)


def asked_of(*steps, n=4, factors=()):
    """The verdict of these steps about n nuclei."""
    return run_brokerage(TaskBrokerage("documented", Funnel(steps), factors), task(), nuclei(n), cfg(), 0.5)


@pytest.mark.parametrize("compiled_rules", [(), (0,), (1,), (0, 1)], ids=["none", "the first", "the second", "both"])
def test_a_decision_is_compiled_if_all_its_rules_are(monkeypatch, compiled_rules):
    rules = refuses("-a"), refuses("-b")
    for place in compiled_rules:
        rules[place].py_func = rules[place]
    def plain():
        """What is compiled of the frame."""
    begin = partial(plain)
    begin.py_func, begin.__name__ = plain, "plain"
    monkeypatch.setattr(brokerage, "function_of", lambda text, known: known)
    known = brokerage.composed("", (), (begin,), steps=brokerage.Part(rules, "{name}"))
    is_compiled = len(compiled_rules) == 2
    assert (known["compiled"] is brokerage.compiled, known["plain"] is begin) == (is_compiled, is_compiled)


def test_the_first_refusal_counts():
    assert asked_of(refuses("-a", 0, 1), refuses("-b", 1, 2)).refused_by.tolist() == [0, 0, 1, KEPT]


@pytest.mark.parametrize(("before", "refused_by"), [
    pytest.param((), [1, 1, 1, 1], id="one without removes all"),
    pytest.param((2,), [1, 1, 0, 1], id="those that are left"),
    pytest.param((1,), [KEPT, 0, KEPT, KEPT], id="one that was refused before does not count"),
])
def test_a_criterion_that_refuses_all_together(before, refused_by):
    found = asked_of(refuses("-a", *before), refuses("-b", 1, together=True))
    assert found.refused_by.tolist() == refused_by


def group(when, *rules):
    return Liftable("locality_lifted", rules, lambda task: when)


@pytest.mark.parametrize(("when", "candidates", "refused_by"), [
    pytest.param(True, (0, 1, 2, 3), [0, KEPT, KEPT, KEPT], id="lifted when no candidate is left"),
    pytest.param(False, (0, 1, 2, 3), [0, 1, 1, 1], id="not lifted when the condition fails"),
    pytest.param(True, (0, 1, 2), [0, 1, 1, KEPT], id="not lifted when a candidate passes"),
    pytest.param(True, (1, 2, 3), [0, KEPT, KEPT, KEPT], id="candidates refused before do not count"),
])
def test_a_group_is_lifted_as_a_whole(when, candidates, refused_by):
    @candidate_factor("lifted", plain=True, panda="", source="")
    def lifted(task, nucleus):
        return 2.0 if task["locality_lifted"] else 1.0

    found = asked_of(refuses("-a", 0), group(when, refuses("-b", *candidates)), factors=(lifted,))
    assert found.refused_by.tolist() == refused_by
    is_lifted = when and set(candidates) >= {1, 2, 3}
    assert found.weight[found.order].tolist() == [2.0 if is_lifted else 1.0] * len(found.order)


def test_two_criteria_of_a_group_share_the_refusals():
    rules = group(True, refuses("-b", 0), refuses("-c", 1))
    assert asked_of(rules).refused_by.tolist() == [0, 1, KEPT, KEPT]
    lifted = group(True, refuses("-b", 0, 1), refuses("-c", 2, 3))
    assert asked_of(lifted).refused_by.tolist() == [KEPT] * 4


def test_an_empty_chain_keeps_every_nucleus():
    assert asked_of(n=2).refused_by.tolist() == [KEPT, KEPT]
    assert asked_of(n=0).order.size == 0


def test_weight_is_the_product_and_the_factors_are_kept():
    @candidate_factor("half", plain=True, panda="", source="")
    def half(task, nucleus):
        return 0.5

    @candidate_factor("number", plain=True, panda="", source="")
    def number(task, nucleus):
        return nucleus["site"] + 3.0

    found = asked_of(refuses("-a", 2), n=3, factors=(half, number))
    assert found.weight.tolist() == [1.5, 2.0, 0.0]
    figures = found.figures()
    assert figures.factors["half"][:2].tolist() == [0.5, 0.5] and np.isnan(figures.factors["half"][2])
    assert figures.factors["number"][:2].tolist() == [3, 4]
    assert (figures.value[2], figures.limit[2]) == (2, 0.5) and np.isnan(figures.value[:2]).all()


def test_a_rule_about_all_candidates_is_refused():
    @criterion("-a", panda="", source="")
    def of_all(case):
        return np.zeros(1, bool)

    with pytest.raises(ValueError, match="of_all: a rule of task brokerage is about one nucleus"):
        TaskBrokerage("documented", Funnel((of_all,)), ())
