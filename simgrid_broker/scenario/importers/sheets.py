"""Tables of job records: JSON of the monitor or of the index, CSV or Parquet, each column read as what it is."""

import csv
import io
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow

from simgrid_broker.errors import nearest
from simgrid_broker.files import read_bytes, refuse_outside
from simgrid_broker.scenario.importers.files import (
    BadLines,
    JsonFile,
    Tally,
    finite_number,
    read_json,
    read_text,
    refuse,
    refuse_binary,
)
from simgrid_broker.schema.jobs import ALSO, FIELDS, NUMBERS, TIMES, RecordColumns

NOTHING = ("", "none", "null", "nan", "n/a")
"""Texts of a field of which nothing is known."""

_PLAIN_NUMBERS = re.compile(r"(?:(?:-?\d+(?:\.\d+)?)?\n)*", re.ASCII)
"""Lines of numbers, or of nothing."""

EPOCH = pd.Timestamp(1970, 1, 1)

_WHOLE = re.compile(r"\d+\.0", re.ASCII)

TIME_FORMATS = ("%m/%d/%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S",
                "%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S.%f")
"""Formats of times other than seconds: CGSim's own, and the formats of PanDA's monitor and index."""

PARQUET = b"PAR1"
"""First bytes of a Parquet file."""

WRAPPED = ("jobs", "job")
"""Keys under which the monitor keeps the records; source: formats reference, 9.1."""

_PANDAID = re.compile(r'"pandaid"\s*:', re.IGNORECASE)


@dataclass(frozen=True)
class Sheet:
    """The rows of a file as they are written: values by column, and the line of each row, if the file has lines."""

    path: Path
    columns: Mapping[str, Sequence[Any]]
    lines: Sequence[int] | None

    @property
    def n_rows(self) -> int:
        """Number of records."""
        return len(next(iter(self.columns.values()), ()))

    def place(self, row: int, name: str) -> tuple[int | None, str]:
        """Line and key of a field in an error; without lines the key says the number of the record, from 1."""
        return (self.lines[row], name) if self.lines is not None else (None, f"record {row + 1}: {name}")


def read_sheet(path: Path, limit: int | None = None) -> Sheet:
    """The records of a file, at most `limit`; the kind of file follows from its content. Raises InputFileError."""
    path = Path(path)
    if _begins_with(path, PARQUET):
        return _parquet(path, limit)
    text = read_text(path)
    if text.lstrip()[:1] in ("{", "["):
        return _json(read_json(path), limit)
    return _csv(path, text, limit)


def found_columns(sheet: Sheet, given: RecordColumns | None, needed: Sequence[Sequence[str]], tally: Tally,
                  fields: Sequence[str] = FIELDS) -> dict[str, Sequence[Any]]:
    """Values of the columns among `fields` that the file has, in any case; the others of the file are remarked.

    given: names in the file that a user may say; needed: groups of columns of which each must be there in one of its
    ways, "a+b" = both. Raises InputFileError with all columns that are missing, and the nearest ones of the file.
    """
    there = {name.strip().lower(): name for name in reversed(list(sheet.columns))}
    bad, found = BadLines(sheet.path), {}
    for field in fields:
        if (named := getattr(given, field, None)) is not None:
            if named.strip().lower() not in there:
                bad.add(None, f"columns.{field}", named, "the file has no such column", nearest(named, sheet.columns))
        else:
            named = next((name for name in (field, *ALSO.get(field, ())) if name in there), None)
        if named is not None and named.strip().lower() in there:
            found[field] = there[named.strip().lower()]
    unused = [name for name in sheet.columns if name not in found.values()]
    for ways in needed:
        if not any(set(way.split("+")) <= found.keys() for way in ways):
            lacking = [name for way in ways for name in way.split("+") if name not in found]
            near = [name for field in lacking for name in nearest(field, unused)]
            bad.add(1 if sheet.lines is not None else None, "header", None, "the column " + ", or ".join(
                way.replace("+", " and ") for way in ways) + " was expected" + (
                "" if given is None else f"; a column with another name is given by columns: {{{lacking[0]}: NAME}}"),
                tuple(dict.fromkeys(near)))
    bad.stop()
    if unused:
        tally.say(f"columns that are not used: {', '.join(sorted(unused))}")
    return {field: sheet.columns[name] for field, name in found.items()}


def _begins_with(path: Path, magic: bytes) -> bool:
    try:
        refuse_outside(path)
        with open(path, "rb") as file:
            return file.read(len(magic)) == magic
    except OSError:
        return False                                        # the reader of texts says what is wrong


def _parquet(path: Path, limit: int | None) -> Sheet:
    try:
        frame = pd.read_parquet(io.BytesIO(read_bytes(path)))
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        refuse(path, None, "", None, f"a Parquet file was expected: {str(error).splitlines()[0]}")
    if not len(frame):
        refuse(path, None, "", None, "at least one record was expected")
    frame = frame.head(limit) if limit is not None else frame
    return Sheet(path, {str(name): frame.iloc[:, k].tolist() for k, name in enumerate(frame.columns)}, None)


def _json(file: JsonFile, limit: int | None) -> Sheet:
    rows, bad = list(_records(file.value)), BadLines(file.path)
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            bad.add(None, f"record {number}", row, "a job record, an object, was expected")
    bad.stop()
    if not rows:
        refuse(file.path, 1, "", None, "at least one job record was expected: an object with `jobs`, or a list")
    starts = [match.start() for match in _PANDAID.finditer(file.text)]
    ends = [match.start() for match in re.finditer("\n", file.text)]
    lines = [bisect_left(ends, start) + 1 for start in starts] if len(starts) == len(rows) else None
    rows = rows[:limit]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return Sheet(file.path, {name: [row.get(name) for row in rows] for name in names}, lines)


def _records(value: Any) -> Iterator[Any]:
    """The job records in what a JSON file holds: of the monitor, of one job's page, of the index, or a plain list."""
    if isinstance(value, dict):
        inner = next((value[key] for key in WRAPPED if key in value), None)
        if inner is None and isinstance(value.get("hits"), dict):
            inner = value["hits"].get("hits")
        value = [value] if inner is None and any(key.lower() == "pandaid" for key in value) else inner
        value = [value] if isinstance(value, dict) else value
    for row in value if isinstance(value, list) else ():
        yield row["_source"] if isinstance(row, dict) and isinstance(row.get("_source"), dict) else row


def _csv(path: Path, text: str, limit: int | None) -> Sheet:
    refuse_binary(path, text)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    bad, rows, lines = BadLines(path), list[list[str]](), list[int]()
    try:
        header = [name.strip() for name in next(reader, [])]
        for row in reader:
            if not row or len(rows) == limit:
                continue
            if len(row) != len(header):
                bad.add(reader.line_num, "", ",".join(row), f"{len(header)} fields were expected as in the header, not "
                        f"{len(row)}")
            rows.append(row)
            lines.append(reader.line_num)
    except csv.Error as error:
        refuse(path, reader.line_num, "", None, f"comma-separated values were expected: {error}")
    for name in dict.fromkeys(name for name in header if header.count(name) > 1):
        bad.add(1, "header", name, "each column must be named once")
    bad.stop()
    if not rows:
        refuse(path, 1, "", None, "at least one record was expected below the header")
    return Sheet(path, dict(zip(header, zip(*rows, strict=True), strict=True)), lines)


def read_columns(sheet: Sheet, found: Mapping[str, Sequence[Any]], bad: BadLines, fields: Sequence[str] = FIELDS,
                 numbers: Sequence[str] = NUMBERS) -> pd.DataFrame:
    """The `fields` of each record, NaN or "" = unknown; values that cannot be read are added to `bad`."""
    return pd.DataFrame({field: _column(sheet, field, found.get(field), numbers, bad) for field in fields})


def _column(sheet: Sheet, field: str, values: Sequence[Any] | None, numbers: Sequence[str],
            bad: BadLines) -> np.ndarray | list[str]:
    """One column, read as what it is; all unknown if the file does not have it."""
    if field in (*numbers, *TIMES):
        if values is None:
            return np.full(sheet.n_rows, np.nan)
        read, expected = (
            _time, "a time such as '2025-01-27 02:51:00', or seconds since 1970, was expected") if field in TIMES else (
            _number, "a number was expected")
        return _numbers(sheet, field, values, read, expected, bad)
    if values is None:
        return [""] * sheet.n_rows
    texts = {value: _text(value) for value in {value for value in values if type(value) is str}}
    return [texts[value] if type(value) is str else _text(value) for value in values]


def _numbers(sheet: Sheet, field: str, values: Sequence[Any], read: Callable[[Any], float | None], expected: str,
             bad: BadLines) -> np.ndarray:
    if (numbers := _plain_column(values, read is _time)) is not None:
        return numbers
    numbers = np.full(len(values), np.nan)
    for row, value in enumerate(values):
        if not _is_nothing(value):
            found = read(value)
            if found is None:
                bad.add(*sheet.place(row, field), value, expected)
            else:
                numbers[row] = found
    return numbers


def _plain_column(values: Sequence[Any], is_time: bool) -> np.ndarray | None:
    """Numbers, or seconds since 1970, of texts that are written plainly and alike, read together; None for any others.
    """
    if not all(type(value) is str for value in values):
        return None
    lines = "\n".join([*values, ""])
    if _PLAIN_NUMBERS.fullmatch(lines) and lines.count("\n") == len(values):
        numbers = np.array([value or "nan" for value in values], float)
        return numbers if np.isfinite(numbers[~np.isnan(numbers)]).all() else None
    for form in TIME_FORMATS if is_time and all(values) else ():
        try:
            moments = pd.to_datetime(pd.Index(values), format=form)
        except ValueError:
            continue
        return (moments - EPOCH) / pd.Timedelta(1, "s")
    return None


def _is_nothing(value: Any) -> bool:
    """True if a field says that nothing is known."""
    if isinstance(value, str):
        return value.strip().lower() in NOTHING
    return value is None or value is pd.NaT or value is pd.NA or (isinstance(value, float) and np.isnan(value))


def _text(value: Any) -> str:
    """A field as text; a whole number that a table keeps with a point has none."""
    if _is_nothing(value):
        return ""
    text = str(value).strip()
    return text[:-2] if _WHOLE.fullmatch(text) else text


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    return finite_number(str(value).strip())


def _time(value: Any) -> float | None:
    """Seconds since 1970 of a time, or None."""
    if isinstance(value, datetime):                          # pandas' timestamps too
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    text = str(value).strip()
    number = _number(text)
    if number is not None:
        return number
    found = date_s(text)
    return _iso_s(text) if found is None else found


@lru_cache(maxsize=4096)
def date_s(text: str) -> float | None:
    """Seconds since 1970 of a date in UTC, or None if it is not a date."""
    for form in TIME_FORMATS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    return None


@lru_cache(maxsize=4096)
def _iso_s(text: str) -> float | None:
    """Seconds since 1970 of a time of ISO 8601, in UTC unless it names another zone, or None."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
