"""What a task asks, put into numbers once.

What lives here: the record of a task and of the values of gdpconfig that hold for it. What does not: rules.
"""

import numpy as np

from simgrid_broker.names import EXPRESS_PRIORITY, EXPRESS_TYPE
from simgrid_broker.policy.job_brokerage import estimates
from simgrid_broker.policy.job_brokerage.at import ASK
from simgrid_broker.units import GIB
from simgrid_broker.views import Gdpconfig, Task

JOBBROKER = "jobbroker"
DEFAULT_CUT = 20
"""Least cap where NQUEUELIMITSITE_<gshare> is not set; source: brokerage reference, 10.3."""
T1_BOOST, T1_BOOST_PRIORITY = 100, 900
"""t1Weight of tasks of high priority is at least this; source: JEDI TWiki, T1 weight; brokerage reference, P5."""
T1_OF_HEAVY_IO, HEAVY_IO = 4, 500
"""t1Weight, where none is given, of tasks whose ioIntensity, kB/s, reaches a limit; source: brokerage reference, P22.

The JEDI TWiki takes the weight from a table of clouds that it does not print.
"""
DEFAULT_DISKIO = 1e10
"""Limit of disk traffic where gdpconfig has 0, kB/s per core; source: brokerage reference, 12."""
DEFAULT_FREE_GB = 200
"""STORAGE_MIN_FREE_SIZE where gdpconfig has 0; source: as above."""
PLAIN = [name for name in ASK.names if name in Task.__dataclass_fields__ and name != "event_service"]
"""Columns that are fields of the task just so; event service has a meaning of its own here."""


def asked(task: Task, cfg: Gdpconfig, edition: str = "documented") -> np.ndarray:
    """The record of a task under gdpconfig, (1,) of ASK; the input is filled in with every decision."""
    values = cfg.once(_of_config, task.prodsourcelabel, task.gshare, edition) | _of_task(task, edition)
    return np.array([tuple(values.values())], ASK)


def is_express(task: Task, edition: str) -> bool:
    """Whether a task is express: processing type urgent, or priority 1000 or, in the code, above (D4)."""
    limit = EXPRESS_PRIORITY if edition == "documented" else EXPRESS_PRIORITY + 1
    return task.processingtype == EXPRESS_TYPE or task.currentpriority >= limit


def t1_value(task: Task, edition: str) -> float:
    """The task's t1Weight as a factor: that given, or one for heavy input and output (D22), raised by priority (D21).

    A negative one restricts queues and is worth 1. The code raises that of scouts too, but not of event service.
    Source: JEDI TWiki, T1 weight; brokerage reference, P5 and P22.
    """
    deployed = edition == "deployed"
    high = task.currentpriority >= T1_BOOST_PRIORITY
    boosted = (not task.event_service or task.job_cloning) and (high or task.is_scout) if deployed else high
    heavy = task.iointensity > HEAVY_IO if deployed else task.iointensity >= HEAVY_IO
    value = max(task.t1weight, 1) if task.t1weight else (T1_OF_HEAVY_IO if heavy else 1)
    return max(value, T1_BOOST) if boosted else value


def _of_task(task: Task, edition: str) -> dict:
    plain = {name: getattr(task, name) for name in PLAIN}
    return plain | dict(priority=task.currentpriority, express=is_express(task, edition),
                        has_nucleus=task.nucleus >= 0, label_test="test" in task.prodsourcelabel,
                        t1value=t1_value(task, edition), event_service=task.event_service and not task.job_cloning,
                        wants_a_day=estimates.wants_a_day(task), **estimates.of_task(task, edition))


def _of_config(cfg: Gdpconfig, prodsourcelabel: str, gshare: str, edition: str) -> dict:
    """All columns of ASK in order, of which only gdpconfig has filled in its values; not to be changed."""
    return dict.fromkeys(ASK.names, 0) | _of_load_config(cfg, prodsourcelabel, gshare) | _of_data_config(cfg, edition)


def _of_load_config(cfg: Gdpconfig, prodsourcelabel: str, gshare: str) -> dict:
    """Values that rules about single candidates read; 0 of NQUEUELIMITSITE_<gshare> counts as not set."""
    return dict(cut=cfg.family(JOBBROKER, "NQUEUELIMITSITE", gshare) or DEFAULT_CUT,
                min_weight=cfg.family(JOBBROKER, f"MIN_WEIGHT_{prodsourcelabel}", gshare, 0),
                max_prio_to_bootstrap=cfg.value(JOBBROKER, "MAX_PRIO_TO_BOOTSTRAP"),
                nqueued_nuc_cap_for_jobs=cfg.value(JOBBROKER, "NQUEUED_NUC_CAP_FOR_JOBS"),
                nqueued_sat_cap=cfg.value(JOBBROKER, "NQUEUED_SAT_CAP"),
                nw_active=cfg.value(JOBBROKER, "NW_ACTIVE"), nw_threshold=cfg.value(JOBBROKER, "NW_THRESHOLD"),
                nw_queue_importance=cfg.value(JOBBROKER, "NW_QUEUE_IMPORTANCE"),
                nw_weight_multiplier=cfg.value(JOBBROKER, "NW_WEIGHT_MULTIPLIER"),
                work_shortage=cfg.value("core", "WORK_SHORTAGE"))


def _of_data_config(cfg: Gdpconfig, edition: str) -> dict:
    """Values of rules about disks and data, in the units of ASK; 0 counts as not set where PanDA says so."""
    mb_per_gb = 1000 if edition == "documented" else 1024
    return dict(max_diskio=cfg.value(JOBBROKER, "MAX_DISKIO_DEFAULT") or DEFAULT_DISKIO,
                storage_min_free_bytes=(cfg.value(JOBBROKER, "STORAGE_MIN_FREE_SIZE") or DEFAULT_FREE_GB) * GIB,
                io_intensity_cutoff=cfg.value(JOBBROKER, "IO_INTENSITY_CUTOFF"),
                size_cutoff_mb=cfg.value(JOBBROKER, "SIZE_CUTOFF_TO_MOVE_INPUT") * mb_per_gb,
                num_cutoff=cfg.value(JOBBROKER, "NUM_CUTOFF_TO_MOVE_INPUT"))
