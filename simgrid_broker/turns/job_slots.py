"""Slots: tasks at levels of ramCount in the tables of job generation, filled by compiled code."""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.compiled.columns import copy_columns, same_columns
from simgrid_broker.policy.brokerage.production.question import derive
from simgrid_broker.policy.brokerage.production.storage import FINE, reading_of
from simgrid_broker.schema import TASKS
from simgrid_broker.turns.task_kinds import ONE_TASK
from simgrid_broker.turns.watch import keeps
from simgrid_broker.turns.work_queues import CHANGING
from simgrid_broker.world.jobs.counts import account_of
from simgrid_broker.world.views.tasks import see, see_sources

SLOT = np.dtype([
    ("task", "i4"), ("level", "i4"),         # row, and level of ramCount
    *((name, TASKS.dtype[name]) for name in CHANGING), ("changes", "i8"),    # of the task when its slot was filled
    ("replicas", "i8"), ("dataset", "i4"),   # version of its dataset then; which that was
    ("has_input", "?"), ("files_per_job", "f8"),
    ("can_run", "i8"),               # digest of the candidates that could run its last jobs, 0 = unknown
    ("recorded", "?"), ("whole", "?"),       # whether decisions about the task are recorded, with their candidates
])
"""A task at a level of ramCount in the tables of the brokerage."""


@compiled
def is_current(world, tables, desk, state, row, slot):
    """Whether a slot shows the task as it is."""
    task, seen = world.tasks[row], desk.slots[slot]
    return (same_columns(seen, task, CHANGING)
            and seen["changes"] == desk.changes[row] and seen["replicas"] == version_of(world, row)
            and seen["dataset"] == world.input_dataset[row]
            and tables.asked[slot]["load"] == load_row(world, tables, desk, state, slot))


@compiled
def version_of(world, row):
    """Changes so far of the replicas of what a task reads."""
    return world.datasets[world.input_dataset[row]]["version"]


@compiled
def load_row(world, tables, desk, state, slot):
    """Row of the statistics of a task's account, as `Snapshot.load_row`."""
    n_types = desk.placed_by_type.shape[1]
    kind = 1 + tables.task[slot]["resource_type"] % n_types if state["by_type"] else 0
    return account_of(world, desk.slots[slot]["task"]) * (1 + n_types) + kind


@compiled
def fill(world, tables, desk, sight, kinds, watch, slot, kind):
    """Put a task of a kind into its slot."""
    state, seen = desk.state[0], desk.slots[slot]
    row = seen["task"]
    tables.task[slot] = kinds.templates[kind]
    task = tables.task[slot]
    if kind != ONE_TASK:
        see(world, sight, row, task)
        derive(tables, slot)
    ask_of(world, tables, desk, sight, slot)
    asked = tables.asked[slot]
    asked["first"], asked["weight"] = kinds.known[kind]["first"], kinds.known[kind]["other"]
    asked["load"] = load_row(world, tables, desk, state, slot)
    asked["link"] = task["nucleus"]
    copy_columns(world.tasks[row], seen, CHANGING)
    seen["replicas"], seen["dataset"] = version_of(world, row), world.input_dataset[row]
    seen["changes"], seen["files_per_job"], seen["can_run"] = desk.changes[row], task["n_files_per_job"], 0
    record = watch.record[0]
    seen["whole"] = keeps(world, watch, record["of_candidates"], task["jeditaskid"], task["luck"])
    seen["recorded"] = keeps(world, watch, record["of_decisions"], task["jeditaskid"], task["luck"])


@compiled
def ask_about_sources(world, sight, row, task, asked):
    """Fill in how the input of a task can be read; returns how many sources it has."""
    n = see_sources(world, sight, row)
    problem, best, remotely = reading_of(sight.sources, n, task["inputprestaging"], task["MAX_MISSING_INPUT_FILES"],
                                         task["MIN_INPUT_COMPLETENESS"]) if n else (FINE, 1.0, True)
    asked["incomplete"], asked["no_remote_source"] = problem != FINE, not remotely
    asked["best_part"] = 1.0 if problem == FINE else best
    return n


@compiled
def ask_of(world, tables, desk, sight, slot):
    """Fill in what a question asks of the input of a task."""
    asked, row = tables.asked[slot], desk.slots[slot]["task"]
    n = ask_about_sources(world, sight, row, tables.task[slot], asked)
    desk.slots[slot]["has_input"], asked["parts"], asked["writable"], asked["readable"] = n > 0, -1, True, True
    asked["somewhere"] = False
    asked["total_bytes"] = asked["total_files"] = asked["queued_files"] = asked["queued_express"] = 0.0
    for k in range(tables.replica_site.shape[1]):
        tables.replica_site[slot, k] = -1
        if k < n:
            source = sight.sources[k]
            tables.replica_site[slot, k], tables.replica_part[slot, k] = source["site"], source["part"]
            tables.replica_tape[slot, k] = source["tape"]
            asked["somewhere"] = asked["somewhere"] or source["part"] >= 1
