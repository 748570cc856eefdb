"""DIRAC's priorities, their correction by usage, and the law of its draws."""

from fractions import Fraction
from itertools import combinations
from math import erfc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker.systems.dirac.policy.matching import (
    chances,
    class_chances,
    drawn_classes,
    job_chances,
    queue_chances,
    requested_job_chance,
    smallest_key,
)
from simgrid_broker.systems.dirac.policy.priorities import (
    DEPLOYED,
    DOCUMENTED,
    Group,
    compute_priorities,
    corrected,
    correctors_of,
    real_priority,
    whole_option,
)
from simgrid_broker.systems.dirac.policy.task_queues import Identity, TaskQueue, TaskQueues


def uncorrected(shares, group):
    """Shares as they are."""
    return dict(shares)


NINE_HUNDRED = Group(900)


def priorities(jobs, group=NINE_HUNDRED, edition=DEPLOYED, correct=uncorrected):
    """Priorities of the task queues of jobs, given by their owner, CPU time and what else differs from u = 1."""
    queues = TaskQueues(edition, edition.cpu_classes)
    for number, job in enumerate(jobs):
        values = dict(Owner="a", OwnerGroup="g", CPUTime=360) | job
        queues.insert(number, values | dict(OwnerDN=values["Owner"]))
    compute_priorities(queues, {"g": group}, edition, correct)
    return [round(queue.priority, 4) for queue in queues]


A, B = dict(CPUTime=360), dict(CPUTime=86_400)


@pytest.mark.rule("priorities.compute_priorities", "priorities.mean_priority", "priorities.real_priority")
@pytest.mark.parametrize(("jobs", "group", "expected"), [
    pytest.param([A, B, A | dict(Owner="b")], Group(1000), [250, 250, 500], id="owners divide the share"),
    pytest.param([A, B, A | dict(Owner="b")], Group(1000, True), [333.3333] * 3, id="JOB_SHARING"),
    pytest.param([A] * 10 + [B | dict(priority=2)], Group(900), [300, 600], id="the mean, not the sum"),
    pytest.param([A | dict(Sites=["x"]), A | dict(Sites=["y"]), B], Group(900), [600, 600, 300], id="pool of sites"),
    pytest.param([A | dict(BannedSites=["x"]), A, B], Group(900), [600, 600, 300], id="pool of banned sites"),
    pytest.param([A | dict(MinRAM=1), A | dict(MinRAM=2), B], Group(900), [600, 600, 300], id="pool of memory"),
    pytest.param([A | dict(Tags=["x"]), A | dict(Tags=["y"]), B], Group(900), [300] * 3, id="tags do not pool"),
    pytest.param([A | dict(Sites=["x"]), A | dict(Sites=["y"]), A | dict(Owner="b", Sites=["z"])], Group(900, True),
                 [600, 600, 300], id="owners do not pool"),
    pytest.param([A | dict(priority=0), B], Group(900, allow_background=True), [0.001, 900], id="background"),
    pytest.param([A | dict(priority=0), B], Group(900), [0.009, 899.991], id="no background"),
    pytest.param([A | dict(priority=0), B | dict(priority=0)], Group(900, allow_background=True), [0.001, 0.001],
                 id="nothing but background"),
    pytest.param([A | dict(priority=10), B], Group(900), [899.9991, 0.001], id="10 is a million"),
    pytest.param([A | dict(priority=10), A, B], Group(900), [899.9982, 0.0018], id="mean of a million and one"),
    pytest.param([A], Group(0), [0.001], id="least priority"),
    pytest.param([A, A | dict(CPUTime=1800, priority=3), B | dict(priority=5)], Group(0.9), [0.1, 0.3, 0.5],
                 id="by priority"),
    pytest.param([A, B] + [B | dict(priority=9)] * 10, Group(1000), [107.8431, 892.1569], id="worked value")])
def test_priorities_of_task_queues_as_deployed(jobs, group, expected):
    assert priorities(jobs, group) == expected


@pytest.mark.rule("priorities.summed_priority")
def test_priorities_as_documented_follow_the_sum_of_priorities_without_pool_or_least():
    assert priorities([A] * 10 + [B | dict(priority=2)], Group(900), DOCUMENTED) == [750, 150]
    assert priorities([A | dict(Sites=["x"]), A | dict(Sites=["y"]), B], Group(900), DOCUMENTED) == [300] * 3
    assert priorities([A], Group(0, allow_background=True), DOCUMENTED) == [0]


@pytest.mark.rule("priorities.compute_priorities")
def test_an_empty_task_queue_counts_as_its_owners():
    queues = TaskQueues(DEPLOYED, DEPLOYED.cpu_classes)
    for number, owner in enumerate("ab"):
        queues.insert(number, dict(Owner=owner, OwnerGroup="g"))
    queues.remove(1)
    compute_priorities(queues, {}, DEPLOYED, uncorrected)
    assert [queue.priority for queue in queues] == [500, 1]


@pytest.mark.rule("priorities.real_priority", "priorities.whole_option")
def test_weights_of_jobs_and_whole_options():
    assert [real_priority(u) for u in (0, 1, 9, 10, 100)] == [1e-5, 1, 9, 1e6, 1e6]
    assert [whole_option(text, 7) for text in (3, "3", "-5", "0.5", "2.0", "", "x", None, 2.5)] == [
        3, 3, -5, 7, 7, 7, 7, 7, 7]


WEEK, HOUR = 604_800, 3600
SLICES = dict(Week=dict(TimeSpan=WEEK, Weight=80, MaxCorrection=2),
              Hour=dict(TimeSpan=HOUR, Weight=20, MaxCorrection=5))


def scheduling(**options):
    """Options that switch the corrector of groups on."""
    return dict(EnableSharesCorrection=True, ShareCorrections=dict(
        ShareCorrectorsToStart="WMSHistory", WMSHistory=dict(all=SLICES | options)))


@pytest.mark.rule("priorities.corrected", "priorities.correctors_of")
@pytest.mark.parametrize(("week", "hour", "bound", "expected"), [
    ((10, 10, 20), (10, 10, 20), 5, (1000, 1000, 2000)), ((60, 20, 20), (80, 10, 10), 5, (462.5, 1500, 5200)),
    ((50, 50, 0), (50, 50, 0), 5, (500, 500, 10_000)), ((50, 50, 0), (50, 50, 0), 3, (500, 500, 6000)),
    ((60, 20, 20), None, 5, (1000, 1000, 2000))])
def test_shares_are_corrected_by_usage(week, hour, bound, expected):
    usage = {(span, ""): dict(zip("abc", used, strict=True)) for span, used in ((WEEK, week), (HOUR, hour)) if used}
    shares = dict(a=1000.0, b=1000.0, c=2000.0)
    found = corrected(shares, "", correctors_of(scheduling(MaxGlobalCorrection=bound)), usage)
    assert found == pytest.approx(dict(zip("abc", expected, strict=True)))
    assert corrected(shares, "g", correctors_of(scheduling()), usage) == shares


@pytest.mark.rule("priorities.correctors_of")
def test_correction_is_off_unless_it_is_switched_on_and_fractions_are_the_default():
    on = scheduling(MaxGlobalCorrection="2.5")
    assert correctors_of(on)[0].bound == 5
    assert correctors_of(on | dict(EnableSharesCorrection=False)) == correctors_of({}) == ()
    assert correctors_of(dict(EnableSharesCorrection="yes", ShareCorrections=dict(WMSHistory=dict(all={})))) == ()


@pytest.mark.rule("priorities.corrected")
def test_owners_are_corrected_under_the_names_under_which_they_own_task_queues():
    options = scheduling()
    options["ShareCorrections"]["WMSHistory"]["all"] = SLICES | dict(Group="g")
    usage = {(span, "g"): dict(a=30.0, b=10.0) for span in (WEEK, HOUR)}
    correctors = correctors_of(options)
    found = priorities([A, A | dict(Owner="b")], Group(1000), correct=lambda shares, group: corrected(
        shares, group, correctors, usage))
    assert found == pytest.approx([333.3333, 1000])


def exact(weights):
    """The law of the smallest U/p in rational arithmetic: elementary symmetric polynomials of the others."""
    weights = [Fraction(weight) / max(map(Fraction, weights)) for weight in weights]
    found = []
    for k, own in enumerate(weights):
        others = weights[:k] + weights[k + 1:]
        total = sum((-1) ** n * sum((np.prod(chosen) for chosen in combinations(others, n)), Fraction(0)) / (n + 1)
                    if n else Fraction(1) for n in range(len(others) + 1))
        found.append(own * total)
    return found


TABLE = [((1, 2), (1 / 4, 3 / 4)), ((1, 1, 2), (5 / 24, 5 / 24, 7 / 12)), ((1, 2, 3), (7 / 54, 8 / 27, 31 / 54)),
         ((0.1, 10), (1 / 200, 199 / 200)), ((1, 2, 3, 4), (31 / 384, 67 / 384, 37 / 128, 175 / 384)),
         ((250, 250, 500, 1000), (37 / 384, 37 / 384, 27 / 128, 229 / 384)),
         ((1, 1, 1, 1, 10), (*[9049 / 200_000] * 4, 40951 / 50_000))]


@pytest.mark.rule("matching.chances")
@pytest.mark.parametrize(("weights", "expected"), TABLE)
def test_closed_forms(weights, expected):
    assert chances(weights) == pytest.approx(expected, abs=1e-12)
    assert sum(chances(weights)) == pytest.approx(1, abs=1e-12)


@pytest.mark.rule("matching.chances")
def test_extreme_and_many_weights():
    assert chances([1, *[1] * 50])[0] == pytest.approx(1 / 51, abs=1e-12)
    assert chances([100, *[1] * 50])[0] == pytest.approx(0.786361, abs=1e-6)
    assert chances([1e-5, 1])[0] == pytest.approx(5e-6)
    assert chances([0, 1]).tolist() == [0, 1] and chances([]).tolist() == [] and chances([0.0]).tolist() == [0]
    assert chances(np.ones(20_000)).sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.rule("matching.class_chances")
@pytest.mark.parametrize(("classes", "expected"), [
    ({1: range(3), 2: range(1)}, (0.531250, 0.468750)), ({1: range(10), 9: range(1)}, (0.405779, 0.594221)),
    ({1: range(50), 5: range(10)}, (0.489701, 0.510299)), ({0: range(1), 1: range(1)}, (5e-6, 0.999995)),
    ({9: range(1), 10: range(1)}, (4.5e-6, 0.9999955)), ({1: range(100), 10: range(1)}, (4.999835e-5, 0.99995))])
def test_classes_of_jobs(classes, expected):
    assert class_chances(classes) == pytest.approx(expected, abs=1e-6)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=6))
def test_the_integral_is_the_rational_law(weights):
    assert chances(weights) == pytest.approx([float(one) for one in exact(weights)], abs=1e-12)


@given(st.lists(st.floats(1e-3, 1e4), min_size=2, max_size=30), st.floats(0.01, 100))
def test_only_ratios_count_and_the_largest_gets_more_than_its_part(weights, factor):
    found = chances(weights)
    assert found.sum() == pytest.approx(1)
    assert chances(np.array(weights) * factor) == pytest.approx(found, abs=1e-9)
    assert found.max() >= max(weights) / sum(weights) - 1e-9


def queue(cpu_time, priority, jobs):
    """A task queue with jobs by user priority."""
    return TaskQueue(Identity(("a", "g"), cpu_time, ()), jobs, priority)


@pytest.mark.rule("matching.queue_chances", "matching.weights_in_draw")
def test_only_the_longest_compete_as_documented():
    queues = [queue(500, 9, {1: 1}), queue(5000, 1, {2: 1}), queue(5000, 2, {3: 1}), queue(50_000, 5, {})]
    assert queue_chances(queues, DOCUMENTED) == pytest.approx([0, 1 / 4, 3 / 4, 0])
    assert queue_chances(queues, DEPLOYED) == pytest.approx([*chances([9, 1, 2]), 0])


@pytest.mark.rule("matching.job_chances")
@pytest.mark.parametrize(("edition", "window"), [(DOCUMENTED, 10), (DEPLOYED, 50)])
def test_one_of_the_oldest_of_a_class(edition, window):
    found = job_chances(queue(500, 1, dict.fromkeys(range(100, window, -1), 1) | {101: 3}), edition)
    of_class = class_chances({1: range(100 - window), 3: range(1)})
    assert found[101] == pytest.approx(of_class[1])
    oldest = range(window + 1, min(101, 2 * window + 1))
    assert [found[job] for job in oldest] == pytest.approx([of_class[0] / len(oldest)] * len(oldest))
    assert len(found) == len(oldest) + 1


@pytest.mark.rule("matching.requested_job_chance")
def test_a_named_job_is_found_if_its_class_is_drawn_in_one_of_three_rounds():
    assert requested_job_chance(queue(500, 1, {1: 1, 2: 2}), 1) == pytest.approx(1 - (3 / 4) ** 3)


def p_of_chi_square(counts, expected):
    """Probability of a larger chi-square, by the normal approximation of Wilson and Hilferty."""
    free = len(counts) - 1
    chi = (((np.asarray(counts) - expected) ** 2) / expected).sum()
    z = ((chi / free) ** (1 / 3) - (1 - 2 / (9 * free))) / np.sqrt(2 / (9 * free))
    return erfc(z / np.sqrt(2)) / 2


@pytest.mark.rule("matching.smallest_key")
@pytest.mark.parametrize(("weights", "expected"), TABLE)
def test_draws_follow_the_closed_forms(weights, expected):
    drawn = smallest_key(np.array(weights, float), np.random.default_rng(1).random((20_000, len(weights))))
    counts = np.bincount(drawn, minlength=len(weights))
    assert p_of_chi_square(counts, 20_000 * np.array(expected)) > 0.001


@pytest.mark.rule("matching.drawn_classes")
def test_one_number_for_each_class_is_the_law_of_its_jobs():
    drawn = drawn_classes(np.array([1.0, 9.0]), np.array([10, 1]), np.random.default_rng(1).random((20_000, 2)))
    assert p_of_chi_square(np.bincount(drawn), 20_000 * np.array([0.405779, 0.594221])) > 0.001
