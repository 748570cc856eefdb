"""When pieces of periodic work are done next, in compiled code that skips those without input."""

from typing import Protocol

import numpy as np

from simgrid_broker.compiled import compiled


class Input(Protocol):
    """Input of several pieces of work, read at read_at, s, and again once that is age_s old, s.

    has_input: (n,) bool, whether each would find something to do before it is read again.
    """

    has_input: np.ndarray
    read_at: float
    age_s: float


class Dues:
    """When each of n pieces of work is done next; what was put off last follows others of the same time.

    times: (n,), s; numbers: (n + 1,), by which works of one time follow each other, and the next number.
    """

    def __init__(self, times: np.ndarray):
        self.times, self.numbers = times, np.arange(len(times) + 1)
        self.room = np.empty(2 * len(times))

    def first(self) -> tuple[int, float]:
        """Place and time, s, of the work that is done next."""
        place = first_of(self.times, self.numbers)
        return place, self.times[place].item()

    def put_off(self, place: int, delay: float) -> None:
        """Put off the work in a place by a delay, s."""
        put_off(self.times, self.numbers, place, float(delay))

    def skip_idle(self, period: float, work: Input) -> list[float]:
        """Put off work by its period, s, until the first is due that has input, or before which it is read again.

        Returns the times that were skipped, s, in order.
        """
        skipped, n = list[float](), len(self.room)
        while n == len(self.room):
            n = skip_idle(self.times, self.numbers, float(period), work.has_input, float(work.read_at),
                          float(work.age_s), self.room)
            skipped += self.room[:n].tolist()
        return skipped


@compiled
def first_of(times, numbers):
    """Place of the first of some times; those of one time follow each other by their numbers."""
    first = 0
    for k in range(1, len(times)):
        if times[k] < times[first] or times[k] == times[first] and numbers[k] < numbers[first]:
            first = k
    return first


@compiled
def put_off(times, numbers, place, delay):
    """Put off the time in a place, which then follows all others of the same time."""
    times[place] += delay
    numbers[place] = numbers[len(times)]
    numbers[len(times)] += 1


@compiled
def skip_idle(times, numbers, period, has_input, read_at, age_s, skipped):
    """Put off work without input whose time comes before the input is read again, as many times as have room.

    Fills in the times that were skipped, in order, and returns how many there are; arguments as in `Dues`, `Input`.
    """
    for n in range(len(skipped)):
        first = first_of(times, numbers)
        if has_input[first] or times[first] - read_at >= age_s:
            return n
        skipped[n] = times[first]
        put_off(times, numbers, first, period)
    return len(skipped)
