"""Storages of a CRIC dump: the DDM endpoints of queues, their sites, and where a site writes.

No CRIC file holds sizes (`assumed_sizes`). Sources: formats reference, sections 1.2 and 2.1.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from simgrid_broker.scenario.importers.assumed_sizes import assumed_space
from simgrid_broker.scenario.importers.cric_values import Fields, clean, number_of
from simgrid_broker.scenario.importers.input_files import JsonFile, Tally, refuse

READ, WRITE = "read_lan", "write_lan"
"""Roles that brokerage reads; a suffix names a scope."""

DEFAULT_SCOPE = "default"
"""Scope of a role without suffix."""

DATADISK = "DATADISK"
"""Type of the endpoints that production brokerage considers; source: brokerage reference, section 2.5."""

CACHE_SUFFIX = "_VP_DISK"
"""Suffix of endpoints for virtual placement."""


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
    """Endpoints as a scenario writes them, by name, and the endpoint that takes the output of each site."""

    described: dict[str, dict]
    default: dict[str, str]

    def owns_default(self, site: str) -> bool:
        """Whether the site writes to a DATADISK of its own."""
        rse = self.default.get(site)
        return rse is not None and self.described[rse]["site"] == site and self.described[rse]["type"] == DATADISK


def read_storages(objects: Mapping[str, Fields], tiers: Mapping[str, str], rses: JsonFile | None,
                  tally: Tally) -> Storages:
    """The endpoints that matter: each DATADISK that queues use, and the default endpoint of each site.

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
    kept = [rse for rse in kind if kind[rse] == DATADISK or rse in default.values()]
    tally.count_all("storages left out because no rule of the simulation reads endpoints of their type",
                    (rse for rse in kind if rse not in kept))
    described = {rse: {"site": owner[rse], **assumed_space(rse, tiers[owner[rse]]), "type": kind[rse]} for rse in kept}
    return Storages(described, default)


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
    by_name = CACHE_SUFFIX[1:] if rse.endswith(CACHE_SUFFIX) else rse.rpartition("_")[2]
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
    """Endpoint that takes the output of a site: a DATADISK before others, its own before others, then by order."""
    written = [(kind[each.rse] != DATADISK, owner[each.rse] != site, each.order, each.rse) for each in relations
               if each.site == site and each.role == WRITE and each.scope == DEFAULT_SCOPE]
    return min(written)[-1] if written else None
