"""What docs/why.md shows is what the program says; `pytest tests/cli --update` writes its outputs anew."""

import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "why.md"
BLOCK = re.compile(r"(?<=```text\n)\$ simgrid-broker (explain .*)\n((?:.*\n)*?)(?=```)")
ASKED = re.compile(r"\$ simgrid-broker (run .*)")


@pytest.fixture(scope="module")
def beside_the_run(call, tmp_path_factory):
    """A folder in which the run of the page is."""
    folder = tmp_path_factory.mktemp("why")
    arguments = shlex.split(ASKED.search(PAGE.read_text(encoding="utf-8"))[1])
    arguments[1] = ROOT / arguments[1]
    said = call(*arguments, "--out", folder / "results", "--quiet")
    assert said.exit_code == 0, said.stderr
    return folder


def test_the_page_shows_what_the_program_says(call, beside_the_run, monkeypatch, request):
    monkeypatch.chdir(beside_the_run)

    def told(block):
        said = call(*shlex.split(block[1]))
        assert said.exit_code == 0, said.stderr
        return f"$ simgrid-broker {block[1]}\n{said.stdout}"

    page = PAGE.read_text(encoding="utf-8")
    found = BLOCK.sub(told, page)
    if request.config.getoption("--update"):
        PAGE.write_text(found, encoding="utf-8")
    assert found == PAGE.read_text(encoding="utf-8")


def test_the_program_of_the_page_runs(beside_the_run, monkeypatch, capsys):
    import simgrid_broker
    monkeypatch.chdir(beside_the_run)
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(program, str(PAGE), "exec"), {"sb": simgrid_broker})
    assert "-cpucore" in capsys.readouterr().out
