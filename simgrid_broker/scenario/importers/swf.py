"""Reads the standard workload format (SWF) of the Parallel Workloads Archive. Source: formats reference, section 12."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from simgrid_broker.scenario.importers.input_files import BadLines, Tally, refuse
from simgrid_broker.scenario.importers.text_tables import (
    UNKNOWN,
    Lines,
    chunks,
    efficiencies,
    number_columns,
    read_lines,
    say_unused,
)

COLUMNS = ("job number", "submit time", "wait time", "run time", "processors allocated", "CPU time used", "memory used",
           "processors requested", "time requested", "memory requested", "status", "user", "group", "executable",
           "queue", "partition", "preceding job", "think time")

UNUSED = (16, 17)
"""Fields without a use in a replay: jobs come at their submit times, whatever job they followed."""

N_LEAST = 5
"""Fields that a file must have at least: the job up to its processors."""

KB_PER_MB = 1000.0
"""Memory is recorded in kB per processor."""

_NUMBERED = re.compile(r"(?P<key>\w+):\s*(?P<number>\d{1,9})\s+(?:-\s+)?(?P<name>\S+(?: (?!-)\S+)*).*", re.ASCII)

RECORDS_HEADER = ("MaxRecords", "MaxJobs")
"""Header keys that give the number of records of the whole log."""


def read_swf(path: Path, limit: int | None, tally: Tally) -> pd.DataFrame:
    """Records of an SWF file, at most `limit`, in the order of the file and in the columns of `traces.RECORD`.

    Remarks go to `tally`. Raises InputFileError with all lines that are not records.
    """
    lines = read_lines(path, ";", limit)
    header = header_values(lines.comments)
    if limit is None:
        _compare_number(header, len(lines.data), tally)
    values = _numbers(lines, tally)
    say_unused({COLUMNS[field]: values[:, field] for field in UNUSED}, tally)
    return _records(values, lines.comments, tally)


def header_values(comments: tuple[str, ...]) -> dict[str, str]:
    """Values of `; Key: value` lines; of a repeated key the first value."""
    found: dict[str, str] = {}
    for comment in comments:
        key, colon, value = comment.partition(":")
        if colon and key.strip().isidentifier():
            found.setdefault(key.strip(), value.strip())
    return found


def numbered_names(comments: tuple[str, ...], key: str) -> dict[int, str]:
    """Name by number of `; Key: number name` lines, of a repeated number the first, different for each number.

    The name ends before two blanks or a dash, behind which a description may stand.
    """
    found: dict[int, str] = {}
    for comment in comments:
        match = _NUMBERED.fullmatch(comment)
        if match and match["key"] == key:
            name = match["name"]
            found.setdefault(int(match["number"]), f"{name}-{match['number']}" if name in found.values() else name)
    return found


def _compare_number(header: dict[str, str], n_read: int, tally: Tally) -> None:
    """Remark on a header that announces another number of records than the file holds."""
    for key in RECORDS_HEADER:
        written = header.get(key, "")
        if written.isdecimal() and written.lstrip("0") != str(n_read):
            tally.say(f"the header's {key} is {written}, the file holds {n_read} records")
            return


def _numbers(lines: Lines, tally: Tally) -> np.ndarray:
    """All fields as numbers, (n_records, 18), columns that the file lacks filled with `UNKNOWN`."""
    bad = BadLines(lines.path)
    width = _width(lines)
    parts = []
    for part in chunks(lines):
        rows, numbers = _of_width([line.split() for line in lines.data[part]], lines.numbers[part], width, bad)
        parts.append(number_columns(rows, numbers, COLUMNS[:width], bad))
    bad.stop()
    if width < len(COLUMNS):
        tally.say(f"the records have {width} of {len(COLUMNS)} fields; the others count as unknown")
    values = np.concatenate([part for part in parts if len(part)])
    return np.pad(values, ((0, 0), (0, len(COLUMNS) - width)), constant_values=UNKNOWN)


def _width(lines: Lines) -> int:
    """Number of fields that most lines have; raises InputFileError if that is not a number of fields of SWF."""
    counted = Counter(len(line.split()) for line in lines.data)
    width = max(counted, key=lambda n: (counted[n], n == len(COLUMNS)))
    if not N_LEAST <= width <= len(COLUMNS):
        refuse(lines.path, lines.numbers[0], "", lines.data[0],
               f"records of {len(COLUMNS)} fields separated by blanks were expected, most lines have {width}")
    return width


def _of_width(rows: list[list[str]], numbers: list[int], width: int,
              bad: BadLines) -> tuple[list[list[str]], list[int]]:
    """The rows that have `width` fields, with their lines; the others are added to `bad`."""
    if all(len(row) == width for row in rows):
        return rows, numbers
    good = []
    for row, number in zip(rows, numbers, strict=True):
        if len(row) == width:
            good.append((row, number))
        else:
            bad.add(number, "", " ".join(row), f"{width} fields were expected as in the other lines, not {len(row)}")
    return [row for row, _ in good], [number for _, number in good]


def _records(values: np.ndarray, comments: tuple[str, ...], tally: Tally) -> pd.DataFrame:
    cpu_s, processors = values[:, 5], np.maximum(np.where(values[:, 4] > 0, values[:, 4], values[:, 7]), 1)
    used, requested = (np.where(memory > 0, memory / KB_PER_MB, UNKNOWN) for memory in (values[:, 6], values[:, 9]))
    return pd.DataFrame(
        {"job": values[:, 0], "submit_s": values[:, 1], "run_s": values[:, 3], "processors": values[:, 4],
         "requested_processors": values[:, 7], "requested_s": values[:, 8], "used_mb": used, "requested_mb": requested,
         "status": values[:, 10], "user": values[:, 11], "group": values[:, 12], "executable": values[:, 13],
         "cpu_efficiency": efficiencies(cpu_s, values[:, 3], values[:, 0], tally),
         "cputime_s": np.where(cpu_s >= 0, cpu_s * processors, np.nan), "wait_s": values[:, 2],
         "partition": _named(values[:, 15], comments, "Partition"),
         "batch_queue": _named(values[:, 14], comments, "Queue")})


def _named(numbers: np.ndarray, comments: tuple[str, ...], key: str) -> list[str]:
    """Names that the header gives to numbers, else the numbers as text."""
    names = numbered_names(comments, key)
    return [names.get(number, str(number)) for number in numbers.astype(int).tolist()]
