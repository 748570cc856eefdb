"""Progress of the requests of the data carousel."""

import numpy as np
import pandas as pd

from simgrid_broker.metrics.tidy import tidy
from simgrid_broker.metrics.window import Window
from simgrid_broker.records import Run
from simgrid_broker.units import TB


def staging_series(run: Run) -> pd.DataFrame:
    """Datasets asked for from each physical tape whenever that changes; dimensions time_s and tape; metrics in TB.

    Metrics: waiting (no rule yet), staging (has a rule, not all on disk), done (all on disk; a sum since the start).
    """
    rows = run.table("staging").astype({"tape": object, "status": object})
    done = rows.finished_s.where(rows.status.isin(["done", "retired"]))
    stays = {"waiting": (rows.requested_s, rows.started_s.fillna(rows.finished_s)),
             "staging": (rows.started_s, rows.finished_s), "done": (done, pd.Series(np.nan, rows.index))}
    moments = rows[["requested_s", "started_s", "finished_s"]].to_numpy().ravel()
    times = np.unique(np.append(moments[~np.isnan(moments)], [0.0, run.end_s])) if len(rows) else np.empty(0)
    tables = [pd.DataFrame({"time_s": times, "tape": tape} | {
        name: _held(rows["bytes"], begins, ends, rows.tape == tape, times) for name, (begins, ends) in stays.items()})
        for tape in sorted(rows.tape.unique())]
    empty = pd.DataFrame(columns=["time_s", "tape", *stays])
    return tidy(pd.concat(tables) if tables else empty, ["time_s", "tape"], dict.fromkeys(stays, "TB"),
                Window(0.0, run.end_s))


def _held(size: pd.Series, begins: pd.Series, ends: pd.Series, own: pd.Series, times: np.ndarray) -> np.ndarray:
    """TB of the own rows that have begun and not ended at each time; one that never begins or ends has NaN."""
    begun = begins.to_numpy()[:, None] <= times
    ended = ends.to_numpy()[:, None] <= times
    return (size.to_numpy()[:, None] * (begun & ~ended))[own.to_numpy()].sum(axis=0) / TB
