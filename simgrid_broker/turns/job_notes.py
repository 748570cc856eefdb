"""What compiled cycles of job generation record of their decisions."""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.names import DecisionKind
from simgrid_broker.turns.decision_log import MADE, RECORDED
from simgrid_broker.turns.watch import chooses, keeps

JOB_BROKERAGE, ANALYSIS_BROKERAGE = int(DecisionKind.JOB_BROKERAGE), int(DecisionKind.ANALYSIS_BROKERAGE)


@compiled
def note(world, tables, desk, watch, state, row):
    """Record a decision if it is to be; returns whether its candidates are to be, too."""
    seen = desk.slots[state["slot"]]
    whole = chooses(world, watch, JOB_BROKERAGE, row, state["n_best"] > 0) or seen["whole"]
    if whole or seen["recorded"]:
        record(tables, desk, state, tables.task[state["slot"]], JOB_BROKERAGE)
    return whole


@compiled
def note_for_user(world, users, desk, watch, state, row):
    """As `note`, for a task of a user."""
    task, asked = users.task[0], watch.record[0]
    whole = (chooses(world, watch, ANALYSIS_BROKERAGE, row, state["n_best"] > 0)
             or keeps(world, watch, asked["of_candidates"], task["jeditaskid"], task["luck"]))
    if whole or keeps(world, watch, asked["of_decisions"], task["jeditaskid"], task["luck"]):
        record(users, desk, state, task, ANALYSIS_BROKERAGE)
    return whole


@compiled
def record(tables, desk, state, task, kind):
    """Record a decision without its candidates."""
    row, n_best = desk.room[desk.numbers[RECORDED]], state["n_best"]
    desk.numbers[RECORDED] += 1
    row["time_s"], row["decision"], row["kind"] = state["now_s"], desk.numbers[MADE], kind
    row["jeditaskid"], row["share"], row["resource_type"] = task["jeditaskid"], task["share"], task["resource_type"]
    row["n_candidates"], row["n_kept"], row["n_jobs"] = len(tables.refused_by), n_best, state["placed"]
    row["best"], row["best_weight"] = -1, np.nan
    if n_best > 0:
        row["best"], row["best_weight"] = tables.best[0], tables.weight[tables.best[0]]
