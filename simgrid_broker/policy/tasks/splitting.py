"""The splitter: how many files or events of a task's input the next job at a queue gets, and the smallest jobs that its
input can be cut into, PanDA's atoms, of which brokerage judges the largest.

Source: JEDI TWiki, nGBPerJob, tgtMaxOutputForNG, HS06sPerEvent, event-level splitting; elsewhere, in both editions,
lifecycle reference, 2.3 and 2.6 (PanDA's `InputChunk.getSubChunk`); atoms: brokerage reference, 0.4
(`InputChunk.getMaxAtomSize`).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.editions import ByEdition
from simgrid_broker.gdpconfig import jobgen
from simgrid_broker.names import MOST_FILES_OF_JOB, ClosedBy
from simgrid_broker.policy.brokerage.production import estimates
from simgrid_broker.units import GIB, MIB
from simgrid_broker.views import DatasetOfTask, Gdpconfig, InputFile, Queues, Task

MAX_FILES = 200
"""Most master files of a job if the task says nothing; source: lifecycle reference, section 2.6."""
MAX_OUTPUT_BYTES = 10 * GIB
"""Most primary output of a job; source: the same."""
MIN_OUTPUT_TWIKI_BYTES = 2.5e9
"""Least output that counts towards nGBPerJob; source: JEDI TWiki, nGBPerJob."""
DEFAULT_SIZE_BYTES = 20 * GIB
"""Most input, output and work space of a job at a queue without maxwdir; source: lifecycle reference, section 2.6."""
DIRECT_SIZE_BYTES, DIRECT_SIZE_SCOUT_BYTES = 500_000 * MIB, 50_000 * MIB
"""Sizes where input is read directly, after the scouts and for them; source: the same."""
NG_BOUNDS_GB = (1.0, 100.0)
"""Bounds of nGBPerJob from tgtMaxOutputForNG; source: lifecycle reference, section 2.7."""
PRECEDENCE = ("nEventsPerJob", "nFilesPerJob", "nGBPerJob", "tgtNumEventsPerJob", "tgtMaxOutputForNG")
"""Of these task parameters only the first that is given counts; source: lifecycle reference, section 2.6."""

OPEN, END, BOUNDARY, FILES, SIZE, WALLTIME, EVENTS, OUTPUT, DISK, ALL_FILES = map(int, ClosedBy)

CUT = np.dtype([("first", "i8"), ("count", "i8"), ("closed_by", "i8")])
"""A job: its first piece of input, how many it has, and the code of `ClosedBy`."""


class Splitting(NamedTuple):
    """Task parameters of splitting, in PanDA's names and units, and means of the files; 0 = not given.

    maxWalltime in h, nGBPerJob and tgtMaxOutputForNG in GB. A piece is a master file, or a part of one if events are
    split; events, bytes: means of a piece; output_per_event: bytes. secondary_ratio: secondary files for each piece,
    of secondary_bytes each. respects_boundary: lumi blocks or boundaryIDs are kept apart.
    """

    nFilesPerJob: int = 0
    nGBPerJob: float = 0.0
    nEventsPerJob: int = 0
    maxWalltime: float = 0.0
    nMaxFilesPerJob: int = 0
    tgtMaxOutputForNG: float = 0.0
    tgtNumEventsPerJob: int = 0
    respects_boundary: bool = False
    events: float = 1.0
    bytes: float = 0.0
    output_per_event: float = 0.0
    secondary_ratio: float = 0.0
    secondary_bytes: float = 0.0


class JobLimits(NamedTuple):
    """Limits of one job at one queue, and the figures of its size; numbers only, inf = no limit.

    step: pieces that are taken at once. least_output_bytes: least output that counts towards the size. offset_bytes:
    work space. s_per_mib: wall time x cores of a MiB of input where CPU time is unknown. efficiency: 0 = only base_s.
    """

    files: float
    all_files: float
    events: float
    size_bytes: float
    output_bytes: float
    disk_bytes: float
    walltime_s: float
    step: int
    least_output_bytes: float
    offset_bytes: float
    copies_input: bool
    respects_boundary: bool
    output_per_event: float
    secondary_ratio: float
    secondary_bytes: float
    cputime: float
    cores: float
    corepower: float
    efficiency: float
    base_s: float
    s_per_mib: float
    consumers: float
    whole_seconds: bool


class Terms(NamedTuple):
    """Terms in which the editions differ.

    work_margin: work space has a margin (D50); whole_seconds: wall times are in whole seconds; adds_output: output and
    work space come on top of nGBPerJob, otherwise within it (L9); gigabyte: bytes of a GB in tgtMaxOutputForNG;
    reserve: bytes that are taken off its size.
    """

    work_margin: bool
    whole_seconds: bool
    adds_output: bool
    gigabyte: float
    reserve: float


TERMS = ByEdition(
    documented=Terms(work_margin=False, whole_seconds=False, adds_output=False, gigabyte=1e9, reserve=0.0),
    deployed=Terms(work_margin=True, whole_seconds=True, adds_output=True, gigabyte=GIB,
                   reserve=estimates.MIN_OUTPUT_DEPLOYED))


def preferred(splitting: Splitting) -> Splitting:
    """The parameters without those that another one takes precedence over."""
    given = [name for name in PRECEDENCE if getattr(splitting, name)]
    unset: dict[str, Any] = dict.fromkeys(given[1:], 0)
    return splitting._replace(**unset)


def job_limits(task: Task, splitting: Splitting, queues: Queues, number: int, edition: str) -> JobLimits:
    """Limits of a job of a task at candidate `number`; `splitting` as `preferred` leaves it.

    Source: lifecycle reference, section 2.6, the table of limits. L9: the JEDI TWiki counts max(output, 2.5 GB) within
    nGBPerJob; the deployed edition counts at least 1500 MB and adds them to nGBPerJob.
    """
    copies = not estimates.is_read_directly(task.is_merging, estimates.reads_lan(task), queues.records[number])
    offset = estimates.work_space_bytes(task.workdisk_bytes, TERMS[edition].work_margin)
    size, least = size_limit(task, splitting, queues.maxwdir_mb[number] * MIB, copies, offset, edition)
    given_s = splitting.maxWalltime * 3600 or math.inf
    by_work = estimates.counts_hs06(task)
    return JobLimits(
        files=files_limit(task, splitting), all_files=float(MOST_FILES_OF_JOB),
        events=float(splitting.nEventsPerJob or splitting.tgtNumEventsPerJob or math.inf), size_bytes=size,
        output_bytes=float(MAX_OUTPUT_BYTES), disk_bytes=float(queues.maxwdir_mb[number] * MIB),
        walltime_s=float(min(given_s, queues.maxtime_s[number])), step=splitting.nFilesPerJob or 1,
        least_output_bytes=least, offset_bytes=offset, copies_input=bool(copies),
        respects_boundary=bool(splitting.respects_boundary), output_per_event=float(splitting.output_per_event),
        secondary_ratio=float(splitting.secondary_ratio), secondary_bytes=float(splitting.secondary_bytes),
        cputime=task.cputime if by_work else math.nan, cores=float(max(queues.corecount[number], 1)),
        corepower=float(queues.corepower[number]), efficiency=task.cpuefficiency / 100,
        base_s=float(task.basewalltime_s), s_per_mib=math.nan if by_work else task.walltime_s_per_mib,
        consumers=float(task.n_es_consumers if task.event_service else 1), whole_seconds=TERMS[edition].whole_seconds)


def files_limit(task: Task, splitting: Splitting) -> float:
    """Most master files of a job: nFilesPerJob, else 1 for scouts that do not split by events, else nMaxFilesPerJob."""
    if splitting.nFilesPerJob:
        return float(splitting.nFilesPerJob)
    if task.is_scout and not splitting.nEventsPerJob:
        return 1.0
    return float(splitting.nMaxFilesPerJob or MAX_FILES)


def size_limit(task: Task, splitting: Splitting, maxwdir_bytes: float, copies: bool, offset: float,
               edition: str) -> tuple[float, float]:
    """Most input, output and work space of a job together, and the least that output counts as, bytes (L9)."""
    least = estimates.MIN_OUTPUT_DEPLOYED
    n_gb = splitting.nGBPerJob or ng_for_target(splitting, offset, edition)
    if n_gb and not TERMS[edition].adds_output:
        return n_gb * 1e9, MIN_OUTPUT_TWIKI_BYTES
    if n_gb:
        return n_gb * GIB + least + offset, least
    known = maxwdir_bytes if math.isfinite(maxwdir_bytes) else 0.0
    if copies:
        return known or float(DEFAULT_SIZE_BYTES), least
    if splitting.nFilesPerJob or splitting.nEventsPerJob:
        return math.inf, least
    return float(max(DIRECT_SIZE_SCOUT_BYTES if task.is_scout else DIRECT_SIZE_BYTES, known)), least


def ng_for_target(splitting: Splitting, offset: float, edition: str) -> float:
    """nGBPerJob with which the largest output comes near to tgtMaxOutputForNG, GB; 0 without a target.

    That output, its input and the work space, less 1500 MB in the deployed edition, clamped to 1..100. Source: JEDI
    TWiki, tgtMaxOutputForNG; lifecycle reference, section 2.7.
    """
    if not splitting.tgtMaxOutputForNG or not splitting.output_per_event:
        return 0.0
    unit, reserve = TERMS[edition].gigabyte, TERMS[edition].reserve
    output = splitting.tgtMaxOutputForNG * unit
    bytes_per_event = (splitting.bytes + splitting.secondary_ratio * splitting.secondary_bytes) / splitting.events
    whole = output + output / splitting.output_per_event * bytes_per_event + offset - reserve
    return min(max(whole / unit, NG_BOUNDS_GB[0]), NG_BOUNDS_GB[1])


def typical_files(splitting: Splitting, cfg: Gdpconfig, label: str, work_queue: str, processing_type: str) -> int:
    """Estimated files of a job: nFilesPerJob, or as many as nEventsPerJob needs, or TYPNFILES.

    Source: lifecycle reference, section 2.3.
    """
    if splitting.nFilesPerJob:
        return splitting.nFilesPerJob
    if splitting.nEventsPerJob:
        return max(1, int(splitting.nEventsPerJob // splitting.events))
    if splitting.tgtNumEventsPerJob and splitting.tgtNumEventsPerJob < 2 * splitting.events:
        return 1
    members = {"label": label, "type": processing_type}
    return (cfg.own(jobgen.TYPNFILES, queueOrNone=work_queue, **members)
            or cfg.value(jobgen.TYPNFILES, queueOrNone="", **members))


@compiled
def cut_jobs(pieces, first, limits, jobs):
    """Cut the pieces of input from `first` on into jobs until they or `jobs`, (k,) of CUT, end; returns how many.

    pieces: (n,) of views.PIECE, in order. Every job gets consecutive pieces.
    """
    n = 0
    while n < len(jobs) and first < len(pieces):
        count, closed_by = next_job(pieces, first, limits)
        jobs[n]["first"], jobs[n]["count"], jobs[n]["closed_by"] = first, count, closed_by
        first += count
        n += 1
    return n


@compiled
def next_job(pieces, first, limits):
    """Number of pieces that the next job gets, and the limit that closed it (a code of ClosedBy).

    A job is closed when one step more would break a limit; its first step is taken whatever its size. Source:
    lifecycle reference, section 2.6, the greedy loop.
    """
    count, events, size, seconds = 0, 0.0, 0.0, 0.0
    while True:
        end = first + count + step_length(pieces, first + count, limits)
        for k in range(first + count, end):
            n_bytes = pieces[k]["bytes"] if pieces[k]["bytes"] > 0 else 1.0 * MIB      # unknown counts 1 MiB
            events += pieces[k]["events"]
            size += n_bytes
            seconds += piece_walltime(pieces[k]["events"], n_bytes, limits)
        broken = limit_broken(end - first, events, size, seconds, limits)
        if broken != OPEN and count > 0:
            return count, broken
        count = end - first
        if end == len(pieces) or pieces[end]["retry"] != pieces[first]["retry"]:
            return count, END
        if limits.respects_boundary and pieces[end]["boundary"] != pieces[first]["boundary"]:
            return count, BOUNDARY


@compiled
def step_length(pieces, first, limits):
    """Pieces that are taken at once: nFilesPerJob of them, unless a boundary or the end comes before."""
    n = 1
    while (n < limits.step and first + n < len(pieces) and pieces[first + n]["retry"] == pieces[first]["retry"]
           and (not limits.respects_boundary or pieces[first + n]["boundary"] == pieces[first]["boundary"])):
        n += 1
    return n


@compiled
def piece_walltime(events, size, limits):
    """Wall time that a piece of input adds to its job, s: cpuTime x events / (cores x corepower x cpuEfficiency).

    Where either claim is unknown it adds nothing; without CPU time in HS06 s it is wall time x MiB / cores. The
    deployed edition rounds down file by file. Source: JEDI TWiki, HS06sPerEvent; lifecycle reference, section 2.6.
    """
    if not math.isnan(limits.s_per_mib):
        return limits.s_per_mib * (size / MIB) / limits.cores
    if math.isnan(limits.cputime) or math.isnan(limits.efficiency):
        return 0.0
    seconds = limits.cputime * events / limits.cores / limits.corepower / limits.efficiency
    return math.floor(seconds) if limits.whole_seconds else seconds


@compiled
def expected_walltime(seconds, limits):
    """Wall time of a job whose pieces take `seconds`, s; NaN = unknown. Consumers of event service share it."""
    if not math.isnan(limits.s_per_mib):
        return seconds / limits.consumers
    if math.isnan(limits.cputime):
        return math.nan
    return (limits.base_s + seconds) / limits.consumers


@compiled
def limit_broken(files, events, master_bytes, seconds, limits):
    """The first limit that a job breaks, a code of ClosedBy; OPEN = none.

    PanDA's second rule of size, for jobs with little output, is equivalent to counting at least 1500 MB of output.
    Source: lifecycle reference, section 2.6.
    """
    secondary = math.ceil(limits.secondary_ratio * files)
    size = master_bytes + secondary * limits.secondary_bytes
    output = limits.output_per_event * events
    if files > limits.files:
        return FILES
    if size + max(output, limits.least_output_bytes) + limits.offset_bytes > limits.size_bytes:
        return SIZE
    if expected_walltime(seconds, limits) > limits.walltime_s:
        return WALLTIME
    if events > limits.events:
        return EVENTS
    if output > limits.output_bytes:
        return OUTPUT
    if (size if limits.copies_input else 0.0) + output > limits.disk_bytes:
        return DISK
    if files + secondary > limits.all_files:
        return ALL_FILES
    return OPEN


MOST_FILES, MOST_FILES_OF_MERGING = 200, 50
"""Most primary files of a job if the task says nothing; source: brokerage reference, 0.4."""


class LargestJob(NamedTuple):
    """Largest figures of the smallest jobs: input, primary input as it counts in MiB, and events."""

    bytes: float
    primary_mib: float
    events: int


class Cut(NamedTuple):
    """Files or events of a job, 0 = not given, and the most files that it may have."""

    files: int
    events: int
    most_files: int


def largest_job(datasets: Mapping[str, DatasetOfTask], cut: Cut) -> LargestJob:
    """The largest job of the primary files and the secondary ones that go with them."""
    primary = next((one for one in datasets.values() if not (one.secondary or one.constituent)), None)
    beside = [one for one in datasets.values() if one.secondary]
    jobs = list(smallest_jobs(list(primary.files.values()), cut)) if primary else []
    sizes = [sum(file.bytes for file in files) for files in jobs]
    for dataset in beside:
        more_of = added(dataset, [len(files) for files in jobs])
        sizes = [size + more for size, more in zip(sizes, more_of, strict=True)]
    return LargestJob(max(sizes, default=0.0), max((sum(map(effective_mib, files)) for files in jobs), default=0.0),
                      max((sum(map(events_of, files)) for files in jobs), default=0))


def smallest_jobs(files: Sequence[InputFile], cut: Cut) -> Iterator[list[InputFile]]:
    """The primary files of each job: as many as are asked for, or as have the events asked for, or one.

    Files without a range of events only count as files.
    """
    if cut.files or not cut.events:
        step = cut.files or 1
        yield from (list(files[first:first + step]) for first in range(0, len(files), step))
        return
    chosen: list[InputFile] = []
    for file in files:
        if chosen and (sum(map(events_counted, (*chosen, file))) > cut.events or len(chosen) >= cut.most_files):
            yield chosen
            chosen = []
        chosen = [*chosen, file]
    if chosen:
        yield chosen


def events_of(file: InputFile) -> int:
    """Events of a file that jobs read, at least 1."""
    if file.first_event is not None and file.last_event is not None:
        return max(file.last_event - file.first_event + 1, 1)
    return 1 if file.events is None else file.events


def events_counted(file: InputFile) -> int:
    """Events of a file against a largest number of events: only those of a range count."""
    return 0 if file.first_event is None or file.last_event is None else events_of(file)


def effective_mib(file: InputFile) -> float:
    """Size of a file in proportion to the events that jobs read, MiB."""
    size = file.bytes
    if size and file.events and file.first_event is not None and file.last_event is not None:
        size = int(size * (file.last_event - file.first_event + 1) / file.events)
    return mib(size)


def mib(size: float) -> float:
    """Size of a file, MiB; an unknown one counts as 1 MiB."""
    return size / MIB if size else 1.0


def added(dataset: DatasetOfTask, counts: Iterable[int]) -> Iterator[float]:
    """Bytes of the files of a secondary dataset in each job, by its ratio to the primary files."""
    attributes = dict(item.partition("=")[::2] for item in dataset.attributes.split(",") if item)
    sizes, place = [file.bytes for file in dataset.files.values()], 0
    for count in counts:
        if "nosplit" in attributes:
            yield sum(sizes)
            continue
        wanted = round(count * float(attributes["ratio"])) if attributes.get("ratio") else count
        wanted = min(wanted, len(sizes))
        if "repeat" in attributes:
            yield sum(sizes[(place + k) % len(sizes)] for k in range(wanted)) if sizes else 0.0
        else:
            yield sum(sizes[place:place + wanted])
        place += wanted
