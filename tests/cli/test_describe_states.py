"""`describe states`."""

import re

import pytest

from simgrid_broker.world.states import MACHINES


def test_all_machines_are_described(call):
    result = call("describe", "states")
    assert result.exit_code == 0
    for machine in MACHINES:
        assert f"Statuses of a {machine.title}, " in result.stdout


@pytest.mark.parametrize(("part", "titles"), [
    pytest.param("task", {"task"}, id="tasks alone"),
    pytest.param("job", {"job"}, id="jobs alone"),
])
def test_one_part_can_be_selected(call, part, titles):
    assert set(re.findall(r"Statuses of a ([\w ]+), their", call("describe", "states", part).stdout)) == titles


@pytest.mark.parametrize(("words", "reason"), [
    pytest.param(("states", "taks"), "did you mean 'task'?", id="a misspelt part"),
    pytest.param(("rules", "task"), "this topic has no parts", id="a topic without parts"),
])
def test_an_unknown_part_is_reported(call, words, reason):
    result = call("describe", *words)
    assert result.exit_code == 2 and reason in result.stderr


def test_final_statuses_are_marked(call):
    lines = call("describe", "states", "job").stdout.splitlines()
    assert [line.split()[0] for line in lines if "- (final)" in line] == ["finished", "failed", "closed", "cancelled"]
