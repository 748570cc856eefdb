"""What the Adder makes of ended payloads, and the space that output takes."""

import numpy as np
import pytest
from builders import Bench, S, scenario, two_sites

from simgrid_broker.fabric.network import NO_SPACE_WAIT_S
from simgrid_broker.names import Cause
from simgrid_broker.world.replicas import give_space_back
from simgrid_broker.world.space import take_space

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


@pytest.mark.rule("delay_of_callback")
@pytest.mark.parametrize(("callback", "priority", "moving", "seconds"), [
    pytest.param(0, 500, 50, 50, id="no delay: with the last file"),
    pytest.param(1e-9, 500, 50, 50, id="the sub-dataset is complete at once"),
    pytest.param(1e12, 799, 50, 7200, id="it never is: the server looks after 2 h"),
    pytest.param(1e12, 800, 50, 3600, id="at urgent jobs after 1 h"),
    pytest.param(1e12, 799, 7199, 7200, id="the file is there just before the look"),
    pytest.param(1e12, 799, 7201, 14400, id="and just after it: the next look"),
])
def test_output_waits_for_its_callback(callback, priority, moving, seconds):
    bench = run_far_away(1, 1e6, link=dict(bandwidth=1e6 / moving), fts=dict(callback=callback), priority=priority)
    bench.run(101.0 + moving)
    bench.check()
    bench.run(101.0 + 2e4)
    begin, end = bench.times(S.TRANSFERRING)[0], bench.times(S.FINISHED)[0]
    assert end - begin == pytest.approx(seconds)
    assert bench.moved()["ended_s"].tolist() == [end]
    bench.check()


def test_input_has_no_callback_to_wait_for():
    bench = Bench(two_sites(link=dict(bandwidth=1e9), fts=dict(callback=1e12)),
                  dict(input_bytes_per_job=50 * GB, replicas={1: 1.0}))
    bench.submit()
    bench.run(1e4)
    assert bench.arrays.job_times[bench.live(), S.ACTIVATED].tolist() == pytest.approx([50.0])


def test_a_job_killed_before_the_callback_leaves_its_transfer_to_end():
    bench = run_far_away(1, 1e6, fts=dict(callback=1e12))
    bench.run(1000.0)
    bench.check()
    bench.take_back()
    bench.run(1e4)
    assert len(bench.moved()) == 1 and bench.link()["bytes_done"] == pytest.approx(1e6)
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
    for task in (0, 1, 0, 1, 0, 1):
        bench.submit(task=task, queue=1)
    bench.workers(6, queue=1)
    bench.run(101.0)
    bench.collect()
    waiting = bench.arrays.transfers[bench.arrays.transfers["transfer_id"] > 0]
    assert waiting[["jeditaskid", "n_jobs"]].tolist() == [(1, 3), (2, 3)]


@pytest.mark.rule("add_job")
def test_output_of_one_task_from_two_sites_moves_in_two_bunches():
    bench = Bench(scenario({"HERE": {}, "A": dict(nucleus=False), "B": dict(nucleus=False)}),
                  dict(n_jobs=4, nucleus=0, output_bytes_per_job=1e6))
    for queue in (1, 2, 1, 2):
        bench.submit(queue=queue)
        bench.workers(queue=queue)
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


@pytest.mark.rule("network.is_express")
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
