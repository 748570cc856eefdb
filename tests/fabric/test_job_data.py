"""A job's data: stage-in and stage-out over a shared LAN, lost callbacks, and replicas of virtual placement."""

import pytest
from builders import Bench, S, scenario, two_sites

from simgrid_broker.names import ReplicaState
from simgrid_broker.world.data.datasets import lose_replica
from simgrid_broker.world.views import observe

MB = 1e6
DISK = dict(total=1e15, free=5e14)


@pytest.mark.parametrize(("lan", "staged"), [
    pytest.param(None, [10, 10, 10], id="each at its own rate"),
    pytest.param("1 MB/s", [10, 20, 30], id="one after the other at the rate of the LAN"),
    pytest.param("2 MB/s", [10, 10, 15], id="two at once fill the LAN"),
    pytest.param("3 MB/s", [10, 10, 10], id="the LAN has room for three"),
])
def test_stage_in_shares_the_lan(lan, staged):
    site = dict(stage_in_rate=1 * MB) | ({} if lan is None else dict(lan=lan))
    bench = Bench(scenario({"HERE": site}), dict(n_jobs=3, input_bytes_per_job=10 * MB, replicas={0: 1.0}))
    bench.submit(3)
    bench.workers(3)
    bench.run(1000.0)
    bench.collect()
    assert sorted(bench.ended()["stage_in_s"].tolist()) == pytest.approx(staged)
    bench.check()


def test_a_lan_forgets_what_was_read():
    bench = Bench(scenario({"HERE": dict(stage_in_rate=1 * MB, lan="1 MB/s")}),
                  dict(n_jobs=2, input_bytes_per_job=10 * MB, replicas={0: 1.0}))
    bench.submit(2)
    bench.workers(1)
    bench.run(4.0)
    bench.workers(1)
    bench.run(1000.0)
    bench.collect()
    assert sorted(bench.ended()["stage_in_s"].tolist()) == pytest.approx([10, 16])       # six are left of ten


@pytest.mark.parametrize(("lan", "staged"), [
    pytest.param(None, [10, 10, 10], id="each at its own rate"),
    pytest.param("1 MB/s", [10, 20, 30], id="one after the other at the rate of the LAN"),
    pytest.param("2 MB/s", [10, 10, 15], id="two at once fill the LAN"),
    pytest.param("3 MB/s", [10, 10, 10], id="the LAN has room for three"),
])
def test_stage_out_shares_the_lan(lan, staged):
    site = dict(stage_in_rate=1 * MB) | ({} if lan is None else dict(lan=lan))
    bench = Bench(scenario({"HERE": site}), dict(n_jobs=3, output_bytes_per_job=10 * MB))
    bench.submit(3)
    bench.workers(3)
    bench.run(1000.0)
    bench.collect()
    ended = bench.ended()
    assert sorted(ended["stage_out_s"].tolist()) == pytest.approx(staged)
    assert (ended["walltime_s"] - ended["stage_out_s"]).tolist() == pytest.approx([100.0] * 3)
    assert sorted(bench.times(S.HOLDING)) == pytest.approx([100.0 + seconds for seconds in staged])
    bench.check()


@pytest.mark.parametrize(("maxtime", "statuses"), [
    pytest.param(120, [S.FINISHED, S.FINISHED], id="it just ends in time"),
    pytest.param(119, [S.FAILED, S.FINISHED], id="the batch system ends it while it waits for the LAN"),
])
def test_a_job_that_waits_for_the_lan_may_exceed_its_wall_time(maxtime, statuses):
    plan = scenario({"HERE": dict(stage_in_rate=1 * MB, lan="1 MB/s")},
                    queues=dict(HERE=dict(atlas_site="HERE", maxtime=maxtime)))
    bench = Bench(plan, dict(n_jobs=2, output_bytes_per_job=10 * MB))
    bench.submit(2)
    bench.workers(2)
    bench.run(1000.0)
    bench.collect()
    assert sorted(bench.ended()["status"].tolist()) == sorted(statuses)
    assert bench.ended()["walltime_s"].max() == maxtime
    bench.check()


def test_input_and_output_share_the_lan():
    bench = Bench(scenario({"HERE": dict(stage_in_rate=1 * MB, lan="1 MB/s")}),
                  dict(output_bytes_per_job=10 * MB), dict(input_bytes_per_job=10 * MB, replicas={0: 1.0}))
    bench.submit()
    bench.workers()
    bench.run(98.0)
    bench.submit(task=1)
    bench.workers()                                        # it reads until 108 s
    bench.run(1000.0)
    bench.collect()
    assert bench.ended()["stage_out_s"].tolist() == pytest.approx([18.0, 0.0])
    bench.check()


def test_a_job_that_is_killed_while_it_writes_leaves_its_slot():
    bench = Bench(scenario({"HERE": dict(stage_in_rate=1 * MB, lan="1 MB/s")}), dict(output_bytes_per_job=10 * MB))
    bench.submit()
    bench.workers()
    bench.run(105.0)
    bench.take_back()
    bench.check()
    bench.run(1000.0)
    assert bench.ended()["status"].tolist() == [S.CLOSED]
    bench.check()


@pytest.mark.rule("delay_of_look_up")
@pytest.mark.parametrize(("lost", "submitted_s", "activated_s"), [
    pytest.param(0.0, 100.0, 110.0, id="no callback is lost"),
    pytest.param(1.0, 100.0, 2400.0, id="the first turn of the datasetManager"),
    pytest.param(1.0, 2395.0, 2400.0 + 4800.0, id="too late for it: the next is the second from then, after an hour"),
    pytest.param(1.0, 2400.0, 2400.0 + 4800.0, id="asked for at the moment of a turn"),
])
def test_a_lost_callback_is_found_by_the_dataset_manager(lost, submitted_s, activated_s):
    bench = Bench(two_sites(link=dict(bandwidth=1 * MB), fts=dict(lost_callbacks=lost)),
                  dict(input_bytes_per_job=10 * MB, replicas={1: 1.0}))
    bench.run(submitted_s)
    bench.submit()
    bench.run(activated_s - 0.01)
    assert bench.statuses() == ["assigned"]
    bench.run(activated_s + 0.01)
    assert bench.statuses() == ["activated"]
    bench.check()


def virtual(part=1.0):
    """A dataset on disk at HERE, and as a virtual replica at THERE."""
    disks = dict(HERE_DISK=dict(site="HERE", **DISK), THERE_DISK=dict(site="THERE", **DISK))
    held = dict(files=10, bytes=10 * MB, replicas=[
        dict(storage="HERE_DISK"), dict(storage="THERE_DISK", virtual=True, part=part)])
    bench = Bench(two_sites(storages=disks, data=dict(datasets=dict(data=held))),
                  dict(n_jobs=10, input_bytes_per_job=MB))
    bench.arrays.input_dataset[0] = 0
    return bench


@pytest.mark.rule("fill_sources")
def test_nothing_is_read_from_a_virtual_replica_elsewhere():
    here, there = observe.job_input(virtual().world, 0).inputs[0].sources
    assert (here.lan, here.wan, there.lan, there.wan) == (True, True, False, False)


@pytest.mark.rule("spread_replicas")
@pytest.mark.parametrize(("part", "state"), [
    pytest.param(1.0, ReplicaState.COMPLETE_VP, id="complete"),
    pytest.param(0.5, ReplicaState.INCOMPLETE_VP, id="incomplete"),
])
def test_analysis_brokerage_tells_virtual_replicas_apart(part, state):
    given = observe.input_at_queues(virtual(part).world, 0)
    assert given.datasets[0].states.tolist() == [ReplicaState.COMPLETE_DISK, state]


def test_jobs_at_a_virtual_replica_need_no_transfer():
    bench = virtual()
    bench.submit(2, queue=1)
    assert bench.statuses() == ["activated"] * 2
    assert bench.arrays.storages["free_bytes"].tolist() == [5e14, 5e14]
    bench.check()


def test_a_virtual_replica_alone_holds_nothing():
    bench = virtual()
    lose_replica(bench.world, "data", "HERE_DISK")
    assert bench.arrays.datasets["lost"][0] == 1
