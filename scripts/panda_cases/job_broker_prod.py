"""Production job brokerage: asks with a snapshot of the case, and answers in the words of the recordings."""

import simgrid_broker as sb
from panda_cases.grid import snapshot
from panda_cases.layout import OF_JOBS, complete
from panda_cases.tasks import task

USED, JUMBO = "+use", "+usejumbo"


def answer(case: dict) -> dict:
    """The answer about the task of a case."""
    case = complete(case, OF_JOBS)
    number = str(case["task"]["jediTaskID"])
    values = snapshot(case) | {"tasks": {number: task(case, case["task"], case["chunk"], "job_brokerage")}}
    values["placed"] = [dict(queue=name, share=case["task"].get("gshare"), jobs=jobs)
                        for name, jobs in case["live_counter"].items()]
    told = sb.broker(sb.Snapshot.from_dict(values)).to_dict()
    if told["error"] and told["error"] != "no candidates":
        return no_list(told["error"])
    listed = [one for one in told["candidates"] if one["stage"] or one["kept"]]
    kept = sorted((one for one in listed if one["order"] is not None), key=lambda one: one["order"])
    return dict(
        status="FAILED" if told["error"] else "SUCCEEDED", error=told["error"],
        queues={one["name"]: verdict(one) for one in listed},
        candidates=[row(one) for one in kept], jumbo=[row(one) for one in listed if one["jumbo"]],
        weights={one["name"]: dict(row(one), nw_weight=one["network_weight"]) for one in listed
                 if one["weighed"]})


def no_list(error: str) -> dict:
    """The answer to an attempt that ends before any candidate is looked at."""
    return dict(status="FAILED", error=error, queues={}, candidates=[], jumbo=[], weights={})


def verdict(one: dict) -> dict:
    """Outcome for a candidate."""
    if one["jumbo"]:
        return dict(unified=one["queue"], kept=True, stage=None, criterion=JUMBO)
    return dict(unified=one["queue"], kept=one["kept"], stage=one["stage"], criterion=one["tag"] or USED)


def row(one: dict) -> dict:
    """A candidate with its weight and the numbers of the draw."""
    return dict(queue=one["name"], unified=one["queue"], weight=one["weight"], n_running=one["running"],
                n_queued=one["queued"], cap=one["cap"])
