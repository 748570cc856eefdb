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

from simgrid_broker.editions import ByEdition
from simgrid_broker.gdpconfig import jobgen
from simgrid_broker.names import MOST_FILES_OF_JOB
from simgrid_broker.policy.brokerage.production import estimates
from simgrid_broker.policy.tasks.cutting import BESIDE, FREE, LOOSE, SECONDARY, SINGLE, WHOLE, Beside, JobLimits
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
TARGETS = PRECEDENCE[3:]
"""Parameters that give way to any other in the deployed edition, too."""
GROUPS = (FREE, SINGLE, SINGLE, WHOLE, WHOLE)
"""Meaning of groupBoundaryID for the input; 2 and 4 also map the output. Source: panda-server, `JediTaskSpec`."""
OUTPUT_PER_INPUT, MERGED_GB, MERGE_WORK_BYTES = 1.2, 5.0, 500 * MIB
"""Estimated output per byte of what is merged, most output of a merge job, GB, and least scratch beside it; source: the
same, section 2.6."""


class Splitting(NamedTuple):
    """Task parameters of splitting, in PanDA's names and units, and means of the files; 0 and None = not given.

    maxWalltime in h, nGBPerJob and tgtMaxOutputForNG in GB. A piece is a master file, or a part of one if events are
    split; events, bytes: means of a piece; output_per_event, output_per_mib: bytes. groupBoundaryID: 1 and 2 keep
    boundaryIDs apart, 3 and 4 also keep each together, whatever the limits. secondary_bytes: of the secondary files of
    a piece.
    """

    nFilesPerJob: int = 0
    nGBPerJob: float | None = None
    nEventsPerJob: int = 0
    maxWalltime: float = 0.0
    nMaxFilesPerJob: int = 0
    tgtMaxOutputForNG: float = 0.0
    tgtNumEventsPerJob: int = 0
    respectLB: bool = False
    groupBoundaryID: int = 0
    respects_field: bool = False
    respectSplitRule: bool = False
    counts_ratio: bool = False
    events: float = 1.0
    bytes: float = 0.0
    output_per_event: float = 0.0
    output_per_mib: float = 0.0
    secondary_bytes: float = 0.0


class MergeRule(NamedTuple):
    """Task parameters of merge jobs, in PanDA's names; 0 = not given, nGBPerMergeJob in GB."""

    nFilesPerMergeJob: int = 0
    nMaxFilesPerMergeJob: int = 0
    nGBPerMergeJob: float = 0.0
    nEventsPerMergeJob: int = 0
    respectLB: bool = False
    respects_field: bool = False


class Claims(NamedTuple):
    """Claims of a task by which its jobs are sized.

    offset_bytes: work space; s_per_event: CPU work of an event, HS06 s, or s_per_mib: wall time x cores of a MiB, NaN =
    unknown; efficiency: 0 = only base_s counts. dynamic: the number of events is chosen, up to most_events.
    """

    is_scout: bool = False
    offset_bytes: float = 0.0
    s_per_event: float = math.nan
    s_per_mib: float = math.nan
    efficiency: float = 1.0
    base_s: float = 0.0
    consumers: float = 1.0
    dynamic: bool = False
    most_events: float = math.inf


class QueueLimits(NamedTuple):
    """Limits of a queue for one job; inf = none. corepower 0 = unknown; copies: input is copied to scratch."""

    maxwdir_bytes: float = math.inf
    maxtime_s: float = math.inf
    mintime_s: float = 0.0
    cores: float = 1.0
    corepower: float = 0.0
    copies: bool = True


class Terms(NamedTuple):
    """Terms in which the editions differ.

    work_margin: work space has a margin (D50); whole_numbers: seconds and bytes are whole for each file; adds_output:
    output and work space come on top of nGBPerJob, otherwise within it (L9); gigabyte: bytes of a GB in
    tgtMaxOutputForNG; reserve: bytes that are taken off its size; one_size: of the parameters of size only the first
    counts, otherwise the targets alone give way; shares_base: consumers of event service share baseWalltime, too;
    whole_files: part of a file counts with its whole size; zero_is_limit: maxwdir 0 leaves jobs no room, otherwise any.
    """

    work_margin: bool
    whole_numbers: bool
    adds_output: bool
    gigabyte: float
    reserve: float
    one_size: bool
    shares_base: bool
    whole_files: bool
    zero_is_limit: bool


TERMS = ByEdition(
    documented=Terms(work_margin=False, whole_numbers=False, adds_output=False, gigabyte=1e9, reserve=0.0,
                     one_size=True, shares_base=True, whole_files=False, zero_is_limit=False),
    deployed=Terms(work_margin=True, whole_numbers=True, adds_output=True, gigabyte=GIB,
                   reserve=estimates.MIN_OUTPUT_DEPLOYED, one_size=False, shares_base=False, whole_files=True,
                   zero_is_limit=True))


def preferred(splitting: Splitting, edition: str) -> Splitting:
    """The parameters without those that another one takes precedence over; in the deployed edition only targets do."""
    given = [name for name in PRECEDENCE if getattr(splitting, name)]
    behind = given[1:] if TERMS[edition].one_size else [name for name in given[1:] if name in TARGETS]
    unset: dict[str, Any] = dict.fromkeys(behind, 0)
    return splitting._replace(**unset | ({"nGBPerJob": None} if "nGBPerJob" in unset else {}))


def claims_of(task: Task, edition: str) -> Claims:
    """Claims of a task that is brokered."""
    by_work = estimates.counts_hs06(task)
    shares_events = task.event_service and not task.job_cloning
    return Claims(
        is_scout=bool(task.is_scout),
        offset_bytes=float(estimates.work_space_bytes(task.workdisk_bytes, TERMS[edition].work_margin)),
        s_per_event=task.cputime if by_work else math.nan, s_per_mib=math.nan if by_work else task.walltime_s_per_mib,
        efficiency=task.cpuefficiency / 100, base_s=float(task.basewalltime_s),
        consumers=float(task.n_es_consumers if shares_events else 1), dynamic=not math.isnan(task.min_granularity),
        most_events=float(task.max_events_per_job))


def scratch_limit(maxwdir: float, edition: str) -> float:
    """Limit of scratch, as a queue has it; inf = none."""
    return maxwdir if maxwdir > 0 or TERMS[edition].zero_is_limit else math.inf


def queue_limits(task: Task, queues: Queues, number: int, edition: str) -> QueueLimits:
    """Limits of candidate `number` for a job of a task."""
    record = queues.records[number]
    return QueueLimits(
        maxwdir_bytes=scratch_limit(float(queues.maxwdir_mb[number]), edition) * MIB,
        maxtime_s=float(queues.maxtime_s[number]), mintime_s=float(record["mintime_s"]),
        cores=float(max(queues.corecount[number], 1)),
        corepower=float(queues.corepower[number]),
        copies=not estimates.is_read_directly(task.is_merging, estimates.reads_lan(task), record))


def job_limits(claims: Claims, splitting: Splitting, queue: QueueLimits, edition: str) -> JobLimits:
    """Limits of a job of a task at a queue; `splitting` as `preferred` leaves it.

    Source: lifecycle reference, section 2.6, the table of limits. L9: the JEDI TWiki counts max(output, 2.5 GB) within
    nGBPerJob; the deployed edition counts at least 1500 MB and adds them to nGBPerJob.
    """
    dynamic, terms = claims.dynamic and queue.mintime_s > 0, TERMS[edition]
    files = 0 if dynamic else files_of_job(claims, splitting)
    events = claims.most_events if dynamic else splitting.nEventsPerJob or splitting.tgtNumEventsPerJob or math.inf
    size, least = size_limit(claims, splitting, queue, dynamic, edition)
    given_s = min(splitting.maxWalltime * 3600 or math.inf, queue.maxtime_s)
    limits = JobLimits(
        files=float(files or splitting.nMaxFilesPerJob or MAX_FILES), all_files=float(MOST_FILES_OF_JOB),
        events=float(events), size_bytes=float(size), output_bytes=float(MAX_OUTPUT_BYTES),
        disk_bytes=float(queue.maxwdir_bytes), walltime_s=float(given_s if given_s > 0 else math.inf),
        step=int(1 if splitting.respectLB else files or 1), only_step=bool(files and not splitting.respectLB),
        least_output_bytes=float(least), offset_bytes=float(claims.offset_bytes), copies_input=bool(queue.copies),
        group=GROUPS[splitting.groupBoundaryID], respects_lumiblock=bool(splitting.respectLB),
        respects_field=bool(splitting.respects_field), output_per_event=float(splitting.output_per_event),
        output_per_mib=float(splitting.output_per_mib), counts_ratio=bool(splitting.counts_ratio),
        dynamic=bool(dynamic), least_s=float(queue.mintime_s), whole_files=terms.whole_files,
        whole_numbers=terms.whole_numbers, **walltimes(claims, queue, edition))
    if limits.group != WHOLE:
        return limits
    return limits._replace(files=math.inf, size_bytes=math.inf, walltime_s=math.inf, events=math.inf, step=1)


def walltimes(claims: Claims, queue: QueueLimits, edition: str) -> dict[str, float]:
    """Figures of the expected wall time of a job; unknown work takes no time, nor, as documented, its baseWalltime.

    Source: JEDI TWiki, HS06sPerEvent; lifecycle reference, section 2.6.
    """
    by_work, terms = math.isnan(claims.s_per_mib), TERMS[edition]
    known = not math.isnan(claims.s_per_event) or not terms.shares_base
    base = claims.base_s if by_work and known else 0.0
    efficiency = 0.0 if math.isnan(claims.efficiency) else claims.efficiency
    return dict(base_s=float(base / (claims.consumers if terms.shares_base else 1.0)),
                s_per_event=float(0.0 if math.isnan(claims.s_per_event) else max(claims.s_per_event, 0.0)),
                s_per_mib=float(0.0 if by_work else max(claims.s_per_mib, 0.0)), cores=float(queue.cores),
                corepower=float(queue.corepower), efficiency=float(efficiency), consumers=float(claims.consumers))


def files_of_job(claims: Claims, splitting: Splitting) -> int:
    """Master files that a job gets, 0 = as many as fit: nFilesPerJob, else 1 for scouts that do not split by events."""
    if splitting.nFilesPerJob or splitting.nEventsPerJob or splitting.respectSplitRule:
        return splitting.nFilesPerJob
    return 1 if claims.is_scout else 0


def size_limit(claims: Claims, splitting: Splitting, queue: QueueLimits, dynamic: bool,
               edition: str) -> tuple[float, float]:
    """Most input, output and work space of a job together, and the least that output counts as, bytes (L9)."""
    least, offset = estimates.MIN_OUTPUT_DEPLOYED, claims.offset_bytes
    target = ng_for_target(splitting, offset, edition)
    n_gb = splitting.nGBPerJob if splitting.nGBPerJob is not None else target or None
    if n_gb is not None and not TERMS[edition].adds_output:
        return n_gb * 1e9, MIN_OUTPUT_TWIKI_BYTES
    if n_gb is not None:
        return n_gb * GIB + least + offset, least
    counted = not dynamic and (files_of_job(claims, splitting) or splitting.nEventsPerJob)
    if queue.copies:
        unlimited = math.inf if counted else float(DEFAULT_SIZE_BYTES)
        return (queue.maxwdir_bytes if math.isfinite(queue.maxwdir_bytes) else unlimited), least
    if files_of_job(claims, splitting) or splitting.nEventsPerJob:
        return (float(DEFAULT_SIZE_BYTES) if dynamic else math.inf), least
    known = queue.maxwdir_bytes if math.isfinite(queue.maxwdir_bytes) else 0.0
    return float(max(DIRECT_SIZE_SCOUT_BYTES if claims.is_scout else DIRECT_SIZE_BYTES, known)), least


def merge_job_limits(rule: MergeRule, offset_bytes: float, base_s: float, queue: QueueLimits) -> JobLimits:
    """Limits of a merge job at a queue in the deployed edition; source: lifecycle reference, section 2.6.

    Its output is estimated in mixed units, as in the production code: bytes from the MiB of master files, so that
    nGBPerMergeJob does not act on them, and bytes from the bytes of secondary files.
    """
    return JobLimits(
        files=float(rule.nFilesPerMergeJob or rule.nMaxFilesPerMergeJob or MOST_FILES_OF_MERGING),
        all_files=float(MOST_FILES_OF_JOB), events=float(rule.nEventsPerMergeJob or math.inf),
        size_bytes=queue.maxwdir_bytes, disk_bytes=queue.maxwdir_bytes,
        output_bytes=(rule.nGBPerMergeJob or MERGED_GB) * GIB,
        walltime_s=queue.maxtime_s if queue.maxtime_s > 0 else math.inf,
        step=int(1 if rule.respectLB else rule.nFilesPerMergeJob or 1),
        only_step=bool(rule.nFilesPerMergeJob and not rule.respectLB), base_s=base_s,
        least_output_bytes=estimates.MIN_OUTPUT_DEPLOYED, offset_bytes=max(offset_bytes, MERGE_WORK_BYTES), group=LOOSE,
        respects_lumiblock=rule.respectLB, respects_field=rule.respects_field, output_per_mib=OUTPUT_PER_INPUT,
        output_per_byte=OUTPUT_PER_INPUT, whole_files=True, whole_numbers=True)


def beside_of(datasets: Sequence[Any], pieces: np.ndarray) -> Beside:
    """Secondary files for some pieces of a task, those of a dataset all alike; datasets: of `SecondaryInput`.

    Files of which there are so many for each master file have its boundaryID; others have none.
    """
    events = float(pieces["events"].sum())
    numbers = [one.files or math.ceil(max(one.files_for(1.0) * len(pieces), one.files_for(events))) + len(pieces)
               for one in datasets]
    rows, tables = np.zeros(sum(numbers), BESIDE), np.zeros(len(datasets), SECONDARY)
    rows["ranged_events"], rows["boundary"] = math.nan, -1
    begins = np.cumsum([0, *numbers])
    for table, one, begin, number in zip(tables, datasets, begins.tolist(), numbers, strict=False):
        own = rows[begin:begin + number]
        own["bytes"], own["events"] = one.file_size, one.events_per_file or math.nan
        table["first"], table["number"], table["ratio"] = begin, number, one.ratio
        table["per_job"], table["event_ratio"] = one.np or -1, math.nan if one.er is None else one.er
        table["nosplit"], table["repeat"], table["reusable"] = one.nosplit, one.repeat, one.ru
        if one.np is None and one.er is None and one.files is None:
            place = (np.arange(number) / one.ratio).astype(np.int64)
            own["boundary"][place < len(pieces)] = pieces["boundary"][place[place < len(pieces)]]
    return Beside(rows, tables)


def ng_for_target(splitting: Splitting, offset: float, edition: str) -> float:
    """nGBPerJob with which the largest output comes near to tgtMaxOutputForNG, GB; 0 without a target.

    That output, its input and the work space, less 1500 MB in the deployed edition, clamped to 1..100. Source: JEDI
    TWiki, tgtMaxOutputForNG; lifecycle reference, section 2.7.
    """
    if not splitting.tgtMaxOutputForNG or not splitting.output_per_event:
        return 0.0
    unit, reserve = TERMS[edition].gigabyte, TERMS[edition].reserve
    output = splitting.tgtMaxOutputForNG * unit
    bytes_per_event = (splitting.bytes + splitting.secondary_bytes) / splitting.events
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
