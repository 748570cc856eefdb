"""JEDI's JobGenerator: one process for each work queue (share x resource type) makes jobs where they are lacking.

Throttler, selection of tasks by priority, job brokerage, the draw of queues for blocks of jobs, submission. Source:
Global Shares paper, section 2.3; PanDA brokerage documentation, production job brokerage; lifecycle reference, 2.2.
Simplified: analysis tasks go through the same rules as production.
"""

import math
from collections.abc import Iterator

import numpy as np

from simgrid_broker import luck
from simgrid_broker.agents.job_splitter import JobSplitter
from simgrid_broker.agents.work_queues import JobNumbers, WorkQueues
from simgrid_broker.names import DecisionKind, TaskStatus
from simgrid_broker.policy.job_brokerage.selection import JOBS_PER_BLOCK, SCOUTS_PER_BLOCK, spread_jobs
from simgrid_broker.policy.resource_types import job_corecount, job_ramcount
from simgrid_broker.policy.task_selection import Selection, generates, most_jobs, selection
from simgrid_broker.policy.throttle import COMPONENTS, passes_urgent, throttle_limits
from simgrid_broker.world import observe
from simgrid_broker.world.arrays import N_RAM_LEVELS
from simgrid_broker.world.groups import account_of
from simgrid_broker.world.input_files import look_at_input
from simgrid_broker.world.queued_work import NO_PRIORITY
from simgrid_broker.world.task_transitions import set_status
from simgrid_broker.world.work_queues import AlignedQueue, aligned_queues

READY, SCOUTING, RUNNING = int(TaskStatus.READY), int(TaskStatus.SCOUTING), int(TaskStatus.RUNNING)
GENERATES = np.isin(list(TaskStatus), (READY, SCOUTING, RUNNING))
"""Whether jobs are made of a task, by its status."""
TASKS_AT_ONCE = 16
"""Tasks whose input is looked at together."""
QUEUE_DRAW, INACTIVE_POLL = luck.STREAMS["queue_draw"], luck.STREAMS["inactive_poll"]
POLL_PROBABILITY = 0.25
"""Chance that a share and type without jobs is looked at in a cycle; source: lifecycle reference, section 1.6."""
BLOCKS = 1 << 20
"""More than the blocks of jobs that one cycle makes of a task; so those of each ramCount have luck of their own."""


def input_left(arrays, rows: np.ndarray) -> Iterator[tuple[bool, list[tuple[int, int]]]]:
    """Of tasks in some rows, (n,): whether their jobs are cut from files, and the input that jobs can be made of now.

    That is the level of ramCount and the number of pieces, those that were raised first: each level is brokered by
    itself; source: lifecycle reference, section 2.3 (one chunk per distinct ramCount).
    """
    waiting, cut = np.empty((TASKS_AT_ONCE, N_RAM_LEVELS), np.int32), np.empty(TASKS_AT_ONCE, np.bool_)
    for begin in range(0, len(rows), TASKS_AT_ONCE):       # most cycles end with the first tasks
        some = rows[begin:begin + TASKS_AT_ONCE]
        look_at_input(arrays, some, waiting, cut)
        for of_files, (plain, *raised) in zip(cut[:len(some)].tolist(), waiting[:len(some)].tolist(), strict=True):
            yield of_files, [*((level, number) for level, number in enumerate(raised, start=1) if number), (0, plain)]


def job_generator(control):
    """The processes, one for each work queue."""
    period = control.periods.job_generator
    work_queues = WorkQueues(control, min(period, control.periods.job_generator_lacking))
    numbers = JobNumbers(control)
    for number, queue in enumerate(aligned_queues(control.world.scenario), start=1):
        generator = Generator(control, work_queues, numbers, queue, number)
        yield control.every(period, generator.cycle, "jobgen", number)


def question(control, task, parts, wanted: int, account: int | None = None) -> tuple:
    """What the job brokerage is handed to place `wanted` jobs of a task: the arguments of `broker_jobs` but the cache.

    parts: where the input lies, as `observe.job_input` says; account: where the jobs count, by default at the share.
    """
    account = task.share if account is None else account
    type_asked = task.resource_type if control.edition == "deployed" else None
    stats = observe.stats(control.world, control.snapshot, account, task.nucleus, type_asked)
    return task, control.queues, stats, observe.locality(task, parts, wanted), control.cfg, control.edition


def types_asked(queue: AlignedQueue, limits) -> tuple[tuple[int, ...], ...]:
    """Resource types of which the throttler compares counts: those of the queue, of its core type, of the share.

    Empty where no limit is set at that level.
    """
    levels = {limit.level for limit in (limits.queue_limit, limits.queue_cap, limits.running_cap)
              if limit.jobs is not None}
    return queue.types, queue.core_types if 1 in levels else (), queue.all_types if 2 in levels else ()


class Generator:
    """Job generation of one work queue."""

    def __init__(self, control, work_queues: WorkQueues, numbers: JobNumbers, queue: AlignedQueue, number: int):
        self.control, self.work_queues, self.numbers = control, work_queues, numbers
        self.queue, self.number = queue, number
        self.cfg = None
        self.limits, self.levels, self.selection = {}, {}, {}
        self.splitter = JobSplitter(control, question)

    def cycle(self) -> float | None:
        """Make as many jobs as the throttler allows, task by task; returns when to come back if there is more to make.

        JEDI lets go of a work queue that lacks jobs early, so that other generators serve it at once (JEDI TWiki, job
        throttling).
        """
        rows = self.work_queues.tasks_of(self.queue)
        if not len(rows) or not self._is_visited():
            return None
        self._read_config()
        again = [self._serve(part, analysis) for analysis, part in self.work_queues.by_kind(rows)]
        return self.control.periods.job_generator_lacking if any(again) else None

    def _is_visited(self) -> bool:
        """Whether jobs are generated here now: JEDI looks at an inactive share and type in one cycle of four only."""
        control = self.control
        if not generates(control.cfg):
            return False
        if control.edition == "documented" or not self.queue.resource_type or self.numbers.has_jobs(self.queue):
            return True
        return luck.uniform(control.seed, INACTIVE_POLL, self.number, int(control.now * 1024), 0) < POLL_PROBABILITY

    def _serve(self, rows: np.ndarray, analysis: bool) -> bool:
        """Make jobs of the tasks of production or of analysis; returns whether more are to be made at once."""
        decision = self._throttle(analysis)
        left, least = decision.max_jobs, NO_PRIORITY
        if decision.skip:
            left, least = decision.urgent_jobs, self._urgent_priority(rows, analysis, decision)
            if least is None:
                return False
        tasks, rule = self.control.world.arrays.tasks, self.selection[analysis]
        if rule.attribute:
            rows = self.work_queues.in_turn(rows, rule.attribute, rule.express_ratio, self.number)
        rows = rows[GENERATES[tasks["status"][rows]] & (tasks["priority"][rows] >= least)][:rule.n_tasks]
        for row, (is_cut, waiting) in zip(rows.tolist(), input_left(self.control.world.arrays, rows), strict=True):
            if left <= 0:
                break
            left -= self._generate(row, is_cut, waiting, left, rule)
        return decision.lacking and left <= 0

    def _throttle(self, analysis: bool):
        """What the throttler says; it hears of the queued wall time only if that decides."""
        queue, throttle, limits = self.queue, self.control.policies.throttle, self.limits[analysis]
        counts = [self.numbers.of(queue, types) if types else None for types in self.levels[analysis]]
        decision = throttle(counts[0], limits, *counts[1:])
        if decision.by_walltime:
            counts[0] = counts[0]._replace(walltime_s=self.numbers.walltime_s(queue))
            decision = throttle(counts[0], limits, *counts[1:])
        return decision

    def _urgent_priority(self, rows: np.ndarray, analysis: bool, decision) -> int | None:
        """Priority from which on tasks have jobs although the throttler skips the queue; None = none has."""
        if analysis or decision.urgent_jobs <= 0:
            return None
        waiting = int(self.control.world.arrays.tasks["priority"][rows[0]])
        return waiting if passes_urgent(waiting, *self.numbers.highest_priority(self.queue)) else None

    def _read_config(self) -> None:
        """Read limits and selection under gdpconfig as it now is."""
        cfg, edition, queue = self.control.cfg, self.control.edition, self.queue
        if self.cfg is cfg:
            return
        self.cfg = cfg
        for analysis in (False, True):
            self.limits[analysis] = throttle_limits(cfg, queue.name, queue.resource_type, edition=edition,
                                                    component=COMPONENTS[analysis], throttled=queue.throttled)
            self.levels[analysis] = types_asked(queue, self.limits[analysis])
            self.selection[analysis] = selection(cfg, queue.name, analysis, edition)

    def _generate(self, row: int, is_cut: bool, waiting: list[tuple[int, int]], left: int, rule: Selection) -> int:
        """Make jobs of a task while `left` may be made; returns how many. If some input finds no queue, the task waits.

        is_cut, waiting: as `input_left`. Files are counted as the jobs that they typically make.
        """
        made, refused_by, arrays = 0, None, self.control.world.arrays
        most = left if is_cut else most_jobs(left, int(arrays.tasks["n_input_files"][row]), rule)
        for level, inputs in waiting:
            wanted = min(inputs, most - made)
            if wanted > 0:
                placed, tag = self._cut(row, wanted, level, rule) if is_cut else self._make(row, wanted, level)
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
        account = account_of(world.arrays, row)
        verdict = control.policies.job_brokerage(*question(control, task, parts, wanted, account), control.mask_cache)
        made_before = int(world.arrays.tasks["n_attempts"][row])
        first, block = level * BLOCKS, SCOUTS_PER_BLOCK if task.is_scout else JOBS_PER_BLOCK
        uniforms = luck.successive(control.seed, QUEUE_DRAW, task.jeditaskid, made_before, first,
                                   math.ceil(wanted / block))
        numbers, sizes = spread_jobs(verdict, wanted, uniforms, block=block)
        made = int(sizes.sum())
        control.decisions.add(DecisionKind.JOB_BROKERAGE, now, task, verdict, made)
        if made:
            self._submit(row, task, account, level, numbers, sizes)
        return made, verdict.last_tag

    def _cut(self, row: int, wanted: int, level: int, rule: Selection) -> tuple[int, str]:
        """The same as `_make` for a task whose jobs are cut from files; about as many."""
        view = self.work_queues.view(row, level)
        made, tag = self.splitter.make(row, view, wanted, level, level * BLOCKS, self.queue.name, rule)
        if made:
            self._set_running(row)
        return made, tag

    def _submit(self, row: int, task, account: int, level: int, numbers: np.ndarray, sizes: np.ndarray) -> None:
        """Order the jobs from the server and count them for the brokers to come."""
        control, now, placed = self.control, self.control.now, []
        for number, size in zip(numbers.tolist(), sizes.tolist(), strict=True):
            queue, cores = control.queues.queue_and_cores[number]
            ram = job_ramcount(task.ramcount, task.ramunit, task.baseramcount, job_corecount(task.corecount, cores))
            control.fabric.order_jobs(row, number, size, ram, now, level, task.resource_type)
            placed.append((queue, size))
        control.snapshot.place(account, task.resource_type, placed)
        self._set_running(row)

    def _set_running(self, row: int) -> None:
        """Note that a task has got jobs, or its scouts."""
        tasks = self.control.world.arrays.tasks
        tasks["frozen_s"][row] = np.nan
        if tasks["status"][row] == READY:
            scouts = self.control.world.arrays.scout_inputs[row] > 0
            set_status(self.control.world, row, TaskStatus.SCOUTING if scouts else TaskStatus.RUNNING, self.control.now)


def hold(control, row: int, tag: str) -> None:
    """Put a task for which there is no queue on hold; the WatchDog brings it back."""
    tasks = control.world.arrays.tasks
    tasks["old_status"][row] = tasks["status"][row]
    tasks["errordialog"][row] = control.tag_code(tag)
    if np.isnan(tasks["frozen_s"][row]):
        tasks["frozen_s"][row] = control.now
    set_status(control.world, row, TaskStatus.PENDING, control.now)
