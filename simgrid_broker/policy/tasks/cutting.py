"""Cutting input into jobs: files of a master dataset with those of its secondary datasets, within the limits of one
job; source: lifecycle reference, section 2.6; PanDA's `InputChunk.getSubChunk`.

A job takes the next step of its input as long as one step more would break no limit. The look ahead counts a little
otherwise than taking does, as in the production code.
"""

import math
from typing import NamedTuple

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.names import ClosedBy
from simgrid_broker.units import MIB

OPEN, END, BOUNDARY, FILES, SIZE, WALLTIME, EVENTS, OUTPUT, DISK, ALL_FILES, GAP, SHORT = map(int, ClosedBy)

CUT = np.dtype([("first", "i8"), ("count", "i8"), ("closed_by", "i8"), ("first_read", "i8"), ("n_reads", "i8"),
                ("secondary_bytes", "f8")])
"""A job: its first piece of input, how many it has, the code of `ClosedBy`, and its secondary files: the first of READ,
their number and size."""
READ = np.dtype([("dataset", "i8"), ("file", "i8")])
"""A secondary file of a job: the number of its dataset, and its row among the secondary files."""
SECONDARY = np.dtype([("first", "i8"), ("number", "i8"), ("used", "i8"), ("kept", "i8"), ("per_job", "i8"),
                      ("ratio", "f8"), ("event_ratio", "f8"), ("nosplit", "?"), ("repeat", "?"), ("reusable", "?")])
"""A secondary dataset: rows of its files, those used so far, and before the job in hand; files of each job (np, -1 =
not given), files for each master file (ratio), events for each of the master (er, NaN = not given); nosplit: every job
reads all files; repeat, ru: its files are read again when they end."""
BESIDE = np.dtype([("bytes", "f8"), ("events", "f8"), ("ranged_events", "f8"), ("boundary", "i8")])
"""A file of a secondary dataset; events: NaN = unknown; ranged_events: of the range that is read, NaN = the whole."""

STATE = np.dtype([("files", "f8"), ("all_files", "f8"), ("names", "f8"), ("events", "f8"), ("size", "f8"),
                  ("disk", "f8"), ("output", "f8"), ("seconds", "f8"), ("next_event", "f8"), ("ranged_name", "i8"),
                  ("name", "i8"), ("boundary", "i8"), ("least", "i8"), ("most", "i8"), ("lumiblock", "i8"),
                  ("field", "i8"), ("ranged", "?"),
                  ("stop", "i8"), ("secondary_bytes", "f8"), ("tallies", "i8")])
"""Contents of a job: numbers of master and of all files, of names of files, events, bytes (with output), scratch,
output, wall time, s; the event that follows; -1 and NaN = none yet; least, most: boundaryIDs of the last step; stop:
why the next piece does not belong to it; tallies: place of the first of its tallies."""

TALLY = np.dtype([("files", "f8"), ("events", "f8"), ("output", "f8")])
"""Contents of a job from a secondary dataset."""
ALL_OF_THEM = 10_000
"""Secondary files that are looked at where those that belong to the master are taken, however many."""
FREE, SINGLE, WHOLE, LOOSE = range(4)
"""Groups of boundaryID: none; one for each job, within its limits; one for each job, whatever its size; several, as in
merge jobs, which read the secondary files of their boundaryIDs."""


class Beside(NamedTuple):
    """Secondary files, (m,) of BESIDE, and their datasets, (s,) of SECONDARY, whose `used` goes on."""

    files: np.ndarray
    datasets: np.ndarray


class JobLimits(NamedTuple):
    """Limits of one job at one queue, and the figures of its size; numbers only, inf = no limit.

    step: pieces that are taken at once, and nothing else if `only_step`. least_output_bytes: least output that counts
    towards the size. offset_bytes: work space. output_per_event; output_per_mib: of the master; output_per_byte: of
    secondary files, both in addition. s_per_event, s_per_mib: work of the master, shared by cores, corepower (0 = not
    known) and consumers; efficiency 0: only base_s counts. group: FREE to LOOSE. counts_ratio: secondary
    files follow the events. dynamic: the number of events is chosen, least_s: shortest job then. whole_files: parts of
    a file count its whole size; whole_numbers: seconds and bytes are rounded down file by file.
    """

    files: float = math.inf
    all_files: float = math.inf
    events: float = math.inf
    size_bytes: float = math.inf
    output_bytes: float = math.inf
    disk_bytes: float = math.inf
    walltime_s: float = math.inf
    step: int = 1
    only_step: bool = False
    least_output_bytes: float = 0.0
    offset_bytes: float = 0.0
    copies_input: bool = True
    group: int = FREE
    respects_lumiblock: bool = False
    respects_field: bool = False
    output_per_event: float = 0.0
    output_per_mib: float = 0.0
    output_per_byte: float = 0.0
    base_s: float = 0.0
    s_per_event: float = 0.0
    s_per_mib: float = 0.0
    cores: float = 1.0
    corepower: float = 0.0
    efficiency: float = 1.0
    consumers: float = 1.0
    counts_ratio: bool = False
    dynamic: bool = False
    least_s: float = 0.0
    whole_files: bool = False
    whole_numbers: bool = False


LIMITS = np.dtype([(name, {int: "i8", bool: "?", float: "f8"}[type(default)])
                   for name, default in JobLimits._field_defaults.items()])
"""`JobLimits` as a row, which compiled functions hand on without copying it."""


class Room(NamedTuple):
    """Room for jobs, (k,) of CUT, and for what they read, (r,) of READ, filled as far as it goes.

    limits: (1,) of LIMITS; states, (2,) of STATE: the job in hand and with one step more; tallies: theirs, of each
    dataset, (2 s,) of TALLY.
    """

    limits: np.ndarray
    jobs: np.ndarray
    reads: np.ndarray
    states: np.ndarray
    tallies: np.ndarray

    @classmethod
    def of(cls, limits: JobLimits, jobs: int, datasets: int, reads: int = 0) -> "Room":
        """Room for so many jobs, secondary datasets and their files."""
        return cls(np.array([limits], LIMITS), np.zeros(jobs, CUT), np.zeros(reads, READ), np.zeros(2, STATE),
                   np.zeros(2 * datasets, TALLY))


@compiled
def cut_jobs(pieces, first, beside, room):
    """Cut the pieces of input from `first` on into jobs until they or the room for jobs end; returns how many.

    pieces: (n,) of views.PIECE, in order. Every job gets consecutive pieces; none that is too short for the queue.
    """
    n, n_reads, jobs = 0, 0, room.jobs
    while n < len(jobs) and first < len(pieces):
        count, closed_by, n_after, size = next_job(pieces, first, beside, room, n_reads)
        job = jobs[n]
        job["first"], job["count"], job["closed_by"] = first, count, closed_by
        job["first_read"], job["n_reads"], job["secondary_bytes"] = n_reads, n_after - n_reads, size
        if closed_by == SHORT:
            for dataset in beside.datasets:
                dataset["used"] = dataset["kept"]
            return n
        first, n_reads = first + count, n_after
        n += 1
    return n


@compiled
def next_job(pieces, first, beside, room, n_reads):
    """Number of pieces that the next job gets, what closed it (a code of ClosedBy), its reads and secondary bytes."""
    now, ahead, limits = room.states[0], room.states[1], room.limits[0]
    begin(now)
    at, closed_by, tallies = first, OPEN, room.tallies
    for number in range(len(beside.datasets)):
        beside.datasets[number]["kept"] = beside.datasets[number]["used"]
        tallies[number]["files"] = tallies[number]["events"] = tallies[number]["output"] = 0.0
    while closed_by == OPEN and broken(now, tallies, limits, False) == OPEN:
        taken = take_master(pieces, first, at, now, limits, False)
        n_reads = take_beside(beside, now, tallies, limits, at == first, room.reads, n_reads)
        at += taken
        if at == len(pieces) or pieces[at]["retry"] != pieces[first]["retry"]:
            closed_by = END
        elif limits["only_step"]:
            closed_by = FILES
        elif now["stop"] != OPEN:
            closed_by = now["stop"]
        else:
            look_from(room, len(beside.datasets))
            take_master(pieces, first, at, ahead, limits, True)
            look_beside(beside, ahead, tallies, limits)
            closed_by = broken(ahead, tallies, limits, True)
    for dataset in beside.datasets:
        if dataset["repeat"] and dataset["number"] > 0:
            dataset["used"] %= dataset["number"]
    if limits["dynamic"] and limits["least_s"] > now["seconds"]:
        closed_by = SHORT
    return at - first, closed_by, n_reads, now["secondary_bytes"]


@compiled
def look_from(room, n_datasets):
    """Let a look ahead begin with what the job in hand has."""
    room.states[1] = room.states[0]
    room.states[1]["ranged"], room.states[1]["tallies"] = False, n_datasets
    for number in range(n_datasets):
        room.tallies[n_datasets + number] = room.tallies[number]


@compiled
def begin(job):
    """A job without input."""
    job["files"] = job["all_files"] = job["names"] = job["events"] = job["size"] = job["disk"] = job["output"] = 0.0
    job["seconds"] = job["secondary_bytes"] = 0.0
    job["ranged"], job["stop"] = False, OPEN
    job["next_event"] = np.nan
    job["ranged_name"] = job["name"] = job["boundary"] = job["lumiblock"] = job["field"] = -1
    job["least"], job["most"], job["tallies"] = -1, -1, 0


@compiled
def take_master(pieces, first, at, job, limits, looks):
    """Add the next step of the master to a job, or look at it, as far as it belongs to it; returns how many pieces."""
    by_events, ends = math.isfinite(limits["events"]), min(at + limits["step"], len(pieces))
    job["stop"], names = OPEN, job["name"]
    if not looks:
        job["least"] = job["most"] = -1
    for k in range(at, ends):
        piece = pieces[k]
        if piece["retry"] != pieces[first]["retry"]:
            return k - at
        job["stop"] = parted(piece, job, limits, by_events, looks)
        if job["stop"] != OPEN:
            return k - at
        add_piece(piece, job, limits, by_events, looks, names)
        note_boundary(piece["boundary"], job, looks)
        job["lumiblock"], job["field"] = piece["lumiblock"], piece["field"]
    return max(ends - at, 0)


@compiled
def note_boundary(boundary, job, looks):
    """Note the boundaryID of a piece that a job takes; a look ahead leaves that of the job as it is."""
    if not looks:
        job["boundary"] = boundary
    job["least"] = boundary if job["least"] < 0 else min(job["least"], boundary)
    job["most"] = max(job["most"], boundary)


@compiled
def parted(piece, job, limits, by_events, looks):
    """Why a piece does not belong to a job, a code of ClosedBy; OPEN = it does.

    A gap between events, or another file where events go on, closes a job. A look ahead has counted the
    events before it finds the gap.
    """
    if piece["first_event"] >= 0:
        if looks and by_events:
            job["ranged"] = True
            job["events"] += piece["last_event"] - piece["first_event"] + 1
            if not math.isnan(job["next_event"]) and job["next_event"] != piece["first_event"]:
                return GAP
            job["next_event"] = piece["last_event"] + 1
        elif not looks and (by_events or limits["dynamic"]) and not math.isnan(job["next_event"]):
            other = job["next_event"] > 0 and job["ranged_name"] >= 0 and job["ranged_name"] != piece["file"]
            if other or job["next_event"] != piece["first_event"]:
                return GAP
    groups = limits["group"] == SINGLE or limits["group"] == WHOLE
    if groups and job["boundary"] >= 0 and job["boundary"] != piece["boundary"]:
        return BOUNDARY
    if limits["respects_lumiblock"] and job["lumiblock"] >= 0 and job["lumiblock"] != piece["lumiblock"]:
        return BOUNDARY
    if limits["respects_field"] and job["field"] >= 0 and job["field"] != piece["field"]:
        return BOUNDARY
    return OPEN


@compiled
def add_piece(piece, job, limits, by_events, looks, names):
    """Add a piece of the master to a job; names: the last file of the job before this step."""
    part, mib, events = piece["part_bytes"], piece["part_bytes"] / MIB, piece["events"]
    output = rounded(limits["output_per_event"] * events, limits) + rounded(limits["output_per_mib"] * mib, limits)
    size = piece["bytes"] if limits["whole_files"] else part
    if limits["dynamic"] and (not looks or piece["file"] == names):
        size = 0.0
    if job["files"] == 0:
        job["size"] += limits["offset_bytes"]
        job["seconds"] += limits["base_s"]
    job["files"] += 1
    job["all_files"] += 1
    job["names"] += 1 if piece["file"] != job["name"] else 0
    job["name"] = piece["file"]
    job["size"] += size + output
    job["disk"] += (size if limits["copies_input"] else 0.0) + output
    job["output"] += output
    job["seconds"] += rounded(piece_walltime(events, mib, limits), limits)
    if not looks and (by_events or limits["counts_ratio"] or limits["dynamic"]) and piece["first_event"] >= 0:
        job["ranged"] = True
        job["events"] += piece["last_event"] - piece["first_event"] + 1
        after = piece["last_event"] + 1
        job["next_event"], job["ranged_name"] = 0 if after == piece["file_events"] else after, piece["file"]


@compiled
def piece_walltime(events, mib, limits):
    """Wall time that a piece of input adds to its job, s: cpuTime x events / (cores x corepower x cpuEfficiency).

    Without CPU time in HS06 s it is wall time x MiB / cores. Source: JEDI TWiki, HS06sPerEvent; lifecycle reference,
    section 2.6.
    """
    if limits["s_per_mib"] > 0:
        return limits["s_per_mib"] * mib / limits["cores"] / limits["consumers"]
    if limits["efficiency"] == 0:
        return 0.0
    seconds = limits["s_per_event"] * events / limits["cores"]
    if limits["corepower"] > 0:
        seconds /= limits["corepower"]
    return seconds / limits["efficiency"] / limits["consumers"]


@compiled
def rounded(value, limits):
    """A figure of one file, without its fraction where whole numbers count."""
    return math.floor(value) if limits["whole_numbers"] else value


@compiled
def take_beside(beside, job, tallies, limits, new, reads, n_reads):
    """Add the secondary files that go with the master files of a job; new: it has none. Returns the reads so far."""
    leading = True
    for number in range(len(beside.datasets)):
        dataset, tally = beside.datasets[number], tallies[job["tallies"] + number]
        wanted = wanted_of(dataset, job, tally["files"], limits, new)
        if wanted < 0:
            continue
        if dataset["nosplit"]:
            begin_at = 0
        elif dataset["reusable"] and dataset["used"] + wanted > dataset["number"]:
            dataset["used"] = begin_at = 0
        else:
            begin_at = dataset["used"]
        for file in range(begin_at, min(begin_at + wanted, dataset["number"])):
            row = dataset["first"] + file
            if not dataset["nosplit"] and is_foreign(beside.files[row], dataset, job, tally["events"], limits):
                break
            add_beside(beside.files[row], dataset, job, tally, limits, leading)
            dataset["used"] += 1
            if n_reads < len(reads):
                reads[n_reads]["dataset"], reads[n_reads]["file"] = number, row
            n_reads += 1
        leading = leading and dataset["nosplit"]
    job["ranged"] = False
    return n_reads


@compiled
def wanted_of(dataset, job, taken, limits, new):
    """Files of a secondary dataset that a job takes in its next step, if it has so many; -1 = it takes none."""
    if dataset["nosplit"] or dataset["per_job"] >= 0:
        if not new:
            return -1
        return dataset["number"] if dataset["nosplit"] else dataset["per_job"]
    by_events = not math.isnan(dataset["event_ratio"]) and job["events"] > 0
    if by_events or limits["group"] == SINGLE or limits["group"] == WHOLE:
        return ALL_OF_THEM
    return max(int(math.ceil(job["files"] * dataset["ratio"]) - taken), 0)


@compiled
def is_foreign(file, dataset, job, events, limits):
    """True if a secondary file is of another boundaryID, or if its dataset has events enough for the job."""
    inside = job["least"] <= file["boundary"] <= job["most"] or file["boundary"] == job["boundary"]
    if limits["group"] != FREE and job["boundary"] >= 0 and not inside:
        return True
    ratio = dataset["event_ratio"]
    return not math.isnan(ratio) and job["events"] > 0 and events / job["events"] >= ratio


@compiled
def add_beside(file, dataset, job, tally, limits, leading):
    """Add a secondary file to a job; the events of the first dataset count where the master has none."""
    output = file["bytes"] * limits["output_per_byte"]
    job["all_files"] += 1
    job["size"] += file["bytes"] + output
    job["disk"] += (file["bytes"] if limits["copies_input"] else 0.0) + output
    job["secondary_bytes"] += file["bytes"]
    tally["output"] += output
    if dataset["nosplit"]:
        return
    tally["files"] += 1
    if leading and math.isfinite(limits["events"]) and not job["ranged"]:
        if not math.isnan(file["ranged_events"]):
            job["events"] += file["ranged_events"]
        elif not math.isnan(file["events"]):
            job["events"] += file["events"]
    if not math.isnan(file["events"]):
        tally["events"] += file["events"]


@compiled
def look_beside(beside, job, tallies, limits):
    """Count the secondary files of one step more."""
    leading = True
    for number in range(len(beside.datasets)):
        dataset, tally = beside.datasets[number], tallies[job["tallies"] + number]
        if dataset["nosplit"] or dataset["per_job"] >= 0:
            continue
        if job["stop"] == BOUNDARY and (limits["group"] == SINGLE or limits["group"] == WHOLE):
            return
        wanted = max(int(math.ceil(job["files"] * dataset["ratio"]) - tally["files"]), 0)
        for file in range(dataset["used"], min(dataset["used"] + wanted, dataset["number"])):
            row = dataset["first"] + file
            if is_foreign(beside.files[row], dataset, job, tally["events"], limits):
                break
            add_beside(beside.files[row], dataset, job, tally, limits, leading)
        leading = False


@compiled
def broken(job, tallies, limits, looks):
    """The first limit that a job breaks, a code of ClosedBy; OPEN = none. The least output counts for a look ahead.

    Output is that of the largest dataset. Source: lifecycle reference, section 2.6.
    """
    output = job["output"]
    for number in range(len(tallies) // 2):
        output = max(output, tallies[job["tallies"] + number]["output"])
    if (job["names"] if limits["dynamic"] else job["files"]) > limits["files"]:
        return FILES
    if job["size"] > limits["size_bytes"]:
        return SIZE
    if looks and output < limits["least_output_bytes"] and (
            limits["size_bytes"] - limits["least_output_bytes"] < job["size"] - output):
        return SIZE
    if job["seconds"] > limits["walltime_s"]:
        return WALLTIME
    if job["events"] > limits["events"]:
        return EVENTS
    if output > limits["output_bytes"]:
        return OUTPUT
    if job["disk"] > limits["disk_bytes"]:
        return DISK
    return ALL_FILES if job["all_files"] > limits["all_files"] else OPEN
