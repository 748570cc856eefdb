from dataclasses import replace

import numpy as np
import pytest
from policy_builders import cfg, job_case, nuclei, queues, task

from simgrid_broker.policy.funnel import Funnel, Liftable, MaskCache, first_refusals, walk, weigh
from simgrid_broker.policy.rule import criterion, factor
from simgrid_broker.policy.task_brokerage.case import TaskCase
from simgrid_broker.views import KEPT

pytestmark = pytest.mark.rule("first_refusals", "walk")


def refuses(tag, *candidates, static=None, asked=None, **description):
    """A criterion that refuses the candidates named, and counts in `asked` how often it is asked."""
    @criterion(tag, panda="", source="", static=static, **description)
    def rule(case):
        if asked is not None:
            asked.append(tag)
        return np.isin(np.arange(case.n_candidates), candidates)
    return rule


def asked_of(*steps, n=4):
    """The walk of task brokerage over n candidates."""
    return walk(Funnel(steps), TaskCase(task(), nuclei(n), cfg(), "documented", left=np.ones(n, bool)))


def ranks_of(*rules, n=4):
    """Rank of the first refusal by static criteria, of n candidates."""
    return first_refusals(Funnel(rules), job_case(task(), queues(n))).tolist()


def test_the_first_refusal_counts():
    rules = refuses("-a", 0, 1, static=()), refuses("-b", 1, 2, static=())
    assert asked_of(*rules).refused_by.tolist() == [0, 0, 1, KEPT]
    assert ranks_of(*rules) == [0, 0, 1, Funnel(rules).never]


def test_a_temporary_refusal_removes_at_the_end():
    temporary = refuses("-t", 0, 1, temporary=True, static=())
    assert ranks_of(temporary, refuses("-b", 1, static=()), n=3) == [1, 0, 2]


def test_before_final_rules_the_last_of_the_temporary_checks_counts_and_in_it_the_first_rule():
    early, (first, second) = refuses("-early", 0, temporary=True, stage="early", static=()), (
        refuses(tag, 0, temporary=True, stage="late", static=()) for tag in ("-first", "-second"))
    final, lasting = refuses("-cap", 0, final=True, static=()), refuses("-lasting", 1, static=())
    rules = final, early, first, lasting, second
    assert [rule.rule.tag for rule in Funnel(rules).by_rank] == [
        "-lasting", "-first", "-second", "-early", "-cap"]
    assert [rule.rule.tag for rule in Funnel(rules[1:]).by_rank] == ["-lasting", "-early", "-first", "-second"]


def test_the_walk_stops_when_no_candidate_is_left():
    asked = []
    assert asked_of(refuses("-a", 0), refuses("-b", 0, asked=asked), n=1).refused_by.tolist() == [0]
    assert asked == []


def group(when, *rules):
    return Liftable("group", rules, lambda case: when)


@pytest.mark.parametrize(("when", "candidates", "refused_by", "lifted"), [
    pytest.param(True, (0, 1, 2, 3), [0, KEPT, KEPT, KEPT], ("group",), id="lifted when no candidate is left"),
    pytest.param(False, (0, 1, 2, 3), [0, 1, 1, 1], (), id="not lifted when the condition fails"),
    pytest.param(True, (0, 1, 2), [0, 1, 1, KEPT], (), id="not lifted when a candidate passes"),
    pytest.param(True, (1, 2, 3), [0, KEPT, KEPT, KEPT], ("group",), id="candidates refused before do not count"),
])
def test_a_group_is_lifted_as_a_whole(when, candidates, refused_by, lifted):
    funnel = Funnel((refuses("-a", 0), group(when, refuses("-b", *candidates))))
    outcome = asked_of(*funnel.steps)
    assert (outcome.refused_by.tolist(), outcome.lifted) == (refused_by, lifted)


def test_two_criteria_of_a_group_share_the_refusals():
    rules = group(True, refuses("-b", 0), refuses("-c", 1))
    assert asked_of(rules).refused_by.tolist() == [0, 1, KEPT, KEPT]
    lifted = group(True, refuses("-b", 0, 1), refuses("-c", 2, 3))
    assert asked_of(lifted).refused_by.tolist() == [KEPT] * 4


def test_the_cache_asks_once_for_each_requirement_and_version():
    asked = []
    funnel = Funnel((refuses("-a", 0, static=("ramcount",), asked=asked), refuses("-b", 1, static=())))
    cache = MaskCache()
    case = job_case(task(), queues(3))
    for case_, times in [(case, 1), (case, 1), (replace(case, task=task(currentpriority=5)), 1),
                         (replace(case, task=task(ramcount=7.0)), 2), (case, 2),
                         (replace(case, queues=queues(3, version=1)), 3), (case, 4)]:
        assert cache.first_refusals(funnel, case_).tolist() == [0, 1, funnel.never]
        assert len(asked) == times


def test_a_full_cache_forgets_the_oldest():
    asked = []
    funnel = Funnel((refuses("-a", 0, static=("ramcount",), asked=asked),))
    cache = MaskCache(capacity=2)
    for ramcount in (1.0, 2.0, 3.0, 2.0, 1.0):
        cache.first_refusals(funnel, job_case(task(ramcount=ramcount), queues(1)))
    assert (len(asked), len(cache.entries)) == (4, 2)


def test_two_funnels_share_a_cache():
    cache = MaskCache()
    case = job_case(task(), queues(2))
    assert cache.first_refusals(Funnel((refuses("-a", 0, static=()),)), case).tolist() == [0, 1]
    assert cache.first_refusals(Funnel((refuses("-b", 1, static=()),)), case).tolist() == [1, 0]


def test_an_empty_funnel_keeps_every_candidate():
    assert asked_of(n=2).refused_by.tolist() == [KEPT, KEPT]
    assert ranks_of(n=2) == [0, 0]


def test_weight_is_the_product_and_the_factors_are_kept():
    @factor("half", panda="", source="")
    def half(case):
        return 0.5

    @factor("cores", panda="", source="")
    def cores(case):
        return case.queues.corecount

    weight, factors = weigh((half, cores), job_case(task(), queues(2, corecount=[4, 6])))
    assert weight.tolist() == [2, 3]
    assert factors["half"] == 0.5
    assert factors["cores"].tolist() == [4, 6]
