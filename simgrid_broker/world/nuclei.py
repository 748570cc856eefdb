"""Views of the nuclei for task brokerage: storages, input, assigned work and output in transfer."""

from functools import partial
from typing import NamedTuple

import numpy as np

from simgrid_broker import luck, views
from simgrid_broker.compiled import compiled
from simgrid_broker.names import COMPLETE, TaskStatus, TransferKind
from simgrid_broker.world.observe import counted_inputs
from simgrid_broker.world.seen_tasks import PASSES
from simgrid_broker.world.world import World

OPEN_TASKS = (TaskStatus.READY, TaskStatus.SCOUTING, TaskStatus.RUNNING, TaskStatus.PENDING)
"""Statuses of tasks whose remaining work counts for their nucleus; source: brokerage reference, section 1.4."""

NUCLEUS_DRAW = luck.STREAMS["nucleus_draw"]
ROUNDING = 1e-9
"""Fractions of a file that are missing below this are rounding errors."""
GROWTH = 256
"""Tasks for which the tables of a turn grow at once."""
ANY_SHARE = -1
DEFAULT_CPUTIME_HS06S = 300.0
"""CPU work per event of a task without a claim; source: brokerage reference, section 1.4."""


def nucleus_number(world: World, row: int) -> float:
    """Number in (0, 1) that draws the next nucleus of a task, however often brokerage fails before."""
    task = world.arrays.tasks[row]
    return luck.uniform(world.scenario.seed, NUCLEUS_DRAW, task["luck"], task["n_nuclei"], 0)


class Burden:
    """Load of the nuclei during one turn of the task broker.

    files, bytes: (n_sites,) of output in transfer to each site; total: (n_sites,) HS06 s, assigned work of each site,
    which grows with every assignment; live, whole: the live tasks in order, and the work of all jobs of each; rows,
    work: the open ones with a nucleus, which count, and their work, those of this turn from `n_first` to before `n`;
    shown: what does not change during the turn, by kind of task.
    """

    def __init__(self, world: World, rows: np.ndarray):
        self.world = world
        tasks = world.arrays.tasks
        self.live, self.whole = rows, work_left(world, rows, tasks["n_jobs"][rows])
        rows = rows[np.isin(tasks["status"][rows], OPEN_TASKS) & (tasks["nucleus"][rows] >= 0)]
        left = tasks["n_jobs"][rows] - tasks["n_finished"][rows] - tasks["n_failed"][rows]
        self.n_first = self.n = len(rows)
        self.rows, self.work = rows, work_left(world, rows, left)
        self.owed = world.owed
        total = np.bincount(tasks["nucleus"][rows], self.work, minlength=len(world.arrays.sites))
        self.total = self._told(total.astype(float))         # NumPy gives whole numbers where there are no tasks
        self.files, self.bytes = output_on_the_way(world)
        self.first, self.shown = dict[int, np.ndarray](), dict[tuple, Shown]()

    def at_first(self, label: int) -> np.ndarray:
        """Work of the tasks of a prodSourceLabel at the start of the turn, (n_sites,), HS06 s."""
        if label not in self.first:
            self.first[label] = self._told(self._added_up(0, self.n_first, label, ANY_SHARE, 0))
        return self.first[label]

    def of_share(self, label: int, share: int, priority: int) -> np.ndarray:
        """Work of the tasks of a prodSourceLabel and share with at least this priority, (n_sites,), HS06 s."""
        if self.owed is None or not self.owed.from_priority:
            return self._added_up(0, self.n, label, share, priority)
        # what the snapshot says counts all but what this turn adds
        said = self.owed.from_priority.get(priority, 0.0)
        return self._added_up(self.n_first, self.n, label, share, priority) + said

    def add(self, row: int) -> None:
        """Add the work of a task that was assigned to its nucleus."""
        tasks = self.world.arrays.tasks
        if self.n == len(self.rows):
            self.rows = np.concatenate([self.rows, np.zeros(GROWTH, np.int64)])
            self.work = np.concatenate([self.work, np.zeros(GROWTH)])
        work = self.whole[self.live == row][0]
        self.rows[self.n], self.work[self.n] = row, work
        self.total[tasks["nucleus"][row]] += work
        self.n += 1

    def _added_up(self, begin: int, end: int, label: int, share: int, priority: int) -> np.ndarray:
        found = np.zeros(len(self.world.arrays.sites))
        add_up(self.world.arrays, self.rows, self.work, begin, end, label, share, priority, found)
        return found

    def _told(self, found: np.ndarray) -> np.ndarray:
        """Work of all tasks by nucleus, as a snapshot says where it does."""
        return found if self.owed is None else np.where(np.isnan(self.owed.total), found, self.owed.total)


@compiled
def add_up(world, rows, work, begin, end, label, share, priority, found):
    """Add the work of some tasks to that of their nuclei, `found`, (n_sites,).

    They are those of `rows` from `begin` to before `end` with a prodSourceLabel, and unless the share is ANY_SHARE in
    a share and of at least a priority.
    """
    for k in range(begin, end):
        task = world.tasks[rows[k]]
        if task["label"] == label and (
                share == ANY_SHARE or (task["share"] == share and task["priority"] >= priority)):
            found[task["nucleus"]] += work[k]


def work_left(world: World, rows: np.ndarray, n_jobs) -> np.ndarray:
    """Work of `n_jobs` jobs of each of the tasks in `rows`, (n_rows,), HS06 s: claimed, or as a snapshot says."""
    work = claimed_work(world.arrays.tasks, rows, n_jobs)
    for place, row in enumerate(rows.tolist() if world.told_tasks else ()):
        told = world.told_tasks.get(row)
        if told is not None and told.work_hs06s is not None:
            work[place] = told.work_hs06s
    return work


def claimed_work(tasks: np.ndarray, rows: np.ndarray, n_jobs) -> np.ndarray:
    """Claimed CPU work of `n_jobs` jobs of each of the tasks in `rows`, (n_rows,), HS06 s.

    Source: brokerage reference, section 1.4.
    """
    cputime, n_events = tasks["cputime"][rows], tasks["n_events_per_job"][rows].astype(float)
    return n_jobs * n_events * np.where(cputime > 0, cputime, DEFAULT_CPUTIME_HS06S)


def output_on_the_way(world: World) -> tuple[np.ndarray, np.ndarray]:
    """Files and bytes of output waiting for or in transfer to each site, (n_sites,) each."""
    transfers, n_sites = world.arrays.transfers, len(world.arrays.sites)
    rows = np.flatnonzero((transfers["transfer_id"] > 0) & (transfers["kind"] == TransferKind.OUTPUT))
    destination = transfers["destination"][rows]
    files, size = (np.bincount(destination, transfers[name][rows], minlength=n_sites) for name in ("n_files", "bytes"))
    return files, size


def candidates(world: World, row: int) -> np.ndarray:
    """Candidates for the nucleus of a task, (n,): nuclei, bare satellites for full chains, and its pre-assigned site.

    Source: brokerage reference, T0 and T1.
    """
    sites, t = world.arrays.sites, world.arrays.tasks[row]
    found = np.flatnonzero(sites["nucleus"])
    if t["fullchain"]:
        found = np.append(found, np.flatnonzero((sites["nucleus"] == 0) & (sites["bare_nucleus"] > 0)))
    return found if t["nucleus"] < 0 or t["nucleus"] in found else np.append(found, t["nucleus"])


class Shown(NamedTuple):
    """What is seen of the candidates of one kind of task during a turn: sites, rows of `views.NUCLEUS`, keys of draws.
    """

    site: np.ndarray
    rows: bytes
    keys: np.ndarray


@compiled
def fill(world, row, counted, passes, work, priority_work, draws, rows):
    """Fill in what is seen of the nuclei for one task; returns whether a site that sends files has all of its input.

    counted: inputs that count, in jobs; passes: open values of `read_wan_off`; work, priority_work: (n_sites,); draws:
    (1, n); rows: (n,) of `views.NUCLEUS`. Input is in whole bytes and files, which makes a fraction exactly at a limit
    what it is written as; a file that is there in part does not count. Of several replicas at a site the best counts,
    so a complete one on disk makes tape irrelevant (brokerage reference, 1.3).
    """
    task = world.tasks[row]
    for k in range(len(rows)):
        nucleus = rows[k]
        site = nucleus["site"]
        nucleus["remaining_work_hs06s"], nucleus["priority_work_hs06s"] = work[site], priority_work[site]
        nucleus["draw"] = draws[0, k]
        disk, held = 0.0, 0.0
        for r in range(world.replica_site.shape[1]):
            if world.replica_site[row, r] == site:
                part = np.float64(world.replica_fraction[row, r])
                held = max(held, part)
                if not world.replica_tape[row, r]:
                    disk = max(disk, part)
        nucleus["local_input_bytes"] = np.rint(held * counted * task["input_bytes_per_job"])
        nucleus["disk_input_bytes"] = np.rint(disk * counted * task["input_bytes_per_job"])
        nucleus["local_input_files"] = np.floor(held * counted * task["n_input_files"] + ROUNDING)
    return has_complete_replica(world, row, passes)


@compiled
def has_complete_replica(world, row, passes):
    """Whether a site that sends files has a complete replica on disk or tape, or there is no known input."""
    known = False
    for r in range(world.replica_site.shape[1]):
        site = world.replica_site[row, r]
        if site >= 0:
            known, storage = True, world.sites[site]["storage"]
            if np.float64(world.replica_fraction[row, r]) >= COMPLETE and (
                    storage < 0 or passes[world.storages[storage]["read_wan_off"]]):
                return True
    return not known or world.tasks[row]["input_bytes_per_job"] <= 0


def nuclei(world: World, row: int, burden: Burden, can_run=None, why_not=None) -> views.Nuclei:
    """Candidates of task brokerage for one task.

    can_run, why_not: as in `views.Nuclei`, the first with the sites, and whether all input is known to lie at one that
    sends files, as first arguments.

    RW is the work of all tasks in the documented edition; in the deployed edition it is the work at the start of the
    turn for the space, and the work of the task's share with at least its priority for the weight (D15).
    """
    t, edition = world.arrays.tasks[row], world.scenario.edition
    shown = _shown(world, row, burden)
    rows, work = np.frombuffer(bytearray(shown.rows), views.NUCLEUS), burden.total   # a copy takes four times as long
    priority_work = work
    if edition == "deployed":
        work, priority_work = burden.at_first(t["label"]), burden.of_share(t["label"], t["share"], t["priority"])
    draws = luck.table(world.scenario.seed, NUCLEUS_DRAW, t["luck"], t["n_nuclei"], 1, shown.keys)
    complete = bool(fill(world.arrays, row, counted_inputs(world, row, t), PASSES[edition], work, priority_work, draws,
                         rows))
    is_whole, told = complete and row not in world.inputs, world.told_tasks.get(row)
    if told is not None and told.input is not None:
        complete = _tell(rows, told.input)
    able = None if can_run is None else partial(can_run, shown.site, is_whole)
    return views.Nuclei(rows, complete, able, why_not)


def _tell(rows: np.ndarray, said: views.InputOfNuclei) -> bool:
    """Fill in the input of a task as a snapshot says it; returns whether all of it can be read."""
    site = rows["site"]
    rows["local_input_bytes"], rows["disk_input_bytes"] = said.any_bytes[site], said.disk_bytes[site]
    rows["local_input_files"] = said.any_files[site]
    return not said.missing


def _shown(world: World, row: int, burden: Burden) -> Shown:
    """What depends neither on the input of a task nor on assignments, kept for the turn."""
    task = world.arrays.tasks[row]
    told = world.told_tasks.get(row)
    kind = task["fullchain"] > 0, task["nucleus"].item(), row if told is not None and told.output is not None else -1
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
    told = world.told_tasks.get(row)
    number = (sites["storage"] if told is None or told.output is None else told.output)[site]
    return world.arrays.storages[np.maximum(number, 0)], number >= 0
