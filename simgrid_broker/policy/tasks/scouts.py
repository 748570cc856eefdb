"""Scouts: when the avalanche starts, what scouts measure, and which tasks they exhaust or break; source: JEDI TWiki,
task status, Memory consumption, ioIntensity, HS06sPerEvent and Broken tasks; lifecycle reference, sections 2.7 and
8.4."""

import math
from typing import NamedTuple

import numpy as np

from simgrid_broker.editions import ByEdition
from simgrid_broker.gdpconfig import GdpconfigKey, dbproxy
from simgrid_broker.names import ANALYSIS_LABELS
from simgrid_broker.policy.jobs.resource_types import PER_CORE_UNITS
from simgrid_broker.units import DAY, HOUR, KIB, MIB
from simgrid_broker.views import Gdpconfig, Task

N_SCOUTS = 10
"""Chunks of input for scouts, nChunksForScout; source: lifecycle reference, section 2.7."""
EARLY = 0.5
"""Fraction of the scouts that must have finished for the avalanche."""
ASSESS_AGAIN_S = 600.0
"""Least time between two assessments of a task, s; source: lifecycle reference, section 2.7."""
SUCCESS_RATE = 5
"""scoutSuccessRate of the deployed edition, tenths; source: lifecycle reference, section 2.6."""
FIRST_JOBS = 5
"""Jobs from which the documented edition measures most values; source: JEDI TWiki, ioIntensity and HS06sPerEvent."""
SAFETY = 1.5
"""Safety factor of the CPU time; source: JEDI TWiki, HS06sPerEvent."""
EVENTS_A_CORE, LONG_S = 10, 6 * HOUR
"""Events per core from which a job counts for the CPU time, and wall time from which every job does, s."""
WHOLE_HS06S = 10
"""CPU time of an event, HS06 s, from which it is rounded up to whole numbers instead of thousandths."""
LEAST_WALLTIME_S, EVENTS_FOR_OUTPUT = 3600.0, 10
OUTPUT_RANK, MOST_OUTPUT_KIB = 75, 10240.0
"""Percentile of the output of an event, and its upper limit, KiB."""
LEAST_NEW_JOBS = 20
"""Jobs still to come above which the deployed edition exhausts a task."""
SHORT_S, SHORT_SCOUTS, MANY_JOBS = 240.0, 5, 1000
"""Length of a short job, s; short scouts and expected jobs that must be exceeded; source: JEDI TWiki, task status."""
ABUSE = 2
UPDATES: ByEdition[tuple[int, ...]] = ByEdition(documented=(100,), deployed=(5, 100))
"""Finished jobs at which a task is measured again; source: lifecycle reference, section 2.7."""

LEAST_RAMCOUNT = 1
"""Least memory that the code lets a task claim after its scouts, MB."""

CPUTIME, RAMCOUNT, EFFICIENCY = "scout_cpuTime", "scout_ramCount", "low_efficiency"
CPU_ABUSE, SHORT_JOBS = "over_cpu_consumption", "short_execution"
FEW_SUCCEED, NONE_SUCCEED = "scout_success", "no_scout"
REASONS = (CPUTIME, RAMCOUNT, EFFICIENCY, CPU_ABUSE, SHORT_JOBS, FEW_SUCCEED, NONE_SUCCEED)
"""Reasons why scouts exhaust or break a task, as its errorDialog holds them."""


class Scouting(NamedTuple):
    """Progress of the scouts of a task, in chunks of input; made: chunks for which jobs were made."""

    scouts: int
    made: int
    finished: int
    failed: int                    # used up their attempts


class Jobs(NamedTuple):
    """Finished jobs of a task in the order of their ends, (n,) each."""

    walltime_s: np.ndarray
    cputime_s: np.ndarray
    corecount: np.ndarray
    hs06: np.ndarray               # of the slot
    n_events: np.ndarray
    maxpss_mb: np.ndarray
    input_bytes: np.ndarray
    output_bytes: np.ndarray


class Measured(NamedTuple):
    """Measurements of a task by its scouts, in the units of its claims; None = the claim stays.

    cputime_s: wall time of the job nearest to the CPU time; output_bytes: of an event; efficiency: median, %.
    """

    cputime: float | None
    cputime_s: float
    ramcount: float | None
    walltime_s_per_mib: float | None
    iointensity: float
    diskio: float | None
    output_bytes: float | None
    efficiency: float


class Terms(NamedTuple):
    """Terms in which the editions differ.

    of_made: half of the scouts made must finish for the avalanche, otherwise half of all; again_once: a task is
    measured again once after the avalanche, otherwise at certain numbers of jobs (L10); before_end: it is also measured
    while it scouts; success_rate: least rate without scoutSuccessRate, tenths; first_jobs: finished jobs that are
    measured, None = all (L13); from_long: jobs of precisely 6 h are long; cpu_rank: key of the percentile of the CPU
    time (L12); of_largest: ramCount is that of the largest job, otherwise a percentile with a margin (L11); all_checks:
    memory, CPU efficiency and CPU abuse exhaust a task as well, but not short jobs (L14); from_day: the CPU time of
    scouts is wrong only above a day, safety factor included; changes_rules: short scouts change the split rules.
    """

    of_made: bool
    again_once: bool
    before_end: bool
    success_rate: int
    first_jobs: int | None
    from_long: bool
    cpu_rank: GdpconfigKey
    of_largest: bool
    all_checks: bool
    from_day: bool
    changes_rules: bool


TERMS = ByEdition(
    documented=Terms(of_made=False, again_once=True, before_end=False, success_rate=0, first_jobs=FIRST_JOBS,
                     from_long=True, cpu_rank=dbproxy.SCOUT_RAMCOUNT_RANK, of_largest=True, all_checks=False,
                     from_day=False, changes_rules=False),
    deployed=Terms(of_made=True, again_once=False, before_end=True, success_rate=SUCCESS_RATE, first_jobs=None,
                   from_long=False, cpu_rank=dbproxy.SCOUT_CPUTIME_RANK, of_largest=False, all_checks=True,
                   from_day=True, changes_rules=True))


def uses_scouts(use_scout: bool, skip_scout: bool, label: str, official: bool) -> bool:
    """True if a task begins with scouts; of analysis tasks, only official ones may skip them.

    Source: lifecycle reference, section 2.7; skipScout is not documented.
    """
    return use_scout and not (skip_scout and (label not in ANALYSIS_LABELS or official))


def enough_finished(state: Scouting, edition: str) -> bool:
    """True if the avalanche can start: half of the scouts have finished (documented), or of those made (deployed)."""
    of = state.made if TERMS[edition].of_made else state.scouts
    return state.finished > 0 and state.finished >= EARLY * of


def next_update(finished: int, edition: str) -> int | None:
    """Finished jobs of a task at which it is measured again, None = never; finished: those that have now.

    The documented edition counts from the avalanche, the deployed edition from the first job (L10).
    """
    if TERMS[edition].again_once:
        return finished + UPDATES[edition][0]
    return next((number for number in UPDATES[edition] if number > finished), None)


def verdict(state: Scouting, success_rate: int | None, label: str, cfg: Gdpconfig, edition: str) -> tuple[str, bool]:
    """Why a task fails once all its scouts have ended, empty if it does not, and whether it is exhausted, not broken.

    success_rate: scoutSuccessRate, tenths, None = not set; then one success is enough as documented (JEDI TWiki, Broken
    tasks), and half of the scouts in the deployed edition.
    """
    if not state.finished:
        return NONE_SUCCEED, False
    rate = 10 * state.finished / (state.finished + state.failed)
    least = TERMS[edition].success_rate if success_rate is None else success_rate
    if rate >= least:
        return "", False
    lower = cfg.value(dbproxy.SCOUT_MIN_OK_RATE_EXHAUSTED, label=label)
    return FEW_SUCCEED, lower is not None and rate >= 10 * lower


def measure(jobs: Jobs, claims: Task, cfg: Gdpconfig, edition: str) -> Measured:
    """Measurements of a task from its finished jobs, at least one; claims: the task on arrival (L11, L12, L13)."""
    first = Jobs(*(column[:TERMS[edition].first_jobs] for column in jobs))
    cputime, cputime_s = measured_cputime(first, claims, cfg, edition)
    return Measured(cputime, cputime_s, measured_ramcount(first, claims, cfg, edition), measured_walltime(jobs, claims),
                    measured_iointensity(first), capped_diskio(claims, cfg), measured_output(jobs),
                    float(np.median(efficiencies(jobs))))


def new_claims(found: Measured) -> dict[str, float]:
    """Claims by column that measurements replace; NaN withdraws one: measured CPU time withdraws the wall time."""
    named = dict(cputime=found.cputime, iointensity=found.iointensity, diskio=found.diskio,
                 walltime_s_per_mib=found.walltime_s_per_mib if found.cputime is None else math.nan)
    return {name: value for name, value in named.items() if value is not None}


def capped_diskio(claims: Task, cfg: Gdpconfig) -> float | None:
    """Disk traffic that a task claims, kB/s, up to the cap; None without a claim."""
    cap = cfg.value(dbproxy.SCOUT_DISK_IO_CAP)
    return None if math.isnan(claims.diskio) else min(claims.diskio, math.inf if cap is None else float(cap))


def measured_cputime(jobs: Jobs, claims: Task, cfg: Gdpconfig, edition: str) -> tuple[float | None, float]:
    """CPU time of an event with the safety factor, HS06 s, and the wall time of the job that is nearest to it, s.

    None and NaN if no job counts or no cpuEfficiency is claimed. L12: the documented edition takes the percentile from
    SCOUT_RAMCOUNT_RANK, with that of the CPU time if the key has its default, and also counts jobs of precisely 6 h.
    Source: JEDI TWiki, HS06sPerEvent.
    """
    if math.isnan(claims.cpuefficiency):
        return None, math.nan
    terms = TERMS[edition]
    is_long = jobs.walltime_s >= LONG_S if terms.from_long else jobs.walltime_s > LONG_S
    tells = (jobs.n_events >= EVENTS_A_CORE * jobs.corecount) | is_long | (claims.input_bytes_per_job <= 0)
    tells &= jobs.n_events > 0
    if not tells.any():
        return None, math.nan
    used = np.maximum(jobs.walltime_s - claims.basewalltime_s, 0) * jobs.hs06 * claims.cpuefficiency / 100
    per_event = used[tells] / jobs.n_events[tells]
    rank = cfg.value(terms.cpu_rank)
    if rank == terms.cpu_rank.default:
        rank = dbproxy.SCOUT_CPUTIME_RANK.default
    found = float(np.percentile(per_event, rank))
    nearest = int(np.argmin(np.abs(per_event - found)))
    safe = found * SAFETY
    stored = float(math.ceil(safe)) if safe >= WHOLE_HS06S else math.ceil(safe * 1000) / 1000
    return stored, float(jobs.walltime_s[tells][nearest])


def measured_ramcount(jobs: Jobs, claims: Task, cfg: Gdpconfig, edition: str) -> float | None:
    """ramCount, MB in the unit of the claim: the largest (documented), or a percentile and a margin (deployed) (L11).

    Where the unit is not per core, memory of whole jobs, baseRamCount included. None leaves the claim unchanged: its
    unit is fixed, or no job has a maxPSS above 0; in the code a task with less than baseRamCount claims 1 MB.
    """
    if claims.ramunit.endswith("Fixed"):
        return None
    with_memory = jobs.maxpss_mb > 0
    if not with_memory.any():
        return None
    per_core, maxpss_mb = claims.ramunit in PER_CORE_UNITS, jobs.maxpss_mb[with_memory]
    used = (maxpss_mb - claims.baseramcount) / jobs.corecount[with_memory] if per_core else maxpss_mb
    if TERMS[edition].of_largest:
        found = math.ceil(used.max())
        return float(found) if found > 0 else None
    margin = (100 + cfg.value(dbproxy.SCOUT_RAMCOUNT_MARGIN)) / 100
    found = int(float(np.percentile(np.ceil(used * KIB), cfg.value(dbproxy.SCOUT_RAMCOUNT_RANK))) * margin / KIB)
    return float(max(found, cfg.value(dbproxy.SCOUT_RAMCOUNT_MIN) or 0, LEAST_RAMCOUNT))


def measured_walltime(jobs: Jobs, claims: Task) -> float | None:
    """Wall time per MiB of input, s, not below the claim; short jobs count as 0; None without a claim."""
    if math.isnan(claims.walltime_s_per_mib):
        return None
    longest = float(jobs.cputime_s.max())
    most_mib = float(jobs.input_bytes.max()) / MIB
    found = math.ceil(longest / most_mib * SAFETY) if longest >= LEAST_WALLTIME_S and most_mib else 0
    return max(float(found), claims.walltime_s_per_mib)


def measured_iointensity(jobs: Jobs) -> float:
    """Highest rate of input and output per core, kB/s, rounded up."""
    rate = (jobs.input_bytes + jobs.output_bytes) / KIB / np.maximum(jobs.walltime_s, 1) / jobs.corecount
    return float(math.ceil(rate.max()))


def measured_output(jobs: Jobs) -> float | None:
    """Output of an event, bytes, from jobs with enough events; None without any."""
    tells = jobs.n_events >= EVENTS_FOR_OUTPUT
    if not tells.any():
        return None
    kib = float(np.percentile(jobs.output_bytes[tells] / jobs.n_events[tells], OUTPUT_RANK)) / KIB
    return min(kib, MOST_OUTPUT_KIB) * KIB


def cpu_efficiency(cputime_s: np.ndarray, walltime_s: np.ndarray, corecount: np.ndarray) -> np.ndarray:
    """CPU efficiency of jobs, (n,) %."""
    return 100 * cputime_s / np.maximum(walltime_s * corecount, 1e-9)


def efficiencies(jobs: Jobs) -> np.ndarray:
    """CPU efficiency of jobs, (n,) %, rounded up."""
    return np.ceil(cpu_efficiency(jobs.cputime_s, jobs.walltime_s, jobs.corecount))


def exhausted(jobs: Jobs, claims: Task, found: Measured, new_jobs: float, least_efficiency: float, cfg: Gdpconfig,
              edition: str) -> str:
    """Why successful scouts exhaust their task, empty if they do not; new_jobs: jobs still to be made.

    least_efficiency: minCpuEfficiency, %. As documented: cpuTime above twice the claim, and short analysis jobs (L14);
    in the deployed edition also memory, CPU efficiency and CPU abuse, but not short jobs, and only if more than 20 jobs
    are to come.
    """
    if not TERMS[edition].all_checks:
        if new_jobs > 0 and is_wrong_cputime(found, claims, cfg, edition):
            return CPUTIME
        short = (jobs.walltime_s < SHORT_S).sum() > SHORT_SCOUTS
        return SHORT_JOBS if short and claims.prodsourcelabel in ANALYSIS_LABELS and new_jobs > MANY_JOBS else ""
    if new_jobs <= LEAST_NEW_JOBS:
        return ""
    checks = ((CPUTIME, is_wrong_cputime(found, claims, cfg, edition)), (RAMCOUNT, is_wrong_ram(found, claims, cfg)),
              (EFFICIENCY, is_inefficient(jobs, claims, found, new_jobs, least_efficiency, cfg)),
              (CPU_ABUSE, bool((jobs.cputime_s > ABUSE * jobs.walltime_s * jobs.corecount).any())))
    return next((reason for reason, holds in checks if holds), "")


def is_wrong_cputime(found: Measured, claims: Task, cfg: Gdpconfig, edition: str) -> bool:
    """True if the CPU time is far above the claim, in the deployed edition with safety factor and only above a day."""
    threshold = cfg.value(dbproxy.SCOUT_WRONG_CPUTIME_THRESHOLD)
    if found.cputime is None or math.isnan(claims.cputime) or threshold <= 0:
        return False
    if not TERMS[edition].from_day:
        return found.cputime / SAFETY > threshold * claims.cputime
    return found.cputime > threshold * claims.cputime and found.cputime_s > DAY


def is_wrong_ram(found: Measured, claims: Task, cfg: Gdpconfig) -> bool:
    """True if the memory per core exceeds a limit that the claim, if there is one, did not."""
    limit = cfg.value(dbproxy.RAM_THR_EXAUSTED) * 1000
    known = found.ramcount is not None and not math.isnan(claims.ramcount)
    return known and claims.ramunit in PER_CORE_UNITS and claims.ramcount < limit < found.ramcount


def is_inefficient(jobs: Jobs, claims: Task, found: Measured, new_jobs: float, least_efficiency: float,
                   cfg: Gdpconfig) -> bool:
    """True if the jobs use too little of their cores, for other reasons than I/O."""
    label = claims.prodsourcelabel
    forgiven = cfg.value(dbproxy.SCOUT_MAX_IO_INTENSITY_FOR_EXHAUSTED, label=label)
    if forgiven is not None and found.iointensity > forgiven:
        return False
    if found.efficiency < least_efficiency:
        return True
    low = cfg.value(dbproxy.SCOUT_LOW_CPU_EFFICIENCY, label=label)
    tenths = cfg.value(dbproxy.SCOUT_NUM_CPU_INEFFICIENT, label=label)
    least = cfg.value(dbproxy.SCOUT_THR_CPU_INEFFICIENT, label=label)
    if not low or tenths is None or least is None:
        return False
    return bool((efficiencies(jobs) < low).mean() >= tenths / 10 and new_jobs > least)


def withdraws_split_rules(jobs: Jobs, new_jobs: float, label: str, cfg: Gdpconfig, edition: str) -> bool:
    """True if the deployed edition drops nFilesPerJob and nGBPerJob of a task because its scouts are short."""
    if not TERMS[edition].changes_rules or not cfg.value(dbproxy.SCOUT_CHANGE_SR, label=label):
        return False
    limit_s = 60 * cfg.value(dbproxy.SCOUT_SHORT_EXECTIME, label=label)
    tenths = cfg.value(dbproxy.SCOUT_NUM_SHORT, label=label)
    least = cfg.value(dbproxy.SCOUT_THR_SHORT, label=label)
    if tenths is None or least is None:
        return False
    return bool((jobs.walltime_s <= limit_s).mean() >= tenths / 10 and new_jobs >= least)
