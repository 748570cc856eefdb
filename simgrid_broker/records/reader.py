"""Runs read from disk, complete, interrupted or killed."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, wraps
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Concatenate, ParamSpec, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from simgrid_broker.errors import InputFileError, Problem, did_you_mean, nearest, wrong_type
from simgrid_broker.notebook import facts_html
from simgrid_broker.records.layout import JOB_END_TIMES, arrow_schema
from simgrid_broker.records.manifest import MANIFEST, read_manifest, runs_near, table_of
from simgrid_broker.schema import RECORDED, Table
from simgrid_broker.units import format_seconds

if TYPE_CHECKING:
    import pandas as pd  # else imported when a table is read

ROWS_AT_ONCE = 100_000
"""Most rows of a piece of a table, unless one row group has more."""
SMALL = 128 * 1024
"""Largest file of a whole table that is read once and kept, bytes: figures of a report read it a dozen times."""
FEW_ROWS = 10_000
"""Most rows that are converted without threads, which would cost more than they save."""


class Run:
    """A run on disk: its manifest, and its tables as DataFrames, attributes that are loaded at first use and kept.

    Codes are categoricals, missing times NaN. tables: what the columns of each are, by name, with those that agents
    declared; remarks: parts that could not be read, or that another version wrote otherwise; picture: draws the shares
    of a run for a notebook, set by the package, as this room knows no figures.
    """

    folder: Path
    manifest: dict
    tables: dict[str, Table]
    remarks: list[str]
    picture: "ClassVar[Callable[[Run], str] | None]" = None

    def __init__(self, folder: Path):
        self.folder = Path(folder)
        self.manifest = read_manifest(self.folder)
        self.tables = RECORDED | {name: table_of(name, entry)
                                  for name, entry in self.manifest.get("tables", {}).items()}
        self._schemas: dict[str, pa.Schema] = {}
        self._kept: dict[Path, pa.Table] = {}
        self.remarks = list(_other_version(self.manifest))

    def __repr__(self) -> str:
        what = f"{self.manifest['scenario']['name']}, seed {self.manifest['seed']}, {self.manifest['status']}"
        return f"<run in {self.folder}: {what}>"

    def _repr_html_(self) -> str:
        facts = {"scenario": self.manifest["scenario"]["name"], "edition": self.manifest["edition"],
                 "seed": self.manifest["seed"], "status": self.manifest["status"],
                 "simulated": format_seconds(float(self.manifest["simulated_s"])), "folder": self.folder}
        draw = type(self).picture
        return facts_html(facts) + (draw(self) if draw is not None else "")

    @property
    def name(self) -> str:
        """Names of the folders of scenario and run."""
        return "/".join(self.folder.resolve().parts[-2:])

    @cached_property
    def end_s(self) -> float:
        """Simulated time at which the recorded run ends, s.

        From the manifest; for a killed run the last sample or the last end of a job, whichever is earlier.
        """
        if self.manifest["status"] != "running":
            return float(self.manifest["simulated_s"])
        last_end = np.fmax.reduce([rows.max().max() for rows in self.batches("jobs", JOB_END_TIMES)])
        last_sample = self.table("shares", ["time_s"]).time_s.max()
        return float(np.nan_to_num(np.fmin(last_end, last_sample)))

    def __getattr__(self, name: str) -> "pd.DataFrame":
        """The recorded table of a name, loaded and kept."""
        if name not in vars(self).get("tables", ()):
            raise AttributeError(f"a run has no table or attribute {name!r}"
                                 + did_you_mean(nearest(name, vars(self).get("tables", ()))))
        table = vars(self)[name] = self.table(name)
        return table

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.tables]

    def table(self, name: str, columns: Sequence[str] | None = None) -> "pd.DataFrame":
        """The table `name`, or some of its columns, read again; for long tables cheaper than the attribute."""
        tables = list(self._arrow(name, columns))
        return _frame(pa.concat_tables(tables).unify_dictionaries())

    def batches(self, name: str, columns: Sequence[str] | None = None) -> "Iterator[pd.DataFrame]":
        """The table in order in at least one batch of at most ROWS_AT_ONCE rows.

        Categories of a categorical may differ between batches.
        """
        for table in self._arrow(name, columns):
            yield _frame(table)
        pa.default_memory_pool().release_unused()                    # which Arrow keeps for the next table otherwise

    def _arrow(self, name: str, columns: Sequence[str] | None) -> Iterator[pa.Table]:
        """A table in pieces, one without rows if it has none.

        Raises InputFileError for a damaged or missing file, ValueError for an unknown table or column.
        """
        if name not in self.tables:
            raise ValueError(f"{name!r} is not a recorded table{did_you_mean(nearest(name, self.tables))}"
                             f"; the tables are {', '.join(self.tables)}")
        known = self._schema(name).names
        if wrong := [column for column in columns or () if column not in known]:
            raise ValueError(f"{name} has no column {wrong[0]!r}{did_you_mean(nearest(wrong[0], known))}")
        n_groups = 0
        for file in self._files(name):
            for table in self._read(name, file, columns):
                n_groups += 1
                yield table
        if n_groups == 0:
            empty = self._schema(name).empty_table()
            yield empty if columns is None else empty.select(list(columns))

    def _schema(self, name: str) -> pa.Schema:
        """The schema of a table as this version writes it."""
        if name not in self._schemas:
            self._schemas[name] = arrow_schema(self.tables[name])
        return self._schemas[name]

    def _files(self, name: str) -> list[Path]:
        """The files of the table: one, or the parts if the run did not end."""
        path = self.folder / f"{name}.parquet"
        if path.is_file():
            return [path]
        # between the two renames of a merged file the parts have another name
        folder = path if path.is_dir() else path.with_name(f".{path.name}.parts")
        parts = sorted(folder.glob("part-*.parquet"))
        if not parts and name in {**self.manifest.get("results", {}), **self.manifest.get("tables", {})}:
            raise InputFileError([Problem(str(path), None, "", None, f"is missing, although the run wrote it; without "
                                          f"it nothing is known of {self.tables[name].row}")])
        if not parts:
            self._remark(f"{path.name} is missing: the version that wrote the run had no such table, so it has no rows")
        return parts

    def _read(self, name: str, file: Path, columns: Sequence[str] | None) -> Iterator[pa.Table]:
        """One file in pieces of some row groups; none, with a remark, if it is an unreadable last part."""
        if file in self._kept:
            self._check_kind(name, file, self._kept[file].schema, columns)
            yield self._kept[file] if columns is None else self._kept[file].select(list(columns))
            return
        try:
            with pq.ParquetFile(file) as parquet:
                self._check_kind(name, file, parquet.schema_arrow, columns)
                pieces = list(_groups_at_once([parquet.metadata.row_group(k).num_rows
                                               for k in range(parquet.num_row_groups)]))
                if len(pieces) == 1 and file.parent == self.folder and file.stat().st_size <= SMALL:
                    whole = self._kept[file] = parquet.read(use_threads=False)
                    yield whole if columns is None else whole.select(list(columns))
                    return
                for groups in pieces:
                    yield parquet.read_row_groups(groups, None if columns is None else list(columns))
        except (pa.ArrowInvalid, OSError) as error:
            is_last_part = file.parent != self.folder and file == max(file.parent.glob("part-*.parquet"))
            if not is_last_part:
                raise InputFileError([Problem(str(file), None, "", None, f"cannot be read: {error}")]) from error
            self._remark(f"{file.relative_to(self.folder)} cannot be read and was skipped: {error}")

    def _check_kind(self, name: str, file: Path, found: pa.Schema, columns: Sequence[str] | None) -> None:
        """Raise InputFileError if a file is no table of this name: it lacks columns, or they hold something else.

        A table that is read as a whole may lack some columns, as one of an earlier version does.
        """
        expected = self._schema(name)
        asked = expected.names if columns is None else columns
        lacking = [column for column in asked if column not in found.names]
        others = [column for column in asked if column not in lacking
                  and _holds(found.field(column).type) != _holds(expected.field(column).type)]
        if others or (lacking and (columns is not None or 2 * len(lacking) > len(asked))):
            why = f"lacks {', '.join(lacking)}" if lacking else f"holds something else in {', '.join(others)}"
            raise InputFileError([Problem(str(file), None, "", None, f"is not the table {name} of a run of this "
                                          f"version: it {why}")])

    def _remark(self, text: str) -> None:
        if text not in self.remarks:
            self.remarks.append(text)


def _frame(table: pa.Table) -> "pd.DataFrame":
    return table.to_pandas(use_threads=len(table) > FEW_ROWS)


def _holds(kind: pa.DataType) -> str:
    """Content of a column of a type: text, number, or the name of any other type."""
    if pa.types.is_dictionary(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "text"
    numbers = pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean
    return "number" if any(is_of(kind) for is_of in numbers) else str(kind)


def _groups_at_once(n_rows: Sequence[int]) -> Iterator[list[int]]:
    """The numbers of the row groups of a file, n_rows each, in lists of at most ROWS_AT_ONCE rows or of one group."""
    begun, rows = list[int](), 0
    for group, n in enumerate(n_rows):
        if begun and rows + n > ROWS_AT_ONCE:
            yield begun
            begun, rows = [], 0
        begun.append(group)
        rows += n
    if begun:
        yield begun


def _other_version(manifest: dict) -> Iterator[str]:
    """Columns that a run of another version of the tables lacks, or has in addition."""
    written = manifest.get("results")
    if written is None:
        yield "The run is of an earlier version, which did not say what its tables hold: what they lack has no values."
        return
    ours = {name: [column.name for column in table.recorded] for name, table in RECORDED.items()}
    for first, second, what in ((ours, written, "lacks"), (written, ours, "has, and this version does not read,")):
        names = [f"{table}.{column}" for table, columns in first.items() for column in columns
                 if column not in second.get(table, ())]
        if names:
            yield (f"The run is of another version of the tables: it {what} {', '.join(names[:3])}"
                   + (f" and {len(names) - 3} more columns." if len(names) > 3 else "."))


TAKEN = frozenset({*dir(Run), *Run.__annotations__})
"""Attributes of a run, which no table can be called."""


def as_run(given: Run | str | Path) -> Run:
    """A run, or the one in a folder; raises TypeError for anything else."""
    if not isinstance(given, Run | str | PathLike):
        raise wrong_type("run", "a run, or the folder of one", given)
    return given if isinstance(given, Run) else read_run(given)


P = ParamSpec("P")
T = TypeVar("T")


def of_run(function: Callable[Concatenate[Run, P], T]) -> Callable[Concatenate[Run | str | Path, P], T]:
    """A function of a run that takes its folder as well."""
    @wraps(function)
    def taking(run: Run | str | Path, *given: P.args, **named: P.kwargs) -> T:
        return function(as_run(run), *given, **named)
    return taking


def read_run(folder: str | Path) -> Run:
    """The run in `folder`; raises InputFileError, with a list of runs nearby, for another folder."""
    if not isinstance(folder, str | PathLike):
        raise wrong_type("read_run", "the folder of a run", folder)
    folder = Path(folder)
    if (folder / MANIFEST).is_file():
        return Run(folder)
    runs = runs_near(folder)
    nearby = "; runs nearby:" + "".join(f"\n      {run}" for run in runs) if runs else "; no runs nearby"
    what = "is not a run (it has no manifest.json)" if folder.is_dir() else "is not a folder"
    raise InputFileError([Problem(str(folder), None, "", None, what + nearby)])
