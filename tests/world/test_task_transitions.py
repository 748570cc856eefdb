"""Tasks: allowed moves, and the story of a task that tried a forbidden one."""

import numpy as np
import pytest
from builders import Bench, T

from simgrid_broker.errors import ForbiddenMove
from simgrid_broker.names import TASK_ENDS
from simgrid_broker.world.tasks.transitions import TASK_MOVES, register, set_status, set_statuses


def test_a_task_goes_its_way_and_remembers_when():
    bench = Bench()
    register(bench.world, 0, 5.0)
    for now, status in enumerate((T.DEFINED, T.ASSIGNING, T.READY, T.RUNNING, T.PREPARED, T.DONE), start=6):
        set_status(bench.world, 0, status, float(now))
    times = bench.arrays.task_times[0]
    assert [times[status] for status in (T.REGISTERED, T.DEFINED, T.ASSIGNING, T.DONE)] == [5, 6, 7, 11]
    assert bench.arrays.tasks["modification_s"][0] == 11


def test_the_dense_statuses_are_those_of_the_table():
    bench = Bench()
    register(bench.world, 0, 5.0)
    set_status(bench.world, 0, T.DEFINED, 6.0)
    with pytest.raises(ForbiddenMove):
        set_status(bench.world, 0, T.DONE, 7.0)
    bench.world.lengthen_tasks(3 * len(bench.arrays.tasks))
    register(bench.world, len(bench.arrays.tasks) - 1, 8.0)
    assert bench.world.statuses.tolist() == bench.arrays.tasks["status"].tolist()
    assert bench.world.statuses[0] == T.DEFINED


def test_a_forbidden_move_tells_the_story_of_the_task():
    bench = Bench()
    register(bench.world, 0, 5.0)
    set_status(bench.world, 0, T.DEFINED, 60.0)
    with pytest.raises(ForbiddenMove) as told:
        set_status(bench.world, 0, T.DONE, 61.0)
    assert str(told.value).splitlines() == ["task 1 may not go from defined to done (at 61.000 s)",
                                            "           5.000 s  registered", "          60.000 s  defined"]
    assert bench.arrays.tasks["status"][0] == T.DEFINED


def some_tasks():
    """A world with five tasks: registered, two defined, throttled since 6 s, and one that is not moved."""
    bench = Bench()
    bench.world.lengthen_tasks(6)
    for row, way in enumerate(((), (T.DEFINED,), (T.DEFINED,), (T.DEFINED, T.READY, T.RUNNING, T.THROTTLED), ())):
        register(bench.world, row, 5.0)
        for status in way:
            set_status(bench.world, row, status, 6.0)
    return bench


def test_tasks_that_move_together_move_as_they_do_one_by_one():
    together, alone = some_tasks(), some_tasks()
    for status, rows in ((T.DEFINED, [0, 3]), (T.READY, [3, 1]), (T.PAUSED, [1, 2, 0]), (T.READY, [])):
        set_statuses(together.world, np.array(rows, np.int64), status, 60.0 + status)
        for row in rows:
            set_status(alone.world, row, status, 60.0 + status)
    assert together.arrays.tasks.tobytes() == alone.arrays.tasks.tobytes()
    assert together.arrays.task_times.tobytes() == alone.arrays.task_times.tobytes()
    assert together.world.statuses.tolist() == alone.world.statuses.tolist()
    assert together.world.status_changes == alone.world.status_changes
    assert together.arrays.tasks["throttled_total_s"][3] == 60 + T.DEFINED - 6


def test_no_task_moves_where_one_of_them_may_not():
    bench = some_tasks()
    with pytest.raises(ForbiddenMove, match="may not go from registered to assigning"):
        set_statuses(bench.world, np.array([1, 0, 2]), T.ASSIGNING, 60.0)
    assert bench.arrays.tasks["status"][:3].tolist() == [T.REGISTERED, T.DEFINED, T.DEFINED]


@pytest.mark.parametrize(("old", "new"), [pytest.param(old, new, id=f"{old.word} to {new.word}")
                                          for old, new in sorted(TASK_MOVES)])
def test_every_move_of_the_table_is_done(old, new):
    bench = Bench()
    register(bench.world, 0, 5.0)
    bench.arrays.tasks["status"][0] = old
    set_status(bench.world, 0, new, 7.0)
    assert bench.arrays.tasks["status"][0] == new
    assert bench.arrays.task_times[0, new] == 7.0


@pytest.mark.parametrize("old", list(T), ids=lambda status: status.word)
def test_no_other_move_is_possible(old):
    bench = Bench()
    for new in T:
        if (old, new) not in TASK_MOVES:
            bench.arrays.tasks["status"][0] = old
            with pytest.raises(ForbiddenMove, match=f"may not go from {old.word} to {new.word} "):
                set_status(bench.world, 0, new, 7.0)
            assert bench.arrays.tasks["status"][0] == old


@pytest.mark.parametrize("status", TASK_ENDS, ids=lambda status: status.word)
def test_only_commands_bring_a_task_back_from_its_end(status):
    assert {new for old, new in TASK_MOVES if old == status} <= {T.TORETRY, T.TOINCEXEC}


@pytest.mark.parametrize("status", [T.READY, T.RUNNING, T.THROTTLED], ids=lambda status: status.word)
def test_a_task_can_end_from_wherever_its_last_job_finds_it(status):
    assert (status, T.PREPARED) in TASK_MOVES
