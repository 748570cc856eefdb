"""One cycle of job generation in compiled code: it asks, draws and orders, and returns where Python must act.

What a cycle reads and writes is gathered by `job_tables`.
"""

import numpy as np

from simgrid_broker import luck
from simgrid_broker.bundle import Bundle
from simgrid_broker.compiled import compiled
from simgrid_broker.names import TaskStatus
from simgrid_broker.policy.brokerage.production.selection import JOBS_PER_BLOCK, SCOUTS_PER_BLOCK, draw_blocks
from simgrid_broker.policy.jobs.resource_types import job_corecount, job_ramcount
from simgrid_broker.policy.tasks.selection import most_jobs
from simgrid_broker.turns.decision_log import MADE, RECORDED
from simgrid_broker.turns.job_notes import note, note_for_user
from simgrid_broker.turns.job_slots import fill, is_current
from simgrid_broker.turns.task_kinds import ONE_TASK, UNKNOWN, kind_of
from simgrid_broker.turns.user_slots import fill_for_user, load_row_of_share, note_uses
from simgrid_broker.views import KEPT
from simgrid_broker.world.arrays import N_RAM_LEVELS
from simgrid_broker.world.columns import thaw
from simgrid_broker.world.jobs.counts import account_of, place_block, tally_open, tally_refusals
from simgrid_broker.world.jobs.loads import fill_load
from simgrid_broker.world.queues.places import fill_ways
from simgrid_broker.world.tasks.input_files import first_waiting, is_cut, reads_container, take_in_hand

OVER, PREPARE, READ, COUNT, ASK, LOOK, PLACE, HOLD, GROW, MAKE = range(10)
"""Why a cycle returns: it is over; a task of an unknown kind must be described; what is known of its share and nucleus
must be read; refusals of a share are counted for the first time; Python must make the jobs; a decision is recorded with
its candidates; the task queue in which jobs wait is to be found; Python has left a task without a queue, or there is no
room for more of them; there is none for more tasks, orders or decisions; the jobs ordered must be made before another
dataset of a container is brokered."""
BEGIN, NEXT, DECIDE, SUBMIT, END = range(5)
"""Where in a task it goes on: at its begin, with the next level of ramCount, with the decision about it, with the jobs
that were placed, at its end."""
NOTHING, NO_TAG, TOLD = -3, -2, -1
"""Refusals of the task in hand: none; one without a tag, as every queue was full; one whose tag Python knows."""
READY, SCOUTING, RUNNING = int(TaskStatus.READY), int(TaskStatus.SCOUTING), int(TaskStatus.RUNNING)
QUEUE_DRAW = luck.STREAMS["queue_draw"]
MOST_DATASETS = 10
"""Datasets of a task of which a cycle makes jobs; source: lifecycle reference, section 2.3."""
FACTOR, PRIME = 1_000_003, 2**31 - 1
"""Of the digest of a set of candidates."""

CYCLE = np.dtype([
    ("now_s", "f8"), ("by_type", "?"),       # by_type: brokers count the jobs of a task's resource type alone
    ("n_files", "i8"), ("reads_more", "?"),  # of the selection of the work queue
    ("asks", "?"),                   # whether Python is asked for every decision
    ("plain", "?"),                  # whether the numbers of a share are those of all its jobs, without other slots
    ("late", "?"),                   # whether jobs wait for a pilot of any queue that can run them
    ("left", "i8"),                  # jobs that may still be made
    ("n_tasks", "i8"), ("least", "i8"),      # tasks that may still be served, and their least priority
    ("next", "i8"),                  # where to go on, number of the task, of its levels of ramCount that are done
    ("task", "i8"), ("n_levels", "i8"), ("level", "i8"),
    ("n_slots", "i8"), ("kind", "i8"),       # slots in use; kind of the task in hand if Python has described it
    ("n_datasets", "i8"),            # of the container of the task in hand that were brokered
    ("member", "i8"),                # the last one of which new input was, -1 = none
    ("of_users", "?"),               # its jobs go by analysis brokerage
    ("most", "i8"), ("made", "i8"), ("refused_by", "i8"),    # of the task in hand
    ("wanted", "i8"), ("slot", "i8"), ("block", "i8"), ("n_blocks", "i8"), ("n_best", "i8"), ("placed", "i8"),
    ("n_orders", "i8"),              # since Python last took them
    ("n_started", "i8"), ("n_held", "i8"),   # tasks, the same
])
"""State of a cycle."""

HELD = np.dtype([("task", "i8"), ("refused_by", "i8"), ("of_users", "?")])
"""A task without a queue, which goes on hold, with the rule that left no candidate and whose it is."""


class Desk(Bundle):
    """What a cycle reads and writes beside the tables of world and brokerage.

    chosen, sizes, uniforms, places: room for draws; the others as in `counts.Snapshot`, `decision_log.DecisionLog` and
    `network_metrics.NetworkMetrics`.
    """

    state: np.ndarray              # (1,) of CYCLE
    slots: np.ndarray              # (n_slots,) of `job_slots.SLOT`
    slot_of: np.ndarray            # (n_tasks, N_RAM_LEVELS), -1 = none
    changes: np.ndarray            # (n_tasks,)
    asks: np.ndarray               # (n_tasks,), whether Python is asked about a task
    of_users: np.ndarray           # (n_tasks,), whether analysis brokerage decides about it here
    placed: np.ndarray
    placed_by_type: np.ndarray
    load_known: np.ndarray
    load_of_all: np.ndarray
    by_share: np.ndarray
    nuclei: np.ndarray
    waiting: np.ndarray
    ways_known: np.ndarray
    links: np.ndarray              # these as `NetworkMetrics.table`, and in `Places.ways`
    output_site: np.ndarray
    mapped: np.ndarray
    unmapped: np.ndarray
    inside: np.ndarray
    sharing: np.ndarray
    near_known: np.ndarray
    numbers: np.ndarray
    room: np.ndarray
    counts: np.ndarray             # `DecisionLog.of_jobs`
    is_counted: np.ndarray
    groups: np.ndarray
    ranks: np.ndarray              # (n_rules + 1,), as `tally_refusals`
    furthest: np.ndarray
    times: np.ndarray              # (n_shares, n_firsts, n_ranks), as `tally_closed`
    keys: np.ndarray               # (n,) of the candidates, for draws
    chosen: np.ndarray
    sizes: np.ndarray
    uniforms: np.ndarray           # (n_blocks, most candidates)
    places: np.ndarray             # (most candidates,) of `selection.PLACE`
    orders: np.ndarray             # of ORDERED
    started: np.ndarray            # rows of tasks that got their first jobs, as many as orders at most
    held: np.ndarray               # (room,) of HELD


@compiled
def decide(tables, row):
    """Placeholder for the decision of the scenario's job brokerage, which `job_tables` puts in its place."""
    return 0


@compiled
def decide_for_user(users):
    """Placeholder for the decision of the scenario's analysis brokerage, which `job_tables` puts in its place."""
    return 0


@compiled
def go_on(world, tables, desk, sight, kinds, watch, users, user_desk, user_kinds, known, rows):
    """Go on with a cycle over the tasks in `rows` until it is over or Python must act; returns why.

    users, user_desk, user_kinds, known: the same as tables, desk and kinds about tasks of users, and what is known of
    these (`analysis_metrics.UserSight`).
    """
    state = desk.state[0]
    while True:
        if state["next"] == BEGIN:
            while state["task"] < len(rows) and not is_served(world, state, rows[state["task"]]):
                state["task"] += 1
            if state["task"] >= len(rows) or state["left"] <= 0 or state["n_tasks"] <= 0:
                return OVER
            begin_task(world, state, rows[state["task"]])
        row = rows[state["task"]]
        if state["next"] == NEXT:
            reason = find_level(world, tables, desk, sight, kinds, watch, user_desk, user_kinds, state, row)
            if reason != OVER:
                return reason
            if state["next"] == DECIDE and state["of_users"]:
                fill_for_user(world, users, user_desk, desk, user_kinds, sight, known, state, row)
        if state["next"] == DECIDE:
            if state["of_users"]:
                state["n_best"] = decide_for_user(users)
                draw_for_user(world, users, user_desk, desk, state, first_waiting(world, row, state["level"]))
                whole = note_for_user(world, users, desk, watch, state, row)
            else:
                state["n_best"] = decide(tables, state["slot"])
                draw(world, tables, desk, state, first_waiting(world, row, state["level"]))
                whole = note(world, tables, desk, watch, state, row)
            if whole:
                return LOOK
        if state["next"] == SUBMIT:
            if state["of_users"]:
                note_uses(world, users, desk, known, state, row)
                submit(world, tables, desk, state, row, users.task[0])
            else:
                if state["late"] and state["placed"] > 0 and is_elsewhere(tables, desk, state):
                    return PLACE
                submit(world, tables, desk, state, row, tables.task[state["slot"]])
            state["next"] = NEXT
            if has_more_datasets(world, state, row):
                return MAKE
        if state["next"] == END:
            state["left"] -= state["made"]
            state["task"] += 1
            state["next"] = BEGIN
            if state["refused_by"] != NOTHING and not hold(desk, state, row):
                return HOLD


@compiled
def hold(desk, state, row):
    """Note a task that goes on hold; whether the cycle can go on before Python has heard of it."""
    held = desk.held[state["n_held"]]
    held["task"], held["refused_by"], held["of_users"] = row, state["refused_by"], state["of_users"]
    state["n_held"] += 1
    return state["refused_by"] != TOLD and state["n_held"] < len(desk.held)


@compiled
def is_served(world, state, row):
    """Whether jobs are made of a task now, with a priority that the throttler lets pass."""
    task = world.tasks[row]
    status = task["status"]
    return (status == READY or status == SCOUTING or status == RUNNING) and task["priority"] >= state["least"]


@compiled
def begin_task(world, state, row):
    """Begin with a task."""
    state["n_tasks"] -= 1
    n_files = world.tasks[row]["n_input_files"]
    state["most"] = state["left"] if is_cut(world, row) else most_jobs(
        state["left"], n_files, state["n_files"], state["reads_more"])
    state["made"], state["refused_by"], state["n_levels"], state["next"] = 0, NOTHING, 0, NEXT
    state["n_datasets"], state["member"] = 0, -1


@compiled
def has_more_datasets(world, state, row):
    """Whether another dataset of a container is brokered after the one in hand; if so its level is next.

    None is if there was no queue for the first, or for input that is tried again.
    """
    if not reads_container(world, row) or (state["placed"] == 0 and state["n_datasets"] == 0):
        return False
    tried_again = world.ram_levels[row, state["level"]]["head"] >= 0
    state["n_datasets"] += 1
    if (state["n_datasets"] == MOST_DATASETS or state["made"] >= state["most"]
            or (tried_again and state["placed"] < state["wanted"])):
        return False
    if not tried_again:
        state["member"] = world.containers[row]["now"]
    state["n_levels"] -= 1
    return True


@compiled
def find_level(world, tables, desk, sight, kinds, watch, user_desk, user_kinds, state, row):
    """Find the next level of ramCount of a task that wants jobs, raised levels first; returns what Python must do."""
    if state["n_levels"] == N_RAM_LEVELS:
        state["next"] = END
        return OVER
    level = (state["n_levels"] + 1) % N_RAM_LEVELS
    wanted = min(take_in_hand(world, row, level, state["member"]), state["most"] - state["made"])
    if wanted <= 0:
        state["n_levels"] += 1
        return OVER
    state["level"], state["wanted"] = level, wanted
    state["of_users"] = desk.of_users[row] and not is_cut(world, row)
    if not state["of_users"] and (state["asks"] or desk.asks[row] or is_cut(world, row)):
        state["n_levels"] += 1
        return ASK
    reason = find_question(world, tables, desk, sight, kinds, watch, user_desk, user_kinds, state, row)
    if reason != OVER:
        return reason
    is_scout = world.scout_inputs[row] != 0 if state["of_users"] else tables.task[state["slot"]]["is_scout"]
    if not take_room(tables, desk, state, SCOUTS_PER_BLOCK if is_scout else JOBS_PER_BLOCK):
        return GROW
    state["n_levels"] += 1
    return OVER


@compiled
def find_question(world, tables, desk, sight, kinds, watch, user_desk, user_kinds, state, row):
    """Find the slot of the task in hand, and what is known of its share and nucleus; returns what Python must do."""
    if state["of_users"]:
        return find_kind(world, desk, user_desk, user_kinds, state, row)
    reason = find_slot(world, tables, desk, sight, kinds, watch, state, row)
    if reason != OVER:
        return reason
    slot = state["slot"]
    load = tables.asked[slot]["load"]
    if state["plain"] and not desk.load_known[load]:
        fill_load(desk.load_of_all, desk.by_share, desk.placed, account_of(world, row), tables.load, load)
        desk.load_known[load] = True
    if not (desk.load_known[load] and knows_ways(world, tables, desk, slot)):
        return READ
    return OVER if desk.is_counted[world.tasks[row]["share"]] else COUNT


@compiled
def take_room(tables, desk, state, block):
    """Whether there is room for the jobs wanted, `block` for each draw; if so a decision about them is next."""
    state["block"] = block
    state["n_blocks"] = (state["wanted"] + state["block"] - 1) // state["block"]
    if state["n_orders"] + state["n_blocks"] > len(desk.orders) or desk.numbers[RECORDED] == len(desk.room):
        return False
    if not state["of_users"]:
        ask(tables, desk, state, state["slot"])
    state["next"] = DECIDE
    return True


@compiled
def find_kind(world, desk, user_desk, user_kinds, state, row):
    """Find the kind of a task of a user, and what is known of its share; returns what Python must do."""
    if state["kind"] != ONE_TASK:
        state["kind"] = kind_of(world, user_kinds, row, state["level"])
    if state["kind"] == UNKNOWN:
        return PREPARE
    if not (user_desk.is_fresh[0] and desk.load_known[load_row_of_share(world, desk, row)]):
        return READ
    return OVER if user_desk.is_counted[world.tasks[row]["share"]] else COUNT


@compiled
def find_slot(world, tables, desk, sight, kinds, watch, state, row):
    """Find the slot of a task at a level of ramCount, and fill it if it does not show the task as it is."""
    level = state["level"]
    slot = state["slot"] = desk.slot_of[row, level]
    if slot >= 0 and state["kind"] == UNKNOWN and is_current(world, tables, desk, state, row, slot):
        return OVER
    kind = state["kind"] if state["kind"] == ONE_TASK else kind_of(world, kinds, row, level)
    if kind == UNKNOWN:
        return PREPARE
    if slot < 0:
        if state["n_slots"] == len(desk.slots):
            return GROW
        slot = state["slot"] = desk.slot_of[row, level] = state["n_slots"]
        state["n_slots"] += 1
        desk.slots[slot]["task"], desk.slots[slot]["level"] = row, level
    fill(world, tables, desk, sight, kinds, watch, slot, kind)
    state["kind"] = UNKNOWN
    return OVER


@compiled
def knows_ways(world, tables, desk, slot):
    """Whether the ways to the nucleus of a task are known, or else what they follow from; if so they are filled in."""
    nucleus = tables.asked[slot]["link"]
    if not desk.ways_known[nucleus] and desk.near_known[nucleus]:
        fill_ways(desk.links, nucleus, desk, world.queues, tables.link, desk.waiting)
        desk.ways_known[nucleus] = True
    return desk.ways_known[nucleus]


@compiled
def ask(tables, desk, state, slot):
    """Fill in what a question asks of the next jobs, and what is known of the nucleus now."""
    asked, task, seen = tables.asked[slot], tables.task[slot], desk.slots[slot]
    if seen["has_input"]:
        asked["total_bytes"] = task["input_bytes_per_job"] * state["wanted"]
        asked["total_files"] = seen["files_per_job"] * state["wanted"]
    nucleus = task["nucleus"]
    if nucleus >= 0:
        asked["writable"], asked["readable"] = desk.nuclei[nucleus]["write_wan"], desk.nuclei[nucleus]["read_wan"]
        asked["queued_files"], asked["queued_express"] = desk.waiting[nucleus, 0], desk.waiting[nucleus, 1]


@compiled
def draw(world, tables, desk, state, begins):
    """Count the refusals of a decision, and draw queues for the jobs wanted; begins: key of the first of them."""
    slot, n_best = state["slot"], state["n_best"]
    task = tables.task[slot]
    state["next"] = SUBMIT
    desk.numbers[MADE] += 1
    first, split = tables.asked[slot]["first"], tables.split[0]
    desk.times[task["share"], first, split["cut"]] += 1
    tally_open(desk.counts, task["share"], tables.refused_by, first, tables.open, split["n_open"], desk.groups,
               desk.ranks, desk.furthest)
    luck.fill_draws(world.settings[0]["seed"], QUEUE_DRAW, task["luck"], begins, state["block"], state["wanted"],
                    desk.keys, tables.best, n_best, desk.uniforms)
    drawn = draw_blocks(tables.best, n_best, tables.weight, tables.backlog, tables.cap, desk.uniforms, True, True,
                        state["block"], state["wanted"], desk.places, desk.chosen, desk.sizes)
    add_up(desk, state, drawn, tables.refused_by, desk.ranks)


@compiled
def draw_for_user(world, users, user_desk, desk, state, begins):
    """As `draw`, for a task of a user."""
    task, n_best = users.task[0], state["n_best"]
    state["next"] = SUBMIT
    desk.numbers[MADE] += 1
    tally_refusals(user_desk.counts, task["share"], users.refused_by, desk.groups, user_desk.ranks, desk.furthest)
    luck.fill_draws(world.settings[0]["seed"], QUEUE_DRAW, task["luck"], begins, state["block"], state["wanted"],
                    desk.keys, users.best, n_best, desk.uniforms)
    drawn = draw_blocks(users.best, n_best, users.weight, users.weight, users.weight, desk.uniforms, False, False,
                        state["block"], state["wanted"], desk.places, desk.chosen, desk.sizes)
    add_up(desk, state, drawn, users.refused_by, user_desk.ranks)


@compiled
def add_up(desk, state, drawn, refused_by, ranks):
    """Add up the jobs of the blocks drawn; if there are none, note which rule left no candidate."""
    state["n_blocks"], state["placed"] = drawn, 0
    for k in range(drawn):
        state["placed"] += desk.sizes[k]
    if state["placed"] == 0 and state["n_datasets"] == 0:      # what fails for a later dataset does not stop the task
        state["refused_by"] = NO_TAG
        last = -1
        for k in range(len(refused_by) if state["n_best"] == 0 else 0):
            place = refused_by[k]
            if ranks[place] > last:
                last, state["refused_by"] = ranks[place], place


@compiled
def is_elsewhere(tables, desk, state):
    """Whether other candidates than before can run the jobs of the task in hand; notes those that can, as a digest."""
    slot = state["slot"]
    first, n_criteria, digest = tables.asked[slot]["first"], tables.orders[0]["n_criteria"], np.int64(1)
    for i in range(tables.split[0]["n_open"]):
        k = tables.open[first, i]
        if tables.refused_by[k] == KEPT or tables.refused_by[k] >= n_criteria:     # ranked behind those that are used
            digest = (digest * FACTOR + np.int64(k)) % PRIME
    known = desk.slots[slot]["can_run"] == digest
    desk.slots[slot]["can_run"] = digest
    return not known


@compiled
def submit(world, tables, desk, state, row, task):
    """Order the jobs that were placed and count them for later decisions; note the task if it starts."""
    level = state["level"]
    account = account_of(world, row)
    for k in range(state["n_blocks"]):
        number, size = desk.chosen[k], desk.sizes[k]
        queue = tables.queues[number]
        cores = job_corecount(task["corecount"], queue["corecount"])
        order = desk.orders[state["n_orders"]]
        order["time_s"], order["task"], order["pseudo_queue"], order["count"] = state["now_s"], row, number, size
        order["ramcount_mb"] = job_ramcount(task["ramcount"], task["ram_per_core"], task["baseramcount"], cores)
        order["ram_level"], order["resource_type"] = level, task["resource_type"]
        state["n_orders"] += 1
        place_block(account, task["resource_type"], queue["queue"], size, desk.placed, desk.placed_by_type, tables.load,
                    desk.load_known)
    state["made"] += state["placed"]
    if state["placed"] > 0:
        thaw(world, row)
        n_started = state["n_started"]
        if world.tasks[row]["status"] == READY and (n_started == 0 or desk.started[n_started - 1] != row):
            desk.started[n_started] = row
            state["n_started"] += 1
