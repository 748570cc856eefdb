"""The table of rules that decide has every rule, and enough of them decide; acts of other rules are counted."""

from types import SimpleNamespace

import pandas as pd
import pytest
import rule_book
import rule_coverage as script

from simgrid_broker.cli.describe import broker_rules
from simgrid_broker.names import EDITIONS

RULES = script.known()


def test_every_rule_of_both_editions_is_in_the_table():
    listed = {(rule.edition, rule.broker, rule.name): rule.runs for rule in RULES}
    assert len(listed) == len(RULES) and script.FIGURES.is_file()
    stored = {(each["edition"], each["broker"], each["rule"])
              for each in script.json.loads(script.FIGURES.read_text(encoding="utf-8"))["rules"]}
    assert stored == set(listed), "run scripts/rule_coverage.py"
    functions = {(broker, script.dotted(function)) for broker, function, editions in broker_rules()
                 if set(editions) & set(EDITIONS)}
    assert {(broker, name) for _, broker, name in listed} == functions


def test_the_page_is_that_of_the_figures():
    page = script.PAGE.read_text(encoding="utf-8")
    assert script.with_page(page, RULES) == page, "run scripts/rule_coverage.py --page"


@pytest.mark.parametrize("edition", EDITIONS)
def test_most_rules_of_an_edition_decide_somewhere(edition):
    decided, of = script.part(RULES, edition, script.SCENARIOS)
    assert 100 * decided / of >= script.LEAST


def test_a_rule_that_is_said_to_be_unable_to_decide_never_did():
    known = {rule.name for rule in RULES}
    assert script.CANNOT.keys() <= known
    assert not [rule.name for rule in RULES if rule.name in script.CANNOT and rule.decided(script.SCENARIOS)]


def test_the_figures_of_a_run_are_those_of_its_rules():
    rules = [rule._replace(runs={"scouts": [1, 1, 1]}) for rule in script.listed()]
    figures = {("job brokerage", "not_open"): [9, 2, 1], ("job brokerage", "of no edition"): [1, 1, 1]}
    script.add(rules, "scouts", "deployed", figures)
    of_edition = {rule.name: rule.runs for rule in rules if rule[:2] == ("deployed", "job brokerage")}
    assert of_edition["policy.brokerage.production.candidates.not_open"] == {"scouts": [9, 2, 1]}
    assert sum(map(len, of_edition.values())) == 1
    assert all(rule.runs for rule in rules if rule.edition == "documented")
    assert rules[0].decided(["scouts", "minimal"]) == 1


def test_everything_that_the_page_counts_is_in_the_figures():
    known = {(each["edition"], each["counted"]) for each in rule_book.figures(script.ROOT, "acts")}
    named = {(edition, thing) for edition in EDITIONS for thing in script.things_counted()}
    assert known == named, "run scripts/rule_coverage.py"


def test_every_rule_says_how_often_it_acted_or_why_that_is_not_counted():
    tests = rule_book.tests_of_rules(script.ROOT)
    rules = [*rule_book.of_brokers(script.ROOT, tests), *rule_book.of_page(script.ROOT, tests)]
    assert [rule.title for rule in rules if not rule.decided + rule.acted] == []
    assert [rule.title for rule in rules if rule.acted.endswith(": ")] == []


class OfTables:
    """A run of two tables, of which one is recorded in part."""

    manifest = {"scenario": {"record": {"transfers": 0.5, "tasks": []}, "incidents": []}, "agents": [
        {"name": "reaper"}, {"name": "merger"}], "coverage": {"agents": {"reaper": [9, 4]}}}
    frames = {"tasks": pd.DataFrame(dict(status=["done", "broken", "done"], jobs=[1, 2, 4])),
              "transfers": pd.DataFrame(dict(kind=["input"]))}
    tables = {name: SimpleNamespace(columns=[SimpleNamespace(name=frame.columns[0])])
              for name, frame in frames.items()}
    folder, end_s = None, 1.0

    def table(self, name, columns):
        return self.frames[name][columns]


@pytest.mark.parametrize(("thing", "number"), [
    ("tasks", 3), ("tasks: status == 'done'", 2), ("tasks.jobs", 7), ("tasks.jobs: status.isin(['broken'])", 2),
    ("tasks.jobs: status == 'ready'", 0), ("agents.acted: agent == 'reaper'", 4),
    ("agents.asked: agent == 'reaper'", 9), ("agents.acted: agent == 'merger'", None),
    ("agents.acted: agent == 'none'", None), ("incidents.began: incident == 'gdpconfig'", None),
    ("transfers: kind == 'input'", None), ("event_service.jobs", None)])
def test_what_the_page_names_is_counted_in_a_run_and_unknown_is_not_0(thing, number):
    assert script.number(OfTables(), thing) == number


@pytest.mark.parametrize(("counted", "editions", "sentence"), [
    ("once, when a run is built", "both", "not counted (once, when a run is built)"),
    ("jobs `a: x` `b`", "both", "jobs: documented: 0 in atlas_day, 7 in p, 5 in q; deployed: in no run"),
    ("jobs `a: x`", "deployed: D3", "jobs: deployed: in no run"),
    ("jobs `b`", "`deployed` has more", "jobs: documented: 0 in atlas_day, 4 in p; deployed: in no run"),
    ("jobs `c`", "documented", "jobs: documented: 9 in s, 8 in t, 7 in u, more in 1 other run")])
def test_acts_are_said_by_edition_the_flagship_runs_first(counted, editions, sentence):
    acts = {("documented", "a: x"): {"p": 3, "q": 5, "r": 0}, ("documented", "b"): {"p": 4, "atlas_day": 0},
            ("documented", "c"): {"s": 9, "t": 8, "u": 7, "v": 6}}
    assert rule_book.acted(counted, editions, acts) == sentence
