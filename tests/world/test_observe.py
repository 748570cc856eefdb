"""What decisions see: sums over the counts as they were at the last refresh, tasks, input at sites."""

import numpy as np
import pytest
from builders import Bench, S, T, put_job, scenario, two_sites
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker.schema.grid import OFF
from simgrid_broker.world.data.replicas import add_replica_of
from simgrid_broker.world.jobs.counts import ENDED, take_snapshot, tally_ended
from simgrid_broker.world.queues.places import analysis_stores
from simgrid_broker.world.views import observe

SHARES = [dict(name="A", value=1), dict(name="B", value=1)]
TYPES = dict(SCORE=dict(mincore=1, maxcore=1), MCORE=dict(mincore=2))
QUEUES = {"U": dict(atlas_site="HERE", capability="ucore", corecount=8, workflow="pull_ups", maxrss=16_000),
          "P": dict(atlas_site="THERE", fairsharepolicy="type=simul:0%")}


def bench_of(*said) -> Bench:
    """Two sites, a unified queue HERE (pseudo-queues 0 and 1) and a plain one THERE (2); two shares, two types."""
    return Bench(two_sites(queues=QUEUES, shares=SHARES, resource_types=TYPES), *(said or ({},)))


PLACES = st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 1), st.sampled_from(list(S)))


@given(st.lists(PLACES, max_size=30))
def test_a_snapshot_sums_the_counts(jobs):
    bench = bench_of()
    for queue, share, kind, status in jobs:
        put_job(bench, status, queue=queue, share=share, resource_type=kind)
    snapshot = take_snapshot(bench.arrays, 5.0)
    counts = bench.arrays.counts
    assert np.array_equal(snapshot.by_share, counts.sum(axis=2).transpose(1, 2, 0))
    assert np.array_equal(snapshot.by_type, counts.sum(axis=0))
    assert np.array_equal(snapshot.placed, snapshot.by_share[:, S.PENDING])        # they go on counting as placed
    assert np.array_equal(snapshot.placed_by_type, np.array(snapshot.by_type)[:, :, S.PENDING])
    assert snapshot.taken_at == 5.0


def test_jobs_that_are_pending_count_as_placed():
    bench = bench_of(dict(n_jobs=9), dict(n_jobs=9, share=1, resource_type=1))
    for task, queue, jobs in ((0, 2, 3), (0, 0, 4), (1, 1, 5)):
        bench.make(jobs, task, queue)
    snapshot = take_snapshot(bench.arrays, 0.0)
    assert snapshot.placed.tolist() == [[4, 3], [5, 0]]                # by share and PanDA queue
    assert snapshot.placed_by_type.tolist() == [[7, 0], [0, 5]]


def test_a_snapshot_does_not_change_with_the_world():
    bench = bench_of()
    snapshot = take_snapshot(bench.arrays, 0.0, bench.arrays.counts.copy())
    put_job(bench, S.RUNNING)
    assert not snapshot.by_share.any() and not snapshot.by_queue.any()


def test_workers_of_a_queue_are_those_of_all_its_types():
    bench = bench_of()
    bench.fabric.submit_workers([0, 1, 2], [3, 4, 5], 0.0)
    assert take_snapshot(bench.arrays, 0.0).workers.tolist() == [7, 5]


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), st.sampled_from([S.FINISHED, S.CANCELLED]),
                          st.integers(0, 3)), max_size=9))
def test_ended_jobs_are_tallied_and_old_ones_forgotten(jobs):
    ended, done, known = np.array(jobs, ENDED), np.zeros((2, 3), np.int64), np.zeros((2, 3), bool)
    recent = [(owner, queue, status) for owner, queue, status, ended_s in jobs if ended_s > 1]
    left = ended[:tally_ended(ended, 1.0, done, known)]
    assert left[["owner", "queue", "status"]].tolist() == recent
    for owner, queue in np.ndindex(2, 3):
        of_cell = [status for *cell, status in recent if cell == [owner, queue]]
        assert (known[owner, queue], done[owner, queue]) == (bool(of_cell), of_cell.count(S.FINISHED))


def test_numbers_of_a_share_at_each_queue():
    bench = bench_of()
    for kind in (0, 1, 1):
        put_job(bench, S.RUNNING, resource_type=kind)
    put_job(bench, S.ACTIVATED, queue=1)
    put_job(bench, S.ASSIGNED, share=1)
    snapshot = take_snapshot(bench.arrays, 0.0)
    load = observe.stats(bench.world, snapshot, 0).load
    assert load["running"].tolist() == [3, 0] and load["activated"].tolist() == [0, 1]
    assert load["assigned"].tolist() == [0, 0] and load["running_of_type"].tolist() == [-1, -1]


def test_what_was_placed_since_the_snapshot_counts_in_every_table_of_the_share():
    bench = bench_of()
    snapshot = take_snapshot(bench.arrays, 0.0, bench.arrays.counts.copy())
    before = observe.stats(bench.world, snapshot, 0).load
    snapshot.place(0, 1, [(1, 4)])
    snapshot.place(1, 0, [(0, 9)])
    for load in (before, observe.stats(bench.world, snapshot, 0, resource_type=1).load):
        assert load["placed"].tolist() == [0, 4]
    assert snapshot.placed_by_type.tolist() == [[0, 4], [9, 0]]


def test_numbers_of_a_type():
    bench = bench_of()
    for kind, status in ((0, S.RUNNING), (1, S.RUNNING), (1, S.ACTIVATED), (1, S.ASSIGNED)):
        put_job(bench, status, resource_type=kind)
    snapshot = take_snapshot(bench.arrays, 0.0, bench.arrays.counts.copy())
    load = observe.stats(bench.world, snapshot, 0, resource_type=1).load
    assert load["running_of_type"].tolist() == [1, -1] and load["queued_of_type"].tolist() == [1, 0]
    assert load["assigned_of_type"].tolist() == [1, 0]


@pytest.mark.parametrize(("priorities", "expected"), [
    pytest.param((5, 7, 6), [1, 2, 0], id="the highest priority first"),
    pytest.param((5, 5, 5), [0, 1, 2], id="then in order of arrival"),
    pytest.param((-5, 0, -(2**31)), [1, 0, 2], id="also below 0"),
])
def test_tasks_by_work_queue(priorities, expected, monkeypatch):
    bench = bench_of({}, {}, {}, dict(share=1), {}, dict(label="user", status=T.READY))
    tasks, analysis = bench.arrays.tasks, np.array(bench.world.vocabularies["labels"]) == "user"
    tasks["status"][:4], tasks["status"][4], tasks["priority"][:3] = T.READY, T.PENDING, priorities
    for bits in (observe.KEY_BITS, 0):              # at 0 no key has room for every priority there may be
        monkeypatch.setattr(observe, "KEY_BITS", bits)
        production, users = observe.tasks_by_work_queue(bench.world, np.array([4, 5, 0, 1, 2, 3]), analysis).values()
        assert {key: rows.tolist() for key, rows in production.items()} == {(0, 0): expected, (1, 0): [3]}
        assert {key: rows.tolist() for key, rows in users.items()} == {(0, 0): [5]}, "analysis is apart"


@pytest.mark.parametrize("said", [dict(status=T.PENDING), dict(status=T.RUNNING, next_chunk=10)])
def test_tasks_without_input_or_on_hold_are_not_served(said):
    bench = bench_of({})
    for name, value in (dict(status=T.RUNNING, n_jobs=10) | said).items():
        bench.arrays.tasks[name] = value
    labels = np.zeros(len(bench.world.vocabularies["labels"]), bool)
    assert not any(observe.tasks_by_work_queue(bench.world, np.arange(1), labels).values())


@pytest.mark.parametrize(("types", "expected"), [
    pytest.param([0], (1, 2, 6, 1), id="one resource type"),
    pytest.param([0, 1], (2, 2, 7, 1), id="both of them"),
])
def test_numbers_of_a_work_queue(types, expected):
    bench = bench_of()
    for kind, status in ((0, S.RUNNING), (0, S.ASSIGNED), (0, S.ACTIVATED), (0, S.DEFINED), (0, S.WAITING),
                         (0, S.PENDING), (0, S.HOLDING), (1, S.RUNNING)):
        put_job(bench, status, resource_type=kind)
    snapshot = take_snapshot(bench.arrays, 0.0)
    snapshot.placed_by_type[0][:] = [5, 1]
    found = observe.work_queue_counts(snapshot, (0,), types)
    assert (found.running, found.not_running, found.defined, found.waiting) == expected


def test_queues_as_brokers_see_them():
    found = observe.queues(bench_of().world)
    assert found.names == ("U/SCORE", "U/MCORE", "P")
    assert found.queue.tolist() == [0, 0, 1] and found.site.tolist() == [0, 0, 1]
    assert found.corecount.tolist() == [1, 8, 1] and found.maxrss_mb.tolist() == [2000, 16_000, np.inf]
    assert found.slot_corecount.tolist() == [8, 8, 1] and found.pull_ups.tolist() == [True, True, False]
    assert found.fairsharepolicy == ("", "", "type=simul:0%")


def test_a_view_is_a_copy():
    bench = bench_of()
    found = observe.queues(bench.world)
    bench.arrays.queues["status"][:] = 3
    assert found.status.tolist() == [0, 0, 0]


def test_a_task_as_brokers_see_it():
    said = dict(label="user", working_group="AP_X", processing_type="pile", priority=7, corecount=0, n_jobs=10,
                n_input_files=3, input_bytes_per_job=2e9, cputime=5.0, workdiskcount_mb=500.0, nucleus=1)
    bench = bench_of(said)
    bench.arrays.tasks["n_finished"][0], bench.arrays.tasks["n_failed"][0] = 4, 1
    found = observe.task(bench.world, 0)
    assert found.total_input_bytes == 0                                # as long as no replica is known
    add_replica_of(bench.arrays, 0, 1, 1.0)
    found = observe.task(bench.world, 0)
    assert (found.prodsourcelabel, found.workinggroup, found.processingtype) == ("user", "AP_X", "pile")
    assert (found.gshare, found.currentpriority, found.corecount, found.nucleus) == ("A", 7, 0, 1)
    assert found.n_jobs == 5                                           # still to be made or finished
    assert (found.total_input_bytes, found.total_input_files) == (20e9, 30)
    assert (found.workdisk_bytes, found.cputime) == (500e6, 5.0)


@pytest.mark.parametrize(("frozen_s", "frozen_for_s"), [(np.nan, 0.0), (20.0, 80.0)])
def test_how_long_a_task_has_been_frozen(frozen_s, frozen_for_s):
    bench = bench_of()
    bench.run(100.0)
    bench.arrays.tasks["frozen_s"][0] = frozen_s
    assert observe.task(bench.world, 0).frozen_for_s == frozen_for_s


@pytest.mark.parametrize(("task", "fraction"), [
    pytest.param(dict(replicas={0: 1.0}, input_bytes_per_job=1.0), [1, 0], id="complete at one site"),
    pytest.param(dict(replicas={0: 1.0, 1: 0.25}, input_bytes_per_job=1.0), [1, 0.25], id="incomplete at another"),
    pytest.param(dict(replicas={0: 1.0}), None, id="no input"),
    pytest.param(dict(input_bytes_per_job=1.0), None, id="nothing is known of replicas"),
])
def test_input_at_the_queues(task, fraction):
    bench = bench_of(task)
    found = observe.job_input(bench.world, 0)
    assert (None if found is None else found.parts[0].tolist()) == fraction


def test_input_on_tape_is_not_on_disk():
    bench = bench_of(dict(replicas={0: 0.5, 1: 1.0}, input_bytes_per_job=1.0))
    bench.arrays.replicas["tape"][1] = 1
    disk, anywhere = observe.job_input(bench.world, 0).parts
    assert (disk.tolist(), anywhere.tolist()) == ([0.5, 0], [0.5, 1])


def test_locality_is_that_of_the_jobs_that_are_brokered():
    bench = bench_of(dict(replicas={0: 1.0, 1: 0.25}, input_bytes_per_job=8e9, n_input_files=3, n_jobs=100))
    fraction = observe.job_input(bench.world, 0)
    found = observe.locality(observe.task(bench.world, 0), fraction, 10)
    assert (found.total_bytes, found.total_files) == (80e9, 30)
    for part in (found.disk_bytes, found.disk_files, found.any_bytes, found.any_files):
        assert part.tolist() == [1, 0.25]


@pytest.mark.parametrize(("said", "inputs"), [
    pytest.param({}, 40, id="all of it"),
    pytest.param(dict(secondary_fraction=0.25), 40, id="secondary datasets too"),
    pytest.param(dict(secondary_fraction=0.25, taskbrokeronmaster=1), 30, id="the primary dataset alone"),
    pytest.param(dict(replicas={}), 0, id="none if no replica is known"),
])
def test_input_that_task_brokerage_counts(said, inputs):
    bench = bench_of(dict(replicas={0: 1.0}, n_jobs=40, input_bytes_per_job=1e9, n_input_files=2) | said)
    found = observe.task(bench.world, 0)
    assert (found.total_input_bytes, found.total_input_files) == (inputs * 1e9, inputs * 2)


@pytest.mark.parametrize(("parent", "expected"), [
    pytest.param(0, (-1, 0), id="no parent"),
    pytest.param(1, (1, 3), id="a parent with a nucleus"),
])
def test_what_a_task_knows_of_its_parent(parent, expected):
    bench = bench_of(dict(nucleus=1, fullchain=3), dict(parent=parent))
    found = observe.task(bench.world, 1)
    assert (found.parent_nucleus, found.parent_fullchain) == expected


@pytest.mark.rule("t1weight")
def test_parameters_of_a_task():
    found = observe.task(bench_of(dict(t1weight=-1, fullchain=2, inputprestaging=1)).world, 0)
    assert (found.t1weight, found.fullchain, found.inputprestaging) == (-1, 2, True)


def before_merging(bench, tasks, planned=0, known=()):
    """Jobs before merging, and which tasks have other work; planned, known: by default no job, and no task so far."""
    arrays, work, jobs = bench.arrays, np.empty(len(tasks), bool), np.empty((6, 9), np.int64)
    known = known or (np.full(len(arrays.tasks), -1), np.zeros(len(arrays.tasks), bool))
    n = observe.jobs_before_merging(arrays, np.array(tasks), np.zeros(len(arrays.jobs), np.int64) + planned, known,
                                    work, jobs)
    return jobs[:, :n], work


def test_jobs_before_merging_are_those_of_tasks_whose_output_is_merged():
    bench = bench_of(dict(mergeoutput=1), dict(), dict(mergeoutput=1))
    rows = [put_job(bench, S.RUNNING, task=task, chunk=chunk) for task, chunk in ((2, 0), (0, 7), (1, 0), (0, 3))]
    put_job(bench, S.ACTIVATED, n_chunks=0)                                        # a merge job
    rows.append(put_job(bench, S.MERGING, task=0, chunk=9))
    planned = np.zeros(len(bench.arrays.jobs), np.int64)
    found, has_other_work = before_merging(bench, [2, 0], planned)
    number = bench.arrays.tasks["jeditaskid"][0]
    assert sorted(found.T.tolist()) == sorted([row, number, 0, 0, chunk, chunk == 9] for row, chunk in (
        (rows[1], 7), (rows[3], 3), (rows[4], 9)))                                 # none of task 2 waits
    assert has_other_work.tolist() == [True, True]
    planned[rows[4]] = bench.arrays.jobs["panda_id"][rows[4]]
    assert not before_merging(bench, [2, 0], planned)[0].size
    planned[rows[4]] += 1                                                          # another job had that row
    assert before_merging(bench, [2, 0], planned)[0].shape[1] == 3
    assert not before_merging(bench, [2], planned)[0].size


def test_jobs_of_a_task_are_looked_at_again_only_when_they_have_changed():
    bench = bench_of(dict(mergeoutput=1, next_chunk=10, n_jobs=10))
    put_job(bench, S.MERGING)
    put_job(bench, S.RUNNING)
    known, looks = (np.full(len(bench.arrays.tasks), -1), np.zeros(len(bench.arrays.tasks), bool)), []
    for version in (5, 5, 6):
        bench.arrays.live_jobs["version"][0] = version
        jobs, has_other_work = before_merging(bench, [0], known=known)
        looks.append((jobs.shape[1], *has_other_work.tolist()))
    assert looks == [(2, True), (0, True), (2, True)]


@pytest.mark.parametrize(("status", "columns", "expected"), [
    pytest.param(S.MERGING, {}, False, id="its only job waits to be merged"),
    pytest.param(S.TRANSFERRING, {}, True, id="its only job writes its output"),
    pytest.param(S.MERGING, dict(next_chunk=9), True, id="input is left"),
    pytest.param(S.MERGING, dict(n_retry=1), True, id="input is tried again"),
])
def test_work_of_a_task_other_than_merging(status, columns, expected):
    bench = bench_of(dict(mergeoutput=1, n_jobs=10))
    put_job(bench, status)
    for name, value in (dict(next_chunk=10) | columns).items():
        bench.arrays.tasks[name][0] = value
    assert before_merging(bench, [0])[1].tolist() == [expected]


def test_space_of_storages_is_as_old_as_the_statistics():
    bench = bench_of()
    first, changed = (take_snapshot(bench.arrays, float(now)) for now in range(2))
    observe.stores_known(bench.world, first)
    before = first.nuclei["usable_bytes"].copy()
    bench.arrays.storages["free_bytes"][0] += 7.0
    found = observe.stores_known(bench.world, changed)
    assert (found["usable_bytes"] - before).max() == 7.0
    assert first.nuclei["usable_bytes"].tolist() == before.tolist()        # statistics keep what they have seen


def test_storages_of_queues_that_list_them_and_activities_that_are_switched_off():
    queues = dict(PLAIN=dict(atlas_site="HERE"), NONE=dict(atlas_site="BARE", endpoints=[]),
                  READS=dict(atlas_site="HERE", endpoints=[dict(storage="S", write=False)]))
    sites = {"HERE": {}, "BARE": dict(nucleus=False)}
    world = Bench(scenario(sites, queues, {"S": dict(site="HERE", free=5e12)})).world
    for _ in range(2):
        _, queues = observe.stores(world)
        assert queues["present"].all() and queues["usable_bytes"].tolist() == [5e12, np.inf, np.inf]
        assert queues["write_lan"].tolist() == [True, False, False]
    assert queues["read_lan"].any() and analysis_stores(world)["read_lan"].any()
    world.arrays.storages["read_lan_off"] = OFF["OFF"]
    _, queues = observe.stores(world)
    assert not queues["read_lan"].any() and not analysis_stores(world)["read_lan"].any()
