"""The network of a synthetic grid: links and closeness, and on request doors and all that lets transfers wait.

WS is the workload statistics, with the section.
"""

import numpy as np

from simgrid_broker.luck import normal_quantile
from simgrid_broker.scenario.link_table import matrix_rows
from simgrid_broker.scenario.model import SyntheticGrid
from simgrid_broker.scenario.synthetic_draws import by_name, log_normal, luck, stepped
from simgrid_broker.units import DAY, HOUR, MINUTE

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
    """Whether each site is of tier 0 or 1, (n_sites,)."""
    return np.array([site["tier"] < 2 for site in sites.values()])


def _ends(spec: SyntheticGrid, sites: dict) -> dict[str, dict]:
    """Ends of links by site, each with a capacity by tier."""
    tier, bandwidth = np.array([site["tier"] for site in sites.values()]), np.empty(len(sites))
    for level, choices in BANDWIDTH.items():
        of_level = np.flatnonzero(tier == level)
        if of_level.size:
            bandwidth[of_level] = stepped(spec.seed, f"bandwidth of tier {level}", len(of_level), choices)
    return {name: {"bandwidth": float(bandwidth[k])} for k, name in enumerate(sites)}


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
