"""Checks between the parts of a grid: sites, queues, storages, and the capacities of links, doors and backbones."""

from collections.abc import Iterator

from simgrid_broker.errors import nearest
from simgrid_broker.scenario.loading.origins import Finding, Key, Rules
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.schema.grid import DATADISK
from simgrid_broker.schema.part import LARGEST_WHOLE, MOST_CORES


def storage_of_site(scenario: Scenario) -> Iterator[Finding]:
    """A site's `storage` exists, and is the site's own if the site has a DATADISK or is a nucleus.

    Only a site without DATADISK may send its output to another site's: one with a cache or a tape has no place for it.
    """
    storages = scenario.grid.storages
    for name, site in scenario.grid.sites.items():
        key = ("grid", "sites", name, "storage")
        own = [endpoint for endpoint, storage in storages.items() if storage.site == name]
        if site.storage is not None and site.storage not in storages:
            yield Finding(key, site.storage, "unknown storage", nearest(site.storage, own or storages))
        elif site.storage is not None and site.storage not in own and (
                (has_disk := any(storages[one].type == DATADISK for one in own)) or site.nucleus):
            why = f"because the site has a {DATADISK} itself" if has_disk else "because the site is a nucleus"
            yield Finding(key, site.storage, f"must be a storage of this site, {why}", tuple(own[:3]))


def link_to_itself(scenario: Scenario) -> Iterator[Finding]:
    """The two ends of a link are different."""
    for position, pair in enumerate(scenario.grid.links.pairs):
        if pair.source == pair.destination:
            yield Finding(("grid", "links", "pairs", position, "destination"), pair.destination,
                          "must be another site than the source")


def link_twice(scenario: Scenario) -> Iterator[Finding]:
    """Each pair of sites is described once."""
    seen = set()
    for position, pair in enumerate(scenario.grid.links.pairs):
        ends = pair.source, pair.destination
        if ends in seen:
            yield Finding(("grid", "links", "pairs", position), " -> ".join(ends), "is described a second time")
        seen.add(ends)


def too_much_space(scenario: Scenario) -> Iterator[Finding]:
    """The parts of a storage do not exceed it."""
    for name, storage in scenario.grid.storages.items():
        if storage.free > storage.total:
            yield Finding(("grid", "storages", name, "free"), storage.free,
                          f"must not exceed total, {storage.total:.15g} bytes")
        elif storage.total - storage.free - storage.expired < 0:            # as the tables count what is used
            yield Finding(("grid", "storages", name, "expired"), storage.expired,
                          f"together with free must not exceed total, {storage.total:.15g} bytes")
        for key in ("min_free", "unavailable"):
            if getattr(storage, key) > storage.total:
                yield Finding(("grid", "storages", name, key), getattr(storage, key),
                              f"must not exceed total, {storage.total:.15g} bytes")


def no_queue(scenario: Scenario) -> Iterator[Finding]:
    """There is a queue."""
    if not scenario.grid.queues:
        yield Finding(("grid", "queues"), None, "at least one queue is needed", of_absence=True)


def no_nucleus(scenario: Scenario) -> Iterator[Finding]:
    """There is a nucleus."""
    if not any(site.nucleus for site in scenario.grid.sites.values()):
        yield Finding(("grid", "sites"), None, "at least one site needs `nucleus: true`", of_absence=True)


def nucleus_without_storage(scenario: Scenario) -> Iterator[Finding]:
    """Each nucleus has a storage, because it collects output."""
    with_storage = {storage.site for storage in scenario.grid.storages.values()}
    for name, site in scenario.grid.sites.items():
        if site.nucleus and name not in with_storage and site.storage is None:
            yield Finding(("grid", "sites", name, "nucleus"), True,
                          "a nucleus needs a storage, and no storage has this site", of_absence=True)


def queue_without_cores(scenario: Scenario) -> Iterator[Finding]:
    """A queue has cores of its own or of its site."""
    for name, queue in scenario.grid.queues.items():
        site = scenario.grid.sites.get(queue.atlas_site)
        if queue.cores is None and site is not None and site.cores is None:
            yield Finding(("grid", "queues", name), None, f"neither the queue nor its site {queue.atlas_site} says how "
                          "many `cores` there are", of_absence=True,
                          depends_on=(("grid", "sites", queue.atlas_site, "cores"), ("grid", "queues", name, "cores")))


def slot_too_large(scenario: Scenario) -> Iterator[Finding]:
    """A slot of a queue fits its batch system: a worker that never fits would hold back all others for ever."""
    for name, queue in scenario.grid.queues.items():
        site = scenario.grid.sites.get(queue.atlas_site)
        cores = queue.cores if queue.cores is not None else site.cores if site is not None else None
        if cores and cores < queue.corecount:
            yield Finding(("grid", "queues", name, "corecount"), queue.corecount,
                          f"must not exceed the {cores} cores of the batch system")


def slot_too_powerful(scenario: Scenario) -> Iterator[Finding]:
    """The power of a slot can be counted in thousandths of HS06."""
    for name, queue in scenario.grid.queues.items():
        most = LARGEST_WHOLE // 1000 / max(queue.corecount, 1)
        if queue.corepower > most:
            yield Finding(("grid", "queues", name, "corepower"), queue.corepower,
                          f"a slot of {max(queue.corecount, 1)} core(s) may have up to {most:.6g} HS06 per core")


def cores_by_key(scenario: Scenario) -> dict[Key, int]:
    """Cores of each batch system, of a queue or a site, by the key that sets them."""
    sites, cores = scenario.grid.sites, dict[Key, int]()
    for name, queue in scenario.grid.queues.items():
        if queue.cores is not None:
            cores["grid", "queues", name, "cores"] = queue.cores
        elif queue.atlas_site in sites:
            cores["grid", "sites", queue.atlas_site, "cores"] = sites[queue.atlas_site].cores or 0
    return cores


def too_many_cores(scenario: Scenario) -> Iterator[Finding]:
    """The jobs that run at once fit into the memory of a computer."""
    cores = cores_by_key(scenario)
    if sum(cores.values()) > MOST_CORES:
        largest = max(cores, key=cores.__getitem__)
        yield Finding(largest, cores[largest],
                      f"all batch systems together may have up to {MOST_CORES:,} cores, not {sum(cores.values()):,}")


GRID_RULES: Rules = (storage_of_site, link_to_itself, link_twice, no_queue, no_nucleus,
                     nucleus_without_storage, queue_without_cores, slot_too_large, slot_too_powerful, too_many_cores)


def link_wider_than_door(scenario: Scenario) -> Iterator[Finding]:
    """A single link has no more than the doors at its ends let through."""
    sites = scenario.grid.sites
    for position, pair in enumerate(scenario.grid.links.pairs):
        for name, way in ((pair.source, "door_out"), (pair.destination, "door_in")):
            door = getattr(sites.get(name), way, None)
            if pair.bandwidth is not None and door is not None and pair.bandwidth > door:
                yield Finding(("grid", "links", "pairs", position, "bandwidth"), pair.bandwidth,
                              f"must not exceed {way} of {name}, {door:.15g} bytes/s")


def endpoint_wider_than_site(scenario: Scenario) -> Iterator[Finding]:
    """The door of an endpoint lets no more through than that of its site."""
    for name, storage in scenario.grid.storages.items():
        for way in ("door_out", "door_in"):
            door, of_site = getattr(storage, way), getattr(scenario.grid.sites.get(storage.site), way, None)
            if door is not None and of_site is not None and door > of_site:
                yield Finding(("grid", "storages", name, way), door,
                              f"must not exceed that of its site {storage.site}, {of_site:.15g} bytes/s")


def backbone_without_border(scenario: Scenario) -> Iterator[Finding]:
    """The group of sites of a backbone is neither empty nor the whole grid."""
    sites = scenario.grid.sites
    for name, backbone in scenario.grid.links.backbones.items():
        key = ("grid", "links", "backbones", name)
        inside = [site for site, said in sites.items() if site in backbone.sites or said.region in backbone.regions]
        if not (backbone.sites or backbone.regions):
            yield Finding(key, None, "needs `sites` or `regions`, whose links to all others share it")
        elif len(inside) == len(sites):
            yield Finding(key, None, "has all sites in its group, so that no link crosses its border")


def capacity_of_what(scenario: Scenario) -> Iterator[Finding]:
    """A change of capacity is about a site, about a link with both ends, or about a backbone."""
    for position, incident in enumerate(scenario.incidents):
        said = [name for name in ("site", "source", "destination", "backbone") if getattr(incident, name) is not None]
        if incident.what == "network_capacity" and said not in (["site"], ["source", "destination"], ["backbone"]):
            yield Finding(("incidents", position), None, "network_capacity needs either `site`, or `source` and "
                          "`destination`, or `backbone`")


NETWORK_RULES: Rules = (link_wider_than_door, endpoint_wider_than_site, backbone_without_border, capacity_of_what)
