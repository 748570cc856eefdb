#!/usr/bin/env python3
"""Write the generated parts of docs/: scenario, snapshot, gdpconfig, states, tables, options, python, cite; parts of
match and studies (.md); the rule book, rules/.

    scripts/write_reference.py            write the files
    scripts/write_reference.py --check    only list outdated files; exit status 1 if there are any
"""

import argparse
import re
import sys
from collections.abc import Iterator
from inspect import getdoc, isclass, isfunction, signature
from pathlib import Path
from typing import Any

import rule_book
import yaml
from markdown_tables import plain, table
from pydantic import BaseModel
from typer import Context
from typer.main import get_command

import simgrid_broker
from simgrid_broker.advice import editions_of, readers
from simgrid_broker.cli.app import PROGRAM, app
from simgrid_broker.cli.describe import recorded, timeout_sections
from simgrid_broker.cli.describe import state_sections as states_of
from simgrid_broker.cli.describe import tables as recorded_tables
from simgrid_broker.cli.scenario_keys import match_parts, parts, snapshot_parts, study_parts
from simgrid_broker.cli.text import Section
from simgrid_broker.dry_run.decision import OF_CANDIDATE, OF_DECISION
from simgrid_broker.gdpconfig import REGISTRY
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
# Keys of gdpconfig

Written by `scripts/write_reference.py` from the registry of the program; `simgrid-broker gdpconfig KEY` prints the
same.

Keys of PanDA's and JEDI's gdpconfig by component, under `gdpconfig:` of a [scenario](scenario.md) as `KEY: value` or
`component.KEY: value`, or by `--set gdpconfig.KEY=VALUE`. `<...>` is a placeholder for a name, `[...]` is optional. A
dash in the column of defaults means that the key is not set. Keys without a reader, and those that the edition in force
does not read, are accepted, so that a configuration can be copied without changes, but have no effect; `check` and
`run` list them. The column of readers names the functions of the [rule book](rules/index.md).
"""

OPTIONS_HEAD = """\
# Options of all commands

Written by `scripts/write_reference.py` from the program; `simgrid-broker COMMAND --help` prints the same.
[Commands](commands.md) says what each is for.
"""

CITATION = """\
# How to cite

Written by `scripts/write_reference.py` from `CITATION.cff`, which reference managers read.

```bibtex
@software{{simgrid_broker,
  author  = {{{author}}},
  title   = {{{title}}},
  version = {{{version}}},
  license = {{{license}}}
}}
```

Name the version that made your figures (`simgrid-broker --version`), the scenario with the keys that were changed, the
seeds and the edition: `manifest.json` of a run has all of them. A figure that was reached by setting a key is fitted,
one that follows from published input and defaults is predicted; say which ([what is simplified](how/simplified.md)).
The papers whose rules and figures are used are listed in [fidelity](fidelity.md) and in
[the scenarios](../scenarios/README.md).
"""

PYTHON_HEAD = """\
# Python

Written by `scripts/write_reference.py` from the docstrings of the program. `import simgrid_broker as sb` gives all of
it; each name is imported at first use. [Own policies and agents](policies.md) describes what a package of your own may
add.
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
    match, studies = DOCS / "match.md", DOCS / "studies.md"
    return {DOCS / "scenario.md": scenario(), DOCS / "snapshot.md": snapshot(),
            DOCS / "states.md": states(), DOCS / "tables.md": tables(), DOCS / "gdpconfig.md": gdpconfig(),
            DOCS / "options.md": options(), DOCS / "python.md": python(), DOCS / "cite.md": citation(),
            **rule_book.book(ROOT),
            match: between_marks(match.read_text(encoding="utf-8"), matching()),
            studies: between_marks(studies.read_text(encoding="utf-8"), study_files())}


def scenario() -> str:
    """docs/scenario.md."""
    return "\n".join([SCENARIO_HEAD, *(_markdown(part.section(), 2) for part in parts())])


def gdpconfig() -> str:
    """docs/gdpconfig.md, a table for each component."""
    pieces = [GDPCONFIG_HEAD]
    for component in sorted({entry.component for entry in REGISTRY}, key=str.lower):
        rows = [(entry.key, entry.type, _default(entry.default), entry.unit,
                 "; ".join(filter(None, (entry.meaning, entry.effect))), ", ".join(editions_of(entry)) or "-",
                 ", ".join(readers().get(entry, ()))) for entry in REGISTRY if entry.component == component]
        head = "key", "type", "default", "unit", "meaning", "editions", "read by"
        pieces.append(f"## {component}\n\n" + table(head, rows, code=(0, 6)))
    return "\n".join(pieces)


def options() -> str:
    """docs/options.md, a section for each command."""
    return "\n".join([OPTIONS_HEAD, *(_command(words, one) for words, one in commands(get_command(app), PROGRAM))])


def commands(group: Any, words: str) -> Iterator[tuple[str, Any]]:
    """Every command with its words, groups replaced by their commands."""
    context = Context(group)
    for name in group.list_commands(context):
        one = group.get_command(context, name)
        said = f"{words} {name}"
        yield from commands(one, said) if hasattr(one, "list_commands") else [(said, one)]


def _command(words: str, one: Any) -> str:
    """A command as a section: usage, help, arguments, options, examples."""
    arguments = [each for each in one.params if each.param_type_name == "argument"]
    rows = [(_spelled(each), _default(each.default) if getattr(each, "show_default", None) else "",
             getattr(each, "help", None) or "") for each in one.params]
    usage = " ".join([words, *(str(each.metavar) for each in arguments), "[OPTIONS]"])
    examples = (one.epilog or "").replace("\b", "").strip()
    shown = f"\n```text\n{examples}\n```\n" if examples else ""
    return (f"## {words.removeprefix(f'{PROGRAM} ')}\n\n`{usage}`\n\n{plain(one.help or '')}\n\n"
            + table(("option", "default", "meaning"), rows, code=(0,)) + shown)


def _spelled(option: Any) -> str:
    """An argument or option as it is written on the command line."""
    if option.param_type_name == "argument":
        return str(option.metavar)
    return " ".join(filter(None, (", ".join(option.opts), option.metavar)))


def python() -> str:
    """docs/python.md: the names of the package, then those of its metrics."""
    names = [name for name in simgrid_broker.__all__ if name != "metrics"]
    figures = [name for name, value in vars(simgrid_broker.metrics).items() if isfunction(value) and name[0] != "_"]
    return "\n".join([PYTHON_HEAD, "## simgrid_broker\n",
                      *(_public(name, getattr(simgrid_broker, name)) for name in names),
                      f"## simgrid_broker.metrics\n\n{plain(getdoc(simgrid_broker.metrics) or '')}\n",
                      *(_public(name, getattr(simgrid_broker.metrics, name)) for name in figures)])


def _public(name: str, value: object) -> str:
    """A function or class as a section; of a class also its public methods and properties."""
    kind = "class" if isclass(value) else "def"
    text = f"### {name}\n\n```python\n{kind} {name}{_signature(value)}\n```\n\n{plain(getdoc(value) or '')}\n"
    own = [(each, of) for each, of in vars(value).items() if getdoc(of) and not each.startswith(("_", "model_"))
           and (isfunction(of) or hasattr(of, "fget"))] if isclass(value) else []
    return text + "".join(f"\n- `{name}.{each}{_signature(of) if isfunction(of) else ''}`: {plain(getdoc(of) or '')}\n"
                          for each, of in own)


def _signature(value: object) -> str:
    """The arguments of a function or class with the last names of their types; empty for errors."""
    if isclass(value) and issubclass(value, (Exception, BaseModel)):
        return ""
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z])", "", str(signature(value))) if callable(value) else ""


def citation() -> str:
    """docs/cite.md, from CITATION.cff."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    author = " and ".join(f"{{{one['name']}}}" for one in cited["authors"])
    return CITATION.format(author=author, **{key: cited[key] for key in ("title", "version", "license")})


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


def between_marks(text: str, inside: str) -> str:
    """`text` with the part between the two marks replaced; raises ValueError if they are missing."""
    if BEGIN not in text or END not in text:
        raise ValueError(f"the marks {BEGIN!r} and {END!r} are missing")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    return f"{before}{BEGIN}\n\n{inside}\n{END}{after}"


def _markdown(section: Section, level: int) -> str:
    """A section with title, description and table; names are code."""
    rows = table(section.head, section.rows, code=(0,))
    return f"{'#' * level} {plain(section.title)}\n\n{plain(section.about)}\n\n{rows}"


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
