"""The figures behind verdicts: what the refusing rule compared, recomputed by hand, and the factors of the weight."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_builders import TB, cfg, locality, nuclei, queues, stats, task

from simgrid_broker.names import EDITIONS
from simgrid_broker.policy.brokerage.production.broker import broker_jobs, run_brokerage
from simgrid_broker.policy.brokerage.production.editions import DOCUMENTED
from simgrid_broker.policy.brokerage.task.broker import broker_task
from simgrid_broker.policy.funnel import Funnel
from simgrid_broker.policy.rule import above, at_least, at_most, below, criterion
from simgrid_broker.views import KEPT, Verdict

pytestmark = pytest.mark.rule("note")


def decided(n, edition="documented", task_=None, queues_=None, config=None, **load):
    """Verdict and figures of a decision about n queues."""
    verdict = broker_jobs(task_ or task(), queues_ or queues(n), stats(n, **load), None, config or cfg(), edition)
    return verdict, verdict.figures()


def tags(verdict):
    """Tag of each candidate's refusal, None where it was kept."""
    return [None if rule == KEPT else verdict.tags[rule] for rule in verdict.refused_by.tolist()]


@pytest.mark.parametrize(("edition", "load", "value", "limit"), [
    pytest.param("documented", dict(running=[10], activated=[15], starting=[6]), 21, 20, id="activated and starting"),
    pytest.param("deployed", dict(running=[30], activated=[61]), 61, 60, id="D58 twice the running jobs"),
    pytest.param("deployed", dict(running=[3], activated=[21]), 21, 20, id="D58 never below the cut"),
])
def test_d58_a_load_rule_tells_what_it_compared(edition, load, value, limit):
    verdict, figures = decided(1, edition, **load)
    assert tags(verdict) == ["-cap"]
    assert (figures.value[0], figures.limit[0]) == (value, limit)


def test_who_gets_as_far_as_the_weight_has_factors_and_who_is_kept_no_figures():
    verdict, figures = decided(3, queues_=queues(3, status=[0, 0, 3]), activated=[0, 99, 0])
    assert tags(verdict) == [None, "-cap", "-status"]
    assert np.isnan([figures.value[0], figures.limit[0]]).all()
    assert figures.factors["running/queued"][:2].tolist() == [11 / 10, 11 / 109]
    assert figures.numbers["queued"][:2].tolist() == [0, 99] and figures.numbers["weight"][1] == 11 / 109
    assert all(np.isnan(column[2]) for column in (*figures.factors.values(), *figures.numbers.values()))


def test_a_rule_that_answers_with_a_mask_has_no_figures():
    verdict, figures = decided(1, queues_=queues(1, status=[3]))
    assert tags(verdict) == ["-status"] and np.isnan([figures.value[0], figures.limit[0]]).all()


@criterion("-thin", panda="selection for thickness", source="a test", static=())
def too_thin(case):
    """Refuse queues of less than four cores."""
    return below(case.queues.corecount, 4)


def test_a_static_rule_that_answers_with_figures_has_them_under_any_policy():
    from dataclasses import replace
    mine = replace(DOCUMENTED, funnel=Funnel((too_thin, *DOCUMENTED.funnel.criteria)))
    view = queues(3, corecount=[1, 4, 3])
    verdict = run_brokerage(mine, task(corecount=0), view, stats(3), None, cfg())
    figures = verdict.figures()
    assert tags(verdict) == ["-thin", None, "-thin"]
    assert figures.value[[0, 2]].tolist() == [1, 3] and figures.limit[[0, 2]].tolist() == [4, 4]


def test_who_is_behind_the_best_ten_has_the_weight_of_the_last_of_them():
    running = np.arange(10, 22)
    verdict, figures = decided(12, running=running)
    behind = [k for k, tag in enumerate(tags(verdict)) if tag == "-low_weight"]
    assert behind == [0, 1]
    assert figures.value[behind].tolist() == [1.1, 1.2] and figures.limit[behind].tolist() == [1.3, 1.3]


def test_behind_queues_that_have_no_job_yet_no_weight_is_a_limit():
    verdict, figures = decided(11, "deployed", running=[0] * 10 + [5])
    assert tags(verdict) == [None] * 10 + ["-low_weight"]
    assert figures.value[10] == 6 / 10 and np.isnan(figures.limit[10])


def test_a_task_that_stays_at_its_nucleus_uses_the_busiest_queue():
    verdict, figures = decided(3, "deployed", task(t1weight=-1), running_all=[5, 50, 7])
    assert tags(verdict) == ["-t1_weight", None, "-t1_weight"]
    assert figures.value[[0, 2]].tolist() == [5, 7] and figures.limit[[0, 2]].tolist() == [50, 50]


@pytest.mark.parametrize("edition", EDITIONS)
@given(data=st.data())
@settings(deadline=None, max_examples=25)
def test_the_weight_is_the_product_of_the_factors(edition, data):
    n = 12
    numbers = {name: np.array(data.draw(st.lists(st.integers(0, 30), min_size=n, max_size=n)))
               for name in ("running", "activated", "assigned", "starting", "defined")}
    input_ = locality(1e9, 100, data.draw(st.lists(st.floats(0, 1e9), min_size=n, max_size=n)), [7] * n)
    verdict = broker_jobs(task(), queues(n), stats(n, **numbers), input_, cfg(), edition)
    figures = verdict.figures()
    product = np.prod(list(figures.factors.values()), axis=0)
    assert product[verdict.order] == pytest.approx(verdict.weight[verdict.order], rel=1e-12)
    refused = verdict.refused_by != KEPT
    weighed = ~np.isnan(figures.numbers["weight"])
    assert weighed[verdict.refused_by == KEPT].all()
    product = np.nanprod(list(figures.factors.values()), axis=0)        # a capped queue has no factor of bootstrapping
    assert product[weighed] == pytest.approx(figures.numbers["weight"][weighed], rel=1e-12)
    both = refused & ~np.isnan(figures.limit)
    is_low = np.array([tag in ("-low_weight", "-below_min_weight") for tag in tags(verdict)])
    assert (figures.value[both & ~is_low] > figures.limit[both & ~is_low]).all()
    assert (figures.value[both & is_low] <= figures.limit[both & is_low]).all()


def test_asking_for_figures_changes_nothing():
    verdict, figures = decided(3, activated=[0, 99, 5])
    again = verdict.figures()
    assert np.array_equal(figures.value, again.value, equal_nan=True)
    assert tags(verdict) == tags(decided(3, activated=[0, 99, 5])[0])


@pytest.mark.parametrize(("rule", "refused"), [
    (above, [False, False, True]), (at_least, [False, True, True]),
    (below, [True, False, False]), (at_most, [True, True, False]),
])
def test_comparisons_at_the_limit(rule, refused):
    answer = rule(np.array([1, 2, 3]), 2)
    assert answer.refused.tolist() == refused and answer.limit == 2
    assert not rule(np.array([1, 2, 3]), 2, where=False).refused.any()


@pytest.mark.parametrize(("edition", "columns", "tag", "value", "limit"), [
    pytest.param("documented", dict(queued_output_files=[2000]), "-transfer_backlog", 2000, 2000, id="D8 backlog"),
    pytest.param("deployed", dict(queued_output_files=[2001]), "-transfer_backlog", 2001, 2000, id="D8 backlog, code"),
    pytest.param("documented", dict(free_bytes=[90 * TB]), "-space", 90 * TB, 100 * TB, id="D7 space in bytes"),
    pytest.param("deployed", dict(free_bytes=[100 * 1024.0**3]), "-space", 100, 102400, id="D7 space in GiB, code"),
])
def test_task_brokerage_tells_what_it_compared(edition, columns, tag, value, limit):
    verdict = broker_task(task(), nuclei(1, **columns), cfg(), edition, 0.5)
    figures = verdict.figures()
    assert tags(verdict) == [tag]
    assert (figures.value[0], figures.limit[0]) == (value, limit)


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_weight_of_a_nucleus_is_the_product_of_its_factors(edition):
    view = nuclei(3, free_bytes=[500 * TB, 300 * TB, 1 * TB], remaining_work_hs06s=[0.0, 1e6, 0.0])
    verdict = broker_task(task(total_input_bytes=1e15, iointensity=500), view, cfg(), edition, 0.5)
    factors = verdict.figures().factors
    assert np.prod(list(factors.values()), axis=0)[:2] == pytest.approx(verdict.weight[:2])
    assert all(np.isnan(column[2]) for column in factors.values())


def test_a_nucleus_that_is_not_the_one_named_has_no_figures():
    verdict = broker_task(task(nucleus=1), nuclei(2), cfg(), "documented", 0.5)
    assert tags(verdict) == ["-preassign", None] and np.isnan(verdict.figures().value).all()


def test_a_lifted_group_leaves_no_figures():
    verdict = broker_task(task(total_input_bytes=2e9, total_input_files=1), nuclei(1, local_input_bytes=[0.0]), cfg(),
                          "documented", 0.5)
    assert tags(verdict) == [None] and np.isnan(verdict.figures().value).all()


def test_a_verdict_need_not_have_figures():
    nothing = np.zeros(1)
    assert Verdict((), nothing, nothing, nothing).figures is None


def test_who_is_in_a_worse_class_has_its_class_and_the_best():
    cutoffs = {"IO_INTENSITY_CUTOFF": 200, "SIZE_CUTOFF_TO_MOVE_INPUT": 10, "NUM_CUTOFF_TO_MOVE_INPUT": 100}
    data = locality(1e12, 10, [1e12, 0.0, 1e12], [0, 10, 0])
    verdict = broker_jobs(task(iointensity=500, total_input_bytes=1e12), queues(3), stats(3), data,
                          cfg(jobbroker=cutoffs), "deployed")
    figures = verdict.figures()
    assert tags(verdict) == [None, "-io", None]
    assert (figures.value[1], figures.limit[1]) == (2, 0)
