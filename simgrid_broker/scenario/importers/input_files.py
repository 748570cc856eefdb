"""Foreign files as text (plain or gzip) and as JSON, with the line of every problem, and the remarks of an import."""

import json
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from simgrid_broker.errors import InputFileError, Problem
from simgrid_broker.files import read_bytes

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
        refuse(path, None, "", None, f"a readable file was expected: {error.strerror or error}")
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
    """What a JSON file holds, with its text for finding lines; `repeated`: keys that an object holds twice."""

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
