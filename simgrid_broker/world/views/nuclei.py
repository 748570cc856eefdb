"""Views of the nuclei for task brokerage: storages, input, assigned work and output in transfer."""

from functools import partial
from typing import NamedTuple

import numpy as np

from simgrid_broker import luck, views
from simgrid_broker.bundle import Bundle
from simgrid_broker.compiled import compiled, uncompiled
from simgrid_broker.editions import ByEdition
from simgrid_broker.names import COMPLETE, TaskStatus, TransferKind
from simgrid_broker.world.data.datasets import own_part, secondaries_of
from simgrid_broker.world.data.replicas import parts_of_dataset
from simgrid_broker.world.snapshot.records import NucleusWork
from simgrid_broker.world.tasks.input_files import reads_container
from simgrid_broker.world.views.tasks import PASSES, counted_inputs, total_input
from simgrid_broker.world.world import World

OPEN_TASKS = (TaskStatus.READY, TaskStatus.SCOUTING, TaskStatus.RUNNING, TaskStatus.PENDING)
"""Statuses of tasks whose remaining work counts for their nucleus; source: brokerage reference, section 1.4."""

IS_OPEN = np.isin(np.arange(len(TaskStatus)), OPEN_TASKS)
OUTPUT = int(TransferKind.OUTPUT)
NUCLEUS_DRAW = luck.STREAMS["nucleus_draw"]
ROUNDING = 1e-9
"""Fractions of a file that are missing below this are rounding errors."""
FIRST, NOW = range(2)
"""Places in `Work.numbers`."""
DEFAULT_CPUTIME_HS06S = 300.0
"""CPU work per event of a task without a claim; source: brokerage reference, section 1.4."""
BY_PRIORITY = ByEdition(documented=False, deployed=True)
"""True if a task is shown the work of its current priority or above, by edition."""


def nucleus_number(world: World, row: int) -> float:
    """Number in (0, 1) that draws the next nucleus of a task, however often brokerage fails before."""
    task = world.arrays.tasks[row]
    return luck.uniform(world.scenario.seed, NUCLEUS_DRAW, task["luck"], task["n_nuclei"], 0)


class Work(Bundle):
    """Work assigned to the nuclei during one turn of the task broker, HS06 s.

    rows, work: the open tasks with a nucleus, which count, and their work; numbers: (2,) how many there were at the
    start of the turn, and how many there are; whole: (n_tasks,) work of all jobs of each live task; total: (n_sites,)
    by nucleus; first: (n_labels, n_sites) of a prodSourceLabel at the start of the turn, where `has_first` says so;
    shown: (2, n_sites) what a task is shown, for the space and for the weight.
    """

    rows: np.ndarray
    work: np.ndarray
    numbers: np.ndarray
    whole: np.ndarray
    total: np.ndarray
    first: np.ndarray
    has_first: np.ndarray
    shown: np.ndarray


class Burden:
    """Load of the nuclei during one turn of the task broker.

    files, bytes: (n_sites,) of output in transfer to each site; work: what is assigned to them, which grows with every
    assignment; shown: what does not change during the turn, by kind of task.
    """

    def __init__(self, world: World, rows: np.ndarray):
        self.world, self.given = world, world.nucleus_work
        n_sites, n_labels = len(world.arrays.sites), len(world.vocabularies["labels"])
        whole, left, total = np.zeros(len(world.arrays.tasks)), np.empty(len(rows)), np.zeros(n_sites)
        counted = np.empty(2 * len(rows), np.int64)  # each of the others is assigned at most once
        n = work_left(world.arrays, rows, given_work(world, rows), whole, counted, left, total)
        self.work = Work(
            rows=counted, work=np.concatenate([left, np.zeros(len(rows))]), numbers=np.array([n, n]), whole=whole,
            first=np.zeros((n_labels, n_sites)), total=self._given(total), has_first=np.zeros(n_labels, bool),
            shown=np.zeros((2, n_sites)))
        self.files, self.bytes = output_on_the_way(world)
        self.shown = dict[tuple, Shown]()

    @property
    def is_untouched(self) -> bool:
        """True if no task was assigned in this turn."""
        return bool(self.work.numbers[FIRST] == self.work.numbers[NOW])

    def add(self, row: int) -> None:
        """Add the work of a task that was assigned to its nucleus."""
        add_work(self.world.arrays, self.work, row)

    def of(self, row: int) -> np.ndarray:
        """Work of the nuclei that a task is shown, (2, n_sites), as `Work.shown`."""
        by_priority = BY_PRIORITY[self.world.scenario.edition]
        show_work(self.world.arrays, self.work, row, by_priority)
        if by_priority and self.given is not None:
            self._show_given(row, self.given)
        return self.work.shown

    def _show_given(self, row: int, given: NucleusWork) -> None:
        """Show the work that a snapshot gives, with that which this turn adds."""
        task, (of_space, of_weight) = self.world.arrays.tasks[row], self.work.shown
        of_space[:] = self._given(of_space)
        if given.from_priority:
            of_weight[:] = 0.0
            (begin, end), priority = self.work.numbers.tolist(), int(task["priority"])
            add_up(self.world.arrays, self.work, row, begin, end, True)
            of_weight += given.from_priority.get(priority, 0.0)

    def _given(self, counted: np.ndarray) -> np.ndarray:
        """Work of all tasks by nucleus: the one that a snapshot gives, elsewhere the counted one."""
        return counted if self.given is None else np.where(np.isnan(self.given.total), counted, self.given.total)


@compiled
def add_work(world, work, row):
    """Add the work of a task to that of its nucleus."""
    n = work.numbers[NOW]
    work.rows[n], work.work[n] = row, work.whole[row]
    work.total[world.tasks[row]["nucleus"]] += work.whole[row]
    work.numbers[NOW] += 1


@compiled
def show_work(world, work, row, by_priority):
    """Fill in `work.shown` for a task: RW is the work of all tasks.

    by_priority: that for the space is the work at the start of the turn, and that for the weight the work of the task's
    share with at least its priority (D15).
    """
    task, n_sites = world.tasks[row], len(work.total)
    label = task["label"]
    if by_priority and not work.has_first[label]:
        add_up(world, work, row, 0, work.numbers[FIRST], False)
        work.has_first[label] = True
    for site in range(n_sites):
        work.shown[0, site] = work.first[label, site] if by_priority else work.total[site]
        work.shown[1, site] = 0.0 if by_priority else work.total[site]
    if by_priority:
        add_up(world, work, row, 0, work.numbers[NOW], True)


@compiled
def add_up(world, work, row, begin, end, by_priority):
    """Add the work of tasks with the prodSourceLabel of the task in a row to that of their nuclei.

    They are those of `work.rows` from `begin` to before `end`. by_priority: of the task's share and at least its
    priority, into `work.shown` for the weight; else all, into `work.first`.
    """
    task = world.tasks[row]
    label = task["label"]
    for k in range(begin, end):
        other = world.tasks[work.rows[k]]
        if other["label"] == label:
            if not by_priority:
                work.first[label, other["nucleus"]] += work.work[k]
            elif other["share"] == task["share"] and other["priority"] >= task["priority"]:
                work.shown[1, other["nucleus"]] += work.work[k]


@compiled
def work_left(world, rows, given, whole, counted, left, total):
    """Fill in `whole`, (n_tasks,), work of all jobs of the live tasks in `rows`, and that of the nuclei, `total`.

    For the open tasks with a nucleus, which count, also their rows, `counted`, and work left, `left`; returns how many
    they are. given: (n_rows,) work of a task in a snapshot, NaN = that which is claimed.
    """
    n = 0
    for k in range(len(rows)):
        task = world.tasks[rows[k]]
        whole[rows[k]] = claimed_work(task, task["n_jobs"]) if np.isnan(given[k]) else given[k]
        if IS_OPEN[task["status"]] and task["nucleus"] >= 0:
            to_do = task["n_jobs"] - task["n_finished"] - task["n_failed"]
            counted[n], left[n] = rows[k], claimed_work(task, to_do) if np.isnan(given[k]) else given[k]
            total[task["nucleus"]] += left[n]
            n += 1
    return n


@compiled
def claimed_work(task, n_jobs):
    """Claimed CPU work of `n_jobs` jobs of a task, HS06 s; source: brokerage reference, section 1.4."""
    cputime = np.float64(task["cputime"]) if task["cputime"] > 0 else DEFAULT_CPUTIME_HS06S
    return n_jobs * np.float64(task["n_events_per_job"]) * cputime


def given_work(world: World, rows: np.ndarray) -> np.ndarray:
    """Work of each of the tasks in `rows` that a snapshot gives, (n_rows,), HS06 s, NaN = none."""
    work = np.full(len(rows), np.nan)
    for place, row in enumerate(rows.tolist() if world.facts else ()):
        if (given := world.facts_of(row).work_hs06s) is not None:
            work[place] = given
    return work


def output_on_the_way(world: World) -> tuple[np.ndarray, np.ndarray]:
    """Files and bytes of output waiting for or in transfer to each site, (n_sites,) each."""
    files, size = np.zeros((2, len(world.arrays.sites)))
    add_up_output(world.arrays, files, size)
    return files, size


@compiled
def add_up_output(world, files, size):
    """Add the output that waits for or is in transfer to each site to its `files` and bytes, `size`, (n_sites,) each.
    """
    for transfer in world.transfers:
        if transfer["transfer_id"] > 0 and transfer["kind"] == OUTPUT:
            files[transfer["destination"]] += transfer["left_files"]
            size[transfer["destination"]] += transfer["left_bytes"]


def candidates(world: World, row: int) -> np.ndarray:
    """Candidates for the nucleus of a task, (n,): nuclei, bare satellites for full chains, and its pre-assigned site.

    Only a site with a queue for production is any of them. Source: brokerage reference, 0.2, T0 and T1.
    """
    sites, t, able = world.arrays.sites, world.arrays.tasks[row], world.places.sites_of_production
    sites_asked = np.flatnonzero((sites["nucleus"] > 0) & able)
    if t["fullchain"]:
        sites_asked = np.append(sites_asked, np.flatnonzero((sites["nucleus"] == 0) & (sites["bare_nucleus"] > 0)))
    named = t["nucleus"]
    return sites_asked if named < 0 or not able[named] or named in sites_asked else np.append(sites_asked, named)


class Shown(NamedTuple):
    """Candidates of one kind of task during a turn: sites, rows of `views.NUCLEUS`, keys of draws.
    """

    site: np.ndarray
    rows: bytes
    keys: np.ndarray


@compiled
def fill(world, row, passes, work, draws, rows):
    """Fill in what is seen of the nuclei for one task; returns whether a site that sends files has all of its input.

    passes: open values of `read_wan_off`; work: (2, n_sites), as `Work.shown`; draws: (1, n); rows: (n,) of
    `views.NUCLEUS`. Input is in whole bytes and files, which makes a fraction exactly at a limit what it is written as;
    a file that is there in part does not count. Of several replicas at a site the best counts, so a complete one on
    disk makes tape irrelevant (brokerage reference, 1.3).
    """
    size, n_files = total_input(world, row)
    for k in range(len(rows)):
        nucleus = rows[k]
        site = nucleus["site"]
        nucleus["remaining_work_hs06s"], nucleus["priority_work_hs06s"] = work[0, site], work[1, site]
        nucleus["draw"] = draws[0, k]
        held, disk, files = parts_at(world, row, site)
        nucleus["local_input_bytes"], nucleus["disk_input_bytes"] = np.rint(held * size), np.rint(disk * size)
        nucleus["local_input_files"] = np.floor(files * n_files + ROUNDING)
    return has_complete_replicas(world, row, passes)


@compiled
def parts_at(world, row, site):
    """Parts of a task's input at a site: of the bytes on disk or tape, on disk, and of the files on either.

    Those of secondary datasets with replicas of their own are added, unless task brokerage looks at the master alone.
    """
    held, disk, files = parts_of_masters(world, row, site)
    first, end = secondaries_of(world, row)
    if first == end or world.tasks[row]["taskbrokeronmaster"]:
        return held, disk, files
    size, n_files = total_input(world, row)
    counted, (own_size, own_files) = counted_inputs(world, row), own_part(world, row)
    own_size *= counted * world.tasks[row]["input_bytes_per_job"] / max(size, 1.0)
    own_files *= counted * world.tasks[row]["n_input_files"] / max(n_files, 1.0)
    held, disk, files = held * own_size, disk * own_size, files * own_files
    for k in range(first, end):
        number = world.secondaries[k]["dataset"]
        there, on_disk = parts_of_dataset(world, number, site)
        held += there * world.datasets[number]["bytes"] / max(size, 1.0)
        disk += on_disk * world.datasets[number]["bytes"] / max(size, 1.0)
        files += there * world.datasets[number]["n_files"] / max(n_files, 1.0)
    return held, disk, files


@compiled
def parts_of_masters(world, row, site):
    """As `parts_at`, of the master datasets: those of a container are added (brokerage reference, 1.3)."""
    if not reads_container(world, row):
        held, disk = parts_of_dataset(world, world.input_dataset[row], site)
        return held, disk, held
    container, all_bytes, all_pieces = world.containers[row], 0.0, 0.0
    any_bytes, disk_bytes, files = 0.0, 0.0, 0.0
    for k in range(container["first"], container["first"] + container["number"]):
        member = world.members[k]
        held, disk = parts_of_dataset(world, member["dataset"], site)
        size = member["n_pieces"] * member["piece_bytes"]
        all_bytes, all_pieces = all_bytes + size, all_pieces + member["n_pieces"]
        any_bytes, disk_bytes, files = any_bytes + held * size, disk_bytes + disk * size, (
            files + held * member["n_pieces"])
    if all_bytes <= 0.0:
        return 0.0, 0.0, files / all_pieces
    return any_bytes / all_bytes, disk_bytes / all_bytes, files / all_pieces


parts_of_masters_at = uncompiled(parts_of_masters)
"""As `parts_of_masters`, for Python, which asks so seldom that compiling takes longer."""


@compiled
def has_complete_replicas(world, row, passes):
    """True if sites that send files have each dataset of a task whole; T2 in the brokerage reference, 1.2."""
    first, end = secondaries_of(world, row)
    for k in range(first, 0 if world.tasks[row]["taskbrokeronmaster"] else end):
        if not has_complete_replica(world, row, world.secondaries[k]["dataset"], passes):
            return False
    if not reads_container(world, row):
        return has_complete_replica(world, row, world.input_dataset[row], passes)
    container = world.containers[row]
    for k in range(container["first"], container["first"] + container["number"]):
        if not has_complete_replica(world, row, world.members[k]["dataset"], passes):
            return False
    return True


@compiled
def has_complete_replica(world, row, number, passes):
    """True if a site that sends files has a complete replica on disk or tape, or there is no known input."""
    place = world.datasets[number]["first_replica"]
    known = place >= 0
    while place >= 0:
        replica = world.replicas[place]
        storage = world.sites[replica["site"]]["storage"]
        if replica["part"] >= COMPLETE and (storage < 0 or passes[world.storages[storage]["read_wan_off"]]):
            return True
        place = replica["next"]
    return not known or world.tasks[row]["input_bytes_per_job"] <= 0


def nuclei(world: World, row: int, burden: Burden, can_run=None, why_not=None) -> views.Nuclei:
    """Candidates of task brokerage for one task.

    can_run, why_not: as in `views.Nuclei`, the first with the sites, and whether all input is known to lie at one that
    sends files, as first arguments.
    """
    t, shown = world.arrays.tasks[row], nuclei_shown(world, row, burden)
    rows = np.frombuffer(bytearray(shown.rows), views.NUCLEUS)               # a copy takes four times as long
    draws = luck.table(world.scenario.seed, NUCLEUS_DRAW, t["luck"], t["n_nuclei"], 1, shown.keys)
    complete = bool(fill(world.arrays, row, PASSES[world.scenario.edition], burden.of(row), draws, rows))
    facts = world.facts_of(row)
    is_whole = complete and facts.input is None
    if facts.input_of_nuclei is not None:
        complete = _fill_input(rows, facts.input_of_nuclei)
    able = None if can_run is None else partial(can_run, shown.site, is_whole)
    return views.Nuclei(rows, complete, able, why_not)


def _fill_input(rows: np.ndarray, said: views.InputOfNuclei) -> bool:
    """Fill in the input of a task that a snapshot gives; returns whether all of it can be read."""
    site = rows["site"]
    rows["local_input_bytes"], rows["disk_input_bytes"] = said.any_bytes[site], said.disk_bytes[site]
    rows["local_input_files"] = said.any_files[site]
    return not said.missing


def nuclei_shown(world: World, row: int, burden: Burden) -> Shown:
    """Candidates of a task without its input and assignments, kept for the turn."""
    task = world.arrays.tasks[row]
    kind = task["fullchain"] > 0, task["nucleus"].item(), -1 if world.facts_of(row).output is None else row
    if kind not in burden.shown:
        site, passes = candidates(world, row), PASSES[world.scenario.edition]
        storage, has_storage = _storages(world, row, site)
        rows = views.records(
            views.NUCLEUS, len(site), site=site, active=True, has_storage=has_storage, can_run=True,
            read_wan=passes[storage["read_wan_off"]], write_wan=passes[storage["write_wan_off"]],
            free_bytes=storage["free_bytes"], expired_bytes=storage["expired_bytes"],
            total_bytes=storage["total_bytes"], min_free_bytes=storage["min_free_bytes"],
            unavailable_bytes=burden.bytes[site] + storage["unavailable_bytes"],
            queued_output_files=burden.files[site],
            bare=world.arrays.sites["bare_nucleus"][site], satellite=world.arrays.sites["nucleus"][site] == 0)
        burden.shown[kind] = Shown(site, rows.tobytes(), luck.keys_of(world.vocabularies["sites"])[site])
    return burden.shown[kind]


def _storages(world: World, row: int, site: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the storages for the output of a task at each candidate, and whether they exist, (n,) each.

    A full chain writes to the secondary nucleus of a candidate, if any; source: brokerage reference, T5.
    """
    sites = world.arrays.sites
    if world.arrays.tasks["fullchain"][row]:
        secondary = sites["secondary_nucleus"][site]
        site = np.where(secondary >= 0, secondary, site)
    output = world.facts_of(row).output
    number = (world.places.site_storage if output is None else output)[site]
    return world.arrays.storages[np.maximum(number, 0)], number >= 0
