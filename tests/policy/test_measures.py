"""Measurements by finished jobs, in both editions."""

from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scout_builders import EDITIONS, HOUR, claims, jobs, keys, measure

from simgrid_broker.policy.tasks import measures, scouts
from simgrid_broker.policy.tasks.measures import Preset

pytestmark = pytest.mark.rule("measured_ramcount", "measured_cputime", "measured_iointensity", "measures.measure",
                              "new_claims", "measured_diskio", "measured_walltime", "measured_output",
                              "measured_workdisk", "measured_leak", "measured_ng", "measure_merging", "core_power",
                              "cputime_rank", "memory_keys", "most_disk")


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
    pytest.param(dict(baseramcount=8000), {}, 0, id="nothing is left of it: no claim"),
    pytest.param(dict(baseramcount=8000), {"SCOUT_RAMCOUNT_MIN": 1}, 1, id="but for a minimum"),
    pytest.param(dict(baseramcount=8007), {}, 0, id="a fraction of an MB less than nothing is nothing"),
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
    pytest.param([nan, 0.5], dict(ramunit="MB"), {"SCOUT_RAMCOUNT_MARGIN": 300}, 1, 2, id="half an MB is measured"),
    pytest.param(4000, dict(baseramcount=4000), {}, None, 0, id="nothing beside baseRamCount"),
    pytest.param(7.2, {}, {}, 1, 0, id="nine tenths of it, with a margin, are nothing in the code"),
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
    pytest.param(dict(n_events=[79, 80] * 2), {}, (10800, 10800), id="the jobs that count tell it"),
    pytest.param(dict(n_events=[0, 0, 0, 1000], walltime_s=7 * HOUR), {}, (3024000, 3024000),
                 id="no events count as one"),
    pytest.param({}, dict(cputimeunit="HS06sPerEventFixed"), (None, None), id="a fixed claim stays"),
    pytest.param(dict(n_events=1, walltime_s=7 * HOUR), {}, (3024000, 3024000), id="a single event is enough"),
])
def test_which_jobs_tell_the_cpu_time(said, claimed, expected):
    found = tuple(measure(edition, jobs(4, **said), claims(**claimed)).cputime for edition in EDITIONS)
    assert found == expected


@pytest.mark.parametrize(("said", "expected"), [
    pytest.param(dict(input_mib=[1000, 2000], output_bytes=1e9, walltime_s=1000),
                 np.ceil((2000 * 1024 + 1e9 / 1024) / 8000), id="the greediest job, input in MiB and output in bytes"),
    pytest.param(dict(walltime_s=[0, 5], input_mib=8), 205, id="a job without time does not count"),
    pytest.param(dict(walltime_s=[1, 5], input_mib=8), 1024, id="one of a second does"),
    pytest.param(dict(output_bytes=[nan, 8 * 1024 * 7200], input_mib=0), 1, id="nor one without a report of output"),
    pytest.param(dict(walltime_s=0), None, id="no job took time"),
])
def test_rate_of_input_and_output(said, expected):
    assert measure("deployed", jobs(2, **said)).iointensity == expected


def test_cpu_efficiency_of_a_moment():
    assert measures.cpu_efficiency(np.array([0.25, 0.0]), np.array([0.5, 0.0]), np.array([1, 1])).tolist() == [50, 0]


@pytest.mark.parametrize(("said", "expected"), [
    pytest.param(dict(walltime_s=100, cputime_s=644), 81, id="80.5 %, rounded up"),
    pytest.param(dict(walltime_s=100, cputime_s=[640, 648]), 80, id="the median of 80 and 81 %, cut"),
    pytest.param(dict(walltime_s=[0, 1], cputime_s=[8, 4]), 50, id="a job without time does not count"),
    pytest.param(dict(walltime_s=100, cputime_s=[nan, 400]), 50, id="nor does one that reports no CPU time"),
    pytest.param(dict(walltime_s=0), None, id="no job counts"),
])
def test_cpu_efficiency_of_scouts(said, expected):
    assert measure("deployed", jobs(2, **said)).efficiency == expected


def test_l13_io_of_later_jobs_does_not_count_as_documented():
    found = jobs(6, input_mib=[1000] * 5 + [8000])
    assert measure("documented", found).iointensity < measure("deployed", found).iointensity


@pytest.mark.parametrize(("said", "claimed", "expected"), [
    pytest.param(dict(cputime_s=3599, input_mib=1), 1, 1, id="short jobs count as nothing"),
    pytest.param(dict(cputime_s=3600, input_mib=1), 1, 5400, id="an hour for a MiB and half as much"),
    pytest.param(dict(cputime_s=3600, input_mib=1), nan, None, id="a task that claims no wall time gets none"),
    pytest.param(dict(cputime_s=3600, input_mib=1), 9999, 9999, id="not below the claim"),
    pytest.param(dict(cputime_s=[nan, 3600] * 5, input_mib=1), 1, 5400, id="a job that reports none"),
    pytest.param(dict(cputime_s=1e9, input_mib=1), 1, 999_999_999, id="at most nine digits"),
    pytest.param(dict(cputime_s=3601, input_mib=1), 1, 5402, id="whole seconds, rounded up"),
    pytest.param(dict(cputime_s=3599, input_mib=1), 0.5, 0.5, id="less than a second is claimed"),
    pytest.param(dict(cputime_s=[1000, 7200] * 5, input_mib=[2, 1] * 5), 1, 5400,
                 id="the longest job and the largest input"),
])
def test_wall_time_of_input(said, claimed, expected):
    assert measure("deployed", jobs(**said), claims(walltime_s_per_mib=claimed)).walltime_s_per_mib == expected


@pytest.mark.parametrize(("said", "unit", "expected"), [
    pytest.param(dict(output_bytes=1000 * 2048), "kBPerEvent", 2, id="output of an event"),
    pytest.param(dict(output_bytes=1000 * 2047), "kBPerEvent", 1, id="whole KiB of it"),
    pytest.param(dict(output_bytes=1000 * 2047 + 1), "kBPerEvent", 2, id="of whole bytes, rounded up"),
    pytest.param(dict(output_bytes=1e12), "kBPerEvent", 10240, id="at most 10 MiB"),
    pytest.param(dict(n_events=9), "kBPerEvent", None, id="too few events"),
    pytest.param(dict(n_events=10, output_bytes=10 * 2048), "kBPerEvent", 2, id="ten events are enough"),
    pytest.param(dict(n_events=[9, 1000] * 5, output_bytes=1000 * 2048), "kBPerEvent", 2, id="jobs with enough tell"),
    pytest.param(dict(output_bytes=[nan, 1000 * 2048] * 5), "kBPerEvent", 2, id="jobs that report it tell"),
    pytest.param(dict(output_bytes=np.repeat([1, 2, 3, 4, 5], 2) * 1000 * 1024), "kBPerEvent", 4, id="75 % of jobs"),
    pytest.param(dict(output_bytes=np.arange(10) * 1000 * 102_400.0), "kBPerEvent", 675, id="between two of them"),
    pytest.param(dict(output_bytes=4096, input_mib=2), "kB", 2, id="output of a MiB of input"),
    pytest.param(dict(output_bytes=4096, input_mib=2, n_events=9), "kB", None, id="of jobs with ten events, too"),
    pytest.param(dict(output_bytes=4096, input_mib=2), "", 2, id="a task that says no unit"),
    pytest.param(dict(output_bytes=4096), "kBPerEventFixed", None, id="a fixed claim stays"),
])
def test_output(said, unit, expected):
    assert measure("deployed", jobs(**said), preset=Preset(outdiskunit=unit)).output_kib == expected


@pytest.mark.parametrize(("said", "values", "expected"), [
    pytest.param(dict(disk_kb=[900, 1100], walltime_s=1), {}, 1000, id="the mean of the jobs"),
    pytest.param(dict(disk_kb=[900, 1101], walltime_s=1), {}, 1000, id="rounded down"),
    pytest.param(dict(disk_kb=[900, nan], walltime_s=2), {}, 450, id="a job without a report does not count"),
    pytest.param(dict(disk_kb=900, walltime_s=[0, 2]), {}, 450, id="nor one without time"),
    pytest.param(dict(disk_kb=900, walltime_s=1), {"SCOUT_DISK_IO_CAP": 500}, 500, id="above the cap"),
    pytest.param(dict(disk_kb=400, walltime_s=1), {"SCOUT_DISK_IO_CAP": 500}, 400, id="below the cap"),
    pytest.param({}, {"SCOUT_DISK_IO_CAP": 500}, None, id="no job reports it"),
])
def test_disk_traffic(said, values, expected):
    assert measure("deployed", jobs(2, **said), **values).diskio == expected


@pytest.mark.parametrize(("said", "claimed", "library", "expected"), [
    pytest.param([300.9, 299], nan, 0, 300, id="the largest work directory, whole MB"),
    pytest.param([300, nan], 500, 0, 500, id="not below the claim"),
    pytest.param([300, nan], 100, 400.5, 400, id="a larger library counts"),
    pytest.param(nan, nan, 0, 0, id="nothing is reported or claimed"),
    pytest.param(nan, 500.5, 0, 500.5, id="nothing is reported, the claim stays"),
])
def test_work_directory(said, claimed, library, expected):
    found = measure("deployed", jobs(2, workdir_mb=said), preset=Preset(workdisk_mb=claimed, library_mb=library))
    assert found.workdisk_mb == expected


@pytest.mark.parametrize(("leak", "chi2", "expected"), [
    pytest.param([8, 16], [3, 4], (2, 4), id="mean of the jobs, rounded up"),
    pytest.param([8, 8.1], [2.9, 3.9], (2, 3), id="of whole kB a core, rounded up, and of whole chi2, rounded down"),
    pytest.param([nan, 16], [nan, 4], (2, 4), id="a job without a report does not count"),
    pytest.param([0, 0], [0, 0], (0, 0), id="a leak of nothing was measured"),
    pytest.param([-12, -12], 0, (-1, 0), id="memory that shrinks"),
    pytest.param(nan, nan, (None, None), id="no job reports it"),
])
def test_memory_leak(leak, chi2, expected):
    found = measure("deployed", jobs(2, memory_leak=leak, memory_leak_x2=chi2))
    assert (found.memory_leak_core, found.memory_leak_x2) == expected


GIB = 1024**3


@pytest.mark.parametrize(("said", "target", "unit", "expected"), [
    pytest.param({}, 10, "kBPerEvent", 8, id="the largest output, 300 MB of work space, less 1500 MB"),
    pytest.param(dict(largest_output_bytes=GIB / 2), 10, "kBPerEvent", 18, id="half of the output is in others"),
    pytest.param(dict(beside_bytes=0.5 * GIB), 10, "kBPerEvent", 13, id="other input counts"),
    pytest.param(dict(input_mib=2**29), 10, "kBPerEvent", 13, id="QUIRK: that of the master in MiB beside bytes"),
    pytest.param(dict(input_mib=512), 10, "kB", 13, id="of a task whose output grows with its input"),
    pytest.param({}, 0, "kBPerEvent", None, id="no target"),
    pytest.param({}, 1, "kBPerEvent", 1, id="less than nothing is a GB"),
    pytest.param({}, 2, "kBPerEvent", 0, id="but a part of a GB is none"),
    pytest.param({}, 500, "kBPerEvent", 100, id="at most 100 GB"),
    pytest.param(dict(largest_output_bytes=0), 10, "kBPerEvent", None, id="no output"),
    pytest.param(dict(input_mib=0), 1.171875, "kBPerEvent", 1, id="precisely nothing, too"),
    pytest.param(dict(output_bytes=1, largest_output_bytes=1, input_mib=512), 10, "kBPerEvent", 13,
                 id="an output of a byte: less than a KiB an event counts as one byte"),
    pytest.param(dict(beside_bytes=nan), 10, "kBPerEvent", None, id="input is not reported"),
    pytest.param(dict(n_events=9), 10, "kBPerEvent", None, id="output is not measured"),
])
def test_size_of_jobs_for_a_target_of_output(said, target, unit, expected):
    """Jobs of 1024 events with an output of 1 GiB, so 1 MiB an event."""
    one = jobs(1, **dict(n_events=1024, output_bytes=GIB, largest_output_bytes=GIB, input_mib=1) | said)
    preset = Preset(outdiskunit=unit)
    assert measures.measured_ng(one, measure("deployed", one, preset=preset), preset, target) == expected


def test_jobs_above_the_percentile_of_the_output_tell_the_size_first():
    found = jobs(4, n_events=1024, output_bytes=[1, 2, 3, 4 * GIB], largest_output_bytes=[1, 2, 3, 2 * GIB])
    assert measures.measured_ng(found, measure("deployed", found), Preset(), 10) == 18
    found["largest_output_bytes"] = 1, 2, 1.5, 0
    assert measures.measured_ng(found, measure("deployed", found), Preset(), 10) == 18


def test_a_percentile_at_a_job_is_told_by_it_alone():
    found = jobs(5, n_events=1024, output_bytes=[1, 2, 3, 4 * GIB, 5 * GIB], largest_output_bytes=[1, 2, 3, 0, 1])
    assert measures.measured_ng(found, measure("deployed", found), Preset(), 10) is None


def test_merge_jobs_tell_their_wall_time_and_memory():
    found = jobs(2, cputime_s=7200, input_mib=100, maxpss_mb=8000)
    claimed = claims(baseramcount=4000.0, walltime_s_per_mib=nan)
    assert measures.measure_merging(found, claimed, 0.0, keys(), "deployed") == (108, 1100)
    assert measures.measure_merging(found, claimed, 200.0, keys(), "deployed") == (200, 1100)
    assert measures.measure_merging(found, claimed, nan, keys(), "deployed") == (None, 1100)


@pytest.mark.parametrize(("benchmarks", "site", "corepower", "expected"), [
    pytest.param([], "CERN", 12.0, 12, id="none: CRIC"),
    pytest.param([], "CERN", 0.0, 10, id="nor CRIC"),
    pytest.param([("BNL", 11.0), ("CERN-T0", 14.0)], "CERN", 12.0, 14, id="a site whose name contains this one"),
    pytest.param([("BNL", 11.0), ("cern", 14.0)], "CERN-T0", 12.0, 14, id="or is in it, in any case"),
    pytest.param([("CERN", 11.0), ("CERN", 14.0)], "CERN", 12.0, 11, id="the first of them"),
    pytest.param([("BNL", 11.0), (None, 14.0)], "CERN", 12.0, 12.5, id="others: their mean"),
    pytest.param([("CERN", 0.0), ("BNL", 14.0)], "CERN", 12.0, 7, id="an own score of 0 is none"),
    pytest.param([("BNL", 0.0)], "CERN", 12.0, 12, id="a mean of 0 is none"),
])
def test_power_of_a_host(benchmarks, site, corepower, expected):
    assert measures.core_power(benchmarks, site, corepower) == expected


def test_measured_cpu_time_withdraws_the_claim_of_wall_time_which_is_measured_without_it():
    large = jobs(input_mib=9999)
    by_cpu, by_wall, neither = (
        scouts.new_claims(measure("deployed", large, claims(**said)), claims(**said), "deployed") for said in (
            dict(walltime_s_per_mib=7.0), dict(walltime_s_per_mib=7.0, cpuefficiency=nan), dict(cpuefficiency=nan)))
    assert by_cpu["cputime"] == 864 and isnan(by_cpu["walltime_s_per_mib"])
    assert by_wall["walltime_s_per_mib"] == 7 and "cputime" not in by_wall
    assert set(neither) == {"iointensity", "workdiskcount_mb"}


@pytest.mark.parametrize(("edition", "n_events", "expected"), [
    pytest.param("deployed", 1000, (864, 7), id="whole HS06 s: its wall time counts"),
    pytest.param("deployed", 86_400, (10, 7), id="from 10 HS06 s on"),
    pytest.param("deployed", 100_000, (8.64, nan), id="thousandths, which bring their unit"),
    pytest.param("documented", 1000, (864, nan), id="as documented the CPU time counts in any case"),
])
def test_a_task_that_claims_its_wall_time_goes_on_by_it_in_the_code(edition, n_events, expected):
    claimed = claims(walltime_s_per_mib=7.0, cputimeunit="")
    new = scouts.new_claims(measure(edition, jobs(n_events=n_events, input_mib=99999), claimed), claimed, edition)
    assert (new["cputime"], new["walltime_s_per_mib"]) == pytest.approx(expected, nan_ok=True)


@given(st.lists(st.floats(1, 1e5), min_size=1, max_size=30), st.sampled_from(EDITIONS))
def test_measures_lie_within_what_was_measured(walltimes, edition):
    found = measure(edition, jobs(len(walltimes), walltime_s=walltimes))
    least, most = (1.5 * 80 * limit / 1000 for limit in (min(walltimes), max(walltimes)))
    assert least - 1e-9 <= found.cputime <= most + 1


def test_jobs_without_a_measured_memory_do_not_count():
    some = jobs(4, maxpss_mb=[np.nan, 0, 8000, 8000])
    assert measure("deployed", some).ramcount == 1100 and measure("documented", some).ramcount == 1000
    assert measure("deployed", jobs(2, maxpss_mb=0)).ramcount is None
