"""What brokers know of the links: closeness, waiting output, throughput of the last hour, day and week."""

import numpy as np
import pytest
from builders import Bench, scenario, two_sites
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker.fabric.transfers.links import count_queued
from simgrid_broker.names import Activity
from simgrid_broker.units import DAY, HOUR, WEEK

WINDOWS = ("mbps_hour", "mbps_day", "mbps_week")
NAN = pytest.approx(np.nan, nan_ok=True)


def bench_of(**link) -> Bench:
    """Site HERE, and site THERE whose link to it has some properties."""
    return Bench(two_sites(link=link))


def deliver(bench, files, mbps, source=1, destination=0):
    """Count files as delivered over a link at a mean rate."""
    link = bench.link(source, destination)
    link["files_done"] += files
    link["rate_sum"] += files * mbps * 1e6


def read(bench, hours, source=1, destination=0):
    """Read the throughput at an hour; the averages of a link."""
    bench.world.network.read_throughput(bench.arrays, hours * HOUR)
    return [float(value) for value in bench.world.network.table[destination][source][list(WINDOWS)].tolist()]


def test_nothing_has_moved_yet():
    bench = bench_of(closeness=3)
    assert read(bench, 1) == [NAN] * 3
    link = bench.world.network.table[0]
    assert link["closeness"].tolist() == [0, 3] and link["known"].tolist() == [True, True]


@pytest.mark.rule("read_throughput")
def test_the_average_is_that_of_the_files():
    bench = bench_of()
    deliver(bench, 3, 10)
    deliver(bench, 1, 50)
    assert read(bench, 1) == [20.0] * 3
    assert read(bench, 1, source=0, destination=1) == [NAN] * 3        # the way back is another link


@pytest.mark.rule("read_throughput", "Window.take")
def test_windows_forget():
    bench = bench_of()
    deliver(bench, 1, 10)
    assert read(bench, 1) == [10.0] * 3
    deliver(bench, 1, 30)
    assert read(bench, 2) == [30.0, 20.0, 20.0]
    assert read(bench, 3) == [NAN, 20.0, 20.0]
    for hour in range(4, 25):
        assert read(bench, hour) == [NAN, 20.0, 20.0]
    assert read(bench, 25) == [NAN, 30.0, 20.0]
    assert read(bench, 26) == [NAN, NAN, 20.0]
    assert read(bench, 24 * 7) == [NAN, NAN, 20.0]
    assert read(bench, 24 * 7 + 1) == [NAN, NAN, 30.0]
    assert read(bench, 24 * 7 + 2) == [NAN, NAN, NAN]


@pytest.mark.rule("read_throughput", "Window.take")
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 500)), min_size=1, max_size=12))
def test_averages_are_those_of_a_recount(hours):
    bench = bench_of()
    for hour, (files, mbps) in enumerate(hours, start=1):
        deliver(bench, files, mbps)
        found = read(bench, 12 * hour)                     # twice a day, so that days and weeks overlap the list
        for value, window in zip(found, (HOUR, DAY, WEEK), strict=True):
            last = hours[max(0, hour - max(1, int(window // (12 * HOUR)))):hour]
            n = sum(files for files, _ in last)
            mean = sum(files * mbps for files, mbps in last) / n if n else np.nan
            assert value == pytest.approx(mean, nan_ok=True)


@pytest.mark.rule("read_throughput")
def test_readings_older_than_a_week_are_forgotten():
    bench = bench_of()
    for hour in range(1, 400):
        deliver(bench, 1, 10)
        read(bench, hour)
    assert len(bench.world.network.readings) == 24 * 7


@pytest.mark.parametrize("jobs", [1, 4])
def test_throughput_of_a_real_transfer_is_that_of_its_files(jobs):
    far = dict(n_jobs=jobs, input_bytes_per_job=100e6, replicas={1: 1.0})
    bench = Bench(two_sites(link=dict(bandwidth=20e6, latency=77)), far)
    bench.submit(jobs)
    bench.run(HOUR)
    assert read(bench, 1) == pytest.approx([20 / jobs] * 3)            # the latency of the callback does not count


def test_throughput_counts_the_attempt_that_succeeded():
    far = [dict(input_bytes_per_job=100e6, replicas={1: 1.0})] * 30
    bench = Bench(two_sites(link=dict(bandwidth=20e6, latency=10, failure_rate=0.5, max_active_files=1)), *far)
    for task in range(30):
        bench.submit(task=task)
    bench.run(HOUR)
    assert bench.moved()["attempt"].max() > 1
    assert read(bench, 1) == pytest.approx([20.0] * 3)


def test_queued_files_are_read_with_the_statistics():
    bench = bench_of(closeness=None)
    bench.link()["queued_output"], bench.link()["queued_express"], bench.link()["queued_files"] = 7, 2, 20
    assert bench.world.network.table[0]["queued_files"].tolist() == [0, 0]
    bench.world.network.read_queues(bench.arrays)
    link = bench.world.network.table[0]
    assert link["queued_files"].tolist() == [0, 7] and link["queued_express"].tolist() == [0, 2]
    assert bench.world.network.table[1]["queued_files"].tolist() == [0, 0]


@pytest.mark.parametrize(("what", "known"), [
    pytest.param(None, False, id="nothing"),
    pytest.param("closeness", True, id="a closeness"),
    pytest.param("throughput", True, id="a throughput"),
    pytest.param("queued", True, id="files that wait"),
])
def test_of_which_links_there_is_a_record(what, known):
    plan = two_sites(link=dict(closeness=5 if what == "closeness" else None))
    bench = Bench(plan if what == "closeness" else plan.with_values({"grid.links.default.closeness": None}))
    if what == "throughput":
        deliver(bench, 1, 10)
    bench.link()["queued_output"] = what == "queued"
    bench.world.network.read_queues(bench.arrays)
    read(bench, 1)
    assert bool(bench.world.network.table[0]["known"][1]) is known


@pytest.mark.parametrize(("column", "activity"), [("queued_files", Activity.PRODUCTION_OUTPUT),
                                                  ("queued_express", Activity.EXPRESS)])
def test_a_link_on_which_files_wait_is_known_at_once_and_from_then_on(column, activity):
    bench = Bench(two_sites(link=dict(closeness=None)).with_values({"grid.links.default.closeness": None}))
    for files, known in ((0, False), (1, True), (-1, True)):
        count_queued(bench.arrays, 2, activity, files)
        bench.world.network.read_queues(bench.arrays)
        link = bench.world.network.table[0][1]
        assert (link[column], bool(link["known"])) == (max(files, 0), known)


def test_without_a_nucleus_nothing_is_known():
    bench = bench_of()
    deliver(bench, 1, 10)
    read(bench, 1)
    link = bench.world.network.table[-1]
    assert len(link) == 2 and not link["known"].any() and not link["in_nucleus"].any()
    assert np.isnan(link["mbps_week"]).all()


def test_sites_that_share_the_storage_of_a_nucleus_or_have_none():
    satellites = {"SATELLITE": {}, "SHARING": dict(storage="N_DISK"), "GUEST": dict(storage="N_SCRATCH"), "BARE": {}}
    sites = {"N": {}} | {name: dict(nucleus=False) | said for name, said in satellites.items()}
    storages = {"N_DISK": dict(site="N"), "N_SCRATCH": dict(site="N"), "S_DISK": dict(site="SATELLITE")}
    bench = Bench(scenario(sites, storages=storages))
    deliver(bench, 1, 10, source=4)
    bench.link(4, 0)["queued_output"] = 9
    bench.world.network.read_queues(bench.arrays)
    bench.world.network.read_throughput(bench.arrays, HOUR)
    link = bench.world.network.table[0]
    assert link["closeness"].tolist() == [0, 1, 1, 1, -2]
    assert (link["queued_files"][4], bool(link["known"][4])) == (0, False) and np.isnan(link["mbps_hour"][4])
