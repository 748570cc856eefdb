"""Tasks that read much: how much input may be moved to a queue, and which queues move none.

What lives here: compiled criteria of one candidate, and the choice of a class of candidates. What does not: applying
the choice (`decide`) and where the input is (world).

Sources: PanDA brokerage documentation, production job brokerage, step 2; brokerage reference, sections 2.3 (P23), 2.7
(P24b) and 10.3 (rule 2).
"""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.policy.job_brokerage.ask import JOBBROKER
from simgrid_broker.policy.job_brokerage.load import files_missing, input_is_local
from simgrid_broker.policy.rule import criterion
from simgrid_broker.units import MB, MIB

DISK_CLASS, TAPE_CLASS, REFUSED = range(3)
"""Classes of queues: what lacks on disk may be moved, or only what lacks on disk and tape, or neither."""
CUTOFFS = ((JOBBROKER, "IO_INTENSITY_CUTOFF"), (JOBBROKER, "SIZE_CUTOFF_TO_MOVE_INPUT"),
           (JOBBROKER, "NUM_CUTOFF_TO_MOVE_INPUT"))


@compiled
def reads_much(ask):
    """Whether a task with input has more ioIntensity than IO_INTENSITY_CUTOFF."""
    return ask["total_bytes"] > 0 and ask["iointensity"] > ask["io_intensity_cutoff"]


@compiled
def bytes_missing(ask, part):
    """Bytes of the input beyond the part that is there, whole ones."""
    return np.rint((1.0 - part) * ask["total_bytes"])


@criterion("-io", panda="selection for data motion", gdpconfig=CUTOFFS, editions=("documented",),
           source="PanDA brokerage documentation, production job brokerage, step 2")
@compiled
def too_much_to_move(ask, queue, load, link, store, n):
    """Refuse queues that lack a cutoff or more of the input, in size or number, disk and tape together (D18, D28)."""
    missing_mb = bytes_missing(ask, n["any_bytes"]) / MB
    many = missing_mb >= ask["size_cutoff_mb"] or files_missing(ask, n["any_files"]) >= ask["num_cutoff"]
    return reads_much(ask) and many, missing_mb, ask["size_cutoff_mb"]


@compiled
def choice_is_open(ask):
    """Whether the code looks at data motion at all; source: brokerage reference, 2.7."""
    return reads_much(ask) and not (ask["single"] or ask["is_merging"] or ask["event_service"])


@criterion("-io", panda="selection for data motion", gdpconfig=CUTOFFS, editions=("deployed",), choice=True,
           source="brokerage reference, 2.7 (D18, D28)")
@compiled
def io_class(ask, queue, load, link, store, n):
    """Class of a candidate by what its input lacks; the best class that there is is used, and no class if none passes.

    0: neither cutoff is exceeded by what is not on disk; 1: not by what is on neither disk nor tape; 2: exceeded.
    """
    if not choice_is_open(ask):
        return DISK_CLASS
    disk_mb = np.floor(bytes_missing(ask, n["disk_bytes"]) / MIB)
    any_mb = np.floor(bytes_missing(ask, n["any_bytes"]) / MIB)
    disk_files, any_files = files_missing(ask, n["disk_files"]), files_missing(ask, n["any_files"])
    if min(disk_mb, any_mb) > ask["size_cutoff_mb"] or min(disk_files, any_files) > ask["num_cutoff"]:
        return REFUSED
    return TAPE_CLASS if disk_mb > ask["size_cutoff_mb"] or disk_files > ask["num_cutoff"] else DISK_CLASS


@criterion("-max_io_intensity", panda="selection for IO intensity", source="brokerage reference, 2.3 P23 (D23)",
           editions=("deployed",))
@compiled
def too_intense(ask, queue, load, link, store, n):
    """Refuse queues whose max_io_intensity is below the task's ioIntensity, but for merging."""
    intensity, limit = ask["iointensity"], queue["max_io_intensity"]
    return intensity > limit and not ask["is_merging"], intensity, limit


@criterion("-non_local", panda="use_only_local_data", source="brokerage reference, 10.3 rule 2", editions=("deployed",))
@compiled
def not_local(ask, queue, load, link, store, n):
    """Refuse queues that use local data only where some of the input is not on their disk."""
    return queue["use_only_local_data"] and not input_is_local(ask, n), n["disk_bytes"], 1.0
