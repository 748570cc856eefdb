"""Records of tasks for brokers, which compiled code fills."""

import numpy as np

from simgrid_broker.bundle import Bundle
from simgrid_broker.compiled import compiled, uncompiled
from simgrid_broker.compiled.columns import copy_columns, copy_known
from simgrid_broker.editions import ByEdition
from simgrid_broker.names import COMPLETE
from simgrid_broker.schema.tasks import N_REPLICAS
from simgrid_broker.units import MB, MIB
from simgrid_broker.views import SOURCE, TASK_FIELDS
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.data.datasets import own_part, secondaries_of
from simgrid_broker.world.data.replicas import first_replica, part_of_staged, parts_of_dataset
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
def has_replicas(world: Arrays, row):
    """True if there is a replica of anything that a task reads as a master dataset."""
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


@compiled
def total_input(world: Arrays, row):
    """Input of a task that task brokerage counts, bytes and files: a secondary dataset with replicas of its own once.
    """
    task, counted = world.tasks[row], counted_inputs(world, row)
    first, end = secondaries_of(world, row)
    size, files = counted * task["input_bytes_per_job"], counted * task["n_input_files"]
    if first == end or task["taskbrokeronmaster"] or counted == 0.0:
        return size, files
    own_size, own_files = own_part(world, row)
    size, files = size * own_size, files * own_files
    for k in range(first, end):
        dataset = world.datasets[world.secondaries[k]["dataset"]]
        size += dataset["bytes"]
        files += dataset["n_files"]
    return size, files


@compiled
def fill_one(world: Arrays, view_tables, row):
    """Fill in `view_tables.task`, the task in a row; returns its input, as `total_input`."""
    fill_task(world, view_tables, row, view_tables.task[0])
    return total_input(world, row)


@compiled
def fill_sources(world: Arrays, view_tables, row):
    """Fill in `view_tables.sources`, the replicas of the dataset in hand of a task; returns how many, 0 = none, or its
    jobs read nothing."""
    pieces, _ = in_hand(world, row)
    files = np.float64(world.tasks[row]["n_input_files"]) * np.float64(pieces)
    return fill_sources_of(world, view_tables, row, world.input_dataset[row], files, 0)


@compiled
def fill_sources_of(world: Arrays, view_tables, row, number, files, n):
    """Fill in `view_tables.sources` from row n on, the replicas of a dataset with so many files; returns their end.

    A site without storage lets everyone read; nothing is read from a replica of virtual placement but at its site.
    """
    if world.tasks[row]["input_bytes_per_job"] <= 0:
        return n
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


@compiled
def fill_secondary(world: Arrays, view_tables, row, k, n):
    """Fill in `view_tables.sources` from row n on, the replicas of the secondary dataset in row k of its table; returns
    their end."""
    number = world.secondaries[k]["dataset"]
    return fill_sources_of(world, view_tables, row, number, np.float64(world.datasets[number]["n_files"]), n)


@compiled
def input_of_pieces(world: Arrays, row, pieces):
    """Bytes and files that go with so many pieces of a task's master: no file of a secondary dataset counts twice.

    Source: brokerage reference, 2.6 (distinct LFNs).
    """
    task, (first, end), (size, files) = world.tasks[row], secondaries_of(world, row), own_part(world, row)
    size, files = size * task["input_bytes_per_job"] * pieces, files * task["n_input_files"] * pieces
    for k in range(first, end):
        more, more_files = of_secondary(world, k, pieces)
        size += more
        files += more_files
    return size, files


@compiled
def of_secondary(world: Arrays, k, pieces):
    """Bytes and files of the secondary dataset in row k of its table that go with so many pieces of a master."""
    one = world.secondaries[k]
    dataset = world.datasets[one["dataset"]]
    return min(one["bytes"] * pieces, dataset["bytes"]), min(one["files"] * pieces, np.float64(dataset["n_files"]))


@compiled
def fill_parts(world: Arrays, view_tables, row, n_jobs, parts):
    """Fill in the parts of the input of some smallest jobs of a task at each PanDA queue, (n_queues,) of `views.PART`;
    returns the input, bytes and files, and whether a site has all of it. `view_tables.sources` has the sources of the
    master afterwards.
    """
    (first, end), pieces = secondaries_of(world, row), n_jobs * pieces_at_once(world, row)
    size, files = input_of_pieces(world, row, pieces)
    left, files_left = 1.0, 1.0
    for queue in range(len(parts)):
        parts[queue]["disk_bytes"] = parts[queue]["any_bytes"] = 0.0
        parts[queue]["disk_files"] = parts[queue]["any_files"] = 0.0
        parts[queue]["complete"] = True
    for k in range(first, end):
        part, files_part = of_secondary(world, k, pieces)
        part, files_part = part / max(size, 1.0), files_part / max(files, 1.0)
        left, files_left = left - part, files_left - files_part
        n = fill_secondary(world, view_tables, row, k, 0)
        add_parts(world, view_tables.sources, n, parts, part, files_part, True)
    n = fill_sources(world, view_tables, row)
    add_parts(world, view_tables.sources, n, parts, left, files_left, False)
    for queue in range(len(parts)):
        part = parts[queue]
        part["disk_bytes"], part["any_bytes"] = whole(part["disk_bytes"]), whole(part["any_bytes"])
        part["disk_files"], part["any_files"] = whole(part["disk_files"]), whole(part["any_files"])
    for k in range(n):
        if view_tables.sources[k]["part"] >= 1 and has_secondaries(world, row, view_tables.sources[k]["site"]):
            return size, files, True
    return size, files, False


@compiled
def whole(part):
    """A sum of parts, 1 if only rounding is missing."""
    return 1.0 if part > COMPLETE else part


@compiled
def add_parts(world: Arrays, sources, n, parts, size, files, only_whole):
    """Add to `parts` what the first n sources of a dataset have at each PanDA queue; size, files: parts of the input
    that the dataset is; only_whole: whether only complete replicas count."""
    for queue in range(len(parts)):
        disk, tape, site, part = 0.0, 0.0, world.queues[queue]["site"], parts[queue]
        for k in range(n):
            source = sources[k]
            if source["site"] == site and (source["part"] >= 1 or not only_whole):
                if source["tape"]:
                    tape = max(tape, source["part"])
                else:
                    disk = max(disk, source["part"])
        held = max(disk, tape)
        part["disk_bytes"] += size * disk
        part["disk_files"] += files * disk
        part["any_bytes"] += size * held
        part["any_files"] += files * held
        part["complete"] = part["complete"] and held >= 1.0


@compiled
def has_secondaries(world: Arrays, row, site):
    """True if a site has each secondary dataset of a task whole."""
    first, end = secondaries_of(world, row)
    for k in range(first, end):
        if parts_of_dataset(world, world.secondaries[k]["dataset"], site)[0] < 1.0:
            return False
    return True


fill_parts_of, fill_secondary_of = uncompiled(fill_parts), uncompiled(fill_secondary)
input_of_pieces_of, of_secondary_of = uncompiled(input_of_pieces), uncompiled(of_secondary)
"""As the functions of similar names, for Python, which asks so seldom that compiling takes longer."""
