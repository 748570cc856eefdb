"""Caps on the running jobs of users, and the boost of users who got little."""

import numpy as np

from panda_cases.config import gdpconfig
from panda_cases.shape import fields, reads, real, rows, text, whole
from simgrid_broker.agents.users.priority_massage import WINDOW_S
from simgrid_broker.bundle import Bundle
from simgrid_broker.fabric.jobs.effects import look_at_owners
from simgrid_broker.names import JOB_ENDS, PMERGE, JobStatus
from simgrid_broker.policy.users import limits
from simgrid_broker.schema import JOBS
from simgrid_broker.units import MINUTE
from simgrid_broker.world.arrays import STATE

LABEL = "user"
S = JobStatus
LIKE = {"stagein": S.MERGING}
"""Statuses that no job of the package has, and one that counts for the same."""


MOST_JOBS = 10_000
"""Jobs of a block, at most."""


class Jobs(Bundle):
    """The arrays of the world in which jobs are counted."""

    state: np.ndarray
    jobs: np.ndarray
    job_status: np.ndarray
    job_tasks: np.ndarray


@reads(jobs=rows(fields(
    block=whole(), n=whole(0, 0, MOST_JOBS), jediTaskID=whole(-1), prodUserName=text(""), workingGroup=text(),
    computingSite=text(""), prodSourceLabel=text(), processingType=text(), jobStatus=text(None, (*S.words(), *LIKE)),
    coreCount=whole(None, 0), currentPriority=whole(0), relocationFlag=whole(-1), maxCpuCount=real(0),
    modificationTime_ago=real(0))))
def answer(case: dict) -> dict:
    """Blocks that are throttled and released, and the boosts, in that order; one of an unknown status is left out."""
    case["jobs"] = [one for one in case["jobs"] if one["jobStatus"]]
    cfg, refused = gdpconfig(case)
    block = np.repeat(np.arange(len(case["jobs"])), [one["n"] for one in case["jobs"]])
    owners, queues = _numbered(case, "prodUserName", "workingGroup"), _numbered(case, "computingSite")
    numbers, done, activated, known = _counts(case, block, owners, queues)
    over, below = limits.over_and_below(*numbers, np.array([group is not None for _, group in owners], bool),
                                        limits.caps(cfg), case["edition"])
    jobs = _capped(case, block, owners)
    throttled = limits.held_by_cap(jobs, over, case["edition"])
    released = limits.released_below_cap(jobs, below, case["edition"])
    jobs.status[throttled], jobs.status[released] = S.THROTTLED, S.ACTIVATED
    queue = np.array([queues[(case["jobs"][of]["computingSite"],)] for of in block], np.int64)
    priority = np.array([case["jobs"][of]["currentPriority"] for of in block], np.int64)
    boosts = [dict(zip(("user", "workingGroup"), list(owners)[boost.owner], strict=True),
                   queue=list(queues)[boost.queue][0], delta=points, jobs=len(places))
              for boost, places, points in limits.boosted(limits.boosts(done, activated, known), jobs, queue, priority)]
    numbers_of = [one["block"] for one in case["jobs"]]
    return {"throttled": [numbers_of[of] for of in np.unique(block[throttled])],
            "released": [numbers_of[of] for of in np.unique(block[released])], "boosts": boosts, "limits": refused}


def _numbered(case: dict, *names: str) -> dict[tuple, int]:
    """Numbers of the values of some attributes of jobs."""
    found = dict.fromkeys(tuple(one[name] for name in names) for one in case["jobs"])
    return {values: number for number, values in enumerate(found)}


def _status(one: dict) -> int:
    return int(LIKE[one["jobStatus"]] if one["jobStatus"] in LIKE else S.of(one["jobStatus"]))


def _counts(case: dict, block: np.ndarray, owners: dict, queues: dict) -> tuple[np.ndarray, ...]:
    """Numbers as `look_at_owners` counts them, ended jobs of the window included; a block is a task."""
    blocks = case["jobs"]
    table = np.zeros(len(block), JOBS.dtype)
    table["panda_id"], table["task"] = np.arange(1, len(block) + 1), block
    for name, values in (("status", [_status(one) for one in blocks]),
                         ("queue", [queues[(one["computingSite"],)] for one in blocks]),
                         ("corecount", [1 if one["coreCount"] is None else one["coreCount"] for one in blocks]),
                         ("n_chunks", [one["processingType"] != PMERGE for one in blocks]),
                         ("modification_s", [-one["modificationTime_ago"] * MINUTE for one in blocks])):
        table[name] = np.array(values)[block]
    owner = np.array([owners[one["prodUserName"], one["workingGroup"]] if one["prodSourceLabel"] == LABEL else -1
                      for one in blocks], np.int32)
    shape = len(owners), len(queues)
    numbers, (done, activated) = np.zeros((2, len(owners)), np.int64), np.zeros((2, *shape), np.int64)
    known = np.zeros(shape, bool)
    status, state = table["status"], np.zeros(1, STATE)
    status[status == S.CANCELLED] = S.HOLDING                              # both only make an owner known
    status[np.isin(status, JOB_ENDS)] = S.TRANSFERRING                     # these only count as well
    state["n_job_rows"] = len(table)
    jobs = Jobs(state=state, jobs=table, job_status=status.astype(np.int8), job_tasks=table["task"].copy())
    look_at_owners(jobs, np.empty(len(table), np.int32), owner, -WINDOW_S, numbers, done, activated, known)
    return numbers, done, activated, known


def _capped(case: dict, block: np.ndarray, owners: dict) -> limits.Capped:
    """All jobs, one by one, as the caps see them."""
    blocks = case["jobs"]
    columns = ([one["jediTaskID"] for one in blocks],
               [owners[one["prodUserName"], one["workingGroup"]] if one["prodSourceLabel"] == LABEL else -1
                for one in blocks],
               [_status(one) for one in blocks], [one["relocationFlag"] for one in blocks],
               [one["maxCpuCount"] or 0 for one in blocks], [one["processingType"] == PMERGE for one in blocks])
    return limits.Capped(*(np.array(of, np.int64)[block] for of in columns[:-1]), np.array(columns[-1], bool)[block])
