"""Sums over the job counts, as the server's statistics tables hold them, and the groups by which jobs are counted.

A group is a share and a Resource queue. JEDI's job numbers of a share exclude the jobs of Resource queues, which have
numbers of their own (lifecycle reference, section 1.6), while dispatch and usage go by share. So group share + n_shares
x k holds the jobs of a share in the k-th Resource queue, counted from 1; k = 0: in no Resource queue. Without Resource
queues the groups are the shares.

The deployed edition also counts resource types that the jobs of a task have at a PanDA queue; source: brokerage
reference, 0.3 and 10.2.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from simgrid_broker.bundle import fetch
from simgrid_broker.compiled import compiled, uncompiled
from simgrid_broker.names import JOB_QUEUED, JobStatus
from simgrid_broker.views import LOAD
from simgrid_broker.world.arrays import JOB_BYTES, N_STATUS, Arrays
from simgrid_broker.world.queues.statistics import Details, activity, details

TypesAt = tuple[tuple[int, int], ...]
"""Pairs of a PanDA queue and resource types, a bit for each."""
COUNTED = tuple(status for status in JobStatus if JobStatus.PENDING < status <= JobStatus.TRANSFERRING)
"""Statuses of the jobs of PanDA's statistics; those that are pending are among the placed ones."""
PENDING, RUNNING, CANCELLED = map(int, (JobStatus.PENDING, JobStatus.RUNNING, JobStatus.CANCELLED))
NO_CANDIDATE, HAS_OPEN_CANDIDATES = -1, -2
"""Entries of a group in `furthest` that are no candidate: no closed one found yet; the group has open candidates, and
`tally_open` counts it."""


@compiled
def sum_counts(counts, running_cores, by_share, by_type, by_status, cores):
    """Add counts[queue, share, type, status] and running_cores[queue, share, type] to sums, as in `JobSums`."""
    n_queues, n_shares, n_types, _ = counts.shape
    for queue in range(n_queues):
        for share in range(n_shares):
            for kind in range(n_types):
                cores[queue] += running_cores[queue, share, kind]
                anybody = 0
                for status in range(N_STATUS):                       # most are 0, which makes this fast
                    anybody |= counts[queue, share, kind, status]
                if anybody == 0:
                    continue
                for status in range(N_STATUS):
                    number = counts[queue, share, kind, status]
                    if number != 0:
                        by_share[share, status, queue] += number
                        by_type[share, kind, status] += number
                        by_status[status, queue] += number


ENDED = np.dtype([("owner", "i4"), ("queue", "i4"), ("status", "i4"), ("ended_s", "f8")])
"""A job that has ended: number of its owner, PanDA queue, status, and time, s."""


@compiled
def tally_ended(ended, since_s, done, known):
    """Count jobs that ended after a time, s, by owner and queue; moves them to the front, and returns their number.

    ended: of ENDED; done, known: (n_owners, n_queues), number of those that were not cancelled, and whether there is
    any.
    """
    n = 0
    for k in range(len(ended)):
        one = ended[k]
        if one["ended_s"] > since_s:
            known[one["owner"], one["queue"]] = True
            done[one["owner"], one["queue"]] += one["status"] != CANCELLED
            ended[n] = one
            n += 1
    return n


@compiled
def tally_refusals(counts, share, rule_of, groups, ranks, furthest):
    """Count the rules that refused n candidates: by candidate, and by the rule that stopped a group of candidates.

    counts: (n_shares, n_rules + 1, n_queues, 3), of which that of `share` is added to: candidates, queues and pools,
    each at its queue; a queue or pool has the rule that refused the candidate of it that came furthest. rule_of: (n,)
    rule of each candidate, -1 = the last: none; groups: (2, n) queue and pool of each; ranks: (n_rules + 1,) place of
    each rule in the order of removal; furthest: (2, most groups) buffer.
    """
    for k in range(len(rule_of)):
        counts[share, rule_of[k], groups[0, k], 0] += 1
    for level in range(2):
        for group in range(furthest.shape[1]):
            furthest[level, group] = -1
        for k in range(len(rule_of)):
            best = furthest[level, groups[level, k]]
            if best < 0 or ranks[rule_of[k]] > ranks[rule_of[best]]:
                furthest[level, groups[level, k]] = k
        for group in range(furthest.shape[1]):
            best = furthest[level, group]
            if best >= 0:
                counts[share, rule_of[best], groups[0, best], 1 + level] += 1


@compiled
def tally_open(tables, log, share, rule_of, row, open_, n_open):
    """Count as `tally_refusals`, but only open candidates and their groups; `tally_closed` counts the others.

    tables: have `counts` and `ranks`, the log `groups` and `furthest`, as there; open_: (n_rows, n) candidates, of
    which the first `n_open` are open and came further than all others.
    """
    n, counts, groups, furthest = len(rule_of), tables.counts, log.groups, log.furthest
    for level in range(2):
        for group in range(furthest.shape[1]):
            furthest[level, group] = -1
    for i in range(n_open):
        k = open_[row, i]
        rule = rule_of[k]
        counts[share, rule, groups[0, k], 0] += 1
        came = tables.ranks[rule] * n + n - 1 - k             # the first of those that came furthest has most
        for level in range(2):
            if came > furthest[level, groups[level, k]]:
                furthest[level, groups[level, k]] = came
    for level in range(2):
        for group in range(furthest.shape[1]):
            if furthest[level, group] >= 0:
                best = n - 1 - furthest[level, group] % n
                counts[share, rule_of[best], groups[0, best], 1 + level] += 1


@compiled
def tally_closed(counts, times, first, places, groups, furthest):
    """Count closed candidates, and groups without any other, of the decisions so far, and forget these.

    times: (n_shares, n_rows, n_ranks) decisions, by the rank below which candidates are closed; first: (n_rows, n) rank
    at which each is refused for good; places: (n_ranks,) rule of each rank.
    """
    for share in range(times.shape[0]):
        for row in range(times.shape[1]):
            for cut in range(times.shape[2]):
                number = times[share, row, cut]
                if number == 0:
                    continue
                for k in range(first.shape[1]):
                    if first[row, k] < cut:
                        counts[share, places[first[row, k]], groups[0, k], 0] += number
                find_closed_groups(first, row, cut, groups, furthest)
                for level in range(2):
                    for group in range(furthest.shape[1]):
                        best = furthest[level, group]
                        if best >= 0:
                            counts[share, places[first[row, best]], groups[0, best], 1 + level] += number
                times[share, row, cut] = 0


@compiled
def find_closed_groups(first, row, cut, groups, furthest):
    """Fill in the candidate that came furthest of each group whose candidates are all closed, below 0 for others."""
    for level in range(2):
        for group in range(furthest.shape[1]):
            furthest[level, group] = NO_CANDIDATE
        for k in range(first.shape[1]):
            group = groups[level, k]
            best = furthest[level, group]
            if first[row, k] >= cut:
                furthest[level, group] = HAS_OPEN_CANDIDATES
            elif best == NO_CANDIDATE or best >= 0 and first[row, k] > first[row, best]:
                furthest[level, group] = k


@compiled
def place_block(tables, load, share, resource_type, queue, number):
    """Count `number` new jobs at one queue; tables: have `placed`, `placed_by_type`, `load_known` of a `Snapshot`."""
    tables.placed[share, queue] += number
    tables.placed_by_type[share, resource_type] += number
    n_rows = 1 + tables.placed_by_type.shape[1]
    for row in range(share * n_rows, (share + 1) * n_rows):
        if tables.load_known[row]:
            load[row, queue]["placed"] += number


place_block_of = uncompiled(place_block)
"""As `place_block`, for Python, which places few blocks."""


@dataclass
class Snapshot:
    """JOBS_SHARE_STATS and worker statistics at one time; source: lifecycle reference, section 1.3.

    Axes of shares are followed by the Resource queues, whose jobs count for no share (see above).
    by_queue: (n_queues, n_shares, n_resource_types, n_status), None unless requested; by_share: (n_shares, n_status,
    n_queues); by_type: numbers by share, resource type and status, as lists; workers: (n_queues,) submitted and running
    workers; activity: columns of `views.LOAD` over all shares; placed: jobs made since, (n_shares, n_queues), JEDI's
    live counter; placed_by_type: the same jobs by share and resource type. Caches of the brokers: load, by share and
    resource type (None = all), (n_queues,) of `views.LOAD`; load_of_all: its part that is equal for all shares; store:
    (n_queues,) of `views.STORE`; nuclei: (n_sites,) of it; analysis_store: (n_queues,) of `views.ANALYSIS_STORE`.
    The last row of load is room for a task with jobs of several resource types.
    known: (n_queues, n_shares, n_resource_types) whether there are statistics, None = where there are jobs. details:
    None unless requested.
    types_at: by jeditaskid, pairs of PanDA queue and the resource types of the task's jobs there (`types_in_use`).
    """

    taken_at: float
    by_queue: np.ndarray | None
    by_share: np.ndarray
    by_type: list[list[list[int]]]
    workers: np.ndarray
    placed: np.ndarray
    placed_by_type: np.ndarray
    activity: dict[str, np.ndarray]
    load: np.ndarray = field(init=False)
    load_known: np.ndarray = field(init=False)
    load_of_all: np.ndarray | None = None
    store: np.ndarray | None = None
    nuclei: np.ndarray | None = None
    analysis_store: np.ndarray | None = None
    known: np.ndarray | None = None
    details: Details | None = None
    types_at: Mapping[int, TypesAt] = field(default_factory=dict)

    def __post_init__(self):
        n_shares, n_types = self.placed_by_type.shape
        self.load = np.empty((n_shares * (1 + n_types) + 1, self.placed.shape[1]), LOAD)
        self.load_known = np.zeros(len(self.load), bool)

    def load_row(self, share: int, resource_type: int | None) -> int:
        """Row of `load` of a share and a resource type, None = of all types together."""
        n_types = self.placed_by_type.shape[1]
        return share * (1 + n_types) + (0 if resource_type is None else 1 + resource_type % n_types)

    def place(self, share: int, resource_type: int, jobs: Iterable[tuple[int, int]]) -> None:
        """Count new jobs for later decisions; jobs: (queue, number of jobs)."""
        for queue, number in jobs:
            place_block_of(self, self.load, int(share), int(resource_type), queue, number)

    def jobs_in(self, statuses: Collection[int], share: int | None = None) -> np.ndarray:
        """Jobs in some statuses at each queue, of one share or of all and the Resource queues, (n_queues,)."""
        shares = self.by_share if share is None else self.by_share[[share]]
        return shares[:, list(statuses)].sum(axis=(0, 1))

    def jobs_at(self, queue: int, accounts: Sequence[int], types: Sequence[int], status: int) -> int:
        """Jobs at a queue in some accounts, resource types and a status; requires `by_queue`."""
        assert self.by_queue is not None
        return int(self.by_queue[queue][np.ix_(accounts, types)][..., status].sum())


def queued_and_running(arrays: Arrays) -> tuple[np.ndarray, np.ndarray]:
    """Queued and running jobs by PanDA queue and share, (n_queues, n_shares) each, without those of Resource queues."""
    counts = arrays.counts[:, :len(arrays.hs06_milli)].sum(axis=2)
    return counts[..., JOB_QUEUED].sum(axis=2), counts[..., RUNNING]


class JobSums(NamedTuple):
    """Sums over the counts of jobs, which remain as they are until a job moves.

    types_by_group: (n_groups, n_types, n_status); by_share, by_type: as of `Snapshot`; pending: of the latter, as an
    array; by_status: (n_status, n_queues); cores: of the running ones, (n_queues,).
    """

    types_by_group: np.ndarray
    by_share: np.ndarray
    by_type: list[list[list[int]]]
    pending: np.ndarray
    by_status: np.ndarray
    cores: np.ndarray


def sums_of_jobs(arrays: Arrays) -> JobSums:
    """Sums over the counts as they are now."""
    n_queues, n_groups, n_types, n_status = arrays.counts.shape
    by_group, types_by_group, by_status, cores = (np.zeros(shape, np.int64) for shape in (
        (n_groups, n_status, n_queues), (n_groups, n_types, n_status), (n_status, n_queues), n_queues))
    sum_counts(arrays.counts, arrays.running_cores, by_group, types_by_group, by_status, cores)
    by_share, by_type = (of_accounts(sums, len(arrays.hs06_milli)) for sums in (by_group, types_by_group))
    return JobSums(types_by_group, by_share, by_type.tolist(), by_type[:, :, PENDING], by_status, cores)


def take_snapshot(arrays: Arrays, now: float, by_queue: np.ndarray | None = None, in_detail: bool = False,
                  sums: JobSums | None = None) -> Snapshot:
    """Read the current counts; in_detail: and `Details`.

    by_queue: a copy of the counts as they are, if those of every queue by resource type are wanted; sums: of the
    counts, if known. Pending jobs, which the statistics do not contain, keep counting as placed.
    """
    sums = sums or sums_of_jobs(arrays)
    workers, of_queues = activity(arrays, sums.by_status, sums.cores, now)
    counts = None if by_queue is None else of_accounts(by_queue, len(arrays.hs06_milli), axis=1)
    return Snapshot(now, counts, sums.by_share, sums.by_type, workers, sums.by_share[:, PENDING].copy(),
                    sums.pending.copy(), of_queues, details=details(arrays) if in_detail else None)


def candidates_left(refused_by: np.ndarray, ranks: np.ndarray,
                    unasked: Collection[int]) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Places of the rules that were asked, in the order of removal, and the candidates that each refused and left.

    refused_by: (n,) place of the rule that refused each candidate, negative = none; ranks: (n_rules,) order of removal.
    """
    places = [place for place in np.argsort(ranks).tolist() if place not in unasked]
    refused = np.bincount(refused_by[refused_by >= 0], minlength=len(ranks))[places]
    return places, refused, len(refused_by) - np.cumsum(refused)


@compiled
def group_of(world: Arrays, job):
    """Group of a live job."""
    n_shares = len(world.hs06_milli)
    if world.counts.shape[1] == n_shares:
        return np.int64(job["share"])
    work_queue = np.int64(world.tasks[job["task"]]["work_queue"])
    special = n_shares * (work_queue + 1)
    return np.int64(job["share"]) + (special if special < world.counts.shape[1] else 0)


@compiled
def n_special(world: Arrays):
    """Number of Resource queues."""
    return world.counts.shape[1] // len(world.hs06_milli) - 1


def of_shares(numbers: np.ndarray, n_shares: int) -> np.ndarray:
    """Numbers by share from numbers by group; groups are on axis 1."""
    if numbers.shape[1] == n_shares:
        return numbers
    return numbers.reshape(len(numbers), -1, n_shares, *numbers.shape[2:]).sum(axis=1)


def of_accounts(numbers: np.ndarray, n_shares: int, axis: int = 0) -> np.ndarray:
    """Numbers as in JEDI's throttler and brokers: each share without Resource queues, then each Resource queue."""
    if numbers.shape[axis] == n_shares:
        return numbers
    ahead = np.moveaxis(numbers, axis, 0)
    special = ahead[n_shares:].reshape(-1, n_shares, *ahead.shape[1:]).sum(axis=1)
    return np.moveaxis(np.concatenate([ahead[:n_shares], special]), 0, axis)


@compiled
def account_of(world: Arrays, row):
    """Account of a task's jobs in JEDI: its share, or n_shares + k for the k-th Resource queue from 0."""
    task = world.tasks[row]
    if 0 <= task["work_queue"] < n_special(world):
        return np.int64(len(world.hs06_milli) + task["work_queue"])
    return np.int64(task["share"])


@compiled
def account_of_job(world: Arrays, job):
    """Account of a live job, by its own share: that of its group, whatever the share within a Resource queue."""
    group, n_shares = group_of(world, job), len(world.hs06_milli)
    return group if group < n_shares else n_shares + group // n_shares - 1


account_of_task = uncompiled(account_of)
"""As `account_of`, for Python, which asks so seldom that compiling takes longer."""


def in_resource_queue(arrays: Arrays, tasks: np.ndarray) -> np.ndarray:
    """Test of each task for a Resource queue, (n,) bool; tasks: rows, (n,)."""
    work_queue = arrays.tasks["work_queue"][tasks]
    return (work_queue >= 0) & (work_queue < uncompiled(n_special)(arrays))


LEAST_PART = 0.2
"""Least part of a task's jobs at a queue that a type must have to count; source: brokerage reference, 0.3 and 10.2."""
AGE_S = 600.0
"""Greatest age of these types in a run, s: assumed, no document gives it."""
FIRST, LAST = int(COUNTED[0]), int(COUNTED[-1])


def types_in_use(arrays: Arrays) -> dict[int, TypesAt]:
    """By jeditaskid, pairs of PanDA queue and resource types, of tasks that have, or will have, jobs of other types.

    All other tasks have jobs of their own type alone.
    """
    mixed = np.zeros(len(arrays.tasks), bool)
    mark_mixed(arrays, mixed)
    if not mixed.any():
        return {}
    rows, found = np.empty(len(arrays.jobs), np.int32), np.empty((len(arrays.jobs), 3), np.int64)
    n = find_types(arrays, np.flatnonzero(mixed), np.zeros(arrays.counts.shape[::2], np.int64), rows, found)
    types: dict[int, list[tuple[int, int]]] = {}
    for task, queue, kinds in found[:n].tolist():
        types.setdefault(task, []).append((queue, kinds))
    return {task: tuple(pairs) for task, pairs in types.items()}


class TypesInUse:
    """`types_in_use`, read again at an age of AGE_S."""

    def __init__(self) -> None:
        self.read_at, self.known = -np.inf, dict[int, TypesAt]()

    def known_at(self, arrays: Arrays, now: float) -> dict[int, TypesAt]:
        """Resource types by task, read again where they are too old at a time."""
        if now - self.read_at >= AGE_S:
            self.read_at, self.known = now, types_in_use(arrays)
        return self.known


@compiled
def mark_mixed(world: Arrays, mixed):
    """Mark in `mixed`, (n_tasks,) bool, tasks with a live job of another resource type than theirs, or input of one."""
    for task in range(len(mixed)):
        for level in range(1, world.ram_levels.shape[1]):
            if world.ram_levels[task, level]["waiting"] > 0:
                mixed[task] = True
        for kind in range(world.live_types.shape[1]):
            if world.live_types[task, kind] > 0 and kind != world.tasks[task]["resource_type"]:
                mixed[task] = True


@compiled
def find_types(world: Arrays, tasks, numbers, rows, found):
    """Write jeditaskid, PanDA queue and resource types, a bit for each, of the counted jobs of some tasks to `found`.

    numbers: (n_queues, n_types) of zeros, which they are afterwards; rows: as long as the jobs, to work with. Returns
    how many pairs of a task and a queue there are, in the order of both.
    """
    n = 0
    for task in tasks:
        first, last = len(numbers), -1
        for place in range(counted_jobs_of(world, task, rows)):
            job = world.jobs[rows[place]]
            first, last = min(first, job["queue"]), max(last, job["queue"])
            numbers[job["queue"], job["resource_type"]] += 1
        for queue in range(first, last + 1):
            total, kinds = numbers[queue].sum(), 0
            for kind in range(numbers.shape[1] if total > 0 else 0):
                if 0 < numbers[queue, kind] >= LEAST_PART * total:
                    kinds |= 1 << kind
                numbers[queue, kind] = 0
            if total > 0:
                found[n, 0], found[n, 1], found[n, 2] = world.tasks[task]["jeditaskid"], queue, kinds
                n += 1
    return n


@compiled
def counted_jobs_of(world: Arrays, task, rows):
    """Write the rows of the counted jobs of a task to `rows`, and ask the processor for them; returns their number."""
    n, row = 0, world.live_jobs[task]["first"]
    while row >= 0:
        if FIRST <= world.job_status[row] <= LAST:
            fetch(world.jobs, row, JOB_BYTES)
            rows[n] = row
            n += 1
        row = world.neighbours[row]["next"]
    return n
