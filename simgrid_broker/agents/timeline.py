"""The scenario's timeline: incidents happen at their time.

What lives here: what each kind of incident does. What does not: tasks that arrive by an incident (they stand in the
task list like all others).
"""

import numpy as np

from simgrid_broker.names import QueueStatus
from simgrid_broker.schema.grid import OFF
from simgrid_broker.world.share_tree import share_tree, with_value


def timeline(control):
    """The process that lets incidents happen."""
    yield _incidents(control)


def _incidents(control):
    moments = [(incident.at, order, incident, EFFECTS[incident.what]) for order, incident in
               enumerate(control.world.scenario.incidents) if incident.what in EFFECTS]
    moments += [(incident.until, order, incident, ENDS[incident.what]) for order, incident in
                enumerate(control.world.scenario.incidents) if incident.until is not None and incident.what in ENDS]
    for at, _, incident, effect in sorted(moments, key=lambda moment: moment[:2]):
        if at > control.now:
            yield control.env.timeout(at - control.now)
        effect(control, incident)


def _site(control, name: str) -> int:
    return control.world.vocabularies["sites"].index(name)


def queue_status(control, incident) -> None:
    """A queue gets another status in CRIC."""
    queue = control.world.vocabularies["queues"].index(incident.queue)
    control.world.arrays.queues["status"][queue] = QueueStatus.of(incident.status)
    control.refresh_queues()


def site_outage(control, incident) -> None:
    """A site falls silent."""
    control.fabric.site_goes_down(_site(control, incident.site), control.now)


def site_recovery(control, incident) -> None:
    """A site is back."""
    control.fabric.site_comes_back(_site(control, incident.site), control.now)


def link_outage(control, incident) -> None:
    """A link stops."""
    control.fabric.link_goes_down(_site(control, incident.source), _site(control, incident.destination), control.now)


def link_recovery(control, incident) -> None:
    """A link is back."""
    control.fabric.link_comes_back(_site(control, incident.source), _site(control, incident.destination), control.now)


def share_target(control, incident) -> None:
    """A share gets another value; its siblings keep theirs, so their parts change."""
    world = control.world
    world.shares = with_value(world.shares, incident.share, float(incident.value))
    world.tree = share_tree(world.shares)


def gdpconfig(control, incident) -> None:
    """A key of gdpconfig gets another value."""
    control.set_config(incident.key, incident.value)


def task_priority(control, incident) -> None:
    """Tasks and their jobs get another priority."""
    for row in control.commands.change(control, incident):
        control.ledger.changes(row)
        control.fabric.set_priority([row], incident.priority)


def task_share(control, incident) -> None:
    """Tasks and their jobs go to another share."""
    share = control.world.vocabularies["shares"].index(incident.share)
    for row in control.commands.change(control, incident):
        control.ledger.changes(row)
        control.fabric.set_share([row], share)


def task_command(control, incident) -> None:
    """The TaskCommando finds a command when it looks next."""
    control.commands.give(control, incident)


def storage_status(control, incident) -> None:
    """An activity of an endpoint gets another status in CRIC; transfers and jobs go on."""
    _set_status(control, incident, incident.status)


def storage_status_ends(control, incident) -> None:
    """The activity has the status again that the scenario gives it."""
    _set_status(control, incident, getattr(control.world.scenario.grid.storages[incident.storage], incident.activity))


def _set_status(control, incident, status: str) -> None:
    storage = control.world.vocabularies["storages"].index(incident.storage)
    control.world.arrays.storages[f"{incident.activity}_off"][storage] = OFF[status]


def file_loss(control, incident) -> None:
    """Files at a site are lost for good, or for a while; those with a complete copy elsewhere are copied back."""
    arrays = control.world.arrays
    held = arrays.replica_site == _site(control, incident.site)
    elsewhere = np.where(held | (arrays.replica_site < 0), 0, arrays.replica_fraction).max(axis=1)
    rows = np.flatnonzero(held.any(axis=1) & (elsewhere < 1))
    before = arrays.input_loss["lost"][rows].copy()
    here = np.where(held, arrays.replica_fraction, 0).max(axis=1)
    gone = incident.fraction * np.minimum(1 - elsewhere[rows], here[rows])
    arrays.input_loss["lost"][rows] = 1 - (1 - before) * (1 - gone)
    control.lost_files[id(incident)] = rows, before


def file_recovery(control, incident) -> None:
    """The files are there again; tasks that are over want incremental execution to read them."""
    rows, before = control.lost_files.pop(id(incident))
    control.world.arrays.input_loss["lost"][rows] = before


EFFECTS = {"queue_status": queue_status, "site_outage": site_outage, "link_outage": link_outage,
           "share_target": share_target, "gdpconfig": gdpconfig, "task_priority": task_priority,
           "storage_status": storage_status, "task_command": task_command, "task_share": task_share,
           "file_loss": file_loss}
"""What the beginning of an incident does, by its kind."""

ENDS = {"site_outage": site_recovery, "link_outage": link_recovery, "storage_status": storage_status_ends,
        "file_loss": file_recovery}
"""What the end of an outage does."""
