"""Boost, move to Express and automatic pause of production tasks."""

import math
from collections.abc import Iterator

import numpy as np

from panda_cases.config import gdpconfig
from panda_cases.shape import fields, flag, named, reads, real, rows, text, whole
from simgrid_broker.names import TaskStatus
from simgrid_broker.policy.tasks import watchdogs as rules

LABEL = "managed"
RATES = ("single_failure_rate", "hep_score_failure_rate")


@reads(resource_types=rows(text("")), parents=named(text(None, TaskStatus.words())),
       work_queues=rows(fields(queue_name=text(""), queue_id=whole(), is_global_share=flag(), queue_type=text(""))),
       tasks=rows(fields(
           jediTaskID=whole(0), status=text(""), currentPriority=whole(0), parent_tid=whole(), gshare=text(""),
           resource_type=text(""), workQueue_ID=whole(), requestType=text(""), splitRules=fields(), nJobs=whole(),
           dataset=fields(nFiles=whole(0), nFilesFinished=whole(0), nFilesFailed=whole(0)),
           failure_metrics=fields(**dict.fromkeys(RATES, real())))))
def answer(case: dict) -> dict:
    """Deeds about tasks, queue by queue, and whether the watchdog then stopped with an error."""
    cfg, limits = gdpconfig(case)
    deeds: dict = {}
    raised = False
    for task, queue in _in_order(case):
        done = rules.actions(_watched(task, queue), cfg, case["edition"])
        said = dict(priority=rules.BOOST_PRIORITY if done.boosts else None,
                    gshare=rules.EXPRESS if done.moves else None, command="pause" if done.pauses else None)
        deeds[str(task["jediTaskID"])] = {name: value for name, value in said.items() if value is not None}
        if raised := done.stops:
            break
    return {"tasks": {number: of for number, of in deeds.items() if of}, "raised": raised, "limits": limits}


def _in_order(case: dict) -> Iterator[tuple[dict, dict]]:
    """Tasks that are looked at, with the first queue that has each."""
    queues, kinds = case["work_queues"], case["resource_types"]
    tasks = [(task, found) for task in case["tasks"] if (found := _queue_of(task, queues, kinds)) is not None
             and rules.is_watched(_status(task["status"]), task["parent_tid"] not in (None, task["jediTaskID"]),
                                  _status(case["parents"].get(str(task["parent_tid"]))), case["edition"])]
    numbers = np.array([(task["jediTaskID"], found, queues[found]["is_global_share"],
                         kinds.index(task["resource_type"]) if task["resource_type"] in kinds else 0)
                        for task, found in tasks], np.int64).reshape(-1, 4).T
    places = rules.queue_places(np.where(numbers[2], -1, numbers[1]), numbers[1], numbers[3], len(kinds))
    for k in rules.in_turn(places, numbers[0]).tolist():
        yield tasks[k][0], queues[tasks[k][1]]


def _queue_of(task: dict, queues: list[dict], kinds: list[str]) -> int | None:
    """Number of the first queue that has a task."""
    return next((number for number, queue in enumerate(queues) if (
        task["gshare"] == queue["queue_name"] and task["resource_type"] in kinds if queue["is_global_share"]
        else task["workQueue_ID"] == queue["queue_id"])), None)


def _status(word: str | None) -> int:
    """Status of a task, -1 for one that JEDI has not."""
    return TaskStatus.words().index(word) if word in TaskStatus.words() else -1


def _watched(task: dict, queue: dict) -> rules.Watched:
    """A task as its rules see it; one without jobs or input has none."""
    files, rates = task["dataset"], task["failure_metrics"]
    express = queue["is_global_share"] and queue["queue_type"] == LABEL and task["gshare"] != rules.EXPRESS
    return rules.Watched(
        LABEL, queue["queue_name"], task["currentPriority"], express,
        0 if task["nJobs"] is None else files["nFiles"], files["nFilesFinished"] + files["nFilesFailed"],
        task["nJobs"] or 0, bool(task["splitRules"].get("noAutoPause")), task["requestType"],
        tuple(math.nan if rates[name] is None else rates[name] for name in RATES))
