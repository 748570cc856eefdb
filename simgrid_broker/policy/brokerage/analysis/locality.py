"""The input of an analysis task: the queues that a loop with data locality asks, their weights, and the jobs of it; and
the factors: the original basic weight, the new one by classes of sites and room for the user, and the data.

Source: PanDA brokerage documentation, analysis job brokerage, step 4; brokerage reference, 3.1 (G4), 3.2, 3.4 and 11.5
(D69, D70).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simgrid_broker.compiled import compiled, uncompiled
from simgrid_broker.gdpconfig import anal_jobbroker
from simgrid_broker.names import ReplicaState, SiteClass, TaskClass
from simgrid_broker.policy.brokerage.production.activity import BOOTSTRAP_WORKERS
from simgrid_broker.policy.brokerage.production.estimates import MIN_OUTPUT_DEPLOYED
from simgrid_broker.policy.brokerage.production.storage import is_complete
from simgrid_broker.policy.rule import list_factor
from simgrid_broker.policy.tasks.splitting import MOST_FILES, added, effective_mib, events_counted, events_of
from simgrid_broker.units import GIB, MIB
from simgrid_broker.views import SOURCE, DatasetAt, DatasetOfTask, Gdpconfig, InputAt, InputFile

COMPLETE_DISK, INCOMPLETE_DISK, COMPLETE_TAPE, INCOMPLETE_TAPE, COMPLETE_VP, INCOMPLETE_VP = map(int, ReplicaState)
ANY_COMPLETE = COMPLETE_DISK | COMPLETE_TAPE | COMPLETE_VP
VIRTUAL = COMPLETE_VP | INCOMPLETE_VP
DISK = COMPLETE_DISK | INCOMPLETE_DISK
EVERYWHERE = ANY_COMPLETE | INCOMPLETE_DISK | INCOMPLETE_TAPE | INCOMPLETE_VP
NOT_VIRTUAL = EVERYWHERE & ~VIRTUAL
TAPE_WEIGHT = 0.001
"""Weight of a dataset that a queue has on tape, where one on disk weighs 1; source: brokerage reference, 3.4."""

DATASET = np.dtype([
    ("n_files", "f8"), ("scattered", "?"), ("container", "?"),    # as `views.DatasetAt`
    ("first", "i8"), ("n_sources", "i8"),    # its replicas in the table of sources
    # how it can be read, as `readable` fills it in:
    ("enough", "?"), ("whole_on_disk", "?"), ("remotely", "?"),   # at all, truly complete on disk, over the network
    ("distributed", "?"),            # it counts as scattered
])
"""An input dataset."""
COLUMNS = ("states", "disk_files", "tape_files", "cache_files", "disk_bytes")
"""Columns of a dataset by PanDA queue, as in `views.DatasetAt`."""


def input_tables(given: InputAt, n_queues: int) -> dict[str, np.ndarray]:
    """The input of a task as the tables of a decision show it."""
    asked, sources = given.datasets, [source for one in given.datasets for source in one.sources]
    datasets, replicas = np.zeros(len(asked), DATASET), np.zeros(len(sources), SOURCE)
    for row, one in zip(datasets, asked, strict=True):
        row["n_files"], row["scattered"], row["container"] = one.n_files, one.scattered, one.container
    datasets["n_sources"] = [len(one.sources) for one in asked]
    datasets["first"] = np.cumsum(datasets["n_sources"]) - datasets["n_sources"]
    for row, source in zip(replicas, sources, strict=True):
        row["part"], row["missing"], row["lan"], row["wan"] = source[1:]
    replicas["tape"] = [on_tape for one in asked for on_tape in one.on_tape]
    tables = input_room(len(asked), n_queues) | dict(datasets=datasets)
    for name in COLUMNS:
        for row, one in zip(tables[name], asked, strict=True):
            row[:] = getattr(one, name)
    return dict(sources=replicas, **tables)


def input_room(n: int, n_queues: int) -> dict[str, np.ndarray]:
    """Room for what the tables show of `n` datasets, without their sources."""
    columns = {name: np.zeros((n, n_queues), np.int64 if name == "states" else np.float64) for name in COLUMNS}
    return dict(datasets=np.zeros(n, DATASET), **columns)


def why_unreadable(given: InputAt, number: int, cfg: Gdpconfig) -> str:
    """PanDA's words for a dataset that cannot be read; empty for number -1."""
    if number < 0:
        return ""
    dataset = given.datasets[number]
    return incomplete(dataset.name, complete_at(dataset, cfg))


def complete_at(dataset: DatasetAt, cfg: Gdpconfig) -> tuple[str, ...]:
    """The sources of a dataset that count as complete."""
    limits = cfg.value(anal_jobbroker.MAX_MISSING_INPUT_FILES), cfg.value(anal_jobbroker.MIN_INPUT_COMPLETENESS)
    return tuple(source.name for source in dataset.sources
                 if uncompiled(is_complete)(dict(part=source.part, missing=source.missing), *limits))


def incomplete(name: str, places: Sequence[str]) -> str:
    """PanDA's words for a dataset that cannot be read."""
    if not places:
        return f"{name} is incomplete at online storage. "
    one = len(places) == 1
    return (f"{name} is only complete at {','.join(places)}. But the storage{' is' if one else 's are'} currently in "
            f"downtime or offline, or {'isn' if one else 'aren'}'t associated to any online sites. ")


@compiled
def find_input(task, tables):
    """Fill in where the input of a task lies, and whether that is enough to begin.

    A dataset that cannot be read ends the search: then no queue has any input.
    """
    for place in range(len(tables.data)):
        data = tables.data[place]
        data["listed"], data["weight"], data["disk_gb"] = False, 0.0, 0.0
        data["real"] = data["all"] = data["all_on_disk"] = data["files"] = data["own_files"] = False
        data["some"] = data["some_on_disk"] = data["some_real"] = False
    task["unreadable"], task["remote_source"], task["union"], task["distributed"] = -1, True, False, False
    task["has_input"] = task["n_datasets"] > 0
    for number in range(task["n_datasets"]):
        readable(task, tables, number)
        dataset = tables.datasets[number]
        dataset["distributed"] = is_distributed(task, tables, number)
        if not (dataset["enough"] or dataset["distributed"] or task["allows_incomplete"]):
            task["unreadable"], task["remote_source"], task["distributed"] = number, True, False
            return
        task["distributed"] = task["distributed"] or dataset["distributed"]
        task["remote_source"] = task["remote_source"] and dataset["remotely"]
    if task["has_input"]:
        list_queues(task, tables)


@compiled
def readable(task, tables, number):
    """Fill in how a dataset can be read; virtual placement does not count.

    Source: brokerage reference, 3.1 (G4) and 2.3 P1.
    """
    dataset = tables.datasets[number]
    dataset["enough"] = dataset["whole_on_disk"] = dataset["remotely"] = False
    for k in range(dataset["first"], dataset["first"] + dataset["n_sources"]):
        source = tables.sources[k]
        if (source["lan"] or source["wan"]) and is_complete(source, task["anal_MAX_MISSING_INPUT_FILES"],
                                                            task["anal_MIN_INPUT_COMPLETENESS"]):
            dataset["enough"], dataset["remotely"] = True, dataset["remotely"] or source["wan"]
            if source["part"] >= 1 and not source["tape"]:
                dataset["whole_on_disk"] = True


@compiled
def state_at(task, tables, number, place):
    """Replicas of a dataset at a PanDA queue that has candidates, as bits of names.ReplicaState."""
    if tables.for_analysis[place] or place == task["preassigned"]:
        return tables.states[number, place]
    return 0


@compiled
def is_distributed(task, tables, number):
    """True if a dataset counts as scattered: no candidate has all of it, and it is; or it is a container."""
    dataset, seen = tables.datasets[number], 0
    for place in range(len(tables.data)):
        seen |= state_at(task, tables, number, place)
    return seen != 0 and (dataset["container"] or (dataset["scattered"] and (seen & ANY_COMPLETE) == 0))


@compiled
def times_there(state, counted, on_disk, some_whole, partly):
    """Times that a queue with these replicas is listed for a dataset: for a complete replica, else an incomplete one.

    counted: replicas that count; on_disk: whether any queue has a complete one on a disk, where virtual placement does
    not count; some_whole: whether any queue has a complete one that counts; partly: incomplete ones count beside
    complete ones unless these are on a disk. Source: brokerage reference, 3.4.
    """
    if on_disk and (state & VIRTUAL) != 0:
        return 0
    seen = state & counted
    whole, part = (seen & ANY_COMPLETE) != 0, (seen & ~ANY_COMPLETE) != 0
    if not some_whole:
        return 1 if part else 0
    times = 1 if whole else 0
    return times + 1 if partly and part and not on_disk else times


@compiled
def has_whole(task, tables, number, counted, on_disk):
    """True if any queue has a complete replica of a dataset that counts."""
    for place in range(len(tables.data)):
        state = state_at(task, tables, number, place)
        if (state & counted & ANY_COMPLETE) != 0 and not (on_disk and (state & VIRTUAL) != 0):
            return True
    return False


@compiled
def list_queues(task, tables):
    """Fill in which queues have the input, their weights, and whether those with a part of it count.

    Source: brokerage reference, 3.4.
    """
    uses_vp = task["may_use_vp"] and not task["distributed"]
    for place in range(len(tables.data)):
        data = tables.data[place]
        data["all"] = data["all_on_disk"] = data["real"] = data["files"] = data["own_files"] = True
    for number in range(task["n_datasets"]):
        list_dataset(task, tables, number, uses_vp)
    every = on_disk = some = some_on_disk = False
    for place in range(len(tables.data)):
        data = tables.data[place]
        data["disk_gb"] = data["disk_gb"] // GIB
        every, on_disk = every or data["all"], on_disk or data["all_on_disk"]
        some, some_on_disk = some or data["some"], some_on_disk or data["some_on_disk"]
    single = task["preassigned"]
    task["union"] = single < 0 and not on_disk and not every and some
    for place in range(len(tables.data)):
        data = tables.data[place]
        if single >= 0:
            data["listed"] = data["all"] if tables.data[single]["all"] else (
                tables.data[single]["some"] and data["some"])
        elif task["union"]:
            data["listed"] = data["some_on_disk"] if some_on_disk else data["some"]
        else:
            data["listed"] = data["all_on_disk"] if on_disk else data["all"]
    if task["union"]:
        for place in range(len(tables.data)):
            tables.data[place]["real"] = tables.data[place]["some_real"]


@compiled
def list_dataset(task, tables, number, uses_vp):
    """Add a dataset to what is known of each queue.

    Its files are there, or need not be; of its size on disk the sum of all datasets is made.
    """
    dataset = tables.datasets[number]
    partly = dataset["distributed"] or not dataset["whole_on_disk"]
    quick = DISK | VIRTUAL if uses_vp else DISK
    on_disk = has_whole(task, tables, number, COMPLETE_DISK, False)
    whole, whole_quick, whole_real = (has_whole(task, tables, number, EVERYWHERE, on_disk),
                                      has_whole(task, tables, number, quick, on_disk),
                                      has_whole(task, tables, number, NOT_VIRTUAL, on_disk))
    for place in range(len(tables.data)):
        data, state = tables.data[place], state_at(task, tables, number, place)
        times = times_there(state, EVERYWHERE, on_disk, whole, partly)
        is_quick = times_there(state, quick, on_disk, whole_quick, partly) > 0
        is_real = times_there(state, NOT_VIRTUAL, on_disk, whole_real, partly) > 0
        data["weight"] += times * (1.0 if is_quick else TAPE_WEIGHT)
        data["all"], data["some"] = data["all"] and times > 0, data["some"] or times > 0
        data["all_on_disk"], data["some_on_disk"] = data["all_on_disk"] and is_quick, data["some_on_disk"] or is_quick
        data["real"], data["some_real"] = data["real"] and is_real, data["some_real"] or is_real
        files = max(tables.disk_files[number, place], tables.cache_files[number, place],
                    tables.tape_files[number, place])
        own = files >= dataset["n_files"] or not dataset["whole_on_disk"] or (uses_vp and (state & COMPLETE_VP) != 0)
        data["own_files"], data["files"] = data["own_files"] and own, data["files"] and (own or dataset["distributed"])
        data["disk_gb"] += tables.disk_bytes[number, place]


# ---- jobs ------------------------------------------------------------------------------------------------------------

REFERENCE_COREPOWER, LONGEST_S = 10, 345600
"""HS06 per core and wall time of a job; source: brokerage reference, 11.5 and 13."""
SIZE_OF_SCOUTS, SIZE = 50_000 * MIB, 500_000 * MIB
"""Most input, output and work space of a job without nGBPerJob, of scouts and of others."""


class Limits(NamedTuple):
    """Largest job; files, most_files: nFilesPerJob and nMaxFilesPerJob, 0 = not given; s_per_event: 0 = none.

    work: work space, bytes; base_s: wall time that does not depend on the events.
    """

    files: int
    events: int
    most_files: int
    size: float
    output_per_mib: float
    work: float
    s_per_event: float
    base_s: float


def most_size(bytes_per_job: float, scouting: bool, work: float) -> float:
    """Most input, output and work space of a job, bytes; bytes_per_job: nGBPerJob, NaN = not given."""
    if bytes_per_job == bytes_per_job:
        return bytes_per_job + MIN_OUTPUT_DEPLOYED + work
    return float(SIZE_OF_SCOUTS if scouting else SIZE)


def n_jobs(datasets: Sequence[DatasetOfTask], limits: Limits) -> int:
    """Jobs that the primary files make: nFilesPerJob each, or as many as fit, the first one whatever its size."""
    files = [file for one in datasets if not (one.secondary or one.constituent) for file in one.files.values()]
    if limits.files:
        return -(-len(files) // limits.files)
    beside = [one for one in datasets if one.secondary]
    jobs, chosen = 0, list[InputFile]()
    for file in files:
        if chosen and not fits([*chosen, file], beside, limits):
            jobs, chosen = jobs + 1, []
        chosen.append(file)
    return jobs + bool(chosen)


def fits(files: Sequence[InputFile], beside: Sequence[DatasetOfTask], limits: Limits) -> bool:
    """True if a job may have these primary files; output counts as 1500 MB at least."""
    output = sum(int(limits.output_per_mib * effective_mib(file)) for file in files)
    size = sum(file.bytes for file in files) + sum(next(added(one, [len(files)])) for one in beside)
    seconds = limits.base_s + sum(int(limits.s_per_event * events_of(file)) for file in files)
    events, most_files = sum(map(events_counted, files)), limits.most_files or MOST_FILES
    return (len(files) <= most_files and size + max(output, MIN_OUTPUT_DEPLOYED) + limits.work <= limits.size
            and seconds <= LONGEST_S and not (limits.events and events > limits.events))


STEP_4 = "PanDA brokerage documentation, analysis job brokerage, step 4"
LEAST_MAIN = 0.001
"""Main weight of a class that gets no jobs, and part of the main weight that the numerator of the room has at least."""
HI_TO_MID, HI_TO_LO, MID_TO_LO = 0.05, 0.002, 0.1
"""Main weight that the preferred class passes on to the others; source: brokerage reference, 11.5."""
TINY = 2.0**-20
GB_PER_UNIT = 10
"""Local input, GB, that counts as much as any; source: brokerage reference, 11.5."""
HI, MID, LO = int(SiteClass.HI), int(SiteClass.MID), int(SiteClass.LO)
CLASS_B, CLASS_C = int(TaskClass.B), int(TaskClass.C)

SUMS = np.dtype([("left", "f8"), ("number", "i8"), ("main", "f8")])
"""Of a class of sites: jobs that the user may still queue there, PanDA queues, and main weight; index class + 1."""


@list_factor("running/queued", panda="original basic weight", editions=("documented",), source=f"{STEP_4} (D69)")
def original(tables, number):
    """(running + 1) / (activated + assigned + starting + defined + 1), with the largest of several running numbers."""
    for k in range(len(tables.queues)):
        if tables.listed[k]:
            load, numbers = tables.load[tables.queues[k]["queue"]], tables.numbers[k]
            tables.factors[number, k] = (running_documented(load) + 1) / (numbers["queued"] + 1)


@compiled
def running_documented(load):
    """The largest number that counts as running: jobs, up to 20 workers, numSlots, or starting jobs if that is 0."""
    running = float(max(load["running"], min(load["n_batch_job"], BOOTSTRAP_WORKERS)))
    if load["num_slots"] >= 0:
        running = max(running, float(load["starting"] if load["num_slots"] == 0 else load["num_slots"]))
    return running


@list_factor("basic weight", panda="new basic weight", editions=("deployed",), source="brokerage reference, 11.5 (D70)")
def by_class(tables, number):
    """Main weight of the site's class x room for the user's jobs there + 2^-20; without classes all are one class."""
    task, sums = tables.task[0], tables.sums
    add_up(tables)
    if task["by_class"]:
        share_out(task, sums)
    else:
        merge_classes(sums, task["n_jobs_to_submit"])
    for k in range(len(tables.queues)):
        if tables.listed[k]:
            place = tables.queues[k]["queue"]
            own = sums[tables.user[place]["site_class"] + 1]
            room = room_for_user(tables.numbers[k]["left"], own, task["is_merging"])
            tables.factors[number, k] = own["main"] * room + TINY


@compiled
def add_up(tables):
    """Fill in the sums of the classes over the PanDA queues of the list, each of which counts once."""
    for place in range(len(tables.sums)):
        tables.sums[place]["left"], tables.sums[place]["number"] = 0.0, 0
        tables.sums[place]["main"] = LEAST_MAIN
    tables.counted[:] = False
    for k in range(len(tables.queues)):
        place = tables.queues[k]["queue"]
        if tables.listed[k] and not tables.counted[place]:
            tables.counted[place] = True
            own = tables.sums[tables.user[place]["site_class"] + 1]
            own["left"] += tables.numbers[k]["left"]
            own["number"] += 1


@compiled
def share_out(task, sums):
    """Fill in the main weights of the classes: the jobs of the cycle, in the order that the class of the task prefers.

    Classes that are full pass the rest on.
    """
    hi, mid, lo = sums[HI + 1], sums[MID + 1], sums[LO + 1]
    rest = min(task["n_jobs_to_submit"], hi["left"] + mid["left"] + lo["left"])
    if task["task_class"] == CLASS_C:
        lo["main"] = rest
        return
    if task["task_class"] != CLASS_B:
        hi["main"] = min(rest, hi["left"])
        rest -= hi["main"]
    mid["main"] = min(rest, mid["left"])
    lo["main"] = rest - mid["main"]
    if task["task_class"] == CLASS_B:
        if mid["main"] > 0:
            mid["main"] -= MID_TO_LO
            lo["main"] += MID_TO_LO
    elif hi["main"] > 0:
        hi["main"] -= HI_TO_MID + HI_TO_LO
        mid["main"] += HI_TO_MID
        lo["main"] += HI_TO_LO


@compiled
def merge_classes(sums, n_jobs):
    """Give each class the sums of all, and all jobs as main weight."""
    left, number = 0.0, 0
    for place in range(len(sums)):
        left += sums[place]["left"]
        number += sums[place]["number"]
    for place in range(len(sums)):
        sums[place]["left"], sums[place]["number"], sums[place]["main"] = left, number, n_jobs


@compiled
def room_for_user(left, own, is_merging):
    """Part of the room of a class that a queue has for jobs of the user; own: row of SUMS of the class."""
    rest = own["left"] - own["main"]
    if rest > 0 and not is_merging:
        return max(left - own["main"] / own["number"], LEAST_MAIN * own["main"]) / rest
    return left / own["left"] if own["left"] > 0 else 1.0 / own["number"]


@list_factor("input data", panda="data availability", editions=("deployed",), source="brokerage reference, 11.5")
def by_data(tables, number):
    """Datasets at the queue, those on tape as a thousandth; where others may be asked, 1 + local GB / 10."""
    task = tables.task[0]
    for k in range(len(tables.queues)):
        if not tables.listed[k]:
            continue
        data, factor = tables.data[tables.queues[k]["queue"]], 1.0
        if not task["with_locality"] or task["union"]:
            if task["total_gb"] > 0:
                factor += data["disk_gb"] / GB_PER_UNIT
        elif data["weight"] > 0:
            factor = data["weight"]
        tables.factors[number, k] = factor
