"""Series over time averaged over the runs of a group, with bands."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from simgrid_broker import metrics
from simgrid_broker.experiments.intervals import student
from simgrid_broker.records import Run

SERIES = (("running_cores", "running_cores", "Running cores", "running cores"),
          ("queued_jobs", "queued", "Queued jobs", "queued jobs"))
"""Name, column of the samples, title and label of each series."""


def bands(runs: Iterable[tuple[str, Run]], column: str) -> pd.DataFrame:
    """Mean of a column of `metrics.totals_over_time` over the runs of each group with Student's 95 % interval.

    Columns group, time_s, value, low, high, count. Runs of a group are sampled at the same times; times that
    only some of them have are averaged over these.
    """
    tables = [metrics.totals_over_time(run, column)[column].rename("value").reset_index().assign(group=group)
              for group, run in runs]
    rows = [{"group": group, "time_s": time_s, **student(part.value).columns()}
            for (group, time_s), part in pd.concat(tables).groupby(["group", "time_s"], sort=False)]
    table = pd.DataFrame(rows).drop(columns="error")
    alone = table["count"] < 2
    table[["low", "high"]] = table[["low", "high"]].where(~alone, np.nan)
    return table
