"""The network of a synthetic grid: link capacities, failures and closeness of sites.

Capacities are assumptions: none are published (workload statistics, section 13). Failures of attempts and closeness
follow sections 10.1 and 10.4 there.
"""

import numpy as np

from simgrid_broker.luck import normal_quantile
from simgrid_broker.scenario.link_table import matrix_rows
from simgrid_broker.scenario.model import SyntheticGrid
from simgrid_broker.scenario.quantiles import log_normal, luck, stepped

BANDWIDTH = {0: ((1, 50e9),), 1: ((1, 12.5e9), (1, 25e9)), 2: ((3, 1.25e9), (4, 2.5e9), (3, 12.5e9)),
             3: ((2, 0.125e9), (3, 1.25e9))}
"""Bytes/s at a site's end of each of its links, by tier, with their parts: 400 Gb/s; 100, 200; 10, 20, 100; 1, 10."""

LATENCY_S, MAX_ACTIVE_FILES = 30, 100
"""From the last byte to the callback, and files under way at once on a link: assumptions."""

FAILURE_MEDIAN, FAILURE_SIGMA, FAILURE_MOST = 0.009, 1.9, 0.55
"""Failures of attempts that one end of a link causes. Two ends give links the published spread: median 0.03, 75 % 0.11,
95 % 0.54, mean over attempts 0.07 to 0.12; source: workload statistics, section 10.1."""

CLOSENESS_COUNTS = (4, 6, 113, 1012, 2029, 2676, 1412, 136, 38, 21, 441, 1210)
"""Ordered pairs of endpoints with closeness 0, 1, ... 11 in 2021; source: workload statistics, section 10.4."""

SAME_REGION, LARGE_SITE, ONE_WAY = 0.75, 0.25, 0.26
"""What brings a pair closer, in standard deviations, and how much the two directions differ: chosen such that pairs of
one region have median 4, others 5, and four in ten ordered pairs differ from their reverse (section 10.4)."""


def synthetic_links(spec: SyntheticGrid, sites: dict) -> dict:
    """Links as a dict of YAML shape: default, one attachment for each site, and the closeness matrix."""
    tier = np.array([site["tier"] for site in sites.values()])
    failures = log_normal(spec.seed, "link failures", len(sites), FAILURE_MEDIAN, FAILURE_SIGMA, FAILURE_MOST)
    failures[tier < 2] = np.minimum(failures[tier < 2], 0.05)          # large sites are well looked after: assumed
    bandwidth = np.empty(len(sites))
    for level, choices in BANDWIDTH.items():
        of_level = np.flatnonzero(tier == level)
        if of_level.size:
            bandwidth[of_level] = stepped(spec.seed, f"bandwidth of tier {level}", len(of_level), choices)
    attachments = {name: {"bandwidth": float(bandwidth[k]), "failure_rate": round(float(failures[k]), 4)}
                   for k, name in enumerate(sites)}
    return {"default": {"latency": LATENCY_S, "max_active_files": MAX_ACTIVE_FILES}, "by_site": attachments,
            "closeness": {"sites": list(sites), "rows": list(matrix_rows(closeness(spec.seed, sites)))}}


def closeness(seed: int, sites: dict) -> np.ndarray:
    """Closeness of each ordered pair, (n_sites, n_sites), 0 best to 11 worst, in the published proportions."""
    n = len(sites)
    region = np.array([site["region"] for site in sites.values()])
    large = np.array([site["tier"] < 2 for site in sites.values()])
    mutual, one_way = (normal_quantile(luck(seed, name, n * n)).reshape(n, n) for name in ("mutual", "one way"))
    distance = np.triu(mutual, 1) + np.triu(mutual, 1).T + ONE_WAY * one_way
    distance -= SAME_REGION * (region[:, None] == region) + LARGE_SITE * (large[:, None] | large)
    values = np.zeros((n, n), int)
    apart = ~np.eye(n, dtype=bool)
    rank = np.argsort(np.argsort(distance[apart], kind="stable"), kind="stable")
    ends = np.cumsum(CLOSENESS_COUNTS) / sum(CLOSENESS_COUNTS)
    values[apart] = np.searchsorted(ends, (rank + 0.5) / max(rank.size, 1))
    return values
