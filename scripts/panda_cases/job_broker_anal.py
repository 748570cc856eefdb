"""Analysis job brokerage: asks with a snapshot of the case, and answers in the words of the recordings."""

import simgrid_broker as sb
from panda_cases.grid import said, snapshot
from panda_cases.job_broker_prod import USED
from panda_cases.layout import OF_ANALYSIS, complete
from panda_cases.tasks import task

CLASSES = {2: "S", 1: "A", 0: "B", -1: "C"}
SITE_CLASSES = {1: "hi", 0: "mid", -1: "lo"}
ALL_USERS, LEVEL_1 = "_total", "L1 "
UNLOGGED = ("-no_local_data", "-avoid_vp", "-architecture", "-preassign")
"""Tags of rules for which PanDA logs none."""
RULES = {"avoidVP": "avoidVP", "nSitesPerJob": "nSitesPerJob", "allowIncompleteInDS": "allowIncompleteInDS"}
"""Split rules that are keys of an analysis task."""


def answer(case: dict) -> dict:
    """The answer about the task of a case."""
    case = complete(case, OF_ANALYSIS)
    given = case["task"]
    values = snapshot(case)
    values |= dict(users=users(case), user_jobs=user_jobs(case), share_usage=share_usage(case),
                   tasks={str(given["jediTaskID"]): analysis_task(case)})
    for name, numbers in values["queues"].items():
        numbers |= said(dict(site_class=SITE_CLASSES.get(case["site_class"].get(name)),
                             to_running_rate=case["run_rates"].get(name)))
    told = sb.broker(sb.Snapshot.from_dict(values)).to_dict()
    if told["error"] and told["error"] != "no candidates":
        return dict(status=told["status"], error=told["error"], queues={}, candidates=[], weights={})
    listed = [one for one in told["candidates"] if one["stage"] or one["kept"]]
    kept = sorted((one for one in listed if one["order"] is not None), key=lambda one: one["order"])
    return dict(status=told["status"], error=told["error"], queues={one["name"]: verdict(one) for one in listed},
                candidates=[row(one) for one in kept],
                weights={one["name"]: one["weight"] for one in listed if one["weighed"]})


def analysis_task(case: dict) -> dict:
    """The task of a case, with what only analysis brokerage reads."""
    given, rules = case["task"], case["task"]["split_rules"]
    found = task(case, given, case["chunk"], "analysis_brokerage")
    if "nGBPerJob" in rules:
        found["splitting"] |= dict(nGBPerJob=float(rules["nGBPerJob"]))
    own = dict(
        transUses=given.get("transUses"), cloud=given.get("cloud") or "",
        task_class=CLASSES.get(case["task_eval"].get("class")), ended_jobs=case["failure_counts"],
        used_queues=[name.partition("/")[0] for name in case["sites_used_by_task"]],
        scouting=bool(case["chunk"].get("use_scout")))
    own |= {key: type_of(rules[rule]) for rule, key in RULES.items() if rule in rules}
    if "limitedSites" in rules:
        own |= {key: value for key, value in case["task_params"].items() if value}
    return found | said(own | site(case))


def type_of(value: object) -> object:
    """The value of a split rule."""
    return int(str(value))


def site(case: dict) -> dict:
    """The queue or DDM endpoint to which a task is pre-assigned; an unknown name is ignored."""
    name = case["task"].get("site")
    if not name or any(queue["name"] == name for queue in case["grid"]["queues"]):
        return {}
    known = any(endpoint["name"] == name for endpoint in case["grid"]["endpoints"])
    return dict(site=[], siteEndpoint=name if known else None)


def users(case: dict) -> dict:
    """Numbers and quotas of the user, and of the working group."""
    given, totals, quota = case["task"], case["user_totals"], case.get("global_quota")
    owner = dict(running_jobs=totals.get("nRunJobs"), queued_jobs=totals.get("nQueuedJobs"),
                 running_cores=totals.get("nRunCores"), queued_cores=totals.get("nQueuedCores"),
                 full_storages=case["over_local_quota"])
    if quota:
        fine, near, message = quota
        owner |= dict(quota="over" if not fine else "near" if near else "fine", quota_message=message or "")
    name, slots = given.get("userName") or "", case["user_eval"].get("rem_slots_A")
    found = {given.get("workingGroup") or name: said(owner)}
    user = found.setdefault(name, {})
    return found if slots is None else found | {name: user | dict(rem_slots_A=slots)}


def user_jobs(case: dict) -> list[dict]:
    """Jobs of users at queues."""
    return [dict(queue=queue, share=share, user=None if user == ALL_USERS else user, queued=row.get("nQueue", 0),
                 running=row.get("nRunning", 0))
            for queue, shares in case["user_stats"].items() for share, by_user in shares.items()
            for user, row in by_user.items()]


def share_usage(case: dict) -> dict:
    """Usage of the share, and the equivalent one of its level-1 share."""
    known = case["gshare_usage"]
    return {share: said(dict(usage=row["usage_perc"],
                             equivalent=known.get(LEVEL_1 + share, {}).get("eqiv_usage_perc")))
            for share, row in known.items() if not share.startswith(LEVEL_1) and "usage_perc" in row}


def verdict(one: dict) -> dict:
    """Outcome for a candidate."""
    tag = one["tag"] or USED
    return dict(unified=one["queue"], kept=one["kept"], stage=one["stage"],
                criterion=tag[1:] if tag in UNLOGGED else tag)


def row(one: dict) -> dict:
    """A candidate with its weight."""
    return dict(queue=one["name"], unified=one["queue"], weight=one["weight"])
