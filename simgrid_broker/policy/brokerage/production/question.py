"""The question to job brokerage: the case of static rules, the records of compiled ones, how they are filled, and
the words that stand in a refusal instead of a figure: statuses, sub-policies, software, units that depend on the
task."""

from dataclasses import dataclass
from operator import attrgetter
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from simgrid_broker.bundle import Bundle
from simgrid_broker.compiled import compiled
from simgrid_broker.editions import ByEdition
from simgrid_broker.gdpconfig import core, jobbroker
from simgrid_broker.names import ANALYSIS_LABELS, EXPRESS_PRIORITY, EXPRESS_TYPE, QueueStatus
from simgrid_broker.policy.brokerage.production import estimates
from simgrid_broker.policy.jobs.resource_types import PER_CORE_UNITS
from simgrid_broker.policy.queues import TASK_FIELDS as POLICY_FIELDS
from simgrid_broker.policy.queues import first_match
from simgrid_broker.policy.software.architecture import parse_architecture
from simgrid_broker.views import TASK_FIELDS, Gdpconfig, Queues, Task

STAY = -1
"""t1Weight with which jobs stay at the nucleus; source: PanDA brokerage documentation, step 2."""
T1_BOOST, T1_BOOST_PRIORITY = 100, 900
"""t1Weight of tasks of high priority is at least this; source: JEDI TWiki, T1 weight; brokerage reference, P5."""
T1_OF_HEAVY_IO, HEAVY_IO = 4, 500
"""t1Weight, where none is given, of tasks whose ioIntensity, kB/s, reaches a limit; source: brokerage reference, P22.

The JEDI TWiki takes the weight from a table of clouds that it does not print.
"""

TERMS: ByEdition[dict[str, Any]] = ByEdition(
    dict(
        deployed=False, express_priority=EXPRESS_PRIORITY["documented"], starting_counts=False, all_output_counts=True,
        pilots_required=True, sharing_counts=False, whole_mb=False, day_is_scaled=False, asks_for_sources=False,
        assigned_offset=0, files_per_weight=300, least_queued_weight=1, weight_above_50=1.7, week_required=False,
        nucleus_has_weight=False, local_only_refuses=False, NW_ACTIVE=True, NW_QUEUE_IMPORTANCE=0.5, mb_per_gb=1000),
    dict(
        deployed=True, express_priority=EXPRESS_PRIORITY["deployed"], starting_counts=True, all_output_counts=False,
        pilots_required=False, sharing_counts=True, whole_mb=True, day_is_scaled=True, asks_for_sources=True,
        assigned_offset=1, least_queued_weight=-np.inf, weight_above_50=1.6, week_required=True,
        nucleus_has_weight=True, local_only_refuses=True, mb_per_gb=1024))
"""Columns of TASK in which rules of both editions differ; an edition may set one of KEYS for good, without its key.

Sources: the D-numbers of the rules; plots queued.png and throughput.png of the JEDI TWiki, network weight (300 files,
1.7 for more than 50 up to 75 MB/s, D45); PanDA brokerage documentation, Network Weight (equal parts of both weights).
"""

KEYS = {entry.prefix: entry for entry in (core.WORK_SHORTAGE, *jobbroker.entries())}
KEYS["files_per_weight"] = jobbroker.NQUEUED_SAT_CAP
"""Keys of gdpconfig by their column of TASK, from which rules about one candidate read them: PanDA's spelling, without
the placeholders of a family. files_per_weight: files that lower the queued weight from 2 to 1 (D44)."""

PLAIN = [*((name, column.seen) for name, column in TASK_FIELDS.items()
           if column.seen != "U" and name != "event_service"),
         ("is_scout", "?"), ("is_merging", "?"), ("nucleus_bare", "i4"), ("n_events_per_job", "f8"),
         ("n_files_per_job", "f8"), ("input_bytes_per_job", "f8"), ("output_bytes_per_job", "f8"),
         ("workdisk_bytes", "f8"), ("primary_mib", "f8"), ("mergeramcount", "f8")]
"""Columns that hold fields of the task unchanged; event service has another meaning here."""

SAID = [
    ("event_service", "?"),          # except job cloning
    ("any_event_service", "?"),
    ("urgent", "?"), ("label_test", "?"),       # the processing type is `urgent`; `test` is in the prodSourceLabel
    ("unit_per_core", "?"), ("reads_lan", "?"), ("counts_hs06", "?"),
    ("says_cputimeunit", "?"), ("says_unit", "?"),                     # the latter of either time
    ("jumbo", "?"),                  # it makes jumbo jobs, and
    ("jumbo_apart", "?"),            # queues for jumbo jobs take no other jobs of the task
]
"""Columns that follow from the words of a task."""

DERIVED = [
    ("express", "?"), ("has_nucleus", "?"),
    ("t1value", "f8"),               # factor of queues at the nucleus
    ("stays_at_nucleus", "?"),       # t1Weight keeps the task there (D72)
    ("ram_mb", "f8"), ("ram_per_core", "?"), ("base_ram_mb", "f8"),    # of a job or a core of it; NaN = unknown
    ("scratch_bytes", "f8"), ("single_core", "?"), ("walltime_is_known", "?"),
    ("usual_work", "f8"), ("least_work", "f8"), ("most_work", "f8"),   # of a job; the last two where events are chosen
    ("wants_a_day", "?"),            # needs queues of 24 h though it does not scout
]
"""Columns that follow from others, as `derive` fills them in."""

TASK = np.dtype([
    *PLAIN, *SAID, *DERIVED,
    ("total_bytes", "f8"), ("total_files", "f8"),
    ("hint", "?"),                   # asked by the task brokerage: can jobs of the task run there at all?
    ("single", "?"), ("listed", "?"),     # PanDA's flags of pre-assigned queues, which the deployed edition spares
    ("incomplete", "?"), ("best_part", "f8"),      # no place has enough of the input; the largest part at one
    ("complete_somewhere", "?"),     # a storage has a complete replica of all input
    ("no_remote_source", "?"),       # no replica with enough of the input is at a storage that sends files
    *((name, "?" if entry.type == "bool" else "f8") for name, entry in KEYS.items()),
    ("nucleus_writable", "?"), ("nucleus_readable", "?"), ("nucleus_queued_files", "f8"),     # of the task's nucleus
    ("some_link_blocked", "?"),      # from any queue to it
    # TERMS, in which the editions differ:
    ("deployed", "?"),               # it is the deployed edition
    ("express_priority", "f8"),      # from which on a task is express (D4)
    ("starting_counts", "?"),        # starting jobs count beside activated or running ones (D20, D55)
    ("all_output_counts", "?"),      # output backlog: of all jobs, and near the nucleus as well
    ("pilots_required", "?"),        # whatever the task and numSlots
    ("sharing_counts", "?"),         # queues that share the nucleus' storage belong to it (D72)
    ("whole_mb", "?"),               # memory is estimated in whole MB (D49)
    ("mb_per_gb", "f8"),             # of SIZE_CUTOFF_TO_MOVE_INPUT; an MB has 1e6 or 1024**2 bytes
    ("day_is_scaled", "?"),          # 24 hours are those of a reference core (D52)
    ("asks_for_sources", "?"),       # replicas of the input are looked for (brokerage reference, 2.5)
    ("assigned_offset", "i4"),       # added to assigned and activated jobs (D56)
    ("least_queued_weight", "f8"),   # of the network weight (D44)
    ("weight_above_50", "f8"), ("week_required", "?"), ("nucleus_has_weight", "?"),    # of it (D45, D47, D46)
    ("local_only_refuses", "?"),     # queues with use_only_local_data take no job whose input is elsewhere
])
"""A task, and the values of gdpconfig that hold for it, as compiled rules see them: one row for each decision."""

NUMBERS = np.dtype([
    ("running", "f8"),               # may be lifted above the real number (bootstrap, numSlots)
    ("assigned", "f8"),              # 0 where the input is local: such jobs do not wait for those that wait for data
    ("ready", "f8"),                 # activated and starting
    ("queued", "f8"),                # defined, assigned and ready
    ("backlog", "f8"), ("cap", "f8"),    # jobs that wait, and the number they must stay below to be given more
    ("disk_bytes", "f8"), ("disk_files", "f8"), ("any_bytes", "f8"), ("any_files", "f8"),    # as `views.Locality`
    ("complete", "?"),               # as there
    ("weight", "f8"),                # made of all the others
])
"""A candidate's job numbers as an edition counts them, its parts of the input, and its weight."""

OWN = Struct("=" + "".join(np.dtype(kind).char for _, kind in PLAIN + SAID).replace("l", "q"))
"""The columns of a row that come from the task; the others from gdpconfig, from these, or from each decision."""
plain_values = attrgetter(*(name for name, _ in PLAIN))


class Candidate(NamedTuple):
    """The arguments of every rule about one candidate: records, so that nothing is copied.

    task: of TASK; queue, load, link, store: of `views.QUEUE`, `LOAD`, `LINK` and `STORE`; numbers: of NUMBERS.
    """

    task: np.void
    queue: np.void
    load: np.void
    link: np.void
    store: np.void
    numbers: np.void


@dataclass(frozen=True)
class JobCase:
    """The case that rules about all candidates see: pseudo-queues and a task, under an edition."""

    task: Task
    queues: Queues
    edition: str

    @property
    def n_candidates(self) -> int:
        """Number of candidates, pseudo-queues."""
        return len(self.queues.queue)


def task_record(task: Task, cfg: Gdpconfig, edition: str) -> np.ndarray:
    """The record of a task under gdpconfig, (1,) of TASK; its input is filled in with every decision."""
    own = OWN.pack(*plain_values(task), *_said(task))
    rest = cfg.once(_of_config, task.prodsourcelabel, task.gshare, edition)
    record = np.frombuffer(bytearray(own + rest), TASK)                 # np.array takes five times as long
    derive(Records(task=record), 0)
    return record


class Records(Bundle):
    """Records of tasks, (n,) of TASK."""

    task: np.ndarray


@compiled
def derive(tables, row):
    """Fill in the columns DERIVED of a record of `tables.task`."""
    task = tables.task[row]
    task["express"], task["has_nucleus"] = is_express(task), task["nucleus"] >= 0
    task["t1value"] = t1_value(task)
    stays = task["t1weight"] < 0 if task["deployed"] else task["t1weight"] == STAY
    task["stays_at_nucleus"] = stays and not task["is_merging"]
    estimates.of_task(task)


@compiled
def is_express(task):
    """True if a task is express: processing type urgent, or priority 1000 or, in the deployed edition, above (D4)."""
    return task["urgent"] or task["currentpriority"] >= task["express_priority"]


@compiled
def t1_value(task):
    """The task's t1Weight as a factor: that given, or one for heavy input and output (D22), raised by priority (D21).

    A negative one restricts queues and is worth 1. The deployed edition raises that of scouts, but not of event
    service.
    Source: JEDI TWiki, T1 weight; brokerage reference, P5 and P22.
    """
    boosted, intensity = task["currentpriority"] >= T1_BOOST_PRIORITY, task["iointensity"]
    if task["deployed"]:
        boosted = not task["event_service"] and (boosted or task["is_scout"])
    heavy = intensity > HEAVY_IO if task["deployed"] else intensity >= HEAVY_IO          # NaN, unknown, is neither
    value = T1_OF_HEAVY_IO if heavy else 1
    if task["t1weight"] != 0:
        value = max(task["t1weight"], 1)
    return max(value, T1_BOOST) if boosted else value


def _said(task: Task) -> tuple[bool, ...]:
    """The columns SAID."""
    unit, jumbo = task.cputimeunit, task.jumbo_events >= 0
    return (task.event_service and not task.job_cloning, task.event_service, task.processingtype == EXPRESS_TYPE,
            "test" in task.prodsourcelabel, task.ramunit in PER_CORE_UNITS, estimates.reads_lan(task),
            estimates.counts_hs06(task), unit != "", bool(task.walltimeunit or unit), jumbo,
            jumbo and not task.jumbo_chunk)


def _of_config(cfg: Gdpconfig, prodsourcelabel: str, gshare: str, edition: str) -> bytes:
    """The columns of a row behind those of the task, of which only gdpconfig and the edition fill in theirs."""
    record = np.zeros(1, TASK)
    config = {name: cfg.value(entry, label=prodsourcelabel, gshare=gshare) for name, entry in KEYS.items()}
    for name, value in (config | TERMS[edition]).items():
        record[name] = value
    return record.tobytes()[OWN.size:]


def who_names_queues(case: JobCase, k: int) -> str:
    """Why a queue is not on the list of a task."""
    if case.task.premerge is not None:
        return "the files to be merged are elsewhere"
    return "the task names other queues" if case.task.preassigned else "its pseudo-queues take the work"


def capability(case: JobCase, k: int) -> str:
    """Kind of work that a queue does not take."""
    return f"not for {'analysis' if case.task.prodsourcelabel in ANALYSIS_LABELS else 'production'}"


def status(case: JobCase, k: int) -> str:
    """Status of a queue."""
    return QueueStatus(int(case.queues.status[k])).word


def sub_policy(case: JobCase, k: int) -> str:
    """The sub-policy of a queue that decides about the task."""
    policy = case.queues.fairsharepolicy[k]
    place = first_match(policy, edition=case.edition, **{name: getattr(case.task, name) for name in POLICY_FIELDS})
    return "" if place is None else f'"{policy.split(",")[place]}"'


def networks(case: JobCase, k: int) -> str:
    """The network that a queue offers, and the one asked for."""
    return f'wnconnectivity "{case.queues.wnconnectivity[k]}", the task asks for "{case.task.ipconnectivity}"'


def software(case: JobCase, k: int) -> str:
    """Release, container and architecture that a task asks for."""
    task = case.task
    return " and ".join(asked for asked in (task.transhome, task.container_name, task.architecture) if asked)


def platform(case: JobCase, k: int) -> str:
    """The platform that a task asks for."""
    return parse_architecture(case.task.architecture, case.edition).sw_platform


def jobs_that_wait(task, queue, load, link, store, numbers) -> str:
    """Jobs at a queue that could have started."""
    number, what = int(load["activated_all"]), "activated"
    if task["starting_counts"]:
        number, what = number + int(load["starting_all"]), "activated or starting"
    return f"{number:,} {what} job{'' if number == 1 else 's'}"


def unit_of_work(task, queue, load, link, store, numbers) -> str:
    """Unit of the work of a job: wall time x cores unless cpuTime is in HS06 s."""
    return "HS06 s" if task["counts_hs06"] else "core s"
