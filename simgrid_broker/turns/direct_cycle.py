"""The draw of queues for jobs without a task in JEDI, with the steps of a cycle of job generation (`job_cycle`)."""

import numpy as np

from simgrid_broker import luck
from simgrid_broker.compiled import compiled
from simgrid_broker.turns.job_cycle import (
    ASK,
    BEGIN,
    DECIDE,
    GROW,
    LOOK,
    OVER,
    PLACE,
    decide,
    decide_for_user,
    draw,
    draw_for_user,
    find_question,
    is_elsewhere,
    submit,
    take_room,
)
from simgrid_broker.turns.job_notes import note, note_for_user
from simgrid_broker.turns.user_slots import fill_for_user, note_uses


@compiled
def send(world, tables, desk, sight, kinds, watch, users, user_desk, user_kinds, known, rows, numbers, asks):
    """Order the next jobs of the tasks in `rows` until all are over or Python must act; returns why, as in `job_cycle`.

    numbers: (n_rows,) jobs of each, of which those that found a queue are taken away; asks: (n_rows,) bool, whether
    Python finds the queues. Each job draws for itself.
    """
    state = desk.state[0]
    while state["task"] < len(rows):
        row = rows[state["task"]]
        if state["next"] == BEGIN:
            state["level"], state["wanted"], state["of_users"] = 0, numbers[state["task"]], desk.of_users[row]
            if asks[state["task"]] or (not state["of_users"] and (state["asks"] or desk.asks[row])):
                return ASK
            reason = find_question(world, tables, desk, sight, kinds, watch, user_desk, user_kinds, state, row)
            if reason != OVER:
                return reason
            if not take_room(tables, desk, state, 1):
                return GROW
            if state["of_users"]:
                fill_for_user(world, users, user_desk, desk, user_kinds, sight, known, state, row)
        if state["next"] == DECIDE:
            begins = luck.ATTEMPTS * np.int64(world.tasks[row]["next_chunk"]) + 1
            if state["of_users"]:
                state["n_best"] = decide_for_user(users)
                draw_for_user(world, users, user_desk, desk, state, begins)
                whole = note_for_user(world, users, desk, watch, state, row)
            else:
                state["n_best"] = decide(tables, state["slot"])
                draw(world, tables, desk, state, begins)
                desk.slots[state["slot"]]["can_run"] = 0       # JEDI may have put retries into another task queue
                whole = note(world, tables, desk, watch, state, row)
            if whole:
                return LOOK
        if state["of_users"]:
            note_uses(world, users, desk, known, state, row)
            submit(world, tables, desk, state, row, users.task[0])
        else:
            if state["late"] and state["placed"] > 0 and is_elsewhere(tables, desk, state):
                return PLACE
            submit(world, tables, desk, state, row, tables.task[state["slot"]])
        numbers[state["task"]] -= state["placed"]
        state["next"] = BEGIN
        state["task"] += 1
    return OVER
