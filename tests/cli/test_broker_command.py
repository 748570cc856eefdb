"""`broker`: output and errors."""

import json
import re
from pathlib import Path

import pytest

from simgrid_broker.cli.broker import shown

ROOT = Path(__file__).parents[2]
COLD = "--set", "warm_up=0"
"""Arguments of a run shorter than the warm-up of its scenario."""
EXAMPLE = ROOT / "scenarios" / "snapshot.yaml"


def test_the_funnel_precedes_used_and_refused_candidates(call):
    result = call("broker", EXAMPLE, "--task", "102")
    assert result.exit_code == 0, result.output
    text = result.stdout
    assert text.startswith("Job brokerage of task 102 (simulation with its nucleus in the west)")
    places = [text.index(piece) for piece in ("rule ", "-zeroshare", "order  candidate", "1      WEST/MCORE",
                                              "2      NORTH/MCORE", "refused by", 'sub-policy "type=simul:0%"',
                                                "3.6 GB needed, minrss 16.0 GB",
                                                "45 jobs activated and starting")]
    assert places == sorted(places)
    assert max(map(len, text.splitlines())) <= 110


@pytest.mark.parametrize(("most", "remark"), [
    pytest.param(5, "and 2 more", id="two more than are named"),
    pytest.param(6, "", id="one more takes no more room than the words"),
    pytest.param(7, "", id="as many as are named")])
def test_of_many_refused_candidates_the_first_are_named_and_the_rest_counted(call, monkeypatch, most, remark):
    asked = ("broker", EXAMPLE, "--task", 102, "--set", "tasks.102.ramcount=1000000")
    whole = call(*asked).stdout
    monkeypatch.setattr("simgrid_broker.cli.broker.MOST_NAMED", most)
    of_seven = " ".join(call(*asked).stdout.partition("-lowmemory  ")[2].partition("-lowmemory")[2].split())
    assert ("(--all names them)" in of_seven) == bool(remark) and remark in of_seven
    assert len(re.findall(r"\b(?:MCORE|MCORE_HIMEM|EAST)\b", of_seven)) == (most if remark else 7)
    assert "(--all names them)" not in whole and call(*asked, "--all").stdout == whole


def test_rules_that_share_a_tag_name_their_own_candidates_each(call):
    """Scratch disk and space of the storage are both `-disk`."""
    asked = ("broker", EXAMPLE, "--task", 102, "--set", "grid.queues.NORTH.maxwdir=1 GB", "--edition", "deployed")
    lines = call(*asked).stdout.splitlines()
    steps = [line.rsplit(maxsplit=2)[0].strip() for line in lines if line.startswith("-disk")][:2]
    assert steps == ["-disk (too little scratch)", "-disk (too little space)"]
    scratch, space = (line for line in lines if line.startswith("-disk") and line.endswith(("NORTH/MCORE", "EAST")))
    assert scratch.startswith(f"{steps[0]}  1,000 MiB free in scratch") and scratch.endswith("NORTH/MCORE")
    assert space.startswith(f"{steps[1]}    -3.6 TiB usable in its storage") and space.endswith("EAST")
    told = json.loads(call(*asked, "--json").stdout)
    found = {step["criterion"]: (step["tag"], step["refused"], step["label"]) for step in told["funnel"]}
    assert found["too_little_scratch_deployed"] == ("-disk", 1, steps[0])
    assert found["too_little_space_deployed"] == ("-disk", 1, steps[1])
    reasons = {each["name"]: each["reason"] for each in told["candidates"] if each["tag"] == "-disk"}
    assert reasons.keys() == {"NORTH/MCORE", "EAST"} and "free in scratch" in reasons["NORTH/MCORE"]


def test_a_nucleus_whose_queues_cannot_run_the_jobs_lists_their_refusals(call):
    asked = ("broker", EXAMPLE, "--task", 101, "--set", "grid.queues.WEST.status=brokeroff", "--json", "--edition")
    for edition in ("documented", "deployed"):
        _, west = json.loads(call(*asked, edition).stdout)["candidates"]
        assert (west["tag"], west["reason"]) == ("-job", "none of its 4 pseudo-queues can run the jobs: 4 -status")


@pytest.mark.parametrize(("number", "text"), [(None, ""), (0.123456, "0.1235"), (999, "999"), (1000, "1,000"),
                                              (-25840.4, "-25,840"), (1e9, "1e+09")])
def test_figures_are_written_out_from_a_thousand_on(number, text):
    assert shown(number) == text


def test_task_brokerage_has_no_caps(call):
    result = call("broker", EXAMPLE, "--task", 101)
    assert "1      CENTRE" in result.stdout and "queued" not in result.stdout


def test_no_candidate_is_left(call):
    result = call("broker", EXAMPLE, "--task", 102, "--set", "tasks.102.ramcount=1000000")
    assert result.exit_code == 0 and "No candidate is left." in result.stdout


@pytest.mark.parametrize(("edition", "said"), [
    pytest.param("documented", "note: gdpconfig key 'NW_ACTIVE' has no effect: only the deployed edition reads it.",
                 id="another edition reads it"),
    pytest.param("deployed", "", id="it is read")])
def test_keys_without_effect_are_remarked_beside_the_decision(call, edition, said):
    asked = ("broker", EXAMPLE, "--task", 102, "--edition", edition, "--set", "gdpconfig.NW_ACTIVE=true", "--json")
    result = call(*asked)
    assert result.exit_code == 0 and result.stderr.strip() == said
    assert json.loads(result.stdout)["task"]["jeditaskid"] == 102


def test_json_is_the_whole_decision(call):
    from simgrid_broker.dry_run import broker
    result = call("broker", EXAMPLE, "--task", 102, "--edition", "deployed", "--json")
    assert json.loads(result.stdout) == json.loads(json.dumps(broker(EXAMPLE, 102, "deployed").to_dict()))


@pytest.mark.parametrize(("arguments", "pieces"), [
    pytest.param([], ["say which: 101, 102"], id="no task named"),
    pytest.param(["--task", "103"], ["no task of the snapshot has this jeditaskid", "'101'"],
                 id="unknown task"),
    pytest.param(["--task", "102", "--set", "gdpconfig.DISK_THRESHOL=1"], ["command line", "'DISK_THRESHOLD"],
                 id="unknown key"),
    pytest.param(["--task", "102", "--set", "policies.job_brokerage=productoin"],
                 ["unknown policy", "did you mean 'production'"], id="unknown policy"),
    pytest.param(["--task", "102", "--set", "tasks.102.architecture=x#y&z&q&"], ["tasks.102.architecture"],
                 id="malformed architecture"),
])
def test_mistakes_are_reported_with_status_2(call, arguments, pieces):
    result = call("broker", EXAMPLE, *arguments)
    assert result.exit_code == 2 and result.stderr.startswith("simgrid-broker: ") and "Traceback" not in result.output
    assert all(piece in result.stderr for piece in pieces), result.stderr


def test_a_malformed_file_is_reported_with_its_line(call, tmp_path):
    path = tmp_path / "snapshot.yaml"
    path.write_text(EXAMPLE.read_text().replace("nucleus: WEST, hs06sec: 3e+9", "nucleus: WEST, hs06sec: -3"))
    result = call("broker", path, "--task", 102)
    assert result.exit_code == 2 and f"{path}:" in result.stderr and "work[1].hs06sec = -3" in result.stderr


def test_a_run_leaves_usable_snapshots(call, tmp_path):
    result = call("run", ROOT / "scenarios" / "minimal.yaml", "--until", "15min", *COLD,
                  "--snapshot-at", "5min", "--snapshot-at", "600", "--set", "agents.job_generator=12000",
                  "--quiet", "--no-report", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    folder = Path(result.stdout.split()[0])
    assert sorted(path.name for path in (folder / "snapshots").iterdir()) == ["t=300.yaml", "t=600.yaml"]
    answer = call("broker", folder / "snapshots" / "t=600.yaml")
    assert answer.exit_code == 2 and "say which" in answer.stderr
    task = answer.stderr.split("say which: ")[1].split(",")[0]
    assert call("broker", folder / "snapshots" / "t=600.yaml", "--task", task).exit_code == 0


@pytest.mark.parametrize(("arguments", "result"), [
    (["--snapshot-at", "soon"], "record.snapshots[0]"), (["--snapshot-at", "13h"], "must be before the end")])
def test_snapshots_that_cannot_be_taken(call, tmp_path, arguments, result):
    found = call("run", ROOT / "scenarios" / "minimal.yaml", *arguments, "--out", tmp_path)
    assert found.exit_code == 2 and result in found.stderr


def test_snapshots_after_the_end_of_a_run_are_reported(call):
    found = call("check", ROOT / "scenarios" / "minimal.yaml", "--set", "record.snapshots=[11h]", "--set",
                 "duration=3h")
    assert "1 snapshot(s) lie after the end of the run" in " ".join(found.stdout.split())


def test_the_reference_of_snapshots(call):
    result = call("describe", "snapshot")
    assert result.exit_code == 0
    for piece in ("n_jobs_to_broker", "queued_express", "tasks.<name>.input.<name> in a snapshot"):
        assert piece in result.stdout
