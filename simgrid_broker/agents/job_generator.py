"""JEDI's JobGenerator: one process for each work queue (share x resource type) makes jobs where they are lacking.

Throttler, selection of tasks by priority, job brokerage, the draw of queues for blocks of jobs, submission. Source:
Global Shares paper, section 2.3; PanDA brokerage documentation, production job brokerage; lifecycle reference, 2.2.
Simplified: an input is split into jobs of fixed size, and analysis tasks go through the same rules as production.
"""

import math

import numpy as np

from simgrid_broker import luck
from simgrid_broker.names import DecisionKind, TaskStatus
from simgrid_broker.policy.job_brokerage.selection import JOBS_PER_BLOCK, spread_jobs
from simgrid_broker.policy.resource_types import job_corecount, job_ramcount
from simgrid_broker.policy.throttle import throttle_limits
from simgrid_broker.world import observe
from simgrid_broker.world.share_tree import leaf_shares
from simgrid_broker.world.task_transitions import set_status

GENERATING = (TaskStatus.READY, TaskStatus.RUNNING)
"""Statuses of a task for which jobs are made."""
NOTHING = np.zeros(0, np.int64)
QUEUE_DRAW = luck.STREAMS["queue_draw"]


class WorkQueues:
    """Which tasks of each work queue have input to make jobs of, priority first; read anew when it is `age_s` old."""

    def __init__(self, control, age_s: float):
        self.control, self.age_s = control, age_s
        self.read_at = -math.inf
        self.views: dict[int, tuple] = {}
        self.tasks: dict[tuple[int, int], np.ndarray] = {}

    def tasks_of(self, share: int, resource_type: int) -> np.ndarray:
        """Rows of the tasks of one work queue in the order in which they are served."""
        if self.control.now - self.read_at >= self.age_s:
            self._read()
        return self.tasks.get((share, resource_type), NOTHING)

    def view(self, row: int) -> tuple:
        """The task as the broker may know it and where its input is; made anew when something of it has changed."""
        world = self.control.world
        tasks = world.arrays.tasks
        state = tuple(int(tasks[name][row]) for name in ("priority", "nucleus", "share", "preassigned"))
        known = self.views.get(row)
        if known is None or known[0] != state:
            known = state, observe.task(world, row), observe.job_input(world, row)
            self.views[row] = known
        return known[1:]

    def _read(self) -> None:
        self.tasks = observe.tasks_by_work_queue(self.control.world, self.control.live_tasks.rows)
        self.read_at = self.control.now
        if len(self.views) > 2 * len(self.control.live_tasks.rows) + 100:
            wanted = set(self.control.live_tasks.rows.tolist())
            self.views = {row: view for row, view in self.views.items() if row in wanted}


def input_left(task) -> int:
    """Chunks of a task for which a job can be made now."""
    return int(task["n_retry"]) + int(task["n_jobs"]) - int(task["next_chunk"])


def job_generator(control):
    """The processes, one for each work queue."""
    period = control.periods.job_generator
    work_queues = WorkQueues(control, min(period, control.periods.job_generator_lacking))
    shares = leaf_shares(control.world.scenario.shares)
    number = 0
    for share, leaf in enumerate(shares):
        for resource_type in range(len(control.world.scenario.resource_types)):
            generator = Generator(control, work_queues, share, resource_type, leaf.throttled)
            number += 1
            yield control.every(period, generator.cycle, "jobgen", number)


def question(control, task, parts, wanted: int) -> tuple:
    """What the job brokerage is handed to place `wanted` jobs of a task: the arguments of `broker_jobs` but the cache.

    parts: where the input lies, as `observe.job_input` says.
    """
    type_asked = task.resource_type if control.edition == "deployed" else None
    stats = observe.stats(control.world, control.snapshot, task.share, task.nucleus, type_asked)
    return task, control.queues, stats, observe.locality(task, parts, wanted), control.cfg, control.edition


def levels_asked(limits) -> tuple[bool, bool, bool]:
    """Whether the throttler compares counts of the resource type, of the core type and of the share."""
    levels = {limit.level for limit in (limits.queue_limit, limits.queue_cap, limits.running_cap)
              if limit.jobs is not None}
    return True, 1 in levels, 2 in levels


class Generator:
    """Job generation of one work queue."""

    def __init__(self, control, work_queues: WorkQueues, share: int, resource_type: int, throttled: bool):
        self.control, self.work_queues = control, work_queues
        self.share, self.resource_type, self.throttled = share, resource_type, throttled
        self.cfg = self.limits = None
        words = control.world.vocabularies["resource_types"]
        core_type = words[resource_type][:5]                       # SCORE or MCORE
        self.levels = ([resource_type], [number for number, word in enumerate(words) if word.startswith(core_type)],
                       list(range(len(words))))

    def cycle(self) -> float | None:
        """Make as many jobs as the throttler allows, task by task; returns when to come back if there is more to make.

        JEDI lets go of a work queue that lacks jobs early, so that other generators serve it at once (JEDI TWiki, job
        throttling).
        """
        rows = self.work_queues.tasks_of(self.share, self.resource_type)
        if not len(rows):
            return None
        limits = self._limits()
        counts = [observe.work_queue_counts(self.control.snapshot, self.share, types) if wanted else None
                  for types, wanted in zip(self.levels, levels_asked(limits), strict=True)]
        decision = self.control.policies.throttle(counts[0], limits, *counts[1:])
        if decision.skip:
            return None
        left = decision.max_jobs
        tasks = self.control.world.arrays.tasks
        for row in rows.tolist():
            if left <= 0:
                break
            task = tasks[row]
            if int(task["status"]) in GENERATING:
                wanted = min(input_left(task), left)
                left -= self._make(row, wanted) if wanted > 0 else 0
        return self.control.periods.job_generator_lacking if left <= 0 else None

    def _limits(self):
        """The throttler's limits under gdpconfig as it now is."""
        control = self.control
        if self.cfg is not control.cfg:
            words = control.world.vocabularies
            self.cfg = control.cfg
            self.limits = throttle_limits(
                control.cfg, words["shares"][self.share], words["resource_types"][self.resource_type],
                edition=control.edition, throttled=self.throttled)
        return self.limits

    def _make(self, row: int, wanted: int) -> int:
        """Broker `wanted` jobs of a task and make those that find a queue; returns how many."""
        control, now, world = self.control, self.control.now, self.control.world
        task, parts = self.work_queues.view(row)
        verdict = control.policies.job_brokerage(*question(control, task, parts, wanted), control.mask_cache)
        made_before = int(world.arrays.tasks["n_attempts"][row])
        uniforms = [luck.uniform(control.seed, QUEUE_DRAW, task.jeditaskid, made_before, block)
                    for block in range(math.ceil(wanted / JOBS_PER_BLOCK))]
        numbers, sizes = spread_jobs(verdict, wanted, uniforms)
        made = int(sizes.sum())
        control.decisions.add(DecisionKind.JOB_BROKERAGE, now, task, verdict, made)
        if made == 0:
            hold(control, row, verdict.last_tag)
            return 0
        self._submit(row, task, numbers, sizes)
        return made

    def _submit(self, row: int, task, numbers: np.ndarray, sizes: np.ndarray) -> None:
        """Order the jobs from the server and count them for the brokers to come."""
        control, now = self.control, self.control.now
        world, snapshot = control.world, control.snapshot
        for number, size in zip(numbers.tolist(), sizes.tolist(), strict=True):
            queue, cores = control.queues.queue_and_cores[number]
            ram = job_ramcount(task.ramcount, task.ramunit, task.baseramcount, job_corecount(task.corecount, cores))
            control.fabric.order_jobs(row, number, size, ram, now)
            snapshot.place(self.share, self.resource_type, queue, size)
        record = world.arrays.tasks[row]
        record["frozen_s"] = np.nan
        if record["status"] == TaskStatus.READY:
            set_status(world, row, TaskStatus.RUNNING, now)


def hold(control, row: int, tag: str) -> None:
    """Put a task for which there is no queue on hold; the WatchDog brings it back."""
    tasks = control.world.arrays.tasks
    tasks["old_status"][row] = tasks["status"][row]
    tasks["errordialog"][row] = control.tag_code(tag)
    if np.isnan(tasks["frozen_s"][row]):
        tasks["frozen_s"][row] = control.now
    set_status(control.world, row, TaskStatus.PENDING, control.now)
