"""The only writer of statuses and counts: allowed moves, forbidden moves with the job's story, counts that follow."""

import numpy as np
import pytest
from builders import Bench, S, put_job, scenario
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker.errors import ForbiddenMove
from simgrid_broker.world import invariants
from simgrid_broker.world.jobs.transitions import allowed_moves, enter, leave, move, raise_fault, story
from simgrid_broker.world.recount import recount

ENDED = (S.FINISHED, S.FAILED, S.CLOSED, S.CANCELLED)
LIVE = [status for status in S if status not in ENDED]
ALLOWED = allowed_moves()

SHARES = [dict(name="A", value=1), dict(name="B", value=1)]


def a_path():
    """Rows of statuses that a job may go through one after another, from pending on."""
    @st.composite
    def walk(draw):
        path = [S.PENDING]
        while path[-1] not in ENDED and draw(st.integers(0, 9)):
            path.append(draw(st.sampled_from([S(new) for new in np.flatnonzero(ALLOWED[path[-1]])])))
        return path
    return walk()


@given(st.lists(st.tuples(a_path(), st.integers(0, 1), st.integers(1, 8)), max_size=12))
def test_counts_equal_a_recount_whatever_the_moves(jobs):
    bench = Bench(scenario(shares=SHARES), dict(user="adam"), dict(user="eve"))
    for path, one_or_other, cores in jobs:
        row = put_job(bench, path[0], corecount=cores, hs06_milli=1000 * cores, user=one_or_other,
                      share=1 - one_or_other)
        for status in path[1:]:
            assert move(bench.arrays, row, int(status), 1.0)
    arrays = bench.arrays
    assert not list(invariants.counts_equal_recount(arrays, recount(arrays)))
    assert not list(invariants.usage_equals_recount(arrays, recount(arrays)))
    raise_fault(arrays)


@given(st.sampled_from(LIVE), st.sampled_from(list(S)))
def test_a_move_is_done_or_changes_nothing(old, new):
    bench = Bench()
    row = put_job(bench, old, corecount=4)
    before = bench.arrays.counts.copy(), bench.arrays.running_cores.copy(), bench.arrays.user_counts.copy()
    if ALLOWED[old, new]:
        assert move(bench.arrays, row, int(new), 5.0)
        assert bench.arrays.jobs["status"][row] == new
        assert bench.arrays.jobs["modification_s"][row] == bench.arrays.job_times[row, new] == 5.0
        raise_fault(bench.arrays)
    else:
        assert not move(bench.arrays, row, int(new), 5.0)
        assert bench.arrays.jobs["status"][row] == old
        assert np.isnan(bench.arrays.job_times[row, new]) or new == old
        after = bench.arrays.counts, bench.arrays.running_cores, bench.arrays.user_counts
        assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))
        with pytest.raises(ForbiddenMove, match=f"a job may not go from {old.word} to {new.word}"):
            raise_fault(bench.arrays)


@pytest.mark.parametrize("status", LIVE, ids=lambda status: status.word)
def test_every_live_job_can_be_closed_and_cancelled(status):
    assert ALLOWED[status, S.CLOSED] and ALLOWED[status, S.CANCELLED]


@pytest.mark.parametrize("status", ENDED, ids=lambda status: status.word)
def test_nothing_follows_the_end(status):
    assert not ALLOWED[status].any()


def test_a_forbidden_move_tells_the_story_of_the_job():
    bench = Bench()
    bench.submit()
    bench.workers()
    bench.run(100)
    assert not move(bench.arrays, bench.live()[0], int(S.ACTIVATED), 100.0)
    with pytest.raises(ForbiddenMove) as told:
        raise_fault(bench.arrays)
    assert str(told.value).splitlines() == [
        "a job may not go from holding to activated (at 100.000 s)",
        "job 1 of task 1, chunk 0, attempt 1",
        "           0.000 s  pending", "           0.000 s  defined", "           0.000 s  activated",
        "           0.000 s  sent", "           0.000 s  running", "         100.000 s  holding"]


def test_a_history_is_in_order_of_time():
    bench = Bench()
    row = put_job(bench, S.ACTIVATED)
    for status, now in ((S.THROTTLED, 5.0), (S.ACTIVATED, 7.0), (S.SENT, 9.0)):
        move(bench.arrays, row, int(status), now)
    told = [line.split()[-1] for line in story(bench.arrays, row).splitlines()[1:]]
    assert told == ["throttled", "activated", "sent"]


@pytest.mark.parametrize(("path", "hs06_milli", "cores"), [
    pytest.param([S.ACTIVATED], 0, 0, id="a waiting job uses nothing"),
    pytest.param([S.ACTIVATED, S.SENT], 40_000, 0, id="a sent job uses its share's power"),
    pytest.param([S.ACTIVATED, S.SENT, S.STARTING], 0, 0, id="a starting job uses nothing"),
    pytest.param([S.ACTIVATED, S.SENT, S.RUNNING], 40_000, 4, id="a running job uses power and cores"),
    pytest.param([S.ACTIVATED, S.SENT, S.RUNNING, S.HOLDING], 0, 0, id="a job that has run uses nothing"),
])
def test_power_and_cores_follow_the_status(path, hs06_milli, cores):
    bench = Bench()
    row = put_job(bench, path[0], corecount=4, hs06_milli=40_000)
    for status in path[1:]:
        move(bench.arrays, row, int(status), 1.0)
    assert bench.arrays.hs06_milli.tolist() == [hs06_milli]
    assert bench.arrays.running_cores.sum() == cores


def test_a_job_enters_and_leaves_the_counts():
    bench = Bench()
    row = put_job(bench, S.ACTIVATED)
    assert bench.arrays.counts[0, 0, 0, S.ACTIVATED] == bench.arrays.user_counts[0, S.ACTIVATED] == 1
    leave(bench.arrays, row)
    assert not bench.arrays.counts.any() and not bench.arrays.user_counts.any()
    enter(bench.arrays, row, int(S.PENDING), 3.0)
    assert bench.arrays.counts[0, 0, 0, S.PENDING] == 1 and bench.arrays.job_times[row, S.PENDING] == 3.0
