"""Scouts: measurements by finished jobs, the attributes of the task that they replace, and whether they exhaust it."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from panda_cases.config import gdpconfig
from panda_cases.shape import MOST_BYTES, Refused, fields, flag, named, reads, real, rows, text, unknown, whole
from simgrid_broker.policy.tasks import measures, scouts
from simgrid_broker.policy.tasks.splitting import mib
from simgrid_broker.units import KIB, MIB
from simgrid_broker.views import Task

INPUTS, MERGED = ("input", "pseudo_input"), ("trn_log", "trn_output")
MILLI, WHOLE, OF_HS06 = "mHS06sPerEvent", "HS06sPerEvent", "HS06sPerEvent"
UNKNOWN = ("ioIntensity", "ioIntensityUnit", "diskIO", "diskIOUnit", "memory_leak_core", "memory_leak_x2",
           "mergewalltime", "mergeramCount", "mergeramUnit")
"""Attributes that no task has before its scouts."""
WALLTIME = {"walltimeUnit": "kSI2kseconds"}
"""Attribute that any evaluation sets."""


def said_number(value: Any, place: str, refused: Refused) -> float | None:
    """A number, which a parameter of a task may also say as a text."""
    is_text = isinstance(value, str) and re.fullmatch(r"-?\d+(\.\d*)?", value)
    return real()(float(value) if is_text else value, place, refused)


def benchmark(value: Any, place: str, refused: Refused) -> tuple | None:
    """Site, null = unknown, and power of a core of a host."""
    site, power = value if isinstance(value, list) and len(value) == 2 else (None, None)
    is_known = isinstance(site, str | None) and real()(power, place, []) is not None
    return (site, power) if is_known else unknown(value, place, refused)


BYTES = real(most=MOST_BYTES)
TASK = fields(
    splitRules=fields(rest=real()), **dict.fromkeys(
        ("prodSourceLabel", "ramUnit", "cpuTimeUnit", "outDiskUnit"), text()), **dict.fromkeys(
        ("walltime", "baseRamCount", "cpuEfficiency", "baseWalltime", "workDiskCount"), real()))
DATASET = fields(datasetID=whole(), type=text(), masterID=whole(), nFiles=real(0), nFilesUsed=real(0),
                 nFilesFinished=real(0))
FILE = fields(datasetID=whole(), PandaID=whole(), status=text(), type=text(), fsize=BYTES, **dict.fromkeys(
    ("nEvents", "startEvent", "endEvent", "attemptNr", "maxAttempt", "failedAttempt", "maxFailure"), real()))
JOB = fields(
    PandaID=whole(), output_files=rows(fields(dataset=text(""), fsize=real(0, most=MOST_BYTES))), **dict.fromkeys(
        ("computingSite", "modificationhost", "jobMetrics"), text("")), **dict.fromkeys(
        ("actualCoreCount", "coreCount", "walltime", "cpuConsumptionTime", "maxPSS", "memory_leak", "memory_leak_x2"),
        real()), **dict.fromkeys(("inputFileBytes", "outputFileBytes", "totRBYTES", "totWBYTES"), BYTES))


@reads(task=TASK, taskParams=fields(cpuTime=said_number, ramCount=said_number, cpuTimeUnit=text()),
       queues=named(fields(pandasite=text(""), corepower=real(0.0))), cpu_benchmarks=named(named(rows(benchmark))),
       datasets=rows(DATASET), files=rows(FILE), jobs=rows(JOB, "PandaID"), useExhausted=flag())
def answer(case: dict) -> dict:
    """Attributes of the task after its scouts, and whether they succeeded or exhaust it."""
    cfg, limits = gdpconfig(case)
    task, split, edition = case["task"], dict(case["task"]["splitRules"]), case["edition"]
    jobs, claims, rules = jobs_of(case, INPUTS), claims_of(case), rules_of(split)
    least = split.get("scoutSuccessRate") or 0 if split.get("useScout") else 0
    failed, low = scouts.verdict(state_of(case), least, claims.prodsourcelabel, cfg, edition)
    judgement, attributes = scouts.Judgement(), dict.fromkeys(UNKNOWN) | task | WALLTIME
    if len(jobs):
        preset = preset_of(case)
        found = measures.measure(jobs, claims, preset, cfg, edition)
        attributes |= replaced(case, found)
        ng = measures.measured_ng(jobs, found, preset, number(split.get("tgtMaxOutputForNG"), 0.0))
        split |= {} if ng is None else {"nGBPerJob": ng}
        if case["useExhausted"] and (low or not failed):
            expected = scouts.expected_jobs(input_of(case), rules, edition)
            judgement = scouts.exhausted(scouts.Evidence(jobs, claims, found, expected, rules_of(split), low), cfg,
                                         edition)
        if judgement.short_jobs:
            new = scouts.without_sizes(rules_of(split))._asdict()
            split = {name: new.get(name, value) for name, value in split.items() if new.get(name, value)}
    merged, of_merging = merge_measures(case, claims, attributes, cfg)
    return dict(scoutSucceeded=low or not failed, mergeScoutSucceeded=merged, exhausted=bool(judgement.reason),
                reason=judgement.reason or None, splitRules=split, task=attributes | of_merging, limits=limits)


def merge_measures(case: dict, claims: Task, attributes: dict, cfg: Any) -> tuple[bool | None, dict]:
    """Success of merge jobs, None = there are none, and the attributes that they measure."""
    if not case["task"]["splitRules"].get("mergeOutput"):
        return None, {}
    jobs = jobs_of(case, MERGED)
    values: dict = {}
    if len(jobs):
        said = number(attributes["walltime"], 0.0)
        walltime, memory = measures.measure_merging(jobs, claims, said if said >= 0 else math.nan, cfg, case["edition"])
        values = dict(mergewalltime=said if walltime is None else walltime)
        values |= {} if memory is None else dict(mergeramCount=memory, mergeramUnit=claims.ramunit)
    return any(file["status"] == "finished" for file in files_of(case, MERGED)), values


def files_of(case: dict, types: tuple[str, ...]) -> list[dict]:
    """Files of the datasets of some types that decide which jobs are made."""
    masters = {one["datasetID"] for one in case["datasets"] if one["type"] in types and one["masterID"] is None}
    return [file for file in case["files"] if file["datasetID"] in masters]


def jobs_of(case: dict, types: tuple[str, ...]) -> np.ndarray:
    """Finished jobs on master files of some types."""
    own: dict[int, list[dict]] = {}
    for file in files_of(case, types):
        if file["status"] == "finished":
            own.setdefault(file["PandaID"], []).append(file)
    by_id = {job["PandaID"]: job for job in case["jobs"]}
    rows = [job_row(case, by_id[panda_id], files, types is INPUTS) for panda_id, files in own.items()
            if panda_id in by_id]
    return np.array(rows, measures.JOB)


def job_row(case: dict, job: dict, files: list[dict], by_host: bool) -> tuple:
    """A job in the order of `JOB`; by_host: the benchmark of its host is asked for."""
    queue, metrics = case["queues"].get(job["computingSite"], {}), job["jobMetrics"]
    site = queue.get("pandasite", "")
    benchmarks = case["cpu_benchmarks"].get(site, {}).get(job["modificationhost"], []) if by_host else []
    cores = job["actualCoreCount"] or number(metric("coreCount", metrics), job["coreCount"] or 1)
    power = measures.core_power(benchmarks, site, queue.get("corepower", 0.0))
    outputs = sizes_of_outputs(job)
    return (number(job["walltime"], 0.0), number(job["cpuConsumptionTime"]), cores, power * cores,
            sum(map(events_of, files)), number(job["maxPSS"]) / KIB, sum(map(mib_of, files)),
            number(job["inputFileBytes"]) - sum(file["fsize"] or 0 for file in files), number(job["outputFileBytes"]),
            sum(outputs) and number(job["outputFileBytes"]) * max(outputs) / sum(outputs),
            number(job["totRBYTES"]) + number(job["totWBYTES"]), number(job["memory_leak"]),
            number(job["memory_leak_x2"]), number(metric("workDirSize", metrics), 0.0) / MIB)


def sizes_of_outputs(job: dict) -> list[float]:
    """Bytes of each output dataset of a job."""
    sizes: dict[str, float] = {}
    for file in job["output_files"]:
        sizes[file["dataset"]] = sizes.get(file["dataset"], 0) + file["fsize"]
    return list(sizes.values())


def metric(name: str, metrics: str) -> str | None:
    """A whole number in the text of jobMetrics."""
    said = re.search(rf"{name}=(\d+)", metrics)
    return said and said[1]


def events_of(file: dict) -> float:
    """Events of a file that are read."""
    if file["startEvent"] is None or file["endEvent"] is None:
        return 1 if file["nEvents"] is None else file["nEvents"]
    return max(file["endEvent"] - file["startEvent"] + 1, 1)


def mib_of(file: dict) -> float:
    """Size of a file in proportion to the events that are read, MiB."""
    whole = None in (file["startEvent"], file["endEvent"]) or not file["nEvents"] or not file["fsize"]
    return mib(file["fsize"] if whole else int(file["fsize"] * events_of(file) / file["nEvents"]))


def claims_of(case: dict) -> Task:
    """The task before its scouts; without a CPU time of events it claims none."""
    task, said = case["task"], case["taskParams"]
    unit = said["cpuTimeUnit"] or (WHOLE if said["cpuTime"] else "")
    claimed = number(said["cpuTime"]) / (1000 if unit.startswith("m") else 1)
    walltime = task["walltime"] or 0
    pseudo = any(one["type"] == "pseudo_input" and one["masterID"] is None for one in case["datasets"])
    return Task.of(dict(
        prodsourcelabel=task["prodSourceLabel"] or "", ramcount=number(said["ramCount"]),
        ramunit=task["ramUnit"] or "MB", baseramcount=task["baseRamCount"] or 0,
        cputime=claimed if OF_HS06 in (task["cpuTimeUnit"] or "") else math.nan, cputimeunit=unit,
        cpuefficiency=number(task["cpuEfficiency"], 100.0), basewalltime_s=task["baseWalltime"] or 0,
        walltime_s_per_mib=math.nan if walltime < 0 else walltime, input_bytes_per_job=0.0 if pseudo else 1.0))


def preset_of(case: dict) -> measures.Preset:
    """Claims of the task beside those of its view."""
    libraries = [file["fsize"] or 0 for file in case["files"] if file["type"] == "lib" and file["status"] == "finished"]
    return measures.Preset(number(case["task"]["workDiskCount"]), case["task"]["outDiskUnit"] or "",
                           max(libraries, default=0) / MIB)


def rules_of(split: dict) -> scouts.SplitRules:
    """Split rules as scouts read them."""
    return scouts.SplitRules(**{name: split.get(name) or 0 for name in scouts.SplitRules._fields})


def number(value: Any, unknown: float = math.nan) -> float:
    """A number, or the value of an unknown one."""
    return unknown if value is None else float(value)


def state_of(case: dict) -> scouts.Scouting:
    """Jobs on input that were made, finished or given up, each counted once in each of these states."""
    pairs = {(file["PandaID"], state(file)) for file in files_of(case, INPUTS) if file["PandaID"] is not None}
    finished, failed = (sum(of == word for _, of in pairs) for word in ("finished", "failed"))
    return scouts.Scouting(len(pairs), len(pairs), finished, failed)


def state(file: dict) -> str:
    """State of a file: finished, failed if it has no other attempt, or neither."""
    given_up = number(file["maxAttempt"], 0) <= number(file["attemptNr"], 0) or (
        file["maxFailure"] is not None and file["maxFailure"] <= (file["failedAttempt"] or 0))
    return "failed" if file["status"] == "ready" and given_up else (
        "finished" if file["status"] == "finished" else "")


def input_of(case: dict) -> scouts.Input:
    """Files and events of the input, and its finished jobs."""
    masters = [one for one in case["datasets"] if one["type"] in INPUTS and one["masterID"] is None]
    files, used, finished = (sum(one[name] for one in masters) for name in ("nFiles", "nFilesUsed",
                                                                               "nFilesFinished"))
    done = [file for file in files_of(case, INPUTS) if file["status"] == "finished"]
    jobs = len({file["PandaID"] for file in done})
    known: Callable = lambda several: sum(events_of(one) for one in several if one["endEvent"] is not None  # noqa: E731
                                          or one["nEvents"] is not None)
    return scouts.Input(files, used, finished, jobs, sum(one["fsize"] or 0 for one in done) / MIB / max(jobs, 1),
                        known(files_of(case, INPUTS)), known(done))


def replaced(case: dict, found: measures.Measured) -> dict:
    """Attributes of a task that its measurements replace, in PanDA's units."""
    task, said = case["task"], case["taskParams"]
    values: dict = dict(workDiskCount=found.workdisk_mb, workDiskUnit="MB",
                        ramUnit=task["ramUnit"] or "MB") | {name: value for name, value in dict(
        ramCount=found.ramcount, walltime=found.walltime_s_per_mib, ioIntensity=found.iointensity,
        diskIO=found.diskio, outDiskCount=found.output_kib, memory_leak_core=found.memory_leak_core,
        memory_leak_x2=found.memory_leak_x2).items() if value is not None}
    values |= {f"{name}Unit": "kBPerS" for name in ("ioIntensity", "diskIO") if name in values}
    if "outDiskCount" in values:
        values["outDiskUnit"] = "kBPerEvent" if (task["outDiskUnit"] or "").endswith("PerEvent") else "kB"
    if found.cputime is not None and found.cputime < measures.WHOLE_HS06S:
        values |= dict(cpuTime=round(found.cputime * 1000), cpuTimeUnit=MILLI)
    elif found.cputime is not None:
        values |= dict(cpuTime=found.cputime, cpuTimeUnit=WHOLE if said["cpuTimeUnit"] or said["cpuTime"]
                       else task["cpuTimeUnit"])
    return values
