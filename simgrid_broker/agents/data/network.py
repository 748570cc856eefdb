"""The network and Rucio: metrics of links as measured by FTS, troubles of sites and links, the optimiser of transfers
in FTS, and the reaper: lifetimes of replicas end, and expired data is deleted where less than the minimum is free.

Simplified: the Network Weather Service, its collector and the metrics in tables of PanDA are one reading on a period,
by default an hour, the age up to which PanDA reads these records (brokerage reference, section 7). Numbers of queued
files are read with the job statistics (`statistics`).

Source of the reaper: Rucio, daemons/reaper (free space below `minFreeSpace`, expired replicas, least recently used
first); the period is an assumption. A storage without `deletion_rate` deletes at once, when space is needed.
"""

from collections import deque

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.names import CLOSENESS_BLOCKED
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.data.network import Moment, rules_of, troubles
from simgrid_broker.world.data.replicas import expire_landed, expire_of, free_space_of, take_landed


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


def jobless_transfers(control: Control) -> Process:
    """Transfer the files of flows; a rule between sites that are blocked for each other finds no route."""
    links, n_sites = control.arrays.links, len(control.arrays.sites)
    for rule in rules_of(control.world.scenario):
        yield control.env.timeout(rule.at - control.now)
        if links[rule.source * n_sites + rule.destination]["closeness"] != CLOSENESS_BLOCKED:
            control.fabric.follow_rule(rule)


def transfer_optimiser(control: Control) -> Process:
    """Let FTS look at every link with files, in each cycle."""
    period, background = control.periods.transfer_optimiser, control.world.scenario.grid.links.background

    def cycle() -> None:
        load = background.load_at(control.now)
        if load != control.world.capacities.background:
            control.fabric.set_background(load)
        control.fabric.share_gates(control.now, period)
    yield from control.every(period, cycle, "transfer_optimiser")


def reaper(control: Control) -> Process:
    """Let files expire, and delete at storages with a rate of deletion, if there are storages."""
    if len(control.arrays.storages):
        data = control.world.scenario.data
        lifetimes = {"dispatched_bytes": data.dispatch_lifetime, "output_bytes": data.output_lifetime}
        landed = [Landed(name, lifetime) for name, lifetime in lifetimes.items() if lifetime is not None]
        yield from control.every(control.periods.reaper, lambda: reap(control, landed), "reaper")


class Landed:
    """Files without replicas that have a lifetime, by the turn of the reaper in which they are first seen.

    name: the column of storages that counts them, one of `world.data.replicas.LANDED`.
    """

    def __init__(self, name: str, lifetime_s: float):
        self.name, self.lifetime_s = name, lifetime_s
        self.landed = deque[tuple[float, np.ndarray]]()

    def look(self, arrays: Arrays, now: float) -> None:
        """Begin the lifetime of what has landed since the last turn, and end that of what is old enough."""
        size = take_landed(arrays, self.name)
        if size.any():
            self.landed.append((now, size))
        while self.landed and self.landed[0][0] + self.lifetime_s <= now:
            expire_landed(arrays, self.name, self.landed.popleft()[1])


def reap(control: Control, landed: list[Landed]) -> None:
    """Look at every replica and every storage."""
    arrays, period = control.arrays, control.periods.reaper
    for files in landed:
        files.look(arrays, control.now)
    replicas, storages = arrays.replicas, arrays.storages
    over = (replicas["dataset"] >= 0) & (replicas["expired"] == 0) & (replicas["expires_s"] <= control.now)
    for row in np.flatnonzero(over & (replicas["secondary"] > 0)).tolist():
        expire_of(arrays, row)
    wanted = np.minimum(storages["min_free_bytes"] - storages["free_bytes"], storages["expired_bytes"])
    for number in np.flatnonzero((wanted > 0) & np.isfinite(storages["deletion_rate"])).tolist():
        free_space_of(arrays, number, min(float(wanted[number]), float(storages["deletion_rate"][number]) * period))
