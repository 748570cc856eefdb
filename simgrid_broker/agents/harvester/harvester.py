"""Harvester: what it knows of the queues, the workers that the server has asked it for, and the jobs it has fetched."""

from collections import Counter
from typing import Any

import numpy as np

from simgrid_broker.policy.harvester import MAX_NEW_WORKERS, is_throttled
from simgrid_broker.schema.harvester import HARVESTER, TYPE_LIMITS
from simgrid_broker.schema.queues import RuleForMissed, option_number
from simgrid_broker.units import MINUTE
from simgrid_broker.views import WorkerStatus
from simgrid_broker.world.arrays import FETCHED
from simgrid_broker.world.pilot_status import (
    activated_jobs,
    chosen_of,
    count_waiting,
    merged,
    queues_whose_mode,
    take_for_workers,
    worker_types,
    workers_of,
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
    (n_queues, n_types), workers asked for and not submitted yet; waiting: the fetched jobs without a worker, (n,) of
    FETCHED, by push queue and the oldest first, and ends, (n_push,), where those of each queue end; most_of_type,
    ranges: of the push queues, (n_push, n_types) and (n_push, 2), as in `fabric.dispatch.fetch_jobs`; fixed: what of
    its view never changes. attempts: failed ones to submit the worker of a job, by PandaID; again: when jobs are tried
    again, the jobs, (n,) of FETCHED, and where those of each push queue end.
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
            max_new_workers=MAX_NEW_WORKERS, cores=self.types.cores, memory=self.types.memory)
        self.counted = np.flatnonzero(sum(queues for mode, queues in self.modes.items() if mode.counts_jobs))
        self.waiting, self.ends = np.zeros(0, FETCHED), np.zeros(len(self.push), np.int64)
        self.most_of_type = np.array([self._limits_of_types(queues[queue]) for queue in self.push.tolist()], float)
        self.ranges = np.array([self._range_of(queue) for queue in self.push.tolist()], np.int64).reshape(-1, 2)
        self.asked = np.zeros(self.types.cores.shape, np.int64)
        at_first, queue = self.limits["new_at_first"], np.arange(len(self.limits))
        self.asked[queue, np.argmax(self.types.cores > 0, axis=1)] = np.where(np.isnan(at_first), 0, at_first)
        self._read_at = -np.inf
        self.throttlers = {number: queue.throttler for number, queue in enumerate(queues) if queue.throttler}
        longest_s = MINUTE * max((rule.timeWindow for each in self.throttlers.values()
                                  for rule in each.rulesForMissed), default=0)
        self.missed, self.none = MissedWorkers(longest_s, len(queues)), np.zeros(len(queues), bool)
        self.attempts, self.again = Counter[int](), list[tuple[float, np.ndarray, np.ndarray]]()

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
            _, jobs, ends = self.again.pop(0)
            self.waiting, self.ends = merged((jobs, ends), (self.waiting, self.ends))
            self._ask(np.diff(ends, prepend=0) > 0)
        if now - self._read_at >= CACHE_S:
            self._read_at = now
            self._activated, self._status = activated_jobs(arrays, self.counted), arrays.queues["status"].copy()
        if not self.asked.any() and not len(self.counted):
            return None
        queued, running, sums = workers_of(arrays, self.types)
        return WorkerStatus(asked=self.asked, queued=queued, running=running, sums=sums, status=self._status,
                            activated=self._activated, throttled=self.throttled(now), **self.fixed)

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
        """Take jobs that were fetched for push queues, (n,) of FETCHED; workers are then asked for by their types.

        asked: which push queues were asked for jobs, (n_push,) bool; ends: where those of each end in `jobs`.
        """
        if len(jobs):
            self.waiting, self.ends = merged((self.waiting, self.ends), (jobs, ends))
        self._ask(asked)

    def next_jobs(self, workers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Remove the oldest fetched jobs of the push queues for workers, (n_queues, n_types), which are counted down.

        Returns these jobs, (n,) of FETCHED, and where those of each queue end, (n_push,).
        """
        waiting, taken, ends = self.waiting, np.empty_like(self.waiting), np.empty_like(self.ends)
        n = take_for_workers(self.push, workers, (waiting, self.ends), (taken, ends), self.asked)
        self.waiting = waiting[:len(waiting) - n]
        return taken[:n], ends

    def not_submitted(self, jobs: np.ndarray, ends: np.ndarray, failed: np.ndarray, now: float) -> np.ndarray:
        """Rows of the jobs without an attempt left; the other failed ones are tried again after LOCK_S.

        jobs, ends: as of `next_jobs`, for which workers were to be submitted; failed: rows of those for which that
        failed. Source: lifecycle reference, section 5.4; Harvester, submitter (submissionAttempts).
        """
        if not len(failed):
            self._forget_attempts(jobs)
            return failed
        bad = np.isin(jobs["row"], failed)
        numbers = jobs["panda_id"][bad].tolist()
        self.attempts.update(numbers)
        most = np.repeat(self.limits["submission_attempts"][self.push], np.diff(ends, prepend=0))
        again = bad.copy()
        again[bad] = np.array([self.attempts[number] for number in numbers]) < most[bad]
        self._forget_attempts(jobs[~again])
        if again.any():
            self.again.append((now + LOCK_S, *chosen_of((jobs, ends), again)))
        return jobs["row"][bad & ~again]

    def _forget_attempts(self, jobs: np.ndarray) -> None:
        """Forget the attempts of jobs that have none left or need none, (n,) of FETCHED."""
        for number in self.attempts.keys() & jobs["panda_id"].tolist() if self.attempts else ():
            del self.attempts[number]

    def _ask(self, chosen: np.ndarray) -> None:
        """Ask for a worker for each waiting job of the chosen push queues, (n_push,) bool, and for no others there."""
        count_waiting(self.push, chosen, self.waiting, self.ends, self.asked)
