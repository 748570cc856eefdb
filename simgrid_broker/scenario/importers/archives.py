"""Archives of workloads: the formats SWF and GWF as records, and a grid of the partitions of an SWF trace.

Source: formats reference, sections 12 and 13.
"""

import re
from collections import Counter
from collections.abc import Mapping
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from simgrid_broker.errors import nearest
from simgrid_broker.scenario.importers.files import (
    NOT_GIVEN,
    UNKNOWN,
    BadLines,
    Lines,
    Tally,
    chunks,
    efficiencies,
    number_columns,
    read_lines,
    refuse,
    say_unused,
)
from simgrid_broker.scenario.importers.trace_tasks import PREFIX_OF, days_of

SWF_COLUMNS = (
    "job number", "submit time", "wait time", "run time", "processors allocated", "CPU time used", "memory used",
    "processors requested", "time requested", "memory requested", "status", "user", "group", "executable", "queue",
    "partition", "preceding job", "think time")

SWF_UNUSED = (16, 17)
"""Fields without a use in a replay: jobs come at their submit times, whatever job they followed."""

N_SHARED = 16
"""First fields that mean in the one format what they mean in the other."""

N_LEAST = 5
"""Fields that a file must have at least: the job up to its processors."""

KB_PER_MB = 1000.0
"""Memory is recorded in kB per processor."""

_NUMBERED = re.compile(r"(?P<key>\w+):\s*(?P<number>\d{1,9})\s+(?:-\s+)?(?P<name>\S+(?: (?!-)\S+)*).*", re.ASCII)

RECORDS_HEADER = ("MaxRecords", "MaxJobs")
"""Header keys that give the number of records of the whole log."""


def read_swf(path: Path, limit: int | None, tally: Tally) -> pd.DataFrame:
    """Records of an SWF file, at most `limit`, in the order of the file and in the columns of `traces.RECORD`.

    Remarks go to `tally`. Raises InputFileError with all lines that are not records.
    """
    lines = read_lines(path, ";", limit)
    header = header_values(lines.comments)
    if limit is None:
        _compare_number(header, len(lines.data), tally)
    values = _numbers(lines, tally)
    say_unused({SWF_COLUMNS[field]: values[:, field] for field in SWF_UNUSED}, tally)
    fields = pd.DataFrame(dict(zip(GWF_COLUMNS[:N_SHARED], values.T, strict=False)))
    return _records(fields, tally).assign(partition=_named(fields["PartitionID"], lines.comments, "Partition"),
                                          batch_queue=_named(fields["QueueID"], lines.comments, "Queue"))


def header_values(comments: tuple[str, ...]) -> dict[str, str]:
    """Values of `; Key: value` lines; of a repeated key the first value."""
    found: dict[str, str] = {}
    for comment in comments:
        key, colon, value = comment.partition(":")
        if colon and key.strip().isidentifier():
            found.setdefault(key.strip(), value.strip())
    return found


def numbered_names(comments: tuple[str, ...], key: str) -> dict[int, str]:
    """Name by number of `; Key: number name` lines, of a repeated number the first, different for each number.

    The name ends before two blanks or a dash, behind which a description may stand.
    """
    found: dict[int, str] = {}
    for comment in comments:
        match = _NUMBERED.fullmatch(comment)
        if match and match["key"] == key:
            name = match["name"]
            found.setdefault(int(match["number"]), f"{name}-{match['number']}" if name in found.values() else name)
    return found


def _compare_number(header: dict[str, str], n_read: int, tally: Tally) -> None:
    """Remark on a header that announces another number of records than the file holds."""
    for key in RECORDS_HEADER:
        written = header.get(key, "")
        if written.isdecimal() and written.lstrip("0") != str(n_read):
            tally.say(f"the header's {key} is {written}, the file holds {n_read} records")
            return


def _numbers(lines: Lines, tally: Tally) -> np.ndarray:
    """All fields as numbers, (n_records, 18), columns that the file lacks filled with `UNKNOWN`."""
    bad = BadLines(lines.path)
    width = _width(lines)
    parts = []
    for part in chunks(lines):
        rows, numbers = _of_width([line.split() for line in lines.data[part]], lines.numbers[part], width, bad)
        parts.append(number_columns(rows, numbers, SWF_COLUMNS[:width], bad))
    bad.stop()
    if width < len(SWF_COLUMNS):
        tally.say(f"the records have {width} of {len(SWF_COLUMNS)} fields; the others count as unknown")
    values = np.concatenate([part for part in parts if len(part)])
    return np.pad(values, ((0, 0), (0, len(SWF_COLUMNS) - width)), constant_values=UNKNOWN)


def _width(lines: Lines) -> int:
    """Number of fields that most lines have; raises InputFileError if that is not a number of fields of SWF."""
    counted = Counter(len(line.split()) for line in lines.data)
    width = max(counted, key=lambda n: (counted[n], n == len(SWF_COLUMNS)))
    if not N_LEAST <= width <= len(SWF_COLUMNS):
        refuse(lines.path, lines.numbers[0], "", lines.data[0],
               f"records of {len(SWF_COLUMNS)} fields separated by blanks were expected, most lines have {width}")
    return width


def _of_width(rows: list[list[str]], numbers: list[int], width: int,
              bad: BadLines) -> tuple[list[list[str]], list[int]]:
    """The rows that have `width` fields, with their lines; the others are added to `bad`."""
    if all(len(row) == width for row in rows):
        return rows, numbers
    good = []
    for row, number in zip(rows, numbers, strict=True):
        if len(row) == width:
            good.append((row, number))
        else:
            bad.add(number, "", " ".join(row), f"{width} fields were expected as in the other lines, not {len(row)}")
    return [row for row, _ in good], [number for _, number in good]


def _named(numbers: pd.Series, comments: tuple[str, ...], key: str) -> list[str]:
    """Names that the header gives to numbers, else the numbers as text."""
    names = numbered_names(comments, key)
    return [names.get(number, str(number)) for number in numbers.astype(int).tolist()]


GWF_COLUMNS = (
    "JobID", "SubmitTime", "WaitTime", "RunTime", "NProcs", "AverageCPUTimeUsed", "UsedMemory", "ReqNProcs", "ReqTime",
    "ReqMemory", "Status", "UserID", "GroupID", "ExecutableID", "QueueID", "PartitionID", "OrigSiteID",
    "LastRunSiteID", "JobStructure", "JobStructureParams", "UsedNetwork", "UsedLocalDiskSpace", "UsedResources",
    "ReqPlatform", "ReqNetwork", "ReqLocalDiskSpace", "ReqResources", "VOID", "ProjectID")
"""Names of the 29 fields, in order; identifiers may be text."""

NUMBERS = GWF_COLUMNS[1:11]

GWF_UNUSED = (*GWF_COLUMNS[16:17], *GWF_COLUMNS[18:])
"""Fields without a use in a replay; a `LastRunSiteID` takes the place of an unknown partition."""

WORKFLOW_COLUMNS = ("WorkflowID", *GWF_COLUMNS, "Dependencies")
"""Names that the header of the comma-separated variant may hold."""


def read_gwf(path: Path, limit: int | None, tally: Tally) -> pd.DataFrame:
    """Records of a GWF file, at most `limit`, in the order of the file and in the columns of `traces.RECORD`.

    Remarks go to `tally`. Raises InputFileError with all lines that are not records.
    """
    lines = read_lines(path, "#", None if limit is None else limit + 1)
    if "SubmitTime" in lines.data[0]:
        fields = _with_header(lines, tally)
    else:
        lines = Lines(lines.path, lines.comments, lines.data[:limit], lines.numbers[:limit])
        fields = _without_header(lines, tally)
    say_unused({name: fields[name] for name in GWF_UNUSED if name in fields}, tally)
    return _records(fields, tally)


def split(line: str) -> list[str]:
    """Fields of a line separated by tabs, which may leave fields empty, or by blanks; an empty field is -1."""
    if "\t" not in line:
        return line.split()
    return [field.strip() or "-1" for field in line.split("\t")]


def _without_header(lines: Lines, tally: Tally) -> pd.DataFrame:
    bad, parts, n_short = BadLines(lines.path), [], 0
    for part in chunks(lines):
        rows = [split(line) for line in lines.data[part]]
        numbers = lines.numbers[part]
        for row, number in zip(rows, numbers, strict=True):
            if not N_LEAST <= len(row) <= len(GWF_COLUMNS):
                bad.add(number, "", " ".join(row), f"{len(GWF_COLUMNS)} fields were expected, not {len(row)}")
            n_short += len(row) < len(GWF_COLUMNS)
            row[:] = (row + ["-1"] * (len(GWF_COLUMNS) - len(row)))[:len(GWF_COLUMNS)]
        parts.append(_typed(rows, numbers, GWF_COLUMNS, bad))
    bad.stop()
    if n_short:
        tally.say(f"records with fewer than {len(GWF_COLUMNS)} fields, the others count as unknown: {n_short}")
    return pd.concat(parts, ignore_index=True)


def _with_header(lines: Lines, tally: Tally) -> pd.DataFrame:
    """Fields of a file whose first line names its columns, separated by commas, tabs or blanks."""
    bad = BadLines(lines.path)
    comma = "," in lines.data[0]
    names = _header(lines, comma, bad)
    rows = [[field.strip() for field in line.split(",")] if comma else split(line) for line in lines.data[1:]]
    numbers = lines.numbers[1:]
    for row, number in zip(rows, numbers, strict=True):
        if len(row) != len(names):
            bad.add(number, "", ",".join(row), f"{len(names)} fields were expected as in the header, not {len(row)}")
            row[:] = ["-1"] * len(names)
    if not rows:
        refuse(lines.path, lines.numbers[0], "", None, "at least one record was expected below the header")
    fields = _typed(rows, numbers, names, bad)
    bad.stop()
    _remark_on_dependencies(fields, tally)
    return fields


def _header(lines: Lines, comma: bool, bad: BadLines) -> list[str]:
    """Names of the columns; raises InputFileError for unknown ones and if a needed one is missing."""
    line, number = lines.data[0], lines.numbers[0]
    names = [name.strip() for name in line.split(",")] if comma else split(line)
    for name in names:
        if name not in WORKFLOW_COLUMNS or names.count(name) > 1:
            bad.add(number, "header", name, "each column must be one of the grid workload format, named once",
                    nearest(name, WORKFLOW_COLUMNS))
    for name in ("JobID", "SubmitTime", "RunTime"):
        if name not in names:
            bad.add(number, "header", None, f"the column {name} is missing")
    bad.stop()
    return names


def _remark_on_dependencies(fields: pd.DataFrame, tally: Tally) -> None:
    """Count the records that wait for others, which the simulation does not make them do."""
    if "Dependencies" in fields:
        waiting = ~fields["Dependencies"].isin(("", "-1"))
        tally.count_all("jobs whose dependencies are not simulated: they arrive at their submit time whatever becomes "
                        "of the jobs that they depend on", fields["JobID"][waiting])


def _typed(rows: list[list[str]], numbers: list[int], names, bad: BadLines) -> pd.DataFrame:
    """The fields as a table: number columns as float64, the others as text."""
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    of_numbers = [name for name in names if name in NUMBERS]
    values = number_columns([[field or "-1" for field in row] for row in
                             zip(*(columns[name] for name in of_numbers), strict=True)], numbers, of_numbers, bad)
    typed = dict(zip(of_numbers, values.T, strict=True))
    return pd.DataFrame({name: typed.get(name, columns[name]) for name in names})


def _records(fields: pd.DataFrame, tally: Tally) -> pd.DataFrame:
    def number(name: str) -> np.ndarray:
        return fields[name].to_numpy() if name in fields else np.full(len(fields), UNKNOWN)

    def memory(name: str) -> np.ndarray:
        return np.where(number(name) > 0, number(name) / KB_PER_MB, UNKNOWN)

    def identifier(name: str):
        return fields.get(name, "-1")

    cpu_s, processors = number("AverageCPUTimeUsed"), np.maximum(np.where(number("NProcs") > 0, number("NProcs"),
                                                                          number("ReqNProcs")), 1)
    return pd.DataFrame({
        "job": fields["JobID"], "submit_s": number("SubmitTime"), "run_s": number("RunTime"),
        "processors": number("NProcs"), "requested_processors": number("ReqNProcs"),
        "requested_s": number("ReqTime"), "used_mb": memory("UsedMemory"), "requested_mb": memory("ReqMemory"),
        "status": number("Status"), "user": identifier("UserID"), "group": identifier("GroupID"),
        "executable": identifier("ExecutableID"),
        "wait_s": number("WaitTime"), "partition": _partition(fields), "batch_queue": identifier("QueueID"),
        "cpu_efficiency": efficiencies(cpu_s, number("RunTime"), fields["JobID"], tally),
        "cputime_s": np.where(cpu_s >= 0, cpu_s * processors, np.nan)})


def _partition(fields: pd.DataFrame) -> pd.Series:
    """Partition of each job, where it is unknown the site where it ran."""
    unknown = pd.Series("-1", fields.index)
    partition, site = (fields.get(name, unknown) for name in ("PartitionID", "LastRunSiteID"))
    return partition.where(~partition.isin(NOT_GIVEN), site)


COREPOWER = 10.0
"""HS06 per core: an assumption without effect, because run times are replayed at the power of the grid."""

STORAGE_BYTES = 1e15
"""Size of the storage of each site, an assumption: recorded jobs have no files, but brokers ask for free space."""

MAX_PROCS = re.compile(r"(\d{1,9})\s*(?:\(([\d\s,]+)\))?.*", re.ASCII)
"""Processors of the machine, in parentheses those of each partition (Parallel Workloads Archive, SWF header)."""


MOST_CORES_OF_USERS = 16
"""Default of USER_TASKS_MAX_CORE_COUNT, cores; source: brokerage reference, 3.3 A7."""


def read_swf_grid(path: Path) -> tuple[dict, dict, list[str]]:
    """A grid as a dict of YAML shape, the other parts of a scenario that replays the trace on it, and remarks.

    Each partition with a job that ran becomes a site with one queue and one storage; without partitions there is one
    site. Raises InputFileError.
    """
    path, tally = Path(path), Tally()
    records = read_swf(path, None, tally)
    records = records[(records["run_s"] > 0) & (records["submit_s"] >= 0)]
    comments = read_lines(path, ";").comments
    partition = records["partition"].map(lambda name: f"{PREFIX_OF['partition']}{name}" if name.isdecimal() else name)
    known = not (partition == "-1").all()
    groups = {name: rows for name, rows in records.groupby(partition, sort=False) if name != "-1" or not known}
    if not known:
        tally.say("no job has a recorded partition, so there is one site, and brokerage has no choice")
        groups = {path.name.split(".")[0]: records}
    cores = _cores({name: most_processors(rows) for name, rows in groups.items()}, comments, tally)
    widest = {name: int(min(cores[name], np.ceil(rows["processors"].max()))) for name, rows in groups.items()}
    origin = f"SWF file {path.name}: {len(groups)} partitions with jobs, {sum(cores.values())} cores"
    others = _others(path, records, "recorded" if known else "brokered")
    if max(widest.values()) > MOST_CORES_OF_USERS:
        others["gdpconfig"] = {"USER_TASKS_MAX_CORE_COUNT": max(widest.values())}
        tally.say(f"USER_TASKS_MAX_CORE_COUNT is {max(widest.values())}, as the widest queue has; the deployed "
                  f"edition would send no job of users to queues with more than {MOST_CORES_OF_USERS} cores")
    return _grid(cores, widest), others, [origin, *tally.remarks()]


def most_processors(rows: pd.DataFrame) -> int:
    """Most processors that jobs of these records used at one time; an unknown wait counts as none."""
    start = rows["submit_s"].to_numpy() + np.maximum(rows["wait_s"].to_numpy(), 0)
    processors = np.maximum(np.where(rows["processors"] > 0, rows["processors"], rows["requested_processors"]), 1)
    moments = np.concatenate([start, start + rows["run_s"].to_numpy()])
    change = np.concatenate([processors, -processors])
    return ceil(np.cumsum(change[np.lexsort((change, moments))]).max())


def _cores(used: Mapping[str, int], comments: tuple[str, ...], tally: Tally) -> dict[str, int]:
    """Cores of each partition: those of the header, else MaxProcs in proportion to `used`, at least `used`."""
    match = MAX_PROCS.fullmatch(header_values(comments).get("MaxProcs", ""))
    names = list(numbered_names(comments, "Partition").values())
    listed = [int(n) for n in (match[2] or "").replace(",", " ").split()] if match else []
    if match and len(listed) == len(names) > 0:
        sizes = dict(zip(names, listed, strict=True))
        return {name: max(most, sizes.get(name, 0)) for name, most in used.items()}
    total = int(match[1]) if match else 0
    if total <= sum(used.values()):
        tally.say("the header's MaxProcs is " + (f"{total}, less than" if total else "missing; sites have")
                  + " the most processors that jobs of each partition used at one time"
                  + (f", {sum(used.values())} together: these are taken" if total else ""))
        return dict(used)
    tally.say(f"the header's MaxProcs, {total}, is divided in proportion to the most processors that jobs of each "
              "partition used at one time, because sizes of partitions are not recorded")
    return _divided(total, used)


def _divided(total: int, parts: Mapping[str, int]) -> dict[str, int]:
    """`total` in proportion to `parts`, in whole numbers by the largest remainders."""
    exact = np.array(list(parts.values())) * total / sum(parts.values())
    whole = np.floor(exact).astype(int)
    whole[np.argsort(whole - exact, kind="stable")[:total - whole.sum()]] += 1
    return dict(zip(parts, whole.tolist(), strict=True))


def _grid(cores: Mapping[str, int], widest: Mapping[str, int]) -> dict[str, Any]:
    """Sites with one unified queue and one storage each."""
    return {
        "sites": {name: {"tier": 2, "cores": n, "nucleus": True, "failure_rate": 0} for name, n in cores.items()},
        "queues": {name: {"atlas_site": name, "type": "unified", "corepower": COREPOWER, "corecount": widest[name],
                          "num_slots": n} for name, n in cores.items()},
        "storages": {f"{name}_DATADISK": {"site": name, "total": STORAGE_BYTES, "free": STORAGE_BYTES}
                     for name in cores},
        "links": {"default": {"failure_rate": 0}}}


def _others(path: Path, records: pd.DataFrame, place: str) -> dict[str, Any]:
    """Length of the trace, and the trace itself as work."""
    return {"duration": days_of(records), "workload": {"trace": {
        "file": str(path.resolve()), "format": "swf", "corepower": COREPOWER, "place": place}}}
