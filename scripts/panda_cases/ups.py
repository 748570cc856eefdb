"""New workers of unified pilot streaming for one PanDA queue."""

from collections.abc import Mapping
from math import inf, nan

import numpy as np

from panda_cases.config import gdpconfig
from panda_cases.layout import OF_STREAMING, complete
from panda_cases.shares import tree_and_usage
from simgrid_broker.gdpconfig.components import meanrss
from simgrid_broker.names import QueueStatus
from simgrid_broker.policy.jobs.resource_types import cores_of_worker, is_high_memory
from simgrid_broker.policy.pilot_streaming import new_workers
from simgrid_broker.policy.shares.dispatch import GLOBAL_SHARES
from simgrid_broker.scenario.model import DEFAULT_RESOURCE_TYPES, ResourceTypeBounds
from simgrid_broker.views import WAITING_JOBS, PilotStatus

LABEL, BASIC_TYPE = "managed", "SCORE"
WAITING = ("submitted", "ready")
BOUNDS = ("mincore", "maxcore", "minrampercore", "maxrampercore")


def answer(case: dict) -> dict:
    """Workers by type for the Harvester instance of the queue; none without instance or statistics."""
    case = complete(case, OF_STREAMING)
    cfg, limits = gdpconfig(case)
    instance, activated = case["queue"].get("harvester"), case["activated_jobs"]
    by_label = case["worker_stats"].get(instance)
    if by_label is None:
        return {"new_workers": {}, "limits": limits}
    types = {name: ResourceTypeBounds(**dict(zip(BOUNDS, bounds, strict=True)))
             for name, *bounds in case["resource_types"]} or dict(DEFAULT_RESOURCE_TYPES)
    types.setdefault(BASIC_TYPE, DEFAULT_RESOURCE_TYPES[BASIC_TYPE])            # PanDA keeps a queue alive with it
    workers = by_label.get(LABEL) or {}
    limits += [f"worker_stats.{instance}.{label}" for label in by_label if label != LABEL]
    limits += [f"resource type {name}" for name in {*workers, *(job["resource_type"] for job in activated)}
               if name not in types]
    asked = new_workers(status(case, cfg, types, workers))[0].tolist()
    numbers = {name: number for name, number in zip(types, asked, strict=True) if number or name in workers}
    if not any(number > 1 for number in asked):         # kept alive: the command names this type alone
        numbers = {name: number for name, number in numbers.items() if number}
    return {"new_workers": {instance: {LABEL: numbers}}, "limits": limits}


def status(case: dict, cfg, types: Mapping[str, ResourceTypeBounds], workers: Mapping[str, Mapping]) -> PilotStatus:
    """The view of the queue."""
    queue, memory = case["queue"], case["average_memory"]
    tree, used, leaves = tree_and_usage(case["shares"], case["hs_distribution"])
    corecount, words = queue.get("corecount") or 0, QueueStatus.words()
    cores = np.array([[cores_of_worker(kind, corecount) for kind in types.values()]])
    running, queued = (np.array([[sum(workers.get(name, {}).get(state, 0) for state in states)
                                       for name in types]])
                       for states in (("running",), WAITING))
    most = queue["uconfig"].get("resource_type_limits", {})
    return PilotStatus(
        corecount=np.array([corecount]), cores_running=(running * cores).sum(axis=1),
        cores_queued=(queued * cores).sum(axis=1), workers_queued=queued, worker_cores=cores,
        activated=np.zeros((1, len(leaves), len(types)), np.int64), share_order=GLOBAL_SHARES.shares(tree, used),
        score=list(types).index(BASIC_TYPE), jobs=_jobs(case["activated_jobs"], leaves, list(types)),
        status=np.array([words.index(queue["status"]) if queue.get("status") in words else QueueStatus.PAUSED]),
        core_target=np.array([queue["params"].get("ups_core_target") or 0]), running_of_type=running,
        limit_of_type=np.array([[most.get(name, inf) for name in types]]),
        high_memory_limit=np.array([most.get("HIMEM", inf)]),
        high_memory=np.array([is_high_memory(kind) for kind in types.values()]),
        most_memory=np.array([inf if kind.maxrampercore is None else kind.maxrampercore for kind in types.values()]),
        meanrss=np.array([queue.get("meanrss") or 0]), ignore_meanrss=bool(cfg.value(meanrss.IGNORE_MEANRSS)),
        mean_memory=np.array([_number(memory.get("running_submitted"))]),
        mean_memory_running=np.array([_number(memory.get("running"))]))


def _jobs(activated: list[dict], leaves: tuple[str, ...], types: list[str]) -> np.ndarray:
    """Activated jobs of known shares and types, one by one."""
    known = [job for job in activated if job["gshare"] in leaves and job["resource_type"] in types]
    return np.array([(0, leaves.index(job["gshare"]), types.index(job["resource_type"]), job.get("priority") or 0, 1)
                     for job in known], WAITING_JOBS)


def _number(value: float | None) -> float:
    return nan if value is None else value
