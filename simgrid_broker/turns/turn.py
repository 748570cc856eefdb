"""The turn of a broker, in compiled code: it asks about one task after another, draws, and lets the draw take effect.

Three brokers take turns: job generation about the tasks of a work queue (`job_turn`), the server about jobs without a
task in JEDI (`direct_turn`), and task brokerage (`task_turn`). Each puts its own steps in place of those here, which
share the task in hand (`work.hand`). Code of the control plane that is compiled later belongs beside the turn.
"""

from enum import IntEnum

from simgrid_broker.compiled import compiled


class Outcome(IntEnum):
    """Reason for which a turn returns to Python, which then goes on with it."""

    OVER = 0
    """No task is left."""
    LEARN = 1
    """The task in hand is of an unknown kind, or the numbers behind its question are not read yet."""
    ASK = 2
    """Python decides about the task in hand, or makes its jobs."""
    LOOK = 3
    """Python reads the decision in hand before it takes effect."""
    CLEAR = 4
    """Python takes what was ordered and put on hold, and makes room where there is none."""


OVER, LEARN, ASK, LOOK, CLEAR = map(int, Outcome)
BEGIN, QUESTION, DECIDE, DRAW, EFFECT, AGAIN = range(6)
"""Next step about the task in hand."""


@compiled
def begin(world, work, rows):
    """Placeholder: find the next task of those in `rows`; returns whether there is one."""
    return False


@compiled
def find_question(world, work, brokerage, other, log, view_tables, row):
    """Placeholder: put the task in hand into the tables of its brokerage; returns OVER if Python need not act."""
    return 0


@compiled
def decide(world, work, brokerage, other, view_tables, row):
    """Placeholder: decide about the task in hand."""
    return 0


@compiled
def draw(world, work, brokerage, other, log, row):
    """Placeholder: draw from the candidates, and record the decision; returns whether Python reads it."""
    return False


@compiled
def take_effect(world, work, brokerage, other, row):
    """Placeholder: order, assign or put off what was drawn; returns whether Python must take it first."""
    return False


@compiled
def move_on(world, work, row):
    """Placeholder: find what is next about the task in hand, or end it."""
    return 0


@compiled
def go_on(world, work, brokerage, other, log, view_tables, rows):
    """Go on with a turn about the tasks in `rows` until it is over or Python must act; returns an Outcome.

    work: state and orders of the turn; brokerage, other: tables of the brokers that it asks.
    """
    hand = work.hand[0]
    while hand["next"] != BEGIN or begin(world, work, rows):
        row = rows[hand["task"]]
        if hand["next"] == QUESTION:
            outcome = find_question(world, work, brokerage, other, log, view_tables, row)
            if outcome != OVER:
                return outcome
        if hand["next"] == DECIDE:
            decide(world, work, brokerage, other, view_tables, row)
        if hand["next"] == DRAW and draw(world, work, brokerage, other, log, row):
            return LOOK
        if hand["next"] == EFFECT and take_effect(world, work, brokerage, other, row):
            return CLEAR
        if hand["next"] == AGAIN:
            move_on(world, work, row)
    return OVER
