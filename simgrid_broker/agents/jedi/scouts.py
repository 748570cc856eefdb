"""Scouts: measures tasks with their first chunks of input (JEDI: jobs); continues, exhausts or breaks them."""

import math

import numpy as np

from simgrid_broker.agents.panda.retry_module import RetryModule
from simgrid_broker.fabric.fabric import Fabric
from simgrid_broker.fabric.jobs.effects import waiting_retries
from simgrid_broker.names import TASK_ENDS, JobStatus, TaskStatus
from simgrid_broker.policy.tasks import scouts as rules
from simgrid_broker.policy.tasks.progress import Look, Progress, judged, look_of
from simgrid_broker.turns.policies import Policies
from simgrid_broker.views import Task
from simgrid_broker.world.columns import return_to, set_reason, set_scout_inputs, set_task, split_by_files
from simgrid_broker.world.tasks.datasets import datasets_of_task
from simgrid_broker.world.tasks.input_files import inputs_to_use, is_cut, jobs_to_come, pieces_at_once
from simgrid_broker.world.tasks.rows import by_arrival, renewed
from simgrid_broker.world.tasks.transitions import set_status
from simgrid_broker.world.views import observe
from simgrid_broker.world.world import World

FINISHED = int(JobStatus.FINISHED)
T = TaskStatus
MOST_FILES = 200
"""Limit of files in a job of a task whose own splitting was withdrawn; source: lifecycle reference, section 2.7."""


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
        self.jobs: dict[int, list] = {}                      # finished jobs, as `policy.tasks.scouts.Jobs`
        self.claims: dict[int, Task] = {}                    # these tasks on arrival
        self.assessed_s = np.full(len(tasks), -np.inf)
        self.next_update: dict[int, int] = {}                # finished jobs at which they are measured again
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
        """Start a task that is being refined with scouts if it uses them."""
        arrays, stream = self.world.arrays, self._stream(row)
        if stream is None:
            return
        task = observe.task(self.world, row)
        if rules.uses_scouts(stream.useScout, stream.skipScout, task.prodsourcelabel, bool(task.workinggroup)):
            set_scout_inputs(self.world, row, rules.N_SCOUTS * pieces_at_once(arrays, row))
            self.measured[row] = True
            self.jobs[row], self.claims[row] = [], task

    def watch(self, rows: np.ndarray, times: np.ndarray) -> None:
        """Note attempts that have ended, before the outbox is emptied."""
        self._read(rows[self.n_seen:])
        self.n_seen = 0

    def assess(self, now: float) -> None:
        """Assess the tasks with news of their scouts, each at most every ten minutes."""
        if not self.jobs and not self.forced:
            return
        rows = by_arrival(self.world.arrays, np.flatnonzero(self.measured))
        arrays, n_done = self.world.arrays, int(self.world.state["n_done_jobs"])
        self._read(arrays.done_jobs[self.n_seen:n_done])
        self.n_seen = n_done
        of = arrays.tasks[rows]
        scouts = arrays.scout_inputs[rows] > 0
        for row in rows[(of["status"] == T.READY) & scouts & (of["next_chunk"] > 0)].tolist():
            set_status(self.world, row, T.SCOUTING, now)            # a command had taken it out of scouting
        due = now - self.assessed_s[rows] >= rules.ASSESS_AGAIN_S
        any_ended = of["n_finished"] + of["n_failed"] > 0
        for row in rows[due & (of["status"] == T.SCOUTING) & any_ended].tolist():
            self.assessed_s[row] = now
            self._assess(row, now)
        for row in sorted(self.forced):
            if arrays.tasks["status"][row] == T.SCOUTING:
                self._assess(row, now, due=False)
        for row in rows[due & (of["status"] == T.RUNNING)].tolist():
            if row in self.next_update and len(self.jobs[row]) >= self.next_update[row]:
                self.assessed_s[row] = now
                self._take_over(row)
                self._expect_update(row, last=rules.TERMS[self.policies.edition].again_once)
        for row in rows[np.isin(of["status"], TASK_ENDS) & ~scouts].tolist():
            self._forget(row)

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

    def _read(self, rows: np.ndarray) -> None:
        """Keep the finished jobs of tasks that are measured; merge jobs, which have no own input, are left out."""
        wanted = rows[self.measured[rows["task"]] & (rows["status"] == FINISHED) & (rows["n_chunks"] > 0)]
        for job in wanted:
            self.jobs[int(job["task"])].append(
                (job["walltime_s"], job["cputime_s"], job["corecount"], job["hs06_milli"] * 1e-3, job["n_events"],
                 job["maxpss_mb"], job["input_bytes"], job["output_bytes"]))

    def force(self, row: int) -> None:
        """Note that avalanche was asked for; the task continues when its scouts are looked at."""
        self.forced.add(row)

    def _assess(self, row: int, now: float, due: bool = True) -> None:
        """Decide about a scouting task, or only measure it."""
        task, edition = self.world.arrays.tasks[row], self.policies.edition
        state = rules.Scouting(int(inputs_to_use(self.world.arrays, row)), int(task["next_chunk"]),
                               int(task["n_finished"]), int(task["n_failed"]))
        look = look_of(Progress(T.SCOUTING, datasets_of_task(self.world.arrays, row, mutable=False), due,
                                self._tried(row, state), bool(self.changes[row]), row in self.forced), edition)
        if look is Look.OVER:
            reason, exhausts = rules.verdict(state, self._stream(row).scoutSuccessRate,
                                             self.claims[row].prodsourcelabel, self.policies.cfg, edition)
            if reason:
                self.stop(row, reason, judged(exhausts, exhausts), now)
                return
        if look is Look.FORCED and not self.jobs.get(row):
            self._continue(row, now)
        elif look in (Look.OVER, Look.EARLY, Look.FORCED):
            self._evaluate(row, now)
        elif look is Look.MEASURED and rules.TERMS[edition].before_end and self.jobs[row]:
            self._take_over(row)

    def _tried(self, row: int, state: rules.Scouting) -> rules.Scouting:
        """Scouts so far: chunks (documented), or pairs of job and status of its files (deployed)."""
        if not rules.TERMS[self.policies.edition].of_made:
            return state
        arrays, finished = self.world.arrays, len(self.jobs.get(row, ()))
        again = len(set(waiting_retries(arrays, row)["old_panda_id"].tolist()))
        given_up = math.ceil(state.failed / pieces_at_once(arrays, row))
        made = int(arrays.tasks["n_alive"][row]) + finished + again + given_up
        return state._replace(made=made, finished=finished)

    def _evaluate(self, row: int, now: float) -> None:
        """Measure a task, and let it continue or exhaust it."""
        cfg, edition = self.policies.cfg, self.policies.edition
        jobs, claims, new_jobs = self._jobs_of(row), self.claims[row], jobs_to_come(self.world.arrays, row)
        if not len(jobs.walltime_s):                                 # they are not in the outbox yet
            return
        found = self._take_over(row)
        reason = rules.exhausted(jobs, claims, found, new_jobs, self._stream(row).minCpuEfficiency, cfg, edition)
        if rules.withdraws_split_rules(jobs, new_jobs, claims.prodsourcelabel, cfg, edition):
            split_by_files(self.world, row, MOST_FILES)
        if reason:
            self.stop(row, reason, judged(True, exhausts=True), now)
        else:
            self._continue(row, now)

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

    def _take_over(self, row: int) -> rules.Measured:
        """Replace the claims of a task by its measures; existing jobs keep their requests."""
        task, policies = self.world.arrays.tasks[row], self.policies
        found = rules.measure(self._jobs_of(row), self.claims[row], policies.cfg, policies.edition)
        claims = rules.new_claims(found)
        if found.output_bytes is not None and is_cut(self.world.arrays, row):    # elsewhere jobs write what is claimed
            claims["output_bytes_per_job"] = found.output_bytes * task["n_events_per_job"]
        set_task(self.world, row, **claims)
        if found.ramcount is not None:
            self.retry_module.set_memory(row, found.ramcount)
        self.changes[row] += 1
        return found

    def _jobs_of(self, row: int) -> rules.Jobs:
        return rules.Jobs(*np.array(self.jobs[row], float).reshape(-1, len(rules.Jobs._fields)).T)

    def _stream(self, row: int):
        return self.streams.get(int(self.world.arrays.tasks["name"][row]))

    def _forget(self, row: int) -> None:
        """Stop measuring a task."""
        self.measured[row] = False
        self.forced.discard(row)
        for of in (self.jobs, self.claims, self.next_update):
            of.pop(row, None)
