"""Doors and backbones: they hold at every instant; what links have of them between cycles and after one, by hand."""

import numpy as np
import pytest
from builders import LINK, Bench, S, scenario
from hypothesis import given, settings
from hypothesis import strategies as st

MB = 1e6


def star(doors, *inputs, link=None, **others) -> Bench:
    """Sites HUB, ONE, TWO, THREE (0 to 3), linked at 10 MB/s; each input is (site it lies at, MB), fetched to HUB."""
    names = ("HUB", "ONE", "TWO", "THREE")
    sites = {name: dict(nucleus=name == "HUB") | doors.get(name, {}) for name in names}
    more = dict(default=LINK | dict(bandwidth=10 * MB) | (link or {})) | others.pop("more_links", {})
    return Bench(scenario(sites, more_links=more, **others), *[
        dict(input_bytes_per_job=size * MB, replicas={source: 1.0}) for source, size in inputs])


def fetch(bench, starts, cycles=(), until=1e4):
    """Fetch the input of task k at `starts[k]`, with cycles of the optimiser at some times; when each has arrived."""
    moments = [(start, 0, task) for task, start in enumerate(starts)] + [(at, 1, 0) for at in cycles]
    for now, is_cycle, task in sorted(moments):
        bench.run(float(now))
        if is_cycle:
            bench.fabric.share_gates(bench.now)
        else:
            bench.submit(task=task)
        bench.check()
    bench.run(until)
    bench.check()
    rows = bench.live()
    found = np.full(len(starts), np.nan)
    found[bench.arrays.jobs["task"][rows]] = bench.arrays.job_times[rows, S.ACTIVATED]
    return pytest.approx(found.tolist(), nan_ok=True)


@pytest.mark.parametrize(("doors", "inputs", "starts", "cycles", "expected"), [
    pytest.param({}, [(1, 100)], [0], [], [10], id="no door: latency + size / bandwidth"),
    pytest.param(dict(HUB=dict(door_in=5 * MB)), [(1, 100)], [0], [], [20], id="alone: what the door has"),
    pytest.param(dict(ONE=dict(door_out=5 * MB)), [(1, 100)], [0], [], [20], id="the door of the source"),
    pytest.param(dict(HUB=dict(door_out=MB), ONE=dict(door_in=MB)), [(1, 100)], [0], [], [10],
                 id="doors of the other direction"),
    pytest.param(dict(HUB=dict(door_in=15 * MB)), [(1, 100), (2, 100)], [0, 0], [], [10, 20],
                 id="the second gets what the first has left, and keeps it"),
    pytest.param(dict(HUB=dict(door_in=15 * MB)), [(1, 100), (2, 100)], [0, 0], [4], [12, 44 / 3],
                 id="a cycle shares: after 40 and 20 MB they have 7.5 MB/s each, and no more when one has ended"),
    pytest.param(dict(HUB=dict(door_in=15 * MB)), [(1, 100), (2, 100)], [0, 0], [0, 13], [40 / 3, 40 / 3],
                 id="shared from the start"),
    pytest.param(dict(HUB=dict(door_in=15 * MB)), [(1, 75), (2, 150)], [0, 0], [0, 10], [10, 17.5],
                 id="what empties returns its part, which the next cycle gives to the other"),
    pytest.param(dict(HUB=dict(door_in=10 * MB)), [(1, 100), (2, 100)], [0, 0], [5], [15, 25],
                 id="nothing free: the second waits for the cycle"),
    pytest.param(dict(HUB=dict(door_in=10 * MB)), [(1, 100), (2, 100)], [0, 10], [], [10, 20],
                 id="what was returned is there at once"),
    pytest.param(dict(HUB=dict(door_in=30 * MB), ONE=dict(door_out=2 * MB)), [(1, 20), (2, 100), (3, 100)], [0, 0, 0],
                 [0], [10, 10, 10], id="a slow source does not slow the others"),
])
def test_doors_by_hand(doors, inputs, starts, cycles, expected):
    assert fetch(star(doors, *inputs), starts, cycles) == expected


def test_files_at_a_link_without_rate_go_on_after_the_next_cycle():
    bench = star(dict(HUB=dict(door_in=10 * MB)), (1, 1000), (2, 10))
    assert fetch(bench, [0, 0], until=50.0) == [np.nan, np.nan]
    bench.fabric.share_gates(bench.now)
    bench.run(60.0)
    assert sorted(bench.statuses()) == ["activated", "assigned"]


@pytest.mark.parametrize(("backbones", "expected"), [
    pytest.param(dict(SEA=dict(capacity=8 * MB, sites=["HUB"])), [25, 25], id="the border of a group of sites"),
    pytest.param(dict(SEA=dict(capacity=8 * MB, sites=["ONE", "TWO"])), [25, 25], id="the other side of the border"),
    pytest.param(dict(SEA=dict(capacity=8 * MB, sites=["ONE", "HUB"])), [10, 12.5], id="one of two links crosses it"),
    pytest.param(dict(SEA=dict(capacity=8 * MB, regions=["far"])), [12.5, 10], id="a region"),
    pytest.param(dict(SEA=dict(capacity=8 * MB, sites=["ONE"]), STRAIT=dict(capacity=4 * MB, sites=["HUB"])), [50, 50],
                 id="two backbones in a row"),
])
def test_links_share_a_backbone(backbones, expected):
    bench = star(dict(ONE=dict(region="far")), (1, 100), (2, 100), more_links=dict(backbones=backbones))
    assert fetch(bench, [0, 0], cycles=[0]) == expected


def test_sites_that_write_to_one_endpoint_share_its_door():
    sites = {"HUB": {}, "ONE": dict(nucleus=False, storage="HUB"), "TWO": dict(nucleus=False)}
    plan = scenario(sites, storages={"HUB": dict(site="HUB", door_in=4 * MB), "TWO": dict(site="TWO")},
                    more_links=dict(default=LINK | dict(bandwidth=10 * MB)))
    bench = Bench(plan, *[dict(input_bytes_per_job=100 * MB, replicas={2: 1.0})] * 2)
    bench.submit(task=0, queue=0)
    bench.submit(task=1, queue=1)
    bench.fabric.share_gates(0.0)
    bench.check()
    assert bench.link(2, 0)["rate"] == bench.link(2, 1)["rate"] == 2 * MB


def test_a_file_moves_no_faster_than_one_may():
    bench = star(dict(HUB=dict(door_in=15 * MB)), (1, 40), (2, 200), link=dict(file_rate=4 * MB))
    assert fetch(bench, [0, 0], cycles=[1, 11]) == [10, 50]


def test_a_link_that_goes_down_returns_its_part():
    bench = star(dict(HUB=dict(door_in=10 * MB)), (1, 100), (2, 100))
    bench.submit(task=0)
    bench.run(5.0)
    bench.fabric.link_goes_down(1, 0, 5.0)
    bench.submit(task=1)
    bench.check()
    bench.run(10.0)
    bench.fabric.link_comes_back(1, 0, 10.0)
    bench.check()
    bench.run(15.0)
    bench.fabric.share_gates(15.0)
    bench.run(25.0)
    assert bench.arrays.job_times[bench.live(), S.ACTIVATED].tolist() == pytest.approx([25.0, 15.0])


@settings(max_examples=10)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 200), st.integers(0, 30)), min_size=3, max_size=8),
       st.integers(3, 20), st.integers(3, 20))
def test_no_door_ever_moves_more_than_it_has(transfers, door_in, door_out):
    bench = star(dict(HUB=dict(door_in=door_in * MB), ONE=dict(door_out=door_out * MB)),
                 *[(source, size) for source, size, _ in transfers], link=dict(failure_rate=0.2))
    starts = sorted((start, task) for task, (_, _, start) in enumerate(transfers))
    before = np.zeros(2)
    for now in range(60):
        while starts and starts[0][0] <= now:
            bench.submit(task=starts.pop(0)[1])
        if now % 7 == 0:
            bench.fabric.share_gates(float(now))
        bench.check()
        bench.run(now + 1.0)
        moved = bench.moved_by(bench.now)
        into_hub, out_of_one = moved[1:, 0].sum(), moved[1].sum()
        most = np.array([door_in, door_out]) * MB * (1 + 1e-6)
        assert (np.array([into_hub, out_of_one]) - before <= most).all()
        before = np.array([into_hub, out_of_one])


def test_background_leaves_less_of_a_door():
    bench = star(dict(HUB=dict(door_in=10 * MB)), (1, 100))
    bench.fabric.set_background(0.5)
    bench.fabric.share_gates(0.0)
    assert fetch(bench, [0]) == [20]


def test_background_and_works_both_narrow_a_backbone():
    bench = star({}, (1, 100), more_links=dict(backbones=dict(SEA=dict(capacity=8 * MB, sites=["HUB"]))))
    bench.fabric.scale_capacity("works", 0.0, bench.world.capacities.of_backbone("SEA"), 0.5)
    bench.fabric.set_background(0.5)
    bench.fabric.share_gates(0.0)
    assert fetch(bench, [0]) == [50]                       # 8 MB/s x 0.5 x 0.5


def test_a_change_of_capacity_takes_effect_at_once_and_ends_exactly():
    bench = star(dict(HUB=dict(door_in=20 * MB)), (1, 100), (2, 100))
    capacities = bench.world.capacities
    for task in (0, 1):
        bench.submit(task=task)
    bench.run(4.0)
    bench.fabric.scale_capacity("works", bench.now, capacities.of_site("HUB"), 0.25)
    bench.check()
    assert bench.link(1, 0)["rate"] == bench.link(2, 0)["rate"] == 2.5 * MB
    bench.fabric.scale_capacity("cable", bench.now, capacities.of_link("ONE", "HUB"), 0.1)
    assert (bench.link(1, 0)["rate"], bench.link(2, 0)["rate"]) == pytest.approx((0.25 * MB, 2.5 * MB))
    bench.run(8.0)
    bench.fabric.scale_capacity("works", bench.now)
    bench.fabric.scale_capacity("cable", bench.now)
    bench.check()
    assert set(bench.arrays.links["bandwidth"].tolist()) == {10 * MB}
    bench.run(1e3)
    ends = np.sort(bench.arrays.job_times[bench.live(), S.ACTIVATED])
    assert ends.tolist() == pytest.approx([13, 13.9])      # 40 + 4 x 2.5 and 40 + 4 x 0.25 MB have moved at 8 s
