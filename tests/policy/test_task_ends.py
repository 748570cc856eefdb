"""Ends of tasks by their datasets, goal, parent and post-processor."""

import pytest

from simgrid_broker.names import TaskStatus
from simgrid_broker.policy.tasks import ends
from simgrid_broker.policy.tasks.ends import ANALYSIS, GENERAL, PRODUCTION, End, Ending
from simgrid_broker.views import DatasetRow

T = TaskStatus
DONE, PART, NONE = (DatasetRow(n_files=4, finished=finished) for finished in (4, 2, 0))


def ended(*datasets, processor=PRODUCTION, edition="deployed", **given):
    """Status, status before it, and reason."""
    return ends.end_of_task(Ending(given.pop("status", T.PREPARED), datasets, **given), processor, edition)


@pytest.mark.rule("end_of_task", "final_status", "status_of_input", "is_exhausted")
@pytest.mark.parametrize(("datasets", "given", "end"), [
    pytest.param([DONE, DONE], {}, End(T.DONE), id="all masters were processed"),
    pytest.param([DONE, NONE], {}, End(T.FINISHED), id="one of them was"),
    pytest.param([NONE, NONE], {}, End(T.FAILED, reason="nothing_succeeded"), id="none was"),
    pytest.param([DONE, NONE._replace(secondary=True)], {}, End(T.DONE), id="secondary input does not count"),
    pytest.param([DONE, NONE._replace(status="removed")], {}, End(T.DONE), id="removed datasets do not count"),
    pytest.param([], {}, End(T.DONE), id="no input"),
    pytest.param([DONE], dict(parent=T.DONE), End(T.DONE), id="the parent is done"),
    pytest.param([DONE._replace(state="mutable")], dict(parent=T.DONE), End(T.FINISHED), id="more input may come"),
    pytest.param([DONE._replace(state="mutable"), DONE], dict(parent=T.DONE), End(T.FINISHED), id="to one of two"),
    pytest.param([DONE._replace(state="mutable")], {}, End(T.DONE), id="more may come, but from no parent"),
    pytest.param([DONE], dict(parent=T.RUNNING), End(T.FINISHED), id="the parent is not done"),
    pytest.param([DONE], dict(parent=T.ABORTED), End(T.FAILED, reason="parent_failed"), id="the parent is gone"),
    pytest.param([PART], dict(parent=T.ABORTED), End(T.FINISHED), id="the parent matters to complete tasks alone"),
    pytest.param([DONE], dict(status=T.TOABORT), End(T.ABORTED), id="a task that is aborted"),
    pytest.param([DONE], dict(status=T.TOBROKEN), End(T.BROKEN), id="a broken task"),
    pytest.param([PART], dict(failGoalUnreached=True, goal=500), End(T.FINISHED), id="the goal is reached"),
    pytest.param([PART], dict(failGoalUnreached=True, goal=501), End(T.FAILED, reason="below_goal"),
                 id="the goal is missed"),
    pytest.param([PART], dict(failGoalUnreached=True), End(T.FAILED, reason="below_goal"), id="the goal is all"),
    pytest.param([DONE], dict(failGoalUnreached=True, parent=T.RUNNING), End(T.FINISHED), id="all is the goal reached"),
    pytest.param([PART], dict(useExhausted=True, goal=500), End(T.FINISHED), id="exhausted only below the goal"),
    pytest.param([PART], dict(useExhausted=True, failGoalUnreached=True, goal=501),
                 End(T.EXHAUSTED, reason="incomplete"), id="exhausted, not failed"),
    pytest.param([PART], dict(useExhausted=True, failGoalUnreached=True, goal=501, status=T.PASSED),
                 End(T.FAILED, reason="below_goal"), id="failed once it was told to finish"),
    pytest.param([DONE], dict(useExhausted=True, parent=T.RUNNING), End(T.EXHAUSTED, reason="parent_incomplete"),
                 id="without goal exhausted, though complete"),
    pytest.param([DONE], dict(duplicates=1), End(T.PAUSED, T.DONE, "duplication"), id="input was processed twice"),
    pytest.param([DONE], dict(duplicates=1, share="Test"), End(T.DONE), id="production of tests is not paused"),
    pytest.param([NONE], dict(duplicates=1), End(T.FAILED, reason="nothing_succeeded"), id="failed anyway"),
])
def test_production(datasets, given, end):
    assert ended(*datasets, **given) == end


@pytest.mark.rule("processor_of", "is_exhausted", "status_of_input")
def test_other_processors_and_the_documents():
    below = dict(useExhausted=True, goal=501, duplicates=1)
    assert [ended(PART, processor=one, **below).status for one in (ANALYSIS, GENERAL)] == [T.FINISHED] * 2
    assert [ended(processor=one) for one in (ANALYSIS, GENERAL)] == [End(T.DONE), End(T.FAILED, reason="no_input")]
    assert [ended(one, processor=GENERAL) for one in (NONE, DONE, DatasetRow(n_files=1, finished=1))] == [
        End(T.FAILED, reason="nothing_succeeded"), End(T.DONE), End(T.DONE)]
    whole = dict(useExhausted=True, parent=T.RUNNING)
    assert [ended(DONE, edition=edition, **whole).status for edition in ("documented", "deployed")] == [
        T.FINISHED, T.EXHAUSTED]
    labels = ("atlas", "managed"), ("atlas", "panda"), ("other", "managed")
    assert [ends.processor_of(*one, "deployed") for one in labels] == [PRODUCTION, ANALYSIS, GENERAL]
    assert [ends.processor_of(*one, "documented") for one in labels] == [PRODUCTION] * 3


@pytest.mark.rule("completeness")
def test_completeness_is_that_of_events_if_they_are_known():
    events = DatasetRow(n_files=4, finished=1, events=100, events_used=90)
    assert [ends.completeness(each) for each in ([], [PART, DONE], [events, DONE._replace(events=None)])] == [
        0, 750, 900]


@pytest.mark.rule("dataset_after")
@pytest.mark.parametrize(("status", "finished", "after"), [
    (T.DONE, 4, ("done", 4)), (T.FINISHED, 3, ("finished", 3)), (T.FINISHED, 1, ("finished", 1)),
    (T.FINISHED, 0, ("done", 0)), (T.FAILED, 3, ("failed", 3)), (T.EXHAUSTED, 3, ("ready", 4))])
def test_output_counts_the_files_that_are_there(status, finished, after):
    output = DatasetRow(type="log", n_files=4, finished=finished)
    found = ends.dataset_after(output, status)
    assert (found.status, found.n_files) == after
    read = ends.dataset_after(output._replace(type="input"), status)
    assert (read.status, read.n_files) == ("failed" if status is T.FAILED else "ready", 4)
    assert ends.dataset_after(output._replace(type="tmpl_output"), T.FINISHED).status == "done"
