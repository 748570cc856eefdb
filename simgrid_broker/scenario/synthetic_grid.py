"""A synthetic grid of any size from published quantiles of ATLAS: sites, storages, queues and links.

WS is the workload statistics, with the section; unpublished figures are marked as assumptions. Draws follow a published
distribution even on a small grid: even quantiles in a keyed order.
"""

from dataclasses import dataclass

import numpy as np

from simgrid_broker.luck import normal_quantile
from simgrid_broker.scenario.model import SyntheticGrid
from simgrid_broker.scenario.synthetic_draws import PUBLISHED_AT, interpolated, log_normal, luck, stepped
from simgrid_broker.scenario.synthetic_network import doors, synthetic_links

REGIONS = {"DE": 45, "US": 42, "UK": 32, "CH": 25, "ND": 22, "FR": 17, "ES": 14, "IT": 10, "CA": 10, "NL": 9, "RU": 1}
"""Regions and the number of queues in each; source: WS 2.1 (clouds; CERN is CH here)."""

ATLAS_SITES = 170
"""Sites of the grid that the counts below describe; source: WS 12 (LCG 2005), WS 1 (more than 150, about 200)."""

TIER1_SITES, TIER3_PART = 12, 0.15
"""Tier 1 sites of 170, fraction of all sites that are tier 3; assumptions (WS 2.1 counts queues by tier, not sites)."""

POOLS_IN_USE, LARGEST_POOLS, PART_OF_LARGEST = 112, 20, 0.70
"""The 20 largest of 112 active queues hold 70 % of the running jobs; source: WS 2.2."""

ENDPOINTS, STORED_BYTES = 84, 283e15
"""DATADISK endpoints and their size; source: WS 10.3."""

ENDPOINT_BYTES = (1e12, 8.8e12, 645e12, 1814e12, 3170e12, 14529e12, 20000e12)
"""Size of an endpoint at `PUBLISHED_AT`; source: WS 10.3, ends assumed."""

FREE, EXPIRED, MIN_FREE = 0.109, 0.25, 0.03
"""Median fractions of an endpoint: free and deletable (WS 10.3); kept free by deletion (assumption)."""

NUCLEI_PART = 0.2
"""Fraction of sites that are nuclei: tiers 0, 1 and the larger tier 2; assumption (formats reference, section 3)."""

SITE_FAILURES = (0.001, 0.002, 0.018, 0.044, 0.122, 0.372, 0.45)
"""Failure rate caused by a site, at `PUBLISHED_AT`: rate of queues (WS 8) less 1 % for payloads (assumption)."""

LOST_HEARTBEATS, STAGE_OUT_ERRORS = 0.05, 0.04
"""Parts of the failures caused by a site in which its worker vanishes, or output cannot be written: assumptions."""

STAGE_IN_RATE, STAGE_IN_SIGMA = 30e6, 0.5
"""Median rate at which a job reads its input, bytes/s (WS 5.5: input over stage-in time, 10 to 35 MB/s), and sigma of
its logarithm (assumption)."""

LEAST_MEMORY_PER_CORE = 3000
"""MB of a batch system per core, or the limit of a slot per core where that is more: assumption, so that a site can
fill its cores with the largest jobs that it admits (WS 2.1: limits of slots, median 4000 per core)."""

LARGE_SITE_FAILURES = 0.1
"""Largest failure rate of a tier 0 or 1 site: assumption, because these sites have staff."""

_AHEAD = {0: 9.0, 1: 2.2, 2: 0.0, 3: -1.2}
"""Shift of a tier in the draw of sizes, in standard deviations: tier 0 first, tier 1 mostly at the top."""


@dataclass(frozen=True)
class Pool:
    """One batch system: the main one of a site (kind `site`) or an additional one (`hpc`, `cloud`)."""

    site: str
    kind: str


def synthetic_grid(spec: SyntheticGrid) -> dict:
    """Sites, queues, storages and links as a dict of YAML shape; the cores of all batch systems sum to `spec.cores`."""
    places = named_sites(spec.sites)
    pools = [Pool(name, "site") for name in places] + _further_pools(spec, places)
    cores = dict(zip(pools, pool_cores(spec, pools, places), strict=True))
    storages = _storages(spec, places, cores)
    sites = _sites(spec, places, cores, storages)
    if spec.network == "shared":
        sites = {name: sites[name] | {"door_out": width, "door_in": width}
                 for name, width in doors(spec.seed, sites).items()}
    return {"sites": sites, "queues": synthetic_queues(spec, sites, cores), "storages": storages,
            "links": synthetic_links(spec, sites)}


def named_sites(n: int) -> dict[str, tuple[int, str]]:
    """Name to (tier, region): one tier 0, tier 1 a region each in turn, the others by the weight of their region."""
    n_t1 = max(round(n * TIER1_SITES / ATLAS_SITES), int(n > 2))
    n_t3 = int(n * TIER3_PART)
    in_turn = [region for region in REGIONS if region != "CH"]
    chosen = [(0, "CH")] + [(1, in_turn[k % len(in_turn)]) for k in range(n_t1)]
    for tier, count in ((2, n - 1 - n_t1 - n_t3), (3, n_t3)):
        chosen += [(tier, region) for region in _regions_by_weight(count)]
    counted, names = dict[tuple[int, str], int](), {}
    for tier, region in chosen:
        counted[tier, region] = counted.get((tier, region), 0) + 1
        names[f"T{tier}-{region}-{counted[tier, region]:02d}"] = (tier, region)
    return names


def pool_cores(spec: SyntheticGrid, pools: list[Pool], places: dict[str, tuple[int, str]]) -> np.ndarray:
    """Cores of each batch system, (n_pools,): log-normal, multiples of 8 but for the largest.

    The spread is the one at which the 20 largest of 112, or of all if there are more, hold 70 % (WS 2.2): a part p of
    the largest holds 1 - N(z(1 - p) - sigma) of a log-normal whole.
    """
    n = len(pools)
    sigma = normal_quantile(1 - LARGEST_POOLS / max(n, POOLS_IN_USE)) + normal_quantile(PART_OF_LARGEST)
    size = np.exp(sigma * normal_quantile((np.arange(n, 0, -1) - 0.5) / n))
    ahead = np.array([_AHEAD[places[pool.site][0]] if pool.kind == "site" else 0 for pool in pools])
    largest_first = np.argsort(-(ahead + normal_quantile(luck(spec.seed, "cores", n))), kind="stable")
    blocks = (spec.cores // 8 - n) * size / size.sum()      # of eight cores, after one block for each pool
    whole = np.floor(blocks).astype(np.int64)
    whole[np.argsort(whole - blocks, kind="stable")[:spec.cores // 8 - n - whole.sum()]] += 1
    cores = np.empty(n, np.int64)
    cores[largest_first] = 8 + 8 * whole
    cores[largest_first[0]] += spec.cores % 8
    return cores


def _further_pools(spec: SyntheticGrid, places: dict[str, tuple[int, str]]) -> list[Pool]:
    """Additional batch systems of mixed grids with 20 sites or more: 8 % of tier 2 and 3 have an HPC, 8 % a cloud.

    Assumption; CRIC has 29 HPC and 16 cloud queues among 227 (formats reference, section 1.1).
    """
    small = [name for name, (tier, _) in places.items() if tier > 1 and spec.sites >= 20 and spec.queues == "mixed"]
    kinds = stepped(spec.seed, "beside", len(small), ((8, "hpc"), (8, "cloud"), (84, ""))) if small else []
    return [Pool(name, kind) for name, kind in zip(small, kinds, strict=True) if kind]


def _storages(spec: SyntheticGrid, places: dict, cores: dict[Pool, int]) -> dict:
    """Endpoints of tiers 0 and 1 and of the largest others, one in two sites, 283 PB for 84 (WS 10.3)."""
    n = max(1, round(spec.sites * ENDPOINTS / ATLAS_SITES))
    names = sorted(places, key=lambda name: (places[name][0] > 1, -cores[Pool(name, "site")]))[:n]
    size = np.interp((np.arange(n, 0, -1) - 0.5) / n, PUBLISHED_AT, ENDPOINT_BYTES)
    size *= STORED_BYTES / ENDPOINTS * n / size.sum()
    parts = {"free": log_normal(spec.seed, "free", n, FREE, 0.4, 0.5),
             "expired": log_normal(spec.seed, "expired", n, EXPIRED, 0.3, 0.45), "min_free": np.full(n, MIN_FREE)}
    return {f"{name}_DATADISK": {"site": name, "total": round(float(size[k])),
                                 **{part: round(float(size[k] * parts[part][k])) for part in parts}}
            for k, name in enumerate(names)}


def _sites(spec: SyntheticGrid, places: dict, cores: dict[Pool, int], storages: dict) -> dict:
    """Sites; a site without storage writes to the largest endpoint of its region, else of the grid (assumption)."""
    n = len(places)
    endpoint_of = {storage["site"]: name for name, storage in storages.items()}
    nuclei = list(endpoint_of)[:max(1, round(n * NUCLEI_PART))]
    failures = interpolated(spec.seed, "site failures", n, SITE_FAILURES).round(4)
    rates = log_normal(spec.seed, "stage in", n, STAGE_IN_RATE, STAGE_IN_SIGMA, np.inf)
    memory = [max(LEAST_MEMORY_PER_CORE, mb // 8) for mb in stepped(spec.seed, "maxrss", n, LIMITS["maxrss"])]
    sites = {}
    for k, (name, (tier, region)) in enumerate(places.items()):
        near = [site for site in endpoint_of if places[site][1] == region] or list(endpoint_of)
        sites[name] = {"tier": tier, "region": region, "cores": int(cores[Pool(name, "site")]),
                       "nucleus": name in nuclei, "memory_per_core": memory[k],
                       "failure_rate": float(failures[k] if tier > 1 else min(failures[k], LARGE_SITE_FAILURES)),
                       "lost_heartbeats": LOST_HEARTBEATS, "stage_out_errors": STAGE_OUT_ERRORS,
                       "stage_in_rate": round(float(rates[k])), "storage": endpoint_of.get(name, endpoint_of[near[0]])}
    return sites


def _regions_by_weight(n: int) -> list[str]:
    """Regions of `n` sites, in proportion to the queues of each region."""
    ends = np.cumsum(list(REGIONS.values())) / sum(REGIONS.values())
    return [tuple(REGIONS)[k] for k in np.searchsorted(ends, (np.arange(n) + 0.5) / max(n, 1))]


# ---- queues ---------------------------------------------------------------------------------------------------------

COREPOWER = (7.27, 9.8, 10.75, 13.6, 16.05, 21.59, 27.18)
"""HS06 per core at `PUBLISHED_AT`; source: WS 2.1 (CRIC, October 2025)."""

MAXWDIR = (20e3, 30e3, 100e3, 160e3, 204.8e3, 520e3, 5120e3)
"""MB of scratch space of a slot at `PUBLISHED_AT`; source: WS 2.1, except the minimum, which is 5 GB
there: such a queue would get no jobs in the documented edition, which divides by the cores."""

LIMITS = {
    "maxrss": ((25, 16000), (15, 24000), (35, 32000), (20, 48000), (5, 96000)),
    "maxtime": ((2, 0), (13, 86400), (25, 172800), (20, 259200), (38, 345600), (2, 1209600)),
    "meanrss": ((72, 2000), (15, 3000), (13, 4000)),
    "timefloor": ((62, 60), (30, 0), (5, 120), (3, 1440)),
    "maxinputsize": ((50, 100000), (20, 50000), (20, 14336), (10, -1)),
    "transferringlimit": ((60, 0), (1, 200), (15, 2000), (10, 3000), (8, 6000), (6, 20000)),
    "direct_access_lan": ((115, True), (112, False)),
    "direct_access_wan": ((171, True), (56, False)),
}
"""(weight, value) pairs; sources: WS 2.1 (maxrss, maxtime, transferringlimit), formats reference 1.1 (rest)."""

SIMULATION = "type=simul:100%,type=any:0%"
SIMULATION_AND_EVGEN = "type=evgen:100%,type=simul:100%,type=any:0%"
POLICIES = ((88, ""), (4, "priority>500:0"), (4, "type=evgen:0%,type=any:100%"),
            (4, "type=simul:0%,group=GP_VALI:100%,group=GP_*:0%"))
"""`fairsharepolicy` of ordinary queues; source: values from CRIC (formats reference, section 1.3); their
weights are an assumption."""

TYPES = ((60, "unified"), (12, "production"), (8, "both"))
"""Kind of work of the main queue; `both` is a pair of queues. CRIC has 114 unified, 94 production and 18 analysis
queues, HPC and retired ones included (WS 2.1); the weights of ordinary queues are an assumption."""

OUT_OF_USE = ((55, ""), (20, "test"), (16, "brokeroff"), (9, "offline"))
"""Status of a second queue on the batch system of a site. CRIC: 29 test, 25 brokeroff, 13 offline of 227 (WS 2.1); that
they share the cores of a working queue is an assumption."""

HPC_CORECOUNTS = ((4, 16), (4, 32), (4, 64), (2, 128))
"""Cores of a slot on HPC queues; source: WS 2.1 (16 in nine queues, 56 to 256 in about twenty)."""


def synthetic_queues(spec: SyntheticGrid, sites: dict, cores: dict[Pool, int]) -> dict:
    """Queues of all sites as a dict of YAML shape; `hpc` and `cloud` queues have cores of their own.

    They fill their slots in advance (numslots of Harvester_Slots), all of them by assumption.
    """
    n = len(sites)
    if spec.queues == "unified":
        return {f"{name}_UCORE": common | {"type": "unified"}
                | ({"num_slots": sites[name]["cores"]} if spec.in_advance else {})
                for name, common in _common(spec, sites).items()}
    types, second, policies, hpc = (stepped(spec.seed, question, n, values) for question, values in (
        ("type", TYPES), ("second queue", OUT_OF_USE), ("fairsharepolicy", POLICIES), ("hpc cores", HPC_CORECOUNTS)))
    queues: dict[str, dict] = {}
    for k, (name, common) in enumerate(_common(spec, sites).items()):
        queues |= _ordinary(name, common, types[k], policies[k]) | _out_of_use(name, common, second[k])
        if (pool := Pool(name, "hpc")) in cores:
            queues[f"{name}_HPC"] = common | _HPC | {
                "corecount": hpc[k], "maxwdir": common["maxwdir"] * hpc[k] / 8, "cores": int(cores[pool]),
                "num_slots": int(cores[pool]) // hpc[k], "params": _waiting_workers(cores[pool])}
        if (pool := Pool(name, "cloud")) in cores:
            queues[f"{name}_CLOUD"] = common | _CLOUD | {
                "cores": int(cores[pool]), "num_slots": int(cores[pool]) // 8, "params": _waiting_workers(cores[pool])}
    return queues


_HPC = {"type": "production", "capability": "mcore", "workflow": "push", "resource_type": "hpc", "maxrss": 0,
        "meanrss": 0, "timefloor": 0, "wnconnectivity": "http", "fairsharepolicy": SIMULATION}
_CLOUD = {"type": "production", "pledgedcpu": -1, "resource_type": "cloud", "fairsharepolicy": SIMULATION_AND_EVGEN}


def _common(spec: SyntheticGrid, sites: dict) -> dict[str, dict]:
    """Attributes that all queues of a site share, by site; that tiers 0 and 1 all read directly is an assumption."""
    n = len(sites)
    columns = {name: stepped(spec.seed, name, n, values) for name, values in LIMITS.items()}
    columns["corepower"] = [spec.corepower] * n if spec.corepower else [
        round(float(power), 2) for power in interpolated(spec.seed, "corepower", n, COREPOWER)]
    columns["maxwdir"] = [round(float(mb), -3) for mb in interpolated(spec.seed, "maxwdir", n, MAXWDIR)]
    columns["direct_access_lan"] = [direct or site["tier"] < 2 for direct, site in zip(
        columns["direct_access_lan"], sites.values(), strict=True)]
    return {name: {"atlas_site": name, **{column: values[k] for column, values in columns.items()},
                   "params": _waiting_workers(sites[name]["cores"])} for k, name in enumerate(sites)}


def _waiting_workers(cores: int) -> dict:
    """Smallest number of waiting workers by the size of the batch system: one for 40 cores (assumption).

    The 100 of ATLAS's template would fill the queue of a batch system of 48 cores for days.
    """
    return {"nQueueLimitWorkerMin": max(2, int(cores) // 40)}


def _ordinary(name: str, common: dict, kind: str, policy: str) -> dict:
    """The main queue on the main batch system of a site, and a separate analysis queue for `both`."""
    main = common | {"type": "unified" if kind == "unified" else "production", "fairsharepolicy": policy}
    return {f"{name}_UCORE": main} | ({f"{name}_ANALY": _single_core(common) | {"type": "analysis"}}
                                      if kind == "both" else {})


def _out_of_use(name: str, common: dict, status: str) -> dict:
    """A second queue that gets no brokered work: a test queue, or a remnant from before unified queues."""
    if status == "test":
        return {f"{name}_TEST": common | {"status": status}}
    if status == "brokeroff":
        return {f"{name}_MCORE": common | {"status": status, "type": "production", "capability": "mcore"}}
    if status == "offline":
        return {f"{name}_SCORE": _single_core(common) | {"status": status, "type": "production"}}
    return {}


def _single_core(common: dict) -> dict:
    return common | {"capability": "score", "corecount": 1, "maxrss": common["maxrss"] // 8,
                     "maxwdir": common["maxwdir"] // 8}
