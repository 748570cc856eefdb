"""Text tables of numbers, as SWF and GWF have them, to arrays, with an error for every bad line."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simgrid_broker.scenario.importers.input_files import BadLines, Tally, read_text, refuse, refuse_binary

UNKNOWN = -1.0
"""Value of a number that the archive does not know; source: formats reference, sections 12 and 13."""

NOT_GIVEN = ("", "-1", "-1.0")
"""Texts of a field that the archive does not know."""

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
_CHUNK_LINES = 20_000


@dataclass(frozen=True)
class Lines:
    """A text file in two heaps: comments without their sign, and data with the number of each line."""

    path: Path
    comments: tuple[str, ...]
    data: list[str]
    numbers: list[int]


def read_lines(path: Path, comment: str, limit: int | None = None) -> Lines:
    """Lines of a text file, blank ones left out; `limit`: read no further than that many data lines.

    Raises InputFileError for an unreadable or binary file and for one without data.
    """
    path = Path(path)
    text = read_text(path)
    refuse_binary(path, text)
    comments, data, numbers = [], list[str](), []
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.strip()
        if line.startswith(comment):
            comments.append(line[len(comment):].strip())
        elif line and (limit is None or len(data) < limit):
            data.append(line)
            numbers.append(number)
    if not data:
        refuse(path, None, "", None, f"at least one record was expected in addition to the comments ({comment})")
    return Lines(path, tuple(comments), data, numbers)


def number_columns(rows: Sequence[Sequence[str]], numbers: Sequence[int], names: Sequence[str],
                   bad: BadLines) -> np.ndarray:
    """Numbers of the fields, (n_rows, n_names); each row must have as many fields as `names`.

    numbers: line of each row; names: what a field is called in an error. A field that is not a finite number is
    added to `bad` and becomes `UNKNOWN`.
    """
    try:
        values = np.array([list(map(float, row)) for row in rows])
    except ValueError:
        return _checked(rows, numbers, names, bad)
    # Python's float also reads "nan", "1_0" and digits of other scripts: no archive writes them
    joined = map("".join, rows)
    plain = np.isfinite(values).all() and all(text.isascii() and "_" not in text for text in joined)
    return values if plain else _checked(rows, numbers, names, bad)


def chunks(lines: Lines):
    """Slices of the data lines that are small enough to be split all at once."""
    for start in range(0, len(lines.data), _CHUNK_LINES):
        yield slice(start, start + _CHUNK_LINES)


def efficiencies(used_s: np.ndarray, run_s: np.ndarray, jobs: Sequence | np.ndarray, tally: Tally) -> np.ndarray:
    """CPU efficiency of jobs, (n,), from the mean CPU time of a processor and the run time; 1 where it is unknown.

    A CPU time of 0 or above the run time gives no efficiency, and is remarked. jobs: number or name of each.
    """
    found = np.divide(used_s, run_s, out=np.ones(len(run_s)), where=(used_s > 0) & (run_s > 0))
    for wrong, what in (((used_s == 0) & (run_s > 0), "jobs with a CPU time of 0"),
                        (found > 1, "jobs with more CPU time than run time")):
        tally.count_all(f"{what}, whose CPU efficiency counts as 1", np.asarray(jobs)[wrong])
    return np.minimum(found, 1.0)


def say_unused(fields: Mapping[str, np.ndarray], tally: Tally) -> None:
    """Remark on fields that have values, but no use in a replay; fields: values by name, unknown as -1."""
    used = [f"{name} ({count} records)" for name, values in fields.items()
            if (count := sum(number for value, number in Counter(values.tolist()).items()
                             if str(value).strip() not in NOT_GIVEN))]
    if used:
        tally.say(f"fields that are not used: {', '.join(used)}")


def finite_number(field: str) -> float | None:
    """The number that a field holds, or None if it holds anything else; "nan" and "inf" are not numbers."""
    value = float(field) if _NUMBER.fullmatch(field) else np.inf
    return value if np.isfinite(value) else None


def _checked(rows: Sequence[Sequence[str]], numbers: Sequence[int], names: Sequence[str], bad: BadLines) -> np.ndarray:
    """`number_columns` field by field, noting fields that are not numbers."""
    values = np.full((len(rows), len(names)), UNKNOWN)
    for r, (row, number) in enumerate(zip(rows, numbers, strict=True)):
        for c, (field, name) in enumerate(zip(row, names, strict=True)):
            value = finite_number(field)
            if value is None:
                bad.add(number, name, field, "a number was expected")
            else:
                values[r, c] = value
    return values
