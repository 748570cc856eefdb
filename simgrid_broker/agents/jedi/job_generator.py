"""JEDI's JobGenerator: throttles, selects tasks, brokers and submits jobs, work queue by work queue.

Source: Global Shares paper, section 2.3; PanDA brokerage documentation, production job brokerage; lifecycle reference,
2.2. Simplified: analysis tasks follow the same rules as production.
"""

from typing import Any

import numpy as np

import simgrid_broker.turns.job_cycle as job_cycle
from simgrid_broker import luck
from simgrid_broker.agents.control import Control, Process
from simgrid_broker.agents.jedi.job_splitter import JobSplitter
from simgrid_broker.names import TaskStatus
from simgrid_broker.policy.brokerage.production.selection import JOBS_PER_BLOCK, SCOUTS_PER_BLOCK, spread_jobs
from simgrid_broker.policy.jobs.resource_types import asked_ramcount
from simgrid_broker.policy.tasks.selection import Selection, generates, selection
from simgrid_broker.policy.tasks.throttle import Throttle, ThrottleLimits, lift, throttle_limits
from simgrid_broker.turns.broker_rules import reason
from simgrid_broker.turns.job_tables import JobTables
from simgrid_broker.turns.work_queues import JobNumbers, WorkQueues
from simgrid_broker.views import Gdpconfig, Task
from simgrid_broker.world.columns import return_to, set_reason, set_task
from simgrid_broker.world.jobs.counts import account_of_task
from simgrid_broker.world.jobs.loads import NO_PRIORITY
from simgrid_broker.world.shares import AlignedQueue, aligned_queues
from simgrid_broker.world.tasks.input_files import first_waiting, is_cut, member_of_piece
from simgrid_broker.world.tasks.transitions import set_status

QUEUE_DRAW, INACTIVE_POLL = luck.STREAMS["queue_draw"], luck.STREAMS["inactive_poll"]
READY, SCOUTING, RUNNING = TaskStatus.READY, TaskStatus.SCOUTING, TaskStatus.RUNNING
POLL_PROBABILITY = 0.25
"""Probability that a share and type without jobs is visited in a cycle; source: lifecycle reference, section 1.6."""


def job_generator(control: Control) -> Process:
    """Run one process for each work queue (share and resource type)."""
    period = control.periods.job_generator
    work_queues = WorkQueues(control, min(period, control.periods.job_generator_lacking))
    numbers, tables = JobNumbers(control), JobTables(control, work_queues)
    generators = [Generator(control, work_queues, numbers, tables, queue)
                  for queue in aligned_queues(control.world.scenario)]
    yield control.env.all_of([control.env.process(control.every(period, each.cycle, f"jobgen {each.queue.full_name}"))
                              for each in generators])


def types_asked(queue: AlignedQueue, limits: ThrottleLimits) -> tuple[tuple[int, ...], ...]:
    """Resource types that the throttler counts: of the queue, its core type, the share; () where nothing compares."""
    levels = {limit.level for limit in (limits.queue_limit, limits.queue_cap, limits.running_cap)
              if limit.jobs is not None}
    of_all = 2 in levels or limits.whole
    return queue.types, queue.core_types if 1 in levels else (), queue.all_types if of_all else ()


class Generator:
    """Job generation of one work queue."""

    def __init__(self, control: Control, work_queues: WorkQueues, numbers: JobNumbers, tables: JobTables,
                 queue: AlignedQueue):
        self.control, self.work_queues, self.numbers, self.tables = control, work_queues, numbers, tables
        self.queue, self.key = queue, int(luck.keys(luck.key_of(queue.full_name), 0))
        self.cfg: Gdpconfig | None = None
        self.limits: dict[bool, ThrottleLimits] = {}
        self.levels: dict[bool, tuple[tuple[int, ...], ...]] = {}
        self.selection: dict[bool, Selection] = {}
        self.splitter = JobSplitter(control)
        self.n_polls = self.n_turns = 0                    # number the random draws
        self.told = ""                                     # the tag that left a task without a queue, if Python asked

    def cycle(self) -> float | None:
        """Make as many jobs as the throttler allows; returns the delay to the next cycle if more are to be made.

        JEDI releases a work queue that lacks jobs early, so that another generator serves it at once (JEDI TWiki, job
        throttling).
        """
        rows = self.work_queues.tasks_of(self.queue)
        if not len(rows) or not self._is_visited():
            return None
        self._read_config()
        again = [self._serve(part, analysis) for analysis, part in self.work_queues.by_kind(rows)]
        self._make_ordered()                                   # at once: no other cycle orders the same input
        return self.control.periods.job_generator_lacking if any(again) else None

    def _is_visited(self) -> bool:
        """Whether jobs are generated here now: JEDI visits an inactive share and type in one cycle of four."""
        control = self.control
        if not generates(control.cfg):
            return False
        if control.edition == "documented" or not self.queue.resource_type or self.numbers.has_jobs(self.queue):
            return True
        self.n_polls += 1
        return luck.uniform(control.seed, INACTIVE_POLL, self.key, self.n_polls, 0) < POLL_PROBABILITY

    def _serve(self, rows: np.ndarray, analysis: bool) -> bool:
        """Make jobs of production or analysis tasks; returns whether more are to be made at once."""
        decision, tasks = self._throttle(analysis), self.control.arrays.tasks
        if decision.skip and decision.soft:
            decision = lift(decision, int(tasks["priority"][rows[0]]), *self.numbers.highest_priority(self.queue))
        if decision.skip:
            return False
        left, rule = int(decision.max_jobs), self.selection[analysis]
        least = NO_PRIORITY if decision.min_priority is None else decision.min_priority
        if rule.attribute:
            self.n_turns += 1
            rows = self.work_queues.in_turn(rows, rule.attribute, rule.express_ratio, self.key, self.n_turns)
        left = self._generate(rows, left, rule, least, analysis)
        return decision.lacking and left <= 0

    def _throttle(self, analysis: bool) -> Throttle:
        """Decision of the throttler; the queued wall time is counted only if it decides."""
        queue, throttle, limits = self.queue, self.control.policies.throttle, self.limits[analysis]
        counts: list[Any] = [self.numbers.of(queue, types, level == 0 and bool(queue.resource_type)) if types else None
                             for level, types in enumerate(self.levels[analysis])]
        decision = throttle(counts[0], limits, *counts[1:])
        if decision.by_walltime:
            counts[0] = counts[0]._replace(walltime_s=self.numbers.walltime_s(queue))
            decision = throttle(counts[0], limits, *counts[1:])
        return decision

    def _read_config(self) -> None:
        """Read limits and selection from gdpconfig if it has changed."""
        cfg, edition, queue = self.control.cfg, self.control.edition, self.queue
        if self.cfg is cfg:
            return
        self.cfg = cfg
        for analysis in (False, True):
            self.limits[analysis] = throttle_limits(cfg, queue.name, queue.resource_type, edition=edition,
                                                    analysis=analysis, throttled=queue.throttled)
            self.levels[analysis] = types_asked(queue, self.limits[analysis])
            self.selection[analysis] = selection(cfg, queue.name, analysis, edition)

    def _generate(self, rows: np.ndarray, left: int, rule: Selection, least: int, analysis: bool = False) -> int:
        """Make at most `left` jobs of the tasks in `rows` of at least a priority, in order; returns how many are left.

        A task with input that finds no queue goes on hold. Files count as the jobs that they typically make.
        """
        tables = self.tables
        state = tables.begin_with(self.control.now, left, rule, least, analysis)
        while True:
            reason = tables.go_on(rows)
            for row in tables.take_started():
                self._start(row)
            for held in tables.take_held():
                self._hold(*held)
            if reason == job_cycle.OVER:
                return int(state["left"])
            if reason == job_cycle.ASK:
                self._ask(int(rows[state["task"]]), state, rule)
            elif reason == job_cycle.MAKE:
                self._make_ordered()
            elif reason != job_cycle.HOLD:
                tables.act(reason, int(rows[state["task"]]))

    def _hold(self, row: int, refused_by: int, of_users: bool) -> None:
        """Put a task without a queue on hold."""
        policies, said = self.control.policies, self.told if refused_by == job_cycle.TOLD else ""
        if refused_by >= 0:
            rules = policies.analysis_rules if of_users else policies.job_rules
            said = rules.labels[rules.rules[refused_by].name]
        hold(self.control, row, said)

    def _ask(self, row: int, state: np.void, rule: Selection) -> None:
        """Make the jobs wanted of a task whose jobs are cut from files, or by an own brokerage."""
        wanted, level = int(state["wanted"]), int(state["level"])
        cut = is_cut(self.control.arrays, row)
        made, tag = self._cut(row, wanted, level, rule) if cut else self._make(row, wanted, level)
        state["made"] += made
        if not made and not state["n_datasets"]:
            self.told, state["refused_by"] = tag, job_cycle.TOLD
        if self.control.arrays.containers["number"][row] and (made or state["n_datasets"]):
            self._ask_again(row, state, level)

    def _ask_again(self, row: int, state: np.void, level: int) -> None:
        """Let the cycle go on with the next dataset of a container, as `job_cycle.has_more_datasets`."""
        self._make_ordered()
        arrays, now = self.control.arrays, int(self.control.arrays.containers["now"][row])
        state["n_datasets"] += 1
        head = int(arrays.ram_levels["head"][row, level])
        if (state["n_datasets"] == job_cycle.MOST_DATASETS or state["made"] >= state["most"]
                or (head >= 0 and member_of_piece(arrays, row, int(arrays.retries["chunk"][head])) == now)):
            return
        if head < 0:
            state["member"] = now
        state["n_levels"] -= 1

    def _make_ordered(self) -> None:
        """Make the jobs ordered so far."""
        if self.tables.state[0]["n_orders"]:
            self.control.fabric.make_jobs(self.tables.take_orders())

    def _make(self, row: int, wanted: int, level: int) -> tuple[int, str]:
        """Broker `wanted` jobs of one ramCount; returns how many found a queue, and the tag that left no candidate."""
        control, now, world = self.control, self.control.now, self.control.world
        task, parts = self.work_queues.view(row, level)
        account = account_of_task(world.arrays, row)
        kind, verdict = control.brokers.broker(row, task, parts, wanted, account)
        control.books.waiting_place.place(row, level, task, verdict, control.brokers.queues, now)
        block = SCOUTS_PER_BLOCK if task.is_scout else JOBS_PER_BLOCK
        begins = first_waiting(world.arrays, row, level)
        uniforms = control.brokers.uniforms(QUEUE_DRAW, task, begins, verdict, wanted, block)
        numbers, sizes = spread_jobs(verdict, wanted, uniforms, block=block)
        made = int(sizes.sum())
        control.books.decisions.add(kind, now, task, verdict, made)
        if made:
            self._submit(row, task, account, level, numbers, sizes)
        return made, reason(control.policies, kind, verdict)

    def _cut(self, row: int, wanted: int, level: int, rule: Selection) -> tuple[int, str]:
        """As `_make`, for a task whose jobs are cut from files; makes about `wanted` jobs."""
        view = self.work_queues.view(row, level)
        made, tag = self.splitter.make(row, view, wanted, level, self.queue.name, rule)
        if made:
            self._set_running(row)
        return made, tag

    def _submit(self, row: int, task: Task, account: int, level: int, numbers: np.ndarray, sizes: np.ndarray) -> None:
        """Submit the jobs to the server, and count them for later decisions."""
        control, now, placed = self.control, self.control.now, []
        for number, size in zip(numbers.tolist(), sizes.tolist(), strict=True):
            queue, cores = control.brokers.queues.queue_and_cores[number]
            ram = asked_ramcount(task, cores)
            self.tables.order((now, row, number, size, ram, level, task.resource_type))
            placed.append((queue, size))
        control.brokers.snapshot.place(account, task.resource_type, placed)
        control.brokers.note_use(task, (queue for queue, _ in placed))
        self._set_running(row)

    def _set_running(self, row: int) -> None:
        """Note that a task got jobs, the first of which move it to running, or scouting."""
        set_task(self.control.world, row, frozen_s=np.nan)
        self._start(row)

    def _start(self, row: int) -> None:
        """Move a task that has got its first jobs to running, or scouting."""
        world = self.control.world
        if world.statuses[row].item() == READY:              # a number of NumPy is compared slowly
            scouts = world.arrays.scout_inputs[row] > 0
            set_status(world, row, SCOUTING if scouts else RUNNING, self.control.now)


def hold(control: Control, row: int, tag: str) -> None:
    """Put a task without a candidate queue on hold; the WatchDog reactivates it."""
    return_to(control.world, row)
    set_reason(control.world, row, tag)
    if np.isnan(control.arrays.tasks["frozen_s"][row]):
        set_task(control.world, row, frozen_s=control.now)
    set_status(control.world, row, TaskStatus.PENDING, control.now)
