"""Storages where each PanDA queue reads and writes, their state for analysis, and how a queue lies to each nucleus."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from simgrid_broker import views
from simgrid_broker.bundle import Bundle
from simgrid_broker.compiled import compiled
from simgrid_broker.names import QueueStatus, ReplicaState
from simgrid_broker.schema.grid import ACTIVITIES, DATADISK
from simgrid_broker.schema.queues import QueueEndpoint, in_scope
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.rows import copied_whole
from simgrid_broker.world.views.tasks import PASSES

ONLINE = int(QueueStatus.ONLINE)
UNMAPPED = views.records(views.LINK, 1, unmapped=True)
"""The way of output of a queue whose storage is not known."""
USES = {"read_lan": "reads", "write_wan": "reads", "write_lan": "writes", "read_wan": "writes"}
"""Storages whose status an activity concerns; source: brokerage reference, 2.5."""
OFF = {activity: f"{activity}_off" for activity in ACTIVITIES}
"""Column of a storage that says whether an activity is off."""
COMPLETE_DISK, INCOMPLETE_DISK, COMPLETE_TAPE, INCOMPLETE_TAPE, COMPLETE_VP, INCOMPLETE_VP = map(int, ReplicaState)


class Places:
    """Places of the PanDA queues of a grid, (n_queues,) each.

    site: that owns the queue; site_storage: (n_sites,), of each site; output: storage that takes output unless a job
    says otherwise, -1 = none; mapped: whether the site of that storage is known; output_site: that site, for a queue
    without storages its own. lists_storages: whether the queue lists its storages. counted: storage whose space counts,
    -1 = none; unknown: queues that list storages but none for output. reads, writes: storages of input and output, in
    their order.
    inside, sharing: of each nucleus that was asked about, (n_sites + 1, n_queues), the queues of `near` whatever
    their status; the last row, no nucleus, has none. near_known: (n_sites + 1,), whether it was asked about.
    """

    def __init__(self, arrays: Arrays, grid):
        self.production, self.analysis = arrays.queues["production"] > 0, arrays.queues["analysis"] > 0
        self.grid, storages = grid, {name: number for number, name in enumerate(grid.storages)}
        self.site = arrays.queues["site"].astype(np.int64)
        self.site_storage = arrays.sites["storage"]
        of_site = arrays.sites["storage"][self.site]
        self.lists_storages = np.array([queue.endpoints is not None for queue in grid.queues.values()], bool)
        self.reads, self.writes, outputs = [], [], []
        for queue, own in zip(grid.queues.values(), of_site.tolist(), strict=True):
            used = sorted(in_scope(queue.endpoints or (), analysis=False), key=lambda one: one.order)
            default = (own,) if own >= 0 and queue.endpoints is None else ()
            self.reads.append(tuple(storages[one.storage] for one in used if one.read
                                    and not grid.storages[one.storage].blacklisted_read) or default)
            self.writes.append(tuple(storages[one.storage] for one in used if one.write) or default)
            chosen = [storages[one.storage] for one in used if one.default_write] or list(default)
            outputs.append(chosen[0] if chosen else -1)
        self.output = np.array(outputs, np.int64)
        self.mapped = ~self.lists_storages | (self.output >= 0)
        site = np.append(arrays.storages["site"], -1)[self.output]
        self.output_site = np.where(site >= 0, site, self.site)
        self.inside, self.sharing = np.zeros((2, len(arrays.sites) + 1, len(self.site)), bool)
        self.near_known = np.zeros(len(arrays.sites) + 1, bool)
        self.near_known[-1] = True
        self.counted = np.where(self.lists_storages, self.output, of_site)
        self.unknown = np.flatnonzero(self.lists_storages & (self.output < 0))
        self.known: tuple[bytes, tuple] = b"", ()                # statuses of storages, and what follows from them

    def map_output(self, site_of: Mapping[int, int]) -> None:
        """Take the site of the output from a mapping, queue to site, instead of the storages; other queues have none.

        Source: brokerage reference, 2.2 (storage-site mapping).
        """
        vars(self).pop("near_tables", None)
        self.mapped = np.isin(np.arange(len(self.site)), list(site_of))
        self.output_site = np.array([site_of.get(queue, site) for queue, site in enumerate(self.site.tolist())])

    @cached_property
    def sites_of_production(self) -> np.ndarray:
        """Sites with a queue for production, (n_sites,) bool."""
        return np.isin(np.arange(len(self.site_storage)), self.site[self.production])

    @cached_property
    def nucleus_output(self) -> list[tuple[int, ...]]:
        """Storages for output of each site as a nucleus."""
        return output_of_sites(self.grid, self.writes)

    @cached_property
    def numbers(self) -> dict[str, np.ndarray]:
        """Each DATADISK of the queues by its use, as `_table`."""
        kind = [storage.type == DATADISK for storage in self.grid.storages.values()]
        return {use: _table([tuple(storage for storage in used if kind[storage]) for used in getattr(self, use)])
                for use in ("reads", "writes")}

    def near(self, nucleus: int, status: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Queues at a nucleus, and online ones elsewhere whose output its first queue reads, (n_queues,) bool each.

        These have the type of the first queue, or are unified. status: of the queues. Source: brokerage reference, 2.2.
        """
        self.learn(nucleus)
        return self.inside[nucleus], self.sharing[nucleus] & (status == QueueStatus.ONLINE)

    def learn(self, nucleus: int) -> None:
        """Work out which queues are near a nucleus."""
        if not self.near_known[nucleus]:
            self.inside[nucleus], self.sharing[nucleus] = self._around(nucleus)
            self.near_known[nucleus] = True

    def _around(self, nucleus: int) -> tuple[np.ndarray, np.ndarray]:
        """`near` whatever the status of the queues."""
        inside = self.site == nucleus
        owned = inside & self.production
        if not owned.any():
            return inside, owned
        first = int(np.argmax(owned))
        alike = views.same_type(first, self.production, self.analysis)
        return inside, ~inside & alike & np.isin(self.output, self.reads[first]) & (self.output >= 0)

    def ways(self) -> dict[str, np.ndarray]:
        """Places from which the ways of output follow, beside the links, as `fill_ways` reads them."""
        return dict(output_site=self.output_site, mapped=self.mapped, unmapped=UNMAPPED, inside=self.inside,
                    sharing=self.sharing, near_known=self.near_known)

    def fill_ways(self, nucleus: int, table: np.ndarray, arrays: Arrays, ways: np.ndarray, waiting: np.ndarray) -> None:
        """Fill the rows of a nucleus, -1 = none, in `ways` and `waiting`, as in `network.NetworkMetrics`."""
        self.learn(nucleus)
        fill_ways(table, nucleus, self.near_tables, arrays.queues, ways, waiting)

    @cached_property
    def near_tables(self) -> "Near":
        """As `ways`, for `fill_ways`."""
        return Near(**self.ways())


class Near(Bundle):
    """Places from which the ways of output follow; fields as in `Places`, unmapped: (1,), an unknown way."""

    output_site: np.ndarray
    mapped: np.ndarray
    unmapped: np.ndarray
    inside: np.ndarray
    sharing: np.ndarray
    near_known: np.ndarray


@compiled
def fill_ways(table, nucleus, near, queues, ways, waiting):
    """Fill ways[nucleus], (n_queues,) of `views.LINK`, and waiting[nucleus], files of all sites, express apart.

    table: records of links, [destination, source]; near: with the arrays of `Near`; queues: the table.
    """
    waiting[nucleus, 0] = waiting[nucleus, 1] = 0.0
    for site in range(table.shape[1]):
        waiting[nucleus, 0] += table[nucleus, site]["queued_files"]
        waiting[nucleus, 1] += table[nucleus, site]["queued_express"]
    for queue in range(len(near.output_site)):
        if near.mapped[queue]:
            ways[nucleus, queue] = table[nucleus, near.output_site[queue]]
        else:
            ways[nucleus, queue] = near.unmapped[0]
        if nucleus >= 0:
            way = ways[nucleus, queue]
            way["in_nucleus"] = near.inside[nucleus, queue]
            way["sharing"] = near.sharing[nucleus, queue] and queues[queue]["status"] == ONLINE
            way["at_nucleus"] = near.output_site[queue] == nucleus and near.mapped[queue]


class AnalysisPlaces:
    """Storages of the PanDA queues for analysis, in the scope of analysis where a queue has it.

    reads, writes: storages of input and output of each queue; output, input: the default ones, (n_queues,), -1 = none;
    bare: (n_queues,), queues of sites without storage, which every check passes; described: what of `ANALYSIS_STORE`
    does not change, (n_queues,). Source: brokerage reference, 0.2.
    """

    def __init__(self, arrays: Arrays, grid):
        storages = {name: number for number, name in enumerate(grid.storages)}
        of_site = arrays.sites["storage"][arrays.queues["site"].astype(np.int64)].tolist()
        self.reads: list[tuple[int, ...]] = []
        self.writes: list[tuple[int, ...]] = []
        output, given = [], []
        for queue, own in zip(grid.queues.values(), of_site, strict=True):
            default = (own,) if own >= 0 and queue.endpoints is None else ()
            used = sorted(queue.endpoints or (), key=lambda one: one.order)
            readable = [one for one in used if one.read and not grid.storages[one.storage].blacklisted_read]
            taken = in_scope(readable, analysis=True)
            put = in_scope([one for one in used if one.write], analysis=True)
            self.reads.append(tuple(storages[one.storage] for one in taken) or default)
            self.writes.append(tuple(storages[one.storage] for one in put) or default)
            output.append(next((storages[one.storage] for one in put if one.default_write), own if default else -1))
            given.append(next((storages[one.storage] for one in taken if one.default_read), own if default else -1))
        self.output, self.input = np.array(output, np.int64), np.array(given, np.int64)
        self.bare = np.array([not (read or put or queue.endpoints is not None) for read, put, queue in zip(
            self.reads, self.writes, grid.queues.values(), strict=True)], bool)
        self.numbers = {"reads": _table(self.reads), "writes": _table(self.writes)}
        unlisted = self.bare | [queue.endpoints == () for queue in grid.queues.values()]
        has = {name: (numbers >= 0).any(axis=1) | unlisted for name, numbers in self.numbers.items()}
        self.described = np.zeros(len(self.output), views.ANALYSIS_STORE)
        self.described["has_output"], self.described["has_input"] = has["writes"], has["reads"]
        self.described["output"], self.described["one"] = self.output, self.output == self.input
        self.known: tuple[bytes, tuple] = b"", ()                # as for `Places`


def _table(uses: list[tuple[int, ...]]) -> np.ndarray:
    """Storages of each queue as a table, (n_queues, most of them), -1 = no more."""
    table = np.full((len(uses), max(map(len, uses), default=0)), -1)
    for queue, used in enumerate(uses):
        table[queue, :len(used)] = used
    return table


def stores(world) -> tuple[np.ndarray, np.ndarray]:
    """The storage that takes each site's output, (n_sites,) of `views.STORE`, and those of each queue, (n_queues,).

    Source of what counts where a queue lists several: brokerage reference, 2.5.
    """
    places, (usable, free) = world.places, space_of(world.arrays.storages, 0.0)
    of_sites, of_queues = _of_statuses(world, places, _stores)
    for rows, number in (of_sites, places.site_storage), (of_queues, places.counted):
        rows["usable_bytes"], rows["free_bytes"] = usable[number], free[number]
    of_queues["usable_bytes"][places.unknown] = np.inf
    return of_sites, of_queues


def analysis_stores(world) -> np.ndarray:
    """The storages of each PanDA queue for analysis, (n_queues,) of `views.ANALYSIS_STORE`."""
    places, (usable, free) = world.analysis_places, space_of(world.arrays.storages, np.inf)
    found, = _of_statuses(world, places, _analysis_stores)
    found["usable_output"], found["usable_input"] = usable[places.output], usable[places.input]
    found["free_bytes"] = free[places.output]
    return found


def space_of(storages: np.ndarray, none: float) -> np.ndarray:
    """Usable and free bytes of each storage, and at the end of no storage, `none`, (2, n_storages + 1)."""
    space = np.full((2, len(storages) + 1), none)
    space[:, :-1] = storages["free_bytes"]
    space[0, :-1] += storages["expired_bytes"]
    space[0, :-1] -= storages["min_free_bytes"]
    space[0, :-1] -= storages["unavailable_bytes"]
    return space


def _of_statuses(world, places: Places | AnalysisPlaces, make: Callable[..., tuple]) -> list[np.ndarray]:
    """Views of storages without space, those of the last call unless the status of a storage has changed since."""
    statuses = b"".join([world.arrays.storages[column].tobytes() for column in OFF.values()])
    if statuses != places.known[0]:
        places.known = statuses, make(world)
    return [copied_whole(rows) for rows in places.known[1]]


def _stores(world) -> tuple[np.ndarray, np.ndarray]:
    """Columns of `stores` that do not depend on space."""
    places, passes, storages = world.places, PASSES[world.scenario.edition], world.arrays.storages
    number, lists = places.site_storage, places.lists_storages
    of_sites = views.records(views.STORE, len(number), present=number >= 0, **{
        activity: np.append(passes[storages[column]], True)[number] for activity, column in OFF.items()})
    of_queues = of_sites[places.site]
    of_queues["present"] |= lists
    for activity, is_open in _open_activities(world, places.numbers):
        of_queues[activity] = np.where(lists, is_open, of_queues[activity])
    return of_sites, of_queues


def _analysis_stores(world) -> tuple[np.ndarray]:
    """Columns of `analysis_stores` that do not depend on space."""
    found = world.analysis_places.described.copy()
    for activity, is_open in _open_activities(world, world.analysis_places.numbers):
        found[activity] = world.analysis_places.bare | is_open
    return found,


def _open_activities(world, numbers: Mapping[str, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    """Each activity, and whether it is open at any storage of each queue that it concerns, (n_queues,) bool.

    numbers: storages by their use, as `_table`.
    """
    for activity, column in OFF.items():
        is_open = np.append(PASSES[world.scenario.edition][world.arrays.storages[column]], False)     # for no storage
        yield activity, is_open[numbers[USES[activity]]].any(axis=1)


@compiled
def spread_replicas(sources, first, end, site, states, disk, tape):
    """Fill in the replicas of a dataset at each PanDA queue, as bits of names.ReplicaState, and its parts there.

    sources: of `views.SOURCE`, those from `first` to before `end`; site: (n_queues,) of the queues; states,
    disk, tape: (n_queues,), the latter the largest part of the files on either.
    """
    for queue in range(len(site)):
        states[queue], disk[queue], tape[queue] = 0, 0.0, 0.0
        for k in range(first, end):
            source = sources[k]
            if source["site"] == site[queue]:
                whole = source["part"] >= 1
                if source["virtual"]:
                    states[queue] |= COMPLETE_VP if whole else INCOMPLETE_VP
                elif source["tape"]:
                    states[queue] |= COMPLETE_TAPE if whole else INCOMPLETE_TAPE
                    tape[queue] = max(tape[queue], source["part"])
                else:
                    states[queue] |= COMPLETE_DISK if whole else INCOMPLETE_DISK
                    disk[queue] = max(disk[queue], source["part"])


# ---- storages of sites that can be nuclei ----------------------------------------------------------------------------

Endpoints = Sequence[QueueEndpoint]


def output_of_sites(grid, own: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Storages of each site for output: of each scope of a queue those at the site itself, by name.

    own: storages of each queue, for those that list none.
    Source: brokerage reference, 1.2 T5.
    """
    def local(endpoints: Endpoints) -> list[str]:
        return sorted(one.storage for one in endpoints if one.write and one.is_local)
    return _of_sites(grid, own, local)


def input_of_sites(grid, own: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Storages of each site for input; own: as for output; source: brokerage reference, 1.3."""
    def open_ones(endpoints: Endpoints) -> list[str]:
        return [one.storage for one in endpoints
                if one.read and not grid.storages[one.storage].blacklisted_read]
    return _of_sites(grid, own, open_ones)


def _of_sites(grid, own: Sequence[Sequence[int]],
              names: Callable[[Endpoints], Iterable[str]]) -> list[tuple[int, ...]]:
    """Storages of each site by its queues for production, one queue and scope after the other, each once.

    names: storages of one scope.
    """
    numbers = {name: number for number, name in enumerate(grid.storages)}
    found: dict[str, dict[int, None]] = {name: {} for name in grid.sites}
    for queue, of_queue in zip(grid.queues.values(), own, strict=True):
        if not queue.production:
            continue
        listed = queue.endpoints or ()
        used = tuple(of_queue) if queue.endpoints is None else ()
        for scope in dict.fromkeys(one.scope for one in listed):
            used += tuple(numbers[name] for name in names([one for one in listed if one.scope == scope]))
        found[queue.atlas_site] |= dict.fromkeys(used)
    return [tuple(one) for one in found.values()]
