"""Automatic conversion of production tasks to event service; source: lifecycle reference, 6.5 and 6.6; panda-server,
`AtlasProdTaskRefiner.extractCommon` and `getNumUnprocessedEvents_JEDI`."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from simgrid_broker.names import TaskStatus
from simgrid_broker.units import MINUTE

T = TaskStatus
COUNTED = (T.RUNNING, T.PENDING, T.READY, T.SCOUTING, T.REGISTERED, T.DEFINED, T.ASSIGNING)
"""Statuses of tasks that count."""
PENDING = (T.PENDING, T.REGISTERED)
NOT_COUNTED = "Validation"
"""Share whose events do not count."""
BETWEEN_TASKS = 5 * MINUTE
"""Time after the newest task of event service before which no other is converted, s."""
PARAMETERS: dict[str, Any] = {"nEventsPerWorker": 1, "registerEsFiles": True, "coreCount": 0,
                              "resurrectConsumers": True}
"""Parameters that a converted task gets."""
UNLESS_GIVEN: dict[str, Any] = {"mergeEsOnOS": True, "maxAttemptES": 1, "maxAttemptEsJob": 0, "notDiscardEvents": True,
                                "decAttOnFailedES": True}
"""Parameters that it gets if it does not have them."""


class EventTask(NamedTuple):
    """A production task of event service as the pool of events counts it; share: None = unknown; age in s."""

    status: TaskStatus
    share: str | None
    age_s: float
    n_files: int
    n_files_used: int
    n_events: float


class Pool(NamedTuple):
    """Unprocessed events, the age of the newest task in s, and the number of pending tasks."""

    n_events: float
    newest_s: float | None
    n_pending: int


class Keys(NamedTuple):
    """Keys of taskrefiner: AES_MAXTASKPRIORITY, AES_MINTASKPRIORITY, AES_EVENTPOOLSIZE, AES_MAXPENDING,
    AES_NESCONSUMERS and AES_NSITESPERJOB; None = not set."""

    most_priority: float | None = None
    least_priority: float | None = None
    pool_size: float | None = None
    most_pending: float | None = None
    n_consumers: int | None = None
    n_sites: int | None = None


def event_pool(tasks: Iterable[EventTask]) -> Pool:
    """The pool of events of all tasks with event service."""
    known = [task for task in tasks if task.status in COUNTED]
    events = sum(task.n_events * (task.n_files - task.n_files_used) / task.n_files for task in known
                 if task.n_files and task.share not in (None, NOT_COUNTED))
    return Pool(events, min((task.age_s for task in known), default=None),
                sum(task.status in PENDING for task in known))


def is_wanted(priority: float, pool: Pool, keys: Keys) -> bool:
    """True if a convertible task is converted: there are too few events, and not too many pending tasks.

    Both AES_EVENTPOOLSIZE and AES_MAXPENDING must be set.
    """
    fits = (keys.most_priority is None or priority <= keys.most_priority) and (
        keys.least_priority is None or priority >= keys.least_priority)
    return (fits and (pool.newest_s is None or pool.newest_s > BETWEEN_TASKS)
            and keys.pool_size is not None and pool.n_events < keys.pool_size
            and keys.most_pending is not None and pool.n_pending < keys.most_pending)


def convert(params: Mapping[str, Any], pool: Pool, keys: Keys, draw: float) -> dict[str, Any]:
    """Parameters that a production task gets, none if it is not converted.

    draw: uniform in [0, 1), below esFraction of the tasks that have it. A task with nEventsPerWorker is not converted.
    """
    wanted = params.get("esConvertible") is True and is_wanted(params["taskPriority"], pool, keys)
    if "nEventsPerWorker" in params or not (wanted or (params.get("esFraction") or 0) > draw):
        return {}
    consumers = {"nEsConsumers": 1 if keys.n_consumers is None else keys.n_consumers}
    sites = {} if keys.n_sites is None else {"nSitesPerJob": keys.n_sites}
    optional = UNLESS_GIVEN | consumers | sites
    return PARAMETERS | {name: value for name, value in optional.items() if name not in params}
