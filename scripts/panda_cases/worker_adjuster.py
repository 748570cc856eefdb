"""New workers of Harvester for one PanDA queue; a view has a column for each resource type and pilot type."""

from collections import Counter
from dataclasses import replace
from math import inf, nan
from types import SimpleNamespace
from typing import Any

import numpy as np

from panda_cases.shape import either, fields, flag, named, reads, real, rows, text, whole
from simgrid_broker.names import QueueStatus
from simgrid_broker.policy.harvester import workers_to_submit
from simgrid_broker.scenario.model import ResourceTypeBounds
from simgrid_broker.schema.harvester import FACTORS, HARVESTER, WITHOUT_IDLE
from simgrid_broker.systems.harvester import PULL, PUSH, STREAMING
from simgrid_broker.systems.worker_mode import WorkerMode
from simgrid_broker.views import QUEUE_WORKERS, WorkerStatus
from simgrid_broker.world.queue_tables import pseudo_queues_of

UNKNOWN_TYPE = (1, 1000)
"""Cores and MB of a worker of a type that Harvester does not know."""
LABEL, ANY, PILOT = "managed", "ANY", "PR"
BOUNDS = ("mincore", "maxcore", "minrampercore", "maxrampercore")
WAITING = ("submitted", "idle", "pending")
UNSET = dict(maxWorkers=0, maxNewWorkersPerCycle=0)
"""Harvester's defaults, of a queue without a template."""


COUNT = whole(0, 0)
JOBS = fields(optional=True, rest=COUNT)
FACTOR = either(real(1, 0), text())
CONFIG = fields(
    optional=True, rest=real(), runMode=text("self"), mapType=text("NoJob"), throttled=flag(),
    prioritizedProdSourceLabels=rows(text()),
    submitter=fields(nCoreFactor=either(FACTOR, fields()), noPilotsWhenNoActiveJobs=flag()))


@reads(num_workers=named(named(named(named(fields(nQueue=COUNT, nReady=COUNT, nRunning=COUNT, nNewWorkers=COUNT))))),
       workers_by_status=named(fields(n=COUNT, nCore=COUNT, minRamCount=real(0, 0))), queue_configs=named(CONFIG),
       panda_queues=named(fields(status=text("online", QueueStatus.words()), capability=text(), corecount=COUNT,
                                 maxrss=real(0, 0))),
       resource_types=rows(fields(resource_name=text(""), mincore=COUNT, maxcore=whole(None, 0),
                                  minrampercore=real(None, 0), maxrampercore=real(None, 0))),
       submitter=fields(maxNewWorkers=COUNT, activateWorkerFactor=FACTOR, noPilotsWhenNoActiveJobs=flag()),
       job_statistics=fields(optional=True, rest=JOBS), worker_statistics=named(fields()),
       job_statistics_new=named(named(named(JOBS))))
def answer(case: dict) -> dict:
    """New workers by queue, resource type and pilot type; those for prioritised pilots are not told apart."""
    found = {name: {LABEL: of_queue(case, name, rows)} for name, rows in case["num_workers"].items()}
    return {"nNewWorkers": found, "limits": limits(case)}


def limits(case: dict) -> list[str]:
    """Activated jobs of labels that have pilots of their own, which the package does not have."""
    return [f"job_statistics_new.{queue}.{kind}.{label}" for queue in case["num_workers"]
            for kind, labels in case["job_statistics_new"].get(queue, {}).items() for label in labels
            if label.startswith(("rc_", "ptest"))]


def of_queue(case: dict, name: str, job_types: dict) -> dict:
    """New workers of one queue."""
    config = case["queue_configs"].get(name)
    kinds = rows_of(job_types)
    if config is None:
        return {}
    columns = list(kinds)
    status = view(case, name, config, kinds, len(job_types) > 1 and any(kind != ANY for kind, _ in columns))
    numbers = workers_to_submit(status, {mode_of(case, config): np.array([True])}, case["edition"])[0].tolist()
    found: dict = {}
    for (kind, pilot), number in zip(columns, numbers, strict=True):
        found.setdefault(kind, {})[pilot] = number
    return found


def rows_of(job_types: dict) -> dict[tuple[str, str], Counter]:
    """Numbers of workers by resource and pilot type, all job types together; PR takes what is asked for."""
    found: dict[tuple[str, str], Counter] = {}
    for job_type, kinds in job_types.items():
        if job_type == ANY and len(job_types) > 1:
            continue
        for kind, pilots in kinds.items():
            row = found.setdefault((kind, PILOT), Counter())
            for pilot, numbers in pilots.items():
                if pilot == ANY:
                    row.setdefault("asked", numbers["nNewWorkers"])
                elif not found.setdefault((kind, pilot), Counter())["listed"]:
                    found[kind, pilot].update(listed=1, queued=numbers["nQueue"],
                                              running=numbers["nReady"] + numbers["nRunning"])
    return found


def mode_of(case: dict, config: dict) -> WorkerMode:
    """The mode of the workers: the server asks, jobs are counted, or as many jobs as may be are fetched."""
    if config["runMode"] == "slave":
        mode = STREAMING
    else:
        mode = PULL if config["mapType"] == "NoJob" else replace(PUSH, wanted=as_many_as_may_wait)
    return replace(mode, fetches_jobs=config["mapType"] != "NoJob", limits=dict(production=UNSET))


def as_many_as_may_wait(status: WorkerStatus) -> np.ndarray:
    """Workers without a limit of their number, one where the queue sets none for those that wait."""
    number = np.where(status.limits["queued_most"] > 0, inf, 1)[:, None]
    return np.where(status.counted, np.maximum(number - status.queued, 0), status.asked)


def view(case: dict, name: str, config: dict, kinds: dict[tuple[str, str], Counter], by_type: bool) -> WorkerStatus:
    """The view of the queue."""
    queue = case["panda_queues"].get(name, {})
    requests = np.array([request(case, queue, kind) for kind, _ in kinds]).reshape(-1, 2)
    numbers = {key: np.array([[row[key] for row in kinds.values()]]) for key in ("asked", "queued", "running")}
    return WorkerStatus(
        **numbers, status=np.array([QueueStatus.words().index(queue.get("status", "online"))]),
        activated=np.array([activated(case, name)]), limits=HARVESTER.filled((options(case, name, config, queue),), {}),
        cores=requests[None, :, 0], memory=requests[None, :, 1], throttled=np.array([bool(config.get("throttled"))]),
        unified=np.array([queue.get("capability") == "ucore"]), by_type=np.array([by_type]), sums=sums(case),
        option=lambda key, default: np.array([default]),
        max_new_workers=case["submitter"]["maxNewWorkers"],
        counted=np.array([[pilot == PILOT for _, pilot in kinds]]))


def request(case: dict, queue: dict, name: str) -> tuple[float, float]:
    """Cores and memory of a worker of a resource type, MB; Harvester has it at queues of fewer cores as well."""
    corecount, maxrss = queue.get("corecount") or 1, queue.get("maxrss") or 0
    row = next((row for row in case["resource_types"] if row["resource_name"] == name), None)
    if row is None:
        return UNKNOWN_TYPE
    bounds = ResourceTypeBounds.model_construct(
        **{key: row[key] for key in BOUNDS} | dict(mincore=min(row["mincore"], corecount)))
    slot, = pseudo_queues_of(0, dict(corecount=corecount, maxrss_mb=maxrss, minrss_mb=0,
                                     unified=queue.get("capability") == "ucore"), [bounds])
    return slot.corecount, slot.maxrss_mb


def options(case: dict, name: str, config: dict, queue: dict) -> Any:
    """The queue as the table of limits reads it: its own configuration and that of the submitter."""
    submitter, own = case["submitter"], config["submitter"]
    instances = case["worker_statistics"].get(name)
    factor: Any = submitter.get(FACTORS[0], 1)
    if factor == "auto":
        factor = 1 / max(len(instances or ()), 1)
    params = {key: value for key, value in config.items() if isinstance(value, int | float)}
    params |= {WITHOUT_IDLE: bool(submitter.get(WITHOUT_IDLE) or own.get(WITHOUT_IDLE)), FACTORS[0]: factor,
               FACTORS[1]: own.get(FACTORS[1], 1) or 1}
    return SimpleNamespace(params=params, catchall="", type="production", mode=mode_of(case, config))


def activated(case: dict, name: str) -> float:
    """Activated jobs of the queue; inf without any statistics, NaN without those of the queue."""
    statistics = case["job_statistics"]
    return inf if statistics is None else statistics.get(name, {}).get("activated", nan)


def sums(case: dict) -> np.ndarray:
    """Sums over the workers of the queue."""
    found = np.zeros(1, QUEUE_WORKERS)
    for state, row in case["workers_by_status"].items():
        group = "running" if state == "running" else "queued" if state in WAITING else None
        if group == "running":
            found["running"] += row["n"]
        if group:
            found[f"cores_{group}"] += row["nCore"]
            found[f"memory_{group}"] += row["minRamCount"]
    return found
