"""Slots that the batch system takes away with their payload: at a hazard that follows the hour of the day, at the end
of a window, or at the end of the gap that they fill."""

import math

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.batch import start_workers
from simgrid_broker.fabric.jobs.consumers import NUMBERS
from simgrid_broker.luck import STREAMS, normal_quantile_of, uniform
from simgrid_broker.names import Cause
from simgrid_broker.units import DAY, HOUR
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.queues.slots import settle_closed, window_left

LOST_HEARTBEAT, PREEMPTED = int(Cause.LOST_HEARTBEAT), int(Cause.PREEMPTED)
EVICTION, SLOT_LIFE = STREAMS["eviction"], STREAMS["slot_life"]
N_HOURS = round(DAY / HOUR)
LONGEST_DAYS = 36_525.0
"""A century, which no payload lasts."""


@compiled
def evict(world: Arrays, job, whole, number, now):
    """Wall time after which the batch system takes the slot of a payload away, at most `whole`; sets the cause.

    number: of a consumer of event service in its jobset, 0 of other jobs. A payload that ends before its slot does is
    not disturbed by the notice.
    """
    queue = world.queues[job["queue"]]
    after = min(min(until_eviction(world, job, number, now), life_left(world, job, number)), window_left(queue, now))
    if after >= whole:
        return whole
    notice = queue["eviction_notice_s"]
    job["cause"], job["stage_out_s"] = LOST_HEARTBEAT if notice < 0 else PREEMPTED, 0.0
    return max(after - max(notice, 0.0), 0.0)


@compiled
def draw_of_slot(world: Arrays, job, stream, number):
    """The random number of an attempt at an input, or of one of its consumers, for its slot."""
    key = job["attempt"] + NUMBERS * number
    return uniform(world.settings[0]["seed"], stream, world.tasks[job["task"]]["luck"], job["chunk"], key)


@compiled
def until_eviction(world: Arrays, job, number, now):
    """Time until a payload that begins now is evicted at the rate of its queue, s; inf = never."""
    rate = world.queues[job["queue"]]["eviction_rate"]
    if rate <= 0:
        return np.inf
    hazard = -math.log(draw_of_slot(world, job, EVICTION, number))
    return time_of_hazard(world.eviction_hours[job["queue"]], hazard, now) if len(world.eviction_hours) > 0 else (
        hazard / rate)


@compiled
def time_of_hazard(rates, hazard, now):
    """Time from `now` on in which rates by hour of the day, 1/s, (24,), add up to a hazard, s; inf = never.

    Where it would take ages, hours could not be told apart any more.
    """
    of_day = rates.sum() * HOUR
    if hazard > of_day * LONGEST_DAYS:
        return np.inf
    after = math.floor(hazard / of_day) * DAY
    left = hazard - after / DAY * of_day
    while True:
        hour = math.floor((now + after) / HOUR)
        until = (hour + 1) * HOUR - now
        rate = rates[hour % N_HOURS]
        if rate * (until - after) >= left:
            return after + (left / rate if rate > 0 else 0.0)
        left -= rate * (until - after)
        after = until


@compiled
def life_left(world: Arrays, job, number):
    """Time that is left of the gap that the slot of a starting payload fills, s; inf = there is no limit."""
    queue = world.queues[job["queue"]]
    median_s, spread = queue["slot_life_s"], queue["slot_life_spread"]
    if spread == 0:
        return median_s
    return median_s * math.exp(spread * normal_quantile_of(draw_of_slot(world, job, SLOT_LIFE, number)))


@compiled
def keeps_slot(world: Arrays, number):
    """True if the batch system leaves a worker of a pseudo-queue its slot for another job."""
    pseudo = world.pseudo_queues[number]
    return world.queues[pseudo["queue"]]["slot_life_s"] == np.inf and not world.pools[pseudo["pool"]]["closed"]


@compiled
def turn_windows(world: Arrays, now):
    """Let the batch systems whose windows open or close now start workers, or start none."""
    for number in range(len(world.pseudo_queues)):
        pseudo = world.pseudo_queues[number]
        if world.queues[pseudo["queue"]]["window_lasts_s"] < np.inf:
            settle_closed(world, number, now)
            if world.pools[pseudo["pool"]]["closed"]:
                world.pools[pseudo["pool"]]["unfilled_cores"] = 0
            start_workers(world, pseudo["pool"], now)
