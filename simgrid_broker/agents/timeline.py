"""The scenario's timeline: incidents take effect at their times; tasks that arrive by one are in the task list."""

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.world.columns import lose_files, restore_files, set_activity, set_queue_status
from simgrid_broker.world.share_tree import share_tree, with_value


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


def queue_status(control: Control, incident) -> None:
    """Change the status of a queue in CRIC."""
    set_queue_status(control.world, incident.queue, incident.status)
    control.brokers.refresh_queues()


def site_outage(control: Control, incident) -> None:
    """Begin the outage of a site."""
    control.fabric.site_goes_down(_site(control, incident.site), control.now)


def site_recovery(control: Control, incident) -> None:
    """End the outage of a site."""
    control.fabric.site_comes_back(_site(control, incident.site), control.now)


def link_outage(control: Control, incident) -> None:
    """Begin the outage of a link."""
    control.fabric.link_goes_down(_site(control, incident.source), _site(control, incident.destination), control.now)


def link_recovery(control: Control, incident) -> None:
    """End the outage of a link."""
    control.fabric.link_comes_back(_site(control, incident.source), _site(control, incident.destination), control.now)


def share_target(control: Control, incident) -> None:
    """Change the value of a share; its siblings keep theirs, so their fractions change."""
    world = control.world
    world.shares = with_value(world.shares, incident.share, float(incident.value))
    world.tree = share_tree(world.shares)


def gdpconfig(control: Control, incident) -> None:
    """Change the value of a key of gdpconfig."""
    control.policies.set_config(incident.key, incident.value)


def task_priority(control: Control, incident) -> None:
    """Change the priority of tasks and their jobs."""
    for row in control.books.commands.change(incident, control.now):
        control.books.ledger.changes(row)
        control.fabric.set_priority([row], incident.priority)


def task_share(control: Control, incident) -> None:
    """Move tasks and their jobs to another share."""
    share = control.world.vocabularies["shares"].index(incident.share)
    for row in control.books.commands.change(incident, control.now):
        control.books.ledger.changes(row)
        control.fabric.set_share([row], share)


def task_command(control: Control, incident) -> None:
    """Give a command, which the TaskCommando carries out in its next cycle."""
    control.books.commands.give(incident, control.now)


def storage_status(control: Control, incident) -> None:
    """Change the status of an activity of an endpoint in CRIC; transfers and jobs continue."""
    set_activity(control.world, incident.storage, incident.activity, incident.status)


def storage_status_ends(control: Control, incident) -> None:
    """Restore the status that the scenario gives to the activity."""
    status = getattr(control.world.scenario.grid.storages[incident.storage], incident.activity)
    set_activity(control.world, incident.storage, incident.activity, status)


def file_loss(control: Control, incident) -> None:
    """Lose files at a site, for good or for a while; files with a complete copy elsewhere are copied back."""
    control.books.lost_files[id(incident)] = lose_files(control.world, incident.site, incident.fraction)


def file_recovery(control: Control, incident) -> None:
    """Restore the files; tasks that are over read them only after incremental execution."""
    restore_files(control.world, *control.books.lost_files.pop(id(incident)))


EFFECTS = {"queue_status": queue_status, "site_outage": site_outage, "link_outage": link_outage,
           "share_target": share_target, "gdpconfig": gdpconfig, "task_priority": task_priority,
           "storage_status": storage_status, "task_command": task_command, "task_share": task_share,
           "file_loss": file_loss}
"""Effect of the beginning of an incident, by its kind."""

ENDS = {"site_outage": site_recovery, "link_outage": link_recovery, "storage_status": storage_status_ends,
        "file_loss": file_recovery}
"""Effect of the end of an incident, by its kind."""
