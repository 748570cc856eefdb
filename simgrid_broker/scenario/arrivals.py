"""Arrival times of tasks: Poisson processes whose rate follows the day and the week.

A stream is laid out in *even time*, in which its rate is constant, and then stretched to the clock. Each gap is keyed
by its number, so a longer run has the same arrivals and some more.
"""

import numpy as np

from simgrid_broker.luck import uniforms
from simgrid_broker.scenario.campaigns import Payload, UserActivity
from simgrid_broker.units import DAY, MINUTE

_STEP = 5 * MINUTE
_WEEKDAYS, _DAYS = 5, 7


def even_time(t, payload: Payload) -> np.ndarray:
    """Integral of the relative rate of `payload` from 0 to the times `t`, s; its mean slope over a week is 1."""
    t = np.asarray(t, float)
    day, within = np.floor(t / DAY).astype(int), np.mod(t, DAY)
    weekend = 1 - payload.weekend_drop
    factor = np.array([1 + payload.weekend_drop * 2 / _WEEKDAYS] * _WEEKDAYS + [weekend] * 2)
    before = np.concatenate([[0], np.cumsum(factor)])[day % _DAYS] + day // _DAYS * _DAYS
    turn = 2 * np.pi / DAY
    wave = (np.sin(turn * (within - payload.peak)) + np.sin(turn * payload.peak)) / turn
    return before * DAY + factor[day % _DAYS] * (within + payload.daily_amplitude * wave)


def poisson_times(payload: Payload, rate: float, duration_s: float, seed: int, key: int) -> np.ndarray:
    """Times in [0, duration) of a Poisson process of mean `rate`, 1/s, with the rhythm of `payload`, sorted, (n,)."""
    if rate == 0:
        return np.empty(0)
    grid = np.arange(0, duration_s + 2 * _STEP, _STEP)
    even = even_time(grid, payload)
    expected = rate * even[-1]
    n = int(expected + 8 * np.sqrt(expected) + 20)         # the chance that this is too few is below 1e-12
    at = np.cumsum(-np.log(uniforms(seed, "task_arrival", key, np.arange(n))) / rate)
    times = np.interp(at[at < even[-1]], even, grid)
    return times[times < duration_s]


def bags(activity: UserActivity, begins: np.ndarray, seed: int, key: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tasks of the active periods that begin at `begins`, (n_periods,): arrival, user and index, all (n,).

    The index is period x 2^20 + number in the period, so that no other period changes a task.
    """
    period = np.arange(len(begins))
    draw = [uniforms(seed, "task_arrival", key, period, 1 + question) for question in range(3)]
    stop = 1 / activity.tasks_per_period                   # geometric: the period ends after each task with this chance
    size = np.ones(len(period), int) if stop == 1 else 1 + np.floor(np.log(draw[0]) / np.log1p(-stop)).astype(int)
    which = np.repeat(period, size)
    number = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
    length = -np.log(draw[1]) * activity.active_period
    offset = np.where(number == 0, 0, uniforms(seed, "task_arrival", key, which, 8 + number))
    arrival = begins[which] + offset * length[which]
    return arrival, zipf_ranks(draw[2], activity.users, activity.zipf)[which], which * _BAG + number


_BAG = 1 << 20


def zipf_ranks(u: np.ndarray, n: int, exponent: float) -> np.ndarray:
    """Ranks 0 to n - 1 that follow Zipf's law, one for each uniform number, (n_draws,)."""
    weight = np.arange(1, n + 1) ** -float(exponent)
    return np.minimum(np.searchsorted(np.cumsum(weight) / weight.sum(), u), n - 1)
