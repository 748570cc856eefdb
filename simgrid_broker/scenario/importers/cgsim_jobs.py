"""Reads the job records of CGSim, real PanDA jobs in a CSV file, for replay. Source: formats reference, section 14."""

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import pandas as pd

from simgrid_broker.errors import nearest
from simgrid_broker.names import USER_PRIORITY
from simgrid_broker.scenario.importers.input_files import BadLines, Tally, read_text, refuse, refuse_binary
from simgrid_broker.scenario.importers.text_tables import UNKNOWN, finite_number

COLUMNS = (
    "pandaid", "creationtime", "starttime", "endtime", "computingelement", "assignedpriority", "currentpriority",
    "jobstatus", "jobname", "cpuconsumptiontime", "computingsite", "cpuconversion", "job_walltime", "job_queuetime",
    "cpu_eff", "destinationdblock", "destinationse", "sourcesite", "transfertype", "corecount", "ninputdatafiles",
    "inputfilebytes", "noutputdatafiles", "outputfilebytes", "piloterrorcode", "exeerrorcode", "ddmerrorcode",
    "jobdispatchererrorcode", "taskbuffererrorcode", "pilottiming", "files_info")
"""Names of the columns, in any order and case; others are ignored."""

NEEDED = ("pandaid", "creationtime", "corecount")
"""Required columns; a wall time, or start and end, is required too."""

NUMBERS = ("assignedpriority", "job_walltime", "job_queuetime", "cpu_eff", "corecount", "ninputdatafiles",
           "inputfilebytes", "outputfilebytes")
"""Columns that must be numbers or empty."""

TIME_FORMATS = ("%m/%d/%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S",
                "%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S.%f")
"""Formats of times other than seconds: CGSim's own, and the formats of PanDA's monitor and index."""

STATUS_WORDS = {"finished": 1, "failed": 0, "cancelled": 5, "closed": 5}
"""Status of PanDA to that of the trace formats."""

SERIAL = re.compile(r"(?:/\.|\._|_)\d+(?:\.job)?(?:\.\d+)?$", re.ASCII)
"""End of the name of a job that numbers it among those of its task."""

USER_PREFIX = "user."
"""Names of user jobs begin with it, followed by the name of the user; others are production."""


def read_cgsim_records(path: Path, limit: int | None, sites: Sequence[str], tally: Tally) -> pd.DataFrame:
    """Records of a CGSim job file, at most `limit`, in the columns of `traces.RECORD`.

    sites: names of the scenario's sites; a `computingsite` that is a number counts them from 0. Remarks go to `tally`.
    Raises InputFileError with all lines that are not records.
    """
    path = Path(path)
    text = read_text(path)
    refuse_binary(path, text)
    bad = BadLines(path)
    records: list[dict] = []
    for line, row in _rows(path, text, limit, bad):
        record = _record(line, row, bad)
        input_site = _input_site(row, sites)
        if record["input_bytes"] > 0 and input_site is None:
            tally.count("jobs whose site is not in the scenario: their input lies at the sites in turn", row["pandaid"])
        known = input_site if input_site is not None else len(records) % max(1, len(sites))
        records.append(record | {"site": known if sites else -1, "partition": _name_of_site(row, sites)})
    bad.stop()
    if not records:
        refuse(path, 1, "", None, "at least one record was expected below the header")
    return without_names(pd.DataFrame(records))


def _rows(path: Path, text: str, limit: int | None, bad: BadLines):
    """Line and fields by lower-case column of each record; rows of another length are added to `bad`."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        _check_header(path, header)
        n_rows = 0
        for row in reader:
            if not row or n_rows == limit:
                continue
            n_rows += 1
            if len(row) == len(header):
                yield reader.line_num, {name: field.strip() for name, field in zip(header, row, strict=True)}
            else:
                bad.add(reader.line_num, "", ",".join(row), f"{len(header)} fields were expected as in the header, not "
                        f"{len(row)}")
    except csv.Error as error:
        refuse(path, reader.line_num, "", None, f"comma-separated values were expected: {error}")


def _check_header(path: Path, header: list[str]) -> None:
    bad = BadLines(path)
    for name in NEEDED:
        if header.count(name) != 1:
            strange = [each for each in header if each not in COLUMNS]
            bad.add(1, "header", None, f"the column {name} was expected, once", nearest(name, strange))
    if "job_walltime" not in header and not {"starttime", "endtime"} <= set(header):
        bad.add(1, "header", None, "the column job_walltime, or starttime and endtime, were expected",
                nearest("job_walltime", header))
    bad.stop()


def _record(line: int, row: Mapping[str, str], bad: BadLines) -> dict:
    number = {name: _number(line, name, row.get(name, ""), bad) for name in NUMBERS}
    cores = max(1.0, number["corecount"])
    efficiency = number["cpu_eff"] if 0 < number["cpu_eff"] <= 1 else 1.0
    name, sizes = row.get("jobname", ""), _sizes(line, row.get("files_info", ""), bad)
    priority = number["assignedpriority"] if row.get("assignedpriority") else float(USER_PRIORITY)
    return {
        "job": row["pandaid"], "submit_s": _time(line, "creationtime", row["creationtime"], bad),
        "run_s": _run_s(line, row, number["job_walltime"], cores, bad), "processors": cores, "requested_s": UNKNOWN,
        "wait_s": number["job_queuetime"] if row.get("job_queuetime") else UNKNOWN,
        "status": STATUS_WORDS.get(row.get("jobstatus", "").lower(), UNKNOWN),
        "user": name.split(".")[1] if name.startswith(USER_PREFIX) else "",
        "executable": SERIAL.sub("", name), "label": "user" if name.startswith(USER_PREFIX) else "managed",
        "priority": priority, "cpu_efficiency": efficiency,
        "input_bytes": max(0.0, number["inputfilebytes"]) or sum(sizes),
        "n_input_files": max(0.0, number["ninputdatafiles"]) or len(sizes),
        "output_bytes": max(0.0, number["outputfilebytes"])}


def _run_s(line: int, row: Mapping[str, str], walltime_core_s: float, cores: float, bad: BadLines) -> float:
    """Wall time, s: `job_walltime`, which is core-seconds, over the cores; without it, end less start."""
    if walltime_core_s > 0:
        return walltime_core_s / cores
    started, ended = (row.get(name, "") for name in ("starttime", "endtime"))
    if not (started and ended):
        return UNKNOWN
    return _time(line, "endtime", ended, bad) - _time(line, "starttime", started, bad)


def _number(line: int, name: str, field: str, bad: BadLines) -> float:
    if not field:
        return UNKNOWN
    value = finite_number(field)
    if value is None:
        bad.add(line, name, field, "a number was expected")
        return UNKNOWN
    return value


def _time(line: int, name: str, field: str, bad: BadLines) -> float:
    """A time, s, from a number of seconds or a date of `TIME_FORMATS` in UTC; UNKNOWN for an empty field."""
    if not field:
        return UNKNOWN
    value = finite_number(field)
    value = date_s(field) if value is None else value
    if value is None:
        bad.add(line, name, field, "a number of seconds or a time such as '1/27/2025 2:51' was expected")
        return UNKNOWN
    return value


@lru_cache(maxsize=4096)
def date_s(text: str) -> float | None:
    """Seconds since 1970 of a date in UTC, or None if it is not a date."""
    for form in TIME_FORMATS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    return None


def _sizes(line: int, field: str, bad: BadLines) -> list[float]:
    """Sizes of the input files, bytes, from the quoted JSON object of `files_info`, file to size."""
    if not field:
        return []
    try:
        sizes = list(json.loads(field).values())
    except (ValueError, AttributeError, RecursionError):
        bad.add(line, "files_info", field, "a JSON object of file to bytes was expected")
        return []
    if not all(isinstance(size, (int, float)) and not isinstance(size, bool) and 0 <= size < 1e300 for size in sizes):
        bad.add(line, "files_info", field, "sizes in bytes were expected")
        return []
    return [float(size) for size in sizes]


def _input_site(row: Mapping[str, str], sites: Sequence[str]) -> int | None:
    """Number of the site that holds the input: `sourcesite`, else `computingsite`; None if neither is in `sites`."""
    numbers = (_number_of_site(row.get(column, ""), sites) for column in ("sourcesite", "computingsite"))
    return next((number for number in numbers if number is not None), None)


def _number_of_site(name: str, sites: Sequence[str]) -> int | None:
    """Number of a site that is named, or counted from 0; None if it is not in `sites`."""
    if name in sites:
        return sites.index(name)
    return int(name) if name.isdecimal() and len(name) < 10 and int(name) < len(sites) else None


def _name_of_site(row: Mapping[str, str], sites: Sequence[str]) -> str:
    """Name of the site where the job ran, as the partition of a trace; its own text if it is not in `sites`."""
    name = row.get("computingsite", "")
    number = _number_of_site(name, sites)
    return name if number is None else sites[number]


def without_names(records: pd.DataFrame) -> pd.DataFrame:
    """The records with numbers in place of user names; the user may be unknown."""
    codes, values = pd.factorize(records["user"])
    unknown = [code for code, name in enumerate(values) if not name]
    return records.assign(user=[("" if code in unknown else str(code + 1)) for code in codes])
