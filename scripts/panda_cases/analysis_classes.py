"""Classes of analysis queues, slots left to users, and classes of analysis tasks."""

import numpy as np

from panda_cases.config import gdpconfig
from panda_cases.shape import fields, named, reads, real, rows, text, whole
from simgrid_broker.gdpconfig import analy_eval
from simgrid_broker.names import EXPRESS_ANALYSIS, PMERGE, USER_ANALYSIS, USER_OF_TESTS, TaskStatus
from simgrid_broker.policy.users import classes
from simgrid_broker.units import DAY

SHARES = (USER_ANALYSIS, EXPRESS_ANALYSIS)
LABEL, GRID, TASK_TYPE = "user", "GRID", "anal"
INPUT = ("input", "pseudo_input")


COUNT = whole(0, 0)


@reads(queues=named(fields(resource_type=text(), to_running_rate_1d=real(), wait=fields(
           w_cl95upp=real(), long_q_mean=real(), long_q_n=real()))),
       jobs=rows(fields(n=COUNT, coreCount=COUNT, **dict.fromkeys(
           ("prodUserName", "jobStatus", "gshare", "computingSite", "prodSourceLabel", "processingType"), text()))),
       tasks=rows(fields(
           jediTaskID=whole(), modified_days_ago=real(0), status=text(None, TaskStatus.words()),
           **dict.fromkeys(("userName", "gshare", "taskType", "prodSourceLabel"), text()),
           datasets=rows(fields(type=text(), masterID=whole(), **dict.fromkeys(
               ("nFiles", "nFilesFinished", "nFilesFailed", "nJobs"), COUNT))))))
def answer(case: dict) -> dict:
    """Classes of the queues, and what follows for users and tasks; each step uses the one before."""
    cfg, limits = gdpconfig(case)
    names = list(case["queues"])
    waits = _waits(case)
    is_grid, is_alive = np.array([(queue["resource_type"] == GRID, bool(queue["to_running_rate_1d"]))
                                  for queue in case["queues"].values()], bool).reshape(-1, 2).T
    queues = classes.Queues(classes.site_classes(waits, is_grid, is_alive, case["edition"]), is_grid,
                            classes.has_class(waits))
    users = list(dict.fromkeys([job["prodUserName"] for job in case["jobs"]]
                               + [task["userName"] for task in case["tasks"]]))
    slots = classes.slots_of_users(_jobs(case, names, users), queues, len(users), case["edition"])
    thresholds = [cfg.value(key) for key in (analy_eval.USER_USAGE_THRESHOLD_A, analy_eval.USER_USAGE_THRESHOLD_B)]
    left = {user: {f"rem_slots_{name}": max(most - number, 0)
                   for name, most, number in zip("AB", thresholds, (in_hi, in_both), strict=True)}
            for user, in_hi, in_both in zip(users, *map(np.ndarray.tolist, slots), strict=True) if in_hi == in_hi}
    return {"site_class": {name: int(number) for name, number, known
                           in zip(names, queues.site_class, queues.has_class, strict=True) if known},
            "users": left, "task_class": _task_classes(case, users, slots, cfg), "limits": limits}


def _waits(case: dict) -> classes.Waits:
    """Waits as measured, NaN where they are not."""
    measured = [queue["wait"] for queue in case["queues"].values()]
    upper, long_s, n_long = (np.array([one[name] for one in measured], float)
                             for name in ("w_cl95upp", "long_q_mean", "long_q_n"))
    return classes.Waits(upper, upper, n_long, long_s)


def _jobs(case: dict, queues: list[str], users: list[str]) -> classes.Users:
    """Jobs of users, one row a block, that the daemon selects."""
    blocks = [job for job in case["jobs"] if job["gshare"] in SHARES and job["prodSourceLabel"] == LABEL
              and job["processingType"] != PMERGE and job["prodUserName"] != USER_OF_TESTS
              and job["computingSite"] in queues]
    cores, n_active = np.zeros((2, len(blocks), len(queues)), np.int64)
    for row, job in enumerate(blocks):
        place = row, queues.index(job["computingSite"])
        n_active[place] = job["n"]
        cores[place] = job["n"] * job["coreCount"] * (job["jobStatus"] == "running")
    return classes.Users(np.array([users.index(job["prodUserName"]) for job in blocks], np.int64), cores, n_active)


def _task_classes(case: dict, users: list[str], slots: classes.Slots, cfg) -> dict:
    """Classes of the analysis tasks of users."""
    tasks = [task for task in case["tasks"] if task["taskType"] == TASK_TYPE and task["prodSourceLabel"] == LABEL
             and task["status"]]
    status = np.array([TaskStatus.of(task["status"]) for task in tasks], np.int64)
    is_test = np.array([task["userName"] == USER_OF_TESTS for task in tasks], bool)
    of_user = np.array([task["gshare"] in SHARES for task in tasks], bool)
    age_s = np.array([task["modified_days_ago"] for task in tasks], float) * DAY
    user = [users.index(task["userName"]) for task in tasks]
    masters = [[one for one in task["datasets"] if one["type"] in INPUT and one["masterID"] is None] for task in tasks]
    progress = classes.Progress(*(np.array([sum(one[name] for one in of) for of in masters], np.int64)
                                  for name in ("nFilesFinished", "nFilesFailed", "nFiles", "nJobs")))
    found = classes.task_classes(classes.Slots(*(of[user] for of in slots)), progress,
                                 np.array([task["gshare"] == EXPRESS_ANALYSIS for task in tasks], bool), cfg,
                                 case["edition"])
    evaluated = ~np.isnan(found) & classes.is_evaluated(status, of_user, is_test, age_s, case["edition"])
    return {str(task["jediTaskID"]): int(number)
            for task, number, one in zip(tasks, found, evaluated, strict=True) if one}
