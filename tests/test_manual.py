"""Pages of the manual are followed to the letter with the installed wheel: files written, commands run and compared.

A block of code after a paragraph that ends with a file name, as in "Write `study.yaml`:", is written to that file. A
block of `console` has commands after `$`, each followed by its output, or by the error of a command that fails; `…`
replaces lines, or a part of one. `pytest tests/test_manual.py --update` writes the output again; a line that shares no
word with the new output needs an editor. A block after `<!-- not followed: why -->` is skipped.
"""

import os
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from simgrid_broker.compiled.kept_code import cache_folder

ROOT = Path(__file__).parents[1]
PAGES = {f"{path.parent.name}/{path.stem}": path
         for part in ("start", "stories", "howto") for path in sorted((ROOT / "docs" / part).glob("*.md"))}
BLOCK = re.compile(r"(?P<before>[^\n]*)\n\n?```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
LEFT_OUT, NUMBER = "…", re.compile(r"[-−]?\d[\d,.]*|-{3,}| +")


class Step(NamedTuple):
    """A step of a page: a file to write, `text` under the name `words`, or a command with the output shown."""

    is_file: bool
    words: str
    text: str


def steps(page):
    """Steps of a page in their order."""
    for block in BLOCK.finditer(page):
        name = re.search(r"`([\w./-]+\.\w+)`:$", block["before"])
        if "<!-- not followed: " in block["before"]:
            continue
        if block["kind"] in ("console", "bash"):
            text = block["text"] if block["kind"] == "console" else re.sub(r"(?<!\\\n)^", "$ ", block["text"],
                                                                           flags=re.MULTILINE)
            yield from (Step(False, words, ended(shown)) for words, shown in COMMAND.findall(text))
        elif name:
            yield Step(True, name[1], block["text"])
        elif block["kind"] != "text":
            raise ValueError(f"a block of {block['kind']} without the name of its file:\n{block['text']}")


def ended(text):
    """A text without empty lines at its end."""
    return f"{text.rstrip()}\n" if text.strip() else ""


def printed(command, folder, programs):
    """Output of a command in a folder, with what it says where it fails, and its exit status."""
    ran = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, env={
        "PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(folder), "COLUMNS": "100", "LC_ALL": "C.UTF-8",
        "SIMGRID_BROKER_CACHE": str(cache_folder())})
    text = ran.stdout + (ran.stderr if ran.returncode else "")
    return ended("".join(f"{line.rstrip()}\n" for line in text.splitlines())), ran


def pattern(shown):
    """The pattern of an output from which lines or parts of lines may be left out."""
    lines = [r"(?:.*\n)*?" if line.strip() == LEFT_OUT else re.escape(line).replace(LEFT_OUT, ".*") + r"\n"
             for line in shown.splitlines()]
    return re.compile("".join(lines) or r"(?:.*\n)*")


def renewed(shown, output):
    """The lines of an output in place of those shown that have the same words; raises ValueError if one has none."""
    lines, found = iter(output.splitlines()), []
    for line in shown.splitlines():
        if line.strip() != LEFT_OUT and LEFT_OUT not in line:
            line = next((each for each in lines if NUMBER.sub("#", each) == NUMBER.sub("#", line)), None)
            if line is None:
                raise ValueError(f"no line for one of\n{shown}in\n{output}")
        found.append(line)
    return "".join(f"{line}\n" for line in found)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_followed(name, tmp_path, installed, request):
    page = PAGES[name].read_text(encoding="utf-8")
    assert BLOCK.search(page), "the page has no commands"
    for is_file, words, shown in steps(page):
        if is_file:
            (tmp_path / words).parent.mkdir(exist_ok=True)
            (tmp_path / words).write_text(shown, encoding="utf-8")
            continue
        output, ran = printed(words, tmp_path, installed)
        if request.config.getoption("--update") and not pattern(shown).fullmatch(output):
            page = page.replace(f"$ {words}\n{shown}", f"$ {words}\n{renewed(shown, output) if shown else output}")
            PAGES[name].write_text(page, encoding="utf-8")
            continue
        assert pattern(shown).fullmatch(output), f"$ {words}\n{output}\n{ran.stderr}"
        assert ran.returncode == 0 or ran.stderr.splitlines()[0] in shown, f"$ {words}\n{ran.stderr}"


@pytest.mark.parametrize(("shown", "output", "same"), [
    pytest.param("a\n…\nd\n", "a\nb\nc\nd\n", True, id="lines left out"),
    pytest.param("a … d\n", "a b c d\n", True, id="a part of a line"),
    pytest.param("a\nd\n", "a\nb\nd\n", False, id="a line that is not shown"),
    pytest.param("", "a\n", True, id="nothing shown"),
    pytest.param("1.5 h\n", "145 h\n", False, id="a point is a point"),
])
def test_what_is_left_out_is_marked(shown, output, same):
    assert bool(pattern(shown).fullmatch(output)) is same


def test_a_page_is_a_series_of_files_and_commands():
    page = ("Write `a.yaml`:\n\n```yaml\nx: 1\n```\n\n```console\n$ one \\\n  two\nout\n\n$ three\n```\n\n"
            "<!-- not followed: needs the network -->\n```bash\npip\n```\n\n```bash\nfour\n```\n")
    assert list(steps(page)) == [Step(True, "a.yaml", "x: 1\n"), Step(False, "one \\\n  two", "out\n"),
                                 Step(False, "three", ""), Step(False, "four", "")]


def test_an_output_is_renewed_line_by_line():
    assert renewed("a 10\n…\nb  2.5\n", "a 9\nx\nb  1,000\n") == "a 9\n…\nb  1,000\n"
    with pytest.raises(ValueError, match="no line"):
        renewed("c\n", "a\n")
