"""Tables of sites, PanDA queues, pseudo-queues, batch pools and storages from a scenario.

What lives here: CRIC's fields to columns, sentinels resolved, unified queues expanded. What does not: links (the
scenario's `link_table`), and everything that changes with time.
"""

from typing import NamedTuple

import numpy as np

from simgrid_broker.names import BareNucleus, QueueStatus
from simgrid_broker.scenario.queue_options import option_number, option_value
from simgrid_broker.schema import POOLS, PSEUDO_QUEUES, QUEUES, SITES
from simgrid_broker.units import DAY

UNKNOWN_COREPOWER = 10.0
"""HS06 per core where CRIC has none; source: lifecycle reference, section 2.7 (corepower, else 10)."""

DEFAULT_TRANSFERRINGLIMIT = 2000
"""Source: PanDA brokerage documentation, production job brokerage; brokerage reference, P20."""

PRODUCTION_TYPES = ("production", "unified")
"""Types of queues that production work may come to; source: brokerage reference, section 0.2."""


DEFAULT_TRANSTIMEHI, DEFAULT_TRANSTIMELO = 2, 6
"""Days; source: the constants of the code, lifecycle reference, section 4.3."""


class PseudoQueue(NamedTuple):
    """A PanDA queue seen as a resource type; limits in MB per slot, inf = none."""

    queue: int
    resource_type: int
    corecount: int
    maxrss_mb: float
    minrss_mb: float


def unless_zero(value: float, meaning: float) -> float:
    """`value`, or its meaning where 0 is a sentinel."""
    return value if value else meaning


def option(queue, key: str) -> bool:
    """Whether `params` or `catchall` of a queue holds `key`; catchall matches by prefix (formats reference, 1.4)."""
    if key in queue.params:
        return bool(queue.params[key])
    return any(item.strip().startswith(key) for item in queue.catchall.split(","))


def bare_nucleus(queue) -> BareNucleus:
    """Whether a queue belongs to a bare nucleus; other values than only and allow are none (brokerage reference, 4)."""
    return {"only": BareNucleus.ONLY, "allow": BareNucleus.ALLOW}.get(option_value(queue, "bareNucleus"),
                                                                      BareNucleus.NO)


def per_slot(queue, value: float) -> float:
    """A limit of a queue as one per slot: multiplied by the cores where the option `per_core_attr` says so."""
    return value * queue.corecount if queue.corecount and option(queue, "per_core_attr") else value


def site_table(grid, storage_names) -> np.ndarray:
    """Sites of the grid, in their order."""
    table = SITES.empty(len(grid.sites))
    first = {}
    for number, storage in enumerate(grid.storages.values()):
        first.setdefault(storage.site, number)
    for row, (name, site) in zip(table, grid.sites.items(), strict=True):
        row["stage_in_rate"], row["stage_latency_s"] = site.stage_in_rate, site.stage_latency
        row["failure_rate"], row["tier"], row["nucleus"] = site.failure_rate, site.tier, site.nucleus
        row["storage"] = storage_names.index(site.storage) if site.storage else first.get(name, -1)
        row["secondary_nucleus"] = -1
    _fill_nuclei(table, grid)
    return table


def _fill_nuclei(table: np.ndarray, grid) -> None:
    """What the options of queues say of their sites: of several production queues the first that has the option."""
    sites = {name: number for number, name in enumerate(grid.sites)}
    for queue in grid.queues.values():
        row = table[sites[queue.atlas_site]]
        if queue.type in PRODUCTION_TYPES:
            row["bare_nucleus"] = row["bare_nucleus"] or bare_nucleus(queue)
            if row["secondary_nucleus"] < 0:
                row["secondary_nucleus"] = sites.get(option_value(queue, "secondaryNucleus"), -1)


def queue_table(grid, pools: dict) -> np.ndarray:
    """PanDA queues of the grid, in their order; `pools` is the pool of each queue by name."""
    table = QUEUES.empty(len(grid.queues))
    sites = {name: number for number, name in enumerate(grid.sites)}
    for row, (name, queue) in zip(table, grid.queues.items(), strict=True):
        row["corepower"] = unless_zero(queue.corepower, UNKNOWN_COREPOWER)
        row["maxrss_mb"] = unless_zero(per_slot(queue, queue.maxrss), np.inf)
        row["minrss_mb"] = per_slot(queue, queue.minrss)
        row["maxtime_s"], row["mintime_s"] = unless_zero(queue.maxtime, np.inf), queue.mintime
        row["maxwdir_mb"] = unless_zero(per_slot(queue, queue.maxwdir), np.inf)
        row["timefloor_s"] = queue.timefloor * 60
        row["transferringlimit"] = unless_zero(queue.transferringlimit, DEFAULT_TRANSFERRINGLIMIT)
        row["transtimehi_s"] = unless_zero(queue.transtimehi, DEFAULT_TRANSTIMEHI) * DAY
        row["transtimelo_s"] = unless_zero(queue.transtimelo, DEFAULT_TRANSTIMELO) * DAY
        row["site"], row["pool"] = sites[queue.atlas_site], pools[name]
        row["corecount"], row["status"] = max(1, queue.corecount), QueueStatus.of(queue.status)
        row["unified"] = queue.capability == "ucore"
        row["production"] = queue.type in PRODUCTION_TYPES
        row["analysis"] = queue.type in ("analysis", "unified")
        row["direct_io"] = queue.maxinputsize == -1 or queue.direct_access_lan
        row["num_slots"] = queue.num_slots
        row["opportunistic"], row["pledgedcpu"] = queue.pledgedcpu == -1, queue.pledgedcpu
        row["maxdiskio"] = queue.maxdiskio
        row["max_io_intensity"] = option_number(queue, "max_io_intensity", np.inf)
        row["use_only_local_data"] = option(queue, "use_only_local_data")
        row["disable_reassign"] = option(queue, "disableReassign")
        row["bare_nucleus"] = bare_nucleus(queue)
        row["laststart_s"] = -np.inf
        row["always_direct_io"] = queue.maxinputsize == -1
        row["use_jumbo_jobs"] = option(queue, "useJumboJobs")
        row["min_events_for_jumbo"] = option_number(queue, "minEventsForJumbo", 0)
        row["job_chunk_size"] = option_number(queue, "jobChunkSize", 0)
    return table


def pseudo_queues_of(number: int, queue, resource_types) -> list[PseudoQueue]:
    """The candidates that stand for one PanDA queue (a row of QUEUES); source: brokerage reference, section 0.2.

    resource_types: the scenario's bounds, in order. A queue that is not unified is its own only candidate.
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
        low = minrss * slot / cores
        if bounds.minrampercore is not None:
            low = max(slot * bounds.minrampercore - slot + 1, low)
        high = maxrss * slot / cores
        if bounds.maxrampercore is not None:
            high = min(slot * bounds.maxrampercore, high)
        found.append(PseudoQueue(number, type_number, slot, high, low))
    return found


def pseudo_queue_table(queues: np.ndarray, resource_types, pools) -> np.ndarray:
    """All candidates, queue by queue; a worker asks for the slot's limit, or for the pool's mean if there is none."""
    found = [p for number, queue in enumerate(queues) for p in pseudo_queues_of(number, queue, resource_types)]
    table = PSEUDO_QUEUES.empty(len(found))
    for row, pseudo in zip(table, found, strict=True):
        queue = queues[pseudo.queue]
        row["queue"], row["pool"], row["resource_type"] = pseudo.queue, queue["pool"], pseudo.resource_type
        row["corecount"], row["maxrss_mb"], row["minrss_mb"] = pseudo.corecount, pseudo.maxrss_mb, pseudo.minrss_mb
        _, cores, memory_per_core = pools[queue["pool"]]
        asked = memory_per_core * pseudo.corecount if np.isinf(pseudo.maxrss_mb) else pseudo.maxrss_mb
        row["worker_mb"] = min(asked, memory_per_core * cores)         # with more it would wait for ever
        row["submitted_head"] = row["submitted_tail"] = -1
    return table


def pools_of(grid) -> tuple[dict[str, int], list[tuple[str, int, float]]]:
    """Pool number of each queue, and (name, cores, memory per core in MB) of each pool.

    A queue with `cores` has a batch system of its own; the others share that of their site.
    """
    numbers, pools, of_site = {}, [], {}
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


def pool_table(pools, pseudo_queues: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pools, all free, and their pseudo-queues one pool after another."""
    table = POOLS.empty(len(pools))
    members = np.argsort(pseudo_queues["pool"], kind="stable").astype(np.int32)
    edges = np.searchsorted(pseudo_queues["pool"][members], np.arange(len(pools) + 1))
    for number, (row, (_, cores, memory_per_core)) in enumerate(zip(table, pools, strict=True)):
        row["cores"] = row["free_cores"] = cores
        row["memory_mb"] = row["free_mb"] = cores * memory_per_core
        row["first"], row["last"] = edges[number], edges[number + 1]
    return table, members
