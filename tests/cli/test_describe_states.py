"""`describe states` and `describe timeouts`."""

import re

import pytest

from simgrid_broker.cli.describe import timeout_sections
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


@pytest.mark.parametrize(("edition", "rows"), [
    pytest.param("documented", ["30 min  status  waiting  except consumers of event service; queue not paused or "
                                "disableReassign  closed",
                                "2 h  last heartbeat or change  starting, running  workflow without a key; queue not "
                                "paused or disableReassign  failed (EC_Watcher)"], id="without kill codes"),
    pytest.param("deployed", ["4 h  creation  defined  only jobs not made by JEDI, build jobs  closed (kill code 2, "
                              "EC_Expire)",
                              "2 d  status  starting  managed; except jobs not made by JEDI, jobs of relocationFlag 2; "
                              "queue not disableReassign  closed (kill code 51, EC_Kill)",
                              "30 min  last heartbeat or change  defined table, active table  only merge jobs without "
                              "input  cancelled (kill code 52, EC_Kill); running: tobekilled"], id="in the code"),
])
def test_rules_of_timeouts_with_kill_codes_and_errors(edition, rows):
    section, = [section for section in timeout_sections() if section.key == edition]
    assert {*rows} <= {"  ".join(row) for row in section.rows}
