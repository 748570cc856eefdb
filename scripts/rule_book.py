"""The rule book: every rule with its source, editions, keys of gdpconfig, tests and how often it acted in runs.

Rules of the brokers come from their declarations, all others from the table "Other rules" of docs/fidelity.md; tests
are those whose markers name the rule. The column `counted` of the table says what of a run counts the acts of a rule:
words and, in code, tables of `rule_coverage.number`; words alone say why nothing does. `scripts/write_reference.py`
writes the pages, docs/rules/.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from markdown_tables import plain
from marked_tests import FILE, NAMED, PAGE, tests_of_rules

from simgrid_broker.advice import editions_of, readers
from simgrid_broker.cli.describe import broker_rules
from simgrid_broker.editions import DEPLOYED, RELEASES
from simgrid_broker.names import EDITIONS

OTHER_RULES = "## Other rules\n"
COUNTED = re.compile("`([^`]+)`")
"""Table or figure of a run that counts the acts of a rule, in a cell of the column `counted`."""
ONE_EDITION = re.compile("`?(documented|deployed)`?(?:$|[:;,])")
"""Begin of a cell of the column `editions` of a rule that only one edition has."""
COUNTS = "docs/coverage.json"
"""Candidates asked, decisions and decisions alone of each rule of the brokers, and acts of the other rules, by
scenario; scripts/rule_coverage.py."""
FLAGSHIPS = "atlas_day", "users_week"
"""Scenarios that are named first; of the others those in which a rule decided most often."""
MOST_OTHERS = 3


class Family(NamedTuple):
    """A page of the book; code: beginnings of the names of the functions and files of its rules."""

    title: str
    about: str
    code: tuple[str, ...]


FAMILIES = {
    "task_brokerage": Family("Task brokerage", "Which nucleus a production task gets.", (
        "policy.brokerage.task", "agents.jedi.task_broker", "turns.task_turn", "world.views.nuclei",
        "world.views.tasks", "policy.tasks.selection.by_priority")),
    "job_brokerage": Family("Job brokerage of production", "Which queues the jobs of a production task may go to.", (
        "policy.brokerage.production", "policy.brokerage.brokerage", "policy.funnel", "world.queues.statistics",
        "world.jobs.loads", "world.jobs.counts", "world.queue_tables", "world.views.observe", "turns.brokers",
        "turns.job_turn", "agents.panda.statistics.statistics", "scenario.loading", "world.snapshot")),
    "analysis_brokerage": Family("Job brokerage of analysis", "Which queues the jobs of a user's task may go to.", (
        "policy.brokerage.analysis",)),
    "hardware": Family("Hardware and software", "What a task needs of processors, GPUs and releases.", (
        "policy.software",)),
    "shares": Family("Shares and dispatch", "What a share is due, and which job a pilot gets.", (
        "policy.shares", "fabric.dispatch", "fabric.jobs.effects", "world.shares", "agents.panda.statistics",
        "policy.jobs.resource_types", "fabric.jobs.submission.bind")),
    "throttling": Family("Throttling and work queues", "How many jobs JEDI makes in a cycle, and of which tasks.", (
        "policy.tasks.throttle", "agents.jedi.task_refiner.map_task", "agents.panda.copy_archive",
        "agents.jedi.job_generator", "policy.tasks.selection", "policy.tasks.watchdogs.withheld_from")),
    "users": Family("Users", "Caps, boosts, classes and quotas of the users of analysis.", (
        "policy.users", "agents.panda.jobs", "world.users", "fabric.jobs.submission.priority_of")),
    "pilots": Family("Queues and pilots", "When workers are submitted, what they run, and how slots end.", (
        "policy.queues", "policy.pilot_streaming", "policy.harvester", "agents.harvester", "fabric.batch",
        "fabric.jobs.pilots", "fabric.jobs.early_ends")),
    "jobs": Family("Jobs", "Statuses, timeouts, rebrokerage and retries of jobs.", (
        "policy.jobs", "fabric.jobs", "world.states", "world.jobs")),
    "tasks": Family("Tasks", "Scouts, splitting, merging, commands, watchdogs and ends of tasks.", (
        "policy.tasks", "agents.jedi", "turns", "world.tasks", "scenario.checks")),
    "data": Family("Data", "Transfers, replicas, tape, network metrics and storages.", (
        "fabric.transfers", "fabric.incidents", "world.data", "world.queues.places",
        "ledgers.inputs", "policy.tasks.data_carousel", "agents.data", "fabric.jobs.submission.set_up_job")),
    "events": Family("Event service", "Event ranges, consumers, jumbo jobs and clones.", (
        "systems.events", "fabric.jobs.consumers")),
    "dirac": Family("DIRAC", "Task queues, matching, priorities and limits as DIRAC has them.", (
        "systems.dirac", "fabric.task_queues", "fabric.dispatch.matched_job", "policy.jobs.timeouts.without_waiting")),
}
"""Pages of the book by the name of the file."""
BROKERS = {"task brokerage": "task_brokerage", "job brokerage": "job_brokerage",
           "analysis brokerage": "analysis_brokerage"}


class Rule(NamedTuple):
    """A rule as the book shows it; code: functions (dots) and files (slashes), tests: as pytest names them.

    decided: how often in the runs, of a rule of a broker; acted: the same of another one, or why it is not counted.
    """

    page: str
    title: str
    meaning: str
    editions: str
    source: str
    keys: str
    code: Sequence[str]
    tests: Sequence[str]
    decided: str = ""
    acted: str = ""


def book(root: Path) -> dict[Path, str]:
    """Every page of the book as it should be; raises ValueError for a rule whose code belongs to no family."""
    tests = tests_of_rules(root)
    rules = [*of_brokers(root, tests), *of_page(root, tests)]
    pages = {name: _page(family, [rule for rule in rules if rule.page == name]) for name, family in FAMILIES.items()}
    folder = root / "docs" / "rules"
    return {folder / "index.md": _index(rules), **{folder / f"{name}.md": text for name, text in pages.items()}}


def of_brokers(root: Path, tests: Mapping[str, Sequence[str]]) -> Iterator[Rule]:
    """Rules of the brokers in the order in which PanDA asks them."""
    counts: dict[str, dict[str, dict[str, Sequence[int]]]] = {}
    for each in figures(root, "rules"):
        counts.setdefault(each["rule"], {})[each["edition"]] = each["runs"]
    for broker, function, editions in broker_rules():
        rule = function.rule
        tag = getattr(rule, "tag", None) or f"weight: {rule.name}"
        where = f"{function.__module__.removeprefix('simgrid_broker.')}.{function.__name__}"
        title = f"`{tag}`" + (f" ({function.__name__})" if hasattr(rule, "tag") else "")
        named = ", ".join(f"{name} ({', '.join(RELEASES)})" if name == DEPLOYED else name for name in editions)
        often = decided(counts.get(where, {}), hasattr(rule, "tag")) if counts else ""
        yield Rule(BROKERS[broker], title, plain(rule.meaning), named, plain(rule.source),
                   _keys([where], editions), [where], tests[where], often)


def of_page(root: Path, tests: Mapping[str, Sequence[str]]) -> Iterator[Rule]:
    """Rules of the table of the fidelity page."""
    acts = {(each["edition"], each["counted"]): each["runs"] for each in figures(root, "acts")}
    for meaning, editions, source, counted, code, files in other_rules(root):
        names, parts = NAMED.findall(code), FILE.findall(code)
        first = (names or parts)[0]
        marked = dict.fromkeys(test for name in names for test in tests[name])
        yield Rule(page_of(first), f"`{first}`", meaning.replace("](", "](../"), editions, source, _keys(names),
                   list(dict.fromkeys([*names, *parts])), list(marked) or re.findall("`([^`]+)`", files),
                   acted=acted(counted, editions, acts))


def other_rules(root: Path) -> Iterator[list[str]]:
    """Cells of each row of the table "Other rules": rule, editions, source, counted, code, tests.

    Raises ValueError for a row with fewer cells or more.
    """
    text = (root / PAGE).read_text(encoding="utf-8").split(OTHER_RULES)[1].split("\n## ")[0]
    for line in [line for line in text.splitlines() if line.startswith("| ")][2:]:
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) != 6:
            raise ValueError(f"{PAGE}: {line[:60]}...: expected 6 cells, of which the fourth says what is counted, not "
                             f"{len(cells)}")
        yield cells


def page_of(code: str) -> str:
    """Page of a rule by its code, the longest beginning of a family counts; raises ValueError if none has it."""
    begins = [(len(begin), name) for name, family in FAMILIES.items() for begin in family.code
              if code.replace("/", ".").startswith(begin)]
    if not begins:
        raise ValueError(f"{PAGE}: `{code}` belongs to no family of scripts/rule_book.py")
    return max(begins)[1]


def figures(root: Path, part: str) -> list[dict]:
    """Rows of a part of the figures that scripts/rule_coverage.py writes, `rules` or `acts`; none before it did."""
    path = root / COUNTS
    return json.loads(path.read_text(encoding="utf-8"))[part] if path.is_file() else []


def decided(editions: Mapping[str, Mapping[str, Sequence[int]]], refuses: bool) -> str:
    """Sentence on how often a rule decided in the flagship runs and elsewhere, by edition."""
    does = "refused" if refuses else "changed the order of"
    pieces = []
    for edition, runs in editions.items():
        where = _where({name: counts[1] for name, counts in runs.items()},
                       lambda name, runs=runs: f"{runs[name][1]:,} of {runs[name][0]:,}")
        pieces.append(f"{edition}: " + (f"{does} {where}" if where else "never asked"))
    return "; ".join(pieces) or "never asked"


def acted(counted: str, of_editions: str, acts: Mapping[tuple[str, str], Mapping[str, int]]) -> str:
    """Sentence on how often another rule acted in the flagship runs and elsewhere, by edition, or why that is unknown.

    counted, of_editions: its cells of the table; acts: number by run, of each edition and each thing that is counted.
    """
    things, words = COUNTED.findall(counted), " ".join(COUNTED.sub("", counted).split())
    if not things:
        return f"not counted ({counted})"
    only = ONE_EDITION.match(of_editions)
    pieces = []
    for edition in [only[1]] if only else EDITIONS:
        sums: dict[str, int] = {}
        for thing in things:
            for name, number in acts.get((edition, thing), {}).items():
                sums[name] = sums.get(name, 0) + number
        pieces.append(f"{edition}: " + (_where(sums, lambda name, sums=sums: f"{sums[name]:,}") or "in no run"))
    return f"{words}: {'; '.join(pieces)}"


def _where(numbers: Mapping[str, int], said: Callable[[str], str]) -> str:
    """The flagship runs, and of the others those with the largest numbers, each with what is said of it."""
    rest = sorted((name for name, number in numbers.items() if name not in FLAGSHIPS and number),
                  key=lambda name: -numbers[name])
    named = [name for name in FLAGSHIPS if name in numbers] + rest[:MOST_OTHERS]
    left = len(rest) - MOST_OTHERS
    more = [f"more in {left} other run{'s' if left > 1 else ''}"] if left > 0 else []
    return ", ".join([f"{said(name)} in {name}" for name in named] + more)


def _keys(names: Sequence[str], editions: Sequence[str] = ()) -> str:
    """Keys of gdpconfig that some functions read, with the edition where only some of `editions` read them."""
    found = [key for key, reading in readers().items() if set(names) & set(reading)]
    texts = []
    for key in found:
        reading = [edition for edition in editions
                   if set(names) & set(readers(edition).get(key, ()))] or editions_of(key)
        only = f" ({', '.join(reading)})" if editions and len(reading) < len(editions) else ""
        texts.append(f"[`{key.component}.{key.key}`](../gdpconfig.md#{key.component.lower()}){only}")
    return ", ".join(texts)


def _page(family: Family, rules: Sequence[Rule]) -> str:
    """A family as a page."""
    head = (f"# {family.title}\n\nWritten by `scripts/write_reference.py`; the [rule book](index.md) says how to read "
            f"the entries. {family.about}\n")
    return "\n".join([head, *map(_entry, rules)])


def _entry(rule: Rule) -> str:
    """A rule as a section."""
    rows = {"Editions": rule.editions, "Source": rule.source, "Keys": rule.keys,
            "Code": ", ".join(f"`{name}`" for name in rule.code), "Tests": _tests(rule.tests), "Decided": rule.decided,
            "Acted": rule.acted}
    lines = "\n".join(f"- {name}: {text}" for name, text in rows.items() if text)
    return f"## {rule.title}\n\n{rule.meaning}\n\n{lines}\n"


def _tests(tests: Sequence[str]) -> str:
    """Tests file by file, each with its functions."""
    files: dict[str, list[str]] = {}
    for test in tests:
        path, _, name = test.partition("::")
        files.setdefault(path, []).extend([f"`{name}`"] if name else [])
    return "; ".join(f"`{path}`" + (f": {', '.join(names)}" if names else "") for path, names in files.items())


def _index(rules: Sequence[Rule]) -> str:
    """The first page of the book."""
    rows = "".join(f"| [{family.title}]({name}.md) | {family.about} | {sum(rule.page == name for rule in rules)} |\n"
                   for name, family in FAMILIES.items())
    return INDEX.format(rows=rows, number=len(rules))


INDEX = """\
# Rule book

Written by `scripts/write_reference.py`. Each of the {number} rules that the program follows, with its source and the
tests that hold it. Rules of the brokers have PanDA's log tag or the name of a factor, others the name of the function
that is the rule.

| family | subject | rules |
| --- | --- | --- |
{rows}
An entry says:

- Editions: `documented` follows the documentation, `deployed` the production code. "Both" means that the two agree,
  "differ" that each has its own reading; D1, L1 and so on are the numbered differences of
  [the fidelity page](../fidelity.md), which also lists the sources by their short names.
- Source: the section of the document that states the rule.
- Keys: those of [gdpconfig](../gdpconfig.md) that the rule reads, with the edition if only one does.
- Code: functions (with dots) and files (with slashes) of the package.
- Tests: those that carry the rule's name as a marker; the boundary of the rule is tested there.
- Decided: of the candidates that a rule of a broker was asked about, those that it refused, or the decisions in which a
  factor changed the order, in the runs of the scenarios by `scripts/rule_coverage.py`.
- Acted: of the other rules, what the same runs record of their acts, in words, with the number of each edition and run;
  a run that is not named has none. A count says "all rules together" or "last" where the records do not tell more. Of
  rules that leave no record of their own it says why they are not counted.

`simgrid-broker coverage RUN` counts rules of the brokers, causes of ends, incidents and agents of a run of your own.

On a run, `simgrid-broker describe TAG` prints an entry, and `simgrid-broker explain RUN` where it acted.

```{{toctree}}
:hidden:

{pages}
```
""".replace("{pages}", "\n".join(FAMILIES))
