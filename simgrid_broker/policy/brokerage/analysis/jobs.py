"""How many jobs the input of a brokerage cycle makes, as analysis estimates it; source: brokerage reference, 11.5."""

from collections.abc import Sequence
from typing import NamedTuple

from simgrid_broker.policy.brokerage.production.estimates import MIN_OUTPUT_DEPLOYED
from simgrid_broker.policy.tasks.splitting import MOST_FILES, added, effective_mib, events_of
from simgrid_broker.units import MIB
from simgrid_broker.views import DatasetOfTask, InputFile

REFERENCE_COREPOWER, LONGEST_S = 10, 345600
"""HS06 per core and wall time of a job; source: brokerage reference, 11.5 and 13."""
SIZE_OF_SCOUTS, SIZE = 50_000 * MIB, 500_000 * MIB
"""Most input, output and work space of a job without nGBPerJob, of scouts and of others."""


class Limits(NamedTuple):
    """What a job may have at most; files: nFilesPerJob, 0 = not given; work: work space, bytes; s_per_event: 0 = none.
    """

    files: int
    events: int
    most_files: int
    size: float
    output_per_mib: float
    work: float
    s_per_event: float
    base_s: float


def limits_of(files: int, events: int, most_files: int, bytes_per_job: float, scouting: bool, output_per_mib: float,
              work: float, s_per_event: float, base_s: float) -> Limits:
    """Limits of a task; bytes_per_job: nGBPerJob, NaN = not given."""
    size = float(SIZE_OF_SCOUTS if scouting else SIZE)
    if bytes_per_job == bytes_per_job:
        size = bytes_per_job + MIN_OUTPUT_DEPLOYED + work
    return Limits(files, events, most_files or MOST_FILES, size, output_per_mib, work, s_per_event, base_s)


def n_jobs(datasets: Sequence[DatasetOfTask], limits: Limits) -> int:
    """Jobs that the primary files make: nFilesPerJob each, or as many as fit, the first one whatever its size."""
    files = [file for one in datasets if not (one.secondary or one.constituent) for file in one.files.values()]
    if limits.files:
        return -(-len(files) // limits.files)
    beside = [one for one in datasets if one.secondary]
    jobs, chosen = 0, list[InputFile]()
    for file in files:
        if chosen and not fits([*chosen, file], beside, limits):
            jobs, chosen = jobs + 1, []
        chosen.append(file)
    return jobs + bool(chosen)


def fits(files: Sequence[InputFile], beside: Sequence[DatasetOfTask], limits: Limits) -> bool:
    """Whether a job may have these primary files; output counts as 1500 MB at least."""
    output = sum(int(limits.output_per_mib * effective_mib(file)) for file in files)
    size = sum(file.bytes for file in files) + sum(next(added(one, [len(files)])) for one in beside)
    seconds = limits.base_s + sum(int(limits.s_per_event * events_of(file)) for file in files)
    events = sum(map(events_of, files))
    return (len(files) <= limits.most_files and size + max(output, MIN_OUTPUT_DEPLOYED) + limits.work <= limits.size
            and seconds <= LONGEST_S and not (limits.events and events > limits.events))
