"""PanDA job records, from JSON of the monitor or of the index, CSV or Parquet, as a recorded workload.

Each job has its own work and efficiency, without what its queue added to them: a recorded wall time is staging +
payload_overhead + work / (cores x corepower x efficiency), with the figures of the queue where the job ran; replayed
there it takes as long again, elsewhere as long as that queue's figures say. Source: formats reference, section 9.
"""

import csv
import io
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import pyarrow

from simgrid_broker.errors import nearest
from simgrid_broker.files import read_bytes
from simgrid_broker.names import USER_PRIORITY
from simgrid_broker.scenario.importers.cgsim import SERIAL, STATUS_WORDS, date_s, without_names
from simgrid_broker.scenario.importers.files import (
    UNKNOWN,
    BadLines,
    JsonFile,
    Tally,
    finite_number,
    read_json,
    read_text,
    refuse,
    refuse_binary,
)
from simgrid_broker.scenario.model import Grid
from simgrid_broker.schema.jobs import ALSO, FIELDS, NUMBERS, TIMES, RecordColumns
from simgrid_broker.schema.queues import UNKNOWN_COREPOWER

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


NEEDED = (("pandaid",), ("creationtime",), ("starttime+endtime", "durationsec"))
"""Columns that a replay needs, each in one of the ways."""

NOTHING = ("", "none", "null", "nan", "n/a")
"""Texts of a field of which nothing is known."""

TIMING = ("getjob", "stagein", "payload", "stageout", "setup")
"""Parts of `pilottiming`, in order; more may follow."""

RAN = ("finished", "failed", "cancelled", "closed", "merging", "transferring", "holding", "")
"""Statuses of jobs whose payload is over; "" = the records do not say."""

_WHOLE = re.compile(r"\d+\.0", re.ASCII)


def read_panda_jobs(path: Path, tally: Tally, limit: int | None = None, columns: RecordColumns | None = None,
                    needed: Sequence[Sequence[str]] = NEEDED) -> pd.DataFrame:
    """PanDA job records, at most `limit`: a column for each of FIELDS, NaN or "" = unknown, and what follows of them.

    submit_s, start_s: s since 1970; run_s, wait_s: wall time and time from creation to start, s; cores; corepower: HS06
    per core of the slot; stage_in_s, payload_s, stage_out_s, s; line: in the file, or number of the record. columns:
    names in the file; needed: as of `found_columns`. Remarks go to `tally`. Raises InputFileError with every field that
    cannot be read.
    """
    sheet = read_sheet(path, limit)
    found = found_columns(sheet, columns or RecordColumns(), needed, tally)
    bad = BadLines(sheet.path)
    table = pd.DataFrame({field: _column(sheet, field, found.get(field), bad) for field in FIELDS})
    timing = pd.DataFrame([_timing(sheet, row, text, bad) for row, text in enumerate(table["pilottiming"])],
                          columns=[*TIMING])
    for row in np.flatnonzero(table["pandaid"] == ""):
        bad.add(*sheet.place(int(row), "pandaid"), None, "each record needs an identifier")
    bad.stop()
    _say_repeated(table, tally)
    return _with_times(table.assign(line=sheet.lines if sheet.lines is not None else range(1, len(table) + 1)), timing,
                       tally)


def _say_repeated(table: pd.DataFrame, tally: Tally) -> None:
    again = table["pandaid"].duplicated()
    tally.count_all("jobs with more than one record, each of which counts", table["pandaid"][again])


def _column(sheet: Sheet, field: str, values: Sequence[Any] | None, bad: BadLines) -> np.ndarray | list[str]:
    """One column, read as what it is; all unknown if the file does not have it."""
    if field in (*NUMBERS, *TIMES):
        if values is None:
            return np.full(sheet.n_rows, np.nan)
        read, expected = (
            _time, "a time such as '2025-01-27 02:51:00', or seconds since 1970, was expected") if field in TIMES else (
            _number, "a number was expected")
        return _numbers(sheet, field, values, read, expected, bad)
    return [""] * sheet.n_rows if values is None else [_text(value) for value in values]


def _numbers(sheet: Sheet, field: str, values: Sequence[Any], read: Callable[[Any], float | None], expected: str,
             bad: BadLines) -> np.ndarray:
    numbers = np.full(len(values), np.nan)
    for row, value in enumerate(values):
        if not _is_nothing(value):
            found = read(value)
            if found is None:
                bad.add(*sheet.place(row, field), value, expected)
            else:
                numbers[row] = found
    return numbers


def _is_nothing(value: Any) -> bool:
    """True if a field says that nothing is known."""
    if isinstance(value, str):
        return value.strip().lower() in NOTHING
    return value is None or value is pd.NaT or value is pd.NA or (isinstance(value, float) and np.isnan(value))


def _text(value: Any) -> str:
    """A field as text; a whole number that a table keeps with a point has none."""
    if _is_nothing(value):
        return ""
    text = str(value).strip()
    return text[:-2] if _WHOLE.fullmatch(text) else text


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    return finite_number(str(value).strip())


def _time(value: Any) -> float | None:
    """Seconds since 1970 of a time, or None."""
    if isinstance(value, datetime):                          # pandas' timestamps too
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    text = str(value).strip()
    number = _number(text)
    if number is not None:
        return number
    found = date_s(text)
    return _iso_s(text) if found is None else found


@lru_cache(maxsize=4096)
def _iso_s(text: str) -> float | None:
    """Seconds since 1970 of a time of ISO 8601, in UTC unless it names another zone, or None."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def _timing(sheet: Sheet, row: int, text: str, bad: BadLines) -> list[float]:
    """The parts of `pilottiming`, s, NaN = unknown."""
    if not text:
        return [np.nan] * len(TIMING)
    parts = [part.strip() for part in text.split("|")]
    numbers = [np.nan if part.lower() in NOTHING else finite_number(part) for part in parts[:len(TIMING)]]
    if len(parts) < len(TIMING) or None in numbers:
        bad.add(*sheet.place(row, "pilottiming"), text, f"{'|'.join(TIMING)}, each in seconds, was expected")
        return [np.nan] * len(TIMING)
    return [number for number in numbers if number is not None]


def _with_times(table: pd.DataFrame, timing: pd.DataFrame, tally: Tally) -> pd.DataFrame:
    """The table with what follows of its columns; times that cannot be are unknown, with a remark."""
    wait = (table["starttime"] - table["creationtime"]).fillna(table["waittimesec"])
    early = wait < 0
    tally.count_all("jobs that started before they were created: their wait is unknown", table["pandaid"][early])
    run = (table["endtime"] - table["starttime"]).fillna(table["durationsec"])
    cores = table["corecount"].where(table["corecount"] >= 1, 1.0)
    of_slot = table["hs06"].where(table["hs06"] > 0).fillna((table["hs06sec"] / run).where(table["hs06sec"] > 0))
    power = of_slot / cores
    return table.assign(
        submit_s=table["creationtime"], start_s=table["creationtime"] + wait.where(~early),
        run_s=run.where(run > 0), wait_s=wait.where(~early), cores=cores,
        corepower=power.where(np.isfinite(power)), stage_in_s=timing["stagein"], stage_out_s=timing["stageout"],
        payload_s=timing["payload"].where((timing["payload"] > 0) & (timing["payload"] <= run)))


KB_PER_MB = 1000.0
"""maxPSS is recorded in kB."""

USER, MANAGED = "user", "managed"


class RanAt(NamedTuple):
    """Figures of the PanDA queues where jobs ran, each (n_jobs,); NaN where the scenario has no such queue.

    site: number of the site, -1 = unknown; corepower, HS06; efficiency: factor; overhead_s; latency_s, rate: of
    staging; copies: whether input is copied to the slot.
    """

    site: np.ndarray
    corepower: np.ndarray
    efficiency: np.ndarray
    overhead_s: np.ndarray
    latency_s: np.ndarray
    rate: np.ndarray
    copies: np.ndarray

    def factor(self) -> np.ndarray:
        """Factor of CPU efficiency of each queue, 1 where it is unknown, (n_jobs,)."""
        return np.where(np.isnan(self.efficiency), 1.0, self.efficiency)

    def staging_s(self, jobs: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Time to copy input and output of each job as a run does, s; unknown sizes count as none."""
        ins, outs = (jobs[name].fillna(0).to_numpy() for name in ("inputfilebytes", "outputfilebytes"))
        return (np.where((ins > 0) & (self.copies > 0), self.latency_s + ins / self.rate, 0.0),
                np.where(outs > 0, self.latency_s + outs / self.rate, 0.0))


def ran_at(grid: Grid, names: pd.Series) -> RanAt:
    """Figures of the PanDA queues with these names."""
    known: Mapping[str, tuple[float, ...]] = {name: _figures(grid, name) for name in set(names) & grid.queues.keys()}
    unknown = (-1.0, *[np.nan] * 6)
    table = np.array([known.get(name, unknown) for name in names], float).reshape(-1, 7)
    return RanAt(table[:, 0].astype(int), *table.T[1:])


def _figures(grid: Grid, name: str) -> tuple[float, ...]:
    queue = grid.queues[name]
    site = grid.sites[queue.atlas_site]
    return (list(grid.sites).index(queue.atlas_site), queue.corepower or UNKNOWN_COREPOWER, queue.cpu_efficiency,
            queue.payload_overhead, site.stage_latency, site.stage_in_rate, float(not queue.direct_io))


def read_panda_records(path: Path, tally: Tally, limit: int | None, columns: RecordColumns | None, grid: Grid,
                       corepower: float, work: Literal["recorded", "task"]) -> pd.DataFrame:
    """Records of a file of PanDA jobs in the columns of `traces.RECORD`; see `read_panda_jobs`.

    grid: where they ran; corepower: HS06 per core of queues that neither the record nor the grid knows; work: as of the
    scenario's `trace`.
    """
    jobs = read_panda_jobs(path, tally, limit, columns)
    jobs = jobs.assign(run_s=jobs["run_s"].where(_has_ended(jobs, tally)))
    at = ran_at(grid, jobs["computingsite"])
    power = _power(jobs, at, corepower, tally)
    payload_s = payload_of(jobs, at, tally)
    own = own_efficiency(jobs, payload_s, at, tally).fillna(1.0)
    found = pd.DataFrame({
        "job": jobs["pandaid"], "submit_s": jobs["submit_s"].fillna(UNKNOWN), "run_s": jobs["run_s"].fillna(UNKNOWN),
        "wait_s": jobs["wait_s"].fillna(UNKNOWN), "processors": jobs["cores"], "payload_s": payload_s,
        "cpu_efficiency": own, "corepower": power, "cputime_s": jobs["cpuconsumptiontime"],
        "work_hs06s": work_of(jobs, payload_s * own * power, at), **_claims(jobs), **_names(jobs), "site": at.site,
        "input_bytes": jobs["inputfilebytes"].fillna(0), "output_bytes": jobs["outputfilebytes"].fillna(0),
        "n_input_files": jobs["ninputdatafiles"].fillna(0)})
    return without_names(of_tasks(found, jobs["nevents"], tally) if work == "task" else found)


def payload_of(jobs: pd.DataFrame, at: RanAt, tally: Tally) -> pd.Series:
    """Wall time of each payload, s: as the pilot timed it, else the job's less staging and overhead of its queue."""
    n_timed = int(jobs["payload_s"].notna().sum())
    if n_timed < len(jobs):
        tally.say("jobs without a time of the payload in pilottiming, which is their wall time less staging and "
                  f"payload_overhead of the queue where they ran: {len(jobs) - n_timed}")
    rest = jobs["run_s"] - np.nan_to_num(sum(at.staging_s(jobs)) + at.overhead_s)
    return jobs["payload_s"].fillna(rest.where(rest > 0, jobs["run_s"])).fillna(UNKNOWN)


def own_efficiency(jobs: pd.DataFrame, payload_s: pd.Series, at: RanAt, tally: Tally) -> pd.Series:
    """CPU efficiency of each payload without the factor of its queue, NaN = unknown."""
    measured = jobs["cpuconsumptiontime"] / (payload_s * jobs["cores"]) / at.factor()
    known = measured.where((measured > 0) & (payload_s > 0))
    tally.count_all("jobs with more CPU time than their cores had, whose CPU efficiency counts as 1",
                    jobs["pandaid"][known > 1])
    tally.count_all("jobs without recorded CPU time, whose CPU efficiency counts as 1", jobs["pandaid"][known.isna()])
    return known.clip(upper=1.0)


def work_of(jobs: pd.DataFrame, of_a_core: pd.Series, at: RanAt) -> pd.Series:
    """CPU work of each job, HS06 s: as recorded, else what its payload did; of_a_core: at a queue without a factor.

    A job that did not finish has done no more than its payload did.
    """
    known = (jobs["work"] > 0) & ~_stopped(jobs["jobstatus"].str.lower().map(STATUS_WORDS))
    return jobs["work"].where(known).fillna(of_a_core * jobs["cores"] * at.factor())


def of_tasks(records: pd.DataFrame, n_events: pd.Series, tally: Tally) -> pd.DataFrame:
    """The records with the work and efficiency of their tasks: medians of its jobs, per event where all have events.

    Jobs without a task, and those that failed or were cancelled, keep their own, and do not count for the medians.
    """
    events, whole = n_events.where(n_events > 0), ~_stopped(records["status"])
    per_event = events.notna().groupby(records["task"]).transform("all")
    size = events.where(per_event, 1.0)
    rate = (records["work_hs06s"] / size).where(whole).groupby(records["task"]).transform("median")
    has_task = (records["task"] != "") & whole & rate.notna()
    tally.count_all("jobs without a task, or that did not finish, keep their own work", records["job"][~has_task])
    typical = records["cpu_efficiency"].where(whole).groupby(records["task"]).transform("median")
    return records.assign(work_hs06s=(rate * size).where(has_task, records["work_hs06s"]),
                          cpu_efficiency=typical.where(has_task, records["cpu_efficiency"]))


def _stopped(status: pd.Series) -> pd.Series:
    """True where a job ended without finishing."""
    return status.isin([STATUS_WORDS["failed"], STATUS_WORDS["cancelled"]])


def _has_ended(jobs: pd.DataFrame, tally: Tally) -> pd.Series:
    ended = jobs["jobstatus"].str.lower().isin(RAN)
    tally.count_all("records left out because the job had not ended", jobs["pandaid"][~ended])
    return ended


def _power(jobs: pd.DataFrame, at: RanAt, corepower: float, tally: Tally) -> np.ndarray:
    """HS06 per core where each job ran: as recorded, else as the grid says, else `corepower`."""
    power = jobs["corepower"].fillna(pd.Series(at.corepower, jobs.index))
    tally.count_all(f"jobs at queues that neither hs06 nor the grid gives a power: {corepower:g} HS06 per core",
                    (name or "unknown" for name in jobs["computingsite"][power.isna()]))
    return power.fillna(corepower).to_numpy()


def _claims(jobs: pd.DataFrame) -> dict[str, pd.Series]:
    """Memory and priority that each job asked for."""
    used, asked = jobs["maxpss"] / KB_PER_MB / jobs["cores"], jobs["minramcount"] / jobs["cores"]
    return {"used_mb": used.where(used > 0, UNKNOWN), "requested_mb": asked.where(asked > 0, UNKNOWN),
            "priority": jobs["assignedpriority"].fillna(jobs["currentpriority"]).fillna(float(USER_PRIORITY))}


def _names(jobs: pd.DataFrame) -> dict[str, pd.Series]:
    """To whom and to what each job belongs."""
    label = jobs["prodsourcelabel"].where(jobs["prodsourcelabel"] != "", np.where(
        jobs["jobname"].str.startswith(f"{USER}."), USER, MANAGED))
    program = jobs["jobname"].str.replace(SERIAL, "", regex=True)
    return {"status": jobs["jobstatus"].str.lower().map(STATUS_WORDS).fillna(UNKNOWN), "user": jobs["produsername"],
            "group": jobs["workinggroup"], "executable": program.where(program != "", jobs["transformation"]),
            "label": label, "partition": jobs["computingsite"], "gshare": jobs["gshare"], "task": jobs["jeditaskid"],
            "processing_type": jobs["processingtype"].replace("", "trace")}
