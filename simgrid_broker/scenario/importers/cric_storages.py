"""DDM endpoints: storages of a CRIC dump, their owners, their status and space, and sizes that CRIC does not publish.

A size depends on name and tier alone, not on the rest of the file. Sources: formats reference, sections 1.2 and 2; WS:
workload statistics, with the section.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simgrid_broker.luck import key_of, uniforms
from simgrid_broker.scenario.grid.synthetic_grid import EXPIRED, FREE
from simgrid_broker.scenario.importers.files import (
    Fields,
    JsonFile,
    Tally,
    clean,
    number_of,
    read_json,
    refuse,
)
from simgrid_broker.schema.grid import ACTIVITIES, DATADISK, OFF
from simgrid_broker.schema.queues import VIRTUAL, QueueEndpoint

SEED = 1
"""Seed of all sizes estimated for CRIC dumps."""

RUNNING_JOBS = ((0.0, 1), (0.05, 5), (0.25, 209), (0.5, 897), (0.75, 2329), (0.95, 6622), (1.0, 45171))
"""Quantiles of running jobs per queue, 19 September 2021; source: WS 2.2 (the smallest is an assumption)."""

CORES_PER_RUNNING_JOB = 400_000 / 282_402
"""Cores in use (2020, WS 1, L3) over running jobs (2021, WS 2.2): the two are of different years."""

SLOT_CORES = 8
"""Estimated cores are multiples of a multi-core slot."""

ENDPOINT_TB = ((0.0, 1), (0.05, 8.8), (0.25, 645), (0.5, 1814), (0.75, 3170), (0.95, 14529), (1.0, 25000))
"""Quantiles of the size of a DATADISK endpoint, TB; source: WS 10.3; the ends are assumptions, the upper one such that
the mean is 283 PB / 84."""

BANDS = {"T0": (0.80, 0.99), "T1": (0.60, 0.99), "T2D": (0.25, 0.97), "T2": (0.10, 0.80), "T3": (0.02, 0.50)}
"""Lowest and highest quantile that a queue or storage of a tier can have: an assumption."""

_CORES, _SPACE = range(2)


def assumed_cores(queue: str, tier: str) -> int:
    """Cores of a queue, a multiple of `SLOT_CORES`; `tier` as CRIC spells it (T0, T1, T2D, T2, T3)."""
    jobs = _quantile(RUNNING_JOBS, _place(queue, tier, _CORES))
    return max(1, round(jobs * CORES_PER_RUNNING_JOB / SLOT_CORES)) * SLOT_CORES


def assumed_space(rse: str, tier: str) -> dict[str, float]:
    """Size, free and expired space of a DDM endpoint, bytes, three digits."""
    total = _rounded(_quantile(ENDPOINT_TB, _place(rse, tier, _SPACE)) * 1e12)
    return {"total": total, "free": _rounded(total * FREE), "expired": _rounded(total * EXPIRED)}


def assumed_nuclei(tiers: Mapping[str, str], cores: Mapping[str, int]) -> set[str]:
    """Sites of tier 0 and 1, and sites of tier T2D with at least the median cores of T2D.

    tiers, cores: of the sites that could be nuclei. Source: formats reference, section 3, which calls it an
    approximation.
    """
    t2d = [cores[site] for site, tier in tiers.items() if tier == "T2D"]
    least = np.median(t2d) if t2d else 0
    return {site for site, tier in tiers.items() if tier in ("T0", "T1") or (tier == "T2D" and cores[site] >= least)}


def _place(name: str, tier: str, question: int) -> float:
    low, high = BANDS.get(tier) or BANDS.get(tier[:2], BANDS["T2"])
    return low + (high - low) * float(uniforms(SEED, "import_draw", key_of(name), question))


def _quantile(knots: tuple[tuple[float, float], ...], at: float) -> float:
    """Value at quantile `at`, logarithmic between the published ones."""
    places, values = zip(*knots, strict=True)
    return float(np.exp(np.interp(at, places, np.log(values))))


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


READ, WRITE = "read_lan", "write_lan"
"""Roles that brokerage reads; a suffix names a scope."""

DEFAULT_SCOPE = "default"
"""Scope of a role without suffix."""

SCOPES = (DEFAULT_SCOPE, "analysis")
"""Scopes of which brokerage reads endpoints; source: brokerage reference, 0.2."""

TAPE = "TAPE"
"""End of the types of endpoints of tape."""


@dataclass(frozen=True)
class Relation:
    """That a queue of a site reads from or writes to an endpoint; order counts from 1."""

    rse: str
    queue: str
    site: str
    role: str
    scope: str
    order: int


@dataclass(frozen=True)
class Storages:
    """Endpoints as a scenario writes them, by name, and the endpoint that takes the output of each site.

    used: endpoints of each queue, as a scenario writes them, `[]` = none; empty if the dump names no endpoint at all.
    """

    described: dict[str, dict]
    default: dict[str, str]
    used: dict[str, list[dict]]

    def owns_default(self, site: str) -> bool:
        """True if the site writes to a DATADISK of its own."""
        rse = self.default.get(site)
        return rse is not None and self.described[rse]["site"] == site and self.described[rse]["type"] == DATADISK


def read_storages(objects: Mapping[str, Fields], tiers: Mapping[str, str], rses: JsonFile | None,
                  tally: Tally) -> Storages:
    """Each endpoint that a queue reads or writes, and the default endpoint of each site.

    objects: the queues; tiers: of their sites; rses: CRIC's DDM endpoints (objects) or relations (lists), or None.
    Raises InputFileError if `rses` is neither.
    """
    listed = rses is not None and _holds_lists(rses)
    relations = astorages_relations(objects) + (file_relations(rses, objects, tally) if rses and listed else [])
    unread = {each.role for each in relations} - {READ, WRITE}
    if unread:
        tally.say(f"roles of storages that brokerage does not read: {', '.join(sorted(unread))}")
    endpoints = None if rses is None or listed else {clean(name): Fields(clean(name), values, tally, "storages")
                                                     for name, values in rses.objects("a DDM endpoint").items()}
    read = (each for each in relations if each.role not in unread)
    relations = _active(dict.fromkeys(read), endpoints, tally)
    kind = {rse: _type(rse, endpoints) for rse in dict.fromkeys(each.rse for each in relations)}
    owner = _owners(relations, endpoints, tiers, tally)
    default = {site: rse for site in tiers if (rse := _default(site, relations, owner, kind))}
    described = {rse: {"site": owner[rse], **assumed_space(rse, tiers[owner[rse]]), "type": kind[rse],
                       **({"tape": True} if _is_tape(rse, kind[rse], endpoints) else {})} for rse in kind}
    used = _used(objects, relations, owner, tally) if relations else {}
    return Storages(described, default, used)


def _used(objects: Iterable[str], relations: Iterable[Relation], owner: Mapping[str, str],
          tally: Tally) -> dict[str, list[dict]]:
    """The endpoints of each queue; one with different places in the lists of a scope stands twice.

    Source: formats reference, 1.2: the first of a role and scope is its default.
    """
    found: dict[str, dict[tuple, dict]] = {name: {} for name in objects}
    for each in relations:
        if each.scope not in SCOPES:
            tally.count("scopes of storages to which no broker sends work, left out", each.scope)
            continue
        row = found[each.queue].setdefault((SCOPES.index(each.scope), each.order, each.rse), dict(
            storage=each.rse, scope=each.scope, read=False, write=False, is_local=owner[each.rse] == each.site,
            order=max(0, each.order)))
        use = "read" if each.role == READ else "write"
        row |= {use: True, f"default_{use}": each.order == 1}
    return {queue: [_shortened(rows[key]) for key in sorted(rows)] for queue, rows in found.items()}


def _shortened(row: dict) -> dict:
    """An endpoint of a queue without what is the default of the scenario."""
    return {key: value for key, value in row.items()
            if value != QueueEndpoint.model_fields[key].get_default(call_default_factory=True)}


def _is_tape(rse: str, kind: str, endpoints: Mapping[str, Fields] | None) -> bool:
    """True if an endpoint is of tape: as its own object says, else by its type."""
    said = None if endpoints is None else endpoints[rse].raw("is_tape")
    return kind.endswith(TAPE) if said is None else said is True


def astorages_relations(objects: Mapping[str, Fields]) -> list[Relation]:
    """Relations that the queues themselves list in `astorages`."""
    found = []
    for name, fields in objects.items():
        for role, names in fields.object("astorages").items():
            if not isinstance(names, list):
                fields.remark("with a role in astorages that is not a list of storages")
                continue
            rses = (clean(rse) for rse in names if isinstance(rse, str) and rse)
            found += [_relation(rse, name, fields.text("atlas_site"), role, order)
                      for order, rse in enumerate(rses, start=1)]
    return found


def file_relations(rses: JsonFile, objects: Mapping[str, Fields], tally: Tally) -> list[Relation]:
    """Relations of a file of lists, for the queues that are in the dump."""
    found, unknown = [], {}
    for rse, entries in rses.value.items():
        for entry in entries:
            queue, role, order = _entry(rses, rse, entry)
            if queue in objects:
                found.append(_relation(clean(rse), queue, objects[queue].text("atlas_site"), role, order))
            else:
                unknown[queue] = True
    tally.count_all("queues of relations of storages that are not simulated", unknown)
    return found


def _entry(rses: JsonFile, rse: str, entry: object) -> tuple[str, str, int]:
    """Queue, role and order of a relation; raises InputFileError if one of them is missing."""
    if isinstance(entry, dict):
        queue, role, order = entry.get("panda_queue"), entry.get("role"), number_of(entry.get("order"))
        if isinstance(queue, str) and isinstance(role, str) and order is not None:
            return clean(queue), clean(role), int(order)
    refuse(rses.path, rses.line(rse), rse, entry, "a relation with panda_queue, role and order was expected")


def _relation(rse: str, queue: str, site: str, role: str, order: int) -> Relation:
    """The relation of a role; a role that brokerage does not read stays as it is."""
    for known in (READ, WRITE):
        if role == known or role.startswith(known + "_"):
            return Relation(rse, queue, site, known, role[len(known) + 1:] or DEFAULT_SCOPE, order)
    return Relation(rse, queue, site, role, DEFAULT_SCOPE, order)


def _holds_lists(rses: JsonFile) -> bool:
    if not isinstance(rses.value, dict):
        refuse(rses.path, 1, "", None, "an object of DDM endpoints, or of lists of their relations, was expected")
    return bool(rses.value) and all(isinstance(value, list) for value in rses.value.values())


def _active(relations: Iterable[Relation], endpoints: Mapping[str, Fields] | None, tally: Tally) -> list[Relation]:
    """Relations to endpoints that the endpoints' file knows as ACTIVE; all of them without such a file."""
    if endpoints is None:
        return list(relations)
    gone = {}
    for relation in relations:
        if relation.rse not in endpoints:
            gone[relation.rse] = "storages that queues name and the DDM endpoints do not"
        elif endpoints[relation.rse].text("state", "ACTIVE").upper() != "ACTIVE":
            gone[relation.rse] = "storages whose state is not ACTIVE"
    for rse, what in gone.items():
        tally.count(what, rse)
    return [relation for relation in relations if relation.rse not in gone]


def _type(rse: str, endpoints: Mapping[str, Fields] | None) -> str:
    """Type of an endpoint: that of its own object, else what its name ends in."""
    said = endpoints[rse].text("type") if endpoints is not None else ""
    by_name = VIRTUAL[1:] if rse.endswith(VIRTUAL) else rse.rpartition("_")[2]
    return said or by_name


def _owners(relations: list[Relation], endpoints: Mapping[str, Fields] | None, tiers: Mapping[str, str],
            tally: Tally) -> dict[str, str]:
    """Site that owns each endpoint: as its object states, else the only site that uses it, else a guess.

    The guess: the site whose name it begins with, else of the sites that use it the one of the best tier, of these the
    one that uses fewest other endpoints, else the first by name.
    """
    uses, others = dict[str, dict[str, bool]](), dict[str, set[str]]()
    for each in relations:
        uses.setdefault(each.rse, {})[each.site] = True
        others.setdefault(each.site, set()).add(each.rse)
    owners = {}
    for rse, sites in uses.items():
        said = endpoints[rse].text("site") if endpoints is not None else ""
        if said not in tiers and (len(sites) > 1 or said):
            tally.count("storages that several sites use, or whose own site has no queues here, given to the site that "
                        "they are named after or else to one that uses them", rse)
        named = [site for site in tiers if rse.casefold().startswith((f"{site}_".casefold(), f"{site}-".casefold()))]
        guess = max(named, key=len) if named else min((tiers[site][:2], len(others[site]), site) for site in sites)[-1]
        owners[rse] = said if said in tiers else guess
    return owners


def _default(site: str, relations: list[Relation], owner: Mapping[str, str], kind: Mapping[str, str]) -> str | None:
    """Endpoint that takes the output of a site: a DATADISK before others, its own before others.

    Of several own ones the first by name, as of a nucleus, of others that which comes first for the queues.
    Source: brokerage reference, 1.2 T5.
    """
    written = [(kind[each.rse] != DATADISK, owner[each.rse] != site, each.order if owner[each.rse] != site else 0,
                each.rse) for each in relations
               if each.site == site and each.role == WRITE and each.scope == DEFAULT_SCOPE]
    return min(written)[-1] if written else None


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
    value = number_of(part.get(key), MOST_BYTES) if isinstance(part, Mapping) else None
    return None if value is None or value < 0 else value


def _unused(said: Mapping, read: Collection[str], what: str, tally: Tally) -> None:
    """Count the keys that are not read."""
    tally.count_all(what, (clean(key) for key in said if key not in read))
