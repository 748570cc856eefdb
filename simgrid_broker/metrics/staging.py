"""Progress of the requests of the data carousel."""

import numpy as np
import pandas as pd

from simgrid_broker.metrics.tidy import tidy
from simgrid_broker.metrics.window import Window, window_of
from simgrid_broker.records import Run
from simgrid_broker.units import HOUR, TB


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


def drives_series(run: Run) -> pd.DataFrame:
    """Drives at work of each physical tape at each sample; dimensions time_s and tape; metric mounted."""
    requests = run.table("staging").astype({"source": object, "tape": object})
    tape_of = requests.drop_duplicates("source").set_index("source").tape
    rows = run.table("storages", ["time_s", "storage", "mounted"]).astype({"storage": object})
    rows = rows[rows.storage.isin(tape_of.index)]
    table = rows.assign(tape=rows.storage.map(tape_of)).groupby(["time_s", "tape"]).mounted.sum().reset_index()
    return tidy(table, ["time_s", "tape"], {"mounted": "drives"}, Window(0.0, run.end_s))


def staging_summary(run: Run) -> pd.DataFrame:
    """Requests that were made in the window, and how they went until the end of the run; dimension tape.

    Metrics: requests, size (TB), done; means of those that came so far: for_quota (from the request to its rule, h),
    for_drive (from the rule to the drive that takes it up, h), staged (from the request to the last file on disk, h).
    """
    window = window_of(run)
    rows = run.table("staging").astype({"tape": object, "status": object})
    rows = rows[window.holds(rows.requested_s)]
    done = rows.status.isin(["done", "retired"])
    rows = rows.assign(size=rows["bytes"] / TB, done=done, for_quota=(rows.started_s - rows.requested_s) / HOUR,
                       for_drive=(rows.mounting_s - rows.started_s) / HOUR,
                       staged=(rows.finished_s.where(done) - rows.requested_s) / HOUR)
    table = rows.groupby("tape").agg(requests=("size", "size"), size=("size", "sum"), done=("done", "sum"),
                                     for_quota=("for_quota", "mean"), for_drive=("for_drive", "mean"),
                                     staged=("staged", "mean")).reset_index()
    units = {"requests": "requests", "size": "TB", "done": "requests", "for_quota": "h", "for_drive": "h",
             "staged": "h"}
    return tidy(table, ["tape"], units, window)


def _held(size: pd.Series, begins: pd.Series, ends: pd.Series, own: pd.Series, times: np.ndarray) -> np.ndarray:
    """TB of the own rows that have begun and not ended at each time; one that never begins or ends has NaN."""
    begun = begins.to_numpy()[:, None] <= times
    ended = ends.to_numpy()[:, None] <= times
    return (size.to_numpy()[:, None] * (begun & ~ended))[own.to_numpy()].sum(axis=0) / TB
