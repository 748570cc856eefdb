"""What makes a function a rule: its PanDA tag, the gdpconfig keys that it reads, its source and its editions.

What lives here: the decorators `criterion` and `factor`, and the descriptions they attach. What does not: the rules
themselves (`job_brokerage`, `task_brokerage`) and how they are asked (`funnel`).

A rule is a plain function of one case, so it can be tested, pickled and found by its name; the description hangs on the
function as an attribute.
"""

from collections.abc import Callable
from dataclasses import dataclass

from simgrid_broker.names import EDITIONS

GdpKeys = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Criterion:
    """Description of a rule that refuses candidates.

    tag: what PanDA logs for a candidate that the rule refuses; panda: PanDA's name for the step; source: document and
    section; gdpconfig: (component, key) pairs that it reads; temporary: PanDA remembers the refusal and removes the
    candidate only after the last criterion; static: names of the `views.Task` fields on which the mask depends besides
    the description of the candidates, or None if it depends on anything else.
    """

    tag: str
    panda: str
    source: str
    gdpconfig: GdpKeys
    temporary: bool
    editions: tuple[str, ...]
    static: tuple[str, ...] | None


@dataclass(frozen=True)
class Factor:
    """Description of a rule that gives each candidate a multiplier of its weight; fields as in `Criterion`."""

    name: str
    panda: str
    source: str
    gdpconfig: GdpKeys
    editions: tuple[str, ...]


def criterion(tag: str, *, panda: str, source: str, gdpconfig: GdpKeys = (), temporary: bool = False,
              editions: tuple[str, ...] = EDITIONS, static: tuple[str, ...] | None = None) -> Callable:
    """Mark a function of a case as a criterion: it returns the mask of candidates that it refuses, (n,) bool."""
    def mark(refuses):
        refuses.rule = Criterion(tag, panda, source, gdpconfig, temporary, editions, static)
        return refuses
    return mark


def factor(name: str, *, panda: str, source: str, gdpconfig: GdpKeys = (),
           editions: tuple[str, ...] = EDITIONS) -> Callable:
    """Mark a function of a case as a factor of the weight: it returns (n,) multipliers, or one number for all."""
    def mark(multiplies):
        multiplies.rule = Factor(name, panda, source, gdpconfig, editions)
        return multiplies
    return mark
