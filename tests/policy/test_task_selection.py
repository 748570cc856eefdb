"""Which tasks a cycle of job generation takes: by priority, or in turn of groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from policy_builders import cfg

from simgrid_broker.policy.tasks.selection import Selection, by_priority, generates, in_turn, most_jobs, selection

pytestmark = pytest.mark.rule("selection", "by_priority", "selection.in_turn", "most_jobs", "files_to_read",
                               "generates")

MIDDLE = np.full((3, 40), 0.5)


def order(priority, group, ratio=30.0, uniforms=MIDDLE):
    return in_turn(np.array(priority), np.array(group), ratio, lambda kind, of: uniforms[kind, of]).tolist()


def test_the_highest_priority_comes_first_then_the_oldest_and_a_scouting_task_counts_one_more():
    rows, priority = np.array([7, 3, 5, 4]), np.array([900, 900, 901, -5], np.int32)
    assert rows[by_priority(rows, priority)].tolist() == [5, 3, 7, 4]
    assert rows[by_priority(rows, priority, scouting=rows == 7)].tolist() == [5, 7, 3, 4]
    assert rows[by_priority(rows, priority, np.array([1, 0, 1, 0]))].tolist() == [3, 4, 5, 7]       # by work queue


@pytest.mark.parametrize(("label", "edition", "attribute"), [
    pytest.param(True, "documented", "userName", id="L7: as documented users of analysis take turns"),
    pytest.param(True, "deployed", "", id="L7: the code goes by priority alone without GROUPBYATTR"),
    pytest.param(False, "documented", "", id="production goes by priority"),
    pytest.param(False, "deployed", "", id="in both editions"),
])
def test_without_a_key(label, edition, attribute):
    assert selection(cfg(), "Analysis", label, edition)[:4] == (attribute, 50, 5000, 30.0)


def test_keys_of_a_queue():
    config = cfg(jobgen={"GROUPBYATTR_MC": "workingGroup", "NTASKS_MC": 7, "NFILES_MC": 90},
                 dbproxy={"SUPER_HIGH_PRIO_TASK_RATIO": 0.0})
    assert selection(config, "MC", False, "deployed") == Selection("workingGroup", 7, 90, 0.0, True)
    assert selection(config, "Other", False, "deployed").n_tasks == 50


@pytest.mark.parametrize(("value", "found"), [(None, True), (True, True), (False, False)])
def test_job_submission(value, found):
    assert generates(cfg(jobgen={} if value is None else {"JOB_SUBMISSION": value})) is found


def test_groups_take_turns_whatever_their_number_of_tasks():
    assert order([900, 900, 900, 900, 500], [0, 0, 0, 0, 1]) in ([0, 4, 1, 2, 3], [4, 0, 1, 2, 3])


def test_within_a_group_the_base_order_stays():
    found = order([900, 800, 700, 600], [0, 1, 0, 1])
    assert found.index(0) < found.index(2) and found.index(1) < found.index(3)


def test_the_order_of_groups_is_luck():
    lots = MIDDLE.copy()
    lots[1] = np.linspace(0.9, 0.1, 40)
    assert order([500] * 3, [0, 1, 2], uniforms=lots) == [2, 1, 0]


def test_an_express_task_leaves_the_luck_of_groups_as_it_is():
    lots = MIDDLE.copy()
    lots[1, :3] = 0.1, 0.9, 0.5
    assert order([500, 500], [1, 2], uniforms=lots[:, 1:]) == [1, 0]
    assert order([1500, 500, 500], [0, 1, 2], 0.0, lots) == [2, 1, 0]


@pytest.mark.parametrize(("ratio", "found"), [
    pytest.param(0.0, [0, 1, 2, 3, 4], id="0 %: express tasks come last"),
    pytest.param(100.0, [3, 0, 4, 1, 2], id="100 %: one before each turn"),
])
def test_express_tasks(ratio, found):
    priority, group = [900, 900, 900, 1500, 1500], [0, 1, 2, 0, 1]
    lots = MIDDLE.copy()
    lots[0] = lots[1] = np.linspace(0.1, 0.9, 40)
    assert order(priority, group, ratio, lots) == found


@pytest.mark.parametrize(("draw", "found"), [
    pytest.param(0.298, [1, 0], id="below 30 %: before the turn"),
    pytest.param(0.3, [0, 1], id="at 30 %: after all turns"),
    pytest.param(0.302, [0, 1], id="above 30 %"),
])
def test_an_express_task_comes_before_a_turn_by_a_draw(draw, found):
    lots = MIDDLE.copy()
    lots[2] = draw
    assert order([900, 1500], [0, 0], 30.0, lots) == found


def test_express_begins_at_1500_and_goes_by_priority():
    assert order([1500, 1499, 1600], [0, 0, 0], 100.0) == [2, 1, 0]


def test_nobody():
    assert order([], []) == []


@given(st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 4)), max_size=40), st.floats(0, 100), st.integers(0, 9))
def test_every_task_is_served_once_and_no_group_two_turns_ahead(said, ratio, seed):
    said.sort(key=lambda one: -one[0])
    priority, group = [one[0] for one in said], [one[1] for one in said]
    lots = np.random.default_rng(seed).random((3, 40))
    found = order(priority, group, ratio, lots)
    assert sorted(found) == list(range(len(said)))
    served = {number: 0 for number in set(group)}
    total = {number: sum(g == number and p < 1500 for p, g in said) for number in served}
    for task in found:
        if priority[task] < 1500:
            served[group[task]] += 1
            waiting = [served[number] for number in served if served[number] < total[number]]
            assert not waiting or served[group[task]] <= min(waiting) + 1


@pytest.mark.parametrize(("left", "files", "edition", "n_files", "jobs"), [
    pytest.param(300, 1, "documented", 5000, 300, id="what the throttler leaves"),
    pytest.param(300, 10, "documented", 1000, 100, id="files of a task"),
    pytest.param(300, 2000, "documented", 1000, 1, id="one job at least"),
    pytest.param(300, 1, "deployed", 5000, 310, id="the code reads ten files more"),
    pytest.param(5, 1, "deployed", 5000, 100, id="and at least a hundred"),
    pytest.param(5, 0, "deployed", 50, 100, id="also above NFILES"),
    pytest.param(300, 10, "deployed", 1000, 100, id="NFILES in the code"),
    pytest.param(300, 500, "deployed", 5000, 10, id="jobs with many files"),
    pytest.param(300, 5000, "deployed", 5000, 1, id="as many as are read"),
    pytest.param(300, 6000, "deployed", 5000, 1, id="even more"),
])
def test_most_jobs_of_a_task(left, files, edition, n_files, jobs):
    assert most_jobs(left, files, n_files, edition == "deployed") == jobs
