"""What a trace says of its jobs beside their work: waits, ends, and where they waited and ran."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from simgrid_broker.scenario.importers.input_files import Tally
from simgrid_broker.schema.trace import TRACE, TRACE_STATUS, TRACE_VOCABULARIES

PREFIX_OF = {"partition": "P", "batch_queue": "Q"}
"""Column of a record to what stands before a number in its name."""


def recorded_jobs(records: pd.DataFrame, names: dict[str, list[str]],
                  tally: Tally) -> tuple[np.ndarray, dict[str, tuple[str, ...]]]:
    """Rows of `schema.TRACE`, one for each record in its order, and the words of their codes.

    records: columns of `traces.RECORD`; names: partition and batch queue of each record, "" = unknown. A remark says
    how many waits are unknown.
    """
    rows, words = TRACE.empty(len(records)), {}
    rows["jeditaskid"] = np.arange(1, len(rows) + 1)
    rows["run_s"] = records["run_s"]
    rows["wait_s"] = np.where(records["wait_s"] >= 0, records["wait_s"], np.nan)
    rows["status"] = np.where(records["status"].isin(range(len(TRACE_STATUS))), records["status"], -1)
    for (column, each), vocabulary in zip(names.items(), TRACE_VOCABULARIES, strict=True):
        codes, known = pd.factorize(pd.Series(each, dtype=object).replace("", None))
        rows[column], words[vocabulary] = codes, tuple(map(str, known))
    _say_unknown_waits(int(np.isnan(rows["wait_s"]).sum()), len(rows), tally)
    return rows, words


def _say_unknown_waits(n_unknown: int, n_jobs: int, tally: Tally) -> None:
    if n_unknown == n_jobs:
        tally.say("no job has a recorded waiting time, so there is none to compare with the simulated ones")
    elif n_unknown:
        tally.say(f"jobs without recorded waiting time, which the comparison leaves out: {n_unknown}")


def fill_queues(rows: np.ndarray, partitions: list[str], queues: Sequence[str], tally: Tally) -> tuple[str, ...]:
    """Pre-assign each task to the PanDA queue named as the partition of its job; returns the words of the codes.

    A job whose partition is no PanDA queue of the grid is brokered, with a remark.
    """
    known = ("", *queues)
    number = {name: code for code, name in enumerate(known)}
    rows["preassigned"] = [number.get(name, 0) for name in partitions]
    tally.count_all("jobs whose partition is no PanDA queue of the grid are brokered",
                    (name or "unknown" for name, code in zip(partitions, rows["preassigned"], strict=True) if not code))
    return known
