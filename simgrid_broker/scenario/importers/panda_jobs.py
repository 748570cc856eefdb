"""Reads PanDA job records with their units and what is unknown. Source: formats reference, section 9."""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from simgrid_broker.scenario.importers.cgsim_jobs import date_s
from simgrid_broker.scenario.importers.input_files import BadLines, Tally
from simgrid_broker.scenario.importers.panda_table import Sheet, found_columns, read_sheet
from simgrid_broker.scenario.importers.text_tables import finite_number
from simgrid_broker.schema.panda_records import FIELDS, NUMBERS, TIMES, RecordColumns

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
    """Whether a field says that nothing is known."""
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
