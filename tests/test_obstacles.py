"""Work that no queue takes is remarked, with the rules that refuse it and the nearest limit."""

import pytest
from builders import QUEUE, SITE, STORAGE

from simgrid_broker.advice import work_that_no_queue_takes
from simgrid_broker.dry_run import broker
from simgrid_broker.scenario import Scenario, Snapshot

GB = 1000
EDITIONS = pytest.mark.parametrize("edition", ["documented", "deployed"])
BOTH = "ONE", "TWO"
DISK = {"DISK": STORAGE | dict(site="HERE")}
TYPES = dict(SCORE=dict(mincore=1, maxcore=1), MCORE=dict(mincore=2))


def said(stream=None, queues=None, **others):
    """Remarks on a stream of single-core jobs of 1000 s on two queues, each plain but for what is said of it."""
    queues = queues or {}
    plain = dict(maxrss="4 GB", maxtime="48h", maxwdir="20 GB")
    grid = dict(sites={"HERE": SITE | dict(cores=80)}, storages=DISK,
                queues={name: QUEUE | dict(atlas_site="HERE") | plain | queues.get(name, {}) for name in BOTH})
    campaign = dict(name="mc", corecount=1, events_per_job=1, hs06sec_per_event=10_000, cpuefficiency=100,
                    basewalltime=0, ramunit="MB", ramcount=1000) | (stream or {})
    values = dict(name="test", duration="10d", shares=[dict(name="All", value=1)], resource_types=TYPES, grid=grid,
                  workload=dict(campaigns=[campaign])) | others
    return list(work_that_no_queue_takes(Scenario.from_dict(values)))


@EDITIONS
def test_plain_work_has_a_queue(edition):
    assert said(edition=edition) == []


@EDITIONS
@pytest.mark.parametrize(("stream", "queues", "tag", "nearest"), [
    pytest.param(dict(ramcount=6 * GB), {"TWO": dict(maxrss="5 GB")}, "-lowmemory",
                 "TWO, 5.4 GB needed, maxrss 5.0 GB", id="memory"),
    pytest.param({}, {"ONE": dict(minrss="3 GB"), "TWO": dict(minrss="2 GB")}, "-highmemory",
                 "TWO, 900 MB needed, minrss 2.0 GB", id="queues for jobs with more memory"),
    pytest.param(dict(hs06sec_per_event=4e6), {"TWO": dict(maxtime="40h")}, "-shortwalltime", "ONE, ", id="wall time"),
    pytest.param(dict(cputime_ratio=0), {"ONE": dict(maxtime="20h"), "TWO": dict(maxtime="23h")}, "-min_walltime",
                 "TWO, ", id="an unknown wall time needs a day"),
    pytest.param(dict(useScout=True), {"ONE": dict(maxtime="20h"), "TWO": dict(maxtime="23h")}, "-scout_walltime",
                 "TWO, ", id="scouts need a day"),
    pytest.param({}, {name: dict(mintime="1h") for name in BOTH}, "-longwalltime", "ONE, ",
                 id="queues for longer jobs"),
    pytest.param(dict(output_per_job="30 GB"), {"TWO": dict(maxwdir="25 GB")}, "-disk", "TWO, ", id="scratch"),
    pytest.param(dict(corecount=8), {}, "-cpucore", "ONE, slots of 1 core, jobs of 8 cores", id="cores"),
    pytest.param(dict(prodsourcelabel="managed"), {name: dict(type="analysis") for name in BOTH},
                 "-capability", None, id="queues for analysis"),
    pytest.param({}, {name: dict(fairsharepolicy="type=simul:0%") for name in BOTH}, "-zeroshare", None,
                 id="zero share"),
    pytest.param(dict(ipConnectivity="full"), {name: dict(wnconnectivity="none") for name in BOTH}, "-network",
                 None, id="network"),
    pytest.param({}, {name: dict(status="test") for name in BOTH}, "-status", None, id="no queue is open"),
])
def test_the_rule_and_the_nearest_limit_are_named(edition, stream, queues, tag, nearest):
    remark, = said(stream, queues, edition=edition)
    assert remark.startswith(f"No queue can run a typical task of 'mc': {tag} refuses 2 candidate(s)")
    assert f"nearest {nearest}" in remark if nearest else "nearest" not in remark


@EDITIONS
@pytest.mark.parametrize(("stream", "queues"), [
    pytest.param(dict(ramcount=6 * GB), {"TWO": dict(maxrss="5400 MB")}, id="memory just enough"),
    pytest.param(dict(ramcount=9 * GB), {"TWO": dict(maxrss=0)}, id="0 is no limit"),
    pytest.param(dict(corecount=8), {"TWO": dict(corecount=8, maxrss="32 GB")}, id="one queue of many cores"),
    pytest.param({}, {"ONE": dict(status="offline"), "TWO": dict(status="offline")}, id="an incident opens a queue"),
    pytest.param(dict(hs06sec_per_event=dict(median=4e4, sigma=5)), {}, id="tasks that are far from the typical one"),
])
def test_one_queue_is_enough(edition, stream, queues):
    opens = [dict(at="1h", what="queue_status", queue="TWO", status="online")] * ("ONE" in queues)
    assert said(stream, queues, edition=edition, incidents=opens) == []


def test_every_rule_that_refuses_is_told():
    remark, = said(dict(ramcount=6 * GB), {"TWO": dict(maxrss="9 GB", status="brokeroff")})
    assert remark == ("No queue can run a typical task of 'mc': -lowmemory refuses 1 candidate(s), nearest ONE, 5.4 GB "
                      "needed, maxrss 4.0 GB; -status refuses 1 candidate(s) (TWO).")


def test_a_task_without_a_resource_type():
    remark, = said(dict(corecount=8), resource_types=dict(SCORE=dict(mincore=1, maxcore=1)))
    assert remark == ("No resource type takes a typical task of 'mc', with 8 core(s) and 1000 MB; it will be broken.")


def test_other_brokers_are_not_judged():
    assert said(dict(ramcount=6 * GB), policies=dict(job_brokerage="own")) == []


@EDITIONS
def test_the_dry_run_refuses_for_the_same_reason(edition):
    for limits in (dict(maxrss="500 MB"), dict(maxtime="10 s"), dict(maxwdir="1 GB"), dict(mintime="1d")):
        remark, = said(queues={"ONE": limits, "TWO": limits}, edition=edition)
        queue = QUEUE | dict(atlas_site="HERE", maxrss="4 GB", maxtime="48h", maxwdir="20 GB") | limits
        task = dict(n_jobs=1, corecount=1, events_per_job=1, cputime=8500, cpuefficiency=100, basewalltime=0,
                    ramunit="MB", ramcount=1000, brokerage="job_brokerage", nucleus="HERE")
        answer = broker(Snapshot.from_dict(dict(
            edition=edition, shares=[dict(name="All", value=1)], resource_types=TYPES, tasks={"1": task},
            grid=dict(sites={"HERE": SITE}, storages=DISK, queues={"ONE": queue}))))
        one = answer.candidates[0]
        assert f"{one.tag} refuses 2 candidate(s), nearest ONE, {one.reason}" in remark


def of_users(user=None, queues=None, **others):
    """Remarks on a group of users whose jobs are the plain ones; their queues are for analysis."""
    stream = dict(name="ann", corecount=1, events_per_job=1, hs06sec_per_event=10_000, cpuefficiency=100,
                  basewalltime=0, ramunit="MB", ramcount=1000, offered_cores=10, users=1) | (user or {})
    for_analysis = {name: dict(type="analysis") | (queues or {}).get(name, {}) for name in BOTH}
    return said(queues=for_analysis, workload=dict(users=[stream]), **others)


@EDITIONS
@pytest.mark.parametrize(("user", "queues", "tag"), [
    pytest.param({}, {}, None, id="queues for analysis"),
    pytest.param({}, {name: dict(type="production") for name in BOTH}, "-capability", id="queues for production"),
    pytest.param(dict(includedSite=["T*"]), {"TWO": dict(maxrss="500 MB")}, "-notincluded", id="includedSite"),
    pytest.param(dict(excludedSite=["O*", "TWO"]), {}, "-excluded", id="excludedSite"),
    pytest.param(dict(ramcount=6 * GB), {}, "-lowmemory", id="memory"),
    pytest.param(dict(hs06sec_per_event=4e6), {}, "-shortwalltime", id="wall time"),
    pytest.param(dict(output_per_job="30 GB"), {}, "-disk", id="scratch"),
])
def test_tasks_of_users_are_judged_by_analysis_brokerage(edition, user, queues, tag):
    remarks = of_users(user, queues, edition=edition)
    if tag is None:
        assert remarks == []
    else:
        assert remarks[0].startswith("No queue can run a typical task of 'ann': ")
        assert f"{tag} refuses " in remarks[0]


def test_own_analysis_brokerage_is_not_judged():
    assert of_users(dict(ramcount=6 * GB), policies=dict(analysis_brokerage="own")) == []
