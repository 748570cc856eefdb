"""Boost, move to Express and automatic pause of production tasks."""

import math
from collections.abc import Iterator

from panda_cases.config import gdpconfig
from panda_cases.shape import fields, flag, named, reads, real, rows, text, whole
from simgrid_broker.names import TaskStatus
from simgrid_broker.policy.tasks import watchdogs as rules

LABEL, RUNNING = "managed", "running"
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
    """Running tasks whose parent is complete, each once, with the first queue that has it."""
    seen = set[int]()
    for queue in case["work_queues"]:
        for kind in case["resource_types"]:
            for task in case["tasks"]:
                inside = ((task["gshare"], task["resource_type"]) == (queue["queue_name"], kind)
                          if queue["is_global_share"] else task["workQueue_ID"] == queue["queue_id"])
                if inside and task["status"] == RUNNING and task["jediTaskID"] not in seen:
                    seen.add(task["jediTaskID"])
                    if _parent_is_complete(task, case):
                        yield task, queue


def _parent_is_complete(task: dict, case: dict) -> bool:
    parent = task["parent_tid"]
    status = case["parents"].get(str(parent))
    return parent in (None, task["jediTaskID"]) or (
        status is not None and TaskStatus.of(status) in rules.PARENT_ENDS)


def _watched(task: dict, queue: dict) -> rules.Watched:
    """A task as its rules see it; one without jobs or input has none."""
    files, rates = task["dataset"], task["failure_metrics"]
    express = queue["is_global_share"] and queue["queue_type"] == LABEL and task["gshare"] != rules.EXPRESS
    return rules.Watched(
        LABEL, queue["queue_name"], task["currentPriority"], express,
        0 if task["nJobs"] is None else files["nFiles"], files["nFilesFinished"] + files["nFilesFailed"],
        task["nJobs"] or 0, bool(task["splitRules"].get("noAutoPause")), task["requestType"],
        tuple(math.nan if rates[name] is None else rates[name] for name in RATES))
