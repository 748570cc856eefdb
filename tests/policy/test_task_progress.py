"""Progress of a task by the rows of its datasets: what the PostProcessor takes up, and what it makes of it."""

import pytest

from simgrid_broker.names import TaskStatus
from simgrid_broker.policy.tasks import ends
from simgrid_broker.policy.tasks.ends import Look
from simgrid_broker.views import DatasetRow
from simgrid_broker.views.tasks import usable_files

T = TaskStatus
READ = DatasetRow(n_files=4, to_be_used=4, used=4, finished=3, failed=1)
LEFT = READ._replace(failed=0)


@pytest.mark.rule("is_over", "awaits_jobs")
@pytest.mark.parametrize(("datasets", "over"), [
    pytest.param([READ, READ], True, id="all were processed or given up"),
    pytest.param([READ, LEFT], False, id="a master is left"),
    pytest.param([READ, LEFT._replace(type="trn_output")], False, id="output awaits its merge job"),
    pytest.param([READ, LEFT._replace(secondary=True)], True, id="secondaries do not count"),
    pytest.param([READ, LEFT._replace(type="output")], True, id="output does not count"),
    pytest.param([READ, LEFT._replace(status="removed")], True, id="it was removed"),
    pytest.param([READ._replace(used=0)], False, id="nothing was used"),
    pytest.param([DatasetRow(n_files=1, to_be_used=1, used=0, finished=1)], False, id="nor its only file"),
    pytest.param([READ._replace(used=0, to_be_used=0)], True, id="nothing may be used"),
    pytest.param([LEFT._replace(to_be_used=None)], True, id="it is not known what may be used"),
])
def test_nothing_is_left(datasets, over):
    assert ends.is_over(datasets) is over


def looked(**given):
    task = dict(status=T.SCOUTING, nothing_left=False, is_due=True, finished=2, of=4, is_measured=False,
                is_forced=False) | given
    return ends.look_of(*task.values())


@pytest.mark.rule("look_of")
@pytest.mark.parametrize(("given", "look"), [
    pytest.param({}, Look.EARLY, id="half of the scouts so far"),
    pytest.param(dict(of=5), Look.MEASURED, id="less than half"),
    pytest.param(dict(of=5, is_measured=True), Look.NONE, id="less than half, known already"),
    pytest.param(dict(of=5, finished=1), Look.MEASURED, id="one has finished"),
    pytest.param(dict(of=5, finished=0), Look.NONE, id="none has finished"),
    pytest.param(dict(is_due=False), Look.NONE, id="it was looked at"),
    pytest.param(dict(is_due=False, is_forced=True), Look.FORCED, id="avalanche was asked for"),
    pytest.param(dict(status=T.RUNNING), Look.MEASURED, id="a running task is only measured"),
    pytest.param(dict(status=T.READY), Look.NONE, id="one that waits for jobs is not"),
    pytest.param(dict(nothing_left=True), Look.OVER, id="all scouts have ended"),
    pytest.param(dict(nothing_left=True, status=T.THROTTLED), Look.OVER, id="nothing is left"),
    pytest.param(dict(nothing_left=True, status=T.PENDING), Look.NONE, id="a task on hold stays there"),
])
def test_what_is_taken_up(given, look):
    assert looked(**given) == look


@pytest.mark.rule("judged")
def test_scouts_are_judged():
    assert [ends.judged(*one) for one in ((True, False), (True, True), (False, True))] == [
        T.SCOUTED, T.EXHAUSTED, T.TOBROKEN]
    assert usable_files(dict(finished=3, ready=1, lost=9, staging=9, pending=9, missing=9)) == 4


@pytest.mark.rule("after_input", "prepared", "reopened")
@pytest.mark.parametrize(("status", "datasets", "step"), [
    pytest.param(T.RUNNING, [READ, DatasetRow("log")], (T.PREPARED, (READ._replace(status="finished"), DatasetRow(
        "log", status="prepared"))), id="prepared"),
    pytest.param(T.RUNNING, [READ._replace(finished=4)], (T.PREPARED, (READ._replace(finished=4, status="done"),)),
                 id="all was processed"),
    pytest.param(T.RUNNING, [READ._replace(finished=0, failed=4)], (T.PREPARED, (READ._replace(
        finished=0, failed=4, status="failed"),)), id="nothing was"),
    pytest.param(T.RUNNING, [LEFT._replace(secondary=True)], (T.PREPARED, (LEFT._replace(
        secondary=True, status="done"),)), id="a secondary is done whatever was read"),
    pytest.param(T.RUNNING, [LEFT], (None, (LEFT,)), id="files that may not be used yet"),
    pytest.param(T.RUNNING, [LEFT._replace(status="finished", n_files=9)], (T.PREPARED, (LEFT._replace(
        status="finished", n_files=9),)), id="but not of a dataset that is finished"),
    pytest.param(T.RUNNING, [READ._replace(state="mutable")], (T.DEFINED, (READ._replace(
        state="mutable", status="toupdate"),)), id="more may come"),
    pytest.param(T.RUNNING, [LEFT._replace(state="mutable")], (T.DEFINED, (LEFT._replace(
        state="mutable", status="toupdate"),)), id="more may come, and some may not be used yet"),
    pytest.param(T.RUNNING, [READ._replace(state="mutable", status="done")], (T.DEFINED, (READ._replace(
        state="mutable", status="toupdate"),)), id="more may come to one that is done"),
    pytest.param(T.PREPROCESSING, [READ._replace(finished=4)], (T.REGISTERED, (READ._replace(
        finished=4, status="done"),)), id="preprocessed"),
    pytest.param(T.RUNNING, [READ._replace(state="mutable", status="done"), DatasetRow("log")], (T.DEFINED, (
        READ._replace(state="mutable", status="toupdate"), DatasetRow("log"))), id="output stays as it is then"),
    pytest.param(T.RUNNING, [READ, LEFT._replace(secondary=True, state="mutable")], (T.PREPARED, (
        READ._replace(status="finished"), LEFT._replace(secondary=True, state="mutable", status="done"))),
        id="a secondary that may grow"),
    pytest.param(T.RUNNING, [READ._replace(status="done"), READ._replace(type="tmpl_output")], (T.PREPARED, (
        READ._replace(status="done"), READ._replace(type="tmpl_output"))), id="neither ready nor read: left alone"),
    pytest.param(T.PREPROCESSING, [READ._replace(finished=4), READ], (T.REGISTERED, (READ._replace(
        finished=4, status="done"), READ._replace(status="finished"))), id="one of two was preprocessed"),
    pytest.param(T.PREPROCESSING, [READ], (T.PREPARED, (READ._replace(status="finished"),)),
                 id="preprocessing failed"),
])
def test_what_becomes_of_a_task_of_which_nothing_is_left(status, datasets, step):
    after = ends.after_input(status, datasets)
    assert (after, ends.datasets_after_input(after, datasets)) == step
