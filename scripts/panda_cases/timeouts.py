"""Timeouts: what one cycle of copyArchive and the Watcher does to each job of a case, analysis rebrokerage included.

The jobs become rows of a world, with one task for each; what happens to them is the answer of the rules of a run.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from panda_cases.config import gdpconfig
from panda_cases.grid import NOW
from panda_cases.shape import fields, flag, named, reads, real, rows, text, whole
from simgrid_broker.agents.panda.copy_archive import as_table
from simgrid_broker.fabric.jobs.timeouts import overdue, timeouts_of
from simgrid_broker.names import (
    ANALYSIS_LABELS,
    DEFINED_TABLE,
    JOB_ENDS,
    PMERGE,
    PRODUCTION_LABELS,
    Cause,
    JobMark,
    JobStatus,
    QueueStatus,
)
from simgrid_broker.policy.jobs import rebrokerage
from simgrid_broker.policy.jobs.timeouts import (
    KILLS,
    STAGES,
    TO_BE_KILLED,
    SilentJob,
    TimeoutRule,
    is_only_marked,
    labels_of,
    limits,
    rules,
    watcher_error,
    with_others,
)
from simgrid_broker.schema.jobs import JOBS
from simgrid_broker.schema.tasks import TASKS
from simgrid_broker.units import MINUTE
from simgrid_broker.views import Gdpconfig
from simgrid_broker.world.arrays import JOB_FILES, N_SCANS, STATE, TIMEOUT_SCAN

S = JobStatus
QUEUE = np.dtype([("status", "i4"), ("laststart_s", "f8"), ("disable_reassign", "?")])
"""Columns of a queue that rules without a limit of the queue read."""
RUNNING = ("stagein", "stageout")
"""Statuses that the package knows as parts of running."""
TIMES = ("creationTime", "modificationTime", "stateChangeTime", "endTime")
JOB = fields(
    currentPriority=whole(0, -2**31, 2**31 - 1), computingSite=text(""), output_report=flag(), premerge_gone=flag(),
    activated_ago=real(), **{f"{name}_ago": real() for name in TIMES}, **dict.fromkeys(
        ("PandaID", "relocationFlag", "jediTaskID", "jobDefinitionID", "jobsetID"), whole()), **dict.fromkeys(
        ("jobStatus", "jobSubStatus", "prodSourceLabel", "lockedby", "processingType", "transformation", "workingGroup",
         "worker_status"), text()))
QUEUE_OF_CASE = fields(laststart_ago=real(), status=text(), workflow=text(), catchall=text(), unknown=flag())
OVER = ("finished", "failed", "cancelled", "missed")
"""Statuses of a worker that has ended."""
LAST_STAGE = len(STAGES) - 1
"""Stage of the rules behind analysis rebrokerage."""


class Rows(NamedTuple):
    """Tables of a world that the scan reads, one task for each job."""

    jobs: np.ndarray
    job_times: np.ndarray
    job_files: np.ndarray
    tasks: np.ndarray
    job_tasks: np.ndarray
    job_status: np.ndarray
    job_queues: np.ndarray
    quiet_s: np.ndarray            # 0: the scan looks at every job
    state: np.ndarray              # (1,), of which it reads how many rows are in use


@reads(jobs=rows(JOB, "PandaID"), queues=named(QUEUE_OF_CASE))
def answer(case: dict) -> dict:
    """Action and end of each job that is not in the archive."""
    cfg, refused = gdpconfig(case)
    case = case | dict(queues={job["computingSite"]: dict(unknown=True) for job in case["jobs"]} | case["queues"])
    jobs = [job for job in case["jobs"] if _status(job) not in JOB_ENDS]
    world = _rows(jobs, [*case["queues"]])
    production = np.isin([job["prodSourceLabel"] or "" for job in jobs], PRODUCTION_LABELS)
    rule_of = _broken(case, cfg, world)
    marked = {row: bool(is_only_marked(rule, world.jobs["status"][[row]], production[[row]])[0])
              for row, rule in rule_of.items()}
    gone = {row for row, rule in rule_of.items() if rule.stage < LAST_STAGE and not marked[row]}
    moved = _rebrokered(case, cfg, world, np.array([row not in gone for row in range(len(jobs))], bool))
    after = {}
    for row, job in enumerate(jobs):
        rule = rule_of.get(row)
        if row in moved:
            change = _killed(rebrokerage.KILL_CODES[Cause.ANALYSIS_REBROKERAGE], False, job)
        elif rule is None:
            change = {}
        else:
            change = _failed(job) if rule.action == "fail" else _killed(rule.code, marked[row], job)
        after[str(job["PandaID"])] = _untouched(job) | change
    return {"jobs": after, "limits": refused}


# ---- a case as rows --------------------------------------------------------------------------------------------------

def _status(job: dict) -> JobStatus:
    """Status of a job; a word that the package does not know is a part of running."""
    word = job["jobStatus"] or ""
    return S.RUNNING if word in RUNNING or word not in S.words() else S.of(word)


def _labels(jobs: list[dict]) -> tuple[str, ...]:
    """All labels of jobs, "" = none."""
    return tuple(dict.fromkeys(job["prodSourceLabel"] or "" for job in jobs)) or ("",)


def _queues(case: dict) -> tuple[np.ndarray, np.ndarray]:
    """Queues as the rules read them, and their workflows."""
    given = case["queues"].values()
    rows = [(_queue_status(queue), _time(queue, "laststart"), "disableReassign" in (queue.get("catchall") or ""))
            for queue in given]
    return np.array(rows, QUEUE), np.array([queue.get("workflow") or "" for queue in given], "U32")


def _queue_status(queue: dict) -> QueueStatus:
    """Status of a queue; one that is not said, or that the package does not know, is no status of a rule."""
    word = queue.get("status") or ""
    return QueueStatus.of(word) if word in QueueStatus.words() else QueueStatus.BROKEROFF


def _rows(jobs: list[dict], queues: list[str]) -> Rows:
    """Jobs as rows of a world; the first time of a job is its creation, whatever the case says."""
    labels, state = _labels(jobs), np.zeros(1, STATE)
    state["n_job_rows"] = len(jobs)
    world = Rows(np.zeros(len(jobs), JOBS.dtype), np.full((len(jobs), len(S)), np.nan), np.zeros(len(jobs), JOB_FILES),
                 np.zeros(len(jobs), TASKS.dtype), np.arange(len(jobs), dtype=np.int32),
                 np.zeros(len(jobs), np.int8), np.zeros(len(jobs), np.int16),
                 np.zeros((len(jobs), N_SCANS), np.float32), state)
    for row, job in enumerate(jobs):
        status, one, times = _status(job), world.jobs[row], world.job_times[row]
        one["panda_id"], one["status"], one["task"] = job["PandaID"] + 1, status, row            # 0 is a free row
        one["queue"], one["priority"] = queues.index(job["computingSite"]), job["currentPriority"]
        world.job_status[row], world.job_queues[row] = status, one["queue"]
        one["modification_s"] = _time(job, "modificationTime")
        times[status] = _time(job, "stateChangeTime")
        if status == S.ACTIVATED:
            times[S.ASSIGNED] = times[status]
        if status in (S.ACTIVATED, S.STARTING):
            times[S.ACTIVATED] = _time(job, "activated")
        times[S.HOLDING], times[S.PENDING] = _time(job, "endTime"), _first(job)
        world.job_files[row]["marks"] = _marks(job)
        world.tasks[row]["label"] = labels.index(job["prodSourceLabel"] or "")
    return world


def _marks(job: dict) -> int:
    """Marks of a job."""
    builds = job["prodSourceLabel"] == "panda" and "build" in (job["transformation"] or "")
    merges, flag = job["processingType"] == PMERGE, job["relocationFlag"]
    is_so = {JobMark.NOT_JEDI: job["lockedby"] != "jedi", JobMark.NO_RELOCATION_FLAG: flag is None,
             JobMark.NOT_REASSIGNABLE: flag == 2, JobMark.OUTPUT_REPORT: job["output_report"],
             JobMark.CHANGED_SINCE: job["modificationTime_ago"] != job["stateChangeTime_ago"],
             JobMark.MERGES: merges, JobMark.BUILDS: builds,
             JobMark.PREMERGE_GONE: merges and job["premerge_gone"]}
    return sum(mark for mark, so in is_so.items() if so)


def _time(noun: dict, name: str) -> float:
    """Time of a job or queue, s; never if the case has none."""
    ago = noun.get(f"{name}_ago")
    return np.nan if ago is None else NOW - MINUTE * ago


def _first(job: dict) -> float:
    """The first of the times of a job, s; the scan takes no job for older."""
    return float(np.nanmin([NOW, *(_time(job, name) for name in TIMES)]))


# ---- the rules -------------------------------------------------------------------------------------------------------

def _broken(case: dict, cfg: Gdpconfig, world: Rows) -> dict[int, TimeoutRule]:
    """The first rule that each overdue job breaks."""
    in_force = rules(cfg, case["edition"])
    labels = _labels([job for job in case["jobs"] if _status(job) not in JOB_ENDS])

    def scan(table: Sequence[TimeoutRule], *tables: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        timeouts = timeouts_of(as_table(table), *tables, len(world.jobs))
        world.quiet_s[:] = 0
        n = overdue(world, timeouts, TIMEOUT_SCAN, NOW)
        return timeouts.rows[:n], timeouts.broken[:n]
    rows, broken = with_others(in_force, limits(in_force, *_queues(case), NOW), labels_of(in_force, labels),
                               world.jobs["queue"], scan)
    return {int(row): in_force[rule] for row, rule in zip(rows, broken, strict=True)}


def _rebrokered(case: dict, cfg: Gdpconfig, world: Rows, alive: np.ndarray) -> set[int]:
    """Rows of the jobs that analysis rebrokerage takes back."""
    live = [job for job in case["jobs"] if _status(job) not in JOB_ENDS]
    archive = [job for job in case["jobs"] if _status(job) in rebrokerage.ENDED_WELL]
    numbers: dict[tuple, int] = {}
    rows = np.array([row for row, job in enumerate(live) if alive[row] and _is_grouped(job, case)], int)
    if not len(rows):
        return set()
    group = np.array([numbers.setdefault(_group(live[row]), len(numbers)) for row in rows])
    ended = [(numbers[_group(job)], _time(job, "stateChangeTime")) for job in archive if _group(job) in numbers]
    times = world.job_times[rows]
    times[:, S.HOLDING] = [_time(live[row], "stateChangeTime") for row in rows]
    queued, *history = rebrokerage.histories(
        group, world.jobs["status"][rows], world.jobs["panda_id"][rows], times,
        np.array([_is_candidate(live[row]) for row in rows], bool),
        (np.array([of for of, _ in ended], int), np.array([at for _, at in ended], float)), NOW)
    rows = rows[queued]
    status = _queues(case)[0]["status"][world.jobs["queue"][rows]]
    names = tuple(dict.fromkeys(job["workingGroup"] or "" for job in live))
    working = np.array([names.index(live[row]["workingGroup"] or "") for row in rows], int)
    groups = rebrokerage.WaitingGroups(status, np.zeros(len(rows), bool), *history, working, names)
    return set(rows[rebrokerage.groups_to_rebroker(groups, cfg, case["edition"], NOW)].tolist())


def _is_grouped(job: dict, case: dict) -> bool:
    """True if analysis rebrokerage looks at a job: one of analysis, of a task, at a queue that is known."""
    known = not case["queues"][job["computingSite"]].get("unknown")
    return job["prodSourceLabel"] in ANALYSIS_LABELS and bool(job["jediTaskID"]) and known


def _is_candidate(job: dict) -> bool:
    """Whether the wait of a job counts for its group: JEDI made it, and one of the active table has a jobsetID."""
    of_jedi = not _marks(job) & JobMark.NOT_JEDI
    return of_jedi and (_status(job) in DEFINED_TABLE or job["jobsetID"] is not None)


def _group(job: dict) -> tuple:
    """Group of a job: its task, job definition and queue."""
    return job["jediTaskID"], job["jobDefinitionID"], job["computingSite"]


# ---- answers ---------------------------------------------------------------------------------------------------------

def _untouched(job: dict) -> dict[str, Any]:
    """Answer about a job to which nothing happens."""
    return dict(actions=[], jobStatus=job["jobStatus"], jobSubStatus=job["jobSubStatus"], commandToPilot=None,
                error=None, worker_already_done=False)


def _failed(job: dict) -> dict[str, Any]:
    """What the Watcher leaves of a job."""
    error, already_done = watcher_error(SilentJob(
        _status(job), job["endTime_ago"] is not None, _says(job, ("pilotErrorDiag", "exeErrorDiag")),
        _says(job, ("jobDispatcherErrorDiag",)), job["worker_status"] in OVER))
    return dict(actions=["watcher"], jobStatus="failed", error=error or None, worker_already_done=already_done)


def _says(job: dict, names: Sequence[str]) -> bool:
    """Whether some error text of a job is set."""
    return any(job.get(name) is not None for name in names)


def _killed(code: int, only_marked: bool, job: dict) -> dict[str, Any]:
    """What a kill code leaves of a job."""
    if only_marked:
        return dict(actions=[f"kill {code}"], commandToPilot=TO_BE_KILLED)
    kill = KILLS[code]
    return dict(actions=[f"kill {code}"], jobStatus=kill.status.word, error=kill.error,
                jobSubStatus=kill.substatus or job["jobSubStatus"])
