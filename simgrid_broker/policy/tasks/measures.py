"""Measurements of a task by its finished jobs, above all by its scouts; source: JEDI TWiki, Memory consumption,
ioIntensity, HS06sPerEvent and the columns of JEDI_Tasks; lifecycle reference, sections 2.7 and 8.4 (panda-server,
`getScoutJobData_JEDI`)."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simgrid_broker.editions import ByEdition
from simgrid_broker.gdpconfig import GdpconfigKey, dbproxy
from simgrid_broker.policy.brokerage.production.estimates import MIN_OUTPUT_DEPLOYED, work_space_bytes
from simgrid_broker.policy.jobs.resource_types import PER_CORE_UNITS
from simgrid_broker.units import GIB, HOUR, KIB, MIB
from simgrid_broker.views import Gdpconfig, Task

FIRST_JOBS = 5
"""Jobs from which the documented edition measures most values; source: JEDI TWiki, ioIntensity and HS06sPerEvent."""
SAFETY = 1.5
"""Safety factor of the CPU time; source: JEDI TWiki, HS06sPerEvent."""
EVENTS_A_CORE, LONG_S = 10, 6 * HOUR
"""Events per core from which a job counts for the CPU time, and wall time from which every job does, s."""
WHOLE_HS06S = 10
"""CPU time of an event, HS06 s, from which it is rounded up to whole numbers instead of thousandths."""
LEAST_WALLTIME_S, MOST_WALLTIME, EVENTS_FOR_OUTPUT = 3600.0, 999_999_999.0, 10
OUTPUT_RANK, MOST_OUTPUT_KIB = 75, 10240
"""Percentile of the output of an event or MiB, and its upper limit, KiB."""
MOST_NG_GB = 100
DEFAULT_COREPOWER = 10.0
"""HS06 per core of a job of which neither a benchmark nor CRIC tells it; source: lifecycle reference, section 2.7."""
FIXED, PER_EVENT = "Fixed", "PerEvent"
"""Endings of units: the value is not measured, and it is that of an event."""


class Jobs(NamedTuple):
    """Finished jobs of a task in the order of their ends, (n,) each; NaN = not reported.

    hs06: of the slot; input_mib: of master files, in proportion to the events that are read, one without size as 1 MiB;
    beside_bytes: what else a job read; disk_kb: totRBYTES + totWBYTES; memory_leak: kB/s of the whole job;
    memory_leak_x2: chi2 of its fit; workdir_mb: workDirSize; largest_output_bytes: of its output datasets.
    """

    walltime_s: np.ndarray
    cputime_s: np.ndarray
    corecount: np.ndarray
    hs06: np.ndarray
    n_events: np.ndarray
    maxpss_mb: np.ndarray
    input_mib: np.ndarray
    beside_bytes: np.ndarray
    output_bytes: np.ndarray
    largest_output_bytes: np.ndarray
    disk_kb: np.ndarray
    memory_leak: np.ndarray
    memory_leak_x2: np.ndarray
    workdir_mb: np.ndarray

    def first(self, number: int | None) -> "Jobs":
        """The first jobs, None = all."""
        return Jobs(*(column[:number] for column in self))

    def where(self, chosen: np.ndarray) -> "Jobs":
        """The jobs of a mask, (n,) bool."""
        return Jobs(*(column[chosen] for column in self))


class Preset(NamedTuple):
    """Claims of a task that its view lacks; workdisk_mb: workDiskCount, NaN = not said; library_mb: size of the
    library that its build jobs made."""

    workdisk_mb: float = math.nan
    outdiskunit: str = "kBPerEvent"
    library_mb: float = 0.0


class Measured(NamedTuple):
    """Measurements of a task by its jobs, in the units of its claims; None = not measured, the claim stays.

    cputime: of an event, HS06 s; cputime_job_s: wall time of the job that decided it; output_kib: of an event, or of a
    MiB of input; workdisk_mb: workDiskCount; efficiency: median, whole %.
    """

    cputime: float | None
    cputime_job_s: float
    ramcount: float | None
    walltime_s_per_mib: float | None
    iointensity: float | None
    diskio: float | None
    output_kib: int | None
    workdisk_mb: float
    memory_leak_core: int | None
    memory_leak_x2: int | None
    efficiency: float | None


class Terms(NamedTuple):
    """Terms in which the editions differ.

    first_jobs: finished jobs that are measured, None = all (L13); from_long: jobs of precisely 6 h are long; cpu_rank:
    key of the percentile of the CPU time (L12); of_largest: ramCount is that of the largest job, otherwise a percentile
    with a margin (L11); by_benchmark: the power of a core is that of the CPU benchmark of its host, if there is one.
    """

    first_jobs: int | None
    from_long: bool
    cpu_rank: GdpconfigKey
    of_largest: bool
    by_benchmark: bool


TERMS = ByEdition(
    documented=Terms(first_jobs=FIRST_JOBS, from_long=True, cpu_rank=dbproxy.SCOUT_RAMCOUNT_RANK, of_largest=True,
                     by_benchmark=False),
    deployed=Terms(first_jobs=None, from_long=False, cpu_rank=dbproxy.SCOUT_CPUTIME_RANK, of_largest=False,
                   by_benchmark=True))


def measure(jobs: Jobs, claims: Task, preset: Preset, cfg: Gdpconfig, edition: str) -> Measured:
    """Measurements of a task from its finished jobs, at least one; claims: the task on arrival (L11, L12, L13)."""
    first = jobs.first(TERMS[edition].first_jobs)
    cputime, cputime_job_s = measured_cputime(first, claims, cfg, edition)
    efficiency = efficiencies(jobs)
    return Measured(
        cputime, cputime_job_s, measured_ramcount(first, claims, cfg, edition), measured_walltime(jobs, claims),
        measured_iointensity(first), measured_diskio(jobs, cfg), measured_output(jobs, preset.outdiskunit),
        measured_workdisk(jobs, preset), measured_leak(jobs.memory_leak, jobs.corecount),
        measured_leak(np.trunc(jobs.memory_leak_x2)), float(int(np.median(efficiency))) if len(efficiency) else None)


def measure_merging(jobs: Jobs, claims: Task, walltime_s_per_mib: float, cfg: Gdpconfig,
                    edition: str) -> tuple[float | None, float | None]:
    """mergewalltime and mergeramCount from finished merge jobs, at least one; None = not measured.

    walltime_s_per_mib: of the task after its scouts, NaN = not measured. baseRamCount is not taken off.
    """
    whole = Task.of(vars(claims) | dict(baseramcount=0.0, walltime_s_per_mib=walltime_s_per_mib))
    return measured_walltime(jobs, whole), measured_ramcount(jobs, whole, cfg, edition)


def percentile(values: np.ndarray, rank: float) -> tuple[float, float]:
    """Percentile of some values, interpolated between two of them, and the upper one of these.

    The sum is PanDA's own, since what follows is rounded up.
    """
    ordered = np.sort(values).tolist()
    place = (len(ordered) - 1) * float(rank) / 100
    below, above = math.floor(place), math.ceil(place)
    if below == above:
        return ordered[below], ordered[below]
    return ordered[below] * (above - place) + ordered[above] * (place - below), ordered[above]


def core_power(benchmarks: Sequence[tuple[str | None, float]], site: str, corepower: float) -> float:
    """HS06 per core of the host of a job: of its CPU benchmark, else corepower of CRIC, else 10; 0 = unknown.

    benchmarks: (site, score per core) of hosts with its CPU. That of a site counts of which the name contains that of
    the job's, or is contained in it, otherwise their mean.
    """
    name = site.upper()
    own = next((score for where, score in benchmarks
                if where and (where.upper() in name or name in where.upper())), 0.0)
    mean = sum(score for _, score in benchmarks) / len(benchmarks) if benchmarks else 0.0
    return own or mean or corepower or DEFAULT_COREPOWER


def measured_cputime(jobs: Jobs, claims: Task, cfg: Gdpconfig, edition: str) -> tuple[float | None, float]:
    """CPU time of an event with the safety factor, HS06 s, and the wall time of the job above its percentile, s.

    None and NaN if the user's own unit is fixed, no job counts or no cpuEfficiency is claimed. L12: the documented
    edition takes the percentile from SCOUT_RAMCOUNT_RANK, with that of the CPU time if the key has its default, and
    also counts jobs of precisely 6 h. Source: JEDI TWiki, HS06sPerEvent.
    """
    if math.isnan(claims.cpuefficiency) or claims.cputimeunit.endswith(FIXED):
        return None, math.nan
    terms = TERMS[edition]
    is_long = jobs.walltime_s >= LONG_S if terms.from_long else jobs.walltime_s > LONG_S
    tells = (jobs.n_events >= EVENTS_A_CORE * jobs.corecount) | is_long | (claims.input_bytes_per_job <= 0)
    if not tells.any():
        return None, math.nan
    used = np.maximum(jobs.walltime_s - claims.basewalltime_s, 0) * jobs.hs06 * claims.cpuefficiency / 100
    per_event = used[tells] / np.maximum(jobs.n_events[tells], 1)
    rank = cfg.value(terms.cpu_rank)
    if rank == terms.cpu_rank.default:
        rank = dbproxy.SCOUT_CPUTIME_RANK.default
    found, above = percentile(per_event, rank)
    safe = found * SAFETY
    stored = float(math.ceil(safe)) if safe >= WHOLE_HS06S else math.ceil(safe * 1000) / 1000
    return stored, float(jobs.walltime_s[tells][per_event == above][-1])


def measured_ramcount(jobs: Jobs, claims: Task, cfg: Gdpconfig, edition: str) -> float | None:
    """ramCount, MB in the unit of the claim: the largest (documented), or a percentile and a margin (deployed) (L11).

    Where the unit is not per core, memory of whole jobs, baseRamCount included. None leaves the claim unchanged: its
    unit is fixed, or no job has a maxPSS above 0; in the code a task with less than baseRamCount claims 1 MB, and one
    with less than 1 MB more nothing.
    """
    if claims.ramunit.endswith(FIXED):
        return None
    with_memory = jobs.maxpss_mb > 0
    if not with_memory.any():
        return None
    per_core, maxpss_mb = claims.ramunit in PER_CORE_UNITS, jobs.maxpss_mb[with_memory]
    used = (maxpss_mb - claims.baseramcount) / jobs.corecount[with_memory] if per_core else maxpss_mb
    if TERMS[edition].of_largest:
        found = math.ceil(used.max())
        return float(found) if found > 0 else None
    ranked, _ = percentile(np.ceil(used * KIB), cfg.value(dbproxy.SCOUT_RAMCOUNT_RANK))
    found = int(ranked * (100 + cfg.value(dbproxy.SCOUT_RAMCOUNT_MARGIN)) // 100 / KIB)
    return float(max(found if found >= 0 else 1, cfg.value(dbproxy.SCOUT_RAMCOUNT_MIN) or 0))


def measured_walltime(jobs: Jobs, claims: Task) -> float | None:
    """Wall time per MiB of input, s, not below the claim; short jobs count as 0; None without a claim."""
    if math.isnan(claims.walltime_s_per_mib):
        return None
    longest, most_mib = float(np.nan_to_num(jobs.cputime_s).max()), float(jobs.input_mib.max())
    found = math.ceil(longest / most_mib * SAFETY) if longest >= LEAST_WALLTIME_S else 0
    return min(max(float(found), claims.walltime_s_per_mib), MOST_WALLTIME)


def measured_iointensity(jobs: Jobs) -> float | None:
    """Highest rate of input and output per core, kB/s, rounded up; None if no job took time."""
    tells = (jobs.walltime_s > 0) & ~np.isnan(jobs.output_bytes)
    if not tells.any():
        return None
    of = jobs.where(tells)
    return float(math.ceil(((of.input_mib * KIB + of.output_bytes / KIB) / of.walltime_s / of.corecount).max()))


def measured_diskio(jobs: Jobs, cfg: Gdpconfig) -> float | None:
    """Mean disk traffic of a job, whole kB/s, up to SCOUT_DISK_IO_CAP; None if no job reports it."""
    tells = (jobs.walltime_s > 0) & ~np.isnan(jobs.disk_kb)
    if not tells.any():
        return None
    found = float(sum((jobs.disk_kb[tells] / jobs.walltime_s[tells]).tolist()) // tells.sum())
    cap = cfg.value(dbproxy.SCOUT_DISK_IO_CAP)
    return found if cap is None else min(found, float(cap))


def measured_output(jobs: Jobs, outdiskunit: str) -> int | None:
    """Output of an event, or of a MiB of input, whole KiB, from jobs with enough events; None without any, or fixed."""
    chosen = output_rates(jobs, outdiskunit)
    return None if chosen is None else min(int(percentile(chosen[1], OUTPUT_RANK)[0] / KIB), MOST_OUTPUT_KIB)


def output_rates(jobs: Jobs, outdiskunit: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Places of the jobs that tell the output, (k,), and their whole bytes of an event, or of a MiB of input, (k,)."""
    tells = (jobs.n_events >= EVENTS_FOR_OUTPUT) & ~np.isnan(jobs.output_bytes)
    if FIXED in outdiskunit or not tells.any():
        return None
    of = jobs.n_events if outdiskunit.endswith(PER_EVENT) else jobs.input_mib
    return np.flatnonzero(tells), np.ceil(jobs.output_bytes[tells] / of[tells])


def measured_ng(jobs: Jobs, found: Measured, preset: Preset, target_gb: float) -> int | None:
    """nGBPerJob with which the largest output comes near to tgtMaxOutputForNG, GB; None = it stays.

    The jobs around the percentile of the output tell it, the upper one first. QUIRK: the input that is counted beside
    the output is that of the master in MiB, plus the bytes of all other input. Source: lifecycle reference, 2.7.
    """
    chosen = output_rates(jobs, preset.outdiskunit)
    if not target_gb or chosen is None or found.output_kib is None:
        return None
    places, rates = chosen
    around = (len(rates) - 1) * OUTPUT_RANK / 100
    for rate in np.sort(rates)[[math.ceil(around), math.floor(around)]]:
        job = jobs.where(places[rates == rate][-1:])
        total, largest = float(job.output_bytes[0]), float(job.largest_output_bytes[0])
        gigabytes = ng_for(job, total * target_gb * GIB // largest, found, preset) if total * largest > 0 else math.nan
        if not math.isnan(gigabytes):
            return 1 if gigabytes <= 0 else int(min(gigabytes, MOST_NG_GB))
    return None


def ng_for(job: Jobs, output_bytes: float, found: Measured, preset: Preset) -> float:
    """Input, output and work space of a job with so much output, less 1500 MB, GB; job: the one that tells it."""
    scale = output_bytes // max((found.output_kib or 0) * KIB, 1)
    if not preset.outdiskunit.endswith(PER_EVENT):
        return (output_bytes + scale * MIB - MIN_OUTPUT_DEPLOYED) / GIB
    beside = float(job.input_mib[0] + job.beside_bytes[0]) * scale // float(job.n_events[0])
    return (output_bytes + beside + work_space_bytes(found.workdisk_mb * MIB, True) - MIN_OUTPUT_DEPLOYED) / GIB


def measured_workdisk(jobs: Jobs, preset: Preset) -> float:
    """Largest work directory or library of the jobs, whole MB, not below the claim."""
    found = int(max(np.nan_to_num(jobs.workdir_mb).max(), preset.library_mb))
    return max(float(found), float(np.nan_to_num(preset.workdisk_mb)))


def measured_leak(values: np.ndarray, corecount: np.ndarray | float = 1.0) -> int | None:
    """Mean memory leak per core, kB/s, or of chi2, both rounded up; None if no job reports it."""
    of_jobs = np.ceil(values / corecount)
    known = of_jobs[~np.isnan(of_jobs)]
    return math.ceil(known.sum() / len(known)) if len(known) else None


def cpu_efficiency(cputime_s: np.ndarray, walltime_s: np.ndarray, corecount: np.ndarray) -> np.ndarray:
    """CPU efficiency of jobs, (n,) %."""
    return 100 * cputime_s / np.maximum(walltime_s * corecount, 1e-9)


def efficiencies(jobs: Jobs) -> np.ndarray:
    """CPU efficiency of the jobs that took time, (k,) %, rounded up."""
    of = jobs.where((jobs.walltime_s > 0) & ~np.isnan(jobs.cputime_s))
    return np.ceil(of.cputime_s / (of.corecount * of.walltime_s) * 100)
