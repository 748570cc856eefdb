"""getJob's filters: a job that does not suit a pilot is passed over, and those behind it are served."""

import numpy as np
import pytest
from builders import Bench, S, put_job, scenario
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker.fabric.dispatch import first_that_suits
from simgrid_broker.fabric.jobs.activated import put_activated, take_out
from simgrid_broker.names import QueueStatus

pytestmark = pytest.mark.rule("suits", "asks_for", "first_that_suits")

SHARES = [dict(name=name, value=1) for name in "AB"]


def bench_of(*said, edition="deployed", memory=(), sloppy=0.0, **queue) -> Bench:
    """One job a task at a queue of two shares, activated in that order; memory: MB that each asks for."""
    plan = scenario({"HERE": dict(cores=64)}, {"HERE": dict(atlas_site="HERE") | queue}, shares=SHARES, edition=edition)
    bench = Bench(plan, *(dict(cputime=10.0, cpuefficiency=100, basewalltime_s=0) | one for one in said))
    bench.fabric.dispatch_by(share=True, priority=True, sloppy_fraction=sloppy)
    for task in range(len(said)):
        bench.submit(task=task, ram_mb=memory[task] if memory else 0.0)
    return bench


def served(bench) -> list[int]:
    """Tasks whose jobs pilots get, one pilot after another."""
    found = []
    while True:
        before = bench.world.state["n_pilots_empty"]
        bench.workers(1)
        bench.run(bench.now + 1.0)
        if bench.world.state["n_pilots_empty"] > before:
            bench.check()
            return found
        rows = bench.live()
        running = rows[bench.arrays.jobs["status"][rows] == S.RUNNING]
        found.append(int(bench.arrays.jobs["task"][running[np.argmax(bench.arrays.job_times[running, S.RUNNING])]]))


@pytest.mark.parametrize(("queue", "memory", "expected"), [
    pytest.param(dict(maxrss=2000), [2000, 1], [0, 1], id="exactly what the worker has suffices"),
    pytest.param(dict(maxrss=2000), [2001, 1], [1], id="1 MB more is passed over"),
    pytest.param(dict(maxrss=0), [9000, 1], [0, 1], id="a queue without limit sends no memory"),
    pytest.param(dict(maxrss=2000), [0, 1], [0, 1], id="a job that asks for nothing suits"),
])
@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_a_pilot_gets_no_job_with_more_memory_than_its_worker(queue, memory, expected, edition):
    assert served(bench_of({}, {}, memory=memory, edition=edition, **queue)) == expected


@pytest.mark.parametrize("sloppy", [0.0, 1.0], ids=["by share", "by age"])
def test_jobs_that_do_not_suit_block_neither_their_share_nor_the_next(sloppy):
    said = [dict(share=0, priority=900 - place) for place in range(30)] + [dict(share=1)]
    memory = [3000 if place % 3 else 1000 for place in range(30)] + [1000]
    assert served(bench_of(*said, memory=memory, maxrss=2000, sloppy=sloppy)) == [*range(0, 30, 3), 30]


@pytest.mark.parametrize(("sends_time", "timefloor", "cputime", "expected"), [
    pytest.param(True, 60, 9990.0, [0], id="less than the second job claims is left"),
    pytest.param(True, 60, 9000.0, [0, 1], id="as much is left as it claims"),
    pytest.param(False, 60, 9990.0, [0, 1], id="pilots do not send it"),
])
def test_a_pilot_that_sends_its_time_gets_no_job_that_claims_more(sends_time, timefloor, cputime, expected):
    bench = bench_of(dict(cputime=1000.0), dict(cputime=cputime), sends_time=sends_time, timefloor=timefloor,
                     maxtime=1000)
    bench.workers(1)
    bench.run(101)                                          # 1000 HS06 s at 10 HS06: 900 s of the slot are left
    rows = bench.live()
    begun = np.isfinite(bench.arrays.job_times[rows, S.RUNNING])
    assert bench.arrays.jobs["task"][rows[begun]].tolist() == expected


LABELS = [dict(label="managed"), dict(label="user"), dict(label="install"), dict(label="prod_test"),
          dict(label="managed", processing_type="gangarobot"), dict(label="test"), dict(label="rc_test")]


@pytest.mark.parametrize(("queue", "edition", "expected"), [
    pytest.param(dict(type="unified"), "deployed", [0, 1, 2, 3, 4, 5], id="unified: both"),
    pytest.param(dict(type="production"), "deployed", [0, 2, 3, 4, 5], id="production: not those of users"),
    pytest.param(dict(type="analysis"), "deployed", [1, 2], id="analysis: user, panda and install"),
    pytest.param(dict(status="test"), "deployed", [2, 3, 4, 5], id="in test: only tests"),
    pytest.param(dict(status="test", type="analysis"), "deployed", [4], id="an analysis queue in test: gangarobot"),
    pytest.param(dict(status="test"), "documented", [0, 1, 2, 3, 4, 5], id="documented: the status does not count"),
    pytest.param(dict(status="brokeroff"), "deployed", [0, 1, 2, 3, 4, 5], id="brokeroff gives out what is there"),
    pytest.param(dict(status="offline"), "deployed", [0, 1, 2, 3, 4, 5], id="the server does not check offline"),
])
def test_pilots_ask_for_the_labels_of_their_queue(queue, edition, expected):
    assert sorted(served(bench_of(*LABELS, edition=edition, **queue))) == expected


def test_a_queue_that_leaves_the_status_test_serves_what_waited():
    bench = bench_of(*LABELS[:2], status="test")
    assert served(bench) == []
    bench.arrays.queues["status"][0] = QueueStatus.ONLINE
    assert served(bench) == [1, 0]                          # users have priority 1000


@pytest.mark.parametrize(("high", "expected"), [(1, [1, 2]), (0, [0, 1, 2])],
                         ids=["above its target", "below its target"])
def test_a_push_queue_above_its_mean_memory_gives_out_jobs_below_it(high, expected):
    bench = bench_of({}, {}, {}, memory=[2001, 2000, 100], meanrss=2000)
    bench.arrays.queues["mean_memory_high"] = high
    assert served(bench) == expected


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=40), st.integers(0, 10))
def test_the_walk_finds_the_first_that_suits_of_any_heap(said, taken):
    bench = Bench(scenario(queues={"HERE": dict(atlas_site="HERE", maxrss=2000)}))
    rows = []
    for priority, suits in said:
        rows.append(put_job(bench, S.ACTIVATED, priority=priority, ramcount_mb=1000.0 if suits else 3000.0))
        put_activated(bench.arrays, rows[-1])
    for _ in range(min(taken, len(rows) - 1)):
        first = bench.arrays.activated[0, 0]
        take_out(bench.arrays, first)
        rows.remove(first)
    jobs = bench.arrays.jobs
    suitable = [row for row in rows if jobs["ramcount_mb"][row] <= 2000]
    in_order = sorted(rows, key=lambda row: (-jobs["priority"][row], jobs["panda_id"][row]))
    expected = next((row for row in in_order if row in suitable), -1)
    passed_over = in_order.index(expected) if suitable else len(rows)
    for request in (1, 2):                                  # the first puts what it passes over in order
        assert first_that_suits(bench.arrays, jobs, bench.arrays.activated[0, 0], 0, np.inf) == expected
        assert bench.arrays.worker_accounts["n_more_memory"][0] == request * passed_over
    for row in rows:
        take_out(bench.arrays, row)
    assert bench.arrays.activated[0, 0] == -1
