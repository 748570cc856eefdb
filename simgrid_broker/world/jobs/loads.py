"""Work of shares at the PanDA queues: job numbers that brokers see; wall time, power and priority of queued jobs.

Sources: brokerage reference, section 0.3; lifecycle reference, sections 2.4 and 2.6 (maxWalltime of a job).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simgrid_broker import views
from simgrid_broker.bundle import fetch
from simgrid_broker.compiled import compiled, uncompiled
from simgrid_broker.names import JobStatus
from simgrid_broker.world.arrays import JOB_BYTES, Arrays
from simgrid_broker.world.jobs.counts import TypesAt, account_of_job, n_special, of_shares
from simgrid_broker.world.rows import fetch_ahead, find_in_status, has_no_pieces
from simgrid_broker.world.world import World

S = JobStatus
RUNNING, ASSIGNED, ACTIVATED, STARTING, DEFINED = map(int, (S.RUNNING, S.ASSIGNED, S.ACTIVATED, S.STARTING, S.DEFINED))
WITH_WALLTIME, WITH_PRIORITY, NOT_IN_HEAPS = (sum(1 << status for status in statuses) for statuses in (
    (S.DEFINED, S.ACTIVATED, S.STARTING), (S.DEFINED, S.ASSIGNED, S.ACTIVATED), (S.DEFINED, S.ASSIGNED)))
"""Statuses, a bit for each: of the jobs whose wall times are added up, of those whose priorities count, and of these
without the ones that stand in heaps."""
NO_PRIORITY = -(2**31)


def load_row(world: World, snapshot, account: int, resource_type: int | None) -> int:
    """Row of the statistics' `load` for a share and a resource type, which is filled if it is not yet known."""
    row = snapshot.load_row(account, resource_type)
    if not snapshot.load_known[row]:
        _fill_load(world, snapshot, account, resource_type, snapshot.load[row])
        snapshot.load_known[row] = True
    return row


def _fill_load(world: World, snapshot, account: int, resource_type: int | None, load: np.ndarray) -> None:
    """Fill in the job numbers of a share at each PanDA queue, (n_queues,) of LOAD."""
    row = snapshot.load_row(account, resource_type)
    fill_load(load_of_all(world, snapshot), snapshot.by_share, snapshot.placed, account, snapshot.load, row)
    for queue, rows in world.slots.items():
        load["num_slots"][queue] = slots_of(world, rows, account, resource_type)
    if resource_type is not None:
        by_queue, known = of_types(snapshot), types_known(snapshot)
        if account >= len(world.arrays.hs06_milli):
            of_account = by_queue[:, account].sum(axis=1, dtype=by_queue.dtype)
            by_queue, account, resource_type = of_account.reshape(len(of_account), 1, 1, -1), 0, 0
            known = np.ones((len(of_account), 1, 1), bool)
        fill_typed(by_queue, known, account, resource_type % by_queue.shape[2], snapshot.load, row)


def load_of_all(world: World, snapshot) -> np.ndarray:
    """Columns that are equal for all shares, (n_queues,) of LOAD."""
    if snapshot.load_of_all is None:
        queues = world.arrays.queues
        snapshot.load_of_all = views.records(views.LOAD, len(queues), n_batch_job=snapshot.workers,
                                             num_slots=queues["num_slots"], **snapshot.activity)
    return snapshot.load_of_all


@compiled
def fill_load(of_all, by_share, placed, account, load, row):
    """Fill in a row of `load`, (n_rows, n_queues) of LOAD: what is equal for all shares, and the numbers of one.

    by_share: (n_accounts, n_status, n_queues); placed: (n_accounts, n_queues).
    """
    for queue in range(load.shape[1]):
        load[row, queue] = of_all[queue]
        one = load[row, queue]
        one["running"], one["defined"] = by_share[account, RUNNING, queue], by_share[account, DEFINED, queue]
        one["assigned"], one["activated"] = by_share[account, ASSIGNED, queue], by_share[account, ACTIVATED, queue]
        one["starting"], one["placed"] = by_share[account, STARTING, queue], placed[account, queue]


def slots_of(world: World, rows, account: int, resource_type: int | None) -> int:
    """numslots that hold for a share and resource type, -1 = none; rows: of Harvester_Slots, of one PanDA queue.

    Rows of the share win over those of any, and of these the row of the type over that of any, which alone holds for a
    task that fits no type, -1; None = all types, which add up. Source: brokerage reference, 0.3.
    """
    words = world.vocabularies
    share = words["shares"][account] if account < len(words["shares"]) else None
    mine = [row for row in rows if row.gshare == share] or [row for row in rows if row.gshare is None]
    if resource_type is None:
        return sum(row.slots for row in mine) if mine else -1
    kind = words["resource_types"][resource_type] if resource_type >= 0 else None
    of_type = [row for row in mine if row.resource_type == kind] or [row for row in mine if row.resource_type is None]
    return of_type[-1].slots if of_type else -1


@compiled
def fill_typed(by_queue, known, account, kind, load, row):
    """Fill in the numbers of one resource type in a row of `load`, as `fill_load`.

    by_queue: (n_queues, n_accounts, n_types, n_status); known: as `types_known`.
    """
    for queue in range(load.shape[1]):
        numbers = by_queue[queue, account, kind]
        is_known = known[queue, account, kind] if len(known) > 0 else np.any(numbers)
        count_typed(load[row, queue], numbers, is_known)


@compiled
def count_typed(load, numbers, is_known):
    """Fill in the numbers of some resource types at a queue; numbers: (n_status,) jobs."""
    load["running_of_type"] = numbers[RUNNING] if is_known else -1
    load["assigned_of_type"] = numbers[ASSIGNED]
    load["queued_of_type"] = numbers[DEFINED] + numbers[ACTIVATED] + numbers[STARTING]


@compiled
def count_types(by_queue, known, account, queue, kinds, numbers, load):
    """Fill in the numbers of several resource types at a queue, a bit of `kinds` for each.

    by_queue, known: as for `fill_typed`; numbers: room, (n_status,).
    """
    is_known = False
    for status in range(len(numbers)):
        numbers[status] = 0
    for kind in range(by_queue.shape[2]):
        if kinds >> kind & 1:
            is_known = is_known or len(known) > 0 and known[queue, account, kind]
            for status in range(len(numbers)):
                jobs = by_queue[queue, account, kind, status]
                numbers[status] += jobs
                is_known = is_known or len(known) == 0 and jobs > 0
    count_typed(load, numbers, is_known)


count_types_at = uncompiled(count_types)
"""As `count_types`, for Python."""


def of_types(snapshot) -> np.ndarray:
    """Jobs by resource type, (n_queues, n_accounts, n_types, n_status); empty if the statistics lack them."""
    found = np.zeros((0, 0, 0, 0), np.int32) if snapshot.by_queue is None else snapshot.by_queue
    return np.ascontiguousarray(found, np.int32)


def types_known(snapshot) -> np.ndarray:
    """Test for statistics of resource types of accounts at queues, (n_queues, n_accounts, n_types); empty: there are
    some once there are jobs."""
    return np.zeros((0, 0, 0), bool) if snapshot.known is None else snapshot.known


def of_types_at(world: World, snapshot, account: int, load: np.ndarray, types_at: TypesAt) -> np.ndarray:
    """`load` with the numbers of the resource types that a task has at a queue instead of those of its own."""
    load, known, by_queue = load.copy(), types_known(snapshot), of_types(snapshot)
    numbers = np.zeros(by_queue.shape[3], np.int64)
    for queue, kinds in types_at:
        count_types_at(by_queue, known, account, queue, kinds, numbers, load[queue])
    return load


class QueuedWalltime(NamedTuple):
    """Requested wall time of defined, activated and starting jobs.

    walltime_s: by account (`jobs.counts`) and resource type, (n_accounts, n_types), s, scaled up for jobs without a
    limit, NaN = no job has a limit.
    """

    walltime_s: np.ndarray

    def total_s(self, accounts: Sequence[int], types: Sequence[int]) -> float | None:
        """Requested wall time in some accounts and resource types, s; None = unknown."""
        total = float(sum(self.walltime_s[account, kind] for account in accounts for kind in types))
        return None if math.isnan(total) else total


class QueuedPriority(NamedTuple):
    """Highest priority of defined, assigned and activated jobs, and how many have it.

    priority, n_highest: by account (`jobs.counts`) and resource type, (n_accounts, n_types).
    """

    priority: np.ndarray
    n_highest: np.ndarray

    def highest(self, accounts: Sequence[int], types: Sequence[int]) -> tuple[int, int]:
        """Highest priority in some accounts and resource types, and the number of jobs with it."""
        at = [(account, kind) for account in accounts for kind in types]
        highest = max(self.priority[place] for place in at)
        return int(highest), int(sum(self.n_highest[place] for place in at if self.priority[place] == highest))


def queued_power(arrays: Arrays) -> np.ndarray:
    """Power that the activated jobs of each leaf share would use, (n_shares,), HS06."""
    pseudo = arrays.pseudo_queues
    power = np.zeros((len(arrays.queues), arrays.counts.shape[2]))     # of a job
    for kind in range(power.shape[1]):
        mine = (pseudo["resource_type"] == kind) | (pseudo["resource_type"] < 0)
        power[pseudo["queue"][mine], kind] = pseudo["corecount"][mine]
    power *= arrays.queues["corepower"][:, None]
    activated = of_shares(arrays.counts[:, :, :, ACTIVATED], len(arrays.hs06_milli))
    return np.einsum("qst,qt->s", activated, power)


@compiled
def limit_of_queue_or_build(world: Arrays, job):
    """Limit of the wall time of a job, s: of its queue, or the lower one of build jobs; lifecycle reference, 2.6."""
    settings, limit = world.settings[0], world.queues[job["queue"]]["maxtime_s"]
    if has_no_pieces(job) and job["processing_type"] == settings["build"]:
        return min(limit, settings["build_walltime_s"] + world.tasks[job["task"]]["basewalltime_s"])
    return limit


@compiled
def max_walltime(world: Arrays, job):
    """maxWalltime of a job, s: its task's claim at this power; else, and for merge jobs, the limit of the queue.

    Build jobs have a limit of their own, where there is one.
    """
    task = world.tasks[job["task"]]
    if has_no_pieces(job):
        return limit_of_queue_or_build(world, job)
    if task["cputime"] <= 0:
        return world.queues[job["queue"]]["maxtime_s"]
    if task["cpuefficiency"] <= 0:
        return np.float64(task["basewalltime_s"])
    return task["basewalltime_s"] + task["cputime"] * job["n_events"] / (
        job["hs06_milli"] * 1e-3 * task["cpuefficiency"] / 100.0)


def max_walltimes(arrays: Arrays, rows: np.ndarray) -> np.ndarray:
    """`max_walltime` of the jobs in `rows`, (n,), s."""
    jobs, tasks = arrays.jobs, arrays.tasks
    task, queue = jobs["task"][rows], jobs["queue"][rows]
    efficiency, cputime = tasks["cpuefficiency"][task], tasks["cputime"][task]
    rate = np.where(efficiency > 0, jobs["hs06_milli"][rows] * 1e-5 * efficiency, np.inf)
    claimed = tasks["basewalltime_s"][task] + cputime * jobs["n_events"][rows] / rate
    return np.where((cputime > 0) & (jobs["n_chunks"][rows] > 0), claimed, arrays.queues["maxtime_s"][queue])


@compiled
def add_walltimes(world: Arrays, rows, walltime_s, n_jobs, n_known):
    """Add the wall time of queued jobs, their number, and the number of those with a wall time to three tables.

    rows: room for as many jobs as there are.
    """
    n = find_in_status(world, WITH_WALLTIME, rows)
    for place in range(n):
        fetch_ahead(world, rows, n, place)
        job = world.jobs[rows[place]]
        account, kind, walltime = account_of_job(world, job), job["resource_type"], max_walltime(world, job)
        n_jobs[account, kind] += 1
        if walltime < np.inf:
            n_known[account, kind] += 1
            walltime_s[account, kind] += walltime


@compiled
def ranks_by_priority(world: Arrays):
    """True if each heap of activated jobs is ordered by priority alone."""
    settings = world.settings[0]
    others = (settings["rank_by_attempt"] != 0) | (settings["rank_by_corecount"] != 0) | (
        settings["rank_by_n_events"] != 0) | (settings["rank_by_n_input_files"] != 0) | (
        settings["rank_by_maxwalltime"] != 0) | (settings["urgent_first"] != 0)
    return settings["rank_by_priority"] > 0 and not others


@compiled
def heaps_follow_priority(world: Arrays):
    """True if all activated jobs stand in heaps, each of one account, that are ordered by priority alone."""
    return ranks_by_priority(world) and world.settings[0]["task_queues"] == 0 and n_special(world) == 0


@compiled
def note_priority(world: Arrays, job, priority, n_highest):
    """Count a job in the tables of `QueuedPriority`, unless it is a merge job."""
    account, kind = account_of_job(world, job), job["resource_type"]
    if has_no_pieces(job) or job["priority"] < priority[account, kind]:
        return
    if job["priority"] > priority[account, kind]:
        priority[account, kind], n_highest[account, kind] = job["priority"], 0
    n_highest[account, kind] += 1


@compiled
def find_highest(world: Arrays, most, rows, priority, n_highest):
    """Fill the tables of `QueuedPriority`, initialised with NO_PRIORITY and 0; merge jobs do not count.

    Where the heaps of activated jobs allow it, only the jobs at their tops are looked at. rows: room for as many jobs
    as there are.
    """
    by_heap = heaps_follow_priority(world)
    n = find_in_status(world, NOT_IN_HEAPS if by_heap else WITH_PRIORITY, rows)
    for place in range(n):
        fetch_ahead(world, rows, n, place)
        note_priority(world, world.jobs[rows[place]], priority, n_highest)
    if by_heap:
        for number in range(world.activated.shape[0]):
            for share in range(world.activated.shape[1]):
                if world.activated[number, share] >= 0:
                    look_at_top(world, number, share, most, rows, priority, n_highest)


@compiled
def may_count(world: Arrays, number, share, level, most, priority, n_highest):
    """True if a job of priority `level` in a heap may be of the highest, with fewer than `most` of it known."""
    pseudo, types = world.pseudo_queues[number], world.counts[world.pseudo_queues[number]["queue"], share]
    for kind in range(len(types)):
        if types[kind, ACTIVATED] > 0 and (pseudo["resource_type"] < 0 or pseudo["resource_type"] == kind):
            known = n_highest[share, kind] if level == priority[share, kind] else 0
            if level >= priority[share, kind] and known < most:
                return True
    return False


@compiled
def look_at_top(world: Arrays, number, share, most, waiting, priority, n_highest):
    """Count the jobs at the top of the heap of a pseudo-queue and share, as far down as others may count.

    waiting: room for as many jobs as there are, which are looked at in turn, so that each has been fetched by then.
    """
    waiting[0], done, known = world.activated[number, share], 0, 1
    while done < known:
        job = world.jobs[waiting[done]]
        done += 1
        note_priority(world, job, priority, n_highest)
        below = may_count(world, number, share, np.int64(job["priority"]), most, priority, n_highest)
        for following in (job["sibling"], job["child"] if below else np.int32(-1)):
            if following >= 0:
                fetch(world.jobs, following, JOB_BYTES)
                waiting[known] = following
                known += 1


def _shape(arrays: Arrays) -> tuple[int, int]:
    """Shape of tables by account and resource type."""
    return len(arrays.hs06_milli) + uncompiled(n_special)(arrays), arrays.counts.shape[2]


def queued_walltime(arrays: Arrays) -> QueuedWalltime:
    """Current `QueuedWalltime`."""
    shape = _shape(arrays)
    walltime_s, n_jobs, n_known = np.zeros(shape), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    add_walltimes(arrays, np.empty(len(arrays.jobs), np.int32), walltime_s, n_jobs, n_known)
    scaled = walltime_s * n_jobs / np.where(n_known > 0, n_known, np.nan)
    return QueuedWalltime(np.where(n_jobs > 0, scaled, 0.0))


def queued_priority(arrays: Arrays, most: int) -> QueuedPriority:
    """Current `QueuedPriority`; from `most` jobs of a share, resource type and priority on they need not be counted."""
    shape = _shape(arrays)
    priorities = QueuedPriority(np.full(shape, NO_PRIORITY, np.int64), np.zeros(shape, np.int64))
    find_highest(arrays, most, np.empty(len(arrays.jobs), np.int32), *priorities)
    return priorities
