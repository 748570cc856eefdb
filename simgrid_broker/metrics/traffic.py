"""Links, doors, backbones, transfers, storages, input read from other sites, and requests of the data carousel."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from simgrid_broker.metrics.window import (
    Window,
    grouped,
    largest,
    once_per_run,
    summed,
    sums,
    texts,
    tidy,
    wide,
    window_of,
)
from simgrid_broker.names import TransferKind
from simgrid_broker.records import Run
from simgrid_broker.units import GB, HOUR, MB, MINUTE, TB

READING = TransferKind.READING.word


@once_per_run
def link_use(run: Run) -> pd.DataFrame:
    """Use of every link with traffic in the window; dimensions source and destination, busiest first.

    Metrics: moved (TB), rate (mean over the window, GB/s), peak_rate (of the busiest sample, with the bytes of failed
    attempts, GB/s), utilisation and peak_utilisation (% of the time in which bytes moved; samples without traffic count
    as 0 in the mean), files, failed (% of the attempts at files), queued_files (maximum over the samples).
    """
    window = window_of(run)
    rows = run.table("links", ["time_s", "source", "destination", "queued_files", "bytes", "files", "files_failed",
                               "bytes_moved", "utilisation"])
    rows = rows[window.covers(rows.time_s)]
    past = seconds_since(run, rows.time_s)
    rows = rows.assign(utilisation_s=rows.utilisation * past, peak=rows.bytes_moved / np.where(past > 0, past, np.nan))
    keys, link = grouped(rows, ["source", "destination"])
    table = pd.DataFrame(keys | {
        name: of(rows[column].to_numpy(), link, len(keys["source"])) for name, (of, column) in {
            "moved": (summed, "bytes"), "utilisation": (summed, "utilisation_s"), "files": (summed, "files"),
            "failed": (summed, "files_failed"), "peak_rate": (largest, "peak"),
            "peak_utilisation": (largest, "utilisation"), "queued_files": (largest, "queued_files")}.items()})
    table["rate"] = table.moved / GB / window.length_s if window.length_s else np.nan
    table["failed"] = 100 * table.failed / (table.files + table.failed).where(table.files + table.failed > 0)
    table["peak_rate"] /= GB
    table["utilisation"] *= 100 / window.length_s if window.length_s else np.nan
    table["peak_utilisation"] *= 100
    table["moved"] /= TB
    table = table.sort_values(["moved", "source", "destination"], ascending=[False, True, True])
    units = {"moved": "TB", "rate": "GB/s", "peak_rate": "GB/s", "utilisation": "%", "peak_utilisation": "%",
             "files": "files", "failed": "%", "queued_files": "files"}
    return tidy(table, ["source", "destination"], units, window)


def site_traffic(run: Run) -> pd.DataFrame:
    """Bytes that each site with traffic sent to others, and received, in the window; dimension site; metrics in TB."""
    links = wide(link_use(run), "moved")
    ends = pd.DataFrame({"site": [*links.source, *links.destination],
                         "sent": [*links.moved, *np.zeros(len(links))],
                         "received": [*np.zeros(len(links)), *links.moved]})
    return tidy(sums(ends, ["site"], "sent", "received"), ["site"], {"sent": "TB", "received": "TB"}, window_of(run))


def traffic_summary(run: Run) -> pd.DataFrame:
    """Traffic in the window, without dimensions; NaN for an empty window.

    Metrics: traffic_moved (TB), traffic_rate (mean, GB/s) of all links; link_use and door_use, % of the time and of the
    capacity, of the busiest link and door.
    """
    links, every = wide(link_use(run), "moved", "utilisation"), wide(door_use(run), "use")
    window = window_of(run)
    moved = float(links.moved.sum())
    table = pd.DataFrame([{
        "traffic_moved": moved, "traffic_rate": moved * TB / GB / window.length_s if window.length_s else np.nan,
        "link_use": links.utilisation.max() if len(links) else 0.0,
        "door_use": every.use.max() if len(every) else np.nan}])
    units = {"traffic_moved": "TB", "traffic_rate": "GB/s", "link_use": "%", "door_use": "%"}
    return tidy(table, [], units, window)


def link_waits(run: Run) -> pd.DataFrame:
    """Waits of the transfers that ended in the window, by link; dimensions source and destination.

    Metrics, min, means: wait (from request to first byte), took (from request to the last file). What running jobs read
    is left out. Empty if the run did not record its transfers.
    """
    window = window_of(run)
    rows = run.table("transfers", ["kind", "source", "destination", "submitted_s", "started_s", "ended_s"])
    rows = texts(rows[window.holds(rows.ended_s) & (rows.kind != READING)], "source", "destination")
    rows = rows.assign(wait=(rows.started_s - rows.submitted_s) / MINUTE,
                       took=(rows.ended_s - rows.submitted_s) / MINUTE)
    table = rows.groupby(["source", "destination"])[["wait", "took"]].mean().reset_index()
    return tidy(table, ["source", "destination"], {"wait": "min", "took": "min"}, window)


def site_matrix(run: Run, most: int = 20) -> pd.DataFrame:
    """Bytes that sites sent to each other in the window; dimensions source and destination, busiest sites first.

    Sites beyond the `most` busiest, by bytes sent and received, are combined as `others (N)`; pairs without traffic are
    left out. Metrics: moved (TB), rate (MB/s).
    """
    links = wide(link_use(run), "moved", "rate")
    ends = pd.DataFrame({"site": [*links.source, *links.destination], "moved": [*links.moved, *links.moved]})
    busiest = sums(ends, ["site"], "moved").sort_values("moved", ascending=False, kind="stable").site.tolist()
    rest = f"others ({len(busiest) - most})"
    order = {name: place if place < most else most for place, name in enumerate(busiest)}
    names = dict(zip(busiest, busiest[:most] + [rest] * len(busiest[most:]), strict=True))
    table = links.assign(row=links.source.map(order), column=links.destination.map(order),
                         source=links.source.map(names), destination=links.destination.map(names))
    keys = ["row", "column", "source", "destination"]
    table = sums(table, keys, "moved", "rate")
    table["rate"] *= GB / MB
    return tidy(table, ["source", "destination"], {"moved": "TB", "rate": "MB/s"}, window_of(run))


def traffic_series(run: Run) -> pd.DataFrame:
    """Traffic of all links over time; dimension time_s; metrics rate (GB/s since the previous sample), queued_files."""
    rows = run.table("links", ["time_s", "bytes", "queued_files"])
    times = sample_times(run)
    table = sums(rows, ["time_s"], "bytes", "queued_files").set_index("time_s").reindex(times, fill_value=0)
    table = table.reset_index(names="time_s")
    table["rate"] = table.bytes / GB / np.diff(times, prepend=np.nan)
    return tidy(table, ["time_s"], {"rate": "GB/s", "queued_files": "files"}, Window(0.0, run.end_s))


def link_series(run: Run, links: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Queues of some links, (source, destination), over time; dimensions time_s and link, `source → destination`.

    Metrics: queued_files (waiting or under way), active_limit (files that FTS lets move at once), rate (MB/s since the
    sample before, with the bytes of failed attempts). Samples without traffic count as 0, with the limit before.
    """
    columns = ["queued_files", "active_limit", "bytes_moved"]
    rows = run.table("links", ["time_s", "source", "destination", *columns])
    times, parts = sample_times(run), []
    for source, destination in links:
        own = rows[(rows.source == source) & (rows.destination == destination)].set_index("time_s")[columns]
        own = own.reindex(times)
        own["active_limit"] = own.active_limit.ffill().bfill()
        own["rate"] = own.bytes_moved.fillna(0) / MB / np.diff(times, prepend=np.nan)
        own["queued_files"] = own.queued_files.fillna(0)
        parts.append(own.reset_index(names="time_s").assign(link=f"{source} \N{RIGHTWARDS ARROW} {destination}"))
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(
        columns=["time_s", "link", "rate", *columns])
    return tidy(table, ["time_s", "link"], {"queued_files": "files", "active_limit": "files", "rate": "MB/s"},
                Window(0.0, run.end_s))


def storage_series(run: Run) -> pd.DataFrame:
    """Use of every storage over time; dimensions time_s and storage; metric used, % of its size."""
    rows = texts(run.table("storages", ["time_s", "storage", "total_bytes", "free_bytes"]), "storage")
    rows["used"] = 100 * (1 - rows.free_bytes / rows.total_bytes)
    return tidy(rows, ["time_s", "storage"], {"used": "%"}, Window(0.0, run.end_s))


def storage_levels(run: Run) -> pd.DataFrame:
    """Bytes on every storage over time; dimensions time_s and storage, those with the most traffic first.

    Metrics, TB: used (not expired), expired, free, min_free (free space below which expired data is deleted).
    """
    rows = texts(run.storages, "storage")
    rows["used_bytes"] = rows.total_bytes - rows.free_bytes - rows.expired_bytes
    last = rows.drop_duplicates("storage", keep="last").set_index("storage")
    traffic = (last.written_bytes + last.deleted_bytes).rename("traffic")
    rows = rows.join(traffic, on="storage").sort_values(["traffic", "storage", "time_s"], ascending=[False, True, True])
    names = ("used", "expired", "free", "min_free")
    table = rows[["time_s", "storage"]].assign(**{name: rows[f"{name}_bytes"] / TB for name in names})
    return tidy(table, ["time_s", "storage"], dict.fromkeys(names, "TB"), Window(0.0, run.end_s))


def storage_use(run: Run) -> pd.DataFrame:
    """Every storage at the end of the window; dimension storage, fullest first.

    Metrics: used (%), total, free, expired, written (since the start of the run), TB.
    """
    window = window_of(run)
    rows = run.storages
    rows = texts(rows[window.holds(rows.time_s)], "storage").drop_duplicates("storage", keep="last")
    table = pd.DataFrame({"storage": rows.storage, "used": 100 * (1 - rows.free_bytes / rows.total_bytes),
                          **{name: rows[f"{name}_bytes"] / TB for name in ("total", "free", "expired", "written")}})
    table = table.sort_values(["used", "storage"], ascending=[False, True])
    units = {"used": "%"} | dict.fromkeys(("total", "free", "expired", "written"), "TB")
    return tidy(table, ["storage"], units, window)


def transfer_summary(run: Run) -> pd.DataFrame:
    """Transfers that ended in the window; dimension kind; metrics transfers, files, moved (TB), median times (min)."""
    window = window_of(run)
    columns = ["kind", "bytes", "n_files", "submitted_s", "started_s", "ended_s"]
    rows = run.table("transfers", columns)
    rows = texts(rows[window.holds(rows.ended_s)], "kind")
    rows = rows.assign(wait=(rows.started_s - rows.submitted_s) / MINUTE, move=(rows.ended_s - rows.started_s) / MINUTE)
    table = rows.groupby("kind").agg(transfers=("bytes", "size"), files=("n_files", "sum"), moved=("bytes", "sum"),
                                     median_wait=("wait", "median"), median_move=("move", "median")).reset_index()
    table["moved"] /= TB
    units = {"transfers": "transfers", "files": "files", "moved": "TB", "median_wait": "min", "median_move": "min"}
    return tidy(table, ["kind"], units, window)


def data_waits(run: Run) -> pd.DataFrame:
    """Jobs that wait for their input, or for their output to arrive, in the window; dimension kind.

    A third kind is what running jobs read from other sites, if any do: none of these waits.

    Metrics: waiting_jobs (mean of the samples) and waiting_at_end, jobs in status assigned or transferring; of the
    transfers that ended: moved (TB), failed_files, median_time (from request to the last file, min).
    """
    window = window_of(run)
    samples = run.table("queues", ["time_s", "assigned", "transferring"])
    samples = sums(samples, ["time_s"], "assigned", "transferring").set_index("time_s")
    samples = samples[window.holds(samples.index)].rename(columns={"assigned": "input", "transferring": "output"})
    rows = run.table("transfers", ["kind", "bytes", "failed_files", "submitted_s", "ended_s"])
    rows = texts(rows[window.holds(rows.ended_s)], "kind")
    rows = rows.assign(took=(rows.ended_s - rows.submitted_s) / MINUTE)
    table = pd.DataFrame({"waiting_jobs": samples.mean(), "waiting_at_end": samples.tail(1).sum()})
    moved = rows.groupby("kind").agg(moved=("bytes", "sum"), failed_files=("failed_files", "sum"),
                                     median_time=("took", "median"))
    table = table.join(moved, how="outer")
    table["moved"] = table.moved.fillna(0) / TB
    table["failed_files"] = table.failed_files.fillna(0)
    units = {"waiting_jobs": "jobs", "waiting_at_end": "jobs", "moved": "TB", "failed_files": "files",
             "median_time": "min"}
    return tidy(table.rename_axis("kind").reset_index(), ["kind"], units, window)


def seconds_since(run: Run, times) -> np.ndarray:
    """Time from the sample before to each sample, s; 0 for the first of a run."""
    all_times = np.union1d(sample_times(run), times)       # a killed run may lack the queues of its last sample
    return np.diff(all_times, prepend=all_times[:1])[np.searchsorted(all_times, np.asarray(times))]


def sample_times(run: Run) -> np.ndarray:
    """Times of all samples, s, sorted; the series of links omit samples without traffic."""
    return np.unique(run.table("queues", ["time_s"]).time_s.to_numpy())


def direct_reading(run: Run) -> pd.DataFrame:
    """Readings that ended in the window, by link; dimensions source and destination, most bytes first.

    Metrics: jobs; cut (those that ended before they had read all); read (TB); rate (of one job, mean, MB/s); took
    (median, min). Empty if no job read from another site, or the run did not record its transfers.
    """
    window = window_of(run)
    rows = run.table("transfers", ["kind", "source", "destination", "bytes", "failed_files", "started_s", "ended_s"])
    rows = texts(rows[(rows.kind == READING) & window.holds(rows.ended_s)], "source", "destination")
    units = {"jobs": "jobs", "cut": "jobs", "read": "TB", "rate": "MB/s", "took": "min"}
    if not len(rows):
        return tidy(rows.reindex(columns=["source", "destination", *units]), ["source", "destination"], units, window)
    took = rows.ended_s - rows.started_s
    rows = rows.assign(took=took / MINUTE, rate=rows.bytes / MB / took.where(took > 0, np.nan))
    table = rows.groupby(["source", "destination"]).agg(
        jobs=("bytes", "size"), cut=("failed_files", "sum"), read=("bytes", "sum"), rate=("rate", "mean"),
        took=("took", "median")).reset_index()
    table["read"] /= TB
    table = table.sort_values(["read", "source", "destination"], ascending=[False, True, True])
    return tidy(table, ["source", "destination"], units, window)


def staging_series(run: Run) -> pd.DataFrame:
    """Datasets asked for from each physical tape whenever that changes; dimensions time_s and tape; metrics in TB.

    Metrics: waiting (no rule yet), staging (has a rule, not all on disk), done (all on disk; a sum since the start).
    """
    rows = texts(run.table("staging"), "tape", "status")
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
    requests = texts(run.table("staging"), "source", "tape")
    tape_of = requests.drop_duplicates("source").set_index("source").tape
    rows = texts(run.table("storages", ["time_s", "storage", "mounted"]), "storage")
    rows = rows[rows.storage.isin(tape_of.index)]
    table = sums(rows.assign(tape=rows.storage.map(tape_of)), ["time_s", "tape"], "mounted")
    return tidy(table, ["time_s", "tape"], {"mounted": "drives"}, Window(0.0, run.end_s))


def staging_summary(run: Run) -> pd.DataFrame:
    """Requests that were made in the window, and how they went until the end of the run; dimension tape.

    Metrics: requests, size (TB), done; means of those that came so far: for_quota (from the request to its rule, h),
    for_drive (from the rule to the drive that takes it up, h), staged (from the request to the last file on disk, h).
    """
    window = window_of(run)
    rows = texts(run.table("staging"), "tape", "status")
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


GIGABITS = 8e-9
"""Gb/s in 1 byte/s."""
WAYS = {"out": "source", "in": "destination"}
"""Direction through a door to the end of a link at which the door is."""


class Door(NamedTuple):
    """One direction of what has a capacity, bytes/s: name with direction, kind, sites inside.

    Links cross it that have the end named in WAYS inside; those through a backbone have the other end outside.
    """

    name: str
    kind: str
    way: str
    capacity: float
    sites: frozenset[str]


def doors(run: Run) -> list[Door]:
    """Doors of sites and endpoints, and directions of backbones, that have a capacity, in the scenario's order."""
    return doors_of(run.manifest["scenario"]["grid"])


def doors_of(grid: dict) -> list[Door]:
    """Doors of a grid, as a manifest holds it; see `doors`."""
    return [Door(f"{name} {way}", kind, way, float(capacity), sites)
            for name, kind, said, sites in _things(grid) for way in WAYS
            if (capacity := said.get("capacity") or said.get(f"door_{way}")) is not None]


def _things(grid: dict) -> Iterator[tuple[str, str, dict, frozenset[str]]]:
    """Name, kind, keys and sites of each thing that may have a door."""
    sites, storages = grid["sites"], grid.get("storages", {})
    first = {storage["site"]: name for name, storage in reversed(storages.items())}
    for name, site in sites.items():
        yield name, "site", site, frozenset([name])
    for name, storage in storages.items():
        writers = [site for site, said in sites.items() if (said.get("storage") or first.get(site)) == name]
        yield name, "endpoint", storage, frozenset(writers)
    for name, backbone in grid.get("links", {}).get("backbones", {}).items():
        yield name, "backbone", backbone, frozenset(
            site for site, said in sites.items() if site in backbone["sites"] or said["region"] in backbone["regions"])


class Traffic:
    """Bytes and queued files of every site at every sample: (n_sites, n_times) arrays by direction and column."""

    def __init__(self, run: Run):
        columns = ["bytes_moved", "queued_files"]
        self.rows = run.table("links", ["time_s", "source", "destination", *columns])
        self.times = np.union1d(sample_times(run), self.rows.time_s)       # of a killed run, the last may be of links
        self.at = np.searchsorted(self.times, self.rows.time_s)
        self.sites = list(self.rows.source.cat.categories)
        self.by_site = {(way, column): self._by_site(end, column) for way, end in WAYS.items() for column in columns}

    def _by_site(self, end: str, column: str) -> np.ndarray:
        shape = len(self.sites), len(self.times)
        place = self.rows[end].cat.codes.to_numpy(np.int64) * shape[1] + self.at
        return np.bincount(place, self.rows[column].to_numpy(float), shape[0] * shape[1]).reshape(shape)

    def through(self, door: Door, column: str) -> np.ndarray:
        """Sums of a column over the links through a door at each sample, (n_times,)."""
        inside = np.isin(self.sites, list(door.sites))
        if door.kind != "backbone":
            return self.by_site[door.way, column][inside].sum(axis=0)
        ends = [inside[self.rows[end].cat.codes] for end in ("source", "destination")]
        crossing = (ends[0] & ~ends[1]) if door.way == "out" else (ends[1] & ~ends[0])
        return np.bincount(self.at[crossing], self.rows[column].to_numpy(float)[crossing], len(self.times))


def door_series(run: Run, names: Collection[str] | None = None) -> pd.DataFrame:
    """Use of doors over time; dimensions time_s and door (name and direction), by default all of them.

    Metrics: rate (mean since the sample before, with the bytes of failed attempts), capacity (of the scenario, whatever
    incidents and troubles make of it), left (what other traffic leaves of it at that hour), Gb/s; use (rate over
    capacity, %); queued_files (of the links through it).
    """
    shown, traffic = [door for door in doors(run) if names is None or door.name in names], Traffic(run)
    past = np.diff(traffic.times, prepend=np.nan)
    free = 1 - background(run, traffic.times)
    parts = [pd.DataFrame({
        "time_s": traffic.times, "door": door.name, "capacity": door.capacity * GIGABITS,
        "rate": traffic.through(door, "bytes_moved") / past * GIGABITS, "left": door.capacity * GIGABITS * free,
        "queued_files": traffic.through(door, "queued_files")}) for door in shown]
    columns = ["time_s", "door", "capacity", "rate", "left", "queued_files"]
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
    table["use"] = 100 * table.rate.astype(float) / table.capacity.astype(float)
    units = {"rate": "Gb/s", "capacity": "Gb/s", "left": "Gb/s", "use": "%", "queued_files": "files"}
    return tidy(table, ["time_s", "door"], units, Window(0.0, run.end_s))


def door_use(run: Run) -> pd.DataFrame:
    """Use of every door in the window; dimensions door and kind (site, endpoint, backbone), most used first.

    Metrics: capacity, rate (mean), peak_rate (of the busiest sample), Gb/s; use, peak_use (% of the capacity); moved
    (TB, with the bytes of failed attempts); queued_files (maximum over the samples).
    """
    window, every, traffic = window_of(run), doors(run), Traffic(run)
    inside = window.covers(traffic.times)
    past = np.diff(traffic.times, prepend=np.nan)[inside]
    moved = np.array([traffic.through(door, "bytes_moved")[inside] for door in every]).reshape(len(every), len(past))
    queued = np.array([traffic.through(door, "queued_files")[inside] for door in every]).reshape(moved.shape)
    table = pd.DataFrame({"door": [door.name for door in every], "kind": [door.kind for door in every],
                          "capacity": [door.capacity * GIGABITS for door in every], "moved": moved.sum(axis=1) / TB})
    table["rate"] = moved.sum(axis=1) * GIGABITS / past.sum() if len(past) else np.nan
    table["peak_rate"] = (moved / past).max(axis=1) * GIGABITS if len(past) else np.nan
    table["use"], table["peak_use"] = (100 * table[name] / table.capacity for name in ("rate", "peak_rate"))
    table["queued_files"] = queued.max(axis=1, initial=0)
    table = table.sort_values(["use", "door"], ascending=[False, True])
    units = {"capacity": "Gb/s", "rate": "Gb/s", "peak_rate": "Gb/s", "use": "%", "peak_use": "%", "moved": "TB",
             "queued_files": "files"}
    return tidy(table, ["door", "kind"], units, window)


def background(run: Run, times: np.ndarray) -> np.ndarray:
    """Part of each door that other traffic takes at some times, s."""
    said = run.manifest["scenario"]["grid"].get("links", {}).get("background", {})
    by_hour = np.array(said.get("by_hour") or [1.0])
    return said.get("load", 0.0) * by_hour[(np.asarray(times) // HOUR).astype(int) % len(by_hour)]
