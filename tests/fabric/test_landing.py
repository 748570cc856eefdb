"""Files that are moved for jobs: they land, take space, serve other jobs, and expire."""

import numpy as np
import pytest
from builders import Bench, Stage, scenario, two_sites

from simgrid_broker.agents.data.network import reap, reaper
from simgrid_broker.fabric.transfers.network import Shipment
from simgrid_broker.names import Activity, Cause
from simgrid_broker.world.data.datasets import add_replica_at, delete_dataset, lose_replica
from simgrid_broker.world.data.replicas import expire_of, free_space_of, grow_replica_of, keep_until_of, take_space
from simgrid_broker.world.views import observe

MB = 1e6
GB = 1e9
STORE = dict(total=1000 * GB, free=500 * GB)
LINK = dict(bandwidth=1 * MB, latency=30)
DAY = 86400.0


def plan(n_files=10, storages=None, here=None, **others):
    """A dataset of files of a MB that lies at THERE; jobs at HERE, which is empty, must fetch them over 1 MB/s."""
    disks = dict(HERE_DISK=dict(site="HERE", **STORE) | (here or {}), THERE_DISK=dict(site="THERE", **STORE))
    data = dict(datasets=dict(data=dict(files=n_files, bytes=n_files * MB, replicas=[dict(storage="THERE_DISK")])))
    return two_sites(there=dict(nucleus=False), link=LINK | others.pop("link", {}), storages=disks | (storages or {}),
                     data=data | others.pop("data", {}), **others)


def bench_of(*tasks, kind=Bench, agents=(), **others):
    """Tasks that read the dataset, one file a job unless they say other; task k of the bench is in row k."""
    said = plan(**others)
    n_files = said.data.datasets["data"].files
    rows = [dict(n_jobs=n_files, input_bytes_per_job=MB, nucleus=0) | task for task in tasks]
    bench = Stage(agents, said, *rows) if kind is Stage else Bench(said, *rows)
    bench.arrays.input_dataset[:len(rows)] = 0
    return bench


def replica(bench, site=0):
    """The replica of the dataset at a site, None = there is none."""
    rows = bench.arrays.replicas
    found = rows[(rows["dataset"] == 0) & (rows["site"] == site)]
    return found[0] if len(found) else None


@pytest.mark.rule("land_files")
def test_files_land_and_take_space():
    bench = bench_of({})
    bench.submit(4)
    bench.check()
    assert replica(bench)["coming"] == pytest.approx(0.4)
    bench.run(4.0 + 30.0 - 0.01)
    assert replica(bench)["part"] == 0
    bench.run(4.0 + 30.0 + 0.01)                                          # latency + size / bandwidth
    assert bench.statuses() == ["activated"] * 4
    found = replica(bench)
    assert (found["part"], found["coming"], found["bytes"]) == pytest.approx((0.4, 0, 4 * MB))
    assert bench.arrays.storages["free_bytes"][0] == 500 * GB - 4 * MB
    bench.check()


def test_the_next_jobs_of_the_task_read_other_files():
    bench = bench_of({})
    bench.submit(4)
    bench.run(100.0)
    bench.submit(6)
    assert bench.arrays.jobs["missing_bytes"][bench.live()[4:]].tolist() == pytest.approx([MB] * 6)
    bench.run(200.0)
    assert replica(bench)["part"] == 1.0
    assert sum(bench.moved()["bytes"]) == pytest.approx(10 * MB)          # each file once
    bench.check()


def test_the_jobs_of_another_task_find_what_has_landed():
    bench = bench_of({}, {})
    bench.submit(10)
    bench.run(100.0)
    bench.submit(10, task=1)
    assert bench.statuses() == ["activated"] * 20 and len(bench.moved()) == 1
    bench.check()


@pytest.mark.rule("to_bring")
def test_half_of_what_another_task_needs_has_landed():
    bench = bench_of({}, {})
    bench.submit(5)
    bench.run(100.0)
    bench.submit(2, task=1)
    assert bench.arrays.jobs["missing_bytes"][bench.live()[5:]].tolist() == pytest.approx([0.5 * MB] * 2)


def test_a_file_that_many_want_is_moved_once():
    bench = bench_of({}, {}, {})
    bench.submit(10)
    bench.run(1.0)
    bench.submit(10, task=1)
    bench.submit(1, task=2)
    assert bench.statuses() == ["assigned"] * 21
    assert len(set(bench.arrays.jobs["transfer"][bench.live()])) == 1
    bench.check()
    bench.run(100.0)
    assert bench.statuses() == ["activated"] * 21
    assert bench.moved()["bytes"].tolist() == [10 * MB]
    bench.check()


@pytest.mark.rule("network.send", "to_bring")
def test_jobs_wait_for_files_that_come_from_tape():
    bench = bench_of({}, {})
    bench.fabric.send_staged(Shipment(0, 1, 0, 7, 1, 4 * MB, 4), 0.0)
    bench.submit(10, task=1)
    assert (replica(bench)["coming"], replica(bench)["own_coming"]) == pytest.approx((1.0, 1.0))
    bench.check()
    bench.run(100.0)
    assert bench.statuses() == ["activated"] * 10
    assert sorted(bench.moved()["bytes"]) == pytest.approx([4 * MB, 6 * MB])
    assert (replica(bench)["coming"], replica(bench)["own"]) == pytest.approx((0.0, 1.0))
    bench.check()


@pytest.mark.rule("land_files")
def test_a_new_replica_awaits_only_its_own_transfers():
    bench = bench_of({}, {})
    bench.submit(4)
    bench.run(1.0)
    lose_replica(bench.world, "data", "HERE_DISK")
    bench.submit(8, task=1)
    for moment in (33.0, 36.0, 100.0):                                    # the second is after the first transfer
        bench.run(moment)
        bench.check()
    assert replica(bench)["coming"] == replica(bench)["own_coming"] == 0.0


def test_files_come_even_if_no_job_waits_any_more():
    bench = bench_of({})
    bench.submit(3)
    bench.take_back()
    bench.run(100.0)
    assert replica(bench)["part"] == pytest.approx(0.3)
    bench.check()


def test_brokers_see_the_new_replica():
    bench = bench_of({})
    before = bench.arrays.datasets["version"][0]
    bench.submit(10)
    assert observe.replicas(bench.world, 0) == [(1, 1.0, False)]           # what is under way is not there
    bench.run(100.0)
    assert observe.replicas(bench.world, 0) == [(1, 1.0, False), (0, 1.0, False)]
    assert bench.arrays.datasets["version"][0] > before


def bench_of_one(n_jobs=1, kind=Bench, agents=(), here=None, link=None, part=0.0, **task):
    """A task alone with files of a MB at THERE, of which `part` lies at HERE, too; its jobs try again once."""
    row = dict(n_jobs=n_jobs, input_bytes_per_job=MB, nucleus=0, replicas={1: 1.0, 0: part}, max_attempt=2) | task
    said = plan(here=here, link=link or {})
    return Stage(agents, said, row) if kind is Stage else Bench(said, row)


@pytest.mark.rule("keep_files")
@pytest.mark.parametrize("part", [0.0, 0.25])
def test_input_of_a_task_alone_lands_and_takes_space(part):
    bench = bench_of_one(4, part=part)
    bench.submit(4)
    bench.run(33.0 if part == 0 else 32.0)
    assert bench.arrays.storages["free_bytes"][0] == 500 * GB
    bench.run(100.0)
    storage = bench.arrays.storages[0]
    assert storage["free_bytes"] == 500 * GB - (1 - part) * 4 * MB
    assert storage["dispatched_bytes"] == (1 - part) * 4 * MB
    assert observe.replicas(bench.world, 0)[0] == (1, 1.0, False)          # brokers see the datasets of JEDI alone
    bench.check()


@pytest.mark.rule("was_brought")
def test_the_next_attempt_finds_what_was_brought():
    bench = bench_of_one()
    bench.submit()
    bench.run(100.0)
    bench.take_back()
    bench.submit()
    assert bench.statuses() == ["activated"] and bench.arrays.jobs["missing_bytes"][bench.live()].tolist() == [0]
    assert len(bench.moved()) == 1 and bench.arrays.storages["dispatched_bytes"][0] == MB
    bench.check()


@pytest.mark.rule("was_brought")
def test_an_attempt_at_another_site_brings_it_there():
    bench = bench_of_one(replicas={1: 1.0, 0: 0.0})
    bench.submit()
    bench.run(100.0)
    bench.take_back()
    bench.arrays.retries["brought_to"][bench.arrays.ram_levels[0, 0]["head"]] = 1
    bench.submit()
    assert bench.statuses() == ["assigned"]
    bench.run(200.0)
    assert bench.arrays.storages["dispatched_bytes"][0] == 2 * MB
    bench.check()


@pytest.mark.rule("awaits")
def test_the_next_attempt_waits_for_what_is_under_way():
    bench = bench_of_one(link=dict(latency=50))
    bench.submit()
    bench.run(10.0)
    bench.take_back()
    bench.submit()
    assert bench.statuses() == ["assigned"] and bench.arrays.transfers["n_jobs"].max() == 1
    bench.check()
    bench.run(51.01)
    assert bench.statuses() == ["activated"] and bench.moved()["bytes"].tolist() == [MB]
    bench.check()


@pytest.mark.rule("is_still_wanted")
def test_input_of_a_task_alone_comes_even_if_no_job_waits():
    bench = bench_of_one()
    bench.submit()
    bench.take_back()
    bench.run(100.0)
    assert bench.arrays.storages["dispatched_bytes"][0] == MB and bench.link()["bytes_done"] == MB
    bench.check()


@pytest.mark.rule("is_still_wanted")
@pytest.mark.parametrize(("days", "under_way"), [
    pytest.param(6.9, 1, id="within the lifetime of its rule it is tried again"),
    pytest.param(7.1, 0, id="then it is given up"),
])
def test_input_that_no_job_awaits_is_tried_until_its_rule_expires(days, under_way):
    bench = bench_of_one(link=dict(failure_rate=1.0, latency=0, bandwidth=100.0))
    bench.submit()
    bench.take_back()
    bench.run(days * DAY)
    assert np.count_nonzero(bench.arrays.transfers["transfer_id"]) == under_way
    bench.check()


@pytest.mark.rule("reap")
def test_input_of_a_task_alone_expires_and_is_deleted_when_space_is_needed():
    bench = bench_of_one(3, Stage, agents=(reaper,), here=dict(min_free=10 * GB))
    bench.submit(3)
    bench.run(34.0 + 7 * DAY - 1)
    storage = bench.arrays.storages
    assert (storage["expired_bytes"][0], storage["dispatched_bytes"][0]) == (0, 3 * MB)
    bench.run(34.0 + 7.1 * DAY)
    assert (storage["expired_bytes"][0], storage["dispatched_bytes"][0], storage["used_bytes"][0]) == (
        3 * MB, 0, 500 * GB)
    bench.check()
    assert take_space(bench.arrays, 0, 490 * GB)
    assert (storage["expired_bytes"][0], storage["free_bytes"][0]) == (0, 10 * GB)
    bench.check()


@pytest.mark.rule("was_brought")
@pytest.mark.parametrize(("days", "status"), [
    pytest.param(6.99, "activated", id="before it expires"),
    pytest.param(7.01, "assigned", id="after it has expired it is brought again"),
])
def test_what_has_expired_serves_no_attempt(days, status):
    bench = bench_of_one()
    bench.submit()
    bench.run(days * DAY)
    bench.take_back()
    bench.submit()
    assert bench.statuses() == [status]
    bench.check()


@pytest.mark.parametrize(("free", "status"), [
    pytest.param(4 * MB, "activated", id="just enough"),
    pytest.param(4 * MB - 1, "assigned", id="a byte too little"),
])
def test_input_of_a_task_alone_waits_for_space(free, status):
    bench = bench_of_one(4, here=dict(total=1000 * GB, free=free))
    bench.submit(4)
    bench.run(1000.0)
    assert bench.statuses() == [status] * 4
    bench.check()


@pytest.mark.parametrize(("free", "status"), [
    pytest.param(4 * MB, "activated", id="just enough"),
    pytest.param(4 * MB - 1, "assigned", id="a byte too little"),
])
def test_input_waits_for_space(free, status):
    bench = bench_of({}, here=dict(total=1000 * GB, free=free))
    bench.submit(4)
    bench.run(1000.0)
    assert bench.statuses() == [status] * 4
    bench.check()


@pytest.mark.rule("reap")
@pytest.mark.parametrize(("days", "part"), [
    pytest.param(6.99, 1.0, id="within its lifetime it stays"),
    pytest.param(7.01, 1.0, id="expired files stay readable until their space is needed"),
])
def test_files_expire_after_seven_days(days, part):
    bench = bench_of({}, kind=Stage, agents=(reaper,))
    bench.submit(10)
    bench.run(34.0 + 6.9 * DAY)
    assert replica(bench)["expired"] == 0
    bench.run(40.0 + days * DAY + 600.0)
    assert (replica(bench)["expired"], replica(bench)["part"]) == (days > 7, part)
    assert bench.arrays.storages["expired_bytes"][0] == pytest.approx(10 * MB * (days > 7))
    bench.check()


def test_a_job_that_reads_a_copy_extends_its_lifetime():
    bench = bench_of({}, {}, kind=Stage, agents=(reaper,))
    bench.submit(10)
    bench.run(6 * DAY)
    bench.submit(10, task=1)
    bench.run(12 * DAY)
    assert replica(bench)["expired"] == 0
    bench.run(14 * DAY)
    assert replica(bench)["expired"] == 1


@pytest.mark.parametrize(("size", "left"), [
    pytest.param(1 * GB, True, id="there is room"),
    pytest.param(490 * GB + 1, False, id="less than the minimum would be free: the expired copy goes"),
])
def test_expired_copies_are_deleted_when_space_is_needed(size, left):
    bench = bench_of({}, kind=Stage, agents=(reaper,), here=dict(min_free=10 * GB))
    bench.submit(10)
    bench.run(8 * DAY)
    assert take_space(bench.arrays, 0, float(size))
    assert (replica(bench) is not None) is left
    bench.check()


@pytest.mark.parametrize(("rate", "hours", "deleted"), [
    pytest.param("1 MB/s", 1, 3.6, id="as fast as the rate"),
    pytest.param("1 GB/s", 1, 10, id="until the minimum is free"),
])
def test_deletion_takes_its_time(rate, hours, deleted):
    here = dict(total=1000 * GB, free=20 * GB, min_free=30 * GB, expired=100 * GB, deletion_rate=rate)
    bench = bench_of({}, kind=Stage, agents=(reaper,), here=here)
    bench.run(3600.0 * hours + 1)
    assert bench.arrays.storages["deleted_bytes"][0] / GB == pytest.approx(deleted, rel=0.2)
    bench.check()


@pytest.mark.rule("reap")
def test_a_turn_of_the_reaper():
    disk = dict(total=1000 * GB, free=20 * GB, min_free=30 * GB, expired=100 * GB, deletion_rate="1 GB/s")
    more = dict(FREES=disk, SLOW=disk | dict(deletion_rate="1 MB/s"), ALMOST=disk | dict(expired=1),
                ON_DEMAND=disk | dict(deletion_rate=None), ROOMY=disk | dict(free=40 * GB))
    bench = bench_of({}, kind=Stage, storages={name: one | dict(site="HERE") for name, one in more.items()})
    replicas = bench.arrays.replicas
    replicas["expires_s"][0] = bench.now
    for secondary in (0, 1):
        replicas["secondary"][0] = secondary
        reap(bench.control, [])
        assert replicas["expired"][0] == secondary                            # at that very time
    period = bench.control.periods.reaper
    deleted = bench.arrays.storages["deleted_bytes"][2:].tolist()
    assert deleted == pytest.approx([10 * GB, 2 * MB * period, 1, 0, 0])


def test_transfers_from_a_lost_replica_fail_until_their_jobs_are_closed():
    bench = bench_of({})
    bench.submit(5)
    bench.fabric.sources_vanish(lose_replica(bench.world, "data", "THERE_DISK"), 0.0)
    bench.run(500.0)
    assert bench.statuses() == ["assigned"] * 5 and bench.arrays.transfers["failed_files"].max() > 0
    assert bench.link()["bytes_moved"] == 0
    bench.check()
    bench.take_back()
    bench.run(5000.0)
    assert np.count_nonzero(bench.arrays.transfers["transfer_id"]) == 0 and replica(bench) is None
    bench.check()


@pytest.mark.rule("sources_vanish", "try_again")
@pytest.mark.parametrize("lost_s", [
    pytest.param(-1.0, id="while it waits at the link"),
    pytest.param(1.5, id="while it moves"),
])
def test_a_transfer_whose_source_vanishes_moves_at_once_no_more_and_comes_from_another_replica(lost_s):
    extra = dict(bandwidth=1 * MB, latency=0)
    sites = {"HERE": {}, "THERE": dict(nucleus=False), "ELSEWHERE": dict(nucleus=False)}
    replicas = [dict(storage=f"{name}_DISK") for name in ("THERE", "ELSEWHERE")]
    said = scenario(sites, storages={f"{name}_DISK": dict(site=name, **STORE) for name in sites},
                    links={("THERE", "HERE"): dict(extra, closeness=1),
                           ("ELSEWHERE", "HERE"): dict(extra, closeness=5)},
                    data=dict(datasets=dict(data=dict(files=4, bytes=4 * MB, replicas=replicas))))
    bench = Bench(said, dict(n_jobs=4, input_bytes_per_job=MB, nucleus=0))
    bench.arrays.input_dataset[0] = 0
    if lost_s < 0:
        bench.fabric.link_goes_down(1, 0, 0.0)
    bench.submit(4)
    bench.run(max(lost_s, 0.5))
    bench.arrays.settings["users"] = 1 << bench.arrays.tasks["label"][0]        # as if a job of theirs waited first
    bench.fabric.sources_vanish(lose_replica(bench.world, "data", "THERE_DISK"), bench.now)
    for now in range(2, 101):
        bench.check()
        bench.run(float(now))
    assert bench.statuses() == ["activated"] * 4 and (bench.moved()["activity"] == Activity.ANALYSIS_INPUT).all()
    moved = {name: bench.arrays.links["bytes_moved"][place * 3] / MB for place, name in enumerate(sites)}
    assert moved == pytest.approx(dict(HERE=0, THERE=max(lost_s, 0.0), ELSEWHERE=4), abs=1e-3)
    bench.check()


@pytest.mark.rule("try_again")
def test_jobs_go_on_when_all_files_have_come_by_another_way():
    bench = bench_of({})
    bench.submit(5)
    bench.fabric.sources_vanish(lose_replica(bench.world, "data", "THERE_DISK"), 0.0)
    add_replica_at(bench.world, "data", "HERE_DISK", None)
    bench.run(100.0)
    assert bench.statuses() == ["activated"] * 5 and bench.link()["bytes_moved"] == 0
    assert replica(bench)["part"] == 1 and replica(bench)["coming"] == pytest.approx(0)
    moved = bench.moved()
    assert (moved["bytes"].tolist(), moved["n_files"].tolist()) == ([0.0], [0])       # no link has carried them
    bench.check()


@pytest.mark.rule("is_source")
def test_an_expired_replica_from_which_files_move_is_not_deleted_for_space():
    bench = bench_of({})
    bench.submit(5)
    place = int(np.flatnonzero((bench.arrays.replicas["dataset"] == 0) & (bench.arrays.replicas["site"] == 1))[0])
    bench.arrays.replicas["expires_s"][place] = 0.0
    expire_of(bench.arrays, place)
    assert free_space_of(bench.arrays, 1, 10 * MB) == 0 and replica(bench, site=1) is not None
    bench.run(100.0)
    assert bench.statuses() == ["activated"] * 5
    assert free_space_of(bench.arrays, 1, 10 * MB) == 10 * MB and replica(bench, site=1) is None
    bench.check()


def test_no_more_files_are_brought_than_the_dataset_has():
    bench = bench_of(dict(input_bytes_per_job=1.1 * MB))                  # of which a tenth is in another dataset
    bench.submit(10)
    assert replica(bench)["coming"] == pytest.approx(1)
    bench.check()
    bench.run(100.0)
    assert replica(bench)["part"] == 1 and replica(bench)["own"] <= 1 + 1e-9
    bench.check()


@pytest.mark.parametrize(("lifetime", "expired"), [
    pytest.param(7 * DAY, 0, id="a rule that pins it revives it"),
    pytest.param(None, 1, id="without a rule its files expire as they come"),
])
def test_files_come_to_a_replica_whose_lifetime_was_ended_early(lifetime, expired):
    bench = bench_of({})
    bench.submit(4)
    bench.run(40.0)
    place = int(np.flatnonzero((bench.arrays.replicas["dataset"] == 0) & (bench.arrays.replicas["site"] == 0))[0])
    expire_of(bench.arrays, place)
    if lifetime is not None:
        keep_until_of(bench.arrays, place, lifetime)
    assert take_space(bench.arrays, 0, MB)
    grow_replica_of(bench.arrays, place, MB)
    assert bench.arrays.storages["expired_replica_bytes"][0] == expired * 5 * MB
    bench.check()


def test_jobs_of_a_deleted_dataset_find_nothing():
    bench = bench_of({})
    delete_dataset(bench.world, "data")
    bench.submit(2)
    bench.workers(2)
    bench.run(100.0)
    bench.collect()
    assert [Cause(job["cause"]).word for job in bench.ended()] == ["input_lost"] * 2
    assert bench.arrays.tasks["n_failed"][0] == 2
    bench.check()

