"""gdpconfig: every key of PanDA, JEDI and this simulator, one row each.

A key is addressed as `KEY`, in all components that have it, or as `component.KEY`. A rule imports the component and
reads through the key: `cfg.value(jobbroker.NW_ACTIVE)`, or for a family of keys
`cfg.value(jobbroker.NQUEUELIMITSITE, gshare="Express")`. Defaults and zeros are resolved in the values in force, so a
rule holds no default. What scenarios set is read in `scenario.gdpconfig`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

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

ALIASES = {"jumbo_dog": "JumboWatchDog"}
"""Other names of components; source: JEDI TWiki, jumbo jobs."""


@dataclass(frozen=True)
class Match:
    """A key that a name addresses: its entry of the registry, the key as written, the texts of its placeholders."""

    entry: GdpconfigKey
    key: str
    members: Mapping[str, str]


@cache
def find(name: str) -> tuple[Match, ...]:
    """Keys that `name` addresses, one match for each component; empty for an unknown key."""
    component, key = split(name)
    entries = [entry for entry in REGISTRY if component in (None, entry.component)]
    plain = [Match(entry, key, {}) for entry in entries if entry.key == key and not entry.is_family]
    if plain:
        return tuple(plain)
    found = [Match(entry, key, {name: text for name, text in match.groupdict().items() if text is not None})
             for entry in entries if entry.is_family and (match := entry.pattern.fullmatch(key))]
    longest = max((len(match.entry.prefix) for match in found), default=0)
    return tuple(match for match in found if len(match.entry.prefix) == longest)


def split(name: str) -> tuple[str | None, str]:
    """Component, None if the name has none, and key."""
    before, dot, after = name.partition(".")
    component = ALIASES.get(before, before)
    return (component, after) if dot and component in COMPONENTS else (None, name)


__all__ = ["ALIASES", "COMPONENTS", "HIGHER", "LOWER", "PAUSING", "REGISTRY", "Component", "GdpconfigKey",
           "JumboWatchDog", "Match", "find", "split", "anal_job_throttler", "anal_jobbroker",
           "anal_watchdog", "analy_eval", "core", "data_carousel", "dbproxy", "job_timeout", "jobbroker", "jobdispatch",
           "jobgen", "meanrss", "pandaserver_dbproxy", "prio_mgr", "prod_job_throttler", "queue_filler", "rebroker",
           "retry_task", "task_withholder", "taskbrokerage", "taskrefiner", "watchdog", "watcher"]
