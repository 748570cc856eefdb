"""A grid of the partitions of an SWF trace, as large as the trace says."""

import re
from collections.abc import Mapping
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from simgrid_broker.scenario.importers.input_files import Tally
from simgrid_broker.scenario.importers.recorded import PREFIX_OF
from simgrid_broker.scenario.importers.swf import header_values, numbered_names, read_swf
from simgrid_broker.scenario.importers.text_tables import read_lines
from simgrid_broker.units import DAY

COREPOWER = 10.0
"""HS06 per core: an assumption without effect, because run times are replayed at the power of the grid."""

STORAGE_BYTES = 1e15
"""Size of the storage of each site, an assumption: recorded jobs have no files, but brokers ask for free space."""

MAX_PROCS = re.compile(r"(\d{1,9})\s*(?:\(([\d\s,]+)\))?.*", re.ASCII)
"""Processors of the machine, in parentheses those of each partition (Parallel Workloads Archive, SWF header)."""


def read_swf_grid(path: Path) -> tuple[dict, dict, list[str]]:
    """A grid as a dict of YAML shape, the other parts of a scenario that replays the trace on it, and remarks.

    Each partition with a job that ran becomes a site with one queue and one storage; without partitions there is one
    site. Raises InputFileError.
    """
    path, tally = Path(path), Tally()
    records = read_swf(path, None, tally)
    records = records[(records["run_s"] > 0) & (records["submit_s"] >= 0)]
    comments = read_lines(path, ";").comments
    partition = records["partition"].map(lambda name: f"{PREFIX_OF['partition']}{name}" if name.isdecimal() else name)
    known = not (partition == "-1").all()
    groups = {name: rows for name, rows in records.groupby(partition, sort=False) if name != "-1" or not known}
    if not known:
        tally.say("no job has a recorded partition, so there is one site, and brokerage has no choice")
        groups = {path.name.split(".")[0]: records}
    cores = _cores({name: most_processors(rows) for name, rows in groups.items()}, comments, tally)
    widest = {name: int(min(cores[name], np.ceil(rows["processors"].max()))) for name, rows in groups.items()}
    origin = f"SWF file {path.name}: {len(groups)} partitions with jobs, {sum(cores.values())} cores"
    others = _others(path, records, "recorded" if known else "brokered")
    return _grid(cores, widest), others, [origin, *tally.remarks()]


def most_processors(rows: pd.DataFrame) -> int:
    """Most processors that jobs of these records used at one time; an unknown wait counts as none."""
    start = rows["submit_s"].to_numpy() + np.maximum(rows["wait_s"].to_numpy(), 0)
    processors = np.maximum(np.where(rows["processors"] > 0, rows["processors"], rows["requested_processors"]), 1)
    moments = np.concatenate([start, start + rows["run_s"].to_numpy()])
    change = np.concatenate([processors, -processors])
    return ceil(np.cumsum(change[np.lexsort((change, moments))]).max())


def _cores(used: Mapping[str, int], comments: tuple[str, ...], tally: Tally) -> dict[str, int]:
    """Cores of each partition: those of the header, else MaxProcs in proportion to `used`, at least `used`."""
    match = MAX_PROCS.fullmatch(header_values(comments).get("MaxProcs", ""))
    names = list(numbered_names(comments, "Partition").values())
    listed = [int(n) for n in (match[2] or "").replace(",", " ").split()] if match else []
    if match and len(listed) == len(names) > 0:
        sizes = dict(zip(names, listed, strict=True))
        return {name: max(most, sizes.get(name, 0)) for name, most in used.items()}
    total = int(match[1]) if match else 0
    if total <= sum(used.values()):
        tally.say("the header's MaxProcs is " + (f"{total}, less than" if total else "missing; sites have")
                  + " the most processors that jobs of each partition used at one time"
                  + (f", {sum(used.values())} together: these are taken" if total else ""))
        return dict(used)
    tally.say(f"the header's MaxProcs, {total}, is divided in proportion to the most processors that jobs of each "
              "partition used at one time, because sizes of partitions are not recorded")
    return _divided(total, used)


def _divided(total: int, parts: Mapping[str, int]) -> dict[str, int]:
    """`total` in proportion to `parts`, in whole numbers by the largest remainders."""
    exact = np.array(list(parts.values())) * total / sum(parts.values())
    whole = np.floor(exact).astype(int)
    whole[np.argsort(whole - exact, kind="stable")[:total - whole.sum()]] += 1
    return dict(zip(parts, whole.tolist(), strict=True))


def _grid(cores: Mapping[str, int], widest: Mapping[str, int]) -> dict[str, Any]:
    """Sites with one unified queue and one storage each."""
    return {
        "sites": {name: {"tier": 2, "cores": n, "nucleus": True, "failure_rate": 0} for name, n in cores.items()},
        "queues": {name: {"atlas_site": name, "type": "unified", "corepower": COREPOWER, "corecount": widest[name],
                          "num_slots": n} for name, n in cores.items()},
        "storages": {f"{name}_DATADISK": {"site": name, "total": STORAGE_BYTES, "free": STORAGE_BYTES}
                     for name in cores},
        "links": {"default": {"failure_rate": 0}}}


def _others(path: Path, records: pd.DataFrame, place: str) -> dict[str, Any]:
    """Length of the trace, and the trace itself as work."""
    last_s = (records["submit_s"] + np.maximum(records["wait_s"], 0) + records["run_s"]).max()
    days = max(1, ceil((last_s - records["submit_s"].min()) / DAY))
    return {"duration": f"{days} days", "workload": {"trace": {
        "file": str(path.resolve()), "format": "swf", "corepower": COREPOWER, "place": place}}}
