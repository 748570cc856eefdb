"""Figures of PanDA's daemons about analysis, each as old as its daemon makes it; brokerage reference, 11."""

from collections import deque

import numpy as np

from simgrid_broker.bundle import Bundle
from simgrid_broker.compiled import compiled
from simgrid_broker.names import PANDA_ERRORS, Cause, JobStatus, SiteClass
from simgrid_broker.units import DAY, HOUR, MINUTE

RATE_FROM_S, RATE_TO_S = 6 * HOUR, 5 * MINUTE
"""Begin and end, before now, of the window in which starts are counted; source: brokerage reference, section 11.1."""
ALIVE_FROM_S = DAY
"""Begin of the window in which a job must have started at a queue of class hi; source: as above, 11.2."""
OF_PILOT = [cause for cause, error in PANDA_ERRORS.items() if error.source == "pilotErrorCode"]
"""Causes of failures that have an error code of the pilot."""
REASSIGNED = [Cause.REASSIGNED, Cause.ANALYSIS_REBROKERAGE, Cause.FAST_REBROKERAGE]
"""Causes for which jobs are closed to run elsewhere."""

TIMES = np.dtype([("sites_at", "f8"), ("slots_at", "f8"), ("tasks_at", "f8"), ("shares_at", "f8"), ("window_s", "f8")])
"""When what PanDA's daemons know was made, s, and how long ends of jobs count."""
CLASSIFIED = np.dtype([("jeditaskid", "i8"), ("task_class", "i8")])
"""Class of the task that is in a row."""


class UserFigures(Bundle):
    """Figures of users beside the tables of the world (`views.users.user_figures`); most as in `AnalysisMetrics`."""

    times: np.ndarray              # (1,) of TIMES
    owners: np.ndarray             # `UserRows.table`
    named: np.ndarray              # `UserRows.named`
    earlier: np.ndarray            # `UserRows.earlier`
    last_of_user: np.ndarray       # `UserRows.last_of_user`
    site_class: np.ndarray
    to_running_rate: np.ndarray
    in_hi: np.ndarray
    leaf_usage: np.ndarray
    equivalent_usage: np.ndarray
    counted_at: np.ndarray
    users_running: np.ndarray
    n_users: np.ndarray
    task_class: np.ndarray         # (n_tasks,) of CLASSIFIED
    used: np.ndarray               # `UsedQueues.table`
    used_by: np.ndarray            # `UsedQueues.of`
    ends: np.ndarray               # `Ends.table`
    heads: np.ndarray              # `Ends.heads`
    account_of_user: np.ndarray    # `UserOutput.of_user`
    account_of_group: np.ndarray   # `UserOutput.of_group`
    quota_state: np.ndarray        # `UserOutput.state`
    full: np.ndarray               # `UserOutput.full`


class AnalysisMetrics:
    """Classes of queues and tasks, slots of users, use of shares, starts at queues, and ends of the jobs of tasks.

    site_class: `SiteClass`, and has_class, whether it is known, (n_queues,), made at sites_at, s; in_hi,
    in_hi_or_mid: slots of users, (n_users,), NaN = unknown, made at slots_at, s; task_class: `TaskClass` by
    jeditaskid, made at tasks_at, s; leaf_usage, equivalent_usage: of each share, of its target and of that of its
    level-1 share, (n_shares,), NaN = unknown, made at shares_at, s; to_running_rate: starts at each queue, jobs/h,
    (n_queues,); counted_at: when the users of each share were counted, s, (n_shares,), and users_running, n_users:
    their running jobs and they at each queue, (n_shares, n_queues); used: queues where a task has had jobs;
    figures: `task_class`, and all that as compiled code saw it last.
    """

    def __init__(self, n_queues: int, n_users: int, n_shares: int):
        self.site_class, self.sites_at = np.full(n_queues, SiteClass.MID, np.int64), -np.inf
        self.has_class = np.zeros(n_queues, bool)
        self.in_hi, self.in_hi_or_mid, self.slots_at = np.full(n_users, np.nan), np.full(n_users, np.nan), -np.inf
        self.task_class, self.tasks_at = dict[int, int](), -np.inf
        self.leaf_usage, self.equivalent_usage = np.full(n_shares, np.nan), np.full(n_shares, np.nan)
        self.shares_at, self.to_running_rate = -np.inf, np.zeros(n_queues)
        self.counted_at = np.full(n_shares, -np.inf)
        self.users_running, self.n_users = np.zeros((2, n_shares, n_queues))
        self.used = UsedQueues(n_queues)
        self.starts, self.ends = Starts(n_queues), Ends()
        self.figures: tuple[dict[int, int], UserFigures] | None = None


class UsedQueues:
    """PanDA queues where tasks have had jobs.

    table: (n_tasks, n_queues) bool; of: jeditaskid of the task in each row whose queues these are, (n_tasks,).
    """

    def __init__(self, n_queues: int):
        self.table, self.of = np.zeros((0, n_queues), bool), np.zeros(0, np.int64)

    def lengthen(self, n_tasks: int) -> None:
        """Make room for a table of so many tasks."""
        if len(self.of) < n_tasks:
            more = n_tasks - len(self.of)
            self.table = np.concatenate([self.table, np.zeros((more, self.table.shape[1]), bool)])
            self.of = np.concatenate([self.of, np.zeros(more, np.int64)])


@compiled
def note_use(used, used_by, row, jeditaskid, queue):
    """Note that the task in a row has had jobs at a PanDA queue; used, used_by: of `UsedQueues`."""
    if used_by[row] != jeditaskid:
        used_by[row] = jeditaskid
        used[row, :] = False
    used[row, queue] = True


END = np.dtype([("ended_s", "f8"), ("jeditaskid", "i8"), ("queue", "i4"), ("kind", "i4"), ("next", "i8")])
"""End of a job, and the next one in its chain, -1 = none."""
FINISHED, FAILED, CLOSED = range(3)
"""Kinds of ends."""
NO_KIND = -1
KINDS = np.full((len(JobStatus), len(Cause)), NO_KIND, np.int8)
"""Kind of the end of a job by its status and cause."""
KINDS[JobStatus.FINISHED, :] = FINISHED
KINDS[JobStatus.FAILED, OF_PILOT] = FAILED
KINDS[JobStatus.CLOSED, REASSIGNED] = CLOSED
N_CHAINS, FIRST_ENDS = 4096, 1024


class Ends:
    """Ends of the jobs of analysis tasks within a window; window_s: its length.

    table: (room,) of END, of which the first `n`, n_kept of these since they were last looked through; heads: (2,
    N_CHAINS) first end of each chain, of jobs that finished, and of others. The ends of a task are in one chain.
    """

    def __init__(self) -> None:
        self.window_s, self.n, self.n_kept = 0.0, 0, 0
        self.table, self.heads = np.zeros(FIRST_ENDS, END), np.full((2, N_CHAINS), -1, np.int64)

    def note(self, rows: np.ndarray, times: np.ndarray, counted: np.ndarray) -> None:
        """Note which of some ended jobs, (n,) of JOBS, finished, failed with an error of the pilot or were reassigned.

        times: of their statuses, s, (n, n_status); counted: whether each is one of analysis, (n,) bool.
        """
        if self.n + len(rows) > len(self.table):
            self.table = np.concatenate([self.table, np.zeros(len(self.table) + len(rows), END)])
        self.n = note_ends(rows, times, counted, self.table, self.heads, self.n)

    def forget(self, now: float) -> None:
        """Forget what ended before the window, once the ends are twice as many as were kept."""
        if self.n < 2 * self.n_kept + FIRST_ENDS:
            return
        known = self.table[:self.n]
        kept = known[known["ended_s"] >= now - self.window_s]
        self.n = self.n_kept = len(kept)
        self.heads[:] = -1
        self.table[:self.n] = kept
        chain(self.table, self.heads, 0, self.n)


@compiled
def note_ends(rows, times, counted, table, heads, begin):
    """Put ends of jobs into `table`, from `begin` on, and into their chains; returns the number of all ends."""
    n = begin
    for k in range(len(rows)):
        status, kind = rows[k]["status"], KINDS[rows[k]["status"], rows[k]["cause"]]
        if counted[k] and kind != NO_KIND:
            table[n]["ended_s"], table[n]["kind"] = times[k, status], kind
            table[n]["jeditaskid"], table[n]["queue"] = rows[k]["jeditaskid"], rows[k]["queue"]
            n += 1
    chain(table, heads, begin, n)
    return n


@compiled
def chain(table, heads, begin, end):
    """Put some ends into their chains."""
    for k in range(begin, end):
        one = table[k]
        kind, place = 0 if one["kind"] == FINISHED else 1, one["jeditaskid"] % N_CHAINS
        one["next"] = heads[kind, place]
        heads[kind, place] = k


@compiled
def count_ends(table, heads, jeditaskid, from_s, at):
    """Add the ends of the jobs of a task since a time to `failed`, `closed` and `finished` of each queue of `at`.

    Finished jobs are counted only for tasks with others, because they only weigh against these.
    """
    place, has_bad = jeditaskid % N_CHAINS, False
    k = heads[1, place]
    while k >= 0:
        one = table[k]
        if one["jeditaskid"] == jeditaskid and one["ended_s"] >= from_s:
            has_bad = True
            if one["kind"] == FAILED:
                at[one["queue"]]["failed"] += 1
            else:
                at[one["queue"]]["closed"] += 1
        k = one["next"]
    k = heads[0, place] if has_bad else -1
    while k >= 0:
        one = table[k]
        if one["jeditaskid"] == jeditaskid and one["ended_s"] >= from_s:
            at[one["queue"]]["finished"] += 1
        k = one["next"]


class Starts:
    """Starts of jobs at each queue, read from a counter now and then."""

    def __init__(self, n_queues: int):
        self.samples: deque[tuple[float, np.ndarray]] = deque([(-np.inf, np.zeros(n_queues, np.int64))])

    def note(self, n_started: np.ndarray, now: float) -> None:
        """Note how many jobs have started so far, (n_queues,); what is older than a day is forgotten."""
        self.samples.append((now, n_started.copy()))
        while self.samples[1][0] <= now - ALIVE_FROM_S:
            self.samples.popleft()

    def between(self, begin_s: float, end_s: float) -> np.ndarray:
        """Jobs that started at each queue between two times, (n_queues,), as far as samples tell."""
        return self._until(end_s) - self._until(begin_s)

    def rate(self, now: float) -> np.ndarray:
        """Jobs an hour that start at each queue, (n_queues,)."""
        started = self.between(now - RATE_FROM_S, now - RATE_TO_S)
        return started / ((RATE_FROM_S - RATE_TO_S) / HOUR)

    def _until(self, time_s: float) -> np.ndarray:
        return next(n_started for taken_s, n_started in reversed(self.samples) if taken_s <= time_s)
