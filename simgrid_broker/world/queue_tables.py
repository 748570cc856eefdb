"""Tables of sites, PanDA queues, pseudo-queues and batch pools from a scenario."""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from simgrid_broker.luck import keys_of
from simgrid_broker.schema.grid import DATADISK, NODES, POOLS, SITES, WORKER_ACCOUNTS, Node
from simgrid_broker.schema.part import HOURS
from simgrid_broker.schema.queues import PSEUDO_QUEUES, QUEUES, option_value
from simgrid_broker.systems.dispatch import dispatcher
from simgrid_broker.systems.worker_mode import FLAGS, WorkerMode, mode_of
from simgrid_broker.world.arrays import WORKER_MODE
from simgrid_broker.world.queues.places import output_of_sites

OF_THE_SITE = {"batch_latency": "batch_latency_s", "batch_latency_spread": "batch_latency_spread",
               "submission_failures": "submission_failures"}
"""Keys of a queue that its site answers where the queue does not, and their columns."""


class PseudoQueue(NamedTuple):
    """A PanDA queue seen as a resource type; limits in MB per slot, inf = none."""

    queue: int
    resource_type: int
    corecount: int
    maxrss_mb: float
    minrss_mb: float


def numbers_of(grid) -> dict[str, dict[str, int]]:
    """Numbers of the sites and storages by name."""
    return {kind: {name: number for number, name in enumerate(names)}
            for kind, names in (("sites", grid.sites), ("storages", grid.storages))}


def site_table(grid) -> np.ndarray:
    """Sites of the grid, in their order."""
    numbers = numbers_of(grid)
    table = SITES.filled(tuple(grid.sites.values()), numbers)
    table["storage"] = storages_of_output(grid, numbers["storages"])
    table["secondary_nucleus"] = -1
    for queue in reversed(grid.queues.values()):               # the first queue for production makes the nucleus
        if queue.production:
            row = table[numbers["sites"][queue.atlas_site]]
            row["bare_nucleus"] = queue.bare_nucleus
            row["secondary_nucleus"] = numbers["sites"].get(option_value(queue, "secondaryNucleus") or "", -1)
    return table


def storages_of_output(grid, numbers: dict[str, int]) -> list[int]:
    """Storage that takes the output at each site, -1 = none: the one that it says, else a DATADISK, else its first one.

    That DATADISK is the first to which its queues for production write. Source: brokerage reference, 1.2 T5
    (DdmSpec.getLocalEndPoints, NucleusSpec.getAssociatedEndpoint).
    """
    first: dict[str, int] = {}
    for name, storage in grid.data_storages.items():
        first.setdefault(storage.site, numbers[name])
    said = {name: numbers[site.storage] if site.storage else first.get(name, -1) for name, site in grid.sites.items()}
    if not any(queue.endpoints for queue in grid.queues.values()):
        return list(said.values())
    kinds = [storage.type for storage in grid.storages.values()]
    used = output_of_sites(grid, [(own,) if (own := said[queue.atlas_site]) >= 0 else ()
                                  for queue in grid.queues.values()])
    return [said[name] if site.storage else next((number for number in numbers_used if kinds[number] == DATADISK),
                                                 said[name])
            for (name, site), numbers_used in zip(grid.sites.items(), used, strict=True)]


def modes_of(scenario) -> tuple[dict[WorkerMode, int], list[int]]:
    """Worker modes of a run with their numbers, and the number of the mode of each queue."""
    numbers: dict[WorkerMode, int] = {}
    of_queue = [numbers.setdefault(mode, len(numbers)) for mode in (
        mode_of(dispatcher(scenario.dispatch).workflow or queue.workflow)
        for queue in scenario.grid.queues.values())]
    return numbers, of_queue


def mode_table(modes: Iterable[WorkerMode]) -> np.ndarray:
    """Worker modes of a run, (n,) of WORKER_MODE."""
    return np.array([tuple(getattr(mode, flag) for flag in FLAGS) for mode in modes], WORKER_MODE)


def queue_table(grid, pools: dict[str, int]) -> np.ndarray:
    """PanDA queues of the grid, in their order; `pools` is the pool of each queue by name."""
    table = QUEUES.filled(tuple(grid.queues.values()), numbers_of(grid))
    table["pool"], table["laststart_s"] = [pools[name] for name in grid.queues], -np.inf
    for row, queue in zip(table, grid.queues.values(), strict=True):
        for key, column in OF_THE_SITE.items():
            if getattr(queue, key) is None:
                row[column] = getattr(grid.sites[queue.atlas_site], key)
    return table


def eviction_hours(grid, queues: np.ndarray) -> np.ndarray:
    """Rates of eviction of each queue by hour of the day, 1/s, (n, 24); n = 0 if none follows it."""
    factors = [queue.eviction_by_hour or (1.0,) * HOURS for queue in grid.queues.values()]
    if not any(queue.eviction_by_hour for queue in grid.queues.values()):
        return np.zeros((0, HOURS))
    return queues["eviction_rate"][:, None] * np.array(factors, float)


def pseudo_queues_of(number: int, queue, resource_types) -> list[PseudoQueue]:
    """The candidates of one PanDA queue (a row of QUEUES); source: brokerage reference, section 0.2.

    resource_types: the scenario's bounds, in order. A queue that is not unified is its own only candidate. Only a type
    with a lower bound of memory scales the `minrss` of the queue with the cores of the slot.
    """
    cores, maxrss, minrss = int(queue["corecount"]), float(queue["maxrss_mb"]), float(queue["minrss_mb"])
    if not queue["unified"]:
        return [PseudoQueue(number, -1, cores, maxrss, minrss)]
    found = []
    for type_number, bounds in enumerate(resource_types):
        if bounds.mincore is not None and cores < bounds.mincore:
            continue
        least = bounds.mincore or 1
        slot = max(cores, least) if bounds.maxcore is None else max(min(cores, bounds.maxcore), least)
        low = minrss
        if bounds.minrampercore is not None:
            low = max(slot * bounds.minrampercore - slot + 1, minrss * slot / cores)
        high = maxrss * slot / cores
        if bounds.maxrampercore is not None and maxrss < np.inf:
            high = min(slot * bounds.maxrampercore, high)
        found.append(PseudoQueue(number, type_number, slot, high, low))
    return found


def pseudo_queue_table(queues: np.ndarray, resource_types, pools, modes: np.ndarray,
                       whole: Collection[int] = ()) -> np.ndarray:
    """All candidates, queue by queue; a worker asks for the slot's limit, or for the pool's mean if it has no limit.

    resource_types: the scenario's bounds by name; modes: worker modes of the run; whole: numbers of unified queues that
    are also candidates as they are.
    """
    found = [p for number, queue in enumerate(queues) for p in pseudo_queues_of(number, queue, resource_types.values())]
    found += [PseudoQueue(number, -1, *queues[["corecount", "maxrss_mb", "minrss_mb"]][number].tolist())
              for number in whole]
    table = PSEUDO_QUEUES.empty(len(found))
    for name in PseudoQueue._fields:
        table[name] = [getattr(pseudo, name) for pseudo in found]
    table["pool"] = queues["pool"][table["queue"]]
    for number, pool in enumerate(pools):
        if pool.resource_type:
            kind = list(resource_types).index(pool.resource_type)
            table["pool"][(table["pool"] == pool.part_of) & (table["resource_type"] == kind)] = number
    memory_per_core, most = np.array([(pool.memory_per_core, pool.most_mb) for pool in pools])[table["pool"]].T
    asked = np.where(np.isinf(table["maxrss_mb"]), memory_per_core * table["corecount"], table["maxrss_mb"])
    table["worker_mb"] = np.minimum(asked, most)       # a worker that asks for more would never start
    table["submitted_head"] = table["submitted_tail"] = -1
    table["serves_first"] = np.arange(len(table))
    table["serves_last"] = table["serves_first"] + 1
    for queue in np.flatnonzero(modes["serves_all_types"][queues["worker_mode"]]):
        own = np.flatnonzero(table["queue"] == queue)
        if not len(own):                                            # its slots are smaller than those of all types
            continue
        generic = max(own, key=lambda k: (table["corecount"][k], table["worker_mb"][k], -k))
        table["serves_first"][generic], table["serves_last"][generic] = own[0], own[-1] + 1
    return table


class Pool(NamedTuple):
    """A batch system; memory in MB, node: None = cores and memory count for the whole system.

    A static partition is one of its own: resource_type, whose workers of the queues of pool `part_of` it serves.
    """

    name: str
    cores: int
    memory_per_core: float
    node: Node | None = None
    backfill_s: float = 0.0
    resource_type: str = ""
    part_of: int = -1

    @property
    def node_mb(self) -> float:
        """Memory of a node."""
        assert self.node is not None
        return self.node.memory or self.node.cores * self.memory_per_core

    @property
    def most_mb(self) -> float:
        """Most memory that a worker can get; without cores yet, what it asks for."""
        if self.node is not None:
            return self.node_mb
        return self.cores * self.memory_per_core or np.inf


def pools_of(grid) -> tuple[dict[str, int], list[Pool]]:
    """Pool number of each queue, and the pools.

    A queue with `cores` has a batch system of its own; the others share the one of their site, which is followed by its
    static partitions.
    """
    numbers: dict[str, int] = {}
    of_site: dict[str, int] = {}
    pools: list[Pool] = []
    for name, queue in grid.queues.items():
        site = grid.sites[queue.atlas_site]
        if queue.cores is None and queue.atlas_site in of_site:
            numbers[name] = of_site[queue.atlas_site]
            continue
        numbers[name] = len(pools)
        if queue.cores is None:
            of_site[queue.atlas_site] = len(pools)
        parts = site.partitions if queue.cores is None else {}
        own = (queue.atlas_site, site.cores - sum(parts.values())) if queue.cores is None else (name, queue.cores)
        pools.append(Pool(*own, site.memory_per_core, site.node, site.backfill))
        pools += [Pool(f"{own[0]}/{kind}", cores, site.memory_per_core, site.node, site.backfill, kind, numbers[name])
                  for kind, cores in parts.items()]
    return numbers, pools


def pool_table(pools, pseudo_queues: np.ndarray, filled: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Pools, all free, and their pseudo-queues one pool after another; filled: their first jobs have begun before."""
    table = POOLS.empty(len(pools))
    members = np.argsort(pseudo_queues["pool"], kind="stable").astype(np.int32)
    edges = np.searchsorted(pseudo_queues["pool"][members], np.arange(len(pools) + 1))
    for number, (row, pool) in enumerate(zip(table, pools, strict=True)):
        row["cores"] = row["free_cores"] = pool.cores
        row["unfilled_cores"] = pool.cores if filled else 0
        row["memory_mb"] = row["free_mb"] = pool.cores * pool.memory_per_core
        row["backfill_s"] = pool.backfill_s
        row["first"], row["last"] = edges[number], edges[number + 1]
    return table, members


def node_table(pools, table: np.ndarray) -> np.ndarray:
    """Nodes of the pools, all free; writes their places and their memory into `table`, the rows of the pools."""
    found: list[tuple[int, float]] = []
    for row, pool in zip(table, pools, strict=True):
        row["first_node"] = row["last_node"] = len(found)
        if pool.node is None:
            continue
        whole, rest = divmod(pool.cores, pool.node.cores)
        sizes = [pool.node.cores] * whole + [rest] * (rest > 0)
        found += [(cores, pool.node_mb * cores / pool.node.cores) for cores in sizes]
        row["last_node"], row["n_roomy"], row["whole_nodes"] = len(found), len(sizes), pool.node.whole
        row["memory_mb"] = row["free_mb"] = sum(memory for _, memory in found[row["first_node"]:])
    nodes = NODES.empty(len(found))
    nodes["place"] = np.arange(len(found))
    nodes["cores"] = nodes["free_cores"] = [cores for cores, _ in found]
    nodes["memory_mb"] = nodes["free_mb"] = [memory for _, memory in found]
    return nodes


def worker_accounts(names: Sequence[str]) -> np.ndarray:
    """Accounts of the workers of the pseudo-queues of these names, empty."""
    table = WORKER_ACCOUNTS.empty(len(names))
    table["luck"] = keys_of(tuple(names))
    return table
