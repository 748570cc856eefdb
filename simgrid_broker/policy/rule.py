"""What makes a function a rule: its PanDA tag, the gdpconfig keys that it reads, its source and its editions.

What lives here: the decorators `criterion` and `factor`, the descriptions they attach, and `Answer`. What does not: the
rules themselves (`job_brokerage`, `task_brokerage`) and how they are asked (`funnel`).

A rule is a plain function, so it can be tested, pickled and found by its name; the description hangs on the function as
an attribute. There are two kinds. One that looks at descriptions is a function of a case and answers for all candidates
at once, in NumPy. One that looks at what changes from minute to minute is a compiled function of a single candidate.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simgrid_broker.names import EDITIONS

ARGUMENTS = ("ask", "queue", "load", "link", "store", "n")
"""Arguments of a compiled rule."""
GdpKeys = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Criterion:
    """Description of a rule that refuses candidates.

    tag: what PanDA logs for a candidate that the rule refuses; panda: PanDA's name for the step; source: document and
    section; gdpconfig: (component, key) pairs that it reads; temporary: PanDA remembers the refusal and removes the
    candidate only after the last criterion; choice: it sorts candidates into classes and refuses all but
    the best (`job_brokerage.decide.choose`); static: names of the `views.Task` fields on which the mask depends besides
    the description of the candidates, or None if it depends on anything else.
    """

    tag: str
    panda: str
    source: str
    gdpconfig: GdpKeys
    temporary: bool
    editions: tuple[str, ...]
    static: tuple[str, ...] | None
    choice: bool = False


@dataclass(frozen=True)
class Factor:
    """Description of a rule that gives each candidate a multiplier of its weight; fields as in `Criterion`."""

    name: str
    panda: str
    source: str
    gdpconfig: GdpKeys
    editions: tuple[str, ...]
    static: tuple[str, ...] | None


def criterion(tag: str, *, panda: str, source: str, gdpconfig: GdpKeys = (), temporary: bool = False,
              editions: tuple[str, ...] = EDITIONS, static: tuple[str, ...] | None = None,
              choice: bool = False) -> Callable:
    """Mark a function as a criterion.

    A function of a case returns the mask of candidates that it refuses, (n,) bool, or an `Answer`; a compiled function
    of one candidate returns (refused, value, limit), or the class of the candidate if it is a choice.
    """
    def mark(refuses):
        refuses.rule = Criterion(tag, panda, source, gdpconfig, temporary, editions, static, choice)
        return refuses
    return mark


def factor(name: str, *, panda: str, source: str, gdpconfig: GdpKeys = (), editions: tuple[str, ...] = EDITIONS,
           static: tuple[str, ...] | None = None) -> Callable:
    """Mark a function as a factor of the weight.

    A function of a case returns (n,) multipliers, or one number for all; a compiled function of one candidate returns a
    number.
    """
    def mark(multiplies):
        multiplies.rule = Factor(name, panda, source, gdpconfig, editions, static)
        return multiplies
    return mark


class Answer(NamedTuple):
    """A criterion's answer with its figures: refused (n,) bool, the value of each candidate and the limit it met."""

    refused: np.ndarray
    value: np.ndarray | float
    limit: np.ndarray | float


def above(value, limit, where=True) -> Answer:
    """Refuse candidates whose value is above the limit, where the comparison concerns them."""
    return Answer((value > limit) & where, value, limit)


def below(value, limit, where=True) -> Answer:
    """Refuse candidates whose value is below the limit, where the comparison concerns them."""
    return Answer((value < limit) & where, value, limit)


def at_least(value, limit, where=True) -> Answer:
    """Refuse candidates whose value is at the limit or above, where the comparison concerns them."""
    return Answer((value >= limit) & where, value, limit)


def at_most(value, limit, where=True) -> Answer:
    """Refuse candidates whose value is at the limit or below, where the comparison concerns them."""
    return Answer((value <= limit) & where, value, limit)


def refused_of(answer: Answer | np.ndarray) -> np.ndarray:
    """Whom an answer refuses, (n,) bool, whether or not it comes with figures."""
    return answer.refused if isinstance(answer, Answer) else answer


def is_compiled(rule: Callable) -> bool:
    """Whether a rule looks at one candidate: whether its arguments are those of `job_brokerage.at.At`."""
    function = getattr(rule, "py_func", rule)
    return function.__code__.co_varnames[:function.__code__.co_argcount] == ARGUMENTS
