"""Object stores: output of event ranges takes space there until it is merged, and merge jobs read it from there."""

import pytest

from simgrid_broker.engine import simulate
from simgrid_broker.errors import ScenarioError
from simgrid_broker.scenario import Scenario
from simgrid_broker.scenario.checks.cross_checks import remarks

EVENT_S, RANGE_BYTES, N_RANGES = 360.0, 1e9, 4
SLOW = dict(copy_archive=600, job_generator=300, job_generator_lacking=300, statistics=600, setupper=300, adder=300)
STREAM = "workload.campaigns.ranges."


def plan(**values):
    """One input of four ranges, which run in queue A of the nucleus; their output lies in STORE at O. M and O merge."""
    stream = dict(name="ranges", corecount=1, events_per_job=N_RANGES, hs06sec_per_event=10 * EVENT_S, work_spread=0,
                  cpu_efficiency=1, cputime_ratio=0.01, jobs_per_task=1, backlog=1, failure_rate=0, basewalltime=0,
                  max_attempt=3, memory_per_core=500, output_per_event=RANGE_BYTES, eventService=True,
                  nEventsPerWorker=1, noAutoPause=True)
    queue = dict(capability="score", corecount=1, timefloor=0)
    disks = {name: dict(site=name, total=1e15, free=1e15) for name in "AO"}
    return Scenario.from_dict(dict(
        name="stores", duration="12h", agents=SLOW, shares=[dict(name="All", value=1)],
        resource_types=dict(SCORE=dict(mincore=1, maxcore=1)), workload=dict(campaigns=[stream]),
        grid=dict(sites={name: dict(tier=1, cores=40, nucleus=name == "A", failure_rate=0, stage_latency=0)
                         for name in "AO"},
                  queues=dict(A=queue | dict(atlas_site="A", jobseed="es", objectstores="STORE"),
                              M=queue | dict(atlas_site="A"), O=queue | dict(atlas_site="O")),
                  storages=disks | dict(STORE=dict(site="O", type="OS_ES", total=1e15, free=1e15))))
    ).with_values(values)


def space_of_store(run):
    """Free space of STORE at each sample, bytes."""
    rows = run.table("storages", ["time_s", "storage", "free_bytes"])
    return rows[rows.storage == "STORE"].free_bytes


def merge_jobs(run):
    """Merge jobs that have finished."""
    return run.jobs[(run.jobs.n_chunks == 0) & (run.jobs.status == "finished")]


@pytest.mark.rule("Jobsets.make_merge", "store_range", "delete_events")
@pytest.mark.parametrize(("values", "queue", "moves"), [
    pytest.param({}, "M", {("O", "A")}, id="in the nucleus of the task, which reads the store"),
    pytest.param({STREAM + "mergeEsOnOS": True}, "O", {("O", "A")}, id="at the object store, from which output moves"),
    pytest.param({STREAM + "mergeEsOnOS": True, "grid.queues.A.catchall": "localEsMergeNC"}, "A",
                 {("O", "A")}, id="at the queue of the consumer"),
    pytest.param({STREAM + "mergeEsOnOS": True, "grid.queues.A.objectstores": None}, "M", set(),
                 id="from the site without an object store")])
def test_events_are_merged_where_the_rules_say(tmp_path, values, queue, moves):
    run = simulate(plan(**values), folder=tmp_path / "run", validate=True)
    merge, free = merge_jobs(run), space_of_store(run)
    assert run.tasks.status.tolist() == ["done"] and merge.queue.tolist() == [queue]
    transfers = run.table("transfers")
    assert set(zip(transfers.source, transfers.destination, strict=True)) == moves
    held = 0 if ("grid.queues.A.objectstores" in values) else N_RANGES * RANGE_BYTES
    assert free.min() == 1e15 - held and free.iloc[-1] == 1e15, "space is taken until the output is merged"


@pytest.mark.rule("store_range")
@pytest.mark.parametrize(("values", "n_failed"), [
    pytest.param({}, 0, id="room for all"),
    pytest.param({"grid.storages.STORE.free": N_RANGES * RANGE_BYTES}, 0, id="room for exactly these"),
    pytest.param({"grid.storages.STORE.free": N_RANGES * RANGE_BYTES - 1}, 1, id="one byte less"),
    pytest.param({"grid.storages.STORE.write_wan": "OFF"}, N_RANGES, id="closed to queues of other sites"),
    pytest.param({"grid.storages.STORE.write_lan": "OFF"}, 0, id="closed to those of its own"),
    pytest.param({"incidents": [dict(at=0, what="storage_outage", storage="STORE", until="11h")]}, N_RANGES,
                 id="outage")])
def test_an_upload_that_fails_fails_the_range(tmp_path, values, n_failed):
    """With one attempt at a range and at an input, what is left fails the job, and its output leaves the store."""
    run = simulate(plan(**{STREAM + "maxAttemptES": 1, STREAM + "max_attempt": 1} | values), folder=tmp_path / "run",
                   validate=True)
    ended = run.event_service[run.event_service.kind != "merge"]
    assert ended.ranges.sum() == N_RANGES - n_failed
    assert run.tasks.status.item() == ("done" if n_failed == 0 else "failed")
    free = space_of_store(run)
    assert free.iloc[-1] == free.iloc[0], "nothing stays there"


@pytest.mark.rule("store_range", "delete_events")
@pytest.mark.parametrize("keeps", [False, True], ids=["discarded", "notDiscardEvents"])
def test_a_store_fills_up_and_is_emptied(tmp_path, keeps):
    """Inputs need four times the room: ranges fail while it is full, and are done when others are merged or killed."""
    run = simulate(plan(**{
        "duration": "16h", "grid.storages.STORE.free": 20 * RANGE_BYTES, STREAM + "jobs_per_task": 10,
        STREAM + "backlog": 2, STREAM + "nEsConsumers": 2, STREAM + "maxAttemptES": 20, STREAM + "max_attempt": 20,
        STREAM + "maxAttemptEsJob": 20, STREAM + "notDiscardEvents": keeps, STREAM + "mergeEsOnOS": True,
        "grid.queues.A.eviction_rate": 0.5,
        "incidents": [dict(at="40 min", what="storage_outage", storage="STORE", until="60 min"),
                      dict(at="70 min", what="task_command", task=2, command="reassign"),
                      dict(at="2h", what="site_outage", site="O", until="150 min")]}), folder=tmp_path / "run",
        validate=True)
    free, ended = space_of_store(run), run.event_service[run.event_service.kind != "merge"]
    assert (run.tasks.status == "done").all() and set(merge_jobs(run).queue) == {"O"}
    assert free.min() == 0 and free.iloc[-1] == 20 * RANGE_BYTES
    assert ended.ranges.sum() >= 2 * 10 * N_RANGES and ended.kept_s.sum() < ended.walltime_s.sum()


STORE, QUEUE = "grid.storages.STORE.", "grid.queues.A."


@pytest.mark.parametrize(("values", "says"), [
    pytest.param({STREAM + "eventService": False, STREAM + "mergeEsOnOS": True}, "consumers need eventService",
                 id="no event service"),
    pytest.param({QUEUE + "objectstores": "STROE"}, "no storage with type OS_ES has this name.*STORE", id="misspelt"),
    pytest.param({QUEUE + "objectstores": "A"}, "no storage with type OS_ES has this name", id="a DATADISK"),
    pytest.param({QUEUE + "endpoints": [dict(storage="STORE")]}, "takes events alone", id="endpoint of jobs"),
    pytest.param({"grid.sites.O.storage": "STORE"}, "takes events alone", id="storage of a site"),
    pytest.param({"data.datasets": dict(mc=dict(files=1, bytes=1, replicas=[dict(storage="STORE")]))},
                 "takes events alone", id="replica"),
    pytest.param({"data.datasets": dict(mc=dict(files=1, bytes=1, replicas=[dict(storage="A")])), "incidents": [
        dict(at=0, what="replica_added", storage="STORE", dataset="mc")]}, "takes events alone", id="new replica"),
    pytest.param({STORE + "tape": True}, "not on tape", id="tape")])
def test_what_an_object_store_does_not_take_is_refused(values, says):
    with pytest.raises(ScenarioError, match=f"(?s){says}"):
        plan(**values)


@pytest.mark.parametrize(("values", "says"), [
    pytest.param({}, None, id="nothing"),
    pytest.param({QUEUE + "objectstores": None}, "stays empty", id="named by no queue"),
    pytest.param({QUEUE + "objectstores": None, STREAM + "mergeEsOnOS": True}, "mergeEsOnOS of 'ranges' has no effect",
                 id="merging at none"),
    pytest.param({STREAM + "eventService": False, STREAM + "nEventsPerWorker": 0}, "objectstores of A has no effect",
                 id="no events"),
    pytest.param({STORE + "read_wan": "OFF"}, "read_wan of object store 'STORE' has no effect", id="status of reading"),
    pytest.param({"incidents": [dict(at=0, what="storage_status", storage="STORE", activity="read_lan", status="OFF")]},
                 "read_lan of object store 'STORE' has no effect", id="later"),
    pytest.param({STORE + "door_in": 1e9}, "door_in of object store 'STORE' has no effect", id="door")])
def test_what_has_no_effect_is_remarked(values, says):
    given = [one for one in remarks(plan(**values)) if "bject" in one or "mergeEsOnOS" in one]
    assert any(says in one for one in given) if says else not given
