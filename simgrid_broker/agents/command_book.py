"""Commands to tasks: those that were given and await the TaskCommando, and what became of each.

What lives here: `CommandBook`. What does not: carrying commands out (`task_commando`).
"""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from simgrid_broker.names import TASK_ENDS, TaskStatus

BRING_BACK = ("retry", "incexec")
"""Commands that bring tasks back which are over."""


@dataclass
class Given:
    """A command, the rows of its tasks and what became of it: tasks that took it, and others by their reason."""

    at_s: float
    task: int | str
    command: str
    rows: list[int]
    options: dict
    n_done: int = 0
    ignored: Counter = field(default_factory=Counter)


class CommandBook:
    """All commands of a run, in the order in which they were given; `waiting` are those not yet taken up."""

    def __init__(self, world):
        self.world = world
        self.all: list[Given] = []
        self.waiting: list[Given] = []
        incidents = world.scenario.incidents
        self.bring_back = any(incident.command in BRING_BACK for incident in incidents)

    def give(self, control, incident) -> None:
        """Let a command of the timeline await the TaskCommando."""
        options = {name: getattr(incident, name) for name in ("soft", "nucleus", "queue", "jobs")}
        self.waiting.append(self._note(control, incident, incident.command, options))

    def change(self, control, incident) -> list[int]:
        """Rows of the tasks whose priority or share an incident changes at once: not those that are over."""
        given = self._note(control, incident, incident.what.removeprefix("task_"), {})
        tasks, rows = self.world.arrays.tasks, []
        for row in given.rows:
            status = TaskStatus(tasks["status"][row])
            if status in TASK_ENDS:
                given.ignored[status.word] += 1
            else:
                rows.append(row)
        given.n_done = len(rows)
        return rows

    def give_unasked(self, command: str, rows: list[int], now: float) -> None:
        """Let a command that follows from another, or from a watchdog, await the TaskCommando."""
        self.waiting.append(Given(now, "", command, rows, {}))

    def told(self) -> list[dict]:
        """What became of each command, as the manifest keeps it."""
        return [dict(at_s=one.at_s, task=one.task, command=one.command, n_tasks=len(one.rows), n_done=one.n_done,
                     ignored=dict(sorted(one.ignored.items()))) for one in self.all]

    def _note(self, control, incident, command: str, options: dict) -> Given:
        given = Given(control.now, incident.task, command, self._rows(incident.task), options)
        self.all.append(given)
        return given

    def _rows(self, task: int | str) -> list[int]:
        """Rows of the task of a number, or of those of a name, that have arrived."""
        arrays = self.world.arrays
        if isinstance(task, int):
            return [task - 1]
        code = self.world.vocabularies["task_names"].index(task)
        arrived = ~np.isnan(arrays.task_times[:, TaskStatus.REGISTERED])
        return np.flatnonzero(arrived & (arrays.tasks["name"] == code)).tolist()
