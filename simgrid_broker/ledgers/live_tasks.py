"""The tasks that have arrived and are not over, the rows that agents look through; their history beyond these rows:
pieces of input that were given up, HEP-score hours, CPU efficiencies; and commands to tasks, from when they are
given until the TaskCommando takes them up, with their results."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.fabric.fabric import Fabric
from simgrid_broker.fabric.jobs.effects import GIVEN_UP, jobs_of, waiting_retries
from simgrid_broker.names import MOST_ATTEMPTS, TASK_ENDS, Cause, JobStatus, TaskStatus
from simgrid_broker.policy.tasks.commands import Past, asks_for_history, limit_after_retry, median_or_nan, part_of
from simgrid_broker.policy.tasks.measures import cpu_efficiency
from simgrid_broker.units import HOUR
from simgrid_broker.world.tasks.rows import by_arrival, renewed
from simgrid_broker.world.world import World

NEVER = -1, np.zeros(0, np.int64)
"""A list that includes no changes."""


class LiveTasks:
    """Rows of the live tasks in order of arrival.

    lists: by statuses, with the changes that they include; on_arrival: to call when there are more, or a command.
    """

    def __init__(self, world: World):
        self.world = world
        self.rows = np.zeros(0, np.int64)
        self.lists: dict[tuple[int, ...], tuple[int, np.ndarray]] = {}
        self.on_arrival: Callable[[], None] = lambda: None

    def add(self, rows: Iterable[int]) -> None:
        """Append tasks that arrive."""
        new = np.asarray(rows, np.int64)
        self.rows = np.concatenate([self.rows, new])
        self._note(new)
        self.on_arrival()

    def bring_back(self, row: int) -> None:
        """Put a task that was over back in its old place."""
        if row not in self.rows:
            self.rows = np.insert(self.rows, np.searchsorted(self.rows, row), row)
            self._note(np.array([row]))
            self.on_arrival()

    def remove(self, rows: Iterable[int]) -> None:
        """Remove tasks that are over."""
        gone = np.asarray(rows, np.int64)
        over = np.zeros(len(self.world.arrays.tasks), bool)
        over[gone] = True
        self.rows = self.rows[~over[self.rows]]
        self._note(gone)

    def _note(self, rows: np.ndarray) -> None:
        """Note that tasks were added or removed, which changes the lists of their statuses only."""
        for status in self.world.statuses[rows].tolist():
            self.world.status_changes[status] += 1

    def moves(self, *statuses: int) -> int:
        """Count of moves into and out of these statuses, and of live tasks in them that were added or removed."""
        return sum(map(self.world.status_changes.__getitem__, statuses))

    def in_status(self, *statuses: int) -> np.ndarray:
        """Rows of the live tasks in any of these statuses; found again when a task has entered or left one of them."""
        moves = self.moves(*statuses)
        known, found = self.lists.get(statuses, NEVER)
        if known != moves:
            found = np.empty_like(self.rows)
            found = found[:find_in_status(self.world.statuses, self.rows, _wanted(statuses), found)]
            self.lists[statuses] = moves, found
        return found


@compiled
def find_in_status(statuses, rows, wanted, found):
    """Write the `rows` whose tasks are in a `wanted` status, (n_statuses,) bool, to `found`; returns their number.

    statuses: of the task in each row of the table, (n_tasks,).
    """
    n = 0
    for row in rows:
        found[n] = row
        n += wanted[statuses[row]]
    return n


@cache
def _wanted(statuses: tuple[int, ...]) -> np.ndarray:
    """Mask of statuses, (n_statuses,) bool, kept by their codes; np.isin takes ten times as long on few rows."""
    return np.isin(np.arange(len(TaskStatus)), statuses)


FINISHED, FAILED = int(JobStatus.FINISHED), int(JobStatus.FAILED)


class TaskLedger:
    """History by row of the task, kept only where the scenario can ask for it.

    times_tried and failed_hs06s (HS06 s): (n_tasks,); of_chunks: remember input that was given up.
    """

    def __init__(self, world: World, fabric: Fabric, of_chunks: bool):
        self.world, self.fabric, self.of_chunks = world, fabric, of_chunks
        n_tasks, scenario = len(world.arrays.tasks), world.scenario
        keys = [*scenario.gdpconfig, *(one.key or "" for one in scenario.incidents)]
        self.times_tried = np.ones(n_tasks, np.int32)
        self.failed_hs06s = np.zeros(n_tasks)
        self.efficiencies: dict[int, list[float]] = {}
        self.unfinished: dict[int, dict[int, tuple]] = {}        # task to chunk to cause, GIVEN_UP
        self.before: dict[int, tuple[int, int]] = {}
        self.of_hs06 = asks_for_history(keys)
        if self.of_hs06 or self.of_chunks:
            fabric.watchers.append(self.watch)

    def begin(self, rows: np.ndarray) -> None:
        """Forget the tasks that were in some rows."""
        self.times_tried = renewed(self.world, self.times_tried, rows, 1)
        self.failed_hs06s = renewed(self.world, self.failed_hs06s, rows, 0)
        for row in rows.tolist():
            for of in (self.efficiencies, self.unfinished, self.before):
                of.pop(row, None)

    def watch(self, rows: np.ndarray, times: np.ndarray) -> None:
        """Note attempts that have ended."""
        if self.of_chunks:
            self._watch_chunks(rows)
        if self.of_hs06:
            failed, done = rows[rows["status"] == FAILED], rows[rows["status"] == FINISHED]
            spent = failed["walltime_s"].astype(float) * failed["hs06_milli"] * 1e-3
            np.add.at(self.failed_hs06s, failed["task"], spent)
            found = cpu_efficiency(done["cputime_s"], done["walltime_s"], done["corecount"])
            for task, efficiency in zip(done["task"].tolist(), found.tolist(), strict=True):
                self.efficiencies.setdefault(task, []).append(efficiency)

    def given_up(self, row: int, lost: bool = False) -> np.ndarray:
        """Pieces of input given up, (k,) of GIVEN_UP; lost: include lost files; broken ones are never included."""
        left_out = {Cause.INPUT_BROKEN} if lost else {Cause.INPUT_BROKEN, Cause.INPUT_LOST}
        self.fabric.empty_outboxes()
        arrays = self.world.arrays
        busy = {*pieces(arrays.jobs[jobs_of(arrays, [row])]), *pieces(waiting_retries(arrays, row))}
        runs: list[list] = []
        for chunk, (cause, known) in sorted(self.unfinished.get(row, {}).items()):
            if chunk in busy or cause in left_out:
                continue
            if runs and runs[-1][1:-1] == [*known] and runs[-1][0] + runs[-1][-1] == chunk:
                runs[-1][-1] += 1                                    # pieces of one job stay together
            else:
                runs.append([chunk, *known, 1])
        return np.array([tuple(run) for run in runs], GIVEN_UP)

    def failure_rates(self, row: int) -> tuple[float, float]:
        """Fractions of a task's ended jobs and HEP-score hours that failed; NaN = none has ended."""
        if self.of_hs06:
            self.fabric.empty_outboxes()
        task = self.world.arrays.tasks[row]
        failed = int(task["failed_attempts"])
        return part_of(failed, failed + int(task["n_finished"])), part_of(self.failed_hs06s[row], task["used_hs06s"])

    def changes(self, row: int) -> None:
        """Remember priority and share of a task before the first change."""
        task = self.world.arrays.tasks[row]
        self.before.setdefault(row, (int(task["priority"]), int(task["share"])))

    def take_back_changes(self, row: int) -> None:
        """Restore the priority and share that a task had before they were changed."""
        if row in self.before:
            priority, share = self.before.pop(row)
            self.fabric.set_priority([row], priority)
            self.fabric.set_share([row], share)

    def past(self, row: int) -> Past:
        """History of a task that decides whether it may be retried."""
        jobs, hours = self.failure_rates(row)
        return Past(int(self.times_tried[row]), self.failed_hs06s[row] / HOUR, hours, jobs,
                    int(self.world.arrays.tasks["max_attempt"][row]), median_or_nan(self.efficiencies.get(row)))

    def _watch_chunks(self, rows: np.ndarray) -> None:
        """Remember the last attempt at every chunk that is not yet processed."""
        arrays = self.world.arrays
        bad = rows[rows["status"] != FINISHED]
        rules = arrays.retry_rules[arrays.tasks["retry_class"][bad["task"]], bad["cause"]]
        failed = bad["status"] == FAILED
        new_limit = np.where(failed, rules["attempt_limit"], 0)
        for job, counts, limit in zip(bad, (failed & ~rules["system"]).tolist(), new_limit.tolist(), strict=True):
            attempt = int(job["attempt"])
            known = (attempt + 1, int(job["panda_id"]), min(int(job["failures"]) + counts, MOST_ATTEMPTS),
                     limit_after_retry(attempt, int(job["attempt_limit"]), limit), int(job["ram_level"]))
            of_task = self.unfinished.setdefault(int(job["task"]), {})
            of_task.update((chunk, (int(job["cause"]), known)) for chunk in pieces([job]))
        late = rows[(rows["status"] == FINISHED) & (rows["attempt"] > 1)]
        for job in late:
            of_task = self.unfinished.get(int(job["task"]), {})
            for chunk in pieces([job]):
                of_task.pop(chunk, None)


def pieces(rows: Iterable) -> list[int]:
    """Pieces of input of jobs or of retries."""
    return [chunk for row in rows for chunk in range(int(row["chunk"]), int(row["chunk"]) + int(row["n_chunks"]))]


BRING_BACK = ("retry", "incexec")
"""Commands that revive tasks after their end."""


@dataclass
class Command:
    """A command with the rows of its tasks: how many took it, and how many ignored it by reason."""

    at_s: float
    task: int | str
    command: str
    rows: list[int]
    options: dict
    n_done: int = 0
    ignored: Counter[str] = field(default_factory=Counter)


class Commands:
    """All commands of a run in the order in which they were given; `waiting` holds those not yet taken up."""

    def __init__(self, world: World, live_tasks: LiveTasks):
        self.world, self.live_tasks = world, live_tasks
        self.all: list[Command] = []
        self.waiting: list[Command] = []
        incidents = world.scenario.incidents
        self.named = [(incident.at, incident.task) for incident in incidents if incident.task is not None]
        self.bring_back = any(incident.command in BRING_BACK for incident in incidents)

    def give(self, incident, now: float) -> None:
        """Hand a command of the timeline to the TaskCommando."""
        options = {name: getattr(incident, name) for name in ("soft", "nucleus", "queue", "jobs", "new_sites")}
        self.waiting.append(self._note(incident, now, incident.command, options))
        self.live_tasks.on_arrival()

    def change(self, incident, now: float) -> list[int]:
        """Rows of the tasks whose priority or share an incident changes at once: all that are not over."""
        given = self._note(incident, now, incident.what.removeprefix("task_"), {})
        status = self.world.arrays.tasks["status"][given.rows]
        over = np.isin(status, TASK_ENDS)
        given.ignored.update(TaskStatus(code).word for code in status[over].tolist())
        given.n_done = len(over) - int(np.count_nonzero(over))
        return np.array(given.rows, np.int64)[~over].tolist()

    def give_unasked(self, command: str, rows: list[int], now: float, **options: bool) -> None:
        """Hand the TaskCommando a command that follows from another command or comes from a watchdog."""
        self.waiting.append(Command(now, "", command, rows, options))
        self.live_tasks.on_arrival()

    def concerns(self, rows: np.ndarray) -> np.ndarray:
        """Which tasks an incident to come names, or a command that is not yet taken up, (n_rows,) bool."""
        tasks, words = self.world.arrays.tasks, self.world.vocabularies["task_names"]
        named = {task for at, task in self.named if at >= self.world.state["now_s"]}
        numbers = [task for task in named if isinstance(task, int)]
        names = [words.index(task) for task in named if task in words]
        waiting = [row for given in self.waiting for row in given.rows]
        return (np.isin(tasks["jeditaskid"][rows], numbers) | np.isin(tasks["name"][rows], names)
                | np.isin(rows, waiting))

    def results(self) -> list[dict]:
        """The result of each command, for the manifest."""
        return [dict(at_s=one.at_s, task=one.task, command=one.command, n_tasks=len(one.rows), n_done=one.n_done,
                     ignored=dict(sorted(one.ignored.items()))) for one in self.all]

    def _note(self, incident, now: float, command: str, options: dict) -> Command:
        given = Command(now, incident.task, command, self._rows(incident.task), options)
        self.all.append(given)
        return given

    def _rows(self, task: int | str) -> list[int]:
        """Row of the task with a number, or rows of the tasks with a name that have arrived."""
        arrays = self.world.arrays
        if isinstance(task, int):
            return [self.world.row_of[task]]
        code = self.world.vocabularies["task_names"].index(task)
        arrived = ~np.isnan(arrays.task_times[:, TaskStatus.REGISTERED])
        return by_arrival(arrays, np.flatnonzero(arrived & (arrays.tasks["name"] == code))).tolist()
