"""Automatic conversion of a production task to event service."""

from math import inf

from panda_cases.shape import fields, reads, real, rows, text, whole
from simgrid_broker.names import PRODUCTION_LABELS, TaskStatus
from simgrid_broker.systems.events.policy.conversion import EventTask, Keys, convert, event_pool
from simgrid_broker.units import MINUTE

KEYS = ("AES_MAXTASKPRIORITY", "AES_MINTASKPRIORITY", "AES_EVENTPOOLSIZE", "AES_MAXPENDING", "AES_NESCONSUMERS",
        "AES_NSITESPERJOB")
MANAGED = PRODUCTION_LABELS[0]
TASK = fields(status=text("done", TaskStatus.words()), prodSourceLabel=text(), eventService=whole(), gshare=text(),
              created_minutes_ago=real(inf), nFiles=real(0), nFilesUsed=real(0), nEvents=real(0))
"""A task; one of an unknown status is over, and one of unknown age is old."""


@reads(params=fields(taskPriority=real(0), esFraction=real(0)), config=fields(**dict.fromkeys(KEYS, real())),
       tasks=rows(TASK), u=real(1.0))
def answer(case: dict) -> dict:
    """Parameters that the task gets."""
    tasks = (EventTask(TaskStatus.of(task["status"]), task["gshare"], task["created_minutes_ago"] * MINUTE,
                       task["nFiles"], task["nFilesUsed"], task["nEvents"])
             for task in case["tasks"] if task["eventService"] == 1 and task["prodSourceLabel"] == MANAGED)
    found = convert(case["params"], event_pool(tasks), Keys(*map(case["config"].get, KEYS)), case["u"])
    given = case["params"]
    return dict(converted=bool(found), params={key: value for key, value in found.items()
                                               if key not in given or given[key] != value})
