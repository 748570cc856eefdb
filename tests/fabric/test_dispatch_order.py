"""getJob: the share furthest below its target, in it the highest priority, in that the oldest job."""

import numpy as np
import pytest
from builders import Bench, S, scenario

from simgrid_broker.fabric.jobs.effects import jobs_of, jobs_of_each
from simgrid_broker.policy.shares.dispatch import ORDERS

pytestmark = pytest.mark.rule("get_job", "best_job", "best_of_first_share", "best_of_all_shares", "is_sloppy",
                              "comes_before")


THREE_SHARES = [dict(name=name, value=1) for name in "ABC"]


def bench_of(*said, **settings) -> Bench:
    """One task a job, said by share and priority, activated in that order at a queue of three shares."""
    types = dict(SCORE=dict(mincore=1, maxcore=1), MCORE=dict(mincore=2))
    queues = {"S": dict(atlas_site="HERE"), "M": dict(atlas_site="HERE", capability="mcore", corecount=8)}
    plan = scenario({"HERE": dict(cores=64)}, queues, shares=THREE_SHARES, resource_types=types)
    bench = Bench(plan, *[dict(share="ABC".index(share), priority=priority) for share, priority, *_ in said])
    if settings:
        bench.fabric.dispatch_by(**dict(share=True, priority=True, sloppy_fraction=0.0) | settings)
    for task, (_, _, *queue) in enumerate(said):
        bench.submit(task=task, queue=queue[0] if queue else 0)
    return bench


def served(bench, queue=0) -> list[int]:
    """Numbers of the tasks in the order in which pilots that come one after another take their jobs."""
    found = []
    while True:
        before = bench.world.state["n_pilots_empty"]
        bench.workers(1, queue=queue)
        bench.run(bench.now + 1.0)
        if bench.world.state["n_pilots_empty"] > before:
            return found
        rows = bench.live()
        running = rows[bench.arrays.jobs["status"][rows] == S.RUNNING]
        newest = running[np.argmax(bench.arrays.job_times[running, S.RUNNING])]
        found.append(int(bench.arrays.jobs["task"][newest]))


@pytest.mark.parametrize(("said", "order", "expected"), [
    pytest.param([("A", 1), ("B", 1), ("C", 1)], "ABC", [0, 1, 2], id="the most under-served share first"),
    pytest.param([("A", 1), ("B", 1), ("C", 1)], "CAB", [2, 0, 1], id="whatever the order of the table"),
    pytest.param([("A", 1), ("B", 900)], "ABC", [0, 1], id="priority does not leap over the share"),
    pytest.param([("A", 1), ("A", 2), ("B", 1)], "ABC", [1, 0, 2], id="within the share priority counts"),
    pytest.param([("A", 1), ("A", 1), ("A", 1)], "ABC", [0, 1, 2], id="of equal priority the oldest"),
    pytest.param([("B", 1), ("C", 1)], "ABC", [0, 1], id="a share without jobs is passed over"),
    pytest.param([("A", -5), ("A", 0)], "ABC", [1, 0], id="priorities may be negative"),
])
def test_share_then_priority_then_age(said, order, expected):
    bench = bench_of(*said)
    bench.fabric.serve_shares(np.array(["ABC".index(share) for share in order]), np.argsort(list(order)))
    assert served(bench) == expected
    bench.check()


@pytest.mark.parametrize(("said", "expected"), [
    pytest.param([("B", 1), ("C", 9)], [1, 0], id="shares of one rank compete by priority"),
    pytest.param([("C", 1), ("B", 1)], [0, 1], id="then by age"),
    pytest.param([("A", 9), ("C", 1)], [1, 0], id="the last of the order comes with the first"),
    pytest.param([("A", 9), ("B", 1), ("C", 2)], [2, 1, 0], id="the third share waits for both"),
])
def test_a_share_of_the_first_rank_is_served_with_the_first_share(said, expected):
    bench = bench_of(*said)
    bench.fabric.serve_shares(np.array([1, 0, 2]), np.array([1, 0, 0]))
    assert served(bench) == expected


@pytest.mark.parametrize(("settings", "expected"), [
    pytest.param({}, [2, 1, 0, 3], id="shares, priority, age"),
    pytest.param(dict(share=False), [1, 2, 0, 3], id="priority and age alone"),
    pytest.param(dict(share=False, priority=False), [0, 1, 2, 3], id="age alone"),
    pytest.param(dict(priority=False), [2, 0, 1, 3], id="shares and age"),
    pytest.param(dict(sloppy_fraction=1.0), [0, 1, 2, 3], id="sloppy: age alone, whatever share and priority"),
])
def test_orders_that_leave_something_out(settings, expected):
    bench = bench_of(("B", 1), ("B", 9), ("A", 5), ("C", 1), **settings or dict(share=True))
    assert served(bench) == expected


@pytest.mark.rule("dispatch_rank")
@pytest.mark.parametrize(("name", "expected"), [
    pytest.param("longest_first", [3, 1, 2, 0], id="longest first, a job without limit above all"),
    pytest.param("shortest_first", [0, 2, 1, 3], id="shortest first; of equal ones the oldest"),
    pytest.param("age", [0, 1, 2, 3], id="first come, first served"),
    pytest.param("priority", [3, 0, 1, 2], id="priority alone"),
])
def test_orders_of_the_package(name, expected):
    claims = [dict(cputime=100.0), dict(cputime=900.0), dict(cputime=200.0), dict(priority=900)]
    bench = Bench(scenario({"HERE": dict(cores=64)}), *(dict(cpuefficiency=100) | claim for claim in claims))
    order = ORDERS[name]
    bench.fabric.dispatch_by(order.by_share, 0.0, **order.rank)
    for task in range(4):
        bench.submit(task=task)
    assert served(bench) == expected


URGENT = dict(processing_type="urgent")


@pytest.mark.parametrize(("settings", "expected"), [
    pytest.param(dict(urgent_first=True), [4, 2, 1, 0, 3], id="documented: urgent jobs, then shares"),
    pytest.param(dict(urgent_first=False), [1, 0, 3, 4, 2], id="the code: an urgent job waits for its share"),
    pytest.param(dict(share=False), [3, 1, 4, 0, 2], id="without shares only priority counts"),
])
def test_urgent_jobs_ignore_shares(settings, expected):
    plan = scenario({"HERE": dict(cores=64)}, shares=THREE_SHARES)
    said = (dict(share=0), dict(share=0, priority=900), dict(share=2, priority=1) | URGENT, dict(share=1, priority=950),
            dict(share=1, priority=600) | URGENT)
    bench = Bench(plan, *said)
    bench.fabric.dispatch_by(**dict(share=True, priority=True, sloppy_fraction=0.0) | settings)
    bench.fabric.serve_shares(np.arange(3), np.arange(3))
    for task in range(len(said)):
        bench.submit(task=task)
    assert served(bench) == expected
    bench.check()


def test_the_first_job_of_all_may_be_urgent():
    bench = Bench(scenario({"HERE": dict(cores=64)}, shares=THREE_SHARES), dict(share=2) | URGENT, dict(share=0))
    bench.fabric.dispatch_by(share=True, priority=True, sloppy_fraction=0.0, urgent_first=True)
    bench.fabric.serve_shares(np.arange(3), np.arange(3))
    for task in range(2):
        bench.submit(task=task)
    assert served(bench) == [0, 1]


def test_a_sloppy_request_gets_the_oldest_job_whatever_rows_they_have():
    bench = bench_of(("A", 1), ("B", 1), sloppy_fraction=1.0)
    first = bench.live()[0]
    bench.take_back(first)
    bench.submit(task=0)
    assert bench.arrays.jobs["task"][first] == 0                        # in the same row, but younger
    assert served(bench) == [1, 0]


def test_a_pilot_takes_only_jobs_of_its_own_queue():
    bench = bench_of(("A", 1, 1), ("A", 1, 0))
    assert served(bench, queue=0) == [1]
    assert served(bench, queue=1) == [0]


def test_a_pilot_takes_only_jobs_of_its_resource_type():
    types = dict(SCORE=dict(mincore=1, maxcore=1), MCORE=dict(mincore=2))
    queues = {"U": dict(atlas_site="HERE", capability="ucore", corecount=8)}
    bench = Bench(scenario({"HERE": dict(cores=64)}, queues, resource_types=types), dict(), dict(corecount=8))
    bench.submit(task=0, queue=0)
    bench.submit(task=1, queue=1)
    assert served(bench, queue=1) == [1]
    assert bench.arrays.jobs["resource_type"][bench.live()].tolist() == [0, 1]
    assert served(bench, queue=0) == [0]


def test_sloppy_requests_go_by_age_as_often_as_is_said():
    n_jobs = 2000
    plan = scenario({"HERE": dict(cores=n_jobs)}, shares=THREE_SHARES)
    bench = Bench(plan, dict(n_jobs=n_jobs, share=1), dict(n_jobs=n_jobs, share=0))
    bench.fabric.dispatch_by(share=True, priority=True, sloppy_fraction=0.11)
    bench.fabric.serve_shares(np.arange(3), np.arange(3))
    bench.submit(n_jobs, task=0)                           # older, of the share that is served last
    bench.submit(n_jobs, task=1)
    for _ in range(n_jobs):
        bench.workers(1)
        bench.run(bench.now + 0.01)
    rows = bench.live()
    sloppy = np.mean(bench.arrays.jobs["share"][rows[bench.arrays.jobs["status"][rows] == S.RUNNING]] == 1)
    # a mean of 2000 draws; outside four standard errors once in 16 000 seeds
    assert abs(sloppy - 0.11) < 4 * np.sqrt(0.11 * 0.89 / n_jobs)


def test_jobs_of_tasks_are_the_same_from_a_search_and_among_known_rows():
    bench = bench_of(("A", 1), ("A", 2), ("A", 3))
    bench.workers(1)
    bench.run(1.0)                                              # the job of the last task runs
    known = jobs_of(bench.arrays, [0, 1, 2])
    assert len(known) == 3
    for statuses, n_found in (((), 2), ((S.ACTIVATED,), 1), ((S.RUNNING,), 1)):
        searched, among = (jobs_of(bench.arrays, [1, 2], *statuses, among=rows) for rows in (None, known))
        assert searched.tolist() == among.tolist() and len(searched) == n_found
    found = [rows.tolist() for rows in jobs_of_each(bench.arrays, np.array([2, 0]))]
    assert found == [jobs_of(bench.arrays, [row]).tolist() for row in (2, 0)]


def test_a_new_priority_changes_the_place_in_line():
    bench = bench_of(("A", 1), ("A", 2), ("A", 3))
    bench.fabric.set_priority([0], 9)
    assert bench.arrays.tasks["priority"].tolist() == [9, 2, 3]
    assert served(bench) == [0, 2, 1]
    bench.check()
