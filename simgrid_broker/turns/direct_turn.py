"""Steps of a turn about jobs without a task in JEDI, next to those of job generation (`job_turn`)."""

import numpy as np

from simgrid_broker import luck
from simgrid_broker.compiled import compiled
from simgrid_broker.turns import job_turn
from simgrid_broker.turns.job_turn import be_decided, fill_question, has_room, submit
from simgrid_broker.turns.turn import AGAIN, BEGIN, CLEAR, OVER, QUESTION

decide = job_turn.decide
"""The step that is the same."""


@compiled
def begin(world, work, rows):
    """Begin with the next of `rows`; returns whether there is one."""
    work.hand[0]["next"] = QUESTION
    return work.hand[0]["task"] < len(rows)


@compiled
def find_question(world, work, production, analysis, log, view_tables, row):
    """Find the question about all jobs of a row that wait, each of which draws for itself."""
    hand = work.hand[0]
    names_queue = work.named[hand["task"]]
    hand["level"], hand["wanted"], hand["block"] = 0, work.numbers[hand["task"]], 1
    hand["of_users"] = analysis.decides[row] and not names_queue
    hand["asked"] = names_queue or not hand["of_users"] and (work.terms[0]["asks"] or production.asks[row])
    outcome = fill_question(world, work, production, analysis, log, view_tables, row)
    if outcome != OVER:
        return outcome
    if not has_room(work, log):
        return CLEAR
    if not hand["of_users"]:
        production.slots[hand["slot"]]["can_run"] = 0      # JEDI may have put retries into another task queue
    hand["key"] = luck.ATTEMPTS * np.int64(world.tasks[row]["next_chunk"]) + 1
    return be_decided(hand, production)


@compiled
def take_effect(world, work, production, analysis, row):
    """Order the jobs that were placed."""
    submit(world, work, production, analysis, row)
    work.hand[0]["next"] = AGAIN
    return False


@compiled
def move_on(world, work, row):
    """Leave the jobs without a queue for a later turn, and go on with the next row."""
    hand = work.hand[0]
    work.numbers[hand["task"]] -= hand["placed"]
    hand["task"] += 1
    hand["next"] = BEGIN
