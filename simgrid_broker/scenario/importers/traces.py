"""Recorded workloads: the reader for each format, and tasks whose jobs are the records.

The run time is replayed: on cores of the power that the caller names, a job runs exactly as long as recorded.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from simgrid_broker.errors import Problem, ScenarioError, nearest
from simgrid_broker.scenario.importers.archives import GWF_COLUMNS, SWF_COLUMNS, read_gwf, read_swf, split
from simgrid_broker.scenario.importers.cgsim import read_cgsim_records
from simgrid_broker.scenario.importers.files import UNKNOWN, Tally, read_text, refuse, refuse_binary
from simgrid_broker.scenario.importers.panda import read_panda_records
from simgrid_broker.scenario.importers.sheets import PARQUET
from simgrid_broker.scenario.importers.trace_tasks import (
    PREFIX_OF,
    Groups,
    fill_queues,
    grouped,
    recorded_jobs,
    say_grouping,
    task_rows,
)
from simgrid_broker.scenario.model import Grid, Scenario
from simgrid_broker.scenario.shares import leaf_names
from simgrid_broker.scenario.work.campaigns import DEFAULT_GROUPING, Trace
from simgrid_broker.scenario.work.tasklist import TaskList, no_replicas
from simgrid_broker.schema.jobs import FIELDS, RecordColumns
from simgrid_broker.schema.tasks import VOCABULARY_OF

FORMATS = ("swf", "gwf", "panda", "cgsim")

FORMAT_OF_SUFFIX = {".swf": "swf", ".gwf": "gwf", ".json": "panda", ".parquet": "panda"}
"""Format by the name of a file without `.gz`."""

OF_CGSIM = ("job_walltime", "job_queuetime", "files_info")
"""Columns that CGSim adds to PanDA's; source: formats reference, section 14."""

NO_FORMAT = f"the format could not be guessed; name it: {', '.join(FORMATS)}"
"""Error for a file whose format neither name nor content shows."""

RECORD = {
    "job": "", "submit_s": UNKNOWN, "run_s": UNKNOWN, "processors": UNKNOWN, "requested_processors": UNKNOWN,
    "requested_s": UNKNOWN, "used_mb": UNKNOWN, "requested_mb": UNKNOWN, "status": UNKNOWN, "user": "", "group": "",
    "executable": "", "label": "user", "priority": 1000.0, "cpu_efficiency": 1.0, "input_bytes": 0.0,
    "n_input_files": 0.0, "output_bytes": 0.0, "site": -1, "wait_s": UNKNOWN, "partition": "", "batch_queue": "",
    "cputime_s": np.nan, "payload_s": UNKNOWN, "corepower": np.nan, "work_hs06s": np.nan, "gshare": "", "task": "",
    "processing_type": "trace"}
"""Columns of a table of records and what holds where a format has none.

job, user, group, executable, partition, batch_queue: number or text; processors per job; used_mb, requested_mb: MB per
processor; status: as in SWF; wait_s: from submission to start; site: number of the site that holds the input;
cputime_s: over all processors; payload_s: of run_s, unknown = all; corepower, HS06 per core, and work_hs06s, HS06 s:
NaN = those of all records; task: number in JEDI. Priority 1000 is that of user jobs (formats reference, section 14:
`assignedpriority` of a real analysis job).
"""

FAILED, CANCELLED = 0, 5
PARTIAL = (2, 3, 4)
"""Values of `status`; 2 to 4 are parts of a job that was check-pointed; source: formats reference, section 12."""

MOST_CORES = np.iinfo(np.int16).max
"""Most cores that the tables of tasks and jobs can hold, and most working groups."""


def read_trace(path: Path, format: str | None = None, *, grid: Grid | None = None, limit: int | None = None,
               columns: RecordColumns | None = None, work: Literal["recorded", "task"] = "recorded",
               corepower: float = 10.0, **options: Any) -> tuple[TaskList, list[str]]:
    """Tasks of a trace, and remarks on what could not be used or was assumed.

    format: one of `FORMATS`, None = guess from name and content; grid: where traces of PanDA and CGSim ran; limit:
    first records to read; columns, work: of PanDA job records; corepower: HS06 per core of the machines of the trace;
    options: the other terms of `Replay`. Raises InputFileError with every line that cannot be read.
    """
    path, tally, grid = Path(path), Tally(), grid or Grid()
    format = format or guessed_format(path)
    if format != "panda":
        _refuse_unused(path, format, columns, work)
    if format == "panda":
        records = read_panda_records(path, tally, limit, columns, grid, corepower, work)
    elif format == "cgsim":
        records = read_cgsim_records(path, limit, tuple(grid.sites), tally)
    else:
        records = {"swf": read_swf, "gwf": read_gwf}[format](path, limit, tally)
    return tasks_of_records(records, path, tally, Replay(corepower, **options)), tally.remarks()


def _refuse_unused(path: Path, format: str, columns: RecordColumns | None, work: str) -> None:
    """Raise ScenarioError for keys of a trace that act on PanDA job records only."""
    given = {"columns": columns if columns != RecordColumns() else None,
             "work": work if work != "recorded" else None}
    if problems := [Problem(None, None, f"workload.trace.{key}", None, f"has an effect on PanDA job records only, and "
                            f"{path} has the format {format}") for key, value in given.items() if value is not None]:
        raise ScenarioError(problems)


def trace_tasks(trace: Trace, scenario: Scenario) -> tuple[TaskList, list[str]]:
    """Tasks of a scenario's trace with the jobs that are submitted within its duration, and remarks.

    Raises InputFileError for the file and ScenarioError for a share that is not a leaf.
    """
    tasks, remarks = read_trace(trace.file, trace.format, grid=scenario.grid, limit=trace.limit,
                                columns=trace.columns, work=trace.work, corepower=trace.corepower,
                                share=_leaf(trace.share, scenario), leaves=leaf_names(scenario),
                                memory_per_core=trace.memory_per_core, time_scale=trace.time_scale,
                                until=scenario.duration, group_by=trace.grouping,
                                queues=tuple(scenario.grid.queues) if trace.place == "recorded" else ())
    return replace(tasks, remarks=tuple(remarks)), remarks


def read_cgsim_jobs(path: Path, scenario: Scenario) -> tuple[TaskList, list[str]]:
    """Tasks of a CGSim job file, whether or not they arrive within the scenario, and remarks."""
    return read_trace(path, "cgsim", grid=scenario.grid)


def guessed_format(path: Path) -> str:
    """Format of a trace from its name, else from its first lines; raises InputFileError if neither shows it."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes if suffix.lower() != ".gz"]
    if suffixes and suffixes[-1] in FORMAT_OF_SUFFIX:
        return FORMAT_OF_SUFFIX[suffixes[-1]]
    text = read_text(path)
    if text.startswith(PARQUET.decode()):
        return "panda"
    refuse_binary(path, text)
    otherwise = "panda" if suffixes[-1:] == [".csv"] else None
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            return _format_of_line(line.strip()) or otherwise or refuse(path, number, "", line, NO_FORMAT)
    return otherwise or refuse(path, None, "", None, NO_FORMAT)


def _format_of_line(line: str) -> str | None:
    names = {name.strip().strip('"').lower() for name in line.split(",")}
    if names & {*OF_CGSIM}:
        return "cgsim"
    if line[0] in "{[" or names & {*FIELDS}:
        return "panda"
    if line.startswith("#") or "SubmitTime" in line or len(split(line)) == len(GWF_COLUMNS):
        return "gwf"
    if line.startswith(";") or len(line.split()) == len(SWF_COLUMNS):
        return "swf"
    return None


def _leaf(name: str | None, scenario: Scenario) -> int:
    """Number of a leaf share, -1 for None; raises ScenarioError for a name that is not a leaf."""
    leaves = leaf_names(scenario)
    if name is not None and name not in leaves:
        raise ScenarioError([Problem(None, None, "workload.trace.share", name, "must be a leaf of the share tree",
                                     nearest(name, leaves))])
    return -1 if name is None else leaves.index(name)


class Replay(NamedTuple):
    """Terms of a replay: how records become tasks.

    corepower: HS06 per core of the machines of the trace; share: leaf of all tasks, -1 = those of `leaves` that are
    recorded, else by tagging; memory_per_core: MB of jobs that recorded none; time_scale: the times between submissions
    are multiplied by it; until: jobs submitted from then on are left out, s; group_by: as of `grouped`; queues: PanDA
    queues, to which jobs of partitions of these names are pre-assigned.
    """

    corepower: float = 10.0
    share: int = -1
    leaves: Sequence[str] = ()
    memory_per_core: float = 2000.0
    time_scale: float = 1.0
    until: float = np.inf
    group_by: Sequence[str] = DEFAULT_GROUPING
    queues: Sequence[str] = ()


def tasks_of_records(records: pd.DataFrame, path: Path, tally: Tally, terms: Replay) -> TaskList:
    """Tasks with the records that can be replayed as their jobs, sorted by arrival, the first at 0.

    records: columns of `RECORD`; a missing column gets its value there. Raises InputFileError if no record can be
    replayed.
    """
    queues = terms.queues
    records = pd.DataFrame({name: records.get(name, value) for name, value in RECORD.items()}, index=records.index)
    had, asked = records["processors"], records["requested_processors"]
    processors = np.where(had > 0, had, np.where(asked > 0, asked, 1.0))
    records = _replayable(records.assign(processors=processors), tally)
    if records.empty:
        refuse(path, None, "", None, "; ".join(("at least one record of a job that ran was expected",
                                                *tally.remarks())))
    records = _submitted(_in_order(records, tally), terms.time_scale, terms.until, tally)
    records = records.assign(**_work(records, terms.corepower), **_memory(records, terms.memory_per_core, tally),
                             **{column: _names(prefix, records[column]) for column, prefix in PREFIX_OF.items()})
    groups = grouped(records, (*terms.group_by, *(["partition"] if queues else [])))
    say_grouping(groups, terms.group_by, tally)
    rows = task_rows(groups)
    rows["share"] = terms.share if terms.share >= 0 else _recorded_shares(groups, terms.leaves, tally)
    trace, trace_words = recorded_jobs(groups, terms.time_scale, tally)
    vocabularies = _vocabularies(rows, groups, path)
    if queues:
        vocabularies["preassigned"] = fill_queues(rows, groups, queues, tally)
    return TaskList(rows, *_places(rows, groups), vocabularies, tuple(tally.remarks()), trace=trace,
                    trace_words=trace_words)


def _replayable(records: pd.DataFrame, tally: Tally) -> pd.DataFrame:
    """The records of jobs that ran; remarks on jobs that did not run or did not end well."""
    left = np.zeros(len(records), bool)
    for wrong, what in (
        (~(records["run_s"] > 0), "records left out because the job never ran (run time 0 or unknown)"),
        (records["submit_s"] == UNKNOWN, "records left out because the submit time is unknown"),
        (_parts_of_jobs(records), "records left out because they are parts of a job that has a record of its own"),
        (records["processors"] > MOST_CORES, f"records left out because the job has more than {MOST_CORES} processors"),
    ):
        tally.count_all(what, _names("job ", records["job"][wrong & ~left]))
        left |= wrong.to_numpy()
    records = records[~left]
    for status, word in ((FAILED, "failed"), (CANCELLED, "were cancelled")):
        tally.count_all(f"jobs that {word} are replayed for their whole run time and finish",
                        _names("job ", records["job"][records["status"] == status]))
    broken = records["processors"] % 1 > 0
    tally.count_all("jobs with a part of a processor get a whole one", _names("job ", records["job"][broken]))
    return records.assign(processors=np.ceil(records["processors"]))


def _parts_of_jobs(records: pd.DataFrame) -> pd.Series:
    """Mask of the records of parts of a check-pointed job whose whole has a record too."""
    part = records["status"].isin(PARTIAL)
    return part & records["job"].isin(records["job"][~part])


def _in_order(records: pd.DataFrame, tally: Tally) -> pd.DataFrame:
    """The records sorted by submit time, records of one instant in the order of the file."""
    n_before = int((np.diff(records["submit_s"]) < 0).sum())
    if n_before:
        tally.say(f"the records are not in the order of their submit times and were sorted: {n_before} follow a "
                  "later one")
    return records.sort_values("submit_s", kind="stable", ignore_index=True)


def _submitted(records: pd.DataFrame, time_scale: float, until: float, tally: Tally) -> pd.DataFrame:
    """The records without those from `until` on, with `submitted_s`, which counts from the first, s.

    nth: records of the same number or name before each.
    """
    submit_s = records["submit_s"].to_numpy()
    if submit_s[0] != 0:
        tally.say(f"the first job was submitted at {submit_s[0]:.0f} s; times count from there")
    submitted_s = (submit_s - submit_s[0]) * time_scale
    within = submitted_s < until
    if not within.all():
        tally.say(f"jobs left out because they arrive after the end of the scenario: {(~within).sum()}")
    return records.assign(submitted_s=submitted_s, nth=records.groupby("job").cumcount())[within]


def _work(records: pd.DataFrame, corepower: float) -> dict[str, Any]:
    """Power of the machine, CPU efficiency and CPU work of each job, as precise as the tables are.

    Work is power x wall time x CPU efficiency unless it was recorded, so that the wall time comes out as recorded.
    """
    efficiency = records["cpu_efficiency"].astype(np.float32).astype(float)
    power, payload_s = records["corepower"].fillna(corepower), records["payload_s"]
    whole_s = payload_s.where(payload_s > 0, records["run_s"])
    return {"cpu_efficiency": efficiency, "corepower": power,
            "work_hs06s": records["work_hs06s"].fillna(records["processors"] * power * efficiency * whole_s)}


def _recorded_shares(groups: Groups, leaves: Sequence[str], tally: Tally) -> np.ndarray:
    """Leaf share of each task as recorded, -1 = unknown, or no leaf of the scenario."""
    number = {name: place for place, name in enumerate(leaves)}
    names = groups.records["gshare"]
    tally.count_all("jobs whose recorded share is no leaf of the scenario are tagged",
                    names[(names != "") & ~names.isin(leaves)])
    return np.array([number.get(name, -1) for name in groups.of_first("gshare")], int)


def _memory(records: pd.DataFrame, memory_per_core: float, tally: Tally) -> dict[str, Any]:
    """Memory used, else requested, else `memory_per_core`; a job claims what it requested, at least what it used."""
    used, requested = records["used_mb"].to_numpy(), records["requested_mb"].to_numpy()
    per_core = np.where(used > 0, used, np.where(requested > 0, requested, memory_per_core))
    n_without = int(((used <= 0) & (requested <= 0)).sum())
    if n_without:
        tally.say(f"jobs without recorded memory, which get {memory_per_core:g} MB per core: {n_without}")
    tally.count_all("jobs that used more memory than they requested claim what they used",
                    _names("job ", records["job"][(requested > 0) & (used > requested)]))
    return {"maxpss_mb": per_core * records["processors"], "ramcount": np.maximum(per_core, requested)}


def _places(rows: np.ndarray, groups: Groups) -> tuple[np.ndarray, np.ndarray]:
    """`replica_site` and `replica_fraction`: one whole replica of the input of each task that has any."""
    site, fraction = no_replicas(len(rows))
    at = groups.of_first("site")
    holds = (rows["input_bytes_per_job"] > 0) & (at >= 0)
    site[holds, 0] = at[holds]
    fraction[holds, 0] = 1
    return site, fraction


def _vocabularies(rows: np.ndarray, groups: Groups, path: Path) -> dict[str, tuple[str, ...]]:
    """Fill the codes of names in `rows` and give what they mean; numbers become U<number> and G<number>."""
    found: dict[str, tuple[str, ...]] = dict.fromkeys(VOCABULARY_OF.values(), ("",))
    found |= {"task_names": (Path(path).name,)}
    for column, vocabulary, name, prefix in (("processing_type", "processing_types", "processing_type", ""),
                                             ("user", "users", "user", "U"),
                                             ("working_group", "working_groups", "group", "G"),
                                             ("label", "labels", "label", "")):
        codes, values = pd.factorize(groups.of_first(name))
        if column != "user" and len(values) > MOST_CORES:
            refuse(path, None, vocabulary, len(values), f"at most {MOST_CORES} different ones can be held")
        rows[column] = codes
        found[vocabulary] = tuple(_names(prefix, values))
    return found


def _names(prefix: str, values) -> list[str]:
    """Names of identifiers: a number gets the prefix, text stays as it is, and what is unknown is empty."""
    names = Names(prefix)
    return [names[value] for value in values]


class Names(dict[object, str]):
    """Names by identifier, each made when it is first asked for: in a trace most are those of many jobs."""

    def __init__(self, prefix: str):
        self.prefix = prefix

    def __missing__(self, value: object) -> str:
        self[value] = name = _name(self.prefix, value)
        return name


def _name(prefix: str, value: object) -> str:
    text = value.strip() if isinstance(value, str) else f"{value:.0f}"
    if text in ("", "-1"):
        return ""
    return f"{prefix}{text}" if text.isdecimal() else text
