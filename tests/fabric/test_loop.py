"""The loop stops for what it cannot do alone: a forbidden move, a full outbox, a table that must grow."""

import pytest
from builders import Bench, S, scenario, two_sites

from simgrid_broker.errors import ForbiddenMove, OutOfRows
from simgrid_broker.fabric.jobs.ending import archive
from simgrid_broker.fabric.jobs.pilots import hold
from simgrid_broker.fabric.jobs.retries import put_lesson
from simgrid_broker.fabric.transfers.rows import record_transfer
from simgrid_broker.world.arrays import REUSED
from simgrid_broker.world.build import FIRST_ROWS
from simgrid_broker.world.jobs.transitions import raise_fault


def test_a_forbidden_move_within_the_loop_is_raised_with_the_story():
    bench = Bench()
    bench.submit()
    bench.workers()
    bench.run(50.0)
    bench.arrays.jobs["status"][bench.live()] = S.TRANSFERRING         # behind the back of `transitions`
    told = r"may not go from transferring to holding \(at 100.000 s\)\njob 1 of task 1"
    with pytest.raises(ForbiddenMove, match=told):
        bench.run(200.0)


def test_the_loop_does_nothing_more_after_a_fault():
    bench = Bench(None, dict(n_jobs=2))
    bench.submit(2)
    bench.workers(2)
    bench.run(50.0)
    bench.arrays.jobs["status"][bench.live()[0]] = S.TRANSFERRING
    with pytest.raises(ForbiddenMove):
        bench.run(200.0)
    assert bench.statuses() == ["transferring", "running"]


def test_time_passes_without_events():
    bench = Bench()
    assert not bench.world.state["n_events"]
    bench.run(1234.5)
    assert bench.world.state["now_s"] == 1234.5 and bench.world.state["n_processed"] == 0


@pytest.mark.parametrize(("until", "status"), [(99.999, "running"), (100.0, "holding")])
def test_an_event_at_the_very_time_is_handled(until, status):
    bench = Bench()
    bench.submit()
    bench.workers()
    bench.run(until)
    assert bench.statuses() == [status]


def test_events_of_one_time_happen_in_the_order_in_which_they_were_scheduled():
    bench = Bench(scenario({"HERE": dict(cores=50)}), dict(n_jobs=50))
    bench.submit(50)
    bench.workers(50)
    bench.run(100.0)
    inbox = bench.arrays.holding[:bench.world.state["n_holding"]]
    assert inbox["panda_id"].tolist() == list(range(1, 51))


def test_more_payloads_end_at_once_than_the_inbox_of_the_adder_holds():
    n_jobs = FIRST_ROWS + 2000
    bench = Bench(scenario({"HERE": dict(cores=n_jobs)}), dict(n_jobs=n_jobs))
    bench.submit(n_jobs)
    bench.workers(n_jobs)
    bench.run(100.0)
    assert bench.world.state["n_holding"] == n_jobs <= len(bench.arrays.holding)
    bench.check()
    bench.collect()
    assert len(bench.ended()) == n_jobs
    bench.check()


def test_more_transfers_end_at_once_than_the_outbox_holds():
    n_tasks = FIRST_ROWS + 1000
    far = dict(input_bytes_per_job=1e3, replicas={1: 1.0})
    bench = Bench(two_sites(link=dict(bandwidth=1e9, max_active_files=10**6)), *[far] * n_tasks)
    for task in range(n_tasks):
        bench.make(task=task)
    bench.fabric.set_up_jobs(0.0)
    bench.run(1.0)
    assert bench.statuses() == ["activated"] * n_tasks
    assert len(bench.moved()) == n_tasks and len(bench.kept["transfers"]) > 1
    bench.check()


def test_workers_of_a_whole_site_start_at_once():
    bench = Bench(scenario({"HERE": dict(cores=50_000)}, agents=dict(pilot_startup=60)), {})
    bench.workers(60_000)
    assert bench.world.state["n_pilots"] == bench.world.state["n_events"] == 50_000
    bench.run(60.0)
    assert bench.world.state["n_pilots_empty"] == 50_000
    bench.run(660.0)                                                   # all leave, and those behind them come
    assert bench.world.state["n_pilots"] == 10_000
    bench.check()


# ---- tables without room: what makes it was forgotten --------------------------------------------------------------

def without_room(monkeypatch, **left) -> Bench:
    """A bench whose tables do not grow, with a running job and a transfer; left: free rows of tables."""
    bench = Bench(two_sites(), dict(n_jobs=20), dict(n_jobs=20, input_bytes_per_job=1e9, replicas={1: 1.0}))
    bench.submit(2)
    bench.submit(task=1)
    bench.workers()
    bench.run(50.0)
    monkeypatch.setattr(bench.world, "make_room", lambda **wanted: None)
    for name, number in left.items():
        bench.arrays.n_free[REUSED.index(name)] = number
    return bench


def shortened(bench, name, used) -> None:
    """Shorten a list to the rows that are in use."""
    bench.world.arrays = bench.arrays.with_arrays(**{name: getattr(bench.arrays, name)[:used].copy()})


@pytest.mark.parametrize(("table", "act"), [
    pytest.param("jobs", lambda bench: bench.make(), id="a job is made"),
    pytest.param("transfers", lambda bench: bench.submit(task=1), id="input is to be moved"),
    pytest.param("retries", lambda bench: bench.take_back(bench.live()[0]), id="input is given back"),
    pytest.param("submissions", lambda bench: bench.workers(), id="workers are submitted"),
])
@pytest.mark.parametrize("left", [0, 1])
def test_a_row_that_is_in_use_is_never_taken_again(table, act, left, monkeypatch):
    bench = without_room(monkeypatch, **{table: left})
    if left:
        act(bench)                                         # the last row is a row like any other
        return
    with pytest.raises(OutOfRows, match=rf"the table `{table}` had no row left \(at 50.000 s\)"):
        act(bench)


@pytest.mark.parametrize(("table", "names", "act"), [
    pytest.param("events", ("events", "far_events"), lambda bench, job: bench.workers(), id="a worker starts"),
    pytest.param("pending", ("pending",), lambda bench, job: bench.make(), id="a job is made"),
    pytest.param("holding", ("holding",), lambda bench, job: hold(bench.arrays, job, 50.0), id="a payload ends"),
    pytest.param("done_jobs", ("done_jobs",), lambda bench, job: archive(bench.arrays, job, True), id="a job ends"),
    pytest.param("done_transfers", ("done_transfers",), lambda bench, job: record_transfer(bench.arrays, 0, 50.0),
                 id="a transfer ends"),
    pytest.param("lessons", ("lessons",), lambda bench, job: put_lesson(bench.arrays, bench.arrays.jobs[job], -1),
                 id="a job failed"),
])
def test_a_list_is_never_written_beyond_its_end(table, names, act, monkeypatch):
    bench = without_room(monkeypatch)
    used = int(bench.world.state["n_events"]) if table == "events" else 0
    for name in names:
        shortened(bench, name, used)
    with pytest.raises(OutOfRows, match=f"the table `{table}` had no row left"):
        act(bench, bench.live()[0])
        raise_fault(bench.arrays)
    assert all(len(getattr(bench.arrays, name)) == used for name in names)
