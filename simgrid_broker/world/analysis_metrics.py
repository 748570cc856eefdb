"""What PanDA's daemons know about analysis, each figure as old as its daemon makes it; brokerage reference, 11."""

from collections import deque

import numpy as np

from simgrid_broker.names import PANDA_ERRORS, Cause, JobStatus, SiteClass
from simgrid_broker.units import DAY, HOUR, MINUTE

RATE_FROM_S, RATE_TO_S = 6 * HOUR, 5 * MINUTE
"""Begin and end, before now, of the window in which starts are counted; source: brokerage reference, section 11.1."""
ALIVE_FROM_S = DAY
"""Begin of the window in which a job must have started at a queue of class hi; source: as above, 11.2."""
OF_PILOT = [cause for cause, error in PANDA_ERRORS.items() if error.source == "pilotErrorCode"]
"""Causes of failures that have an error code of the pilot."""
REASSIGNED = (Cause.REASSIGNED, Cause.ANALYSIS_REBROKERAGE, Cause.FAST_REBROKERAGE)
"""Causes for which jobs are closed to run elsewhere."""


class AnalysisMetrics:
    """Classes of queues and tasks, slots of users, use of shares, starts at queues, and ends of the jobs of tasks.

    site_class: `SiteClass`, (n_queues,), made at sites_at, s; in_hi, in_hi_or_mid: slots of users, (n_users,), NaN =
    unknown, made at slots_at, s; task_class: `TaskClass` by jeditaskid, made at tasks_at, s; leaf_usage,
    equivalent_usage: of each share, of its target and of that of its level-1 share, (n_shares,), NaN = unknown, made at
    shares_at, s; to_running_rate: starts at each queue, jobs/h, (n_queues,); users_of_share: by share when they were
    counted, s, and the running jobs and users at each queue; used: queues where the task of a jeditaskid has had jobs.
    """

    def __init__(self, n_queues: int, n_users: int, n_shares: int):
        self.site_class, self.sites_at = np.full(n_queues, SiteClass.MID, np.int64), -np.inf
        self.in_hi, self.in_hi_or_mid, self.slots_at = np.full(n_users, np.nan), np.full(n_users, np.nan), -np.inf
        self.task_class, self.tasks_at = dict[int, int](), -np.inf
        self.leaf_usage, self.equivalent_usage = np.full(n_shares, np.nan), np.full(n_shares, np.nan)
        self.shares_at, self.to_running_rate = -np.inf, np.zeros(n_queues)
        self.users_of_share: dict[int, tuple[float, np.ndarray, np.ndarray]] = {}
        self.used: dict[int, set[int]] = {}
        self.starts, self.ends = Starts(n_queues), Ends(n_queues)

    def forget(self, jeditaskids: np.ndarray) -> None:
        """Forget the queues of tasks that are gone; jeditaskids: of those that are not, 0 = a row without a task."""
        left = set(jeditaskids.tolist())
        self.used = {jeditaskid: queues for jeditaskid, queues in self.used.items() if jeditaskid in left}


class Ends:
    """Ends of the jobs of analysis tasks within a window; window_s: its length."""

    def __init__(self, n_queues: int):
        self.n_queues, self.window_s = n_queues, 0.0
        self.bad: dict[int, list[tuple[float, int, bool]]] = {}          # end, queue, whether it failed, by jeditaskid
        self.good = [(np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64))]       # end, jeditaskid, queue

    def note(self, rows: np.ndarray, ended_s: np.ndarray) -> None:
        """Note jobs that have ended, (n,), and when: finished, failed with an error of the pilot, or reassigned."""
        finished = rows["status"] == JobStatus.FINISHED
        failed = (rows["status"] == JobStatus.FAILED) & np.isin(rows["cause"], OF_PILOT)
        closed = (rows["status"] == JobStatus.CLOSED) & np.isin(rows["cause"], REASSIGNED)
        self.good.append((ended_s[finished], rows["jeditaskid"][finished], rows["queue"][finished].astype(np.int64)))
        bad = failed | closed
        columns = (column[bad].tolist() for column in (rows["jeditaskid"], ended_s, rows["queue"], failed))
        for jeditaskid, *end in zip(*columns, strict=True):
            self.bad.setdefault(jeditaskid, []).append((end[0], end[1], end[2]))

    def forget(self, now: float) -> None:
        """Forget what ended before the window."""
        ended_s, jeditaskid, queue = (np.concatenate(column) for column in zip(*self.good, strict=True))
        kept = ended_s >= now - self.window_s
        self.good = [(ended_s[kept], jeditaskid[kept], queue[kept])]
        recent = {task: [end for end in ends if end[0] >= now - self.window_s] for task, ends in self.bad.items()}
        self.bad = {task: ends for task, ends in recent.items() if ends}

    def of_task(self, jeditaskid: int, now: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Failed, closed and finished jobs of a task at each queue within the window, (n_queues,) each.

        Finished jobs are counted only for tasks with others, because they only weigh against these.
        """
        failed, closed, finished = (np.zeros(self.n_queues) for _ in range(3))
        for time_s, queue, is_failure in self.bad.get(jeditaskid, ()):
            if time_s >= now - self.window_s:
                (failed if is_failure else closed)[queue] += 1
        if failed.any() or closed.any():
            for ended_s, task, at in self.good:
                chosen = (task == jeditaskid) & (ended_s >= now - self.window_s)
                finished += np.bincount(at[chosen], minlength=self.n_queues)
        return failed, closed, finished


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
