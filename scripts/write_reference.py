#!/usr/bin/env python3
"""Write the generated parts of docs/: scenario, snapshot, states, tables; parts of match, studies, fidelity (.md).

    scripts/write_reference.py            write the files
    scripts/write_reference.py --check    only list outdated files; exit status 1 if there are any
"""

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from marked_tests import tests_of_rules

from simgrid_broker.advice import editions_of, readers
from simgrid_broker.cli.describe import broker_rules, recorded, timeout_sections
from simgrid_broker.cli.describe import state_sections as states_of
from simgrid_broker.cli.describe import tables as recorded_tables
from simgrid_broker.cli.scenario_keys import match_parts, parts, snapshot_parts, study_parts
from simgrid_broker.cli.text import Section
from simgrid_broker.dry_run.decision import OF_CANDIDATE, OF_DECISION
from simgrid_broker.gdpconfig import REGISTRY, GdpconfigKey
from simgrid_broker.systems.dirac.match.match import OF_MATCHING, OF_REQUEST, OF_TASK_QUEUE
from simgrid_broker.world.states import MACHINES, Machine, Move

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
BEGIN, END = "<!-- begin of what scripts/write_reference.py writes -->", "<!-- end of it -->"

SCENARIO_HEAD = """\
# Scenario reference

Written by `scripts/write_reference.py` from the models of the program; `simgrid-broker describe` prints the same.

A scenario is a YAML file. [scenarios/README.md](../scenarios/README.md) describes how files extend each other and how
work is written. A quantity may be a bare number in the unit of the table, or text with a unit: `72h`, `30 min`,
`2 days`; `10 GB`, `1.5 GiB`; `40 Gb/s`, `30 MB/s`; `5%`. `kB`, `MB` are powers of 1000, `KiB`, `MiB` of 1024, a small
`b` is a bit. A *quantity* (of work, sizes, memory) may be a bare value or a spread over tasks:
`{median: 780, sigma: 0.45, max: 5000}`. A dash in the column of defaults means that the key has no default. Unknown
keys are errors.
"""

GDPCONFIG_HEAD = """\
## gdpconfig

Keys of PanDA's and JEDI's gdpconfig, under `gdpconfig:` as `KEY: value` or `component.KEY: value`. `<...>` is
a placeholder for a name, `[...]` is optional. Keys without a reader, and those that the edition in force does not read,
are accepted, so that a configuration can be copied without changes, but have no effect; `check` and `run` list them.
"""

SNAPSHOT_HEAD = """\
# Snapshot reference

Written by `scripts/write_reference.py` from the models of the program; `simgrid-broker describe snapshot` prints the
same.

A snapshot is a YAML or JSON file: a grid, the statistics that brokers read at one moment, and tasks that wait for
brokerage. `simgrid-broker broker` and `simgrid_broker.broker` make one decision on it.
[scenarios/snapshot.yaml](../scenarios/snapshot.yaml) is an example; a run writes snapshots on request
(`record.snapshots`). `grid`, `shares`, `resource_types`, `gdpconfig` and `policies` are as in a
[scenario](scenario.md), as is the notation of quantities; storages have their space at that moment. A snapshot can
extend other files as a scenario can, and its grid can be read from CRIC's files. Omitted values are 0 or unknown.
Unknown keys are errors; keys that no rule reads, or none of the edition, are remarked with the reason.

The input of a task is said in short, as one fraction of bytes and files at each site, or exactly, file by file with the
replicas of its datasets. All tasks of one share and priority with remaining work at a nucleus count as one. A snapshot
written by a run holds job numbers and links as last read by JEDI, the jobs placed since then, and the current state of
storages. The number of jobs to broker is all remaining jobs; in a run the throttler may allow fewer.
"""

JSON_HEAD = """\
## JSON of a decision

`simgrid-broker broker --json` and `Decision.to_dict()` give one object.
"""

STATES_HEAD = """\
# Statuses of tasks and jobs

Written by `scripts/write_reference.py` from the tables by which the program moves tasks and jobs, and from the rules
that end jobs which stay too long as they are; `simgrid-broker describe states` and `describe timeouts` print the same.
Any other move ends the run with an error that shows the history of the task or job.
Datasets and files, which have no rows of their own in the simulator, are described in
[dataset_and_file_states.md](dataset_and_file_states.md).
"""

TABLES_HEAD = """\
# Recorded tables

Written by `scripts/write_reference.py` from the schema; `simgrid-broker describe jobs` etc. print the same. Each table
is a Parquet file in the folder of a run. A run that did not end has a folder of parts with the same name, which pandas
reads as one table (DuckDB: `jobs.parquet/*.parquet`). Codes are dictionary-encoded text. Times are seconds since the
start of the scenario.
"""


def documents() -> dict[Path, str]:
    """Every generated document as it should be."""
    fidelity = DOCS / "fidelity.md"
    match, studies = DOCS / "match.md", DOCS / "studies.md"
    return {DOCS / "scenario.md": scenario(), DOCS / "snapshot.md": snapshot(),
            DOCS / "states.md": states(), DOCS / "tables.md": tables(),
            match: between_marks(match.read_text(encoding="utf-8"), matching()),
            studies: between_marks(studies.read_text(encoding="utf-8"), study_files()),
            fidelity: between_marks(fidelity.read_text(encoding="utf-8"), rules())}


def scenario() -> str:
    """docs/scenario.md."""
    sections = [_markdown(part.section(), 2) for part in parts()]
    rows = [(entry.name, entry.type, _default(entry.default), entry.unit, entry.meaning,
             ", ".join(editions_of(entry)) or "-", ", ".join(readers().get(entry, ())))
            for entry in REGISTRY]
    keys = table(("key", "type", "default", "unit", "meaning", "editions", "read by"), rows, code=(0, 6))
    return "\n".join([SCENARIO_HEAD, *sections, GDPCONFIG_HEAD, keys])


def snapshot() -> str:
    """docs/snapshot.md."""
    json = [table(("field", "meaning"), list(rows.items()), code=(0,)) for rows in (OF_DECISION, OF_CANDIDATE)]
    return "\n".join([SNAPSHOT_HEAD, *(_markdown(part.section(), 2) for part in snapshot_parts()), JSON_HEAD, json[0],
                      "\n### candidates[] of a decision\n", json[1]])


def matching() -> str:
    """The keys and fields of docs/match.md."""
    json = [(title, table(("field", "meaning"), list(rows.items()), code=(0,))) for title, rows in (
        ("JSON of an answer", OF_MATCHING), ("requests[] of an answer", OF_REQUEST),
        ("task_queues[] of a request", OF_TASK_QUEUE))]
    return "\n".join([*(_markdown(part.section(), 2) for part in match_parts()),
                      *(f"## {title}\n\n{rows}" for title, rows in json)])


def study_files() -> str:
    """The keys of docs/studies.md."""
    return "\n".join(_markdown(part.section(), 2) for part in study_parts())


def states() -> str:
    """docs/states.md."""
    pieces = [STATES_HEAD]
    for machine, section in zip(MACHINES, states_of(), strict=True):
        pieces += [_markdown(section, 2), f"```mermaid\n{diagram(machine)}\n```\n", _markdown(moves(machine), 3)]
    pieces += [_markdown(section, 2) for section in timeout_sections()]
    return "\n".join(pieces)


def moves(machine: Machine) -> Section:
    """The moves of a machine, with the agent that makes each and its condition."""
    rows = tuple((whence(move), move.new.word, move.by, move.when) for move in machine.moves)
    head = ("from", "to", "by", "when")
    return Section(f"Moves of a {machine.title}", "Who makes each move, and when.", head, rows, machine.title)


def whence(move: Move) -> str:
    """The statuses from which a move is allowed, as text."""
    return move.whence or ", ".join(old.word for old in move.old)


def diagram(machine: Machine) -> str:
    """A machine as a Mermaid state diagram; moves from almost every status have one arrow from a group."""
    lines = ["stateDiagram-v2", "    direction LR"]
    groups = tuple(dict.fromkeys(move.whence for move in machine.moves if move.whence))
    lines += [f'    state "{text}" as group{number}' for number, text in enumerate(groups)]
    arrows = []
    for move in machine.moves:
        olds = [f"group{groups.index(move.whence)}"] if move.whence else [old.word for old in move.old]
        arrows += [f"    {old} --> {move.new.word}" for old in olds if old != move.new.word]
    return "\n".join([*lines, *dict.fromkeys(arrows)])


def tables() -> str:
    """docs/tables.md."""
    return "\n".join([TABLES_HEAD, *(_markdown(recorded(one), 2) for one in recorded_tables(of_others=False).values())])


def rules() -> str:
    """The broker rules as a table, with the tests whose markers name them."""
    tests = tests_of_rules(ROOT)
    rows = []
    for broker, function, editions in broker_rules():
        rule = function.rule
        tag = getattr(rule, "tag", None) or f"weight: {rule.name}"
        where = f"{function.__module__.removeprefix('simgrid_broker.')}.{function.__name__}"
        keys = ", ".join(f"`{key.name}`{_only(key, where, editions)}" for key, reading in readers().items()
                         if where in reading)
        files = ", ".join(dict.fromkeys(test.split("::")[0] for test in tests[where]))
        rows.append((broker, tag, rule.meaning, ", ".join(editions), keys, rule.source, where, files))
    head = ("broker", "tag or factor", "what it does", "editions", "gdpconfig", "source", "function", "tests")
    return table(head, rows, code=(1, 6, 7))


def _only(key: GdpconfigKey, where: str, editions: Sequence[str]) -> str:
    """The edition in which a rule of several editions reads a key, in parentheses; empty if it does in all of them."""
    reading = [edition for edition in editions if where in readers(edition).get(key, ())]
    return "" if len(reading) == len(editions) else f" ({', '.join(reading)})"


def between_marks(text: str, inside: str) -> str:
    """`text` with the part between the two marks replaced; raises ValueError if they are missing."""
    if BEGIN not in text or END not in text:
        raise ValueError(f"the marks {BEGIN!r} and {END!r} are missing")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    return f"{before}{BEGIN}\n\n{inside}\n{END}{after}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], code: Sequence[int]) -> str:
    """A Markdown table; columns whose positions are in `code` hold code, several pieces with commas between them."""
    lines = [head, ["---"] * len(head)]
    lines += [[_code(cell) if k in code else _plain(cell) for k, cell in enumerate(row)] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _markdown(section: Section, level: int) -> str:
    """A section with title, description and table; names are code."""
    rows = table(section.head, section.rows, code=(0,))
    return f"{'#' * level} {_plain(section.title)}\n\n{_plain(section.about)}\n\n{rows}"


def _plain(text: str) -> str:
    """Text with Markdown's special characters escaped; between backticks only bars are special."""
    pieces = text.split("`")
    return "`".join(re.sub(r"([|])" if k % 2 else r"([|<*_])", r"\\\1", piece) for k, piece in enumerate(pieces))


def _code(text: str) -> str:
    """Each element of a list as code, with bars escaped, which would end the cell."""
    return ", ".join("`" + piece.replace("|", "\\|") + "`" for piece in text.split(", ")) if text else ""


def _default(value: object) -> str:
    """The default of a key in YAML notation; a dash for none."""
    if value is None:
        return "-"
    return str(value).lower() if isinstance(value, bool) else str(value)


def main() -> int:
    """Write or check the documents; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    stale = {path: text for path, text in documents().items()
             if not path.is_file() or path.read_text(encoding="utf-8") != text}
    for path, text in stale.items():
        print(f"{'out of date' if check else 'written'}: {path.relative_to(ROOT)}")
        if not check:
            path.write_text(text, encoding="utf-8")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
