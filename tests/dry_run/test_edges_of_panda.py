"""Values at the edge of PanDA's rules, as the deployed edition decides about them on a small grid."""

import pytest
from builders import scenario

from simgrid_broker.advice import remarks
from simgrid_broker.dry_run import broker
from simgrid_broker.errors import SnapshotError
from simgrid_broker.scenario import Snapshot
from simgrid_broker.world.queue_tables import site_table

FILES = {f"f{number}": dict(bytes=1e9) for number in range(4)}
WHOLE = dict(files=4, of_files=4, bytes=4e9, of_bytes=4e9)
TASK = dict(corecount=1, n_jobs=4, ramunit="MB", ramcount=3000, workdiskcount=0, basewalltime=0, splitting=dict(
    nFilesPerJob=1))
JOBS = dict(brokerage="job_brokerage", nucleus="HERE")


def snapshot_of(task, there=None, **more):
    """A task with one dataset at two sites; there: what is said of the queue at THERE; more: keys of the snapshot."""
    queues = {site: dict(atlas_site=site, corecount=1, capability="score", maxtime="96h") for site in ("HERE", "THERE")}
    queues["THERE"] |= there or {}
    data = {"d": dict(files=FILES, n_files=4, bytes=4e9, replicas={"HERE_DATADISK": WHOLE})}
    return Snapshot.from_dict(dict(
        edition="deployed", shares=[dict(name="Share", value=1)], tasks={1: TASK | dict(datasets=data) | task},
        queues={name: dict(n_pilot=9) for name in queues},
        grid=dict(sites={site: dict(cores=0, nucleus=site == "HERE") for site in queues}, queues=queues,
                  storages={f"{site}_DATADISK": dict(site=site, total=9e15, free=5e15) for site in queues})) | more)


def tags(task, there=None, **more):
    """Tag of each candidate, None = kept; arguments as for `snapshot_of`."""
    return {each.name: each.tag for each in broker(snapshot_of(task, there, **more)).candidates}


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



def test_a_task_that_no_resource_type_fits_is_decided_on_as_one_of_none():
    """Of a lenient snapshot alone: slots for any type are its own, and jobs of no type that is there are counted."""
    small = dict(resource_types={"SCORE": dict(mincore=1, maxcore=1, maxrampercore=1000)})
    with pytest.raises(SnapshotError, match="no resource type fits it"):
        tags(JOBS, **small)
    queues = {name: dict(n_pilot=9, slot_requests=[dict(slots=of_any), dict(resource_type="SCORE", slots=of_type)])
              for name, of_any, of_type in (("HERE", 0, 1), ("THERE", 1, 0))}
    jobs = [dict(queue=name, share="Share", resource_type="Undefined", starting=90) for name in queues]
    loose = small | dict(strict=False, queues=queues, jobs=jobs)
    assert tags(JOBS | dict(priority=100), **loose) == {"HERE": None, "THERE": "-cap"}    # 0: starting jobs run
    assert any("no resource type fits a task" in remark and "tasks.1" in remark
               for remark in remarks(snapshot_of(JOBS, **loose)))
    assert not any("no resource type" in remark for remark in remarks(snapshot_of(JOBS, strict=False)))
