"""Makes the views of decisions from the tables of the world; nuclei are in `nuclei`."""

from collections.abc import Iterator
from functools import partial
from math import isnan, nan

import numpy as np

from simgrid_broker import views
from simgrid_broker.compiled import compiled
from simgrid_broker.names import OF_CLONES, JobStatus, ReplicaState, TaskStatus
from simgrid_broker.schema import TASKS
from simgrid_broker.schema.queues import PSEUDO_QUEUES, QUEUES
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.data.datasets import members_of, replica_tables, secondaries_of_task
from simgrid_broker.world.jobs import loads
from simgrid_broker.world.jobs.counts import account_of
from simgrid_broker.world.queues.places import analysis_stores, spread_replicas, stores
from simgrid_broker.world.rows import copied_whole
from simgrid_broker.world.tasks.input_files import in_hand_of, staged_inputs
from simgrid_broker.world.views.tasks import (
    CLAIMS,
    PASSES,
    SEEN,
    WORDS,
    fill_one,
    fill_parts_of,
    fill_secondary_of,
    fill_sources,
    fill_sources_of,
    input_of_pieces_of,
    of_secondary_of,
)
from simgrid_broker.world.views.users import fields_of_word, user_view
from simgrid_broker.world.world import World

S = JobStatus
RUNNING, ASSIGNED, ACTIVATED, STARTING, DEFINED, WAITING, MERGING = map(int, (
    S.RUNNING, S.ASSIGNED, S.ACTIVATED, S.STARTING, S.DEFINED, S.WAITING, S.MERGING))
READY, RUNNING_TASK, SCOUTING = int(TaskStatus.READY), int(TaskStatus.RUNNING), int(TaskStatus.SCOUTING)
PRIORITY_BITS, HIGHEST = 33, 1 << 32
"""More bits than a priority has, and a number above every one."""
KEY_BITS = 63
"""Bits of a key of a task that decide its place among others."""


def queues(world: World) -> views.Queues:
    """Candidates of job brokerage: every pseudo-queue with its queue's description."""
    arrays, nouns = world.arrays, tuple(world.scenario.grid.queues.values())
    pseudo = arrays.pseudo_queues
    parents, of = pseudo["queue"].tolist(), arrays.queues[pseudo["queue"]]
    storage = world.places.output[pseudo["queue"]]
    columns = views.columns_seen(QUEUES, of) | views.columns_seen(PSEUDO_QUEUES, pseudo)
    storage_site, reads = world.places.output_site[pseudo["queue"]], world.places.reads
    locked = [name in world.locked or name.partition("/")[0] in world.locked
              for name in world.vocabularies["pseudo_queues"]]
    records = views.records(views.QUEUE, len(pseudo), **columns, storage=storage, storage_site=storage_site,
                            locked=locked, place=np.argsort(np.argsort(world.vocabularies["pseudo_queues"])))
    texts = {name: tuple(column.of(nouns[queue]) for queue in parents) for name, column in views.TEXTS.items()}
    return views.Queues(world.vocabularies["pseudo_queues"], records, texts,
                        tuple(world.software[queue] for queue in parents), world.software_of_all, world.queues_version,
                        tuple(reads[queue] for queue in parents),
                        tuple(world.analysis_places.reads[queue] for queue in parents))


ASKED = TASKS.dtype[[*dict.fromkeys((
    "n_jobs", "n_finished", "n_failed", "preassigned", "share", "taskpriority", "frozen_s", "n_events_per_job",
    "n_jumbo_jobs", "eventservice", "walltime_s_per_mib", *(views.TASK_FIELDS[name].name for name in WORDS)))]]
"""Columns of a task from which its view is made beside SEEN: a row of them is read in a third of the time of all."""


def values_of(table: np.ndarray, row: int) -> dict:
    """A row of a table as plain values by column."""
    return dict(zip(table.dtype.names or (), table[row].item(), strict=True))


def task(world: World, row: int) -> views.Task:
    """A task as the brokers may know it; where jobs are cut from files, with the smallest job."""
    view_tables, words = world.view_tables, world.vocabularies
    size, files = fill_one(world.arrays, view_tables, row)
    fields = dict(zip(SEEN.names or (), view_tables.task.item(), strict=True))
    t = dict(zip(ASKED.names or (), world.arrays.tasks[row:row + 1].view(ASKED).item(), strict=True))
    n_jobs = t["n_jobs"] - t["n_finished"] - t["n_failed"]
    above = world.parent_of(row)
    parent = None if above is None else world.arrays.tasks[above]
    named = words["preassigned"][t["preassigned"]]
    fields |= dict(
        gshare=words["shares"][t["share"]], n_jobs=n_jobs,
        total_input_bytes=float(round(size)), total_input_files=round(files), taskpriority=t["taskpriority"],
        parent_nucleus=-1 if parent is None else int(parent["nucleus"]),
        parent_fullchain=0 if parent is None else int(parent["fullchain"]),
        frozen_for_s=0.0 if isnan(t["frozen_s"]) else float(world.state["now_s"]) - t["frozen_s"],
        preassigned=tuple(words["queues"].index(name) for name in named.split(",")) if named else (),
        jumbo_events=t["n_events_per_job"] * n_jobs if t["n_jumbo_jobs"] else -1,
        job_cloning=t["eventservice"] == OF_CLONES,
        cputimeunit="" if t["walltime_s_per_mib"] > 0 else "HS06sPerEvent")
    for name in CLAIMS:
        if isnan(fields[name]):
            fields[name] = nan                                # one object, which equals itself in a view
    for name in WORDS:
        column = views.TASK_FIELDS[name]
        fields[name] = words[column.codes or ""][t[column.name]]
    if fields["user_parameters"]:
        fields |= fields_of_word(fields["user_parameters"], words["storages"])
    if world.facts:
        fields |= world.facts_of(row).fields
    return views.Task.of(fields)


def stats(world: World, snapshot, account: int, nucleus: int = -1, resource_type: int | None = None) -> views.Stats:
    """Statistics of the grid for one share and nucleus; jobs made since they were read count as placed.

    account: the share, or n_shares + k for the k-th Resource queue, which has no numbers by resource type
    (`jobs.counts`). With a resource type also the numbers of that type alone, which only the edition `deployed` asks
    for.
    """
    load, at_nucleus = snapshot.load[loads.load_row(world, snapshot, account, resource_type)], way_row(world, nucleus)
    nuclei, link = stores_known(world, snapshot), world.network.ways[at_nucleus]
    if nucleus < 0:
        return views.Stats(snapshot.taken_at, load, snapshot.store, link)
    store = nuclei[nucleus]
    return views.Stats(snapshot.taken_at, load, snapshot.store, link, bool(store["write_wan"]), bool(store["read_wan"]),
                       *world.network.waiting[at_nucleus].tolist())


def stores_known(world: World, snapshot) -> np.ndarray:
    """The storages of the sites, (n_sites,) of STORE, as old as the statistics, which keep those of the queues, too."""
    if snapshot.store is None:
        snapshot.nuclei, snapshot.store = stores(world)
    return snapshot.nuclei


def way_row(world: World, nucleus: int) -> int:
    """Row of the network's `ways` to a nucleus, -1 = none, which is filled if it is not yet known."""
    network = world.network
    if not network.ways_known[nucleus]:
        world.places.fill_ways(nucleus, network.table, world.arrays, network.ways, network.waiting)
        network.ways_known[nucleus] = True
    return nucleus


def links_of_hint(world: World, link: np.ndarray) -> np.ndarray:
    """`link` as task brokerage asks about queues: those of all nuclei are in the nucleus, of bare satellites not.

    Source: brokerage reference, 1.2 (hint mode).
    """
    links = copied_whole(link)
    links["in_nucleus"] = world.arrays.sites["nucleus"][world.places.site] > 0
    return links


@compiled
def generating(world: Arrays, rows, analysis, widths, highest, keys):
    """Keys of the tasks of `rows` with input left of which jobs are made into `keys`; returns how many there are.

    Their order is by account (share or Resource queue), resource type, production before analysis, and priority, the
    highest first; a scouting task counts with one more (lifecycle reference, section 2.3). The last bits are how far
    the priority is below `highest`, and the place in `rows`; widths: bits of both; analysis: as `tasks_by_work_queue`.
    """
    n, n_types, (of_priority, of_place) = 0, world.counts.shape[2], widths
    for k in range(len(rows)):
        row = rows[k]
        task = world.tasks[row]
        scouting = task["status"] == SCOUTING
        if ((task["status"] == READY or task["status"] == RUNNING_TASK or scouting)
                and (task["n_retry"] > 0 or task["next_chunk"] < task["n_jobs"]
                     and staged_inputs(world, row) > task["next_chunk"])):
            place = 2 * (account_of(world, row) * n_types + task["resource_type"]) + analysis[task["label"]]
            keys[n] = ((place << of_priority) + highest - task["priority"] - scouting << of_place) + k
            n += 1
    return n


@compiled
def cut_by_work_queue(rows, widths, keys, places, begins):
    """Write the rows of tasks over their sorted keys, and the work queues and where each begins to `places`, `begins`.

    Returns how many work queues there are; production and analysis are counted apart.
    """
    n, (of_priority, of_place) = 0, widths
    for k in range(len(keys)):
        place = keys[k] >> of_priority + of_place
        if n == 0 or place != places[n - 1]:
            places[n], begins[n] = place, k
            n += 1
        keys[k] = rows[keys[k] & (1 << of_place) - 1]
    return n


def tasks_by_work_queue(world: World, rows, analysis: np.ndarray) -> dict[bool, dict[tuple[int, int], np.ndarray]]:
    """Rows of the tasks of which jobs can be made now, production apart from analysis, by account and resource type,
    the highest priority first.

    Accounts are those of `jobs.counts`: the shares without the tasks of Resource queues, then these. analysis: which
    labels are of it, (n_labels,) bool.
    """
    n_types, highest, widths = world.arrays.counts.shape[2], HIGHEST, (PRIORITY_BITS, len(rows).bit_length())
    if (2 * world.arrays.counts.shape[1] * n_types << sum(widths)).bit_length() > KEY_BITS and len(rows):
        priorities = world.arrays.tasks["priority"][rows]
        highest = int(priorities.max()) + 1                                 # of a scouting task
        widths = (highest - int(priorities.min())).bit_length(), widths[1]
    keys = np.empty(len(rows), np.int64)
    keys = keys[:generating(world.arrays, rows, analysis, widths, highest, keys)]
    if not len(keys):
        return {}
    keys.sort()                      # several times as fast as numbers by their keys
    places, begins = np.empty((2, len(keys)), np.int64)
    n = cut_by_work_queue(rows, widths, keys, places, begins)
    cuts = [*begins[:n].tolist(), len(keys)]
    tasks: dict[bool, dict[tuple[int, int], np.ndarray]] = {False: {}, True: {}}
    for k, place in enumerate(places[:n].tolist()):
        tasks[place % 2 > 0][divmod(place // 2, n_types)] = keys[cuts[k]:cuts[k + 1]]
    return {analysis: of_kind for analysis, of_kind in tasks.items() if of_kind}


def replicas(world: World, number: int) -> list[tuple[int, float, int]]:
    """Site, part of the files and whether it is on tape, of each replica of a dataset."""
    tables = replica_tables(world.arrays, np.array([number]))
    return [replica for replica in zip(*(table[0].tolist() for table in tables), strict=True) if replica[1] > 0]


def job_input(world: World, row: int) -> views.JobInput | None:
    """The input of a task whose jobs read something that lies somewhere, else None."""
    if (given := world.facts_of(row).input) is not None:
        return given
    n = fill_sources(world.arrays, world.view_tables, row)
    if not n:
        return None
    held = tuple((site, part, tape) for site, part, _, _, _, tape, _ in world.view_tables.sources[:n].tolist())
    master = views.InputDataset("input", _sources(world, n))
    if not world.arrays.splitting["secondaries"][row]:
        return views.JobInput(held, (master,), world.places.site)
    return views.JobInput(held, (master, *_secondaries(world, row)), world.places.site, None,
                          partial(_input_of_jobs, world, row))


def _input_of_jobs(world: World, row: int, n_jobs: int) -> tuple[float, int, bool, np.ndarray]:
    """As `views.JobInput.of_jobs`, of the task in a row."""
    parts = np.zeros(len(world.arrays.queues), views.PART)
    size, files, somewhere = fill_parts_of(world.arrays, world.view_tables, row, n_jobs, parts)
    return float(size), files, bool(somewhere), parts


def _secondaries(world: World, row: int) -> tuple[views.InputDataset, ...]:
    """The secondary datasets with replicas of their own of a task."""
    names, known, numbers = dict(enumerate(world.catalogue.names)), [], world.arrays.secondaries["dataset"]
    for k in range(*secondaries_of_task(world.arrays, row)):
        n, number = fill_secondary_of(world.arrays, world.view_tables, row, k, 0), int(numbers[k])
        known.append(views.InputDataset(names.get(number, "secondary input"), _sources(world, n)))
    return tuple(known)


def _sources(world: World, n: int) -> tuple[views.Source, ...]:
    """The first `n` replicas of `world.view_tables.sources`, as rules of completeness see them."""
    sites = world.vocabularies["sites"]
    return tuple(views.Source(sites[site], part, missing, lan, wan)
                 for site, part, missing, lan, wan, *_ in world.view_tables.sources[:n].tolist())


def datasets(world: World, row: int) -> tuple[views.InputDataset, ...]:
    """The datasets that jobs of a task read, as far as they lie somewhere."""
    inputs = []
    for number, pieces in members_of(world.arrays, row)[["dataset", "n_pieces"]].tolist():
        files = float(world.arrays.tasks["n_input_files"][row]) * pieces
        n = fill_sources_of(world.arrays, world.view_tables, row, number, files, 0)
        if n:
            inputs.append(views.InputDataset(world.catalogue.names[number], _sources(world, n)))
    single = None if inputs else job_input(world, row)
    return (*inputs, *_secondaries(world, row)) if single is None else single.inputs


def input_at(world: World, site: int) -> views.JobInput:
    """Input all of which lies on disk at one site."""
    storage, passes = world.arrays.sites["storage"][site], PASSES[world.scenario.edition]
    lan, wan = (storage < 0 or bool(passes[world.arrays.storages[f"{activity}_off"][storage]])
                for activity in ("read_lan", "read_wan"))
    source = views.Source(world.vocabularies["sites"][site], 1.0, 0.0, lan, wan)
    return views.JobInput(((site, 1.0, False),), (views.InputDataset("input", (source,)),), world.places.site)


def locality(task: views.Task, parts: views.JobInput | None, n_jobs: int) -> views.Locality | None:
    """Input of `n_jobs` jobs of a task, from `job_input`; None if it has no input."""
    if parts is None:
        return None
    if parts.by_files is not None:
        return parts.by_files
    if parts.of_jobs is not None:
        total, files, somewhere, at_queues = parts.of_jobs(n_jobs)
        at_each = (at_queues[name] for name in views.PART.names or ())
        return views.Locality._make((total, files, *at_each, somewhere, parts.inputs))
    (disk, anywhere), inputs = parts.parts, parts.inputs
    total, files = task.input_bytes_per_job * n_jobs, task.n_files_per_job * n_jobs
    return views.Locality(total, files, disk, disk, anywhere, anywhere, anywhere >= 1.0, lies_somewhere(parts), inputs)


def lies_somewhere(parts: views.JobInput) -> bool:
    """True if a replica has all input of a task."""
    return any(source.part >= 1 for source in parts.inputs[0].sources)


@compiled
def jobs_before_merging(world: Arrays, tasks, planned, known, has_other_work, jobs):
    """Write the live jobs, without merge jobs, of tasks with jobs that wait to be merged to `jobs`; returns the number.

    tasks: rows of tasks whose output is merged, (k,); planned: panda_id of the job in each row that is left out, as it
    is in a merge already; known: version of the live jobs of each task when they were last looked at, of which none are
    written while it is the same, and whether some of them did not wait, (n_tasks,) each; has_other_work: (k,), the
    result, tasks with input left or such jobs; jobs: (6, n) row, jeditaskid, PanDA queue, site, chunk, does it wait.
    """
    (seen, others), n = known, 0
    for place in range(len(tasks)):
        number = tasks[place]
        task, version = world.tasks[number], world.live_jobs[number]["version"]
        if seen[number] != version:
            seen[number] = version
            waits, others[number] = look_for_others(world, number, planned)
            row = world.live_jobs[number]["first"] if waits else np.int32(-1)
            while row >= 0:
                job = world.jobs[row]
                if job["n_chunks"] > 0 and job["panda_id"] != planned[row]:
                    jobs[0, n], jobs[1, n], jobs[2, n] = row, task["jeditaskid"], job["queue"]
                    jobs[3, n], jobs[4, n] = world.queues[job["queue"]]["site"], job["chunk"]
                    jobs[5, n] = job["status"] == MERGING
                    n += 1
                row = world.neighbours[row]["next"]
        has_other_work[place] = task["next_chunk"] < task["n_jobs"] or task["n_retry"] > 0 or others[number]
    return n


@compiled
def look_for_others(world: Arrays, task, planned):
    """Test whether jobs of a task wait to be merged, without those that are planned, and whether others do not wait."""
    row, waits, others = world.live_jobs[task]["first"], False, False
    while row >= 0 and not (waits and others):
        if world.job_status[row] == MERGING:
            waits = waits or world.jobs[row]["panda_id"] != planned[row]
        elif not others:
            others = world.jobs[row]["n_chunks"] > 0
        row = world.neighbours[row]["next"]
    return waits, others


@compiled
def mark_whole(world: Arrays, rows, panda_ids, numbers, whole):
    """Mark in `whole`, (n,) bool, the merges all of whose jobs still wait; numbers: of jobs of each, (n,).

    rows, panda_ids: of the jobs of all merges, one behind the other.
    """
    end = 0
    for merge in range(len(numbers)):
        begin, end = end, end + numbers[merge]
        whole[merge] = True
        for k in range(begin, end):
            row = rows[k]
            whole[merge] &= world.job_status[row] == MERGING and world.jobs[row]["panda_id"] == panda_ids[k]


def share_usage(world: World) -> np.ndarray:
    """Power in use by each leaf share, (n_shares,), HS06."""
    return world.arrays.hs06_milli * 1e-3


def work_queue_counts(snapshot, accounts, resource_types) -> views.WorkQueueCounts:
    """Job numbers of accounts in some resource types; jobs made since the snapshot are defined."""
    running = not_running = defined = waiting = 0
    for account in accounts:
        of_types, placed = snapshot.by_type[account], snapshot.placed_by_type[account]
        for kind in resource_types:
            numbers = of_types[kind]
            running += numbers[RUNNING]
            not_running += numbers[ASSIGNED] + numbers[ACTIVATED] + numbers[STARTING]
            defined += numbers[DEFINED] + int(placed[kind])
            waiting += numbers[WAITING]
    return views.WorkQueueCounts(running, not_running, defined, waiting)


def analysis_view(world: World, snapshot, row: int, account: int, n_jobs: float, slots_of_class_a: float,
                  given: views.InputAt | None = None) -> views.AnalysisView:
    """View of the task in a row for analysis brokerage.

    account: the share; n_jobs: jobs that may be made of it; slots_of_class_a: USER_USAGE_THRESHOLD_A; given: where the
    input of the jobs lies, default that of the task.
    """
    facts = world.facts_of(row)
    if given is None:
        given, n_jobs = facts.input_at_queues or (input_at_queues(world, row), n_jobs)
    user = facts.user or user_view(world, row, float(world.state["now_s"]), slots_of_class_a)
    return views.AnalysisView(snapshot.load[loads.load_row(world, snapshot, account, None)],
                              analysis_stores_known(world, snapshot), user, given, n_jobs)


def analysis_stores_known(world: World, snapshot) -> np.ndarray:
    """The storages of the queues for analysis, (n_queues,) of ANALYSIS_STORE, as old as the statistics."""
    if snapshot.analysis_store is None:
        snapshot.analysis_store = analysis_stores(world)
    return snapshot.analysis_store


def output_at_queues(world: World, parts: views.JobInput, task: views.Task) -> views.InputAt:
    """The input of a merge job at each PanDA queue: all of it at one site; parts: as `input_at`."""
    there = world.places.site == parts.replicas[0][0]
    nothing, size = np.zeros(len(there)), task.input_bytes_per_job
    dataset = views.DatasetAt("input", np.where(there, int(ReplicaState.COMPLETE_DISK), 0), 1, there.astype(float),
                              nothing, nothing, there * size, parts.inputs[0].sources, (False,))
    return views.InputAt((dataset,), size)


def input_at_queues(world: World, row: int) -> views.InputAt:
    """The input of a task at each PanDA queue, one dataset whose files lie at the sites of its replicas."""
    parts = job_input(world, row)
    if parts is None:
        return views.InputAt()
    states = np.zeros(len(world.arrays.queues), np.int64)
    disk, tape = np.zeros((2, len(states)))
    spread_replicas(world.view_tables.sources, 0, len(parts.replicas), world.places.site, states, disk, tape)
    pieces, piece_bytes = in_hand_of(world.arrays, row)
    size, others = float(pieces * piece_bytes), tuple(_secondaries_at_queues(world, row, parts, int(pieces)))
    if others:
        size = float(input_of_pieces_of(world.arrays, row, pieces)[0])
    sources, left = parts.inputs[0].sources, size - sum(one for _, one in others)
    tapes = tuple(bool(on_tape) for *_, on_tape in parts.replicas)
    master = views.DatasetAt("input", states, 1, disk, tape, np.zeros(len(states)), disk * left, sources, tapes)
    return views.InputAt((master, *(one for one, _ in others)), size)


def _secondaries_at_queues(world: World, row: int, parts: views.JobInput,
                           pieces: int) -> Iterator[tuple[views.DatasetAt, float]]:
    """The secondary datasets with replicas of their own of a task at each PanDA queue, and their bytes: complete
    replicas count."""
    for k, known in zip(range(*secondaries_of_task(world.arrays, row)), parts.inputs[1:], strict=True):
        n, seen = fill_secondary_of(world.arrays, world.view_tables, row, k, 0), world.view_tables.sources
        states = np.zeros(len(world.arrays.queues), np.int64)
        disk, tape = np.zeros((2, len(states)))
        spread_replicas(seen, 0, n, world.places.site, states, disk, tape)
        disk, tape = np.floor(disk), np.floor(tape)
        size = float(of_secondary_of(world.arrays, k, pieces)[0])
        yield views.DatasetAt(known.name, states, 1, disk, tape, np.zeros(len(states)), disk * size, known.sources,
                              tuple(seen["tape"][:n].tolist())), size
