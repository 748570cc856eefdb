"""Doors of sites and endpoints, and backbones: what moves through each, beside its capacity."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from simgrid_broker.metrics.tidy import tidy
from simgrid_broker.metrics.traffic import sample_times
from simgrid_broker.metrics.window import Window, window_of
from simgrid_broker.records import Run
from simgrid_broker.units import HOUR, TB

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
    grid = run.manifest["scenario"]["grid"]
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
