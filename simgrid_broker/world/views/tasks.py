"""Records of tasks for brokers, which compiled code fills."""

import numpy as np

from simgrid_broker.bundle import Bundle
from simgrid_broker.compiled import compiled, uncompiled
from simgrid_broker.compiled.columns import copy_columns, copy_known
from simgrid_broker.editions import ByEdition
from simgrid_broker.schema.tasks import N_REPLICAS
from simgrid_broker.units import MB, MIB
from simgrid_broker.views import SOURCE, TASK_FIELDS
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.data.replicas import first_replica, part_of_staged
from simgrid_broker.world.tasks.input_files import in_hand, pieces_at_once, reads_container

PASSES = ByEdition(np.array([True, False, False]), np.array([True, False, True]))
"""Test of an activity of a storage, by value of `read_wan_off` and the like: open if ON, or (D2) if anything but OFF
and TEST."""
BYTES_OF_MB = ByEdition(MB, float(MIB))
"""Bytes of an MB of workDiskCount; source: brokerage reference, 8.2."""
NUMBERS = tuple(name for name, column in TASK_FIELDS.items() if column.seen in ("i8", "f8"))
FLAGS = tuple(name for name, column in TASK_FIELDS.items() if column.seen == "?")
WORDS = tuple(name for name, column in TASK_FIELDS.items() if column.seen == "U")
"""Fields of `views.Task` that show a column."""
CLAIMS = tuple(name for name, column in TASK_FIELDS.items() if column.unknown)
"""Fields in which NaN takes the place of a stored 0."""

SEEN = np.dtype([
    *((name, TASK_FIELDS[name].seen) for name in (*NUMBERS, *FLAGS)),
    ("is_scout", "?"), ("nucleus_bare", "i8"), ("n_events_per_job", "i8"), ("n_files_per_job", "i8"),
    ("input_bytes_per_job", "f8"), ("output_bytes_per_job", "f8"), ("workdisk_bytes", "f8"),
])
"""Numbers and flags of `views.Task`."""


def shown_columns(tasks: np.ndarray) -> np.ndarray:
    """The table of tasks, not a copy, with the columns that brokers see called as in `views.Task`."""
    called, columns = {column.name: name for name, column in TASK_FIELDS.items()}, tasks.dtype.names or ()
    kinds, offsets = zip(*((tasks.dtype[name], offset_of(tasks.dtype, name)) for name in columns), strict=True)
    return tasks.view(np.dtype({"names": [called.get(name, name) for name in columns], "formats": kinds,
                                "offsets": offsets, "itemsize": tasks.dtype.itemsize}))


def offset_of(dtype: np.dtype, name: str) -> int:
    """First byte of a column in a row."""
    assert dtype.fields is not None
    return dtype.fields[name][1]


class ViewTables(Bundle):
    """Tables that `fill_task` reads, and the room for one task that Python looks at."""

    tasks: np.ndarray              # `shown_columns`
    passes: np.ndarray             # whether an activity of a storage is open, by value of `read_wan_off` and the like
    bytes_of_mb: np.ndarray        # (1,)
    task: np.ndarray               # (1,) of SEEN
    sources: np.ndarray            # of `views.SOURCE`, as many as a dataset may have


def view_tables_of(tasks: np.ndarray, edition: str, most_replicas: int = N_REPLICAS) -> ViewTables:
    """The table of tasks as brokers of an edition see it, with room for the replicas of a dataset."""
    return ViewTables(tasks=shown_columns(tasks), passes=PASSES[edition], bytes_of_mb=np.array([BYTES_OF_MB[edition]]),
                 task=np.zeros(1, SEEN), sources=np.zeros(most_replicas, SOURCE))


@compiled
def fill_task(world: Arrays, view_tables, row, task):
    """Fill in what brokers see of the task in a row; task: a record with the columns of SEEN, among others.

    Where jobs are cut from files it has the smallest job.
    """
    shown = view_tables.tasks[row]
    copy_columns(shown, task, NUMBERS)
    copy_columns(shown, task, FLAGS)
    copy_known(shown, task, CLAIMS)
    at_once, nucleus = pieces_at_once(world, row), shown["nucleus"]
    task["is_scout"] = world.scout_inputs[row] != 0
    task["nucleus_bare"] = world.sites[nucleus]["bare_nucleus"] if nucleus >= 0 else 0
    task["n_events_per_job"] = at_once * shown["n_events_per_job"]
    task["n_files_per_job"] = at_once * shown["n_input_files"]
    task["input_bytes_per_job"] = at_once * shown["input_bytes_per_job"]
    task["output_bytes_per_job"] = at_once * shown["output_bytes_per_job"]
    task["workdisk_bytes"] = np.float64(shown["workdiskcount_mb"]) * view_tables.bytes_of_mb[0]


@compiled
def fill_one(world: Arrays, view_tables, row):
    """Fill in `view_tables.task`, the task in a row, and its `view_tables.sources`; returns how many these are."""
    fill_task(world, view_tables, row, view_tables.task[0])
    return fill_sources(world, view_tables, row)


@compiled
def has_replicas(world: Arrays, row):
    """True if there is a replica of anything that a task reads."""
    if not reads_container(world, row):
        return first_replica(world, row) >= 0
    container = world.containers[row]
    for k in range(container["first"], container["first"] + container["number"]):
        if world.datasets[world.members[k]["dataset"]]["first_replica"] >= 0:
            return True
    return False


@compiled
def counted_inputs(world: Arrays, row):
    """Inputs of a task that task brokerage counts, in jobs: all or the master's part; without replica none.

    Source: PanDA brokerage documentation, production task brokerage (taskBrokerOnMaster).
    """
    task = world.tasks[row]
    if not has_replicas(world, row):
        return 0.0
    return np.float64(task["n_jobs"]) * (1.0 - task["secondary_fraction"] * task["taskbrokeronmaster"])


counted_inputs_of = uncompiled(counted_inputs)
"""As `counted_inputs`, for Python, which asks so seldom that compiling takes longer."""


@compiled
def fill_sources(world: Arrays, view_tables, row):
    """Fill in `view_tables.sources`, the replicas of the dataset in hand of a task; returns how many, 0 = none, or its
    jobs read nothing."""
    pieces, _ = in_hand(world, row)
    return fill_sources_of(world, view_tables, row, world.input_dataset[row], pieces)


@compiled
def fill_sources_of(world: Arrays, view_tables, row, number, pieces):
    """Fill in `view_tables.sources`, the replicas of a dataset of which a task has so many pieces; returns how many.

    A site without storage lets everyone read; nothing is read from a replica of virtual placement but at its site.
    """
    task, n = world.tasks[row], 0
    if task["input_bytes_per_job"] <= 0:
        return n
    files = np.float64(task["n_input_files"]) * np.float64(pieces)
    place = world.datasets[number]["first_replica"]
    while place >= 0:
        replica = world.replicas[place]
        place, site = replica["next"], replica["site"]
        part = part_of_staged(world, row, number, replica["part"])
        if part <= 0:
            continue
        source, storage = view_tables.sources[n], world.sites[site]["storage"]
        source["site"], source["part"], source["missing"] = site, part, (1.0 - part) * files
        source["tape"], source["virtual"] = replica["tape"] != 0, replica["virtual"] != 0
        real = not source["virtual"]
        source["lan"] = real and (storage < 0 or view_tables.passes[world.storages[storage]["read_lan_off"]])
        source["wan"] = real and (storage < 0 or view_tables.passes[world.storages[storage]["read_wan_off"]])
        n += 1
    return n
