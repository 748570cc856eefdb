"""`RunWriter`: all recorded tables of a run, written during the run in constant memory."""

from collections.abc import Mapping
from pathlib import Path
from typing import Self

import numpy as np

from simgrid_broker.errors import OutputError
from simgrid_broker.records.layout import layout
from simgrid_broker.records.parts import TableFiles
from simgrid_broker.schema import RECORDED


class RunWriter:
    """Writes every recorded table of one run into `folder`.

    vocabularies: words of the codes, by the names in the schema's `codes`; statuses and causes are built in.
    batch_rows: buffered rows per table, and rows per row group. A context manager that closes the writer.
    Raises OutputError if the folder cannot be written or holds a run, ValueError for a missing vocabulary.
    """

    def __init__(self, folder: Path, vocabularies: Mapping[str, tuple[str, ...]], batch_rows: int = 100_000):
        self.folder = Path(folder)
        self._open: dict[str, TableFiles] = {}
        layouts = {name: layout(name, vocabularies) for name in RECORDED}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for name in RECORDED:
                self._open[name] = TableFiles(layouts[name], self.folder, batch_rows)
        except FileExistsError as error:
            raise OutputError(f"{error.filename} exists already; use a new folder for the run "
                              "(nothing was overwritten)") from error
        except OSError as error:
            raise OutputError(f"cannot write results to {self.folder}: {error}") from error

    def write(self, name: str, rows: np.ndarray | Mapping[str, np.ndarray], times: np.ndarray | None = None) -> None:
        """Add rows to the table `name`.

        rows: (n,) structured array of the table's dtype, or columns by name; they are copied. times: (n, n_status)
        float64 for jobs and tasks, s, NaN = never. Raises OutputError (earlier rows stay readable), ValueError for rows
        that do not fit the table or codes without a word.
        """
        if name not in self._open:
            raise ValueError(f"{name!r} is not an open table; the tables are {', '.join(RECORDED)}")
        try:
            self._open[name].add(rows, times)
        except OSError as error:
            raise self._refused({name: error}) from error

    def close(self) -> None:
        """Write the buffered rows and merge each table into one file; a second call has no effect.

        Raises OutputError after trying every table; a table that could not be merged stays a readable folder of parts.
        """
        failed = {}
        for name in list(self._open):
            try:
                self._open[name].finish()
                del self._open[name]
            except OSError as error:
                failed[name] = error
        if failed:
            raise self._refused(failed) from next(iter(failed.values()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def _refused(self, failed: Mapping[str, OSError]) -> OutputError:
        """The error for tables that could not be written: paths, reasons, and complete data."""
        why = "\n".join(f"  - {self.folder / name}.parquet: {error}" for name, error in failed.items())
        kept = [f"{self._open[name].kept_rows:,} {name}" for name in RECORDED if name in self._open]
        whole = [name for name in RECORDED if name not in self._open]
        safe = f"kept and readable in {self.folder}: {', '.join(kept)} (rows)"
        done = f"; complete: {', '.join(whole)}" if whole else ""
        return OutputError(f"cannot write results:\n{why}\n{safe}{done}")
