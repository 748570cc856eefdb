"""Commands to tasks, from when they are given until the TaskCommando takes them up, with their results."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from simgrid_broker.names import TASK_ENDS, TaskStatus
from simgrid_broker.world.tasks.rows import by_arrival
from simgrid_broker.world.world import World

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

    def __init__(self, world: World):
        self.world = world
        self.all: list[Command] = []
        self.waiting: list[Command] = []
        incidents = world.scenario.incidents
        self.named = [(incident.at, incident.task) for incident in incidents if incident.task is not None]
        self.bring_back = any(incident.command in BRING_BACK for incident in incidents)

    def give(self, incident, now: float) -> None:
        """Hand a command of the timeline to the TaskCommando."""
        options = {name: getattr(incident, name) for name in ("soft", "nucleus", "queue", "jobs", "new_sites")}
        self.waiting.append(self._note(incident, now, incident.command, options))

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
