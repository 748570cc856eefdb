"""What a trace says of its jobs beside their work: waits, ends, and where they waited and ran."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from simgrid_broker.scenario.importers.grouped import LONGEST_NUMBER, Groups
from simgrid_broker.scenario.importers.input_files import Tally
from simgrid_broker.schema.trace import TRACE, TRACE_STATUS, TRACE_VOCABULARIES

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
