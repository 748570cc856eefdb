"""What a task asks, put into numbers once.

What lives here: the record of a task and of the values of gdpconfig that hold for it. What does not: rules.
"""

import numpy as np

from simgrid_broker.policy.job_brokerage.at import ASK
from simgrid_broker.views import Gdpconfig, Task

JOBBROKER = "jobbroker"
EXPRESS_TYPE = "urgent"
EXPRESS_PRIORITY = 1000
DEFAULT_CUT = 20
"""Least cap where NQUEUELIMITSITE_<gshare> is not set; source: brokerage reference, 10.3."""


def asked(task: Task, cfg: Gdpconfig, edition: str = "documented") -> np.ndarray:
    """The record of a task under gdpconfig, (1,) of ASK; the input is filled in with every decision."""
    record = np.zeros(1, ASK)
    values = _of_task(task, edition) | _of_config(task, cfg)
    for name, value in values.items():
        record[name] = value
    return record


def is_express(task: Task, edition: str) -> bool:
    """Whether a task is express: processing type urgent, or priority 1000 or, in the code, above (D4)."""
    limit = EXPRESS_PRIORITY if edition == "documented" else EXPRESS_PRIORITY + 1
    return task.processingtype == EXPRESS_TYPE or task.currentpriority >= limit


def _of_task(task: Task, edition: str) -> dict:
    return dict(jeditaskid=task.jeditaskid, priority=task.currentpriority, t1weight=task.t1weight,
                iointensity=task.iointensity, is_scout=task.is_scout, is_merging=task.is_merging,
                express=is_express(task, edition), has_nucleus=task.nucleus >= 0)


def _of_config(task: Task, cfg: Gdpconfig) -> dict:
    """Values that rules about single candidates read; 0 of NQUEUELIMITSITE_<gshare> counts as not set."""
    label = f"MIN_WEIGHT_{task.prodsourcelabel}"
    return dict(cut=cfg.family(JOBBROKER, "NQUEUELIMITSITE", task.gshare) or DEFAULT_CUT,
                min_weight=cfg.family(JOBBROKER, label, task.gshare, 0),
                max_prio_to_bootstrap=cfg.value(JOBBROKER, "MAX_PRIO_TO_BOOTSTRAP"),
                nqueued_nuc_cap_for_jobs=cfg.value(JOBBROKER, "NQUEUED_NUC_CAP_FOR_JOBS"),
                nqueued_sat_cap=cfg.value(JOBBROKER, "NQUEUED_SAT_CAP"),
                nw_active=cfg.value(JOBBROKER, "NW_ACTIVE"), nw_threshold=cfg.value(JOBBROKER, "NW_THRESHOLD"),
                nw_queue_importance=cfg.value(JOBBROKER, "NW_QUEUE_IMPORTANCE"),
                nw_weight_multiplier=cfg.value(JOBBROKER, "NW_WEIGHT_MULTIPLIER"))
