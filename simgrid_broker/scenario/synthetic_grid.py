"""A synthetic grid of any size from published quantiles of ATLAS.

WS below is the workload statistics, with the section. What is not published is called an assumption.
"""

import numpy as np

from simgrid_broker.luck import normal_quantile
from simgrid_broker.scenario.model import SyntheticGrid
from simgrid_broker.scenario.quantiles import PUBLISHED_AT, interpolated, log_normal, luck, stepped
from simgrid_broker.scenario.synthetic_links import synthetic_links
from simgrid_broker.scenario.synthetic_queues import LIMITS, Pool, synthetic_queues

REGIONS = {"DE": 45, "US": 42, "UK": 32, "CH": 25, "ND": 22, "FR": 17, "ES": 14, "IT": 10, "CA": 10, "NL": 9, "RU": 1}
"""Regions and how many queues each has; source: WS 2.1 (clouds; CERN is CH here)."""

ATLAS_SITES = 170
"""Sites of the grid to which the counts below refer; source: WS 12 (LCG 2005), WS 1 (more than 150, about 200)."""

TIER1_SITES, TIER3_PART = 12, 0.15
"""Tier 1 sites of 170, part of all sites that are tier 3; assumptions (WS 2.1 counts queues by tier, not sites)."""

POOLS_IN_USE, LARGEST_POOLS, PART_OF_LARGEST = 112, 20, 0.70
"""Of 112 queues with activity the 20 largest hold 70 %; source: WS 2.2."""

ENDPOINTS, STORED_BYTES = 84, 283e15
"""DATADISK endpoints and their size; source: WS 10.3."""

ENDPOINT_BYTES = (1e12, 8.8e12, 645e12, 1814e12, 3170e12, 14529e12, 20000e12)
"""Size of an endpoint at `PUBLISHED_AT`; source: WS 10.3, ends assumed."""

FREE, EXPIRED, MIN_FREE = 0.109, 0.25, 0.03
"""Median parts of an endpoint: free and deletable (WS 10.3); kept free by deletion (assumption)."""

NUCLEI_PART = 0.2
"""Part of the sites that are nuclei: tiers 0 and 1 and the larger tier 2; assumption (formats reference, section 3)."""

SITE_FAILURES = (0.002, 0.004, 0.012, 0.03, 0.09, 0.34, 0.45)
"""Failures that a site causes, at `PUBLISHED_AT`: those of queues (WS 8) less 2 to 3 % of the payloads' (assumed)."""

STAGE_IN_RATE, STAGE_IN_SIGMA = 30e6, 0.5
"""Bytes/s at which a job reads its input; source: WS 5.5, input over stage-in time, 10 to 35 MB/s; spread assumed."""

LEAST_MEMORY_PER_CORE = 3000
"""MB of a batch system per core, or the limit of a slot per core where that is more: assumption, so that a site can
fill its cores with the largest jobs that it admits (WS 2.1: limits of slots, median 4000 per core)."""

LARGE_SITE_FAILURES = 0.05
"""Most failures that a site of tier 0 or 1 causes: assumption, they are looked after."""

_AHEAD = {0: 9.0, 1: 2.2, 2: 0.0, 3: -1.2}
"""By how many standard deviations a tier stands ahead when sizes are dealt: tier 0 first, tier 1 mostly at the top."""


def synthetic_grid(spec: SyntheticGrid) -> dict:
    """Sites, queues, storages and links as a dict of YAML shape; the cores of all batch systems sum to `spec.cores`."""
    places = named_sites(spec.sites)
    pools = [Pool(name, "site") for name in places] + _pools_beside(spec, places)
    cores = dict(zip(pools, pool_cores(spec, pools, places), strict=True))
    storages = _storages(spec, places, cores)
    sites = _sites(spec, places, cores, storages)
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
    counted, names = {}, {}
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
    blocks = (spec.cores // 8 - n) * size / size.sum()      # of eight cores, beside one for each
    whole = np.floor(blocks).astype(np.int64)
    whole[np.argsort(whole - blocks, kind="stable")[:spec.cores // 8 - n - whole.sum()]] += 1
    cores = np.empty(n, np.int64)
    cores[largest_first] = 8 + 8 * whole
    cores[largest_first[0]] += spec.cores % 8
    return cores


def _pools_beside(spec: SyntheticGrid, places: dict[str, tuple[int, str]]) -> list[Pool]:
    """Batch systems beside the sites' own, in mixed grids of 20 sites or more: 8 % of tier 2 and 3 have an HPC, 8 % a
    cloud.

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
    """Sites; one without storage writes to the largest endpoint of its region, else of the grid (assumption)."""
    n = len(places)
    endpoint_of = {storage["site"]: name for name, storage in storages.items()}
    nuclei = list(endpoint_of)[:max(1, round(n * NUCLEI_PART))]
    failures = interpolated(spec.seed, "site failures", n, SITE_FAILURES).round(4)
    rates = log_normal(spec.seed, "stage in", n, STAGE_IN_RATE, STAGE_IN_SIGMA, np.inf)
    memory = [max(LEAST_MEMORY_PER_CORE, mb // 8) for mb in stepped(spec.seed, "maxrss", n, LIMITS["maxrss"])]
    sites = {}
    for k, (name, (tier, region)) in enumerate(places.items()):
        near = [site for site in endpoint_of if places[site][1] == region] or list(endpoint_of)
        sites[name] = {
            "tier": tier, "region": region, "cores": int(cores[Pool(name, "site")]), "nucleus": name in nuclei,
            "memory_per_core": memory[k],
            "failure_rate": float(failures[k] if tier > 1 else min(failures[k], LARGE_SITE_FAILURES)),
            "stage_in_rate": round(float(rates[k])), "storage": endpoint_of.get(name, endpoint_of[near[0]])}
    return sites


def _regions_by_weight(n: int) -> list[str]:
    """Regions of `n` sites, in proportion to the queues of each region."""
    ends = np.cumsum(list(REGIONS.values())) / sum(REGIONS.values())
    return [tuple(REGIONS)[k] for k in np.searchsorted(ends, (np.arange(n) + 0.5) / max(n, 1))]
