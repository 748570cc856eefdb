"""Scouts: when the avalanche starts, and what exhausts or breaks a task, in both editions."""

from math import nan

import numpy as np
import pytest
from scout_builders import EDITIONS, HOUR, claims, jobs, keys, measure

from simgrid_broker.policy.tasks import scouts
from simgrid_broker.policy.tasks.scouts import Evidence, Expected, Input, Judgement, Scouting, SplitRules

pytestmark = pytest.mark.rule("uses_scouts", "enough_finished", "next_update", "verdict", "exhausted",
                              "expected_jobs", "input_of", "withdraws_split_rules")


@pytest.mark.parametrize(("said", "expected"), [
    pytest.param((True, False, "managed", False), True, id="a task with scouts"),
    pytest.param((False, False, "managed", False), False, id="a task without"),
    pytest.param((True, True, "managed", False), False, id="production may skip them"),
    pytest.param((True, True, "user", False), True, id="users may not"),
    pytest.param((True, True, "user", True), False, id="official analysis may"),
])
def test_who_uses_scouts(said, expected):
    assert scouts.uses_scouts(*said) is expected


@pytest.mark.parametrize(("state", "expected"), [
    pytest.param((10, 2, 1, 0), (False, True), id="L10 one of the two that were made so far"),
    pytest.param((10, 10, 4, 0), (False, False), id="L10 four of ten"),
    pytest.param((10, 10, 5, 0), (True, True), id="L10 half of them"),
    pytest.param((10, 0, 0, 0), (False, False), id="none was made"),
])
def test_when_the_avalanche_starts(state, expected):
    of, made, finished, _ = state
    assert tuple(scouts.enough_finished(finished, scouts.counted(of, made, scouts.TERMS[edition].of_made))
                 for edition in EDITIONS) == expected


@pytest.mark.parametrize(("finished", "expected"), [
    pytest.param(4, (104, 5), id="L10 four jobs"),
    pytest.param(5, (105, 100), id="L10 five jobs"),
    pytest.param(99, (199, 100), id="L10 99 jobs"),
    pytest.param(100, (200, None), id="L10 a hundred jobs"),
])
def test_when_a_task_is_measured_again(finished, expected):
    assert tuple(scouts.next_update(finished, edition) for edition in EDITIONS) == expected


@pytest.mark.parametrize(("finished", "failed", "rate", "lower", "expected"), [
    pytest.param(0, 10, None, None, (("no_scout", False), ("no_scout", False)), id="none succeeded"),
    pytest.param(1, 9, None, None, (("", False), ("scout_success", False)), id="one of ten is enough as documented"),
    pytest.param(4, 6, None, None, (("", False), ("scout_success", False)), id="just below half"),
    pytest.param(5, 5, None, None, (("", False), ("", False)), id="half"),
    pytest.param(7, 3, 8, None, (("scout_success", False), ("scout_success", False)), id="below scoutSuccessRate"),
    pytest.param(15, 5, 8, None, (("scout_success", False), ("scout_success", False)), id="7.5 tenths"),
    pytest.param(8, 2, 8, None, (("", False), ("", False)), id="at scoutSuccessRate"),
    pytest.param(1, 19, None, None, (("", False), ("scout_success", False)), id="one of twenty"),
    pytest.param(3, 7, 5, 0.3, (("scout_success", True), ("scout_success", True)), id="exhausted, not broken"),
    pytest.param(2, 8, 5, 0.3, (("scout_success", False), ("scout_success", False)), id="below the lower rate, too"),
])
def test_what_scouts_that_are_over_mean(finished, failed, rate, lower, expected):
    values = {} if lower is None else {"SCOUT_MIN_OK_RATE_EXHAUSTED_managed": lower}
    state = Scouting(10, 10, finished, failed)
    assert tuple(scouts.verdict(state, rate, "managed", keys(**values), edition) for edition in EDITIONS) == expected


NO_RULES, ONE_FILE = SplitRules(), SplitRules(nFilesPerJob=1)


def judged(edition, found, claimed, expected=100, split=NO_RULES, low_success=False, **values):
    """Judgement of a task; expected: jobs to come, or `Expected`."""
    expected = expected if isinstance(expected, Expected) else Expected(expected, expected, expected)
    of = Evidence(found, claimed, measure(edition, found, claimed, **values), expected, split, low_success)
    return scouts.exhausted(of, keys(**values), edition)


def exhausted(edition, found, claimed, new_jobs=100, **more):
    """Why jobs exhaust their task."""
    return judged(edition, found, claimed, new_jobs, **more).reason


@pytest.mark.parametrize(("found", "claimed", "new_jobs", "values", "expected"), [
    pytest.param({}, dict(cputime=288), 100, {}, ("", ""), id="CPU time twice the claim"),
    pytest.param({}, dict(cputime=287), 100, {}, ("scout_cpuTime", ""), id="more than that, of short jobs"),
    pytest.param(dict(walltime_s=25 * HOUR), dict(cputime=5400), 100, {}, ("", ""), id="a day, just twice the claim"),
    pytest.param(dict(walltime_s=25 * HOUR), dict(cputime=5399), 100, {}, ("", "scout_cpuTime"),
                 id="a day: the code counts the safety factor"),
    pytest.param(dict(walltime_s=24 * HOUR), dict(cputime=1000), 100, {}, ("scout_cpuTime", ""), id="24 h, not more"),
    pytest.param(dict(walltime_s=25 * HOUR), dict(cputime=1000), 20, {}, ("scout_cpuTime", ""), id="20 jobs to come"),
    pytest.param(dict(walltime_s=25 * HOUR), dict(cputime=1000), 21, {}, ("scout_cpuTime", "scout_cpuTime"),
                 id="21 jobs to come"),
    pytest.param(dict(walltime_s=25 * HOUR), dict(cputime=1000), 1, {}, ("scout_cpuTime", ""), id="one to come"),
    pytest.param(dict(walltime_s=25 * HOUR), dict(cputime=1000), 0, {}, ("", ""), id="none to come"),
    pytest.param(dict(walltime_s=25 * HOUR), dict(cputime=5400), 100, {"SCOUT_WRONG_CPUTIME_THRESHOLD": 1},
                 ("scout_cpuTime", "scout_cpuTime"), id="another threshold"),
    pytest.param(dict(maxpss_mb=29_091.2), dict(ramcount=3999), 100, {}, ("", ""), id="memory of precisely 4 GB"),
    pytest.param(dict(maxpss_mb=29_099), dict(ramcount=3999), 100, {}, ("", "scout_ramCount"), id="a MB more"),
    pytest.param(dict(maxpss_mb=40_000), dict(ramcount=3999, ramunit="MBPerCoreFixed"), 100, {}, ("", ""),
                 id="a fixed claim is not measured"),
    pytest.param(dict(cputime_s=2 * 8 * 2 * HOUR), {}, 100, {}, ("", ""), id="twice the wall time on all cores"),
    pytest.param(dict(cputime_s=[1, 2.1 * 8 * 2 * HOUR] * 5), {}, 100, {}, ("", "over_cpu_consumption"),
                 id="CPU abuse by the job with most CPU time"),
    pytest.param(dict(cputime_s=[2.1 * 8 * 2 * HOUR, 6 * 8 * 2 * HOUR], walltime_s=[2 * HOUR, 6 * HOUR]), {}, 100, {},
                 ("", ""), id="by another one"),
    pytest.param(dict(walltime_s=25 * HOUR, hs06=0.00032), dict(cputime=0.0299), 100,
                 {"SCOUT_WRONG_CPUTIME_THRESHOLD": 1.5}, ("", "scout_cpuTime"), id="44 thousandths to whole 29"),
    pytest.param(dict(walltime_s=25 * HOUR, hs06=0.00032), dict(cputime=0.0301), 100,
                 {"SCOUT_WRONG_CPUTIME_THRESHOLD": 1.5}, ("", ""), id="44 thousandths to whole 30"),
    pytest.param(dict(walltime_s=25 * HOUR, hs06=0.00032), dict(cputime=0.022), 100, {}, ("", ""), id="44 to twice 22"),
    pytest.param(dict(walltime_s=25 * HOUR, hs06=0.00032), dict(cputime=0.02199), 100, {}, ("", "scout_cpuTime"),
                 id="44 thousandths to twice 21"),
    pytest.param(dict(walltime_s=25 * HOUR), dict(cputime=0), 100, {}, ("", ""), id="a claim of 0"),
    pytest.param(dict(walltime_s=25 * HOUR), dict(cputime=1000, cputimeunit=""), 100, {}, ("", ""), id="without unit"),
    pytest.param(dict(walltime_s=25 * HOUR), dict(cputime=1000), 100, {"SCOUT_WRONG_CPUTIME_THRESHOLD": 0}, ("", ""),
                 id="the check is off"),
    pytest.param(dict(walltime_s=25 * HOUR), dict(cputime=nan), 100, {}, ("", ""), id="no claim of CPU time"),
    pytest.param(dict(maxpss_mb=40_000), dict(ramcount=nan), 100, {}, ("", ""), id="no claim of memory"),
    pytest.param(dict(maxpss_mb=40_000), dict(ramcount=3999), 100, {}, ("", "scout_ramCount"), id="memory over 4 GB"),
    pytest.param(dict(maxpss_mb=40_000), dict(ramcount=4000), 100, {}, ("", ""), id="which it had claimed"),
    pytest.param(dict(maxpss_mb=40_000), dict(ramcount=3999), 100, {"RAM_THR_EXAUSTED": 6}, ("", ""), id="limit 6"),
    pytest.param(dict(cputime_s=2.1 * 8 * 2 * HOUR), {}, 100, {}, ("", "over_cpu_consumption"), id="CPU abuse"),
])
def test_what_exhausts_a_task(found, claimed, new_jobs, values, expected):
    claimed = claims(**dict(cputime=1e9) | claimed)
    found = jobs(2 if len(np.shape(found.get("walltime_s", 0))) else 10, **found)
    assert tuple(exhausted(edition, found, claimed, new_jobs, **values) for edition in EDITIONS) == expected


@pytest.mark.parametrize(("least", "values", "expected"), [
    pytest.param(80, {}, ("", ""), id="reached"),
    pytest.param(81, {}, ("", "low_efficiency"), id="missed"),
    pytest.param(80, {"SCOUT_LOW_CPU_EFFICIENCY_managed": 90, "SCOUT_NUM_CPU_INEFFICIENT_managed": 5,
                      "SCOUT_THR_CPU_INEFFICIENT_managed": 50}, ("", ""), id="reached, whatever single jobs are"),
])
def test_least_cpu_efficiency_of_a_task(least, values, expected):
    split = SplitRules(minCpuEfficiency=least)
    assert tuple(exhausted(edition, jobs(), claims(cputime=1e9), split=split, **values)
                 for edition in EDITIONS) == expected


def test_the_median_of_efficiencies_is_cut_to_a_whole_number():
    found = jobs(2, cputime_s=np.array([0.80, 0.81]) * 8 * 2 * HOUR)
    split = SplitRules(minCpuEfficiency=80.5)
    assert exhausted("deployed", found, claims(cputime=1e9), split=split) == "low_efficiency"


@pytest.mark.parametrize(("new_jobs", "expected"), [(20, ("low_success_rate", "")), (21, ("low_success_rate",) * 2)])
def test_scouts_that_succeed_too_seldom_exhaust_a_task(new_jobs, expected):
    claimed = claims(cputime=1e9)
    assert tuple(exhausted(edition, jobs(), claimed, new_jobs, low_success=True) for edition in EDITIONS) == expected


INEFFICIENT = {"SCOUT_LOW_CPU_EFFICIENCY_managed": 90, "SCOUT_NUM_CPU_INEFFICIENT_managed": 5,
               "SCOUT_THR_CPU_INEFFICIENT_managed": 50}


@pytest.mark.parametrize(("low", "new_jobs", "values", "expected"), [
    pytest.param(5, 51, {}, "low_efficiency", id="half of the jobs"),
    pytest.param(4, 51, {}, "", id="fewer"),
    pytest.param(5, 50, {}, "", id="too few jobs to come"),
    pytest.param(5, Expected(50, 51, 50), {}, "low_efficiency", id="enough by files"),
    pytest.param(5, Expected(50, 50, 51), {}, "low_efficiency", id="enough by events"),
    pytest.param(5, 51, {"SCOUT_MAX_IO_INTENSITY_FOR_EXHAUSTED_managed": 15}, "", id="they read and write much"),
    pytest.param(5, 51, {"SCOUT_MAX_IO_INTENSITY_FOR_EXHAUSTED_managed": 16}, "low_efficiency", id="just as much"),
    pytest.param(5, 51, {"SCOUT_NUM_CPU_INEFFICIENT_managed": None}, "", id="without a number of jobs"),
    pytest.param(5, 51, {"SCOUT_THR_CPU_INEFFICIENT_managed": None}, "", id="without a limit of jobs to come"),
    pytest.param(5, 51, {"SCOUT_LOW_CPU_EFFICIENCY_managed": None}, "", id="without an efficiency"),
    pytest.param(5, 51, {"SCOUT_MAX_IO_INTENSITY_FOR_EXHAUSTED_managed": 17}, "low_efficiency", id="not that much"),
])
def test_inefficient_jobs(low, new_jobs, values, expected):
    cpu = np.where(np.arange(10) < low, 0.89, 0.9) * 8 * 2 * HOUR
    found = jobs(cputime_s=np.floor(cpu * 0.999), output_bytes=16 * 1024 * 8 * 2 * HOUR, input_mib=0)
    assert exhausted("deployed", found, claims(cputime=1e9), new_jobs, **INEFFICIENT | values) == expected


def test_jobs_without_input_and_output_are_not_forgiven():
    found = jobs(cputime_s=0.5 * 8 * 2 * HOUR, input_mib=0)
    values = INEFFICIENT | {"SCOUT_MAX_IO_INTENSITY_FOR_EXHAUSTED_managed": 0}
    assert exhausted("deployed", found, claims(cputime=1e9), 51, **values) == "low_efficiency"


def test_claims_are_compared_in_thousandths_below_10_hs06_s():
    found = measure("deployed")._replace(cputime_job_s=25 * HOUR)
    wrong = [scouts.is_wrong_cputime(found._replace(cputime=cputime), claims(cputime=3.3339),
                                     keys(SCOUT_WRONG_CPUTIME_THRESHOLD=3), "deployed") for cputime in (9.9991, 10.0)]
    assert wrong == [True, False]


def test_a_tenth_is_a_tenth():
    """6 of 13 jobs are inefficient, which is less than 5 tenths."""
    cpu = np.where(np.arange(13) < 6, 0.8, 0.95) * 8 * 2 * HOUR
    assert exhausted("deployed", jobs(13, cputime_s=cpu), claims(cputime=1e9), 51, **INEFFICIENT) == ""


@pytest.mark.parametrize(("n_short", "new_jobs", "label", "expected"), [
    pytest.param(6, 1001, "user", ("short_execution", ""), id="L14 six short jobs and 1001 to come"),
    pytest.param(5, 1001, "user", ("", ""), id="L14 five short jobs"),
    pytest.param(6, 1000, "user", ("", ""), id="L14 1000 to come"),
    pytest.param(6, 1001, "managed", ("", ""), id="L14 production"),
])
def test_short_jobs(n_short, new_jobs, label, expected):
    found = jobs(walltime_s=np.where(np.arange(10) < n_short, 239, 240), cputime_s=800)
    values = {"SCOUT_SHORT_EXECTIME_user": 4, "SCOUT_NUM_SHORT_user": 1, "SCOUT_THR_SHORT_user": 10}
    assert tuple(exhausted(edition, found, claims(cputime=1e9, prodsourcelabel=label), new_jobs, **values)
                 for edition in EDITIONS) == expected


SHORT = {"SCOUT_CHANGE_SR_user": True, "SCOUT_SHORT_EXECTIME_user": 120, "SCOUT_NUM_SHORT_user": 5,
         "SCOUT_THR_SHORT_user": 100}
"""Half of the jobs take at most two hours, and a hundred are expected."""


def changes_rules(found, expected=100, split=ONE_FILE, edition="deployed", **values):
    """Whether short jobs change the split rules of a task of a user."""
    claimed = claims(cputime=1e9, prodsourcelabel="user")
    return judged(edition, found, claimed, expected, split, **SHORT | values).short_jobs


def test_a_tenth_of_short_jobs_is_a_tenth():
    """6 of 13 jobs are short, which is less than 5 tenths."""
    assert not changes_rules(jobs(13, walltime_s=[2 * HOUR] * 6 + [3 * HOUR] * 7))


@pytest.mark.parametrize(("values", "expected_jobs", "split", "expected"), [
    pytest.param({"SCOUT_NUM_SHORT_user": None}, 100, dict(nFilesPerJob=1), False, id="without a number of short jobs"),
    pytest.param({"SCOUT_THR_SHORT_user": None}, 100, dict(nFilesPerJob=1), False, id="without a limit of jobs"),
    pytest.param({}, 100, dict(nFilesPerJob=1), True, id="half of the jobs take two hours"),
    pytest.param({"SCOUT_CHANGE_SR_user": False}, 100, dict(nFilesPerJob=1), False, id="not asked for"),
    pytest.param({"SCOUT_NUM_SHORT_user": 6}, 100, dict(nFilesPerJob=1), False, id="too few of them"),
    pytest.param({"SCOUT_SHORT_EXECTIME_user": 119}, 100, dict(nFilesPerJob=1), False, id="they are not short"),
    pytest.param({}, 99, dict(nFilesPerJob=1), False, id="too few to come"),
    pytest.param({}, Expected(100, 99, 100), dict(nFilesPerJob=1), False, id="too few in all by files"),
    pytest.param({}, Expected(100, 100, 99), dict(nFilesPerJob=1), False, id="too few in all by events"),
    pytest.param({}, Expected(20, 100, 100), dict(nFilesPerJob=1), False, id="20 new ones: scouts are not judged"),
    pytest.param({}, 100, {}, False, id="no rule that would change"),
    pytest.param({}, 100, dict(nGBPerJob=5), True, id="nGBPerJob"),
    pytest.param({}, 100, dict(nMaxFilesPerJob=199), True, id="a low limit of files"),
    pytest.param({}, 100, dict(nMaxFilesPerJob=200), False, id="a limit of files that is high enough"),
])
def test_short_jobs_change_the_rules_of_splitting_in_the_code(values, expected_jobs, split, expected):
    found = jobs(walltime_s=[2 * HOUR] * 5 + [3 * HOUR] * 5)
    assert changes_rules(found, expected_jobs, SplitRules(**split), **values) is expected
    assert not changes_rules(found, expected_jobs, SplitRules(**split), "documented", **values)


def test_a_task_whose_split_rules_change_may_be_inefficient_but_not_wrong():
    slow = jobs(walltime_s=2 * HOUR, cputime_s=1)
    inefficient = {name.replace("managed", "user"): value for name, value in INEFFICIENT.items()}
    claimed = claims(cputime=1e9, prodsourcelabel="user")
    for split, expected in ((ONE_FILE, Judgement("", True)), (NO_RULES, Judgement("low_efficiency"))):
        assert judged("deployed", slow, claimed, 100, split, **SHORT | inefficient) == expected
    hungry = claims(cputime=1e9, ramcount=1.0, prodsourcelabel="user")
    found = judged("deployed", jobs(maxpss_mb=40_000), hungry, 100, ONE_FILE, **SHORT)
    assert found == Judgement("scout_ramCount")


@pytest.mark.parametrize(("split", "expected"), [
    pytest.param(dict(nFilesPerJob=3, nGBPerJob=5, nEventsPerJob=7), dict(nEventsPerJob=7), id="files and size"),
    pytest.param(dict(nMaxFilesPerJob=10), dict(nMaxFilesPerJob=200), id="a low limit is raised"),
    pytest.param(dict(nMaxFilesPerJob=300), dict(nMaxFilesPerJob=300), id="a high one stays"),
])
def test_split_rules_of_short_jobs(split, expected):
    assert scouts.without_sizes(SplitRules(**split)) == SplitRules(**expected)


@pytest.mark.parametrize(("said", "split", "deployed", "documented"), [
    pytest.param({}, dict(nFilesPerJob=2), (450, 500, 1000), (450, 500, 1000), id="four jobs of two files"),
    pytest.param(dict(finished=9), dict(nFilesPerJob=2), (400, 444, 1000), (400, 444, 1000), id="whole jobs"),
    pytest.param(dict(finished=0), dict(nFilesPerJob=2), (0, 0, 0), (0, 0, 0), id="no file is finished"),
    pytest.param(dict(finished_events=0), dict(nFilesPerJob=2), (450, 500, 0), (450, 500, 0), id="no events are known"),
    pytest.param({}, {}, (45, 50, 100), (450, 500, 1000), id="no rule: jobs of 500 GB follow on scouts of 50"),
    pytest.param(dict(events=1e8), {}, (45, 50, 100_000), (450, 500, 1_000_000), id="many events"),
    pytest.param(dict(mean_mib=0), dict(minCpuEfficiency=80), (0, 0, 100), (450, 500, 1000), id="without size"),
    *(pytest.param({}, {name: 1}, (450, 500, 1000), (450, 500, 1000), id=name)
      for name in ("nEventsPerJob", "nGBPerJob", "nMaxFilesPerJob")),
])
def test_jobs_that_a_task_is_expected_to_make(said, split, deployed, documented):
    plain = dict(files=1000, used=100, finished=8, jobs=4, mean_mib=50_000, events=1e5, finished_events=400)
    of = Input(**plain | said)
    for edition, expected in (("deployed", deployed), ("documented", documented)):
        assert scouts.expected_jobs(of, SplitRules(**split), edition) == expected


def test_input_on_which_jobs_have_finished():
    found = scouts.input_of(jobs(4, input_mib=[1, 2, 3, 2], n_events=25), 1000, 100, 8, 1e5)
    assert found == Input(files=1000, used=100, finished=8, jobs=4, mean_mib=2, events=1e5, finished_events=100)
