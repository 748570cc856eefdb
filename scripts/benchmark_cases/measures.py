"""What every case measures with: processor time, memory, and the scenario of all runs at ATLAS scale."""

import resource
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ATLAS = ROOT / "scripts" / "benchmark_atlas.yaml"
"""`atlas_day` as it was when the first figures were taken; it does not change with the scenarios."""
HOUR = 3600.0


def peak_mib() -> float:
    """Largest resident size of this process so far, MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def resident_mib() -> float:
    """Resident size of this process now, MiB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def cpu_s() -> float:
    """CPU time of this process, its threads and its ended children so far, s."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
