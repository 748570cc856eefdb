"""Which statuses of a task accept a command, and how tasks end."""

from math import isnan

import pytest

from simgrid_broker.names import TaskCommand as C
from simgrid_broker.names import TaskStatus as T
from simgrid_broker.policy.tasks.commands import (
    accepts,
    asks_for_history,
    limit_after_retry,
    median_or_nan,
    part_of,
)

EDITIONS = ("documented", "deployed")


@pytest.mark.rule("accepts")
@pytest.mark.parametrize(("command", "status", "documented", "deployed"), [
    pytest.param(C.RETRY, T.FINISHED, True, True, id="retry of a finished task"),
    pytest.param(C.RETRY, T.DONE, False, False, id="nothing is left of one that is done"),
    pytest.param(C.RETRY, T.ABORTED, False, True, id="L15 retry of an aborted task"),
    pytest.param(C.INCEXEC, T.ABORTED, True, True, id="L15 which incremental execution may revive"),
    pytest.param(C.ABORT, T.RUNNING, True, True, id="abort of a running task"),
    pytest.param(C.ABORT, T.ABORTED, False, False, id="abort of an aborted one"),
    pytest.param(C.ABORT, T.ABORTING, False, False, id="abort of one that is being aborted"),
    pytest.param(C.AVALANCHE, T.SCOUTING, True, True, id="avalanche of a scouting task"),
    pytest.param(C.AVALANCHE, T.RUNNING, False, False, id="avalanche of a running one"),
    pytest.param(C.RESUME, T.PAUSED, True, True, id="resume of a paused task"),
    pytest.param(C.RESUME, T.RUNNING, False, False, id="resume of a running one"),
])
def test_which_commands_a_task_accepts(command, status, documented, deployed):
    assert tuple(accepts(command, status, edition) for edition in EDITIONS) == (documented, deployed)


@pytest.mark.rule("limit_after_retry")
@pytest.mark.parametrize(("attempt", "limits", "expected"), [
    pytest.param(3, (0, 0), 0, id="no limit stays none"),
    pytest.param(3, (1,), 8, id="a limit of one attempt"),
    pytest.param(3, (9, 3), 8, id="five more than the least limit"),
    pytest.param(4, (2, 0), 9, id="five more than the attempts made, if they exceed the limit"),
    pytest.param(3, (250, 0), 255, id="as many as are counted"),
    pytest.param(3, (251, 0), 255, id="no more than are counted"),
])
def test_attempts_that_a_retry_allows(attempt, limits, expected):
    assert limit_after_retry(attempt, *limits) == expected


@pytest.mark.rule("asks_for_history")
@pytest.mark.parametrize(("names", "expected"), [
    pytest.param(["retry_task.MAX_JOB_FAILURE_RATE_user"], True, id="a limit of retries"),
    pytest.param(["MAX_JOB_FAILURE_RATE_user"], True, id="without its component"),
    pytest.param(["jobbroker.MIN_WEIGHT_user", "watchdog.MAX_JOB_FAILURE_RATE_TO_PAUSE_user"], True, id="one of two"),
    pytest.param(["jobbroker.MIN_WEIGHT_user"], False, id="another key"),
    pytest.param([], False, id="no key"),
])
def test_keys_that_look_at_the_past(names, expected):
    assert asks_for_history(names) is expected


@pytest.mark.rule("part_of", "median_or_nan")
def test_what_is_not_known_of_the_past_is_no_number():
    assert isnan(part_of(0, 0)) and isnan(median_or_nan([])) and isnan(median_or_nan(None))
    assert part_of(1, 4) == 0.25 and part_of(0.5, 0.5) == 1 and median_or_nan([10.0, 30.0, 80.0]) == 30
