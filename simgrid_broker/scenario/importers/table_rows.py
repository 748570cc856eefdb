"""Rows of a table of PanDA's database as a database client exports them: JSON objects with columns in either case."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from simgrid_broker.errors import nearest
from simgrid_broker.scenario.importers.cric_values import number_of
from simgrid_broker.scenario.importers.input_files import BadLines, JsonFile, read_json, refuse


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
