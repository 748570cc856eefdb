"""Links and doors of small runs written by hand."""

import numpy as np
import pytest
from small_run import HOUR, queue_columns, run_of

from simgrid_broker import metrics
from simgrid_broker.metrics import wide
from simgrid_broker.schema import RECORDED

GB = 1e9
GIGABIT_HOURS = 3600 / 8 * GB
"""Bytes that 1 Gb/s moves in an hour."""


def rows_of(name, **given):
    """All columns of a table, 0 but for those given."""
    n = len(next(iter(given.values())))
    return {column.name: np.array(given.get(column.name, np.zeros(n, int))) for column in RECORDED[name].columns}


def run_with(tmp_path, links, grid=None, **tables):
    """A run of 4 h with samples every hour, figures from 1 h on; links: (hour, source, destination, bytes, queued)."""
    hour, source, destination, moved, queued = zip(*links, strict=True)
    rows = rows_of("links", time_s=np.array(hour) * HOUR, source=source, destination=destination, bytes=moved,
                   bytes_moved=moved, queued_files=queued, files=np.ones(len(hour), int),
                   files_failed=np.array(queued) // 3, active_limit=np.full(len(hour), 7))
    samples = queue_columns(5) | {"time_s": np.arange(5) * HOUR}
    return run_of(tmp_path / "run", 1, 4, queues=samples, links=rows, grid=grid, **tables)


X_TO_Y = [(1, 0, 1, 9 * GIGABIT_HOURS, 0), (2, 0, 1, GIGABIT_HOURS, 3), (4, 0, 1, 2 * GIGABIT_HOURS, 9),
          (4, 1, 0, 0.5 * GIGABIT_HOURS, 0)]


def sites(**doors):
    """Sites X and Y with what is said of them."""
    return {"X": {"cores": 60} | doors.get("X", {}), "Y": {"cores": 40} | doors.get("Y", {})}


@pytest.mark.parametrize(("grid", "door", "rate", "peak", "queued"), [
    pytest.param({"sites": sites(X={"door_out": 5 * GB / 8})}, "X out", 1, 2, 9, id="out of a site"),
    pytest.param({"sites": sites(Y={"door_in": 5 * GB / 8})}, "Y in", 1, 2, 9, id="into a site"),
    pytest.param({"sites": sites(Y={"door_out": 5 * GB / 8})}, "Y out", 1 / 6, 0.5, 0, id="the other direction"),
    pytest.param({"sites": sites(X={"storage": "D"}, Y={"storage": "D"}),
                  "storages": {"D": {"site": "X", "door_in": 5 * GB / 8}}}, "D in", 7 / 6, 2.5, 9,
                 id="an endpoint of two sites"),
    pytest.param({"storages": {"D": {"site": "X", "door_in": 5 * GB / 8}}}, "D in", 1 / 6, 0.5, 0,
                 id="the first endpoint of a site takes its output"),
    pytest.param({"sites": sites(X={"region": "far"}, Y={"region": "near"}), "links": {"backbones": {
        "SEA": {"capacity": 5 * GB / 8, "sites": [], "regions": ["far"]}}}}, "SEA out", 1, 2, 9, id="a backbone"),
])
def test_use_of_a_door(tmp_path, grid, door, rate, peak, queued):
    found = wide(metrics.door_use(run_with(tmp_path, X_TO_Y, grid))).set_index("door").loc[door]
    assert [found.rate, found.peak_rate, found.queued_files] == pytest.approx([rate, peak, queued])
    assert [found.capacity, found.use, found.peak_use] == pytest.approx([5, 20 * rate, 20 * peak])


def test_a_door_over_time_and_what_others_leave_of_it(tmp_path):
    grid = {"sites": sites(X={"door_out": 5 * GB / 8}),
            "links": {"background": {"load": 0.2, "by_hour": [1, 2] + [0] * 22}, "backbones": {}}}
    table = wide(metrics.door_series(run_with(tmp_path, X_TO_Y, grid)))
    assert table.rate.tolist() == pytest.approx([np.nan, 9, 1, 0, 2], nan_ok=True)
    assert table.left.tolist() == pytest.approx([4, 3, 5, 5, 5])
    assert not len(metrics.door_series(run_with(tmp_path / "none", X_TO_Y, grid), names=["Y in"]))


def test_links_by_bytes_with_rates_and_failures(tmp_path):
    found = wide(metrics.link_use(run_with(tmp_path, X_TO_Y)))
    assert found.source.tolist() == ["X", "Y"]
    first = found.iloc[0]
    assert [first.rate, first.peak_rate, first.queued_files] == pytest.approx([1 / 8, 2 / 8, 9])
    assert first.failed == pytest.approx(100 * 4 / 6)      # 1 and 3 attempts beside two files


def test_a_link_over_time(tmp_path):
    table = wide(metrics.link_series(run_with(tmp_path, X_TO_Y), [("X", "Y")]))
    assert set(table.link) == {"X \N{RIGHTWARDS ARROW} Y"}
    assert table.queued_files.tolist() == [0, 0, 3, 0, 9] and table.active_limit.tolist() == [7] * 5


def test_waits_of_the_transfers_that_ended_in_the_window(tmp_path):
    times = {name: np.array(hours) * HOUR for name, hours in dict(
        submitted_s=[0, 1, 1, 3], started_s=[0, 1, 2, 4], ended_s=[0.5, 2, 4, np.nan]).items()}
    transfers = rows_of("transfers", source=[0, 0, 0, 0], destination=[1, 1, 1, 1], **times)
    found = wide(metrics.link_waits(run_with(tmp_path, X_TO_Y, transfers=transfers)))
    assert found.wait.tolist() == [30] and found.took.tolist() == [120]


def test_what_running_jobs_read_is_told_apart_from_transfers(tmp_path):
    hours = dict(submitted_s=[0, 1, 1, 3], started_s=[1, 1, 1, 3], ended_s=[2, 2, 3, np.nan])
    transfers = rows_of("transfers", source=[0, 0, 0, 0], destination=[1, 1, 1, 1], kind=[0, 2, 2, 2],
                        bytes=[9e12, 1e12, 2e12, 4e12], failed_files=[0, 0, 1, 0],
                        **{name: np.array(times) * HOUR for name, times in hours.items()})
    run = run_with(tmp_path, X_TO_Y, transfers=transfers)
    read, = wide(metrics.direct_reading(run)).itertuples()
    assert (read.source, read.destination, read.jobs, read.cut, read.read) == ("X", "Y", 2, 1, 3)
    assert (read.rate, read.took) == pytest.approx((1e6 / 3600, 90))      # 1 TB in an hour, 2 TB in two
    waits, = wide(metrics.link_waits(run)).itertuples()
    assert (waits.wait, waits.took) == (60, 120)
    kinds = wide(metrics.data_waits(run)).set_index("kind")
    assert kinds.moved.to_dict() == {"input": 9, "output": 0, "reading": 3}
    assert np.isnan(kinds.waiting_jobs["reading"]) and kinds.failed_files["reading"] == 1


@pytest.mark.parametrize(("most", "expected"), [
    pytest.param(2, {("X", "Y"): 3, ("Y", "X"): 0.5}, id="every site has its place"),
    pytest.param(1, {("X", "others (1)"): 3, ("others (1)", "X"): 0.5}, id="sites beyond are put together"),
])
def test_who_sent_to_whom(tmp_path, most, expected):
    found = wide(metrics.site_matrix(run_with(tmp_path, X_TO_Y), most))
    moved = dict(zip(zip(found.source, found.destination, strict=True), found.moved, strict=True))
    assert moved == pytest.approx({pair: hours * GIGABIT_HOURS / 1e12 for pair, hours in expected.items()})
