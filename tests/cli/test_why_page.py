"""Outputs in docs/why.md are those of the program; `pytest tests/cli --update` rewrites them."""

import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "why.md"
COMMAND = r"((?:{}) (?:.*\\\n)*.*)"
BLOCK = re.compile(rf"(?<=```text\n)\$ simgrid-broker {COMMAND.format('explain|why')}\n"
                   r"((?:.*\n)*?)(?=```)")
ASKED = re.compile(rf"\$ simgrid-broker {COMMAND.format('run')}")


def words(command):
    """Words of a command that may go over several lines."""
    return shlex.split(command.replace("\\\n", " "))


@pytest.fixture(scope="module")
def folder(call, tmp_path_factory):
    """The folder that holds the run of the page."""
    folder = tmp_path_factory.mktemp("page")
    arguments = words(ASKED.search(PAGE.read_text(encoding="utf-8"))[1])
    arguments[1] = ROOT / arguments[1]
    result = call(*arguments, "--out", folder / "results", "--quiet")
    assert result.exit_code == 0, result.stderr
    return folder


def test_the_page_shows_the_output_of_the_program(call, folder, monkeypatch, request):
    monkeypatch.chdir(folder)

    def output(block):
        result = call(*words(block[1]))
        assert result.exit_code == 0, result.stderr
        return f"$ simgrid-broker {block[1]}\n{result.stdout}"

    page = PAGE.read_text(encoding="utf-8")
    updated = BLOCK.sub(output, page)
    if request.config.getoption("--update"):
        PAGE.write_text(updated, encoding="utf-8")
    assert updated == PAGE.read_text(encoding="utf-8")


def test_the_program_of_the_page_runs(folder, monkeypatch, capsys):
    import simgrid_broker
    monkeypatch.chdir(folder)
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(program, str(PAGE), "exec"), {"sb": simgrid_broker})
    assert "-cpucore" in capsys.readouterr().out
