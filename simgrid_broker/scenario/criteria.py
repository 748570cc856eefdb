"""Selection criteria of work queues: the part of SQL in which they are written; SQLite applies them to tasks.

    criteria   = test { (AND | OR) test }   test = { NOT | "(" } attribute asked { ")" }
    asked      = operator value | [NOT] IN "(" value { "," value } ")" | [NOT] LIKE value
               | [NOT] BETWEEN value AND value | IS [NOT] NULL
    operator   = "=" | "!=" | "<>" | "<" | "<=" | ">" | ">="              value = :variable | 'text' | number

Keywords and attributes are case-insensitive. Empty attributes are NULL, and a task passes only if the whole is true.
Source: JEDI TWiki, the JEDI_Work_Queue table (CRITERIA and VARIABLES).
"""

import re
import sqlite3
from collections.abc import Mapping
from typing import NamedTuple

from simgrid_broker.errors import nearest

TEXTS = ("prodSourceLabel", "workingGroup", "processingType", "campaign", "site", "userName", "taskName", "transPath",
         "architecture", "transHome")
"""Attributes of a task that are text; source: lifecycle reference, 1.6, and JEDI TWiki, the JEDI_Tasks table."""
NUMBERS = ("coreCount", "eventService", "currentPriority", "ramCount")
ATTRIBUTES = {name.lower(): name for name in (*TEXTS, *NUMBERS)}
NUMBER = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?")
TOKEN = re.compile(rf"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<number>{NUMBER.pattern})|(?P<variable>:\w+)|"
                   r"(?P<word>[A-Za-z_]\w*)|(?P<sign>!=|<>|<=|>=|[=<>(),]))")
DEEPEST = 50
"""Most nested brackets and NOTs."""

COMPARED = {"=": "value", "!=": "value", "<>": "value", "<": "value", "<=": "value", ">": "value", ">=": "value"}
CHOSEN = {"like": "pattern", "between": "low", "in": "list"}
GRAMMAR = {
    "test": {"not": "test", "(": "test"},
    "asked": {**COMPARED, **CHOSEN, "not": "chosen", "is": "is"},
    "chosen": CHOSEN,
    "is": {"not": "null", "null": "end"}, "null": {"null": "end"},
    "list": {"(": "item"}, "items": {",": "item", ")": "end"},
    "and": {"and": "value"},
    "bracket": {"and": "test", "or": "test", ")": "end"}, "end": {"and": "test", "or": "test", "": "done"},
}
"""State to the keywords and signs that may come next, each with the state that follows; "" is the end of the text."""
VALUES = {"value": "end", "pattern": "end", "low": "and", "item": "items"}
"""States that expect a value, and the state after it."""
EXPECTED = {"asked": "=, !=, <, <=, >, >=, IN, LIKE, BETWEEN or IS", "chosen": "IN, LIKE or BETWEEN", "is": "NULL",
            "null": "NULL", "list": "(", "items": ", or )", "and": "AND", "bracket": "AND, OR or )",
            "end": "AND, OR or the end"}

_sqlite = sqlite3.connect(":memory:", check_same_thread=False)
_QUESTION = "SELECT {} FROM (SELECT " + ", ".join(f":{name} AS {name}" for name in ATTRIBUTES.values()) + ")"


class CriteriaError(ValueError):
    """Criteria that cannot be used: `position` from 1, what was `expected` there, and `nearest` valid names."""

    def __init__(self, position: int, expected: str, near: tuple[str, ...] = ()):
        super().__init__(f"position {position}: {expected}")
        self.position, self.expected, self.nearest = position, expected, near


class Token(NamedTuple):
    """A word, sign, value or the end; `position` counts from 1."""

    kind: str
    text: str
    position: int


def variables_of(text: str) -> dict[str, str]:
    """The variables in `p1:evgen,p2:simul`, by name without colon; raises CriteriaError."""
    found, position = {}, 1
    for part in text.split(",") if text.strip() else ():
        name, colon, value = part.partition(":")
        if not colon or not re.fullmatch(r"\w+", name.strip()):
            raise CriteriaError(position, "expected name:value, with commas between, such as p1:evgen,p2:simul")
        if name.strip() in found:
            raise CriteriaError(position, f"the variable {name.strip()} has a value already")
        found[name.strip()] = value.strip()
        position += len(part) + 1
    return found


def parse(text: str, variables: Mapping[str, str] | None = None) -> str:
    """The criteria as SQLite reads them, variables replaced; "" for empty text, which every task passes.

    variables: values by name without colon. Raises CriteriaError.
    """
    tokens = _tokens(text)
    state, name, sql, bases, depth = "test", "", [], [0], 0
    for token in tokens if tokens[0].text else ():
        word = token.text.lower()
        if state == "end" and len(bases) > 1:
            state = "bracket"
        if state == "test" and depth > DEEPEST:
            raise CriteriaError(token.position, f"more than {DEEPEST} brackets and NOTs within each other")
        if state in VALUES:
            sql.append(_value(token, name, state == "pattern", variables or {}))
            state = VALUES[state]
        elif state == "test" and word in ATTRIBUTES:
            name, state, depth = ATTRIBUTES[word], "asked", bases[-1]
            sql.append(name)
        elif word in GRAMMAR[state]:
            if state == "test":
                depth += 1
                bases += [depth] if word == "(" else []
            elif state == "bracket" and word == ")":
                bases.pop()
                depth = bases[-1]
            state = GRAMMAR[state][word]
            sql.append({"like": "GLOB"}.get(word, word))
        else:
            raise _misplaced(token, state)
    return _understood(" ".join(sql))


def passes(criteria: str, task: Mapping[str, object]) -> bool:
    """True if a task passes `parse`d criteria; `task` holds attributes by name, empty text and None mean unknown."""
    if not criteria:
        return True
    values = {name: None if task.get(name) == "" else task.get(name) for name in ATTRIBUTES.values()}
    return _sqlite.execute(_QUESTION.format(criteria), values).fetchone()[0] == 1


def unused(variables: Mapping[str, str], text: str) -> list[str]:
    """Names of variables that criteria do not use."""
    used = {token.text[1:] for token in _tokens(text) if token.kind == "variable"}
    return [name for name in variables if name not in used]


def _tokens(text: str) -> list[Token]:
    """Words, signs and values of a text, and the end; raises CriteriaError at any other text."""
    tokens, place = [], 0
    while text[place:].strip():
        match = TOKEN.match(text, place)
        if match is None:
            place += len(text[place:]) - len(text[place:].lstrip())
            what = "the text that begins here has no closing '" if text[place] == "'" else (
                f"expected an attribute, a value or an operator, found {text[place]!r}")
            raise CriteriaError(place + 1, what)
        kind = match.lastgroup or ""
        tokens.append(Token(kind, match[kind], match.start(kind) + 1))
        place = match.end()
    return [*tokens, Token("end", "", len(text) + 1)]


def _misplaced(token: Token, state: str) -> CriteriaError:
    if state != "test":
        found = f"found {token.text}" if token.text else "but the criteria end"
        return CriteriaError(token.position, f"expected {EXPECTED[state]}, {found}")
    if token.kind == "word" and token.text.lower() not in ("and", "or", "in", "like", "between", "is", "null"):
        return CriteriaError(token.position, f"no attribute of tasks is called {token.text!r}",
                             nearest(token.text, tuple(ATTRIBUTES.values())))
    return CriteriaError(token.position, "expected an attribute of tasks", tuple(ATTRIBUTES.values()))


def _value(token: Token, name: str, is_pattern: bool, variables: Mapping[str, str]) -> str:
    """A value of the type that the attribute has, as SQLite reads it."""
    if is_pattern and name in NUMBERS:
        raise CriteriaError(token.position, f"LIKE is for text, and {name} is a number")
    if token.kind not in ("variable", "text", "number"):
        raise CriteriaError(token.position, "expected a :variable, a 'text' or a number")
    text = token.text[1:-1].replace("''", "'") if token.kind == "text" else token.text
    if token.kind == "variable":
        if text[1:] not in variables:
            raise CriteriaError(token.position, f"no variable {text} has a value",
                                nearest(text[1:], tuple(variables)) or tuple(variables))
        text = variables[text[1:]]
    if name in NUMBERS:
        if not NUMBER.fullmatch(text):
            raise CriteriaError(token.position, f"{name} is a number, {text!r} is not")
        return text
    if token.kind == "number":
        raise CriteriaError(token.position, f"{name} is text: write '{text}'")
    if is_pattern:      # GLOB, because LIKE is case-insensitive in SQLite
        text = "".join({"%": "*", "_": "?", "*": "[*]", "?": "[?]", "[": "[[]"}.get(sign, sign) for sign in text)
    return "'" + text.replace("'", "''") + "'"


def _understood(criteria: str) -> str:
    """`criteria`, unless they are too long or nested too deeply for SQLite."""
    try:
        passes(criteria, {})
    except sqlite3.Error as error:
        raise CriteriaError(1, f"too complex: {error}") from None
    return criteria
