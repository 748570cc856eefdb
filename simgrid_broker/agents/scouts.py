"""Scouts at work: which tasks have them, what their jobs were, and what becomes of the task.

What lives here: `Scouts`, a watcher of ended attempts of tasks that are measured, which costs nothing where no task
uses scouts. What does not: measures and decisions (policy), how many jobs are made meanwhile (world, `inputs_to_use`).

Simplified: chunks of input stand for jobs where scouts are counted.
"""

import numpy as np

from simgrid_broker.names import TASK_ENDS, JobStatus, TaskStatus
from simgrid_broker.policy import scouts as rules
from simgrid_broker.schema.tasks import RAM_UNITS
from simgrid_broker.world.input_files import inputs_to_use, is_cut, pieces_at_once
from simgrid_broker.world.task_transitions import set_status

FINISHED = int(JobStatus.FINISHED)
T = TaskStatus
NEVER = np.iinfo(np.int32).max
MOST_FILES = 200
"""Most files of a job of a task whose rules of splitting were taken away; source: lifecycle reference, section 2.7."""


class Scouts:
    """Tasks that scout or have scouted; `changes`, (n_tasks,), counts how often a task's figures were changed here."""

    def __init__(self, control):
        self.control = control
        world = control.world
        tasks, names = world.arrays.tasks, world.vocabularies["task_names"]
        work = world.scenario.workload
        self.streams = {names.index(stream.name): stream for stream in (*work.campaigns, *work.users)
                        if stream.useScout and stream.name in names}
        self.changes = [0] * len(tasks)
        self.measured = np.zeros(len(tasks), bool)
        self.jobs: dict[int, list] = {}                      # these jobs, as `policy.scouts.Jobs`
        self.claims: dict[int, rules.Claims] = {}            # what these tasks asked for at first
        self.assessed_s = np.full(len(tasks), -np.inf)
        self.n_finished = np.zeros(len(tasks), np.int32)     # finished jobs of the tasks that are measured
        self.next_update = np.full(len(tasks), NEVER, np.int32)      # how many it takes to measure again
        self.n_seen = 0                                      # rows of the outbox that were read
        if self.streams and control.fabric is not None:
            control.fabric.watchers.append(self.watch)

    def begin(self, row: int) -> None:
        """Let a task that is refined begin with scouts if it uses them."""
        world = self.control.world
        task = world.arrays.tasks[row]
        stream = self.streams.get(int(task["name"]))
        if stream is None or not rules.uses_scouts(
                stream.useScout, stream.skipScout, world.vocabularies["labels"][task["label"]],
                bool(world.vocabularies["working_groups"][task["working_group"]])):
            return
        world.arrays.scout_inputs[row] = rules.N_SCOUTS * pieces_at_once(world.arrays, row)
        self.measured[row] = True
        self.jobs[row], self.claims[row] = [], self._claims(row)

    def watch(self, rows: np.ndarray, times: np.ndarray) -> None:
        """Enter attempts that have ended, before the outbox is emptied."""
        self._read(rows[self.n_seen:])
        self.n_seen = 0

    def assess(self) -> None:
        """Look at the tasks whose scouts may tell something, each at most every ten minutes."""
        if not self.jobs:
            return
        rows = np.flatnonzero(self.measured)
        control, arrays, n_done = self.control, self.control.world.arrays, int(self.control.world.state["n_done_jobs"])
        self._read(arrays.done_jobs[self.n_seen:n_done])
        self.n_seen = n_done
        of = arrays.tasks[rows]
        scouts = arrays.scout_inputs[rows] > 0
        for row in rows[(of["status"] == T.READY) & scouts & (of["next_chunk"] > 0)].tolist():
            set_status(control.world, row, T.SCOUTING, control.now)          # it was taken from where it was
        due = control.now - self.assessed_s[rows] >= rules.ASSESS_AGAIN_S
        tells = of["n_finished"] + of["n_failed"] > 0
        for row in rows[due & (of["status"] == T.SCOUTING) & tells].tolist():
            self.assessed_s[row] = control.now
            self._assess(row)
        for row in rows[due & (of["status"] == T.RUNNING) & (self.n_finished[rows] >= self.next_update[rows])].tolist():
            self.assessed_s[row] = control.now
            self._update(row)
        for row in rows[np.isin(of["status"], TASK_ENDS) & ~scouts].tolist():
            self._forget(row)

    def let_go(self, row: int) -> None:
        """Let all input of a task be used: the avalanche."""
        if self.control.world.arrays.scout_inputs[row]:
            self.control.world.arrays.scout_inputs[row] = 0
            self.changes[row] += 1
            self._expect_update(row)

    def _read(self, rows: np.ndarray) -> None:
        """Keep the finished jobs of tasks that are measured; merge jobs, which have no input of their own, are none."""
        wanted = rows[self.measured[rows["task"]] & (rows["status"] == FINISHED) & (rows["n_chunks"] > 0)]
        np.add.at(self.n_finished, wanted["task"], 1)
        for job in wanted:
            self.jobs[int(job["task"])].append(
                (job["walltime_s"], job["cputime_s"], job["corecount"], job["hs06_milli"] * 1e-3, job["n_events"],
                 job["maxpss_mb"], job["input_bytes"], job["output_bytes"]))

    def _assess(self, row: int) -> None:
        """Decide about a scouting task, or only measure it."""
        control, task = self.control, self.control.world.arrays.tasks[row]
        state = rules.Scouting(int(inputs_to_use(control.world.arrays, row)), int(task["next_chunk"]),
                               int(task["n_finished"]), int(task["n_failed"]))
        over = state.finished + state.failed >= state.scouts
        if rules.enough_finished(state, control.edition):
            self._evaluate(row)
        elif over:
            stream = self.streams[int(task["name"])]
            reason, exhausts = rules.verdict(state, stream.scoutSuccessRate, self._label(row), control.cfg,
                                             control.edition)
            if reason:
                self._stop(row, reason, T.EXHAUSTED if exhausts else T.TOBROKEN)
            else:
                self._evaluate(row)
        elif control.edition == "deployed" and self.jobs[row]:
            self._take_over(row)

    def _evaluate(self, row: int) -> None:
        """Measure a task, and let it go on or exhaust it."""
        control, task = self.control, self.control.world.arrays.tasks[row]
        jobs, claims = self._jobs_of(row), self.claims[row]
        if not len(jobs.walltime_s):                                 # they are not in the outbox yet
            return
        found, label = self._take_over(row), self._label(row)
        new_jobs = (int(task["n_jobs"]) - int(task["next_chunk"])) / pieces_at_once(control.world.arrays, row)
        reason = rules.exhausted(jobs, claims, found, new_jobs, label, control.cfg, control.edition)
        if rules.splits_anew(jobs, new_jobs, label, control.cfg, control.edition):
            split = control.world.arrays.splitting[row]
            split["nfilesperjob"], split["ngbperjob"], split["nmaxfilesperjob"] = 0, 0, MOST_FILES
        if reason:
            self._stop(row, reason, T.EXHAUSTED)
        else:
            self.let_go(row)
            set_status(control.world, row, T.SCOUTED, control.now)

    def _stop(self, row: int, reason: str, status: TaskStatus) -> None:
        """Exhaust or break a task; one that is retried after it was exhausted uses all of its input."""
        control, tasks = self.control, self.control.world.arrays.tasks
        tasks["errordialog"][row] = control.tag_code(reason)
        if status is T.EXHAUSTED:
            tasks["old_status"][row] = T.SCOUTING
            self.let_go(row)
        else:
            self._forget(row)
        set_status(control.world, row, status, control.now)

    def _update(self, row: int) -> None:
        """Measure a task at work again."""
        self._take_over(row)
        self._expect_update(row, last=self.control.edition == "documented")

    def _expect_update(self, row: int, last: bool = False) -> None:
        """Note when to measure a task at work again, or that there is nothing to wait for."""
        before = int(self.n_finished[row])
        number = rules.next_update(before, self.control.edition)
        if number is None or last:
            self._forget(row)
        else:
            self.next_update[row] = number

    def _take_over(self, row: int) -> rules.Measured:
        """Replace what a task claims by what was measured; jobs that are there keep what they asked for."""
        control, arrays = self.control, self.control.world.arrays
        task = arrays.tasks[row]
        found = rules.measure(self._jobs_of(row), self.claims[row], control.cfg, control.edition)
        if found.cputime is not None:
            task["cputime"], task["walltime_s_per_mib"] = found.cputime, 0
        elif task["walltime_s_per_mib"]:
            task["walltime_s_per_mib"] = found.walltime_s_per_mib
        if found.ramcount is not None:
            task["ramcount"] = found.ramcount
            control.retry_module.set_resource_type(task)
        task["iointensity"], task["diskio"] = found.iointensity, found.diskio
        if found.output_bytes is not None and is_cut(arrays, row):   # elsewhere the claim is what jobs write
            task["output_bytes_per_job"] = found.output_bytes * task["n_events_per_job"]
        self.changes[row] += 1
        return found

    def _jobs_of(self, row: int) -> rules.Jobs:
        return rules.Jobs(*np.array(self.jobs[row], float).reshape(-1, len(rules.Jobs._fields)).T)

    def _claims(self, row: int) -> rules.Claims:
        """What a task asks for now."""
        task = self.control.world.arrays.tasks[row]
        named = {name: float(task[name]) for name in ("cputime", "ramcount", "baseramcount", "cpuefficiency",
                                                      "basewalltime_s", "diskio", "walltime_s_per_mib")}
        return rules.Claims(**named, ramunit=RAM_UNITS[task["ramunit"]],
                            has_input=bool(task["input_bytes_per_job"] > 0),
                            min_cpu_efficiency=self.streams[int(task["name"])].minCpuEfficiency)

    def _label(self, row: int) -> str:
        return self.control.world.vocabularies["labels"][self.control.world.arrays.tasks["label"][row]]

    def _forget(self, row: int) -> None:
        """Measure a task no more."""
        self.measured[row] = False
        for book in (self.jobs, self.claims):
            book.pop(row, None)
