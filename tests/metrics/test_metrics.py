"""Metrics of small runs written by hand, and recounts of the fake run."""

import numpy as np
import pandas as pd
import pytest
from fake_run import make_jobs, write_fake_run
from small_run import HOUR, job, queue_columns, run_of, share_rows, task_rows

from simgrid_broker import metrics
from simgrid_broker.metrics import wide
from simgrid_broker.metrics.shares import Tree, due_power, shared_out, usable_power
from simgrid_broker.metrics.window import run_times
from simgrid_broker.names import Cause, JobStatus, TaskStatus
from simgrid_broker.records import read_run

FINISHED, FAILED, CLOSED = JobStatus.FINISHED, JobStatus.FAILED, JobStatus.CLOSED


def value(table, metric, **dims):
    """The one value of a metric at the given dimensions."""
    rows = table[table.metric == metric]
    for name, word in dims.items():
        rows = rows[rows[name] == word]
    assert len(rows) == 1, rows
    return rows.value.iloc[0]


@pytest.fixture(scope="module")
def fake(tmp_path_factory):
    return read_run(write_fake_run(tmp_path_factory.mktemp("fake"), n_jobs=4000))


@pytest.mark.parametrize(("status", "simulated_h", "expected"), [
    pytest.param("complete", 10, "1 h to 10 h", id="a complete run ends at its duration"),
    pytest.param("interrupted", 4, "1 h to 4 h", id="an interrupted run ends where its manifest says"),
    pytest.param("running", 0, "1 h to 3 h", id="a killed run ends at the earlier of last sample and last job"),
    pytest.param("failed", 0.5, "nothing: the run ends at 30 min, its warm-up at 1 h", id="failed within the warm-up"),
])
def test_window(tmp_path, status, simulated_h, expected):
    run = run_of(tmp_path, 1, 10, status, simulated_h, jobs=[job(running=1, finished=3)],
                 shares=share_rows({0: {"A": (1, 1, 0)}, 5: {"A": (1, 1, 0)}}))
    assert str(metrics.window_of(run)) == expected


def test_jobs_count_where_they_ended(tmp_path):
    run = run_of(tmp_path, 2, 10, jobs=[
        job(finished=1.99), job(finished=2), job(finished=10), job(status=FAILED, failed=5),
        job(status=CLOSED, closed=1), job(status=JobStatus.RUNNING, running=1), job(status=JobStatus.SENT, sent=9)])
    table = metrics.jobs_by_status(run)
    assert dict(zip(table.status, table.value, strict=True)) == {
        "finished": 2, "failed": 1, "closed": 0, "cancelled": 0, "sent": 1, "running": 1}
    assert table.state.tolist() == ["ended"] * 4 + ["alive"] * 2


@pytest.mark.parametrize(("hours", "expected_h"), [
    pytest.param({"running": 1, "holding": 3, "transferring": 4, "finished": 6}, 2, id="until holding"),
    pytest.param({"running": 1, "transferring": 4, "finished": 6}, 3, id="until transferring if it never held"),
    pytest.param({"running": 1, "failed": 6}, 5, id="until the end if it failed while running"),
    pytest.param({"holding": 0.5, "running": 1, "failed": 6}, 5, id="a hold before running does not count"),
    pytest.param({"activated": 1, "closed": 6}, np.nan, id="never ran"),
    pytest.param({"running": 1, "holding": 3}, np.nan, id="has not ended"),
])
def test_run_times(tmp_path, hours, expected_h):
    run = run_of(tmp_path, jobs=[job(**hours)])
    np.testing.assert_allclose(run_times(run.jobs), [expected_h * HOUR])


def test_waiting_times_count_excluded_jobs(tmp_path):
    run = run_of(tmp_path, 2, 10, jobs=[
        job(activated=0, running=1.9, finished=5),                      # started in the warm-up
        job(activated=0, running=2, finished=5), job(activated=1, running=4, finished=5),
        job(activated=5, running=10, status=JobStatus.RUNNING),
        job(activated=6, status=JobStatus.ACTIVATED), job(activated=8, sent=9, status=JobStatus.SENT),
        job(activated=1, closed=4, status=CLOSED), job(activated=1, closed=1.5, status=CLOSED),
        job("B1", defined=3, status=JobStatus.DEFINED)])                # never activated: not in the table
    table = metrics.waiting_times(run)
    assert set(table.share) == {"A"}
    assert value(table, "started") == 3
    assert value(table, "wait_p50") == pytest.approx(3)
    assert value(table, "wait_mean") == pytest.approx(10 / 3)
    assert (value(table, "still_waiting"), value(table, "still_waiting_p50")) == (2, pytest.approx(3))
    assert value(table, "taken_back") == 1
    pd.testing.assert_series_equal(metrics.waiting_times(run, None).value, table.value)


def test_waiting_times_without_jobs_are_nan(tmp_path):
    table = metrics.waiting_times(run_of(tmp_path), None)
    assert np.isnan(value(table, "wait_p50"))
    assert value(table, "started") == 0


def test_failures_include_their_cost(tmp_path):
    run = run_of(tmp_path, 2, 10, jobs=[
        job(status=FAILED, cause=Cause.SITE_ERROR, cores=8, running=3, failed=5),
        job(status=FAILED, cause=Cause.SITE_ERROR, running=3, holding=4, failed=6),
        job(status=CLOSED, cause=Cause.TIMEOUT_ACTIVATED, activated=1, closed=5),
        job(status=FAILED, cause=Cause.SITE_ERROR, running=0, failed=1), job(running=3, finished=4)])
    table = metrics.failures(run)
    assert value(table, "jobs", status="failed", cause="site_error") == 2
    assert value(table, "lost_core_hours", status="failed", cause="site_error") == pytest.approx(2 * 8 + 1)
    assert value(table, "jobs", status="closed", cause="timeout_activated") == 1
    assert value(table, "lost_core_hours", status="closed", cause="timeout_activated") == 0


def test_share_compliance_by_hand(tmp_path):
    run = run_of(tmp_path, 1, 4, shares=share_rows({
        0: {"A": (100, 40, 0), "B1": (0, 50, 0), "B2": (0, 10, 0)},      # warm-up
        1: {"A": (44, 40, 5), "B1": (50, 50, 0), "B2": (6, 10, 0)},
        2: {"A": (45, 40, 5), "B1": (45, 50, 1), "B2": (10, 10, 0)},
        3: {"A": (0, 0, 0), "B1": (0, 0, 0), "B2": (0, 0, 0)}}))         # nothing runs: no sample of compliance
    table = wide(metrics.share_compliance(run)).set_index("share")
    assert table.samples.eq(2).all()
    assert table.delivered.to_dict() == pytest.approx({"all": 100, "A": 44.5, "B": 55.5, "B1": 47.5, "B2": 8})
    assert table.target.to_dict() == pytest.approx({"all": 100, "A": 40, "B": 60, "B1": 50, "B2": 10})
    assert table.due.to_dict() == pytest.approx({"all": 100, "A": 42, "B": 58, "B1": 50, "B2": 8})
    assert table.judged.to_dict() == {"all": 100, "A": 100, "B": 50, "B1": 50, "B2": 0}
    assert table.deviation.drop("B2").to_dict() == pytest.approx({"all": 0, "A": 2.5, "B": 5, "B1": 5})
    assert np.isnan(table.deviation["B2"])                               # it had no work
    assert table.near["A"] == 50                                         # 44 was due, then 40, and 45 is above 44
    assert table.near["B1"] == 100                                       # 45 is at the limit of 50
    assert np.isnan(table.near["B2"])
    assert table.waiting.to_dict() == {"all": 100, "A": 100, "B": 50, "B1": 50, "B2": 0}
    assert table.level.to_dict() == {"all": 0, "A": 1, "B": 1, "B1": 2, "B2": 2}
    deviation = metrics.share_deviation(run)
    assert value(deviation, "share_deviation") == pytest.approx((2.5 + 5) / 2)
    assert value(deviation, "share_misplaced") == pytest.approx((0 + 5) / 2)


@pytest.mark.parametrize(("values", "wanted", "expected"), [
    pytest.param([1, 1], [90, 90], [50, 50], id="all have work: by their values"),
    pytest.param([1, 1], [0, 90], [0, 90], id="one has none: the other is due all that it can use"),
    pytest.param([20, 30, 50], [5, 90, 90], [5, 35.625, 59.375], id="what one leaves goes to the others by values"),
    pytest.param([1, 3, 4], [10, 10, 90], [10, 10, 80], id="one fills up after the other"),
    pytest.param([0, 1], [90, 40], [60, 40], id="a share without target comes last"),
])
def test_what_a_share_leaves_is_due_to_its_siblings(values, wanted, expected):
    found = shared_out(np.array([100.0]), np.array([wanted], float), np.array(values, float))
    assert found[0].tolist() == pytest.approx(expected)


def test_unused_power_is_due_to_siblings_before_it_goes_upwards():
    tree = Tree(("all", "P", "Q", "P1", "P2"), np.array([-1, 0, 0, 1, 1]), np.array([100.0, 50, 50, 25, 25]),
                np.array([0, 1, 1, 2, 2]), np.array([3, 4, 2]),
                np.array([[1, 1, 1], [1, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0]], bool))
    usable = np.array([[0, 90, 90], [0, 40, 90], [90, 90, 0]], float)
    assert due_power(tree, usable, np.full(3, 100.0))[:, tree.leaves].tolist() == [
        [0, 50, 50], [0, 40, 60], [50, 50, 0]]


def test_waiting_work_could_use_the_power_of_the_cores_that_its_share_or_all_have():
    given = (np.array([row], float) for row in ([30, 10, 0], [3, 2, 0], [2, 0, 4]))
    assert usable_power(*given).tolist() == [[50, 10, 32]]


@pytest.mark.parametrize(("cores", "due", "judged"), [(0, 25, 0), (1, 31.25, 100), (9, 60, 100)])
def test_work_that_is_in_no_job_is_due_too(cores, due, judged, tmp_path):
    """B1 uses 40 of 160, 10 a core; B and so B1 is due 60 %, and it has no jobs but those that run."""
    rows = share_rows({k: {"A": (120, 64, 0), "B1": (40, 80, 0)} for k in range(3)})
    run = run_of(tmp_path, 0, 3, shares=rows)
    table, run.tables["backlog"] = run.table, None
    work = pd.DataFrame({"time_s": np.arange(4) * HOUR, "share": "B1", "ready_cores": cores, "input_cores": 0.0})
    run.table = lambda name, columns=None: work if name == "backlog" else table(name, columns)
    found = wide(metrics.share_compliance(run)).set_index("share")
    assert (found.due["B1"], found.judged["B1"]) == (pytest.approx(due), judged)



def test_running_cores_by_site_adds_queues(tmp_path):
    run = run_of(tmp_path, queues=queue_columns(3) | {
        "time_s": np.zeros(3), "queue": np.arange(3), "running_cores": np.array([1, 2, 4])})
    table = metrics.running_cores(run, "site")
    assert dict(zip(table.site, table.value, strict=True)) == {"X": 1, "Y": 6}
    with pytest.raises(ValueError, match="not 'moon'"):
        metrics.running_cores(run, "moon")


def test_links_count_traffic_within_the_window(tmp_path):
    link = {"source": np.zeros(3, int), "destination": np.ones(3, int), "active_files": np.zeros(3, int)}
    link |= {name: np.zeros(3, int) for name in ("active_limit", "bytes_moved", "files_failed")}
    run = run_of(tmp_path, 2, 4, queues=queue_columns(5) | {"time_s": np.arange(5) * HOUR}, links=link | {
        "time_s": np.array([2, 3, 4]) * HOUR, "bytes": np.array([7e12, 3.6e12, 3.6e12]), "files": np.array([7, 1, 2]),
        "utilisation": np.array([1, 0.8, 0.4]), "queued_files": np.array([99, 3, 5]),
        "queued_output": np.array([9, 3, 5]), "mbps_hour": np.full(3, np.nan)})
    table = metrics.link_use(run)
    where = {"source": "X", "destination": "Y"}
    assert value(table, "moved", **where) == pytest.approx(7.2)          # the sample at 2 h counts what came before
    assert value(table, "rate", **where) == pytest.approx(1)
    assert value(table, "utilisation", **where) == pytest.approx(60)
    assert value(table, "peak_utilisation", **where) == pytest.approx(80)
    assert value(table, "files", **where) == 3


def test_refusals_are_added_up_over_the_window(tmp_path):
    run = run_of(tmp_path, 2, 4, refusals={
        "time_s": np.array([2, 3, 4, 4]) * HOUR, "kind": np.array([1, 1, 1, 0]), "candidate": np.array([0, 0, 0, 3]),
        "tag": np.array([0, 0, 0, 1]), "criterion": np.array([0, 0, 0, 1]), "share": np.zeros(4, int),
        **{name: np.array([5, 1, 2, 4]) for name in ("count", "queue_count", "pool_count")}})
    table = metrics.refusals(run)
    assert value(table, "refusals", kind="job_brokerage", candidate="QX", tag="-t1") == 3
    assert value(table, "refusals", kind="task_brokerage", candidate="X", tag="-t2") == 4


def test_tasks_by_campaign(tmp_path):
    nan = np.nan
    run = run_of(tmp_path, 2, 10, tasks=task_rows([
        (0, 0, TaskStatus.DONE, 1), (0, 0, TaskStatus.DONE, 4), (0, 2, TaskStatus.FAILED, 10),
        (0, 2, TaskStatus.RUNNING, nan), (-1, 1, TaskStatus.DONE, 3)]))
    table = metrics.task_turnaround(run)
    assert value(table, "ended", campaign="C1") == 2
    assert value(table, "open", campaign="C1") == 1
    assert value(table, "turnaround_mean", campaign="C1") == pytest.approx(6)
    assert value(table, "ended", campaign="(no campaign)") == 1


def test_throughput_bins_cover_the_run_and_no_more(tmp_path):
    run = run_of(tmp_path, 0, 2.5, jobs=[job(finished=0), job(finished=1), job(finished=2.5), job(failed=2)])
    table = metrics.throughput(run, most_bins=3)
    bins = table[table.status == "finished"]
    assert (bins.time_s / HOUR).tolist() == [0, 1, 2]
    assert (bins.bin_s / HOUR).tolist() == [1, 1, 0.5]
    assert bins.value.tolist() == [1, 1, 2]


def test_difference_keeps_rows_of_one_side():
    base = pd.DataFrame({"share": ["A", "B"], "metric": "m", "value": [2.0, 0.0], "unit": "h", "window": "1"})
    changed = pd.DataFrame({"share": ["C", "A"], "metric": "m", "value": [5.0, 3.0], "unit": "h", "window": "2"})
    table = metrics.difference(base, changed).set_index("share")
    assert table.index.tolist() == ["A", "B", "C"]
    assert table.difference["A"] == 1
    assert table.relative["A"] == 50
    assert np.isnan(table.changed["B"])
    assert np.isnan(table.base["C"])


def test_summary_of_the_fake_run_is_a_recount(fake):
    rows, times = make_jobs(4000, 86400.0)
    ended = times[:, JobStatus.FINISHED]
    table = metrics.summary(fake)
    start = fake.manifest["warm_up_s"]
    assert value(table, "finished") == np.count_nonzero((rows["status"] == FINISHED) & (ended >= start))
    assert value(table, "alive") == np.isnan(times[:, JobStatus.FINISHED:]).all(axis=1).sum()
    assert value(table, "running_cores") < value(table, "capacity") == 13_000
    assert value(table, "core_occupancy") == pytest.approx(value(table, "running_cores") / 130)


def test_shares_add_up_to_their_parents(fake):
    table = wide(metrics.share_series(fake), "hs06", "target_hs06")
    tree = fake.manifest["share_tree"]
    for name in ("hs06", "target_hs06"):
        values = table.pivot(index="time_s", columns="node", values=name).to_numpy()
        for node in set(tree["parent"]) - {-1}:
            children = [k for k, parent in enumerate(tree["parent"]) if parent == node]
            np.testing.assert_allclose(values[:, node], values[:, children].sum(axis=1), atol=1e-6)


def test_every_table_is_tidy_and_survives_an_empty_run(fake, tmp_path):
    empty = run_of(tmp_path)
    figures = [metrics.summary, metrics.jobs_by_status, metrics.share_series, metrics.share_compliance,
               metrics.share_deviation, metrics.running_cores, metrics.jobs_over_time, metrics.throughput,
               metrics.waiting_times, metrics.refusals, metrics.refusal_rates, metrics.brokerage_funnel,
               metrics.decisions, metrics.link_use, metrics.traffic_series,
               metrics.link_waits, metrics.site_matrix, metrics.door_use, metrics.door_series,
               metrics.storage_series, metrics.storage_use, metrics.transfer_summary, metrics.failures,
               metrics.memory_retries, metrics.attempts, metrics.rebrokerage, metrics.task_turnaround,
               metrics.tasks_by_status, metrics.task_phases, metrics.time_in_phase, metrics.rule_losses]
    for figure in figures:
        for run in (fake, empty):
            table = figure(run)
            assert table.columns[-4:].tolist() == ["metric", "value", "unit", "window"], figure
            assert table.value.dtype == float, figure
            assert not len(table) or (table.unit.notna().all() and table.metric.notna().all()), figure
            wide(table)


def test_comparison_of_a_run_with_itself_is_zero(fake):
    for name, table in metrics.comparison(fake, fake).items():
        assert len(table) > 0 or name == "staging", name                  # nothing was staged
        assert not table.difference.dropna().any(), name
