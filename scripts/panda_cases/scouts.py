"""Scouts: measurements by finished jobs, the attributes of the task that they replace, and whether they exhaust it."""

import math
from collections import Counter
from typing import Any

import numpy as np

from panda_cases.config import gdpconfig
from simgrid_broker.policy.tasks import scouts as rules
from simgrid_broker.units import KIB
from simgrid_broker.views import Task

INPUTS = ("input", "pseudo_input")
DEFAULT_COREPOWER = 10.0
WITHDRAWN, MAX_FILES, MOST_FILES = ("nFilesPerJob", "nGBPerJob"), "nMaxFilesPerJob", 200
PER_EVENT = ("kBPerEvent", "kBPerEventFixed")
LOW_RATE = "low_success_rate"
MILLI, WHOLE, FIXED = "mHS06sPerEvent", "HS06sPerEvent", "Fixed"
UNKNOWN = ("ioIntensity", "ioIntensityUnit", "diskIO", "diskIOUnit", "memory_leak_core", "memory_leak_x2",
           "mergewalltime", "mergeramCount", "mergeramUnit")
"""Attributes that no task has before its scouts."""
NOT_MEASURED = {"diskIO": "totRBYTES", "memory_leak_core": "memory_leak", "memory_leak_x2": "memory_leak_x2"}
"""Attributes that a run does not measure, and the values of jobs that they need."""


def answer(case: dict) -> dict:
    """Attributes of the task after its scouts, and whether they succeeded or exhaust it."""
    cfg, limits = gdpconfig(case)
    task, jobs, claims, split = case["task"], jobs_of(case), claims_of(case), dict(case["task"]["splitRules"])
    label = task["prodSourceLabel"]
    least = split.get("scoutSuccessRate", 0) if split.get("useScout") else 0
    failed, exhausts = rules.verdict(state_of(case), least, label, cfg, case["edition"])
    reason, attributes = "", {**dict.fromkeys(UNKNOWN), **task}
    if len(jobs.walltime_s):
        new_jobs = jobs_to_come(case)
        found = rules.measure(jobs, claims, cfg, case["edition"])
        attributes |= replaced(case, claims, found)
        if not failed or exhausts:
            reason = rules.exhausted(jobs, claims, found, new_jobs, split.get("minCpuEfficiency", 0), cfg,
                                     case["edition"])
        if rules.withdraws_split_rules(jobs, new_jobs, label, cfg, case["edition"]):
            split = {name: value for name, value in split.items() if name not in WITHDRAWN} | {MAX_FILES: MOST_FILES}
    reason = (reason or (LOW_RATE if exhausts else "")) if case["useExhausted"] else ""
    return dict(scoutSucceeded=not failed or exhausts, mergeScoutSucceeded=None, exhausted=bool(reason),
                reason=reason or None, splitRules=split, task=attributes, limits=limits + unmeasured(case))


def unmeasured(case: dict) -> list[str]:
    """Inputs of a case that a run does not know."""
    merging = [one["type"] for one in case["datasets"] if one["type"].startswith("trn_")]
    return sorted({name for name in NOT_MEASURED.values() for job in case["jobs"] if job[name] is not None}
                  | {"cpu_benchmarks" for _ in case.get("cpu_benchmarks") or ()} | set(merging))


def jobs_of(case: dict) -> rules.Jobs:
    """Finished jobs on input of the task."""
    own = {file["PandaID"]: 0 for file in case["files"] if file["status"] == "finished" and file["type"] in INPUTS}
    by_id = {job["PandaID"]: job for job in case["jobs"]}
    rows = [job_row(by_id[number], case["queues"], events_of(case, number), input_bytes(case, number))
            for number in own if number in by_id]
    return rules.Jobs(*np.array(rows, float).reshape(-1, len(rules.Jobs._fields)).T)


def input_bytes(case: dict, number: int) -> float:
    """Bytes that a job reads from the master dataset, in proportion to the events of each file."""
    masters = master_ids(case)
    return sum(file["fsize"] * part_of(file) for file in case["files"]
               if file["PandaID"] == number and file["status"] == "finished" and file["datasetID"] in masters)


def events_of(case: dict, number: int) -> int:
    """Events that a job reads from the master dataset."""
    masters = master_ids(case)
    return sum((file["nEvents"] or 0) if file["startEvent"] is None else file["endEvent"] - file["startEvent"] + 1
               for file in case["files"] if file["PandaID"] == number and file["status"] == "finished"
               and file["datasetID"] in masters)


def part_of(file: dict) -> float:
    """Part of the events of a file that is read."""
    if file["startEvent"] is None or not file["nEvents"]:
        return 1.0
    return (file["endEvent"] - file["startEvent"] + 1) / file["nEvents"]


def master_ids(case: dict) -> set[int]:
    """Datasets that decide which jobs are made."""
    return {one["datasetID"] for one in case["datasets"] if one["type"] in INPUTS and one["masterID"] is None}


def job_row(job: dict, queues: dict, n_events: int, read_bytes: float) -> tuple:
    """A job in the order of `Jobs`; one without cores has one."""
    cores = job["actualCoreCount"] or job["coreCount"] or 1
    power = (queues.get(job["computingSite"]) or {}).get("corepower") or DEFAULT_COREPOWER
    return (job["walltime"], job["cpuConsumptionTime"] or 0, cores, power * cores, n_events,
            (job["maxPSS"] or math.nan) / KIB, read_bytes, job["outputFileBytes"] or 0)


def claims_of(case: dict) -> Task:
    """The task before its scouts."""
    task = case["task"]
    walltime = task["walltime"] or 0
    pseudo = any(one["type"] == "pseudo_input" for one in case["datasets"])
    return Task.of(dict(
        prodsourcelabel=task["prodSourceLabel"], ramcount=number(case["taskParams"].get("ramCount")),
        ramunit=task["ramUnit"] or "MB",
        baseramcount=task["baseRamCount"] or 0, cputime=claimed_cputime(case["taskParams"]),
        cpuefficiency=100.0 if task["cpuEfficiency"] is None else task["cpuEfficiency"],
        basewalltime_s=task["baseWalltime"] or 0, walltime_s_per_mib=math.nan if walltime < 0 else walltime,
        diskio=math.nan, input_bytes_per_job=0.0 if pseudo else 1.0))


def claimed_cputime(params: dict) -> float:
    """CPU time of an event that the user claims, HS06 s; NaN without a unit."""
    unit = params.get("cpuTimeUnit")
    return number(params.get("cpuTime")) / (1000 if unit == MILLI else 1) if unit else math.nan


def number(value: Any) -> float:
    """A number, NaN if there is none."""
    return math.nan if value is None else float(value)


def state_of(case: dict) -> rules.Scouting:
    """Chunks of input that were made, finished or given up, each known by its job."""
    master = master_ids(case)
    of = Counter(state for _, state in {(file["PandaID"], ended(file)) for file in case["files"]
                                        if file["datasetID"] in master and file["PandaID"] is not None})
    return rules.Scouting(of.total(), of.total(), of["finished"], of["failed"])


def ended(file: dict) -> str:
    """Status of a file; one without another attempt has failed."""
    return "failed" if file["status"] == "ready" and file["attemptNr"] >= file["maxAttempt"] else file["status"]


def jobs_to_come(case: dict) -> float:
    """Jobs that the unused input still makes, by the files of the jobs so far."""
    master = next((one for one in case["datasets"] if one["type"] in INPUTS and one["masterID"] is None), None)
    if master is None or not master["nFilesUsed"]:
        return 0.0
    finished = len({file["PandaID"] for file in case["files"] if file["status"] == "finished"
                    and file["datasetID"] == master["datasetID"]})
    return (master["nFiles"] - master["nFilesUsed"]) * finished / max(master["nFilesFinished"], 1)


def whole_unit(unit: str | None) -> str | None:
    """Unit of a CPU time in whole HS06 s; a task that has no unit in thousandths keeps its own."""
    return WHOLE if unit == MILLI else unit


def replaced(case: dict, claims: Task, found: rules.Measured) -> dict:
    """Attributes of a task that its measurements replace, in PanDA's units."""
    task = case["task"]
    values: dict = dict(ioIntensity=found.iointensity, ioIntensityUnit="kBPerS", walltimeUnit="kSI2kseconds",
                        ramUnit=claims.ramunit)
    if found.cputime is not None and not (case["taskParams"].get("cpuTimeUnit") or "").endswith(FIXED):
        whole = found.cputime >= rules.WHOLE_HS06S
        values |= dict(cpuTime=found.cputime if whole else round(found.cputime * 1000),
                       cpuTimeUnit=whole_unit(task["cpuTimeUnit"]) if whole else MILLI)
    if found.walltime_s_per_mib is not None:
        values["walltime"] = found.walltime_s_per_mib
    if found.ramcount is not None:
        values["ramCount"] = found.ramcount
    if found.output_bytes is not None and task["outDiskUnit"] == PER_EVENT[0]:
        values["outDiskCount"] = int(found.output_bytes / KIB)
    return values
