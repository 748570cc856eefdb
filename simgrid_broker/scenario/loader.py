"""Files to scenarios and snapshots.

What lives here: reading YAML files, `extends`, references to other files, and what the command line adds. What does
not: YAML itself (`yaml_lines`), setting single values (`overrides`) and everything that makes a draft a scenario
(`resolve`).
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from simgrid_broker.errors import Problem, ScenarioError, SnapshotError, nearest
from simgrid_broker.scenario.draft import Assignment, Draft, overlaid, value_at
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.scenario.origin import COMMAND_LINE, Origin
from simgrid_broker.scenario.overrides import from_command_line
from simgrid_broker.scenario.resolve import FILES, resolve
from simgrid_broker.scenario.snapshot import Snapshot
from simgrid_broker.scenario.yaml_lines import Document, read_yaml

EXTENDS = "extends"
"""Key at the top of a file that names the file on which it builds, or several, later ones over earlier ones."""


def load_scenario(path: str | Path, seed: int | None = None, until: float | str | None = None,
                  overrides: Iterable[str] = ()) -> Scenario:
    """The scenario in a YAML file, checked.

    seed and until replace `seed` and `duration`; overrides are texts `dotted.key=value` (see `overrides`). A file may
    say `extends: other.yaml`, or several in a list, later ones laid over earlier ones: mappings merge deeply, lists and
    single values replace, null removes an entry; the others must not themselves extend any. Files that a file names are
    relative to it. Raises ScenarioError with all problems.
    """
    draft, problems = _read(Path(path))
    assignments = [] if seed is None else [Assignment("seed", seed, COMMAND_LINE)]
    assignments += [] if until is None else [Assignment("duration", until, COMMAND_LINE)]
    assignments += _assignments(overrides, problems)
    return resolve(replace(draft, assignments=tuple(assignments)), problems)


def load_snapshot(path: str | Path, overrides: Iterable[str] = ()) -> Snapshot:
    """The snapshot in a YAML or JSON file, checked; overrides and `extends` as of a scenario. Raises SnapshotError."""
    try:
        draft, problems = _read(Path(path))
    except ScenarioError as error:
        raise SnapshotError(error.problems) from None
    assignments = _assignments(overrides, problems)
    return resolve(replace(draft, assignments=tuple(assignments)), problems, Snapshot)


def _assignments(overrides: Iterable[str], problems: list[Problem]) -> list[Assignment]:
    """What texts of the command line set; those that cannot be read go to `problems`."""
    assignments = []
    for text in overrides:
        try:
            assignments.append(from_command_line(text))
        except ValueError as error:
            problems.append(Problem("command line", None, text, None, str(error)))
    return assignments


def _read(path: Path) -> tuple[Draft, list[Problem]]:
    """The draft in a file, laid over those it extends; raises ScenarioError if one of them is not YAML at all."""
    draft, problems = _draft(path)
    if EXTENDS not in draft.values:
        return draft, problems
    place, names = draft.place((EXTENDS,)), draft.values[EXTENDS]
    draft = replace(draft, values={key: value for key, value in draft.values.items() if key != EXTENDS})
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise ScenarioError([*problems, Problem(place.file, place.line, EXTENDS, names,
                                                "expected the name of a file, or a list of names")])
    below = None
    for name in names:
        base, more = _base(path, name, Problem(place.file, place.line, EXTENDS, name, ""))
        below = base if below is None else overlaid(below, base)
        problems = [*problems, *more]
    return overlaid(below, draft), problems


def _base(path: Path, name: str, asked: Problem) -> tuple[Draft, list[Problem]]:
    """The draft in a file that the file `path` extends, and what is wrong with it."""
    base, problems = _draft(path.parent / name, asked)
    if EXTENDS in base.values:
        place = base.place((EXTENDS,))
        problems = [*problems, Problem(place.file, place.line, EXTENDS, base.values[EXTENDS],
                                       f"a file that {path} extends cannot itself extend another one")]
        base = replace(base, values={key: value for key, value in base.values.items() if key != EXTENDS})
    return base, problems


def _draft(path: Path, asked: Problem | None = None) -> tuple[Draft, list[Problem]]:
    """The draft in one file, and what is wrong with its YAML; `asked` is where the file was asked for."""
    document = read_yaml(_text(path, asked), str(path))
    if not isinstance(document.values, dict):
        empty = Problem(str(path), None, "", None, "expected a mapping (lines of `key: value`) at the top")
        raise ScenarioError(document.problems or [empty])
    marks = {key: Origin("file", str(path), line) for key, line in document.lines.items()}
    return Draft(_relative_to(path.parent, document), {(): Origin("file", str(path)), **marks}), document.problems


def _text(path: Path, asked: Problem | None) -> str:
    """Text of a scenario file; raises ScenarioError if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ScenarioError([Problem(str(path), None, "", None, "the file is not text in UTF-8")]) from None
    except OSError as error:
        there = sorted(other.name for other in path.parent.glob("*.y*ml")) if path.parent.is_dir() else []
        problem = asked or Problem(str(path), None, "", None, "")
        raise ScenarioError([replace(problem, expected=f"cannot be read: {error.strerror or error}",
                                     nearest=nearest(path.name, there))]) from None


def _relative_to(folder: Path, document: Document) -> dict:
    """The values of a document in which the files that it names are looked for in `folder`."""
    values = document.values
    for key in FILES:
        holder = value_at(values, key[:-1])
        if isinstance(holder, dict) and isinstance(holder.get(key[-1]), str):
            holder[key[-1]] = str(folder / holder[key[-1]])
    return values
