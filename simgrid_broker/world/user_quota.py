"""Bytes that the output of users and working groups holds, and their disk quotas.

Simplified: DDM's accounting is the output of jobs that have finished, where their queue writes by default, until its
lifetime is over; brokers know it as old as the last `refresh`.
"""

from collections import deque
from typing import NamedTuple

import numpy as np

from simgrid_broker.names import ANALYSIS_LABELS, JobStatus
from simgrid_broker.scenario.accounts import Account, account_of
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.views import Quota
from simgrid_broker.world.analysis_places import AnalysisPlaces
from simgrid_broker.world.arrays import Arrays

NEAR_PART = 0.9
"""Part of the global quota above which only merge jobs are made; source: brokerage reference, 3.1 G3."""
IN, NEAR, OVER = range(3)
"""States of the global quota of an account."""
FINE = Quota()


class Old(NamedTuple):
    """Output that no longer counts from a time on, s: row of its account, endpoint, bytes."""

    from_s: float
    row: int
    storage: int
    size: float


class UserOutput:
    """Output of the accounts with a quota.

    accounts: these by row; of_user, of_group: row of each user and working group by code, -1 = no quota; held: bytes at
    each endpoint and, last, where no endpoint is known, (n_accounts, n_storages + 1); expiring: in order of time for
    each account; permissions: GRIDPREF of users with an account, by code; state: IN, NEAR or OVER the global quota,
    (n_accounts + 1,), full: whether the local one is used up at each PanDA queue, (n_accounts + 1, n_queues), the last
    of both for those without a quota.
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
        self.expiring: list[deque[Old]] = [deque() for _ in self.accounts]
        self.state = np.zeros(len(self.accounts) + 1, np.int64)
        self.full = np.zeros((len(self.accounts) + 1, len(places.output)), bool)
        self.refresh(0.0)

    def _rows_of(self, scenario: Scenario, names: tuple[str, ...]) -> np.ndarray:
        """Row of the account of each user or group, -1 without a quota; accounts get rows as they are found."""
        found = np.full(len(names), -1)
        for code, name in enumerate(names if scenario.accounts else ()):
            account = account_of(scenario.accounts, name) if name else None
            if account is not None and (account.quota or any(account.local_quotas.values())):
                found[code] = len(self.accounts)
                self.accounts.append(account)
        return found

    def row_of(self, task: np.void) -> int:
        """Row of the account whose quota the output of a task counts for, -1 = none."""
        group = task["working_group"]
        return int(self.of_group[group] if self.named[group] else self.of_user[task["user"]])

    def add(self, arrays: Arrays, jobs: np.ndarray, ended_s: np.ndarray) -> None:
        """Count the output of jobs that have ended, (n,) of JOBS, at some times, s."""
        tasks = arrays.tasks[jobs["task"]]
        mine = (jobs["status"] == JobStatus.FINISHED) & self.analysis[tasks["label"]] & (jobs["output_bytes"] > 0)
        for place in np.flatnonzero(mine).tolist():
            row = self.row_of(tasks[place])
            if row < 0:
                continue
            storage, size = int(self.places.output[jobs["queue"][place]]), float(jobs["output_bytes"][place])
            self.held[row, storage] += size
            lifetime_s = self.accounts[row].output_lifetime
            if lifetime_s is not None:
                self.expiring[row].append(Old(float(ended_s[place]) + lifetime_s, row, storage, size))

    def held_by(self, row: int, now: float) -> np.ndarray:
        """Bytes of an account at each endpoint, what has expired left out, (n_storages + 1,)."""
        waiting = self.expiring[row]
        while waiting and waiting[0].from_s <= now:
            old = waiting.popleft()
            self.held[row, old.storage] -= old.size
        return self.held[row]

    def refresh(self, now: float) -> None:
        """Compare what each account holds with its quotas.

        The global quota is exceeded above it, a local one is used up when it is reached. Source: brokerage reference,
        3.1 G3 and 3.3 A14c.
        """
        for row, account in enumerate(self.accounts):
            held = self.held_by(row, now)
            used = held.sum()
            self.state[row] = IN if not account.quota else OVER if used > account.quota else (
                NEAR if used > NEAR_PART * account.quota else IN)
            full = [number for number, storage in enumerate(self.storages)
                    if held[number] >= account.local_quotas.get(storage, 0) > 0]
            self.full[row] = np.isin(self.places.output, full)

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
