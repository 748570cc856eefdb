"""Automatic conversion of a production task to event service."""

from simgrid_broker.names import PRODUCTION_LABELS, TaskStatus
from simgrid_broker.systems.events.policy.conversion import EventTask, Keys, convert, event_pool
from simgrid_broker.units import MINUTE

KEYS = ("AES_MAXTASKPRIORITY", "AES_MINTASKPRIORITY", "AES_EVENTPOOLSIZE", "AES_MAXPENDING", "AES_NESCONSUMERS",
        "AES_NSITESPERJOB")
MANAGED = PRODUCTION_LABELS[0]


def answer(case: dict) -> dict:
    """Parameters that the task gets."""
    tasks = (EventTask(TaskStatus.of(task["status"]), task["gshare"], task["created_minutes_ago"] * MINUTE,
                       task["nFiles"], task["nFilesUsed"], task["nEvents"])
             for task in case["tasks"] if task["eventService"] == 1 and task["prodSourceLabel"] == MANAGED)
    found = convert(case["params"], event_pool(tasks), Keys(*map(case["config"].get, KEYS)), case["u"])
    given = case["params"]
    return dict(converted=bool(found), params={key: value for key, value in found.items()
                                               if key not in given or given[key] != value})
