"""A synthetic grid of any size from published quantiles of ATLAS: sites, storages, queues, and the network of links.

WS is the workload statistics, with the section; unpublished figures are marked as assumptions. Draws follow a published
distribution even on a small grid: even quantiles in a keyed order.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simgrid_broker.luck import key_of, normal_quantile, uniforms
from simgrid_broker.scenario.grid.expand_grid import matrix_rows
from simgrid_broker.scenario.model import SyntheticGrid
from simgrid_broker.units import DAY, HOUR, MINUTE

PUBLISHED_AT = (0, 0.05, 0.25, 0.5, 0.75, 0.95, 1)
"""Quantiles at which the published distributions are known."""


def dealt(seed: int, question: str, n: int) -> np.ndarray:
    """Even quantiles (1/2n, 3/2n, ...) in an order keyed by the question, (n,)."""
    place = np.empty(n)
    place[np.argsort(luck(seed, question, n), kind="stable")] = np.arange(n)
    return (place + 0.5) / n


def luck(seed: int, question: str, n: int) -> np.ndarray:
    """Independent uniform numbers for one question, (n,)."""
    return uniforms(seed, "grid_draw", key_of(question), np.arange(n))


def interpolated(seed: int, question: str, n: int, published: Sequence[float]) -> np.ndarray:
    """Values of a distribution known at `PUBLISHED_AT`, interpolated linearly, in random order, (n,)."""
    return np.interp(dealt(seed, question, n), PUBLISHED_AT, published)


def stepped(seed: int, question: str, n: int, values: Sequence[tuple[float, Any]]) -> list:
    """Values of a discrete distribution, given as (weight, value), in random order, (n,)."""
    parts, choices = zip(*values, strict=True)
    ends = np.cumsum(parts) / np.sum(parts)
    return [choices[k] for k in np.searchsorted(ends, dealt(seed, question, n))]


def stepped_by_tier(seed: int, question: str, sites: dict,
                    values: Mapping[int, Sequence[tuple[float, Any]]]) -> list:
    """Values of a discrete distribution for each tier, (n_sites,)."""
    tiers = [site["tier"] for site in sites.values()]
    of_tier = {tier: iter(stepped(seed, f"{question} of tier {tier}", tiers.count(tier), choices))
               for tier, choices in values.items() if tier in tiers}
    return [next(of_tier[tier]) for tier in tiers]


def log_normal(seed: int, question: str, n: int, median: float, sigma: float, most: float) -> np.ndarray:
    """Values of a log-normal distribution cut at `most`, in random order, (n,)."""
    return np.minimum(most, median * np.exp(sigma * normal_quantile(dealt(seed, question, n))))


def by_name(seed: int, question: str, names: Iterable[str]) -> np.ndarray:
    """Standard normal numbers for names, (n,), each independent of what other names there are."""
    keys = np.array([key_of(name) for name in names])
    return normal_quantile(uniforms(seed, "grid_draw", key_of(question), keys))


BANDWIDTH = {0: ((1, 50e9),), 1: ((1, 12.5e9), (1, 25e9)), 2: ((3, 1.25e9), (4, 2.5e9), (3, 12.5e9)),
             3: ((2, 0.125e9), (3, 1.25e9))}
"""Bytes/s at a site's end of each of its links, by tier, with weights: 400 Gb/s; 100, 200; 10, 20, 100; 1, 10:
assumptions, since none are published (WS 13)."""

LATENCY_S, MAX_ACTIVE_FILES = 30, 100
"""Time from the last byte to the callback, s, and files in transfer at once on a link: assumptions."""

FAILURE_MEDIAN, FAILURE_SIGMA, FAILURE_MOST = 0.009, 1.9, 0.55
"""Failure rate of attempts caused by one end of a link. Two ends give links the published spread: median 0.03, 75 %
0.11, 95 % 0.54, mean over attempts 0.07 to 0.12; source: WS 10.1."""

FAILURE_MOST_LARGE = 0.05
"""The most of it at a site of tier 0 or 1, which has staff day and night: assumption."""

CLOSENESS_COUNTS = (4, 6, 113, 1012, 2029, 2676, 1412, 136, 38, 21, 441, 1210)
"""Ordered pairs of endpoints with closeness 0, 1, ... 11 in 2021; source: WS 10.4."""

SAME_REGION, LARGE_SITE, ONE_WAY = 0.75, 0.25, 0.26
"""Shift of pairs towards closeness and spread between the two directions, in standard deviations: chosen so that pairs
of one region have median 4, others 5, and four in ten ordered pairs differ from their reverse (WS 10.4)."""

GIGABIT = 125e6
"""Bytes/s of 1 Gb/s."""

DOOR_SIZES = (1, 2, 5, 10, 20, 40, 100, 200, 400, 800)
"""Capacities of doors, Gb/s: those of the connections that providers sell, alone or two together; assumption."""

DOOR_PER_CORE, DOOR_SIGMA = 0.005, 0.5
"""Capacity of a door per core of the site, Gb/s, and sigma of its logarithm; assumptions, as no capacities of sites are
published (WS 13). They give a site of 3 000 cores 10 or 20 Gb/s."""

DOOR_BOUNDS = {0: (400, 800), 1: (100, 400), 2: (10, 100), 3: (1, 10)}
"""Least and greatest capacity of a door by tier, Gb/s; assumption. One tier 2 had 100 Gb/s in 2024 and 400 Gb/s in 2025
(CESNET for the Czech tier 2, indico.cern.ch/event/1471803)."""

FILE_RATE, FILE_RATE_SIGMA = 40e6, 0.6
"""Median of the most that one file moves at, bytes/s, and sigma of its logarithm; assumptions. Jobs read 10 to 35 MB/s
from the storage of their own site (WS 5.5)."""

FEWEST_FILES, MOST_FILES = 10, 100
"""Files under way at once between which FTS's optimiser adapts the limit of a link: assumptions."""

DELAY_S, DELAY_SIGMA = 2 * MINUTE, 0.5
"""Time from the last byte to the callback of a transfer: median of one end, and sigma of its logarithm; assumptions. A
link has the longer of its two ends."""

BACKGROUND = 0.3
"""Part of every door that other experiments and ATLAS's other transfers take: assumption. Production and analysis make
12 % of ATLAS's own requests (WS 10.2)."""

TROUBLES = ({"every": 30 * DAY, "lasts": 4 * HOUR, "factor": 0.0},
            {"every": 10 * DAY, "lasts": 6 * HOUR, "factor": 0.3})
"""Outages and narrow times of the network of a site: assumptions (rates of downtimes are not published, WS 13)."""


def synthetic_links(spec: SyntheticGrid, sites: dict) -> dict:
    """Links as a dict of YAML shape: default, one attachment for each site, closeness, on request what delays files."""
    failures = log_normal(spec.seed, "link failures", len(sites), FAILURE_MEDIAN, FAILURE_SIGMA, FAILURE_MOST)
    large = _is_large(sites)
    failures[large] = np.minimum(failures[large], FAILURE_MOST_LARGE)
    shared = spec.network == "shared"
    ends = _ends_at_doors(spec, sites) if shared else _ends(spec, sites)
    attachments = {name: end | {"failure_rate": round(float(rate), 4)}
                   for (name, end), rate in zip(ends.items(), failures, strict=True)}
    links = {"default": {"latency": LATENCY_S, "max_active_files": MAX_ACTIVE_FILES}, "by_site": attachments,
             "closeness": {"sites": list(sites), "rows": list(matrix_rows(closeness(spec.seed, sites)))}}
    return links | (_waits() if shared else {})


def _is_large(sites: dict) -> np.ndarray:
    """True where a site is of tier 0 or 1, (n_sites,)."""
    return np.array([site["tier"] < 2 for site in sites.values()])


def _ends(spec: SyntheticGrid, sites: dict) -> dict[str, dict]:
    """Ends of links by site, each with a capacity by tier."""
    return {name: {"bandwidth": bandwidth} for name, bandwidth in
            zip(sites, stepped_by_tier(spec.seed, "bandwidth", sites, BANDWIDTH), strict=True)}


def doors(seed: int, sites: dict) -> dict[str, float]:
    """Capacity of the door of each site in each direction, bytes/s: one of `DOOR_SIZES`, by cores, luck and tier."""
    sizes = np.array(DOOR_SIZES)
    wanted = np.array([site["cores"] for site in sites.values()]) * DOOR_PER_CORE * np.exp(
        DOOR_SIGMA * by_name(seed, "door", sites))
    nearest = sizes[np.abs(np.log(wanted[:, None] / sizes)).argmin(axis=1)]
    least, most = np.array([DOOR_BOUNDS[site["tier"]] for site in sites.values()]).T
    return dict(zip(sites, (np.clip(nearest, least, most) * GIGABIT).tolist(), strict=True))


def _ends_at_doors(spec: SyntheticGrid, sites: dict) -> dict[str, dict]:
    """Ends of links by site: as wide as its door, with the rate of a file and the delay of callbacks."""
    rates = FILE_RATE * np.exp(FILE_RATE_SIGMA * by_name(spec.seed, "file rate", sites))
    delays = DELAY_S * np.exp(DELAY_SIGMA * by_name(spec.seed, "delay", sites))
    return {name: {"bandwidth": site["door_in"], "file_rate": round(float(rate)), "latency": round(float(delay)),
                   "min_active_files": FEWEST_FILES, "max_active_files": MOST_FILES}
            for (name, site), rate, delay in zip(sites.items(), rates, delays, strict=True)}


def _waits() -> dict:
    """Traffic of others and troubles of networks, for which files wait."""
    return {"background": {"load": BACKGROUND}, "troubles": [dict(trouble) for trouble in TROUBLES]}


def closeness(seed: int, sites: dict) -> np.ndarray:
    """Closeness of each ordered pair, (n_sites, n_sites), 0 best to 11 worst, in the published proportions."""
    n = len(sites)
    region = np.array([site["region"] for site in sites.values()])
    large = _is_large(sites)
    mutual, one_way = (normal_quantile(luck(seed, name, n * n)).reshape(n, n) for name in ("mutual", "one way"))
    distance = np.triu(mutual, 1) + np.triu(mutual, 1).T + ONE_WAY * one_way
    distance -= SAME_REGION * (region[:, None] == region) + LARGE_SITE * (large[:, None] | large)
    values = np.zeros((n, n), int)
    apart = ~np.eye(n, dtype=bool)
    rank = np.argsort(np.argsort(distance[apart], kind="stable"), kind="stable")
    ends = np.cumsum(CLOSENESS_COUNTS) / sum(CLOSENESS_COUNTS)
    values[apart] = np.searchsorted(ends, (rank + 0.5) / max(rank.size, 1))
    return values


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

NODE_CORES = ((3, 32), (4, 64), (2, 128))
"""Cores of a worker node, with weights: assumptions."""

BATCH_LATENCY_S, BATCH_LATENCY_SIGMA, BATCH_LATENCY_SPREAD = 2 * MINUTE, 0.7, 1.0
"""Time until a batch system looks at a worker: median of the sites and sigma of its logarithm, and that of the workers
of a site; assumptions. On EGEE the queue of the computing element made most of the delay (WS 9), without a figure."""

SUBMISSION_FAILURES, SUBMISSION_FAILURES_SIGMA = 0.01, 1.0
"""Median of the sites of the part of the workers that cannot be submitted, and sigma of its logarithm; assumptions."""

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
    if spec.batch == "drawn":
        sites = {name: site | batch for (name, site), batch in zip(
            sites.items(), _batch_systems(spec, sites, cores), strict=True)}
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
    """Endpoints of tiers 0 and 1 and of the largest others, by default at one in two sites, 283 PB for 84 (WS 10.3)."""
    n = spec.storages or max(1, round(spec.sites * ENDPOINTS / ATLAS_SITES))
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


def _batch_systems(spec: SyntheticGrid, sites: dict, cores: dict[Pool, int]) -> Iterator[dict]:
    """Latency, failed submissions and nodes of each site; a site with an HPC beside has slots wider than its nodes."""
    n = len(sites)
    latencies = log_normal(spec.seed, "batch latency", n, BATCH_LATENCY_S, BATCH_LATENCY_SIGMA, np.inf)
    failures = log_normal(spec.seed, "submission", n, SUBMISSION_FAILURES, SUBMISSION_FAILURES_SIGMA, 0.5)
    nodes = stepped(spec.seed, "node", n, NODE_CORES)
    for name, latency, failure, node in zip(sites, latencies, failures, nodes, strict=True):
        yield {"batch_latency": round(float(latency)), "batch_latency_spread": BATCH_LATENCY_SPREAD,
               "submission_failures": round(float(failure), 4)} | (
                   {} if Pool(name, "hpc") in cores else {"node": {"cores": min(node, sites[name]["cores"])}})


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

STREAMING = "pull_ups"
TYPES_BY_TIER = {0: ((1, "unified"),), 1: ((1, "unified"),),
                 2: ((29, "unified"), (4, "production"), (1, "both")), 3: ((1, "unified"), (7, "production"))}
"""Kind of work of the main queue by tier, where batch systems are drawn; source: sites of the CRIC dump of October 2025
by their online queues of GRID resources, without those for tests, merging, ARM and virtual placement."""
POLICIES_BY_TIER = {0: ((1, ""),), 1: ((1, ""),), 2: ((36, ""), (3, SIMULATION_AND_EVGEN)),
                    3: ((3, ""), (2, "priority>500:0"), (2, SIMULATION_AND_EVGEN), (1, SIMULATION))}
"""`fairsharepolicy` of ordinary queues by tier, where batch systems are drawn; same source."""

OUT_OF_USE = ((55, ""), (20, "test"), (16, "brokeroff"), (9, "offline"))
"""Status of a second queue on the batch system of a site. CRIC: 29 test, 25 brokeroff, 13 offline of 227 (WS 2.1); that
they share the cores of a working queue is an assumption."""

WORKFLOWS = {0: ((1, STREAMING),), 1: ((8, STREAMING), (1, "push")),
             2: ((32, STREAMING), (5, "push"), (2, "push_noheartbeat")), 3: ((7, STREAMING), (1, "push_noheartbeat"))}
"""Workflows of ordinary queues by tier; same source. The single one that pulls is left out, whose workers would take
eight cores for a job of one."""

NEW_WORKERS = (2000, 1000, 700, 400, 300, 300, 250, 200)
"""maxNewWorkersPerCycle of the largest queues with pilot streaming; source: what is above the 150 of Harvester's
template in the CRIC dump of October 2025, at BNL, RAL, CERN and five more; that the largest have it is assumed."""

HPC_WORKFLOWS = ((6, "push"), (5, "pull"), (3, "push_noheartbeat"))
"""Workflows of queues of HPC, with weights; same source."""

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
    types, policies = (
        stepped_by_tier(spec.seed, question, sites, by_tier) if spec.batch == "drawn"
        else stepped(spec.seed, question, n, values) for question, by_tier, values in (
            ("type", TYPES_BY_TIER, TYPES), ("fairsharepolicy", POLICIES_BY_TIER, POLICIES)))
    second, hpc = (stepped(spec.seed, question, n, values) for question, values in (
        ("second queue", OUT_OF_USE), ("hpc cores", HPC_CORECOUNTS)))
    modes = _workflows(spec, stepped_by_tier(spec.seed, "workflow", sites, WORKFLOWS))
    hpc_modes = _workflows(spec, stepped(spec.seed, "hpc workflow", n, HPC_WORKFLOWS))
    new_workers = _new_workers(sites, modes)
    queues: dict[str, dict] = {}
    for k, (name, common) in enumerate(_common(spec, sites).items()):
        of_site = _ordinary(name, common, types[k], policies[k]) | _out_of_use(name, common, second[k])
        queues |= {queue: attributes | modes[k] | {"params": attributes["params"] | new_workers.get(name, {})}
                   for queue, attributes in of_site.items()}
        if (pool := Pool(name, "hpc")) in cores:
            slot = min(hpc[k], int(cores[pool]))            # a small batch system is one slot
            queues[f"{name}_HPC"] = common | _HPC | hpc_modes[k] | {
                "corecount": slot, "maxwdir": common["maxwdir"] * slot / 8, "cores": int(cores[pool]),
                "num_slots": int(cores[pool]) // slot, "params": _waiting_workers(cores[pool])}
        if (pool := Pool(name, "cloud")) in cores:
            queues[f"{name}_CLOUD"] = common | _CLOUD | {
                "cores": int(cores[pool]), "num_slots": int(cores[pool]) // 8, "params": _waiting_workers(cores[pool])}
    return queues


def _workflows(spec: SyntheticGrid, words: list[str]) -> list[dict[str, str]]:
    """Workflow of the queues of each site, (n_sites,); with ideal batch systems the default is left."""
    return [{"workflow": word} if spec.batch == "drawn" else {} for word in words]


def _new_workers(sites: dict, modes: list[dict[str, str]]) -> dict[str, dict[str, int]]:
    """Limit of new workers in a cycle at the largest sites whose drawn mode is pilot streaming, by site."""
    streaming = [name for name, mode in zip(sites, modes, strict=True) if mode.get("workflow") == STREAMING]
    largest = sorted(streaming, key=lambda name: -sites[name]["cores"])
    return {name: {"maxNewWorkersPerCycle": most} for name, most in zip(largest, NEW_WORKERS, strict=False)}


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
