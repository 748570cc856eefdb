"""The scenario's timeline: incidents take effect at their times; tasks that arrive by one are in the task list."""

from collections.abc import Callable

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.schema.grid import ACTIVITIES, OFF
from simgrid_broker.world.columns import set_activity, set_queue_status
from simgrid_broker.world.data.datasets import add_replica_at, delete_dataset, lose_replica
from simgrid_broker.world.shares import with_value


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
