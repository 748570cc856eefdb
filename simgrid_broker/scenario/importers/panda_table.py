"""PanDA job records as a table of their file: JSON of the monitor or of the index, CSV or Parquet."""

import csv
import io
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow

from simgrid_broker.errors import nearest
from simgrid_broker.files import read_bytes
from simgrid_broker.scenario.importers.input_files import (
    BadLines,
    JsonFile,
    Tally,
    read_json,
    read_text,
    refuse,
    refuse_binary,
)
from simgrid_broker.schema.panda_records import ALSO, FIELDS, RecordColumns

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


def found_columns(sheet: Sheet, given: RecordColumns, needed: Sequence[Sequence[str]],
                  tally: Tally) -> dict[str, Sequence[Any]]:
    """Values by PanDA's name of the columns that the file has; the others are remarked.

    needed: groups of columns of which each must be there in one of its ways, "a+b" = both. Raises InputFileError with
    all columns that are missing, and the nearest ones of the file.
    """
    there = {name.strip().lower(): name for name in reversed(list(sheet.columns))}
    bad, found = BadLines(sheet.path), {}
    for field in FIELDS:
        if (named := getattr(given, field)) is not None:
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
                way.replace("+", " and ") for way in ways) + " was expected; a column with another name is given by "
                f"columns: {{{lacking[0]}: NAME}}", tuple(dict.fromkeys(near)))
    bad.stop()
    if unused:
        tally.say(f"columns that are not used: {', '.join(sorted(unused))}")
    return {field: sheet.columns[name] for field, name in found.items()}


def _begins_with(path: Path, magic: bytes) -> bool:
    try:
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
