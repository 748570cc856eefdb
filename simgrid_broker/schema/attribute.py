"""Columns, tables, and attributes of the nouns of a scenario: a row says how a value is written, stored and seen.

In the class of a noun, `Field` is a key of the scenario only, `attribute` a key that is also a column of the noun's
table, `text` a key that decisions see as it is, `derived` a column that follows from the keys.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from inspect import getattr_static
from math import inf
from types import NoneType
from typing import Any, TypedDict, Unpack, get_args, get_origin

import numpy as np
from pydantic import BaseModel, Field

Records = Any
"""A structured array: a type checker, which knows no types of its columns, would try all of NumPy's overloads."""


def joined(tables: Sequence[Records]) -> Records:
    """Structured arrays of one dtype one behind the other: NumPy's `concatenate` would compare the dtypes by column."""
    kind = tables[0].dtype
    return np.concatenate([table.view(f"V{kind.itemsize}") for table in tables]).view(kind)


@dataclass(frozen=True)
class Column:
    """One column of one table, described once.

    `codes` names the vocabulary that integer codes of this column refer to (`queues`, `shares`, `job_status`, ...);
    `recorded` says whether the column reaches the Parquet file; `hidden` marks truth that no decision may see; `seen`
    is the dtype in the view of a decision (`U`: the text), empty if no view has it, `seen_as` its name there if it has
    another; `none` is the value of what is unknown, if not 0; `unknown` says that 0 is, which decisions see as NaN.
    `key` names the attribute of the scenario's noun from which `of` takes the value (for a vocabulary of names, the
    name), and `back` makes of a stored value what is written; columns without are filled by the simulation.
    """

    name: str
    dtype: str
    unit: str
    source: str
    description: str
    zero_means: str = "zero"
    codes: str | None = None
    recorded: bool = True
    hidden: bool = False
    seen: str = ""
    seen_as: str = ""
    none: float | None = None
    unknown: bool = False
    key: str = ""
    of: Any = None
    back: Any = None


@dataclass(frozen=True)
class Table:
    """A table: its name, what one row is, and its columns in order; words: by the name of a vocabulary of its own."""

    name: str
    row: str
    columns: tuple[Column, ...]
    words: Mapping[str, Sequence[str]] = field(default_factory=dict, compare=False)

    @cached_property
    def dtype(self) -> np.dtype:
        """Structured dtype of one row, aligned, in the order of the columns."""
        return np.dtype([(column.name, column.dtype) for column in self.columns], align=True)

    @cached_property
    def recorded(self) -> tuple[Column, ...]:
        """The columns that reach the Parquet file."""
        return tuple(column for column in self.columns if column.recorded)

    @cached_property
    def seen(self) -> tuple[Column, ...]:
        """The columns that the view of a decision has."""
        return tuple(column for column in self.columns if column.seen)

    def empty(self, rows: int) -> Records:
        """An array of `rows` zeroed rows."""
        return np.zeros(rows, self.dtype)

    def joined(self, parts: Sequence[Records]) -> Records:
        """The rows of several arrays of this table one behind the other."""
        return joined([self.empty(0), *parts])

    def summed(self, rows: Records, key: Sequence[str]) -> Records:
        """One row for each group of `rows`, sorted by the columns of `key`, whole numbers; the others are added up."""
        _, first, group = np.unique(_groups(rows, key), return_index=True, return_inverse=True)
        sums = rows[first]
        for column in self.columns:
            if column.name not in key:
                sums[column.name] = np.bincount(group, rows[column.name], len(first))
        return sums

    def filled(self, nouns: Sequence, numbers: Mapping[str, Mapping[str, int]]) -> Records:
        """A row for each noun of the scenario; columns without `of` are 0.

        numbers: number of each member, by vocabulary, of the vocabularies that the scenario makes; None becomes -1.
        """
        rows = self.empty(len(nouns))
        for column in self.columns:
            if column.of is not None:
                values = [column.of(noun) for noun in nouns]
                known = numbers.get(column.codes or "")
                rows[column.name] = values if known is None else [known.get(value, -1) for value in values]
        return rows


SUFFIX = {"MB": "_mb", "s": "_s", "bytes": "_bytes"}
"""Unit of a column to the ending of its name."""

MOST = {"i1": 10**2, "i2": 10**4}
"""Largest powers of ten that columns of small whole numbers hold; others hold what `Part` allows."""

OWNERS = ("CRIC", "JEDI_Tasks", "JEDI task parameter")
"""Sources in which an attribute has the name of its key, unless more is said."""


class Storing(TypedDict, total=False):
    """Way from the value as written to the value of the column.

    zero: stored where 0 is written (inf = unlimited, NaN = as `zero_means` says), also said behind the description;
    none: stored for a missing value; scale: factor from the unit as written to that of the column, or a function of the
    noun that gives it; code: function of the value as written that gives the stored one.
    """

    zero: float | None
    none: float | None
    scale: Callable[[Any], float] | float
    code: Callable[[Any], Any] | None


class Limits(TypedDict, total=False):
    """Limits of the value as written, those of pydantic's Field."""

    ge: float
    gt: float
    le: float
    lt: float


class Row(Storing, Limits, total=False):
    """Everything else that a row may say, as in `Column`; column: its name, by default that of the key in lower case
    with the ending of the unit."""

    column: str
    dtype: str
    unit: str
    source: str
    zero_means: str
    codes: str | None
    recorded: bool
    hidden: bool
    seen: str
    seen_as: str
    unknown: bool


def attribute(default: Any, description: str, **row: Unpack[Row]) -> Any:
    """A key of a scenario, `...` as its default if it must be given, that is also a column of the noun's table."""
    said: dict[str, Any] = dict(row)
    zero, means = said.get("zero"), said.pop("zero_means", "")
    means = means or ("unlimited" if zero == inf else f"{zero:g}" if zero is not None else "")
    storing, limits = ({name: said.pop(name) for name in group.__annotations__ if name in said}
                       for group in (Storing, Limits))
    column = {"name": said.pop("column", ""), "dtype": "f8", "unit": "", "source": "CRIC", **said}
    field = Field(default, description=description + (f"; 0 = {means}" if means else ""),
                  **limits | _largest(limits, column["dtype"]))
    field.metadata.append(Column(**column, description=description, zero_means=means or "zero",
                                 none=storing.get("none"), of=partial(_stored, storing),
                                 back=partial(_written, storing, said.get("codes"))))
    return field


def _largest(limits: Mapping[str, Any], dtype: str) -> dict[str, Any]:
    """The largest power of ten that a column of whole numbers holds, if a row says a smallest number alone."""
    is_open = limits.keys() & {"ge", "gt"} and not limits.keys() & {"le", "lt"}
    return {"le": MOST[dtype]} if is_open and dtype in MOST else {}


def _groups(rows: Records, key: Sequence[str]) -> np.ndarray:
    """A number for the key of each row, (n,), in the order of keys: NumPy sorts numbers far faster than rows."""
    numbers = np.zeros(len(rows), np.int64)
    for name in key if len(rows) else ():
        _, values = np.unique(rows[name], return_inverse=True) if rows[name].dtype.kind == "f" else (0, rows[name])
        values = values.astype(np.int64)
        numbers = numbers * (values.max() - values.min() + 1) + values - values.min()
    return numbers


def _stored(storing: Mapping[str, Any], noun: BaseModel, written: Any) -> Any:
    """The value of a column of a noun for the value as written."""
    if code := storing.get("code"):
        return code(written)
    if written is None or isinstance(written, str):
        return storing.get("none") if written is None else written
    zero, scale = storing.get("zero"), storing.get("scale", 1)
    return (zero if zero is not None and written == 0 else written) * (scale(noun) if callable(scale) else scale)


def _written(storing: Mapping[str, Any], codes: str | None, kind: Any, value: Any,
             words: Mapping[str, tuple[str, ...]]) -> Any:
    """The value that is written for that of a column."""
    zero, none = storing.get("zero"), storing.get("none") or 0
    if NoneType in get_args(kind) and (value == none or none != none and value != value):       # NaN equals nothing
        return None
    if zero is not None and value == zero:
        return 0
    if codes:
        word = words[codes][value]
        return word if get_origin(kind) is not tuple else word.split(",") if word else []
    return bool(value) if kind is bool else int(value) if int in (kind, *get_args(kind)) else value


def text(default: str, description: str, *, empty: str = "") -> Any:
    """A key of a scenario whose text decisions see; empty: what an empty one means."""
    return attribute(default, description, dtype="", seen="text", code=lambda written: written or empty)


def shown(default: Any, description: str, **row: Unpack[Row]) -> Any:
    """A key that is a field of `views.Task`, of its name in lower case or `seen_as`, and no column; None = not said."""
    row["dtype"], row["seen"] = "", "text"
    row.setdefault("code", lambda written: written)
    return attribute(default, description, **row)


def fields_shown(part: BaseModel, words: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """Fields of `views.Task` that a part says by its keys that are `shown`; words: by vocabulary."""
    values = ((column, column.of(part)) for column in texts_of(type(part)))
    return {column.seen_as or column.name: words[column.codes].index(value) if column.codes else value
            for column, value in values if value is not None}


class Derived(property):
    """A property of a noun that is a column of its table."""

    column: Column


def derived(value: Callable[[Any], Any], description: str, *, dtype: str = "i2", unit: str = "", source: str = "CRIC",
            seen: str = "", zero_means: str = "zero") -> Any:
    """A column that follows from the keys of a noun and is also readable as a property of it."""
    found = Derived(value, doc=description)
    found.column = Column("", dtype, unit, source, description, zero_means, seen=seen, of=lambda noun, derived: derived)
    return found


def written_keys(noun: type[BaseModel], name: str) -> tuple[str, ...]:
    """Keys of a noun in a scenario behind a key or a property of it: those that its code reads.

    An option of `params` counts as `params.OPTION`: it is a text that the code holds.
    """
    if name in noun.model_fields:
        return (name,)
    function = getattr(getattr_static(noun, name, None), "fget", None)
    if function is None:
        return ()
    code, held = function.__code__, [cell.cell_contents for cell in function.__closure__ or ()]
    texts = (*code.co_consts, *held) if any("option" in each for each in code.co_names) else ()
    options = (text for text in texts if isinstance(text, str) and text.isidentifier())
    read = [written for each in code.co_names if each != name for written in written_keys(noun, each)]
    return tuple(dict.fromkeys((*read, *(f"params.{option}" for option in options))))


@cache
def columns_of(noun: type[BaseModel]) -> tuple[Column, ...]:
    """The columns of a class of nouns, in the order of its keys, derived ones last."""
    return tuple(column for column in _rows(noun) if column.dtype)


@cache
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
