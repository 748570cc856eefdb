"""Where the input of a task lies, as JEDI's table of dataset locality has it.

Source: lifecycle reference, 7.1; panda-server, AtlasDataLocalityUpdaterWatchDog. Simplified: the table is always
current; in JEDI it is written every 12 hours.
"""

import numpy as np

from simgrid_broker.names import COMPLETE
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.containers import datasets_of


def endpoints_with_input(arrays: Arrays, row: int) -> set[int]:
    """Endpoints that have the input of a task whole, of a container each dataset, or with inputPreStaging by a rule; a
    site without a storage counts as one of its own, negative."""
    staged = bool(arrays.tasks["inputprestaging"][row])
    return set.intersection(*(_endpoints_with(arrays, number, staged) for number in datasets_of(arrays, row)))


def _endpoints_with(arrays: Arrays, number: int, staged: bool) -> set[int]:
    """The same of one dataset."""
    found, place = set[int](), int(arrays.datasets["first_replica"][number])
    while place >= 0:
        replica = arrays.replicas[place]
        place = int(replica["next"])
        if not replica["virtual"] and (not replica["expired"] if staged else replica["part"] >= COMPLETE):
            found.add(int(replica["storage"]) if replica["storage"] >= 0 else -1 - int(replica["site"]))
    return found


def has_input(arrays: Arrays, rows: np.ndarray) -> np.ndarray:
    """Whether the jobs of tasks read files, (n,) bool."""
    return arrays.tasks["input_bytes_per_job"][rows] > 0
