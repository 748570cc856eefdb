"""One turn of task brokerage in compiled code: it asks, draws and assigns, and returns where Python must act.

What a turn reads and writes is gathered by `task_tables`.
"""

import numpy as np

from simgrid_broker import luck
from simgrid_broker.bundle import Bundle
from simgrid_broker.compiled import compiled
from simgrid_broker.names import DecisionKind
from simgrid_broker.policy.brokerage.production.hint import find_groups
from simgrid_broker.policy.brokerage.production.question import derive
from simgrid_broker.turns.decision_log import MADE, RECORDED
from simgrid_broker.turns.job_slots import ask_about_sources
from simgrid_broker.turns.task_kinds import ONE_TASK, UNKNOWN, kind_of
from simgrid_broker.turns.watch import chooses, keeps
from simgrid_broker.views import KEPT
from simgrid_broker.world.columns import give_nucleus
from simgrid_broker.world.jobs.counts import tally_refusals
from simgrid_broker.world.views.nuclei import NUCLEUS_DRAW, add_work, fill, show_work
from simgrid_broker.world.views.tasks import counted_inputs, see

OVER, ASK, SHOW, PREPARE, LOOK = range(5)
"""Why a turn returns: it is over; Python must broker the task; other nuclei are candidates; a task of an unknown kind
must be described; a decision is recorded with its candidates."""
BEGIN, END = range(2)
"""Where in a task it goes on: at its begin, or with the effect of the decision."""
TASK_BROKERAGE = int(DecisionKind.TASK_BROKERAGE)

TURN = np.dtype([
    ("now_s", "f8"), ("deployed", "?"),
    ("asks", "?"),                   # whether Python is asked for every decision
    ("full_chain", "?"),             # whether the candidates are those of full chains
    ("ability", "i8"),               # place of the criterion for which nuclei are asked, -1 = there is none
    ("never", "i8"),                 # rank of a queue that job brokerage does not refuse
    ("offset", "i8"),                # code of the first site among the candidates that are recorded
    ("next", "i8"), ("task", "i8"), ("kind", "i8"), ("n_left", "i8"), ("n_moved", "i8"), ("n_put_off", "i8"),
])
"""State of a turn; kind: of the task in hand if Python has described it."""


class Desk(Bundle):
    """What a turn reads and writes beside the tables of the world, of hints and of kinds.

    Of the log: numbers, room, counts, ranks and furthest, as in `decision_log.DecisionLog`.
    """

    state: np.ndarray              # (1,) of TURN
    question: np.ndarray           # (1,) of `question.TASK`, the task in hand
    templates: np.ndarray          # (n_shares,) of it
    n_types: np.ndarray            # (1,), resource types
    groups: np.ndarray             # of each candidate of a hint: its site
    asked: np.ndarray              # (n_sites,), whether a hint is asked about a site
    able: np.ndarray               # (n_sites,), whether it has a queue for the task
    numbers: np.ndarray
    room: np.ndarray
    counts: np.ndarray
    ranks: np.ndarray
    furthest: np.ndarray
    parents: np.ndarray            # (n_tasks of the turn,), row of the parent of each, -1 = none
    moved: np.ndarray              # (n_tasks of the turn,), rows of those that got a nucleus
    waiting: np.ndarray            # (n_tasks of the turn,), rows of those that found none
    last: np.ndarray               # for each of these the rule that refused the last candidates, KEPT = none came


class Listed(Bundle):
    """The candidates of a task, and what was decided about them, (n,) each."""

    shown: np.ndarray              # of `views.NUCLEUS`, as they are for all tasks of a turn
    nuclei: np.ndarray             # of it, for the task in hand
    groups: np.ndarray             # (2, n), site of each
    keys: np.ndarray               # of their draws
    places: np.ndarray             # from 0 on
    draws: np.ndarray              # (1, n)
    refused_by: np.ndarray
    weight: np.ndarray
    order: np.ndarray


@compiled
def decide(question, nuclei, uniform, refused_by, weight, order):
    """Placeholder for the decision of the scenario's task brokerage, which `task_tables` puts in its place."""
    return 0


@compiled
def hint(tables, row):
    """Placeholder for the decision of the scenario's job brokerage, which `task_tables` puts in its place."""
    return 0


@compiled
def go_on(world, desk, listed, hints, sight, kinds, watch, work, rows):
    """Go on with a turn over the tasks in `rows` until it is over or Python must act; returns why."""
    state = desk.state[0]
    while state["task"] < len(rows):
        row = rows[state["task"]]
        if state["next"] == BEGIN:
            if state["asks"] or world.tasks[row]["nucleus"] >= 0:
                return ASK
            kind = state["kind"] if state["kind"] == ONE_TASK else kind_of(world, kinds, row, 0)
            if (world.tasks[row]["fullchain"] > 0) != state["full_chain"]:
                return SHOW
            if kind == UNKNOWN:
                return PREPARE
            take(world, hints, sight, kinds, row, kind)
            state["kind"] = UNKNOWN
            uniform = look(world, desk, listed, hints, sight, work, row)
            state["n_left"] = decide(desk.question, listed.nuclei, uniform, listed.refused_by, listed.weight,
                                     listed.order)
            if state["ability"] >= 0 and asks_about_ability(desk, listed):
                ask_about_jobs(world, desk, hints, sight, row)
                hint(hints, 0)
                if some_cannot(desk, listed, hints):
                    state["n_left"] = decide(desk.question, listed.nuclei, uniform, listed.refused_by, listed.weight,
                                             listed.order)
            state["next"] = END
            if note(world, desk, listed, watch, row):
                return LOOK
        state["next"] = BEGIN
        state["task"] += 1
        if state["n_left"] == 0:
            put_off(desk, listed, row)
        else:
            assign(world, desk, listed, work, row)
    return OVER


@compiled
def load_row(world, desk, row):
    """Row of the statistics of a task's share, as `Snapshot.load_row`."""
    task, n_types = world.tasks[row], desk.n_types[0]
    kind = 1 + task["resource_type"] % n_types if desk.state[0]["deployed"] else 0
    return task["share"] * (1 + n_types) + kind


@compiled
def take(world, hints, sight, kinds, row, kind):
    """Put a task of a kind into the tables of hints."""
    hints.task[0] = kinds.templates[kind]
    if kind != ONE_TASK:
        see(world, sight, row, hints.task[0])
        derive(hints, 0)
    hints.asked[0]["first"] = kinds.known[kind]["first"]


@compiled
def look(world, desk, listed, hints, sight, work, row):
    """Fill in what is seen of a task and its candidates; returns the number that draws a nucleus."""
    task, seed = world.tasks[row], world.settings[0]["seed"]
    n = len(listed.nuclei)
    for k in range(n):
        listed.nuclei[k] = listed.shown[k]
    luck.fill_table(seed, NUCLEUS_DRAW, task["luck"], task["n_nuclei"], 1, listed.keys, listed.places, n, listed.draws)
    show_work(world, work, row, desk.state[0]["deployed"])
    is_whole = fill(world, row, sight.passes, work.shown, listed.draws, listed.nuclei)
    describe(world, desk, hints.task[0], row, is_whole)
    return luck.uniform(seed, NUCLEUS_DRAW, task["luck"], task["n_nuclei"], 0)


@compiled
def describe(world, desk, seen, row, is_whole):
    """Fill in the question about a task, as `question.task_record`; seen: its record in the tables of hints."""
    task, state, counted = world.tasks[row], desk.state[0], counted_inputs(world, row)
    desk.question[0] = desk.templates[task["share"]]
    asked, parent = desk.question[0], desk.parents[state["task"]]
    asked["nucleus"], asked["fullchain"], asked["t1weight"] = seen["nucleus"], seen["fullchain"], seen["t1weight"]
    asked["iointensity"], asked["inputprestaging"] = seen["iointensity"], seen["inputprestaging"]
    asked["parent_nucleus"] = world.tasks[parent]["nucleus"] if parent >= 0 else -1
    asked["parent_fullchain"] = world.tasks[parent]["fullchain"] if parent >= 0 else 0
    asked["total_input_bytes"] = np.rint(counted * task["input_bytes_per_job"])
    asked["total_input_files"] = np.rint(counted * task["n_input_files"])
    asked["frozen_for_s"] = 0.0 if np.isnan(task["frozen_s"]) else state["now_s"] - task["frozen_s"]
    asked["priority"] = task["priority"] if state["deployed"] else task["taskpriority"]
    asked["complete_replica"] = is_whole


@compiled
def asks_about_ability(desk, listed):
    """Note the sites that are asked whether they can run jobs of the task: those that came as far as that criterion."""
    any_asked = False
    for site in range(len(desk.asked)):
        desk.asked[site] = desk.able[site] = False
    for k in range(len(listed.nuclei)):
        if listed.refused_by[k] == KEPT or listed.refused_by[k] >= desk.state[0]["ability"]:
            desk.asked[listed.groups[0, k]] = any_asked = True
    return any_asked


@compiled
def ask_about_jobs(world, desk, hints, sight, row):
    """Fill in what a hint about a task asks; input that is complete somewhere can be read whatever else there is."""
    asked = hints.asked[0]
    asked["load"] = load_row(world, desk, row)
    asked["incomplete"], asked["no_remote_source"], asked["best_part"] = False, False, 1.0
    if not desk.question[0]["complete_replica"]:
        ask_about_sources(world, sight, row, hints.task[0], asked)


@compiled
def some_cannot(desk, listed, hints):
    """Enter which nuclei have a queue for the jobs of the task; returns whether one that was asked has none."""
    find_groups(hints.refused_by, desk.state[0]["never"], desk.groups, desk.asked, desk.able)
    found = False
    for k in range(len(listed.nuclei)):
        site = listed.groups[0, k]
        found = found or (desk.asked[site] and not desk.able[site])
    for k in range(len(listed.nuclei) if found else 0):
        listed.nuclei[k]["can_run"] = desk.able[listed.groups[0, k]]
    return found


@compiled
def note(world, desk, listed, watch, row):
    """Count the refusals of a decision, and record it if it is to be; returns whether its candidates are."""
    task, record, n_left = world.tasks[row], watch.record[0], desk.state[0]["n_left"]
    desk.numbers[MADE] += 1
    tally_refusals(desk.counts, task["share"], listed.refused_by, listed.groups, desk.ranks, desk.furthest)
    whole = (chooses(world, watch, TASK_BROKERAGE, row, n_left > 0)
             or keeps(world, watch, record["of_candidates"], task["jeditaskid"], task["luck"]))
    if whole or keeps(world, watch, record["of_decisions"], task["jeditaskid"], task["luck"]):
        record_decision(desk, listed, task)
    return whole


@compiled
def record_decision(desk, listed, task):
    """Record a decision without its candidates."""
    state, noted = desk.state[0], desk.room[desk.numbers[RECORDED]]
    desk.numbers[RECORDED] += 1
    noted["time_s"], noted["decision"], noted["kind"] = state["now_s"], desk.numbers[MADE], TASK_BROKERAGE
    noted["jeditaskid"], noted["share"] = task["jeditaskid"], task["share"]
    noted["resource_type"] = task["resource_type"]
    noted["n_candidates"], noted["n_kept"], noted["n_jobs"] = len(listed.refused_by), state["n_left"], 0
    noted["best"], noted["best_weight"] = -1, np.nan
    if state["n_left"] > 0:
        best = listed.order[0]
        noted["best"], noted["best_weight"] = state["offset"] + listed.groups[0, best], listed.weight[best]


@compiled
def assign(world, desk, listed, work, row):
    """Give a task the nucleus drawn, and add its work to it."""
    state = desk.state[0]
    give_nucleus(world, row, listed.groups[0, listed.order[0]])
    add_work(world, work, row)
    desk.moved[state["n_moved"]] = row
    state["n_moved"] += 1


@compiled
def put_off(desk, listed, row):
    """Note a task that finds no nucleus, and the rule that refused the last of its candidates."""
    state, last = desk.state[0], KEPT
    for k in range(len(listed.refused_by)):
        place = listed.refused_by[k]
        if last == KEPT or desk.ranks[place] > desk.ranks[last]:
            last = place
    desk.waiting[state["n_put_off"]], desk.last[state["n_put_off"]] = row, last
    state["n_put_off"] += 1
