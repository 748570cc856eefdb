"""Reads the grid workload format (GWF) of the Grid Workloads Archive, and its comma-separated workflow variant.

Dependencies of workflows are counted but not simulated. Source: formats reference, section 13.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from simgrid_broker.errors import nearest
from simgrid_broker.scenario.importers.input_files import BadLines, Tally, refuse
from simgrid_broker.scenario.importers.swf import KB_PER_MB
from simgrid_broker.scenario.importers.text_tables import (
    NOT_GIVEN,
    UNKNOWN,
    Lines,
    chunks,
    efficiencies,
    number_columns,
    read_lines,
    say_unused,
)

COLUMNS = (
    "JobID", "SubmitTime", "WaitTime", "RunTime", "NProcs", "AverageCPUTimeUsed", "UsedMemory", "ReqNProcs", "ReqTime",
    "ReqMemory", "Status", "UserID", "GroupID", "ExecutableID", "QueueID", "PartitionID", "OrigSiteID",
    "LastRunSiteID", "JobStructure", "JobStructureParams", "UsedNetwork", "UsedLocalDiskSpace", "UsedResources",
    "ReqPlatform", "ReqNetwork", "ReqLocalDiskSpace", "ReqResources", "VOID", "ProjectID")
"""Names of the 29 fields, in order; identifiers may be text."""

NUMBERS = COLUMNS[1:11]

UNUSED = (*COLUMNS[16:17], *COLUMNS[18:])
"""Fields without a use in a replay; a `LastRunSiteID` takes the place of an unknown partition."""

WORKFLOW_COLUMNS = ("WorkflowID", *COLUMNS, "Dependencies")
"""Names that the header of the comma-separated variant may hold."""

N_LEAST = 5
"""Fields that a record must have at least: the job up to its processors."""


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
    say_unused({name: fields[name] for name in UNUSED if name in fields}, tally)
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
            if not N_LEAST <= len(row) <= len(COLUMNS):
                bad.add(number, "", " ".join(row), f"{len(COLUMNS)} fields were expected, not {len(row)}")
            n_short += len(row) < len(COLUMNS)
            row[:] = (row + ["-1"] * (len(COLUMNS) - len(row)))[:len(COLUMNS)]
        parts.append(_typed(rows, numbers, COLUMNS, bad))
    bad.stop()
    if n_short:
        tally.say(f"records with fewer than {len(COLUMNS)} fields, the others count as unknown: {n_short}")
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
