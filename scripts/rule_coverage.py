#!/usr/bin/env python3
"""Count how often each rule of the brokers decides in the scenarios, and how often other rules act, in both editions:
docs/coverage.json, coverage.md and rules/*.md.

    scripts/rule_coverage.py                        run all of SCENARIOS, which takes a quarter of an hour
    scripts/rule_coverage.py atlas_day scouts       run these again; the figures of the others stay
    scripts/rule_coverage.py --page                 write the pages from the figures, without a run
    scripts/rule_coverage.py --runs FOLDER          keep the runs there, and count those that are there again

A criterion decides if it refuses a candidate, a factor if it changes the order of the candidates in use. Criteria are
counted over all decisions, factors over those whose candidates are recorded. The share of the rules that decide must be
LEAST over all scenarios, and LEAST_OF_DAY in atlas_day; rules of event service are counted apart.

Acts of other rules are what the column `counted` of docs/fidelity.md names: `TABLE: QUERY` counts rows of a table of a
run for which a query of pandas holds, `TABLE.COLUMN: QUERY` sums a column of them; `rules`, `factors`, `ends`, `agents`
and `incidents` are the tables of `simgrid-broker coverage`.
"""

import argparse
import ast
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import rule_book

import simgrid_broker as sb
from simgrid_broker.cli.describe import broker_rules
from simgrid_broker.metrics.coverage import agents_used, ends_used, factors_used, incidents_used, rules_used
from simgrid_broker.names import EDITIONS
from simgrid_broker.policy.rule import Criterion, RuleFunction
from simgrid_broker.records import Run, write_whole

ROOT = Path(__file__).resolve().parents[1]
FIGURES, PAGE = ROOT / "docs" / "coverage.json", ROOT / "docs" / "coverage.md"
BEGIN, END = "<!-- begin of what scripts/rule_coverage.py writes -->", "<!-- end of it -->"
LEAST, LEAST_OF_DAY, DAY, WEEK = 85.0, 65.0, "atlas_day", "users_week"
LARGE: dict[str, dict[str, Any]] = {DAY: {"record.candidates": 0.02, "duration": "20h"},
                                    "saturated_day": {"record.candidates": 0.005},
                                    WEEK: {"record.candidates": 0.02, "duration": "14h"}}
"""Large scenarios with what is changed in them; of the others all candidates are recorded."""
NOT_RUN = {"atlas", "atlas_saturated", "shares_2018", "snapshot", "dirac_snapshot", "atlas_week", "atlas_year",
           "flat_shares", "lcg_replay", "lhcb_day"}
"""Bases, snapshots, other runs of the work of the two days, the one that needs a recorded workload, and DIRAC's day."""
SCENARIOS = tuple(sorted({path.stem for path in (ROOT / "scenarios").glob("*.yaml")} - NOT_RUN))
EVENT_SERVICE = {"-es", "-eshigh", "-es_ucore", "-nones", "-jumbo", "-fewevents", "+usejumbo"}
"""Tags of the rules of event service."""
NO_OUTPUT = "a nucleus without a storage stops all tasks of the deployed edition, so no scenario has one"
CANNOT = {
    "policy.brokerage.task.nuclei.not_active":
        "nuclei of a run are always ACTIVE; the deployed edition loads all of them as ACTIVE (D3)",
    "policy.brokerage.task.nuclei.no_storage": NO_OUTPUT, "policy.brokerage.task.nuclei.output_unmatched": NO_OUTPUT,
    "policy.brokerage.production.activity.locked": "a run has no other broker that holds locks, only a snapshot names "
                                                   "locked queues"}
"""Rules that cannot decide in any of the runs, by dotted name, and why."""

COVERAGE = {"rules": rules_used, "factors": factors_used, "ends": ends_used, "agents": agents_used,
            "incidents": incidents_used}
"""Tables of what a run has used, by the name that the column `counted` gives them."""

Counts = list[int]
Acts = dict[tuple[str, str], dict[str, int]]
"""Numbers by run of each edition and each thing that is counted."""
Row = dict[str, Any]


class Rule(NamedTuple):
    """A rule of a broker in an edition; runs: asked, decided, alone of each scenario in which it was asked."""

    edition: str
    broker: str
    name: str
    label: str
    runs: dict[str, Counts]

    @property
    def of_event_service(self) -> bool:
        """True for the rules of event service, which are counted apart."""
        return self.label in EVENT_SERVICE

    def decided(self, scenarios: Iterable[str]) -> int:
        """Number of its decisions in some scenarios."""
        return sum(self.runs[name][1] for name in scenarios if name in self.runs)


def listed() -> list[Rule]:
    """Every rule of both editions, without figures."""
    return [Rule(edition, broker, dotted(function), label(function), {}) for edition in EDITIONS
            for broker, function, editions in broker_rules() if edition in editions]


def dotted(function: RuleFunction) -> str:
    """Name of a rule as in docs/fidelity.md."""
    return f"{function.__module__.removeprefix('simgrid_broker.')}.{function.__name__}"


def label(function: RuleFunction) -> str:
    """Tag of a criterion, or name of a factor."""
    return function.rule.tag if isinstance(function.rule, Criterion) else f"weight: {function.rule.name}"


def known() -> list[Rule]:
    """The rules with the figures of the file; of rules that it lacks none, and without rules that are gone."""
    entries = json.loads(FIGURES.read_text(encoding="utf-8"))["rules"] if FIGURES.is_file() else []
    figures = {(each["edition"], each["broker"], each["rule"]): each["runs"] for each in entries}
    return [rule._replace(runs=figures.get(rule[:3], {})) for rule in listed()]


def recorded(name: str, edition: str, folder: Path) -> Run:
    """The run of a scenario in an edition, which is there or is made."""
    if (folder / "manifest.json").is_file():
        return sb.read_run(folder)
    values = {"record.candidates": 1, **LARGE.get(name, {}), "edition": edition}
    return sb.simulate(sb.load_scenario(ROOT / "scenarios" / f"{name}.yaml").with_values(values), folder=folder)


def measured(run: Run) -> dict[tuple[str, str], Counts]:
    """Asked, decided and alone by broker and name of the rule."""
    found: dict[tuple[str, str], Counts] = {}
    for kind, rules in rules_used(run).groupby("kind"):
        names = sb.metrics.criteria(run, kind).criterion
        figures = rules[["asked", "refused", "alone"]].to_numpy().tolist()
        found |= {(kind.replace("_", " "), name): counts for name, counts in zip(names, figures, strict=True)}
    for row in factors_used(run).itertuples():
        found[row.kind.replace("_", " "), row.factor] = [row.asked, row.changed, row.alone]
    return found


def things_counted() -> list[str]:
    """Everything that the column `counted` names, once."""
    cells = [counted for _, _, _, counted, _, _ in rule_book.other_rules(ROOT)]
    return [*dict.fromkeys(thing for cell in cells for thing in rule_book.COUNTED.findall(cell))]


def known_acts() -> Acts:
    """Figures of the file of what the page still names."""
    named = set(things_counted())
    return {(each["edition"], each["counted"]): each["runs"] for each in rule_book.figures(ROOT, "acts")
            if each["counted"] in named}


def add_acts(acts: Acts, name: str, edition: str, run: Run) -> None:
    """Put the numbers of a run into the acts."""
    for thing in things_counted():
        runs = acts.setdefault((edition, thing), {})
        runs.pop(name, None)
        count = number(run, thing)
        runs.update({} if count is None else {name: count})


def number(run: Run, thing: str) -> int | None:
    """Rows of a table, or the sum of a column, for which a query holds, as `TABLE[.COLUMN][: QUERY]`.

    None if the run has no such table, records only a part of it, or does not count the agent, rule or incident.
    """
    place, _, query = thing.partition(": ")
    table, _, column = place.partition(".")
    of_coverage, part = table in COVERAGE, run.manifest["scenario"]["record"].get(table, 1)
    if of_coverage:
        rows = COVERAGE[table](run)
    elif table not in run.tables or (not isinstance(part, list) and part < 1):
        return None
    else:
        names = {node.id for node in ast.walk(ast.parse(query or "0")) if isinstance(node, ast.Name)} | {column} - {""}
        rows = run.table(table, sorted(names) or [run.tables[table].columns[0].name])
    rows = rows.query(query, engine="python") if query else rows
    if not column:
        return len(rows)
    total = rows[column].sum(min_count=int(of_coverage))
    return None if pd.isna(total) else int(total)


def add(rules: Sequence[Rule], name: str, edition: str, figures: dict[tuple[str, str], Counts]) -> None:
    """Put the figures of a run into the rules."""
    own_names = {(broker, dotted(function)): function.rule.name for broker, function, _ in broker_rules()}
    for rule in rules:
        if rule.edition == edition:
            rule.runs.pop(name, None)
            counts = figures.get((rule.broker, own_names[rule.broker, rule.name]), [0, 0, 0])
            rule.runs.update({name: counts} if counts[0] else {})


def write_figures(rules: Sequence[Rule], acts: Acts) -> None:
    """Write the JSON, a line for each rule and each thing that is counted of others."""
    lines = [json.dumps(dict(edition=each.edition, broker=each.broker, rule=each.name, label=each.label,
                             event_service=each.of_event_service, runs=dict(sorted(each.runs.items()))),
                        ensure_ascii=False) for each in rules]
    others = [json.dumps(dict(edition=edition, counted=thing, runs=dict(sorted(runs.items()))), ensure_ascii=False)
              for (edition, thing), runs in sorted(acts.items())]
    write_whole(FIGURES, '{"counts": ["asked", "decided", "alone"],\n "rules": [\n  ' + ",\n  ".join(lines)
                + '\n],\n "acts": [\n  ' + ",\n  ".join(others) + "\n]}\n")


def part(rules: Sequence[Rule], edition: str, scenarios: Iterable[str]) -> tuple[int, int]:
    """Rules of an edition that decide in some scenarios, and all, both without those of event service."""
    mine = [each for each in rules if each.edition == edition and not each.of_event_service]
    return sum(each.decided(scenarios) > 0 for each in mine), len(mine)


def page(rules: Sequence[Rule]) -> str:
    """The generated part of the page."""
    gallery = [name for name in SCENARIOS if name not in (DAY, WEEK)]
    columns = {"all runs": SCENARIOS, f"{DAY}, 20 h": [DAY], f"{WEEK}, 14 h": [WEEK], "the others": gallery}
    head = ["edition", "rules", *columns, "of event service"]
    sums = []
    for edition in EDITIONS:
        events = [each for each in rules if each.edition == edition and each.of_event_service]
        sums.append([edition, str(part(rules, edition, [])[1]), *(deciding(rules, edition, names)
                                                                  for names in columns.values()),
                     f"{sum(each.decided(SCENARIOS) > 0 for each in events)} of {len(events)}"])
    every = [row(each, gallery) for each in rules]
    silent = [[each.broker, f"`{each.label}`", each.edition, f"`{each.name}`", why(each)]
              for each in rules if not each.decided(SCENARIOS)]
    return "\n".join([
        "", *table(head, sums), "", "## Rules that decide in no run", "",
        *table(["broker", "tag or factor", "edition", "function", "why"], silent), "", "## Every rule", "",
        *table(["broker", "tag or factor", "edition", "function", "asked", "decided", "alone", DAY, WEEK, "the others"],
               every), ""])


def deciding(rules: Sequence[Rule], edition: str, scenarios: Sequence[str]) -> str:
    """Number and percentage of the rules of an edition that decide in some scenarios, if these were run."""
    decided, of = part(rules, edition, scenarios)
    was_run = any(name in each.runs for each in rules for name in scenarios if each.edition == edition)
    return f"{decided} ({100 * decided / of:.0f} %)" if was_run else "not run"


def row(rule: Rule, gallery: Iterable[str], most: int = 3) -> list[str]:
    """A rule as a row of the table: sums over all runs, and where it decided."""
    sums = [sum(each[k] for each in rule.runs.values()) for k in range(3)]
    deciding = sorted((name for name in gallery if rule.decided([name])), key=lambda name: -rule.runs[name][1])
    named = ", ".join(deciding[:most]) + (f" and {len(deciding) - most} more" if len(deciding) > most else "")
    return [rule.broker, f"`{rule.label}`", rule.edition, f"`{rule.name}`", *(f"{number:,}" for number in sums),
            *(f"{rule.decided([name]):,}" for name in (DAY, WEEK)), named]


def why(rule: Rule) -> str:
    """Reason for which a rule decides in no run."""
    if rule.name in CANNOT:
        return CANNOT[rule.name]
    asked = sum(each[0] for each in rule.runs.values())
    return f"asked about {asked:,} candidates, its condition never held" if asked else "never asked"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def with_page(text: str, rules: Sequence[Rule]) -> str:
    """A page with its generated part written again."""
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    return f"{before}{BEGIN}\n{page(rules)}\n{END}{after}"


def main() -> None:
    """Run what was asked for, and write figures and page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=f"of {', '.join(SCENARIOS)}; default: all")
    parser.add_argument("--runs", type=Path, metavar="FOLDER", help="keep the runs, and use those that are there")
    parser.add_argument("--page", action="store_true", help="write the page from the figures, without a run")
    arguments = parser.parse_args()
    if unknown := set(arguments.scenarios) - set(SCENARIOS):
        parser.error(f"no scenario {', '.join(sorted(unknown))}; there are {', '.join(SCENARIOS)}")
    rules, acts = known(), known_acts()
    with tempfile.TemporaryDirectory() as scratch:
        for name in () if arguments.page else arguments.scenarios or SCENARIOS:
            for edition in EDITIONS:
                print(f"{name}, {edition} ...", file=sys.stderr)
                folder = (arguments.runs or Path(scratch)) / f"{name}-{edition}"
                run = recorded(name, edition, folder)
                add(rules, name, edition, measured(run))
                add_acts(acts, name, edition, run)
                if arguments.runs is None:
                    shutil.rmtree(folder)
            write_figures(rules, acts)
    write_figures(rules, acts)                                                  # also without what the page named once
    write_whole(PAGE, with_page(PAGE.read_text(encoding="utf-8"), rules))
    subprocess.run([sys.executable, ROOT / "scripts" / "write_reference.py"], check=True)    # pages of the rules
    for edition in EDITIONS:
        for names in (SCENARIOS, [DAY]):
            decided, of = part(rules, edition, names)
            print(f"{edition}, {names[0] if len(names) == 1 else 'all runs'}: {decided} of {of} rules decide, "
                  f"{100 * decided / of:.0f} %")


if __name__ == "__main__":
    main()
