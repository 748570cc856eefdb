"""The candidates of job, task and analysis brokerage and the verdict on them; users, the input of a task of theirs,
and the storages of queues."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import nan
from typing import Any, NamedTuple

import numpy as np

from simgrid_broker.schema.attribute import texts_of, written_keys
from simgrid_broker.schema.grid import ACTIVITIES
from simgrid_broker.schema.queues import PSEUDO_QUEUES, QUEUES, PublishedSoftware, Queue, WorkerNodeGpu
from simgrid_broker.views.records import Candidates, view
from simgrid_broker.views.tasks import Source

QUEUE = view(
    PSEUDO_QUEUES, QUEUES,
    ("storage", "i4"),               # endpoint that takes output; -1 = none
    ("storage_site", "i4"),          # site of that endpoint, else that of the queue
    ("locked", "?"),                 # another broker holds a lock on it
    ("place", "i4"))                 # place of its name in the alphabet
"""A pseudo-queue as brokers see it: numbers and flags, each described in its sheet (`schema.queues`)."""
STORAGE_ATTRIBUTES = dict.fromkeys(("free_bytes", "usable_bytes", "usable_output", "usable_input", "left_bytes",
                                    "left_gib"), ("free",))
"""Attributes of an endpoint in a scenario, by the names of columns and functions that tell its space."""

TEXTS = {column.name: column for column in texts_of(Queue)}
"""Texts of a queue that brokers see."""
QUEUE_ATTRIBUTES = {column.seen_as or column.name: written_keys(Queue, column.key) for column in QUEUES.columns
                    if column.key} | {
    "queues.corecount": ("capability", "corecount"), **{name: (column.key,) for name, column in TEXTS.items()}}
"""Attributes of a queue in a scenario, by the names of their columns; the cores of a slot also follow from it."""

NUCLEUS = view(
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
    ("can_run", "?"))                # it has a queue for the jobs of the task, as far as it was asked
"""A site that can be a nucleus, as task brokerage sees it for one task."""
KEPT = -1
"""Code of a candidate that no rule refused."""


@dataclass(frozen=True)
class QueueSoftware:
    """Software and hardware of one PanDA queue.

    published: None = CRIC has no entry; gpus: what worker nodes reported; cpu_levels: (CPU level, its part in %).
    """

    releases: tuple[str, ...] = ("ANY",)
    published: PublishedSoftware | None = None
    gpus: tuple[WorkerNodeGpu, ...] = ()
    cpu_levels: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Queues(Candidates):
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
    reads_analysis: tuple[tuple[int, ...], ...] = ()   # the same for analysis

    dtype, noun = QUEUE, "queues"

    def __getattr__(self, column: str) -> Any:
        """A column, (n,), as an array of numbers or a tuple of texts; raises AttributeError for an unknown one."""
        return self.texts[column] if column in TEXTS else super().__getattr__(column)

    @cached_property
    def ordinary(self) -> np.ndarray:
        """Candidates that are no unified queue as a whole, (n,) bool; not to be changed."""
        return ~(self.unified & (self.resource_type < 0))

    @cached_property
    def distinct_software(self) -> tuple[tuple[QueueSoftware, ...], np.ndarray]:
        """The different objects in `software`, and the number of each candidate's object, (n,)."""
        distinct = {id(one): one for one in self.software}
        number = {key: k for k, key in enumerate(distinct)}
        return tuple(distinct.values()), np.array([number[id(one)] for one in self.software], np.int64)

    def distinct(self, text: str) -> tuple[tuple[str, ...], np.ndarray]:
        """The different values of a column of TEXTS, and the number of each candidate's value, (n,)."""
        if text not in self._distinct:
            number = {value: k for k, value in enumerate(dict.fromkeys(self.texts[text]))}
            self._distinct[text] = tuple(number), np.array([number[value] for value in self.texts[text]], np.int64)
        return self._distinct[text]

    @cached_property
    def _distinct(self) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
        return {}

    def has_in_name(self, word: str) -> np.ndarray:
        """Candidates with a word in the name, whatever the case, (n,) bool; not to be changed."""
        if word not in self._has_in_name:
            self._has_in_name[word] = np.array([word in name.lower() for name in self.names], bool)
        return self._has_in_name[word]

    @cached_property
    def _has_in_name(self) -> dict[str, np.ndarray]:
        return {}

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


@dataclass(frozen=True)
class Nuclei(Candidates):
    """The candidates of task brokerage: sites that can be a nucleus, (n,).

    records: (n,) of NUCLEUS; a column is also an attribute: `nuclei.free_bytes`. complete_replica: a complete replica
    of the input can be read from somewhere; can_run: which of the nuclei asked, (n,) bool, have a queue for the jobs of
    the task, (n,) bool; None = all; why_not: what refuses the queues of a site; None = not known.
    """

    records: np.ndarray
    complete_replica: bool = True
    can_run: Callable[[np.ndarray], np.ndarray] | None = None
    why_not: Callable[[int], str] | None = None

    dtype, noun = NUCLEUS, "nuclei"


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
    """Refusal, weight and order of each candidate.

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


USER_AT = view(
    ("user_queued", "f8"), ("user_running", "f8"),     # jobs of the user in the task's share; NaN = the user has none
    ("users_running", "f8"),         # jobs of all users of the share; NaN = unknown
    ("n_users", "f8"),               # users with jobs of the share; 0 = none, or unknown
    ("to_running_rate", "f8"),       # jobs of all shares that began to run in an hour; 0 = unknown
    ("site_class", "i8"),            # names.SiteClass; MID where it is not known
    ("failed", "f8"), ("closed", "f8"), ("finished", "f8"),    # jobs of the task within TW_DONE_JOB_STAT hours
    ("used", "?"),                   # the task has had jobs there
    ("over_quota", "?"),             # the local quota is used up where output goes by default
)
"""Jobs of users at a PanDA queue, for one task of analysis.

queued: defined, assigned, activated and starting; failed: with an error of the pilot; closed: for reassignment.
Source: brokerage reference, 11.1.
"""


UNCLASSIFIED = 3
"""Class of a task that the classification does not know, in a record."""

USER = view(
    ("running_jobs", "f8"), ("queued_jobs", "f8"), ("running_cores", "f8"), ("queued_cores", "f8"),    # as `Owner`
    ("task_class", "i8"),            # names.TaskClass, or UNCLASSIFIED
    ("rem_slots_a", "f8"), ("usage", "f8"), ("equivalent_usage", "f8"),    # as `UserView`
    ("over_quota", "?"), ("near_quota", "?"),
)
"""The user of a task as compiled rules see it."""


class Owner(NamedTuple):
    """Jobs and cores of a user, or of a working group, at all queues; NaN = unknown, which no cap stops.

    queued: defined, assigned, activated, starting and throttled. Source: brokerage reference, 3.1.
    """

    running_jobs: float = nan
    queued_jobs: float = nan
    running_cores: float = nan
    queued_cores: float = nan


class Quota(NamedTuple):
    """Global disk quota of a user or working group: whether it is exceeded, or nearly, and PanDA's words for that."""

    over: bool = False
    near: bool = False
    message: str = ""


@dataclass(frozen=True)
class UserView:
    """The user of a task, as analysis brokerage sees it.

    at: (n_queues,) of USER_AT; task_class: names.TaskClass, None = the task is not classified; rem_slots_a:
    USER_USAGE_THRESHOLD_A less the user's slots at hi sites, NaN = no slots are known; usage: what the task's share
    uses of its target, equivalent_usage: the same of its level-1 share with the idle power of others, NaN = unknown.
    """

    at: np.ndarray
    owner: Owner = Owner()
    task_class: int | None = None
    rem_slots_a: float = nan
    usage: float = nan
    equivalent_usage: float = nan
    quota: Quota = Quota()

    @property
    def record(self) -> np.ndarray:
        """Record of the user beside the queues for compiled rules, (1,) of USER."""
        task_class = UNCLASSIFIED if self.task_class is None else int(self.task_class)
        return np.array([(*self.owner, task_class, self.rem_slots_a, self.usage, self.equivalent_usage,
                          self.quota.over, self.quota.near)], USER)


class DatasetAt(NamedTuple):
    """An input dataset as analysis brokerage sees it, at each PanDA queue through the storages of its input.

    states: (n_queues,), replicas there as bits of names.ReplicaState; disk_files, tape_files, cache_files: files of
    the next jobs there, disk_bytes: their size on disk, (n_queues,) each; n_files: files of the next jobs; sources: as
    in `InputDataset`, on_tape: of each whether it is tape; scattered: Rucio has it at several places on purpose;
    container: it consists of datasets; usable_vp: whether files at virtual placement are among `disk_files`.
    """

    name: str
    states: np.ndarray
    n_files: int
    disk_files: np.ndarray
    tape_files: np.ndarray
    cache_files: np.ndarray
    disk_bytes: np.ndarray
    sources: tuple[Source, ...] = ()
    on_tape: tuple[bool, ...] = ()
    scattered: bool = False
    container: bool = False


@dataclass(frozen=True, eq=False)
class InputAt:
    """Input of an analysis task: its datasets in order, and the size of the files of the next jobs, bytes."""

    datasets: tuple[DatasetAt, ...] = ()
    total_bytes: float = 0.0


ANALYSIS_STORE = view(
    ("has_output", "?"), ("has_input", "?"),       # storages of the queue's scope
    ("one", "?"),                    # input and output have the same default storage
    ("output", "i8"),                # default storage of output, -1 = none
    ("free_bytes", "f8"),            # free space there; documented: of 200 GB
    ("usable_output", "f8"), ("usable_input", "f8"),   # usable space of the default storages, inf = none
    *((activity, "?") for activity in ACTIVITIES),
)
"""The storages of a PanDA queue for analysis, of any type; activities as in STORE."""


class AnalysisView(NamedTuple):
    """View of one task for analysis brokerage, beside the description of the queues.

    load: (n_queues,) of LOAD, of the task's share; store: (n_queues,) of ANALYSIS_STORE; user: as there; given: the
    input; n_jobs: jobs into which the input of this cycle is cut.
    """

    load: np.ndarray
    store: np.ndarray
    user: UserView
    given: InputAt = InputAt()
    n_jobs: float = 1.0
