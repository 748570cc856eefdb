"""Where each PanDA queue reads and writes for analysis, and the state of these storages."""

import numpy as np

from simgrid_broker import views
from simgrid_broker.schema.grid import ACTIVITIES
from simgrid_broker.schema.queues import scope_of
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.seen_tasks import PASSES

USES = {"read_lan": "reads", "write_wan": "reads", "write_lan": "writes", "read_wan": "writes"}
"""Storages whose status an activity concerns; source: brokerage reference, 2.5."""
OFF = {activity: f"{activity}_off" for activity in ACTIVITIES}
"""Column of a storage that says whether an activity is off."""


class AnalysisPlaces:
    """Storages of the PanDA queues for analysis, in the scope of analysis where a queue has it.

    reads, writes: storages of input and output of each queue; output, input: the default ones, (n_queues,), -1 = none;
    bare: (n_queues,), queues of sites without storage, which every check passes; described: what of `ANALYSIS_STORE`
    does not change, (n_queues,). Source: brokerage reference, 0.2.
    """

    def __init__(self, arrays: Arrays, grid):
        storages = {name: number for number, name in enumerate(grid.storages)}
        of_site = arrays.sites["storage"][arrays.queues["site"].astype(np.int64)].tolist()
        self.reads: list[tuple[int, ...]] = []
        self.writes: list[tuple[int, ...]] = []
        output, given = [], []
        for queue, own in zip(grid.queues.values(), of_site, strict=True):
            default = (own,) if own >= 0 and not queue.endpoints else ()
            used = sorted(queue.endpoints, key=lambda one: one.order)
            taken, put = ([one for one in used if getattr(one, role) and one.scope == scope_of(queue, True, reading)]
                          for role, reading in (("read", True), ("write", False)))
            self.reads.append(tuple(storages[one.storage] for one in taken
                                    if not grid.storages[one.storage].blacklisted_read) or default)
            self.writes.append(tuple(storages[one.storage] for one in put) or default)
            output.append(next((storages[one.storage] for one in put if one.default_write), own if default else -1))
            given.append(next((storages[one.storage] for one in taken if one.default_read), own if default else -1))
        self.output, self.input = np.array(output, np.int64), np.array(given, np.int64)
        self.bare = np.array([not (read or put or queue.endpoints) for read, put, queue in zip(
            self.reads, self.writes, grid.queues.values(), strict=True)], bool)
        self.numbers = {"reads": _table(self.reads), "writes": _table(self.writes)}
        has = {name: (numbers >= 0).any(axis=1) | self.bare for name, numbers in self.numbers.items()}
        self.described = np.zeros(len(self.output), views.ANALYSIS_STORE)
        self.described["has_output"], self.described["has_input"] = has["writes"], has["reads"]
        self.described["output"], self.described["one"] = self.output, self.output == self.input
        self.known = b"", self.described                             # statuses of storages, and what follows from them


def _table(uses: list[tuple[int, ...]]) -> np.ndarray:
    """Storages of each queue as a table, (n_queues, most of them), -1 = no more."""
    found = np.full((len(uses), max(map(len, uses), default=0)), -1)
    for queue, used in enumerate(uses):
        found[queue, :len(used)] = used
    return found


def analysis_stores(world) -> np.ndarray:
    """The storages of each PanDA queue for analysis, (n_queues,) of `views.ANALYSIS_STORE`."""
    places, rows = world.analysis_places, world.arrays.storages
    found = _open_stores(world).copy()
    usable = rows["free_bytes"] + rows["expired_bytes"] - rows["min_free_bytes"] - rows["unavailable_bytes"]
    usable, free = np.append(usable, np.inf), np.append(rows["free_bytes"], np.inf)    # the last is for no storage
    found["usable_output"], found["usable_input"] = usable[places.output], usable[places.input]
    found["free_bytes"] = free[places.output]
    return found


def _open_stores(world) -> np.ndarray:
    """What does not depend on space, as the last call found it unless the status of a storage has changed since."""
    places, rows, passes = world.analysis_places, world.arrays.storages, PASSES[world.scenario.edition]
    statuses = b"".join([rows[column].tobytes() for column in OFF.values()])
    if statuses != places.known[0]:
        found = places.described.copy()
        for activity, column in OFF.items():
            is_open = np.append(passes[rows[column]], False)                     # as above
            found[activity] = places.bare | is_open[places.numbers[USES[activity]]].any(axis=1)
        places.known = statuses, found
    return places.known[1]
