"""The list that production job brokerage begins with, and what a queue is for: capability, status, cores, software.

The list is all queues, or those to which a task is pre-assigned. Tags: brokerage reference, sections 2.1 and 2.3.
Software is checked once per distinct description.
"""

from collections.abc import Callable
from dataclasses import replace
from math import isinf, nan
from typing import Any, NamedTuple

import numpy as np

from simgrid_broker.editions import ByEdition
from simgrid_broker.names import ANALYSIS_LABELS, ANY_CORES, PRODUCTION_LABELS, VERY_HIGH_PRIORITY, QueueStatus
from simgrid_broker.policy.brokerage.production import question
from simgrid_broker.policy.brokerage.production.question import JobCase
from simgrid_broker.policy.funnel import ONE
from simgrid_broker.policy.queues import TASK_FIELDS, has_zero_share
from simgrid_broker.policy.rule import JOB_BROKERAGE, Answer, above, criterion, factor
from simgrid_broker.policy.software.check import NO_CACHE, NO_PLATFORM, answer, need_of, preference
from simgrid_broker.units import DAY, HOUR
from simgrid_broker.views import Premerge, Queues, Task, same_type

NAMED = ("preassigned", "premerge")
"""Fields of a task that name queues."""
LAPSE_S = DAY
"""Time for which merge jobs are kept at their files; source: step 1; brokerage reference, 2.1."""
STUCK_S = 6 * HOUR
"""In the deployed edition they must also have been stuck this long; source: brokerage reference, 2.1 (D17)."""


class Terms(NamedTuple):
    """Terms in which the editions of these rules differ.

    statuses: of queues that get jobs (D19); lapsed: test for merge jobs that may leave the queue that holds their files
    (D17); spares_single: criteria beyond the status do not concern the single queue that a task names; spares_tests:
    zero shares do not concern work of tests; needs_nucleus: an attempt for a task without a known nucleus ends at once.
    """

    statuses: tuple[QueueStatus, ...]
    lapsed: Callable[[Premerge], bool]
    spares_single: bool
    spares_tests: bool
    needs_nucleus: bool


TERMS = ByEdition(
    Terms((QueueStatus.ONLINE,), lambda premerge: premerge.stuck_s >= LAPSE_S, False, False, False),
    Terms((QueueStatus.ONLINE, QueueStatus.STANDBY),
          lambda premerge: premerge.input_idle_s > LAPSE_S and premerge.stuck_s > STUCK_S, True, True, True))
"""The documentation spares pre-assigned queues from the status (step 2), and from nothing else."""


def has_unknown_nucleus(task: Task, queues: Queues, edition: str) -> bool:
    """True if an attempt ends before any candidate is looked at, since the nucleus of the task is unknown or missing.

    PanDA knows the sites of queues for production, satellites too. Tasks of labels that task brokerage does not serve
    have no nucleus. Source: brokerage reference, 0.2 and 1.2 (T1); AtlasProdJobBroker.doBrokerage.
    """
    return (TERMS[edition].needs_nucleus and task.prodsourcelabel in PRODUCTION_LABELS
            and task.nucleus not in queues.site[queues.production])


class InitialList(NamedTuple):
    """The initial list, (n,) bool, and PanDA's flags: one pseudo-queue is pre-assigned, or several are."""

    mask: np.ndarray
    single: bool
    listed: bool

    @property
    def preassigned(self) -> bool:
        """True if the list is not simply all queues."""
        return self.single or self.listed


def initial_list(task: Task, queues: Queues, edition: str) -> InitialList:
    """The candidates of a task before any check.

    In the deployed edition unified queues as a whole stay on the list of a pre-assigned task, beside their
    pseudo-queues. Source: brokerage reference, 2.1.
    """
    all_queues, listed = InitialList(queues.ordinary, False, False), TERMS[edition].spares_single | queues.ordinary
    if task.premerge is not None:
        if TERMS[edition].lapsed(task.premerge):
            return all_queues
        return InitialList(_around(task.premerge.queue, queues) & listed, False, True)
    if not task.preassigned:
        return all_queues
    named = is_preassigned(task, queues) & listed
    return InitialList(named, is_single(task, queues), bool(np.count_nonzero(named) > 1))


def is_single(task: Task, queues: Queues) -> bool:
    """True if a task names one queue that has one candidate: PanDA's flag SINGLE."""
    return (task.premerge is None and len(task.preassigned) > 0
            and np.count_nonzero(is_preassigned(task, queues)) == 1)


def is_preassigned(task: Task, queues: Queues) -> np.ndarray:
    """Candidates of PanDA queues that the task names, (n,) bool; most tasks that name any name one."""
    if len(task.preassigned) == 1:
        return queues.queue == task.preassigned[0]
    return np.isin(queues.queue, task.preassigned) if task.preassigned else np.zeros(len(queues.queue), bool)


def is_spared(case: JobCase) -> bool:
    """True if criteria beyond the status spare the single queue that a task names."""
    return TERMS[case.edition].spares_single and is_single(case.task, case.queues)


def is_named(task: Task, queues: Queues) -> np.ndarray:
    """Candidates of PanDA queues that the task or its merge jobs name, (n,) bool."""
    if task.premerge is not None:
        return queues.queue == task.premerge.queue
    return is_preassigned(task, queues)


def for_hint(task: Task) -> Task:
    """The task as the job brokerage sees it for a hint: the queues are given, none is pre-assigned."""
    if not (task.preassigned or task.premerge):
        return task
    return replace(task, preassigned=(), premerge=None)


@criterion("-preassign", says="{text}", text=question.who_names_queues,
           applies=lambda case: not initial_list(case.task, case.queues, case.edition).mask.all(),
           panda="list of preliminary candidates", static=NAMED,
           source=f"{JOB_BROKERAGE}, step 1; brokerage reference, 2.1 (D17)")
def not_preassigned(case: JobCase) -> np.ndarray:
    """Refuse queues that are not on the list of a task; PanDA lists none of them and so logs none.

    Unified queues as a whole are on the lists of pre-assigned tasks alone. In the deployed edition merge jobs stay at
    their files for longer.
    """
    return ~initial_list(case.task, case.queues, case.edition).mask


def _around(queue: int, queues: Queues) -> np.ndarray:
    """A PanDA queue, and the online ones for production that read from the storage that takes its output, (n,) bool.

    These have the type of that queue, or are unified.
    """
    own = queues.queue == queue
    if not own.any():
        return own
    output = int(queues.storage[np.argmax(own)])
    reads = (queues.storage == output if queues.reads is None
             else np.array([output in used for used in queues.reads], bool))
    alike = same_type(int(np.argmax(own)), queues.production, queues.analysis)
    return own | (reads & (output >= 0) & alike & queues.production & (queues.status == QueueStatus.ONLINE))


# ---- use and status of a queue ---------------------------------------------------------------------------------------

NAME_OF_TEST_QUEUES = "test"
TEST_SHARES = ("test", "validation")
"""Work queues, hence shares, exempt from zero shares in the deployed edition; source: brokerage reference, 2.3 P7."""


@criterion("-capability", says="{text}", text=question.capability, panda="list of preliminary candidates",
           static=(*NAMED, "prodsourcelabel"), source=f"{JOB_BROKERAGE}, step 1; brokerage reference, 2.1")
def of_the_other_kind(case: JobCase) -> np.ndarray:
    """Refuse queues for analysis only to production, and the reverse, unless the task names them; PanDA logs none."""
    queues = case.queues
    fits = queues.analysis if case.task.prodsourcelabel in ANALYSIS_LABELS else queues.production
    return ~(fits | is_named(case.task, queues))


def is_open(case: JobCase) -> bool:
    """True if a task is not pre-assigned, so that names and statuses of queues count."""
    return not initial_list(case.task, case.queues, case.edition).preassigned


@criterion("-testqueue", says="named a test queue", applies=is_open, panda="list of preliminary candidates",
           editions=("documented",), static=NAMED, source=f"{JOB_BROKERAGE}, step 1 (D16)")
def named_test(case: JobCase) -> np.ndarray:
    """Refuse queues with `test` in the name, whatever the case, unless the task is pre-assigned; PanDA logs none."""
    return case.queues.has_in_name(NAME_OF_TEST_QUEUES)


@criterion("-status", says="{text}", text=question.status, applies=is_open, panda="selection for status",
           stage="status check", static=NAMED, source=f"{JOB_BROKERAGE}, step 2; brokerage reference, 2.3 P3 (D19)")
def not_open(case: JobCase) -> np.ndarray:
    """Refuse queues that are not online, or standby in the deployed edition, unless the task is pre-assigned (D19)."""
    return np.logical_and.reduce([case.queues.status != status for status in TERMS[case.edition].statuses])


def asks_policies(case: JobCase) -> bool:
    """True if the policies of queues concern a task: not work of tests in the deployed edition."""
    task = case.task
    is_test = TERMS[case.edition].spares_tests and task.gshare in TEST_SHARES
    return not is_test or (task.prodsourcelabel != "managed" and is_single(task, case.queues))


@criterion("-zeroshare", says="sub-policy {text}", text=question.sub_policy, applies=asks_policies,
           panda="selection for zero share", stage="zero share check",
           static=(*NAMED, *TASK_FIELDS, "prodsourcelabel"),
           source="PanDA brokerage documentation, Zero Share; brokerage reference, 2.3 P7 and 6 (D42, D43)")
def zero_share(case: JobCase) -> np.ndarray:
    """Refuse queues whose `fairsharepolicy` gives the task nothing.

    The deployed edition spares work of the shares `test` and `validation` unless it names one queue and is not managed.
    """
    policies, number = case.queues.distinct("fairsharepolicy")
    fields = {name: getattr(case.task, name) for name in TASK_FIELDS}
    return np.array([has_zero_share(policy, edition=case.edition, **fields) for policy in policies], bool)[number]


CORE_FIELDS = (*NAMED, "corecount", "is_merging", "mergecorecount")


@criterion("-cpucore", unit="cores", says="slots of {value}, jobs of {limit}",
           applies=lambda case: not is_spared(case) and asks_for_cores(case),
           panda="selection for CPU core count", stage="core count check",
           static=(*CORE_FIELDS, "currentpriority", "is_scout"),
           source=f"{JOB_BROKERAGE}, core count; brokerage reference, 2.2 and 2.3 P10")
def core_count_mismatch(case: JobCase) -> Answer:
    """Refuse single-core queues to multi-core jobs and the reverse; jobs of any core count may go to both.

    Jobs of any core count that are scouting or of high priority go to multi-core queues only. The deployed
    edition does not ask a single queue that the task names.
    """
    cores, slots = cores_of_job(case), case.queues.corecount
    is_single_core = cores <= 1 and cores != ANY_CORES
    return Answer(slots > 1 if is_single_core else slots <= 1, slots, nan if cores == ANY_CORES else cores)


def asks_for_cores(case: JobCase) -> bool:
    """True if jobs go to single-core queues only, or to multi-core ones only."""
    task = case.task
    return cores_of_job(case) != ANY_CORES or task.is_scout or task.currentpriority >= VERY_HIGH_PRIORITY


@criterion("-max_cpucore", unit="cores", says="slots of {value}, at most {limit:plain}",
           applies=lambda case: not is_spared(case) and not isinf(case.task.maxcorecount),
           panda="selection for CPU core count", stage="core count check",
           static=(*NAMED, "maxcorecount"),
           source=f"{JOB_BROKERAGE}, core count; brokerage reference, 2.3 P10")
def too_many_cores(case: JobCase) -> Answer:
    """Refuse queues with more cores than the task's maxCoreCount.

    The deployed edition does not ask a single queue that the task names.
    """
    return above(case.queues.corecount, case.task.maxcorecount)


def cores_of_job(case: JobCase) -> int:
    """Cores that a job asks for or ANY_CORES: mergeCoreCount of merge jobs if it is set, else coreCount."""
    task = case.task
    return task.mergecorecount if task.is_merging and task.mergecorecount is not None else task.corecount


# ---- software --------------------------------------------------------------------------------------------------------

SOFTWARE_FIELDS = ("architecture", "transhome", "container_name", "only_tags_for_fc")

def needs_software(case: JobCase) -> bool:
    """True if anything is checked."""
    return _need(case) is not None


BOTH: Any = {"applies": needs_software, "panda": "selection for release", "stage": "SW/HW check",
             "static": SOFTWARE_FIELDS,
             "source": "PanDA brokerage documentation, release/cache availability check; brokerage reference, 5"}


@criterion(NO_CACHE, says="it does not have {text}", text=question.software, **BOTH)
def software_missing(case: JobCase) -> np.ndarray:
    """Refuse queues without the release, container, CPU or GPU that the task asks for; those with ANY pass (D37).

    The deployed edition checks tasks with a transHome only (D38 to D41).
    """
    return _answered(case, NO_CACHE)


@criterion(NO_PLATFORM, says="it has no platform for {text}", text=question.platform, **BOTH)
def platform_missing(case: JobCase) -> np.ndarray:
    """Refuse queues that have no platform for the regular expression of the task."""
    return _answered(case, NO_PLATFORM)


@factor("CPU preference", panda="weight", editions=("deployed",), static=SOFTWARE_FIELDS,
        source="brokerage reference, 5.2 and 10.1")
def cpu_preference(case: JobCase) -> np.ndarray | float:
    """1 + the fraction of worker nodes with the CPU level that the task prefers; 1 where it is unknown."""
    known = preferences(case)
    return ONE if known is None else np.where(np.isnan(known), 1.0, known)


def preferences(case: JobCase) -> np.ndarray | None:
    """CPU preference of each candidate, (n,), NaN where the check does not get there; None if the task has none."""
    need = _need(case)
    if need is None or not need.architecture.preferred_level:
        return None
    distinct, number = case.queues.distinct_software
    return np.array([preference(software, need, case.edition) for software in distinct], float)[number]


def _answered(case: JobCase, tag: str) -> np.ndarray:
    """Candidates for which the check gives `tag`, (n,) bool."""
    need = _need(case)
    distinct, number = case.queues.distinct_software
    tags = [answer(software, need, case.queues.software_of_all, case.edition) for software in distinct]
    return np.array([each == tag for each in tags], bool)[number]


def _need(case: JobCase):
    """Software that the task needs, None if nothing is checked."""
    return need_of(*(getattr(case.task, name) for name in SOFTWARE_FIELDS), case.edition)
