"""Network: capacities of doors and backbones, times of disturbances, files that move for no job,
and the data that brokers have of links.

A gate is a door of a site or endpoint, or a direction of a backbone, that has a capacity. Queued files are as old as
the job statistics, averages as old as the last reading of the throughput. The throughput of a link is the mean over
files of size over duration of the transfer, as FTS reports it; source: PanDA brokerage documentation, Network Weight;
brokerage reference, section 7; formats reference, section 5.
"""

import heapq
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from simgrid_broker import views
from simgrid_broker.compiled import compiled
from simgrid_broker.luck import key_of, keys, uniforms
from simgrid_broker.names import Activity
from simgrid_broker.scenario.model import Grid, Scenario
from simgrid_broker.schema.grid import LINKS, Flow, Trouble
from simgrid_broker.units import DAY, HOUR, MB, WEEK
from simgrid_broker.world.arrays import GATE, Arrays

OUT, IN = "out", "in"
WINDOWS = {"mbps_hour": HOUR, "mbps_day": DAY, "mbps_week": WEEK}
"""Column of `views.LINK` to the length of its window, s; source: PanDA brokerage documentation, Network Weight."""


def capacities(grid: Grid) -> dict[tuple[str, str, str], float]:
    """Capacity of every gate, bytes/s, by kind (`site`, `storage`, `backbone`), name and direction (OUT, IN)."""
    by_gate: dict[tuple[str, str, str], float] = {}
    for kind, things in (("site", grid.sites), ("storage", grid.storages)):
        for name, thing in things.items():
            by_gate |= {(kind, name, way): capacity for way, capacity in ((OUT, thing.door_out), (IN, thing.door_in))
                      if capacity is not None}
    for name, backbone in grid.links.backbones.items():
        by_gate |= {("backbone", name, way): backbone.capacity for way in (OUT, IN)}
    return by_gate


def group_of(grid: Grid, name: str) -> tuple[str, ...]:
    """Sites on the inner side of a backbone, in the order of the grid."""
    backbone = grid.links.backbones[name]
    return tuple(site for site, said in grid.sites.items()
                 if site in backbone.sites or said.region in backbone.regions)


def gate_tables(grid: Grid, storage_of_site: np.ndarray) -> dict[str, np.ndarray]:
    """The arrays `gates` and `link_gates`; storage_of_site: (n_sites,), the one that takes output, -1 = none."""
    by_gate = capacities(grid)
    gates = np.zeros(len(by_gate), GATE)
    gates["nominal"] = gates["capacity"] = gates["free"] = list(by_gate.values())
    number = {key: place for place, key in enumerate(by_gate)}
    n_sites = len(grid.sites)
    layers = [np.broadcast_to(way, (n_sites, n_sites)) for way in _doors(grid, number, storage_of_site)]
    layers += [_border(grid, number, name) for name in grid.links.backbones]
    return dict(gates=gates, link_gates=_packed(layers, n_sites))


def _doors(grid: Grid, number: dict[tuple[str, str, str], int], storage_of_site: np.ndarray) -> Iterator[np.ndarray]:
    """Doors of sites and of their storages: gates by source, (n_sites, 1), and by destination, (n_sites,)."""
    for way in (OUT, IN):
        of_site = np.array([number.get(("site", name, way), -1) for name in grid.sites], np.int32)
        of_storage = np.array([*(number.get(("storage", name, way), -1) for name in grid.storages), -1], np.int32)
        for gates in (of_site, of_storage[storage_of_site]):
            yield gates[:, None] if way == OUT else gates


def _border(grid: Grid, number: dict[tuple[str, str, str], int], name: str) -> np.ndarray:
    """Gate of a backbone that each link crosses, (n_sites, n_sites), -1 = none."""
    group = group_of(grid, name)
    inside = np.array([site in group for site in grid.sites])
    layer = np.full((len(inside), len(inside)), -1, np.int32)
    layer[np.ix_(inside, ~inside)] = number["backbone", name, OUT]
    layer[np.ix_(~inside, inside)] = number["backbone", name, IN]
    return layer


def _packed(layers: list[np.ndarray], n_sites: int) -> np.ndarray:
    """Gates of each link from the left on, (n_links, w), w the most that any crosses, at least 1."""
    crossed = np.stack([layer.ravel() for layer in layers], axis=1)
    crossed[::n_sites + 1] = -1                            # a site is not linked to itself
    there = crossed >= 0
    width = max(int(there.sum(axis=1).max(initial=0)), 1)
    order = np.argsort(~there, axis=1, kind="stable")[:, :width]
    return np.ascontiguousarray(np.take_along_axis(crossed, order, axis=1))


class Capacities:
    """Capacities in force: what the scenario gives to links and gates, times the factors of what goes on now."""

    def __init__(self, grid: Grid, links: np.ndarray, gates: np.ndarray):
        self.bandwidth, self.nominal = links["bandwidth"].copy(), gates["nominal"].copy()
        self.number = {key: place for place, key in enumerate(capacities(grid))}
        self.sites = tuple(grid.sites)
        self.factors: dict[object, tuple[list[int], list[int], float]] = {}
        self.background = 0.0

    def of_site(self, name: str) -> tuple[list[int], list[int]]:
        """Links of a site, and its doors."""
        site, n = self.sites.index(name), len(self.sites)
        links = [k for other in range(n) for k in (site * n + other, other * n + site) if other != site]
        return links, [self.number[key] for way in (OUT, IN) if (key := ("site", name, way)) in self.number]

    def of_link(self, source: str, destination: str) -> tuple[list[int], list[int]]:
        """A link, which has no gate of its own."""
        return [self.sites.index(source) * len(self.sites) + self.sites.index(destination)], []

    def of_backbone(self, name: str) -> tuple[list[int], list[int]]:
        """The gates of a backbone."""
        return [], [self.number["backbone", name, way] for way in (OUT, IN)]

    def put_in_force(self, links: np.ndarray, gates: np.ndarray) -> None:
        """Write the capacities of links and gates; rates follow when the gates are shared."""
        links["bandwidth"] = self.bandwidth
        for numbers, _, factor in self.factors.values():
            links["bandwidth"][numbers] *= factor
        self.put_gates_in_force(gates)

    def put_gates_in_force(self, gates: np.ndarray) -> None:
        """Write the capacities of gates, which alone depend on `background`."""
        gates["capacity"] = self.nominal * (1 - self.background)
        for _, crossed, factor in self.factors.values():
            gates["capacity"][crossed] *= factor


class Moment(NamedTuple):
    """Begin or end of a trouble: time, s; its cause (kind, names, number); whether it begins; what is left.

    names: the site, or source and destination of the link.
    """

    at: float
    cause: tuple[int, tuple[str, ...], int]
    begins: bool
    factor: float


def troubles(scenario: Scenario) -> Iterator[Moment]:
    """All troubles of a run, in order of time; each kind comes to each site, or link, as an alternating process."""
    return heapq.merge(*(_of(scenario, kind, trouble, names) for kind, trouble in enumerate(
        scenario.grid.links.troubles) for names in _befallen(scenario, trouble)))


def _befallen(scenario: Scenario, trouble: Trouble) -> Iterator[tuple[str, ...]]:
    """Names of the sites, or ends of the links, that have a kind of trouble."""
    for site in scenario.grid.sites:
        if trouble.of == "sites":
            yield (site,)
            continue
        yield from ((site, other) for other in scenario.grid.sites if other != site)


def _of(scenario: Scenario, kind: int, trouble: Trouble, names: tuple[str, ...]) -> Iterator[Moment]:
    """One kind of trouble at one site or link: exponential times without and with it, keyed by their number."""
    now, number, key = 0.0, 0, key_of("\n".join(names))
    while True:
        luck = uniforms(scenario.seed, "network_trouble", key, kind, np.array([2 * number, 2 * number + 1]))
        begin = now - trouble.every * float(np.log(luck[0]))
        if begin >= scenario.duration:
            return
        now = begin - trouble.lasts * float(np.log(luck[1]))
        yield Moment(begin, (kind, names, number), True, trouble.factor)
        if now < scenario.duration:
            yield Moment(now, (kind, names, number), False, trouble.factor)
        number += 1


class Rule(NamedTuple):
    """Files that are moved for no job, by a rule of Rucio: time, s; activity, sites; bytes and number.

    luck: key of the random draws of the transfer.
    """

    at: float
    activity: int
    source: int
    destination: int
    luck: int
    size: float
    files: int


def rules_of(scenario: Scenario) -> Iterator[Rule]:
    """All rules of flows, in order of time."""
    return heapq.merge(*(_of_flow(scenario, place, flow) for place, flow in enumerate(scenario.grid.fts.flows)))


RULES_AT_ONCE = 1024
"""Rules of a flow that are drawn together."""


def _of_flow(scenario: Scenario, place: int, flow: Flow) -> Iterator[Rule]:
    """Rules of a flow, a Poisson process, keyed by their numbers; sites are drawn by the bytes of their disks."""
    key, activity = key_of(f"{flow.activity}/{place}"), int(Activity.of(flow.activity))
    senders, receivers = _disks(scenario, flow.from_tiers), _disks(scenario, flow.to_tiers)
    mean_s, now, first = DAY * flow.files_per_rule / flow.files_per_day, 0.0, 0
    while now < scenario.duration:
        numbers = first + np.arange(RULES_AT_ONCE)
        gap, of_source, of_destination = uniforms(scenario.seed, "flow_draw", key, numbers[:, None], np.arange(3)).T
        times, luck = now - mean_s * np.cumsum(np.log(gap)), keys(key, numbers)
        sources = np.searchsorted(np.cumsum(senders), of_source * senders.sum(), side="right")
        destinations = _others(receivers, sources, of_destination)
        for at, source, destination, own in zip(times.tolist(), sources.tolist(), destinations.tolist(), luck,
                                                strict=True):
            if at >= scenario.duration:
                return
            yield Rule(at, activity, source, destination, own, flow.file_size * flow.files_per_rule,
                       flow.files_per_rule)
        now, first = float(times[-1]), first + RULES_AT_ONCE


def _disks(scenario: Scenario, tiers: tuple[int, ...]) -> np.ndarray:
    """Bytes of the disks of each site, (n_sites,); 0 at sites of other tiers, no tiers = all."""
    grid = scenario.grid
    size = {site: 0.0 for site in grid.sites}
    for storage in grid.data_storages.values():
        size[storage.site] += storage.total * (not storage.tape) * (not tiers or grid.sites[storage.site].tier in tiers)
    return np.array([*size.values()])


def _others(weights: np.ndarray, sources: np.ndarray, luck: np.ndarray) -> np.ndarray:
    """A site drawn by weight for each source, which is not the source itself, (n,)."""
    ends, own = np.cumsum(weights), weights[sources]
    at = luck * (ends[-1] - own)
    return np.searchsorted(ends, at + np.where(at >= ends[sources] - own, own, 0.0), side="right")


class Reading(NamedTuple):
    """Counters at one time of the links that moved files since the previous reading, (k,) each."""

    taken_at: float
    links: np.ndarray
    files: np.ndarray
    rates: np.ndarray


class Window:
    """The counters of all links at the start of a window of `length_s` seconds.

    files: (n_links,) delivered; rates: (n_links,) sum of their mean rates, bytes/s; n_readings: readings included.
    """

    def __init__(self, length_s: float, n_links: int):
        self.length_s = length_s
        self.files, self.rates = np.zeros(n_links, np.int64), np.zeros(n_links)
        self.n_readings = 0

    def take(self, reading: Reading) -> None:
        """Advance the counters to the next reading."""
        self.files[reading.links], self.rates[reading.links] = reading.files, reading.rates
        self.n_readings += 1


@compiled
def copy_queues(links, table, mapped, nuclei, numbers):
    """Copy the files that wait on some links to table[destination, source], if the source is `mapped`.

    numbers: of the links; nuclei: whether a destination is one, others are left out. A link with files is known from
    then on.
    """
    n = len(mapped)
    for number in numbers:
        source, destination = number // n, number % n
        if mapped[source] and nuclei[destination]:
            link, row = links[number], table[destination, source]
            row["queued_files"] = link["queued_output"]
            row["queued_express"] = link["queued_express"]
            if link["queued_output"] > 0 or link["queued_express"] > 0:
                row["known"] = True


class NetworkMetrics:
    """Records of all links, as `views.LINK`.

    table: (n_sites + 1, n_sites), [destination, source]; the last row, without a destination, is unknown. What brokers
    make of them for a nucleus, until they change: ways, (n_sites + 1, n_queues); waiting, (n_sites + 1, 2) files of all
    sites that wait for it, without and of express tasks; ways_known: (n_sites + 1,) whether that was done; version:
    grows whenever they are forgotten. busy: links that had files when these were last counted, at first all.
    """

    def __init__(self, arrays: Arrays):
        n = len(arrays.sites)
        self.table = views.records(views.LINK, n * (n + 1)).reshape(n + 1, n)
        self.busy = np.arange(n * n, dtype=np.int32)
        self.readings: list[Reading] = []
        self.windows = {column: Window(length_s, n * n) for column, length_s in WINDOWS.items()}
        self.latest = Window(0.0, n * n)
        self.ways = np.empty((n + 1, len(arrays.queues)), views.LINK)
        self.waiting, self.ways_known, self.version = np.zeros((n + 1, 2)), np.zeros(n + 1, bool), 0
        self.mapped, self.nuclei = arrays.sites["storage"] >= 0, arrays.sites["nucleus"] != 0
        for column in LINKS.seen:
            self._set(column.name, arrays.links[column.name], views.UNKNOWN.get(column.name, 0))
        self._know()

    def read_queues(self, arrays: Arrays) -> None:
        """Read the numbers of output files that wait or move on each link to a nucleus."""
        before, self.busy = self.busy, arrays.busy_links[:arrays.state["n_busy_links"][0]].copy()
        for numbers in filter(len, (before, self.busy)):
            copy_queues(arrays.links, self.table, self.mapped, self.nuclei, numbers)
        self.forget_ways()

    def read_throughput(self, arrays: Arrays, now: float) -> None:
        """Average the throughput of each link over every window that ends now; NaN without arrivals.

        A window begins at the latest reading that is at least as old as its length; before the first, the counters are
        0.
        """
        links, latest = arrays.links, self.latest
        moved = np.flatnonzero(links["files_done"] != latest.files).astype(np.int32)
        self.readings.append(Reading(now, moved, links["files_done"][moved], links["rate_sum"][moved]))
        latest.take(self.readings[-1])
        for column, window in self.windows.items():
            self._begin(window, now - window.length_s)
            arrived = latest.files - window.files
            mean = np.full(len(links), np.nan)
            np.divide(latest.rates - window.rates, arrived * MB, out=mean, where=arrived > 0)
            self._set(column, mean, np.nan)
        self._know()

    def forget_ways(self) -> None:
        """Note that `ways` have changed."""
        self.ways_known[:] = False
        self.version += 1

    def learn(self, source: int, destination: int, columns: dict) -> None:
        """Set known columns of `views.LINK` of one link."""
        for name, value in columns.items():
            self.table[name][destination, source] = value
        self.table["known"][destination, source] = True

    def throughput(self, links: np.ndarray) -> np.ndarray:
        """Average of the last hour of some links, (k,) numbers, MB/s."""
        source, destination = np.divmod(links, self.table.shape[1])
        return self.table["mbps_hour"][destination, source]

    def _begin(self, window: Window, then: float) -> None:
        """Move the start of a window to `then`, and drop readings that every window includes."""
        dropped = self.latest.n_readings - len(self.readings)
        for reading in self.readings[window.n_readings - dropped:]:
            if reading.taken_at > then:
                break
            window.take(reading)
        del self.readings[:min(other.n_readings for other in self.windows.values()) - dropped]

    def _set(self, column: str, values: np.ndarray, unmapped) -> None:
        """Fill a column from values by link; links from sites without storage stay unknown to brokers."""
        n = len(self.mapped)
        self.table[column][:n] = values.reshape(n, n).T
        if not self.mapped.all():
            self.table[column][:n, ~self.mapped] = unmapped

    def _know(self) -> None:
        """Mark also the links that have a closeness, an average, or waiting files; forget `ways`."""
        self.forget_ways()
        rows = self.table[:-1]
        rows["known"] |= ((rows["closeness"] != views.UNKNOWN["closeness"]) | (rows["queued_files"] > 0)
                          | (rows["queued_express"] > 0) | ~np.isnan(rows["mbps_week"]))
