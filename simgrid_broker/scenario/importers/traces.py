"""Recorded workloads: the reader for each format, and the tasks of a scenario's `workload.trace`."""

from collections.abc import Sequence
from pathlib import Path

import simgrid_broker.scenario.importers.gwf as gwf  # not `from ...importers`, which imports this module
import simgrid_broker.scenario.importers.swf as swf
from simgrid_broker.errors import Problem, ScenarioError, nearest
from simgrid_broker.scenario.campaigns import Trace
from simgrid_broker.scenario.importers.cgsim_jobs import read_cgsim_records
from simgrid_broker.scenario.importers.input_files import Tally, read_text, refuse, refuse_binary
from simgrid_broker.scenario.importers.trace_tasks import tasks_of_records
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.scenario.rules_shares import leaf_names
from simgrid_broker.scenario.tasklist import TaskList

FORMATS = ("swf", "gwf", "cgsim")
"""Formats of traces that can be read."""

FORMAT_OF_SUFFIX = {".swf": "swf", ".gwf": "gwf", ".csv": "cgsim"}
"""Format by the name of a file without `.gz`."""

NO_FORMAT = f"the format could not be guessed; name it: {', '.join(FORMATS)}"
"""Error for a file whose format neither name nor content shows."""


def read_trace(path: Path, format: str | None = None, *, sites: Sequence[str] = (), share: int = -1,
               corepower: float = 10.0, memory_per_core: float = 2000.0, limit: int | None = None,
               time_scale: float = 1.0) -> tuple[TaskList, list[str]]:
    """Tasks of a trace, and remarks on what could not be used or was assumed.

    format: one of `FORMATS`, None = guess from name and content; sites: names of the scenario's sites, for traces with
    input; share: leaf of all tasks, -1 = by tagging; limit: first records to read; the other arguments are those of
    `tasks_of_records`. Raises InputFileError with every line that cannot be read.
    """
    path, tally = Path(path), Tally()
    format = format or guessed_format(path)
    if format == "cgsim":
        records = read_cgsim_records(path, limit, sites, tally)
    else:
        records = {"swf": swf.read_swf, "gwf": gwf.read_gwf}[format](path, limit, tally)
    tasks = tasks_of_records(records, path, tally, corepower=corepower, share=share, memory_per_core=memory_per_core,
                             time_scale=time_scale)
    return tasks, tally.remarks()


def trace_tasks(trace: Trace, scenario: Scenario) -> tuple[TaskList, list[str]]:
    """Tasks of a scenario's trace that arrive within its duration, and remarks.

    Raises InputFileError for the file and ScenarioError for a share that is no leaf.
    """
    tasks, remarks = read_trace(
        trace.file, trace.format, sites=tuple(scenario.grid.sites), share=_leaf(trace.share, scenario),
        corepower=trace.corepower, memory_per_core=trace.memory_per_core, limit=trace.limit,
        time_scale=trace.time_scale)
    within = tasks.rows["arrival_s"] < scenario.duration
    if not within.all():
        remarks.append(f"jobs left out because they arrive after the end of the scenario: {(~within).sum()}")
    return TaskList(tasks.rows[within], tasks.replica_site[within], tasks.replica_fraction[within],
                    tasks.vocabularies, tuple(remarks)), remarks


def read_cgsim_jobs(path: Path, scenario: Scenario) -> tuple[TaskList, list[str]]:
    """Tasks of a CGSim job file, whether or not they arrive within the scenario, and remarks."""
    return read_trace(path, "cgsim", sites=tuple(scenario.grid.sites))


def guessed_format(path: Path) -> str:
    """Format of a trace from its name, else from its first lines; raises InputFileError if neither shows it."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes if suffix.lower() != ".gz"]
    if suffixes and suffixes[-1] in FORMAT_OF_SUFFIX:
        return FORMAT_OF_SUFFIX[suffixes[-1]]
    text = read_text(path)
    refuse_binary(path, text)
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            return _format_of_line(line.strip()) or refuse(path, number, "", line, NO_FORMAT)
    refuse(path, None, "", None, NO_FORMAT)


def _format_of_line(line: str) -> str | None:
    if "pandaid" in line.lower() and "," in line:
        return "cgsim"
    if line.startswith("#") or "SubmitTime" in line or len(gwf.split(line)) == len(gwf.COLUMNS):
        return "gwf"
    if line.startswith(";") or len(line.split()) == len(swf.COLUMNS):
        return "swf"
    return None


def _leaf(name: str | None, scenario: Scenario) -> int:
    """Number of a leaf share, -1 for None; raises ScenarioError for a name that is no leaf."""
    leaves = leaf_names(scenario)
    if name is not None and name not in leaves:
        raise ScenarioError([Problem(None, None, "workload.trace.share", name, "must be a leaf of the share tree",
                                     nearest(name, leaves))])
    return -1 if name is None else leaves.index(name)
