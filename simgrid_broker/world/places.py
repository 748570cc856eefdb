"""Where each PanDA queue reads and writes: its storages, the site of its output, and how it lies to each nucleus."""

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from simgrid_broker import views
from simgrid_broker.bundle import Bundle
from simgrid_broker.compiled import compiled
from simgrid_broker.names import QueueStatus
from simgrid_broker.world.arrays import Arrays

ONLINE = int(QueueStatus.ONLINE)
DATADISK = "DATADISK"
"""Type of the storages whose status production brokerage asks for; source: brokerage reference, 2.5."""
DEFAULT_SCOPE = "default"
"""Scope of the storages of production; source: brokerage reference, 0.2."""
RAW = f"V{views.LINK.itemsize}"
"""NumPy copies structured rows field by field otherwise."""
UNMAPPED = views.records(views.LINK, 1, unmapped=True)
"""The way of output of a queue whose storage is not known."""


class Places:
    """Places of the PanDA queues of a grid, (n_queues,) each.

    site: that owns the queue; output: storage that takes output unless a job says otherwise, -1 = none; mapped: whether
    the site of that storage is known; output_site: that site, for a queue without storages its own. told: whether the
    queue lists its storages. reads, writes: storages of input and output, in their order. inside, sharing: of each
    nucleus that was asked about, (n_sites + 1, n_queues), the queues of `near` whatever their status; the last row, no
    nucleus, has none. near_known: (n_sites + 1,), whether it was asked about.
    """

    def __init__(self, arrays: Arrays, grid):
        self.production, self.analysis = arrays.queues["production"] > 0, arrays.queues["analysis"] > 0
        self.grid, storages = grid, {name: number for number, name in enumerate(grid.storages)}
        self.site = arrays.queues["site"].astype(np.int64)
        of_site = arrays.sites["storage"][self.site]
        self.told = np.array([bool(queue.endpoints) for queue in grid.queues.values()], bool)
        self.reads, self.writes, outputs = [], [], []
        for queue, own in zip(grid.queues.values(), of_site.tolist(), strict=True):
            used = sorted((one for one in queue.endpoints if one.scope == DEFAULT_SCOPE), key=lambda one: one.order)
            default = (own,) if own >= 0 and not queue.endpoints else ()
            self.reads.append(tuple(storages[one.storage] for one in used if one.read
                                    and not grid.storages[one.storage].blacklisted_read) or default)
            self.writes.append(tuple(storages[one.storage] for one in used if one.write) or default)
            chosen = [storages[one.storage] for one in used if one.default_write] or list(default)
            outputs.append(chosen[0] if chosen else -1)
        self.output = np.array(outputs, np.int64)
        self.mapped = ~self.told | (self.output >= 0)
        site = np.append(arrays.storages["site"], -1)[self.output]
        self.output_site = np.where(site >= 0, site, self.site)
        self.inside, self.sharing = np.zeros((2, len(arrays.sites) + 1, len(self.site)), bool)
        self.near_known = np.zeros(len(arrays.sites) + 1, bool)
        self.near_known[-1] = True
        self.known: tuple[bytes, np.ndarray, np.ndarray] | None = None    # storages, their views of sites and of queues

    def map_output(self, site_of: Mapping[int, int]) -> None:
        """Take the site of the output from a mapping, queue to site, instead of the storages; other queues have none.

        Source: brokerage reference, 2.2 (storage-site mapping).
        """
        vars(self).pop("near_tables", None)
        self.mapped = np.isin(np.arange(len(self.site)), list(site_of))
        self.output_site = np.array([site_of.get(queue, site) for queue, site in enumerate(self.site.tolist())])

    @cached_property
    def asked(self) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """Queues that list storages with each DATADISK of theirs: (queue, storage) pairs of input, and of output."""
        return self._asked(self.reads), self._asked(self.writes)

    def _asked(self, uses: list[tuple[int, ...]]) -> tuple[np.ndarray, np.ndarray]:
        """Queue and storage of each DATADISK in `uses`, (n_pairs,) each."""
        kind = [storage.type == DATADISK for storage in self.grid.storages.values()]
        found = [(queue, storage) for queue, used in enumerate(uses) if self.told[queue]
                 for storage in used if kind[storage]]
        pairs = np.array(found, np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

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
        """What the ways of output follow from, beside the links, as `fill_ways` reads it."""
        return dict(output_site=self.output_site, mapped=self.mapped, unmapped=UNMAPPED, inside=self.inside,
                    sharing=self.sharing, near_known=self.near_known)

    def fill_ways(self, nucleus: int, table: np.ndarray, arrays: Arrays, ways: np.ndarray, waiting: np.ndarray) -> None:
        """Fill the rows of a nucleus, -1 = none, in `ways` and `waiting`, as in `network_metrics.NetworkMetrics`."""
        self.learn(nucleus)
        fill_ways(table, nucleus, self.near_tables, arrays.queues, ways, waiting)

    @cached_property
    def near_tables(self) -> "Near":
        """As `ways`, for `fill_ways`."""
        return Near(**self.ways())


class Near(Bundle):
    """What the ways of output follow from; fields as in `Places`, unmapped: (1,), the way of one that is not known."""

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
