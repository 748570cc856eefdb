"""Harvester's submitter, monitor and job fetcher, and the slots requested of it; source: lifecycle reference, 5.4, 5.5.

Simplified: a job whose worker could not be submitted in any attempt fails as one that the site lets down. Assumed:
where Harvester submits no workers it fetches no jobs. Rows of Harvester_Slots expire, and the slots that come with some
of them open and close (formats reference, 7.3, expirationtime). When slots open is the scenario's to say: the sources
do not tell how a resource gives what was requested of it.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.agents.own import records
from simgrid_broker.ledgers.hourly_sums import Group
from simgrid_broker.names import Cause, JobStatus
from simgrid_broker.policy.harvester import CUT_BY, GETS_NONE, UNCUT, adjusted, count_cuts, jobs_to_fetch
from simgrid_broker.schema import Column, Table
from simgrid_broker.world.pilot_status import jobs_of_push
from simgrid_broker.world.queues.slots import AHEAD_S, openings

WORKERS_ASKED = Table("workers_asked", "the cycles of Harvester in one hour in which workers of one PanDA queue and "
                      "resource type were wanted and one limit left fewer, or none did", (
    Column("time_s", "f8", "s", "simulator", "Begin of the hour"),
    Column("queue", "i2", "", "CRIC", "PanDA queue", codes="queues"),
    Column("resource_type", "i2", "", "PanDA", "Resource type; null = every type", codes="resource_types"),
    Column("cut_by", "i1", "", "Harvester, WorkerAdjuster", "Limit that left fewer workers than were wanted; null = "
           "none did", codes="cut_by"),
    Column("cycles", "i8", "cycles", "Harvester", "Cycles of the submitter"),
    Column("wanted", "f8", "workers", "PanDA, Harvester", "Sum of the workers that were wanted in each cycle"),
    Column("submitted", "f8", "workers", "Harvester", "Sum of those submitted"),
), words={"cut_by": CUT_BY})


@records(WORKERS_ASKED)
def harvester_submitter(control: Control) -> Process:
    """Submit workers."""
    harvester, fabric, push = control.books.harvester, control.fabric, control.books.harvester.push
    counted = np.zeros((*harvester.types.cores.shape, len(CUT_BY) + 1, 3))
    type_of = np.append(control.arrays.pseudo_queues["resource_type"], 0)[harvester.types.pseudo_queue]
    asked = control.books.hourly_sums(WORKERS_ASKED, partial(groups_of_workers, counted, type_of))

    def submit() -> None:
        seen = harvester.look(control.now)
        if seen is None:
            return
        workers, wanted = adjusted(seen, harvester.modes, control.edition)
        asked.begin(control.now)
        if not count_cuts(wanted, workers, counted):
            return
        if len(push) and workers[push].any():
            jobs, ends = harvester.next_jobs(workers)
            failed = fabric.submit_for_jobs(jobs, ends, control.now)
            failed = harvester.not_submitted(jobs, ends, failed, control.now)
            fabric.take_back(failed, int(JobStatus.FAILED), int(Cause.SITE_ERROR), control.now)
            workers[push] = 0
        if workers.any():
            fabric.submit_workers(harvester.types.pseudo_queue.ravel(), workers.ravel(), control.now)
            harvester.submitted(workers)
    yield from control.every(control.periods.harvester_submitter, submit, "harvester_submitter")


def groups_of_workers(counted: np.ndarray, type_of: np.ndarray) -> Iterator[Group]:
    """Sums of the cycles of an hour by queue, resource type and limit, which are forgotten.

    counted: of `count_cuts`; type_of: resource types of its workers, (n_queues, n_types).
    """
    for queue, kind, place in zip(*(each.tolist() for each in np.nonzero(counted[..., 0])), strict=True):
        yield (queue, int(type_of[queue, kind]), place + UNCUT), counted[queue, kind, place].tolist()
    counted[:] = 0


def harvester_monitor(control: Control) -> Process:
    """Cancel old workers, and close the starting jobs whose workers were cancelled."""
    def look() -> None:
        left = control.fabric.cancel_old_workers(control.now)
        control.fabric.take_back(left, int(JobStatus.CLOSED), int(Cause.TIMEOUT_STARTING), control.now)
    yield from control.every(control.periods.harvester_monitor, look, "harvester_monitor")


def job_fetcher(control: Control) -> Process:
    """Fetch jobs."""
    harvester = control.books.harvester
    push = harvester.push
    numbers, asked = np.zeros(len(push), np.int64), np.zeros(len(push), bool)

    def fetch() -> None:
        nonlocal numbers, asked
        if not control.is_unchanged("job_fetcher", control.arrays.state["n_job_moves"].item(), control.world.n_moves):
            numbers = jobs_to_fetch(harvester.limits[push], *jobs_of_push(control.arrays, harvester.types, push))
            numbers[GETS_NONE[control.arrays.queues["status"][push]]] = 0
            asked = numbers > 0
        if asked.any():
            harvester.fetched(asked, *control.fabric.fetch_jobs(push, harvester.ranges, harvester.most_of_type, numbers,
                                                                control.now))
    if not len(push):
        return
    yield from control.every(control.periods.job_fetcher, fetch, "job_fetcher")


def slot_windows(control: Control) -> Process:
    """Open and close batch systems that have slots only in a window."""
    queues, duration = control.arrays.queues, control.world.scenario.duration
    rows = queues[queues["window_lasts_s"] < np.inf]
    turns = {control.now}
    for begins, lasts, every, notice in rows[["window_begins_s", "window_lasts_s", "window_every_s",
                                              "eviction_notice_s"]].tolist():
        opens = begins + every * np.arange(duration // every + 1) if every < np.inf else np.array([begins])
        turns |= {*opens.tolist(), *(opens + lasts - max(notice, 0.0) - AHEAD_S).tolist()}
    for moment in sorted(turns) if len(rows) else ():
        yield control.env.timeout(moment - control.now)
        control.fabric.turn_windows(moment)


def harvester_slots(control: Control) -> Process:
    """Open slots and forget rows, each at its moment."""
    world, fabric, found = control.world, control.fabric, list(openings(control.world))
    expiries = {row.expires for rows in world.slots.values() for row in rows if row.expires is not None}
    for moment in sorted(expiries | {each.opens_s for each in found}):
        yield control.env.timeout(moment - control.now)
        world.forget_expired(moment)
        for each in found:
            if each.expires_s == moment:
                fabric.close_slots(each.pool, each.cores, each.memory_mb)
            if each.opens_s == moment:
                fabric.open_slots(each.pool, each.cores, each.memory_mb, moment)
