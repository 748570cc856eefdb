"""Edits of the text of a scenario file, in which nothing but the edited value changes: not a comment, quote or blank.

The places of values are those of the loader's own nodes. Every edit is read back: it is done only if the text then has
the value that was meant and all others as before.
"""

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import yaml

from simgrid_broker.errors import ScenarioError
from simgrid_broker.scenario import Scenario
from simgrid_broker.scenario.importers.grid_file import block
from simgrid_broker.scenario.loading.documents import EXTENDS, Source, composed, read, read_value, read_yaml
from simgrid_broker.scenario.loading.origins import PYTHON, Assignment, Draft, Key, dotted, value_at
from simgrid_broker.scenario.loading.set_values import NoSuchKey, assigned, located, spread
from simgrid_broker.scenario.loading.validate import bare, inside, is_part

PLAIN_NAME = re.compile(r"[A-Za-z_](?:[\w .*/-]*[\w*/])?")
"""Names that YAML reads as text without quotes."""
INDENT = 2


class CannotEdit(NoSuchKey):
    """An edit that the form cannot do: the key names nothing, or the text holds the value in a way of its own."""


@dataclass(frozen=True)
class ScenarioText:
    """The text of a scenario file, read with the files that it extends; all edits return another one.

    source: where it is read; its text is never None. Raises ScenarioError where a file cannot be read as YAML.
    """

    source: Source

    @property
    def text(self) -> str:
        """The text itself."""
        return self.source.text or ""

    @cached_property
    def nodes(self) -> "_Nodes":
        """Nodes of the text, with their places."""
        return _Nodes(self.text)

    @cached_property
    def own(self) -> dict:
        """Values of this text alone; raises ScenarioError."""
        document = read_yaml(self.text, str(self.source.path))
        if document.problems or not isinstance(document.values, dict | None):
            read(self.source)                                                       # says what is wrong
            raise ScenarioError(document.problems)
        return document.values or {}

    @cached_property
    def base(self) -> Draft:
        """Draft of the files that this one extends, empty if there are none."""
        named = self.own.get(EXTENDS)
        if named is None:
            return Draft({})
        draft, _ = read(replace(self.source, text=json.dumps({EXTENDS: named})))
        return draft

    @cached_property
    def draft(self) -> Draft:
        """Values of this text laid over those that it extends, each with its origin."""
        return read(self.source)[0]

    def set(self, key: str, written: str) -> "ScenarioText":
        """The text with a value, written as in YAML, at a dotted key of `--set`.

        A list of another file is copied here with the change. Raises CannotEdit, ValueError for what is not YAML.
        """
        value = read_value(written)
        return reduce(lambda text, name: text._set(name, written, value), self._keys(key), self)

    def added(self, key: str, written: str) -> "ScenarioText":
        """The text with one more element, written as in YAML, in the list at a dotted key."""
        steps, value = self.located(key), read_value(written)
        here = value_at(self.draft.values, steps)
        if not isinstance(here, list) and here is not None:
            raise CannotEdit(f"{key} is not a list")
        if isinstance(value_at(self.own, steps), list):
            return self._written((*steps, len(here or ())), value, written)
        return self._written(steps, [*(here or ()), value])

    def removed(self, key: str) -> "ScenarioText":
        """The text without the value at a dotted key: what other files or the defaults say then holds.

        What only other files have is removed by a null here, and an element of their lists by a list of the others.
        """
        steps = self.located(key)
        if _has(self.own, steps):
            return self._cut(steps)
        if not _has(self.draft.values, steps):
            raise CannotEdit(f"{key} has no value")
        if (upto := _list_on(self.draft.values, steps)) is None:
            return self._written(steps, None)
        whole = deepcopy(value_at(self.draft.values, upto))
        del value_at(whole, steps[len(upto):-1])[steps[-1]]
        return self._written(upto, whole)

    def written(self, key: Key) -> str | None:
        """The value at a key as this text writes it, None if it is not here or fills several lines."""
        node = self.nodes.at(key)
        found = None if node is None else self.text[node.start_mark.index:_end(node, self.text)]
        return None if found is None or "\n" in found else found

    def located(self, key: str) -> Key:
        """The steps to the value at a dotted key; raises CannotEdit."""
        try:
            return located(self.draft.values, key)
        except NoSuchKey as error:
            raise CannotEdit(f"{key}: {error}", error.nearest) from None

    def _keys(self, key: str) -> list[str]:
        try:
            return spread(self.draft.values, key)
        except NoSuchKey as error:
            raise CannotEdit(str(error), error.nearest) from None

    def _set(self, key: str, written: str, value: Any) -> "ScenarioText":
        """As `set`, for one key."""
        if value is None:
            return self.removed(key)
        steps = self.located(key)
        after = assigned(self.draft, Assignment(key, value, PYTHON)).values
        upto = self._writes(steps)
        there = self._written(steps, value, written) if upto is None else self._written(upto, value_at(after, upto))
        names = [values.get("gdpconfig") for values in (self.own, after)]
        mine, rest = ({*named} if isinstance(named, dict) else set() for named in names)
        spare = sorted(mine - rest)                                                     # other names of the key
        return reduce(lambda text, name: text._cut(("gdpconfig", name)), spare, there)

    def _writes(self, steps: Key) -> Key | None:
        """Key of the outermost value that has to be written whole to hold one at `steps`; None if just that one."""
        for length in range(1, len(steps)):
            mine, whole = value_at(self.own, steps[:length]), value_at(self.draft.values, steps[:length])
            if not isinstance(mine, dict | list) and (isinstance(whole, list) or not isinstance(whole, dict | None)):
                return steps[:length]
        return None

    def _written(self, key: Key, value: Any, written: str | None = None) -> "ScenarioText":
        """The text with `value` at a key, as `written` where that reads back, else as YAML writes it."""
        meant = _with(self.own, key, value)
        flow = yaml.safe_dump(value, default_flow_style=True, width=10 ** 6, allow_unicode=True)
        for text in (written, block(value), flow.removesuffix("...\n").strip()):
            if text is not None and (made := _placed(self.nodes, key, text.strip())) is not None:
                if (there := self._meaning(made, meant)) is not None:
                    return there
        raise _not_here(key)

    def _cut(self, key: Key) -> "ScenarioText":
        """The text without the value at a key, and without what only held it."""
        while len(key) > 1 and len(value_at(self.own, key[:-1])) == 1 and self._is_spare(key[:-1]):
            key = key[:-1]
        around = value_at(self.own, key[:-1])
        if key[:-1] and len(around) == 1:
            return self._written(key[:-1], type(around)())
        meant = deepcopy(self.own)
        del value_at(meant, key[:-1])[key[-1]]
        there = self._meaning(self.nodes.without(key), meant)
        if there is None:
            raise _not_here(key)
        return there

    def _is_spare(self, key: Key) -> bool:
        """True if a mapping at a key means nothing when it is empty: a part with a default, or one of another file."""
        if not isinstance(value_at(self.own, key), dict):
            return False
        kind: Any = Scenario
        for step in key[:-1]:
            kind = inside(kind, step)
        return isinstance(value_at(self.base.values, key), dict) or is_part(bare(kind)) and (
            not bare(kind).model_fields[str(key[-1])].is_required())

    def _meaning(self, text: str | None, meant: dict) -> "ScenarioText | None":
        """A text that has just the values meant; None if it has others, or is not YAML."""
        if text is None:
            return None
        document = read_yaml(text, None)
        same = not document.problems and repr(document.values or {}) == repr(meant)
        return ScenarioText(replace(self.source, text=text)) if same else None


def _not_here(key: Key) -> CannotEdit:
    return CannotEdit(f"{dotted(key)} is written in a way that the form does not edit (an alias, or a text of several "
                      "lines); change it in the text")


def _has(values: Any, key: Key) -> bool:
    """True if there is a value at a key, null included."""
    around = value_at(values, key[:-1])
    return isinstance(around, dict) and key[-1] in around or isinstance(around, list) and (
        isinstance(key[-1], int) and 0 <= key[-1] < len(around))


def _list_on(values: dict, key: Key) -> Key | None:
    """Key of the outermost list on the way to a value."""
    return next((key[:length] for length in range(1, len(key)) if isinstance(value_at(values, key[:length]), list)),
                None)


def _with(values: dict, key: Key, value: Any) -> dict:
    """A copy of values with one at a key, in mappings that are made where they are missing."""
    whole: Any = deepcopy(values)
    here = whole
    for step, following in zip(key, key[1:], strict=False):
        if isinstance(here, dict) and not isinstance(here.get(step), dict | list):
            here[step] = [] if isinstance(following, int) else {}
        here = here[step]
    if isinstance(here, list) and key[-1] == len(here):
        here.append(value)
    else:
        here[key[-1]] = value
    return whole


def _placed(nodes: "_Nodes", key: Key, written: str) -> str | None:
    """The text of some nodes with the YAML `written` at a key; None where it cannot be there."""
    present = next(length for length in range(len(key), -1, -1) if nodes.at(key[:length]) is not None or not length)
    rest, around = key[present:], nodes.at(key[:present])
    if not rest:
        return nodes.replaced(key, written)
    for step in reversed(rest[1:]):
        written = _in_flow(step, written) if around is not None and _is_flow(around) else _entry(step, written)
    if isinstance(around, yaml.ScalarNode):
        return nodes.replaced(key[:present], _entry(rest[0], written)) if around.value in ("", "~", "null") else None
    return nodes.extended(key[:present], rest[0], written)


def _entry(step: str | int, written: str) -> str:
    """A value as the only entry of a mapping or list, in block style."""
    if isinstance(step, int):
        return f"- {_moved(written, INDENT)}"
    name = step if PLAIN_NAME.fullmatch(step) else json.dumps(step, ensure_ascii=False)
    return f"{name}:\n{' ' * INDENT}{_moved(written, INDENT)}" if _is_block(written) else f"{name}: {written}"


def _in_flow(step: str | int, written: str) -> str:
    """A value as the only entry of a mapping or list, in braces or brackets."""
    return f"[{written}]" if isinstance(step, int) else "{" + _entry(step, written) + "}"


def _is_block(written: str) -> bool:
    """True if a written value is a mapping or a list in block style."""
    node = yaml.compose(written, Loader=yaml.CSafeLoader)
    return isinstance(node, yaml.CollectionNode) and not node.flow_style


def _moved(written: str, columns: int) -> str:
    """A written value whose lines after the first one are indented."""
    return written.replace("\n", "\n" + " " * columns)


class _Nodes:
    """The nodes of a text, and changes of the text at one of them."""

    def __init__(self, text: str):
        self.text, self.root = text, composed(text)

    def at(self, key: Key) -> yaml.Node | None:
        """The node of the value at a key, None if there is none."""
        node = self.root
        for step in key:
            node = next((value for name, value in _entries(node) if name == step), None)
        return node

    def replaced(self, key: Key, written: str) -> str | None:
        """The text with another value at a key that it has."""
        node = self.at(key)
        assert node is not None
        start, end = node.start_mark.index, _end(node, self.text)
        if not _is_block(written):
            return self._spliced(start, end, (" " if self.text[start - 1:start] in (":", "-") else "") + written)
        around = self.at(key[:-1])
        assert around is not None
        column = around.start_mark.column + INDENT
        return self._spliced(len(self.text[:start].rstrip()), end, "\n" + " " * column + _moved(written, column))

    def extended(self, key: Key, step: str | int, written: str) -> str | None:
        """The text with one more entry in the mapping or list at a key."""
        node = self.at(key)
        if node is None:                                                            # nothing but comments
            ended = self.text if not self.text or self.text.endswith("\n") else self.text + "\n"
            return ended + _entry(step, written) + "\n"
        assert isinstance(node, yaml.CollectionNode)
        if _is_flow(node):
            entry = written if isinstance(step, int) else _entry(step, written)
            place = _end(node, self.text) - 1
            last = _end(_last(node), self.text) if node.value else place
            return None if "\n" in entry else self._spliced(last, last, (", " if node.value else "") + entry)
        column = node.start_mark.column
        place = self._end_of_line(_end(node, self.text))
        return self._spliced(place, place, "\n" + " " * column + _moved(_entry(step, written), column))

    def without(self, key: Key) -> str | None:
        """The text without the entry at a key: its lines with the comment behind it, or its part of a line."""
        around, node = self.at(key[:-1]), self.at(key)
        assert isinstance(around, yaml.CollectionNode) and node is not None
        places = [(_begin(around, k), _end(_value(entry), self.text)) for k, entry in enumerate(around.value)]
        position = next(k for k, (name, _) in enumerate(_entries(around)) if name == key[-1])
        start, end = places[position]
        if _is_flow(around):
            if position + 1 < len(places):
                return self._spliced(start, places[position + 1][0], "")
            comma = self.text.index(",", places[position - 1][1]) if position else start
            between = self.text[comma + 1:start]
            return self._spliced(comma, end, between if between.strip() else "")
        if isinstance(around, yaml.SequenceNode):
            start = self.text.rindex("-", 0, start)
        line = self.text.rfind("\n", 0, start) + 1
        if self.text[line:start].strip():                                    # behind the dash of an element
            return self._spliced(start, places[position + 1][0], "") if position + 1 < len(places) else None
        return self._spliced(line, self._end_of_line(end) + 1, "")

    def _end_of_line(self, place: int) -> int:
        """Position of the end of a line, before its line break."""
        found = self.text.find("\n", place)
        found = len(self.text) if found < 0 else found
        return found - (self.text[found - 1:found] == "\r")

    def _spliced(self, start: int, end: int, middle: str) -> str:
        return self.text[:start] + (middle.replace("\n", "\r\n") if "\r\n" in self.text else middle) + self.text[end:]


def _entries(node: yaml.Node | None) -> Iterator[tuple[str | int, yaml.Node]]:
    """Names or positions in a mapping or list, and the nodes of their values."""
    if isinstance(node, yaml.MappingNode):
        yield from ((name.value, value) for name, value in node.value if isinstance(name, yaml.ScalarNode))
    elif isinstance(node, yaml.SequenceNode):
        yield from enumerate(node.value)


def _value(entry: Any) -> yaml.Node:
    """The node of the value of an entry of a mapping, or of an element."""
    return entry[1] if isinstance(entry, tuple) else entry


def _last(node: yaml.CollectionNode) -> yaml.Node:
    return _value(node.value[-1])


def _is_flow(node: yaml.Node) -> bool:
    """True if a value is in braces or brackets."""
    return isinstance(node, yaml.CollectionNode) and bool(node.flow_style)


def _begin(around: yaml.CollectionNode, position: int) -> int:
    """Position in the text of the first character of an entry."""
    entry = around.value[position]
    return (entry[0] if isinstance(entry, tuple) else entry).start_mark.index


def _end(node: yaml.Node, text: str) -> int:
    """Position behind the last character of a value; the mark of a block is at what follows it."""
    if isinstance(node, yaml.CollectionNode) and not _is_flow(node) and node.value:
        return _end(_last(node), text)
    start, end = node.start_mark.index, node.end_mark.index
    return start + len(text[start:end].rstrip()) if getattr(node, "style", None) in ("|", ">") else end
