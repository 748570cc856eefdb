"""Frozen views: exactly what a decision is allowed to see; true run times and fates are not among it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, make_dataclass
from functools import cached_property
from math import inf, nan
from typing import Any, NamedTuple, TypeVar

import numpy as np

from simgrid_broker.gdpconfig import GdpconfigKey
from simgrid_broker.names import QueueStatus
from simgrid_broker.schema import LINKS, PSEUDO_QUEUES, QUEUES, STORAGES, TASKS
from simgrid_broker.schema.attribute import texts_of
from simgrid_broker.schema.datasets import DatasetOfTask as DatasetOfTask
from simgrid_broker.schema.datasets import InputFile as InputFile
from simgrid_broker.schema.datasets import Replica as Replica
from simgrid_broker.schema.grid import ACTIVITIES, LINK_NUMBERS
from simgrid_broker.schema.queues import QUEUE_NUMBERS, Queue
from simgrid_broker.schema.software import Hardware as Hardware
from simgrid_broker.schema.software import PublishedSoftware, WorkerNodeGpu

T = TypeVar("T")
KEPT = -1
"""Code of a candidate that no rule refused."""


PIECE = np.dtype([("unit", "i4"), ("retry", "i4"), ("boundary", "i4"), ("events", "f8"), ("bytes", "f8")])
"""A master file of a task, or a part of one, that awaits a job; retry: what it is tried again with, -1 = it is new."""


@dataclass(frozen=True)
class Gdpconfig:
    """Values of gdpconfig in force, by (component, key), defaults included; None = off or no limit."""

    values: Mapping[tuple[str, str], Any]
    kept: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def value(self, key: GdpconfigKey, **members: str) -> Any:
        """Value of a key, of a family that of its most specific member that is set, such as gshare="Express"."""
        asked = key, *members.items()
        if asked not in self.kept:
            found = (self.values.get((key.component, name)) for name in key.names(**members))
            self.kept[asked] = next((value for value in found if value is not None), None)
        return self.kept[asked]

    def own(self, key: GdpconfigKey, **members: str) -> Any:
        """Value of precisely this member of a family; None if it is not set."""
        return self.values.get((key.component, key.names(**members)[0]))

    def members(self, key: GdpconfigKey) -> list[tuple[dict[str, str], Any]]:
        """Placeholders and value of every member of a family that is set."""
        return [(found.groupdict(), value) for (component, name), value in self.values.items()
                if component == key.component and (found := key.pattern.fullmatch(name))]

    def once(self, make: Callable[..., T], *key: Any) -> T:
        """`make(self, *key)`, computed once for each key, since values never change; not to be changed."""
        found = self.kept.get((make, key))
        if found is None:
            found = self.kept[make, key] = make(self, *key)
        return found


@dataclass(frozen=True)
class ShareTree:
    """The share tree as arrays; node 0 is the root, parents come before their children.

    names: (n_nodes,); parent: (n_nodes,) index, -1 for the root; value: (n_nodes,) normalised so that all leaves sum
    to 100; leaves: (n_leaves,) node of each leaf, in the order of the table.
    """

    names: tuple[str, ...]
    parent: np.ndarray
    value: np.ndarray
    leaves: np.ndarray


@dataclass(frozen=True)
class QueueSoftware:
    """What is known of the software and hardware of one PanDA queue.

    published: None = CRIC has no entry; gpus: what worker nodes reported; cpu_levels: (CPU level, its part in %).
    """

    releases: tuple[str, ...] = ("ANY",)
    published: PublishedSoftware | None = None
    gpus: tuple[WorkerNodeGpu, ...] = ()
    cpu_levels: tuple[tuple[str, float], ...] = ()


class Premerge(NamedTuple):
    """Where the files of a merge job lie, and what decides its pre-assignment to that queue.

    queue: PanDA queue; input_idle_s: since the input last changed, negative = never since it was defined; stuck_s:
    for how long brokerage has failed.
    """

    queue: int
    input_idle_s: float
    stuck_s: float


_ZERO = {"i8": 0, "f8": 0.0, "?": False, "U": ""}
TASK_FIELDS = {column.seen_as or column.name: column for column in TASKS.seen}
"""Field of a task's view to the column of the task that it shows."""

SeenTask: Any = make_dataclass("SeenTask", frozen=True, fields=[
    (name, type(_ZERO[column.seen]), nan if column.unknown else column.none or _ZERO[column.seen])
    for name, column in TASK_FIELDS.items()])
"""What is seen of a task as its sheet has it (`schema.tasks`); NaN = unknown, other zeros are as the sheet says."""


@dataclass(frozen=True)
class Task(SeenTask):
    """What the brokers may know of a task and of the jobs that it is about to make; the sheet's fields come first."""

    gshare: str = ""
    n_events_per_job: int = 0
    n_files_per_job: int = 0
    input_bytes_per_job: float = 0.0
    output_bytes_per_job: float = 0.0
    primary_mib: float = nan       # primary input of a job as wall time counts it, MiB; NaN = all of its input
    workdisk_bytes: float = nan    # NaN = not said
    n_jobs: int = 0                # jobs still to be made or finished
    total_input_bytes: float = 0.0
    total_input_files: int = 0
    is_scout: bool = False
    is_merging: bool = False
    taskpriority: int | None = None    # as submitted; None = the same as `currentpriority`
    frozen_for_s: float = 0.0      # for how long brokerage has failed
    parent_nucleus: int = -1       # site; -1 = no parent, or one without nucleus
    parent_fullchain: int = 0      # names.FullChain of the parent
    nucleus_bare: int = 0          # names.BareNucleus of the nucleus
    preassigned: tuple[int, ...] = ()  # PanDA queues that the task names; () = brokerage finds some
    premerge: Premerge | None = None   # where the files of a merge job lie; None = brokerage finds a queue
    mergeramcount: float = nan     # MB of a merge job; NaN = unknown
    mergecorecount: int | None = None  # cores of a merge job, 0 = any; None = as `corecount`
    job_cloning: bool = False      # an event service task whose jobs are clones
    jumbo_events: float = -1       # events that are ready for jumbo jobs; -1 = it makes none, inf = unknown
    jumbo_chunk: str = ""          # kind of the jobs if they are jumbo jobs: fake or only
    cputimeunit: str = "HS06sPerEvent"     # empty = the task does not say
    walltimeunit: str = ""         # empty = the task does not say

    @classmethod
    def of(cls, fields: dict) -> "Task":
        """A task of values by field, those left out by default; in a third of the constructor's time."""
        made = cls.__new__(cls)
        made.__dict__.update(fields)
        return made


QUEUE = np.dtype([
    *((column.seen_as or column.name, column.seen) for column in (*PSEUDO_QUEUES.seen, *QUEUES.seen)),
    ("storage", "i4"),               # endpoint that takes output; -1 = none
    ("storage_site", "i4"),          # site of that endpoint, else that of the queue
    ("locked", "?"),                 # another broker holds a lock on it
    ("place", "i4"),                 # place of its name in the alphabet
])
"""A pseudo-queue as brokers see it: numbers and flags, each described in its sheet (`schema.queues`)."""

TEXTS = {column.name: column for column in texts_of(Queue)}
"""Texts of a queue that brokers see."""


@dataclass(frozen=True)
class Queues:
    """The candidates of job brokerage: pseudo-queues, (n,). Limits are numbers or inf, never sentinels.

    records: (n,) of QUEUE, of which compiled criteria read; texts: columns of TEXTS. A column of either is also an
    attribute: `queues.maxrss_mb`, `queues.jobseed`. software_of_all: CRIC's entry ALL, sources of containers.
    """

    names: tuple[str, ...]
    records: np.ndarray
    texts: Mapping[str, tuple[str, ...]]
    software: tuple[QueueSoftware, ...]
    software_of_all: PublishedSoftware | None = None
    version: int = 0               # grows whenever any of the above changes
    reads: tuple[tuple[int, ...], ...] | None = None   # endpoints of input; None = those that take output

    def __getattr__(self, column: str) -> Any:
        """A column, (n,), as an array of numbers or a tuple of texts; raises AttributeError for an unknown one."""
        if column in TEXTS:
            return self.texts[column]
        if column not in (QUEUE.names or ()):
            raise AttributeError(f"queues have no column {column!r}")
        found = vars(self)[column] = np.ascontiguousarray(self.records[column])      # fields of records are slow
        return found

    @cached_property
    def distinct_software(self) -> tuple[tuple[QueueSoftware, ...], np.ndarray]:
        """The different objects in `software`, and the number of each candidate's object, (n,)."""
        distinct = {id(one): one for one in self.software}
        number = {key: k for k, key in enumerate(distinct)}
        return tuple(distinct.values()), np.array([number[id(one)] for one in self.software], np.int64)

    @cached_property
    def queue_and_cores(self) -> tuple[tuple[int, int], ...]:
        """PanDA queue and cores of each candidate, as plain numbers."""
        return tuple(zip(self.queue.tolist(), self.corecount.tolist(), strict=True))


def same_type(first: int, production: np.ndarray, analysis: np.ndarray) -> np.ndarray:
    """Queues of the type of queue `first`, or of type unified, (n,) bool: production and analysis, of the queues.

    Source: PanDA's `DataServiceUtils.getSitesShareDDM`.
    """
    alike = (production == production[first]) & (analysis == analysis[first])
    return alike | (production & analysis)


LOAD = np.dtype([
    ("running", "i8"), ("defined", "i8"), ("assigned", "i8"), ("activated", "i8"), ("starting", "i8"),
    ("placed", "i8"),                # jobs made since the numbers were read
    ("running_of_type", "i8"), ("queued_of_type", "i8"), ("assigned_of_type", "i8"),   # of one type; -1 = unknown
    ("n_batch_job", "i8"),           # workers submitted or running
    ("num_slots", "i8"),             # Harvester_Slots; -1 = not set
    # of all shares:
    ("transferring", "i8"), ("running_all", "i8"), ("activated_all", "i8"), ("starting_all", "i8"),
    ("cores_running", "i8"), ("cores_starting", "i8"),
    ("idle_s", "f8"),                # since a job last started, s
    *((column.name, column.seen) for column in QUEUE_NUMBERS),
])
"""Job numbers of one share at a PanDA queue; queued means defined, activated and starting."""

STORE = np.dtype([("present", "?"), ("usable_bytes", "f8"), *((activity, "?") for activity in ACTIVITIES),
                  *((column.name, column.seen) for column in STORAGES.seen)])
"""The storages of a queue, or the one that takes a site's output; a flag says that one of them may be used so.

read_lan, write_wan: of its input; write_lan, read_wan: of its output; the space is where output goes by default.

usable: free and expired, less what must stay free (brokerage reference, 0.2).
"""

LINK = np.dtype([("in_nucleus", "?"), ("sharing", "?"), ("at_nucleus", "?"), ("unmapped", "?"), ("known", "?"),
                 *((column.name, column.seen) for column in LINKS.seen),
                 *((column.name, column.seen) for column in LINK_NUMBERS)])
"""The way of output from a queue to a nucleus.

in_nucleus: the queue belongs to the nucleus; sharing: it does not, but the nucleus reads its output; at_nucleus: its
output lies at the nucleus; unmapped: where its output lies is not known; known: there is a record of the link;
closeness: 0 best to 11 worst, -1 blocked, -2 unknown; throughput in MB/s, NaN = unknown.
"""

UNKNOWN = {"running_of_type": -1, "queued_of_type": -1, "assigned_of_type": -1, "num_slots": -1,
           **{column.name: column.none for column in (*LINKS.seen, *LINK_NUMBERS, *QUEUE_NUMBERS)
              if column.none is not None}}
"""What a column that is not given holds, if not 0."""


def records(dtype: np.dtype, n: int, **columns) -> np.ndarray:
    """Rows of a dtype, (n,), from columns; what is left out is unknown or 0. Raises ValueError for an unknown name."""
    names = dtype.names or ()
    if unknown := set(columns) - set(names):
        raise ValueError(f"no column {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    rows = np.zeros(n, dtype)
    for name in names:
        rows[name] = columns.get(name, UNKNOWN.get(name, 0))
    return rows


class Stats(NamedTuple):
    """What JEDI last read of the grid, for one share and one nucleus, and what it placed since.

    load: (n_queues,) of LOAD, whose `placed` goes on counting; store: (n_queues,) of STORE; link: (n_queues,) of LINK,
    of which nothing is known if the task has no nucleus. Of the nucleus: whether the storage that takes its output
    receives and sends files, and the output that waits for it, without and of express tasks.
    """

    taken_at: float
    load: np.ndarray
    store: np.ndarray
    link: np.ndarray
    writable: bool = True
    readable: bool = True
    files_to_nucleus: float = 0.0
    express_to_nucleus: float = 0.0


class Source(NamedTuple):
    """A replica of an input dataset: its part of the files, 0 to 1, how many it lacks, and what may be read from it."""

    name: str
    part: float
    missing: float
    lan: bool
    wan: bool


class InputDataset(NamedTuple):
    """A dataset that jobs read, for its completeness; scattered: on purpose, so that no place need have all of it."""

    name: str
    sources: tuple[Source, ...]
    scattered: bool = False


class Locality(NamedTuple):
    """Input of one task, for the piece of input that is brokered, and its parts at each queue, (n_queues,) of 0 to 1.

    disk_bytes, disk_files: what its storages have on disk; any_bytes, any_files: on disk or tape; complete: (n_queues,)
    whether a storage that it reads has all of every dataset, None = by `any_bytes`; somewhere: whether any storage has;
    inputs: the datasets.
    """

    total_bytes: float
    total_files: int
    disk_bytes: np.ndarray
    disk_files: np.ndarray
    any_bytes: np.ndarray
    any_files: np.ndarray
    complete: np.ndarray | None = None
    somewhere: bool = False
    inputs: tuple[InputDataset, ...] = ()


SOURCE = np.dtype([("site", "i4"), ("part", "f8"), ("missing", "f8"), ("lan", "?"), ("wan", "?"), ("tape", "?")])
"""A replica of a task's input: its part of the files, 0 to 1, how many it lacks, what may be read from it, and whether
it is on tape."""


@dataclass(frozen=True)
class JobInput:
    """Input of a task's jobs: its replicas, (site, part, whether on tape) each, and the datasets.

    site: of each PanDA queue, (n_queues,); told: the input of the next jobs, if a snapshot says it file by file.
    """

    replicas: tuple[tuple[int, float, int], ...]
    inputs: tuple[InputDataset, ...]
    site: np.ndarray
    told: Locality | None = None

    @cached_property
    def parts(self) -> tuple[np.ndarray, np.ndarray]:
        """Parts of the input at each queue on disk, and on disk or tape, (n_queues,) each, 0 to 1.

        Of several replicas the best counts, so a complete one on disk makes tape irrelevant (brokerage reference, 1.3).
        """
        disk, tape = np.zeros((2, len(self.site)))
        for site, part, is_tape in self.replicas:
            held = tape if is_tape else disk
            held[self.site == site] = np.maximum(held[self.site == site], part)
        return disk, np.maximum(disk, tape)


class InputOfNuclei(NamedTuple):
    """Input of a task as task brokerage counts it, and what each nucleus holds of it, (n,): on disk, on disk or tape.

    missing: the dataset that no storage which sends files has whole, empty = none.
    """

    total_bytes: float
    total_files: float
    disk_bytes: np.ndarray
    any_bytes: np.ndarray
    any_files: np.ndarray
    missing: str = ""


NUCLEUS = np.dtype([
    ("site", "i8"), ("active", "?"), ("has_storage", "?"), ("read_wan", "?"), ("write_wan", "?"),
    ("free_bytes", "f8"), ("expired_bytes", "f8"), ("total_bytes", "f8"),
    ("min_free_bytes", "f8"),        # free space that must stay
    ("unavailable_bytes", "f8"),     # space promised to transfers under way
    ("queued_output_files", "f8"),
    ("remaining_work_hs06s", "f8"),  # RW, the work assigned to the nucleus
    ("priority_work_hs06s", "f8"),   # as documented the same; else that of the task's share at its priority or above
    ("local_input_bytes", "f8"), ("local_input_files", "f8"),    # on disk or tape, of the datasets that count for the
    ("disk_input_bytes", "f8"),      # task (taskBrokerOnMaster); and on disk
    ("bare", "i1"),                  # names.BareNucleus
    ("satellite", "?"),              # candidate only for a full chain
    ("draw", "f8"),                  # number in (0, 1) of its own; NaN = one number draws one of all
    ("can_run", "?"),                # it has a queue for the jobs of the task, as far as it was asked
])
"""A site that can be a nucleus, as task brokerage sees it for one task."""


@dataclass(frozen=True)
class Nuclei:
    """The candidates of task brokerage: sites that can be a nucleus, (n,).

    records: (n,) of NUCLEUS; a column is also an attribute: `nuclei.free_bytes`. complete_replica: a complete replica
    of the input can be read from somewhere; can_run: which of the nuclei asked, (n,) bool, have a queue for the jobs of
    the task, (n,) bool; None = all; why_not: what refuses the queues of a site; None = not known.
    """

    records: np.ndarray
    complete_replica: bool = True
    can_run: Callable[[np.ndarray], np.ndarray] | None = None
    why_not: Callable[[int], str] | None = None

    def __getattr__(self, column: str) -> Any:
        """A column, (n,); raises AttributeError for an unknown one."""
        if column not in (NUCLEUS.names or ()):
            raise AttributeError(f"nuclei have no column {column!r}")
        found = vars(self)[column] = np.ascontiguousarray(self.records[column])
        return found


@dataclass(frozen=True)
class Figures:
    """The figures behind a verdict, candidate by candidate, (n,) each; NaN = there are none.

    value, limit: what the rule that refused first compared, in its own unit; factors: name to multipliers of the
    weight; numbers: name to what else is known of a candidate, such as its weight. Both are of the candidates that got
    as far as the weight, refused or not. texts: by candidate, what a refusal names instead of a figure; unasked: places
    of the rules that did not concern the task.
    """

    value: np.ndarray
    limit: np.ndarray
    factors: Mapping[str, np.ndarray]
    numbers: Mapping[str, np.ndarray] = field(default_factory=dict)
    texts: Mapping[int, str] = field(default_factory=dict)
    unasked: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Verdict:
    """What a brokerage decided, candidate by candidate.

    tags: the tag of each rule in order; refused_by: (n,) index of the rule that first refused, KEPT otherwise;
    weight: (n,), 0 where refused; order: candidates to use, best first. queued, cap: (n,) jobs that wait at the
    candidate's queue, and the number that a candidate must stay below to be given more; None = does not matter.
    figures: asks the rules once more for their figures, before anything has changed; None = there are none.
    """

    tags: tuple[str, ...]
    refused_by: np.ndarray
    weight: np.ndarray
    order: np.ndarray
    queued: np.ndarray | None = None
    cap: np.ndarray | None = None
    figures: Callable[[], Figures] | None = None


class WorkQueueCounts(NamedTuple):
    """Job numbers of one work queue (share x resource type), as the job throttler reads them."""

    running: int
    not_running: int               # assigned, activated, starting
    defined: int
    waiting: int
    walltime_s: float | None = None  # wall time asked for by defined, activated and starting jobs; None = unknown


WAITING_JOBS = np.dtype([("queue", "i4"), ("share", "i4"), ("resource_type", "i4"), ("priority", "i4"),
                         ("number", "i8")])
"""Activated jobs of one priority."""


@dataclass(frozen=True)
class WorkerStatus:
    """What Harvester sees of all queues at once before it submits workers.

    mode, activated: (n_queues,), names.WorkerMode and activated jobs; status: (n_queues,) of names.QueueStatus;
    limits: (n_queues,) of schema.harvester.HARVESTER; all others (n_queues, n_resource_types): workers asked for (by
    the server, or of which the jobs were fetched), waiting and running ones, their cores and their memory, MB, 0 cores
    = no such type. In pull mode workers are of one type, that of most cores and memory, and take jobs of all types.
    """

    mode: np.ndarray
    status: np.ndarray
    activated: np.ndarray
    limits: np.ndarray
    asked: np.ndarray
    queued: np.ndarray
    running: np.ndarray
    cores: np.ndarray
    memory: np.ndarray


@dataclass(frozen=True)
class PilotStatus:
    """What unified pilot streaming sees of all queues at once.

    corecount, cores_running, cores_queued: (n_queues,); workers_queued: (n_queues, n_resource_types);
    activated: (n_queues, n_shares, n_resource_types) jobs; share_order: (n_shares,) most under-served first;
    worker_cores: (n_queues, n_resource_types) cores of a worker of a type, 0 where the queue has no such type.
    """

    corecount: np.ndarray
    cores_running: np.ndarray
    cores_queued: np.ndarray
    workers_queued: np.ndarray
    worker_cores: np.ndarray
    activated: np.ndarray
    share_order: np.ndarray
    score: int = 0                 # resource type of the worker that keeps an idle queue alive
    by_priority: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None   # jobs of queues and their shares, both
    # (m,), as WAITING_JOBS in order of age; None = all jobs of a share and type have one priority
    jobs: np.ndarray | None = None                 # (n,) of WAITING_JOBS; None = those of `activated`
    status: np.ndarray | int = QueueStatus.ONLINE  # (n_queues,) of names.QueueStatus
    core_target: np.ndarray | float = 0            # (n_queues,) ups_core_target, 0 = none
    running_of_type: np.ndarray | int = 0          # (n_queues, n_resource_types) workers that hold a slot
    limit_of_type: np.ndarray | float = inf        # (n_queues, n_resource_types) resource_type_limits, workers
    high_memory_limit: np.ndarray | float = inf    # (n_queues,) the limit HIMEM, cores of all high-memory types
    high_memory: np.ndarray | bool = False         # (n_resource_types,) whether a type is one of these
    most_memory: np.ndarray | float = inf          # (n_resource_types,) maxrampercore, MB
    meanrss: np.ndarray | float = 0                # (n_queues,) target of the mean memory per core, MB, 0 = none
    mean_memory: np.ndarray | float = nan          # (n_queues,) MB per core of running and submitted workers
    mean_memory_running: np.ndarray | float = nan  # (n_queues,) of running workers alone
    ignore_meanrss: bool = False                   # meanrss.IGNORE_MEANRSS
