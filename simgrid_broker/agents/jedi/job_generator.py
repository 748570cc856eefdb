"""JEDI's JobGenerator: throttles, selects tasks, brokers and submits jobs, work queue by work queue.

Source: Global Shares paper, section 2.3; PanDA brokerage documentation, production job brokerage; lifecycle reference,
2.2. Simplified: analysis tasks follow the same rules as production. `intake_remarks` compares the greatest number of
jobs and tasks that it takes in with those that a trace submits.
"""

from collections.abc import Iterator
from math import isnan, nan
from typing import Any

import numpy as np

from simgrid_broker import luck
from simgrid_broker.agents.control import Control, Process
from simgrid_broker.agents.jedi.job_splitter import JobSplitter
from simgrid_broker.agents.own import records
from simgrid_broker.ledgers.hourly_sums import HourlySums
from simgrid_broker.names import TaskStatus
from simgrid_broker.policy.jobs.resource_types import UNDEFINED
from simgrid_broker.policy.tasks.selection import TERMS, Selection, generates, selection
from simgrid_broker.policy.tasks.throttle import (
    MAX_BUNCH,
    SWITCHED_OFF,
    UNLIMITED,
    Bound,
    Throttle,
    ThrottleLimits,
    bound,
    counted_by,
    lift,
    throttle_limits,
)
from simgrid_broker.policy.tasks.watchdogs import counts_as_pending
from simgrid_broker.schema import Column, Table
from simgrid_broker.turns.job_tables import JobTables
from simgrid_broker.turns.tagging import TAGGED_BY, TYPED_BY, Tagger
from simgrid_broker.turns.turn import AGAIN, ASK, CLEAR, OVER
from simgrid_broker.turns.work_queues import JobNumbers, WorkQueues, keys_of
from simgrid_broker.units import HOUR
from simgrid_broker.views import Gdpconfig, WorkQueueCounts
from simgrid_broker.world.columns import return_to, set_reason, set_task
from simgrid_broker.world.jobs.loads import NO_PRIORITY
from simgrid_broker.world.shares import AlignedQueue, aligned_queues
from simgrid_broker.world.tasks.rows import busiest_hours, kinds_of_tasks
from simgrid_broker.world.tasks.transitions import set_status
from simgrid_broker.world.world import World

QUEUE_DRAW, INACTIVE_POLL = luck.STREAMS["queue_draw"], luck.STREAMS["inactive_poll"]
READY, SCOUTING, RUNNING = TaskStatus.READY, TaskStatus.SCOUTING, TaskStatus.RUNNING
POLL_PROBABILITY = 0.25
"""Probability that a share and type without jobs is visited in a cycle; source: lifecycle reference, section 1.6."""
THROTTLER = Table("throttler", "the cycles of job generation of one work queue with one verdict in one hour", (
    Column("time_s", "f8", "s", "simulator", "Begin of the hour"),
    Column("work_queue", "i4", "", "JEDI work queue", "Global share, or work queue of the scenario", codes="texts"),
    Column("resource_type", "i2", "", "PanDA", "Resource type; null = all of the work queue", codes="resource_types"),
    Column("analysis", "i1", "", "JEDI", "Whether the tasks are of analysis, with limits of their own"),
    Column("skip", "i1", "", "JobThrottler", "1 if no jobs were to be made"),
    Column("verdict", "i4", "", "JobThrottler", "Condition that held", codes="texts"),
    Column("key", "i4", "", "gdpconfig", "Keys that the condition reads, the one that binds first; null = none",
           codes="texts"),
    Column("cycles", "i8", "cycles", "JobGenerator", "Cycles with tasks to serve"),
    Column("used_up", "i8", "cycles", "JobGenerator", "Of these, cycles that made all jobs that they were allowed"),
    Column("limit", "f8", "jobs", "JobThrottler", "Sum of the limits: of the jobs that the condition counts, without a "
           "skip of the jobs to make"),
    Column("queued", "f8", "jobs", "PanDA", "Sum of the queued jobs of the work queue, or of all that its cap counts"),
    Column("running", "f8", "jobs", "PanDA", "Sum of the running jobs of these"),
    Column("made", "f8", "jobs", "JobGenerator", "Jobs made"),
))
DECIDES_KIND = ("share", *TYPED_BY, *TAGGED_BY)
"""Columns of a task that decide its share and its resource type."""


@records(THROTTLER)
def job_generator(control: Control) -> Process:
    """Run one generator for each work queue (share and resource type)."""
    period = control.periods.job_generator
    work_queues = WorkQueues(control, min(period, control.periods.job_generator_lacking))
    numbers, tables = JobNumbers(control), JobTables(control, work_queues)
    verdicts = control.books.hourly_sums(THROTTLER)
    generators = [Generator(control, work_queues, numbers, tables, queue, verdicts)
                  for queue in aligned_queues(control.world.scenario)]
    work_queues.serve([generator.keys for generator in generators])
    yield from control.calendar(period, generators, work_queues)


def types_asked(queue: AlignedQueue, limits: ThrottleLimits) -> tuple[tuple[int, ...], ...]:
    """Resource types that the throttler counts: of the queue, its core type, the share; () where nothing compares."""
    levels = {limit.level for limit in (limits.queue_limit, limits.queue_cap, limits.running_cap)
              if limit.jobs is not None}
    of_all = 2 in levels or limits.whole
    return queue.types, queue.core_types if 1 in levels else (), queue.all_types if of_all else ()


class Generator:
    """Job generation of one work queue."""

    def __init__(self, control: Control, work_queues: WorkQueues, numbers: JobNumbers, tables: JobTables,
                 queue: AlignedQueue, verdicts: HourlySums):
        self.control, self.work_queues, self.numbers, self.tables = control, work_queues, numbers, tables
        self.verdicts, self.known = verdicts, dict[tuple, tuple]()           # keys of verdicts by what they say
        self.queue, self.key = queue, int(luck.keys(luck.key_of(queue.full_name), 0))
        self.name, self.keys = f"jobgen {queue.full_name}", keys_of(queue)
        self.cfg: Gdpconfig | None = None
        self.generates = True
        self.rules: dict[bool, tuple[ThrottleLimits, tuple[tuple[int, ...], ...], Selection]] = {}
        self.splitter = JobSplitter(control, tables)
        self.n_polls = self.n_turns = 0                    # number the random draws

    def cycle(self) -> float | None:
        """Make as many jobs as the throttler allows; returns the delay to the next cycle if more are to be made.

        JEDI releases a work queue that lacks jobs early, so that another generator serves it at once (JEDI TWiki, job
        throttling).
        """
        parts = self.work_queues.tasks_of(self.keys)
        if not parts:
            return None
        self._read_config()
        if not self._is_visited():
            return None
        again = [self._serve(rows, analysis) for analysis, rows in parts]
        self._make_ordered()                                   # at once: no other cycle orders the same input
        return self.control.periods.job_generator_lacking if any(again) else None

    def _is_visited(self) -> bool:
        """True if jobs are generated here now: JEDI visits an inactive share and type in one cycle of four."""
        control = self.control
        if not self.generates:
            self._note(False, SWITCHED_OFF, bound(SWITCHED_OFF))
            return False
        if not TERMS[control.edition].polls or not self.queue.resource_type or self.numbers.has_jobs(self.queue):
            return True
        self.n_polls += 1
        return luck.uniform(control.seed, INACTIVE_POLL, self.key, self.n_polls, 0) < POLL_PROBABILITY

    def _serve(self, rows: np.ndarray, analysis: bool) -> bool:
        """Make jobs of production or analysis tasks; returns whether more are to be made at once."""
        limits, levels, rule = self.rules[analysis]
        decision, counts = self._throttle(limits, levels)
        if decision.skip and decision.soft:
            priority = int(self.control.arrays.tasks["priority"][rows[0]])
            decision = lift(decision, priority, *self.numbers.highest_priority(self.queue))
        of_limits, counted = bound(decision, limits, counts[0]), counted_by(decision, limits, *counts)
        if decision.skip:
            self._note(analysis, decision, of_limits, counted)
            return False
        left = int(decision.max_jobs)
        least = NO_PRIORITY if decision.min_priority is None else decision.min_priority
        if rule.attribute:
            self.n_turns += 1
            rows = self.work_queues.in_turn(rows, rule.attribute, rule.express_ratio, self.key, self.n_turns)
        left = self._generate(rows, left, rule, least, analysis)
        self._note(analysis, decision, of_limits, counted, int(decision.max_jobs) - left)
        return decision.lacking and left <= 0

    def _note(self, analysis: bool, decision: Throttle, of_limits: Bound, counts: WorkQueueCounts | None = None,
              made: int = 0) -> None:
        """Record the verdict of a cycle, with the jobs of the work queue and those made."""
        said, limited = (analysis, decision.skip, decision.reason, of_limits.keys), decision.max_jobs < UNLIMITED
        key = self.known.get(said)
        if key is None:
            code, kind = self.control.books.decisions.code, self.queue.types[0] if self.queue.resource_type else -1
            key = self.known[said] = (code(self.queue.name), kind, analysis, decision.skip, code(decision.reason),
                                      code(", ".join(of_limits.keys)) if of_limits.keys else -1)
        queued, running = (counts.not_running + counts.defined, counts.running) if counts else (0, 0)
        self.verdicts.add(self.control.now, key, (1, limited and not decision.skip and made >= int(decision.max_jobs),
                                                  of_limits.limit if limited else 0, queued, running, made))

    def _throttle(self, limits: ThrottleLimits, levels: tuple[tuple[int, ...], ...]) -> tuple[Throttle, list[Any]]:
        """Decision of the throttler, with the jobs of the work queue, its core type and share, None = not counted.

        Queued wall time is counted only if it decides.
        """
        queue, throttle = self.queue, self.control.policies.throttle
        counts: list[Any] = [self.numbers.of(queue, types, level == 0 and bool(queue.resource_type)) if types else None
                             for level, types in enumerate(levels)]
        decision = throttle(counts[0], limits, *counts[1:])
        if decision.by_walltime:
            counts[0] = counts[0]._replace(walltime_s=self.numbers.walltime_s(queue))
            decision = throttle(counts[0], limits, *counts[1:])
        return decision, counts

    def _read_config(self) -> None:
        """Read limits and selection from gdpconfig if it has changed."""
        if self.cfg is self.control.cfg:
            return
        self.cfg = cfg = self.control.cfg
        edition, queue, self.generates = self.control.edition, self.queue, generates(cfg)
        for analysis in (False, True):
            limits = throttle_limits(cfg, queue.name, queue.resource_type, edition=edition, analysis=analysis,
                                     throttled=queue.throttled)
            self.rules[analysis] = limits, types_asked(queue, limits), selection(cfg, queue.name, analysis, edition)

    def _generate(self, rows: np.ndarray, left: int, rule: Selection, least: int, analysis: bool = False) -> int:
        """Make at most `left` jobs of the tasks in `rows` of at least a priority, in order; returns how many are left.

        A task with input that finds no queue goes on hold. Files count as the jobs that they typically make.
        """
        tables = self.tables
        hand = tables.begin_with(left, rule, least, analysis)
        while (outcome := tables.go_on(rows)) != OVER:
            self._take_over()
            if outcome == CLEAR and hand["next"] == AGAIN:
                self._make_ordered()
            elif outcome == ASK and hand["next"] == AGAIN:
                self._cut(int(rows[hand["task"]]), rule)
            else:
                tables.act(outcome, rows)
        self._take_over()
        return int(tables.done["left"])

    def _take_over(self) -> None:
        """Let tasks run that got their first jobs, and put those on hold that found no queue."""
        started, held = self.tables.take_moved()
        for row in started:
            self._start(row)
        for row, text in held:
            hold(self.control, row, text)

    def _cut(self, row: int, rule: Selection) -> None:
        """Make the jobs wanted of a task whose jobs are cut from files."""
        if self.splitter.make(row, self.queue.name, rule):
            set_task(self.control.world, row, frozen_s=np.nan)
            self._start(row)
        if self.control.arrays.containers["number"][row]:
            self._make_ordered()

    def _make_ordered(self) -> None:
        """Make the jobs ordered so far."""
        if self.tables.done["n_orders"]:
            self.control.fabric.make_jobs(self.tables.take_orders())

    def _start(self, row: int) -> None:
        """Move a task that has got its first jobs to running, or scouting."""
        world = self.control.world
        if world.statuses.item(row) == READY:
            scouts = world.arrays.scout_inputs[row] > 0
            set_status(world, row, SCOUTING if scouts else RUNNING, self.control.now)


def hold(control: Control, row: int, tag: str) -> None:
    """Put a task without a candidate queue on hold; the WatchDog reactivates it."""
    return_to(control.world, row)
    set_reason(control.world, row, tag)
    if not counts_as_pending(tag, control.edition):
        set_task(control.world, row, frozen_s=nan)
    elif isnan(control.arrays.tasks["frozen_s"][row]):
        set_task(control.world, row, frozen_s=control.now)
    set_status(control.world, row, TaskStatus.PENDING, control.now)


def intake_remarks(world: World, cfg: Gdpconfig) -> Iterator[str]:
    """A sentence for each share and resource type of which a trace submits more in an hour than is taken in.

    A cycle looks at NTASKS tasks, and the next begins after `job_generator`; it makes at most half a bunch of jobs, and
    then the next begins after `job_generator_lacking`. Jobs that go to the server directly are not limited.
    """
    scenario = world.scenario
    if scenario.workload.trace is None or scenario.workload.trace.enters_as == "jobs":
        return
    most_jobs = int(MAX_BUNCH // 2 * HOUR / scenario.agents.job_generator_lacking)
    for (share, kind), of_queue in _work_queues(world).items():
        name, type_name = world.vocabularies["shares"][share], world.vocabularies["resource_types"][kind]
        most_tasks = int(selection(cfg, name, False, scenario.edition).n_tasks * HOUR / scenario.agents.job_generator)
        jobs, tasks = busiest_hours(world.arrays, of_queue)
        if tasks > most_tasks or jobs > most_jobs:
            yield (f"share {name!r} gets up to {jobs} recorded jobs, of {tasks} tasks, of type {type_name} in an hour, "
                   f"and the JobGenerator makes at most {most_jobs} jobs, of {most_tasks} tasks: jobs will wait while "
                   "cores are free; group more of them into a task (workload.trace.group_by), or submit them without "
                   "tasks (workload.trace.as: jobs)")


def _work_queues(world: World) -> dict[tuple[int, int], np.ndarray]:
    """Which tasks of a trace, (n_tasks,) bool, have each share and resource type."""
    tasks, tagger = world.arrays.tasks, Tagger(world, world.scenario.shares_in_use)
    rows, kind_of = kinds_of_tasks(world.arrays, DECIDES_KIND)
    found: dict[tuple[int, int], np.ndarray] = {}
    for number, row in enumerate(rows.tolist()):
        named, kind = tasks["share"].item(row), tagger.type_of(tasks, row)
        share = named if named >= 0 else tagger.share_of(tasks, row)
        if UNDEFINED not in (share, kind):
            found[share, kind] = found.get((share, kind), False) | (kind_of == number)
    return found
