"""What goes on at queues, as it is read at a refresh of the statistics, and what brokers see of it."""

import numpy as np
import pytest
from builders import Bench, S, put_job, scenario, two_sites

from simgrid_broker.units import HOUR
from simgrid_broker.world.columns import set_task
from simgrid_broker.world.jobs.counts import take_snapshot
from simgrid_broker.world.views import observe

pytestmark = pytest.mark.rule("world.queues.statistics.activity", "count_activity")


QUEUES = {"U": dict(atlas_site="HERE", capability="ucore", corecount=8, maxdiskio=300, pledgedcpu=40,
                    params=dict(max_io_intensity=500), catchall="use_only_local_data,bareNucleus=only"),
          "P": dict(atlas_site="THERE", pledgedcpu=-1)}
SHARES = [dict(name="A", value=1), dict(name="B", value=1)]
TYPES = dict(SCORE=dict(mincore=1, maxcore=1), MCORE=dict(mincore=2))


def bench_of(*said, **others) -> Bench:
    """A unified queue HERE, a nucleus, and a plain one THERE; two shares, two resource types."""
    return Bench(two_sites(queues=QUEUES, shares=SHARES, resource_types=TYPES, **others), *(said or ({},)))


def load(bench, now=0.0, share=0):
    """What brokers see of the queues for a share."""
    return observe.stats(bench.world, take_snapshot(bench.arrays, now), share).load


def test_numbers_of_all_shares():
    bench = bench_of()
    for share in (0, 1):
        for status in (S.RUNNING, S.ACTIVATED, S.STARTING, S.TRANSFERRING, S.TRANSFERRING):
            put_job(bench, status, share=share)
    bench.arrays.running_cores[0, :, 1] = 8                          # set by `move`, which `put_job` goes round
    found = load(bench)
    numbers = {name: found[name].tolist() for name in ("running_all", "activated_all", "starting_all", "transferring")}
    assert numbers == dict(running_all=[2, 0], activated_all=[2, 0], starting_all=[2, 0], transferring=[4, 0])
    assert found["cores_running"].tolist() == [16, 0] and found["cores_starting"].tolist() == [16, 0]


@pytest.mark.rule("inactive")
@pytest.mark.parametrize(("last", "now", "idle_s"), [
    pytest.param(-np.inf, 2 * HOUR, 2 * HOUR, id="before the run every queue started jobs"),
    pytest.param(HOUR, 3 * HOUR + 1, 2 * HOUR + 1, id="one started an hour later"),
])
def test_time_since_a_job_started(last, now, idle_s):
    bench = bench_of()
    bench.arrays.queues["laststart_s"][0] = last
    assert load(bench, now)["idle_s"].tolist()[0] == idle_s


@pytest.mark.parametrize(("last", "now", "workers", "pilots"), [
    pytest.param(0, 3 * HOUR, 0, 1, id="before the run every queue had pilots"),
    pytest.param(0, 3 * HOUR + 1, 0, 0, id="none came since"),
    pytest.param(HOUR, 4 * HOUR, 0, 1, id="three hours ago"),
    pytest.param(0, 9 * HOUR, 2, 2, id="workers that hold slots speak to the server"),
])
def test_pilots(last, now, workers, pilots):
    bench = bench_of()
    bench.arrays.queues["lastpilot_s"][0] = last
    bench.arrays.pseudo_queues["n_running"][:2] = workers // 2      # those of the unified queue
    assert load(bench, now)["n_pilot"].tolist()[0] == pilots


def test_a_pilot_that_asks_is_seen_whether_or_not_it_gets_a_job():
    bench = Bench(scenario())
    bench.fabric.submit_workers([0], [1], 5.0)
    bench.fabric.advance(10.0)
    assert bench.arrays.queues["lastpilot_s"].tolist() == [5.0]


def test_jobs_that_wait_for_a_nucleus_that_receives_nothing():
    storages = {"HERE": dict(site="HERE", write_wan="TEST"), "THERE": dict(site="THERE", write_wan="")}
    bench = bench_of(storages=storages)
    for nucleus in (0, 0, 1, -1):
        put_job(bench, S.TRANSFERRING, nucleus=nucleus)
    put_job(bench, S.RUNNING, nucleus=0)
    found = load(bench)
    assert found["transferring"].tolist() == [4, 0] and found["transferring_unwritable"].tolist() == [2, 0]


def test_disk_traffic_of_running_jobs_is_counted_by_core():
    bench = bench_of(dict(diskio=800.0), dict(diskio=300.0), {})
    for task, cores, status in ((0, 8, S.RUNNING), (1, 1, S.RUNNING), (2, 1, S.RUNNING), (1, 1, S.ACTIVATED)):
        put_job(bench, status, task=task, corecount=cores)
    assert load(bench)["diskio"].tolist() == [pytest.approx((100 + 300 + 0) / 3), 0]


def test_running_jobs_have_the_disk_traffic_that_their_task_has_now():
    bench = bench_of(dict(diskio=800.0))
    for status in (S.RUNNING, S.TRANSFERRING):
        put_job(bench, status, corecount=8)
    set_task(bench.world, 0, diskio=80.0)
    assert load(bench)["diskio"].tolist() == [10, 0]
    set_task(bench.world, 0, diskio=np.nan)
    assert load(bench)["diskio"].tolist() == [0, 0]


def test_nothing_is_measured_where_no_task_has_disk_traffic():
    bench = bench_of()
    put_job(bench, S.RUNNING)
    assert np.isnan(load(bench)["diskio"]).all()


def test_queues_as_compiled_criteria_see_them():
    found = observe.queues(bench_of().world).records
    assert found["pledgedcpu"].tolist() == [40, 40, -1]
    assert np.array_equal(found["maxdiskio"], [300, 300, np.nan], equal_nan=True)     # that of gdpconfig
    assert found["max_io_intensity"].tolist() == [500, 500, np.inf]
    assert found["use_only_local_data"].tolist() == [True, True, False]
    assert found["bare_nucleus"].tolist() == [2, 2, 0]


@pytest.mark.parametrize(("written", "limit"), [({}, np.inf), (dict(max_io_intensity="40.5"), 40.5),
                                                (dict(max_io_intensity=None), np.inf)])
def test_max_io_intensity(written, limit):
    bench = Bench(scenario(queues={"HERE": dict(atlas_site="HERE", params=written)}))
    assert bench.arrays.queues["max_io_intensity"].tolist() == [limit]


@pytest.mark.parametrize(("status", "documented", "deployed"), [
    pytest.param("ON", True, True, id="ON"), pytest.param("OFF", False, False, id="OFF"),
    pytest.param("TEST", False, False, id="TEST"), pytest.param("", False, True, id="D2 CRIC does not say"),
])
@pytest.mark.parametrize("activity", ["read_lan", "write_lan", "read_wan", "write_wan"])
def test_statuses_of_storages(activity, status, documented, deployed):
    for edition, expected in (("documented", documented), ("deployed", deployed)):
        plan = scenario(storages={"HERE": dict(site="HERE", **{activity: status})}, edition=edition)
        (store,), _ = observe.stores(Bench(plan).world)
        assert {name: bool(store[name]) for name in ("read_lan", "write_lan", "read_wan", "write_wan")} == dict(
            read_lan=True, write_lan=True, read_wan=True, write_wan=True) | {activity: expected}


def test_space_of_storages_as_either_edition_counts_it():
    plan = scenario(storages={"HERE": dict(site="HERE", free=5e12, expired=2e12, min_free=1e12)})
    (store,), _ = observe.stores(Bench(plan).world)
    assert (store["free_bytes"], store["usable_bytes"]) == (5e12, 6e12)


def test_a_task_carries_its_disk_traffic_and_what_its_nucleus_is():
    bench = bench_of(dict(diskio=70.0, nucleus=0), dict(nucleus=1), {})
    found = [observe.task(bench.world, row) for row in range(3)]
    assert [task.diskio for task in found] == pytest.approx([70, np.nan, np.nan], nan_ok=True)
    assert [task.nucleus_bare for task in found] == [2, 0, 0]
