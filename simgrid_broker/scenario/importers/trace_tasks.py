"""Recorded jobs as input of tasks: jobs that share a task, its claims, and their recorded waits, ends and places."""

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

import numpy as np
import pandas as pd

from simgrid_broker.luck import key_of, keys
from simgrid_broker.names import RAM_LIMITS_MB
from simgrid_broker.scenario.importers.files import Tally
from simgrid_broker.scenario.work.tasklist import new_rows
from simgrid_broker.schema.jobs import TRACE, TRACE_STATUS, TRACE_VOCABULARIES
from simgrid_broker.schema.tasks import RAM_UNITS
from simgrid_broker.units import DAY

STREAM = "/trace"
"""Name of the stream of the tasks of a trace, which keys their random draws with the recorded number or name of their
first job, so that another record changes no draw of other tasks."""

ONE_OF_A_TASK = ("user", "group", "label", "priority", "processors", "gshare", "task", "processing_type")
"""Columns of which a task has one value, in addition to its class of memory and the site of its input."""

UNKNOWN_RATE = np.nan
"""Failure rate of recorded jobs: a replay adds no failures to those that were recorded."""

LONGEST_NUMBER = 19
"""Digits from which a recorded number of a job counts as a name."""

BYTES_PER_KB = 1000.0
"""I/O intensity is counted in kB/s."""


def days_of(records: pd.DataFrame) -> str:
    """Duration of a scenario in which all recorded jobs, in the columns of `traces.RECORD`, come and ended then."""
    known = records[records["submit_s"] >= 0]
    last_s = (known["submit_s"] + known["wait_s"].clip(lower=0) + known["run_s"].clip(lower=0)).max()
    return f"{max(1, ceil((last_s - known['submit_s'].min()) / DAY)) if len(known) else 1} days"


class Groups(NamedTuple):
    """Recorded jobs in the order of their tasks, and of submission in each; task: (n,) number of the task of each.

    records: in that order; begins: (n_tasks,) first of each task.
    """

    records: pd.DataFrame
    task: np.ndarray
    begins: np.ndarray

    def column(self, name: str) -> np.ndarray:
        """A column of the records, (n,) float."""
        return self.records[name].to_numpy(float)

    def of_first(self, name: str) -> np.ndarray:
        """A column of the first job of each task, (n_tasks,)."""
        return self.records[name].to_numpy()[self.begins]

    def largest(self, values: np.ndarray) -> np.ndarray:
        """The largest value of each task, (n_tasks,)."""
        return np.maximum.reduceat(values, self.begins)

    def total(self, values: np.ndarray) -> np.ndarray:
        """The sum over the jobs of each task, (n_tasks,)."""
        return np.add.reduceat(values, self.begins)

    def mean(self, values: np.ndarray) -> np.ndarray:
        """The mean over the jobs of each task, (n_tasks,)."""
        return self.total(values) / self.sizes

    @property
    def sizes(self) -> np.ndarray:
        """Jobs of each task, (n_tasks,)."""
        return np.diff(self.begins, append=len(self.records))

    @property
    def chunk(self) -> np.ndarray:
        """Number of each job in its task, (n,)."""
        return np.arange(len(self.records)) - self.begins[self.task]


def grouped(records: pd.DataFrame, by: Sequence[str]) -> Groups:
    """Recorded jobs, sorted by submission, grouped into tasks: those alike in what a task has one of, and in `by`.

    Tasks are in the order of their first jobs. by: columns of the records; `record` = each job is a task of its own.
    """
    if "record" in by:
        number = np.arange(len(records))
    else:
        memory = np.searchsorted(RAM_LIMITS_MB, records["ramcount"])
        site = np.where(records["input_bytes"] > 0, records["site"], -1)
        columns = [records[name] for name in (*ONE_OF_A_TASK, *by)]
        number = records.groupby([*columns, memory, site], sort=False, dropna=False).ngroup().to_numpy()
    order = np.argsort(number, kind="stable")
    task = number[order]
    return Groups(records.iloc[order], task, np.flatnonzero(np.diff(task, prepend=-1)))


def say_grouping(groups: Groups, by: Sequence[str], tally: Tally) -> None:
    """Remark on how many tasks there are, if any has several jobs."""
    if len(groups.begins) < len(groups.records):
        also = "".join(f", {column.replace('_', ' ')}" for column in by)
        tally.say(f"{len(groups.records)} recorded jobs are the input of {len(groups.begins)} tasks, by owner, group, "
                  f"cores, memory{also}")


def task_rows(groups: Groups) -> np.ndarray:
    """Rows of the tasks, (n_tasks,) of `schema.TASKS`, without names, share and places.

    A task claims the largest time and memory of its jobs; its other figures are means.
    """
    rows = new_rows(len(groups.begins))
    rows["jeditaskid"] = np.arange(1, len(rows) + 1)
    rows["arrival_s"] = rows["modification_s"] = groups.of_first("submitted_s")
    rows["luck"] = _luck(groups)
    rows["first_record"] = groups.begins
    rows["n_jobs"] = groups.sizes
    rows["n_events_per_job"] = rows["max_attempt"] = 1
    rows["failure_rate"] = UNKNOWN_RATE
    rows["corecount"] = groups.of_first("processors")
    rows["priority"] = groups.of_first("priority")
    _fill_work(rows, groups)
    rows["maxpss_mb"] = groups.mean(groups.column("maxpss_mb"))
    rows["ramcount"] = groups.largest(groups.column("ramcount"))
    rows["ramunit"] = RAM_UNITS.index("MBPerCore")
    _fill_files(rows, groups)
    return rows


def _luck(groups: Groups) -> np.ndarray:
    """Keys of the random draws of the tasks, (n_tasks,); records of one number or name differ by their order."""
    names = [name if isinstance(name, str) else f"{name:.0f}" for name in groups.of_first("job")]
    numbers = [int(name) if name.isdecimal() and len(name) < LONGEST_NUMBER else key_of(name) for name in names]
    return keys(keys(key_of(STREAM), np.array(numbers, np.int64)), groups.of_first("nth"))


def _fill_work(rows: np.ndarray, groups: Groups) -> None:
    """CPU work, its claim and CPU efficiency: the time that is claimed is the one requested, else the true one."""
    run_s, asked_s = groups.column("run_s"), groups.column("requested_s")
    claimed_s = groups.largest(np.where(asked_s > 0, asked_s, run_s))
    efficiency = groups.mean(groups.column("cpu_efficiency")).astype(rows["cpu_efficiency"].dtype)
    rows["work_hs06s_per_event"] = groups.mean(groups.column("work_hs06s"))
    power = groups.largest(groups.column("corepower"))
    rows["cputime"] = rows["corecount"] * power * efficiency.astype(float) * claimed_s
    rows["cpu_efficiency"] = rows["failed_cpu_efficiency"] = efficiency
    rows["cpuefficiency"] = 100 * efficiency.astype(float)


def _fill_files(rows: np.ndarray, groups: Groups) -> None:
    """Mean input and output of a job, and their rate, kB/s per core, as the task claims it."""
    core_s = groups.total(groups.column("run_s")) * rows["corecount"]
    inputs, outputs = groups.column("input_bytes"), groups.column("output_bytes")
    rows["iointensity"] = groups.total(inputs + outputs) / BYTES_PER_KB / core_s
    rows["input_bytes_per_job"], rows["output_bytes_per_job"] = groups.mean(inputs), groups.mean(outputs)
    rows["n_input_files"] = np.ceil(groups.mean(groups.column("n_input_files")))


PREFIX_OF = {"partition": "P", "batch_queue": "Q"}
"""Column of a record to what stands before a number in its name."""


def recorded_jobs(groups: Groups, time_scale: float, tally: Tally) -> tuple[np.ndarray, dict[str, tuple[str, ...]]]:
    """Rows of `schema.TRACE`, one for each recorded job, task by task, and the words of their codes.

    Recorded waits are left out if `time_scale` is not 1, because they belong to another load. A remark says how many
    are unknown.
    """
    records, rows, words = groups.records, TRACE.empty(len(groups.records)), {}
    rows["jeditaskid"], rows["chunk"] = groups.task + 1, groups.chunk
    for column in ("submitted_s", "run_s", "work_hs06s", "input_bytes", "output_bytes", "maxpss_mb", "cpu_efficiency",
                   "n_input_files"):
        rows[column] = records[column]
    rows["recorded_cputime_s"] = records["cputime_s"]
    rows["record"] = [number_of(job) for job in records["job"]]
    rows["wait_s"] = np.where((records["wait_s"] >= 0) & (time_scale == 1), records["wait_s"], np.nan)
    rows["status"] = np.where(records["status"].isin(range(len(TRACE_STATUS))), records["status"], -1)
    for column, vocabulary in zip(PREFIX_OF, TRACE_VOCABULARIES, strict=True):
        codes, known = pd.factorize(records[column].replace("", None))
        rows[column], words[vocabulary] = codes, tuple(map(str, known))
    if time_scale != 1 and (records["wait_s"] >= 0).any():
        tally.say(f"recorded waiting times are left out: with a time_scale of {time_scale:.15g} the load is not that "
                  "under which the jobs waited")
    else:
        _say_unknown_waits(int(np.isnan(rows["wait_s"]).sum()), len(rows), tally)
    return rows, words


def number_of(job: object) -> int:
    """Number of a record, -1 if it has a name."""
    text = job.strip() if isinstance(job, str) else f"{job:.0f}"
    return int(text) if text.isdecimal() and len(text) < LONGEST_NUMBER else -1


def _say_unknown_waits(n_unknown: int, n_jobs: int, tally: Tally) -> None:
    if n_unknown == n_jobs:
        tally.say("no job has a recorded waiting time, so there is none to compare with the simulated ones")
    elif n_unknown:
        tally.say(f"jobs without recorded waiting time, which the comparison leaves out: {n_unknown}")


def fill_queues(rows: np.ndarray, groups: Groups, queues: Sequence[str], tally: Tally) -> tuple[str, ...]:
    """Pre-assign each task to the PanDA queue named as the partition of its jobs; returns the words of the codes.

    A job whose partition is no PanDA queue of the grid is brokered, with a remark.
    """
    known = ("", *queues)
    number = {name: code for code, name in enumerate(known)}
    rows["preassigned"] = [number.get(name, 0) for name in groups.of_first("partition")]
    unknown = rows["preassigned"][groups.task] == 0
    tally.count_all("jobs whose partition is no PanDA queue of the grid are brokered",
                    (name or "unknown" for name in groups.records["partition"][unknown]))
    return known
