"""`RunWriter`: all recorded tables of a run, written beside it in constant memory, and its snapshots.

A snapshot, `snapshots/t=<seconds>.yaml`, is the input of `broker`. Each entry is one line of JSON, which YAML includes:
readable, and written in a fraction of the time of YAML's block style.
"""

import json
import re
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from types import MappingProxyType
from typing import Self

import numpy as np

from simgrid_broker.errors import OutputError
from simgrid_broker.files import write_whole
from simgrid_broker.names import Cause, JobStatus
from simgrid_broker.records.layout import layout
from simgrid_broker.records.parts import Batch, TableFiles
from simgrid_broker.schema import RECORDED, Table
from simgrid_broker.schema.series import ENDED
from simgrid_broker.units import HOUR

S = JobStatus
KEY = ("time_s", "queue", "share", "processing_type", "status", "cause", "attempt")
"""Columns that tell groups of attempts apart."""


class EndedJobs:
    """Sums of the hour that is not over yet, (n,) of ENDED."""

    def __init__(self) -> None:
        self.open = ENDED.empty(0)

    def add(self, jobs: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Add attempts in order of their ends, those without an end left out; returns the hours that are over.

        jobs: (n,) of JOBS; times: (n, n_status), s, NaN = never.
        """
        hours = ENDED.summed(np.concatenate([self.open, sums_of(jobs, times)]), KEY)
        last = hours["time_s"] == hours["time_s"].max(initial=0)
        self.open = hours[last]
        return hours[~last]


def sums_of(jobs: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Each ended attempt as a row of ENDED, (n_ended,)."""
    ended_s = times[np.arange(len(jobs)), jobs["status"]]
    over = np.isin(jobs["status"], (S.FINISHED, S.FAILED, S.CLOSED, S.CANCELLED)) & ~np.isnan(ended_s)
    jobs, times, ended_s = jobs[over], times[over], ended_s[over]
    rows = ENDED.empty(len(jobs))
    for name in KEY[1:]:
        rows[name] = jobs[name]
    rows["time_s"] = np.floor(ended_s / HOUR) * HOUR
    rows["jobs"], rows["core_s"] = 1, jobs["walltime_s"].astype(float) * jobs["corecount"]
    rows["hs06s"] = jobs["walltime_s"].astype(float) * jobs["hs06_milli"] * 1e-3
    started_s = times[:, S.RUNNING]
    ran = np.where(jobs["cause"] == Cause.LOST_HEARTBEAT, jobs["walltime_s"], _stopped(times, ended_s) - started_s)
    rows["run_core_s"] = np.nan_to_num(ran) * jobs["corecount"]
    rows["wait_s"] = np.nan_to_num(np.where(np.isnan(started_s), ended_s, started_s) - times[:, S.PENDING])
    return rows


def _stopped(times: np.ndarray, ended_s: np.ndarray) -> np.ndarray:
    """When payloads stopped, (n,): at the first of holding, transferring and the end of the job."""
    stopped = ended_s
    for status in (S.HOLDING, S.TRANSFERRING):
        moment = times[:, status]
        stopped = np.where((moment >= times[:, S.RUNNING]) & (moment < stopped), moment, stopped)
    return stopped


BATCH_ROWS = 25_000
"""Rows of a row group. Each table holds at most as many in memory: 51 MiB for all, which a long run fills in months."""

MOST_WAITING = 8
"""Batches of all tables that wait to be written or are being written; with one more, the run waits for them."""

PAUSE_S = 30.0
"""Wall time after which batches that have grown are written though they are not complete, s: a killed run loses less.

Small runs are over before, and encode each row once.
"""


class RunWriter:
    """Writes every recorded table of one run into `folder`, in a thread of its own.

    vocabularies: words of the codes, by the names in the schema's `codes`; statuses and causes are built in;
    a list may grow.
    batch_rows: buffered rows per table, and rows per row group; tables: those that agents declare, by name. A context
    manager that closes the writer.
    Raises OutputError if the folder cannot be written or holds a run, ValueError for a missing vocabulary.
    """

    def __init__(self, folder: Path, vocabularies: Mapping[str, Sequence[str]], batch_rows: int = BATCH_ROWS,
                 tables: Mapping[str, Table] = MappingProxyType({})):
        self.folder = Path(folder)
        self.tables = RECORDED | dict(tables)
        self._open: dict[str, TableFiles] = {}
        self._thread = ThreadPoolExecutor(1, "records")
        self._writing: deque[tuple[str, Future[None]]] = deque()
        self._due = time.monotonic() + PAUSE_S
        layouts = {name: layout(table, vocabularies) for name, table in self.tables.items()}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for name in self.tables:
                self._open[name] = TableFiles(layouts[name], self.folder, batch_rows)
        except FileExistsError as error:
            raise OutputError(f"{error.filename} exists already; use a new folder for the run "
                              "(nothing was overwritten)") from error
        except OSError as error:
            raise OutputError(f"cannot write results to {self.folder}: {error}") from error

    def write(self, name: str, rows: np.ndarray | Mapping[str, np.ndarray], times: np.ndarray | None = None) -> None:
        """Add rows to the table `name`.

        rows: (n,) structured array of the table's dtype, or columns by name; they are copied. times: (n, n_status)
        float64 for jobs and tasks, s, NaN = never. Raises ValueError for rows that do not fit the table; and, also for
        rows of earlier calls, OutputError (complete parts stay readable) and ValueError for codes without a word.
        """
        if name not in self._open:
            raise ValueError(f"{name!r} is not an open table; an agent declares its own with `records`; the tables are "
                             f"{', '.join(self.tables)}")
        for batch in self._open[name].buffer.add(rows, times):
            self._hand_over(name, batch)
        if time.monotonic() >= self._due:
            self._hand_over_grown()
        self.wait(MOST_WAITING)

    def _hand_over_grown(self) -> None:
        """Let the thread write what each table holds beyond complete batches, if that has grown."""
        for name, table in self._open.items():
            if (batch := table.buffer.grown()) is not None:
                self._hand_over(name, batch)
        self._due = time.monotonic() + PAUSE_S

    def _hand_over(self, name: str, batch: Batch) -> None:
        self._open[name].waiting.append(batch)
        self._writing.append((name, self._thread.submit(self._open[name].write_waiting)))
        self.wait(MOST_WAITING)

    def wait(self, most: int = 0) -> None:
        """Return when at most `most` of the batches that are due have not been written; raises as `write`."""
        while self._writing and (len(self._writing) > most or self._writing[0][1].done()):
            name, written = self._writing.popleft()
            try:
                written.result()
            except OSError as error:
                raise self._refused({name: error}) from error

    def close(self) -> None:
        """Write the buffered rows and make each table one file; a second call has no effect.

        Raises OutputError after trying every table; a table that could not be closed stays a readable folder of parts.
        """
        wait([written for _, written in self._writing])
        self._writing.clear()
        failed = {}
        for name in list(self._open):
            try:
                self._open[name].finish()
                del self._open[name]
            except OSError as error:
                failed[name] = error
        if failed:
            raise self._refused(failed) from next(iter(failed.values()))
        self._thread.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def _refused(self, failed: Mapping[str, OSError]) -> OutputError:
        """The error for tables that could not be written: paths, reasons, and complete data."""
        why = "\n".join(f"  - {self.folder / name}.parquet: {error}" for name, error in failed.items())
        kept = [f"{self._open[name].kept_rows:,} {name}" for name in self.tables if name in self._open]
        whole = [name for name in self.tables if name not in self._open]
        safe = f"kept and readable in {self.folder}: {', '.join(kept)} (rows)"
        done = f"; complete: {', '.join(whole)}" if whole else ""
        return OutputError(f"cannot write results:\n{why}\n{safe}{done}")


FOLDER = "snapshots"
HEAD = "# Snapshot of a simulated grid; `simgrid-broker broker FILE --task ID` makes a broker decision on it.\n"
OPEN = ("grid",)
"""Keys whose values are written entry by entry."""
UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""Characters allowed in JSON but not in YAML."""


FAILURE = "failure.yaml"
"""File of a run that an error of the program ended: a scenario that ends in the same way."""


def write_snapshot(run_folder: Path, values: dict) -> Path:
    """Write a snapshot into the folder of a run and return its path; raises OutputError."""
    return write_whole(Path(run_folder) / FOLDER / f"t={values['time']:.15g}.yaml", snapshot_text(values))


def write_failure(run_folder: Path, values: dict, lines: Iterable[str]) -> Path:
    """Write the scenario of a run that an error of the program ended, with lines about it at its head; its path.

    Running the file again ends in the same way. Raises OutputError.
    """
    head = "".join(f"# {line}\n" for text in lines for line in text.splitlines())
    body = "".join(f"{name}: {_json(value)}\n" for name, value in values.items())
    return write_whole(Path(run_folder) / FAILURE, head + body)


def snapshot_text(values: dict) -> str:
    """The text of a snapshot file."""
    return HEAD + "".join(line + "\n" for line in _lines(values, ""))


def _lines(values: dict, indent: str) -> Iterator[str]:
    """Lines of a mapping, one per entry of a nested mapping or list."""
    for name, value in values.items():
        if name in OPEN:
            yield f"{indent}{name}:"
            yield from _lines(value, indent + "  ")
        elif isinstance(value, dict) and value:
            yield f"{indent}{name}:"
            yield from (f"{indent}  {_json(key)}: {_json(inner)}" for key, inner in value.items())
        elif isinstance(value, list) and value:
            yield f"{indent}{name}:"
            yield from (f"{indent}  - {_json(inner)}" for inner in value)
        else:
            yield f"{indent}{name}: {_json(value)}"


def _json(value) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return UNPRINTABLE.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)
