"""Scouts: measures tasks with their first chunks of input (JEDI: jobs); continues, exhausts or breaks them."""

import math
from collections.abc import Callable, Collection

import numpy as np

from simgrid_broker.agents.panda.retry_module import RECALCULATION, RetryModule
from simgrid_broker.fabric.fabric import Fabric
from simgrid_broker.fabric.jobs.effects import waiting_retries
from simgrid_broker.names import PMERGE, TASK_ENDS, JobStatus, TaskStatus
from simgrid_broker.policy.tasks import measures
from simgrid_broker.policy.tasks import scouts as rules
from simgrid_broker.policy.tasks.ends import Look, Progress, judged, look_of
from simgrid_broker.schema.series import CHANGED, TASK_ACTIONS
from simgrid_broker.turns.policies import Policies
from simgrid_broker.units import KIB, MIB
from simgrid_broker.views import Task
from simgrid_broker.world.columns import limit_size, return_to, set_reason, set_scout_inputs, set_task, split_by_files
from simgrid_broker.world.data.datasets import datasets_of_task
from simgrid_broker.world.tasks.input_files import inputs_to_use, is_cut, pieces_at_once
from simgrid_broker.world.tasks.rows import by_arrival, renewed
from simgrid_broker.world.tasks.transitions import set_status
from simgrid_broker.world.views import observe
from simgrid_broker.world.world import World

FINISHED = int(JobStatus.FINISHED)
T = TaskStatus
NOTED = ("walltime_s", "cputime_s", "corecount", "hs06_milli", "n_events", "maxpss_mb", "input_bytes", "output_bytes",
         "n_chunks")
"""Columns of a finished job that are kept for measurements; HS06 follows the benchmark of its queue."""
CORES, HS06 = NOTED.index("corecount"), NOTED.index("hs06_milli")
AVALANCHE = RECALCULATION + 1
"""Code of the look that ends scouting in `task_actions`."""
NEVER = 2**31
"""More jobs than a task has."""


class Scouts:
    """Tasks that are or were scouting; `changes`, (n_tasks,), counts how often the figures of a task were replaced."""

    def __init__(self, world: World, fabric: Fabric, policies: Policies, retry_module: RetryModule):
        self.world, self.policies, self.retry_module = world, policies, retry_module
        tasks, names = world.arrays.tasks, world.vocabularies["task_names"]
        work = world.scenario.workload
        self.streams = {names.index(stream.name): stream for stream in (*work.campaigns, *work.users)
                        if stream.useScout and stream.name in names}
        self.changes = np.zeros(len(tasks), np.int64)
        self.measured = np.zeros(len(tasks), bool)
        self.jobs: dict[int, list] = {}                      # finished jobs, the values of NOTED
        self.merge_jobs: dict[int, list] = {}                # finished merge jobs of tasks that merge their output
        kinds = world.vocabularies["processing_types"]
        self.pmerge = kinds.index(PMERGE) if PMERGE in kinds else -1
        self.benchmarks = self._benchmarks()
        self.claims: dict[int, Task] = {}                    # these tasks on arrival
        self.assessed_s = np.full(len(tasks), -np.inf)
        self.next_update: dict[int, int] = {}                # finished jobs at which they are measured again
        self.record: Callable[[np.ndarray], None] = lambda rows: None
        self.forced: set[int] = set()                        # tasks for which avalanche was asked
        self.n_seen = 0                                      # rows of the outbox that were read
        if self.streams:
            fabric.watchers.append(self.watch)

    def renew(self, rows: np.ndarray) -> None:
        """Forget the tasks that were in some rows."""
        self.changes = renewed(self.world, self.changes, rows, 0)
        self.measured = renewed(self.world, self.measured, rows, False)
        self.assessed_s = renewed(self.world, self.assessed_s, rows, -np.inf)
        for row in rows.tolist():
            self._forget(row)

    def begin(self, row: int) -> None:
        """Start a task that is being refined with scouts if it uses them; a task under way at a filled start has had
        its scouts."""
        arrays, stream = self.world.arrays, self._stream(row)
        if stream is None or (self.world.scenario.start == "filled" and arrays.tasks[row]["arrival_s"] == 0):
            return
        task = observe.task(self.world, row)
        if rules.uses_scouts(stream.useScout, stream.skipScout, task.prodsourcelabel, bool(task.workinggroup)):
            set_scout_inputs(self.world, row, rules.N_SCOUTS * pieces_at_once(arrays, row))
            self.measured[row] = True
            self.jobs[row], self.merge_jobs[row], self.claims[row] = [], [], task

    def watch(self, rows: np.ndarray, times: np.ndarray) -> None:
        """Note attempts that have ended, before the outbox is emptied."""
        self._read(rows[self.n_seen:])
        self.n_seen = 0

    def assess(self, now: float) -> None:
        """Assess the tasks with news of their scouts, each at most every ten minutes."""
        if not self.jobs and not self.forced:
            return
        self._read_outbox()
        arrays, rows, is_due = self.world.arrays, np.empty(len(self.measured), np.int64), np.zeros_like(self.measured)
        is_due[[row for row, number in self.next_update.items()
                if len(self.jobs.get(row, ())) >= number and self.measured[row]]] = True
        rows = rows[:rules.find_news(arrays.tasks, arrays.scout_inputs, (self.measured, is_due),
                                     now - self.assessed_s, rows)]
        if not len(rows) and not self.forced:
            return
        rows = by_arrival(arrays, rows)
        names, tasks = ("status", "next_chunk", "n_finished", "n_failed"), arrays.tasks
        status, next_chunk, n_finished, n_failed = (tasks[name][rows] for name in names)
        scouts = arrays.scout_inputs[rows] > 0
        for row in rows[(status == T.READY) & scouts & (next_chunk > 0)].tolist():
            set_status(self.world, row, T.SCOUTING, now)            # a command had taken it out of scouting
        due = now - self.assessed_s[rows] >= rules.ASSESS_AGAIN_S
        any_ended = n_finished + n_failed > 0
        for row in rows[due & (status == T.SCOUTING) & any_ended].tolist():
            self.assessed_s[row] = now
            self._assess(row, now)
        for row in sorted(self.forced):
            if tasks["status"][row] == T.SCOUTING:
                self._assess(row, now, due=False)
        for row in rows[due & (status == T.RUNNING)].tolist():
            if self._is_due(row):
                self.assessed_s[row] = now
                self._take_over(row, self._jobs_of(row, self.jobs))
                self._expect_update(row, last=rules.TERMS[self.policies.edition].again_once)
        for row in rows[np.isin(status, TASK_ENDS) & ~scouts].tolist():
            self._forget(row)

    def judge_running(self, labels: Collection[str], now: float) -> None:
        """Measure running tasks of some labels that are due for it, and exhaust those that are far from their claims.

        Watchdogs do so in the deployed edition. One may come before the PostProcessor, which only measures.
        """
        least = rules.TERMS[self.policies.edition].watched_from
        if least is None or not self.next_update:
            return
        self._read_outbox()
        running = self.measured & (self.world.arrays.tasks["status"] == T.RUNNING)
        for row in by_arrival(self.world.arrays, np.flatnonzero(running)).tolist():
            if self._is_due(row) and len(self.jobs[row]) >= least and self.claims[row].prodsourcelabel in labels:
                reason = self._judge(row, self._verdict(row)[1])
                self._expect_update(row)
                if reason:
                    self.stop(row, reason, judged(True, exhausts=True), now)

    def _is_due(self, row: int) -> bool:
        """True if so many jobs of a task have finished that it is measured again."""
        return row in self.next_update and len(self.jobs[row]) >= self.next_update[row]

    def release(self, row: int) -> None:
        """Release all input of a task: the avalanche."""
        if self.world.arrays.scout_inputs[row]:
            set_scout_inputs(self.world, row, 0)
            self.changes[row] += 1
            self._expect_update(row)

    def measure_again(self, row: int) -> None:
        """Measure a task at the next cycle, unless it is no longer measured."""
        if row in self.jobs and row in self.claims:
            self.next_update[row] = 1

    def _benchmarks(self) -> dict[int, tuple[tuple[str, float], ...]]:
        """CPU benchmarks of the worker nodes of each queue that has any, in the deployed edition."""
        queues, names = self.world.scenario.grid.queues, self.world.vocabularies["queues"]
        if not measures.TERMS[self.policies.edition].by_benchmark:
            return {}
        return {names.index(name): ((queue.atlas_site, queue.cpu_benchmark),) for name, queue in queues.items()
                if queue.cpu_benchmark}

    def _read_outbox(self) -> None:
        """Keep the finished jobs that came to the outbox since it was last read."""
        n_done = int(self.world.state["n_done_jobs"])
        self._read(self.world.arrays.done_jobs[self.n_seen:n_done])
        self.n_seen = n_done

    def _read(self, rows: np.ndarray) -> None:
        """Keep the finished jobs of tasks that are measured, merge jobs apart; build jobs are left out."""
        if not len(rows):
            return
        of_scouts = self.measured[rows["task"]] & (rows["status"] == FINISHED)
        for kept, chosen in ((self.jobs, rows["n_chunks"] > 0),
                             (self.merge_jobs, (rows["n_chunks"] == 0) & (rows["processing_type"] == self.pmerge))):
            places = np.flatnonzero(of_scouts & chosen)
            for task, values in zip(rows["task"][places].tolist(), self._noted(rows, places), strict=True):
                kept[task].append(values)

    def _noted(self, rows: np.ndarray, places: np.ndarray) -> list[list[float]]:
        """Values of NOTED of the finished jobs at some places among rows."""
        noted = np.array([rows[name][places] for name in NOTED], float).T.tolist()
        for values, queue in zip(noted, rows["queue"][places].tolist() if self.benchmarks else (), strict=False):
            if benchmarks := self.benchmarks.get(queue):
                site, cores = self.world.arrays.queues["site"][queue], 1000.0 * values[CORES]
                values[HS06] = cores * measures.core_power(
                    benchmarks, self.world.vocabularies["sites"][site], values[HS06] / cores)
        return noted

    def force(self, row: int) -> None:
        """Note that avalanche was asked for; the task continues when its scouts are looked at."""
        self.forced.add(row)

    def _assess(self, row: int, now: float, due: bool = True) -> None:
        """Decide about a scouting task, or only measure it."""
        edition = self.policies.edition
        look = look_of(Progress(T.SCOUTING, datasets_of_task(self.world.arrays, row, mutable=False), due,
                                self._tried(row), bool(self.changes[row]) and not self._is_due(row),
                                row in self.forced), edition)
        low = False
        if look is not Look.FORCED and not self.jobs[row] and self.world.arrays.tasks["n_finished"][row]:
            return                                                   # they are not in the outbox yet
        if look in (Look.OVER, Look.EARLY, Look.FORCED):
            self._note_look(row, now)
        if look is Look.OVER or (look is Look.EARLY and rules.TERMS[edition].early_end):
            reason, low = self._verdict(row)
            if reason and not low:
                self.stop(row, reason, judged(False, exhausts=False), now)
                return
        if look is Look.FORCED and not self.jobs.get(row):
            self._continue(row, now)
        elif look in (Look.OVER, Look.EARLY, Look.FORCED):
            self._evaluate(row, low, now)
        elif look is Look.MEASURED and rules.TERMS[edition].before_end and self.jobs[row]:
            self._take_over(row, self._jobs_of(row, self.jobs))
            self.next_update[row] = rules.next_update(len(self.jobs[row]), edition) or NEVER

    def _note_look(self, row: int, now: float) -> None:
        """Record the scouts of a task that count when they are judged, and those of them that have finished."""
        tried = self._tried(row)
        counted = rules.counted(tried, self.policies.edition)
        number = self.world.arrays.tasks["jeditaskid"][row]
        self.record(np.array([(now, number, AVALANCHE, CHANGED.index("scouts"), True, counted, tried.finished)],
                             TASK_ACTIONS.dtype))

    def _verdict(self, row: int) -> tuple[str, bool]:
        """Why the scouts of a task so far break it, and whether they exhaust it instead."""
        return rules.verdict(self._tried(row), self._stream(row).scoutSuccessRate, self.claims[row].prodsourcelabel,
                             self.policies.cfg, self.policies.edition)

    def _tried(self, row: int) -> rules.Scouting:
        """Scouts so far: chunks (documented), or pairs of job and status of its files (deployed)."""
        task = self.world.arrays.tasks[row]
        state = rules.Scouting(int(inputs_to_use(self.world.arrays, row)), int(task["next_chunk"]),
                               int(task["n_finished"]), int(task["n_failed"]))
        if not rules.TERMS[self.policies.edition].of_made:
            return state
        arrays, finished = self.world.arrays, len(self.jobs.get(row, ()))
        again = len(set(waiting_retries(arrays, row)["old_panda_id"].tolist()))
        given_up = math.ceil(state.failed / pieces_at_once(arrays, row))
        made = int(arrays.tasks["n_alive"][row]) + finished + again + given_up
        return state._replace(made=made, finished=finished, failed=given_up)

    def _evaluate(self, row: int, low_success: bool, now: float) -> None:
        """Measure a task, and let it continue or exhaust it."""
        reason = self._judge(row, low_success)
        if reason:
            self.stop(row, reason, judged(True, exhausts=True), now)
        else:
            self._continue(row, now)

    def _judge(self, row: int, low_success: bool) -> str:
        """Measure a task and change its split rules if its jobs are short; returns why it is exhausted, if it is."""
        jobs, edition = self._jobs_of(row, self.jobs), self.policies.edition
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
        split = arrays.splitting[row]
        given = {name: split[name.lower()].item() for name in rules.SplitRules._fields[:-1]}
        said = rules.SplitRules(**given, minCpuEfficiency=self._stream(row).minCpuEfficiency)
        return said if is_cut(arrays, row) else said._replace(nFilesPerJob=pieces_at_once(arrays, row))

    def _input_of(self, row: int, jobs: measures.Jobs) -> rules.Input:
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
        number = rules.next_update(len(self.jobs.get(row, ())), self.policies.edition)
        if number is None or last:
            self._forget(row)
        else:
            self.next_update[row] = number

    def _take_over(self, row: int, jobs: measures.Jobs) -> measures.Measured:
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
        if self.merge_jobs[row]:
            walltime, memory = measures.measure_merging(self._jobs_of(row, self.merge_jobs), self.claims[row],
                                                        walltime_s_per_mib, self.policies.cfg, self.policies.edition)
            named = dict(mergewalltime=walltime, mergeramcount=memory)
            set_task(self.world, row, **{name: value for name, value in named.items() if value is not None})

    def _jobs_of(self, row: int, kept: dict[int, list]) -> measures.Jobs:
        """Finished jobs of a task with what its stream says that they report."""
        walltime_s, cputime_s, cores, hs06_milli, events, maxpss_mb, read, written, pieces = np.array(
            kept[row], float).reshape(-1, len(NOTED)).T
        stream, beside = self._stream(row), read * float(self.world.arrays.tasks["secondary_fraction"][row])
        diskio = self.claims[row].diskio if stream.disk_traffic is None else stream.disk_traffic
        return measures.Jobs(
            walltime_s, cputime_s, cores, hs06_milli * 1e-3, events, maxpss_mb,
            np.where(read > beside, (read - beside) / MIB, np.maximum(pieces, 1)), beside, written, written,
            np.ceil(diskio * walltime_s), *(np.full(len(read), float(said)) for said in (
                stream.memory_leak, stream.memory_leak_x2, stream.workDirSize)))

    def _stream(self, row: int):
        return self.streams.get(int(self.world.arrays.tasks["name"][row]))

    def _forget(self, row: int) -> None:
        """Stop measuring a task."""
        self.measured[row] = False
        self.forced.discard(row)
        for of in (self.jobs, self.merge_jobs, self.claims, self.next_update):
            of.pop(row, None)
