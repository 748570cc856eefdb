"""The table of rules that decide has every rule, and enough of them decide."""

import pytest
import rule_coverage as script

from simgrid_broker.cli.describe import broker_rules

RULES = script.known()


def test_every_rule_of_both_editions_is_in_the_table():
    listed = {(rule.edition, rule.broker, rule.name): rule.runs for rule in RULES}
    assert len(listed) == len(RULES) and script.FIGURES.is_file()
    stored = {(each["edition"], each["broker"], each["rule"])
              for each in script.json.loads(script.FIGURES.read_text(encoding="utf-8"))["rules"]}
    assert stored == set(listed), "run scripts/rule_coverage.py"
    functions = {(broker, script.dotted(function)) for broker, function, editions in broker_rules()
                 if set(editions) & set(script.EDITIONS)}
    assert {(broker, name) for _, broker, name in listed} == functions


def test_the_page_is_that_of_the_figures():
    page = script.PAGE.read_text(encoding="utf-8")
    assert script.with_page(page, RULES) == page, "run scripts/rule_coverage.py --page"


@pytest.mark.parametrize("edition", script.EDITIONS)
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
