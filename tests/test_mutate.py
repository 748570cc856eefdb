"""scripts/mutate.py in a small package: a weak test lets mutations survive, a strong one catches all."""

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
FACTORIES = '''\
"""Rules made by functions, and rules that apply on a condition."""


def criterion(**about):
    """Mark a function."""
    def mark(function):
        function.about = about
        return function
    return mark


def at_most(limit):
    """A rule that refuses what is above a limit."""
    def is_refused(value) -> bool:
        return value > limit
    return is_refused


at_most_three, at_most_four = at_most(3), at_most(4)
SHARED = {"applies": lambda person: person["guests"] < 2}


@criterion(applies=lambda person: person["age"] >= 6)
def too_short(person) -> bool:
    """True of a person below 1 m."""
    return person["cm"] < 100


@criterion(**SHARED)
def alone(person) -> bool:
    """True of a person without company."""
    return person["guests"] == 0
'''
TESTS_OF_FACTORIES = '''\
import pytest

from simgrid_broker.policy.made import alone, at_most_four, at_most_three, too_short


@pytest.mark.rule("made.at_most")
def test_limits():
    assert [at_most_three(value) for value in (3, 4)] == [at_most_four(value) for value in (4, 5)] == [False, True]


@pytest.mark.rule("made.too_short", "made.alone")
def test_conditions():
    assert [too_short({"cm": cm}) for cm in (99, 100)] == [True, False]
    assert [too_short.about["applies"]({"age": age}) for age in (5, 6)] == [False, True]
    assert [alone({"guests": guests}) for guests in (0, 1)] == [True, False]
    assert alone.about["applies"]({"guests": 1})
'''
FILE = '''\
"""Arrows between states."""


class Way:
    """A way from one state to the next."""

    def __init__(self, length):
        self.length = length

    def is_long(self) -> bool:
        """True from 10 on."""
        return self.length >= 10


def doubled(length):
    """Twice the length."""
    return 2 * length
'''
TESTS_OF_FILE = '''\
from simgrid_broker.world.ways import Way, doubled


def test_ways():
    assert Way(10).is_long() and not Way(9).is_long()
    assert doubled(0) == 0
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


def add(checkout: Path, module: str, text: str, tests: str, row: str) -> None:
    """Add a module, its tests and its row of the fidelity page."""
    path = checkout / "simgrid_broker" / module
    path.parent.mkdir(exist_ok=True)
    (path.parent / "__init__.py").write_text('"""A room."""\n')
    path.write_text(text)
    (checkout / "tests" / f"test_{path.name}").write_text(tests)
    with (checkout / "docs" / "fidelity.md").open("a") as page:
        page.write(row)


def test_rules_made_by_factories_and_the_conditions_of_rules_are_changed_where_they_are_held(checkout):
    add(checkout, "policy/made.py", FACTORIES, TESTS_OF_FACTORIES,
        "| b | `policy.made.at_most`, `policy.made.too_short`, `policy.made.alone` | `tests/test_made.py` |\n")
    said = mutate(checkout, "--rule", "at_most", "--rule", "too_short", "--rule", "made.alone")
    rows = [line.split(" | ") for line in said.stdout.splitlines() if line.startswith("policy")]
    results = {change.split(": ", 1)[1]: result for _, change, result, _ in rows}
    caught = {"value > limit -> value >= limit", "person['age'] >= 6 -> True", "person['age'] >= 6 -> False",
              "person['age'] >= 6 -> person['age'] > 6", "person['guests'] < 2 -> False",
              "return value > limit -> return True"}
    missed = {"person['guests'] < 2 -> True", "person['guests'] < 2 -> person['guests'] <= 2",
              "person['guests'] < 2 -> person['guests'] < 3"}
    assert {change for change, result in results.items() if result != "caught"} == missed, said.stdout
    assert caught <= results.keys()


def test_all_functions_of_a_file_that_the_page_names_alone_are_tried_with_the_tests_of_its_row(checkout):
    add(checkout, "world/ways.py", FILE, TESTS_OF_FILE, "| c | `world/ways.py` | `tests/test_ways.py` |\n")
    said = mutate(checkout, "--rule", "world/ways.py")
    results = {line.split(" | ")[1].split(": ", 1)[1]: line.split(" | ")[2] for line in said.stdout.splitlines()
               if line.startswith("world/ways.py")}
    assert {change for change, result in results.items() if result == "survived"} == {"2 * length -> 3 * length"}
    assert results["self.length >= 10 -> self.length > 10"] == "caught" and len(results) == 6, said.stdout


def test_code_that_no_function_runs_is_reported(checkout):
    add(checkout, "policy/made.py", FACTORIES.replace("at_most_three, at_most_four = at_most(3), at_most(4)", ""),
        TESTS_OF_FACTORIES.replace("at_most_four, at_most_three, ", "").replace("at_most_three(value)", "value > 3")
        .replace("at_most_four(value)", "value > 4"), "| b | `policy.made.at_most` | `tests/test_made.py` |\n")
    path = checkout / "simgrid_broker" / "policy" / "made.py"
    path.write_text(path.read_text() + "\n\ndel at_most\n")
    said = mutate(checkout, "--rule", "at_most", "--most", "1")
    assert said.returncode == 1 and "not applied: policy.made.at_most" in said.stderr


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


def test_a_single_parameter_names_its_rule(tmp_path):
    path = tmp_path / "test_rides.py"
    path.write_text('@pytest.mark.parametrize("height", [1, pytest.param(6, marks=pytest.mark.rule("is_tall")),\n'
                    'pytest.param(7, id="top", marks=pytest.mark.rule("is_tall")),\n'
                    'pytest.param(TOP, marks=pytest.mark.rule("is_tall"))])\n'
                    'def test_rides(height):\n    pass\n')
    assert list(marked_tests.marks(path)) == [("is_tall", "test_rides" + one) for one in ("[6]", "[top]", "")]


@pytest.mark.slow
def test_equivalent_mutations_are_mutations():
    rules = marked_tests.rules(ROOT)
    known = {one.key for one in mutations(rules, rules)}
    assert set(EQUIVALENT) <= known
