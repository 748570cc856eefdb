from dataclasses import replace

import numpy as np
import pytest
from policy_builders import job_case, queues, task

from simgrid_broker.policy.funnel import Funnel, Liftable, MaskCache, run_funnel, weigh
from simgrid_broker.policy.rule import criterion, factor
from simgrid_broker.views import KEPT, Verdict


def refuses(tag, *candidates, temporary=False, static=None, asked=None):
    """A criterion that refuses the candidates named, and counts in `asked` how often it is asked."""
    @criterion(tag, panda="", source="", temporary=temporary, static=static)
    def rule(case):
        if asked is not None:
            asked.append(tag)
        return np.isin(np.arange(case.n_candidates), candidates)
    return rule


def asked_of(*steps, n=4):
    return run_funnel(Funnel(steps), job_case(task(), queues(n))).refused_by.tolist()


def test_the_first_refusal_stands():
    assert asked_of(refuses("-a", 0, 1), refuses("-b", 1, 2)) == [0, 0, 1, KEPT]


def test_a_temporary_refusal_removes_at_the_end_but_keeps_its_tag():
    temporary = refuses("-t", 0, 1, temporary=True)
    assert asked_of(temporary, refuses("-b", 1)) == [0, 1, KEPT, KEPT]


@pytest.mark.parametrize(("first", "second"), [(None, ()), ((), None), ((), ()), (None, None)])
def test_static_and_dynamic_criteria_mix(first, second):
    rules = refuses("-a", 0, 1, static=first), refuses("-b", 1, 2, static=second)
    assert asked_of(*rules) == [0, 0, 1, KEPT]


def group(when, *rules):
    return Liftable("group", rules, lambda case: when)


@pytest.mark.parametrize(("when", "candidates", "refused_by", "lifted"), [
    pytest.param(True, (0, 1, 2, 3), [0, KEPT, KEPT, KEPT], ("group",), id="lifted when nobody is left"),
    pytest.param(False, (0, 1, 2, 3), [0, 1, 1, 1], (), id="not lifted when the condition fails"),
    pytest.param(True, (0, 1, 2), [0, 1, 1, KEPT], (), id="not lifted when somebody passes"),
    pytest.param(True, (1, 2, 3), [0, KEPT, KEPT, KEPT], ("group",), id="who was refused before does not count"),
])
def test_a_group_is_lifted_as_a_whole(when, candidates, refused_by, lifted):
    funnel = Funnel((refuses("-a", 0), group(when, refuses("-b", *candidates))))
    outcome = run_funnel(funnel, job_case(task(), queues(4)))
    assert (outcome.refused_by.tolist(), outcome.lifted) == (refused_by, lifted)


def test_two_criteria_of_a_group_share_the_refusals():
    rules = group(True, refuses("-b", 0), refuses("-c", 1))
    assert asked_of(rules) == [0, 1, KEPT, KEPT]
    assert asked_of(group(True, refuses("-b", 0, 1), refuses("-c", 2, 3))) == [KEPT] * 4


def test_temporarily_refused_candidates_still_pass_a_group():
    outcome = asked_of(refuses("-t", 3, temporary=True), group(True, refuses("-b", 0, 1, 2)))
    assert outcome == [1, 1, 1, 0]


def test_the_cache_asks_once_for_each_requirement_and_version():
    asked = []
    funnel = Funnel((refuses("-a", 0, static=("ramcount",), asked=asked), refuses("-b", 1)))
    cache = MaskCache()
    case = job_case(task(), queues(3))
    for case_, times in [(case, 1), (case, 1), (replace(case, task=task(currentpriority=5)), 1),
                         (replace(case, task=task(ramcount=7.0)), 2), (case, 2),
                         (replace(case, queues=queues(3, version=1)), 3), (case, 4)]:
        assert run_funnel(funnel, case_, cache).refused_by.tolist() == [0, 1, KEPT]
        assert len(asked) == times


def test_a_full_cache_forgets_the_oldest():
    asked = []
    funnel = Funnel((refuses("-a", 0, static=("ramcount",), asked=asked),))
    cache = MaskCache(capacity=2)
    for ramcount in (1.0, 2.0, 3.0, 2.0, 1.0):
        run_funnel(funnel, job_case(task(ramcount=ramcount), queues(1)), cache)
    assert (len(asked), len(cache.entries)) == (4, 2)


def test_two_funnels_share_a_cache():
    cache = MaskCache()
    case = job_case(task(), queues(2))
    assert run_funnel(Funnel((refuses("-a", 0, static=()),)), case, cache).refused_by.tolist() == [0, KEPT]
    assert run_funnel(Funnel((refuses("-b", 1, static=()),)), case, cache).refused_by.tolist() == [KEPT, 0]


def test_survivors_count_down():
    def survivors(refused_by, n_rules):
        nothing = np.array([])
        return Verdict(("-tag",) * n_rules, refused_by, nothing, nothing).survivors
    assert survivors(np.array([0, 2, KEPT, 2]), 3) == (3, 3, 1)
    assert survivors(np.array([], int), 2) == (0, 0)


def test_an_empty_funnel_keeps_everybody():
    assert run_funnel(Funnel(()), job_case(task(), queues(2))).refused_by.tolist() == [KEPT, KEPT]


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
