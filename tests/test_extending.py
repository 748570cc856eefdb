"""The recipes of docs/extending.md work: each diff fits a copy of the package, each program prints what it should."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
MOST_FILES = 2
"""Maximum number of source files that a recipe edits by hand."""


def block(recipe, language):
    """The only block of a language in a recipe."""
    (text,) = re.findall(rf"```{language}\n(.*?)```", recipe, re.DOTALL)
    return text


@pytest.fixture
def copy(tmp_path):
    """Package and scenarios in an empty folder."""
    for name in ("simgrid_broker", "scenarios"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def applied(diff, folder):
    """Apply a diff in a folder outside any checkout."""
    return subprocess.run(["git", "apply", "-"], cwd=folder, input=diff, text=True, capture_output=True,
                          env=os.environ | {"GIT_CEILING_DIRECTORIES": str(folder.parent)})


def printed(program, folder):
    """What a program prints with the package of the folder, uncompiled."""
    return subprocess.run([sys.executable, "-c", program], cwd=folder, text=True, capture_output=True,
                          env=os.environ | {"PYTHONPATH": str(folder), "NUMBA_DISABLE_JIT": "1"})


def test_the_page_has_its_recipes():
    assert list(RECIPES) == ["A rule of the brokerage", "A key of gdpconfig", "An attribute of a queue",
                             "An attribute of a task", "An agent", "An agent with a table",
                             "A pilot mode", "A dispatcher", "A section of the report"]


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_edits_few_files(name):
    files = set(re.findall(r"^\+\+\+ b/(.+)$", block(RECIPES[name], "diff"), re.MULTILINE))
    assert 1 <= len(files) <= MOST_FILES, files


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_works(name, copy):
    said = applied(block(RECIPES[name], "diff"), copy)
    assert said.returncode == 0, said.stderr
    said = printed(block(RECIPES[name], "python"), copy)
    assert said.returncode == 0, said.stderr
    assert said.stdout == block(RECIPES[name], "text")


def test_a_recipe_that_no_longer_fits_is_noticed(copy):
    diff = block(RECIPES["A key of gdpconfig"], "diff")
    (copy / re.search(r"^\+\+\+ b/(.+)$", diff, re.MULTILINE)[1]).write_text("")
    assert applied(diff, copy).returncode != 0
