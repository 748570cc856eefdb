"""Estimates of sizes that CRIC does not publish: cores of queues and bytes of storages, from published quantiles.

Source: workload statistics (WS, with the section). A size depends on name and tier alone, not on the rest of the file.
"""

from collections.abc import Mapping

import numpy as np

from simgrid_broker.luck import key_of, uniforms
from simgrid_broker.scenario.grid.synthetic_grid import EXPIRED, FREE

SEED = 1
"""Seed of all sizes estimated for CRIC dumps."""

RUNNING_JOBS = ((0.0, 1), (0.05, 5), (0.25, 209), (0.5, 897), (0.75, 2329), (0.95, 6622), (1.0, 45171))
"""Quantiles of running jobs per queue, 19 September 2021; source: WS 2.2 (the smallest is an assumption)."""

CORES_PER_RUNNING_JOB = 400_000 / 282_402
"""Cores in use (2020, WS 1, L3) over running jobs (2021, WS 2.2): the two are of different years."""

SLOT_CORES = 8
"""Estimated cores are multiples of a multi-core slot."""

ENDPOINT_TB = ((0.0, 1), (0.05, 8.8), (0.25, 645), (0.5, 1814), (0.75, 3170), (0.95, 14529), (1.0, 25000))
"""Quantiles of the size of a DATADISK endpoint, TB; source: WS 10.3; the ends are assumptions, the upper one such that
the mean is 283 PB / 84."""

BANDS = {"T0": (0.80, 0.99), "T1": (0.60, 0.99), "T2D": (0.25, 0.97), "T2": (0.10, 0.80), "T3": (0.02, 0.50)}
"""Lowest and highest quantile that a queue or storage of a tier can have: an assumption."""

_CORES, _SPACE = range(2)


def assumed_cores(queue: str, tier: str) -> int:
    """Cores of a queue, a multiple of `SLOT_CORES`; `tier` as CRIC spells it (T0, T1, T2D, T2, T3)."""
    jobs = _quantile(RUNNING_JOBS, _place(queue, tier, _CORES))
    return max(1, round(jobs * CORES_PER_RUNNING_JOB / SLOT_CORES)) * SLOT_CORES


def assumed_space(rse: str, tier: str) -> dict[str, float]:
    """Size, free and expired space of a DDM endpoint, bytes, three digits."""
    total = _rounded(_quantile(ENDPOINT_TB, _place(rse, tier, _SPACE)) * 1e12)
    return {"total": total, "free": _rounded(total * FREE), "expired": _rounded(total * EXPIRED)}


def assumed_nuclei(tiers: Mapping[str, str], cores: Mapping[str, int]) -> set[str]:
    """Sites of tier 0 and 1, and sites of tier T2D with at least the median cores of T2D.

    tiers, cores: of the sites that could be nuclei. Source: formats reference, section 3, which calls it an
    approximation.
    """
    t2d = [cores[site] for site, tier in tiers.items() if tier == "T2D"]
    least = np.median(t2d) if t2d else 0
    return {site for site, tier in tiers.items() if tier in ("T0", "T1") or (tier == "T2D" and cores[site] >= least)}


def _place(name: str, tier: str, question: int) -> float:
    low, high = BANDS.get(tier) or BANDS.get(tier[:2], BANDS["T2"])
    return low + (high - low) * float(uniforms(SEED, "import_draw", key_of(name), question))


def _quantile(knots: tuple[tuple[float, float], ...], at: float) -> float:
    """Value at quantile `at`, logarithmic between the published ones."""
    places, values = zip(*knots, strict=True)
    return float(np.exp(np.interp(at, places, np.log(values))))


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")
