"""A task as the brokers see it, the pieces of input that await its jobs, and its datasets and replicas."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, make_dataclass
from functools import cached_property
from math import nan
from typing import Any, NamedTuple

import numpy as np

from simgrid_broker.schema import TASKS
from simgrid_broker.schema.attribute import texts_of
from simgrid_broker.schema.tasks import BrokerParameters

PIECE = np.dtype([("unit", "i4"), ("retry", "i4"), ("file", "i4"), ("boundary", "i4"), ("lumiblock", "i4"),
                  ("field", "i4"), ("first_event", "i8"), ("last_event", "i8"), ("file_events", "i8"),
                  ("events", "f8"), ("bytes", "f8"), ("part_bytes", "f8")])
"""A master file of a task, or a part of one, that awaits a job; retry: what it is tried again with, -1 = it is new.

first_event, last_event: read of the `file_events` of the file, -1 = not said; events: read, at least 1; bytes: of the
file; part_bytes: in proportion to the events, an unknown one counts 1 MiB. boundary, lumiblock, field of the name: -1 =
not known.
"""


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
    *((name, type(_ZERO[column.seen]), nan if column.unknown else column.none or _ZERO[column.seen])
      for name, column in TASK_FIELDS.items()),
    *((column.seen_as or column.name, Any, column.none if column.codes else
       BrokerParameters.model_fields[column.key].default) for column in texts_of(BrokerParameters))])
"""Fields of a task that its sheets show (`schema.tasks`, `schema.user_parameters`); NaN = unknown, other zeros as the
sheet says."""


@dataclass(frozen=True)
class Task(SeenTask):
    """View of a task and of the jobs that it is about to make, for brokers; the sheet's fields come first."""

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
    # of analysis tasks:
    bytes_per_job: float = nan     # most input of a job (nGBPerJob), bytes; NaN = not given
    is_scouting: bool = False      # its scouts are not over
    is_hpo: bool = False           # optimisation of hyper-parameters, which brings its own software

    @classmethod
    def of(cls, fields: dict) -> "Task":
        """A task of values by field, those left out by default; in a third of the constructor's time."""
        made = cls.__new__(cls)
        made.__dict__.update(fields)
        return made


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


SOURCE = np.dtype([("site", "i4"), ("part", "f8"), ("missing", "f8"), ("lan", "?"), ("wan", "?"), ("tape", "?"),
                   ("virtual", "?")])
"""A replica of a task's input: its part of the files, 0 to 1, how many it lacks, what may be read from it, and whether
it is on tape, or of virtual placement."""


PART = np.dtype([("disk_bytes", "f8"), ("disk_files", "f8"), ("any_bytes", "f8"), ("any_files", "f8"),
                 ("complete", "?")])
"""Parts of the input of a task at a PanDA queue, as in `Locality`."""


@dataclass(frozen=True)
class JobInput:
    """Input of a task's jobs: the replicas of its master, (site, part, whether on tape) each, and the datasets.

    site: of each PanDA queue, (n_queues,); by_files: the input of the next jobs, if a snapshot says it file by file;
    of_jobs: input of so many jobs with the secondary datasets that have replicas of their own: bytes, files, whether a
    site has all of it, and its parts, (n_queues,) of PART; None = there are none.
    """

    replicas: tuple[tuple[int, float, int], ...]
    inputs: tuple[InputDataset, ...]
    site: np.ndarray
    by_files: Locality | None = None
    of_jobs: Callable[[int], tuple[float, int, bool, np.ndarray]] | None = None

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


INPUT_TYPES = ("input", "pseudo_input")
PROCESS_TYPES = (*INPUT_TYPES, "pp_input", "trn_log", "trn_output")
"""Types of datasets of which jobs are made: input, and output that is to be merged."""
OUTPUT_TYPES = ("output", "log", "lib")
UNUSABLE = "pending", "lost", "missing", "staging"
"""Statuses of files that no job can read."""


class DatasetRow(NamedTuple):
    """A dataset of a task; counts are numbers of files, None = not set.

    secondary: it is read beside a master dataset (masterID is set); state: open, closed or mutable; used: files for
    which jobs were made.
    """

    type: str = "input"
    secondary: bool = False
    status: str = "ready"
    state: str | None = "closed"
    n_files: int = 0
    to_be_used: int | None = 0
    used: int = 0
    finished: int = 0
    failed: int = 0
    events: int | None = None
    events_used: int | None = None

    @property
    def is_master(self) -> bool:
        """True if jobs are made of it: master input, or output to be merged."""
        return not self.secondary and self.type in PROCESS_TYPES

    @property
    def is_master_input(self) -> bool:
        """True if it is master input."""
        return not self.secondary and self.type in INPUT_TYPES


def usable_files(files: Mapping[str, int]) -> int:
    """Files of a dataset that jobs may use once its scouts are over; files: numbers by status."""
    return sum(number for status, number in files.items() if status not in UNUSABLE)
