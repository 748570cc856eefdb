"""Tables of sites, PanDA queues, pseudo-queues and batch pools from a scenario."""

from typing import NamedTuple

import numpy as np

from simgrid_broker.schema import POOLS, PSEUDO_QUEUES, QUEUES, SITES
from simgrid_broker.schema.queues import option_value


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
    first: dict[str, int] = {}
    for number, storage in enumerate(grid.storages.values()):
        first.setdefault(storage.site, number)
    table["storage"] = [numbers["storages"][site.storage] if site.storage else first.get(name, -1)
                        for name, site in grid.sites.items()]
    table["secondary_nucleus"] = -1
    for queue in grid.queues.values():
        if queue.production:                       # of several queues the first that has the option counts
            row = table[numbers["sites"][queue.atlas_site]]
            row["bare_nucleus"] = row["bare_nucleus"] or queue.bare_nucleus
            if row["secondary_nucleus"] < 0:
                row["secondary_nucleus"] = numbers["sites"].get(option_value(queue, "secondaryNucleus") or "", -1)
    return table


def queue_table(grid, pools: dict[str, int]) -> np.ndarray:
    """PanDA queues of the grid, in their order; `pools` is the pool of each queue by name."""
    table = QUEUES.filled(tuple(grid.queues.values()), numbers_of(grid))
    table["pool"], table["laststart_s"] = [pools[name] for name in grid.queues], -np.inf
    return table


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
        if bounds.maxrampercore is not None:
            high = min(slot * bounds.maxrampercore, high)
        found.append(PseudoQueue(number, type_number, slot, high, low))
    return found


def pseudo_queue_table(queues: np.ndarray, resource_types, pools) -> np.ndarray:
    """All candidates, queue by queue; a worker asks for the slot's limit, or for the pool's mean if it has no limit."""
    found = [p for number, queue in enumerate(queues) for p in pseudo_queues_of(number, queue, resource_types)]
    table = PSEUDO_QUEUES.empty(len(found))
    for name in PseudoQueue._fields:
        table[name] = [getattr(pseudo, name) for pseudo in found]
    table["pool"] = queues["pool"][table["queue"]]
    cores, memory_per_core = np.array([pool[1:] for pool in pools], float)[table["pool"]].T
    asked = np.where(np.isinf(table["maxrss_mb"]), memory_per_core * table["corecount"], table["maxrss_mb"])
    table["worker_mb"] = np.minimum(asked, memory_per_core * cores)    # a worker that asks for more would never start
    table["submitted_head"] = table["submitted_tail"] = -1
    return table


def pools_of(grid) -> tuple[dict[str, int], list[tuple[str, int, float]]]:
    """Pool number of each queue, and (name, cores, memory per core in MB) of each pool.

    A queue with `cores` has a batch system of its own; the others share the one of their site.
    """
    numbers: dict[str, int] = {}
    of_site: dict[str, int] = {}
    pools: list[tuple[str, int, float]] = []
    for name, queue in grid.queues.items():
        site = grid.sites[queue.atlas_site]
        if queue.cores is not None:
            numbers[name] = len(pools)
            pools.append((name, queue.cores, site.memory_per_core))
        elif queue.atlas_site in of_site:
            numbers[name] = of_site[queue.atlas_site]
        else:
            numbers[name] = of_site[queue.atlas_site] = len(pools)
            pools.append((queue.atlas_site, site.cores, site.memory_per_core))
    return numbers, pools


def pool_table(pools, pseudo_queues: np.ndarray, filled: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Pools, all free, and their pseudo-queues one pool after another; filled: their first jobs have begun before."""
    table = POOLS.empty(len(pools))
    members = np.argsort(pseudo_queues["pool"], kind="stable").astype(np.int32)
    edges = np.searchsorted(pseudo_queues["pool"][members], np.arange(len(pools) + 1))
    for number, (row, (_, cores, memory_per_core)) in enumerate(zip(table, pools, strict=True)):
        row["cores"] = row["free_cores"] = cores
        row["unfilled_cores"] = cores if filled else 0
        row["memory_mb"] = row["free_mb"] = cores * memory_per_core
        row["first"], row["last"] = edges[number], edges[number + 1]
    return table, members
