"""Checks of the capacities of links, doors and backbones."""

from collections.abc import Iterator

from simgrid_broker.errors import nearest
from simgrid_broker.scenario.locate import Finding, Rules
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.schema.grid import Attachment, LinkDefaults


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


def fewest_files_above_most(scenario: Scenario) -> Iterator[Finding]:
    """Where both limits of active files are given in one place, the lower is not above the upper."""
    links = scenario.grid.links
    places: list[tuple[tuple, LinkDefaults | Attachment]] = [(("default",), links.default)]
    places += [(("by_tier", tier), ends) for tier, ends in links.by_tier.items()]
    places += [(("by_site", site), ends) for site, ends in links.by_site.items()]
    places += [(("pairs", position), pair) for position, pair in enumerate(links.pairs)]
    for place, said in places:
        least, most = said.min_active_files, said.max_active_files
        if least is not None and most is not None and least > most:
            yield Finding(("grid", "links", *place, "min_active_files"), least,
                          f"must not exceed max_active_files, {most}")


def backbone_without_border(scenario: Scenario) -> Iterator[Finding]:
    """The group of sites of a backbone is neither empty nor the whole grid, and its regions exist."""
    sites = scenario.grid.sites
    known = sorted({site.region for site in sites.values()} - {""})
    for name, backbone in scenario.grid.links.backbones.items():
        key = ("grid", "links", "backbones", name)
        for position, region in enumerate(backbone.regions):
            if region not in known:
                yield Finding((*key, "regions", position), region, "no site has this region", nearest(region, known))
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


NETWORK_RULES: Rules = (link_wider_than_door, endpoint_wider_than_site, fewest_files_above_most,
                        backbone_without_border, capacity_of_what)
