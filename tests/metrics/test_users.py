"""Users of a run: who had the cores, who waits, who was throttled."""

import numpy as np
import pytest
from small_run import HOUR, VOCABULARIES, job, run_of, task_rows

from simgrid_broker import metrics
from simgrid_broker.names import JobStatus, TaskStatus, ThrottledBy
from simgrid_broker.schema.series import QUEUE_SERIES, TASK_CLASSES

S, T = JobStatus, TaskStatus
ANN, BOB, EVE = range(3)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Two users with jobs, one without, and a task of production, over ten hours of which the first is left out."""
    monkeypatch.setitem(VOCABULARIES, "users", ("ann", "bob", "eve"))
    monkeypatch.setitem(VOCABULARIES, "labels", ("user", "managed"))
    monkeypatch.setitem(VOCABULARIES, "task_class", ("C", "B", "A", "S"))
    monkeypatch.setitem(VOCABULARIES, "site_class", ("lo", "mid", "hi"))
    monkeypatch.setitem(VOCABULARIES, "throttled_by", ("", *ThrottledBy.words()[1:]))
    rows, times = task_rows([(0, 0, T.RUNNING, np.nan)] * 3 + [(0, 0, T.THROTTLED, np.nan), (0, 0, T.RUNNING, np.nan)])
    rows["jeditaskid"], rows["user"], rows["label"] = range(1, 6), (ANN, ANN, BOB, EVE, ANN), (0, 0, 0, 0, 1)
    rows["throttled_total_s"] = 0, 2 * HOUR, 0, HOUR, 0
    rows["throttled_by"] = 0, ThrottledBy.RUNNING_JOBS, 0, ThrottledBy.QUEUED_CORES, 0
    times[3, T.THROTTLED] = 7 * HOUR
    jobs = [job(jeditaskid=1, user=ANN, cores=2, activated=0, running=0.5, finished=2),         # an hour in the window
            job("B1", S.RUNNING, jeditaskid=2, user=ANN, cores=4, activated=3, running=5),          # five hours
            job(jeditaskid=3, user=BOB, activated=1, running=2, failed=6, status=S.FAILED),
            job("A", S.ACTIVATED, jeditaskid=3, user=BOB, activated=4),
            job("A", S.CLOSED, jeditaskid=3, user=BOB, activated=4, closed=6),
            job(jeditaskid=5, user=ANN, cores=9, activated=1, running=2, finished=9)]                # production
    for one in jobs:
        one[-1]["hs06_milli"] = 10_000 * one[3]                                             # ten HS06 per core
    jobs[1][-1].update(missing_bytes=2e12, source_site=1, queue=0)
    classes = np.array([(1.5 * HOUR, 2, 2), (4 * HOUR, 2, 0), (2 * HOUR, 3, 3), (3 * HOUR, 3, -1)], TASK_CLASSES.dtype)
    samples = np.zeros(4, QUEUE_SERIES.dtype)
    samples["time_s"], samples["queue"] = (0, 0, 5 * HOUR, 5 * HOUR), (0, 1, 0, 1)
    samples["site_class"] = 1, 1, 2, 1
    return run_of(tmp_path / "run", warm_up_h=1, jobs=jobs, tasks=(rows, times), task_classes=classes, queues=samples)


def test_figures_of_users(run):
    table = metrics.wide(metrics.users(run)).set_index("user")
    assert list(table.index) == ["ann", "bob", "eve"]                                 # by cores
    assert table.cores.tolist() == pytest.approx([(2 + 20) / 9, 4 / 9, 0])
    assert table.tasks.tolist() == [2, 1, 1] and table.started.tolist() == [1, 1, 0]
    assert table.waiting.tolist() == [0, 1, 0]                                        # not the one that was closed
    assert table.wait_p50.tolist()[:2] == [2, 1] and np.isnan(table.wait_p50["eve"])
    assert table.throttled.tolist() == [2, 0, 1 + 3]                          # eve has been for three hours


def test_cores_by_share_and_by_size(run):
    cores = metrics.user_cores(run).set_index(["user", "share"]).value
    assert cores["ann", "A"] == pytest.approx(2 / 9) and cores["ann", "B1"] == pytest.approx(20 / 9)
    sizes = metrics.wide(metrics.users_by_size(run))
    assert sizes["size"].tolist() == ["largest 10"] and sizes.users.tolist() == [3]
    assert sizes.cores.tolist() == pytest.approx([26 / 9]) and sizes.wait_p50.tolist() == [1.5]


def test_jobs_count_for_the_class_that_their_task_had_when_they_were_activated(run):
    table = metrics.wide(metrics.users_by_class(run)).set_index("task_class")
    assert list(table.index) == ["A", "none"]
    assert table.started.tolist() == [1, 1] and table.waiting.tolist() == [0, 1]   # bob's class was lost before 4 h
    assert table.cores.tolist() == pytest.approx([20 / 9, (2 + 4) / 9])
    assert table.power.tolist() == pytest.approx([200 / 9, 60 / 9])


def test_classes_of_queues_over_time(run):
    found = metrics.site_class_series(run)
    assert found.values.tolist() == [[0, "mid", 2], [5 * HOUR, "hi", 1], [5 * HOUR, "mid", 1]]


def test_input_that_came_over_the_wan(run):
    assert metrics.moved_input(run)[["source_site", "queue", "metric", "value"]].values.tolist() == [
        ["Y", "QX", "jobs", 1], ["Y", "QX", "bytes", 2e12]]


def test_time_throttled_by_cause(run):
    held = metrics.wide(metrics.throttled_time(run))
    assert held[["throttled_by", "tasks", "hours"]].values.tolist() == [["queued_cores", 1, 4.0],
                                                                        ["running_jobs", 1, 2.0]]


def test_what_throttled_them(run):
    held = metrics.throttled_by(run)
    assert held.values.tolist() == [["ann", 2, 2.0, "running_jobs"], ["eve", 4, 4.0, "queued_cores"]]


@pytest.mark.parametrize(("cores", "jain", "largest_ten"), [
    pytest.param([5.0] * 20, 1.0, 0.5, id="all the same"),
    pytest.param([7.0, 0, 0, 0], 0.25, 1.0, id="one has all"),
    pytest.param([3.0, 1.0], 0.8, 1.0, id="three to one"),
    pytest.param([0.0, 0.0], np.nan, np.nan, id="no user has any"),
])
def test_fairness(cores, jain, largest_ten):
    found = metrics.fairness(np.array(cores))
    assert (found["jain"], found["largest_ten"]) == pytest.approx((jain, largest_ten), nan_ok=True)


@pytest.mark.parametrize(("dispatch", "kinds"), [
    pytest.param("panda", ["analysis_brokerage", "task_brokerage"], id="panda"),
    pytest.param("dirac", ["job_brokerage", "task_brokerage"], id="dirac asks no analysis brokerage"),
])
def test_tasks_without_a_place_name_the_broker_of_their_label(tmp_path, monkeypatch, dispatch, kinds):
    monkeypatch.setitem(VOCABULARIES, "labels", ("user", "managed"))
    rows, times = task_rows([(0, 0, T.PENDING, np.nan)] * 2)
    rows["jeditaskid"], rows["label"], rows["nucleus"], rows["n_attempts"] = (1, 2), (0, 1), -1, 0
    run = run_of(tmp_path / "run", tasks=(rows, times))
    run.manifest["scenario"]["dispatch"] = dispatch
    assert metrics.unplaced_tasks(run).kind.tolist() == kinds
