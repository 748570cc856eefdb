"""Files of a scenario as plain values with the line of every key, laid over those that they extend.

Scalars follow YAML 1.2, because in YAML 1.1 `ON` and `OFF` (CRIC's words for storages) are booleans, `1e9` is text and
`12:30` is 750. An underscore may separate digits. Keys of mappings are always text; duplicate keys are errors.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any

import yaml

from simgrid_broker.errors import Problem, ScenarioError, nearest
from simgrid_broker.files import MANIFEST, names_in, read_bytes, refuse_outside
from simgrid_broker.scenario.gdpconfig import laid_over
from simgrid_broker.scenario.loading.origins import Draft, Key, Origin, dotted, keys_of, value_at

PACKAGE = Path(__file__).parents[2]
FOLDER = next((path for path in (PACKAGE / "scenarios", PACKAGE.parent / "scenarios") if path.is_dir()), None)
"""Folder of the scenarios that come with the package, beside it in a checkout, inside it in an installation; each file
may extend others. None if they were not installed.
"""
_PREFIX = "tag:yaml.org,2002:"
_DIGITS = "[0-9]+(?:_[0-9]+)*"
_SCALARS = (
    ("null", r"~|null|Null|NULL|", ("~", "n", "N", "")),
    ("bool", r"true|True|TRUE|false|False|FALSE", ("t", "T", "f", "F")),
    ("int", rf"[-+]?{_DIGITS}", tuple("-+0123456789")),
    ("float", rf"[-+]?(?:\.{_DIGITS}|{_DIGITS}(?:\.(?:{_DIGITS})?)?)(?:[eE][-+]?[0-9]+)?", tuple("-+.0123456789")),
    ("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", tuple("-+.")),
)

_READERS: dict[str, Callable[[str], Any]] = {
    "str": str, "null": lambda text: None, "bool": lambda text: text.lower() == "true", "int": int,
    "float": lambda text: float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))}


class _Loader(yaml.CSafeLoader):
    yaml_implicit_resolvers = {}


for _tag, _pattern, _first in _SCALARS:
    _Loader.add_implicit_resolver(_PREFIX + _tag, re.compile(f"(?:{_pattern})$"), list(_first))


MOST_LEVELS = 100
"""Deepest nesting of a document; libyaml itself would overflow its stack at some ten thousand levels."""
TOO_DEEP = f"nested too deeply: at most {MOST_LEVELS} levels are read"
OF_DEPTH = "maximum nesting depth"
"""Words of the limit that newer versions of libyaml have themselves."""
MOST_REPEATED = 50_000
"""Most values that aliases may repeat; a few lines of nested aliases can describe billions."""


class _TooMuch(Exception):
    """A document that would need more time and memory than its size suggests; carries a node or event and why."""


@dataclass
class Document:
    """Content of a text: values, the line of each key (steps from the top), and the problems of its form."""

    values: Any = None
    lines: dict[tuple[str | int, ...], int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def read_yaml(text: str, file: str | None) -> Document:
    """The one YAML document in `text`; problems name `file`."""
    document = Document()
    try:
        node = composed(text)
        if node is not None:
            document.values = _Builder(file, document).value(node, ())
    except yaml.YAMLError as error:
        document.problems.append(_syntax_problem(error, file))
    except _TooMuch as error:
        place, why = error.args
        document.problems.append(Problem(file, place.start_mark.line + 1, "", None, why))
    return document


def composed(text: str) -> yaml.Node | None:
    """The nodes of the one YAML document in `text`, with their places; raises YAMLError, and `_TooMuch` if too deep."""
    _refuse_deep(text)
    return yaml.compose(text, Loader=_Loader)


def read_value(text: str) -> object:
    """The value of a text in YAML; raises ValueError with the problem."""
    document = read_yaml(text, None)
    if document.problems:
        raise ValueError(document.problems[0].expected)
    return document.values


def _refuse_deep(text: str) -> None:
    """Raise _TooMuch at the first value that lies deeper than `MOST_LEVELS`, before nodes are made of it."""
    level = 0
    for event in yaml.parse(text, Loader=_Loader):
        level += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if level > MOST_LEVELS:
            raise _TooMuch(event, TOO_DEEP)


class _Builder:
    """Turns the nodes of one document into values, noting lines and problems."""

    def __init__(self, file: str | None, document: Document):
        self.file, self.document = file, document
        self.open, self.seen = set[int](), set[int]()
        self.repeated = 0

    def value(self, node, key):
        """Value of the node at `key`; raises _TooMuch where aliases repeat too much."""
        self.count(node, key)
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node, key)
        if id(node) in self.open:
            return self.problem(node, key, "an alias must not contain itself")
        self.open.add(id(node))
        build = self.mapping if isinstance(node, yaml.MappingNode) else self.sequence
        value = build(node, key)
        self.open.remove(id(node))
        return value

    def count(self, node, key) -> None:
        """Count the values that aliases repeat, and the levels that they add."""
        self.repeated += id(node) in self.seen
        self.seen.add(id(node))
        if self.repeated > MOST_REPEATED or len(key) > MOST_LEVELS:
            raise _TooMuch(node, f"aliases repeat more than {MOST_REPEATED:,} values or {MOST_LEVELS} levels")

    def mapping(self, node, key):
        """A dict; a repeated key is a problem, and its first value counts."""
        values = {}
        for name_node, value_node in node.value:
            if not isinstance(name_node, yaml.ScalarNode):
                self.problem(name_node, key, "a key must be text")
                continue
            name = name_node.value
            if name in values:
                first = self.document.lines[*key, name]
                self.problem(name_node, (*key, name), f"written a second time; the first is on line {first}")
                continue
            self.document.lines[*key, name] = name_node.start_mark.line + 1
            values[name] = self.value(value_node, (*key, name))
        return values

    def sequence(self, node, key):
        """A list."""
        values = []
        for position, item in enumerate(node.value):
            self.document.lines[*key, position] = item.start_mark.line + 1
            values.append(self.value(item, (*key, position)))
        return values

    def scalar(self, node, key):
        """Text, number, bool or None."""
        kind = node.tag.removeprefix(_PREFIX)
        try:
            return _READERS[kind](node.value)
        except KeyError:
            return self.problem(node, key, f"the tag {node.tag} is not understood")
        except ValueError:
            return self.problem(node, key, f"{node.value[:40]!r} is not of the type {kind}")

    def problem(self, node, key, expected: str) -> None:
        """Note a problem at the line of `node`."""
        self.document.problems.append(Problem(self.file, node.start_mark.line + 1, dotted(key), None, expected))


def _syntax_problem(error: yaml.YAMLError, file: str | None) -> Problem:
    mark = getattr(error, "problem_mark", None)
    what = getattr(error, "problem", None) or str(error).splitlines()[0]
    said = TOO_DEEP if OF_DEPTH in what else f"this is not YAML: {what}"
    return Problem(file, mark.line + 1 if mark else None, "", None, said)


EXTENDS = "extends"
"""Key at the top of a file that names the file on which it builds, or several, later ones over earlier ones."""

MOST_BYTES = 64 << 20
"""Largest scenario file, bytes: YAML of this size takes minutes and gigabytes to read."""

FILES: tuple[Key, ...] = (("grid", "pandaqueues"), ("grid", "rses"), ("grid", "closeness"),
                          ("workload", "trace", "file"), ("grid", "software"))
"""Keys whose values are files."""


@dataclass(frozen=True)
class Source:
    """Where a scenario is read: its file, and the text read in its place, None = what the file holds.

    asked: where another file asks for it; above: the files that extend it, by way of one another.
    """

    path: Path
    text: str | None = None
    asked: Problem | None = None
    above: tuple[Path, ...] = ()

    def extended(self, name: str, asked: Problem) -> "Source":
        """The source of a file that this one extends, or of a shipped scenario by its name."""
        return Source(located(name, self.path.parent), None, asked, (*self.above, self.path.resolve()))


def read(source: Source) -> tuple[Draft, list[Problem]]:
    """The draft in a file, laid over those it extends; raises ScenarioError if one of them is not YAML at all."""
    draft, problems = _draft(source)
    if EXTENDS not in draft.values:
        return draft, problems
    place, names = draft.place((EXTENDS,)), draft.values[EXTENDS]
    draft = replace(draft, values={key: value for key, value in draft.values.items() if key != EXTENDS})
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise ScenarioError([*problems, Problem(place.file, place.line, EXTENDS, names,
                                                "expected the name of a file, or a list of names")])
    drafts = []
    for name in names:
        asked = Problem(place.file, place.line, EXTENDS, name, "")
        below = source.extended(name, asked)
        if below.path.resolve() in below.above:
            raise ScenarioError([*problems, replace(asked, expected="the files extend one another in a circle")])
        base, more = read(below)
        drafts.append(base)
        problems = [*problems, *more]
    return reduce(overlaid, [*drafts, draft]), problems


def _draft(source: Source) -> tuple[Draft, list[Problem]]:
    """The draft in one file, and what is wrong with its YAML."""
    file = str(source.path)
    document = read_yaml(text_of(source.path, source.asked) if source.text is None else source.text, file)
    if not isinstance(document.values, dict):
        empty = Problem(file, None, "", None, "expected a mapping (lines of `key: value`) at the top")
        raise ScenarioError(document.problems or [empty])
    marks = {key: Origin("file", file, line) for key, line in document.lines.items()}
    return Draft(_relative_to(source.path.parent, document), {(): Origin("file", file), **marks}), document.problems


def of_run(folder: Path) -> tuple[Draft, list[Problem]]:
    """The scenario that a run had, with its seed, its settings and its grid as it was written out.

    Raises ScenarioError if the manifest of the run cannot be read.
    """
    path = folder / MANIFEST
    try:
        values = json.loads(text_of(path))["scenario"]
        marks = dict.fromkeys(((), *keys_of(values)), Origin("file", str(path)))
    except (ValueError, TypeError, KeyError, AttributeError):
        raise ScenarioError([Problem(str(path), None, "scenario", None, "this is not the manifest of a run")]) from None
    return Draft(values, marks, expanded=True), []


def text_of(path: Path, asked: Problem | None = None) -> str:
    """Text of a scenario file; raises ScenarioError if it cannot be read."""
    try:
        return read_bytes(path, MOST_BYTES).decode()
    except UnicodeDecodeError:
        raise ScenarioError([Problem(str(path), None, "", None, "the file is not text in UTF-8")]) from None
    except OSError as error:
        there = names_in(path.parent, "*.y*ml") + ([] if path.parent.name else list(files()))
        problem = asked or Problem(str(path), None, "", None, "")
        raise ScenarioError([replace(problem, expected=f"cannot be read: {error.strerror or error}",
                                     nearest=nearest(path.name, there))]) from None


def missing_files(draft: Draft) -> list[Problem]:
    """A problem for each missing file that the scenario names."""
    problems = []
    for key in FILES:
        file = value_at(draft.values, key)
        if isinstance(file, str) and (missing := _missing(Path(file))):
            problems.append(draft.place(key).problem(dotted(key), file, missing,
                                                     nearest(Path(file).name, names_in(Path(file).parent))))
    return problems


def _missing(path: Path) -> str:
    """Reason for which there is no file to read at a path; empty if there is one."""
    try:
        refuse_outside(path)
    except OSError as error:
        return str(error.strerror)
    return "" if path.is_file() else "there is no such file"


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


def files() -> dict[str, Path]:
    """Paths of the scenarios and snapshots by name, in alphabetical order."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.yaml"))} if FOLDER else {}


def located(path: str | Path, folder: Path = Path()) -> Path:
    """A path relative to a folder, or that of a shipped scenario if it is only the name of one and no file is there."""
    path, there = Path(path), folder / path
    return there if there.exists() or path.parent.name else files().get(path.name.removesuffix(".yaml"), there)
