"""`users`: users of a run with jobs, cores, waits, and what throttled their tasks."""

import json

import pytest


def test_users_of_a_run(call, finished):
    folder = next((finished[0] / "minimal").iterdir())
    listed = call("users", folder)
    assert listed.exit_code == 0 and listed.stdout.startswith("user ") and "Jain's index" in listed.stdout
    found = json.loads(call("users", folder, "--all", "--json").stdout)
    assert {"user", "tasks", "cores", "throttled_by"} <= set(found["users"][0]) and 0 < found["jain"] <= 1
    assert len(found["users"]) >= len(listed.stdout.splitlines()) - 5


@pytest.mark.parametrize("columns", [80, 110])
def test_the_list_fits_the_terminal(call, finished, columns):
    folder = next((finished[0] / "minimal").iterdir())
    assert max(map(len, call("users", folder, columns=columns).stdout.splitlines())) <= columns


def test_a_folder_without_a_run_is_refused(call, tmp_path):
    result = call("users", tmp_path)
    assert result.exit_code != 0 and str(tmp_path) in result.output and "Traceback" not in result.output
