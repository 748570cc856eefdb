"""Network troubles: outages and narrow times of the networks of sites, and of single links, at random."""

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.world.data.network import Moment, troubles


def network_troubles(control: Control) -> Process:
    """Let the troubles of all sites and links begin and end."""
    for moment in troubles(control.world.scenario):
        yield control.env.timeout(moment.at - control.now)
        if moment.factor > 0:
            _narrow(control, moment)
        else:
            _cut(control, moment)


def _narrow(control: Control, moment: Moment) -> None:
    """Scale the capacity of a link, or of the links and doors of a site, or end that."""
    capacities, (_, names, _) = control.world.capacities, moment.cause
    concerned = capacities.of_site(*names) if len(names) == 1 else capacities.of_link(*names)
    control.fabric.scale_capacity(moment.cause, control.now, concerned if moment.begins else None, moment.factor)


def _cut(control: Control, moment: Moment) -> None:
    """Stop a link, or all links of a site, or end that."""
    change = control.fabric.link_goes_down if moment.begins else control.fabric.link_comes_back
    sites, (_, names, _) = control.world.vocabularies["sites"], moment.cause
    first, *second = (sites.index(name) for name in names)
    for other in second or (number for number in range(len(sites)) if number != first):
        change(first, other, control.now)
        if not second:
            change(other, first, control.now)
