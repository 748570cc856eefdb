from math import inf, nan

import numpy as np
import pytest
from policy_builders import answer_about_one, job_case, queues, task

from simgrid_broker.names import EDITIONS
from simgrid_broker.names import QueueStatus as S
from simgrid_broker.policy.brokerage.production import candidates as c
from simgrid_broker.policy.brokerage.production import requirements as r

pytestmark = pytest.mark.rule("memory_asked_mb", "counts_per_core", "work_space_bytes", "reads_lan",
                              "walltime_is_known", "work", "wants_a_day", "memory_mb", "scratch_bytes",
                              "scratch_deployed_mib", "walltime_s", "work_limit")

HOURS = 3600.0


def refused(rule, task_, edition=None, **columns):
    """What a criterion says about one queue with these columns."""
    return answer_about_one(rule, task_, edition, **columns)[0]


@pytest.mark.rule("of_the_other_kind")
@pytest.mark.parametrize(("label", "production", "analysis", "refuses"), [
    pytest.param("managed", True, False, False, id="production work at a production queue"),
    pytest.param("managed", False, True, True, id="production work at an analysis queue"),
    pytest.param("user", False, True, False, id="analysis work at an analysis queue"),
    pytest.param("panda", True, False, True, id="build jobs at a production queue"),
    pytest.param("test", True, True, False, id="unified queues take all"),
])
def test_capability(label, production, analysis, refuses):
    assert refused(c.of_the_other_kind, task(prodsourcelabel=label), production=production,
                   analysis=analysis) is refuses


@pytest.mark.rule("named_test")
@pytest.mark.parametrize(("name", "refuses"), [
    ("CERN", False), ("CERN_TEST", True), ("ANALY_tEsT_1", True), ("greaTEST", True), ("TES_T", False),
])
def test_d16_test_in_the_name(name, refuses):
    assert refused(c.named_test, task(), names=name) is refuses


@pytest.mark.rule("not_open")
@pytest.mark.parametrize(("status", "documented", "deployed"), [
    pytest.param(S.ONLINE, False, False, id="online"),
    pytest.param(S.STANDBY, True, False, id="D19 the code accepts standby"),
    *(pytest.param(status, True, True, id=status.word) for status in S if status not in (S.ONLINE, S.STANDBY)),
])
def test_d19_status(status, documented, deployed):
    assert refused(c.not_open, task(), status=int(status)) is documented
    assert refused(c.not_open, task(), "deployed", status=int(status)) is deployed


@pytest.mark.rule("zero_share")
def test_zero_share_is_asked_of_every_queue():
    view = queues(3, fairsharepolicy=("type=any:0%", "", "type=any:0%"))
    for edition in EDITIONS:
        assert c.zero_share(job_case(task(), view, edition)).tolist() == [True, False, True]


@pytest.mark.rule("core_count_mismatch")
@pytest.mark.parametrize(("corecount", "queue", "refuses"), [
    pytest.param(1, 1, False, id="one core at a single-core queue"),
    pytest.param(1, 0, False, id="one core at a queue without a number"),
    pytest.param(1, 2, True, id="one core at two"), pytest.param(1, 8, True, id="one core at a multi-core queue"),
    pytest.param(8, 1, True, id="eight cores at a single-core queue"),
    pytest.param(8, 2, False, id="eight cores at any multi-core queue"),
    pytest.param(2, 1, True, id="two cores at a single-core queue"),
    pytest.param(0, 1, False, id="any cores at a single-core queue"),
    pytest.param(0, 8, False, id="any cores at a multi-core queue"),
])
def test_core_count(corecount, queue, refuses):
    assert refused(c.core_count_mismatch, task(corecount=corecount), corecount=queue) is refuses


@pytest.mark.rule("core_count_mismatch")
@pytest.mark.parametrize(("corecount", "limit"), [(1, 1), (8, 8), (0, np.nan)])
def test_cores_that_a_refusal_names(corecount, limit):
    asks = task(corecount=corecount, is_scout=True)
    assert np.isclose(answer_about_one(c.core_count_mismatch, asks, corecount=1)[2], limit, equal_nan=True)


@pytest.mark.rule("core_count_mismatch")
@pytest.mark.parametrize(("fields", "refuses"), [
    pytest.param({"currentpriority": 899}, False, id="just below high priority"),
    pytest.param({"currentpriority": 900}, True, id="high priority wants more cores"),
    pytest.param({"is_scout": True}, True, id="scouts want more cores"),
    pytest.param({"currentpriority": 900, "corecount": 1}, False, id="one core stays one core"),
])
def test_any_core_count_at_high_priority(fields, refuses):
    assert refused(c.core_count_mismatch, task(**{"corecount": 0} | fields), corecount=1) is refuses


@pytest.mark.rule("too_many_cores")
@pytest.mark.parametrize(("most", "queue", "refuses"), [(inf, 64, False), (8, 8, False), (8, 9, True)])
def test_maxcorecount(most, queue, refuses):
    assert refused(c.too_many_cores, task(corecount=8, maxcorecount=most), corecount=queue) is refuses


@pytest.mark.rule("too_little_memory")
@pytest.mark.parametrize(("maxrss", "refuses"), [
    pytest.param(15300, False, id="at the limit is still fine"),
    pytest.param(15299, True, id="1 MB too little"),
    pytest.param(np.inf, False, id="no limit"),
])
def test_memory_limit(maxrss, refuses):
    big = task(corecount=8, ramcount=2000, baseramcount=1000)
    for edition in EDITIONS:
        assert refused(r.too_little_memory, big, edition, corecount=8, maxrss_mb=maxrss) is refuses


@pytest.mark.rule("too_much_memory")
@pytest.mark.parametrize(("minrss", "refuses"), [(0, False), (15300, False), (15301, True)])
def test_memory_floor(minrss, refuses):
    big = task(corecount=8, ramcount=2000, baseramcount=1000)
    for edition in EDITIONS:
        assert refused(r.too_much_memory, big, edition, corecount=8, minrss_mb=minrss) is refuses


@pytest.mark.rule("too_little_memory")
@pytest.mark.parametrize(("fields", "documented", "deployed"), [
    pytest.param({"ramunit": "MB"}, True, False, id="D49 the code leaves the base out with unit MB"),
    pytest.param({"ramunit": "MBPerCore"}, True, True, id="with a unit per core both add the base"),
    pytest.param({"ramcount": nan}, False, False, id="without a memory figure there is no check"),
])
def test_d49_base_memory(fields, documented, deployed):
    heavy = task(**{"ramcount": 2000, "baseramcount": 1000} | fields)
    assert refused(r.too_little_memory, heavy, maxrss_mb=2000) is documented
    assert refused(r.too_little_memory, heavy, "deployed", maxrss_mb=2000) is deployed


@pytest.mark.rule("too_little_memory")
def test_the_code_cuts_the_estimate_to_whole_mb():
    odd = task(ramcount=1111)                       # 0.9 x 1111 = 999.9
    assert refused(r.too_little_memory, odd, maxrss_mb=999.5)
    assert not refused(r.too_little_memory, odd, "deployed", maxrss_mb=999.5)


@pytest.mark.rule("too_little_scratch")
@pytest.mark.parametrize(("maxwdir", "refuses"), [
    pytest.param(6800, True, id="exactly the need is not larger"),
    pytest.param(6801, False, id="1 MB more is"),
    pytest.param(np.inf, False, id="no limit"),
])
def test_scratch(maxwdir, refuses):
    usual = task(input_bytes_per_job=5e9, output_bytes_per_job=1e9, workdisk_bytes=1e8)
    assert refused(r.too_little_scratch, usual, maxwdir_mb=maxwdir) is refuses


@pytest.mark.rule("too_little_scratch", "too_little_scratch_deployed")
def test_direct_io_needs_no_room_for_input():
    usual = task(input_bytes_per_job=5e9, allowinputlan="use")
    for rule in (r.too_little_scratch, r.too_little_scratch_deployed):
        assert refused(rule, usual, maxwdir_mb=4000)
        assert not refused(rule, usual, maxwdir_mb=4000, direct_io=True)
    assert refused(r.too_little_scratch_deployed, task(input_bytes_per_job=5e9, is_merging=True, allowinputlan="use"),
                   maxwdir_mb=4000,                   direct_io=True)


@pytest.mark.rule("too_little_scratch", "too_little_scratch_deployed")
@pytest.mark.parametrize("rule", [r.too_little_scratch, r.too_little_scratch_deployed])
def test_brokers_do_not_ask_for_scratch_of_0(rule):
    assert not refused(rule, task(output_bytes_per_job=1e12), maxwdir_mb=0)
    assert refused(rule, task(output_bytes_per_job=1e12), maxwdir_mb=1e-6)


@pytest.mark.parametrize(("corecount", "maxwdir", "documented", "deployed"), [
    pytest.param(8, 20000, False, False, id="an eighth is enough"),
    pytest.param(8, 10000, True, False, id="D50 multi-core tasks get all of it in the code"),
    pytest.param(1, 10000, True, True, id="D50 single-core tasks get an eighth in both"),
])
def test_d50_part_of_the_scratch_disk(corecount, maxwdir, documented, deployed):
    usual = task(corecount=corecount)
    slot = dict(corecount=corecount, slot_corecount=8, maxwdir_mb=maxwdir)
    assert refused(r.too_little_scratch, usual, **slot) is documented
    assert refused(r.too_little_scratch_deployed, usual, **slot) is deployed


@pytest.mark.rule("too_little_scratch", "too_little_scratch_deployed")
@pytest.mark.parametrize(("work_mb", "documented", "deployed"), [
    pytest.param(nan, 1800, 1500, id="undefined: 300 MB as documented, nothing in the code"),
    pytest.param(0, 1800, 1800, id="none: 300 MB as documented, 300 MiB in the code"),
    pytest.param(100, 1800, 1895, id="little: 300 MB as documented, 300 MiB more in the code"),
    pytest.param(1000, 2500, 2753, id="much: itself as documented, 300 MiB more in the code"),
])
def test_d50_work_space(work_mb, documented, deployed):
    usual = task(workdisk_bytes=work_mb * 1e6)
    assert [refused(r.too_little_scratch, usual, maxwdir_mb=documented + k) for k in (0, 1)] == [True, False]
    assert [refused(r.too_little_scratch_deployed, usual, maxwdir_mb=deployed + k) for k in (-1, 0)] == [True, False]


LONG = dict(cputime=100.0, n_events_per_job=3600, cpuefficiency=100.0, basewalltime_s=600.0)


@pytest.mark.rule("too_little_walltime", "too_little_walltime_deployed")
@pytest.mark.parametrize(("maxtime", "refuses"), [
    pytest.param(36600, False, id="exactly as long as allowed"),
    pytest.param(36599, True, id="a second too long"),
    pytest.param(np.inf, False, id="no limit"),
])
def test_walltime_limit(maxtime, refuses):
    for rule in (r.too_little_walltime, r.too_little_walltime_deployed):
        assert refused(rule, task(**LONG), maxtime_s=maxtime) is refuses


@pytest.mark.rule("too_much_walltime", "too_much_walltime_deployed")
@pytest.mark.parametrize(("mintime", "refuses"), [(0, False), (36600, False), (36601, True)])
def test_walltime_floor(mintime, refuses):
    for rule in (r.too_much_walltime, r.too_much_walltime_deployed):
        assert refused(rule, task(**LONG), mintime_s=mintime) is refuses


@pytest.mark.rule("too_little_walltime", "too_little_walltime_deployed")
def test_walltime_shrinks_with_cores_power_and_efficiency():
    long = task(**LONG | {"cpuefficiency": 50.0})
    for rule in (r.too_little_walltime, r.too_little_walltime_deployed):
        assert refused(rule, long, maxtime_s=36600)
        assert not refused(rule, long, maxtime_s=36600, corepower=20.0)
        assert not refused(rule, long, maxtime_s=36600, corecount=8)


@pytest.mark.rule("too_little_walltime", "too_little_walltime_deployed")
def test_d54_without_efficiency_only_the_base_counts_but_nothing_fits_in_the_code():
    strange = task(**LONG | {"cpuefficiency": nan})
    assert not refused(r.too_little_walltime, strange, maxtime_s=601)
    assert refused(r.too_little_walltime_deployed, strange, maxtime_s=1e6)
    assert not refused(r.too_little_walltime_deployed, strange, maxtime_s=np.inf)


@pytest.mark.rule("too_little_walltime", "too_little_walltime_deployed", "too_much_walltime",
                  "too_much_walltime_deployed")
def test_without_cpu_time_the_upper_limit_is_not_asked():
    unknown = task(cputime=nan, basewalltime_s=600.0)
    assert not refused(r.too_little_walltime, unknown, maxtime_s=1)
    assert not refused(r.too_little_walltime_deployed, unknown, maxtime_s=1)
    assert not refused(r.too_much_walltime, unknown, mintime_s=1e5)
    assert [refused(r.too_much_walltime_deployed, unknown, mintime_s=600 + more) for more in (0, 1)] == [False, True]


@pytest.mark.rule("too_short_for_scouts")
@pytest.mark.parametrize(("maxtime", "documented", "deployed"), [
    pytest.param(24 * HOURS - 1, True, True, id="below 24 hours"),
    pytest.param(24 * HOURS, False, True, id="D52 24 hours are too little at 90 %"),
    pytest.param(96599, False, True, id="D52 just below 26.8 hours"),
    pytest.param(96600, False, False, id="D52 26.8 hours are enough"),
    pytest.param(np.inf, False, True, id="no limit, which the code scales to one below 0"),
])
def test_d52_a_day_for_scouts(maxtime, documented, deployed):
    scout = task(is_scout=True, cpuefficiency=90.0, basewalltime_s=600.0)
    assert refused(r.too_short_for_scouts, scout, maxtime_s=maxtime) is documented
    assert refused(r.too_short_for_scouts, scout, "deployed", maxtime_s=maxtime) is deployed


@pytest.mark.rule("too_short_for_scouts")
@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_other_jobs_need_no_day(edition):
    assert not refused(r.too_short_for_scouts, task(), edition, maxtime_s=24 * HOURS - 1)


@pytest.mark.rule("too_short_for_scouts", "too_short_for_unknown")
@pytest.mark.parametrize(("fields", "expected"), [
    pytest.param(dict(basewalltime_s=1.0), True, id="scaled it is below 0"),
    pytest.param(dict(basewalltime_s=0.0), False, id="scaled it is 0, which passes"),
    pytest.param(dict(basewalltime_s=1.0, cputimeunit="", walltimeunit="s"), False, id="without HS06 it stays 0"),
])
@pytest.mark.parametrize("scouting", [True, False])
def test_maxtime_0_in_the_24_hour_rule_of_the_code(fields, expected, scouting):
    asked = task(is_scout=scouting, cputime=nan, **fields)
    rule = r.too_short_for_scouts if scouting else r.too_short_for_unknown
    assert refused(rule, asked, "deployed", maxtime_s=np.inf) is (expected if "walltimeunit" not in fields else False)
    assert not refused(r.too_little_walltime_deployed, asked, maxtime_s=np.inf)      # the upper limit skips 0


@pytest.mark.rule("too_short_for_unknown")
@pytest.mark.parametrize(("fields", "documented", "deployed"), [
    pytest.param({}, False, False, id="normal jobs need no day"),
    pytest.param({"cputime": nan}, True, True, id="an undefined wall time needs a day"),
    pytest.param({"is_merging": True}, False, True, id="D53 merge jobs need a day only in the code"),
    pytest.param({"is_scout": True, "cputime": nan}, False, False, id="scouts have their own tag"),
])
def test_d53_a_day_for_the_unknown(fields, documented, deployed):
    assert refused(r.too_short_for_unknown, task(**fields), maxtime_s=24 * HOURS - 1) is documented
    assert not refused(r.too_short_for_unknown, task(**fields), maxtime_s=24 * HOURS)
    assert refused(r.too_short_for_unknown, task(**fields), "deployed", maxtime_s=3600) is deployed
