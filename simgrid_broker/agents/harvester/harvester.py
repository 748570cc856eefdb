"""Harvester: what it knows of the queues, the workers that the server has asked it for, and the jobs it has fetched."""

from collections import Counter
from typing import Any

import numpy as np

from simgrid_broker.policy.harvester import MAX_NEW_WORKERS, is_throttled
from simgrid_broker.schema.harvester import HARVESTER, TYPE_LIMITS
from simgrid_broker.schema.queues import RuleForMissed, option_number
from simgrid_broker.units import MINUTE
from simgrid_broker.views import WorkerStatus
from simgrid_broker.world.arrays import WAITING
from simgrid_broker.world.pilot_status import (
    activated_jobs,
    count_types,
    queues_whose_mode,
    take_for_workers,
    worker_status,
    worker_types,
)
from simgrid_broker.world.queue_tables import modes_of
from simgrid_broker.world.queues.slots import MissedWorkers
from simgrid_broker.world.world import World

CACHE_S = 600.0
"""Age at which statistics of jobs and statuses of queues are read again; source: lifecycle reference, section 5.4."""
LOCK_S = 600.0
"""Time after which a job whose worker could not be submitted is tried again; source: Harvester, template of its
configuration (lockInterval of the submitter, which keeps the job locked)."""


class Harvester:
    """All instances of Harvester together.

    types: workers of each queue by resource type; limits: (n_queues,) of HARVESTER; modes: worker modes with their
    queues, (n_queues,) bool; push, counted: queues for which it fetches jobs, or counts them; asked:
    (n_queues, n_types), workers asked for and not submitted yet; waiting: by push queue, the fetched jobs without a
    worker, (n,) of WAITING, the oldest first; most_of_type, ranges: of the push queues, (n_push, n_types) and (n_push,
    2), as in `fabric.dispatch.fetch_jobs`; fixed: what of its view never changes. attempts: failed ones to submit the
    worker of a job, by PandaID; again: when jobs are tried again, their queue, and the jobs, (n,) of WAITING.
    """

    def __init__(self, world: World):
        queues = tuple(world.scenario.grid.queues.values())
        self.world, self.types = world, worker_types(world.arrays)
        self.limits = HARVESTER.filled(queues, {})
        numbers, of_queue = modes_of(world.scenario)
        self.modes = {mode: np.array(of_queue) == number for mode, number in numbers.items()}
        self.push = np.flatnonzero(queues_whose_mode(world.arrays, "fetches_jobs"))
        self.streaming = queues_whose_mode(world.arrays, "asked_by_server")
        unified = world.arrays.queues["unified"] != 0
        self.fixed: dict[str, Any] = dict(
            limits=self.limits, unified=unified, by_type=unified | self.streaming, option=self._option,
            max_new_workers=MAX_NEW_WORKERS)
        self.counted = np.flatnonzero(sum(queues for mode, queues in self.modes.items() if mode.counts_jobs))
        self.waiting = {queue: np.zeros(0, WAITING) for queue in self.push.tolist()}
        self.most_of_type = np.array([self._limits_of_types(queues[queue]) for queue in self.waiting], float)
        self.ranges = np.array([self._range_of(queue) for queue in self.waiting], np.int64).reshape(-1, 2)
        self.asked = np.zeros(self.types.cores.shape, np.int64)
        at_first, queue = self.limits["new_at_first"], np.arange(len(self.limits))
        self.asked[queue, np.argmax(self.types.cores > 0, axis=1)] = np.where(np.isnan(at_first), 0, at_first)
        self._read_at = -np.inf
        self.throttlers = {number: queue.throttler for number, queue in enumerate(queues) if queue.throttler}
        longest_s = MINUTE * max((rule.timeWindow for each in self.throttlers.values()
                                  for rule in each.rulesForMissed), default=0)
        self.missed, self.none = MissedWorkers(longest_s, len(queues)), np.zeros(len(queues), bool)
        self.attempts, self.again = Counter[int](), list[tuple[float, int, np.ndarray]]()

    def _limits_of_types(self, queue) -> list[float]:
        """Starting and running jobs of each type at which no more are fetched; formats reference, 1.4."""
        return [option_number(queue, f"{TYPE_LIMITS}.{name}", np.inf)
                for name in self.world.vocabularies["resource_types"]]

    def _range_of(self, queue: int) -> tuple[int, int]:
        """First pseudo-queue of a queue, and one past the last; none if its slots are smaller than those of all types.
        """
        numbers = self.types.pseudo_queue[queue]
        return int(numbers[numbers >= 0].min(initial=numbers.max() + 1)), int(numbers.max()) + 1

    def command(self, workers: np.ndarray) -> None:
        """Take the server's command: workers by type, (n_queues, n_types), of the queues whose mode it asks.

        What was asked for before is forgotten. Source: lifecycle reference, section 5.4 (SET_N_WORKERS_JOBTYPE).
        """
        self.asked[self.streaming] = workers[self.streaming]

    def look(self, now: float) -> WorkerStatus | None:
        """State of the queues, None if no worker is needed; jobs activated and statuses are up to CACHE_S old."""
        arrays = self.world.arrays
        while self.again and self.again[0][0] <= now:
            _, queue, jobs = self.again.pop(0)
            self.waiting[queue] = np.concatenate([jobs, self.waiting[queue]])
            self._ask(queue)
        if now - self._read_at >= CACHE_S:
            self._read_at = now
            self._activated, self._status = activated_jobs(arrays, self.counted), arrays.queues["status"].copy()
        if not self.asked.any() and not len(self.counted):
            return None
        return worker_status(arrays, self.types, asked=self.asked, status=self._status, activated=self._activated,
                             throttled=self.throttled(now), **self.fixed)

    def _option(self, key: str, default: float) -> np.ndarray:
        """Values of an option of the queues, (n_queues,)."""
        return np.array([option_number(queue, key, default) for queue in self.world.scenario.grid.queues.values()])

    def throttled(self, now: float) -> np.ndarray:
        """Queues that get no workers in this cycle of the submitter, because too many were missed, (n_queues,) bool."""
        if not self.throttlers:
            return self.none
        self.missed.look(self.world.arrays, now)
        found = self.none.copy()
        for queue, throttler in self.throttlers.items():
            rules = throttler.rulesForMissed
            found[queue] = is_throttled([self._missed(queue, rule, now) for rule in rules],
                                        [rule.maxMissed for rule in rules], throttler.logicType == "AND")
        return found

    def _missed(self, queue: int, rule: RuleForMissed, now: float) -> int:
        """Missed workers that a rule of a queue counts."""
        sites = self.world.arrays.queues["site"]
        queues = sites == sites[queue] if rule.level == "site" else np.arange(len(sites)) == queue
        return self.missed.number(queues, now - MINUTE * rule.timeWindow)

    def submitted(self, workers: np.ndarray) -> None:
        """Note that workers, (n_queues, n_types), have been submitted."""
        np.maximum(self.asked - workers, 0, out=self.asked)

    def fetched(self, asked: np.ndarray, jobs: np.ndarray, ends: np.ndarray) -> None:
        """Take jobs that were fetched for push queues, (n,) of WAITING; workers are then asked for by their types.

        asked: which push queues were asked for jobs, (n_push,) bool; ends: where those of each end in `jobs`.
        """
        begins = np.append(0, ends[:-1])
        self.asked[self.push[asked]] = 0
        for place in np.flatnonzero(asked).tolist():
            queue, new = int(self.push[place]), jobs[begins[place]:ends[place]]
            if len(new):
                self.waiting[queue] = np.concatenate([self.waiting[queue], new])
            if len(self.waiting[queue]):
                self._ask(queue)

    def next_jobs(self, queue: int, workers: np.ndarray) -> np.ndarray:
        """Remove and return the oldest fetched jobs of a push queue for workers by type, (n_types,)."""
        waiting, taken = self.waiting[queue], np.empty_like(self.waiting[queue])
        n = take_for_workers(self.world.arrays, waiting, workers.copy(), taken)
        self.waiting[queue] = waiting[:len(waiting) - n]
        self._ask(queue)
        return taken[:n]

    def not_submitted(self, queue: int, jobs: np.ndarray, failed: np.ndarray, now: float) -> np.ndarray:
        """Rows of the jobs without an attempt left; the other failed ones are tried again after LOCK_S.

        jobs: of a push queue, (n,) of WAITING, for which workers were to be submitted; failed: rows of those for which
        that failed. Source: lifecycle reference, section 5.4; Harvester, submitter (submissionAttempts).
        """
        if not len(failed):
            self._forget_attempts(jobs)
            return failed
        bad = np.isin(jobs["row"], failed)
        self.attempts.update(jobs["panda_id"][bad].tolist())
        attempts = np.array([self.attempts[number] for number in jobs["panda_id"].tolist()])
        again = bad & (attempts < self.limits["submission_attempts"][queue])
        self._forget_attempts(jobs[~again])
        if again.any():
            self.again.append((now + LOCK_S, queue, jobs[again]))
        return jobs["row"][bad & ~again]

    def _forget_attempts(self, jobs: np.ndarray) -> None:
        """Forget the attempts of jobs that have none left or need none, (n,) of WAITING."""
        for number in self.attempts.keys() & jobs["panda_id"].tolist() if self.attempts else ():
            del self.attempts[number]

    def _ask(self, queue: int) -> None:
        count_types(self.world.arrays, self.waiting[queue], self.asked[queue])
