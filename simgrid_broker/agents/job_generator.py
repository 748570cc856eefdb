"""JEDI's JobGenerator: one process for each work queue (share x resource type) makes jobs where they are lacking.

Throttler, selection of tasks by priority, job brokerage, the draw of queues for blocks of jobs, submission. Source:
Global Shares paper, section 2.3; PanDA brokerage documentation, production job brokerage; lifecycle reference, 2.2.
Simplified: an input is split into jobs of fixed size, and analysis tasks go through the same rules as production.
"""

import math
from dataclasses import replace

import numpy as np

from simgrid_broker import luck
from simgrid_broker.names import RAM_LIMITS_MB, DecisionKind, TaskStatus
from simgrid_broker.policy.job_brokerage.selection import JOBS_PER_BLOCK, spread_jobs
from simgrid_broker.policy.resource_types import UNDEFINED, job_corecount, job_ramcount, resource_type_of
from simgrid_broker.policy.throttle import throttle_limits
from simgrid_broker.world import observe
from simgrid_broker.world.share_tree import leaf_shares
from simgrid_broker.world.task_transitions import set_status

GENERATING = (TaskStatus.READY, TaskStatus.RUNNING)
"""Statuses of a task for which jobs are made."""
NOTHING = np.zeros(0, np.int64)
CHANGING = ("priority", "nucleus", "ramcount", "cputime")
"""What of a task may change while brokers know it."""
QUEUE_DRAW = luck.STREAMS["queue_draw"]
BLOCKS = 1 << 20
"""More than the blocks of jobs that one cycle makes of a task; so those of each ramCount have luck of their own."""


class WorkQueues:
    """Which tasks of each work queue have input to make jobs of, priority first; read anew when it is `age_s` old."""

    def __init__(self, control, age_s: float):
        self.control, self.age_s = control, age_s
        self.read_at = -math.inf
        self.views: dict[int, tuple] = {}
        self.raised: dict[tuple[int, int], tuple] = {}
        self.tasks: dict[tuple[int, int], np.ndarray] = {}

    def tasks_of(self, share: int, resource_type: int) -> np.ndarray:
        """Rows of the tasks of one work queue in the order in which they are served."""
        if self.control.now - self.read_at >= self.age_s:
            self._read()
        return self.tasks.get((share, resource_type), NOTHING)

    def view(self, row: int, level: int = 0) -> tuple:
        """The task as the broker may know it and where its input is; made anew when something of it has changed.

        level: what the ramCount of the input was raised to, 0 = it has that of the task.
        """
        world = self.control.world
        tasks = world.arrays.tasks
        state = tuple(tasks[name][row].item() for name in CHANGING)
        known = self.views.get(row)
        if known is None or known[0] != state:
            known = state, observe.task(world, row), observe.job_input(world, row)
            self.views[row] = known
        return known[1:] if level == 0 else (self._raised(row, level, known[1]), known[2])

    def _raised(self, row: int, level: int, task):
        """A task's view for inputs whose ramCount was raised: memory and resource type are those of their jobs."""
        known = self.raised.get((row, level))
        if known is None or known[0] is not task:
            ramcount = max(task.ramcount, RAM_LIMITS_MB[level - 1])
            bounds = tuple(self.control.world.scenario.resource_types.values())
            found = resource_type_of(bounds, task.corecount, ramcount, task.ramunit, task.baseramcount)
            known = task, replace(task, ramcount=ramcount,
                                  resource_type=task.resource_type if found == UNDEFINED else found)
            self.raised[row, level] = known
        return known[1]

    def _read(self) -> None:
        self.tasks = observe.tasks_by_work_queue(self.control.world, self.control.live_tasks.rows)
        self.read_at = self.control.now
        if len(self.views) > 2 * len(self.control.live_tasks.rows) + 100:
            wanted = set(self.control.live_tasks.rows.tolist())
            self.views = {row: view for row, view in self.views.items() if row in wanted}
            self.raised = {key: view for key, view in self.raised.items() if key[0] in wanted}


def input_left(arrays, row: int) -> list[tuple[int, int]]:
    """Chunks of a task for which a job can be made now: level of ramCount and number, those that were raised first.

    Each level is brokered by itself; source: lifecycle reference, section 2.3 (one chunk per distinct ramCount).
    """
    task = arrays.tasks[row]
    new = int(task["n_jobs"]) - int(task["next_chunk"])
    if not task["n_retry"]:
        return [(0, new)]
    plain, *raised = arrays.ram_levels["waiting"][row].tolist()
    return [*((level, waiting) for level, waiting in enumerate(raised, start=1) if waiting), (0, plain + new)]


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
            if int(tasks["status"][row]) in GENERATING:
                left -= self._generate(row, left)
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

    def _generate(self, row: int, left: int) -> int:
        """Make jobs of a task, `left` at the most; returns how many. If some input finds no queue, the task waits."""
        made, refused_by = 0, None
        for level, inputs in input_left(self.control.world.arrays, row):
            wanted = min(inputs, left - made)
            if wanted > 0:
                placed, tag = self._make(row, wanted, level)
                made += placed
                refused_by = refused_by if placed else tag
        if refused_by is not None:
            hold(self.control, row, refused_by)
        return made

    def _make(self, row: int, wanted: int, level: int) -> tuple[int, str]:
        """Broker `wanted` jobs of inputs of one ramCount and make those that find a queue.

        Returns how many, and the tag of the rule that left none.
        """
        control, now, world = self.control, self.control.now, self.control.world
        task, parts = self.work_queues.view(row, level)
        verdict = control.policies.job_brokerage(*question(control, task, parts, wanted), control.mask_cache)
        made_before = int(world.arrays.tasks["n_attempts"][row])
        first = level * BLOCKS
        uniforms = [luck.uniform(control.seed, QUEUE_DRAW, task.jeditaskid, made_before, block)
                    for block in range(first, first + math.ceil(wanted / JOBS_PER_BLOCK))]
        numbers, sizes = spread_jobs(verdict, wanted, uniforms)
        made = int(sizes.sum())
        control.decisions.add(DecisionKind.JOB_BROKERAGE, now, task, verdict, made)
        if made:
            self._submit(row, task, level, numbers, sizes)
        return made, verdict.last_tag

    def _submit(self, row: int, task, level: int, numbers: np.ndarray, sizes: np.ndarray) -> None:
        """Order the jobs from the server and count them for the brokers to come."""
        control, now = self.control, self.control.now
        world, snapshot = control.world, control.snapshot
        for number, size in zip(numbers.tolist(), sizes.tolist(), strict=True):
            queue, cores = control.queues.queue_and_cores[number]
            ram = job_ramcount(task.ramcount, task.ramunit, task.baseramcount, job_corecount(task.corecount, cores))
            control.fabric.order_jobs(row, number, size, ram, now, level, task.resource_type)
            snapshot.place(self.share, task.resource_type, queue, size)
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
