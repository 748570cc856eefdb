"""`check`: the summary of a scenario, or all its problems."""

from pathlib import Path

import pytest

SCENARIOS = Path(__file__).parents[2] / "scenarios"
MINIMAL = SCENARIOS / "minimal.yaml"


def test_a_valid_scenario_is_summarised(call):
    result = call("check", MINIMAL)
    assert result.exit_code == 0 and result.stdout.startswith(f"ok: minimal ({MINIMAL})\n")
    for words in ("3 sites (1 nucleus), 3 PanDA queues, 320 cores, 3 storages", "2 leaves: Analysis 20 %",
                  "1 campaign and 1 group of users", "documented edition; seed 1", "12 h"):
        assert words in result.stdout
    assert "note:" not in result.stdout


def test_the_reach_of_each_stream_is_told_before_the_run(call, tmp_path):
    auto = tmp_path / "auto.yaml"
    auto.write_text(f"extends: {MINIMAL}\ngrid: {{queues: {{CENTRE: {{releases: [AUTO]}}, NORTH: {{releases: [AUTO]}}, "
                    "SOUTH: {releases: [AUTO]}}}\n")
    everything = "simulation, analysis: 3 queues with 320 of 320 cores"
    for file, settings, said in (
            (MINIMAL, [], everything), (auto, [], everything),          # documented: nothing is asked
            (auto, ["edition=deployed"], "analysis: 0 queues with 0 of 320 cores; taken by -cache (no tags of 3 queues "
                                         "with AUTO) 100 %"),
            (auto, ["edition=deployed", "grid.auto_as_any=true"], everything),
            (MINIMAL, ["edition=deployed", "workload.users.analysis.corecount=8",           # the least of its queues
                       "gdpconfig.USER_TASKS_MAX_CORE_COUNT=7"], "taken by -max_cpucore")):
        words = " ".join(call("check", file, *(word for each in settings for word in ("--set", each))).stdout.split())
        assert said in words and ("auto_as_any: 3 queue(s)" in words) == ("grid.auto_as_any=true" in settings)


@pytest.mark.parametrize(("settings", "remarked"), [
    ({}, ()), ({"nJumboJobs": 3}, ("nJumboJobs",)), ({"eventService": "true"}, ("eventService",)),
])
def test_event_service_that_makes_ordinary_jobs_is_noted(call, settings, remarked):
    given = [word for key, value in settings.items()
             for word in ("--set", f"workload.campaigns.simulation.{key}={value}")]
    words = " ".join(call("check", MINIMAL, *given).stdout.split())
    assert words.count("makes ordinary jobs") == len(remarked)
    assert all(f"note: {key} of 'simulation' makes ordinary jobs" in words for key in remarked)


@pytest.mark.parametrize("name", ["quickstart.yaml", "gpu_campaign.yaml", "atlas_day.yaml", "atlas_week.yaml"])
def test_the_scenarios_of_the_project_are_valid(call, name):
    assert call("check", SCENARIOS / name).exit_code == 0


def test_suspicious_settings_are_noted(call):
    result = call("check", MINIMAL, "--set", "workload.campaigns=[]", "--set", "workload.users=[]")
    assert "note: There is no work" in result.stdout and "none: 0 tasks" in result.stdout


def test_all_problems_are_listed_with_line_and_nearest_name(call, tmp_path):
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(MINIMAL.read_text().replace("tier: 0", "tear: 0").replace("maxtime: 96h", "maxtime: soon"))
    result = call("check", wrong, "--set", "gdpconfig.NQUEUED_NUC=3")
    assert result.exit_code == 2 and result.stdout == ""
    for words in ("3 problems in the scenario", f"{wrong}:", "did you mean 'tier'?", "'soon'", "'NQUEUED_NUC_CAP'"):
        assert words in result.stderr


def test_a_trace_is_read_before_a_scenario_is_ok(call, tmp_path):
    (tmp_path / "cut.swf").write_text("1 0 -1 100 1\n2 5 -1 100\n")
    result = call("check", MINIMAL, "--workload", tmp_path / "cut.swf")
    assert result.exit_code == 2 and result.stdout == "" and "cut.swf:2" in result.stderr


def test_a_trace_that_is_submitted_too_fast_is_noted(call, tmp_path):
    (tmp_path / "fast.swf").write_text("".join(f"{k} {k} -1 100 1\n" for k in range(30)))
    each_a_task = "--workload", tmp_path / "fast.swf", "--set", "workload.trace.group_by=[record]"
    result = call("check", MINIMAL, *each_a_task, "--set", "gdpconfig.NTASKS_Analysis=1")
    assert "30 recorded jobs, of 30 tasks, of type SCORE" in " ".join(result.stdout.split())
    assert "JobGenerator" not in call("check", MINIMAL, *each_a_task).stdout


@pytest.mark.parametrize(("arguments", "words"), [
    pytest.param(["--set", "policies.throttle=job_throtler"], ["policies.throttle", "did you mean 'job_throttler'?"],
                 id="an unknown policy"),
    pytest.param(["--set", "duration"], ["command line", "write dotted.key=value"], id="a setting without a value"),
    pytest.param(["--workload", "nowhere.swf"], ["nowhere.swf", "No such file"],
                 id="a missing trace"),
])
def test_settings_of_the_command_line_are_checked(call, arguments, words):
    result = call("check", MINIMAL, *arguments)
    assert result.exit_code == 2 and all(each in result.stderr for each in words), result.stderr


def test_a_policy_in_a_file_is_reported_with_its_line(call, tmp_path):
    own = tmp_path / "own.yaml"
    own.write_text(f"extends: {MINIMAL}\npolicies:\n  dispatch_order: agge\n")
    assert f"{own}:3: policies.dispatch_order = 'agge'" in call("check", own).stderr


def test_an_architecture_is_reported_with_line_key_and_character(call, tmp_path):
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(MINIMAL.read_text().replace(
        "    - name: simulation\n", "    - name: simulation\n      architecture: '#&nvidia:vrm>=40960'\n"))
    line = next(number for number, text in enumerate(wrong.read_text().splitlines(), 1) if "vrm" in text)
    result = call("check", wrong)
    assert result.exit_code == 2 and f"{wrong}:{line}: workload.campaigns[0].architecture" in result.stderr
    assert "character 10, gpu_spec: unknown key 'vrm'; did you mean 'vram'?" in result.stderr


def test_an_architecture_is_checked_by_the_edition(call):
    arguments = "check", MINIMAL, "--set", "workload.campaigns.simulation.architecture=x86_64&nvidia"
    assert call(*arguments).exit_code == 0
    assert "taken as the CPU" in call(*arguments, "--set", "edition=deployed").stderr


def test_a_zero_share_is_reported_with_line_key_and_character(call, tmp_path):
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(MINIMAL.read_text().replace("maxtime: 96h", "maxtime: 96h, fairsharepolicy: 'type=evgn:0%'"))
    result = call("check", wrong)
    line = next(number for number, text in enumerate(wrong.read_text().splitlines(), 1) if "evgn" in text)
    assert result.exit_code == 2
    assert f"{wrong}:{line}: grid.queues.CENTRE.fairsharepolicy = 'type=evgn:0%'" in result.stderr
    assert "character 6: no type is 'evgn'; did you mean 'evgen'?" in result.stderr


def test_a_missing_file(call):
    result = call("check", SCENARIOS / "minimall.yaml")
    assert result.exit_code == 2 and "did you mean 'minimal.yaml'" in result.stderr
