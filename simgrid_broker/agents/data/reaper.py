"""Rucio's reaper: lifetimes of replicas end, and expired data is deleted where less than the minimum is free.

Source: Rucio, daemons/reaper (free space below `minFreeSpace`, expired replicas, least recently used first); the period
is an assumption. A storage without `deletion_rate` deletes at once, when space is needed.
"""

from collections import deque

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.data.replicas import expire_landed, expire_of, free_space_of, take_landed


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
