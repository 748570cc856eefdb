"""Slots that open and close with rows of Harvester_Slots."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from simgrid_broker.world.world import World


class Opening(NamedTuple):
    """Slots of one row: their pool, cores and memory, MB; expires_s: None = they stay open."""

    opens_s: float
    expires_s: float | None
    pool: int
    cores: int
    memory_mb: float


def openings(world: World) -> Iterator[Opening]:
    """Slots that open during the run: of the size of a worker of their resource type, else of the queue."""
    grid, types = world.scenario.grid, world.vocabularies["resource_types"]
    queues, pseudo = world.arrays.queues, world.arrays.pseudo_queues
    for number, queue in enumerate(grid.queues.values()):
        for row in queue.slot_requests:
            if row.opens is not None:
                kind = types.index(row.resource_type) if row.resource_type else len(types)
                mine = np.flatnonzero((pseudo["queue"] == number) & (pseudo["resource_type"] == kind))
                pool, size = ((pseudo["pool"][mine[0]], pseudo["corecount"][mine[0]]) if len(mine) else
                              (queues["pool"][number], queues["corecount"][number]))
                cores = row.slots * int(size)
                yield Opening(row.opens, row.expires, int(pool), cores,
                              cores * grid.sites[queue.atlas_site].memory_per_core)
