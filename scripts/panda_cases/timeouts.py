"""Timeouts: what one cycle of copyArchive and the Watcher does to each job of a case.

Only the rules of the program answer: groups of analysis rebrokerage, build jobs and merge jobs without a job before
them are left alone.
"""

from typing import NamedTuple

import numpy as np

from panda_cases.config import gdpconfig
from panda_cases.grid import NOW
from simgrid_broker.agents.panda.copy_archive import as_table
from simgrid_broker.fabric.jobs.timeouts import overdue, timeouts_of
from simgrid_broker.names import DEFINED_TABLE, JOB_ENDS, Cause, JobStatus, QueueStatus
from simgrid_broker.policy.jobs.timeouts import TimeoutRule, labels_of, limits, rules
from simgrid_broker.schema.jobs import JOBS
from simgrid_broker.schema.tasks import TASKS
from simgrid_broker.units import MINUTE

QUEUE = np.dtype([("status", "i4"), ("laststart_s", "f8"), ("disable_reassign", "?")])
"""Columns of a queue that rules without a limit of the queue read."""
KILL_ERRORS = {2: "EC_Expire", 4: "EC_Expire", 51: "EC_Kill"}
"""Error names of PanDA by the code of a kill."""
ERRORS = {Cause.TIMEOUT_SENT: "EC_SendError", Cause.TIMEOUT_HOLDING: "EC_Holding",
          Cause.TIMEOUT_TRANSFERRING: "EC_Transferring", Cause.LOST_HEARTBEAT: "EC_Watcher"}
"""Error names of PanDA by the cause of a failure; those for jobs with an error text or without end are left out."""


class Rows(NamedTuple):
    """Tables of a world that the scan reads, one task for each job."""

    jobs: np.ndarray
    job_times: np.ndarray
    tasks: np.ndarray


def answer(case: dict) -> dict:
    """Action and end of each job that is not in the archive."""
    cfg, refused = gdpconfig(case)
    in_force = rules(cfg, case["edition"])
    jobs = [job for job in case["jobs"] if _status(job) not in JOB_ENDS]
    queues, workflows = _queues(case)
    labels = tuple(dict.fromkeys(job["prodSourceLabel"] for job in jobs))
    world = _rows(jobs, [*case["queues"]], labels)
    tables = timeouts_of(as_table(in_force), limits(in_force, queues, workflows, NOW), labels_of(in_force, labels),
                         len(jobs))
    n = overdue(world, tables, NOW)
    broken = {int(row): in_force[rule] for row, rule in zip(tables.rows[:n], tables.broken[:n], strict=True)}
    return {"jobs": {str(job["PandaID"]): _after(job, broken.get(row)) for row, job in enumerate(jobs)},
            "limits": refused}


def _status(job: dict) -> JobStatus:
    """Status of a job; the package knows stage-in and stage-out as parts of running."""
    word = job["jobStatus"]
    return JobStatus.RUNNING if word in ("stagein", "stageout") else JobStatus.of(word)


def _queues(case: dict) -> tuple[np.ndarray, np.ndarray]:
    """Queues as the rules read them, and their workflows."""
    given = case["queues"].values()
    rows = [(QueueStatus.of(queue["status"]), NOW - MINUTE * (queue.get("laststart_ago") or np.inf),
             "disableReassign" in (queue.get("catchall") or "")) for queue in given]
    return np.array(rows, QUEUE), np.array([queue.get("workflow") or "" for queue in given])


def _rows(jobs: list[dict], queues: list[str], labels: tuple[str, ...]) -> Rows:
    """Jobs as rows of a world."""
    world = Rows(np.zeros(len(jobs), JOBS.dtype), np.full((len(jobs), len(JobStatus)), np.nan),
                 np.zeros(len(jobs), TASKS.dtype))
    for row, job in enumerate(jobs):
        status, one, times = _status(job), world.jobs[row], world.job_times[row]
        one["panda_id"], one["status"], one["task"] = job["PandaID"], status, row
        one["queue"], one["priority"] = queues.index(job["computingSite"]), job["currentPriority"]
        one["n_chunks"], one["modification_s"] = job["processingType"] != "pmerge", _time(job, "modificationTime_ago")
        world.tasks[row]["label"] = labels.index(job["prodSourceLabel"])
        times[JobStatus.HOLDING] = _time(job, "endTime_ago")
        times[status], times[JobStatus.PENDING] = _time(job, "stateChangeTime_ago"), _time(job, "creationTime_ago")
    return world


def _time(job: dict, key: str) -> float:
    """Time of a job, s; never if the case has none."""
    return np.nan if job.get(key) is None else NOW - MINUTE * job[key]


def _after(job: dict, rule: TimeoutRule | None) -> dict:
    """Action of a rule and what it leaves of a job."""
    after = dict(actions=[], jobStatus=job["jobStatus"], jobSubStatus=job.get("jobSubStatus"), commandToPilot=None,
                 error=None, worker_already_done=False)
    if rule is None:
        return after
    if rule.action == "fail":
        return after | dict(actions=["watcher"], jobStatus="failed", error=ERRORS[rule.cause])
    code = _code(rule)
    if _status(job) == JobStatus.RUNNING:
        return after | dict(actions=[f"kill {code}"], commandToPilot="tobekilled")
    return after | dict(actions=[f"kill {code}"], jobStatus="closed", jobSubStatus="toreassign",
                        error=KILL_ERRORS[code])


def _code(rule: TimeoutRule) -> int:
    """Code of a kill: 4 for what waits before assignment, 2 for what is too old, 51 for what is reassigned."""
    if rule.clock == "created":
        return 4 if rule.stage and set(rule.statuses) < set(DEFINED_TABLE) else 2
    return 2 if rule.labels == "analysis and test" else 51
