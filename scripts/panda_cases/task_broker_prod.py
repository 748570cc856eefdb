"""Production task brokerage: the tasks of a case are asked one after the other, as in one turn of the TaskBroker."""

import simgrid_broker as sb
from panda_cases import grid
from panda_cases.layout import OF_TASKS, complete
from panda_cases.tasks import CHAIN, task
from simgrid_broker.dry_run import Decision, broker_turn

UNLOGGED = {"no sites can run jobs": ("-job",), None: ()}
"""Tags that PanDA does not log when an attempt ends with a text."""
NO_TAG = ("-preassign", "-no_complete_replica", "-match")
"""Tags of refusals that PanDA does not log at all."""
FROM_QUEUES_ON = ("-job", "-insize", "-innum", "-full_chain")
"""Tags of the check for queues that can run the jobs, and of those behind it."""
QUEUED = "Production Output_queued"


def answer(case: dict) -> dict:
    """One result for each task, in their order."""
    case = complete(case, OF_TASKS)
    values = snapshot(case)
    decisions = broker_turn(sb.Snapshot.from_dict(values))
    return {"results": [result(one, decision) for one, decision in zip(case["tasks"], decisions, strict=True)]}


def snapshot(case: dict) -> dict:
    """The grid with the tasks, and with what nuclei owe."""
    values = grid.snapshot(case)
    sites = {name: None for name in (*values["grid"]["sites"], *case["full_rw"],
                                     *(name for row in case["prio_rw"].values() for name in row))}
    traffic = case["grid"]["network"]
    values["nuclei"] = {name: dict(
        work=case["full_rw"].get(name, 0.0),
        work_from={int(priority): row.get(name, 0.0) for priority, row in case["prio_rw"].items()},
        queued_files=sum(row.get(QUEUED, 0) for row in traffic.get(name, {}).values())) for name in sites}
    values["grid"]["sites"] |= {name: dict(nucleus=False, cores=0) for name in sites
                                if name not in values["grid"]["sites"]}
    values["tasks"] = {str(one["task"]["jediTaskID"]): of_task(case, one) for one in case["tasks"]}
    return values


def of_task(case: dict, one: dict) -> dict:
    """A task with its output, its parent, and the number of its draw."""
    given = one["task"] | {"gshare": case.get("work_queue")}
    found = task(case, given, one["chunk"], "task_brokerage")
    found["next_jobs"] = found["next_jobs"] | grid.said({"u": one.get("u")})
    found |= dict(remaining_work=one.get("task_rw") or 0.0,
                  outputs=[output["storage_token"] for output in one["outputs"]])
    if one["params"].get("taskBrokerOnMaster"):
        found["taskBrokerOnMaster"] = True
    if one.get("parent"):
        chain = CHAIN.get(str(one["parent"]["split_rules"].get("fullChain")))
        found["parent"] = grid.said(dict(nucleus=one["parent"].get("nucleus"), fullChain=chain))
    return found


def result(one: dict, decision: Decision) -> dict:
    """The decision in the words of the recordings."""
    unlogged = (*NO_TAG, *UNLOGGED.get(decision.error, ()))
    kept = [each for each in decision.candidates if each.kept]
    drawn, error = decision.drawn, decision.error
    if fails(one["task"], one["chunk"]) and asks_for_queues(decision):
        unlogged, kept, drawn, error = (*NO_TAG, *FROM_QUEUES_ON), [], None, "a number of the task is null"
    return dict(
        jediTaskID=one["task"]["jediTaskID"], status="ASSIGNED" if drawn else "SKIPPED", error=error, nucleus=drawn,
        candidates=[] if is_named(one["task"], decision) else [dict(nucleus=each.name, weight=each.weight)
                                                               for each in kept],
        skipped={each.name: each.tag for each in decision.candidates if each.tag and each.tag not in unlogged})


def is_named(given: dict, decision: Decision) -> bool:
    """True if the task names the nucleus, which PanDA then neither checks nor weighs."""
    return given.get("nucleus") == decision.drawn and {each.tag for each in decision.candidates} <= {None, "-preassign"}


def asks_for_queues(decision: Decision) -> bool:
    """True if nuclei were left for the check of their queues."""
    tags = {each.tag for each in decision.candidates}
    return "-preassign" not in tags and (decision.drawn is not None or not tags.isdisjoint(FROM_QUEUES_ON))


def fails(given: dict, chunk: dict) -> bool:
    """True if the check of queues computes with a number of the task that is null."""
    def is_null(*names: str) -> bool:
        return any(name in given and given[name] is None for name in names)
    memory = (given.get("ramCount") or chunk.get("ram_count")) and not chunk.get("is_merging")
    by_core, by_work = "PerCore" in (given.get("ramUnit") or ""), "HS06" in (given.get("cpuTimeUnit") or "")
    return bool(memory and by_core and is_null("baseRamCount") or by_work and is_null("cpuEfficiency", "baseWalltime"))
