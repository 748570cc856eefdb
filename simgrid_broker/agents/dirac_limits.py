"""DIRAC's limits at the sites of a run: their tables, and the jobs that count for them; DIRAC reference, 8.2, 8.3."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from simgrid_broker.policy.dirac.limiter import BURST, CES
from simgrid_broker.policy.dirac.priorities import whole_option
from simgrid_broker.policy.dirac.share_correction import is_on
from simgrid_broker.schema.dirac import ATTRIBUTES_OF_RUN
from simgrid_broker.world.task_queues import JOB_TYPE, LIMIT, OWNER, OWNER_GROUP, count_at_sites
from simgrid_broker.world.world import World

ATTRIBUTES = dict(zip(ATTRIBUTES_OF_RUN, (OWNER, OWNER_GROUP, JOB_TYPE), strict=True))
"""Numbers of the attributes of limits."""
PERIOD = 10.0
"""Period in which running jobs are counted, s; source: DIRAC reference, 8.2."""


class Limits:
    """The limits and delays of a run; numbers: of an attribute and the name of a value, the number that jobs have."""

    def __init__(self, world: World, scheduling: Mapping[str, Any], numbers: Callable[[str, str], int]):
        self.world = world
        rows = sorted(rows_of(world, scheduling, numbers)) if world.scenario.edition == "deployed" else []
        self.sites = np.array([row[0] for row in rows], np.int64)
        self.table = np.zeros(len(rows), LIMIT)
        names = "queue", "attribute", "value", "most", "delay_s", "burst"
        for number, row in enumerate(rows):
            for name, value in zip(names, row[1:], strict=True):
                self.table[number][name] = value
        self.table["tokens"] = self.table["burst"]
        site = world.arrays.queues["site"][world.arrays.pseudo_queues["queue"]]
        self.of_kind = np.stack([np.searchsorted(self.sites, site, side) for side in ("left", "right")], axis=1)

    def count(self, group_of_share: np.ndarray) -> None:
        """Count the jobs that run at each site; matches since the last count are among them."""
        count_at_sites(self.world.arrays, self.sites, group_of_share)


def rows_of(world: World, scheduling: Mapping[str, Any], numbers: Callable[[str, str], int]) -> Iterator[tuple]:
    """A row for each limit and delay: site, PanDA queue (-1 = the site), attribute, value, limit, delay, burst."""
    sites, queues = world.vocabularies["sites"], list(world.scenario.grid.queues)
    running = scheduling.get("RunningLimit", {}) if is_on(scheduling.get("CheckJobLimits", True)) else {}
    for site, options in running.items():
        branches = [(-1, options), *((queues.index(ce), limits) for ce, limits in options.get(CES, {}).items())]
        for queue, branch in branches:
            for attribute, limits in branch.items():
                for value, limit in limits.items() if attribute != CES else ():
                    yield (sites.index(site), queue, ATTRIBUTES[attribute], numbers(attribute, value),
                           whole_option(limit, 0), 0.0, 1)
    delayed = scheduling.get("MatchingDelay", {}) if is_on(scheduling.get("CheckMatchingDelay", True)) else {}
    for site, options in delayed.items():
        for attribute, delays in options.items():
            for value, delay in delays.items() if attribute != BURST else ():
                burst = whole_option(options.get(BURST, {}).get(attribute, {}).get(value), 1)
                yield (sites.index(site), -1, ATTRIBUTES[attribute], numbers(attribute, value), -1,
                       max(float(delay), 0.0), burst)
