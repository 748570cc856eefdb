"""What jobs are expected to need: merge jobs, event service, dynamic numbers of events, direct reading, wall time."""

from math import nan

import pytest
from policy_builders import answer_about_one, task

from simgrid_broker.policy.brokerage.production import candidates as c
from simgrid_broker.policy.brokerage.production import requirements as r
from simgrid_broker.policy.brokerage.production.editions import PRODUCTION

pytestmark = pytest.mark.rule("memory_asked_mb", "counts_per_core", "work_space_bytes", "reads_lan",
                              "walltime_is_known", "work", "wants_a_day", "memory_mb", "scratch_bytes",
                              "scratch_deployed_mib", "walltime_s", "work_limit", "estimates.of_task", "least_work",
                              "most_work", "slot_cores")

DAY, MIB = 86400.0, 1024**2


def refused(rule, fields, edition=None, **columns):
    """What a criterion says about one queue with these columns."""
    return answer_about_one(rule, task(**fields), edition, **columns)[0]


def figures(rule, fields, edition=None, **columns):
    """Value and limit of one queue."""
    return answer_about_one(rule, task(**fields), edition, **columns)[1:]


@pytest.mark.rule("too_little_memory")
@pytest.mark.parametrize(("fields", "documented", "deployed"), [
    pytest.param({"mergeramcount": 3000}, 3600, 2700, id="D49 mergeRamCount is of a job, the base only as documented"),
    pytest.param({"mergeramcount": 1000}, 2700, 1800, id="D49 at least 2000 MB"),
    pytest.param({"mergeramcount": nan}, 4500, 900, id="D49 unknown: ramCount, in the code of the whole job"),
])
def test_d49_memory_of_merge_jobs(fields, documented, deployed):
    merging = dict(is_merging=True, ramcount=1000, baseramcount=1000, corecount=4) | fields
    assert figures(r.too_little_memory, merging, corecount=4, maxrss_mb=9e9)[0] == pytest.approx(documented)
    assert figures(r.too_little_memory, merging, "deployed", corecount=4, maxrss_mb=9e9)[0] == deployed
    normal = merging | {"is_merging": False}
    assert figures(r.too_little_memory, normal, corecount=4)[0] == pytest.approx(4500)


@pytest.mark.rule("too_little_memory")
@pytest.mark.parametrize("mergeramcount", [1000, 3000])
def test_d49_merge_jobs_of_a_task_without_ramcount(mergeramcount):
    merging = dict(is_merging=True, mergeramcount=mergeramcount)
    assert figures(r.too_little_memory, merging, maxrss_mb=9e9)[0] == 0.9 * max(mergeramcount, 2000)
    assert refused(r.too_little_memory, merging, maxrss_mb=1)
    assert not refused(r.too_little_memory, merging | dict(mergeramcount=nan), maxrss_mb=1)


@pytest.mark.rule("too_little_memory")
@pytest.mark.parametrize(("ramunit", "documented", "deployed"), [
    pytest.param("MB", 1899.9, 999, id="D49 a whole job has no base in the code"),
    pytest.param("MBPerCore", 1899.9, 1899, id="D49 with a unit per core it has"),
])
def test_d49_base_of_the_memory(ramunit, documented, deployed):
    fields = dict(ramcount=1111, baseramcount=1000, ramunit=ramunit)
    assert figures(r.too_little_memory, fields, maxrss_mb=1)[0] == pytest.approx(documented)
    assert figures(r.too_little_memory, fields, "deployed", maxrss_mb=1)[0] == deployed


@pytest.mark.rule("core_count_mismatch")
@pytest.mark.parametrize(("fields", "queue", "refuses"), [
    pytest.param({"mergecorecount": 8}, 1, True, id="merge jobs of eight cores"),
    pytest.param({"mergecorecount": 8}, 8, False, id="at a multi-core queue"),
    pytest.param({"mergecorecount": None}, 8, True, id="unset: as coreCount"),
    pytest.param({"mergecorecount": 8, "is_merging": False}, 8, True, id="it does not concern other jobs"),
])
def test_cores_of_merge_jobs(fields, queue, refuses):
    assert refused(c.core_count_mismatch, {"is_merging": True} | fields, corecount=queue) is refuses


@pytest.mark.rule("too_little_scratch", "too_little_scratch_deployed")
@pytest.mark.parametrize(("fields", "columns", "needs_input"), [
    pytest.param({}, {"direct_io": True}, True, id="the task does not allow it"),
    pytest.param({"allowinputlan": "use"}, {"direct_io": True}, False, id="the task allows it"),
    pytest.param({"allowinputlan": "only"}, {"direct_io": True}, False, id="the task wants nothing else"),
    pytest.param({"allowinputlan": "use"}, {"direct_io": False}, True, id="the queue cannot"),
    pytest.param({"allowinputlan": "use", "uselocalio": True}, {"direct_io": True}, True, id="useLocalIO forbids it"),
    pytest.param({"uselocalio": True}, {"direct_io": True, "always_direct_io": True}, False, id="it always does"),
    pytest.param({"is_merging": True}, {"direct_io": True, "always_direct_io": True}, True, id="merge jobs never do"),
])
def test_direct_io_in_the_code(fields, columns, needs_input):
    usual = dict(input_bytes_per_job=1000 * MIB) | fields
    assert figures(r.too_little_scratch_deployed, usual, **columns)[0] == 1500 + 1000 * needs_input
    assert figures(r.too_little_scratch, usual, **columns)[0] == 1.8e9 + 1000 * MIB * (not columns["direct_io"])


@pytest.mark.rule("too_little_scratch", "too_little_scratch_deployed")
@pytest.mark.parametrize(("fields", "documented", "deployed"), [
    pytest.param({}, True, True, id="D50 a single-core task gets an eighth"),
    pytest.param({"event_service": True}, True, False, id="D50 event service gets all in the code"),
])
def test_d50_scratch_of_event_service(fields, documented, deployed):
    slot = dict(corecount=1, slot_corecount=8, maxwdir_mb=8000)
    assert refused(r.too_little_scratch, fields, **slot) is documented
    assert refused(r.too_little_scratch_deployed, fields, **slot) is deployed


LONG = dict(cputime=100.0, n_events_per_job=3600)         # 36 000 s at 10 HS06
WALLTIME = ((r.too_little_walltime, r.too_much_walltime),
            (r.too_little_walltime_deployed, r.too_much_walltime_deployed))


@pytest.mark.parametrize(("fields", "seconds"), [
    pytest.param({}, 36000, id="a normal job"),
    pytest.param({"event_service": True}, 12000, id="three attempts of one consumer"),
    pytest.param({"event_service": True, "n_es_consumers": 2}, 6000, id="three attempts of two consumers"),
    pytest.param({"event_service": True, "max_attempt_es": 2}, 12000, id="two attempts are three"),
    pytest.param({"event_service": True, "max_attempt_es": 4}, 7200, id="four attempts are five"),
    pytest.param({"event_service": True, "job_cloning": True}, 36000, id="clones do it all"),
    pytest.param({"cputimeunit": "mHS06sPerEvent"}, 36000, id="the unit is that of cputime here"),
])
def test_walltime_of_a_job(fields, seconds):
    for short, long in WALLTIME:
        assert [refused(short, LONG | fields, maxtime_s=seconds + k) for k in (-1, 0)] == [True, False]
        assert [refused(long, LONG | fields, mintime_s=seconds + k) for k in (0, 1)] == [False, True]


NO_HS06 = dict(cputimeunit="", walltime_s_per_mib=20.0, input_bytes_per_job=1800 * MIB)      # 36 000 s x cores


@pytest.mark.parametrize(("fields", "columns", "seconds"), [
    pytest.param({}, {}, 36000, id="wall time x size of the input"),
    pytest.param({}, {"corecount": 8}, 4500, id="divided by the cores"),
    pytest.param({}, {"corepower": 20.0}, 36000, id="whatever the power"),
    pytest.param({"basewalltime_s": 600.0}, {}, 36000, id="the base time is not added"),
    pytest.param({"input_bytes_per_job": 0.0, "n_files_per_job": 1}, {}, 20, id="one file of unknown size"),
    pytest.param({"input_bytes_per_job": 0.0, "n_files_per_job": 3}, {}, 60, id="files of unknown size count 1 MiB"),
    pytest.param({"min_granularity": 1}, {}, 36000, id="no dynamic number of events"),
])
def test_walltime_without_hs06(fields, columns, seconds):
    for short, long in WALLTIME:
        asked = NO_HS06 | fields
        assert [refused(short, asked, maxtime_s=seconds + k, **columns) for k in (-1, 0)] == [True, False]
        assert [refused(long, asked, mintime_s=seconds + k, **columns) for k in (0, 1)] == [False, True]


@pytest.mark.rule("too_much_walltime", "too_much_walltime_deployed")
def test_d54_without_any_walltime_only_the_code_minds_the_lower_limit():
    unknown = dict(cputimeunit="", walltime_s_per_mib=nan)
    for short, _ in WALLTIME:
        assert not refused(short, unknown, maxtime_s=1.0)
    assert not refused(r.too_much_walltime, unknown, mintime_s=1.0)
    assert refused(r.too_much_walltime_deployed, unknown, mintime_s=1.0)
    assert not refused(r.too_much_walltime_deployed, unknown, mintime_s=0.0)


DYNAMIC = LONG | dict(min_granularity=360)       # at least 3600 s


@pytest.mark.parametrize(("fields", "columns", "short", "long"), [
    pytest.param({}, {"maxtime_s": 3600, "mintime_s": 1}, False, False, id="the shortest job fits"),
    pytest.param({}, {"maxtime_s": 3599, "mintime_s": 1}, True, False, id="the shortest job is too long"),
    pytest.param({}, {"maxtime_s": 3600, "mintime_s": 0}, True, False, id="without a mintime nothing is chosen"),
    pytest.param({}, {"mintime_s": 36000}, False, False, id="the longest job is long enough"),
    pytest.param({}, {"mintime_s": 36001}, False, True, id="the longest job is too short"),
    pytest.param({"max_events_per_job": 720}, {"mintime_s": 7201}, False, True, id="there is a most of events"),
    pytest.param({"max_events_per_job": 100}, {"mintime_s": 3600}, False, False, id="the least of events wins"),
    pytest.param({"min_granularity": nan}, {"mintime_s": 1, "maxtime_s": 3600}, True, False, id="not dynamic"),
    pytest.param({"cputime": 0.01, "min_granularity": 1, "max_events_per_job": 100}, {"mintime_s": 1}, False, True,
                 id="0.1 s are too short for a mintime of 1 s"),
])
def test_dynamic_number_of_events(fields, columns, short, long):
    for pair in WALLTIME:
        assert tuple(refused(rule, DYNAMIC | fields, **columns) for rule in pair) == (short, long)


@pytest.mark.parametrize(("fields", "documented", "deployed"), [
    pytest.param({}, None, None, id="a CPU time in HS06 s"),
    pytest.param({"cputime": nan}, "-min_walltime", "-min_walltime", id="no CPU time"),
    pytest.param({"cputimeunit": "sPerEvent"}, "-min_walltime", "-min_walltime", id="a unit that is none"),
    pytest.param({"cputimeunit": "sPerEvent", "walltime_s_per_mib": 1.0}, None, "-min_walltime",
                 id="D53 a wall time does not help where the unit of the CPU time is none"),
    pytest.param({"cputimeunit": "", "walltime_s_per_mib": 1.0}, None, None, id="a wall time and no unit of CPU time"),
    pytest.param({"cputimeunit": ""}, "-min_walltime", "-min_walltime", id="nothing is said"),
    pytest.param({"cputimeunit": "", "walltimeunit": "s"}, "-min_walltime", None,
                 id="D53 a unit without wall time is enough in the code"),
    pytest.param({"is_merging": True}, None, "-min_walltime", id="D53 merge jobs"),
    pytest.param({"is_scout": True}, "-scout_walltime", "-scout_walltime", id="scouts"),
    pytest.param({"is_scout": True, "preassigned": (0,)}, "-scout_walltime", None,
                 id="scouts at a queue that the task names, which the code spares"),
    pytest.param({"is_scout": True, "preassigned": (0,), "cputime": nan}, "-scout_walltime", "-scout_walltime",
                 id="unless their wall time is unknown"),
])
def test_d53_who_needs_a_day(fields, documented, deployed):
    for edition, tag in (("documented", documented), ("deployed", deployed)):
        rules = [rule for rule in PRODUCTION[edition].funnel.criteria
                 if rule.rule.tag in ("-min_walltime", "-scout_walltime")]
        assert len(rules) == 2
        said = [rule.rule.tag for rule in rules if refused(rule, fields, edition, maxtime_s=DAY - 1)]
        assert said == ([] if tag is None else [tag])


@pytest.mark.rule("too_short_for_scouts")
def test_d52_without_hs06_units_the_code_asks_for_240_hours():
    scout = NO_HS06 | {"is_scout": True}
    assert [refused(r.too_short_for_scouts, scout, "deployed", maxtime_s=10 * DAY + k)
            for k in (-1, 0)] == [True, False]


@pytest.mark.rule("too_many_cores", "too_little_memory", "too_much_memory", "too_little_scratch_deployed",
                  "too_little_walltime", "too_short_for_scouts", "too_much_walltime_deployed")
@pytest.mark.parametrize(("rule", "fields", "columns", "expected"), [
    pytest.param(r.too_little_memory, {"ramcount": 2000}, {"maxrss_mb": 1000}, (1800, 1000), id="memory"),
    pytest.param(r.too_much_memory, {"ramcount": 2000}, {"minrss_mb": 3000}, (1800, 3000), id="least memory"),
    pytest.param(r.too_little_scratch_deployed, {}, {"maxwdir_mb": 1000}, (1500, 1000), id="scratch"),
    pytest.param(r.too_little_walltime, LONG, {"maxtime_s": 3600}, (36000, 3600), id="wall time"),
    pytest.param(r.too_much_walltime_deployed, LONG, {"mintime_s": 72000}, (360000, 720000), id="work"),
    pytest.param(r.too_short_for_scouts, {"is_scout": True}, {"maxtime_s": 3600}, (3600, DAY), id="a day"),
    pytest.param(r.too_little_scratch_deployed, {"output_bytes_per_job": 2000 * MIB - 1}, {"maxwdir_mb": 1000},
                 (1999, 1000), id="whole MiB of scratch, and no work space where none is claimed"),
    pytest.param(r.too_little_scratch_deployed, {"output_bytes_per_job": 2000 * MIB - 1, "allowinputlan": "use"},
                 {"maxwdir_mb": 1000, "direct_io": True}, (1999, 1000), id="nothing for input that is read directly"),
    pytest.param(r.too_little_scratch_deployed, {"corecount": 8},
                 {"maxwdir_mb": 1000, "corecount": 8, "slot_corecount": 8}, (1500, 1000),
                 id="a multi-core task has all of the scratch disk"),
    pytest.param(r.too_much_walltime_deployed, {"cputime": nan}, {"mintime_s": 100}, (0, 1000),
                 id="D54 without a CPU time no work"),
    pytest.param(r.too_much_walltime_deployed, LONG | {"cpuefficiency": nan}, {"mintime_s": 100}, (360000, 0),
                 id="D54 without an efficiency no limit"),
    pytest.param(c.too_many_cores, {"maxcorecount": 4}, {"corecount": 8}, (8, 4), id="cores"),
])
def test_figures_that_are_compared_are_told(rule, fields, columns, expected):
    assert figures(rule, fields, **columns) == expected


@pytest.mark.rule("zero_share")
@pytest.mark.parametrize(("gshare", "label", "preassigned", "refuses"), [
    pytest.param("MC 16", "managed", (), True, id="any share"),
    pytest.param("test", "managed", (), False, id="the share of tests"),
    pytest.param("validation", "ptest", (), False, id="the share of validation"),
    pytest.param("test", "ptest", (0,), True, id="a queue that a task of another label names"),
    pytest.param("test", "managed", (0,), False, id="a queue that a managed task names"),
    pytest.param("Test", "managed", (), True, id="the name is exact"),
])
def test_the_code_asks_shares_of_tests_for_no_zero_share(gshare, label, preassigned, refuses):
    fields = dict(gshare=gshare, prodsourcelabel=label, preassigned=preassigned)
    assert refused(c.zero_share, fields, "deployed", fairsharepolicy="type=any:0%") is refuses
    assert refused(c.zero_share, fields, fairsharepolicy="type=any:0%")
