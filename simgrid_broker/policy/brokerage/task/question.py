"""The question to task brokerage: the record of a task under gdpconfig, and the terms in which its editions differ."""

from collections.abc import Sequence
from operator import attrgetter
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.editions import ByEdition
from simgrid_broker.gdpconfig import taskbrokerage
from simgrid_broker.units import DAY, GB, GIB, TB
from simgrid_broker.views import Gdpconfig, Task

REFERENCE_COREPOWER = 10
"""HS06 per core by which work is turned into core-days; source: JEDI TWiki, task brokerage."""
RW_OFFSET_HS06S = 50
"""Remaining work from which it counts; source: PanDA brokerage documentation, step 3 (D12)."""
OUTPUT_GB_PER_CORE_DAY = 0.25
"""Expected output of a core-day of work; source: PanDA brokerage documentation, normalizedExpOutSize."""

TERMS: ByEdition[dict[str, Any]] = ByEdition(
    dict(gigabyte=GB, bytes_count=True, space_per_tb=TB, all_are_active=False, limit_passes=False, files_decide=False,
         asks_for_a_file=False, lifting_drops_data=False, unknown_reads_much=False, share_counts=False,
         work_below=RW_OFFSET_HS06S),
    dict(gigabyte=GIB, bytes_count=False, space_per_tb=1024, all_are_active=True, limit_passes=True, files_decide=True,
         asks_for_a_file=True, lifting_drops_data=True, unknown_reads_much=True, share_counts=True, work_below=1))
"""Columns of TASK in which rules of both editions differ; source: brokerage reference, section 1 (D7 to D15)."""
IS_CURRENT = ByEdition(False, True)
"""The priority of a task is the current one, else the one as submitted (D10)."""

KEYS = {entry.prefix: entry for entry in taskbrokerage.entries()}
"""Keys of gdpconfig by their column of TASK: PanDA's spelling, without the placeholder of a family."""

PLAIN = {"nucleus": "i8", "parent_nucleus": "i8", "parent_fullchain": "i8", "fullchain": "i8", "t1weight": "f8",
         "iointensity": "f8", "total_input_bytes": "f8", "total_input_files": "f8", "frozen_for_s": "f8",
         "inputprestaging": "?"}
"""Columns that hold fields of the task unchanged."""

TASK = np.dtype([
    *PLAIN.items(),
    ("priority", "f8"),              # as submitted, in the deployed edition the current one (D10)
    ("complete_replica", "?"),       # a complete replica of the input can be read over WAN
    # from here on, the same for all tasks of a share, but for two columns that a decision fills in:
    ("parent_bare", "i8"),           # names.BareNucleus of the parent's nucleus if that is a candidate, else 0
    ("locality_lifted", "?"),        # the check of data locality was lifted
    *((name, "f8") for name in KEYS),
    # TERMS, in which the editions differ:
    ("gigabyte", "f8"),              # bytes of a GB in limits on input
    ("bytes_count", "?"),            # space in bytes, less the projected demand; else usable space in whole GiB (D1)
    ("space_per_tb", "f8"),          # units of that space in a TB of limits (D7)
    ("all_are_active", "?"),         # nuclei are loaded as ACTIVE (D3)
    ("limit_passes", "?"),           # a nucleus that is precisely at a limit passes (D7, D8, D9)
    ("files_decide", "?"),           # whether input has many files is decided by its files, else by its size
    ("asks_for_a_file", "?"),        # the data carousel completes input of which at least one file is there (D11)
    ("lifting_drops_data", "?"),     # with the check of locality, the place of the input leaves the weight (D14)
    ("unknown_reads_much", "?"),     # a task of unknown ioIntensity reads much (D14)
    ("share_counts", "?"),           # remaining work is that of the task's share at its priority or above (D15)
    ("work_below", "f8"),            # remaining work below RW_OFFSET_HS06S counts as this (D12)
])
"""A task, and the values of gdpconfig that hold for it, as compiled rules see them: one row for each decision."""


OWN = Struct("=" + "".join(np.dtype(kind).char for kind in PLAIN.values()).replace("l", "q") + "d?")
"""The columns of a record that differ from task to task."""
pack, plain_values = OWN.pack, attrgetter(*PLAIN)


class Candidate(NamedTuple):
    """The arguments of every rule about one nucleus: records of TASK and of `views.NUCLEUS`."""

    task: np.void
    nucleus: np.void


def task_record(task: Task, complete_replica: bool, cfg: Gdpconfig, edition: str) -> np.ndarray:
    """The record of a task under gdpconfig, (1,) of TASK; complete_replica: as in `views.Nuclei`."""
    is_current = IS_CURRENT[edition] or task.taskpriority is None
    priority = task.currentpriority if is_current else task.taskpriority
    own = pack(*plain_values(task), priority, complete_replica)
    return np.frombuffer(bytearray(own + cfg.once(_of_config, task.gshare, edition)), TASK)


def templates(cfg: Gdpconfig, gshares: Sequence[str], edition: str) -> np.ndarray:
    """Records of the tasks of some shares, (n,) of TASK, in which the columns that differ from task to task are 0."""
    rest = (cfg.once(_of_config, gshare, edition) for gshare in gshares)
    return np.frombuffer(bytearray(b"".join(bytes(OWN.size) + config for config in rest)), TASK)


def _of_config(cfg: Gdpconfig, gshare: str, edition: str) -> bytes:
    """The end of a record, of which only gdpconfig and the edition fill in columns."""
    record, config = np.zeros(1, TASK), {name: cfg.value(entry, gshare=gshare) for name, entry in KEYS.items()}
    for name, value in (config | TERMS[edition]).items():
        record[name] = value
    return record.tobytes()[OWN.size:]


@compiled
def too_many(task, number, cap):
    """True if a number is above a cap; as documented a number at the cap is too many."""
    return number > cap if task["limit_passes"] else number >= cap


@compiled
def too_few(task, number, least):
    """True if a number is below a required one; as documented one that equals it is too few."""
    return number < least if task["limit_passes"] else number <= least


@compiled
def demand_gb(nucleus):
    """Expected output of the work assigned to a nucleus, GB: RW / 10 / day x 0.25."""
    return nucleus["remaining_work_hs06s"] / REFERENCE_COREPOWER / DAY * OUTPUT_GB_PER_CORE_DAY


@compiled
def whole_gib(size):
    """Bytes as whole GiB, the way PanDA keeps the space of an endpoint."""
    return np.floor(size / GIB)


@compiled
def usable_gib(nucleus):
    """Space that may be used, GiB: free + expired - what must stay free - what is promised, each in whole GiB.

    Source: brokerage reference, 0.2 (D1); formats reference, section 2.3 (whole GB).
    """
    return (whole_gib(nucleus["free_bytes"]) + whole_gib(nucleus["expired_bytes"])
            - whole_gib(nucleus["min_free_bytes"]) - whole_gib(nucleus["unavailable_bytes"]))


@compiled
def left_gib(nucleus):
    """Usable space less the projected demand, GiB; source: brokerage reference, T5c and 1.4."""
    return usable_gib(nucleus) - np.trunc(demand_gb(nucleus))


@compiled
def left_bytes(nucleus):
    """spaceFree + spaceExpired - normalizedExpOutSize x RW, bytes; source: step 2."""
    return nucleus["free_bytes"] + nucleus["expired_bytes"] - demand_gb(nucleus) * GB
