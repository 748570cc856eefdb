"""Steps of a turn of task brokerage in compiled code; what they read and write is gathered by `task_tables`."""

import numpy as np

from simgrid_broker import luck
from simgrid_broker.bundle import Bundle
from simgrid_broker.compiled import compiled
from simgrid_broker.names import DecisionKind
from simgrid_broker.policy.brokerage.production.broker import find_groups
from simgrid_broker.policy.brokerage.production.decide import Tables
from simgrid_broker.policy.brokerage.production.question import derive
from simgrid_broker.turns.decision_log import MADE, add_decision, choose
from simgrid_broker.turns.slots import ask_about_sources
from simgrid_broker.turns.task_kinds import ANYWHERE, ONE_TASK, UNKNOWN, Kinds, kind_of
from simgrid_broker.turns.turn import AGAIN, ASK, BEGIN, DECIDE, DRAW, EFFECT, LEARN, OVER, QUESTION
from simgrid_broker.views import KEPT
from simgrid_broker.world.columns import give_nucleus
from simgrid_broker.world.jobs.counts import tally_refusals
from simgrid_broker.world.views.nuclei import NUCLEUS_DRAW, add_work, fill, show_work
from simgrid_broker.world.views.nuclei import Work as Burden
from simgrid_broker.world.views.tasks import fill_task, total_input

TASK_BROKERAGE = int(DecisionKind.TASK_BROKERAGE)

TERMS = np.dtype([
    ("now_s", "f8"),
    ("by_type", "?"),                # whether jobs of the task's resource type alone count
    ("by_priority", "?"),            # whether work of the task's current priority or above counts alone
    ("asks", "?"),                   # whether Python decides about all tasks
    ("ability", "i8"),               # place of the criterion for which nuclei are asked, -1 = there is none
    ("never", "i8"),                 # rank of a queue that job brokerage does not refuse
    ("offset", "i8"),                # code of the first site among the candidates that are recorded
    ("n_types", "i8"),               # resource types
])
"""Terms of a turn, which hold for all of its tasks."""

HAND = np.dtype([
    ("next", "i8"), ("task", "i8"),
    ("kind", "i8"),                  # if Python has described the task
    ("full_chain", "?"),             # whether the candidates are those of full chains
    ("uniform", "f8"),               # draws the nucleus
    ("asked", "?"), ("n_left", "i8"),        # asked: Python decided; candidates without a refusal
    ("whole", "?"),                  # whether the candidates are recorded
    ("site", "i8"), ("last", "i8"),  # the nucleus drawn; the rule that refused the last candidates, KEPT = none came
    ("behind", "i8"),                # rank of the rule of job brokerage that refused the last queue, -1 = no such rule
])
"""The task in hand and the decision about it."""

DONE = np.dtype([("n_moved", "i8"), ("n_put_off", "i8")])
"""Numbers of a turn."""


class Work(Bundle):
    """State of a turn, and what became of its tasks."""

    terms: np.ndarray              # (1,) of TERMS
    hand: np.ndarray               # (1,) of HAND
    done: np.ndarray               # (1,) of DONE
    parents: np.ndarray            # (n_rows,), row of the parent of each, -1 = none
    moved: np.ndarray              # (n_rows,), rows of those that got a nucleus
    waiting: np.ndarray            # (n_rows,), rows of those that found none
    last: np.ndarray               # for each of these the rule that refused the last candidates, KEPT = none came
    behind: np.ndarray             # and if no queue can run its jobs, the rank of that of job brokerage, else -1


class Nuclei(Bundle):
    """Tables of task brokerage: the question, its candidates, and what was decided about them, (n,) each.

    burden: work of the nuclei; counts and ranks as in `decision_log.DecisionLog`.
    """

    burden: Burden
    question: np.ndarray           # (1,) of `question.TASK`, the task in hand
    templates: np.ndarray          # (n_shares,) of it
    shown: np.ndarray              # of `views.NUCLEUS`, as they are for all tasks of a turn
    nuclei: np.ndarray             # of it, for the task in hand
    groups: np.ndarray             # (2, n), site of each
    keys: np.ndarray               # of their draws
    places: np.ndarray             # from 0 on
    draws: np.ndarray              # (1, n)
    refused_by: np.ndarray
    weight: np.ndarray
    order: np.ndarray
    counts: np.ndarray
    ranks: np.ndarray


class HintTables(Bundle):
    """Tables of hints: whether job brokerage would find a queue at a site for the jobs of a task."""

    tables: Tables
    kinds: Kinds
    groups: np.ndarray             # of each candidate of a hint: its site
    asked: np.ndarray              # (n_sites,), whether a hint is asked about a site
    able: np.ndarray               # (n_sites,), whether it has a queue for the task


@compiled
def decide_nucleus(question, nuclei, uniform, refused_by, weight, order):
    """Placeholder for the decision of the scenario's task brokerage, which `task_tables` puts in its place."""
    return 0


@compiled
def hint(tables, row):
    """Placeholder for the decision of the scenario's job brokerage, which `task_tables` puts in its place."""
    return 0


@compiled
def begin(world, work, rows):
    """Begin with the next of `rows`; returns whether there is one."""
    work.hand[0]["next"] = QUESTION
    return work.hand[0]["task"] < len(rows)


@compiled
def find_question(world, work, nuclei, hints, log, view_tables, row):
    """Find the question about a task, and put it into the tables of hints."""
    hand, task = work.hand[0], world.tasks[row]
    hand["asked"] = work.terms[0]["asks"] or task["nucleus"] >= 0
    if hand["asked"]:
        hand["next"] = DRAW
        return ASK
    kind = hand["kind"] if hand["kind"] == ONE_TASK else kind_of(world, hints.kinds, row, 0, ANYWHERE)
    if (task["fullchain"] > 0) != hand["full_chain"] or kind == UNKNOWN:
        return LEARN
    take(world, hints, view_tables, row, kind)
    hand["kind"], hand["next"] = UNKNOWN, DECIDE
    look(world, work, nuclei, hints, view_tables, row)
    return OVER


@compiled
def decide(world, work, nuclei, hints, view_tables, row):
    """Decide about the task in hand, and again if a nucleus has no queue for its jobs."""
    hand, ability = work.hand[0], work.terms[0]["ability"]
    hand["next"] = DRAW
    hand["n_left"] = decide_nucleus(nuclei.question, nuclei.nuclei, hand["uniform"], nuclei.refused_by, nuclei.weight,
                                    nuclei.order)
    if ability >= 0 and asks_about_ability(nuclei, hints, ability):
        ask_about_jobs(world, work, nuclei, hints, view_tables, row)
        hint(hints.tables, 0)
        if some_cannot(work, nuclei, hints):
            hand["n_left"] = decide_nucleus(nuclei.question, nuclei.nuclei, hand["uniform"], nuclei.refused_by,
                                            nuclei.weight, nuclei.order)


@compiled
def draw(world, work, nuclei, hints, log, row):
    """Count the refusals of a decision, and record it if it is to be; returns whether Python reads it."""
    hand = work.hand[0]
    hand["next"] = EFFECT
    if hand["asked"]:
        return True
    task, n_left = world.tasks[row], hand["n_left"]
    log.numbers[MADE] += 1
    tally_refusals(nuclei.counts, task["share"], nuclei.refused_by, nuclei.groups, nuclei.ranks, log.furthest)
    if n_left > 0:
        hand["site"] = nuclei.groups[0, nuclei.order[0]]
    else:
        find_last(hand, nuclei)
        hand["behind"] = last_of_hint(work, hints) if hand["last"] == work.terms[0]["ability"] else -1
    recorded, hand["whole"] = choose(world, log, TASK_BROKERAGE, row, n_left > 0)
    if recorded:
        noted = log.room[add_decision(log, work.terms[0]["now_s"], TASK_BROKERAGE, task, len(nuclei.refused_by), n_left,
                                      0)]
        if n_left > 0:
            noted["best"] = work.terms[0]["offset"] + hand["site"]
            noted["best_weight"] = nuclei.weight[nuclei.order[0]]
    return hand["whole"] or log.record[0]["looked_at"]


@compiled
def find_last(hand, nuclei):
    """Find the rule that refused the last of the candidates."""
    last = KEPT
    for k in range(len(nuclei.refused_by)):
        place = nuclei.refused_by[k]
        if last == KEPT or nuclei.ranks[place] > nuclei.ranks[last]:
            last = place
    hand["last"] = last


@compiled
def last_of_hint(work, hints):
    """Rank of the rule of job brokerage that refused the last of the queues; -1 if a queue was left."""
    last = -1
    for k in range(len(hints.tables.refused_by)):
        if hints.tables.refused_by[k] == work.terms[0]["never"]:
            return -1
        last = max(last, hints.tables.refused_by[k])
    return last


@compiled
def take_effect(world, work, nuclei, hints, row):
    """Give a task the nucleus drawn and add its work to it, or put it off."""
    hand, done = work.hand[0], work.done[0]
    hand["next"] = AGAIN
    if hand["n_left"] > 0:
        give_nucleus(world, row, hand["site"])
        add_work(world, nuclei.burden, row)
        work.moved[done["n_moved"]] = row
        done["n_moved"] += 1
    else:
        work.waiting[done["n_put_off"]], work.last[done["n_put_off"]] = row, hand["last"]
        work.behind[done["n_put_off"]] = hand["behind"]
        done["n_put_off"] += 1
    return False


@compiled
def move_on(world, work, row):
    """Go on with the next task."""
    work.hand[0]["task"] += 1
    work.hand[0]["next"] = BEGIN


@compiled
def load_row(world, terms, row):
    """Row of the statistics of a task's share, as `Snapshot.load_row`."""
    task, n_types = world.tasks[row], terms["n_types"]
    kind = 1 + task["resource_type"] % n_types if terms["by_type"] else 0
    return task["share"] * (1 + n_types) + kind


@compiled
def take(world, hints, view_tables, row, kind):
    """Put a task of a kind into the tables of hints."""
    tables = hints.tables
    tables.task[0] = hints.kinds.templates[kind]
    if kind != ONE_TASK:
        fill_task(world, view_tables, row, tables.task[0])
        derive(tables, 0)
    tables.asked[0]["first"] = hints.kinds.known[kind]["first"]


@compiled
def look(world, work, nuclei, hints, view_tables, row):
    """Fill in a task and its candidates as the brokerage sees them, and the number that draws a nucleus."""
    task, seed, n = world.tasks[row], world.settings[0]["seed"], len(nuclei.nuclei)
    for k in range(n):
        nuclei.nuclei[k] = nuclei.shown[k]
    luck.fill_table((seed, NUCLEUS_DRAW, task["luck"]), task["n_nuclei"], 1, (nuclei.keys, nuclei.places, n),
                    nuclei.draws)
    show_work(world, nuclei.burden, row, work.terms[0]["by_priority"])
    is_whole = fill(world, row, view_tables.passes, nuclei.burden.shown, nuclei.draws, nuclei.nuclei)
    describe(world, work, nuclei, hints.tables.task[0], row, is_whole)
    work.hand[0]["uniform"] = luck.uniform(seed, NUCLEUS_DRAW, task["luck"], task["n_nuclei"], 0)


@compiled
def describe(world, work, nuclei, record, row, is_whole):
    """Fill in the question about a task, as `question.task_record`; record: its record in the tables of hints."""
    task, terms, (size, n_files) = world.tasks[row], work.terms[0], total_input(world, row)
    nuclei.question[0] = nuclei.templates[task["share"]]
    asked, parent = nuclei.question[0], work.parents[work.hand[0]["task"]]
    asked["nucleus"], asked["fullchain"], asked["t1weight"] = record["nucleus"], record["fullchain"], record["t1weight"]
    asked["iointensity"], asked["inputprestaging"] = record["iointensity"], record["inputprestaging"]
    asked["parent_nucleus"] = world.tasks[parent]["nucleus"] if parent >= 0 else -1
    asked["parent_fullchain"] = world.tasks[parent]["fullchain"] if parent >= 0 else 0
    asked["total_input_bytes"], asked["total_input_files"] = np.rint(size), np.rint(n_files)
    asked["frozen_for_s"] = 0.0 if np.isnan(task["frozen_s"]) else terms["now_s"] - task["frozen_s"]
    asked["priority"] = task["priority"] if terms["by_priority"] else task["taskpriority"]
    asked["complete_replica"] = is_whole


@compiled
def asks_about_ability(nuclei, hints, ability):
    """Note the sites that are asked whether they can run jobs of the task: those that came as far as that criterion."""
    any_asked = False
    for site in range(len(hints.asked)):
        hints.asked[site] = hints.able[site] = False
    for k in range(len(nuclei.nuclei)):
        if nuclei.refused_by[k] == KEPT or nuclei.refused_by[k] >= ability:
            hints.asked[nuclei.groups[0, k]] = any_asked = True
    return any_asked


@compiled
def ask_about_jobs(world, work, nuclei, hints, view_tables, row):
    """Fill in what a hint about a task asks; input that is complete somewhere can be read whatever else there is."""
    asked = hints.tables.asked[0]
    asked["load"] = load_row(world, work.terms[0], row)
    asked["incomplete"], asked["no_remote_source"], asked["best_part"] = False, False, 1.0
    if not nuclei.question[0]["complete_replica"]:
        ask_about_sources(world, view_tables, row, hints.tables.task[0], asked)


@compiled
def some_cannot(work, nuclei, hints):
    """Enter which nuclei have a queue for the jobs of the task; returns whether one that was asked has none."""
    find_groups(hints.tables.refused_by, work.terms[0]["never"], hints.groups, hints.asked, hints.able)
    any_cannot = False
    for k in range(len(nuclei.nuclei)):
        site = nuclei.groups[0, k]
        any_cannot = any_cannot or (hints.asked[site] and not hints.able[site])
    for k in range(len(nuclei.nuclei) if any_cannot else 0):
        nuclei.nuclei[k]["can_run"] = hints.able[nuclei.groups[0, k]]
    return any_cannot
