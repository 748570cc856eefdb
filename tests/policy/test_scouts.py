"""Scouts: when the avalanche starts, what is measured, and what exhausts or breaks a task, in both editions."""

from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from policy_builders import cfg, task

from simgrid_broker.policy.tasks import scouts
from simgrid_broker.policy.tasks.scouts import Jobs, Scouting
from simgrid_broker.views import Task

pytestmark = pytest.mark.rule("uses_scouts", "enough_finished", "next_update", "verdict", "measured_ramcount",
                              "measured_cputime", "measured_iointensity", "exhausted", "scouts.measure", "new_claims",
                              "capped_diskio", "measured_walltime", "measured_output", "withdraws_split_rules")

EDITIONS = ("documented", "deployed")
HOUR = 3600.0


def jobs(n=10, **said) -> Jobs:
    """Jobs of 8 cores with 1000 events, 2 h of wall time at 80 HS06, 8 GB and 80 % of the CPU, but for what is said."""
    plain = dict(walltime_s=2 * HOUR, cputime_s=0.8 * 8 * 2 * HOUR, corecount=8, hs06=80, n_events=1000,
                 maxpss_mb=8000, input_bytes=0, output_bytes=0)
    return Jobs(*(np.broadcast_to(np.asarray(said.get(name, plain[name]), float), n) for name in Jobs._fields))


def claims(**said) -> Task:
    """A task with input that claims 500 HS06 s an event and 1000 MB a core, without base time, but for what is said."""
    return task(**dict(cputime=500.0, ramcount=1000.0, input_bytes_per_job=1.0) | said)


def keys(**values):
    """gdpconfig with keys of scouts set."""
    return cfg(dbproxy=values)


def measure(edition, found=None, claimed=None, **values):
    """What jobs tell of a task."""
    return scouts.measure(found or jobs(), claimed or claims(), keys(**values), edition)


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
    assert tuple(scouts.enough_finished(Scouting(*state), edition) for edition in EDITIONS) == expected


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


@pytest.mark.parametrize(("edition", "expected"), [
    pytest.param("documented", 500, id="L11 the largest of the first five"),
    pytest.param("deployed", 852, id="L11 75 % of all and 10 %"),
])
def test_memory(edition, expected):
    memory = 8 * np.array([500, 400, 300, 200, 100, 600, 700, 800, 900, 1000], float)
    assert measure(edition, jobs(maxpss_mb=memory)).ramcount == expected


@pytest.mark.parametrize(("claimed", "values", "expected"), [
    pytest.param(dict(ramunit="MBPerCoreFixed"), {}, None, id="a fixed value stays"),
    pytest.param(dict(ramunit="MB"), {}, 8800, id="memory of the whole job, and 10 %"),
    pytest.param(dict(ramunit="MB", baseramcount=4000), {}, 8800, id="with what is there once"),
    pytest.param(dict(baseramcount=4000), {}, 550, id="less what is there once"),
    pytest.param({}, {"SCOUT_RAMCOUNT_MIN": 2000}, 2000, id="not below the minimum"),
    pytest.param({}, {"SCOUT_RAMCOUNT_MARGIN": 50}, 1500, id="another margin"),
    pytest.param(dict(baseramcount=8000), {}, 1, id="nothing is left of it"),
    pytest.param(dict(baseramcount=9000), {}, 1, id="nor of less than nothing"),
    pytest.param(dict(ramunit="MB"), {"SCOUT_RAMCOUNT_MIN": 9000}, 9000, id="the minimum holds for any unit"),
])
def test_memory_in_the_code(claimed, values, expected):
    assert measure("deployed", None, claims(**claimed), **values).ramcount == expected


@pytest.mark.parametrize(("memory", "claimed", "values", "documented", "deployed"), [
    pytest.param([7999.5, 6000], dict(ramunit="MB"), {}, 8000, 8249, id="L11 whole jobs: the largest, or a percentile"),
    pytest.param([7996, 7996], {}, {"SCOUT_RAMCOUNT_MARGIN": 100}, 1000, 1999, id="999.5 MB a core, rounded up"),
    pytest.param(8000 - 4 / 1024, {}, {"SCOUT_RAMCOUNT_MARGIN": 100}, 1000, 2000, id="whole KiB in the code"),
    pytest.param(8, {}, {}, 1, 1, id="one MB a core is something"),
    pytest.param(4000, {}, {"SCOUT_RAMCOUNT_MIN": 2000}, 500, 2000, id="L11 only the code has a minimum"),
])
def test_rounding_of_memory(memory, claimed, values, documented, deployed):
    for edition, expected in (("documented", documented), ("deployed", deployed)):
        assert measure(edition, jobs(2, maxpss_mb=memory), claims(**claimed), **values).ramcount == expected


@pytest.mark.parametrize(("edition", "expected"), [
    pytest.param("documented", 864, id="L13 the first five jobs, of which every one took 2 h"),
    pytest.param("deployed", 1728, id="L13 all jobs, of which half took 4 h"),
])
def test_cpu_time(edition, expected):
    assert measure(edition, jobs(walltime_s=[2 * HOUR] * 5 + [4 * HOUR] * 5)).cputime == expected


@pytest.mark.parametrize(("edition", "values", "expected"), [
    pytest.param("documented", {}, 1.5 * 96, id="L12 95 % where no key is set"),
    pytest.param("documented", {"SCOUT_RAMCOUNT_RANK": 50}, 1.5 * 60, id="L12 the page's key is that of memory"),
    pytest.param("documented", {"SCOUT_CPUTIME_RANK": 50}, 1.5 * 96, id="L12 the other key is nothing to it"),
    pytest.param("deployed", {"SCOUT_CPUTIME_RANK": 50}, 1.5 * 60, id="L12 the code has a key of its own"),
    pytest.param("deployed", {"SCOUT_RAMCOUNT_RANK": 50}, 1.5 * 96, id="L12 and minds only that"),
])
def test_percentile_of_the_cpu_time(edition, values, expected):
    found = jobs(5, walltime_s=[250, 500, 750, 1000, 1250], hs06=80)
    assert measure(edition, found, **values).cputime == pytest.approx(np.ceil(expected))


@pytest.mark.parametrize(("said", "claimed", "expected"), [
    pytest.param(dict(n_events=79), {}, (None, None), id="fewer than ten events a core"),
    pytest.param(dict(n_events=80), {}, (10800, 10800), id="ten events a core"),
    pytest.param(dict(n_events=79), dict(input_bytes_per_job=0.0), (10937, 10937), id="few events without input"),
    pytest.param(dict(n_events=10, walltime_s=6 * HOUR), {}, (259200, None), id="L12 6 h to the second"),
    pytest.param(dict(n_events=10, walltime_s=6 * HOUR + 1), {}, (259212, 259212), id="L12 more than 6 h"),
    pytest.param({}, dict(cpuefficiency=nan), (None, None), id="a task without a claim of cpuEfficiency"),
    pytest.param({}, dict(basewalltime_s=HOUR), (432, 432), id="less the time beside events"),
    pytest.param({}, dict(basewalltime_s=3 * HOUR), (0, 0), id="no time is left for events"),
    pytest.param(dict(n_events=100_000), {}, (8.64, 8.64), id="thousandths below 10"),
    pytest.param(dict(n_events=99_999), {}, (8.641, 8.641), id="rounded up"),
    pytest.param(dict(n_events=82_000), {}, (11, 11), id="whole numbers from 10 on"),
    pytest.param(dict(n_events=[79, 80] * 5), {}, (10800, 10800), id="the jobs that count tell it"),
    pytest.param(dict(n_events=[0, 1000] * 5, walltime_s=7 * HOUR), {}, (3024, 3024), id="no long job without events"),
    pytest.param(dict(n_events=1, walltime_s=7 * HOUR), {}, (3024000, 3024000), id="a single event is enough"),
])
def test_which_jobs_tell_the_cpu_time(said, claimed, expected):
    found = tuple(measure(edition, jobs(**said), claims(**claimed)).cputime for edition in EDITIONS)
    assert found == expected


def test_rates_are_those_of_the_greediest_job_and_whole():
    found = measure("deployed", jobs(2, input_bytes=[1e9, 2e9], output_bytes=1e9, walltime_s=1000))
    assert found.iointensity == np.ceil(3e9 / 1024 / 1000 / 8)


@pytest.mark.parametrize(("walltime_s", "rate"), [(0, 5), (1, 5), (5, 1)])
def test_a_job_takes_a_second_at_least(walltime_s, rate):
    assert measure("deployed", jobs(1, input_bytes=5 * 8 * 1024, walltime_s=walltime_s)).iointensity == rate


def test_cpu_efficiency_of_a_moment():
    assert scouts.cpu_efficiency(np.array([0.25, 0.0]), np.array([0.5, 0.0]), np.array([1, 1])).tolist() == [50, 0]


def test_l13_io_of_later_jobs_does_not_count_as_documented():
    found = jobs(6, input_bytes=[1e9] * 5 + [8e9])
    assert measure("documented", found).iointensity < measure("deployed", found).iointensity


@pytest.mark.parametrize(("said", "claimed", "expected"), [
    pytest.param(dict(cputime_s=3599, input_bytes=1024**2), 1, 1, id="short jobs count as nothing"),
    pytest.param(dict(cputime_s=3600, input_bytes=1024**2), 1, 5400, id="an hour for a MiB and half as much"),
    pytest.param(dict(cputime_s=3600, input_bytes=1024**2), nan, None, id="a task that claims no wall time gets none"),
    pytest.param(dict(cputime_s=3600, input_bytes=1024**2), 9999, 9999, id="not below the claim"),
    pytest.param(dict(cputime_s=3600), 7, 7, id="without input"),
    pytest.param(dict(cputime_s=3601, input_bytes=1024**2), 1, 5402, id="whole seconds, rounded up"),
    pytest.param(dict(cputime_s=3599, input_bytes=1024**2), 0.5, 0.5, id="less than a second is claimed"),
    pytest.param(dict(cputime_s=[1000, 7200] * 5, input_bytes=[2 * 1024**2, 1024**2] * 5), 1, 5400,
                 id="the longest job and the largest input"),
])
def test_wall_time_of_input(said, claimed, expected):
    assert measure("deployed", jobs(**said), claims(walltime_s_per_mib=claimed)).walltime_s_per_mib == expected


@pytest.mark.parametrize(("said", "expected"), [
    pytest.param(dict(output_bytes=1000 * 2048), 2048, id="output of an event"),
    pytest.param(dict(output_bytes=1e12), 10240 * 1024, id="at most 10 MiB"),
    pytest.param(dict(n_events=9), None, id="too few events"),
    pytest.param(dict(n_events=10, output_bytes=10 * 2048), 2048, id="ten events are enough"),
    pytest.param(dict(n_events=[9, 1000] * 5, output_bytes=1000 * 2048), 2048, id="jobs with enough of them tell"),
    pytest.param(dict(output_bytes=np.repeat([1, 2, 3, 4, 5], 2) * 1000 * 1024), 4096, id="75 % of the jobs"),
])
def test_output_of_an_event(said, expected):
    assert measure("deployed", jobs(**said)).output_bytes == expected


@pytest.mark.parametrize(("claimed", "values", "expected"), [
    pytest.param(900.0, {}, 900, id="no cap"),
    pytest.param(900.0, {"SCOUT_DISK_IO_CAP": 500}, 500, id="above the cap"),
    pytest.param(400.0, {"SCOUT_DISK_IO_CAP": 500}, 400, id="below the cap"),
    pytest.param(nan, {"SCOUT_DISK_IO_CAP": 500}, None, id="no claim"),
])
def test_disk_traffic_is_capped(claimed, values, expected):
    assert measure("deployed", None, claims(diskio=claimed), **values).diskio == expected


def test_measured_cpu_time_withdraws_the_claim_of_wall_time_which_is_measured_without_it():
    by_cpu, by_wall, neither = (scouts.new_claims(measure("deployed", None, claims(**said))) for said in (
        dict(walltime_s_per_mib=7.0), dict(walltime_s_per_mib=7.0, cpuefficiency=nan), dict(cpuefficiency=nan)))
    assert by_cpu["cputime"] == 864 and isnan(by_cpu["walltime_s_per_mib"])
    assert by_wall["walltime_s_per_mib"] == 7 and "cputime" not in by_wall
    assert set(neither) == {"iointensity"}


def exhausted(edition, found, claimed, new_jobs=100, least_efficiency=0.0, **values):
    """Why jobs exhaust their task."""
    config = keys(**values)
    measured = scouts.measure(found, claimed, config, edition)
    return scouts.exhausted(found, claimed, measured, new_jobs, least_efficiency, config, edition)


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
                 id="CPU abuse by some jobs"),
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
    assert tuple(exhausted(edition, jobs(**found), claimed, new_jobs, **values) for edition in EDITIONS) == expected


@pytest.mark.parametrize(("least", "expected"), [(80, ("", "")), (81, ("", "low_efficiency"))])
def test_least_cpu_efficiency_of_a_task(least, expected):
    assert tuple(exhausted(edition, jobs(), claims(cputime=1e9), least_efficiency=least)
                 for edition in EDITIONS) == expected


INEFFICIENT = {"SCOUT_LOW_CPU_EFFICIENCY_managed": 90, "SCOUT_NUM_CPU_INEFFICIENT_managed": 5,
               "SCOUT_THR_CPU_INEFFICIENT_managed": 50}


@pytest.mark.parametrize(("low", "new_jobs", "values", "expected"), [
    pytest.param(5, 51, {}, "low_efficiency", id="half of the jobs"),
    pytest.param(4, 51, {}, "", id="fewer"),
    pytest.param(5, 50, {}, "", id="too few jobs to come"),
    pytest.param(5, 51, {"SCOUT_MAX_IO_INTENSITY_FOR_EXHAUSTED_managed": 15}, "", id="they read and write much"),
    pytest.param(5, 51, {"SCOUT_MAX_IO_INTENSITY_FOR_EXHAUSTED_managed": 16}, "low_efficiency", id="just as much"),
    pytest.param(5, 51, {"SCOUT_NUM_CPU_INEFFICIENT_managed": None}, "", id="without a number of jobs"),
    pytest.param(5, 51, {"SCOUT_THR_CPU_INEFFICIENT_managed": None}, "", id="without a limit of jobs to come"),
    pytest.param(5, 51, {"SCOUT_LOW_CPU_EFFICIENCY_managed": None}, "", id="without an efficiency"),
    pytest.param(5, 51, {"SCOUT_MAX_IO_INTENSITY_FOR_EXHAUSTED_managed": 17}, "low_efficiency", id="not that much"),
])
def test_inefficient_jobs(low, new_jobs, values, expected):
    cpu = np.where(np.arange(10) < low, 0.89, 0.9) * 8 * 2 * HOUR
    found = jobs(cputime_s=np.floor(cpu * 0.999), output_bytes=16 * 1024 * 8 * 2 * HOUR)
    assert exhausted("deployed", found, claims(cputime=1e9), new_jobs, **INEFFICIENT | values) == expected


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


def test_a_tenth_of_short_jobs_is_a_tenth():
    """6 of 13 jobs are short, which is less than 5 tenths."""
    given = {"SCOUT_CHANGE_SR_user": True, "SCOUT_SHORT_EXECTIME_user": 120, "SCOUT_NUM_SHORT_user": 5,
             "SCOUT_THR_SHORT_user": 100}
    found = jobs(13, walltime_s=[2 * HOUR] * 6 + [3 * HOUR] * 7)
    assert not scouts.withdraws_split_rules(found, 100, "user", keys(**given), "deployed")


@pytest.mark.parametrize(("values", "new_jobs", "expected"), [
    pytest.param({"SCOUT_NUM_SHORT_user": None}, 100, False, id="without a number of short jobs"),
    pytest.param({"SCOUT_THR_SHORT_user": None}, 100, False, id="without a limit of jobs to come"),
    pytest.param({}, 100, True, id="half of the jobs take two hours"),
    pytest.param({"SCOUT_CHANGE_SR_user": False}, 100, False, id="not asked for"),
    pytest.param({"SCOUT_NUM_SHORT_user": 6}, 100, False, id="too few of them"),
    pytest.param({"SCOUT_SHORT_EXECTIME_user": 119}, 100, False, id="they are not short"),
    pytest.param({}, 99, False, id="too few to come"),
])
def test_short_jobs_change_the_rules_of_splitting_in_the_code(values, new_jobs, expected):
    given = {"SCOUT_CHANGE_SR_user": True, "SCOUT_SHORT_EXECTIME_user": 120, "SCOUT_NUM_SHORT_user": 5,
             "SCOUT_THR_SHORT_user": 100}
    found = jobs(walltime_s=[2 * HOUR] * 5 + [3 * HOUR] * 5)
    assert scouts.withdraws_split_rules(found, new_jobs, "user", keys(**given | values), "deployed") is expected
    assert not scouts.withdraws_split_rules(found, new_jobs, "user", keys(**given | values), "documented")


@given(st.lists(st.floats(1, 1e5), min_size=1, max_size=30), st.sampled_from(EDITIONS))
def test_measures_lie_within_what_was_measured(walltimes, edition):
    found = measure(edition, jobs(len(walltimes), walltime_s=walltimes))
    least, most = (1.5 * 80 * limit / 1000 for limit in (min(walltimes), max(walltimes)))
    assert least - 1e-9 <= found.cputime <= most + 1


def test_jobs_without_a_measured_memory_do_not_count():
    some = jobs(4, maxpss_mb=[np.nan, 0, 8000, 8000])
    assert measure("deployed", some).ramcount == 1100 and measure("documented", some).ramcount == 1000
    assert measure("deployed", jobs(2, maxpss_mb=0)).ramcount is None
