"""Input of tasks on endpoints, as JEDI's table of dataset locality has it, and on its way to jobs of users.

Sources: lifecycle reference, 2.10 (dispatch datasets) and 7.1; panda-server, AtlasDataLocalityUpdaterWatchDog.
Simplified: the table is always current; in JEDI it is written every 12 hours.
"""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.names import COMPLETE
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.data.datasets import datasets_of
from simgrid_broker.world.world import World

NONE = np.zeros(0, np.int64), np.zeros((0, 2))
"""No task with input on its way."""


def endpoints_with_input(arrays: Arrays, row: int) -> set[int]:
    """Endpoints that have the input of a task whole, of a container each dataset, or with inputPreStaging by a rule; a
    site without a storage counts as one of its own, negative."""
    staged = bool(arrays.tasks["inputprestaging"][row])
    return set.intersection(*(_endpoints_with(arrays, number, staged) for number in datasets_of(arrays, row)))


def _endpoints_with(arrays: Arrays, number: int, staged: bool) -> set[int]:
    """Storages that have one dataset whole."""
    endpoints, place = set[int](), int(arrays.datasets["first_replica"][number])
    while place >= 0:
        replica = arrays.replicas[place]
        place = int(replica["next"])
        if not replica["virtual"] and (not replica["expired"] if staged else replica["part"] >= COMPLETE):
            endpoints.add(int(replica["storage"]) if replica["storage"] >= 0 else -1 - int(replica["site"]))
    return endpoints


def has_input(arrays: Arrays, rows: np.ndarray) -> np.ndarray:
    """Test of tasks for jobs that read files, (n,) bool."""
    return arrays.tasks["input_bytes_per_job"][rows] > 0


def input_under_way(world: World, after_s: float, least: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Analysis tasks with input on its way to their jobs, rows, (k,), and its bytes from tape and from disk, (k, 2).

    A task may be listed more than once. Whole transfers that were asked for after a time, s, count until the jobs that
    wait for them go on. No task is listed if all of them together have no more than `least` bytes on their way.
    """
    n_sites, n_used = len(world.arrays.sites), len(world.arrays.transfers) - world.free_rows("transfers")
    if not n_used:
        return NONE
    of, moved = np.empty(n_used, np.int64), np.empty(n_used)
    n = find_moving(world.arrays, n_sites, after_s, of, moved)
    if moved[:n].sum() <= least:
        return NONE
    ways, place = np.unique(of[:n], return_inverse=True)
    size = np.bincount(place, moved[:n], len(ways))
    rows = np.array([world.row_of.get(task, -1) for task in (ways // n_sites).tolist()], np.int64)
    known = rows >= 0
    rows, size, source = rows[known], size[known], (ways % n_sites)[known]
    tape = np.empty(len(rows), bool)
    find_on_tape(world.arrays, rows, source, tape)
    return rows, np.stack([size * tape, size * ~tape], axis=1)


@compiled
def find_moving(world: Arrays, n_sites, after_s, of, moved):
    """Write task and source of each transfer of input of users as one number into `of`, and its bytes into `moved`.

    after_s: time after which they were asked for. Returns how many such transfers there are; the order of these
    numbers is that of task and source.
    """
    n = 0
    for row in range(len(world.transfers)):
        transfer = world.transfers[row]
        if world.user_input[row] and transfer["transfer_id"] > 0 and transfer["submitted_s"] > after_s:
            of[n], moved[n] = transfer["jeditaskid"] * n_sites + transfer["source"], transfer["bytes"]
            n += 1
    return n


@compiled
def find_on_tape(world: Arrays, rows, source, on_tape):
    """Write whether the site `source`, (n,), has the input of each task in `rows` on tape only, to `on_tape`; of a
    container each dataset that is there."""
    for k in range(len(rows)):
        container, n_seen, n_tape = world.containers[rows[k]], 0, 0
        for member in range(max(container["number"], 1)):
            number = (world.members[container["first"] + member]["dataset"] if container["number"] > 0
                      else world.input_dataset[rows[k]])
            place = world.datasets[number]["first_replica"]
            while place >= 0:
                replica = world.replicas[place]
                place = replica["next"]
                if replica["site"] == source[k]:
                    n_seen += 1
                    n_tape += replica["tape"] != 0
        on_tape[k] = n_seen > 0 and n_seen == n_tape
