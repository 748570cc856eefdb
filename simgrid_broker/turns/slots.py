"""Tasks in hand in the tables of the brokerages of production and of analysis, filled in by compiled code."""

from collections.abc import Mapping

import numpy as np

from simgrid_broker.bundle import Bundle
from simgrid_broker.compiled import compiled
from simgrid_broker.compiled.columns import copy_columns, same_columns
from simgrid_broker.policy.brokerage.analysis.decide import Tables as AnalysisTables
from simgrid_broker.policy.brokerage.analysis.question import estimate
from simgrid_broker.policy.brokerage.production.decide import Tables
from simgrid_broker.policy.brokerage.production.question import derive
from simgrid_broker.policy.brokerage.production.storage import FINE, reading_of
from simgrid_broker.schema import TASKS
from simgrid_broker.turns.decision_log import keeps
from simgrid_broker.turns.task_kinds import ONE_TASK, UNKNOWN, Kinds
from simgrid_broker.turns.work_queues import CHANGING
from simgrid_broker.units import GIB
from simgrid_broker.world.data.datasets import secondaries_of, version_of
from simgrid_broker.world.jobs.counts import TypesAt, account_of
from simgrid_broker.world.jobs.loads import count_types, fill_load, fill_typed
from simgrid_broker.world.queues.places import fill_ways, spread_replicas
from simgrid_broker.world.tasks.input_files import in_hand
from simgrid_broker.world.users.metrics import UserFigures
from simgrid_broker.world.views.tasks import (
    fill_parts,
    fill_secondary,
    fill_sources,
    fill_task,
    input_of_pieces,
    of_secondary,
)
from simgrid_broker.world.views.users import fill_user
from simgrid_broker.world.world import World

SLOT = np.dtype([
    ("task", "i4"), ("level", "i4"),         # row, and level of ramCount
    *((name, TASKS.dtype[name]) for name in CHANGING), ("changes", "i8"),    # of the task when its slot was filled
    ("replicas", "i8"), ("dataset", "i4"),   # version of its dataset then; which that was
    ("has_input", "?"), ("files_per_job", "f8"),
    ("can_run", "i8"),               # digest of the candidates that could run its last jobs, 0 = unknown
    ("recorded", "?"), ("whole", "?"),       # whether decisions about the task are recorded, with their candidates
])
"""A task at a level of ramCount in the tables of the brokerage."""
TYPES_OF = np.dtype([("first", "i4"), ("end", "i4")])
"""Rows of TYPES of a task."""
TYPES = np.dtype([("queue", "i4"), ("kinds", "i8")])
"""PanDA queue and resource types of jobs of a task there, a bit for each, as `Snapshot.types_at`."""


class Production(Bundle):
    """Tables of job brokerage in a run, with a slot for each task at a level of ramCount.

    Statistics as in `counts.Snapshot`, links and ways as in `network.NetworkMetrics` and `Places.ways`, counts
    and ranks as in `decision_log.DecisionLog`.
    """

    tables: Tables
    kinds: Kinds
    slots: np.ndarray              # (n_slots,) of SLOT
    slot_of: np.ndarray            # (n_tasks, N_RAM_LEVELS), -1 = none
    changes: np.ndarray            # (n_tasks,)
    asks: np.ndarray               # (n_tasks,), whether Python decides about the jobs of a task
    types_of: np.ndarray           # (n_tasks,) of TYPES_OF
    types: np.ndarray              # of TYPES
    numbers: np.ndarray            # (n_status,), room
    placed: np.ndarray
    placed_by_type: np.ndarray
    load_known: np.ndarray
    load_of_all: np.ndarray
    by_share: np.ndarray
    by_queue: np.ndarray           # as `loads.of_types`
    types_known: np.ndarray
    nuclei: np.ndarray
    waiting: np.ndarray
    ways_known: np.ndarray
    links: np.ndarray
    output_site: np.ndarray
    mapped: np.ndarray
    unmapped: np.ndarray
    inside: np.ndarray
    sharing: np.ndarray
    near_known: np.ndarray
    counts: np.ndarray
    is_counted: np.ndarray
    ranks: np.ndarray              # (n_rules + 1,), as `tally_refusals`
    times: np.ndarray              # (n_shares, n_firsts, n_ranks), as `tally_closed`


class Analysis(Bundle):
    """Tables of analysis brokerage in a run, with room for one task."""

    tables: AnalysisTables
    kinds: Kinds
    users: UserFigures
    decides: np.ndarray            # (n_tasks,), whether the jobs of a task go by analysis brokerage in compiled code
    is_fresh: np.ndarray           # (1,), whether storages are shown as old as the statistics
    first: np.ndarray              # (room, n), first refusals by static rules
    marks: np.ndarray              # (room, n), as in `decide.Tables`
    site: np.ndarray               # (n_queues,)
    counts: np.ndarray             # `DecisionLog.of_users`
    is_counted: np.ndarray
    ranks: np.ndarray              # (n_rules + 1,), as `tally_refusals`


@compiled
def is_current(world, production, row, slot, by_type):
    """Test for a slot that shows the task as it is; by_type: as for `load_row`."""
    task, shown = world.tasks[row], production.slots[slot]
    return (same_columns(shown, task, CHANGING)
            and shown["changes"] == production.changes[row] and shown["replicas"] == version_of(world, row)
            and shown["dataset"] == world.input_dataset[row]
            and production.tables.asked[slot]["load"] == load_row(world, production, slot, by_type))


@compiled
def load_row(world, production, slot, by_type):
    """Row of the statistics of a task's account, as `Snapshot.load_row`; by_type: of its resource type alone."""
    n_types = production.placed_by_type.shape[1]
    kind = 1 + production.tables.task[slot]["resource_type"] % n_types if by_type else 0
    return account_of(world, production.slots[slot]["task"]) * (1 + n_types) + kind


@compiled
def load_row_of_share(world, production, row):
    """Row of the statistics of a task's account, of all resource types, as `Snapshot.load_row`."""
    return account_of(world, row) * (1 + production.placed_by_type.shape[1])


@compiled
def knows_numbers(world, work, production, analysis, row):
    """Test for the numbers behind the question about the task in hand, which are read, or filled in here."""
    hand, share = work.hand[0], world.tasks[row]["share"]
    if hand["of_users"]:
        knows = analysis.is_fresh[0] and production.load_known[load_row_of_share(world, production, row)]
        return knows and analysis.is_counted[share]
    knows = knows_load(world, work, production, row) and knows_ways(world, production, hand["slot"])
    return knows and production.is_counted[share]


@compiled
def knows_load(world, work, production, row):
    """Test for numbers of the share of the task in hand; they are filled in unless slots count among them."""
    tables, slot, terms, account = production.tables, work.hand[0]["slot"], work.terms[0], account_of(world, row)
    load = tables.asked[slot]["load"]
    of_share = account < len(world.hs06_milli)
    if terms["plain"] and (of_share or not terms["by_type"]) and not production.load_known[load]:
        fill_load(production.load_of_all, production.by_share, production.placed, account, tables.load, load)
        if terms["by_type"]:
            kind = tables.task[slot]["resource_type"] % production.by_queue.shape[2]
            fill_typed(production.by_queue, production.types_known, account, kind, tables.load, load)
        production.load_known[load] = True
    return production.load_known[load]


@compiled
def knows_ways(world, production, slot):
    """Test for known ways to the nucleus of a task; if what they follow from is known they are filled in."""
    nucleus = production.tables.asked[slot]["link"]
    if not production.ways_known[nucleus] and production.near_known[nucleus]:
        fill_ways(production.links, nucleus, production, world.queues, production.tables.link, production.waiting)
        production.ways_known[nucleus] = True
    return production.ways_known[nucleus]


@compiled
def fill(world, production, log, view_tables, slot, kind, by_type):
    """Put a task of a kind into its slot."""
    tables, shown = production.tables, production.slots[slot]
    row, known = shown["task"], production.kinds.known[kind]
    tables.task[slot] = production.kinds.templates[kind]
    task = tables.task[slot]
    if kind != ONE_TASK:
        fill_task(world, view_tables, row, task)
        derive(tables, slot)
    ask_of(world, production, view_tables, slot)
    asked = tables.asked[slot]
    asked["first"], asked["weight"] = known["first"], known["other"]
    asked["load"] = load_row(world, production, slot, by_type)
    asked["link"] = task["nucleus"]
    copy_columns(world.tasks[row], shown, CHANGING)
    shown["replicas"], shown["dataset"] = version_of(world, row), world.input_dataset[row]
    shown["changes"], shown["files_per_job"], shown["can_run"] = production.changes[row], task["n_files_per_job"], 0
    note_recording(world, log, task, shown)


@compiled
def note_recording(world, log, task, shown):
    """Note in a slot whether decisions about its task are recorded."""
    record = log.record[0]
    shown["whole"] = keeps(world, log, record["of_candidates"], task["jeditaskid"], task["luck"])
    shown["recorded"] = keeps(world, log, record["of_decisions"], task["jeditaskid"], task["luck"])


@compiled
def ask_about_sources(world, view_tables, row, task, asked):
    """Fill in how the input of a task can be read; returns how many sources its master has."""
    n = fill_sources(world, view_tables, row)
    problem, best, remotely = reading_of(
        view_tables.sources, n, task["inputprestaging"], task["MAX_MISSING_INPUT_FILES"],
        task["MIN_INPUT_COMPLETENESS"]) if n else (FINE, 1.0, True)
    first, end = secondaries_of(world, row)
    for k in range(first, end if n else 0):
        if problem == FINE:
            n_others = fill_secondary(world, view_tables, row, k, 0)
            problem, best, others_remotely = reading_of(
                view_tables.sources, n_others, task["inputprestaging"], task["MAX_MISSING_INPUT_FILES"],
                task["MIN_INPUT_COMPLETENESS"])
            remotely = others_remotely and (remotely or problem != FINE)
    if first < end:
        n = fill_sources(world, view_tables, row)
    asked["incomplete"], asked["no_remote_source"] = problem != FINE, not remotely
    asked["best_part"] = 1.0 if problem == FINE else best
    return n


@compiled
def ask_of(world, production, view_tables, slot):
    """Fill in what a question asks of the input of a task."""
    tables, shown = production.tables, production.slots[slot]
    asked = tables.asked[slot]
    n = ask_about_sources(world, view_tables, shown["task"], tables.task[slot], asked)
    ask_at_once(tables, slot)
    shown["has_input"], asked["somewhere"] = n > 0, False
    for k in range(tables.replica_site.shape[1]):
        tables.replica_site[slot, k] = -1
        if k < n:
            source = view_tables.sources[k]
            tables.replica_site[slot, k], tables.replica_part[slot, k] = source["site"], source["part"]
            tables.replica_tape[slot, k] = source["tape"]
            asked["somewhere"] = asked["somewhere"] or source["part"] >= 1


@compiled
def ask_at_once(tables, slot):
    """Fill in what a question asks where there is neither input nor a nucleus."""
    asked = tables.asked[slot]
    asked["parts"], asked["writable"], asked["readable"] = -1, True, True
    asked["total_bytes"] = asked["total_files"] = asked["queued_files"] = asked["queued_express"] = 0.0


@compiled
def ask_of_others(world, production, view_tables, slot, wanted):
    """Fill in the input of the next jobs of a task with secondary datasets that have replicas of their own."""
    asked, shown = production.tables.asked[slot], production.slots[slot]
    if world.splitting[shown["task"]]["secondaries"] != 0 and shown["has_input"]:
        asked["parts"] = slot
        asked["total_bytes"], asked["total_files"], asked["somewhere"] = fill_parts(
            world, view_tables, shown["task"], wanted, production.tables.parts[slot])


def types_by_row(world: World, types_at: Mapping[int, TypesAt]) -> tuple[np.ndarray, np.ndarray]:
    """Resource types of the tasks that have jobs of several, as `Snapshot.types_at`: (n_tasks,) of TYPES_OF, TYPES."""
    types_of, listed = np.zeros(len(world.arrays.tasks), TYPES_OF), list[tuple[int, int]]()
    for task, of_task in types_at.items():
        row = world.row_of.get(task)                       # it may be gone since
        if row is not None:
            types_of[row] = len(listed), len(listed) + len(of_task)
            listed += of_task
    return types_of, np.array(listed, TYPES)


@compiled
def ask_of_types(world, production, slot):
    """Let the question about a task with jobs of other resource types read their numbers, as `loads.of_types_at`.

    They stand in the last row of the statistics until `ask_of_own_type`.
    """
    tables, row = production.tables, production.slots[slot]["task"]
    load, asked, of_task = tables.load, tables.asked[slot], production.types_of[row]
    if of_task["first"] == of_task["end"]:
        return
    last, account = len(load) - 1, account_of(world, row)
    for queue in range(load.shape[1]):
        load[last, queue] = load[asked["load"], queue]
    asked["load"] = last
    for k in range(of_task["first"], of_task["end"]):
        at = production.types[k]
        count_types(production.by_queue, production.types_known, account, at["queue"], at["kinds"], production.numbers,
                    load[last, at["queue"]])


@compiled
def ask_of_own_type(world, production, slot, by_type):
    """Let questions about a task read the numbers of its own resource type again; by_type: as for `load_row`."""
    production.tables.asked[slot]["load"] = load_row(world, production, slot, by_type)


@compiled
def ask_of_jobs(production, slot, wanted):
    """Fill in what a question asks of the next jobs of a task, and the state of its nucleus now."""
    tables, shown = production.tables, production.slots[slot]
    asked, task = tables.asked[slot], tables.task[slot]
    if shown["has_input"]:
        asked["total_bytes"] = task["input_bytes_per_job"] * wanted
        asked["total_files"] = shown["files_per_job"] * wanted
    nucleus = task["nucleus"]
    if nucleus >= 0:
        state = production.nuclei[nucleus]
        asked["writable"], asked["readable"] = state["write_wan"], state["read_wan"]
        asked["queued_files"] = production.waiting[nucleus, 0]
        asked["queued_express"] = production.waiting[nucleus, 1]


@compiled
def fill_for_user(world, hand, production, analysis, view_tables, row):
    """Put the task of a user in hand, of a kind, into the tables of the decision."""
    tables, kind = analysis.tables, hand["kind"]
    fill_first(hand, analysis)
    if kind != ONE_TASK:
        fill_task(world, view_tables, row, tables.task[0])
        derive(tables, 0)
        estimate(tables.task[0])
    fill_input(world, analysis, view_tables, row)
    fill_numbers(world, hand, production, analysis, kind, row)


@compiled
def fill_first(hand, analysis):
    """Put what the tasks of a kind have in common into the tables of the decision about a task of a user in hand."""
    analysis.tables.task[0] = analysis.kinds.templates[hand["kind"]]
    hand["kind"] = UNKNOWN


@compiled
def fill_numbers(world, hand, production, analysis, kind, row):
    """Fill in the numbers of a task in hand, of a kind, of its user and of its share."""
    tables, shown, now = analysis.tables, world.tasks[row], world.state[0]["now_s"]
    task = tables.task[0]
    task["taskpriority"], task["n_jobs_to_submit"] = shown["taskpriority"], hand["wanted"]
    task["frozen_for_s"] = 0.0 if np.isnan(shown["frozen_s"]) else now - shown["frozen_s"]
    fill_user(world, analysis.users, row, now, task["USER_USAGE_THRESHOLD_A"], tables.owner[0], tables.user)
    known = analysis.kinds.known[kind]
    first, marks = known["first"], known["other"]
    for k in range(len(tables.first)):
        tables.first[k], tables.marks[k] = analysis.first[first, k], analysis.marks[marks, k]
    load = load_row_of_share(world, production, row)
    for queue in range(len(tables.load)):
        tables.load[queue] = production.tables.load[load, queue]


@compiled
def fill_input(world, analysis, view_tables, row):
    """Fill in the input of a task: the dataset in hand, whose files lie at the sites of its replicas."""
    tables, (pieces, piece_bytes) = analysis.tables, in_hand(world, row)
    n, size = fill_sources(world, view_tables, row), np.float64(pieces * piece_bytes)
    task, dataset, (first, end), left = tables.task[0], tables.datasets[0], secondaries_of(world, row), size
    if first < end:
        size, _ = input_of_pieces(world, row, pieces)
        left = size
    task["n_datasets"], task["total_gb"] = 1 + end - first if n > 0 else 0, size // GIB if n > 0 else 0.0
    dataset["n_files"], dataset["n_sources"] = 1, n
    spread_replicas(view_tables.sources, 0, n, analysis.site, tables.states[0], tables.disk_files[0],
                    tables.tape_files[0])
    for k in range(first, end):
        left -= of_secondary(world, k, pieces)[0]
        n = fill_other(world, analysis, view_tables, row, k, 1 + k - first, n)
    for queue in range(len(analysis.site)):
        tables.disk_bytes[0, queue] = tables.disk_files[0, queue] * left


@compiled
def fill_other(world, analysis, view_tables, row, k, place, n):
    """Fill in the secondary dataset in row k of its table, in a place among the datasets of a task: its complete
    replicas. n: end of the sources so far; returns that with its own."""
    tables, (pieces, _) = analysis.tables, in_hand(world, row)
    dataset, (size, _) = tables.datasets[place], of_secondary(world, k, pieces)
    end = fill_secondary(world, view_tables, row, k, n)
    dataset["n_files"], dataset["first"], dataset["n_sources"] = 1, n, end - n
    disk, tape = tables.disk_files[place], tables.tape_files[place]
    spread_replicas(view_tables.sources, n, end, analysis.site, tables.states[place], disk, tape)
    for queue in range(len(analysis.site)):
        disk[queue], tape[queue] = np.floor(disk[queue]), np.floor(tape[queue])
        tables.disk_bytes[place, queue] = disk[queue] * size
    return end
