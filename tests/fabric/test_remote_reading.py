"""Jobs that read their input from another site while they run."""

import numpy as np
import pytest
from builders import Bench, S, Stage, scenario, two_sites

from simgrid_broker.agents.run.timeline import timeline
from simgrid_broker.names import Activity, Cause, TransferKind
from simgrid_broker.world.data.datasets import lose_replica

MB = 1e6
DISK = dict(total=1e12, free=5e11)
READS = dict(atlas_site="HERE", direct_access_lan=True, direct_access_wan=True)


def grid(*incidents, queue=None, link=None, **others):
    """HERE may read from THERE at a MB/s; links have no latency."""
    queues = dict(HERE=READS | (queue or {}), THERE=dict(atlas_site="THERE"))
    return two_sites(link=dict(bandwidth=MB) | (link or {}), queues=queues, incidents=list(incidents), **others)


def reading(megabytes=10, **task) -> dict:
    """A task whose jobs take 100 s of CPU and have their input THERE, from where they may read it."""
    return dict(n_jobs=4, input_bytes_per_job=megabytes * MB, replicas={1: 1.0}, allowinputwan=1) | task


def bench_of(plan=None, jobs=1, until=5000.0, **task) -> Bench:
    """Jobs that start at once, after some time."""
    bench = Bench(plan or grid(), reading(**task))
    start(bench, jobs)
    if until:
        bench.run(until)
        bench.check()
        bench.collect()
    return bench


def start(bench, jobs=1, now=1e-3) -> None:
    """Submit jobs and as many workers."""
    bench.submit(jobs)
    bench.workers(jobs)
    bench.run(now)


def walls(bench) -> list[float]:
    """Wall time of each attempt that has ended, s."""
    return bench.ended()["walltime_s"].tolist()


def cause(bench) -> str:
    """Why the only attempt that has ended did so."""
    job, = bench.ended()
    return Cause(job["cause"]).word


@pytest.mark.rule("may_read_remotely", "find_input")
@pytest.mark.parametrize(("queue", "task", "status"), [
    pytest.param({}, {}, "activated", id="task and queue allow it"),
    pytest.param({}, dict(allowinputwan=0), "assigned", id="the task does not"),
    pytest.param(dict(direct_access_wan=False), {}, "assigned", id="the queue reads over LAN alone"),
    pytest.param(dict(direct_access_lan=False), {}, "assigned", id="over WAN only with LAN"),
    pytest.param(dict(direct_access_lan=False, maxinputsize=-1), {}, "assigned", id="maxinputsize is about LAN"),
    pytest.param({}, dict(label="user"), "assigned", id="the broker of analysis does not ask"),
    pytest.param({}, dict(replicas={}), "activated", id="a task without replicas lacks nothing"),
    pytest.param({}, dict(replicas={0: 1.0, 1: 1.0}), "activated", id="all of it is here"),
])
def test_a_job_waits_for_its_input_or_reads_it_from_far(queue, task, status):
    bench = Bench(grid(queue=queue), reading(**task))
    bench.submit()
    assert bench.statuses() == [status]
    assert bench.arrays.state["transfer_id"][0] == (status == "assigned")
    bench.check()


@pytest.mark.rule("begin_reading", "reading_done", "wait_for_input")
@pytest.mark.parametrize(("link", "megabytes", "wall", "read"), [
    pytest.param({}, 10, 100, 10, id="the CPU takes longer: it is not slowed"),
    pytest.param({}, 300, 300, 300, id="reading takes longer"),
    pytest.param(dict(latency=7), 300, 307, 307, id="latency + size / bandwidth"),
    pytest.param(dict(latency=7), 93, 100, 100, id="both take as long"),
    pytest.param(dict(file_rate=0.5 * MB), 100, 200, 200, id="a file has its own limit of rate"),
    pytest.param(dict(max_active_files=1), 200, 200, 200, id="the limit of FTS is not asked"),
])
def test_a_job_ends_when_it_has_computed_and_read(link, megabytes, wall, read):
    bench = bench_of(grid(link=link), megabytes=megabytes)
    assert walls(bench) == pytest.approx([wall])
    assert bench.times(S.FINISHED) == [bench.now]
    job, = bench.ended()
    assert (job["cputime_s"], job["missing_bytes"], job["source_site"]) == pytest.approx((100, megabytes * MB, 1))
    moved, = bench.moved()
    assert moved["ended_s"] - moved["started_s"] == pytest.approx(read)
    assert (moved["kind"], moved["activity"]) == (TransferKind.READING, Activity.DIRECT_READING)
    assert (moved["bytes"], moved["failed_files"], moved["n_jobs"]) == (megabytes * MB, 0, 1)


@pytest.mark.parametrize(("jobs", "link", "expected"), [
    pytest.param(2, {}, [400, 400], id="two share the link"),
    pytest.param(4, {}, [800] * 4, id="four as well"),
    pytest.param(2, dict(bandwidth=10 * MB, max_active_files=1), [100, 100], id="FTS limits none"),
])
def test_readers_share_a_link(jobs, link, expected):
    bench = bench_of(grid(link=link), jobs=jobs, megabytes=200)
    assert walls(bench) == pytest.approx(expected)
    assert bench.link()["bytes_done"] == pytest.approx(jobs * 200 * MB)
    assert bench.link()[["readers", "active_files", "queued_files", "rate"]].tolist() == (0, 0, 0, 0)


def test_the_door_of_a_site_holds_for_what_its_jobs_read():
    sites = {"HERE": dict(door_in=MB), "ONE": dict(nucleus=False), "OTHER": dict(nucleus=False)}
    bench = Bench(scenario(sites, queues=dict(HERE=READS)), reading(200), reading(200, replicas={2: 1.0}))
    for task in (0, 1):
        bench.submit(task=task)
    bench.workers(2)
    bench.run(1e-3)
    bench.fabric.share_gates(bench.now)
    for now in (100.0, 300.0):
        bench.run(now)
        assert bench.moved_by(now).sum() == pytest.approx(now * MB)
        bench.check()
    bench.run(500.0)
    bench.collect()
    assert walls(bench) == pytest.approx([400, 400], abs=2e-3)


def test_readers_leave_the_places_of_fts_to_transfers():
    bench = Bench(grid(link=dict(max_active_files=1)), reading(200), reading(100, allowinputwan=0))
    start(bench)
    bench.submit(task=1)
    bench.run(199.0)
    assert bench.link()[["active_files", "readers"]].tolist() == (2, 1)
    assert bench.statuses() == ["running", "assigned"]
    bench.run(201.0)
    assert bench.statuses() == ["running", "activated"]       # both moved 100 MB in 200 s
    bench.check()
    bench.run(500.0)
    bench.collect()
    assert walls(bench) == pytest.approx([300])
    assert bench.link()["files_done"] == 1                    # what FTS reports is of its own files


@pytest.mark.parametrize("part", [0.25, 0.75])
def test_a_job_reads_what_is_not_at_its_site(part):
    bench = bench_of(megabytes=400, replicas={0: part, 1: 1.0})
    assert walls(bench) == pytest.approx([max(100, 400 * (1 - part))])
    assert bench.moved()["bytes"].tolist() == pytest.approx([400 * MB * (1 - part)])


def test_files_that_have_come_meanwhile_are_read_at_the_site():
    bench = Bench(grid(), reading(300))
    bench.submit()
    bench.arrays.replicas["site"][bench.arrays.replicas["dataset"] >= 0] = 0
    bench.workers()
    bench.run(500.0)
    bench.collect()
    assert walls(bench) == pytest.approx([100]) and not len(bench.moved())


def test_the_closest_complete_replica_is_read():
    sites = {"HERE": {}, "NEAR": dict(nucleus=False), "FAR": dict(nucleus=False)}
    links = {("NEAR", "HERE"): dict(closeness=2), ("FAR", "HERE"): dict(closeness=1)}
    queues = dict(HERE=READS)
    bench = bench_of(scenario(sites, queues=queues, links=links), replicas={1: 1.0, 2: 1.0})
    assert bench.moved()["source"].tolist() == [2]


@pytest.mark.parametrize(("output", "wall", "stage_out"), [
    pytest.param(0, 300, 0, id="without output"),
    pytest.param(20, 320, 20, id="output is written when all is read"),
])
@pytest.mark.parametrize("lan", [{}, dict(lan="1 MB/s")], ids=["each alone", "over a LAN with a capacity"])
def test_output_is_written_when_all_is_read(output, wall, stage_out, lan):
    bench = bench_of(grid(here=dict(stage_in_rate=MB) | lan), megabytes=300, output_bytes_per_job=output * MB)
    assert walls(bench) == pytest.approx([wall])
    assert bench.ended()["stage_out_s"].tolist() == pytest.approx([stage_out])


@pytest.mark.rule("give_up_reading")
@pytest.mark.parametrize(("maxtime", "found", "cpu"), [
    pytest.param("301s", "none", 100, id="it has just read all"),
    pytest.param("299s", "walltime_exceeded", 100 * 299 / 300, id="the batch system ends it before"),
    pytest.param("50s", "walltime_exceeded", 50, id="while it computes"),
])
def test_the_limit_of_the_queue_holds_for_readers(maxtime, found, cpu):
    bench = bench_of(grid(queue=dict(maxtime=maxtime)), megabytes=300)
    assert cause(bench) == found
    assert bench.ended()["cputime_s"][0] == pytest.approx(cpu)
    assert walls(bench) == pytest.approx([min(float(maxtime[:-1]), 300)])


@pytest.mark.rule("stop_reading")
@pytest.mark.parametrize("at", [50.0, 150.0], ids=["while it computes", "while it waits for its input"])
@pytest.mark.parametrize("way", ["cancelled", "the site goes down", "its storage is switched off"])
def test_a_reading_ends_with_its_job(way, at):
    bench = Bench(grid(), reading(300))
    start(bench, jobs=2)
    bench.run(at)
    if way == "cancelled":
        bench.take_back(bench.live()[0], S.CANCELLED)
    elif way == "the site goes down":
        bench.fabric.site_goes_down(0, bench.now)
    else:
        bench.fabric.storage_is_switched(1, "read_wan", True, bench.now)
    bench.run(at + 1)
    bench.check()
    left = 1 if way == "cancelled" else 0
    assert bench.link()[["readers", "active_files", "queued_files"]].tolist() == (left, left, left)
    moved = bench.moved()
    assert moved["bytes"].tolist() == pytest.approx([at / 2 * MB] * (2 - left), rel=1e-4)
    assert moved["ended_s"].tolist() == [at] * (2 - left) and moved["failed_files"].tolist() == [1] * (2 - left)
    bench.run(1000.0)
    bench.check()
    assert bench.link()["bytes_wasted"] == pytest.approx(moved["bytes"].sum())
    if way == "cancelled":                                    # the other has the link alone from then on
        bench.collect()
        assert walls(bench)[-1] == pytest.approx(at + 300 - at / 2, abs=2e-3)


@pytest.mark.rule("fail_remote_readers", "sends")
@pytest.mark.parametrize(("storage", "activity", "at", "found", "wall"), [
    pytest.param("THERE_DISK", "read_wan", 50, "site_error", 50, id="the source sends no more"),
    pytest.param("THERE_DISK", "read_wan", 150, "site_error", 150, id="while the job waits for its input"),
    pytest.param("THERE_DISK", "read_wan", 350, "none", 400, id="all has been read"),
    pytest.param("THERE_DISK", "read_wan", 0, "site_error", 0, id="before it starts"),
    pytest.param("THERE_DISK", "read_lan", 50, "none", 400, id="LAN is not WAN"),
    pytest.param("HERE_DISK", "read_lan", 50, "none", 400, id="nothing is read here"),
    pytest.param("HERE_DISK", "read_wan", 50, "none", 400, id="nothing is sent from here"),
])
def test_a_source_that_is_switched_off_fails_its_readers(storage, activity, at, found, wall):
    disks = {f"{site}_DISK": dict(site=site, **DISK) for site in ("HERE", "THERE")}
    incident = dict(at=float(at), what="storage_status", storage=storage, activity=activity, status="OFF")
    bench = Stage((timeline,), grid(incident, storages=disks), reading(300, work_hs06s_per_event=4000.0))
    bench.run(1e-3)
    start(bench)
    bench.run(1000.0)
    bench.collect()
    assert cause(bench) == found and walls(bench) == pytest.approx([wall], abs=2e-3)
    bench.check()


def test_a_link_that_is_down_lets_its_readers_wait():
    incident = dict(at=100.0, until=400.0, what="link_outage", source="THERE", destination="HERE")
    bench = Stage((timeline,), grid(incident), reading(300))
    bench.run(1e-3)
    start(bench)
    bench.run(350.0)
    assert bench.statuses() == ["running"]
    bench.check()
    bench.run(700.0)
    bench.collect()
    assert cause(bench) == "none" and walls(bench) == pytest.approx([600], abs=2e-3)


@pytest.mark.parametrize(("at", "found"), [
    pytest.param(0, "site_error", id="before it starts"),
    pytest.param(50, "site_error", id="while it reads"),
    pytest.param(350, "none", id="when all has been read"),
])
def test_a_replica_that_vanishes_fails_its_readers(at, found):
    data = dict(datasets=dict(data=dict(files=10, bytes=300 * MB, replicas=[dict(storage="THERE_DISK")])))
    disks = {f"{site}_DISK": dict(site=site, **DISK) for site in ("HERE", "THERE")}
    bench = Bench(grid(storages=disks, data=data), reading(300, work_hs06s_per_event=4000.0, replicas={}))
    bench.arrays.input_dataset[0] = 0
    bench.submit()
    if at:
        bench.workers()
        bench.run(float(at))
    bench.fabric.sources_vanish(lose_replica(bench.world, "data", "THERE_DISK"), bench.now)
    if not at:
        bench.workers()
    bench.run(1000.0)
    bench.collect()
    assert cause(bench) == found
    assert bench.arrays.links["bytes_moved"].sum() == pytest.approx(at * MB if at < 300 else 300 * MB)
    bench.check()


def test_a_job_that_would_fail_later_does_not_read_on_from_a_replica_that_vanished():
    data = dict(datasets=dict(data=dict(files=10, bytes=300 * MB, replicas=[dict(storage="THERE_DISK")])))
    disks = {f"{site}_DISK": dict(site=site, **DISK) for site in ("HERE", "THERE")}
    bench = Bench(grid(storages=disks, data=data), reading(300, work_hs06s_per_event=40000.0, replicas={},
                                                           failure_rate=1.0))
    bench.arrays.input_dataset[0] = 0
    start(bench, now=5.0)
    bench.fabric.sources_vanish(lose_replica(bench.world, "data", "THERE_DISK"), bench.now)
    bench.run(6.0)
    bench.check()
    bench.collect()
    assert cause(bench) == "site_error" and walls(bench) == [pytest.approx(5, abs=0.1)]


def test_a_job_that_fails_reads_no_more():
    bench = bench_of(megabytes=3000, failure_rate=1.0)
    assert cause(bench) == "payload_error"
    assert walls(bench)[0] < 100
    assert bench.link()["readers"] == 0


def test_a_retry_of_the_input_reads_again():
    bench = bench_of(megabytes=300, until=0)
    bench.run(150.0)
    bench.take_back(status=S.FAILED)
    start(bench, now=151.0)
    bench.run(1000.0)
    bench.collect()
    assert len(bench.moved()) == 2 and walls(bench)[-1] == pytest.approx(300)
    assert np.array_equal(bench.moved()["failed_files"], [1, 0])
    bench.check()
