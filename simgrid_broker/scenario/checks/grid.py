"""Checks between the parts of a grid: sites, queues, storages, and the capacities of links, doors and backbones; and
remarks on slips of hand: values far from what any grid has, with what was probably meant.

Ranges of the remarks are wide around what queues of CRIC have (the subset in the data, 157 queues: maxtime 2 h to 14 d,
maxrss 1.8 to 256 GB, maxwdir 5 GB to 5.1 TB, corepower 8 to 27), those of sites, links, storages and work are assumed.
"""

from collections.abc import Iterable, Iterator, Mapping
from math import log
from statistics import median
from typing import NamedTuple

from simgrid_broker.errors import first_three, nearest
from simgrid_broker.scenario.gdpconfig import in_force
from simgrid_broker.scenario.loading.origins import Finding, Key, Rules
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.schema.grid import DATADISK, OS_ES
from simgrid_broker.schema.part import LARGEST_WHOLE, MOST_CORES
from simgrid_broker.units import DAY, HOUR, MINUTE

EVENTS_ALONE = f"is an object store (type {OS_ES}), which takes events alone"
"""Expectation that an object store does not meet where data or the output of jobs lie."""


def storage_of_site(scenario: Scenario) -> Iterator[Finding]:
    """A site's `storage` exists, and is the site's own if the site has a DATADISK or is a nucleus.

    Only a site without DATADISK may send its output to another site's: one with a cache or a tape has no place for it.
    """
    storages = scenario.grid.data_storages
    for name, site in scenario.grid.sites.items():
        key = ("grid", "sites", name, "storage")
        own = [endpoint for endpoint, storage in storages.items() if storage.site == name]
        if site.storage is not None and site.storage not in storages:
            yield Finding(key, site.storage, EVENTS_ALONE if site.storage in scenario.grid.storages else
                          "unknown storage", nearest(site.storage, own or storages))
        elif site.storage is not None and site.storage not in own and (
                (has_disk := any(storages[one].type == DATADISK for one in own)) or site.nucleus):
            why = f"because the site has a {DATADISK} itself" if has_disk else "because the site is a nucleus"
            yield Finding(key, site.storage, f"must be a storage of this site, {why}", tuple(own[:3]))


def object_store_on_tape(scenario: Scenario) -> Iterator[Finding]:
    """Object stores are disks."""
    for name, storage in scenario.grid.storages.items():
        if storage.is_object_store and storage.tape:
            yield Finding(("grid", "storages", name, "tape"), True, f"an object store (type {OS_ES}) is not on tape")


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
    """Each nucleus has a storage, because it collects output; a site without a queue too may be a misspelt one."""
    with_storage = {storage.site for storage in scenario.grid.data_storages.values()}
    with_queue = {queue.atlas_site for queue in scenario.grid.queues.values()}
    for name, site in scenario.grid.sites.items():
        if site.nucleus and name not in with_storage and site.storage is None:
            yield Finding(("grid", "sites", name, "nucleus"), True,
                          "a nucleus needs a storage, and no storage has this site",
                          () if name in with_queue else nearest(name, with_storage), of_absence=True)


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


GRID_RULES: Rules = (storage_of_site, object_store_on_tape, link_to_itself, link_twice, no_queue, no_nucleus,
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


def flow_between_two(scenario: Scenario) -> Iterator[Finding]:
    """A flow has a site with a disk that sends, and another one that receives."""
    sites = scenario.grid.sites
    with_disk = {storage.site for storage in scenario.grid.data_storages.values() if not storage.tape}
    for position, flow in enumerate(scenario.grid.fts.flows):
        senders, receivers = ({site for site in with_disk if site in sites and (not tiers or sites[site].tier in tiers)}
                              for tiers in (flow.from_tiers, flow.to_tiers))
        if not senders or not receivers or senders == receivers and len(senders) == 1:
            yield Finding(("grid", "fts", "flows", position), flow.activity, "needs a site with a disk that sends, and "
                          "another one that receives, of the tiers that it names")


MOST_RULES = 100_000_000
"""Rules of a flow in one run at the most: each is a transfer, so minutes of a run go into these alone."""


def too_many_rules(scenario: Scenario) -> Iterator[Finding]:
    """A flow has no more rules than a computer can follow."""
    for position, flow in enumerate(scenario.grid.fts.flows):
        rules = flow.files_per_day / flow.files_per_rule * scenario.duration / DAY
        if rules > MOST_RULES:
            place = ("grid", "fts", "flows", position)
            yield Finding((*place, "files_per_day"), flow.files_per_day,
                          f"this makes {rules:.3g} rules; a flow may have up to {MOST_RULES:,} in a run",
                          depends_on=(("duration",), (*place, "files_per_rule")))


MOST_TROUBLES = 10_000_000
"""Troubles of a kind in one run at the most: to let each begin and end takes minutes of a run in all."""


def too_many_troubles(scenario: Scenario) -> Iterator[Finding]:
    """A kind of trouble comes no more often than a computer can follow."""
    n_sites = len(scenario.grid.sites)
    for position, trouble in enumerate(scenario.grid.links.troubles):
        places = n_sites if trouble.of == "sites" else n_sites * (n_sites - 1)
        number = places * scenario.duration / (trouble.every + trouble.lasts)
        if number > MOST_TROUBLES:
            place = ("grid", "links", "troubles", position)
            yield Finding((*place, "every"), trouble.every,
                          f"this makes {number:.3g} troubles; a kind may have up to {MOST_TROUBLES:,} in a run",
                          depends_on=(("duration",), (*place, "lasts"), (*place, "of")))


NETWORK_RULES: Rules = (link_wider_than_door, endpoint_wider_than_site, backbone_without_border, capacity_of_what,
                        flow_between_two, too_many_rules, too_many_troubles)


TIMES = ("h", HOUR), ("min", MINUTE), ("d", DAY)
MEMORY = ("GB", 1e3), ("TB", 1e6), ("bytes", 1e-6)
SIZES = ("MB", 1e6), ("GB", 1e9), ("TB", 1e12), ("PB", 1e15)
RATES = ("MB/s", 1e6), ("Gb/s", 1.25e8), ("GB/s", 1e9)


class Usual(NamedTuple):
    """The usual range of a value, 0 apart: of a kind of thing, its key, smallest and largest in a unit, the range in
    words, and units that may have been meant, each with its size.
    """

    kind: str
    key: str
    least: float
    most: float
    unit: str
    says: str
    units: tuple[tuple[str, float], ...] = ()


USUAL = (
    Usual("queue", "maxtime", 15 * MINUTE, 60 * DAY, "s", "queues of CRIC have 2 h to 14 d", TIMES),
    Usual("queue", "mintime", MINUTE, 30 * DAY, "s", "queues of CRIC have 1 h", TIMES),
    Usual("queue", "maxrss", 500, 4e6, "MB", "queues of CRIC have 1.8 to 256 GB", MEMORY),
    Usual("queue", "meanrss", 100, 1e5, "MB", "queues of CRIC have 1 to 10 GB", MEMORY),
    Usual("queue", "maxwdir", 1e3, 5e7, "MB", "queues of CRIC have 5 GB to 5.1 TB", MEMORY),
    Usual("queue", "corepower", 1, 200, "HS06", "queues of CRIC have 8 to 27"),
    Usual("site", "memory_per_core", 200, 2e5, "MB", "sites have some GB", MEMORY),
    Usual("site", "stage_in_rate", 1e4, 1e11, "bytes/s", "jobs read some MB/s", RATES),
    Usual("site", "door_in", 1e5, 1e13, "bytes/s", "doors have some Gb/s", RATES[1:]),
    Usual("site", "door_out", 1e5, 1e13, "bytes/s", "doors have some Gb/s", RATES[1:]),
    Usual("storage", "total", 1e9, 1e19, "bytes", "storages have TB to PB", SIZES[2:]),
    Usual("storage", "free", 1e9, 1e19, "bytes", "storages have TB to PB", SIZES[2:]),
    Usual("stream", "memory_per_core", 10, 2e5, "MB", "jobs take 0.1 to 10 GB a core", MEMORY),
    Usual("stream", "ramcount", 10, 4e6, "MB", "jobs take 0.1 to 10 GB a core", MEMORY),
    Usual("stream", "input_per_job", 1e3, 1e14, "bytes", "jobs read MB to TB", SIZES[:3]),
    Usual("stream", "output_per_job", 1e3, 1e14, "bytes", "jobs write MB to TB", SIZES[:3]),
    Usual("stream", "workDirSize", 1, 5e7, "MB", "jobs take MB to TB", MEMORY),
    Usual("links", "bandwidth", 1e5, 1e13, "bytes/s", "links have some Gb/s", RATES[1:]),
    Usual("scenario", "duration", MINUTE, 36_600 * DAY, "s", "runs last hours to years", TIMES),
    Usual("scenario", "warm_up", MINUTE, 36_600 * DAY, "s", "warm-ups last hours to days", TIMES),
)
MOST_LOAD = 10.0
"""Offered cores, relative to those of all batch systems, that no scenario needs: a few times keep them busy."""


def unusual_values(scenario: Scenario) -> Iterator[str]:
    """Values far from what any grid has, equal ones of several things in one sentence."""
    for usual in USUAL:
        values = dict(_values(scenario, usual))
        odd: dict[float, list[str]] = {}
        for name, value in values.items():
            if value and not usual.least <= value <= usual.most:
                odd.setdefault(value, []).append(name)
        others = [value for value in values.values() if usual.least <= value <= usual.most]
        for value, names in odd.items():
            meant = probably(value, usual, others)
            yield (f"{usual.key} of {first_three(names)} is {value:.15g} {usual.unit}; {usual.says}."
                   + (f" {value:.15g} {meant} was probably meant." if meant else ""))


def probably(value: float, usual: Usual, others: Iterable[float]) -> str:
    """The unit in which a value is usual, the one that makes it most like others if there are any; empty if none."""
    fits = [(word, value * size) for word, size in usual.units if usual.least <= value * size <= usual.most]
    if not fits:
        return ""
    typical = [other for other in others if other > 0]
    if not typical:
        return fits[0][0]
    return min(fits, key=lambda fit: abs(log(fit[1] / median(typical))))[0]


def _values(scenario: Scenario, usual: Usual) -> Iterator[tuple[str, float]]:
    """Things of a kind in words, with their value, the median of one that is drawn."""
    for name, thing in _things(scenario, usual.kind):
        value = getattr(thing, usual.key)
        value = getattr(value, "median", value)
        if isinstance(value, int | float):
            yield name, float(value)


def _things(scenario: Scenario, kind: str) -> Iterator[tuple[str, object]]:
    grid = scenario.grid
    if kind == "scenario":
        yield "the run", scenario
    elif kind == "links":
        yield "links", grid.links.default
    elif kind == "stream":
        yield from ((repr(stream.name), stream) for stream in scenario.workload.streams)
    else:
        named: dict[str, Mapping[str, object]] = {"queue": grid.queues, "site": grid.sites, "storage": grid.storages}
        yield from ((f"{kind} {name!r}", thing) for name, thing in named[kind].items())


def more_work_than_cores(scenario: Scenario) -> Iterator[str]:
    """Streams that ask for many times the cores of all batch systems."""
    cores = sum(cores_by_key(scenario).values())
    for stream in scenario.workload.streams:
        offered = stream.offered_cores or 0.0
        if cores and offered > MOST_LOAD * cores:
            meant = f" {offered / 1000:g} was probably meant." if offered / 1000 <= MOST_LOAD * cores else ""
            yield (f"offered_cores of {stream.name!r}, {offered:,.15g}, is {offered / cores:,.0f} times the {cores:,} "
                   f"cores of all batch systems, so that most of this work never starts.{meant}")


def no_jobs_made(scenario: Scenario) -> Iterator[str]:
    """A key that switches job generation off, and that no incident switches on."""
    if in_force(scenario)["jobgen", "JOB_SUBMISSION"] is False and not any(
            incident.what == "gdpconfig" and str(incident.key).endswith("JOB_SUBMISSION")
            for incident in scenario.incidents):
        yield ("gdpconfig.JOB_SUBMISSION is false, so that no jobs are made of tasks in the whole run; its default is "
               "true.")
