"""The state machines: complete tables, no dead ends but the final statuses, and every status can be reached."""

import pytest

from simgrid_broker.names import JOB_ENDS, TASK_ENDS, JobStatus, TaskStatus
from simgrid_broker.world.states import JOB, MACHINES, TASK

BEGINNINGS = {"task": {"registered"}, "job": {"pending", "waiting"}}
"""Statuses in which things begin, by the title of their machine."""

every_machine = pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.title)


@every_machine
def test_moves_lead_only_between_statuses_that_have_a_meaning(machine):
    assert {status for pair in machine.pairs for status in pair} <= set(machine.meaning)


@every_machine
def test_every_status_can_be_reached(machine):
    reached = {status for status in machine.meaning if status.word in BEGINNINGS[machine.title]}
    assert {status.word for status in reached} == BEGINNINGS[machine.title]
    while more := {new for old, new in machine.pairs if old in reached} - reached:
        reached |= more
    assert reached == set(machine.meaning)


@every_machine
def test_no_move_leads_to_where_it_began(machine):
    assert not any(old == new for old, new in machine.pairs)
    assert all(status not in machine.next(status) for status in machine.meaning)


@every_machine
def test_every_move_says_who_and_when_and_where_it_is_written(machine):
    assert all(move.by and move.when and move.source for move in machine.moves)


@pytest.mark.parametrize(("machine", "statuses"), [
    pytest.param(TASK, TaskStatus, id="task"), pytest.param(JOB, JobStatus, id="job"),
])
def test_every_word_has_a_meaning(machine, statuses):
    assert set(machine.meaning) == set(statuses)


@pytest.mark.parametrize("status", JOB_ENDS, ids=lambda status: status.word)
def test_a_job_never_leaves_its_end(status):
    assert JOB.next(status) == ()


@pytest.mark.parametrize("status", [status for status in TaskStatus if status not in TASK_ENDS],
                         ids=lambda status: status.word)
def test_a_task_that_is_not_over_can_be_aborted_and_finished(status):
    assert status is TaskStatus.ABORTING or TaskStatus.ABORTING in TASK.next(status)
    assert status is TaskStatus.FINISHING or TaskStatus.FINISHING in TASK.next(status)
