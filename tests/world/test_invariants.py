"""Each invariant holds in a consistent world, and detects a deliberate violation."""

import numpy as np
import pytest
from builders import Bench, S, two_sites

from simgrid_broker.errors import InvariantBroken
from simgrid_broker.names import Activity, TransferKind
from simgrid_broker.schema.grid import NODES
from simgrid_broker.world import invariants, rows
from simgrid_broker.world.arrays import REUSED
from simgrid_broker.world.data import invariants as data_invariants
from simgrid_broker.world.recount import recount


def busy_world() -> Bench:
    """Two sites with jobs that run, wait for a slot, await input, and move output."""
    plan = two_sites(here=dict(door_in=1e4), there=dict(cores=2), link=dict(bandwidth=1e3, max_active_files=3))
    near = dict(n_jobs=6, nucleus=0, output_bytes_per_job=1e6)
    far = dict(nucleus=0, input_bytes_per_job=1e5, replicas={1: 1.0})
    bench = Bench(plan, near, dict(n_jobs=20, max_attempt=1), far, far, far)
    bench.submit(6, task=0, queue=1)
    bench.workers(4, queue=1)
    bench.run(101)
    bench.collect()                                        # two jobs are transferring, two run
    for task in (2, 3, 4):
        bench.submit(task=task, queue=0)                   # await their input, each in a transfer of its own
    bench.run(150)
    bench.submit(20, task=1, queue=0)
    bench.workers(8, queue=0)
    bench.run(160)
    return bench


def first(bench, status):
    """Row of a job in a status."""
    return int(np.flatnonzero((bench.arrays.jobs["panda_id"] > 0) & (bench.arrays.jobs["status"] == status))[0])


def miscount(bench):
    bench.arrays.counts[0, 0, 0, S.ACTIVATED] += 1


def miscount_types_of_a_task(bench):
    bench.arrays.live_types[0, 0] -= 1


def miscount_user(bench):
    bench.arrays.user_counts[0, S.ACTIVATED] += 1


def status_behind_the_back(bench):
    bench.arrays.jobs["status"][first(bench, S.RUNNING)] = S.HOLDING


def job_is_of_a_queue_that_does_not_exist(bench):
    bench.arrays.jobs["queue"][first(bench, S.ACTIVATED)] = 1000


def job_is_of_an_unknown_user(bench):
    bench.arrays.jobs["user"][first(bench, S.ACTIVATED)] = len(bench.arrays.user_cores)


def job_is_in_no_list_of_a_task(bench):
    rows.unlist_job(bench.arrays, first(bench, S.ACTIVATED))


def job_is_twice_in_the_list_of_its_task(bench):
    row = first(bench, S.ACTIVATED)
    bench.arrays.neighbours["next"][row] = bench.arrays.live_jobs["first"][bench.arrays.jobs["task"][row]]


def job_does_not_know_the_one_before(bench):
    bench.arrays.neighbours["previous"][first(bench, S.ACTIVATED)] = -1


def power_is_lost(bench):
    bench.arrays.hs06_milli[0] -= 1


def cores_are_miscounted(bench):
    bench.arrays.running_cores[0, 0, 0] += 1


def cores_of_a_user_are_miscounted(bench):
    bench.arrays.user_cores[0] += 1


def memory_asked_for_is_lost(bench):
    bench.arrays.memory_asked[0, 0] -= 1


def disk_traffic_appears(bench):
    bench.arrays.tasks["diskio"][bench.arrays.jobs["task"][first(bench, S.RUNNING)]] = 100.0


def output_under_way_is_miscounted(bench):
    bench.arrays.transferring_to[0, 0] += 1


def core_is_given_away_twice(bench):
    bench.arrays.pools["free_cores"][0] -= 9


def core_is_lost(bench):
    bench.arrays.pools["free_cores"][1] += 1


def memory_is_lost(bench):
    bench.arrays.pools["free_mb"][0] -= 2


def memory_is_overdrawn(bench):
    bench.arrays.pools["free_mb"][0] = -5


def core_of_a_node_is_lost(bench, lost=1):
    pool = bench.arrays.pools[0]
    pool["last_node"] = pool["n_roomy"] = 1
    nodes = NODES.empty(1)
    nodes["cores"], nodes["free_cores"] = pool["cores"], pool["free_cores"] - lost
    bench.world.arrays = bench.arrays.with_arrays(nodes=nodes, roomy_nodes=np.zeros(1, np.int32))


def list_of_nodes_with_room_is_wrong(bench):
    core_of_a_node_is_lost(bench, lost=0)
    bench.arrays.pools["n_roomy"][0] = bench.arrays.nodes["free_cores"][0] == 0


def payload_without_a_slot(bench):
    bench.arrays.pseudo_queues["n_running"][0] -= 1


def chunk_is_lost(bench):
    bench.arrays.tasks["next_chunk"][0] += 1


def chunk_is_processed_twice(bench):
    bench.arrays.tasks["n_finished"][0] += 1


def job_is_lost(bench):
    bench.arrays.jobs["panda_id"][first(bench, S.ACTIVATED)] = 0


def two_attempts_at_one_chunk(bench):
    jobs, row = bench.arrays.jobs, first(bench, S.RUNNING)
    jobs["chunk"][row] += 1                                # the next chunk, which another job holds


def chunk_that_is_held_awaits_another_attempt(bench):
    held = bench.arrays.jobs["chunk"][first(bench, S.RUNNING)]
    retry = rows.take_retry(bench.arrays, 0)
    bench.arrays.retries["chunk"][retry] = held
    rows.push_retry(bench.arrays, 0, retry, 0)


def one_attempt_too_many(bench):
    bench.arrays.jobs["attempt"][bench.live()[0]] = 99


def one_attempt_more_than_a_rule_leaves(bench):
    bench.arrays.jobs["attempt"][bench.live()[0]] = 2
    bench.arrays.jobs["attempt_limit"][bench.live()[0]] = 1


def one_failure_too_many(bench):
    bench.arrays.tasks["max_failure"] = 2
    bench.arrays.jobs["failures"][bench.live()[0]] = 2


def retry_is_in_no_list(bench):
    bench.arrays.tasks["n_retry"][0] += 1


def failed_job_waits_for_the_retry_module(bench):
    bench.world.state["n_lessons"] += 1


def storage_is_overdrawn(bench):
    bench.arrays.storages["free_bytes"][0] = -1


def expired_data_is_overdrawn(bench):
    bench.arrays.storages["expired_bytes"][1] = -1


def space_appears(bench):
    bench.arrays.storages["used_bytes"][0] -= 1e12


def writes_are_forgotten(bench):
    bench.arrays.storages["written_bytes"][0] += 1e12


def replica_is_larger_than_what_is_used(bench):
    bench.arrays.replicas["bytes"][0] = 1e18


def brought_files_take_more_than_is_used(bench):
    bench.arrays.storages["dispatched_bytes"][0] = 1e18


def expired_replica_is_not_counted(bench):
    bench.arrays.storages["expired_replica_bytes"][0] = 1e12


def output_takes_more_than_is_used(bench):
    bench.arrays.storages["used_bytes"][1] = 0
    bench.arrays.storages["free_bytes"][1] = bench.arrays.storages["total_bytes"][1]


def job_of_a_subdataset_is_forgotten(bench):
    bench.arrays.subdatasets["open"][np.flatnonzero(bench.arrays.subdatasets["n_jobs"])[0]] += 1


def transfer_waits_in_no_subdataset(bench):
    bench.arrays.transfers["look_sequence"][np.flatnonzero(bench.arrays.transfers["transfer_id"])[0]] = 1


def subdataset_row_is_lost(bench):
    bench.arrays.n_free[REUSED.index("subdatasets")] -= 1


def tape_is_mounted_without_a_drive(bench):
    bench.arrays.storages["mounted"][0] = 1


def bytes_read_from_tape_are_lost(bench):
    bench.arrays.storages["read_bytes"][0] = 1e12


def replica_is_in_no_list(bench):
    bench.arrays.datasets["first_replica"][bench.arrays.replicas["dataset"][0]] = -1


def replica_has_more_than_all_files(bench):
    bench.arrays.replicas["part"][0] = 1.1


def files_come_without_a_transfer(bench):
    bench.arrays.datasets["bytes"][bench.arrays.replicas["dataset"][0]] = 1e9
    bench.arrays.replicas["coming"][0] = 0.5


def activated_job_is_forgotten(bench):
    bench.arrays.activated[0, 0] = -1


def activated_job_is_in_the_heap_twice(bench):
    root = int(bench.arrays.activated[0, 0])
    bench.arrays.jobs["child"][root] = root


def running_job_is_in_the_heap(bench):
    bench.arrays.activated[1, 0] = first(bench, S.RUNNING)


def newest_job_has_left(bench):
    bench.arrays.newest_activated[1, 0] = first(bench, S.RUNNING)


def newest_job_is_of_another_queue(bench):
    bench.arrays.newest_activated[1, 0] = bench.arrays.newest_activated[0, 0]


def files_are_miscounted(bench):
    bench.link(0, 1)["active_files"] = bench.link(1, 0)["active_files"] + 1


def more_files_than_may_be_active(bench):
    bench.link(1, 0)["max_active_files"] = 1


def queued_files_are_miscounted(bench):
    bench.link(1, 0)["queued_files"] += 1


def output_is_miscounted(bench):
    bench.link(1, 0)["queued_output"] += 1


def source_of_moving_files_is_gone(bench):
    bench.arrays.transfers["dataset"][int(bench.link(1, 0)["active_head"])] = 0      # of a task without input


def busy_link_is_forgotten(bench):
    bench.world.state["n_busy_links"] -= 1


def busy_link_does_not_know_its_place(bench):
    bench.link(1, 0)["place"] += 1


def door_gives_too_much(bench):
    bench.arrays.gates["capacity"] = bench.link(1, 0)["rate"] / 2


def door_forgets_what_it_has(bench):
    bench.arrays.gates["free"] += 1


def idle_link_keeps_its_rate(bench):
    bench.link(0, 1)["rate"] = 1


def link_has_more_than_it_carries(bench):
    bench.link(1, 0)["bandwidth"] = bench.link(1, 0)["rate"] / 2


def bytes_are_lost(bench):
    bench.link(1, 0)["bytes_moved"] += 1e6


def transfer_becomes_a_petabyte(bench):
    transfer = bench.arrays.transfers[int(bench.link(1, 0)["active_head"])]
    transfer["left_bytes"] += 1e15
    transfer["finish_tag"] += 1e15 / transfer["width"]


def file_is_lost_beside_a_petabyte(bench):
    transfer_becomes_a_petabyte(bench)
    bench.link(1, 0)["bytes_moved"] += 1e5


def input_has_no_transfer(bench):
    bench.arrays.jobs["transfer"][first(bench, S.ASSIGNED)] = -1


def output_has_no_transfer(bench):
    transfer = int(bench.arrays.jobs["transfer"][first(bench, S.TRANSFERRING)])
    bench.arrays.transfers["transfer_id"][transfer] = 0


def reading_is_of_no_running_job(bench):
    transfer = int(bench.arrays.jobs["transfer"][first(bench, S.ASSIGNED)])
    bench.arrays.transfers["kind"][transfer] = TransferKind.READING


def input_becomes_that_of_users(bench):
    bench.arrays.transfers["activity"][int(bench.arrays.jobs["transfer"][first(bench, S.ASSIGNED)])] = (
        Activity.ANALYSIS_INPUT)


def reader_is_miscounted(bench):
    bench.link(1, 0)["readers"] += 1


def task_without_merging_has_a_merge_job(bench):
    bench.arrays.jobs["n_chunks"][first(bench, S.RUNNING)] = 0


def row_is_lost(bench):
    bench.arrays.n_free[REUSED.index("jobs")] -= 1


def row_was_never_used(bench):
    bench.arrays.state[0]["n_job_rows"] -= 1


def replica_row_is_lost(bench):
    bench.arrays.n_free[REUSED.index("replicas")] -= 1


def transfer_row_is_lost(bench):
    bench.arrays.n_free[REUSED.index("transfers")] -= 1


def events_of_no_range_take_space(bench):
    bench.arrays.storages["event_bytes"][0] += bench.arrays.storages["total_bytes"][0] / 100


SINS = {
    invariants.counts_equal_recount: (miscount, miscount_types_of_a_task, miscount_user, status_behind_the_back,
                                      job_is_lost),
    invariants.jobs_stand_in_tables: (job_is_of_a_queue_that_does_not_exist, job_is_of_an_unknown_user),
    invariants.columns_for_scans_agree: (status_behind_the_back, job_is_of_a_queue_that_does_not_exist,
                                         input_becomes_that_of_users),
    invariants.tasks_list_their_jobs: (job_is_in_no_list_of_a_task, job_is_twice_in_the_list_of_its_task,
                                       job_does_not_know_the_one_before, job_is_lost),
    invariants.usage_equals_recount: (power_is_lost, cores_are_miscounted, cores_of_a_user_are_miscounted),
    invariants.activity_equals_recount: (memory_asked_for_is_lost, disk_traffic_appears,
                                         output_under_way_is_miscounted),
    invariants.slots_are_used_once: (core_is_given_away_twice, core_is_lost, memory_is_lost, memory_is_overdrawn),
    invariants.nodes_make_up_their_pools: (core_of_a_node_is_lost, list_of_nodes_with_room_is_wrong),
    invariants.payloads_hold_slots: (payload_without_a_slot,),
    invariants.no_input_is_lost: (chunk_is_lost, chunk_is_processed_twice, job_is_lost),
    invariants.input_is_held_once: (two_attempts_at_one_chunk, chunk_that_is_held_awaits_another_attempt),
    invariants.attempts_stay_below_limit: (one_attempt_too_many, one_attempt_more_than_a_rule_leaves,
                                               one_failure_too_many),
    invariants.retries_wait_in_lists: (retry_is_in_no_list, failed_job_waits_for_the_retry_module),
    data_invariants.space_is_not_negative: (storage_is_overdrawn, expired_data_is_overdrawn),
    data_invariants.space_adds_up: (space_appears, writes_are_forgotten),
    data_invariants.events_have_their_space: (events_of_no_range_take_space,),
    data_invariants.replicas_have_their_space: (
        replica_is_larger_than_what_is_used, brought_files_take_more_than_is_used, output_takes_more_than_is_used,
        expired_replica_is_not_counted),
    data_invariants.replicas_stand_in_lists: (replica_is_in_no_list, replica_has_more_than_all_files),
    data_invariants.coming_files_are_under_way: (files_come_without_a_transfer,),
    data_invariants.drives_hold: (tape_is_mounted_without_a_drive, bytes_read_from_tape_are_lost),
    invariants.activated_jobs_can_be_found: (activated_job_is_forgotten, activated_job_is_in_the_heap_twice,
                                             running_job_is_in_the_heap),
    invariants.newest_jobs_stand_where_they_are_said_to: (newest_job_has_left, newest_job_is_of_another_queue),
    data_invariants.files_of_links_add_up: (files_are_miscounted, reader_is_miscounted, more_files_than_may_be_active,
                                            queued_files_are_miscounted, output_is_miscounted),
    data_invariants.moving_bytes_have_a_source: (source_of_moving_files_is_gone,),
    data_invariants.busy_links_are_listed: (busy_link_is_forgotten, busy_link_does_not_know_its_place),
    data_invariants.doors_hold: (door_gives_too_much, door_forgets_what_it_has),
    data_invariants.idle_links_have_no_rate: (idle_link_keeps_its_rate, link_has_more_than_it_carries),
    data_invariants.bytes_are_conserved: (bytes_are_lost, file_is_lost_beside_a_petabyte),
    invariants.moving_jobs_have_a_transfer: (input_has_no_transfer, output_has_no_transfer),
    invariants.readings_belong_to_running_jobs: (reading_is_of_no_running_job,),
    invariants.merge_jobs_have_reason: (task_without_merging_has_a_merge_job,),
    invariants.subdatasets_await_their_jobs: (job_of_a_subdataset_is_forgotten, transfer_waits_in_no_subdataset),
    invariants.rows_are_free_or_in_use: (row_is_lost, row_was_never_used, transfer_row_is_lost, replica_row_is_lost,
                                         subdataset_row_is_lost),
}


def test_every_invariant_has_a_sin_against_it():
    assert set(SINS) == set(invariants.INVARIANTS)


def test_the_busy_world_is_sound_and_busy():
    bench = busy_world()
    bench.check()
    assert {"running", "activated", "assigned", "transferring"} <= set(bench.statuses())


@pytest.mark.parametrize(("invariant", "sin"), [
    pytest.param(invariant, sin, id=sin.__name__.replace("_", " "))
    for invariant, sins in SINS.items() for sin in sins])
def test_a_broken_world_is_found_out(invariant, sin):
    bench = busy_world()
    sin(bench)
    messages = list(invariant(bench.arrays, recount(bench.arrays)))
    assert messages
    with pytest.raises(InvariantBroken) as told:
        bench.check()
    assert set(messages) <= set(told.value.messages)


def test_rounding_of_large_transfers_is_no_loss():
    bench = busy_world()
    transfer_becomes_a_petabyte(bench)
    assert [*data_invariants.bytes_are_conserved(bench.arrays, recount(bench.arrays))] == []


def test_all_violations_are_reported_at_once():
    bench = busy_world()
    miscount(bench)
    power_is_lost(bench)
    with pytest.raises(InvariantBroken) as told:
        bench.check()
    assert len(told.value.messages) == 2
