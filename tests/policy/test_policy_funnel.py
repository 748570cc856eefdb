from dataclasses import replace

import numpy as np
import pytest
from policy_builders import job_case, queues, task

from simgrid_broker.policy.funnel import Funnel, MaskCache, first_refusals
from simgrid_broker.policy.rule import criterion

pytestmark = pytest.mark.rule("first_refusals")


def refuses(tag, *candidates, static=None, asked=None, **description):
    """A criterion that refuses the candidates named, and counts in `asked` how often it is asked."""
    @criterion(tag, panda="", source="", static=static, **description)
    def rule(case):
        if asked is not None:
            asked.append(tag)
        return np.isin(np.arange(case.n_candidates), candidates)
    return rule


def ranks_of(*rules, n=4):
    """Rank of the first refusal by static criteria, of n candidates."""
    return first_refusals(Funnel(rules), job_case(task(), queues(n))).tolist()


def test_the_first_refusal_counts():
    rules = refuses("-a", 0, 1, static=()), refuses("-b", 1, 2, static=())
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
    assert ranks_of(n=2) == [0, 0]
