"""Files of CGSim, a SimGrid-based grid simulator: sites and links as a grid, real PanDA jobs in CSV for replay.

Source: formats reference, section 14, and CGSim's own parser and platform (kennywlo/CGSim, src/core/parser.cpp and
platform.cpp).
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from simgrid_broker.errors import nearest
from simgrid_broker.names import USER_PRIORITY
from simgrid_broker.scenario.importers.files import (
    UNKNOWN,
    BadLines,
    JsonFile,
    Tally,
    clean,
    number_of,
    read_json,
    refuse,
)
from simgrid_broker.scenario.importers.panda import MANAGED, SERIAL, STATUS_WORDS, USER, without_names
from simgrid_broker.scenario.importers.sheets import Sheet, found_columns, read_columns, read_sheet
from simgrid_broker.scenario.importers.trace_tasks import days_of
from simgrid_broker.schema.jobs import NUMBERS

READ = ("pandaid", "creationtime", "starttime", "endtime", "assignedpriority", "jobstatus", "jobname", "computingsite",
        "sourcesite", "corecount", "ninputdatafiles", "inputfilebytes", "outputfilebytes", "files_info", "job_walltime",
        "job_queuetime", "cpu_eff")
"""Columns that are read, in any order and case."""

NEEDED = (("pandaid",), ("creationtime",), ("corecount",), ("job_walltime", "starttime+endtime"))
"""Columns that a replay needs, each in one of the ways."""

OWN_NUMBERS = ("job_walltime", "job_queuetime", "cpu_eff")
"""Columns of numbers that CGSim adds to PanDA's."""

USER_PREFIX = "user."
"""Names of user jobs begin with it, followed by the name of the user; others are production."""


def read_cgsim_records(path: Path, limit: int | None, sites: Sequence[str], tally: Tally) -> pd.DataFrame:
    """Records of a CGSim job file, at most `limit`, in the columns of `traces.RECORD`.

    sites: names of the scenario's sites; a `computingsite` that is a number counts them from 0. `job_walltime` is in
    core-seconds; without it, the wall time is end less start. Remarks go to `tally`. Raises InputFileError with all
    lines that are not records.
    """
    sheet = read_sheet(path, limit)
    bad = BadLines(sheet.path)
    jobs = read_columns(sheet, found_columns(sheet, None, NEEDED, tally, READ), bad, READ, (*NUMBERS, *OWN_NUMBERS))
    sizes = [_sizes(sheet, row, text, bad) for row, text in enumerate(jobs["files_info"])]
    bad.stop()
    cores, name = jobs["corecount"].where(jobs["corecount"] >= 1, 1.0), jobs["jobname"]
    walltime_s = (jobs["job_walltime"] / cores).where(jobs["job_walltime"] > 0)
    is_user = name.str.startswith(USER_PREFIX)
    input_bytes = jobs["inputfilebytes"].where(jobs["inputfilebytes"] > 0, [sum(each) for each in sizes])
    return without_names(pd.DataFrame({
        "job": jobs["pandaid"], "submit_s": jobs["creationtime"].fillna(UNKNOWN), "processors": cores,
        "run_s": walltime_s.fillna(jobs["endtime"] - jobs["starttime"]).fillna(UNKNOWN),
        "wait_s": jobs["job_queuetime"].fillna(UNKNOWN),
        "status": jobs["jobstatus"].str.lower().map(STATUS_WORDS).fillna(UNKNOWN),
        "user": name.str.split(".").str[1].where(is_user, ""), "executable": name.str.replace(SERIAL, "", regex=True),
        "label": np.where(is_user, USER, MANAGED), "priority": jobs["assignedpriority"].fillna(float(USER_PRIORITY)),
        "cpu_efficiency": jobs["cpu_eff"].where((jobs["cpu_eff"] > 0) & (jobs["cpu_eff"] <= 1), 1.0),
        "input_bytes": input_bytes, "output_bytes": jobs["outputfilebytes"].clip(lower=0).fillna(0.0),
        "n_input_files": jobs["ninputdatafiles"].where(jobs["ninputdatafiles"] > 0, [len(each) for each in sizes]),
        **_places(jobs, input_bytes, sites, tally)}))


def _sizes(sheet: Sheet, row: int, field: str, bad: BadLines) -> list[float]:
    """Sizes of the input files, bytes, from the quoted JSON object of `files_info`, file to size."""
    expected = "a JSON object of file to bytes was expected"
    try:
        sizes = list(json.loads(field).values()) if field else []
        if all(isinstance(size, (int, float)) and not isinstance(size, bool) and 0 <= size < 1e300 for size in sizes):
            return [float(size) for size in sizes]
        expected = "sizes in bytes were expected"
    except (ValueError, AttributeError, RecursionError):
        pass
    bad.add(*sheet.place(row, "files_info"), field, expected)
    return []


def _places(jobs: pd.DataFrame, input_bytes: pd.Series, sites: Sequence[str], tally: Tally) -> dict[str, Any]:
    """Site that holds the input, `sourcesite`, else `computingsite`, else the sites in turn; where the job ran."""
    ran, source = (jobs[column].map(lambda name: _number_of_site(name, sites)).astype(float)
                   for column in ("computingsite", "sourcesite"))
    held = source.fillna(ran)
    tally.count_all("jobs whose site is not in the scenario: their input lies at the sites in turn",
                    jobs["pandaid"][(input_bytes > 0) & held.isna()])
    in_turn = pd.Series(np.arange(len(jobs)) % max(1, len(sites)), jobs.index)
    return {"site": held.fillna(in_turn).astype(int) if sites else -1,
            "partition": [text if np.isnan(number) else sites[int(number)]
                          for text, number in zip(jobs["computingsite"], ran, strict=True)]}


def _number_of_site(name: str, sites: Sequence[str]) -> float:
    """Number of a site that is named, or counted from 0; NaN if it is not in `sites`."""
    if name in sites:
        return sites.index(name)
    return int(name) if name.isdecimal() and len(name) < 10 and int(name) < len(sites) else np.nan


MEAN_COREPOWER = 10.0
"""HS06 per core that the mean core of a CGSim file is given.

CGSim's speeds (flop/s per core, and the property GFLOPS) are calibrated file by file and have no fixed
relation to HS06; only their ratios mean something.
"""

LEAST_FREE = {"STORAGE_MIN_FREE_SIZE": 200 * 2**30, "STORAGE_MIN_FREE_SIZE_OUTPUT": 200 * 2**30,
              "DISK_THRESHOLD": 100 * 2**40}
"""Free space, bytes, with which PanDA uses a storage for production and for analysis, and a nucleus, by the key of
gdpconfig; source: brokerage reference, D73 and D1."""
NEXT_TO_NOTHING = {"DISK_THRESHOLD": 0.0}
"""Value of a key of LEAST_FREE with which every storage is used, in its unit; of the others, 0 is the default."""

_PREFIXES = {"": 1.0, **{sign: 1000.0**power for power, sign in enumerate("kMGTPE", start=1)},
             **{f"{sign}i": 1024.0**power for power, sign in enumerate("KMGTPE", start=1)}}

RATES = {f"{prefix}{unit}": scale * size for prefix, scale in _PREFIXES.items()
         for unit, size in (("bps", 1 / 8), ("Bps", 1.0))} | {"": 1.0}
"""SimGrid's units of bandwidth to bytes/s: bps are bits, Bps are bytes, a bare number is bytes/s."""

SIZES = {f"{prefix}{unit}": scale * size for prefix, scale in _PREFIXES.items()
         for unit, size in (("b", 1 / 8), ("B", 1.0))} | {"": 1.0}
"""SimGrid's units of size to bytes."""

TIMES = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12, "m": 60.0, "h": 3600.0, "d": 86400.0,
         "w": 604800.0}
"""SimGrid's units of time to seconds."""

SPEEDS = {f"{prefix}{unit}": scale for prefix, scale in _PREFIXES.items() for unit in ("f", "flops")} | {"": 1.0}
"""SimGrid's units of speed to flop/s."""

_QUANTITY = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-z]*)", re.ASCII)


def read_cgsim(sites: Path, links: Path, jobs: Path | None = None) -> tuple[dict, dict, list[str]]:
    """A grid as a dict of YAML shape, the other parts of a scenario, and remarks.

    sites, links: CGSim's site and connection files, JSON; jobs: its job file, CSV, which becomes the work, in a
    scenario that is as long as it takes. Raises InputFileError.
    """
    tally = Tally()
    description = read_json(sites)
    bad = BadLines(description.path)
    described = {clean(name): _site(description, name, values, bad, tally)
                 for name, values in description.objects("a site with SITE_PROPERTIES and CPUInfo").items()}
    bad.stop()
    if not described:
        refuse(description.path, 1, "", None, "at least one site was expected")
    grid = _grid(described, tally)
    grid["links"] = {"default": {"failure_rate": 0}, "pairs": link_pairs(read_json(links), tuple(described), tally)}
    others = small_storages(grid, tally)
    if jobs is not None:
        records = read_cgsim_records(jobs, None, tuple(described), tally)
        trace = {"file": str(Path(jobs).resolve()), "format": "cgsim"}
        others |= {"duration": days_of(records), "workload": {"trace": trace}}
        _say_what_does_not_fit(grid, records, tally)
    origin = f"CGSim files {description.path.name} and {Path(links).name}: {len(described)} sites"
    return grid, others, [origin, *tally.remarks()]


def _site(file: JsonFile, name: str, values: Mapping, bad: BadLines, tally: Tally) -> dict[str, float]:
    """Totals of a site: cores, flops (of all cores), memory_bytes, storage_bytes, used_fraction, read_rate, hosts."""
    total = dict.fromkeys(("cores", "flops", "memory_bytes", "read_rate", "hosts"), 0.0)
    for host in _hosts(file, name, values, bad):
        n, cores = host["units"], host["units"] * host["cores"]
        for key, amount in (("hosts", n), ("cores", cores), ("flops", cores * host["speed"]),
                            ("memory_bytes", n * host["ram"]), ("read_rate", n * host["read_bw"])):
            total[key] += amount
    properties = values.get("SITE_PROPERTIES")
    properties = properties if isinstance(properties, dict) else {}
    capacity = "storage_capacity_bytes" if "storage_capacity_bytes" in properties else "storage"
    whole, scales = (properties[capacity], {"": 1.0}) if capacity in properties else (values.get(capacity), SIZES)
    ratio = "storage_utilization_ratio"
    used = _quantity(file, name, ratio, properties.get(ratio, 0), {"": 1}, bad)
    if not 0 <= used <= 1:
        bad.add(file.line(name, ratio), f"{name}.{ratio}", used, "a part from 0 to 1 was expected")
    if total["cores"] == 0 and isinstance(values.get("CPUInfo"), list):
        bad.add(file.line(name), f"{name}.CPUInfo", None, "hosts with at least one core were expected")
    if values.get("files"):
        tally.count("sites whose list of files is not read: the input of jobs lies where the jobs say", name)
    return total | {"storage_bytes": _quantity(file, name, capacity, whole or 0, scales, bad),
                    "used_fraction": min(1.0, used)}


def _hosts(file: JsonFile, name: str, values: Mapping, bad: BadLines) -> Iterator[dict[str, float]]:
    """Groups of equal hosts: units, cores and speed (flop/s) of each host, ram (bytes), read_bw of its first disk."""
    groups = values.get("CPUInfo")
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        bad.add(file.line(name), f"{name}.CPUInfo", groups, "a list of groups of hosts was expected")
        return
    for group in groups:
        properties, disks = (_described(file, name, key, group, bad) for key in ("properties", "disks"))
        memory = next((each["ram"] for each in properties if each.get("ram")), 0)
        yield {
            "units": _quantity(file, name, "units", group.get("units"), {"": 1}, bad),
            "cores": _quantity(file, name, "cores", group.get("cores"), {"": 1}, bad),
            "speed": _quantity(file, name, "speed", group.get("speed"), SPEEDS, bad),
            "ram": _quantity(file, name, "ram", group.get("ram") or memory, SIZES, bad),
            "read_bw": _quantity(file, name, "read_bw", disks[0].get("read_bw", 0) if disks else 0, RATES, bad)}


def _described(file: JsonFile, name: str, key: str, group: Mapping, bad: BadLines) -> list[Mapping]:
    """The objects listed at a key of a group of hosts, none if it is missing; anything else is added to `bad`."""
    listed = group.get(key) or []
    if isinstance(listed, list) and all(isinstance(each, dict) for each in listed):
        return listed
    bad.add(file.line(name, key), f"{name}.{key}", listed, "a list of objects was expected")
    return []


def _quantity(file: JsonFile, name: str, key: str, value: object, scales: Mapping[str, float], bad: BadLines) -> float:
    """A number that is not negative from a number or text with one of SimGrid's units; else added to `bad`, and 0."""
    found = in_units(value, scales)
    if found is None:
        units = " or ".join(repr(unit) for unit in scales if unit) or "none"
        expected = "a number was expected" if units == "none" else f"a number with a unit was expected, {units[:80]}"
        bad.add(file.line(name, key), f"{name}.{key}", value, expected)
    return found or 0.0


def in_units(value: object, scales: Mapping[str, float]) -> float | None:
    """Value of a number, or of text with one of the units in `scales`; None if it is neither, or negative."""
    match = _QUANTITY.fullmatch(value.strip()) if isinstance(value, str) else None
    if match and match[2] in scales:
        number = number_of(match[1])
        found = None if number is None else number * scales[match[2]]
    else:
        found = number_of(value) if not isinstance(value, str) else None
    return found if found is not None and found >= 0 else None


def _grid(described: Mapping[str, Mapping[str, float]], tally: Tally) -> dict:
    """Sites, one unified queue and one storage each, from what the sites have."""
    speed = sum(site["flops"] for site in described.values()) / sum(site["cores"] for site in described.values())
    sites, queues, storages = dict[str, dict[str, Any]](), {}, {}
    for name, site in described.items():
        own = site["flops"] / site["cores"]
        sites[name] = {"tier": 2, "cores": int(site["cores"]), "nucleus": site["storage_bytes"] > 0, "failure_rate": 0}
        if site["memory_bytes"]:
            sites[name]["memory_per_core"] = float(f"{site['memory_bytes'] / 1e6 / site['cores']:.6g}")
        if site["read_rate"]:
            sites[name]["stage_in_rate"] = float(f"{site['read_rate'] / site['hosts']:.6g}")
        queues[name] = {"atlas_site": name, "corepower": float(f"{MEAN_COREPOWER * own / speed:.6g}") if speed else 0}
        if site["storage_bytes"]:
            storages[f"{name}_DATADISK"] = {"site": name, "total": site["storage_bytes"],
                                            "free": round(site["storage_bytes"] * (1 - site["used_fraction"]))}
        else:
            tally.count("sites without storage, which cannot be nuclei", name)
    _say_assumptions(speed, tally)
    return {"sites": sites, "queues": queues, "storages": storages}


def small_storages(grid: Mapping, tally: Tally) -> dict[str, Any]:
    """Parts of a scenario in which brokers use storages that are smaller than PanDA needs; nothing if none is.

    CGSim has no least free space. Only the deployed edition lets keys of gdpconfig change those of both brokers of
    jobs.
    """
    least = min((storage["free"] for storage in grid["storages"].values()), default=np.inf)
    small = [key for key, size in LEAST_FREE.items() if least < size]
    if not small:
        return {}
    tally.say(f"storages are as small as {least / 1e9:.6g} GB free, which storage_capacity_bytes (else storage) and "
              f"storage_utilization_ratio say; PanDA would use none below {', '.join(small)}; CGSim has no such limit, "
              "so the scenario is of the deployed edition and sets them to let brokers use every storage")
    return {"edition": "deployed", "gdpconfig": {key: NEXT_TO_NOTHING.get(key, 1e-6) for key in small}}


def _say_what_does_not_fit(grid: Mapping, records: pd.DataFrame, tally: Tally) -> None:
    """Remark output of the jobs that all storages together have no room for."""
    free, output = sum(storage["free"] for storage in grid["storages"].values()), records["output_bytes"].sum()
    if grid["storages"] and output > free:
        tally.say(f"the jobs write {output / 1e9:.6g} GB and all storages have {free / 1e9:.6g} GB free: the "
                  "rest waits for space; CGSim's core keeps to the size in `storage`, not to storage_capacity_bytes")


def _say_assumptions(speed: float, tally: Tally) -> None:
    tally.say(f"speeds: the mean core of all sites, {speed:.6g} flop/s, is set to {MEAN_COREPOWER:g} HS06; CGSim's "
              "speeds have no fixed relation to HS06, their ratios are kept; hosts of one site are averaged")
    tally.say("each site gets one unified queue, tier 2, and one DATADISK of its whole capacity; every site with "
              "storage can be a nucleus")
    tally.say("failure rates of sites and links are 0, since CGSim has none")


def link_pairs(file: JsonFile, sites: tuple[str, ...], tally: Tally) -> list[dict]:
    """Links of a connection file, object "A:B" to bandwidth and latency; bytes/s and s.

    A route of CGSim serves both directions, so a pair without its reverse is written both ways. Raises InputFileError
    for sites that do not exist and values without sense.
    """
    bad, given = BadLines(file.path), {}
    for key, values in file.objects("a link with bandwidth and latency").items():
        source, colon, destination = clean(key).partition(":")
        if not colon:
            tally.count("links left out because their name is not of the form A:B", key)
            continue
        for site in (source, destination):
            if site not in sites:
                bad.add(file.line(key), key, site, "each end must be a site of the site file", nearest(site, sites))
        bandwidth = _quantity(file, key, "bandwidth", values.get("bandwidth"), RATES, bad)
        if in_units(values.get("bandwidth"), RATES) == 0:
            bad.add(file.line(key, "bandwidth"), f"{key}.bandwidth", values["bandwidth"], "must be above 0")
        given[source, destination] = {
            "bandwidth": bandwidth, "latency": _quantity(file, key, "latency", values.get("latency", 0), TIMES, bad)}
    bad.stop()
    one_way = [(a, b) for a, b in given if (b, a) not in given]
    tally.count_all("links given in one direction, which hold for both, each direction with the whole capacity",
                    (f"{a}:{b}" for a, b in one_way))
    given |= {(b, a): given[a, b] for a, b in one_way}
    n_missing = len(sites) * (len(sites) - 1) - sum(a != b for a, b in given)
    if n_missing:
        tally.say(f"ordered pairs of sites without a link in the file, for which the default link holds: {n_missing}")
    in_order = sorted(given, key=lambda pair: (sites.index(pair[0]), sites.index(pair[1])))
    return [{"source": a, "destination": b, **given[a, b]} for a, b in in_order]
