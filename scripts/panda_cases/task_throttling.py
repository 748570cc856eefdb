"""Tasks that become throttled and that are released: of production by failed attempts, of users by their work."""

from collections import Counter

import numpy as np

from panda_cases.config import gdpconfig
from panda_cases.datasets import DATASETS, dataset
from panda_cases.shape import fields, reads, real, rows, text, whole
from simgrid_broker.agents.users.analysis_watch_dog import is_served
from simgrid_broker.names import TaskStatus
from simgrid_broker.policy.tasks import watchdogs as rules
from simgrid_broker.policy.users import limits
from simgrid_broker.units import MINUTE

INPUT, OPEN, THROTTLED = ("input", "pseudo_input"), ("ready", "running"), "throttled"
QUEUED = ("defined", "assigned", "activated", "starting", "throttled")
YOUNG_DAYS = 14


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


def _analysis(case: dict, cfg) -> dict:
    after = {task["jediTaskID"]: dict(task, numThrottled=None) for task in case["tasks"]}
    owner = {task["jediTaskID"]: (task["workingGroup"] or task["userName"], task["workingGroup"] is not None)
             for task in case["tasks"]}
    _by_input(case, cfg, after, owner)
    _by_work(case, cfg, after, owner)
    return {str(number): {name: after[number][name] for name in ("status", "oldStatus", "release_in", "numThrottled")}
            for number, task in zip(after, case["tasks"], strict=True)
            if (after[number]["status"], after[number]["release_in"]) != (task["status"], task["release_in"])}


def _throttle(task: dict) -> None:
    old = task["oldStatus"] if task["status"] in ("pending", THROTTLED) else task["status"]
    task.update(status=THROTTLED, oldStatus=old, release_in=limits.WAIT_S / MINUTE)


def _release(task: dict) -> None:
    if task["oldStatus"] is not None and not task["lockedBy"]:
        task.update(status=task["oldStatus"], oldStatus=None, release_in=None)


def _by_input(case: dict, cfg, after: dict, owner: dict) -> None:
    sizes = {one["name"]: one["size_MB"] * 2**20 for one in case["dispatch_datasets"]
             if one["modified_days_ago"] <= YOUNG_DAYS}
    moved: dict = {}
    tasks: dict = {}
    for job in case["jobs"]:
        name = job.get("dispatchDBlock")
        if name in sizes and job["jobStatus"] in ("defined", "assigned"):
            kind = "prestaging" if name.split(".")[4] == "prestaging" else "transfer"
            key = job["workingGroup"] or job["prodUserName"], kind
            moved.setdefault(key, {})[name] = sizes[name]
            tasks.setdefault(key, set()).add(job["jediTaskID"])
    over = set()
    for (who, kind), of in moved.items():
        total = np.array([sum(of.values())])
        none = np.zeros(1)
        moving = limits.Moving(total, none) if kind == "prestaging" else limits.Moving(none, total)
        if getattr(limits.moves_too_much(moving, cfg, case["edition"]), kind)[0]:
            over.add((who, kind))
    for task in after.values():
        number = task["jediTaskID"]
        reason = task["throttled_for"] or "prestaging"
        was = task["status"] == THROTTLED
        if was and reason != "jobs" and (owner[number][0], reason) not in over:
            _release(task)
        elif task["status"] == "running" and not task["lockedBy"] and any(number in tasks[key] for key in over):
            _throttle(task)


def _by_work(case: dict, cfg, after: dict, owner: dict) -> None:
    names = list(dict.fromkeys((*owner.values(), *((job["workingGroup"] or job["prodUserName"],
                                                    job["workingGroup"] is not None) for job in case["jobs"]))))
    numbers = {name: Counter() for name in names}
    merging = set()
    for job in case["jobs"]:
        of = numbers[job["workingGroup"] or job["prodUserName"], job["workingGroup"] is not None]
        kind = "running" if job["jobStatus"] == "running" else "queued" if job["jobStatus"] in QUEUED else None
        if job["jobStatus"] == "merging":
            merging.add(job["jediTaskID"])
        if kind:
            of[kind] += job["n"]
            of[kind + "_cores"] += job["n"] * (job["coreCount"] or 1)
    work = limits.Work(*(np.array([numbers[name][key] for name in names])
                         for key in ("running", "queued", "running_cores", "queued_cores")))
    bounds = limits.work_limits(np.array([group for _, group in names], bool), cfg)
    over, free = limits.exceeded(work, bounds), limits.far_below(work, bounds)
    for task in after.values():
        place = names.index(owner[task["jediTaskID"]])
        if task["lockedBy"]:
            continue
        status, old = (np.array([-1 if word is None else TaskStatus.of(word)])
                       for word in (task["status"], task["oldStatus"]))
        if over[place] >= 0 and is_served(status, old)[0] and task["jediTaskID"] not in merging:
            _throttle(task)
        elif task["status"] == THROTTLED and task["throttled_for"] == "jobs" and free[place]:
            _release(task)
