"""What running jobs read from other sites."""

import numpy as np
import pandas as pd

from simgrid_broker.metrics.tidy import tidy
from simgrid_broker.metrics.window import window_of
from simgrid_broker.names import TransferKind
from simgrid_broker.records import Run
from simgrid_broker.units import MB, MINUTE, TB

READING = TransferKind.READING.word


def direct_reading(run: Run) -> pd.DataFrame:
    """Readings that ended in the window, by link; dimensions source and destination, most bytes first.

    Metrics: jobs; cut (those that ended before they had read all); read (TB); rate (of one job, mean, MB/s); took
    (median, min). Empty if no job read from another site, or the run did not record its transfers.
    """
    window = window_of(run)
    rows = run.table("transfers", ["kind", "source", "destination", "bytes", "failed_files", "started_s", "ended_s"])
    rows = rows[(rows.kind == READING) & window.holds(rows.ended_s)].astype({"source": object, "destination": object})
    took = rows.ended_s - rows.started_s
    rows = rows.assign(took=took / MINUTE, rate=rows.bytes / MB / took.where(took > 0, np.nan))
    table = rows.groupby(["source", "destination"]).agg(
        jobs=("bytes", "size"), cut=("failed_files", "sum"), read=("bytes", "sum"), rate=("rate", "mean"),
        took=("took", "median")).reset_index()
    table["read"] /= TB
    table = table.sort_values(["read", "source", "destination"], ascending=[False, True, True])
    units = {"jobs": "jobs", "cut": "jobs", "read": "TB", "rate": "MB/s", "took": "min"}
    return tidy(table, ["source", "destination"], units, window)
