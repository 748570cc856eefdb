"""The world of a snapshot: every number finds its place, and no column of a task is forgotten."""

from pathlib import Path

import numpy as np
import pytest

from simgrid_broker.errors import SnapshotError
from simgrid_broker.names import FullChain, JobStatus, TaskStatus
from simgrid_broker.scenario import Snapshot, load_snapshot
from simgrid_broker.scenario.snapshot import SnapshotTask
from simgrid_broker.schema import TASKS
from simgrid_broker.schema.attribute import columns_of
from simgrid_broker.schema.part import LARGEST_WHOLE
from simgrid_broker.units import HOUR
from simgrid_broker.views import JobInput
from simgrid_broker.world.snapshot.reading import statistics_of, world_of
from simgrid_broker.world.views import observe
from simgrid_broker.world.views.nuclei import Burden

EXAMPLE = Path(__file__).parents[2] / "scenarios" / "snapshot.yaml"
ALSO_READ = {"jeditaskid", "luck", "n_nuclei", "parent", "status", "frozen_s", "resource_type", "taskpriority"}
"""Columns with a way of their own from a snapshot."""
OF_A_RUN = {"user_row", "user_parameters", "throttled_by", "throttled_total_s", "priority_boost",
            "arrival_s", "modification_s", "next_chunk", "n_retry", "n_alive", "n_attempts",
            "max_attempt", "max_failure", "retry_class", "server_retries", "old_status", "failed_attempts",
            "errordialog", "lost_walltime_s", "used_hs06s", "work_queue", "first_record",
            "memory_leak_core", "memory_leak_x2", "mergeramcount", "mergewalltime"}
"""Columns that only a run needs."""


def world_and_snapshot(**values):
    """World of the example with some values changed."""
    snapshot = load_snapshot(EXAMPLE).with_values(values)
    return world_of(snapshot), snapshot


def test_every_column_of_a_task_that_brokers_may_read_is_in_a_snapshot():
    hidden = {column.name for column in TASKS.columns if column.hidden}
    told = {column.name for column in columns_of(SnapshotTask)} | ALSO_READ
    assert told | OF_A_RUN | hidden == {column.name for column in TASKS.columns} and not told & OF_A_RUN


def test_jobs_and_cores():
    world, _ = world_and_snapshot(**{"queues.NORTH.cores_running": 480})
    counts, queues = world.arrays.counts, world.vocabularies["queues"]
    centre, production, mcore = queues.index("CENTRE"), 1, 1
    assert counts[centre, production, mcore, JobStatus.ASSIGNED] == 40
    assert counts.sum() == 3690 and counts[..., JobStatus.PENDING].sum() == 0
    assert world.arrays.running_cores[centre, production, mcore] == 420 * 8        # slots of the queue's eight cores
    assert world.arrays.running_cores.sum(axis=(1, 2)).tolist() == [3860, 0, 1740, 480, 640, 120]      # or as told


def test_sums_of_counters_of_a_lenient_snapshot_stay_within_the_tables():
    # counters above the largest number are read as the largest, to which the other counters still add
    world, snapshot = world_and_snapshot(**{
        "strict": False, "jobs": [dict(queue="NORTH", share="Production", resource_type="MCORE", running=10**12)],
        "links": [dict(source="WEST", destination="NORTH", queued_files=10**12, queued_express=47)],
        "queues.NORTH.workers": {kind: dict(submitted=10**12, running=47) for kind in ("SCORE", "MCORE")}})
    queue, arrays = world.vocabularies["queues"].index("NORTH"), world.arrays
    assert arrays.counts[queue].max() == arrays.running_cores[queue].max() == LARGEST_WHOLE
    first = arrays.pseudo_queues[arrays.pseudo_queues["queue"] == queue][0]
    assert (first["n_submitted"], first["n_running"]) == (LARGEST_WHOLE, 0)
    assert arrays.transfers["n_files"].max() == LARGEST_WHOLE
    assert statistics_of(world, snapshot).workers[queue] == LARGEST_WHOLE


def test_statistics_have_what_was_placed():
    world, snapshot = world_and_snapshot()
    statistics = statistics_of(world, snapshot)
    north = world.vocabularies["queues"].index("NORTH")
    assert statistics.placed.sum() == statistics.placed[1, north] == 25
    assert statistics.taken_at == 129600 and statistics.workers[north] == 140


@pytest.mark.rule("inactive")
def test_activity_of_queues():
    world, snapshot = world_and_snapshot(**{
        "queues.NORTH.laststart": "33h", "queues.EAST.n_pilot": None, "queues.WEST.diskio": 900,
        "queues.EAST.diskio": 0, "queues.CENTRE.transferring_unwritable": 3, "queues.SOUTH": None})
    known = statistics_of(world, snapshot).activity
    assert known["n_pilot"].tolist() == [6100, -1, 3300, 700, -1, -1]
    assert known["idle_s"].tolist() == [0, 0, 0, 3 * HOUR, 0, 0]               # unknown starts were just now
    assert known["diskio"] == pytest.approx([np.nan, np.nan, 900, np.nan, np.nan, np.nan], nan_ok=True)
    assert known["transferring_unwritable"].tolist() == [3, 0, 0, 0, 0, 0]
    assert known["transferring"].tolist() == [25, 0, 10, 5, 0, 0]


@pytest.mark.rule("inactive")
def test_statistics_may_be_older_than_the_snapshot():
    world, snapshot = world_and_snapshot(statistics_at=129550, **{"queues.NORTH.laststart": 129550 - 7200})
    statistics = statistics_of(world, snapshot)
    assert statistics.taken_at == 129550 and statistics.activity["idle_s"].max() == 7200


def test_traffic_and_work_burden_the_nuclei():
    world, _ = world_and_snapshot(**{"nuclei.NORTH": {"queued_files": 7}, "links[3].queued_express": 5,
                                     "edition": "deployed"})
    burden = Burden(world, np.arange(len(world.arrays.tasks)))
    sites = world.vocabularies["sites"]
    assert burden.files.tolist() == [305, 240, 7, 0, 0] and burden.bytes.tolist() == [150e9, 120e9, 0, 0, 0]
    assert burden.work.total[sites.index("WEST")] == 3e9 + 500 * 100 * 3000         # and what task 102 owes
    for priority, expected in ((500, 9e9), (501, 0)):
        world.arrays.tasks["share"][0], world.arrays.tasks["priority"][0] = 1, priority
        assert burden.of(0)[1, sites.index("CENTRE")] == expected


@pytest.mark.rule("network")
def test_links_as_brokers_know_them():
    world, _ = world_and_snapshot(**{"links[0].mbps_hour": None})
    sites = world.vocabularies["sites"]
    to_west = world.network.table[sites.index("WEST")]
    north, south = to_west[sites.index("NORTH")], to_west[sites.index("SOUTH")]
    assert (north["queued_files"], north["mbps_day"], north["closeness"]) == (120, 22, 2) and north["known"]
    assert np.isnan(north["mbps_hour"]) and not south["known"]         # of which the snapshot says nothing
    assert world.network.table[sites.index("CENTRE")][sites.index("SOUTH")]["known"]      # which has no storage


def parts_at_sites(world, row):
    """Parts of a task's input on disk, and on disk or tape, at queues of which each site has one."""
    return JobInput(tuple(observe.replicas(world, row)), (), np.arange(len(world.arrays.sites))).parts


def test_input_on_disk_and_tape():
    world, _ = world_and_snapshot()
    disk, anywhere = parts_at_sites(world, 0)
    assert disk.tolist() == pytest.approx([1, 0.3, 0, 0, 0]) and anywhere.tolist() == [1, 1, 0, 0, 0]


def test_input_may_lie_at_more_sites_than_a_scenario_can_say():
    here = {site: {"disk": 0.5, "tape": 1} for site in ("CENTRE", "WEST", "NORTH", "SOUTH", "EAST")}
    world, _ = world_and_snapshot(**{"tasks.102.input": here})
    assert parts_at_sites(world, 1)[0].tolist() == [0.5] * 5


@pytest.mark.rule("t1weight")
def test_a_task_as_the_broker_sees_it():
    said = {"tasks.102.frozen_for": "2h", "tasks.102.parent": {"nucleus": "WEST", "fullChain": "only"},
            "tasks.102.t1Weight": -1, "tasks.102.architecture": "#x86_64", "tasks.102.onlyTagsForFC": True,
            "tasks.102.gshare": "Analysis"}
    world, _ = world_and_snapshot(**said)
    task = observe.task(world, 1)
    assert (task.jeditaskid, task.n_jobs, task.nucleus, task.frozen_for_s) == (102, 500, 1, 7200)
    assert (task.parent_nucleus, task.parent_fullchain, task.t1weight) == (1, FullChain.ONLY, -1)
    assert (task.architecture, task.only_tags_for_fc, task.gshare) == ("#x86_64", True, "Analysis")
    assert [TaskStatus(status) for status in world.arrays.tasks["status"][[0, 1, -1]]] == [
        TaskStatus.ASSIGNING, TaskStatus.READY, TaskStatus.DONE]


def test_output_lies_where_the_storage_mapping_says():
    def seen(**values):
        world, snapshot = world_and_snapshot(**values)
        centre = world.vocabularies["sites"].index("CENTRE")
        link = observe.stats(world, statistics_of(world, snapshot), 1, centre).link
        return {name: (bool(row["at_nucleus"]), bool(row["unmapped"]))
                for name, row in zip(world.vocabularies["queues"], link, strict=True)}
    plain = seen()
    assert [name for name, (there, _) in plain.items() if there] == ["CENTRE", "CENTRE_TEST"]
    assert not any(unmapped for _, unmapped in plain.values())
    told = seen(storage_mapping={"NORTH": "CENTRE", "WEST": "WEST"})
    assert told["NORTH"] == (True, False) and told["WEST"] == (False, False)
    assert all(told[name] == (False, True) for name in told.keys() - {"NORTH", "WEST"})


def test_output_on_its_way_by_nucleus_spares_what_waits_for_nuclei_that_take_none():
    for status, spared in (("ON", 0), ("OFF", 7), ("TEST", 7), ("", 0)):
        world, snapshot = world_and_snapshot(**{
            "queues.NORTH.transferring_to": {"CENTRE": 7, "WEST": 2},
            "grid.storages.CENTRE_DATADISK.write_wan": status})
        north = world.vocabularies["queues"].index("NORTH")
        assert statistics_of(world, snapshot).activity["transferring_unwritable"][north] == spared


@pytest.mark.parametrize(("files", "events", "at_once"), [
    pytest.param(4, 0, 4, id="files of a job"), pytest.param(4, 50, 1, id="events come first"),
    pytest.param(0, 0, 1, id="nothing said")])
def test_the_smallest_job_of_a_task_with_files(files, events, at_once):
    world, _ = world_and_snapshot(**{"tasks.102.splitting": {"nFilesPerJob": files, "nEventsPerJob": events},
                                     "tasks.102.files_per_job": 1, "tasks.102.events_per_job": 10,
                                     "tasks.102.input_per_job": "1 GB", "tasks.102.output_per_job": "2 GB"})
    view = observe.task(world, 1)
    assert (view.n_files_per_job, view.n_events_per_job) == (at_once, 10 * at_once)
    assert (view.input_bytes_per_job, view.output_bytes_per_job) == (1e9 * at_once, 2e9 * at_once)


def test_a_task_may_have_a_name():
    snapshot = load_snapshot(EXAMPLE)
    values = snapshot.to_dict()
    values["tasks"] = {"102-merge-1": values["tasks"]["102"] | {"jeditaskid": 102}}
    assert world_of(Snapshot.from_dict(values)).arrays.tasks["jeditaskid"][0] == 102
    del values["tasks"]["102-merge-1"]["jeditaskid"]
    with pytest.raises(SnapshotError, match="expected a jeditaskid"):
        Snapshot.from_dict(values)
