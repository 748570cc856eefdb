"""The network: metrics of links as measured by FTS, troubles of sites and links, and FTS's optimiser of transfers.

Simplified: the Network Weather Service, its collector and PanDA's table of metrics are one reading on a period, by
default an hour, the age up to which PanDA reads these records (brokerage reference, section 7). Numbers of queued files
are read with the job statistics (`statistics`).
"""

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.world.data.network import Moment, troubles


def network_metrics(control: Control) -> Process:
    """Average the throughput of the links."""
    def read() -> None:
        control.world.network.read_throughput(control.arrays, control.now)
    yield from control.every(control.periods.network_metrics, read, "network_metrics")


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


def transfer_optimiser(control: Control) -> Process:
    """Let FTS look at every link with files, in each cycle."""
    period, background = control.periods.transfer_optimiser, control.world.scenario.grid.links.background

    def cycle() -> None:
        load = background.load_at(control.now)
        if load != control.world.capacities.background:
            control.fabric.set_background(load)
        control.fabric.share_gates(control.now, period)
    yield from control.every(period, cycle, "transfer_optimiser")
