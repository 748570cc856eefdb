"""Tasks that become throttled and that are released: of production by failed attempts, of users by their work."""

import numpy as np

from panda_cases.config import gdpconfig
from panda_cases.datasets import DATASETS, dataset
from panda_cases.shape import fields, reads, real, rows, text, whole
from simgrid_broker.names import TaskStatus, ThrottledBy
from simgrid_broker.policy.tasks import watchdogs as rules
from simgrid_broker.policy.users import limits
from simgrid_broker.units import DAY, MIB, MINUTE

INPUT, OPEN, THROTTLED = ("input", "pseudo_input"), ("ready", "running"), "throttled"
QUEUED = ("defined", "assigned", "activated", "starting", "throttled")
RUNNING, WAITING = "running", ("defined", "assigned")


@reads(mode=text("production"), waitForThrottled=real(0),
       tasks=rows(fields(
           jediTaskID=whole(), status=text(None, TaskStatus.words()), oldStatus=text(None, TaskStatus.words()),
           numThrottled=whole(), lockedBy=text(), release_in=real(), throttled_for=text(), userName=text(""),
           workingGroup=text(), datasets=DATASETS)),
       jobs=rows(fields(n=whole(0), jediTaskID=whole(), prodUserName=text(""), workingGroup=text(), jobStatus=text(""),
                        coreCount=whole(), dispatchDBlock=text())),
       dispatch_datasets=rows(fields(name=text(""), size_MB=real(0), modified_days_ago=real(0))))
def answer(case: dict) -> dict:
    """Tasks that change, with what they are afterwards."""
    if case["mode"] == "production":
        return {"tasks": _production(case), "limits": []}
    cfg, refused = gdpconfig(case)
    return {"tasks": _analysis(case, cfg), "limits": refused}


def _masters(task: dict) -> list[dict]:
    return [one for one in task["datasets"] if one["type"] in INPUT and one["masterID"] is None]


def _production(case: dict) -> dict:
    """Tasks are released first."""
    changed = {}
    for task in case["tasks"]:
        after = None
        if task["lockedBy"]:
            continue
        if task["status"] == THROTTLED:
            inputs = [(one.n_files, one.to_be_used, one.finished + one.failed)
                      for one in map(dataset, _masters(task))]
            late = float("-inf") if task["release_in"] is None else -task["release_in"]
            if task["oldStatus"] is not None and rules.goes_on(late, inputs, case["edition"]):
                after = dict(status=task["oldStatus"], oldStatus=None, release_in=None,
                             numThrottled=task["numThrottled"])
        now = after or task
        failures = np.array([one["failedAttempt"] for of in _masters(task) for one in of["files"]
                             if one["status"] in OPEN and one["failedAttempt"] is not None], float)
        if now["status"] == "running" and task["numThrottled"] is not None and len(failures):
            step = rules.throttle_step(0, failures.mean(), task["numThrottled"], case["edition"])
            if step:
                after = dict(status=THROTTLED, oldStatus="running", numThrottled=step, release_in=rules.throttled_for_s(
                    step) / rules.WAIT_FOR_THROTTLED_S * case["waitForThrottled"])
        if after:
            changed[str(task["jediTaskID"])] = after
    return changed


CAUSES = {None: ThrottledBy.NONE, "prestaging": ThrottledBy.PRESTAGING, "transfer": ThrottledBy.TRANSFER,
          "jobs": ThrottledBy.RUNNING_JOBS}
"""Causes by the words of the recordings."""


def _analysis(case: dict, cfg) -> dict:
    """First the input on its way counts, then the work."""
    tasks = [dict(task, numThrottled=None) for task in case["tasks"] if task["status"] is not None]
    after = [dict(task) for task in tasks]
    owners = list(dict.fromkeys((*map(_owner, tasks), *map(_owner, case["jobs"]))))
    of_tasks = np.array([owners.index(_owner(task)) for task in tasks], np.int64)
    present = np.unique(_seen(after).status)
    _by_input(case, cfg, after, of_tasks, owners)
    _by_work(case, cfg, after, of_tasks, owners, present)
    return {str(new["jediTaskID"]): {name: new[name] for name in ("status", "oldStatus", "release_in", "numThrottled")}
            for new, old in zip(after, tasks, strict=True)
            if (new["status"], new["release_in"]) != (old["status"], old["release_in"])}


def _owner(one: dict) -> tuple[str, bool]:
    """The working group of a task or job, or its user, and whether it is a group."""
    return one["workingGroup"] or one.get("userName") or one.get("prodUserName"), one["workingGroup"] is not None


def _seen(tasks: list[dict]) -> limits.UserTasks:
    """Tasks as their rules see them."""
    status, old = (np.array([-1 if task[name] is None else TaskStatus.of(task[name]) for task in tasks], np.int64)
                   for name in ("status", "oldStatus"))
    return limits.UserTasks(status, old, np.array([CAUSES.get(task["throttled_for"], -1) for task in tasks], np.int64),
                            np.array([bool(task["lockedBy"]) for task in tasks], bool))


def _change(tasks: list[dict], throttled: np.ndarray, released: np.ndarray) -> None:
    """Change the statuses of tasks."""
    for task, begins, ends in zip(tasks, throttled, released, strict=True):
        if begins:
            if task["status"] not in (TaskStatus.PENDING.word, THROTTLED):
                task["oldStatus"] = task["status"]
            task.update(status=THROTTLED, release_in=limits.WAIT_S / MINUTE)
        elif ends:
            task.update(status=task["oldStatus"], oldStatus=None, release_in=None)


def _by_input(case: dict, cfg, after: list[dict], of_tasks: np.ndarray, owners: list) -> None:
    """Throttle and release by what is on its way."""
    since = limits.counts_after(0.0, case["edition"])
    sizes = {one["name"]: one["size_MB"] * MIB for one in case["dispatch_datasets"]
             if -one["modified_days_ago"] * DAY > since}
    waiting = [job for job in case["jobs"] if job["dispatchDBlock"] in sizes and job["jobStatus"] in WAITING]
    parts = {(owners.index(_owner(job)), _is_prestaging(job), job["dispatchDBlock"]) for job in waiting}
    owner = np.array([number for number, *_ in parts], np.int64)
    size = np.array([(sizes[name] * tape, sizes[name] * (not tape)) for _, tape, name in parts], float).reshape(-1, 2)
    above = limits.moves_too_much(limits.by_owner(owner, size, len(owners)), cfg, case["edition"])
    waits = {job["jediTaskID"] for job in waiting if above[not _is_prestaging(job)][owners.index(_owner(job))]}
    seen = _seen(after)
    _change(after, limits.throttled_for_input(seen, np.array([task["jediTaskID"] in waits for task in after], bool)),
            limits.released_for_input(seen, limits.Moving(*(over[of_tasks] for over in above))))


def _is_prestaging(job: dict) -> bool:
    """True if the dispatch dataset of a job comes from tape, by the fifth part of its name."""
    return job["dispatchDBlock"].split(".")[4:5] == ["prestaging"]


def _by_work(case: dict, cfg, after: list[dict], of_tasks: np.ndarray, owners: list, present: np.ndarray) -> None:
    """Throttle and release by jobs and cores."""
    numbers, merging = np.zeros((4, len(owners)), np.int64), set()
    for job in case["jobs"]:
        if job["jobStatus"] in (RUNNING, *QUEUED):
            of = numbers[job["jobStatus"] != RUNNING::2, owners.index(_owner(job))]
            of += job["n"], job["n"] * (job["coreCount"] or 1)
        elif job["jobStatus"] == "merging":
            merging.add(job["jediTaskID"])
    work = limits.Work(*numbers)
    bounds = limits.work_limits(np.array([group for _, group in owners], bool), cfg)
    seen, merges = _seen(after), np.array([task["jediTaskID"] in merging for task in after], bool)
    _change(after, limits.throttled_for_work(seen, limits.exceeded(work, bounds)[of_tasks] >= 0, merges, present),
            limits.released_for_work(seen, limits.far_below(work, bounds)[of_tasks]))
