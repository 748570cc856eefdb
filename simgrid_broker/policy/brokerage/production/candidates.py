"""What a queue is for: capability, name, status, zero share, cores; tags: brokerage reference, sections 2.1 and 2.3."""

from math import isinf, nan

import numpy as np

from simgrid_broker.names import ANALYSIS_LABELS, ANY_CORES, VERY_HIGH_PRIORITY, QueueStatus
from simgrid_broker.policy.brokerage.production import named_values
from simgrid_broker.policy.brokerage.production.preliminary import NAMED, initial_list, is_named, is_single, is_spared
from simgrid_broker.policy.brokerage.production.question import JobCase
from simgrid_broker.policy.queues.zero_share import TASK_FIELDS, has_zero_share
from simgrid_broker.policy.rule import JOB_BROKERAGE, Answer, above, criterion

NAME_OF_TEST_QUEUES = "test"
TEST_SHARES = ("test", "validation")
"""Work queues, hence shares, exempt from zero shares in the deployed edition; source: brokerage reference, 2.3 P7."""
OPEN = {"documented": (QueueStatus.ONLINE,), "deployed": (QueueStatus.ONLINE, QueueStatus.STANDBY)}
"""Statuses of queues that get jobs, by edition (D19)."""


@criterion("-capability", says="{text}", text=named_values.capability, panda="list of preliminary candidates",
           static=(*NAMED, "prodsourcelabel"), source=f"{JOB_BROKERAGE}, step 1; brokerage reference, 2.1")
def of_the_other_kind(case: JobCase) -> np.ndarray:
    """Refuse queues for analysis only to production, and the reverse, unless the task names them; PanDA logs none."""
    queues = case.queues
    fits = queues.analysis if case.task.prodsourcelabel in ANALYSIS_LABELS else queues.production
    return ~(fits | is_named(case.task, queues))


def is_open(case: JobCase) -> bool:
    """Whether a task is not pre-assigned, so that names and statuses of queues count."""
    return not initial_list(case.task, case.queues, case.edition).preassigned


@criterion("-testqueue", says="named a test queue", applies=is_open, panda="list of preliminary candidates",
           editions=("documented",), static=NAMED, source=f"{JOB_BROKERAGE}, step 1 (D16)")
def named_test(case: JobCase) -> np.ndarray:
    """Refuse queues with `test` in the name, whatever the case, unless the task is pre-assigned; PanDA logs none."""
    if not is_open(case):
        return np.zeros(case.n_candidates, bool)
    return case.queues.has_in_name(NAME_OF_TEST_QUEUES)


@criterion("-status", says="{text}", text=named_values.status, applies=is_open, panda="selection for status",
           stage="status check", static=NAMED, source=f"{JOB_BROKERAGE}, step 2; brokerage reference, 2.3 P3 (D19)")
def not_open(case: JobCase) -> np.ndarray:
    """Refuse queues that are not online, or standby in the deployed edition, unless the task is pre-assigned (D19)."""
    if not is_open(case):
        return np.zeros(case.n_candidates, bool)
    return np.logical_and.reduce([case.queues.status != status for status in OPEN[case.edition]])


def asks_policies(case: JobCase) -> bool:
    """Whether the policies of queues concern a task: not work of tests in the deployed edition."""
    task = case.task
    is_test = case.edition == "deployed" and task.gshare in TEST_SHARES
    return not is_test or (task.prodsourcelabel != "managed" and is_single(task, case.queues))


@criterion("-zeroshare", says="sub-policy {text}", text=named_values.sub_policy, applies=asks_policies,
           panda="selection for zero share", stage="zero share check",
           static=(*NAMED, *TASK_FIELDS, "prodsourcelabel"),
           source="PanDA brokerage documentation, Zero Share; brokerage reference, 2.3 P7 and 6 (D42, D43)")
def zero_share(case: JobCase) -> np.ndarray:
    """Refuse queues whose `fairsharepolicy` gives the task nothing.

    The deployed edition spares work of the shares `test` and `validation` unless it names one queue and is not managed.
    """
    if not asks_policies(case):
        return np.zeros(case.n_candidates, bool)
    policies, number = case.queues.distinct("fairsharepolicy")
    fields = {name: getattr(case.task, name) for name in TASK_FIELDS}
    return np.array([has_zero_share(policy, edition=case.edition, **fields) for policy in policies], bool)[number]


CORE_FIELDS = (*NAMED, "corecount", "is_merging", "mergecorecount")


@criterion("-cpucore", unit="cores", says="slots of {value}, jobs of {limit}",
           applies=lambda case: not is_spared(case) and asks_for_cores(case),
           panda="selection for CPU core count", stage="core count check",
           static=(*CORE_FIELDS, "currentpriority", "is_scout"),
           source=f"{JOB_BROKERAGE}, core count; brokerage reference, 2.2 and 2.3 P10")
def core_count_mismatch(case: JobCase) -> Answer | np.ndarray:
    """Refuse single-core queues to multi-core jobs and the reverse; jobs of any core count may go to both.

    Jobs of any core count that are scouting or of high priority go to multi-core queues only. The deployed
    edition does not ask a single queue that the task names.
    """
    if is_spared(case) or not asks_for_cores(case):
        return np.zeros(case.n_candidates, bool)
    cores, slots = cores_of_job(case), case.queues.corecount
    return Answer(slots > 1 if cores == 1 else slots <= 1, slots, nan if cores == ANY_CORES else cores)


def asks_for_cores(case: JobCase) -> bool:
    """Whether jobs go to single-core queues only, or to multi-core ones only."""
    task = case.task
    return cores_of_job(case) != ANY_CORES or task.is_scout or task.currentpriority >= VERY_HIGH_PRIORITY


@criterion("-max_cpucore", unit="cores", says="slots of {value}, at most {limit:plain}",
           applies=lambda case: not is_spared(case) and not isinf(case.task.maxcorecount),
           panda="selection for CPU core count", stage="core count check",
           static=(*NAMED, "maxcorecount"),
           source=f"{JOB_BROKERAGE}, core count; brokerage reference, 2.3 P10")
def too_many_cores(case: JobCase) -> np.ndarray | Answer:
    """Refuse queues with more cores than the task's maxCoreCount.

    The deployed edition does not ask a single queue that the task names.
    """
    if is_spared(case):
        return np.zeros(case.n_candidates, bool)
    return above(case.queues.corecount, case.task.maxcorecount)


def cores_of_job(case: JobCase) -> int:
    """Cores that a job asks for or ANY_CORES: mergeCoreCount of merge jobs if it is set, else coreCount."""
    task = case.task
    return task.mergecorecount if task.is_merging and task.mergecorecount is not None else task.corecount
