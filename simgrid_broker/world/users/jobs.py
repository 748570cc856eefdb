"""Jobs of users by share and PanDA queue, which analysis brokerage and its watchdog read, and disk quotas of users.

Each user, or user of a working group, has a row of the table for each share in which tasks of theirs are alive; merge
jobs are left out. Rows that nothing uses any more are given to others, so the table follows the users who are active.

Simplified: DDM's accounting is the output of jobs that have finished, where their queue writes by default, until its
lifetime is over; brokers know it as old as the last `refresh`.
"""

from collections import defaultdict, deque
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.names import ANALYSIS_LABELS, JobStatus
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.scenario.work.campaigns import Account, account_of
from simgrid_broker.views import Quota
from simgrid_broker.world.arrays import N_USER_NUMBERS, Arrays
from simgrid_broker.world.queues.places import AnalysisPlaces

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
def add_work(world: Arrays, rows, place, work):
    """Add running and queued jobs, and running and queued cores, of some rows to `work`, (4, n), each at its place."""
    for k in range(len(rows)):
        row, running, queued, cores = rows[k], 0, 0, 0
        for queue in range(world.user_jobs.shape[1]):
            running += world.user_jobs[row, queue, RUNNING]
            queued += world.user_jobs[row, queue, QUEUED] + world.user_jobs[row, queue, THROTTLED]
            cores += world.user_jobs[row, queue, CORES]
        work[0, place[k]] += running
        work[1, place[k]] += queued
        work[2, place[k]] += cores
        work[3, place[k]] += world.user_queued_cores[row]


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
        self.in_use: tuple[np.ndarray, ...] | None = None                 # rows, their accounts, and the place of each
        self.row_of: dict[Owner, int] = {}
        self.table = np.full((FIRST_USER_ROWS, 3), FREE, np.int64)
        self.earlier = np.empty(FIRST_USER_ROWS, np.int64)
        self.last_of_user = np.empty(len(vocabularies["users"]), np.int64)

    def owner(self, tasks: np.ndarray, row: int) -> Owner | None:
        """Whose the jobs of a task are; None if it is not analysis or has no share yet."""
        share, label, user, group = (tasks[name].item(row) for name in ("share", "label", "user", "working_group"))
        if share < 0 or not self.analysis[label]:
            return None
        return Owner(user, group if self.named[group] else -1, share)

    def take(self, owner: Owner, arrays: Arrays) -> int:
        """The row of an owner, which may be one past the end of the table."""
        if (known := self.row_of.get(owner)) is None:
            if None not in self.owners and len(self.owners) >= len(arrays.user_jobs):
                self._release(arrays)
            known = self.owners.index(None) if None in self.owners else len(self.owners)
            self.owners[known:known + 1], self.in_use = [owner], None
            self.row_of[owner] = known
            if known == len(self.table):
                self.table = np.concatenate([self.table, np.full_like(self.table, FREE)])
                self.earlier = np.empty(len(self.table), np.int64)
            self.table[known] = owner
        return known

    def accounts(self, tasks: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Numbers of the accounts of the tasks in rows, (n,); -1 = it is not analysis or has no share yet."""
        counted = self.analysis[tasks["label"][rows]] & (tasks["share"][rows] >= 0)
        group = tasks["working_group"][rows]
        return np.where(counted, np.where(self.named[group], len(self.last_of_user) + group, tasks["user"][rows]), -1)

    def work(self, arrays: Arrays) -> tuple[np.ndarray, np.ndarray]:
        """Accounts with tasks, (n,), and their running and queued jobs and running and queued cores, (4, n)."""
        if self.in_use is None:
            rows = np.flatnonzero(self.table[:, 2] != FREE)
            user, group, _ = self.table[rows].T
            self.in_use = rows, *np.unique(np.where(group >= 0, len(self.last_of_user) + group, user),
                                           return_inverse=True)
        rows, accounts, place = self.in_use
        work = np.zeros((4, len(accounts)), np.int64)
        add_work(arrays, rows, place, work)
        return accounts, work

    def _release(self, arrays: Arrays) -> None:
        """Free the rows to which no task and no live job refers."""
        used = np.zeros(len(self.owners) + 1, bool)
        used[arrays.tasks["user_row"]] = True
        used[arrays.jobs["user_row"][arrays.jobs["panda_id"] > 0]] = True
        for row in np.flatnonzero(~used[1:]).tolist():
            owner = self.owners[row]
            if owner is not None:
                del self.row_of[owner]
                self.owners[row], self.table[row], self.in_use = None, FREE, None


NEAR_PART = 0.9
"""Part of the global quota above which only merge jobs are made; source: brokerage reference, 3.1 G3."""
IN, NEAR, OVER = range(3)
"""States of the global quota of an account."""
FINE = Quota()
OWNERS = ["user", "working_group"]
"""Columns of a task that say whose it is."""
OLD = np.dtype([("from_s", "f8"), ("row", "i4"), ("storage", "i4"), ("size", "f8")])
"""Output that no longer counts from a time on, s: row of its account, endpoint, bytes."""


class UserOutput:
    """Output of the accounts with a quota.

    accounts: these by row; of_user, of_group: row of each user and working group by code, -1 = no quota; held: bytes at
    each endpoint and, last, where no endpoint is known, (n_accounts, n_storages + 1); quota, local: the quotas, 0 =
    none, (n_accounts,) and of the shape of `held`; changed: which accounts hold more or less since the last `refresh`,
    (n_accounts,) bool; expiring: by lifetime, s, blocks of OLD in order of time;
    permissions: GRIDPREF of users with an account, by code; state: IN, NEAR or OVER the global quota, (n_accounts +
    1,), full: whether the local one is used up at each PanDA queue, (n_accounts + 1, n_queues), the last of both for
    those without a quota.
    """

    def __init__(self, scenario: Scenario, vocabularies: dict[str, tuple[str, ...]], places: AnalysisPlaces):
        self.storages, self.places = vocabularies["storages"], places
        self.analysis = np.isin(vocabularies["labels"], ANALYSIS_LABELS)
        self.accounts: list[Account] = []
        self.of_user, self.of_group = (self._rows_of(scenario, vocabularies[kind])
                                       for kind in ("users", "working_groups"))
        self.named = np.array([bool(word) for word in vocabularies["working_groups"]], bool)
        self.permissions = {code: account.permissions for code, name in enumerate(vocabularies["users"])
                            if scenario.accounts and (account := account_of(scenario.accounts, name)) is not None}
        self.held = np.zeros((len(self.accounts), len(self.storages) + 1))
        for row, account in enumerate(self.accounts):
            for storage, size in account.held.items():
                self.held[row, self.storages.index(storage)] = size
        self.quota = np.array([account.quota or 0 for account in self.accounts], float)
        self.local = np.array([[account.local_quotas.get(storage, 0) for storage in self.storages] + [0]
                               for account in self.accounts], float).reshape(self.held.shape)
        lifetimes = [account.output_lifetime for account in self.accounts]
        self.lifetime_s = np.array([np.inf if lifetime is None else lifetime for lifetime in lifetimes])
        self.expiring: dict[float, deque[np.ndarray]] = defaultdict(deque)
        self.changed = np.ones(len(self.accounts), bool)
        self.state = np.zeros(len(self.accounts) + 1, np.int64)
        self.full = np.zeros((len(self.accounts) + 1, len(places.output)), bool)
        self.refresh(0.0)

    def _rows_of(self, scenario: Scenario, names: tuple[str, ...]) -> np.ndarray:
        """Row of the account of each user or group, -1 without a quota; accounts get rows as they are found."""
        rows = np.full(len(names), -1)
        for code, name in enumerate(names if scenario.accounts else ()):
            account = account_of(scenario.accounts, name) if name else None
            if account is not None and (account.quota or any(account.local_quotas.values())):
                rows[code] = len(self.accounts)
                self.accounts.append(account)
        return rows

    def row_of(self, tasks: np.ndarray | np.void | Mapping[str, np.ndarray]) -> np.ndarray:
        """Row of the account whose quota the output of each task counts for, -1 = none; of one task or several."""
        group = tasks["working_group"]
        return np.where(self.named[group], self.of_group[group], self.of_user[tasks["user"]])

    def add(self, arrays: Arrays, jobs: np.ndarray, times: np.ndarray) -> None:
        """Count the output of jobs that have ended, (n,) of JOBS; times: of their statuses, (n, n_status), s."""
        mine = np.flatnonzero((jobs["status"] == JobStatus.FINISHED) & (jobs["output_bytes"] > 0)
                              & self.analysis[arrays.tasks["label"][jobs["task"]]])
        task = jobs["task"][mine]
        rows = self.row_of({name: arrays.tasks[name][task] for name in OWNERS})
        mine, rows = mine[rows >= 0], rows[rows >= 0]
        if not len(mine):
            return
        new = np.empty(len(rows), OLD)
        new["row"], new["storage"] = rows, self.places.output[jobs["queue"][mine]]
        new["size"], new["from_s"] = jobs["output_bytes"][mine], times[mine, JobStatus.FINISHED] + self.lifetime_s[rows]
        np.add.at(self.held, (new["row"], new["storage"]), new["size"])
        self.changed[rows] = True
        for lifetime_s in sorted({*self.lifetime_s[rows].tolist()}):
            if lifetime_s < np.inf:
                block = new[self.lifetime_s[rows] == lifetime_s]
                self.expiring[lifetime_s].append(block[np.argsort(block["from_s"], kind="stable")])

    def forget(self, now: float) -> None:
        """Forget what has expired."""
        for blocks in self.expiring.values():
            while blocks and blocks[0]["from_s"][0] <= now:
                block = blocks.popleft()
                old, left = np.split(block, [np.searchsorted(block["from_s"], now, side="right")])
                np.subtract.at(self.held, (old["row"], old["storage"]), old["size"])
                self.changed[old["row"]] = True
                if len(left):
                    blocks.appendleft(left)

    def refresh(self, now: float) -> None:
        """Compare what each account holds with its quotas.

        The global quota is exceeded above it, a local one is used up when it is reached. Source: brokerage reference,
        3.1 G3 and 3.3 A14c.
        """
        if not self.accounts:
            return
        self.forget(now)
        rows = np.flatnonzero(self.changed)
        if not len(rows):
            return
        held, local, quota = self.held[rows], self.local[rows], self.quota[rows]
        used = held.sum(axis=1)
        near = np.where(used > NEAR_PART * quota, NEAR, IN)
        self.state[rows] = np.where(quota == 0, IN, np.where(used > quota, OVER, near))
        self.full[rows] = ((held >= local) & (local > 0))[:, self.places.output]
        self.changed[:] = False

    def quota_of(self, task: np.void) -> Quota:
        """The global quota of the owner of a task."""
        row = self.row_of(task)
        state = self.state[row]
        if state == IN:
            return FINE
        words = "exceeded" if state == OVER else "nearly exceeded"
        return Quota(state == OVER, state == NEAR, f"disk quota {words}: {self.held[row].sum() / 1e12:.4g} of "
                     f"{self.accounts[row].quota / 1e12:.4g} TB")

    def full_storages(self, task: np.void) -> list[str]:
        """Endpoints of PanDA queues where the local quota of the owner of a task is used up."""
        numbers = np.unique(self.places.output[self.full[self.row_of(task)]])
        return [self.storages[number] for number in numbers.tolist()]
