"""Steps of a turn about merge jobs, next to those of job generation (`job_turn`); `merge_tables` gathers them."""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.policy.brokerage.analysis.question import estimate
from simgrid_broker.policy.brokerage.production.question import derive
from simgrid_broker.policy.brokerage.production.storage import FINE, reading_of
from simgrid_broker.turns import direct_turn
from simgrid_broker.turns.job_turn import (
    ANALYSIS_BROKERAGE,
    JOB_BROKERAGE,
    be_decided,
    decide_for_user,
    decide_production,
    find_kind,
    has_room,
)
from simgrid_broker.turns.slots import (
    ask_at_once,
    ask_of_types,
    fill_first,
    fill_numbers,
    knows_numbers,
    load_row,
    note_recording,
)
from simgrid_broker.turns.task_kinds import ONE_TASK, UNKNOWN, kind_of
from simgrid_broker.turns.turn import AGAIN, BEGIN, CLEAR, DRAW, LEARN
from simgrid_broker.units import GIB
from simgrid_broker.world.jobs.counts import account_of, place_block
from simgrid_broker.world.queues.places import spread_replicas
from simgrid_broker.world.views.tasks import fill_task

MERGE = np.dtype([
    ("site", "i4"), ("place", "i8"),         # of the output; the queue and what else decides which queues may merge it
    ("bytes", "f8"), ("n_files", "i8"), ("n_events", "i8"), ("mergeramcount", "f8"), ("resource_type", "i4"),
    ("key", "i8"),                           # of the draw
    ("candidate", "i8"),                     # drawn, -1 = none
])
"""A merge job that is brokered; place: as `task_kinds.kind_of`."""
SLOT = 0
"""Slot of the merge job in hand in the tables of job brokerage."""
begin = direct_turn.begin
"""The step that is the same; each row is that of the task of a merge job."""


@compiled
def find_question(world, work, production, analysis, log, view_tables, row):
    """Find the question about a merge job of the task in a row."""
    hand, merge = work.hand[0], work.merges[work.hand[0]["task"]]
    merge["candidate"] = -1
    hand["level"], hand["slot"], hand["wanted"], hand["block"], hand["key"] = 0, SLOT, 1, 1, merge["key"]
    hand["of_users"], hand["is_described"] = analysis.decides[row], True
    hand["asked"] = not hand["of_users"] and (work.terms[0]["asks"] or production.asks[row])
    hand["broker"] = ANALYSIS_BROKERAGE if hand["of_users"] else JOB_BROKERAGE
    if not hand["asked"]:
        is_known = (find_kind(world, hand, analysis, row) if hand["of_users"]
                    else fill(world, work, production, log, view_tables, merge, row))
        if not is_known or not knows_numbers(world, work, production, analysis, row):
            return LEARN
    return be_decided(hand, production) if has_room(work, log) else CLEAR


@compiled
def fill(world, work, production, log, view_tables, merge, row):
    """Put a merge job of production into its slot; returns whether its kind is known."""
    hand, tables, shown = work.hand[0], production.tables, production.slots[SLOT]
    kind = hand["kind"] if hand["kind"] == ONE_TASK else kind_of(world, production.kinds, row, 0, merge["place"])
    hand["is_described"], hand["kind"] = kind != UNKNOWN, UNKNOWN
    if kind == UNKNOWN:
        return False
    tables.task[SLOT], known = production.kinds.templates[kind], production.kinds.known[kind]
    task, asked = tables.task[SLOT], tables.asked[SLOT]
    shown["task"], shown["level"], shown["has_input"], shown["files_per_job"] = row, 0, True, merge["n_files"]
    if kind != ONE_TASK:
        show(world, view_tables, merge, row, task)
        derive(tables, SLOT)
    ask_at_once(tables, SLOT)
    show_source(world, view_tables, merge)
    for k in range(tables.replica_site.shape[1]):
        tables.replica_site[SLOT, k] = -1
    tables.replica_site[SLOT, 0], tables.replica_part[SLOT, 0], tables.replica_tape[SLOT, 0] = merge["site"], 1.0, False
    problem, part, remotely = reading_of(view_tables.sources, 1, task["inputprestaging"],
                                         task["MAX_MISSING_INPUT_FILES"], task["MIN_INPUT_COMPLETENESS"])
    asked["incomplete"], asked["no_remote_source"], asked["somewhere"] = problem != FINE, not remotely, True
    asked["best_part"] = part
    asked["first"], asked["weight"], asked["link"] = known["first"], known["other"], task["nucleus"]
    asked["load"] = load_row(world, production, SLOT, work.terms[0]["by_type"])
    note_recording(world, log, task, shown)
    return True


@compiled
def show(world, view_tables, merge, row, task):
    """Fill in what brokers see of a merge job of the task in a row, as `merging.merge_task`."""
    fill_task(world, view_tables, row, task)
    task["mergeramcount"], task["resource_type"] = merge["mergeramcount"], merge["resource_type"]
    task["ramcount"] = task["cputime"] = task["walltime_s_per_mib"] = np.nan
    task["baseramcount"] = 0.0
    task["input_bytes_per_job"] = task["output_bytes_per_job"] = merge["bytes"]
    task["n_files_per_job"], task["n_events_per_job"] = merge["n_files"], merge["n_events"]


@compiled
def show_source(world, view_tables, merge):
    """Fill in the only one of `view_tables.sources`, all output at its site, as `observe.input_at`."""
    source, storage = view_tables.sources[0], world.sites[merge["site"]]["storage"]
    source["site"], source["part"], source["missing"] = merge["site"], 1.0, 0.0
    source["tape"] = source["virtual"] = False
    source["lan"] = storage < 0 or view_tables.passes[world.storages[storage]["read_lan_off"]]
    source["wan"] = storage < 0 or view_tables.passes[world.storages[storage]["read_wan_off"]]


@compiled
def decide(world, work, production, analysis, view_tables, row):
    """Decide about the merge job in hand."""
    hand, merge = work.hand[0], work.merges[work.hand[0]["task"]]
    hand["next"] = DRAW
    if hand["of_users"]:
        fill_for_user(world, hand, production, analysis, view_tables, merge, row)
        hand["n_best"] = decide_for_user(analysis.tables)
    else:
        ask_of_types(world, production, SLOT)
        hand["n_best"] = decide_production(production.tables, SLOT)


@compiled
def fill_for_user(world, hand, production, analysis, view_tables, merge, row):
    """Put a merge job of a user into the tables of the decision; its input as `observe.output_at_queues` has it."""
    tables, kind = analysis.tables, hand["kind"]
    fill_first(hand, analysis)
    task, dataset = tables.task[0], tables.datasets[0]
    if kind != ONE_TASK:
        show(world, view_tables, merge, row, task)
        derive(tables, 0)
        estimate(task)
    show_source(world, view_tables, merge)
    task["n_datasets"], task["total_gb"], dataset["n_files"], dataset["n_sources"] = 1, merge["bytes"] // GIB, 1, 1
    spread_replicas(view_tables.sources, 0, 1, analysis.site, tables.states[0], tables.disk_files[0],
                    tables.tape_files[0])
    for queue in range(len(analysis.site)):
        tables.disk_bytes[0, queue] = tables.disk_files[0, queue] * merge["bytes"]
    fill_numbers(world, hand, production, analysis, kind, row)


@compiled
def take_effect(world, work, production, analysis, row):
    """Note the queue of a merge job, and count it for later decisions."""
    hand, merge = work.hand[0], work.merges[work.hand[0]["task"]]
    hand["next"] = AGAIN
    if hand["placed"] > 0:
        tables, merge["candidate"] = production.tables, work.chosen[0]
        place_block(production, tables.load, account_of(world, row), merge["resource_type"],
                    tables.queues[work.chosen[0]]["queue"], 1)
    return False


@compiled
def move_on(world, work, row):
    """Go on with the next merge job."""
    work.hand[0]["task"] += 1
    work.hand[0]["next"] = BEGIN
