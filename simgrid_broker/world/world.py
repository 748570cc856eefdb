"""The world as Python holds it: arrays, vocabularies of their codes, and growth of tables."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from math import isnan
from typing import Any

import numpy as np

from simgrid_broker.bundle import zeros_in_lines
from simgrid_broker.names import TaskStatus
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.scenario.work.campaigns import MergeRule, Payload
from simgrid_broker.scenario.work.draws import catalogue, with_sizes
from simgrid_broker.scenario.work.event_rule import EventRule
from simgrid_broker.scenario.work.tasklist import TaskList
from simgrid_broker.schema.datasets import SecondaryInput
from simgrid_broker.schema.queues import SlotRequest
from simgrid_broker.schema.tasks import N_REPLICAS
from simgrid_broker.systems.events.table import EventRanges
from simgrid_broker.views import QueueSoftware, ShareTree
from simgrid_broker.world.arrays import EVENT_JOB, PARALLEL, REUSED, Arrays
from simgrid_broker.world.data.datasets import MemberRows
from simgrid_broker.world.data.network import Capacities, NetworkMetrics
from simgrid_broker.world.jobs.counts import JobSums, sums_of_jobs
from simgrid_broker.world.queues.places import AnalysisPlaces, Places
from simgrid_broker.world.snapshot.records import NO_FACTS, NucleusWork, TaskFacts
from simgrid_broker.world.users.jobs import UserOutput, UserRows
from simgrid_broker.world.users.metrics import AnalysisMetrics
from simgrid_broker.world.views.tasks import ViewTables, view_tables_of

MARGIN = 1024
"""Rows to keep free in every table that the fabric allocates from: more than one event can use."""

COUNTERS = ["n_pending", "n_holding", "n_done_tasks", "n_lessons", "n_events", "total_cores", "n_pilots"]
"""Fields of the state from which follows how long inboxes and events must be; read together, which is faster."""
INBOXES = "pending", "holding", "done_tasks", "lessons", "events", "far_events"
"""Inboxes and events, whose lengths are read again only when a table has been replaced."""

TASK_TABLES = ("tasks", "task_times", "live_jobs", "live_types", "ram_levels", "scout_inputs", "splitting",
               "input_loss", "waits_in", "input_dataset", "containers")
"""Tables with a row for each task."""


class World:
    """Arrays of a run with their scenario, share tree and vocabularies.

    shares: as operators set them, which incidents change; loaded_tree: the tree as processes know it; tree: with the
    values in force; arrays: replaced when a table grows, so never keep it across a call; software: of each PanDA queue;
    places, analysis_places: their storages; network: the brokers' data on links; slots: rows of Harvester_Slots by
    PanDA queue. Of a snapshot alone, facts: of tasks by row; nucleus_work: of nuclei; locked: names of candidates, or
    of their PanDA queues, that another broker holds.
    row_of: row of each task of the table by jeditaskid; free_tasks: rows without a task; blocks: the tasks that come
    after those; merges_output: whether any task, also of the blocks, may ask for merging; status_changes: how often a
    task has entered or left each status, or has become live or ceased to be in it; n_moves: changes so far of tasks, of
    the status of queues, and of the order of shares; statuses: that of the task in each row once more, dense: agents
    look for tasks by it all the time; user_rows: rows of `arrays.user_jobs`; analysis: what PanDA's daemons know about
    it; capacities: of links, doors and backbones; catalogue: the datasets of the scenario; member_rows: rows of
    `arrays.members`; event_rules: of tasks that were converted to event service, by jeditaskid.
    """

    def __init__(self, arrays: Arrays, scenario: Scenario, tree: ShareTree, vocabularies: dict[str, tuple[str, ...]]):
        self.arrays = arrays
        self.scenario = scenario
        self.event_rules: dict[int, EventRule] = {}
        self.catalogue = catalogue(scenario)
        self.tree = self.loaded_tree = tree
        self.shares = scenario.shares_in_use
        self.vocabularies = vocabularies
        self.queues_version = 0
        self.software = queue_software(scenario.grid)
        self.software_of_all = scenario.grid.software_of_all
        self.network = NetworkMetrics(arrays)
        self.capacities = Capacities(scenario.grid, arrays.links, arrays.gates)
        self.places = Places(arrays, scenario.grid)
        self.analysis_places = AnalysisPlaces(arrays, scenario.grid)
        self.slots: dict[int, tuple[SlotRequest, ...]] = {
            number: queue.slot_requests for number, queue in enumerate(scenario.grid.queues.values())
            if queue.slot_requests}
        self.locked: frozenset[str] = frozenset()
        self.facts: dict[int, TaskFacts] = {}
        self.nucleus_work: NucleusWork | None = None
        self.member_rows = MemberRows()
        self.row_of = dict(zip(arrays.tasks["jeditaskid"].tolist(), range(len(arrays.tasks)), strict=True))
        self.free_tasks: list[int] = []
        self.blocks: Iterator[TaskList] = iter(())
        self.merges_output = False
        self.status_changes, self.n_moves = [0] * len(TaskStatus), 0
        self.statuses = arrays.tasks["status"].astype(np.int8)
        self.user_rows = UserRows(vocabularies)
        self.user_output = UserOutput(scenario, vocabularies, self.analysis_places)
        self.analysis = AnalysisMetrics(len(arrays.queues), len(vocabularies["users"]),
                                        len(arrays.hs06_milli))
        self._seen: tuple[np.ndarray, ViewTables] | None = None
        self._since_move: dict[str, tuple[int, Any]] = {}
        self._counted = arrays.state, arrays.state[COUNTERS]
        self._lengths: tuple[Arrays | None, list[int]] = None, []

    @property
    def state(self) -> np.void:
        """Counters of the world, one row of `arrays.STATE`."""
        return self.arrays.state[0]

    @property
    def job_sums(self) -> JobSums:
        """Sums of the counts of jobs, made again when a job has moved; not to be changed."""
        return self._made_of_counts("sums", sums_of_jobs)

    @property
    def job_counts(self) -> np.ndarray:
        """Counts of jobs, copied again when a job has moved; not to be changed."""
        return self._made_of_counts("copy", lambda arrays: arrays.counts.copy())

    def _made_of_counts(self, name: str, make: Callable[[Arrays], Any]) -> Any:
        """Result of a function of the counts of jobs, kept under a name until a job has moved."""
        moves, known = self.arrays.state["n_job_moves"].item(), self._since_move.get(name)
        if known is None or known[0] != moves:
            known = self._since_move[name] = moves, make(self.arrays)
        return known[1]

    def facts_of(self, row: int) -> TaskFacts:
        """Facts of the task in a row that only a snapshot gives; none in a run."""
        return self.facts.get(row, NO_FACTS)

    def with_sizes(self, secondaries: Sequence[SecondaryInput]) -> list[SecondaryInput]:
        """Secondary datasets of a stream, those of the scenario's datasets with the number and size of their files."""
        return with_sizes(secondaries, self.catalogue)

    def parent_of(self, row: int) -> int | None:
        """Row of the task that makes the input of a task, None without one."""
        parent = self.arrays.tasks["parent"].item(row)
        return self.row_of[parent] if parent > 0 else None

    def event_rule(self, row: int) -> EventRule:
        """The parameters of event service of a task, by default those of its stream; the defaults if it has none."""
        return self.event_rules.get(int(self.arrays.tasks["jeditaskid"][row])) or self._stream(row) or EventRule()

    def _stream(self, row: int) -> Payload | None:
        return self._streams.get(self.vocabularies["task_names"][self.arrays.tasks["name"][row]])

    @cached_property
    def _streams(self) -> dict[str, Payload]:
        """The streams of tasks by name, of equal names the first."""
        work = self.scenario.workload
        return {stream.name: stream for stream in reversed((*work.campaigns, *work.users))}

    @property
    def view_tables(self) -> ViewTables:
        """The table of tasks as brokers see it."""
        tasks, n_datasets = self.arrays.tasks, 1 + len(self.arrays.bunches)
        if (self._seen is None or self._seen[0] is not tasks
                or len(self._seen[1].sources) < self.arrays.state["most_replicas"].item() * n_datasets):
            self._seen = tasks, view_tables_of(tasks, self.scenario.edition, self.most_sources * n_datasets)
        return self._seen[1]

    @property
    def most_sources(self) -> int:
        """Replicas of a dataset for which tables must have room."""
        return 1 << (max(N_REPLICAS, int(self.state["most_replicas"])) - 1).bit_length()

    def merge_rule(self, row: int) -> MergeRule:
        """The parameters of merging of a task's stream, mergeRamCount as measured; the defaults if it has no stream."""
        rule, measured_mb = self._stream(row) or MergeRule(), float(self.arrays.tasks[row]["mergeramcount"])
        return rule if isnan(measured_mb) else rule.model_copy(update={"mergeRamCount": measured_mb})

    def note_new_descriptions(self) -> None:
        """Note a change of a static description of queues, which invalidates cached masks."""
        self.queues_version += 1
        self.network.forget_ways()

    def count_for_users(self, rows: Sequence[int] | np.ndarray) -> None:
        """Count the jobs of tasks for their users from now on, in the share that the tasks have now."""
        for row in rows:
            owner = self.user_rows.owner(self.arrays.tasks, row)
            if owner is not None:
                number = self.user_rows.take(owner, self.arrays)
                for name in ("user_jobs", "user_queued_cores"):
                    self._lengthen(name, number + 1)
                self.arrays.tasks["user_row"][row] = number + 1

    def forget_expired(self, now: float) -> None:
        """Forget the rows of Harvester_Slots that have expired."""
        kept = {queue: tuple(row for row in rows if row.expires is None or row.expires > now)
                for queue, rows in self.slots.items()}
        self.slots = {queue: rows for queue, rows in kept.items() if rows}

    def make_room(self, jobs: int = MARGIN, transfers: int = MARGIN, retries: int = MARGIN,
                  submissions: int = MARGIN, replicas: int = MARGIN, subdatasets: int = 0) -> None:
        """Grow tables until the given numbers of rows are free, and events and inboxes can hold what may follow."""
        free = self.arrays.n_free.tolist()
        for place, wanted in enumerate((jobs, transfers, retries, submissions, replicas, subdatasets)):
            if free[place] < wanted:
                self._grow(REUSED[place], wanted)
        arrays = self.arrays
        if self._counted[0] is not arrays.state:
            self._counted = arrays.state, arrays.state[COUNTERS]
        if self._lengths[0] is not arrays:
            self._lengths = arrays, [len(getattr(arrays, name)) for name in INBOXES]
        pending, holding, done, lessons, events, cores, pilots = self._counted[1].item()
        events += cores - pilots + 4 * len(arrays.transfers) + len(arrays.subdatasets) + submissions
        for name, length, used in zip(INBOXES, self._lengths[1], (
                pending + jobs, holding, done + retries, lessons + retries, events, events), strict=True):
            if length < used + MARGIN:
                self._lengthen(name, used + MARGIN)

    def free_rows(self, name: str) -> int:
        """Number of free rows of a table of REUSED."""
        return int(self.arrays.n_free[REUSED.index(name)])

    def lengthen_tasks(self, wanted: int) -> None:
        """Grow the tables of tasks to at least `wanted` rows; the new ones are to be cleared."""
        for name in TASK_TABLES:
            self._lengthen(name, wanted)
        old = len(self.arrays.datasets)
        self._lengthen("datasets", len(self.catalogue.names) + len(self.arrays.tasks))
        self.arrays.datasets["first_replica"][old:] = -1
        self.statuses = np.pad(self.statuses, (0, len(self.arrays.tasks) - len(self.statuses)))

    def hold_events(self, table: EventRanges) -> None:
        """Give compiled code the tables of event ranges, and jobs what consumers need, unless they have it."""
        self.arrays = self.arrays.with_arrays(event_ranges=table.rows, event_chunks=table.chunks,
                                              event_state=table.state)
        if not len(self.arrays.event_jobs):
            consumers = np.zeros(len(self.arrays.jobs), EVENT_JOB)
            consumers["chunk"] = -1
            self.arrays = self.arrays.with_arrays(event_jobs=consumers)

    def make_room_for_members(self, wanted: int) -> None:
        """Grow the table of members of containers to at least `wanted` rows."""
        self._lengthen("members", wanted)

    def _grow(self, name: str, wanted: int) -> None:
        """At least double a table with row allocation, and its parallel arrays."""
        old = len(getattr(self.arrays, name))
        new = max(2 * old, old + wanted)
        for table in (name, *PARALLEL.get(name, ())):
            self._lengthen(table, new)
        if name == "replicas":
            self.arrays.replicas["dataset"][old:] = -1
        if name == "jobs":
            if len(self.arrays.job_inputs):
                self._lengthen("job_inputs", new)
            if len(self.arrays.event_jobs):
                self._lengthen("event_jobs", new)
                self.arrays.event_jobs["chunk"][old:] = -1
        free, n_free = getattr(self.arrays, f"free_{name}"), self.free_rows(name)
        longer = np.zeros(new, np.int32)
        longer[:new - old] = np.arange(new - 1, old - 1, -1)
        longer[new - old:new - old + n_free] = free[:n_free]
        self.arrays.n_free[REUSED.index(name)] = n_free + new - old
        self.arrays = self.arrays.with_arrays(**{f"free_{name}": longer})

    def _lengthen(self, name: str, wanted: int) -> None:
        """Grow a table to at least `wanted` rows, keeping its content."""
        old = getattr(self.arrays, name)
        if len(old) >= wanted:
            return
        new = zeros_in_lines((max(int(wanted), 2 * len(old)), *old.shape[1:]), old.dtype)
        raw = f"V{old.dtype.itemsize}"               # otherwise NumPy copies structured rows field by field
        new.view(raw)[:len(old)] = old.view(raw)
        self.arrays, self._lengths = self.arrays.with_arrays(**{name: new}), (None, [])       # the old table may go


def queue_software(grid) -> tuple[QueueSoftware, ...]:
    """Software of each PanDA queue, in their order; equal ones share one object, so that brokerage asks once."""
    known: dict[QueueSoftware, QueueSoftware] = {}
    of_queues = (QueueSoftware(queue.releases, queue.software, queue.gpus,
                               tuple((level, 100 * part) for level, part in queue.cpu_levels.items()))
                 for queue in grid.queues.values())
    return tuple(known.setdefault(software, software) for software in of_queues)
