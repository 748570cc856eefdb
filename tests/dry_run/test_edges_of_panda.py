"""Values at the edge of PanDA's rules, as the deployed edition decides about them on a small grid."""

import pytest
from builders import scenario

from simgrid_broker.dry_run import broker
from simgrid_broker.scenario import Snapshot
from simgrid_broker.world.queue_tables import site_table

FILES = {f"f{number}": dict(bytes=1e9) for number in range(4)}
WHOLE = dict(files=4, of_files=4, bytes=4e9, of_bytes=4e9)
TASK = dict(corecount=1, n_jobs=4, ramunit="MB", ramcount=3000, workdiskcount=0, basewalltime=0, splitting=dict(
    nFilesPerJob=1))
JOBS = dict(brokerage="job_brokerage", nucleus="HERE")


def tags(task, there=None):
    """Tag of each candidate, None = kept, of a task with one dataset; there: what is said of the queue at THERE."""
    queues = {site: dict(atlas_site=site, corecount=1, capability="score", maxtime="96h") for site in ("HERE", "THERE")}
    queues["THERE"] |= there or {}
    data = {"d": dict(files=FILES, n_files=4, bytes=4e9, replicas={"HERE_DATADISK": WHOLE})}
    decision = broker(Snapshot.from_dict(dict(
        edition="deployed", shares=[dict(name="Share", value=1)], tasks={1: TASK | dict(datasets=data) | task},
        queues={name: dict(n_pilot=9) for name in queues},
        grid=dict(sites={site: dict(cores=0, nucleus=site == "HERE") for site in queues}, queues=queues,
                  storages={f"{site}_DATADISK": dict(site=site, total=9e15, free=5e15) for site in queues}))))
    return {each.name: each.tag for each in decision.candidates}


def test_a_site_is_bare_and_has_a_secondary_nucleus_as_its_first_queue_for_production_says():
    said = "bareNucleus=allow,secondaryNucleus=B"
    plan = scenario({"A": {}, "B": {}}, {
        "A_USERS": dict(atlas_site="A", type="analysis", catchall="bareNucleus=only"),
        "A_FIRST": dict(atlas_site="A", catchall=said), "A_NEXT": dict(atlas_site="A", catchall="bareNucleus=only"),
        "B_FIRST": dict(atlas_site="B"), "B_NEXT": dict(atlas_site="B", catchall=said)},
        {site: dict(site=site) for site in "AB"})
    table = site_table(plan.grid)
    assert table["bare_nucleus"].tolist() == [1, 0] and table["secondary_nucleus"].tolist() == [1, -1]


@pytest.mark.parametrize(("maxrss", "tag"), [(0, None), (4000, "-lowmemory")])
def test_no_memory_limit_of_a_unified_queue_is_none(maxrss, tag):
    queue = dict(capability="ucore", maxrss=maxrss, type="unified")
    assert tags(JOBS, queue)["THERE/SCORE"] == tag


@pytest.mark.parametrize(("jobseed", "tag"), [("std", "-es"), ("", None), ("all", None), ("es", None)])
def test_a_queue_without_jobseed_takes_event_service(jobseed, tag):
    assert tags(JOBS | dict(eventService=True), dict(jobseed=jobseed))["THERE"] == tag


def test_a_queue_that_lists_no_storage_has_none():
    assert tags(JOBS)["THERE"] is None
    assert tags(JOBS, dict(endpoints=[]))["THERE"] == "-read_lan_blacklist"


def test_the_parent_of_one_preassigned_unified_queue_is_a_candidate():
    found = tags(JOBS | dict(site=["THERE"]), dict(capability="ucore", type="unified"))
    assert "THERE" in found and found["THERE"] is None

