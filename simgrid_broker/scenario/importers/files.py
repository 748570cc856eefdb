"""Foreign files: text, plain or gzip, JSON, tables of numbers, objects of CRIC and rows of PanDA's database.

Each problem has its line, and each import its remarks. Sources: formats reference, sections 0 and 1.4, checklist 16.
"""

import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from simgrid_broker.errors import InputFileError, Problem, nearest
from simgrid_broker.files import names_in, read_bytes

N_PROBLEMS = 20
"""Bad lines that an error shows; the others are counted."""
N_EXAMPLES = 3
"""Names that a counted remark shows."""

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 31
_CHUNK_BYTES = 1 << 16
_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


class BadLines:
    """Collects what is wrong in one file; `stop` raises all of it at once, at most `N_PROBLEMS` in full."""

    def __init__(self, path: Path):
        self._file = str(path)
        self._problems: list[Problem] = []
        self._more = 0

    def add(self, line: int | None, key: str, value: object, expected: str, nearest: tuple[str, ...] = ()) -> None:
        """Note a `value` that is not as `expected`."""
        if len(self._problems) < N_PROBLEMS:
            self._problems.append(Problem(self._file, line, key, value, expected, nearest))
        else:
            self._more += 1

    def stop(self) -> None:
        """Raise InputFileError if anything was noted."""
        if self._more:
            rest = f"further problems that are not shown: {self._more}"
            raise InputFileError((*self._problems, Problem(self._file, None, "", None, rest)))
        if self._problems:
            raise InputFileError(self._problems)


class Tally:
    """Remarks of an import in the order of their first case; repeated ones are counted, and none stops the import."""

    def __init__(self):
        self._examples: dict[str, list[str]] = {}
        self._counts: dict[str, int] = {}

    def say(self, text: str) -> None:
        """Add a remark that is not counted."""
        self._counts.setdefault(text, 0)

    def count(self, what: str, example: object) -> None:
        """Count one case of `what`, a plural such as "queues without storages"."""
        self.count_all(what, (example,))

    def count_all(self, what: str, examples: Iterable[object]) -> None:
        """Count each of `examples` as a case of `what`."""
        for example in examples:
            shown = self._examples.setdefault(what, [])
            self._counts[what] = self._counts.get(what, 0) + 1
            if len(shown) < N_EXAMPLES:
                shown.append(str(example))

    def remarks(self) -> list[str]:
        """One sentence for each remark: "queues without storages: 12, for example A, B, C"."""
        return [self._sentence(what, count) for what, count in self._counts.items()]

    def _sentence(self, what: str, count: int) -> str:
        if count == 0:
            return what
        names = ", ".join(self._examples[what])
        return f"{what}: {count} ({names})" if count <= N_EXAMPLES else f"{what}: {count}, for example {names}"


def refuse(path: Path, line: int | None, key: str, value: object, expected: str) -> NoReturn:
    """Raise InputFileError with a single problem."""
    raise InputFileError((Problem(str(path), line, key, value, expected),))


def read_text(path: Path) -> str:
    """Text of a plain or gzip file, newlines as one character, byte order mark removed.

    Bytes that are not UTF-8 (names in old headers) become U+FFFD. Raises InputFileError for a file that cannot be
    read, a gzip file that is cut or damaged, and for binary data.
    """
    raw = _read_bytes(Path(path))
    return raw.decode("utf-8-sig", errors="replace").replace("\r\n", "\n").replace("\r", "\n")


def refuse_binary(path: Path, text: str) -> None:
    """Raise InputFileError at the first control character that no text holds."""
    found = _CONTROL.search(text)
    if found:
        refuse(path, line_at(text, found.start()), "", found.group(), "text was expected here, not binary data")


def line_at(text: str, position: int) -> int:
    """Number of the line, counted from 1, that holds the character at `position`."""
    return text.count("\n", 0, position) + 1


def _read_bytes(path: Path) -> bytes:
    try:
        raw = read_bytes(path)
    except OSError as error:
        raise InputFileError([Problem(str(path), None, "", None,
                                      f"a readable file was expected: {error.strerror or error}",
                                      () if path.exists() else nearest(path.name, names_in(path.parent)))]) from None
    return _unpacked(path, raw) if raw.startswith(_GZIP_MAGIC) else raw


def _unpacked(path: Path, raw: bytes) -> bytes:
    """Bytes of a gzip file of one or more members; the error names the last readable line of a damaged one."""
    parts, member = [], zlib.decompressobj(_GZIP_WINDOW)
    try:
        for start in range(0, len(raw), _CHUNK_BYTES):
            left = raw[start:start + _CHUNK_BYTES]
            while left:
                parts.append(member.decompress(left))
                left = member.unused_data.lstrip(b"\0") if member.eof else b""
                member = zlib.decompressobj(_GZIP_WINDOW) if left else member
        whole, reason = member.eof, "the file is cut"
    except zlib.error as error:
        whole, reason = False, str(error)
    if not whole:
        line = sum(part.count(b"\n") for part in parts) + 1
        refuse(path, line, "", None, f"a complete gzip file was expected; it can be read up to here only: {reason}")
    return b"".join(parts)


@dataclass(frozen=True)
class JsonFile:
    """Content of a JSON file, with its text for finding lines; `repeated`: keys that an object holds twice."""

    path: Path
    text: str
    value: Any
    repeated: tuple[str, ...]

    def line(self, *keys: str) -> int | None:
        """Line of the last of nested `keys`, or None if the text does not contain it."""
        position = 0
        for key in keys:
            position = self.text.find(json.dumps(key, ensure_ascii=False), position)
            if position < 0:
                return None
        return line_at(self.text, position)

    def objects(self, what: str) -> Mapping[str, Mapping]:
        """The value as an object of objects; raises InputFileError if it is not one. what: noun for each of them."""
        if not isinstance(self.value, dict):
            refuse(self.path, 1, "", None, f"an object with {what} by name was expected, not {_kind(self.value)}")
        bad = BadLines(self.path)
        for name, value in self.value.items():
            if not isinstance(value, dict):
                bad.add(self.line(name), name, value, f"expected an object that describes {what}")
        bad.stop()
        return self.value


def read_json(path: Path) -> JsonFile:
    """Value of a JSON file; control characters within strings are accepted, and the last of repeated keys counts.

    NaN and Infinity, which are not JSON, become these words. Raises InputFileError with line and column for anything
    else that is not JSON.
    """
    path, repeated = Path(path), []
    text = read_text(path)

    def pairs(items: list[tuple[str, object]]) -> dict:
        found = dict(items)
        if len(found) < len(items):
            seen = [key for key, _ in items]
            repeated.extend(sorted({key for key in seen if seen.count(key) > 1}))
        return found

    try:
        value = json.loads(text, strict=False, object_pairs_hook=pairs, parse_constant=str)
    except json.JSONDecodeError as error:
        cut = " (the file ends here: is it cut?)" if error.pos >= len(text.rstrip()) else ""
        refuse(path, error.lineno, f"column {error.colno}", None, f"valid JSON was expected: {error.msg}{cut}")
    except (RecursionError, ValueError) as error:
        refuse(path, None, "", None, f"JSON that can be held was expected: {error}")
    return JsonFile(path, text, value, tuple(repeated))


def _kind(value: object) -> str:
    return {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}.get(
        type(value), "a number")


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


LARGEST = 1e15
"""Numbers beyond this are taken to be mistakes."""

_POLICY = re.compile(r"(?:(?:(?:type|group|gshare)=[^:=,;]*|priority(?:<=|>=|<|=|>)-?\d+|any):)+\s*\d+(?:\.\d+)?\s*%?")


def nothing(value: object) -> bool:
    """True if a value is missing: null and "" count as a missing key."""
    return value is None or (isinstance(value, str) and not value.strip())


def number_of(value: Any, most: float = LARGEST) -> float | None:
    """The number that a value holds, as a number or as text, or None; beyond `most` it counts as a mistake."""
    if isinstance(value, str):
        value = finite_number(value.strip())
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return float(value) if is_number and -most <= value <= most else None


def clean(text: str) -> str:
    """Text that any file can hold: half characters, which JSON lets pass, become question marks."""
    return text.encode("utf-8", "replace").decode()


def well_formed(policy: str) -> bool:
    """True if each part of a `fairsharepolicy` is field:...:share; source: formats reference, section 1.3."""
    return all(_POLICY.fullmatch(part.strip()) for part in policy.split(","))


class Fields:
    """Fields of one CRIC object, read with defaults; whatever cannot be read is counted in `tally` under `kind`."""

    def __init__(self, name: str, values: Mapping[str, object], tally: Tally, kind: str = "queues"):
        self.name, self._values, self._tally, self._kind = name, values, tally, kind

    def raw(self, key: str) -> object:
        """The value as written, None if it is missing."""
        value = self._values.get(key)
        return None if nothing(value) else value

    def remark(self, what: str) -> None:
        """Count this object as a case of `what`."""
        self._tally.count(f"{self._kind} {what}", self.name)

    def number(self, key: str, default: float = 0.0, least: float = 0.0) -> float:
        """A number; `default` if it is missing, or (with a remark) not a number or below `least`."""
        value = self.raw(key)
        if value is None:
            return default
        found = number_of(value)
        if found is None or found < least:
            self.remark(f"whose {key} is not a number from {least:g} up, read as {default:g}")
            return default
        return found

    def whole(self, key: str, default: int = 0, least: int = 0) -> int:
        """A whole number, rounded towards zero as PanDA does; otherwise as `number`."""
        return int(self.number(key, default, least))

    def text(self, key: str, default: str = "") -> str:
        """Text without blanks around it, of a number too; the default for a list or an object (with a remark)."""
        value = self.raw(key)
        if isinstance(value, (list, dict)):
            self.remark(f"whose {key} is not text, read as {default!r}")
            return default
        return default if value is None else clean(str(value)).strip()

    def word(self, key: str, known: tuple[str, ...], default: str) -> str:
        """One of the `known` words in any case; `default` for another one (with a remark) or none."""
        found = self.text(key, default).lower()
        if found not in known:
            self.remark(f"whose {key} is not one of {', '.join(known)}, read as {default}")
        return found if found in known else default

    def flag(self, key: str) -> bool:
        """A boolean; only the JSON value true counts."""
        return self._values.get(key) is True

    def object(self, key: str) -> Mapping[str, object]:
        """An object, empty if nothing is said or if it is something else (with a remark)."""
        value = self.raw(key)
        if isinstance(value, dict):
            return value
        if value:
            self.remark(f"whose {key} is not an object, left out")
        return {}

    def items(self) -> list[str]:
        """Items of `catchall`."""
        return [item.strip() for item in self.text("catchall").split(",") if item.strip()]

    def options(self) -> dict[str, Any]:
        """Flat options of `params`, and of its nested form `uconfig` where `params` lacks them."""
        return {**flat(self.object("uconfig")), **flat(self.object("params"))}

    def has_option(self, key: str) -> bool:
        """True if an option is present: in `params`, or an item of `catchall` begins with it."""
        return key in self.options() or any(item.startswith(key) for item in self.items())


def flat(nested: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """A nested object as one of scalars, names joined by dots; lists and nulls are left out."""
    found: dict[str, object] = {}
    for key, value in nested.items():
        if isinstance(value, dict):
            found |= flat(value, f"{prefix}{key}.")
        elif isinstance(value, (str, bool)):
            found[clean(prefix + key)] = clean(value) if isinstance(value, str) else value
        elif number_of(value) is not None:
            found[clean(prefix + key)] = value
    return found


class Rows:
    """The rows of a table in a JSON file, a list or an object with a list `rows`; problems are collected in `bad`.

    name: column whose value names a row in messages. Raises InputFileError for a file of another form.
    """

    def __init__(self, path: Path, name: str):
        self.file, self.bad, self._name = read_json(path), BadLines(path), name
        found = self.file.value.get("rows") if isinstance(self.file.value, dict) else self.file.value
        if not isinstance(found, list) or not found or not all(isinstance(row, dict) for row in found):
            refuse(path, 1, "", None, "a list of rows was expected, objects by column, or an object with a list `rows`")
        self.rows: list[dict[str, Any]] = [{str(key).lower(): value for key, value in row.items()} for row in found]

    def line(self, row: Mapping) -> int | None:
        """Line on which the name of a row first stands."""
        return line_of(self.file, row.get(self._name))

    def wrong(self, row: Mapping, column: str, expected: str, close: tuple[str, ...] = ()) -> None:
        """Note a value that is not as expected."""
        self.bad.add(self.line(row), f"{row.get(self._name)!r}: {column}", row.get(column), expected, close)

    def only(self, known: Iterable[str]) -> None:
        """Note columns that are not among the known ones."""
        known = tuple(known)
        for row in self.rows:
            for column in sorted({*row} - {*known}):
                self.wrong(row, column, "unknown column", nearest(column, known))

    def text(self, row: Mapping, column: str) -> str | None:
        """Text of a column, None if it is empty."""
        value = row.get(column)
        if value is None or value == "":
            return None
        if not isinstance(value, str):
            self.wrong(row, column, "expected text or null")
            return None
        return value

    def number(self, row: Mapping, column: str, whole: bool = False) -> float | None:
        """Number of a column from 0 up, None if it is empty."""
        value = row.get(column)
        if value is None or value == "":
            return None
        found = number_of(value)
        if found is None or found < 0 or (whole and not found.is_integer()):
            self.wrong(row, column, f"expected a {'whole ' if whole else ''}number from 0 up, or null")
            return None
        return int(found) if found.is_integer() else found


def line_of(file: JsonFile, name: object) -> int | None:
    """Line on which a text first stands in a JSON file; None if it is no text."""
    return file.line(name) if isinstance(name, str) else None
