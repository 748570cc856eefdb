"""Rows of gdpconfig, and the spelling of families of keys."""

import re
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

from simgrid_broker.names import EDITIONS, KNOWN_RESOURCE_TYPES

PLACEHOLDERS = {"label": r"prod_test|rc_test2?|rc_alrb|[^_]+",
    "rtype": "|".join((*KNOWN_RESOURCE_TYPES, r"MCORE\*", r"SCORE\*")), "type": r"[^_]+(?:_test2?|_alrb)?",
    "queue": ".+?", "queueOrNone": ".*?"}
"""Regular expression for each placeholder; unknown placeholders match any text."""
LARGEST = 1e12
"""Upper end of the range of numbers whose unit has none: any larger one is a slip."""
NEGATIVE = -LARGEST
"""Lower end of the range of numbers that may be negative."""
MOST = {"%": 100, "fraction": 1, "percentile": 100, "tenths": 10, "min": 100 * 365 * 1440, "h": 100 * 365 * 24,
        "days": 100 * 365}
"""Upper end of the range by unit; of periods a hundred years."""


@dataclass(frozen=True, eq=False)
class GdpconfigKey:
    """One key of gdpconfig, or a family of keys with a common beginning.

    key: PanDA's spelling; `<gshare>` and the like are placeholders, a part in brackets is optional; type: bool, int,
    float, str or json; default: value in force when nothing is set, None = off or no limit; zero_is_unset: editions in
    which 0 means not set, as in the production code; at_least, at_most: range of a number; editions: those in which
    functions other than rules of the brokers read the key (`advice.editions_of`); source: document and section.
    """

    type: str
    default: Any
    unit: str
    meaning: str
    key: str
    zero_is_unset: tuple[str, ...]
    at_least: float
    at_most: float
    editions: tuple[str, ...]
    app: str = ""
    component: str = ""
    source: str = ""

    @property
    def name(self) -> str:
        """`component.KEY`, an unambiguous name of the key."""
        return f"{self.component}.{self.key}"

    @property
    def is_family(self) -> bool:
        """True if the key has placeholders."""
        return "<" in self.key

    @property
    def range(self) -> str:
        """The range of a number in words; empty for other types."""
        return f"{self.at_least:g} to {self.at_most:g}" if self.type in ("int", "float") else ""

    @cached_property
    def prefix(self) -> str:
        """The key without its placeholders: the name of the value that holds where no member is set."""
        return re.sub(r"\[_[^]]*\]|_?<\w+>", "", self.key)

    @cached_property
    def pattern(self) -> re.Pattern:
        """Regular expression of the whole key; its groups are the placeholders."""
        parts = re.split(r"(<\w+>|\[_<\w+>\])", self.key)
        return re.compile("".join(_pattern(part) for part in parts), re.DOTALL)

    @cached_property
    def spellings(self) -> tuple[tuple[str, frozenset[str]], ...]:
        """Format strings with their placeholders: of the whole key, without the optional part, and without any."""
        texts = (re.sub(r"[][]", "", self.key), re.sub(r"\[[^]]*\]", "", self.key), self.prefix)
        return tuple((re.sub(r"<(\w+)>", r"{\1}", text), frozenset(re.findall(r"<(\w+)>", text)))
                     for text in dict.fromkeys(texts))

    def names(self, **members: str) -> list[str]:
        """Names under which a value may be set, the most specific first: `K_<label>_<queue>`, `K_<label>`, `K`."""
        return [text.format_map(members) for text, placeholders in self.spellings if placeholders <= members.keys()]


class Component:
    """The keys of one component of PanDA or JEDI: a subclass has them as attributes, named as PanDA spells them."""

    ALL: ClassVar[list[type["Component"]]] = []

    def __init_subclass__(cls, app: str, source: str, name: str = "") -> None:
        """Tell every key its component; a component that extends another has the same keys, as keys of its own."""
        rows = {attribute: row for base in reversed(cls.__mro__) for attribute, row in vars(base).items()
                if isinstance(row, GdpconfigKey)}
        for attribute, row in rows.items():
            spelled = row.key if row.key and row.key[0] not in "_[" else attribute + row.key
            setattr(cls, attribute, replace(row, key=spelled, app=app, component=name or cls.__name__, source=source))
        Component.ALL.append(cls)

    @classmethod
    def entries(cls) -> list[GdpconfigKey]:
        """The keys of the component in the order in which they are written."""
        return [entry for entry in vars(cls).values() if isinstance(entry, GdpconfigKey)]


def key(type: str, default: Any, unit: str, meaning: str, *, of: str = "", spelled: str = "", unset: int | None = None,
        unset_in: tuple[str, ...] = EDITIONS, at_least: float = 0, at_most: float | None = None,
        editions: tuple[str, ...] = EDITIONS) -> GdpconfigKey:
    """A key of a component; of: placeholders behind the name of a family; spelled: it in full.

    unset=0: in the editions `unset_in` 0 means not set. A number is at least 0 and at most what its unit allows.
    """
    spelled = f"_{of}" if of else spelled
    return GdpconfigKey(type, default, unit, meaning, spelled, unset_in if unset == 0 else (), at_least,
                        MOST.get(unit, LARGEST) if at_most is None else at_most, editions)


real, count = partial(key, "float"), partial(key, "int")
"""Keys whose value is a number, and a whole number."""


def _pattern(part: str) -> str:
    """Regular expression of one part of a key: text, `<name>` or `[_<name>]`."""
    if not part.endswith((">", ">]")):
        return re.escape(part)
    name = part.strip("[_<>]")
    group = f"(?P<{name}>{PLACEHOLDERS.get(name, '.+')})"
    return f"(?:_{group})?" if part.startswith("[") else group
