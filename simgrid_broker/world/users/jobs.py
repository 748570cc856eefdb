"""Jobs of users by share and PanDA queue, which analysis brokerage and the analysis watchdog read.

Each user, or user of a working group, has a row of the table for each share in which tasks of theirs are alive; merge
jobs are left out. Rows that nothing uses any more are given to others, so the table follows the users who are active.
"""

from typing import NamedTuple

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.names import ANALYSIS_LABELS, JobStatus
from simgrid_broker.world.arrays import N_USER_NUMBERS, Arrays

S = JobStatus
QUEUED, THROTTLED, RUNNING, CORES, ACTIVE = range(N_USER_NUMBERS)
"""Numbers kept by queue: jobs that are defined, assigned, activated or starting; throttled; running; their cores; jobs
of the active table, which are throttled or further."""
FIRST_USER_ROWS = 64
"""Rows that the table begins with."""
FREE = -2
"""User, working group and share of a row that is free."""

DEFINED, ASSIGNED, ACTIVATED, STARTING = map(int, (S.DEFINED, S.ASSIGNED, S.ACTIVATED, S.STARTING))
IS_THROTTLED, IS_RUNNING, TRANSFERRING = int(S.THROTTLED), int(S.RUNNING), int(S.TRANSFERRING)


class Owner(NamedTuple):
    """Whose jobs a row counts: codes of the user, of the working group, -1 = none, and of the share."""

    user: int
    working_group: int
    share: int


@compiled
def count_for_user(world: Arrays, job, status, change):
    """Count a job in or out of the numbers of its user in a status; change: 1 or -1."""
    row = job["user_row"] - 1
    if row < 0:
        return
    if IS_THROTTLED <= status <= TRANSFERRING:
        world.user_jobs[row, job["queue"], ACTIVE] += change
    queue, cores = job["queue"], change * np.int32(job["corecount"])
    if status == IS_RUNNING:
        world.user_jobs[row, queue, RUNNING] += change
        world.user_jobs[row, queue, CORES] += cores
    elif status == IS_THROTTLED:
        world.user_jobs[row, queue, THROTTLED] += change
        world.user_queued_cores[row] += cores
    elif status == DEFINED or status == ASSIGNED or status == ACTIVATED or status == STARTING:
        world.user_jobs[row, queue, QUEUED] += change
        world.user_queued_cores[row] += cores


@compiled
def add_queues(world: Arrays, rows, jobs):
    """Add the numbers of some rows at all queues to `jobs`, (n, N_USER_NUMBERS)."""
    for k in range(len(rows)):
        for queue in range(world.user_jobs.shape[1]):
            for number in range(N_USER_NUMBERS):
                jobs[k, number] += world.user_jobs[rows[k], queue, number]


class UserRows:
    """Gives analysis tasks the row of their user, working group and share.

    owners: of each row, None = it is free; table: the same as numbers, (room, 3), FREE = it is free; named: which words
    for working groups name one; is_group: of the accounts that caps concern, numbered as users and behind them working
    groups, which are groups; earlier, last_of_user: room to chain the rows of each user, (room,) and (n_users,).
    """

    def __init__(self, vocabularies: dict[str, tuple[str, ...]]):
        self.analysis = np.isin(vocabularies["labels"], ANALYSIS_LABELS)
        self.named = np.array([bool(word) for word in vocabularies["working_groups"]])
        self.is_group = np.arange(len(vocabularies["users"]) + len(self.named)) >= len(vocabularies["users"])
        self.owners: list[Owner | None] = []
        self.row_of: dict[Owner, int] = {}
        self.table = np.full((FIRST_USER_ROWS, 3), FREE, np.int64)
        self.earlier = np.empty(FIRST_USER_ROWS, np.int64)
        self.last_of_user = np.empty(len(vocabularies["users"]), np.int64)

    def owner(self, task: np.void) -> Owner | None:
        """Whose the jobs of a task are; None if it is not analysis or has no share yet."""
        if task["share"] < 0 or not self.analysis[task["label"]]:
            return None
        group = int(task["working_group"])
        return Owner(int(task["user"]), group if self.named[group] else -1, int(task["share"]))

    def take(self, owner: Owner, arrays: Arrays) -> int:
        """The row of an owner, which may be one past the end of the table."""
        if owner not in self.row_of:
            if None not in self.owners and len(self.owners) >= len(arrays.user_jobs):
                self._release(arrays)
            row = self.owners.index(None) if None in self.owners else len(self.owners)
            self.owners[row:row + 1] = [owner]
            self.row_of[owner] = row
            if row == len(self.table):
                self.table = np.concatenate([self.table, np.full_like(self.table, FREE)])
                self.earlier = np.empty(len(self.table), np.int64)
            self.table[row] = owner
        return self.row_of[owner]

    def accounts(self, tasks: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Numbers of the accounts of the tasks in rows, (n,); -1 = it is not analysis or has no share yet."""
        counted = self.analysis[tasks["label"][rows]] & (tasks["share"][rows] >= 0)
        group = tasks["working_group"][rows]
        return np.where(counted, np.where(self.named[group], len(self.last_of_user) + group, tasks["user"][rows]), -1)

    def work(self, arrays: Arrays) -> tuple[np.ndarray, np.ndarray]:
        """Accounts with tasks, (n,), and their running and queued jobs and running and queued cores, (4, n)."""
        rows = np.flatnonzero(self.table[:, 2] != FREE)
        user, group, _ = self.table[rows].T
        accounts, place = np.unique(np.where(group >= 0, len(self.last_of_user) + group, user), return_inverse=True)
        jobs = np.zeros((len(rows), N_USER_NUMBERS), np.int64)
        add_queues(arrays, rows, jobs)
        of_rows = (jobs[:, RUNNING], jobs[:, QUEUED] + jobs[:, THROTTLED], jobs[:, CORES],
                   arrays.user_queued_cores[rows])
        return accounts, np.array([np.bincount(place, numbers, len(accounts)) for numbers in of_rows])

    def _release(self, arrays: Arrays) -> None:
        """Free the rows to which no task and no live job refers."""
        used = np.zeros(len(self.owners) + 1, bool)
        used[arrays.tasks["user_row"]] = True
        used[arrays.jobs["user_row"][arrays.jobs["panda_id"] > 0]] = True
        for row in np.flatnonzero(~used[1:]).tolist():
            owner = self.owners[row]
            if owner is not None:
                del self.row_of[owner]
                self.owners[row], self.table[row] = None, FREE
