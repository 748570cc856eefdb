"""The draw of a task queue in bins has the law of a number for each task queue."""

import numpy as np
import pytest

from simgrid_broker.fabric.task_queues import drawn_queue, enter_draw, leave_draw, set_priority
from simgrid_broker.systems.dirac.policy.matching import chances
from simgrid_broker.world.task_queues import N_BINS, Draw, draw_tables


def draw(priorities, accepts=None, classes=None, n_classes=1):
    """Task queues of these priorities, all of which match the one kind of request unless `accepts` says which."""
    made = Draw(**draw_tables(len(priorities), 1, n_classes))
    made.task_queues["priority"] = priorities
    made.task_queues["cpu_class"] = 0 if classes is None else classes
    made.accepts[0] = True if accepts is None else accepts
    for number in range(len(priorities)):
        enter_draw(made, number)
    return made


def counts(made, n_draws, first=0, last=1):
    """How often each task queue is drawn; the last number is that of draws without any."""
    drawn = [drawn_queue(made, 0, first, last, 1, k, 7) for k in range(n_draws)]
    return np.bincount(np.where(np.array(drawn) < 0, len(made.task_queues), drawn), minlength=len(made.task_queues) + 1)


@pytest.mark.rule("task_queues.drawn_queue", "task_queues.step")
@pytest.mark.parametrize("priorities", [
    pytest.param([1.0, 2.0], id="two in two bins"), pytest.param([1.1, 3.9, 2.5], id="three in a bin"),
    pytest.param([0.3, 1.0, 5.0, 900.0], id="bins far apart"), pytest.param([250, 250, 500, 1000.0], id="some equal"),
    pytest.param([1e-9, 1e-4, 0.002], id="below the first top"), pytest.param([1.0] * 10 + [10.0], id="one large")])
def test_the_smallest_number_wins(priorities):
    n = 4000
    found, expected = counts(draw(priorities), n)[:-1], n * chances(priorities)
    large = expected > 5
    assert ((found - expected)[large] ** 2 / expected[large]).sum() < 3 * large.sum() + 12
    assert found[~large].sum() <= 25


@pytest.mark.rule("task_queues.drawn_queue")
def test_only_task_queues_that_match_are_drawn_by_the_law_of_these():
    priorities, accepts = [5.0, 1.0, 40.0, 2.0, 3.0], [False, True, False, True, True]
    found, n = counts(draw(priorities, accepts), 4000), 4000
    expected = np.zeros(6)
    expected[[1, 3, 4]] = n * chances([1, 2, 3])
    assert np.abs(found - expected).max() < 120 and not found[[0, 2, 5]].any()
    assert counts(draw(priorities, [False] * 5), 10)[-1] == 10


@pytest.mark.rule("task_queues.drawn_queue")
def test_only_open_classes_take_part():
    made = draw([1.0, 1.0, 1.0], classes=[0, 1, 2], n_classes=3)
    assert counts(made, 300, 0, 2)[2] == 0 and counts(made, 50, 2, 3)[2] == 50 and counts(made, 20, 1, 1)[3] == 20


@pytest.mark.rule("task_queues.enter_draw", "task_queues.leave_draw", "task_queues.set_priority")
def test_task_queues_come_go_and_change():
    made = draw([1.0, 1.0, 1.0])
    leave_draw(made, 1)
    set_priority(made, 2, 1e9)
    set_priority(made, 1, 5.0)
    assert made.n_open[0] == 2 and counts(made, 100)[2] == 100
    assert made.task_queues["bin"].tolist()[1] == -1 and 0 <= made.task_queues["bin"][2] < N_BINS
    enter_draw(made, 1)
    assert made.n_open[0] == 3 and sorted(made.drawable[made.task_queues["bin"][[0]], 0]) == [0]
    places = [made.drawable[queue["bin"], queue["place"]] for queue in made.task_queues]
    assert places == [0, 1, 2]
