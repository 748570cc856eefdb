"""Network troubles: outages and narrow times of the networks of sites, at random."""

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.world.troubles import Moment, troubles


def network_troubles(control: Control) -> Process:
    """Let the troubles of all sites begin and end."""
    for moment in troubles(control.world.scenario):
        yield control.env.timeout(moment.at - control.now)
        _take_effect(control, moment)


def _take_effect(control: Control, moment: Moment) -> None:
    """Stop or scale the links of a site, or end that."""
    _, site, _ = moment.cause
    if moment.factor > 0:
        what = control.world.capacities.of_site(site) if moment.begins else None
        control.fabric.scale_capacity(moment.cause, control.now, what, moment.factor)
        return
    change = control.fabric.link_goes_down if moment.begins else control.fabric.link_comes_back
    sites = control.world.vocabularies["sites"]
    number = sites.index(site)
    for other in range(len(sites)):
        if other != number:
            change(number, other, control.now)
            change(other, number, control.now)
