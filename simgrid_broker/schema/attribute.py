"""Attributes of the scenario's nouns: one row says how a value is written, stored in the world and seen by decisions.

In the class of a noun, `Field` is a key of the scenario only, `attribute` a key that is also a column of the noun's
table, `text` a key that decisions see as it is, `derived` a column that follows from the keys.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from math import inf
from types import NoneType
from typing import Any, get_args, get_origin

from pydantic import BaseModel, Field

from simgrid_broker.schema.column import Column

SUFFIX = {"MB": "_mb", "s": "_s", "bytes": "_bytes"}
"""Unit of a column to the ending of its name."""

OWNERS = ("CRIC", "JEDI_Tasks", "JEDI task parameter")
"""Sources in which an attribute has the name of its key, unless more is said."""


def attribute(default: Any, description: str, *, zero: float | None = None, zero_means: str = "",
              none: float | None = None, scale: Callable[[Any], float] | float = 1,
              code: Callable[[Any], Any] | None = None, column: str = "", dtype: str = "f8", unit: str = "",
              source: str = "CRIC", codes: str | None = None, recorded: bool = True, seen: str = "", seen_as: str = "",
              hidden: bool = False, unknown: bool = False, **limits) -> Any:
    """A key of a scenario, `...` as its default if it must be given, that is also a column of the noun's table.

    zero: value stored where 0 is written (inf = unlimited, NaN = as `zero_means` says), also said behind the
    description; none: the same for a missing value. scale: factor from the unit as written to that of the column, or
    a function of the noun that gives it. code: value stored for the one written. column: name, by default the key's in
    lower case with the ending of the unit. limits: those of pydantic's Field. The rest is as in `Column`.
    """
    def stored(noun: BaseModel, written: Any) -> Any:
        if code is not None:
            return code(written)
        if written is None or isinstance(written, str):
            return none if written is None else written
        found = zero if zero is not None and written == 0 else written
        return found * (scale(noun) if callable(scale) else scale)

    def back(kind: Any, value: Any, words: Mapping[str, tuple[str, ...]]) -> Any:
        if NoneType in get_args(kind) and value == (none or 0):
            return None
        if zero is not None and value == zero:
            return 0
        if codes:
            word = words[codes][value]
            return word if get_origin(kind) is not tuple else word.split(",") if word else []
        return bool(value) if kind is bool else int(value) if int in (kind, *get_args(kind)) else value

    means = zero_means or ("unlimited" if zero == inf else f"{zero:g}" if zero is not None else "")
    field = Field(default, description=description + (f"; 0 = {means}" if means else ""), **limits)
    field.metadata.append(Column(column, dtype, unit, source, description, means or "zero", codes, recorded, hidden,
                                 seen, seen_as, none=none, unknown=unknown, of=stored, back=back))
    return field


def text(default: str, description: str, *, empty: str = "") -> Any:
    """A key of a scenario whose text decisions see; empty: what an empty one means."""
    return attribute(default, description, dtype="", seen="text", code=lambda written: written or empty)


class Derived(property):
    """A property of a noun that is a column of its table."""

    column: Column


def derived(value: Callable[[Any], Any], description: str, *, dtype: str = "i2", unit: str = "", source: str = "CRIC",
            seen: str = "", zero_means: str = "zero") -> Any:
    """A column that follows from the keys of a noun and is also readable as a property of it."""
    found = Derived(value, doc=description)
    found.column = Column("", dtype, unit, source, description, zero_means, seen=seen, of=lambda noun, derived: derived)
    return found


def columns_of(noun: type[BaseModel]) -> tuple[Column, ...]:
    """The columns of a class of nouns, in the order of its keys, derived ones last."""
    return tuple(column for column in _rows(noun) if column.dtype)


def texts_of(noun: type[BaseModel]) -> tuple[Column, ...]:
    """The texts of a class of nouns that decisions see and no table has."""
    return tuple(column for column in _rows(noun) if not column.dtype)


@cache
def _rows(noun: type[BaseModel]) -> tuple[Column, ...]:
    """Every attribute, named after its key."""
    found = {name: (mark, field.annotation) for name, field in noun.model_fields.items() for mark in field.metadata
             if isinstance(mark, Column)}
    found |= {name: (value.column, None) for base in reversed(noun.__mro__) for name, value in vars(base).items()
              if isinstance(value, Derived)}
    return tuple(_row(name, *row) for name, row in found.items())


def _row(name: str, column: Column, kind: Any) -> Column:
    """One attribute, named after its key, that takes its value from a noun."""
    def of(noun):
        return column.of(noun, getattr(noun, name))
    return replace(column, key=name, of=of, back=column.back and partial(column.back, kind),
                   name=column.name or name.lower() + SUFFIX.get(column.unit, ""),
                   source=f"{column.source} {name}" if column.source in OWNERS else column.source)
