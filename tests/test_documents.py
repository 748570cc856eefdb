"""The generated documents are up to date, and what docs/fidelity.md names is there."""

import importlib.util
import re
from functools import cache
from pathlib import Path

import marked_tests
import pytest
import rule_book

from simgrid_broker.cli.describe import broker_rules
from simgrid_broker.editions import family_of
from simgrid_broker.world.states import MACHINES, TASK

ROOT = Path(__file__).parents[1]
FIDELITY = (ROOT / "docs" / "fidelity.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def writer():
    """scripts/write_reference.py as a module."""
    spec = importlib.util.spec_from_file_location("write_reference", ROOT / "scripts" / "write_reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_documents_are_up_to_date(writer):
    stale = [path.name for path, text in writer.documents().items() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run scripts/write_reference.py"


def test_every_rule_of_the_brokers_is_in_the_rule_book():
    book = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "rules").glob("*_brokerage.md"))
    assert [rule.__name__ for _, rule, _ in broker_rules() if f".{rule.__name__}`\n" not in book] == []


def test_a_rule_belongs_to_the_family_with_the_longest_beginning_of_its_code():
    assert rule_book.page_of("policy.tasks.selection.by_priority") == "task_brokerage"
    assert rule_book.page_of("policy.tasks.selection.selection") == "throttling"
    assert rule_book.page_of("policy/tasks/merging.py") == "tasks"
    with pytest.raises(ValueError, match="`nowhere.rule` belongs to no family"):
        rule_book.page_of("nowhere.rule")


def test_the_book_says_how_often_a_rule_decided():
    runs = {"atlas_day": [1000, 0, 0], "scouts": [50, 2, 1], "merging": [9, 3, 0], "minimal": [9, 0, 0]}
    assert rule_book.decided({"documented": runs, "deployed": {}}, refuses=True) == (
        "documented: refused 0 of 1,000 in atlas_day, 3 of 9 in merging, 2 of 50 in scouts; deployed: never asked")
    assert rule_book.decided({}, refuses=False) == "never asked"


def test_rules_name_the_editions_whose_chains_have_them():
    differ = {rule.__name__: (rule.rule.editions, editions) for _, rule, editions in broker_rules()
              if set(rule.rule.editions) != {family_of(name) for name in editions}}
    assert differ == {}


@cache
def rules():
    """Rules of brokers and of the fidelity page."""
    return marked_tests.rules(ROOT)


@pytest.fixture(scope="module")
def tests_of_rules():
    """Tests of each rule by their markers, all of which name rules that exist."""
    return marked_tests.tests_of_rules(ROOT, rules())


def test_every_rule_has_a_test_with_its_name(tests_of_rules):
    silent = [rule for rule, tests in tests_of_rules.items() if not tests]
    assert silent == [], "no test has the marker pytest.mark.rule"


def test_rows_name_the_files_of_marked_tests(tests_of_rules):
    rows = [re.split(r"(?<!\\)\|", line) for line in FIDELITY.split(rule_book.OTHER_RULES)[1].splitlines()
            if line.startswith("| ")]
    silent = [(rule, row[1]) for row in rows for rule in marked_tests.NAMED.findall(row[-3])
              if not any(f"`{test.split('::')[0]}`" in row[-2] for test in tests_of_rules[rule])]
    assert silent == [], "the column of tests lacks the file of the marked test"


@pytest.mark.parametrize(("marker", "message"), [
    pytest.param("too_litle_scratch", "of none", id="no rule"),
    pytest.param("off_the_chain", "network.off_the_chain and", id="several rules"),
])
def test_a_marker_names_one_rule(marker, message):
    with pytest.raises(ValueError, match=message):
        marked_tests.resolved(marker, rules(), "test_x.py")


def test_files_that_the_fidelity_page_names_are_there():
    for path in re.findall(r"`((?:tests|policy|world|fabric|agents|ledgers|turns|systems)/[\w/]+\.py)`", FIDELITY):
        assert (ROOT / path if path.startswith("tests/") else ROOT / "simgrid_broker" / path).is_file(), path


def test_every_agent_and_policy_has_its_place_in_the_fidelity_page():
    package = ROOT / "simgrid_broker"
    rooms = "agents", "ledgers", "turns", *(f"policy/{part}" for part in ("tasks", "jobs", "users", "shares", "queues"))
    files = [*package.glob("policy/*.py"), *(path for room in rooms for path in package.glob(f"{room}/**/*.py")
                                             if path.stem != "__init__")]
    names = [str(path.relative_to(package)) for path in files]
    silent = [name for name in names if name not in NO_RULES and name not in FIDELITY
              and f"`{name.removesuffix('.py').replace('/', '.')}." not in FIDELITY]
    assert silent == [], "docs/fidelity.md does not say what they simplify"


NO_RULES = {
    "policy/__init__.py", "policy/rule.py", "policy/readings.py", "policy/registry.py",
    "agents/books.py", "agents/control.py",
    "agents/jedi/post_processor.py", "agents/own.py", "agents/panda/copy_archive.py", "agents/panda/jobs.py",
    "agents/run/samples.py", "agents/run/timeline.py", "ledgers/dues.py", "ledgers/hourly_sums.py",
    "ledgers/inputs.py", "ledgers/live_tasks.py", "turns/brokers.py", "turns/decision_log.py",
    "turns/job_tables.py", "turns/merge_tables.py", "turns/merge_turn.py", "turns/plane.py", "turns/policies.py",
    "turns/slots.py", "turns/task_kinds.py",
    "turns/task_tables.py", "turns/turn.py", "turns/user_tables.py",
}
"""Modules without a rule of their own: they hold things together, or do what the fabric or a policy says."""


@pytest.mark.parametrize(("cell", "text"), [
    pytest.param("a | b", "a \\| b", id="a bar would end the cell"),
    pytest.param("NQUEUED_NUC_CAP", "NQUEUED\\_NUC\\_CAP", id="underscores would be emphasis"),
    pytest.param("MB in `ramunit_x`", "MB in `ramunit_x`", id="code is code"),
    pytest.param("<gshare>", "\\<gshare>", id="a placeholder is no tag"),
])
def test_cells_read_as_they_are(writer, cell, text):
    assert writer.plain(cell) == text


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.title)
def test_a_diagram_has_every_arrow_of_its_table(machine, writer):
    arrows = set(re.findall(r"(\w+) --> (\w+)", writer.diagram(machine)))
    grouped = {move.new.word for move in machine.moves if move.whence}
    drawn = {(old.word, new.word) for old, new in machine.pairs}
    assert {pair for pair in arrows if not pair[0].startswith("group")} <= drawn
    assert {new for old, new in drawn if (old, new) not in arrows} <= grouped


def test_moves_from_almost_every_status_have_one_arrow(writer):
    assert sum(line.endswith("--> aborting") for line in writer.diagram(TASK).splitlines() if "group" in line) == 1
    assert "registered --> aborting" not in writer.diagram(TASK)
