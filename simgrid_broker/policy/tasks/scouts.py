"""Scouts: when the avalanche starts, and which tasks they exhaust or break; source: JEDI TWiki, task status and Broken
tasks; lifecycle reference, sections 2.7 and 8.4 (panda-server, `setScoutJobData_JEDI`)."""

import math
from typing import NamedTuple

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.editions import ByEdition
from simgrid_broker.gdpconfig import dbproxy
from simgrid_broker.names import ANALYSIS_LABELS
from simgrid_broker.policy.jobs.resource_types import PER_CORE_UNITS
from simgrid_broker.policy.tasks.measures import SAFETY, WHOLE_HS06S, Measured, find_efficiencies
from simgrid_broker.units import DAY
from simgrid_broker.views import Gdpconfig, Task

N_SCOUTS = 10
"""Chunks of input for scouts, nChunksForScout; source: lifecycle reference, section 2.7."""
EARLY = 0.5
"""Fraction of the scouts that must have finished for the avalanche."""
ASSESS_AGAIN_S = 600.0
"""Least time between two assessments of a task, s; source: lifecycle reference, section 2.7."""
SUCCESS_RATE = 5
"""scoutSuccessRate of the deployed edition, tenths; source: lifecycle reference, section 2.6."""
LEAST_NEW_JOBS = 20
"""Jobs still to come above which the deployed edition exhausts a task."""
SHORT_S, SHORT_SCOUTS, MANY_JOBS = 240.0, 5, 1000
"""Length of a short job, s; short scouts and expected jobs that must be exceeded; source: JEDI TWiki, task status."""
ABUSE = 2
MOST_INPUT_MIB, MOST_INPUT_OF_SCOUT_MIB = 500_000, 50_000
"""Input of a job after the avalanche and of a scout where the task sets no size; source: panda-server, `InputChunk`."""
MOST_FILES = 200
"""Limit of files in a job of a task whose own splitting was withdrawn; source: lifecycle reference, section 2.7."""
UPDATES: ByEdition[tuple[int, ...]] = ByEdition(documented=(100,), deployed=(5, 100))
"""Finished jobs at which a task is measured again; source: lifecycle reference, section 2.7."""

CPUTIME, RAMCOUNT, EFFICIENCY = "scout_cpuTime", "scout_ramCount", "low_efficiency"
CPU_ABUSE, SHORT_JOBS = "over_cpu_consumption", "short_execution"
FEW_SUCCEED, LOW_SUCCESS, NONE_SUCCEED = "scout_success", "low_success_rate", "no_scout"
REASONS = (CPUTIME, RAMCOUNT, EFFICIENCY, CPU_ABUSE, SHORT_JOBS, FEW_SUCCEED, LOW_SUCCESS, NONE_SUCCEED)
"""Reasons why scouts exhaust or break a task, as its errorDialog holds them."""


class Scouting(NamedTuple):
    """Progress of the scouts of a task, in chunks of input; made: chunks for which jobs were made."""

    scouts: int
    made: int
    finished: int
    failed: int                    # used up their attempts


class SplitRules(NamedTuple):
    """Task parameters that scouts look at, in PanDA's names; 0 = not given."""

    nFilesPerJob: int = 0
    nEventsPerJob: int = 0
    nGBPerJob: float = 0
    nMaxFilesPerJob: int = 0
    minCpuEfficiency: float = 0


class Input(NamedTuple):
    """Files of the master datasets of a task, the events in them, and the jobs on them that have finished.

    mean_mib: size of the files of a finished job; events are 0 where they are not known.
    """

    files: int
    used: int
    finished: int
    jobs: int
    mean_mib: float = 0.0
    events: float = 0.0
    finished_events: float = 0.0


class Expected(NamedTuple):
    """Jobs that a task is expected to make from unused files, and in all by its files and by its events."""

    new: int
    by_files: int
    by_events: int


class Judgement(NamedTuple):
    """Reason why successful scouts exhaust their task, empty if they do not; short_jobs: its split rules change."""

    reason: str = ""
    short_jobs: bool = False


class Terms(NamedTuple):
    """Terms in which the editions differ.

    of_made: half of the scouts made must finish for the avalanche, otherwise half of all; again_once: a task is
    measured again once after the avalanche, otherwise at certain numbers of jobs (L10); before_end: it is also measured
    while it scouts; success_rate: least rate without scoutSuccessRate, tenths; all_checks: memory, CPU efficiency and
    CPU abuse exhaust a task as well, but not short jobs (L14), which change its split rules; from_day: the CPU time of
    scouts is wrong only above a day, safety factor included; by_size: a task that says no size of its jobs is expected
    to make them as large as it may; early_end: too few successes break a task at the avalanche already; sets_ng: scouts
    set nGBPerJob of a task with tgtMaxOutputForNG; keeps_unit: a task without a unit of CPU time gets none by whole
    HS06 s; watched_from: finished jobs from which a watchdog judges running tasks that are measured again, None = none
    does.
    """

    of_made: bool
    again_once: bool
    before_end: bool
    success_rate: int
    all_checks: bool
    from_day: bool
    by_size: bool
    early_end: bool
    sets_ng: bool
    keeps_unit: bool
    watched_from: int | None


TERMS = ByEdition(
    documented=Terms(of_made=False, again_once=True, before_end=False, success_rate=0, all_checks=False,
                     from_day=False, by_size=False, early_end=False, sets_ng=False,
                     keeps_unit=False, watched_from=None),
    deployed=Terms(of_made=True, again_once=False, before_end=True, success_rate=SUCCESS_RATE, all_checks=True,
                   from_day=True, by_size=True, early_end=True, sets_ng=True,
                   keeps_unit=True, watched_from=5))


def uses_scouts(use_scout: bool, skip_scout: bool, label: str, official: bool) -> bool:
    """True if a task begins with scouts; of analysis tasks, only official ones may skip them.

    Source: lifecycle reference, section 2.7; skipScout is not documented.
    """
    return use_scout and not (skip_scout and (label not in ANALYSIS_LABELS or official))


@compiled
def counted(scouts, made, of_made):
    """Scouts of which half must finish for the avalanche: all (documented), or those made (deployed)."""
    return made if of_made else scouts


@compiled
def enough_finished(finished, of):
    """True if the avalanche can start: half of the scouts that count have finished."""
    return finished > 0 and finished >= EARLY * of


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


def input_of(jobs: np.ndarray, files: int, used: int, finished: int, events: float) -> Input:
    """Input of a task on which some jobs have finished; events: of all of its files."""
    return Input(files, used, finished, len(jobs), float(np.add.reduce(jobs["input_mib"]) / len(jobs)), events,
                 float(np.add.reduce(jobs["n_events"])))


def expected_jobs(of: Input, rules: SplitRules, edition: str) -> Expected:
    """Jobs that a task is expected to make, each as large as those that have finished.

    In the deployed edition a task without nFilesPerJob, nEventsPerJob, nGBPerJob and nMaxFilesPerJob is expected to
    make jobs with 500 GB of input, by its events ten times as large as its scouts. Source: panda-server,
    `getScoutJobData_JEDI`.
    """
    if not of.finished:
        return Expected(0, 0, 0)
    new, by_files = ((number * of.jobs) // of.finished for number in (of.files - of.used, of.files))
    by_events = int(of.events * of.jobs // of.finished_events) if of.finished_events else 0
    if TERMS[edition].by_size and not any(rules[:4]):
        new, by_files = (int(number * of.mean_mib / MOST_INPUT_MIB) for number in (new, by_files))
        by_events = int(by_events * MOST_INPUT_OF_SCOUT_MIB / MOST_INPUT_MIB)
    return Expected(new, by_files, by_events)


def new_claims(found: Measured, claims: Task, edition: str) -> dict[str, float]:
    """Columns of the task that measurements replace; NaN withdraws one: measured CPU time withdraws the wall time.

    QUIRK of the deployed edition: a task that claims no CPU time gets a unit for it only if it is below 10 HS06 s an
    event; otherwise it goes on by its wall time.
    """
    unit_stays = TERMS[edition].keeps_unit and not claims.cputimeunit
    by_work = found.cputime is not None and (found.cputime < WHOLE_HS06S or not unit_stays)
    named = dict(cputime=found.cputime, iointensity=found.iointensity, diskio=found.diskio,
                 walltime_s_per_mib=math.nan if by_work else found.walltime_s_per_mib,
                 workdiskcount_mb=found.workdisk_mb, memory_leak_core=found.memory_leak_core,
                 memory_leak_x2=found.memory_leak_x2)
    return {name: value for name, value in named.items() if value is not None}


class Evidence(NamedTuple):
    """Facts by which successful scouts are judged.

    jobs: finished ones, (n,) of JOB; low_success: fewer finished than scoutSuccessRate asks for.
    """

    jobs: np.ndarray
    claims: Task
    found: Measured
    expected: Expected
    rules: SplitRules = SplitRules()
    low_success: bool = False


def exhausted(of: Evidence, cfg: Gdpconfig, edition: str) -> Judgement:
    """Judgement of successful scouts.

    As documented: cpuTime above twice the claim, and short analysis jobs (L14); in the deployed edition also memory,
    CPU efficiency and CPU abuse, but not short jobs, and only if more than 20 jobs are to come. There short jobs change
    the split rules of a task, whose CPU efficiency is then not looked at.
    """
    wrong_cputime = is_wrong_cputime(of.found, of.claims, cfg, edition)
    low_success = LOW_SUCCESS if of.low_success else ""
    if not TERMS[edition].all_checks:
        short = (of.jobs["walltime_s"] < SHORT_S).sum() > SHORT_SCOUTS
        many = short and of.claims.prodsourcelabel in ANALYSIS_LABELS and of.expected.new > MANY_JOBS
        return Judgement(CPUTIME if of.expected.new > 0 and wrong_cputime else SHORT_JOBS if many else low_success)
    if of.expected.new <= LEAST_NEW_JOBS:
        return Judgement()
    if wrong_cputime or is_wrong_ram(of.found, of.claims, cfg):
        return Judgement(CPUTIME if wrong_cputime else RAMCOUNT)
    short_jobs = withdraws_split_rules(of, cfg)
    if not short_jobs and is_inefficient(of, cfg):
        return Judgement(EFFICIENCY)
    return Judgement(CPU_ABUSE if is_abuse(of.jobs) else low_success, short_jobs)


def is_wrong_cputime(found: Measured, claims: Task, cfg: Gdpconfig, edition: str) -> bool:
    """True if the CPU time is far above the claim, in the deployed edition with safety factor and only above a day.

    There a CPU time below 10 HS06 s is compared with the claim in whole thousandths.
    """
    threshold = cfg.value(dbproxy.SCOUT_WRONG_CPUTIME_THRESHOLD)
    claimed = claims.cputime if claims.cputimeunit and not math.isnan(claims.cputime) else 0.0
    if found.cputime is None or not claimed or threshold <= 0:
        return False
    if not TERMS[edition].from_day:
        return found.cputime / SAFETY > threshold * claimed
    claimed = int(claimed * 1000) / 1000 if found.cputime < WHOLE_HS06S else claimed
    return found.cputime > threshold * claimed and (found.cputime_job_s or 0.0) > DAY


def is_wrong_ram(found: Measured, claims: Task, cfg: Gdpconfig) -> bool:
    """True if the memory per core exceeds a limit that the claim, if there is one, did not."""
    limit = cfg.value(dbproxy.RAM_THR_EXAUSTED) * 1000
    known = found.ramcount is not None and not math.isnan(claims.ramcount)
    return known and claims.ramunit in PER_CORE_UNITS and claims.ramcount < limit < found.ramcount


def is_inefficient(of: Evidence, cfg: Gdpconfig) -> bool:
    """True if the jobs use too little of their cores, for other reasons than I/O.

    A task that reaches minCpuEfficiency is efficient, whatever single jobs are; in the code a misspelt name ends the
    evaluation of any task with minCpuEfficiency instead.
    """
    label, efficiency, least = of.claims.prodsourcelabel, of.found.efficiency, of.rules.minCpuEfficiency
    forgiven = cfg.value(dbproxy.SCOUT_MAX_IO_INTENSITY_FOR_EXHAUSTED, label=label)
    if efficiency is None or (forgiven is not None and (of.found.iointensity or 0.0) > forgiven):
        return False
    if least:
        return efficiency < least
    low = cfg.value(dbproxy.SCOUT_LOW_CPU_EFFICIENCY, label=label)
    tenths = cfg.value(dbproxy.SCOUT_NUM_CPU_INEFFICIENT, label=label)
    most = cfg.value(dbproxy.SCOUT_THR_CPU_INEFFICIENT, label=label)
    if not tenths or not most:
        return False
    efficiencies = np.empty(len(of.jobs))
    efficiencies = efficiencies[:find_efficiencies(of.jobs, efficiencies)]
    inefficient = bool((efficiencies < low).mean() >= tenths / 10)
    return inefficient and max(of.expected.by_files, of.expected.by_events) > most


@compiled
def is_abuse(jobs):
    """True if the job with most CPU time, the last of several, used more than twice its wall time on all of its cores.
    """
    most, used = 0, 0.0
    for k in range(len(jobs)):
        if jobs[k]["cputime_s"] >= used:
            most, used = k, jobs[k]["cputime_s"]
    return used > jobs[most]["walltime_s"] * jobs[most]["corecount"] * ABUSE


def withdraws_split_rules(of: Evidence, cfg: Gdpconfig) -> bool:
    """True if the split rules of a task change because its scouts are short; never if the change would be none."""
    label = of.claims.prodsourcelabel
    if not cfg.value(dbproxy.SCOUT_CHANGE_SR, label=label) or without_sizes(of.rules) == of.rules:
        return False
    limit_s = 60 * cfg.value(dbproxy.SCOUT_SHORT_EXECTIME, label=label)
    tenths = cfg.value(dbproxy.SCOUT_NUM_SHORT, label=label)
    least = cfg.value(dbproxy.SCOUT_THR_SHORT, label=label)
    if not tenths or not least:
        return False
    short = bool((of.jobs["walltime_s"] <= limit_s).mean() >= tenths / 10)
    return short and min(of.expected.by_files, of.expected.by_events) >= least


def without_sizes(rules: SplitRules) -> SplitRules:
    """Split rules of a task with short jobs: no nFilesPerJob and nGBPerJob; nMaxFilesPerJob, if given, at least 200."""
    most = rules.nMaxFilesPerJob
    return rules._replace(nFilesPerJob=0, nGBPerJob=0, nMaxFilesPerJob=max(most, MOST_FILES) if most else 0)
