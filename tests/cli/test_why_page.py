"""Outputs in docs/why.md and docs/operators.md are those of the program; `pytest tests/cli --update` rewrites them."""

import re
import shlex
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = {name: ROOT / "docs" / name for name in ("why.md", "operators.md")}
COMMAND = r"((?:{}) (?:.*\\\n)*.*)"
BLOCK = re.compile(rf"(?<=```text\n)\$ simgrid-broker {COMMAND.format('explain|why|gdpconfig|describe|sweep')}\n"
                   r"((?:.*\n)*?)(?=```)")
ASKED = re.compile(rf"\$ simgrid-broker {COMMAND.format('run')}")


def words(command):
    """Words of a command that may go over several lines."""
    return shlex.split(command.replace("\\\n", " "))


@pytest.fixture(scope="module")
def folder_of(call, tmp_path_factory):
    """The folder that holds the run of a page."""
    @cache
    def made(name):
        folder = tmp_path_factory.mktemp("page")
        (folder / "scenarios").symlink_to(ROOT / "scenarios")
        arguments = words(ASKED.search(PAGES[name].read_text(encoding="utf-8"))[1])
        arguments[1] = ROOT / arguments[1]
        result = call(*arguments, "--out", folder / "results", "--quiet")
        assert result.exit_code == 0, result.stderr
        return folder
    return made


@pytest.mark.parametrize("name", PAGES)
def test_the_page_shows_the_output_of_the_program(call, folder_of, name, monkeypatch, request):
    monkeypatch.chdir(folder_of(name))

    def output(block):
        result = call(*words(block[1]))
        assert result.exit_code == 0, result.stderr
        return f"$ simgrid-broker {block[1]}\n{result.stdout}"

    page = PAGES[name].read_text(encoding="utf-8")
    updated = BLOCK.sub(output, page)
    if request.config.getoption("--update"):
        PAGES[name].write_text(updated, encoding="utf-8")
    assert updated == PAGES[name].read_text(encoding="utf-8")


def test_the_sweep_of_the_page_is_the_line_that_why_prints():
    page = PAGES["operators.md"].read_text(encoding="utf-8")
    printed, pasted = (words(line) for line in re.findall(COMMAND.format("sweep"), page)[:3:2])
    assert pasted == [*printed, "--seeds", "2"]


def test_the_program_of_the_page_runs(folder_of, monkeypatch, capsys):
    import simgrid_broker
    monkeypatch.chdir(folder_of("why.md"))
    (program,) = re.findall(r"```python\n(.*?)```", PAGES["why.md"].read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(program, str(PAGES["why.md"]), "exec"), {"sb": simgrid_broker})
    assert "-cpucore" in capsys.readouterr().out
