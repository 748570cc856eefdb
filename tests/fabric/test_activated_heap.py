"""Activated jobs of a queue and share: the highest priority first, then the oldest, wherever others were taken out."""

import numpy as np
import pytest
from builders import Bench, S, put_job
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker.fabric.jobs.activated import put_activated, take_out
from simgrid_broker.world import invariants
from simgrid_broker.world.invariants import recount

STEPS = st.lists(st.one_of(st.tuples(st.just("put"), st.integers(-2, 2)), st.tuples(st.just("best"), st.just(0)),
                           st.tuples(st.just("out"), st.integers(0, 50))), max_size=80)


def standing(bench):
    """Priority and identifier of each job that stands in line, best first, taken out one after another."""
    found = []
    while bench.arrays.activated[0, 0] >= 0:
        row = bench.arrays.activated[0, 0]
        take_out(bench.arrays, row)
        job = bench.arrays.jobs[row]
        found.append((-int(job["priority"]), int(job["panda_id"])))
    return found


@given(STEPS)
def test_the_order_is_that_of_a_sorted_list(steps):
    bench = Bench()
    rows = {}
    for what, number in steps:
        line = sorted(rows)
        if what == "put":
            row = put_job(bench, S.ACTIVATED, priority=number)
            put_activated(bench.arrays, row)
            rows[-number, int(bench.arrays.jobs["panda_id"][row])] = row
        elif line and what == "best":
            assert bench.arrays.activated[0, 0] == rows[line[0]]
            take_out(bench.arrays, rows.pop(line[0]))
        elif line:
            take_out(bench.arrays, rows.pop(line[number % len(line)]))
    chosen = np.zeros(len(bench.arrays.jobs), bool)
    chosen[list(rows.values())] = True
    bench.arrays.jobs["status"][~chosen] = S.HOLDING        # those that were taken out wait no longer
    assert not list(invariants.activated_jobs_can_be_found(bench.arrays, recount(bench.arrays)))
    assert standing(bench) == sorted(rows)


@pytest.mark.parametrize("which", range(6), ids=["the best", "the second", "the third", "the fourth", "the fifth",
                                                 "the last"])
def test_any_job_can_be_taken_out_of_a_deep_heap(which):
    bench = Bench()
    rows = [put_job(bench, S.ACTIVATED, priority=priority) for priority in (5, 4, 3, 2, 1, 0)]
    for row in reversed(rows):
        put_activated(bench.arrays, row)
    first = put_job(bench, S.ACTIVATED, priority=9)
    put_activated(bench.arrays, first)
    take_out(bench.arrays, first)                           # the heap is now a tree and no longer a list
    take_out(bench.arrays, rows[which])
    assert standing(bench) == [(-(5 - k), k + 1) for k in range(6) if k != which]


def test_with_age_alone_priority_does_not_count():
    bench = Bench()
    bench.fabric.dispatch_by(share=True, priority=False, sloppy_fraction=0.0)
    for priority in (1, 9, 5):
        put_activated(bench.arrays, put_job(bench, S.ACTIVATED, priority=priority))
    assert [number for _, number in standing(bench)] == [1, 2, 3]
