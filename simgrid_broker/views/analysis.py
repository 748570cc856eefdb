"""Views of analysis brokerage: users, the input of a task, and the storages of queues."""

from dataclasses import dataclass
from math import nan
from typing import NamedTuple

import numpy as np

from simgrid_broker.schema.grid import ACTIVITIES
from simgrid_broker.views.records import view
from simgrid_broker.views.tasks import Source

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
