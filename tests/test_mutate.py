"""scripts/mutate.py in a package of two rules: a weak test lets mutations survive, a strong one catches all."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import marked_tests
import pytest
from equivalent_mutations import EQUIVALENT
from mutate import ROOT, mutations

RULES = '''\
"""Two rules."""

LIMIT = 5


def is_tall(height: float) -> bool:
    """Whether a person may ride."""
    return height > LIMIT and height is not None


def is_heavy(weight: float) -> bool:
    """Whether a person may not ride."""
    return weight >= 7
'''
TESTS = '''\
import pytest

from simgrid_broker.policy.rides import is_heavy, is_tall


@pytest.mark.rule("is_tall")
@pytest.mark.parametrize(("height", "tall"), [(5, False), (5.5, True), (6, True)])
def test_height(height, tall):
    assert is_tall(height) == tall


@pytest.mark.rule("rides.is_heavy")
def test_weight():
    assert is_heavy(9) and not is_heavy(3)
'''


@pytest.fixture
def checkout(tmp_path):
    """A checkout with a package of two rules; the test of the second knows no boundary."""
    policy = tmp_path / "simgrid_broker" / "policy"
    policy.mkdir(parents=True)
    (policy.parent / "__init__.py").write_text('"""A package."""\n')
    (policy / "__init__.py").write_text('"""Policies."""\n')
    (policy / "rides.py").write_text(RULES)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "fidelity.md").write_text("| a | `policy.rides.is_tall`, `policy.rides.is_heavy` |\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_rides.py").write_text(TESTS)
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def mutate(checkout: Path, *arguments: str) -> subprocess.CompletedProcess:
    """The script in a checkout."""
    return subprocess.run([sys.executable, checkout / "scripts" / "mutate.py", *arguments], capture_output=True,
                          text=True, cwd=checkout, env={**os.environ, "PYTHONPATH": str(checkout)})


def test_a_weak_test_lets_a_mutation_survive(checkout):
    said = mutate(checkout)
    rows = [line.split(" | ") for line in said.stdout.splitlines() if line.startswith("policy")]
    found = {(rule, result, change.split(": ", 1)[1]) for rule, change, result, _ in rows}
    assert said.returncode == 1, said.stderr
    assert {what for _, result, what in found if result == "survived"} == {
        "weight >= 7 -> weight > 7", "weight >= 7 -> weight >= 8"}
    assert ("policy.rides.is_tall", "caught", "height > LIMIT -> height >= LIMIT") in found
    assert ("policy.rides.is_tall", "caught", "height > LIMIT -> height > LIMIT + 1") in found
    assert "survived: policy.rides.is_heavy, line 13: weight >= 7 -> weight > 7" in said.stderr


def test_a_rule_whose_tests_are_strong(checkout):
    said = mutate(checkout, "--rule", "is_tall")
    assert said.returncode == 0, said.stdout
    assert "survived" not in said.stdout and "is_heavy" not in said.stdout


def test_tests_that_fail_without_a_mutation_are_no_tests(checkout):
    path = checkout / "tests" / "test_rides.py"
    path.write_text(path.read_text().replace("(5, False)", "(5, True)"))
    said = mutate(checkout, "--rule", "is_tall")
    assert said.returncode == 1 and "test_height" in said.stderr


@pytest.mark.parametrize(("arguments", "n"), [
    pytest.param([], 12, id="all"),
    pytest.param(["--most", "2"], 4, id="the strongest of each rule"),
    pytest.param(["--sample", "3", "--seed", "2"], 3, id="drawn at random"),
])
def test_a_list_runs_nothing(checkout, arguments, n):
    said = mutate(checkout, "--list", *arguments)
    assert said.returncode == 0 and said.stdout.splitlines()[-1] == f"{n} mutations", said.stdout


def test_equivalent_mutations_are_mutations():
    rules = marked_tests.rules(ROOT)
    known = {one.key for one in mutations(rules, rules)}
    assert set(EQUIVALENT) <= known
