"""Steps of a turn of job generation in compiled code; what they read and write is gathered by `job_tables`."""

import numpy as np

from simgrid_broker import luck
from simgrid_broker.bundle import Bundle
from simgrid_broker.compiled import compiled
from simgrid_broker.names import DecisionKind, TaskStatus
from simgrid_broker.policy.brokerage.production.broker import (
    JOBS_PER_BLOCK,
    SCOUTS_PER_BLOCK,
    count_queued,
    draw_blocks,
    seat,
)
from simgrid_broker.policy.jobs.resource_types import job_corecount, job_ramcount
from simgrid_broker.policy.tasks.selection import most_jobs
from simgrid_broker.turns.decision_log import MADE, RECORDED, add_decision, choose, chooses
from simgrid_broker.turns.slots import (
    ask_of_jobs,
    ask_of_others,
    ask_of_own_type,
    ask_of_types,
    fill,
    fill_for_user,
    is_current,
    knows_numbers,
)
from simgrid_broker.turns.task_kinds import ANYWHERE, ONE_TASK, UNKNOWN, kind_of
from simgrid_broker.turns.turn import AGAIN, ASK, BEGIN, CLEAR, DECIDE, DRAW, EFFECT, LEARN, OVER, QUESTION
from simgrid_broker.views import KEPT
from simgrid_broker.world.arrays import N_RAM_LEVELS
from simgrid_broker.world.columns import thaw
from simgrid_broker.world.jobs.counts import account_of, place_block, tally_open, tally_refusals
from simgrid_broker.world.tasks.input_files import first_waiting, is_cut, reads_container, take_in_hand
from simgrid_broker.world.users.metrics import note_use

NOT_REFUSED, ALL_FULL = -2, -1
"""Refusals of the task in hand: none, as it got jobs or was not asked about; no rule, as every queue was full."""
READY, SCOUTING, RUNNING = int(TaskStatus.READY), int(TaskStatus.SCOUTING), int(TaskStatus.RUNNING)
JOB_BROKERAGE, ANALYSIS_BROKERAGE = int(DecisionKind.JOB_BROKERAGE), int(DecisionKind.ANALYSIS_BROKERAGE)
MOST_DATASETS = 10
"""Datasets of a task of which a turn makes jobs; source: lifecycle reference, section 2.3."""
FACTOR, PRIME = 1_000_003, 2**31 - 1
"""Multiplier and modulus of the polynomial digest that tells one set of candidates from another."""

TERMS = np.dtype([
    ("now_s", "f8"), ("by_type", "?"),       # by_type: brokers count the jobs of a task's resource type alone
    ("asks", "?"),                   # whether Python decides about all tasks that job brokerage is asked about
    ("plain", "?"),                  # whether no slots of Harvester_Slots count among the numbers of a share
    ("late", "?"),                   # whether jobs wait for a pilot of any queue that can run them
    ("stream", "i8"),                # of random numbers, from which queues are drawn
    ("n_files", "i8"), ("reads_more", "?"), ("least", "i8"),     # selection of the work queue, and least priority
])
"""Terms of a turn, which hold for all of its tasks."""

HAND = np.dtype([
    ("next", "i8"), ("task", "i8"), ("n_levels", "i8"), ("level", "i8"),     # n_levels: of ramCount that are done
    ("slot", "i8"), ("kind", "i8"), ("is_described", "?"),       # kind: if Python has described the task
    ("of_users", "?"), ("asked", "?"), ("broker", "i8"),         # asked: Python decides; broker: DecisionKind
    ("n_datasets", "i8"), ("member", "i8"),  # datasets of a container that were brokered; the last one of new input
    ("tried_again", "?"), ("is_complete", "?"),      # of the input in hand; whether jobs of all of it are made
    ("most", "i8"), ("made", "i8"), ("wanted", "i8"), ("placed", "i8"),
    ("key", "i8"),                   # of the draw for the first of the jobs wanted
    ("block", "i8"), ("n_blocks", "i8"), ("n_best", "i8"), ("counted", "?"),     # counted: queued jobs lower a weight
    ("whole", "?"), ("elsewhere", "?"), # Python reads the decision: candidates are recorded; jobs wait elsewhere
    ("refused_by", "i8"),
])
"""The task in hand and the decision about it."""

DONE = np.dtype([
    ("left", "i8"), ("n_tasks", "i8"),       # jobs that may still be made, tasks that may still be served
    ("n_slots", "i8"),               # in use
    ("n_orders", "i8"), ("n_started", "i8"), ("n_held", "i8"),   # since Python last took them
])
"""Numbers of a turn."""

HELD = np.dtype([("task", "i8"), ("refused_by", "i8"), ("broker", "i8")])
"""A task that goes on hold as it found no queue: its row, the rule that refused its last candidates, its broker."""


class Asked(Bundle):
    """Verdict of a brokerage in Python about the task in hand, as `decide.Tables` has it."""

    best: np.ndarray
    weight: np.ndarray
    backlog: np.ndarray
    cap: np.ndarray


class Work(Bundle):
    """State of a turn, its orders, and room for its draws."""

    terms: np.ndarray              # (1,) of TERMS
    hand: np.ndarray               # (1,) of HAND
    done: np.ndarray               # (1,) of DONE
    asked: Asked
    keys: np.ndarray               # (n,) of the candidates, for draws
    chosen: np.ndarray
    sizes: np.ndarray
    uniforms: np.ndarray           # (n_blocks, most candidates)
    places: np.ndarray             # (most candidates,) of `selection.PLACE`
    orders: np.ndarray             # of ORDERED
    started: np.ndarray            # rows of tasks that got their first jobs, as many as orders at most
    held: np.ndarray               # (room,) of HELD
    numbers: np.ndarray            # (n_rows,), of jobs without a task in JEDI: how many wait of each row
    named: np.ndarray              # (n_rows,), whether these name their queue
    merges: np.ndarray             # (room,) of `merge_turn.MERGE`, of merge jobs: each beside the row of its task


@compiled
def decide_production(tables, slot):
    """Placeholder for the decision of the scenario's job brokerage, which `job_tables` puts in its place."""
    return 0


@compiled
def decide_for_user(tables):
    """Placeholder for the decision of the scenario's analysis brokerage, which `job_tables` puts in its place."""
    return 0


@compiled
def begin(world, work, rows):
    """Begin with the next task that is served; returns whether there is one, and jobs may be made."""
    hand, done, terms = work.hand[0], work.done[0], work.terms[0]
    while hand["task"] < len(rows) and not is_served(world, terms, rows[hand["task"]]):
        hand["task"] += 1
    if hand["task"] >= len(rows) or done["left"] <= 0 or done["n_tasks"] <= 0:
        return False
    row = rows[hand["task"]]
    done["n_tasks"] -= 1
    hand["most"] = done["left"] if is_cut(world, row) else most_jobs(
        done["left"], world.tasks[row]["n_input_files"], terms["n_files"], terms["reads_more"])
    hand["made"], hand["refused_by"], hand["n_levels"], hand["next"] = 0, NOT_REFUSED, 0, QUESTION
    hand["n_datasets"], hand["member"] = 0, -1
    return True


@compiled
def is_served(world, terms, row):
    """Test for a task of which jobs are made now, with a priority that the throttler lets pass."""
    task = world.tasks[row]
    status = task["status"]
    return (status == READY or status == SCOUTING or status == RUNNING) and task["priority"] >= terms["least"]


@compiled
def find_question(world, work, production, analysis, log, view_tables, row):
    """Find the next level of ramCount of a task that wants jobs, raised levels first, and the question about it."""
    hand = work.hand[0]
    if hand["n_levels"] == N_RAM_LEVELS:
        return end_task(work, row)
    hand["level"] = (hand["n_levels"] + 1) % N_RAM_LEVELS
    offered = take_in_hand(world, row, hand["level"], hand["member"])
    hand["wanted"] = min(offered, hand["most"] - hand["made"])
    if hand["wanted"] <= 0:
        hand["n_levels"] += 1
        return OVER
    hand["tried_again"] = world.ram_levels[row, hand["level"]]["head"] >= 0
    if is_cut(world, row):
        hand["n_levels"] += 1
        hand["next"] = AGAIN
        return ASK
    hand["of_users"] = analysis.decides[row]
    hand["asked"] = not hand["of_users"] and (work.terms[0]["asks"] or production.asks[row])
    outcome = fill_question(world, work, production, analysis, log, view_tables, row)
    if outcome != OVER:
        return outcome
    hand["block"] = SCOUTS_PER_BLOCK if is_scout(world, hand, production, row) else JOBS_PER_BLOCK
    if not has_room(work, log):
        return CLEAR
    hand["n_levels"] += 1
    hand["key"] = first_waiting(world, row, hand["level"])
    return be_decided(hand, production)


@compiled
def is_scout(world, hand, production, row):
    """Test for a task in hand whose next jobs are scouts."""
    if hand["of_users"]:
        return world.scout_inputs[row] != 0
    return production.tables.task[hand["slot"]]["is_scout"]


@compiled
def end_task(work, row):
    """End with a task, which goes on hold if it found no queue; returns CLEAR if no more can be held."""
    hand, done = work.hand[0], work.done[0]
    done["left"] -= hand["made"]
    hand["task"] += 1
    hand["next"] = BEGIN
    if hand["refused_by"] == NOT_REFUSED:
        return OVER
    held = work.held[done["n_held"]]
    held["task"], held["refused_by"], held["broker"] = row, hand["refused_by"], hand["broker"]
    done["n_held"] += 1
    return OVER if done["n_held"] < len(work.held) else CLEAR


@compiled
def fill_question(world, work, production, analysis, log, view_tables, row):
    """Put the task in hand into its slot, and read the numbers behind its question; returns LEARN where it cannot."""
    hand = work.hand[0]
    if hand["of_users"]:
        hand["broker"] = ANALYSIS_BROKERAGE
        if not find_kind(world, hand, analysis, row):
            return LEARN
    else:
        hand["broker"] = JOB_BROKERAGE
        outcome = find_slot(world, work, production, log, view_tables, row)
        if outcome != OVER or hand["asked"]:
            return outcome
    return OVER if knows_numbers(world, work, production, analysis, row) else LEARN


@compiled
def find_kind(world, hand, analysis, row):
    """Find the kind of a task of a user; returns whether it is known."""
    if hand["kind"] != ONE_TASK:
        hand["kind"] = kind_of(world, analysis.kinds, row, hand["level"], ANYWHERE)
    hand["is_described"] = hand["kind"] != UNKNOWN
    return hand["is_described"]


@compiled
def find_slot(world, work, production, log, view_tables, row):
    """Find the slot of a task at a level of ramCount, and fill it if it does not show the task as it is."""
    hand, done, by_type = work.hand[0], work.done[0], work.terms[0]["by_type"]
    level = hand["level"]
    slot = hand["slot"] = production.slot_of[row, level]
    hand["is_described"] = True
    if slot >= 0 and hand["kind"] == UNKNOWN and is_current(world, production, row, slot, by_type):
        return OVER
    kind = hand["kind"] if hand["kind"] == ONE_TASK else kind_of(world, production.kinds, row, level, ANYWHERE)
    if kind == UNKNOWN:
        hand["is_described"] = False
        return LEARN
    if slot < 0:
        if done["n_slots"] == len(production.slots):
            return CLEAR
        slot = hand["slot"] = production.slot_of[row, level] = done["n_slots"]
        done["n_slots"] += 1
        production.slots[slot]["task"], production.slots[slot]["level"] = row, level
    fill(world, production, log, view_tables, slot, kind, by_type)
    hand["kind"] = UNKNOWN
    return OVER


@compiled
def has_room(work, log):
    """Test for room for the jobs wanted and for the decision about them."""
    hand = work.hand[0]
    hand["n_blocks"] = (hand["wanted"] + hand["block"] - 1) // hand["block"]
    return work.done[0]["n_orders"] + hand["n_blocks"] <= len(work.orders) and log.numbers[RECORDED] < len(log.room)


@compiled
def be_decided(hand, production):
    """Go on with the decision about the task in hand; returns ASK if it is Python's."""
    if hand["asked"]:
        hand["next"] = DRAW
        return ASK
    if not hand["of_users"]:
        ask_of_jobs(production, hand["slot"], hand["wanted"])
    hand["next"] = DECIDE
    return OVER


@compiled
def decide(world, work, production, analysis, view_tables, row):
    """Decide about the task in hand."""
    hand = work.hand[0]
    hand["next"] = DRAW
    if hand["of_users"]:
        fill_for_user(world, hand, production, analysis, view_tables, row)
        hand["n_best"] = decide_for_user(analysis.tables)
    else:
        ask_of_others(world, production, view_tables, hand["slot"], hand["wanted"])
        ask_of_types(world, production, hand["slot"])
        hand["n_best"] = decide_production(production.tables, hand["slot"])


@compiled
def draw(world, work, production, analysis, log, row):
    """Count the refusals of a decision, draw queues for the jobs wanted, and record it; returns if Python reads it."""
    hand, asked = work.hand[0], work.asked
    hand["next"], hand["whole"], hand["elsewhere"] = EFFECT, False, False
    if hand["asked"]:
        spread(world, work, row, asked, asked.backlog, asked.cap)
        return True
    log.numbers[MADE] += 1
    if hand["of_users"]:
        draw_for_user(world, work, analysis, log, row)
    else:
        draw_for_production(world, work, production, log, row)
    return hand["whole"] or hand["elsewhere"] or log.record[0]["looked_at"]


@compiled
def draw_for_user(world, work, analysis, log, row):
    """Draw for a task of a user."""
    hand, tables = work.hand[0], analysis.tables
    task = tables.task[0]
    tally_refusals(analysis.counts, task["share"], tables.refused_by, log.groups, analysis.ranks, log.furthest)
    hand["counted"] = False
    spread(world, work, row, tables, tables.weight, tables.weight)
    note_refusal(hand, tables.refused_by, analysis.ranks)
    recorded, hand["whole"] = choose(world, log, ANALYSIS_BROKERAGE, row, hand["n_best"] > 0)
    if recorded:
        record(work, tables, log, task)


@compiled
def draw_for_production(world, work, production, log, row):
    """Draw for a task of production."""
    hand, tables = work.hand[0], production.tables
    slot = production.slots[hand["slot"]]
    task, first, split = tables.task[hand["slot"]], tables.asked[hand["slot"]]["first"], tables.split[0]
    production.times[task["share"], first, split["cut"]] += 1
    tally_open(production, log, task["share"], tables.refused_by, first, tables.open, split["n_open"])
    hand["counted"] = True
    spread(world, work, row, tables, tables.backlog, tables.cap)
    note_refusal(hand, tables.refused_by, production.ranks)
    hand["whole"] = chooses(world, log, JOB_BROKERAGE, row, hand["n_best"] > 0) or slot["whole"]
    if hand["whole"] or slot["recorded"]:
        record(work, tables, log, task)
    hand["elsewhere"] = work.terms[0]["late"] and hand["placed"] > 0 and is_elsewhere(tables, slot, first)


@compiled
def spread(world, work, row, tables, backlog, cap):
    """Draw queues for the jobs wanted from the best candidates."""
    hand = work.hand[0]
    luck.fill_draws((world.settings[0]["seed"], work.terms[0]["stream"], world.tasks[row]["luck"]), hand["key"],
                    hand["block"], hand["wanted"], (work.keys, tables.best, hand["n_best"]), work.uniforms)
    seat(work.places, tables.best, hand["n_best"], tables.weight)
    if hand["counted"]:
        count_queued(work.places, hand["n_best"], backlog, cap)
    hand["n_blocks"] = draw_blocks(work.places, hand["n_best"], work.uniforms, hand["block"], hand["wanted"],
                                   work.chosen, work.sizes)
    hand["placed"] = 0
    for k in range(hand["n_blocks"]):
        hand["placed"] += work.sizes[k]
    if hand["placed"] == 0 and hand["n_datasets"] == 0:        # what fails for a later dataset does not stop the task
        hand["refused_by"] = ALL_FULL


@compiled
def note_refusal(hand, refused_by, ranks):
    """Note the rule that left no candidate to the task in hand."""
    last = -1
    for k in range(len(refused_by) if hand["n_best"] == 0 and hand["n_datasets"] == 0 else 0):
        place = refused_by[k]
        if ranks[place] > last:
            last, hand["refused_by"] = ranks[place], place


@compiled
def record(work, tables, log, task):
    """Record the decision in hand without its candidates."""
    hand = work.hand[0]
    noted = log.room[add_decision(log, work.terms[0]["now_s"], hand["broker"], task, len(tables.refused_by),
                                  hand["n_best"], hand["placed"])]
    if hand["n_best"] > 0:
        noted["best"], noted["best_weight"] = tables.best[0], tables.weight[tables.best[0]]


@compiled
def is_elsewhere(tables, slot, first):
    """Test for other candidates than before that can run the jobs of a task; notes those that can, as a digest."""
    n_criteria, digest = tables.orders[0]["n_criteria"], np.int64(1)
    for i in range(tables.split[0]["n_open"]):
        k = tables.open[first, i]
        if tables.refused_by[k] == KEPT or tables.refused_by[k] >= n_criteria:     # ranked behind those that are used
            digest = (digest * FACTOR + np.int64(k)) % PRIME
    before = slot["can_run"]
    slot["can_run"] = digest
    return before != digest


@compiled
def take_effect(world, work, production, analysis, row):
    """Order the jobs that were placed; returns whether they must be made before another dataset is brokered."""
    hand = work.hand[0]
    hand["next"], hand["is_complete"] = AGAIN, hand["placed"] == hand["wanted"]
    submit(world, work, production, analysis, row)
    return reads_container(world, row)


@compiled
def submit(world, work, production, analysis, row):
    """Order the jobs that were placed, and note the task if it starts."""
    hand, done = work.hand[0], work.done[0]
    if hand["of_users"]:
        order(world, work, production, analysis.tables.task[0], row)
        for k in range(hand["n_blocks"]):
            queue = production.tables.queues[work.chosen[k]]["queue"]
            note_use(analysis.users.used, analysis.users.used_by, row, world.tasks[row]["jeditaskid"], queue)
    else:
        order(world, work, production, production.tables.task[hand["slot"]], row)
        ask_of_own_type(world, production, hand["slot"], work.terms[0]["by_type"])
    hand["made"] += hand["placed"]
    if hand["placed"] > 0:
        thaw(world, row)
        n_started = done["n_started"]
        if world.tasks[row]["status"] == READY and (n_started == 0 or work.started[n_started - 1] != row):
            work.started[n_started] = row
            done["n_started"] += 1


@compiled
def order(world, work, production, task, row):
    """Order the jobs that were placed, and count them for later decisions; task: as its brokerage has it."""
    hand, done, tables, account = work.hand[0], work.done[0], production.tables, account_of(world, row)
    for k in range(hand["n_blocks"]):
        number, size = work.chosen[k], work.sizes[k]
        queue = tables.queues[number]
        cores = job_corecount(task["corecount"], queue["corecount"])
        ordered = work.orders[done["n_orders"]]
        ordered["time_s"], ordered["task"], ordered["pseudo_queue"] = work.terms[0]["now_s"], row, number
        ordered["count"], ordered["ram_level"], ordered["resource_type"] = size, hand["level"], task["resource_type"]
        ordered["ramcount_mb"] = job_ramcount(task["ramcount"], task["ram_per_core"], task["baseramcount"], cores)
        done["n_orders"] += 1
        place_block(production, tables.load, account, task["resource_type"], queue["queue"], size)


@compiled
def move_on(world, work, row):
    """Find what is next about the task in hand: another dataset of its container, or its next level of ramCount."""
    hand = work.hand[0]
    hand["next"] = QUESTION
    if has_more_datasets(world, hand, row):
        hand["n_levels"] -= 1


@compiled
def has_more_datasets(world, hand, row):
    """Test for another dataset of a container, brokered after the one in hand whose jobs are made.

    There is none if there was no queue for the first, or not for all input that is tried again.
    """
    if not reads_container(world, row) or (hand["placed"] == 0 and hand["n_datasets"] == 0):
        return False
    hand["n_datasets"] += 1
    if (hand["n_datasets"] == MOST_DATASETS or hand["made"] >= hand["most"]
            or (hand["tried_again"] and not hand["is_complete"])):
        return False
    if not hand["tried_again"]:
        hand["member"] = world.containers[row]["now"]
    return True
