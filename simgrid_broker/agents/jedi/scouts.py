"""Scouts: measures tasks with their first chunks of input (JEDI: jobs); continues, exhausts or breaks them."""

from collections.abc import Callable, Collection
from operator import itemgetter

import numpy as np

from simgrid_broker.agents.panda.retry_module import RECALCULATION, RetryModule
from simgrid_broker.fabric.fabric import Fabric
from simgrid_broker.ledgers.finished_jobs import ENDED, MERGING, RESUMED, UPDATE, FinishedJobs
from simgrid_broker.names import PMERGE, TaskStatus
from simgrid_broker.policy.tasks import measures
from simgrid_broker.policy.tasks import scouts as rules
from simgrid_broker.policy.tasks.ends import Look, judged
from simgrid_broker.schema import SPLITTING
from simgrid_broker.schema.series import CHANGED, TASK_ACTIONS
from simgrid_broker.turns.policies import Policies
from simgrid_broker.units import KIB
from simgrid_broker.views import Task
from simgrid_broker.world.columns import limit_size, return_to, set_reason, set_scout_inputs, set_task, split_by_files
from simgrid_broker.world.tasks.input_files import is_cut, pieces_at_once
from simgrid_broker.world.tasks.rows import by_arrival
from simgrid_broker.world.tasks.transitions import set_status
from simgrid_broker.world.views import observe
from simgrid_broker.world.world import World

T = TaskStatus
AVALANCHE = RECALCULATION + 1
"""Code of the look that ends scouting in `task_actions`."""
SCOUTING = CHANGED.index("scouts")
"""Code of the number that such a look is about."""
RULES = itemgetter(*((SPLITTING.dtype.names or ()).index(name.lower()) for name in rules.SplitRules._fields[:-1]))
"""Split rules, all but the last, of the values of a row of `splitting`."""


class Scouts:
    """Tasks that are or were scouting; claims: of these on arrival, by row; is_forced: avalanche was asked for."""

    def __init__(self, world: World, fabric: Fabric, policies: Policies, retry_module: RetryModule):
        self.world, self.policies, self.retry_module = world, policies, retry_module
        names, work = world.vocabularies["task_names"], world.scenario.workload
        self.streams = {names.index(stream.name): stream for stream in (*work.campaigns, *work.users)
                        if stream.useScout and stream.name in names}
        kinds = world.vocabularies["processing_types"]
        self.finished = FinishedJobs(world, self._benchmarks(), kinds.index(PMERGE) if PMERGE in kinds else -1)
        self.claims: dict[int, Task] = {}
        self.is_forced = False
        self.record: Callable[[np.ndarray], None] = lambda rows: None
        self.looks: list[tuple] = []                         # rows of `task_actions` that are not recorded yet
        if self.streams:
            fabric.watchers.append(self.finished.watch)

    @property
    def changes(self) -> np.ndarray:
        """Number of times that the figures of each task were replaced, (n_tasks,)."""
        return self.finished.tables.changes

    def renew(self, rows: np.ndarray) -> None:
        """Forget the tasks that were in some rows."""
        self.finished.renew(rows)
        for row in rows.tolist():
            self.claims.pop(row, None)

    def begin(self, row: int) -> None:
        """Start a task that is being refined with scouts if it uses them; a task under way at a filled start has had
        its scouts."""
        arrays, stream = self.world.arrays, self._stream(row)
        if stream is None or (self.world.scenario.start == "filled" and arrays.tasks[row]["arrival_s"] == 0):
            return
        task = observe.task(self.world, row)
        if rules.uses_scouts(stream.useScout, stream.skipScout, task.prodsourcelabel, bool(task.workinggroup)):
            set_scout_inputs(self.world, row, rules.N_SCOUTS * pieces_at_once(arrays, row))
            traffic = task.diskio if stream.disk_traffic is None else stream.disk_traffic
            self.finished.begin(row, (traffic, stream.memory_leak, stream.memory_leak_x2, stream.workDirSize))
            self.claims[row] = task

    def assess(self, now: float) -> None:
        """Assess the tasks with news of their scouts, each at most every ten minutes."""
        if not (self.streams or self.is_forced):
            return
        of_made = rules.TERMS[self.policies.edition].of_made
        self.finished.read_outbox()
        rows, news = self.finished.news(of_made, now)
        if not (len(rows) or self.is_forced):
            return
        for row in rows[news == RESUMED].tolist():
            set_status(self.world, row, T.SCOUTING, now)            # a command had taken it out of scouting
        for row, look in zip(rows.tolist(), news.tolist(), strict=True):
            if look < RESUMED:
                self._assess(row, Look(look), now)
        for row in np.flatnonzero(self.finished.tasks["is_forced"]).tolist():
            if self.world.arrays.tasks["status"][row] == T.SCOUTING:
                self._assess(row, Look(self.finished.look(row, of_made)), now)
        for row in rows[news == UPDATE].tolist():
            self._take_over(row, self.finished.jobs_of(row))
            self._expect_update(row, last=rules.TERMS[self.policies.edition].again_once)
        for row in rows[news == ENDED].tolist():
            self._forget(row)
        if self.looks:
            self.record(np.array(self.looks, TASK_ACTIONS.dtype))
            self.looks.clear()

    def judge_running(self, labels: Collection[str], now: float) -> None:
        """Measure running tasks of some labels that are due for it, and exhaust those that are far from their claims.

        Watchdogs do so in the deployed edition. One may come before the PostProcessor, which only measures.
        """
        least = rules.TERMS[self.policies.edition].watched_from
        if least is None or not self.streams:
            return
        self.finished.read_outbox()
        for row in by_arrival(self.world.arrays, self.finished.due(least)).tolist():
            if self.claims[row].prodsourcelabel in labels:
                reason = self._judge(row, self._verdict(row, self._tried(row))[1])
                self._expect_update(row)
                if reason:
                    self.stop(row, reason, judged(True, exhausts=True), now)

    def release(self, row: int) -> None:
        """Release all input of a task: the avalanche."""
        if self.world.arrays.scout_inputs[row]:
            set_scout_inputs(self.world, row, 0)
            self.changes[row] += 1
            self._expect_update(row)

    def measure_again(self, row: int) -> None:
        """Measure a task at the next cycle, unless it is no longer measured."""
        if self.finished.tasks["is_measured"][row]:
            self.finished.tasks["next_update"][row] = 1

    def _benchmarks(self) -> np.ndarray:
        """HS06 per core by the CPU benchmark of the worker nodes of each queue, (n_queues,); 0 = it has none, or is not
        asked for in this edition."""
        power, sites = np.zeros(len(self.world.arrays.queues)), self.world.vocabularies["sites"]
        if measures.TERMS[self.policies.edition].by_benchmark:
            for name, queue in self.world.scenario.grid.queues.items():
                if queue.cpu_benchmark:
                    row = self.world.vocabularies["queues"].index(name)
                    power[row] = measures.core_power(((queue.atlas_site, queue.cpu_benchmark),),
                                                     sites[self.world.arrays.queues["site"][row]], 0.0)
        return power

    def force(self, row: int) -> None:
        """Note that avalanche was asked for; the task continues when its scouts are looked at."""
        self.finished.tasks["is_forced"][row] = self.is_forced = True

    def _assess(self, row: int, look: Look, now: float) -> None:
        """Decide about a scouting task, or only measure it."""
        terms, low = rules.TERMS[self.policies.edition], False
        if look is Look.MEASURED and terms.before_end:
            self._take_over(row, self.finished.jobs_of(row))
            number = rules.next_update(self.finished.number(row), self.policies.edition)
            self.finished.tasks["next_update"][row] = number or measures.ALL_JOBS
        if look in (Look.NONE, Look.MEASURED):
            return
        tried = self._tried(row)
        self._note_look(row, tried, now)
        if look is Look.OVER or (look is Look.EARLY and terms.early_end):
            reason, low = self._verdict(row, tried)
            if reason and not low:
                self.stop(row, reason, judged(False, exhausts=False), now)
                return
        if look is Look.FORCED and not self.finished.number(row):
            self._continue(row, now)
        else:
            self._evaluate(row, low, now)

    def _note_look(self, row: int, tried: rules.Scouting, now: float) -> None:
        """Record the scouts of a task that count when they are judged, and those of them that have finished."""
        of_made = rules.TERMS[self.policies.edition].of_made
        self.looks.append((now, self.world.arrays.tasks["jeditaskid"][row], AVALANCHE, SCOUTING, True,
                           rules.counted(tried.scouts, tried.made, of_made), tried.finished))

    def _verdict(self, row: int, tried: rules.Scouting) -> tuple[str, bool]:
        """Why the scouts of a task so far break it, and whether they exhaust it instead."""
        return rules.verdict(tried, self._stream(row).scoutSuccessRate, self.claims[row].prodsourcelabel,
                             self.policies.cfg, self.policies.edition)

    def _tried(self, row: int) -> rules.Scouting:
        """Scouts so far: chunks (documented), or pairs of job and status of its files (deployed)."""
        return rules.Scouting(*self.finished.progress(row, rules.TERMS[self.policies.edition].of_made))

    def _evaluate(self, row: int, low_success: bool, now: float) -> None:
        """Measure a task, and let it continue or exhaust it."""
        reason = self._judge(row, low_success)
        if reason:
            self.stop(row, reason, judged(True, exhausts=True), now)
        else:
            self._continue(row, now)

    def _judge(self, row: int, low_success: bool) -> str:
        """Measure a task and change its split rules if its jobs are short; returns why it is exhausted, if it is."""
        jobs, edition = self.finished.jobs_of(row), self.policies.edition
        expected = rules.expected_jobs(self._input_of(row, jobs), self._rules_of(row), edition)
        found = self._take_over(row, jobs)
        judgement = rules.exhausted(rules.Evidence(jobs, self.claims[row], found, expected, self._rules_of(row),
                                                   low_success), self.policies.cfg, edition)
        if judgement.short_jobs:
            split_by_files(self.world, row, rules.MOST_FILES)
        return judgement.reason

    def _rules_of(self, row: int) -> rules.SplitRules:
        """Split rules of a task; one whose jobs all have one size says the files of a job."""
        arrays = self.world.arrays
        said = rules.SplitRules._make((*RULES(arrays.splitting[row].item()), self._stream(row).minCpuEfficiency))
        return said if is_cut(arrays, row) else said._replace(nFilesPerJob=pieces_at_once(arrays, row))

    def _input_of(self, row: int, jobs: np.ndarray) -> rules.Input:
        """Input of a task in pieces, and the finished jobs on it."""
        task = self.world.arrays.tasks[row]
        files, used, finished, events = (int(task[name]) for name in ("n_jobs", "next_chunk", "n_finished",
                                                                     "n_events_per_job"))
        return rules.input_of(jobs, files, used, finished, float(files * events))

    def _continue(self, row: int, now: float) -> None:
        """Start the avalanche of a task."""
        self.release(row)
        set_status(self.world, row, T.SCOUTED, now)

    def stop(self, row: int, reason: str, status: TaskStatus, now: float) -> None:
        """Exhaust or break a task; a retry after exhaustion uses all of its input."""
        set_reason(self.world, row, reason)
        if status is T.EXHAUSTED:
            return_to(self.world, row, T.SCOUTING)
            self.release(row)
        else:
            self._forget(row)
        set_status(self.world, row, status, now)

    def _expect_update(self, row: int, last: bool = False) -> None:
        """Note when to measure a running task again, or stop measuring it."""
        number = rules.next_update(self.finished.number(row), self.policies.edition)
        if number is None or last:
            self._forget(row)
        else:
            self.finished.tasks["next_update"][row] = number

    def _take_over(self, row: int, jobs: np.ndarray) -> measures.Measured:
        """Replace the claims of a task by the measures of its jobs; existing jobs keep their requests."""
        task, policies = self.world.arrays.tasks[row], self.policies
        preset = measures.Preset(float(task["workdiskcount_mb"]),
                                 library_mb=getattr(self._stream(row), "build_size", 0.0))
        found = measures.measure(jobs, self.claims[row], preset, policies.cfg, policies.edition)
        claims = rules.new_claims(found, self.claims[row], policies.edition)
        if is_cut(self.world.arrays, row):                           # elsewhere jobs write what is claimed
            if found.output_kib is not None:
                claims["output_bytes_per_job"] = found.output_kib * KIB * task["n_events_per_job"]
            if rules.TERMS[policies.edition].sets_ng:
                target = float(self.world.arrays.splitting["tgtmaxoutputforng"][row])
                limit_size(self.world, row, measures.measured_ng(jobs, found, preset, target))
        set_task(self.world, row, **claims)
        if found.ramcount is not None:
            self.retry_module.set_memory(row, found.ramcount)
        self._take_over_merging(row, found.walltime_s_per_mib or 0.0)
        self.changes[row] += 1
        return found

    def _take_over_merging(self, row: int, walltime_s_per_mib: float) -> None:
        """Set what merge jobs of a task claim by those that have finished, if any has."""
        if self.finished.number(row, MERGING):
            walltime, memory = measures.measure_merging(self.finished.jobs_of(row, MERGING), self.claims[row],
                                                        walltime_s_per_mib, self.policies.cfg, self.policies.edition)
            named = dict(mergewalltime=walltime, mergeramcount=memory)
            set_task(self.world, row, **{name: value for name, value in named.items() if value is not None})

    def _stream(self, row: int):
        return self.streams.get(int(self.world.arrays.tasks["name"][row]))

    def _forget(self, row: int) -> None:
        """Stop measuring a task."""
        self.finished.forget(row)
        self.claims.pop(row, None)
