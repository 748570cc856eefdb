"""What the Adder makes of ended payloads, and the space that output takes."""

import numpy as np
import pytest
from builders import Bench, S, Stage, scenario, two_sites

from simgrid_broker.agents.data.network import reaper
from simgrid_broker.fabric.transfers.network import NO_SPACE_WAIT_S, next_look
from simgrid_broker.names import Cause
from simgrid_broker.units import DAY
from simgrid_broker.world.data.replicas import give_space_back, take_space

GB = 1e9


def run_far_away(n_jobs, output, storage=None, link=None, edition="documented", fts=None, **task) -> Bench:
    """Jobs that ran at THERE, ended at 101 s and were seen by the Adder; their nucleus is HERE."""
    plan = two_sites(there=dict(cores=1000), link=dict(bandwidth=1e9, max_active_files=10_000) | (link or {}),
                     storages={"HERE_DISK": dict(site="HERE") | (storage or {})}, edition=edition, fts=fts or {})
    bench = Bench(plan, dict(n_jobs=n_jobs, nucleus=0, output_bytes_per_job=output) | task)
    bench.submit(n_jobs, queue=1)
    bench.workers(n_jobs, queue=1)
    bench.run(101.0)
    bench.collect()
    return bench


@pytest.mark.rule("stays")
@pytest.mark.parametrize(("nucleus", "output", "status"), [
    pytest.param(0, GB, "transferring", id="the nucleus is elsewhere"),
    pytest.param(1, GB, None, id="it ran at its nucleus"),
    pytest.param(-1, GB, None, id="a task without nucleus leaves its output where it is"),
    pytest.param(0, 1.0, "transferring", id="a byte of output"),
    pytest.param(0, 0.0, None, id="there is no output"),
])
def test_finished_or_transferring(nucleus, output, status):
    bench = run_far_away(1, output, nucleus=nucleus)
    assert bench.statuses() == ([] if status is None else [status])
    if status is None:
        assert bench.ended()["status"].tolist() == [S.FINISHED]
    bench.check()


def test_a_job_is_finished_when_its_output_has_arrived():
    bench = run_far_away(1, 50 * GB, link=dict(latency=30))
    bench.run(1000.0)
    assert bench.statuses() == ["holding"] and len(bench.ended()) == 0
    bench.collect()
    bench.run(2000.0)
    assert bench.times(S.HOLDING) == [pytest.approx(150.0)]            # 100 s and 50 s to copy the output
    assert bench.times(S.TRANSFERRING) == [1000.0]
    assert bench.times(S.FINISHED) == [pytest.approx(1000.0 + 50 + 30)]
    assert bench.moved()[["n_jobs", "n_files", "source", "destination"]].tolist() == [(1, 1, 1, 0)]
    bench.check()


def run_one_of(n_jobs, moving=50, slots=1, **task) -> Bench:
    """Jobs that were set up together at THERE; those with a slot have ended at 101 s, and their output moves to HERE.

    moving: time for which the output of one job moves, s.
    """
    plan = two_sites(there=dict(cores=1000), link=dict(bandwidth=1e6 / moving, max_active_files=1),
                     storages={"HERE_DISK": dict(site="HERE"), "THERE_DISK": dict(site="THERE")})
    bench = Bench(plan, dict(n_jobs=n_jobs, nucleus=0, output_bytes_per_job=1e6) | task)
    bench.submit(n_jobs, queue=1)
    bench.workers(slots, queue=1)
    bench.run(101.0)
    bench.collect()
    return bench


@pytest.mark.rule("await_subdataset")
def test_output_waits_for_the_last_file_of_its_subdataset():
    bench = run_one_of(2)
    bench.run(1000.0)
    assert bench.statuses() == ["transferring", "activated"] and bench.link()["bytes_done"] == 1e6
    bench.check()
    bench.workers(queue=1)
    bench.run(1101.0)
    bench.collect()
    bench.run(2000.0)
    assert bench.times(S.FINISHED) == pytest.approx([1101.0 + 50] * 2)
    assert sorted(bench.moved()["ended_s"]) == pytest.approx([101.0 + 50, 1101.0 + 50])
    bench.check()


@pytest.mark.rule("next_look")
@pytest.mark.parametrize(("priority", "moving", "finished_s"), [
    pytest.param(799, 50, 9600, id="in its first turn after 2 h the server looks for the files"),
    pytest.param(800, 50, 4800, id="at urgent jobs after 1 h"),
    pytest.param(799, 9498, 9600, id="the file is there just before the look"),
    pytest.param(799, 9500, 16800, id="and just after it: the next look"),
    pytest.param(800, 4700, 9600, id="at urgent jobs that is two turns later"),
])
def test_the_server_looks_for_output_of_incomplete_subdatasets(priority, moving, finished_s):
    bench = run_one_of(2, moving, priority=priority)
    bench.run(finished_s - 1.0)
    assert bench.statuses() == ["transferring", "activated"]
    bench.check()
    bench.run(finished_s)
    assert bench.times(S.FINISHED) == [finished_s]
    bench.check()


@pytest.mark.rule("next_look")
@pytest.mark.parametrize(("since", "unchanged", "now", "look"), [
    pytest.param(0.0, 7200.0, 0.0, 7200.0, id="a turn after exactly 2 h"),
    pytest.param(1.0, 7200.0, 1.0, 9600.0, id="a second later the next turn"),
    pytest.param(0.0, 7200.0, 7200.0, 7200.0, id="at the very moment of the look"),
    pytest.param(0.0, 7200.0, 7200.1, 14400.0, id="it has just been"),
    pytest.param(0.0, 3600.0, 5000.0, 9600.0, id="an hour is two turns"),
])
def test_when_the_server_looks(since, unchanged, now, look):
    assert next_look(since, unchanged, now) == look


@pytest.mark.rule("leave_subdataset")
@pytest.mark.parametrize("how", ["closed", "failed"])
def test_output_that_will_not_come_completes_the_subdataset(how):
    bench = run_one_of(2)
    bench.run(1000.0)
    if how == "closed":
        bench.take_back(bench.live()[1])
    else:
        bench.arrays.jobs["fate"][bench.live()[1]] = Cause.PAYLOAD_ERROR
        bench.workers(queue=1)
        bench.run(1100.0)
        bench.collect()
    bench.check()
    bench.run(1200.0)
    assert sorted(bench.ended()["status"].tolist()) == sorted([S.FINISHED, S.CLOSED if how == "closed" else S.FAILED])
    bench.check()


def test_a_subdataset_of_which_nothing_comes_leaves_nothing():
    bench = run_one_of(3)
    bench.take_back()
    bench.check()
    bench.run(1000.0)
    assert not bench.arrays.subdatasets["n_jobs"].any() and not bench.arrays.transfers["transfer_id"].any()
    bench.check()


@pytest.mark.rule("join_subdataset")
@pytest.mark.parametrize(("n_jobs", "sizes"), [
    pytest.param(50, [50], id="fifty jobs are one sub-dataset"),
    pytest.param(51, [50, 1], id="one more begins another"),
])
def test_jobs_that_are_set_up_together_share_a_subdataset(n_jobs, sizes):
    bench = run_one_of(n_jobs)
    assert [n for n in bench.arrays.subdatasets["n_jobs"] if n] == sizes
    bench.check()


def test_jobs_that_are_set_up_later_have_a_subdataset_of_their_own():
    bench = Bench(two_sites(), dict(n_jobs=2, nucleus=0, output_bytes_per_job=1e6))
    for _ in range(2):
        bench.submit(queue=1)
    bench.workers(queue=1)
    bench.run(101.0)
    bench.collect()
    bench.run(1000.0)
    assert bench.ended()["status"].tolist() == [S.FINISHED]                # it waits for no later job
    bench.check()


@pytest.mark.rule("join_subdataset")
@pytest.mark.parametrize("task", [
    pytest.param(dict(nucleus=1), id="output stays at the nucleus"),
    pytest.param(dict(nucleus=-1), id="there is no nucleus"),
    pytest.param(dict(output_bytes_per_job=0.0), id="there is no output"),
    pytest.param(dict(mergeoutput=1), id="it is merged first"),
])
def test_output_that_is_not_transferred_has_no_subdataset(task):
    bench = run_one_of(2, **task)
    assert not bench.arrays.subdatasets["n_jobs"].any()
    bench.check()


def test_input_has_no_callback_to_wait_for():
    bench = Bench(two_sites(link=dict(bandwidth=1e9)), dict(input_bytes_per_job=50 * GB, replicas={1: 1.0}))
    bench.submit()
    bench.run(1e4)
    assert bench.arrays.job_times[bench.live(), S.ACTIVATED].tolist() == pytest.approx([50.0])


def test_a_job_killed_before_the_callback_leaves_its_transfer_to_end():
    bench = run_one_of(2)
    bench.run(1000.0)
    bench.check()
    bench.take_back(bench.live()[0])
    bench.run(1e4)
    assert len(bench.moved()) == 1 and bench.link()["bytes_done"] == pytest.approx(1e6)
    bench.check()


@pytest.mark.rule("write_output", "delete_source")
def test_output_takes_space_at_its_site_until_it_has_landed():
    bench = run_one_of(1, moving=1000)
    there, here = (bench.arrays.storages[k] for k in (1, 0))
    assert (there["used_bytes"], here["used_bytes"]) == (1e6, 0)
    bench.check()
    bench.run(1000.0)
    assert (there["used_bytes"], here["used_bytes"]) == (1e6, 0)
    bench.run(1102.0)
    assert (there["used_bytes"], here["used_bytes"]) == (0, 1e6)
    assert (there["written_bytes"], there["deleted_bytes"]) == (1e6, 1e6)
    bench.check()


@pytest.mark.rule("delete_source")
def test_files_that_failed_stay_at_their_source():
    plan = two_sites(there=dict(cores=1000), link=dict(failure_rate=0.5), fts=dict(retry_delay=1e6, stuck_delay=1e6),
                     storages={"HERE_DISK": dict(site="HERE"), "THERE_DISK": dict(site="THERE")})
    bench = Bench(plan, dict(n_jobs=50, nucleus=0, output_bytes_per_job=1e6))
    bench.submit(50, queue=1)
    bench.workers(50, queue=1)
    bench.run(101.0)
    bench.collect()
    bench.run(1000.0)
    used = bench.arrays.storages["used_bytes"]
    assert 0 < used[1] < 50e6 and used.sum() == pytest.approx(50e6)
    bench.check()


@pytest.mark.rule("delete_output")
@pytest.mark.parametrize(("status", "freed_s"), [
    pytest.param("holding", 100.0, id="it is deleted with a job that the Adder has not seen"),
    pytest.param("transferring", 200.0, id="a transfer that no job awaits ends first"),
])
def test_output_of_a_job_that_was_taken_back_is_deleted(status, freed_s):
    plan = two_sites(there=dict(cores=1000), link=dict(bandwidth=1e6 / 50),
                     storages={"HERE_DISK": dict(site="HERE"), "THERE_DISK": dict(site="THERE")})
    bench = Bench(plan, dict(nucleus=0, output_bytes_per_job=1e6))
    bench.submit(queue=1)
    bench.workers(queue=1)
    bench.run(100.01)
    if status == "transferring":
        bench.collect()
    assert bench.statuses() == [status] and bench.arrays.storages["used_bytes"].tolist() == [0, 1e6]
    bench.take_back()
    bench.run(freed_s)
    assert bench.arrays.storages["used_bytes"].tolist() == [0, 0]
    bench.check()


def test_output_to_be_merged_takes_space():
    bench = run_one_of(1, mergeoutput=1)
    assert bench.statuses() == ["merging"] and bench.arrays.storages["used_bytes"].tolist() == [0, 1e6]
    bench.check()
    bench.take_back(status=S.CANCELLED)
    assert bench.arrays.storages["used_bytes"].tolist() == [0, 0]
    bench.check()


def test_output_without_a_nucleus_takes_no_space():
    bench = run_one_of(1, nucleus=-1)
    assert bench.arrays.storages["used_bytes"].tolist() == [0, 0]
    bench.check()


@pytest.mark.rule("add_job")
@pytest.mark.parametrize(("n_jobs", "bunches"), [
    pytest.param(50, [50], id="fifty jobs in one bunch"),
    pytest.param(51, [50, 1], id="one more begins another"),
    pytest.param(120, [50, 50, 20], id="as many as are needed"),
])
def test_output_moves_in_bunches_of_50_jobs(n_jobs, bunches):
    bench = run_far_away(n_jobs, 0.01 * GB)
    waiting = bench.arrays.transfers[bench.arrays.transfers["transfer_id"] > 0]
    assert waiting["n_jobs"].tolist() == waiting["n_files"].tolist() == bunches
    assert waiting["bytes"].tolist() == pytest.approx([n * 0.01 * GB for n in bunches])
    bench.run(1e4)
    assert bench.ended()["status"].tolist() == [S.FINISHED] * n_jobs
    bench.check()


@pytest.mark.rule("add_job")
def test_jobs_of_one_task_and_site_move_together_whatever_the_order_of_their_ends():
    plan = two_sites(here=dict(cores=1), there=dict(cores=1000), link=dict(max_active_files=1000))
    output = dict(n_jobs=3, nucleus=0, output_bytes_per_job=1.0)
    bench = Bench(plan, output, output)
    for task in (0, 1):
        bench.make(3, task=task, queue=1)
    bench.fabric.set_up_jobs(0.0)
    bench.workers(6, queue=1)
    bench.run(101.0)
    bench.collect()
    waiting = bench.arrays.transfers[bench.arrays.transfers["transfer_id"] > 0]
    assert waiting[["jeditaskid", "n_jobs"]].tolist() == [(1, 3), (2, 3)]


@pytest.mark.rule("add_job")
def test_output_of_one_task_from_two_sites_moves_in_two_bunches():
    bench = Bench(scenario({"HERE": {}, "A": dict(nucleus=False), "B": dict(nucleus=False)}),
                  dict(n_jobs=4, nucleus=0, output_bytes_per_job=1e6))
    for queue in (1, 2):
        bench.submit(2, queue=queue)
        bench.workers(2, queue=queue)
    bench.run(101.0)
    bench.collect()
    waiting = bench.arrays.transfers[bench.arrays.transfers["transfer_id"] > 0]
    assert waiting[["source", "destination", "n_jobs"]].tolist() == [(1, 0, 2), (2, 0, 2)]


@pytest.mark.rule("take_space")
@pytest.mark.parametrize(("free", "expired", "min_free", "size", "fits", "free_then", "expired_then"), [
    pytest.param(10, 0, 0, 4, True, 6, 0, id="there is room"),
    pytest.param(10, 0, 0, 10, True, 0, 0, id="it just fits"),
    pytest.param(10, 0, 0, 11, False, 10, 0, id="full"),
    pytest.param(10, 5, 0, 12, True, 0, 3, id="as much is deleted as is needed"),
    pytest.param(10, 5, 0, 15, True, 0, 0, id="all that can be deleted"),
    pytest.param(10, 5, 0, 16, False, 15, 0, id="deleting does not help"),
    pytest.param(10, 5, 8, 4, True, 8, 3, id="deletion keeps the space that must stay free"),
    pytest.param(10, 5, 8, 2, True, 8, 5, id="no need to delete yet"),
    pytest.param(10, 1, 8, 6, True, 5, 0, id="with nothing left to delete, less stays free"),
])
def test_space_of_a_storage(free, expired, min_free, size, fits, free_then, expired_then):
    plan = scenario(storages={"A": dict(site="HERE", total=100, free=free, expired=expired, min_free=min_free)})
    arrays = Bench(plan).arrays
    assert take_space(arrays, 0, float(size)) is fits
    storage = arrays.storages[0]
    assert (storage["free_bytes"], storage["expired_bytes"]) == (free_then, expired_then)
    assert storage["written_bytes"] == (size if fits else 0)
    assert storage["free_bytes"] - storage["deleted_bytes"] + storage["written_bytes"] == free


def test_arriving_output_takes_space_at_the_nucleus():
    bench = run_far_away(3, 2 * GB, storage=dict(total=100 * GB, free=10 * GB, expired=5 * GB))
    bench.run(1e4)
    bench.collect()
    bench.run(2e4)
    storage = bench.arrays.storages[0]
    assert (storage["free_bytes"], storage["written_bytes"]) == pytest.approx((4 * GB, 6 * GB))


def test_a_job_at_its_nucleus_takes_space_there():
    bench = Bench(scenario(storages={"A": dict(site="HERE", total=100 * GB, free=10 * GB)}),
                  dict(nucleus=0, output_bytes_per_job=GB))
    bench.submit()
    bench.workers()
    bench.run(200.0)
    bench.collect()
    assert bench.arrays.storages["free_bytes"][0] == pytest.approx(9 * GB)


@pytest.mark.rule("keep_output", "expire_landed")
@pytest.mark.parametrize("queue", [pytest.param(0, id="written at its nucleus"), pytest.param(1, id="moved there")])
@pytest.mark.parametrize(("lifetime", "days", "expired"), [
    pytest.param(10 * DAY, 9.99, 0, id="within its lifetime it stays"),
    pytest.param(10 * DAY, 10.02, 5, id="then it may be deleted"),
    pytest.param(None, 10.02, 0, id="without a lifetime it stays for ever"),
])
def test_output_at_its_destination_expires(queue, lifetime, days, expired):
    plan = two_sites(here=dict(cores=1000), there=dict(cores=1000), link=dict(bandwidth=1e9, latency=0),
                     storages={"HERE_DISK": dict(site="HERE"), "THERE_DISK": dict(site="THERE")},
                     data=dict(output_lifetime=lifetime))
    bench = Stage((reaper,), plan, dict(n_jobs=5, nucleus=0, output_bytes_per_job=GB))
    bench.submit(5, queue=queue)
    bench.workers(5, queue=queue)
    bench.run(101.0)
    bench.collect()
    bench.run(200.0 + days * DAY)
    bench.check()
    here = bench.arrays.storages[0]
    assert (here["expired_bytes"], here["used_bytes"]) == pytest.approx((expired * GB, (5 - expired) * GB))
    assert here["output_bytes"] == pytest.approx((5 - expired) * GB)


def test_a_job_at_its_nucleus_fails_if_the_storage_is_full():
    bench = Bench(scenario(storages={"A": dict(site="HERE", total=100 * GB, free=0.5 * GB)}),
                  dict(nucleus=0, output_bytes_per_job=GB))
    bench.submit()
    bench.workers()
    bench.run(200.0)
    bench.collect()
    assert bench.ended()[["status", "cause"]].tolist() == [(S.FAILED, Cause.TRANSFER_ERROR)]
    assert bench.arrays.storages["free_bytes"][0] == pytest.approx(0.5 * GB)
    bench.check()


def test_a_full_storage_is_tried_again_later():
    bench = run_far_away(1, 0.001 * GB, storage=dict(total=GB, free=0))
    bench.run(200.0)
    assert bench.statuses() == ["transferring"]
    assert bench.link(1, 0)["queued_files"] == 0                      # it does not hold the link meanwhile
    bench.run(1500.0)
    give_space_back(bench.arrays.storages[0], GB, False)
    bench.run(1e4)
    assert bench.moved()["attempt"].tolist() == [2]
    assert bench.times(S.FINISHED) == [pytest.approx(101.0 + 0.001 + NO_SPACE_WAIT_S + 0.001)]
    bench.check()


@pytest.mark.rule("add_job")
def test_a_failed_payload_moves_no_output():
    bench = run_far_away(20, GB, failure_rate=1.0)
    assert bench.ended()["status"].tolist() == [S.FAILED] * 20
    assert bench.world.state["transfer_id"] == 0


def test_the_inbox_of_the_adder_is_emptied_once():
    bench = run_far_away(3, GB)
    assert bench.world.state["n_holding"] == 0
    bench.collect()
    assert bench.statuses() == ["transferring"] * 3
    assert bench.world.state["transfer_id"] == 1
    bench.check()


def test_a_full_outbox_is_written_while_the_adder_works():
    n_jobs = 5000                                                     # more than the outbox of a test holds
    bench = Bench(scenario({"HERE": dict(cores=n_jobs)}), dict(n_jobs=n_jobs))
    bench.submit(n_jobs)
    bench.workers(n_jobs)
    bench.run(100.0)
    bench.collect()
    assert len(bench.ended()) == n_jobs and len(bench.kept["jobs"]) > 1
    assert len(np.unique(bench.ended()["panda_id"])) == n_jobs
    bench.check()


@pytest.mark.rule("rows.is_express")
@pytest.mark.parametrize(("edition", "task", "output", "express"), [
    pytest.param("documented", dict(), 3, 0, id="production output"),
    pytest.param("documented", dict(priority=999), 3, 0, id="priority 999 is not yet express"),
    pytest.param("documented", dict(priority=1000), 0, 3, id="D4 priority 1000 is, as documented"),
    pytest.param("deployed", dict(priority=1000), 3, 0, id="D4 priority 1000 is not yet, in the code"),
    pytest.param("deployed", dict(priority=1001), 0, 3, id="D4 above it is"),
    pytest.param("documented", dict(processing_type="urgent"), 0, 3, id="urgent tasks are"),
])
def test_files_that_wait_on_a_link_are_counted_by_activity(edition, task, output, express):
    bench = run_far_away(3, GB, link=dict(latency=60), edition=edition, **task)
    counted = ["queued_files", "queued_output", "queued_express"]
    assert bench.link()[counted].tolist() == (3, output, express)
    assert bench.link(0, 1)[counted].tolist() == (0, 0, 0)
    bench.check()
    bench.run(bench.now + 30)                              # the bytes are there, the callback is not
    assert bench.link()[counted].tolist() == (0, 0, 0)
    bench.check()


def test_input_that_waits_is_no_output():
    bench = Bench(two_sites(), dict(input_bytes_per_job=GB, replicas={1: 1.0}))
    bench.submit()
    assert bench.link()[["queued_files", "queued_output", "queued_express"]].tolist() == (1, 0, 0)
    bench.check()


@pytest.mark.rule("stays")
@pytest.mark.parametrize(("storage", "status"), [
    pytest.param("HERE_DISK", "finished", id="the storage of the nucleus"),
    pytest.param("THERE_DISK", "transferring", id="a storage of its own"),
])
def test_output_in_the_storage_of_the_nucleus_needs_no_transfer(storage, status):
    disks = {"HERE_DISK": dict(site="HERE", total=10 * GB, free=10 * GB)}
    disks |= {"THERE_DISK": dict(site="THERE")} if storage == "THERE_DISK" else {}
    bench = Bench(two_sites(there=dict(storage=storage), storages=disks), dict(nucleus=0, output_bytes_per_job=GB))
    bench.submit(queue=1)
    bench.workers(queue=1)
    bench.run(200.0)
    bench.collect()
    assert (bench.statuses() or [S(bench.ended()["status"][0]).word]) == [status]
    assert bench.arrays.storages["free_bytes"][0] == (9 if status == "finished" else 10) * GB
    bench.check()


@pytest.mark.rule("stays")
def test_a_site_without_storage_shares_none():
    bench = Bench(two_sites(storages={"HERE": dict(site="HERE")}), dict(nucleus=0, output_bytes_per_job=GB))
    bench.submit(queue=1)
    bench.workers(queue=1)
    bench.run(200.0)
    bench.collect()
    assert bench.statuses() == ["transferring"]
