"""`match`: output and errors."""

import json
from pathlib import Path

import pytest

SCENARIOS = Path(__file__).parents[2] / "scenarios"
SNAPSHOT, RESOURCE = SCENARIOS / "dirac_snapshot.yaml", SCENARIOS / "dirac_resource.json"


def test_matching_task_queues_jobs_and_failed_conditions_are_printed(call):
    result = call("match", SNAPSHOT, RESOURCE, "--draws", 1000)
    assert result.exit_code == 0, result.output
    text = result.stdout
    assert text.startswith("DIRAC matching, deployed edition; two groups and four sites: 423 jobs in 5 task queues")
    pieces = ("Request 1: CPUTime 400000", "task queue  jobs  priority  probability", "1            200     1,500",
              "1 to 50                   0.9 %         45 %", "BannedSites  344", "Request 2:", "Request 3:",
              "error       ", "OwnerGroup  1 ")
    places = [text.index(piece) for piece in pieces]
    assert places == sorted(places)
    assert max(map(len, text.splitlines())) <= 110


def test_of_many_task_queues_the_first_are_named(call, monkeypatch):
    whole = call("match", SNAPSHOT, RESOURCE).stdout
    monkeypatch.setattr("simgrid_broker.cli.match.MOST_NAMED", 2)
    few = call("match", SNAPSHOT, RESOURCE).stdout
    assert "and 2 more (--all names them)" in few and "(--all names them)" not in whole
    assert call("match", SNAPSHOT, RESOURCE, "--all").stdout == whole


def test_json(call):
    told = json.loads(call("match", SNAPSHOT, RESOURCE, "--json", "--edition", "documented").stdout)
    assert told["edition"] == "documented" and len(told["requests"]) == 3 and told["remarks"]
    assert [queue["name"] for queue in told["requests"][0]["task_queues"]] == [1, 201, 241, 344, 404]


def test_settings_refused_jobs_errors_and_remarks(call, tmp_path):
    asking = tmp_path / "resource.json"
    asking.write_text('{"Site": "LCG.CERN.cern", "OwnerDN": "x"}')
    result = call("match", SNAPSHOT, asking, "--set", "jobs[0].CPUTime=1.5", "--set", "jobs[0].count=1")
    assert result.exit_code == 0
    assert "1  CPUTime 1.5 is not a whole number" in result.stdout
    assert "error (type): CPUTime is missing" in result.stdout
    assert result.stderr == "note: OwnerDN of 1 request has no meaning in the deployed edition\n"


@pytest.mark.parametrize(("snapshot", "resource", "lines"), [
    pytest.param("jobs:\n  - {id: 1, Ownr: a}\ngrops: {}\n", '[\n {"Sit": "A"},\n {"BannedSits": "A"}]', [
        "snapshot.yaml:2: jobs[0].Ownr = 'a': unknown key; did you mean 'Owner' or 'OwnerDN'?",
        "snapshot.yaml:3: grops: unknown key; did you mean 'groups'?",
        "resource.json:2: requests[0].Sit = 'A': unknown key; did you mean 'Site'?",
        "resource.json:3: requests[1].BannedSits = 'A': unknown key; did you mean 'BannedSite'"], id="in both files"),
    pytest.param("jobs: []\n", "[]", ["resource.json: requests: at least one request is needed"], id="nothing asked"),
    pytest.param("jobs: []\n", '"x"', ["requests[0] = 'x': expected a mapping"], id="no mapping"),
    pytest.param("jobs: []\n", '{"Site"', ["resource.json:2: this is not YAML"], id="broken JSON"),
    pytest.param("jobs: []\n", None, ["cannot be read: No such file or directory"], id="no file")])
def test_every_problem_is_named_with_file_and_line(call, tmp_path, snapshot, resource, lines):
    (tmp_path / "snapshot.yaml").write_text(snapshot)
    if resource is not None:
        (tmp_path / "resource.json").write_text(resource)
    result = call("match", tmp_path / "snapshot.yaml", tmp_path / "resource.json")
    assert result.exit_code == 2 and result.stdout == ""
    found = result.stderr.replace(f"{tmp_path}/", "")
    assert f"{len(lines)} problem" in found
    assert all(line in found for line in lines), found
