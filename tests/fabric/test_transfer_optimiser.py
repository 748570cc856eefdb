"""FTS's optimiser: the limit of active files follows success and rate; activities share the places; retries wait."""

import numpy as np
import pytest
from builders import Bench, S, two_sites

from simgrid_broker.fabric.transfers.links import part_of, step_of
from simgrid_broker.fabric.transfers.network import number_of_failures
from simgrid_broker.names import Activity

MB = 1e6
WAITING = np.array([(500, 10, 10)], [("queued_files", "i4"), ("active_files", "i4"), ("active_limit", "i4")])[0]
EMPTYING = np.array([(19, 10, 10)], WAITING.dtype)[0]


@pytest.mark.rule("step_of")
@pytest.mark.parametrize(("link", "success", "rate", "before", "step"), [
    pytest.param(WAITING, 1.0, 11.0, 10.0, 1, id="all arrive, the rate grows: more"),
    pytest.param(WAITING, 1.0, 10.0, 10.0, 1, id="the same rate: one more is tried"),
    pytest.param(WAITING, 1.0, 9.0, 10.0, 0, id="a little slower: as before"),
    pytest.param(WAITING, 1.0, 1.0, 10.0, -1, id="slower by an order of magnitude: fewer"),
    pytest.param(EMPTYING, 1.0, 11.0, 10.0, 0, id="fewer wait than are allowed: as before"),
    pytest.param(WAITING, 0.97, 11.0, 10.0, 1, id="just good"),
    pytest.param(WAITING, 0.965, 11.0, 10.0, 1, id="fair, and the rate grows: more"),
    pytest.param(WAITING, 0.965, 10.0, 10.0, -1, id="fair, and it does not: fewer"),
    pytest.param(WAITING, 0.96, 11.0, 10.0, 1, id="just fair"),
    pytest.param(WAITING, 0.959, 11.0, 10.0, -1, id="bad: fewer"),
])
def test_step_of_the_limit(link, success, rate, before, step):
    assert step_of(link, success, rate, before) == step


def queue_of_files(n_tasks, size=10, link=None, **task) -> Bench:
    """Tasks of one input of `size` MB each, all asked for, over a link of 1 MB/s with 1 to 8 files at once."""
    bench = Bench(two_sites(link=dict(bandwidth=MB, max_active_files=8) | (link or {})),
                  *[dict(input_bytes_per_job=size * MB, replicas={1: 1.0}, **task)] * n_tasks)
    for number in range(n_tasks):
        bench.submit(task=number)
    return bench


def limits(bench, cycles=5, period=60.0) -> list[int]:
    """The limit of active files after each cycle."""
    found = []
    for cycle in range(cycles):
        bench.run((cycle + 1) * period)
        bench.fabric.share_gates(bench.now, period)
        bench.check()
        found.append(int(bench.link()["active_limit"]))
    return found


def test_the_limit_stays_without_a_lower_one():
    assert limits(queue_of_files(200, link=dict(failure_rate=0.5))) == [8] * 5


def test_failures_lower_the_limit_down_to_the_least():
    assert limits(queue_of_files(200, link=dict(failure_rate=0.5, min_active_files=6))) == [8, 7, 6, 6, 6]


def test_a_good_link_with_a_queue_gets_more():
    bench = queue_of_files(200, link=dict(min_active_files=1))
    bench.link()["active_limit"] = 2
    assert limits(bench) == [2, 3, 4, 5, 6]


def test_activities_share_the_places_and_express_goes_first():
    tasks = [dict(input_bytes_per_job=100 * MB, replicas={1: 1.0})] * 4
    tasks += [dict(input_bytes_per_job=100 * MB, replicas={1: 1.0}, label="user")] * 4
    tasks += [dict(input_bytes_per_job=100 * MB, replicas={1: 1.0}, priority=1000)]
    plan = two_sites(link=dict(bandwidth=MB, max_active_files=1), fts=dict(shares=dict(analysis_input=2)))
    bench = Bench(plan, *tasks)
    for task in range(9):
        bench.submit(task=task)
    bench.run(1e4)
    words = [Activity(code).word for code in bench.moved()["activity"]]
    twice = ["production_input", "analysis_input", "analysis_input"]
    assert words == ["production_input", "express", *twice, *twice, "production_input"]
    bench = Bench(plan.with_values({"grid.links.pairs[1].max_active_files": 3}), *tasks)
    for task in range(8):
        bench.submit(task=task)
    active = bench.arrays.lanes["active_files"][2]
    assert active[[Activity.PRODUCTION_INPUT, Activity.ANALYSIS_INPUT]].tolist() == [3, 0]
    bench.run(301)                                         # three of the first have ended: three places
    assert active[[Activity.PRODUCTION_INPUT, Activity.ANALYSIS_INPUT]].tolist() == [1, 2]


def test_a_wide_transfer_takes_the_places_of_its_activity_beside_single_files():
    wide = dict(input_bytes_per_job=80 * MB, n_input_files=8, replicas={1: 1.0})
    single = dict(input_bytes_per_job=10 * MB, replicas={1: 1.0}, label="user")
    bench = Bench(two_sites(link=dict(bandwidth=MB, max_active_files=4)), *[single] * 40, wide)
    for task in range(41):
        bench.submit(task=task)
    active = bench.arrays.lanes["active_files"][2]
    assert active[[Activity.PRODUCTION_INPUT, Activity.ANALYSIS_INPUT]].tolist() == [0, 4]
    bench.run(41.0)                                        # the first four have ended: two places for each activity
    assert active[[Activity.PRODUCTION_INPUT, Activity.ANALYSIS_INPUT]].tolist() == [2, 2]
    bench.check()
    bench.run(41.0 + 160)                                  # half of the link for 80 MB
    assert bench.moved()["n_files"].tolist().count(8) == 1
    bench.check()


@pytest.mark.parametrize(("shares", "limit", "others", "part"), [
    pytest.param({}, 10, (), 10, id="alone: every place"),
    pytest.param({}, 10, ("analysis_input",), 5, id="half of them beside another"),
    pytest.param({"analysis_input": 3}, 10, ("analysis_input",), 2, id="by share, in whole files"),
    pytest.param({"analysis_input": 9}, 10, ("analysis_input",), 1, id="just one"),
    pytest.param({"analysis_input": 99}, 10, ("analysis_input",), 1, id="at least one"),
    pytest.param({}, 10, ("express",), 10, id="express has no part of its own"),
])
def test_part_of_an_activity(shares, limit, others, part):
    said = {"production_input": {}, "analysis_input": dict(label="user"), "express": dict(priority=1000)}
    plan = two_sites(link=dict(bandwidth=MB, max_active_files=limit), fts=dict(shares=shares))
    bench = Bench(plan, *[dict(input_bytes_per_job=MB, replicas={1: 1.0}) | said[word]
                          for word in ("production_input", *others)])
    for task in range(1 + len(others)):
        bench.submit(task=task)
    assert part_of(bench.arrays, 2, int(Activity.PRODUCTION_INPUT)) == part
    assert part_of(bench.arrays, 2, int(Activity.EXPRESS)) == limit


@pytest.mark.rule("activity_of_input")
@pytest.mark.parametrize(("task", "activity"), [
    pytest.param({}, "production_input", id="production"),
    pytest.param(dict(label="panda"), "analysis_input", id="analysis"),
    pytest.param(dict(priority=999), "production_input", id="just not express"),
    pytest.param(dict(priority=1000), "express", id="of high priority"),
    pytest.param(dict(processing_type="urgent"), "express", id="urgent"),
    pytest.param(dict(label="user", priority=1000), "analysis_input", id="analysis of high priority"),
])
def test_activity_of_input(task, activity):
    bench = queue_of_files(1, **task)
    assert Activity(bench.arrays.transfers["activity"][0]).word == activity


def test_input_that_is_on_tape_alone_is_staged():
    bench = Bench(two_sites(), dict(input_bytes_per_job=MB, replicas={1: 1.0}))
    bench.arrays.replicas["tape"][0] = 1
    bench.submit()
    assert Activity(bench.arrays.transfers["activity"][0]).word == "staging"


@pytest.mark.parametrize(("n_files", "rate", "luck", "failed"), [
    pytest.param(1, 0.3, 0.29, 1, id="one file, luck below the rate"),
    pytest.param(1, 0.3, 0.31, 0, id="one file, luck above it"),
    pytest.param(3, 0.5, 0.124, 3, id="an eighth: all three"),
    pytest.param(3, 0.5, 0.126, 2, id="a little more luck: two"),
    pytest.param(3, 0.5, 0.876, 0, id="none"),
    pytest.param(10, 0.0, 1e-12, 0, id="a link that never fails"),
    pytest.param(10, 1.0, 1 - 1e-12, 10, id="a link that always fails"),
    pytest.param(10**6, 0.5, 0.5, 500_000, id="very many files: about half"),
])
def test_number_of_failures(n_files, rate, luck, failed):
    assert number_of_failures(n_files, rate, luck) == failed


@pytest.mark.parametrize(("n_files", "rate"), [(7, 0.2), (30, 0.7), (5000, 0.1), (2000, 0.97)])
def test_failures_are_binomial(n_files, rate):
    n = 4000
    drawn = np.array([number_of_failures(n_files, rate, (k + 0.5) / n) for k in range(n)])
    assert drawn.mean() == pytest.approx(n_files * rate, rel=0.01)
    assert drawn.var() == pytest.approx(n_files * rate * (1 - rate), rel=0.03)


def test_only_the_files_that_failed_move_again():
    bench = Bench(two_sites(link=dict(bandwidth=MB, failure_rate=0.5)),
                  dict(input_bytes_per_job=100 * MB, n_input_files=100, replicas={1: 1.0}))
    bench.submit()
    bench.run(100.0)
    left = int(bench.arrays.transfers["left_files"][0])
    assert 30 < left < 70
    bench.check()
    bench.run(100.0 + left - 1e-3)
    assert bench.statuses() == ["assigned"]
    bench.run(1e4)
    bench.check()
    moved, link = bench.moved()[0], bench.link()
    assert bench.statuses() == ["activated"] and moved["bytes"] == 100 * MB
    assert link["files_failed"] == moved["failed_files"] and link["files_done"] == 100
    assert link["bytes_moved"] == pytest.approx((100 + moved["failed_files"]) * MB)


@pytest.mark.rule("delay_of")
def test_delays_of_attempts_and_of_stuck_transfers():
    plan = two_sites(link=dict(bandwidth=MB, failure_rate=0.8), fts=dict(retries=2, retry_delay=50, stuck_delay=1000))
    bench = Bench(plan, *[dict(input_bytes_per_job=MB, replicas={1: 1.0})] * 30)
    for task in range(30):
        bench.submit(task=task)
        bench.run(1e5 * (task + 1))
    moved = bench.moved()
    assert moved["attempt"].max() > 4
    for attempt, took in zip(moved["attempt"], moved["ended_s"] - moved["submitted_s"], strict=True):
        rounds = (attempt - 1) // 3
        assert took == pytest.approx(attempt + rounds * 1000 + (attempt - 1 - rounds) * 50)


def test_a_transfer_of_more_files_than_allowed_moves_as_many_at_once():
    bench = Bench(two_sites(link=dict(bandwidth=10 * MB, max_active_files=4, file_rate=MB)),
                  dict(input_bytes_per_job=80 * MB, n_input_files=8, replicas={1: 1.0}))
    bench.submit()
    assert bench.link()["active_files"] == 4
    bench.run(1e3)
    assert bench.arrays.job_times[bench.live()[0], S.ACTIVATED] == pytest.approx(20.0)
