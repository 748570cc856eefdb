"""A task as the brokers see it, and the pieces of input that await its jobs."""

from dataclasses import dataclass, make_dataclass
from math import nan
from typing import Any, NamedTuple

import numpy as np

from simgrid_broker.schema import TASKS

PIECE = np.dtype([("unit", "i4"), ("retry", "i4"), ("boundary", "i4"), ("events", "f8"), ("bytes", "f8")])
"""A master file of a task, or a part of one, that awaits a job; retry: what it is tried again with, -1 = it is new."""


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
"""Fields of a task that its sheet marks as seen (`schema.tasks`); NaN = unknown, other zeros as the sheet says."""


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
    transuses: str | None = None   # release that a user's software builds on; None = the task does not say
    cloud: str = ""                # of the queues; empty or any = every cloud
    includedsite: tuple[str, ...] | None = None    # patterns of PanDA queues, AUTO = others if none is left; None = all
    excludedsite: tuple[str, ...] = ()             # patterns of PanDA queues
    siteendpoint: int = -1         # storage named instead of a PanDA queue; -1 = none
    avoid_vp: bool = False         # it does not go to queues of virtual placement
    n_sites_per_job: int = 1       # queues that get a clone of each job
    allows_incomplete: bool = False    # input may be incomplete
    bytes_per_job: float = nan     # most input of a job (nGBPerJob), bytes; NaN = not given
    is_scouting: bool = False      # its scouts are not over
    is_hpo: bool = False           # optimisation of hyper-parameters, which brings its own software

    @classmethod
    def of(cls, fields: dict) -> "Task":
        """A task of values by field, those left out by default; in a third of the constructor's time."""
        made = cls.__new__(cls)
        made.__dict__.update(fields)
        return made
