"""Criteria about what a queue is for: its capability, its name, its status, its zero share and its cores.

What lives here: the criteria of production job brokerage that need no estimate. What does not: estimates against limits
(`requirements`), and anything that looks at job numbers (`load`).

Source of the order and of the tags: brokerage reference, sections 2.1 and 2.3.
"""

import numpy as np

from simgrid_broker.names import ANALYSIS_LABELS, QueueStatus
from simgrid_broker.policy.job_brokerage.case import JobCase
from simgrid_broker.policy.rule import criterion
from simgrid_broker.policy.zero_share import has_zero_share

HIGH_PRIORITY = 900
"""From this priority a task of any core count goes to multi-core queues; source: brokerage reference, section 2.2."""
NAME_OF_TEST_QUEUES = "test"


@criterion("-capability", panda="list of preliminary candidates", static=("prodsourcelabel",),
           source="PanDA brokerage documentation, production job brokerage, step 1; brokerage reference, 2.1")
def of_the_other_kind(case: JobCase) -> np.ndarray:
    """Refuse queues for analysis only to production work, and the reverse; PanDA lists none and so logs none."""
    return ~(case.queues.analysis if case.task.prodsourcelabel in ANALYSIS_LABELS else case.queues.production)


@criterion("-testqueue", panda="list of preliminary candidates", editions=("documented",), static=(),
           source="PanDA brokerage documentation, production job brokerage, step 1 (D16)")
def named_test(case: JobCase) -> np.ndarray:
    """Refuse queues with `test` in the name, whatever the case; PanDA does not list them, so it logs none."""
    return np.array([NAME_OF_TEST_QUEUES in name.lower() for name in case.queues.names], bool)


@criterion("-status", panda="selection for status", editions=("documented",), static=(),
           source="PanDA brokerage documentation, production job brokerage, step 2 (D19)")
def not_online(case: JobCase) -> np.ndarray:
    """Refuse queues that are not online."""
    return case.queues.status != QueueStatus.ONLINE


@criterion("-status", panda="selection for status", editions=("deployed",), static=(),
           source="brokerage reference, 2.3 P3 (D19)")
def neither_online_nor_standby(case: JobCase) -> np.ndarray:
    """Refuse queues that are neither online nor standby."""
    status = case.queues.status
    return (status != QueueStatus.ONLINE) & (status != QueueStatus.STANDBY)


ZERO_SHARE_FIELDS = ("processingtype", "workinggroup", "gshare", "currentpriority", "is_merging")


@criterion("-zeroshare", panda="selection for zero share", editions=("documented",), static=ZERO_SHARE_FIELDS,
           source="PanDA brokerage documentation, Zero Share; brokerage reference, 6 (D42, D43)")
def zero_share(case: JobCase) -> np.ndarray:
    """Refuse queues whose `fairsharepolicy` gives the task nothing."""
    return _zero_share(case, "documented")


@criterion("-zeroshare", panda="selection for zero share", editions=("deployed",), static=ZERO_SHARE_FIELDS,
           source="brokerage reference, 6 (D42, D43)")
def zero_share_deployed(case: JobCase) -> np.ndarray:
    """Refuse queues whose `fairsharepolicy` gives the task nothing, as the code reads it."""
    return _zero_share(case, "deployed")


@criterion("-cpucore", panda="selection for CPU core count", static=("corecount", "currentpriority", "is_scout"),
           source="brokerage reference, 2.2 and 2.3 P10")
def core_count_mismatch(case: JobCase) -> np.ndarray:
    """Refuse single-core queues to multi-core tasks and the reverse; a task of any core count may go to both.

    Tasks of any core count that are scouting or of high priority go to multi-core queues only.
    """
    task, multi_core = case.task, case.queues.corecount > 1
    if task.corecount > 1 or (task.corecount == 0 and (task.is_scout or task.currentpriority >= HIGH_PRIORITY)):
        return ~multi_core
    return multi_core if task.corecount == 1 else np.zeros(case.n_candidates, bool)


@criterion("-max_cpucore", panda="selection for CPU core count", static=("maxcorecount",),
           source="PanDA brokerage documentation, production job brokerage, core count; brokerage reference, 2.3 P10")
def too_many_cores(case: JobCase) -> np.ndarray:
    """Refuse queues with more cores than the task's maxCoreCount."""
    if not case.task.maxcorecount:
        return np.zeros(case.n_candidates, bool)
    return case.queues.corecount > case.task.maxcorecount


def _zero_share(case: JobCase, edition: str) -> np.ndarray:
    policies, task = case.queues.fairsharepolicy, case.task
    zero = {policy: has_zero_share(policy, edition=edition, **{name: getattr(task, name) for name in ZERO_SHARE_FIELDS})
            for policy in dict.fromkeys(policies)}
    return np.array([zero[policy] for policy in policies], bool)
