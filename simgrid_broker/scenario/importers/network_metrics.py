"""Reads network metrics (NWS) as traffic of a snapshot, or as rates of files; source: formats reference, section 5."""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from simgrid_broker.scenario.importers.cric_values import clean, number_of
from simgrid_broker.scenario.importers.input_files import JsonFile, Tally, read_json
from simgrid_broker.units import MB

QUEUED = {"Production Output": "queued_files", "Express": "queued_express"}
"""Activities whose queued files brokerage reads, to the keys of a snapshot."""
WINDOWS = {"1h": "mbps_hour", "1d": "mbps_day", "1w": "mbps_week"}
"""Windows of the throughput, to the keys of a snapshot."""
SYSTEM = "dashb"
"""Whose throughput brokerage reads: that of FTS; source: brokerage reference, section 7."""
OLDEST = timedelta(minutes=30)
"""Age from which PanDA drops an entry when it loads it; the newest time stamp of the file counts as now."""
LONG_FIRST = ("1w", "1d", "1h")
"""Windows, the longest first: its mean is over most files."""


def read_network_metrics(path: Path, sites: Collection[str], rates: bool = False) -> tuple[dict, list[str]]:
    """What brokers know of the links between `sites` as the part `links` of a snapshot, and remarks on what is unused.

    rates: instead the part `grid.links.pairs` of a scenario, in which files move at the throughput of the longest
    window, bytes/s. Raises InputFileError for a file of another form.
    """
    file, tally = read_json(path), Tally()
    tally.count_all("keys that occur twice in the file, of which the last counts", file.repeated)
    now = max(_times(file.value), default=None) if isinstance(file.value, dict) else None
    links = list(_links(file, sites, now, tally))
    origin = f"network metrics of {len(links)} links from {path.name}" + (f", as of {now.isoformat()}" if now else "")
    if not rates:
        return {"links": links}, [origin, *tally.remarks()]
    pairs = [{"source": link["source"], "destination": link["destination"], "file_rate": rate * MB}
             for link in links if (rate := _longest_window(link)) > 0]
    tally.count_all("links without a throughput above 0, left as they are",
                    (f"{link['source']} to {link['destination']}" for link in links if not _longest_window(link) > 0))
    tally.say("that a file moves at the mean throughput of the files of its link is assumed; queued files are not part "
              "of a scenario")
    return {"grid": {"links": {"pairs": pairs}}}, [origin, *tally.remarks()]


def _longest_window(link: Mapping[str, Any]) -> float:
    """Throughput of the longest window that is known, MB/s; 0 = none is."""
    return next((link[WINDOWS[window]] for window in LONG_FIRST if WINDOWS[window] in link), 0.0)


def _links(file: JsonFile, sites: Collection[str], now: datetime | None, tally: Tally) -> Iterator[dict[str, Any]]:
    """One entry for each link between sites of the grid."""
    for key, entry in file.objects("a link").items():
        source, colon, destination = clean(key).partition(":")
        if not colon or source not in sites or destination not in sites:
            tally.count("links that are not between sites of the grid, not used", clean(key))
        elif source == destination:
            tally.count("links from a site to itself, not used", source)
        else:
            numbers = dict(_numbers(clean(key), entry, now, tally))
            yield {"source": source, "destination": destination, **numbers}


def _numbers(name: str, entry: Mapping, now: datetime | None, tally: Tally) -> Iterator[tuple[str, Any]]:
    """Keys of a snapshot with their values; everything else is counted in `tally`."""
    for part, said in entry.items():
        if part == "files" and isinstance(said, Mapping):
            yield from _queued(name, said, now, tally)
        elif part == "mbps" and isinstance(said, Mapping):
            yield from _throughput(name, said, now, tally)
        else:
            tally.count(f"parts of a link that nothing here reads: {clean(part)}", name)


def _queued(name: str, files: Mapping, now: datetime | None, tally: Tally) -> Iterator[tuple[str, int]]:
    for kind, activities in files.items():
        for activity, said in activities.items() if isinstance(activities, Mapping) else ():
            if kind != "queued" or activity not in QUEUED:
                tally.count(f"files {clean(kind)} of {clean(activity)}, which brokerage does not read", name)
            elif _is_fresh(said, now, f"{name}, {activity}", tally):
                value = _number(said, "latest", name, tally)
                if value is not None:
                    yield QUEUED[activity], int(value)


def _throughput(name: str, systems: Mapping, now: datetime | None, tally: Tally) -> Iterator[tuple[str, float]]:
    for system, said in systems.items():
        if system != SYSTEM:
            tally.count(f"throughput by {clean(system)}, of which brokerage reads that of {SYSTEM} alone", name)
        elif _is_fresh(said, now, f"{name}, {system}", tally):
            for window in said:
                if window in WINDOWS and (value := _number(said, window, name, tally)) is not None:
                    yield WINDOWS[window], value
                elif window not in (*WINDOWS, "timestamp"):
                    tally.count(f"windows of the throughput that nothing here reads: {clean(window)}", name)


def _number(said: Mapping, key: str, name: str, tally: Tally) -> float | None:
    """A number from 0 up, None (with a remark) if it is not one."""
    value = number_of(said.get(key))
    if value is None or value < 0:
        tally.count(f"values of {key} that are not numbers from 0 up, not used", f"{name}: {said.get(key)!r}")
        return None
    return value


def _is_fresh(said: object, now: datetime | None, what: str, tally: Tally) -> bool:
    """Whether an entry is an object that is not too old; one without a time stamp counts as new."""
    if not isinstance(said, Mapping):
        tally.count("entries that are not objects, not used", what)
        return False
    stamp = _stamp(said.get("timestamp"))
    if stamp is None:
        tally.count("entries without a time stamp, taken for new", what)
    elif now is not None and now - stamp > OLDEST:
        tally.count("entries more than 30 min older than the newest of the file, which PanDA does not load", what)
        return False
    return True


def _times(value: object) -> Iterator[datetime]:
    """All time stamps of a nested object."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            stamp = _stamp(inner) if key == "timestamp" else None
            if stamp is not None:
                yield stamp
            yield from _times(inner)


def _stamp(text: object) -> datetime | None:
    """A time stamp, without its zone; None if the text is not one."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None) if isinstance(text, str) else None
    except ValueError:
        return None
