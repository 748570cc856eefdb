"""gdpconfig: every key of PanDA, JEDI and this simulator, one row each.

A rule imports the component and reads through the key: `cfg.value(jobbroker.NW_ACTIVE)`, or for a family of keys
`cfg.value(jobbroker.NQUEUELIMITSITE, gshare="Express")`. Defaults and zeros are resolved in the values in force, so a
rule holds no default. What scenarios set is read in `scenario.gdpconfig`.
"""

from simgrid_broker.gdpconfig.components import (
    HIGHER,
    LOWER,
    PAUSING,
    Component,
    GdpconfigKey,
    JumboWatchDog,
    anal_job_throttler,
    anal_jobbroker,
    anal_watchdog,
    analy_eval,
    core,
    data_carousel,
    dbproxy,
    job_timeout,
    jobbroker,
    jobdispatch,
    jobgen,
    meanrss,
    pandaserver_dbproxy,
    prio_mgr,
    prod_job_throttler,
    queue_filler,
    rebroker,
    retry_task,
    task_withholder,
    taskbrokerage,
    taskrefiner,
    watchdog,
    watcher,
)

REGISTRY: tuple[GdpconfigKey, ...] = tuple(entry for component in Component.ALL for entry in component.entries())
"""Every key, component by component."""

COMPONENTS = tuple(dict.fromkeys(entry.component for entry in REGISTRY))
"""Names of all components."""

__all__ = ["COMPONENTS", "HIGHER", "LOWER", "PAUSING", "REGISTRY", "Component", "GdpconfigKey", "JumboWatchDog",
           "anal_job_throttler", "anal_jobbroker",
           "anal_watchdog", "analy_eval", "core", "data_carousel", "dbproxy", "job_timeout", "jobbroker", "jobdispatch",
           "jobgen", "meanrss", "pandaserver_dbproxy", "prio_mgr", "prod_job_throttler", "queue_filler", "rebroker",
           "retry_task", "task_withholder", "taskbrokerage", "taskrefiner", "watchdog", "watcher"]
