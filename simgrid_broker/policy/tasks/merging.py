"""Internal merging: which outputs are merged now, and which of them in one merge job; source: JEDI TWiki, Internal
Merging and Output merging; lifecycle reference, sections 2.6 and 2.14."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf, isnan, nan
from typing import Any, NamedTuple

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.editions import ByEdition
from simgrid_broker.names import JOBS_PER_SUBDATASET, TaskStatus
from simgrid_broker.policy.jobs.resource_types import UNDEFINED, resource_type_of
from simgrid_broker.policy.tasks.splitting import MergeRule, QueueLimits, merge_job_limits, scratch_limit
from simgrid_broker.units import MIB
from simgrid_broker.views import Premerge, Task

RUNNING, MERGING = int(TaskStatus.RUNNING), int(TaskStatus.MERGING)
PRIORITY = 5000
"""Priority of merge jobs; source: JEDI TWiki, Output merging; lifecycle reference, section 3.5."""
ATTEMPTS = 3
"""Attempts of a merge job; source: JEDI TWiki, Output merging; lifecycle reference, section 2.14."""
MAX_FILES, MAX_GB, MAX_FILES_IN_ALL = 50, 5.0, 1000
"""Limits of a merge job if its task sets none; source: lifecycle reference, section 2.6."""
OUTPUT_PER_INPUT = 1.2
"""Estimated output per byte of input; source: lifecycle reference, section 2.6."""
MIN_WORK_BYTES = 500e6
"""Least scratch in addition to input and output; source: lifecycle reference, section 2.6."""
MIN_RAM_MB = 2000.0
"""Least memory that a merge job asks for; source: lifecycle reference, section 1.5."""


class MergeLimits(NamedTuple):
    """Most of what one merge job may read; output_bytes is what it writes, disk_bytes both together.

    output_per_byte: output as it is estimated from a byte of input, and growth: as it takes scratch.
    """

    files: float = MAX_FILES
    output_bytes: float = MAX_GB * 1e9
    events: float = inf
    disk_bytes: float = inf
    output_per_byte: float = 1.0
    growth: float = OUTPUT_PER_INPUT


class Terms(NamedTuple):
    """Terms in which the editions differ.

    mixed_units: output is estimated as bytes from the MiB of the input, so that neither nGBPerMergeJob nor scratch
    counts it; at_sites: outputs of a site are merged together, otherwise those of a destination sub-dataset.
    """

    mixed_units: bool
    at_sites: bool


TERMS = ByEdition(documented=Terms(mixed_units=False, at_sites=True), deployed=Terms(mixed_units=True, at_sites=False))


class Unmerged(NamedTuple):
    """Outputs that one task has left at one place, (n,) each, in the order of their input; or their sums."""

    n_output_files: Any
    output_bytes: Any
    n_events: Any


def merge_limits(rule, scratch_bytes: float, work_bytes: float, edition: str) -> MergeLimits:
    """Limits of the merge jobs of a task at a queue; scratch_bytes: its scratch disk, inf = unlimited.

    rule: anything with nFilesPerMergeJob, nMaxFilesPerMergeJob, nGBPerMergeJob and nEventsPerMergeJob, 0 = not given;
    work_bytes: scratch of the task in addition to input and output. Source: lifecycle reference, section 2.6.
    """
    scratch_bytes = scratch_limit(scratch_bytes, edition)
    if TERMS[edition].mixed_units:
        asked = MergeRule(rule.nFilesPerMergeJob, rule.nMaxFilesPerMergeJob, rule.nGBPerMergeJob,
                          rule.nEventsPerMergeJob)
        limits = merge_job_limits(asked, work_bytes, 0.0, QueueLimits(scratch_bytes))
        estimated, room = limits.output_per_mib / MIB, max(limits.size_bytes - limits.offset_bytes, 1.0)
        return MergeLimits(limits.files, limits.output_bytes, limits.events, room, estimated, estimated)
    room = max(scratch_bytes - max(work_bytes, MIN_WORK_BYTES), 1.0)
    return MergeLimits(rule.nFilesPerMergeJob or rule.nMaxFilesPerMergeJob or MAX_FILES,
                       (rule.nGBPerMergeJob or MAX_GB) * 1e9, rule.nEventsPerMergeJob or inf, room)


@compiled
def merge_place(queue, site, chunk, at_sites):
    """Number of the place at which a job waits for the others that are merged with it.

    The documented edition merges at a site, the deployed edition in a destination sub-dataset, modelled as the jobs of
    fifty consecutive chunks at one queue.
    """
    return site if at_sites else queue << 32 | chunk // JOBS_PER_SUBDATASET


def cut(unmerged: Unmerged, limits: MergeLimits) -> list[slice]:
    """The merge jobs of the outputs at one place, each a slice of them: greedily, in order, as files are split.

    A single output that breaks a limit is a merge job of its own. Source: lifecycle reference, section 2.6.
    """
    jobs, begin, size, events, files = [], 0, 0.0, 0, 0
    for number, (more_files, more_bytes, more_events) in enumerate(zip(*(column.tolist() for column in unmerged),
                                                                      strict=True)):
        after = files + more_files, size + more_bytes, events + more_events
        if number > begin and exceeds(*after, limits):
            jobs.append(slice(begin, number))
            begin, after = number, (more_files, more_bytes, more_events)
        files, size, events = after
    return [*jobs, slice(begin, len(unmerged.n_events))] if len(unmerged.n_events) else []


def exceeds(files: int, size: float, events: int, limits: MergeLimits) -> bool:
    """True if a merge job would be too large with so much input."""
    return (files > min(limits.files, MAX_FILES_IN_ALL) or size * limits.output_per_byte > limits.output_bytes
            or events > limits.events or size * (1 + limits.growth) > limits.disk_bytes)


def asked_memory_mb(merge_ramcount_mb: float) -> float:
    """Memory that a merge job asks for, MB: mergeRamCount, if known, and at least 2000 MB; lifecycle reference, 1.5."""
    return MIN_RAM_MB if isnan(merge_ramcount_mb) else max(merge_ramcount_mb, MIN_RAM_MB)


def merge_task(task: Task, rule, outputs: Unmerged, premerge: Premerge, bounds: Sequence[Any]) -> Task:
    """View of a merge job for the job brokerage; it claims no more than mergeRamCount and mergeCoreCount of its task.

    rule: anything with mergeRamCount and mergeCoreCount, 0 = not given; outputs: their sums; bounds: as in
    `resource_type_of`.
    """
    size, n_files = float(outputs.output_bytes), int(outputs.n_output_files)
    return Task.of(vars(task) | dict(
        is_merging=True, mergeramcount=rule.mergeRamCount or nan, mergecorecount=rule.mergeCoreCount or None,
        premerge=premerge, ramcount=nan, baseramcount=0.0, cputime=nan, walltime_s_per_mib=nan,
        resource_type=resource_type(rule, task.corecount, task.resource_type, bounds), input_bytes_per_job=size,
        output_bytes_per_job=size, n_jobs=1, total_input_bytes=size, n_files_per_job=n_files,
        total_input_files=n_files, n_events_per_job=int(outputs.n_events)))


def resource_type(rule, corecount: int, of_task: int, bounds: Sequence[Any]) -> int:
    """Resource type of a merge job, that of its task where no other has room for it; arguments as for `merge_task`."""
    found = resource_type_of(bounds, rule.mergeCoreCount or corecount, asked_memory_mb(rule.mergeRamCount or nan), "MB",
                             0)
    return of_task if found == UNDEFINED else found


def new_status(status: np.ndarray, has_other_work: np.ndarray, merges: np.ndarray) -> np.ndarray:
    """Status that running and merging tasks get, (n,): `running` with other work, else `merging` if there is any."""
    return np.where(has_other_work, RUNNING, np.where(merges, MERGING, status))


def ready(task: np.ndarray, queue: np.ndarray, site: np.ndarray, chunk: np.ndarray, unmerged: np.ndarray,
          edition: str) -> Iterator[tuple[int, np.ndarray]]:
    """Tasks with outputs that can be merged, and the positions of those at one place by chunk, (k,): all jobs done.

    Arguments are columns of the live jobs that no merge job reads yet, (n,); unmerged: whether the output of a job
    waits to be merged.
    """
    n, of_jobs = len(task), tuple(np.asarray(column, np.int64) for column in (task, queue, site, chunk, unmerged))
    place, done = np.empty(n, np.int64), np.zeros(n, bool)
    mark_done(of_jobs, TERMS[edition].at_sites, np.full(2 * n + 1, -1), place, done)
    rows = np.flatnonzero(done)
    if not len(rows):
        return
    order = rows[np.lexsort((chunk[rows], place[rows], task[rows]))]
    begins = np.flatnonzero(np.append(True, (np.diff(task[order]) != 0) | (np.diff(place[order]) != 0)))
    for begin, end in pairwise([*begins.tolist(), len(order)]):
        yield int(task[order[begin]]), order[begin:end]


@compiled
def mark_done(of_jobs, at_sites, firsts, places, done):
    """Mark in `done`, (n,) bool, false before, the outputs of the places of tasks at which all are unmerged.

    of_jobs: the arguments of `ready`; firsts: room for the first output of each place of a task, -1 = none, at a number
    that its key gives or the next free one; it is longer than n. places: room for that of each job, (n,).
    """
    task, queue, site, chunk, unmerged = of_jobs
    for k in range(len(task)):
        places[k] = merge_place(queue[k], site[k], chunk[k], at_sites)
    for pass_number in range(2):
        for k in range(len(task)):
            at = (task[k] * 1_000_003 + places[k]) % len(firsts)
            while firsts[at] >= 0 and (task[firsts[at]] != task[k] or places[firsts[at]] != places[k]):
                at = (at + 1) % len(firsts)
            if pass_number == 1:
                done[k] = done[firsts[at]]
            elif firsts[at] < 0:
                firsts[at], done[k] = k, unmerged[k] != 0
            else:
                done[firsts[at]] &= unmerged[k] != 0
