"""Reads status (CRIC) and space (Rucio) of DDM endpoints; sources: formats reference, sections 2.2 and 2.3."""

from collections.abc import Collection, Mapping
from numbers import Real
from pathlib import Path
from typing import Any

from simgrid_broker.scenario.importers.cric_values import clean
from simgrid_broker.scenario.importers.input_files import Tally, read_json
from simgrid_broker.scenario.importers.text_tables import finite_number
from simgrid_broker.schema.grid import ACTIVITIES, OFF

PARTS = {"expired": "expired", "min_free_space": "min_free", "unavailable": "unavailable"}
"""Parts of Rucio's usage of an endpoint to the keys of a scenario; each has its bytes under `used`."""
STORAGE = "storage"
MOST_BYTES = 1e21
"""Numbers of bytes beyond this are taken to be mistakes."""


def read_endpoints(storages: Collection[str], status: Path | None = None,
                   space: Path | None = None) -> tuple[dict, list[str]]:
    """Status and space of the storages of a grid as the part `grid.storages`, and remarks on what is not used.

    status: CRIC's ddmendpointstatus; space: Rucio's dump of the usage of RSEs; both JSON. Raises InputFileError for a
    file of another form.
    """
    tally, found = Tally(), dict[str, dict[str, Any]]()
    for path, read in ((status, _activities), (space, _sizes)):
        if path is None:
            continue
        file = read_json(path)
        tally.count_all(f"names that occur twice in {path.name}, of which the last counts", file.repeated)
        for key, entry in file.objects("a DDM endpoint").items():
            name = clean(key)
            if name in storages:
                found.setdefault(name, {}).update(read(name, entry, tally))
            else:
                tally.count(f"endpoints of {path.name} that are no storages of the grid, not used", name)
        tally.count_all(f"storages of the grid that {path.name} does not name, left as they are",
                        (name for name in storages if name not in map(clean, file.value)))
    names = " and ".join(path.name for path in (status, space) if path is not None)
    parts = {name: said for name, said in found.items() if said}
    return {"grid": {"storages": parts}}, [f"status and space of {len(parts)} storages from {names}", *tally.remarks()]


def _activities(name: str, entry: Mapping, tally: Tally) -> dict[str, Any]:
    """Status of each activity of an endpoint; only OFF and TEST exclude, and an unknown word lets pass like ON."""
    found = {}
    for activity, said in entry.items():
        if activity not in ACTIVITIES:
            tally.count(f"status of {clean(activity)}, which nothing here reads", name)
            continue
        said = said if isinstance(said, Mapping) else {}
        status = said.get("status")
        status = status if isinstance(status, Mapping) else {}
        value = status.get("value")
        if not isinstance(value, str):
            tally.count("activities of endpoints without a status, left as they are", f"{name} {activity}")
            continue
        _unused(said, ("status",), "fields of a status that PanDA does not read either", tally)
        _unused(status, ("value",), "fields of a status that PanDA does not read either", tally)
        if value.upper() not in OFF:
            tally.count("words of a status that are not known, read as ON", f"{name} {activity}: {value}")
        found[activity] = value.upper() if value.upper() in OFF else "ON"
    return found


def _sizes(name: str, entry: Mapping, tally: Tally) -> dict[str, Any]:
    """Size, free space and its parts, bytes; nothing unless used and free are known, and the parts fit into them."""
    storage = entry.get(STORAGE)
    used, free = (_bytes(storage, key) for key in ("used", "free"))
    _unused(entry, (STORAGE, *PARTS), "parts of the space of endpoints that nothing here reads", tally)
    if isinstance(storage, Mapping):
        _unused(storage, ("used", "free"), "fields of the storage of endpoints that nothing here reads", tally)
    if used is None or free is None or used + free <= 0:
        tally.count("endpoints without used and free space, left as they are", name)
        return {}
    parts = {}
    for part, key in PARTS.items():
        size = _bytes(entry.get(part), "used")
        if size is None:
            tally.count(f"endpoints without {part}, read as 0", name)
        parts[key] = size or 0.0
    if parts["expired"] > used:
        tally.count("endpoints with more expired than used data, left as they are", name)
        return {}
    return {"total": used + free, "free": free, **parts}


def _bytes(part: object, key: str) -> float | None:
    """A number of bytes of a part of the space, None if it is missing, no number or negative."""
    value = part.get(key) if isinstance(part, Mapping) else None
    if isinstance(value, str):
        value = finite_number(value.strip())
    if not isinstance(value, Real) or isinstance(value, bool):
        return None
    return float(value) if 0 <= float(value) <= MOST_BYTES else None


def _unused(said: Mapping, read: Collection[str], what: str, tally: Tally) -> None:
    """Count the keys that are not read."""
    tally.count_all(what, (clean(key) for key in said if key not in read))
