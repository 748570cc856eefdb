"""The scenario in time: incidents take effect (tasks that arrive by one are in the task list), tasks arrive from
ProdSys and the clients, and recorded jobs become input when they are submitted.

Each block of tasks is drawn when the one before has arrived. Each task of a trace is an open dataset of which a new
piece is known at once (the ContentsFeeder of JEDI: at its next look). A cycle of JEDI serves NTASKS tasks of a share
and resource type, older ones first; tasks as old as the trace would keep younger ones from ever being served. So of
more tasks those whose jobs wait longest get their input first.
"""

from collections import Counter
from collections.abc import Callable
from math import inf

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.agents.jedi.task_refiner import send_on
from simgrid_broker.names import TaskStatus
from simgrid_broker.policy.tasks.selection import selection
from simgrid_broker.schema.grid import ACTIVITIES, OFF
from simgrid_broker.world.columns import set_activity, set_queue_status
from simgrid_broker.world.data.datasets import add_replica_at, delete_dataset, lose_replica
from simgrid_broker.world.shares import with_value
from simgrid_broker.world.tasks.transitions import register


def timeline(control: Control) -> Process:
    """Let incidents begin and end."""
    incidents = [*enumerate(control.world.scenario.incidents)]
    moments = [(incident.at, order, incident, EFFECTS[incident.what]) for order, incident in incidents
               if incident.what in EFFECTS]
    moments += [(incident.until, order, incident, ENDS[incident.what]) for order, incident in incidents
                if incident.until is not None and incident.what in ENDS]
    for at, _, incident, effect in sorted(moments, key=lambda moment: moment[:2]):
        if at > control.now:
            yield control.env.timeout(at - control.now)
        effect(control, incident)


def _site(control: Control, name: str) -> int:
    return control.world.vocabularies["sites"].index(name)


def _link(control: Control, incident) -> tuple[int, int]:
    return _site(control, incident.source), _site(control, incident.destination)


def queue_status(control: Control, incident) -> None:
    """Change the status of a queue in CRIC."""
    set_queue_status(control.world, incident.queue, incident.status)
    control.brokers.refresh_queues()


def share_target(control: Control, incident) -> None:
    """Change the value of a share in the database; its siblings keep theirs, so their fractions change."""
    world = control.world
    world.shares = with_value(world.shares, incident.share, float(incident.value))


def task_priority(control: Control, incident) -> None:
    """Change the priority of tasks and their jobs."""
    for row in control.books.commands.change(incident, control.now):
        control.books.ledger.changes(row)
        control.fabric.set_priority([row], incident.priority)


def task_share(control: Control, incident) -> None:
    """Move tasks and their jobs to another share, running ones if that is asked for."""
    share = control.world.vocabularies["shares"].index(incident.share)
    for row in control.books.commands.change(incident, control.now):
        control.books.ledger.changes(row)
        control.fabric.set_share([row], share, running=bool(incident.running))


def network_capacity(control: Control, incident) -> None:
    """Change the capacity of a site's doors and links, of a link, or of a backbone."""
    capacities = control.world.capacities
    what = (capacities.of_site(incident.site) if incident.site else capacities.of_backbone(incident.backbone)
            if incident.backbone else capacities.of_link(incident.source, incident.destination))
    control.fabric.scale_capacity(id(incident), control.now, what, incident.factor)


def switch(control: Control, storage: str, activity: str, status: str) -> None:
    """Give an activity of an endpoint a status: brokers see it, and OFF or TEST stops transfers and fails jobs."""
    world, number = control.world, control.world.vocabularies["storages"].index(storage)
    was_off = world.arrays.storages[f"{activity}_off"][number] == OFF["OFF"]
    set_activity(world, storage, activity, status)
    is_off = OFF[status] == OFF["OFF"]
    if is_off != was_off:
        control.fabric.storage_is_switched(number, activity, is_off, control.now)


def status_of(control: Control, storage: str, activity: str) -> str:
    """The status that the scenario gives to an activity."""
    return getattr(control.world.scenario.grid.storages[storage], activity)


def storage_outage(control: Control, incident) -> None:
    """Switch an endpoint off for everything: nothing reads it or writes to it."""
    for activity in ACTIVITIES:
        switch(control, incident.storage, activity, "OFF")


def storage_outage_ends(control: Control, incident) -> None:
    """Restore the statuses that the scenario gives to the endpoint."""
    for activity in ACTIVITIES:
        switch(control, incident.storage, activity, status_of(control, incident.storage, activity))


def replica_lost(control: Control, incident) -> None:
    """Remove a replica; what is read from it fails at once."""
    control.fabric.sources_vanish(lose_replica(control.world, incident.dataset, incident.storage), control.now)


def dataset_deleted(control: Control, incident) -> None:
    """Remove a dataset with all its replicas; what is read from them fails at once."""
    control.fabric.sources_vanish(delete_dataset(control.world, incident.dataset), control.now)


EFFECTS: dict[str, Callable] = {
    "queue_status": queue_status, "share_target": share_target, "task_priority": task_priority,
    "task_share": task_share,
    "file_loss": lambda control, incident: control.books.lost_files.lose(incident),
    "site_outage": lambda control, incident: control.fabric.site_goes_down(_site(control, incident.site), control.now),
    "link_outage": lambda control, incident: control.fabric.link_goes_down(*_link(control, incident), control.now),
    "network_capacity": network_capacity,
    "gdpconfig": lambda control, incident: control.policies.write_config(incident.key, incident.value),
    "storage_status": lambda control, incident: switch(
        control, incident.storage, incident.activity, incident.status),
    "storage_outage": storage_outage,
    "replica_added": lambda control, incident: add_replica_at(control.world, incident.dataset, incident.storage,
                                                              incident.fraction),
    "replica_lost": replica_lost, "dataset_deleted": dataset_deleted,
    "task_command": lambda control, incident: control.books.commands.give(incident, control.now)}
"""Effect of the beginning of an incident, by its kind; the TaskCommando carries out commands in its next cycle."""

ENDS: dict[str, Callable] = {
    "site_outage": lambda control, incident: control.fabric.site_comes_back(_site(control, incident.site), control.now),
    "link_outage": lambda control, incident: control.fabric.link_comes_back(*_link(control, incident), control.now),
    "storage_status": lambda control, incident: switch(
        control, incident.storage, incident.activity, status_of(control, incident.storage, incident.activity)),
    "storage_outage": storage_outage_ends,
    "network_capacity": lambda control, incident: control.fabric.scale_capacity(id(incident), control.now),
    "file_loss": lambda control, incident: control.books.lost_files.restore(incident)}
"""Effect of the end of an incident, by its kind."""


def task_source(control: Control) -> Process:
    """Register tasks."""
    yield from _arrive(control, np.arange(len(control.arrays.tasks)))
    for rows in control.books.blocks():
        yield from _arrive(control, rows)


def _arrive(control: Control, rows: np.ndarray) -> Process:
    """Register the tasks of a block; rows: in order of arrival."""
    moments, first = np.unique(control.arrays.tasks["arrival_s"][rows], return_index=True)
    last = np.append(first, len(rows))[1:]
    for moment, begin, end in zip(moments.tolist(), first.tolist(), last.tolist(), strict=True):
        if moment > control.now:
            yield control.env.timeout(moment - control.now)
        for row in rows[begin:end].tolist():
            register(control.world, row, control.now)
        control.books.live_tasks.add(rows[begin:end])


DEFINED = TaskStatus.DEFINED
GETS_JOBS = TaskStatus.READY, TaskStatus.SCOUTING, TaskStatus.RUNNING


def trace_source(control: Control) -> Process:
    """Submit the jobs of tasks; jobs without tasks go through the Setupper."""
    if control.books.submissions.as_jobs:
        return
    clients = Clients(control)
    while (moment := clients.due_s()) < inf:
        yield control.env.timeout(max(moment - control.now, 0))
        clients.submit()


class Line:
    """Tasks of a share and resource type: to_do, those known to have jobs to be made at the last look; `limit` of them.

    waiting: submitted jobs that JEDI does not know yet, by task row, those that wait longest first.
    """

    def __init__(self, limit: int):
        self.limit, self.to_do, self.waiting = limit, set[int](), Counter[int]()


class Clients:
    """Submits recorded jobs, no more at once than JEDI looks at."""

    def __init__(self, control: Control):
        self.control, self.submissions = control, control.books.submissions
        self.lines: dict[tuple[int, int], Line] = {}
        self.look_s = 0.0

    def due_s(self) -> float:
        """When there is something to do, s; inf after the last job."""
        next_s = self.submissions.next_s
        waits = any(line.waiting for line in self.lines.values())
        return min(inf if next_s is None else next_s, self.look_s if waits else inf)

    def submit(self) -> None:
        """Make known the jobs that are submitted now, and those that waited if the JobGenerator has made others."""
        now = self.control.now
        if now >= self.look_s:
            for line in self.lines.values():
                self._look(line)
            self.look_s = now + self.control.periods.job_generator_lacking
        for row, number in self.submissions.take(now).items():
            place = self._line_of(row)
            if place is None or self._may_enter(place, row):
                self._add(row, number)
            else:
                place.waiting[row] += number

    def _line_of(self, row: int) -> Line | None:
        """The line of a task; None before it is refined, when it is known in any case."""
        tasks = self.control.arrays.tasks
        place = tasks["share"].item(row), tasks["resource_type"].item(row)
        if place not in self.lines and min(place) >= 0:
            name = self.control.world.vocabularies["shares"][place[0]]
            self.lines[place] = Line(selection(self.control.cfg, name, False, self.control.edition).n_tasks)
        return self.lines.get(place)

    def _look(self, line: Line) -> None:
        """Make known what waits, as far as jobs of other tasks have been made."""
        line.to_do = set(filter(self._gets_jobs, line.to_do))
        for row in [*line.waiting][:max(line.limit - len(line.to_do), 0)]:
            line.to_do.add(row)
            self._add(row, line.waiting.pop(row))

    def _may_enter(self, line: Line, row: int) -> bool:
        """True if more jobs of a task are known at once: it is to be served, or there is room for it."""
        if row in line.to_do and self._gets_jobs(row):
            return True
        if line.waiting or len(line.to_do) >= line.limit:
            return False
        line.to_do.add(row)
        return True

    def _gets_jobs(self, row: int) -> bool:
        """True if jobs of a task can be made."""
        tasks = self.control.arrays.tasks
        return tasks["next_chunk"].item(row) < tasks["n_jobs"].item(row) and tasks["status"].item(row) in GETS_JOBS

    def _add(self, row: int, number: int) -> None:
        """Add jobs to the input of a task; it is sent on if all that was there is done."""
        self.submissions.add_input(row, number)
        if self.control.world.statuses.item(row) == DEFINED:
            send_on(self.control, row)
