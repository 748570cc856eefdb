"""Runs read back from disk, whether they ended in order or were killed.

What lives here: `read_run` and `Run`, which loads tables when they are asked for. What does not: any figure computed
from them (metrics).
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from simgrid_broker.errors import InputFileError, Problem
from simgrid_broker.records.folder import runs_near
from simgrid_broker.records.layout import JOB_END_TIMES, arrow_schema
from simgrid_broker.records.manifest import MANIFEST, read_manifest
from simgrid_broker.schema import RECORDED


class Run:
    """One run on disk: its manifest and its tables as DataFrames, each loaded at first use and kept.

    Codes are read as categoricals, times that never came as NaN. `remarks` says what could not be read.
    """

    def __init__(self, folder: Path):
        self.folder = Path(folder)
        self.manifest = read_manifest(self.folder)
        self.remarks: list[str] = []

    @property
    def name(self) -> str:
        """Scenario and run, as the folders are called."""
        return "/".join(self.folder.resolve().parts[-2:])

    @cached_property
    def end_s(self) -> float:
        """Simulated time at which the run on disk ends, s.

        A run that ended, however it did, says so in its manifest; one that was killed ends at the last sample or the
        last job's end, whichever is earlier.
        """
        if self.manifest["status"] != "running":
            return float(self.manifest["simulated_s"])
        last_end = np.fmax.reduce([rows.max().max() for rows in self.batches("jobs", JOB_END_TIMES)])
        last_sample = self.table("shares", ["time_s"]).time_s.max()
        return float(np.nan_to_num(np.fmin(last_end, last_sample)))

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """One row per job attempt."""
        return self.table("jobs")

    @cached_property
    def tasks(self) -> pd.DataFrame:
        """One row per task."""
        return self.table("tasks")

    @cached_property
    def splitting(self) -> pd.DataFrame:
        """One row per task from whose files jobs are cut."""
        return self.table("splitting")

    @cached_property
    def transfers(self) -> pd.DataFrame:
        """One row per transfer."""
        return self.table("transfers")

    @cached_property
    def decisions(self) -> pd.DataFrame:
        """One row per decision of a broker."""
        return self.table("decisions")

    @cached_property
    def candidates(self) -> pd.DataFrame:
        """One row per candidate of the decisions whose candidates were kept."""
        return self.table("candidates")

    @cached_property
    def factors(self) -> pd.DataFrame:
        """One row per factor of the weight of those of the candidates that were used."""
        return self.table("factors")

    @cached_property
    def refusals(self) -> pd.DataFrame:
        """How often each rule refused each candidate, by sample."""
        return self.table("refusals")

    @cached_property
    def shares(self) -> pd.DataFrame:
        """Time series of the leaf shares by resource type."""
        return self.table("shares")

    @cached_property
    def queues(self) -> pd.DataFrame:
        """Time series of the PanDA queues."""
        return self.table("queues")

    @cached_property
    def links(self) -> pd.DataFrame:
        """Time series of the links with traffic."""
        return self.table("links")

    @cached_property
    def storages(self) -> pd.DataFrame:
        """Time series of the storages."""
        return self.table("storages")

    def table(self, name: str, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """The table `name`, or only some of its columns, read afresh; for long tables cheaper than the attribute."""
        tables = list(self._arrow(name, columns))
        return pa.concat_tables(tables).unify_dictionaries().to_pandas()

    def batches(self, name: str, columns: Sequence[str] | None = None) -> Iterator[pd.DataFrame]:
        """The same piece by piece, at most some 100,000 rows at once, at least one piece; the order is kept.

        A categorical may have other categories in another piece.
        """
        for table in self._arrow(name, columns):
            yield table.to_pandas()

    def _arrow(self, name: str, columns: Sequence[str] | None) -> Iterator[pa.Table]:
        """The row groups of a table, or one without rows; raises InputFileError for a file that is damaged."""
        if name not in RECORDED:
            raise ValueError(f"{name!r} is not a recorded table; the tables are {', '.join(RECORDED)}")
        n_groups = 0
        for file in self._files(name):
            for table in self._read(file, columns):
                n_groups += 1
                yield table
        if n_groups == 0:
            empty = arrow_schema(name).empty_table()
            yield empty if columns is None else empty.select(list(columns))

    def _files(self, name: str) -> list[Path]:
        """The files that hold the table: one, or the parts of a run that did not close."""
        path = self.folder / f"{name}.parquet"
        if path.is_file():
            return [path]
        # between the two renames that put a merged file in its place, the parts stand under another name
        folder = path if path.is_dir() else path.with_name(f".{path.name}.parts")
        parts = sorted(folder.glob("part-*.parquet"))
        if not parts:
            self._remark(f"{path.name} is missing; read as a table without rows")
        return parts

    def _read(self, file: Path, columns: Sequence[str] | None) -> Iterator[pa.Table]:
        """The row groups of one file; none, with a remark, if it is the last of several parts and cannot be read."""
        try:
            with pq.ParquetFile(file) as parquet:
                for group in range(parquet.num_row_groups):
                    yield parquet.read_row_group(group, None if columns is None else list(columns))
        except (pa.ArrowInvalid, OSError) as error:
            is_last_part = file.parent != self.folder and file == max(file.parent.glob("part-*.parquet"))
            if not is_last_part:
                raise InputFileError([Problem(str(file), None, "", None, f"cannot be read: {error}")]) from error
            self._remark(f"{file.relative_to(self.folder)} cannot be read and was left out: {error}")

    def _remark(self, text: str) -> None:
        """Remember what a reader of the figures should know, once."""
        if text not in self.remarks:
            self.remarks.append(text)


def read_run(folder: Path) -> Run:
    """The run in `folder`; raises InputFileError that lists runs nearby if it is none."""
    folder = Path(folder)
    if (folder / MANIFEST).is_file():
        return Run(folder)
    runs = runs_near(folder)
    meant = "; runs nearby:" + "".join(f"\n      {run}" for run in runs) if runs else "; there is no run nearby either"
    what = "is not a run (it has no manifest.json)" if folder.is_dir() else "is not a folder"
    raise InputFileError([Problem(str(folder), None, "", None, what + meant)])
