"""Fast rebrokerage: jobs of a share that leave queues where too many of them wait."""

from collections import defaultdict

import numpy as np

from panda_cases.config import gdpconfig
from panda_cases.shape import fields, reads, rows, text, whole
from simgrid_broker.names import JOB_QUEUED, JobStatus
from simgrid_broker.policy.jobs.rebrokerage import Backlog, jobs_to_take_back, oldest_of_each, queues_left_alone

PLACE = dict(computingSite=text(), gshare=text(), jobStatus=text(), workqueue_id=whole())


@reads(stats=rows(fields(nJobs=whole(0, 0), **PLACE)), jobs=rows(fields(PandaID=whole(0, 0), **PLACE)),
       resource_work_queues=rows(whole()), harvester_slots=rows(text()))
def answer(case: dict) -> dict:
    """Queues and shares above all thresholds, and the jobs that leave."""
    cfg, limits = gdpconfig(case)
    places = {name: {one: place for place, one in enumerate(dict.fromkeys(
        row[name] for row in (*case["stats"], *case["jobs"])))} for name in ("computingSite", "gshare")}
    queues, shares = (tuple(of) for of in places.values())
    backlog = Backlog(_counts(case, places, JOB_QUEUED), _counts(case, places, (JobStatus.RUNNING,)), shares,
                      _left_alone(case, queues))
    columns = np.array([(_status(job), *(of[job[name]] for name, of in places.items()), job["PandaID"])
                        for job in case["jobs"]], np.int64).reshape(-1, 4).T
    leave: dict = defaultdict(lambda: defaultdict(list))
    for row in oldest_of_each(jobs_to_take_back(backlog, cfg, case["edition"]), *columns).tolist():
        job = case["jobs"][row]
        leave[job["computingSite"]][job["gshare"]].append(job["PandaID"])
    above = np.argwhere(backlog.overshoot(cfg, case["edition"])).tolist()
    return {"overshoot": [[queues[queue], shares[share]] for queue, share in above], "leave": leave, "limits": limits}


def _status(row: dict) -> int:
    """Status of a job; -1 for one that no job of the package has, such as waiting."""
    words = JobStatus.words()
    return words.index(row["jobStatus"]) if row["jobStatus"] in words else -1


def _counts(case: dict, places: dict, statuses: tuple[int, ...]) -> np.ndarray:
    """Jobs in some statuses by queue and share, without those of Resource queues."""
    counts = np.zeros([len(of) for of in places.values()], np.int64)
    for row in case["stats"]:
        if _status(row) in statuses and row["workqueue_id"] not in case["resource_work_queues"]:
            counts[tuple(of[row[name]] for name, of in places.items())] += row["nJobs"]
    return counts


def _left_alone(case: dict, queues: tuple[str, ...]) -> np.ndarray:
    """Queues that are listed in HARVESTER_Slots; the code asks nothing else of a queue."""
    listed = np.isin(queues, case["harvester_slots"])
    unasked = np.zeros(len(queues), np.int64)
    return queues_left_alone(listed, unasked, unasked, case["edition"])
