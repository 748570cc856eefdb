"""The programs in the README run, and its names, commands, files and tables are those of the project."""

import re
import shlex
from pathlib import Path

import pytest
from test_house import MAY_IMPORT
from typer.testing import CliRunner

import simgrid_broker
from simgrid_broker.agents import AGENTS
from simgrid_broker.agents.own import as_plugins, tables_of
from simgrid_broker.cli.app import app
from simgrid_broker.policy.registry import BUILT_IN
from simgrid_broker.policy.tasks.throttle import ThrottleLimits
from simgrid_broker.schema import RECORDED
from simgrid_broker.views import WorkQueueCounts

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
OUTPUTS = re.findall(r"```text\n(.*?)```", README, re.DOTALL)


def section(title):
    """Text of one section."""
    return README.split(f"\n## {title}\n")[1].split("\n## ")[0]


def rows(text):
    """Cells of the rows of the tables in a text, without headings."""
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines()
            if line.startswith("| `") or line.startswith("| [`")]


def code_in(text):
    """Pieces of code in a text."""
    return re.findall(r"`([^`\n]+)`", text)


def is_number(word):
    """Whether a word that is printed is a number."""
    return re.fullmatch(r"-?\d+(\.\d+)?", word) is not None


@pytest.fixture
def beside_the_scenarios(tmp_path, monkeypatch):
    """An empty working directory with the scenarios of the project."""
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_study_is_short_and_prints_what_the_page_shows(beside_the_scenarios, capsys):
    """Words are the same; figures are within some points, as whatever changes the draws moves them."""
    study = PROGRAMS[0]
    assert len([line for line in study.splitlines() if line.strip()]) < 15
    exec(compile(study, "README.md", "exec"), {})
    printed, shown = capsys.readouterr().out.split(), OUTPUTS[0].split()
    assert [word for word in printed if not is_number(word)] == [word for word in shown if not is_number(word)]
    for has, had in zip(map(float, filter(is_number, printed)), map(float, filter(is_number, shown)), strict=True):
        assert has == pytest.approx(had, rel=0.2, abs=1), OUTPUTS[0]
    assert (beside_the_scenarios / "results" / "base-and-changed" / "report.html").is_file()


def test_the_broker_example_runs(beside_the_scenarios, capsys):
    exec(compile(PROGRAMS[1], "README.md", "exec"), {})
    result = capsys.readouterr().out
    assert "1 WEST/MCORE 5.171" in result and "'-zeroshare': 4" in result


def test_the_shown_commands_run(beside_the_scenarios):
    shown = re.findall(r"^\$ simgrid-broker (.*)$", README, re.MULTILINE)
    assert shown
    for command in shown:
        answer = CliRunner().invoke(app, shlex.split(command))
        assert answer.exit_code == 0, f"{command}: {answer.output}"


def test_the_policy_example_works():
    names = {}
    exec(compile(PROGRAMS[2], "README.md", "exec"), names)
    gentle = names["gentle_throttle"](WorkQueueCounts(running=0, not_running=0, defined=0, waiting=0), ThrottleLimits())
    assert not gentle.skip and 0 < gentle.max_jobs < 250
    assert code_in(section("Own policies and agents").split("The kinds are")[1])[:len(BUILT_IN)] == list(BUILT_IN)


def test_the_public_names_are_those_of_the_package():
    listed = code_in(section("A study in a few lines").split("Public names:")[1])
    assert listed == simgrid_broker.__all__
    assert all(hasattr(simgrid_broker, name) for name in listed)


def test_an_unknown_public_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'sumulate'"):
        simgrid_broker.sumulate  # noqa: B018
    assert set(simgrid_broker.__all__) <= set(dir(simgrid_broker))


def test_every_command_of_the_table_exists_with_its_options():
    for command, meaning in rows(section("Commands")):
        words = command.strip("`").removeprefix("simgrid-broker ").split()
        path = [word for word in words if word.islower() and word.isalpha()]
        result = CliRunner().invoke(app, [*path, "--help"])
        assert result.exit_code == 0, command
        for option in re.findall(r"--[a-z]+", meaning):
            assert option in result.stdout, f"{command} has no {option}"


def test_every_command_is_in_the_table():
    listed, result = section("Commands"), CliRunner().invoke(app, ["--help"]).stdout
    for name in re.findall(r"^  (\w+)  ", result.split("Commands:")[1], re.MULTILINE):
        assert f"`simgrid-broker {name}" in listed


def test_every_scenario_is_in_the_gallery():
    there = {path.name for path in (ROOT / "scenarios").glob("*.yaml")}
    assert set(re.findall(r"\(scenarios/(\w+\.yaml)\)", README)) == there


def test_every_recorded_table_is_in_the_list_of_results():
    assert set(re.findall(r"`(\w+)\.parquet`", section("Results"))) == {*RECORDED, *tables_of(as_plugins(AGENTS))}


def test_the_packages_are_those_of_the_import_test():
    documented = {}
    for packages, _, *may in rows(section("Architecture").split("| package |")[1]):
        for package in code_in(packages):
            documented[package] = set(code_in(may[0])) if may else set()
    assert documented.pop("cli") == set()
    assert documented == MAY_IMPORT


def test_links_have_targets():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_two_commands_are_executable():
    for name in section("Two commands").split("```bash\n")[1].split("```")[0].split():
        assert (ROOT / name).stat().st_mode & 0o100, f"{name} cannot be executed"
