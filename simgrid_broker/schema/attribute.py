"""Attributes of the scenario's nouns: one row says how a value is written, stored in the world and seen by decisions.

In the class of a noun, `Field` is a key of the scenario only, `attribute` a key that is also a column of the noun's
table, `text` a key that decisions see as it is, `derived` a column that follows from the keys. `columns_of` makes the
columns, which resolve sentinels and units.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from pydantic import BaseModel, Field

from simgrid_broker.schema.column import Column

SUFFIX = {"MB": "_mb", "s": "_s", "bytes": "_bytes"}
"""Unit of a column to the ending of its name."""


@dataclass(frozen=True)
class Stored:
    """How an attribute becomes a column.

    column: unnamed or undescribed where the attribute says it; zero: what is stored where 0 is written, None = 0;
    scale: factor from the unit as written to that of the column; code: number of a value that is text.
    """

    column: Column
    zero: float | None = None
    scale: Callable[[Any], float] | float = 1
    code: Callable[[Any], int] | None = None

    def of(self, name: str) -> Callable[[Any], Any]:
        """The function that takes the stored value from a noun whose attribute is called `name`."""
        def value(noun):
            written = getattr(noun, name)
            if self.code is not None:
                return self.code(written)
            if isinstance(written, str) or written is None:
                return self.column.none if written is None else written
            found = self.zero if self.zero is not None and written == 0 else written
            return found * (self.scale(noun) if callable(self.scale) else self.scale)
        return value


def attribute(default: Any, description: str, *, zero: float | None = None, zero_means: str = "",
              scale: Callable[[Any], float] | float = 1, code: Callable[[Any], int] | None = None,
              column: str = "", dtype: str = "f8", unit: str = "", source: str = "CRIC", codes: str | None = None,
              seen: str = "", hidden: bool = False, none: float | None = None, **limits) -> Any:
    """A key of a scenario, `...` as its default if it must be given, that is also a column of the noun's table.

    zero: what 0 means (inf = unlimited, NaN = what `zero_means` says), stored in its place and said behind the
    description. column: name, by default the key's with the ending of the unit. The rest is as in `Stored` and
    `Column`; limits: those of pydantic's Field.
    """
    means = zero_means or ("unlimited" if zero == inf else f"{zero:g}" if zero is not None else "")
    text = description + (f"; 0 = {means}" if means else "")
    field = Field(default, description=text, **limits)
    stored = Column(column, dtype, unit, source, description, means or "zero", codes, hidden=hidden, seen=seen,
                    none=none)
    field.metadata.append(Stored(stored, zero, scale, code))
    return field


class Derived(property):
    """A property of a noun that is a column of its table."""

    def __init__(self, value: Callable[[Any], Any], column: Column):
        super().__init__(value)
        self.__doc__, self.stored = column.description, Stored(column)


def derived(value: Callable[[Any], Any], description: str, *, dtype: str = "i2", unit: str = "", source: str = "CRIC",
            codes: str | None = None, seen: str = "", zero_means: str = "zero", column: str = "") -> Any:
    """A column that follows from the keys of a noun and is also readable as a property of it."""
    return Derived(value, Column(column, dtype, unit, source, description, zero_means, codes, seen=seen))


@dataclass(frozen=True)
class Text:
    """Mark of a text that decisions see as it is; empty: what an empty one means."""

    empty: str = ""


def text(default: str, description: str, *, empty: str = "") -> Any:
    """A key of a scenario whose text decisions see."""
    field = Field(default, description=description)
    field.metadata.append(Text(empty))
    return field


def texts_of(noun: type[BaseModel]) -> dict[str, str]:
    """The texts of a class that decisions see: key to what an empty one means."""
    return {name: mark.empty for name, field in noun.model_fields.items() for mark in field.metadata
            if isinstance(mark, Text)}


def columns_of(noun: type[BaseModel]) -> tuple[Column, ...]:
    """The columns of the attributes of a class, in the order of its keys, derived ones last."""
    found = {name: mark for name, field in noun.model_fields.items() for mark in field.metadata
             if isinstance(mark, Stored)}
    found |= {name: value.stored for base in reversed(noun.__mro__) for name, value in vars(base).items()
              if isinstance(value, Derived)}
    return tuple(replace(stored.column, of=stored.of(name), key=name,
                         name=stored.column.name or name + SUFFIX.get(stored.column.unit, ""),
                         source=f"CRIC {name}" if stored.column.source == "CRIC" else stored.column.source)
                 for name, stored in found.items())
