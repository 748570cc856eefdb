"""The table of event ranges of event service: time of a transition of a range, and its memory."""

import statistics
import time

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.names import EventStatus
from simgrid_broker.systems.events.table import (
    ANY,
    NO_LIMIT,
    EventRanges,
    find_ready,
    give,
    mask,
    release,
    set_range,
    tally,
)

FINISHED, DONE = int(EventStatus.FINISHED), int(EventStatus.DONE)
AT_ONCE, ATTEMPTS, TRANSITIONS = 8, 3, 5
"""Ranges of a request; attempts of each range; its transitions: sent, ready again, sent, finished, done."""


@compiled
def _give_out(rows, chunks, which, taken, job, finishes):
    """Give all ready ranges to a job, as many at once as `taken` holds but one, which finishes them or keeps them."""
    most, n_given = len(taken) - 1, 0
    for k in range(len(which)):
        n = most
        while n > 0:
            n = find_ready(rows, chunks, which[k], ANY, most, taken, 0)
            give(rows, chunks, job, False, most, taken, n)
            for place in range(min(n, most)):
                if finishes:
                    set_range(rows, chunks, taken[place], FINISHED, rows[taken[place]]["attempts"])
                n_given += 1
    return n_given


def event_ranges(n_inputs: int = 1_000, n_ranges: int = 1_000, repeats: int = 5) -> dict:
    """A million ranges in a table, each with five transitions, as a consumer that is lost and the next one cause them.

    us_per_transition: median of the repeats; bytes_per_range: of the table, free rows included.
    """
    figures = [_lives(n_inputs, n_ranges) for _ in range(repeats)]
    return {"ranges": n_inputs * n_ranges, "us_per_transition": statistics.median(time_us for time_us, _ in figures),
            "bytes_per_range": figures[0][1]}


def _lives(n_inputs: int, n_ranges: int) -> tuple[float, float]:
    """Time of a transition, us, and bytes of a range."""
    table, firsts = EventRanges(), np.arange(1, n_ranges + 1)
    which = np.array([table.add_chunk(-1 - k, k + 1, firsts, firsts, attempts=ATTEMPTS) for k in range(n_inputs)])
    taken = np.zeros(AT_ONCE + 1, np.int64)
    _give_out(table.rows, table.chunks, which[:0], taken, 1, True)              # compiled before the clock starts
    began = time.process_time()
    n = _give_out(table.rows, table.chunks, which, taken, 1, False)
    n += release(table.rows, table.chunks, which, 1, mask(EventStatus.SENT), ANY, 1)
    n += 2 * _give_out(table.rows, table.chunks, which, taken, 2, True)
    n += tally(table.rows, table.chunks, which, 2, mask(EventStatus.FINISHED), -NO_LIMIT, NO_LIMIT, DONE)[0]
    used = time.process_time() - began
    if n != TRANSITIONS * n_inputs * n_ranges:
        raise AssertionError(f"{n} transitions, not {TRANSITIONS} of each range")
    return used / n * 1e6, table.rows.nbytes / (n_inputs * n_ranges)
