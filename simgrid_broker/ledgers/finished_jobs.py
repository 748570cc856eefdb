"""The tasks that are measured: their finished jobs, and which of them have news of their scouts."""

import numpy as np

from simgrid_broker.bundle import Bundle
from simgrid_broker.compiled import compiled
from simgrid_broker.compiled.columns import copy_columns
from simgrid_broker.names import TASK_ENDS, JobStatus, TaskStatus
from simgrid_broker.policy.tasks.ends import Look, awaits_jobs, look_of
from simgrid_broker.policy.tasks.measures import ALL_JOBS, JOB, put_in_order
from simgrid_broker.policy.tasks.scouts import ASSESS_AGAIN_S, counted
from simgrid_broker.units import MIB
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.data.datasets import usable_pieces
from simgrid_broker.world.tasks.input_files import inputs_to_use, pieces_at_once, reads_container, staged_inputs
from simgrid_broker.world.tasks.rows import by_arrival, renewed
from simgrid_broker.world.world import World

FINISHED = int(JobStatus.FINISHED)
READY, SCOUTING, RUNNING = int(TaskStatus.READY), int(TaskStatus.SCOUTING), int(TaskStatus.RUNNING)
IS_END = np.isin(np.arange(len(TaskStatus)), TASK_ENDS)
NONE, FORCED = int(Look.NONE), int(Look.FORCED)
RESUMED, UPDATE, ENDED = range(len(Look), len(Look) + 3)
"""News in addition to those of a look: a command had taken the task out of scouting, it runs and is measured again, or
it is over and no scouts are left."""
ON_INPUT, MERGING = 0, 1
"""Lists of a task: jobs on its input, and merge jobs."""
FIELDS = JOB.names

REPORT = [("disk_traffic", "f8"), ("memory_leak", "f8"), ("memory_leak_x2", "f8"), ("workdir_mb", "f8")]
"""Report that is the same for all jobs of a task: traffic in kB/s, the rest as in `measures.JOB`."""
MEASURED_TASK = np.dtype([("is_measured", "?"), ("is_forced", "?"), ("assessed_s", "f8"), ("next_update", "i8"),
                          *REPORT])
"""A task that is or was measured.

is_forced: avalanche was asked for; assessed_s: when its scouts were assessed, -inf = never; next_update: finished jobs
at which it is measured again.
"""
BLANK = np.array((False, False, -np.inf, ALL_JOBS, *(0.0 for _ in REPORT)), MEASURED_TASK)
LIST = np.dtype([("first", "i8"), ("last", "i8"), ("number", "i8")])
"""The jobs of a task in the order of their ends: rows of the first and the last, and how many there are."""
KEPT = np.dtype([*JOB.descr, ("next", "i8")])
"""A job, and the row of the next one of its list, or of the next free row."""


class Tables(Bundle):
    """Tasks, their lists and jobs.

    changes: how often the figures of each task were replaced; power: HS06 per core by the benchmark of each queue, 0 =
    as the job says.
    """

    tasks: np.ndarray              # (n_tasks,) of MEASURED_TASK
    changes: np.ndarray            # (n_tasks,)
    lists: np.ndarray              # (n_tasks, 2) of LIST
    jobs: np.ndarray               # of KEPT
    free: np.ndarray               # (2,), first free row of `jobs`, and number of free rows
    power: np.ndarray              # (n_queues,)


class FinishedJobs:
    """Finished jobs of the tasks that are measured; pmerge: processing type of merge jobs, -1 = there are none."""

    def __init__(self, world: World, power: np.ndarray, pmerge: int):
        n_tasks, self.world, self.pmerge = len(world.arrays.tasks), world, pmerge
        self.n_seen = 0                                      # rows of the outbox that were read
        self.tables = Tables(
            tasks=np.full(n_tasks, BLANK), changes=np.zeros(n_tasks, np.int64), lists=np.zeros((n_tasks, 2), LIST),
            jobs=np.zeros(0, KEPT), free=np.zeros(2, np.int64), power=power)

    @property
    def tasks(self) -> np.ndarray:
        """The tasks by row, (n_tasks,) of MEASURED_TASK."""
        return self.tables.tasks

    def renew(self, rows: np.ndarray) -> None:
        """Forget the tasks that were in some rows."""
        for row in rows[rows < len(self.tasks)].tolist():
            self.forget(row)
        blanks: dict[str, float | np.ndarray] = dict(tasks=BLANK, changes=0, lists=np.zeros((), LIST))
        self.tables = self.tables.with_arrays(**{
            name: renewed(self.world, getattr(self.tables, name), rows, blank) for name, blank in blanks.items()})

    def begin(self, row: int, report: tuple[float, ...]) -> None:
        """Measure a task from now on; report: what its jobs report, in the order of REPORT."""
        task = self.tasks[row]
        task["is_measured"] = True
        for (name, _), value in zip(REPORT, report, strict=True):
            task[name] = value

    def forget(self, row: int) -> None:
        """Stop measuring a task."""
        task = self.tasks[row]
        task["is_measured"], task["is_forced"], task["next_update"] = False, False, ALL_JOBS
        free_jobs(self.tables, row)

    def watch(self, rows: np.ndarray, times: np.ndarray) -> None:
        """Keep finished attempts before the outbox is emptied."""
        self.keep(rows[self.n_seen:])
        self.n_seen = 0

    def read_outbox(self) -> None:
        """Keep the finished jobs that came to the outbox since it was last read."""
        n_done = self.world.arrays.state["n_done_jobs"].item()
        self.keep(self.world.arrays.done_jobs[self.n_seen:n_done])
        self.n_seen = n_done

    def keep(self, rows: np.ndarray) -> None:
        """Keep the finished jobs of tasks that are measured."""
        if len(rows):
            self._make_room(len(rows))
            keep_finished(self.world.arrays, self.tables, rows, self.pmerge)

    def _make_room(self, n: int) -> None:
        """Free at least `n` rows."""
        jobs, (first, number) = self.tables.jobs, self.tables.free.tolist()
        if number < n:
            more = np.zeros(n + len(jobs), KEPT)
            more["next"] = np.arange(len(jobs), len(jobs) + len(more)) + 1
            more["next"][-1] = first
            self.tables.free[:] = len(jobs), number + len(more)
            self.tables = self.tables.with_arrays(jobs=np.concatenate([jobs, more]))

    def number(self, row: int, of: int = ON_INPUT) -> int:
        """Number of the finished jobs of a task."""
        return int(self.tables.lists["number"][row, of])

    def jobs_of(self, row: int, of: int = ON_INPUT) -> np.ndarray:
        """Finished jobs of a task in the order of their ends, (n,) of `measures.JOB`."""
        jobs = np.empty(self.number(row, of), JOB)
        copy_jobs(self.tables, row, of, jobs)
        return jobs

    def progress(self, row: int, of_made: bool) -> tuple[int, int, int, int]:
        """Progress of the scouts of a task, as in `scouts.Scouting`; of_made: in jobs, otherwise in chunks."""
        ids = np.empty(int(self.world.arrays.tasks["n_retry"][row]), np.int64)
        return progress_of(self.world.arrays, row, self.number(row), of_made, ids)

    def news(self, of_made: bool, now: float) -> tuple[np.ndarray, np.ndarray]:
        """Rows of the tasks with news of their scouts in order of arrival, and the news, (n,) each; those are assessed
        that were not for ten minutes."""
        rows, news = np.empty((2, len(self.tasks)), np.int64)
        ids = np.empty(len(self.world.arrays.retries), np.int64)
        n = find_news(self.world.arrays, self.tables, of_made, now, ids, rows, news)
        rows = by_arrival(self.world.arrays, rows[:n])
        return rows, news[rows]

    def look(self, row: int, of_made: bool) -> int:
        """Look that the PostProcessor takes at a scouting task that it has assessed within ten minutes."""
        ids = np.empty(int(self.world.arrays.tasks["n_retry"][row]), np.int64)
        return look_at(self.world.arrays, self.tables, row, of_made, False, ids)

    def due(self, least: int) -> np.ndarray:
        """Rows of the running tasks that are measured again, with at least so many finished jobs."""
        rows = np.empty(len(self.tasks), np.int64)
        return rows[:find_due(self.world.statuses, self.tables, least, rows)]


@compiled
def keep_finished(world: Arrays, of: Tables, rows, pmerge):
    """Keep the finished jobs of tasks that are measured among ended ones, merge jobs apart; build jobs are left out."""
    for k in range(len(rows)):
        job = rows[k]
        if job["status"] == FINISHED and of.tasks[job["task"]]["is_measured"]:
            if job["n_chunks"] > 0:
                fill_job(world, of, job, append(of, job["task"], ON_INPUT))
            elif job["n_chunks"] == 0 and job["processing_type"] == pmerge:
                fill_job(world, of, job, append(of, job["task"], MERGING))


@compiled
def append(of: Tables, task_row, which):
    """Row of a new job at the end of a list of a task."""
    row, jobs = of.free[0], of.lists[task_row, which]
    of.free[0], of.free[1] = of.jobs[row]["next"], of.free[1] - 1
    if jobs["number"] == 0:
        jobs["first"] = row
    else:
        of.jobs[jobs["last"]]["next"] = row
    jobs["last"] = row
    jobs["number"] += 1
    return row


@compiled
def free_jobs(of: Tables, task_row):
    """Release the jobs of a task."""
    for which in range(2):
        jobs = of.lists[task_row, which]
        if jobs["number"] > 0:
            of.jobs[jobs["last"]]["next"] = of.free[0]
            of.free[0], of.free[1] = jobs["first"], of.free[1] + jobs["number"]
            jobs["number"] = 0


@compiled
def fill_job(world: Arrays, of: Tables, job, row):
    """Note a finished job with what all jobs of its task report; one without input counts its pieces as MiB."""
    kept, task = of.jobs[row], of.tasks[job["task"]]
    read, power, walltime_s = job["input_bytes"], of.power[job["queue"]], np.float64(job["walltime_s"])
    beside = read * world.tasks[job["task"]]["secondary_fraction"]
    kept["walltime_s"], kept["cputime_s"], kept["corecount"] = walltime_s, job["cputime_s"], job["corecount"]
    kept["hs06"] = (1000.0 * job["corecount"] * power if power > 0 else np.float64(job["hs06_milli"])) * 1e-3
    kept["n_events"], kept["maxpss_mb"], kept["beside_bytes"] = job["n_events"], job["maxpss_mb"], beside
    kept["input_mib"] = (read - beside) / MIB if read > beside else np.float64(max(job["n_chunks"], 1))
    kept["output_bytes"] = kept["largest_output_bytes"] = job["output_bytes"]
    kept["disk_kb"], kept["workdir_mb"] = np.ceil(task["disk_traffic"] * walltime_s), task["workdir_mb"]
    kept["memory_leak"], kept["memory_leak_x2"] = task["memory_leak"], task["memory_leak_x2"]


@compiled
def copy_jobs(of: Tables, task_row, which, jobs):
    """Copy the jobs of a list of a task, as many as there are, to `jobs`, of JOB."""
    row = of.lists[task_row, which]["first"]
    for k in range(len(jobs)):
        copy_columns(of.jobs[row], jobs[k], FIELDS)
        row = of.jobs[row]["next"]


@compiled
def progress_of(world: Arrays, task_row, n_finished, of_made, ids):
    """Scouts of a task, and how many were made, have finished and were given up, in chunks or pairs of job and status.

    n_finished: jobs; ids: at least as long as the retries of the task, to work with.
    """
    task, scouts = world.tasks[task_row], np.int64(inputs_to_use(world, task_row))
    n_failed = np.int64(task["n_failed"])
    if not of_made:
        return scouts, np.int64(task["next_chunk"]), np.int64(task["n_finished"]), n_failed
    given_up = -(-n_failed // pieces_at_once(world, task_row))
    made = task["n_alive"] + n_finished + count_retried(world, task_row, ids) + given_up
    return scouts, np.int64(made), np.int64(n_finished), given_up


@compiled
def count_retried(world: Arrays, task_row, ids):
    """Number of the jobs whose pieces await another attempt."""
    n = 0
    for level in range(world.ram_levels.shape[1] if world.tasks[task_row]["n_retry"] > 0 else 0):
        row = world.ram_levels[task_row, level]["head"]
        while row >= 0:
            ids[n] = world.retries[row]["old_panda_id"]
            n, row = n + 1, world.retries[row]["next"]
    put_in_order(ids, n)
    different = min(n, 1)
    for k in range(1, n):
        different += ids[k] != ids[k - 1]
    return different


@compiled
def find_news(world: Arrays, of: Tables, of_made, now, ids, rows, news):
    """Write the rows of the tasks with news of their scouts to `rows`, and the news to `news`, (n_tasks,).

    Returns their number, and notes which are assessed.
    """
    n = 0
    for row in range(len(of.tasks)):
        if of.tasks[row]["is_measured"]:
            rows[n], news[row] = row, news_of(world, of, row, of_made, now, ids)
            n += news[row] != NONE
    return n


@compiled
def news_of(world: Arrays, of: Tables, row, of_made, now, ids):
    """News of the scouts of a measured task; it is assessed at most every ten minutes."""
    task, status, has_scouts = world.tasks[row], world.tasks[row]["status"], world.scout_inputs[row] > 0
    if status == READY and has_scouts and task["next_chunk"] > 0:
        return RESUMED
    if IS_END[status] and not has_scouts:
        return ENDED
    if now - of.tasks[row]["assessed_s"] < ASSESS_AGAIN_S:
        return NONE
    if status == SCOUTING and task["n_finished"] + task["n_failed"] > 0:
        of.tasks[row]["assessed_s"] = now
        return look_at(world, of, row, of_made, True, ids)
    if status == RUNNING and is_due(of, row):
        of.tasks[row]["assessed_s"] = now
        return UPDATE
    return NONE


@compiled
def is_due(of: Tables, row):
    """True if so many jobs of a task have finished that it is measured again."""
    return of.lists[row, ON_INPUT]["number"] >= of.tasks[row]["next_update"]


@compiled
def look_at(world: Arrays, of: Tables, row, of_made, due, ids):
    """Look that the PostProcessor takes at a scouting task; none while its finished jobs are not in the outbox yet."""
    task, n_finished = of.tasks[row], of.lists[row, ON_INPUT]["number"]
    scouts, made, finished, _ = progress_of(world, row, n_finished, of_made, ids)
    look = look_of(world.tasks[row]["status"], nothing_left(world, row), due, finished, counted(scouts, made, of_made),
                   of.changes[row] > 0 and not is_due(of, row), task["is_forced"])
    waits = n_finished == 0 and world.tasks[row]["n_finished"] > 0
    return NONE if waits and look != FORCED else look


@compiled
def nothing_left(world: Arrays, task_row):
    """True if no input of a task that may be used awaits a job or its end, of a container that of no dataset."""
    task = world.tasks[task_row]
    if not reads_container(world, task_row):
        return not awaits_jobs(staged_inputs(world, task_row), task["next_chunk"], task["n_finished"], task["n_failed"])
    container, left = world.containers[task_row], np.int64(inputs_to_use(world, task_row)) - task["next_chunk"]
    for row in range(container["first"], container["first"] + container["number"]):
        member = world.members[row]
        usable = usable_pieces(member["n_pieces"], member["used"], left)
        left -= usable - member["used"]
        if awaits_jobs(usable, member["used"], member["n_finished"], member["n_failed"]):
            return False
    return True


@compiled
def find_due(statuses, of: Tables, least, rows):
    """Write the rows of the running tasks that are due, with at least so many finished jobs, to `rows`; returns how
    many there are."""
    n = 0
    for row in range(len(of.tasks)):
        if (of.tasks[row]["is_measured"] and statuses[row] == RUNNING and is_due(of, row)
                and of.lists[row, ON_INPUT]["number"] >= least):
            rows[n] = row
            n += 1
    return n
