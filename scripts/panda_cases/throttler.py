"""Throttling of job generation for one share and resource type."""

from panda_cases.config import gdpconfig
from panda_cases.layout import OF_THROTTLER, complete
from simgrid_broker.policy.tasks.throttle import UNLIMITED, Standby, lift, throttle, throttle_limits, with_standby
from simgrid_broker.views import WorkQueueCounts
from simgrid_broker.world.shares import core_types

ANALYSIS_LABEL = "user"
MERGE_ONLY = 5
"""PanDA's code of a decision that leaves merge jobs alone."""


def answer(case: dict) -> dict:
    """True if jobs are made, how many, and from which priority on."""
    case = complete(case, OF_THROTTLER)
    cfg, refused = gdpconfig(case)
    resource_type = case.get("resource_type") or ""
    limits = throttle_limits(cfg, case.get("share") or "", resource_type, edition=case["edition"],
                             throttled=case["gs_throttled"])       # keys of the production throttler for any label
    limits = limits._replace(analysis=case.get("prod_source_label") == ANALYSIS_LABEL)
    types = list(dict.fromkeys([resource_type, *(kind for by_type in _tables(case) for kind in by_type)]))
    alike = [types[number] for number in core_types(resource_type, types)]
    own = _counts(case, types[:1], of_type=True)
    highest = case["highest_prio_job"]
    decision = lift(throttle(own, limits, _counts(case, alike), _counts(case, types)),
                    case.get("highest_prio_waiting"), highest.get("highestPrio", 0), highest.get("nNotRun", 0))
    unlimited = decision.max_jobs == UNLIMITED or not decision.merging
    return {"throttled": decision.skip and (MERGE_ONLY if decision.merging else True),
            "max_num_jobs": None if unlimited else decision.max_jobs,
            "min_priority": decision.min_priority, "lack_of_jobs": decision.lacking, "limits": refused}


def _tables(case: dict) -> list[dict]:
    """Every table of numbers by resource type."""
    return [*case["stats"].values(), case["standby_static"], case["standby_dynamic"]]


def _counts(case: dict, types: list[str], of_type: bool = False) -> WorkQueueCounts:
    """Numbers of the share in some resource types, standby slots included; of_type: at the level of one type."""
    def of(*statuses: str) -> int:
        return sum(case["stats"].get(status, {}).get(kind, 0) for status in statuses for kind in types)

    def slots(table: str) -> int | None:
        found = [case[table][kind] for kind in types if kind in case[table]]
        return sum(found) if found else None
    counts = WorkQueueCounts(of("running"), of("assigned", "activated", "starting"), of("defined"), of("waiting"),
                             case.get("total_walltime"))
    standby = Standby(slots("standby_static"), slots("standby_dynamic"))
    return with_standby(counts, standby, of_type)
