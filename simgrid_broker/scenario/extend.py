"""Reading a file with the files that it extends, and laying one over another."""

from dataclasses import replace
from functools import reduce
from pathlib import Path

from simgrid_broker.errors import Problem, ScenarioError, nearest
from simgrid_broker.files import read_bytes
from simgrid_broker.scenario.gdpconfig import laid_over
from simgrid_broker.scenario.locate import Draft, Key, Origin, dotted, keys_of, value_at
from simgrid_broker.scenario.yaml_lines import Document, read_yaml

EXTENDS = "extends"
"""Key at the top of a file that names the file on which it builds, or several, later ones over earlier ones."""

MOST_BYTES = 64 << 20
"""Largest scenario file, bytes: YAML of this size takes minutes and gigabytes to read."""

FILES: tuple[Key, ...] = (("grid", "pandaqueues"), ("grid", "rses"), ("grid", "closeness"),
                          ("workload", "trace", "file"), ("grid", "software"))
"""Keys whose values are files."""


def read(path: Path, asked: Problem | None = None, above: tuple[Path, ...] = ()) -> tuple[Draft, list[Problem]]:
    """The draft in a file, laid over those it extends; raises ScenarioError if one of them is not YAML at all.

    asked: where another file asks for it; above: the files that extend it, by way of one another.
    """
    draft, problems = _draft(path, asked)
    if EXTENDS not in draft.values:
        return draft, problems
    place, names = draft.place((EXTENDS,)), draft.values[EXTENDS]
    draft = replace(draft, values={key: value for key, value in draft.values.items() if key != EXTENDS})
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise ScenarioError([*problems, Problem(place.file, place.line, EXTENDS, names,
                                                "expected the name of a file, or a list of names")])
    drafts, below = [], (*above, path.resolve())
    for name in names:
        asked = Problem(place.file, place.line, EXTENDS, name, "")
        if (path.parent / name).resolve() in below:
            raise ScenarioError([*problems, replace(asked, expected="the files extend one another in a circle")])
        base, more = read(path.parent / name, asked, below)
        drafts.append(base)
        problems = [*problems, *more]
    return reduce(overlaid, [*drafts, draft]), problems


def _draft(path: Path, asked: Problem | None = None) -> tuple[Draft, list[Problem]]:
    """The draft in one file, and what is wrong with its YAML; `asked` is where the file was asked for."""
    document = read_yaml(text_of(path, asked), str(path))
    if not isinstance(document.values, dict):
        empty = Problem(str(path), None, "", None, "expected a mapping (lines of `key: value`) at the top")
        raise ScenarioError(document.problems or [empty])
    marks = {key: Origin("file", str(path), line) for key, line in document.lines.items()}
    return Draft(_relative_to(path.parent, document), {(): Origin("file", str(path)), **marks}), document.problems


def text_of(path: Path, asked: Problem | None = None) -> str:
    """Text of a scenario file; raises ScenarioError if it cannot be read."""
    try:
        return read_bytes(path, MOST_BYTES).decode()
    except UnicodeDecodeError:
        raise ScenarioError([Problem(str(path), None, "", None, "the file is not text in UTF-8")]) from None
    except OSError as error:
        there = sorted(other.name for other in path.parent.glob("*.y*ml")) if path.parent.is_dir() else []
        problem = asked or Problem(str(path), None, "", None, "")
        raise ScenarioError([replace(problem, expected=f"cannot be read: {error.strerror or error}",
                                     nearest=nearest(path.name, there))]) from None


def missing_files(draft: Draft) -> list[Problem]:
    """A problem for each missing file that the scenario names."""
    problems = []
    for key in FILES:
        file = value_at(draft.values, key)
        if isinstance(file, str) and not Path(file).is_file():
            folder = Path(file).parent
            there = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
            problems.append(draft.place(key).problem(dotted(key), file, "there is no such file",
                                                     nearest(Path(file).name, there)))
    return problems


def _relative_to(folder: Path, document: Document) -> dict:
    """The values of a document in which the files that it names are looked for in `folder`."""
    values = document.values
    for key in FILES:
        holder = value_at(values, key[:-1])
        if isinstance(holder, dict) and isinstance(holder.get(key[-1]), str):
            holder[key[-1]] = str(folder / holder[key[-1]])
    return values


def overlaid(base: Draft, over: Draft) -> Draft:
    """`over` laid over `base`: mappings merge, everything else replaces, None removes an entry that `base` has."""
    below = dict(base.values)
    if isinstance(below.get("gdpconfig"), dict) and isinstance(over.values.get("gdpconfig"), dict):
        below["gdpconfig"] = laid_over(below["gdpconfig"], over.values["gdpconfig"])
    values = merged(below, over.values)
    marks = {key: over.marks.get(key) or base.marks[key] for key in keys_of(values)
             if key in over.marks or key in base.marks}
    return Draft(values, marks)


def merged(base, over):
    """The value `over` laid over the value `base`."""
    if not isinstance(base, dict) or not isinstance(over, dict):
        return over
    result = dict(base)
    for name, value in over.items():
        if value is None and name in base:
            del result[name]
        else:
            result[name] = merged(base.get(name), value)
    return result
