"""Programs in the README and the pages beside it run, and their names, commands and tables are those of the project."""

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
from simgrid_broker.schema import RECORDED

ROOT = Path(__file__).parents[1]
README, COMMANDS, RESULTS, POLICIES, ARCHITECTURE = ((ROOT / f"{name}.md").read_text(encoding="utf-8") for name in (
    "README", "docs/commands", "docs/results", "docs/policies", "docs/architecture"))
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
"""Pages whose links are checked."""


def pieces(kind, text):
    """Pieces of a kind of code in a text."""
    return re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)


def section(title):
    """Text of one section of the README."""
    return README.split(f"\n## {title}\n")[1].split("\n## ")[0]


def rows(text):
    """Cells of the rows of the tables in a text, without headings."""
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines()
            if line.startswith("| `") or line.startswith("| [`")]


def code_in(text):
    """Pieces of code in a text."""
    return re.findall(r"`([^`\n]+)`", text)


NUMBER = r"-?\d[\d,]*(?:\.\d+)?"


def assert_alike(printed, shown, **tolerance):
    """Words are the same; figures are within a tolerance, as whatever changes the draws moves them."""
    assert re.sub(NUMBER, "#", printed).split() == re.sub(NUMBER, "#", shown).split(), printed
    for has, had in zip(*(re.findall(NUMBER, text) for text in (printed, shown)), strict=True):
        assert float(has.replace(",", "")) == pytest.approx(float(had.replace(",", "")), **tolerance), printed


@pytest.fixture
def beside_the_scenarios(tmp_path, monkeypatch):
    """An empty working directory with the scenarios of the project."""
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_study_is_short_and_prints_what_the_page_shows(beside_the_scenarios, capsys):
    study, (shown,) = pieces("python", README)[0], pieces("text", section("A study in a few lines"))
    assert len([line for line in study.splitlines() if line.strip()]) < 15
    exec(compile(study, "README.md", "exec"), {})
    assert_alike(capsys.readouterr().out, shown, rel=0.2, abs=1)
    assert (beside_the_scenarios / "results" / "base-and-changed" / "report.html").is_file()


def test_the_question_is_answered_as_the_page_shows(beside_the_scenarios):
    commands, _, shown = pieces("text", section("One question"))[0].partition("\n\n")
    run, why = (line.removeprefix("$ simgrid-broker ") for line in commands.splitlines())
    answer = CliRunner().invoke(app, [*shlex.split(run), "--quiet", "--no-report"])
    assert answer.exit_code == 0, answer.output
    assert_alike(CliRunner().invoke(app, shlex.split(why), env={"COLUMNS": "80"}).output, shown, rel=0.25)


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 150


def test_the_broker_example_runs(beside_the_scenarios, capsys):
    exec(compile(pieces("python", COMMANDS)[0], "commands.md", "exec"), {})
    result = capsys.readouterr().out
    assert "1 WEST/MCORE 5.171" in result and "'-zeroshare': 4" in result


def test_the_shown_commands_run(beside_the_scenarios):
    shown = re.findall(r"^\$ simgrid-broker (.*)$", COMMANDS, re.MULTILINE)
    assert shown
    for command in shown:
        answer = CliRunner().invoke(app, shlex.split(command))
        assert answer.exit_code == 0, f"{command}: {answer.output}"


def test_the_kinds_of_policies_are_those_of_the_package():
    assert code_in(POLICIES.split("The kinds are")[1])[:len(BUILT_IN)] == list(BUILT_IN)


def test_the_public_names_are_those_of_the_package():
    listed = code_in(COMMANDS.split("Public names:")[1])
    assert listed == simgrid_broker.__all__
    assert all(hasattr(simgrid_broker, name) for name in listed)


def test_an_unknown_public_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'sumulate'"):
        simgrid_broker.sumulate  # noqa: B018
    assert set(simgrid_broker.__all__) <= set(dir(simgrid_broker))


def test_every_command_of_the_table_exists_with_its_options():
    for command, meaning in rows(COMMANDS):
        words = command.strip("`").removeprefix("simgrid-broker ").split()
        path = [word for word in words if word.islower() and word.isalpha()]
        result = CliRunner().invoke(app, [*path, "--help"])
        assert result.exit_code == 0, command
        for option in re.findall(r"--[a-z]+", meaning):
            assert option in result.stdout, f"{command} has no {option}"


def test_commands_that_the_program_names_have_their_options():
    package = Path(simgrid_broker.__file__).parent
    named = {command for path in package.rglob("*.py")
             for command in re.findall(r"`simgrid-broker ([^`\n\"]+)", path.read_text(encoding="utf-8"))}
    assert len(named) > 5
    for command in sorted(named):
        result = CliRunner().invoke(app, [command.split()[0], "--help"])
        assert result.exit_code == 0, command
        assert set(re.findall(r"--[a-z]+", command)) <= set(re.findall(r"--[a-z]+", result.stdout)), command


def test_every_command_is_in_the_table():
    listed, result = COMMANDS, CliRunner().invoke(app, ["--help"]).stdout
    for name in re.findall(r"^  (\w+)  ", result.split("Commands:")[1], re.MULTILINE):
        assert f"`simgrid-broker {name}" in listed


def test_every_recorded_table_is_in_the_list_of_results():
    assert set(re.findall(r"`(\w+)\.parquet`", RESULTS)) == {*RECORDED, *tables_of(as_plugins(AGENTS))}


def test_the_packages_are_those_of_the_import_test():
    documented = {}
    for packages, _, *may in rows(ARCHITECTURE.split("| package |")[1]):
        for package in code_in(packages):
            documented[package] = set(code_in(may[0])) if may else set()
    assert documented.pop("cli") == set()
    assert documented == MAY_IMPORT


def test_links_have_targets():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_two_commands_are_executable():
    for name in section("Two commands").split("```bash\n")[1].split("```")[0].split():
        assert (ROOT / name).stat().st_mode & 0o100, f"{name} cannot be executed"
