"""Tasks: allowed moves, and the story of a task that tried a forbidden one."""

import pytest
from builders import Bench, T

from simgrid_broker.errors import ForbiddenMove
from simgrid_broker.world.task_transitions import TASK_MOVES, register, set_status


def test_a_task_goes_its_way_and_remembers_when():
    bench = Bench()
    register(bench.world, 0, 5.0)
    for now, status in enumerate((T.DEFINED, T.ASSIGNING, T.READY, T.RUNNING, T.PREPARED, T.DONE), start=6):
        set_status(bench.world, 0, status, float(now))
    times = bench.arrays.task_times[0]
    assert [times[status] for status in (T.REGISTERED, T.DEFINED, T.ASSIGNING, T.DONE)] == [5, 6, 7, 11]
    assert bench.arrays.tasks["modification_s"][0] == 11


def test_a_forbidden_move_tells_the_story_of_the_task():
    bench = Bench()
    register(bench.world, 0, 5.0)
    set_status(bench.world, 0, T.DEFINED, 60.0)
    with pytest.raises(ForbiddenMove) as told:
        set_status(bench.world, 0, T.DONE, 61.0)
    assert str(told.value).splitlines() == ["task 1 may not go from defined to done (at 61.000 s)",
                                            "           5.000 s  registered", "          60.000 s  defined"]
    assert bench.arrays.tasks["status"][0] == T.DEFINED


@pytest.mark.parametrize("status", [T.DONE, T.FINISHED, T.FAILED, T.BROKEN], ids=lambda status: status.word)
def test_nothing_follows_the_end(status):
    assert not any(old == status for old, _ in TASK_MOVES)


@pytest.mark.parametrize("status", [T.READY, T.RUNNING, T.PENDING], ids=lambda status: status.word)
def test_a_task_can_end_from_wherever_its_last_job_finds_it(status):
    assert (status, T.PREPARED) in TASK_MOVES
