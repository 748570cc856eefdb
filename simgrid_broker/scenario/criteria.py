"""Selection criteria of work queues: the part of SQL in which they are written, read and applied to tasks.

What lives here: the grammar, its errors, and whether a task passes. What does not: the queues (`work_queues`).

    criteria   = and { OR and }             and   = not { AND not }       not = NOT not | "(" criteria ")" | test
    test       = attribute ( operator value | [NOT] IN "(" value { "," value } ")" | [NOT] LIKE value
               | [NOT] BETWEEN value AND value | IS [NOT] NULL )
    operator   = "=" | "!=" | "<>" | "<" | "<=" | ">" | ">="              value = :variable | 'text' | number

Words are read in any case. As in SQL, what is empty is unknown, a test of it neither passes nor fails, and only a task
for which the whole is true passes. Source: JEDI TWiki, the JEDI_Work_Queue table (CRITERIA and VARIABLES).
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from simgrid_broker.errors import nearest

TEXTS = ("prodSourceLabel", "workingGroup", "processingType", "campaign", "site", "userName", "taskName", "transPath",
         "architecture", "transHome")
"""Attributes of a task that are text; source: lifecycle reference, 1.6, and JEDI TWiki, the JEDI_Tasks table."""
NUMBERS = ("coreCount", "eventService", "currentPriority", "ramCount")
"""Attributes that are numbers."""
ATTRIBUTES = {name.lower(): name for name in (*TEXTS, *NUMBERS)}
WORDS = ("and", "or", "not", "in", "like", "between", "is", "null")
OPERATORS = ("=", "!=", "<>", "<", "<=", ">", ">=")
TOKEN = re.compile(r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<number>[-+]?\d+(?:\.\d+)?)|(?P<variable>:\w+)|"
                   r"(?P<word>[A-Za-z_]\w*)|(?P<sign>!=|<>|<=|>=|[=<>(),]))")
DEEPEST = 50
"""Brackets and NOTs within each other that are read."""


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


class Comparison(NamedTuple):
    """A test of one attribute; `values` are text or numbers as the attribute is."""

    attribute: str
    operator: str
    values: tuple = ()


class Both(NamedTuple):
    """AND."""

    left: object
    right: object


class Either(NamedTuple):
    """OR."""

    left: object
    right: object


class Not(NamedTuple):
    """NOT."""

    inner: object


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


def parse(text: str, variables: Mapping[str, str] | None = None):
    """The criteria as a tree of Comparison, Both, Either, Not; None for empty text, which every task passes.

    variables: values by name without colon. Raises CriteriaError.
    """
    tokens = _tokens(text)
    if tokens[0].kind == "end":
        return None
    parser = _Parser(tokens, dict(variables or {}))
    tree = parser.either(0)
    parser.take("end", "AND, OR or the end")
    return tree


def passes(tree, task: Mapping[str, object]) -> bool:
    """Whether a task passes criteria that were read; `task` gives attributes by name, empty text and None = unknown."""
    return tree is None or _truth(tree, task) is True


def unused(tree, variables: Mapping[str, str], text: str) -> list[str]:
    """Names of variables that criteria do not use."""
    used = {token.text[1:] for token in _tokens(text) if token.kind == "variable"}
    return [name for name in variables if name not in used]


def _tokens(text: str) -> list[Token]:
    """Words, signs and values of a text, and the end; raises CriteriaError at what is none of them."""
    tokens, place = [], 0
    while text[place:].strip():
        match = TOKEN.match(text, place)
        if match is None:
            place += len(text[place:]) - len(text[place:].lstrip())
            what = "the text that begins here has no closing '" if text[place] == "'" else (
                f"expected an attribute, a value or an operator, found {text[place]!r}")
            raise CriteriaError(place + 1, what)
        tokens.append(Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup) + 1))
        place = match.end()
    return [*tokens, Token("end", "", len(text) + 1)]


class _Parser:
    """Reads tokens from left to right."""

    def __init__(self, tokens: list[Token], variables: dict[str, str]):
        self.tokens, self.variables, self.place = tokens, variables, 0

    @property
    def next(self) -> Token:
        """The token to come."""
        return self.tokens[self.place]

    def take(self, text: str, expected: str) -> Token:
        """The next token, which must be this word, sign, or `end`."""
        if not self.sees(text):
            found = f"found {self.next.text}" if self.next.text else "but the criteria end"
            raise CriteriaError(self.next.position, f"expected {expected}, {found}")
        self.place += 1
        return self.tokens[self.place - 1]

    def sees(self, text: str) -> bool:
        """Whether the next token is this word, sign, or `end`."""
        token = self.next
        return token.kind == text == "end" or token.kind in ("word", "sign") and token.text.lower() == text

    def skip(self, text: str) -> bool:
        """Go past a word or sign if it comes next."""
        seen = self.sees(text)
        self.place += seen
        return seen

    def either(self, depth: int):
        """Criteria with OR."""
        tree = self.both(depth)
        while self.skip("or"):
            tree = Either(tree, self.both(depth))
        return tree

    def both(self, depth: int):
        """Criteria with AND."""
        tree = self.negated(depth)
        while self.skip("and"):
            tree = Both(tree, self.negated(depth))
        return tree

    def negated(self, depth: int):
        """A test, a bracket, or NOT before either."""
        if depth > DEEPEST:
            raise CriteriaError(self.next.position, f"more than {DEEPEST} brackets and NOTs within each other")
        if self.skip("not"):
            return Not(self.negated(depth + 1))
        if self.skip("("):
            tree = self.either(depth + 1)
            self.take(")", "AND, OR or )")
            return tree
        return self.test()

    def test(self):
        """A test of an attribute."""
        token = self.next
        name = ATTRIBUTES.get(token.text.lower()) if token.kind == "word" else None
        if name is None:
            known = tuple(ATTRIBUTES.values())
            found = f"no attribute of tasks is called {token.text!r}" if token.kind == "word" and (
                token.text.lower() not in WORDS) else "expected an attribute of tasks"
            raise CriteriaError(token.position, found, nearest(token.text, known) if token.kind == "word" else known)
        self.place += 1
        return self.rest_of_test(name)

    def rest_of_test(self, name: str):
        """What is asked of an attribute."""
        if self.skip("is"):
            tree = Comparison(name, "not null" if self.skip("not") else "null")
            self.take("null", "NULL")
            return tree
        if self.next.text in OPERATORS and self.next.kind == "sign":
            self.place += 1
            operator = self.tokens[self.place - 1].text
            return Comparison(name, "!=" if operator == "<>" else operator, (self.value(name),))
        negated = self.skip("not")
        tree = self.set_test(name)
        return Not(tree) if negated else tree

    def set_test(self, name: str) -> Comparison:
        """IN, LIKE or BETWEEN."""
        if self.skip("like"):
            if name in NUMBERS:
                raise CriteriaError(self.next.position, f"LIKE is for text, and {name} is a number")
            return Comparison(name, "like", (self.value(name),))
        if self.skip("between"):
            low = self.value(name)
            self.take("and", "AND")
            return Comparison(name, "between", (low, self.value(name)))
        self.take("in", "=, !=, <, <=, >, >=, IN, LIKE, BETWEEN or IS")
        self.take("(", "(")
        values = [self.value(name)]
        while self.skip(","):
            values.append(self.value(name))
        self.take(")", ", or )")
        return Comparison(name, "in", tuple(values))

    def value(self, name: str):
        """A value of the kind that the attribute has."""
        token = self.next
        self.place += 1
        if token.kind == "variable":
            if token.text[1:] not in self.variables:
                raise CriteriaError(token.position, f"no variable {token.text} has a value",
                                    nearest(token.text[1:], tuple(self.variables)) or tuple(self.variables))
            text = self.variables[token.text[1:]]
        elif token.kind == "text":
            text = token.text[1:-1].replace("''", "'")
        elif token.kind == "number":
            text = token.text
        else:
            raise CriteriaError(token.position, "expected a :variable, a 'text' or a number")
        if name in NUMBERS:
            return _number(text, name, token)
        if token.kind == "number":
            raise CriteriaError(token.position, f"{name} is text: write '{text}'")
        return text


def _number(text: str, name: str, token: Token) -> float:
    """A number out of a text, or a CriteriaError."""
    if not re.fullmatch(r"[-+]?\d+(\.\d+)?", text):
        raise CriteriaError(token.position, f"{name} is a number, and {text!r} is none")
    return float(text)


def _truth(tree, task: Mapping[str, object]) -> bool | None:
    """True, False, or None where it is unknown."""
    if isinstance(tree, Not):
        inner = _truth(tree.inner, task)
        return None if inner is None else not inner
    if isinstance(tree, (Both, Either)):
        left, right = _truth(tree.left, task), _truth(tree.right, task)
        decisive = isinstance(tree, Either)
        if left is decisive or right is decisive:
            return decisive
        return None if left is None or right is None else not decisive
    return _holds(tree, task.get(tree.attribute))


def _holds(test: Comparison, value) -> bool | None:
    """Whether one attribute is as a test wants it; None if it is unknown."""
    unknown = value is None or value == ""
    if test.operator in ("null", "not null"):
        return unknown == (test.operator == "null")
    if unknown:
        return None
    return HOLDS[test.operator](value, *test.values)


def _like(value: str, pattern: str) -> bool:
    """SQL's LIKE: % stands for any text, _ for any character."""
    parts = {"%": ".*", "_": "."}
    return re.fullmatch("".join(parts.get(sign, re.escape(sign)) for sign in pattern), value, re.DOTALL) is not None


HOLDS = {
    "=": lambda value, other: value == other, "!=": lambda value, other: value != other,
    "<": lambda value, other: value < other, "<=": lambda value, other: value <= other,
    ">": lambda value, other: value > other, ">=": lambda value, other: value >= other,
    "in": lambda value, *others: value in others, "like": _like,
    "between": lambda value, low, high: low <= value <= high,
}
"""What each operator asks."""
