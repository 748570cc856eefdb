"""Links: files share the bandwidth equally, up to a limit; exact times by hand; outages, failures and repeats."""

import numpy as np
import pytest
from builders import Bench, S, scenario, two_sites
from hypothesis import given
from hypothesis import strategies as st

MB = 1e6
"""The links of the tests move a megabyte a second."""


def bench_of(*inputs, link=None, **others) -> Bench:
    """One task of one job for each input: its size in MB, or (size, files); all input lies THERE, the queue is HERE."""
    said = [dict(input_bytes_per_job=size * MB, n_input_files=files, replicas={1: 1.0})
            for size, files in (one if isinstance(one, tuple) else (one, 1) for one in inputs)]
    return Bench(two_sites(link=dict(bandwidth=MB) | (link or {}), **others), *said)


def arrivals(bench, starts, until=1e5) -> list[float]:
    """Fetch the input of task k at time `starts[k]`; when the job of each task was activated, in that order."""
    for task in np.argsort(starts, kind="stable").tolist():
        bench.run(float(starts[task]))
        bench.submit(task=task)
    bench.run(until)
    bench.check()
    rows = bench.live()
    found = np.full(len(starts), np.nan)
    found[bench.arrays.jobs["task"][rows]] = bench.arrays.job_times[rows, S.ACTIVATED]
    return pytest.approx(found.tolist(), nan_ok=True)


@pytest.mark.parametrize(("sizes", "starts", "expected"), [
    pytest.param([100], [0], [100], id="alone: size over bandwidth"),
    pytest.param([100, 100], [0, 0], [200, 200], id="two of one size share equally"),
    pytest.param([100, 50], [0, 0], [150, 100], id="the smaller ends first, then the other has it all"),
    pytest.param([100, 100], [0, 50], [150, 200], id="50 alone, 50 shared in 100 s, the rest alone"),
    pytest.param([100, 100], [0, 100], [100, 200], id="one after the other"),
    pytest.param([100, 100], [0, 150], [100, 250], id="with a pause between them"),
    pytest.param([30, 60, 90], [0, 0, 0], [90, 150, 180], id="three: thirds, halves, all"),
    pytest.param([120, 70, 30], [0, 0, 60], [220, 170, 150], id="a third one comes after a minute"),
    pytest.param([1, 1e4], [0, 0], [2, 10_001], id="a small one beside a large one"),
])
def test_processor_sharing_by_hand(sizes, starts, expected):
    assert arrivals(bench_of(*sizes), starts) == expected


@pytest.mark.parametrize(("inputs", "expected"), [
    pytest.param([(100, 1), (100, 3)], [200, 400 / 3], id="three files move three times as fast as one"),
    pytest.param([(40, 4), (40, 1)], [50, 80], id="a bunch of small files beside a large file"),
])
def test_a_bunch_has_the_weight_of_its_files(inputs, expected):
    assert arrivals(bench_of(*inputs), [0] * len(inputs)) == expected


@pytest.mark.parametrize(("inputs", "limit", "expected"), [
    pytest.param([100, 100, 100], 2, [200, 200, 300], id="the third waits for a place"),
    pytest.param([100, 100, 100], 1, [100, 200, 300], id="one after another"),
    pytest.param([(50, 1), (50, 2), (10, 1)], 2, [50, 100, 110], id="first come, first served"),
    pytest.param([(100, 5), (20, 1)], 3, [100, 120], id="a bunch larger than the limit goes alone"),
    pytest.param([(20, 1), (100, 5), (20, 1)], 3, [20, 120, 140], id="and waits until it can"),
])
def test_limit_of_active_files(inputs, limit, expected):
    bench = bench_of(*inputs, link=dict(max_active_files=limit))
    assert arrivals(bench, [0] * len(inputs)) == expected


def test_a_transfer_that_waits_has_not_started():
    bench = bench_of(100, 100, link=dict(max_active_files=1))
    assert arrivals(bench, [0, 0]) == [100, 200]
    moved = bench.moved()
    assert moved["submitted_s"].tolist() == [0, 0] and moved["started_s"].tolist() == pytest.approx([0, 100])
    assert moved["ended_s"].tolist() == pytest.approx([100, 200])


def test_the_callback_comes_after_the_latency():
    assert arrivals(bench_of(100, 100, link=dict(latency=30)), [0, 0]) == [230, 230]


def test_links_do_not_disturb_each_other():
    both_ways = Bench(two_sites(link=dict(bandwidth=MB)), dict(input_bytes_per_job=100 * MB, replicas={1: 1.0}),
                      dict(input_bytes_per_job=100 * MB, replicas={0: 1.0}))
    both_ways.submit(task=0, queue=0)
    both_ways.submit(task=1, queue=1)
    both_ways.run(1e3)
    assert both_ways.arrays.job_times[both_ways.live(), S.ACTIVATED].tolist() == pytest.approx([100, 100])


@given(st.lists(st.tuples(st.integers(1, 100), st.integers(1, 5), st.integers(0, 200)), min_size=1, max_size=8))
def test_all_is_delivered_and_the_link_never_idles_while_there_is_work(transfers):
    bench = bench_of(*[(size, files) for size, files, _ in transfers], link=dict(max_active_files=4))
    starts = [start for _, _, start in transfers]
    arrivals(bench, starts)
    end, free = 0.0, 0.0
    for size, _, start in sorted(transfers, key=lambda one: one[2]):
        free = max(free, start) + size                     # of a single server, whatever the order of service
        end = free
    assert bench.moved()["ended_s"].max() == pytest.approx(end)
    assert bench.link()["bytes_done"] == pytest.approx(sum(size for size, _, _ in transfers) * MB)
    assert bench.link()["files_done"] == sum(files for _, files, _ in transfers)
    assert bench.link()["queued_files"] == bench.link()["active_files"] == 0
    assert bench.link()["busy_s"] == pytest.approx(sum(size for size, _, _ in transfers))


@pytest.mark.parametrize(("outages", "starts", "expected"), [
    pytest.param([(50, 80)], [0, 0], [280, 280], id="an outage costs its length and what had moved of each file"),
    pytest.param([(50, 80)], [60, 60], [280, 280], id="what comes in an outage waits for its end"),
    pytest.param([(50, 80)], [0, 60], [280, 280], id="a file under way starts again"),
    pytest.param([(250, 300)], [0, 0], [200, 200], id="an outage after the end"),
    pytest.param([(50, 60), (70, 80)], [0, 0], [280, 280], id="two outages"),
    pytest.param([(50, 80), (60, 70)], [0, 0], [280, 280], id="one outage within another"),
    pytest.param([(50, 70), (60, 80)], [0, 0], [280, 280], id="two outages that overlap"),
    pytest.param([(50, None)], [0, 0], [np.nan, np.nan], id="an outage without end"),
])
def test_outage_of_a_link(outages, starts, expected):
    bench = bench_of(100, 100)
    moments = [(start, "down", None) for start, _ in outages] + [(end, "up", None) for _, end in outages if end]
    moments += [(start, "fetch", task) for task, start in enumerate(starts)]
    for now, what, task in sorted(moments, key=lambda moment: moment[0]):
        bench.run(float(now))
        if what == "fetch":
            bench.submit(task=task)
        else:
            {"down": bench.fabric.link_goes_down, "up": bench.fabric.link_comes_back}[what](1, 0, bench.now)
    bench.run(1e4)
    bench.check()
    assert bench.arrays.job_times[bench.live(), S.ACTIVATED].tolist() == pytest.approx(expected, nan_ok=True)


@pytest.mark.rule("lose_parts")
@pytest.mark.parametrize(("files", "limit", "expected"), [
    pytest.param(1, 1, 180, id="the whole transfer is one file: 50 MB again"),
    pytest.param(4, 1, 130, id="two files are complete, and the third begins"),
    pytest.param(8, 2, 130, id="two files at once: four are complete"),
    pytest.param(5, 1, 140, id="ten of the twenty MB of the third file are lost"),
    pytest.param(4, 4, 180, id="all at once: half of each is lost"),
])
def test_complete_files_of_a_transfer_survive_an_outage(files, limit, expected):
    bench = bench_of((100, files), link=dict(max_active_files=limit))
    bench.submit()
    bench.run(50.0)
    bench.fabric.link_goes_down(1, 0, 50.0)
    bench.check()
    bench.run(80.0)
    bench.fabric.link_comes_back(1, 0, 80.0)
    bench.run(1e3)
    bench.check()
    link = bench.link()
    assert bench.moved()["ended_s"].tolist() == pytest.approx([expected])
    assert (link["bytes_done"], link["bytes_wasted"]) == pytest.approx((100 * MB, (expected - 130) * MB))


def test_a_transfer_that_waits_for_a_link_to_come_back_has_not_started():
    bench = bench_of(100)
    bench.fabric.link_goes_down(1, 0, 0.0)
    bench.submit()
    bench.run(40.0)
    assert np.isnan(bench.arrays.transfers["started_s"][0])
    bench.fabric.link_comes_back(1, 0, 40.0)
    bench.run(1e3)
    assert (bench.moved()["started_s"][0], bench.moved()["ended_s"][0]) == pytest.approx((40.0, 140.0))


def test_a_failed_transfer_is_repeated_until_it_succeeds():
    n_tasks, rate = 400, 0.3
    bench = bench_of(*[0.001] * n_tasks, link=dict(failure_rate=rate, max_active_files=1000))
    arrivals(bench, [0] * n_tasks)
    attempts = bench.moved()["attempt"]
    assert len(attempts) == n_tasks and bench.statuses() == ["activated"] * n_tasks
    # attempts are geometric: mean 1/(1-p), variance p/(1-p)^2; four standard errors fail once in 16 000 seeds
    error = np.sqrt(rate) / (1 - rate) / np.sqrt(n_tasks)
    assert abs(attempts.mean() - 1 / (1 - rate)) < 4 * error
    assert bench.link()["bytes_done"] == pytest.approx(n_tasks * 0.001 * MB)


def test_each_attempt_takes_its_time():
    bench = bench_of(100, link=dict(failure_rate=0.6, latency=10))
    arrivals(bench, [0])
    moved = bench.moved()[0]
    assert moved["ended_s"] == pytest.approx(110.0 * moved["attempt"])


def test_a_failed_transfer_goes_to_the_end_of_the_line():
    bench = bench_of(*[10] * 20, link=dict(failure_rate=0.5, max_active_files=1))
    arrivals(bench, [0] * 20)
    attempts = bench.moved()["attempt"]
    assert (np.diff(attempts) >= 0).all() and attempts[-1] > 1


@pytest.mark.rule("set_up_job")
@pytest.mark.parametrize(("n_jobs", "bunches"), [
    pytest.param(1, [1], id="a single job"),
    pytest.param(20, [20], id="twenty jobs in one bunch"),
    pytest.param(21, [20, 1], id="one more begins another"),
    pytest.param(45, [20, 20, 5], id="as many as are needed"),
])
def test_input_moves_in_bunches_of_20_jobs(n_jobs, bunches):
    far = dict(n_jobs=n_jobs, input_bytes_per_job=MB, n_input_files=2, replicas={1: 1.0})
    bench = Bench(two_sites(link=dict(max_active_files=1000)), far)
    bench.submit(n_jobs)
    waiting = bench.arrays.transfers[bench.arrays.transfers["transfer_id"] > 0]
    assert waiting["n_jobs"].tolist() == bunches
    assert waiting["n_files"].tolist() == [2 * n for n in bunches]
    assert waiting["bytes"].tolist() == [MB * n for n in bunches]
    bench.run(1e4)
    assert bench.statuses() == ["activated"] * n_jobs
    bench.check()


@pytest.mark.rule("set_up_job")
def test_jobs_of_other_tasks_and_places_move_in_other_bunches():
    far = dict(n_jobs=4, input_bytes_per_job=MB, replicas={1: 1.0})
    bench = Bench(two_sites(), far, far, dict(far, replicas={0: 1.0}))
    bench.make(2, task=0)
    bench.make(2, task=1)
    bench.make(1, task=0)
    bench.make(1, task=2, queue=1)
    bench.fabric.set_up_jobs(0.0)
    waiting = bench.arrays.transfers[bench.arrays.transfers["transfer_id"] > 0]
    assert waiting[["jeditaskid", "n_jobs", "source"]].tolist() == [(1, 2, 1), (2, 2, 1), (1, 1, 1), (3, 1, 0)]


@pytest.mark.parametrize(("replicas", "missing", "files", "source"), [
    pytest.param({1: 1.0}, 1.0, 8, 1, id="nothing is here"),
    pytest.param({1: 1.0, 0: 0.75}, 0.25, 2, 1, id="a quarter is missing"),
    pytest.param({1: 1.0, 0: 0.99}, 0.01, 1, 1, id="a little is missing: one file"),
    pytest.param({1: 0.5}, 1.0, 8, 1, id="an incomplete source sends what is asked"),
    pytest.param({2: 1.0, 1: 1.0}, 1.0, 8, 1, id="of complete replicas the closest"),
    pytest.param({1: 1.0, 2: 1.0}, 1.0, 8, 1, id="the closest, whatever the order of the replicas"),
    pytest.param({1: 0.5, 2: 1.0}, 1.0, 8, 2, id="a complete one before a close one"),
    pytest.param({3: 1.0, 2: 1.0}, 1.0, 8, 2, id="a blocked link is not used"),
])
def test_what_is_fetched_and_from_where(replicas, missing, files, source):
    sites = {"HERE": {}} | dict.fromkeys(("NEAR", "FAR", "CUT"), dict(nucleus=False))
    links = {("NEAR", "HERE"): dict(closeness=2), ("FAR", "HERE"): dict(closeness=9),
             ("CUT", "HERE"): dict(blocked=True)}
    bench = Bench(scenario(sites, links=links), dict(input_bytes_per_job=8 * MB, n_input_files=8, replicas=replicas))
    bench.submit()
    job = bench.arrays.jobs[bench.live()[0]]
    transfer = bench.arrays.transfers[job["transfer"]]
    assert job["missing_bytes"] == pytest.approx(missing * 8 * MB)
    assert (transfer["n_files"], transfer["source"], job["source_site"]) == (files, source, source)


def test_unknown_closeness_is_a_way_like_others():
    bench = Bench(two_sites(link=dict(closeness=None)).with_values({"grid.links.default.closeness": None}),
                  dict(input_bytes_per_job=MB, replicas={1: 1.0}))
    bench.submit()
    assert bench.statuses() == ["assigned"]
    bench.run(10.0)
    assert bench.statuses() == ["activated"]


@pytest.mark.rule("set_up_job")
@pytest.mark.parametrize("task", [
    pytest.param(dict(input_bytes_per_job=MB, replicas={0: 1.0}), id="all input is here"),
    pytest.param(dict(input_bytes_per_job=MB, replicas={0: 0.9999999, 1: 1.0}), id="all but a rounding error"),
    pytest.param(dict(input_bytes_per_job=0.0, replicas={1: 1.0}), id="there is no input"),
    pytest.param(dict(input_bytes_per_job=MB), id="nothing is known of replicas"),
])
def test_nothing_to_move(task):
    bench = Bench(two_sites(), task)
    bench.submit()
    assert bench.statuses() == ["activated"]
    assert bench.arrays.job_times[bench.live()[0], S.ASSIGNED] != 0.0


@pytest.mark.rule("set_up_job")
def test_a_job_whose_input_has_no_source_stays_assigned():
    bench = bench_of(100, link=dict(blocked=True))
    bench.submit()
    bench.run(1e5)
    assert bench.statuses() == ["assigned"]
    bench.check()
    bench.take_back()
    assert bench.ended()["status"].tolist() == [S.CLOSED]
    bench.check()


def test_more_transfers_than_one_event_may_end_all_end_at_the_same_time():
    n_tasks = 600
    bench = bench_of(*[1] * n_tasks, link=dict(max_active_files=1000))
    assert arrivals(bench, [0] * n_tasks) == [float(n_tasks)] * n_tasks
    assert bench.moved()["transfer_id"].tolist() == list(range(1, n_tasks + 1))        # in the order of their coming
