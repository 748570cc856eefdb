"""Splitting: how the files of a task are cut into jobs at the queues that are drawn."""

import math
import re

import numpy as np

from panda_cases.shape import MOST_BYTES, either, fields, flag, reads, real, rows, text, whole
from simgrid_broker.policy.brokerage.production.broker import (
    JOBS_PER_BLOCK,
    PLACE,
    SCOUTS_PER_BLOCK,
    draw_blocks,
    is_open,
)
from simgrid_broker.policy.tasks import splitting
from simgrid_broker.policy.tasks.cutting import BESIDE, SECONDARY, Beside, Room, cut_jobs
from simgrid_broker.units import GIB, KIB, MIB
from simgrid_broker.views import PIECE, InputFile

UNITS = {"GB": GIB, "MB": MIB, "kB": KIB}
HS06 = ("HS06sPerEvent", "HS06sPerEventFixed", "mHS06sPerEvent", "mHS06sPerEventFixed")
MARGIN = 300 * MIB
MOST_READS = 100_000
"""Secondary files that the jobs of a block may read together."""
GIVEN_UP = ("onSiteMerging",)
SEQUENCE = "seq_number"
"""Dataset of numbers, of which each job gets one."""
FIELDS_BEFORE = 4
"""Fields of the names of files to be merged that come before those of addNthFieldToLFN."""


MOST_EVENTS = 2**31 - 1
"""Largest number of an event, a boundaryID or a lumiblock."""
FILE = fields(
    fileID=whole(), lfn=text(""), fsize=real(0, 0, MOST_BYTES), **dict.fromkeys(
        ("nEvents", "startEvent", "endEvent", "boundaryID", "lumiBlockNr"), whole(None, 0, MOST_EVENTS)))
DATASET = dict(datasetName=text(""), attributes=text(""), files=rows(FILE), nFiles=whole(0), nFilesToBeUsed=whole(0))
QUEUE = fields(
    sitename=text(), maxwdir=real(None, 0), maxtime=real(0), mintime=real(0), maxinputsize=real(),
    coreCount=whole(1), corepower=real(0, 0), direct_access_lan=flag(),
    candidate=fields(weight=real(1, 0), nQueuedJobs=real(0, 0), nRunningJobsCap=real(None, 0),
                     overriddenAttrs=fields(maxwdir=real(None, 0))))


@reads(u=rows(real(0.5, 0, 1)), queues=rows(QUEUE),
       chunk=fields(isMerging=flag(), useScout=flag(None), master=fields(**DATASET),
                    secondaries=rows(fields(**DATASET))),
       task=fields(
           cpuTimeUnit=text(), outDiskUnit=text(""), workDiskUnit=text(), workDiskCount=real(None, 0),
           eventService=whole(), **dict.fromkeys(
               ("cpuTime", "walltime", "cpuEfficiency", "baseWalltime", "outDiskCount"), real(0)),
           splitRules=fields(
               rest=real(None, 0), addNthFieldToLFN=either(text(), whole()), groupBoundaryID=whole(0, 0, 4),
               **dict.fromkeys(("nFilesPerJob", "nMaxFilesPerJob", "nEventsPerJob", "nEsConsumers",
                                "nFilesPerMergeJob", "nMaxFilesPerMergeJob"), whole(None, 0)))))
def answer(case: dict) -> dict:
    """Jobs with their queues and files, and what is left of the master."""
    chunk, edition = case["chunk"], case["edition"]
    master = pieces(case)
    beside = secondaries(chunk["secondaries"])
    jobs, at, wheel = [], 0, Wheel(case)
    while at < len(master) and (number := wheel.queue()) is not None:
        limits = limits_at(case, case["queues"][number], edition)
        room = Room.of(limits, wheel.block, len(beside.datasets), MOST_READS)
        n = cut_jobs(master, at, beside, room)
        wheel.refused = {number} if n < wheel.block and at + room.jobs["count"][:n].sum() < len(master) else set()
        for job in room.jobs[:n]:
            jobs.append(dict(queue=case["queues"][number]["sitename"], files=files_of(chunk, job, room.reads)))
            at += int(job["count"])
    return dict(jobs=jobs, nUnusedMaster=len(master) - at, skippedForChunkSize=False,
                limits=[rule for rule in GIVEN_UP if case["task"]["splitRules"].get(rule)])


class Wheel:
    """The draws of a case: numbers for a wheel, of which the race of the candidates makes its own."""

    def __init__(self, case: dict):
        candidates = [queue["candidate"] for queue in case["queues"]]
        self.case, self.u, self.refused = case, iter_of(case["u"]), set()
        self.block = SCOUTS_PER_BLOCK if is_scout(case) and not case["chunk"]["isMerging"] else JOBS_PER_BLOCK
        self.places = np.zeros(len(candidates), PLACE)
        for number, (place, one) in enumerate(zip(self.places, candidates, strict=True)):
            place["candidate"], place["weight"], place["queued"] = number, one["weight"], one["nQueuedJobs"]
            place["cap"] = math.inf if one["nRunningJobsCap"] is None else one["nRunningJobsCap"]
            place["counted"] = True

    def queue(self) -> int | None:
        """Number of the queue of the next block; None if there is none."""
        places = self.places.copy()
        usable = [k for k in range(len(places)) if k not in self.refused]
        fresh = [k for k in usable if places["weight"][k] == 0]
        if not fresh and not any(is_open(places[k]) for k in usable):
            return None
        winner = fresh[int(next(self.u) * len(fresh))] if fresh else self.drawn(
            [k for k in usable if is_open(places[k])])
        uniforms = np.full((1, len(places)), 1e-300)
        uniforms[0, winner] = 1 - 1e-16
        chosen, sizes = np.zeros(1, np.int64), np.zeros(1, np.int64)
        draw_blocks(self.places, len(places), uniforms, self.block, self.block, chosen, sizes)
        return int(chosen[0])

    def drawn(self, usable: list[int]) -> int:
        """Winner on the wheel."""
        left = next(self.u) * self.places["weight"][usable].sum()
        for k in usable:
            left -= self.places["weight"][k]
            if left <= 0:
                return k
        return usable[-1]


def iter_of(numbers: list[float]):
    """The random numbers of a case, again and again."""
    while True:
        yield from numbers or [0.5]


def is_scout(case: dict) -> bool:
    """True if the jobs are scouts."""
    said, master = case["chunk"]["useScout"], case["chunk"]["master"]
    if said is not None:
        return said
    return master["nFiles"] > master["nFilesToBeUsed"]


def pieces(case: dict) -> np.ndarray:
    """The master files, (n,) of PIECE."""
    files = case["chunk"]["master"]["files"]
    table, names, fields = np.zeros(len(files), PIECE), {}, {}
    for number, (row, file) in enumerate(zip(table, files, strict=True)):
        read = InputFile(bytes=file["fsize"], events=file["nEvents"], first_event=file["startEvent"],
                         last_event=file["endEvent"])
        row["unit"], row["retry"], row["file"] = number, -1, names.setdefault(file["lfn"], len(names))
        row["boundary"], row["lumiblock"] = known(file["boundaryID"]), known(file["lumiBlockNr"])
        row["field"] = fields.setdefault(field_of(case, file["lfn"]), len(fields))
        ranged = read.first_event is not None and read.last_event is not None
        row["first_event"] = read.first_event if ranged else -1
        row["last_event"], row["file_events"] = read.last_event if ranged else -1, known(read.events)
        row["events"], row["bytes"] = max(splitting.events_of(read), 1), read.bytes
        row["part_bytes"] = splitting.effective_mib(read) * MIB
    return table


def known(value: int | None) -> int:
    """A number, -1 if it is not known."""
    return -1 if value is None else value


def field_of(case: dict, lfn: str) -> str:
    """Fields of the name of a file by which files are kept apart."""
    rules = case["task"]["splitRules"]
    asked = rules.get("addNthFieldToLFN") if rules.get("useFileAsSourceLFN") else None
    if not asked:
        return ""
    numbers = [int(one) for one in str(asked).split(",") if one.isdigit() and int(one)]
    parts = re.split(r"\.|_tid\d+", lfn)
    if case["chunk"]["isMerging"]:
        numbers = range(FIELDS_BEFORE + 1, FIELDS_BEFORE + 1 + len(numbers))
    return ".".join(parts[number - 1] for number in numbers if number <= len(parts))


def secondaries(given: list[dict]) -> Beside:
    """Secondary datasets and their files."""
    files = [file for one in given for file in one["files"]]
    rows, tables = np.zeros(len(files), BESIDE), np.zeros(len(given), SECONDARY)
    for row, file in zip(rows, files, strict=True):
        start, end = file["startEvent"], file["endEvent"]
        row["bytes"], row["boundary"] = file["fsize"], known(file["boundaryID"])
        row["events"] = math.nan if file["nEvents"] is None else file["nEvents"]
        row["ranged_events"] = math.nan if start is None or end is None else end - start + 1
    first = 0
    for table, one in zip(tables, given, strict=True):
        said = dict(item.partition("=")[::2] for item in one["attributes"].split(",") if item)
        table["first"], table["number"] = first, len(one["files"])
        table["per_job"] = int(said.get("np") or (1 if one["datasetName"] == SEQUENCE else -1))
        table["ratio"], table["event_ratio"] = float(said.get("ratio") or 1), float(said.get("er") or math.nan)
        table["nosplit"], table["repeat"], table["reusable"] = "nosplit" in said, "repeat" in said, "ru" in said
        first += len(one["files"])
    return Beside(rows, tables)


def files_of(chunk: dict, job, reads: np.ndarray) -> dict:
    """Files of a job by the name of their dataset."""
    master = chunk["master"]
    found = {master["datasetName"]: [file["fileID"] for file in master["files"][
        int(job["first"]):int(job["first"] + job["count"])]]}
    names = [(one["datasetName"], file["fileID"]) for one in chunk["secondaries"] for file in one["files"]]
    for read in reads[int(job["first_read"]):int(job["first_read"] + job["n_reads"])]:
        name, number = names[int(read["file"])]
        found.setdefault(name, []).append(number)
    return found


def limits_at(case: dict, queue: dict, edition: str):
    """Limits of a job at a queue."""
    task, merging = case["task"], case["chunk"]["isMerging"]
    rules = task["splitRules"]
    by_work = task["cpuTimeUnit"] in HS06
    offset = 0 if task["workDiskCount"] is None else task["workDiskCount"] * UNITS.get(task["workDiskUnit"], 1) + MARGIN
    at = place(case, queue)
    if merging:
        rule = splitting.MergeRule(
            *(rules.get(f"{name}PerMergeJob") or 0 for name in ("nFiles", "nMaxFiles", "nGB", "nEvents")),
            bool(rules.get("respectLB")), by_fields(rules))
        return splitting.merge_job_limits(rule, offset, task["baseWalltime"] if by_work else 0.0, at)
    claims = splitting.Claims(
        is_scout(case), offset, work_of(task) if by_work else math.nan,
        math.nan if by_work else task["walltime"], task["cpuEfficiency"] / 100, task["baseWalltime"], consumers(task),
        bool(rules.get("dynamicNumEvents")),
        rules.get("maxEventsPerJob") or math.inf)
    return splitting.job_limits(claims, splitting.preferred(parameters(case), edition), at, edition)


def parameters(case: dict) -> splitting.Splitting:
    """Task parameters of splitting."""
    task, rules = case["task"], case["task"]["splitRules"]
    output = max(task["outDiskCount"], 0) * UNITS.get(task["outDiskUnit"][:2], 1)
    per_event = "PerEvent" in task["outDiskUnit"]
    return splitting.Splitting(
        rules.get("nFilesPerJob") or 0, rules.get("nGBPerJob"), rules.get("nEventsPerJob") or 0,
        rules.get("maxWalltime") or 0, rules.get("nMaxFilesPerJob") or 0, respectLB=bool(rules.get("respectLB")),
        groupBoundaryID=int(rules.get("groupBoundaryID") or 0), respects_field=by_fields(rules),
        respectSplitRule=bool(rules.get("respectSplitRule") or rules.get("loadXML")),
        counts_ratio=any("er=" in one["attributes"] for one in case["chunk"]["secondaries"]),
        output_per_event=output if per_event else 0.0, output_per_mib=0.0 if per_event else output)


def by_fields(rules: dict) -> bool:
    """True if fields of the names of files keep them apart."""
    return bool(rules.get("useFileAsSourceLFN") and rules.get("addNthFieldToLFN"))


def work_of(task: dict) -> float:
    """CPU work of an event, HS06 s."""
    return task["cpuTime"] / (1000 if task["cpuTimeUnit"].startswith("m") else 1)


def consumers(task: dict) -> float:
    """Jobs of event service that share the events of an input."""
    rules = task["splitRules"]
    asked = task["eventService"] in (1, 2) and not rules.get("useJobCloning")
    return float(rules.get("nEsConsumers") or 1) if asked else 1.0


def place(case: dict, queue: dict) -> splitting.QueueLimits:
    """Limits of a queue."""
    rules = case["task"]["splitRules"]
    direct = queue["maxinputsize"] == -1 or (
        queue["direct_access_lan"] and rules.get("allowInputLAN") is not None and not rules.get("useLocalIO"))
    room = queue["candidate"]["overriddenAttrs"]["maxwdir"]
    room = queue["maxwdir"] if room is None else room
    return splitting.QueueLimits(math.inf if room is None else room * MIB, queue["maxtime"], queue["mintime"],
                                 queue["coreCount"] or 1, queue["corepower"],
                                 copies=not direct or case["chunk"]["isMerging"])
