"""Measurements of a task by its finished jobs, above all by its scouts; source: JEDI TWiki, Memory consumption,
ioIntensity, HS06sPerEvent and the columns of JEDI_Tasks; lifecycle reference, sections 2.7 and 8.4 (panda-server,
`getScoutJobData_JEDI`)."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.editions import ByEdition
from simgrid_broker.gdpconfig import GdpconfigKey, dbproxy
from simgrid_broker.policy.brokerage.production.estimates import MIN_OUTPUT_DEPLOYED, work_space_bytes
from simgrid_broker.policy.jobs.resource_types import PER_CORE_UNITS
from simgrid_broker.units import GIB, HOUR, KIB, MIB
from simgrid_broker.views import Gdpconfig, Task

FIRST_JOBS = 5
"""Jobs from which the documented edition measures most values; source: JEDI TWiki, ioIntensity and HS06sPerEvent."""
ALL_JOBS = 2**31
"""More jobs than a task has."""
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


JOB = np.dtype([(name, "f8") for name in (
    "walltime_s", "cputime_s", "corecount", "hs06", "n_events", "maxpss_mb", "input_mib", "beside_bytes",
    "output_bytes", "largest_output_bytes", "disk_kb", "memory_leak", "memory_leak_x2", "workdir_mb")])
"""A finished job of a task, NaN = not reported; those of a task are in the order of their ends.

hs06: of the slot; input_mib: of master files, in proportion to the events that are read, one without size as 1 MiB;
beside_bytes: other input that it read; disk_kb: totRBYTES + totWBYTES; memory_leak: kB/s of the whole job;
memory_leak_x2: chi2 of its fit; workdir_mb: workDirSize; largest_output_bytes: of its output datasets.
"""


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
    cputime_job_s: float | None
    ramcount: float | None
    walltime_s_per_mib: float | None
    iointensity: float | None
    diskio: float | None
    output_kib: float | None
    workdisk_mb: float
    memory_leak_core: float | None
    memory_leak_x2: float | None
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


BASIS = np.dtype([
    ("first_jobs", "i8"), ("from_long", "?"), ("of_largest", "?"), ("has_input", "?"), ("basewalltime_s", "f8"),
    ("cpuefficiency", "f8"), ("cpu_rank", "f8"), ("measures_memory", "?"), ("per_core", "?"), ("baseramcount", "f8"),
    ("ram_rank", "f8"), ("ram_margin", "f8"), ("least_ram", "f8"), ("walltime_s_per_mib", "f8"), ("most_disk", "f8"),
    ("measures_output", "?"), ("by_event", "?"), ("workdisk_mb", "f8"), ("library_mb", "f8")])
"""The claims of a task, the terms of the edition and the keys of gdpconfig by which its jobs are measured.

cpuefficiency: NaN = the CPU time is not measured; per_core, by_event: of the units of memory and output; most_disk:
SCOUT_DISK_IO_CAP, inf = not set.
"""
FOUND = np.dtype([(name, "f8") for name in Measured._fields])
"""Measurements, NaN = not measured."""


def measure(jobs: np.ndarray, claims: Task, preset: Preset, cfg: Gdpconfig, edition: str) -> Measured:
    """Measurements of a task from its finished jobs, (n,) of JOB, at least one; claims: the task on arrival (L11, L12,
    L13)."""
    found = np.empty(1, FOUND)
    measure_all(jobs, basis_of(claims, preset, cfg, edition), np.empty(len(jobs)), np.empty(len(jobs), np.int64), found)
    return Measured(*known_or_none(found[0].item()))


def measure_merging(jobs: np.ndarray, claims: Task, walltime_s_per_mib: float, cfg: Gdpconfig,
                    edition: str) -> tuple[float | None, float | None]:
    """mergewalltime and mergeramCount from finished merge jobs, (n,) of JOB, at least one; None = not measured.

    walltime_s_per_mib: of the task after its scouts, NaN = not measured. baseRamCount is not taken off.
    """
    basis = basis_of(claims, Preset(), cfg, edition)
    basis["baseramcount"], basis["walltime_s_per_mib"] = 0.0, walltime_s_per_mib
    walltime, memory = known_or_none(measure_two(jobs, basis, np.empty(len(jobs))))
    return walltime, memory


def known_or_none(values: Iterable[float]) -> list[Any]:
    """Numbers, None in place of NaN."""
    return [value if value == value else None for value in values]


def basis_of(claims: Task, preset: Preset, cfg: Gdpconfig, edition: str) -> np.ndarray:
    """Basis of the measurements of a task, (1,) of BASIS."""
    terms = TERMS[edition]
    efficiency = math.nan if claims.cputimeunit.endswith(FIXED) else claims.cpuefficiency
    return np.array([(
        terms.first_jobs or ALL_JOBS, terms.from_long, terms.of_largest, claims.input_bytes_per_job > 0,
        claims.basewalltime_s, efficiency, cfg.once(cputime_rank, edition), not claims.ramunit.endswith(FIXED),
        claims.ramunit in PER_CORE_UNITS, claims.baseramcount, *cfg.once(memory_keys), claims.walltime_s_per_mib,
        cfg.once(most_disk), FIXED not in preset.outdiskunit, preset.outdiskunit.endswith(PER_EVENT),
        preset.workdisk_mb, preset.library_mb)], BASIS)


def cputime_rank(cfg: Gdpconfig, edition: str) -> float:
    """Percentile of the CPU time.

    L12: the documented edition takes it from SCOUT_RAMCOUNT_RANK, with that of the CPU time if the key has its default.
    """
    key = TERMS[edition].cpu_rank
    rank = cfg.value(key)
    return float(dbproxy.SCOUT_CPUTIME_RANK.default if rank == key.default else rank)


def memory_keys(cfg: Gdpconfig) -> tuple[float, float, float]:
    """Percentile, margin in %, and minimum in MB of the memory."""
    least = cfg.value(dbproxy.SCOUT_RAMCOUNT_MIN)
    return (float(cfg.value(dbproxy.SCOUT_RAMCOUNT_RANK)), float(cfg.value(dbproxy.SCOUT_RAMCOUNT_MARGIN)),
            float(least or 0))


def most_disk(cfg: Gdpconfig) -> float:
    """Highest mean disk traffic that a task gets, kB/s; inf = no limit."""
    cap = cfg.value(dbproxy.SCOUT_DISK_IO_CAP)
    return math.inf if cap is None else float(cap)


@compiled
def measure_all(jobs, bases, values, places, results):
    """Fill one record of FOUND; bases: (1,) of BASIS; values, places: as long as the jobs, to work with."""
    basis, found = bases[0], results[0]
    n_first = min(len(jobs), basis["first_jobs"])
    found["cputime"], found["cputime_job_s"] = measured_cputime(jobs, n_first, basis, values)
    found["ramcount"] = measured_ramcount(jobs, n_first, basis, values)
    found["walltime_s_per_mib"] = measured_walltime(jobs, basis)
    found["iointensity"] = measured_iointensity(jobs, n_first)
    found["diskio"] = measured_diskio(jobs, basis["most_disk"])
    found["output_kib"] = measured_output(jobs, basis, places, values)
    found["workdisk_mb"] = measured_workdisk(jobs, basis)
    found["memory_leak_core"], found["memory_leak_x2"] = measured_leak(jobs, values), measured_chi2(jobs, values)
    found["efficiency"] = measured_efficiency(jobs, values)


@compiled
def measure_two(jobs, bases, values):
    """Measurements of merge jobs: wall time and memory, NaN = not measured; arguments as of `measure_all`."""
    return measured_walltime(jobs, bases[0]), measured_ramcount(jobs, len(jobs), bases[0], values)


@compiled
def put_in_order(values, n):
    """Sort the first `n` values in place (Shell), which compiled code that creates no arrays has to do by itself."""
    gap = n // 2
    while gap > 0:
        for k in range(gap, n):
            value, place = values[k], k
            while place >= gap and values[place - gap] > value:
                values[place] = values[place - gap]
                place -= gap
            values[place] = value
        gap //= 2


@compiled
def percentile(values, n, rank):
    """Percentile of the first `n` values, interpolated between two of them, and the upper one of these; sorts them.

    The sum is PanDA's own, since what follows is rounded up.
    """
    put_in_order(values, n)
    place = (n - 1) * rank / 100
    below, above = np.int64(math.floor(place)), np.int64(math.ceil(place))
    if below == above:
        return values[below], values[below]
    return values[below] * (above - place) + values[above] * (place - below), values[above]


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


@compiled
def tells_cputime(job, basis):
    """True if a job counts for the CPU time: it has enough events or is long, or the task has no input.

    L12: the documented edition also counts jobs of precisely 6 h.
    """
    walltime_s = job["walltime_s"]
    return (job["n_events"] >= EVENTS_A_CORE * job["corecount"] or not basis["has_input"] or walltime_s > LONG_S
            or (basis["from_long"] and walltime_s >= LONG_S))


@compiled
def work_of_event(job, basis):
    """CPU time of an event of a job, HS06 s."""
    used = np.maximum(job["walltime_s"] - basis["basewalltime_s"], 0) * job["hs06"] * basis["cpuefficiency"] / 100
    return used / np.maximum(job["n_events"], 1)


@compiled
def measured_cputime(jobs, n_jobs, basis, values):
    """CPU time of an event with the safety factor, HS06 s, and the wall time of the job above its percentile, s.

    NaN if the user's own unit is fixed, no job counts or no cpuEfficiency is claimed. Source: JEDI TWiki,
    HS06sPerEvent.
    """
    n = 0
    for k in range(n_jobs):
        if tells_cputime(jobs[k], basis):
            values[n] = work_of_event(jobs[k], basis)
            n += 1
    if n == 0 or np.isnan(basis["cpuefficiency"]):
        return np.nan, np.nan
    found, above = percentile(values, n, basis["cpu_rank"])
    safe, job_s = found * SAFETY, np.nan
    for k in range(n_jobs):
        if tells_cputime(jobs[k], basis) and work_of_event(jobs[k], basis) == above:
            job_s = jobs[k]["walltime_s"]
    return np.ceil(safe) if safe >= WHOLE_HS06S else np.ceil(safe * 1000) / 1000, job_s


@compiled
def memory_of(job, basis):
    """Memory of a job in the unit of the claim, MB."""
    return (job["maxpss_mb"] - basis["baseramcount"]) / job["corecount"] if basis["per_core"] else job["maxpss_mb"]


@compiled
def measured_ramcount(jobs, n_jobs, basis, values):
    """ramCount, MB in the unit of the claim: the largest (documented), or a percentile and a margin (deployed) (L11).

    Where the unit is not per core, memory of whole jobs, baseRamCount included. NaN leaves the claim unchanged: its
    unit is fixed, or no job has a maxPSS above 0; in the code a task with less than baseRamCount claims 1 MB, and one
    with less than 1 MB more nothing.
    """
    n, largest = 0, -np.inf
    for k in range(n_jobs):
        if jobs[k]["maxpss_mb"] > 0:
            used = memory_of(jobs[k], basis)
            largest, values[n] = max(largest, used), np.ceil(used * KIB)
            n += 1
    if n == 0 or not basis["measures_memory"]:
        return np.nan
    if basis["of_largest"]:
        return np.ceil(largest) if np.ceil(largest) > 0 else np.nan
    ranked, _ = percentile(values, n, basis["ram_rank"])
    found = np.int64(ranked * (100 + basis["ram_margin"]) // 100 / KIB)
    return max(np.float64(found if found >= 0 else 1), basis["least_ram"])


@compiled
def measured_walltime(jobs, basis):
    """Wall time per MiB of input, s, not below the claim; short jobs count as 0; NaN without a claim."""
    claim, longest, most_mib = basis["walltime_s_per_mib"], 0.0, 0.0
    if np.isnan(claim):
        return np.nan
    for k in range(len(jobs)):
        if jobs[k]["cputime_s"] > longest:
            longest = jobs[k]["cputime_s"]
        most_mib = max(most_mib, jobs[k]["input_mib"])
    found = np.ceil(longest / most_mib * SAFETY) if longest >= LEAST_WALLTIME_S else 0.0
    return min(max(found, claim), MOST_WALLTIME)


@compiled
def measured_iointensity(jobs, n_jobs):
    """Highest rate of input and output per core, kB/s, rounded up; NaN if no job took time."""
    highest = np.nan
    for k in range(n_jobs):
        job = jobs[k]
        if job["walltime_s"] > 0 and not np.isnan(job["output_bytes"]):
            rate = (job["input_mib"] * KIB + job["output_bytes"] / KIB) / job["walltime_s"] / job["corecount"]
            if not highest >= rate:
                highest = rate
    return np.ceil(highest)


@compiled
def measured_diskio(jobs, most):
    """Mean disk traffic of a job, whole kB/s, up to SCOUT_DISK_IO_CAP; NaN if no job reports it."""
    n, total = 0, 0.0
    for k in range(len(jobs)):
        if jobs[k]["walltime_s"] > 0 and not np.isnan(jobs[k]["disk_kb"]):
            total += jobs[k]["disk_kb"] / jobs[k]["walltime_s"]
            n += 1
    return min(total // n, most) if n > 0 else np.nan


@compiled
def measured_output(jobs, basis, places, values):
    """Output of an event, or of a MiB of input, whole KiB, from jobs with enough events; NaN without any, or fixed."""
    n = find_output(jobs, basis["by_event"], places, values)
    if n == 0 or not basis["measures_output"]:
        return np.nan
    found, _ = percentile(values, n, OUTPUT_RANK)
    return min(np.floor(found / KIB), MOST_OUTPUT_KIB)


@compiled
def find_output(jobs, by_event, places, rates):
    """Write the places of the jobs that tell the output, and their whole bytes of an event, or of a MiB of input;
    returns their number."""
    n = 0
    for k in range(len(jobs)):
        if jobs[k]["n_events"] >= EVENTS_FOR_OUTPUT and not np.isnan(jobs[k]["output_bytes"]):
            of = jobs[k]["n_events"] if by_event else jobs[k]["input_mib"]
            places[n], rates[n] = k, np.ceil(jobs[k]["output_bytes"] / of)
            n += 1
    return n


def measured_ng(jobs: np.ndarray, found: Measured, preset: Preset, target_gb: float) -> int | None:
    """nGBPerJob with which the largest output comes near to tgtMaxOutputForNG, GB; None = it stays.

    The jobs around the percentile of the output tell it, the upper one first. QUIRK: the input that is counted beside
    the output is that of the master in MiB, plus the bytes of all other input. Source: lifecycle reference, 2.7.
    """
    if not target_gb or found.output_kib is None:
        return None
    places, rates = np.empty(len(jobs), np.int64), np.empty(len(jobs))
    n = find_output(jobs, preset.outdiskunit.endswith(PER_EVENT), places, rates)
    places, rates, around = places[:n], rates[:n], (n - 1) * OUTPUT_RANK / 100
    for rate in np.sort(rates)[[math.ceil(around), math.floor(around)]]:
        job = jobs[places[rates == rate][-1]]
        total, largest = float(job["output_bytes"]), float(job["largest_output_bytes"])
        gigabytes = ng_for(job, total * target_gb * GIB // largest, found, preset) if total * largest > 0 else math.nan
        if not math.isnan(gigabytes):
            return 1 if gigabytes <= 0 else int(min(gigabytes, MOST_NG_GB))
    return None


def ng_for(job: np.void, output_bytes: float, found: Measured, preset: Preset) -> float:
    """Input, output and work space of a job with so much output, less 1500 MB, GB; job: the one that tells it."""
    scale = output_bytes // max((found.output_kib or 0) * KIB, 1)
    if not preset.outdiskunit.endswith(PER_EVENT):
        return (output_bytes + scale * MIB - MIN_OUTPUT_DEPLOYED) / GIB
    beside = float(job["input_mib"] + job["beside_bytes"]) * scale // float(job["n_events"])
    return (output_bytes + beside + work_space_bytes(found.workdisk_mb * MIB, True) - MIN_OUTPUT_DEPLOYED) / GIB


@compiled
def measured_workdisk(jobs, basis):
    """Largest work directory or library of the jobs, whole MB, not below the claim."""
    largest, claim = basis["library_mb"], basis["workdisk_mb"]
    for k in range(len(jobs)):
        if jobs[k]["workdir_mb"] > largest:
            largest = jobs[k]["workdir_mb"]
    return max(np.floor(largest), 0.0 if np.isnan(claim) else claim)


@compiled
def measured_leak(jobs, values):
    """Mean memory leak per core, kB/s, rounded up; NaN if no job reports it."""
    for k in range(len(jobs)):
        values[k] = np.ceil(jobs[k]["memory_leak"] / jobs[k]["corecount"])
    return mean_of_known(values, len(jobs))


@compiled
def measured_chi2(jobs, values):
    """Mean of whole chi2 of the fits of memory leaks, rounded up; NaN if no job reports it."""
    for k in range(len(jobs)):
        values[k] = np.trunc(jobs[k]["memory_leak_x2"])
    return mean_of_known(values, len(jobs))


@compiled
def mean_of_known(values, n):
    """Mean of the first `n` values, whole numbers, NaN left out, rounded up; NaN if there are no others."""
    total, known = 0.0, 0
    for k in range(n):
        if not np.isnan(values[k]):
            total += values[k]
            known += 1
    return np.float64(np.int64(np.ceil(total / known))) if known > 0 else np.nan


def cpu_efficiency(cputime_s: np.ndarray, walltime_s: np.ndarray, corecount: np.ndarray) -> np.ndarray:
    """CPU efficiency of jobs, (n,) %."""
    return 100 * cputime_s / np.maximum(walltime_s * corecount, 1e-9)


@compiled
def find_efficiencies(jobs, values):
    """Write the CPU efficiency of the jobs that took time, %, rounded up; returns their number."""
    n = 0
    for k in range(len(jobs)):
        job = jobs[k]
        if job["walltime_s"] > 0 and not np.isnan(job["cputime_s"]):
            values[n] = np.ceil(job["cputime_s"] / (job["corecount"] * job["walltime_s"]) * 100)
            n += 1
    return n


@compiled
def measured_efficiency(jobs, values):
    """Median of the CPU efficiency of the jobs that took time, whole %, rounded down; NaN if none did."""
    n = find_efficiencies(jobs, values)
    if n == 0:
        return np.nan
    put_in_order(values, n)
    return np.floor((values[(n - 1) // 2] + values[n // 2]) / 2)
