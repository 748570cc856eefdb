"""A world at its beginning: nothing runs, and what only the run may write is not yet written."""

import numpy as np
import pytest
from builders import Bench, scenario, two_sites

from simgrid_broker.errors import ScenarioError
from simgrid_broker.scenario import load_scenario


def test_a_new_world_is_sound_and_empty():
    bench = Bench(two_sites(here=dict(cores=100)), dict(n_jobs=5), dict(n_jobs=7))
    bench.check()
    assert bench.statuses() == [] and not bench.arrays.counts.any()
    assert not bench.world.state["n_events"]
    assert bench.arrays.pools["free_cores"].tolist() == [100, 8]


def test_what_only_the_run_may_write_begins_as_the_sheet_says():
    task = Bench(None, {}).arrays.tasks[0]
    written_by_the_run = ("next_chunk", "n_retry", "n_alive", "n_finished", "n_failed", "n_attempts", "failed_attempts",
                          "lost_walltime_s", "used_hs06s", "retry_class")
    assert [task[name] for name in written_by_the_run] == [0] * len(written_by_the_run)
    assert np.isnan(task["frozen_s"]) and task["nucleus"] == -1


def test_the_list_of_tasks_is_not_written_to():
    from builders import build, tasks
    listed = tasks({})
    world = build.build(scenario(), listed)
    world.arrays.tasks["priority"][0] = 1
    assert listed.rows["priority"][0] == 500


@pytest.mark.parametrize(("task", "refused"), [(2, False), (3, True)], ids=["the last task", "one that never comes"])
def test_an_incident_is_about_a_task_that_comes(task, refused):
    plan = scenario(incidents=[dict(at=5, what="task_priority", task=1, priority=1),
                               dict(at=5, what="task_priority", task=task, priority=1)])
    if not refused:
        Bench(plan, {}, {})
        return
    with pytest.raises(ScenarioError) as told:
        Bench(plan, {}, {})
    assert str(told.value.problems[0]) == (
        "incidents[1].task = 3: expected the name of a task, or the number of one that arrives within the run, 1 to 2")


def test_a_command_comes_after_its_task():
    plan = scenario(incidents=[dict(at=6, what="task_command", task=2, command="abort")])
    Bench(plan, {}, dict(arrival_s=6.0))
    with pytest.raises(ScenarioError, match=r"incidents\[0\].at = 6.0: must not be before the task arrives, at 7 s"):
        Bench(plan, {}, dict(arrival_s=7.0))


@pytest.mark.parametrize(("task", "expected"), [
    pytest.param(2, None, id="the last task"), pytest.param("task", None, id="a name"),
    pytest.param(3, "record.tasks[0] = 3: expected the name of a task, or the number of one that arrives within the run"
                 ", 1 to 2", id="one that never comes"),
    pytest.param("tsk", "record.tasks[0] = 'tsk': expected the name of a task, or the number of one that arrives within"
                 " the run, 1 to 2; did you mean 'task'?", id="a name that is nearly one"),
])
def test_records_are_asked_for_of_tasks_that_come(task, expected):
    plan = scenario(record=dict(tasks=[task]))
    if expected is None:
        Bench(plan, {}, {})
        return
    with pytest.raises(ScenarioError) as told:
        Bench(plan, {}, {})
    assert str(told.value.problems[0]) == expected


def test_a_task_that_never_arrives_is_reported_with_file_and_line(tmp_path):
    from pathlib import Path

    from simgrid_broker.engine import simulate
    file = tmp_path / "what_if.yaml"
    base = Path(__file__).parents[2] / "scenarios" / "minimal.yaml"
    file.write_text(base.read_text() + "\nincidents:\n  - {at: 1h, what: task_priority, task: 1000, priority: 7}\n")
    with pytest.raises(ScenarioError) as told:
        simulate(load_scenario(file), folder=tmp_path / "run")
    problem, = told.value.problems
    assert (problem.file, problem.line) == (str(file), len(file.read_text().splitlines()))
    assert not (tmp_path / "run").exists()
