"""Criteria about the nucleus itself: its state, its backlog, its storage.

What lives here: the criteria that do not look at the input of the task. What does not: data locality (`locality`).

Source of the order and of the tags: brokerage reference, section 1.2.
"""

import numpy as np

from simgrid_broker.policy.rule import Answer, above, at_least, at_most, below, criterion
from simgrid_broker.policy.task_brokerage.case import TASKBROKERAGE, TaskCase, demand_gb, left_gib
from simgrid_broker.units import GB, TB

SOURCE = "PanDA brokerage documentation, production task brokerage, step 2; brokerage reference, 1.2"
GB_PER_TB = 1024
"""In the deployed edition; source: brokerage reference, T5c and section 1.4."""
SPACE_KEYS = ((TASKBROKERAGE, "DISK_THRESHOLD_<gshare>"), (TASKBROKERAGE, "DISK_THRESHOLD"))


@criterion("-status", panda="selection for status", source=SOURCE + " (D3)", editions=("documented",))
def not_active(case: TaskCase) -> np.ndarray:
    """Refuse nuclei that are not ACTIVE."""
    return ~case.nuclei.active


@criterion("-status", panda="selection for status", source="brokerage reference, 0.2 and T3 (D3)",
           editions=("deployed",))
def active_by_construction(case: TaskCase) -> np.ndarray:
    """Refuse nobody: the code asks for the state, but every nucleus is loaded as ACTIVE."""
    return np.zeros(case.n_candidates, bool)


@criterion("-transfer_backlog", panda="selection for transfer backlog", editions=("documented",),
           source="PanDA brokerage documentation, production task brokerage, step 2; JEDI TWiki, task brokerage (D8)",
           gdpconfig=((TASKBROKERAGE, "NQUEUED_NUC_CAP"),))
def transfer_backlog(case: TaskCase) -> Answer:
    """Refuse nuclei whose queued output files are not below NQUEUED_NUC_CAP, unless t1Weight is negative."""
    return at_least(case.nuclei.queued_output_files, case.value("NQUEUED_NUC_CAP"), case.task.t1weight >= 0)


@criterion("-transfer_backlog", panda="selection for transfer backlog", editions=("deployed",),
           source="brokerage reference, T4 (D8)", gdpconfig=((TASKBROKERAGE, "NQUEUED_NUC_CAP"),))
def transfer_backlog_deployed(case: TaskCase) -> Answer:
    """Refuse nuclei with more queued output files than NQUEUED_NUC_CAP, unless t1Weight is negative."""
    return above(case.nuclei.queued_output_files, case.value("NQUEUED_NUC_CAP"), case.task.t1weight >= 0)


@criterion("-match", panda="selection for endpoint", source=SOURCE)
def no_storage(case: TaskCase) -> np.ndarray:
    """Refuse nuclei without a storage for output."""
    return ~case.nuclei.has_storage


@criterion("-source_blacklist", panda="selection for source blacklist", source=SOURCE)
def unreadable(case: TaskCase) -> np.ndarray:
    """Refuse nuclei whose storage cannot send files over WAN."""
    return ~case.nuclei.read_wan


@criterion("-destination_blacklist", panda="selection for destination blacklist", source=SOURCE)
def unwritable(case: TaskCase) -> np.ndarray:
    """Refuse nuclei whose storage cannot receive files over WAN."""
    return ~case.nuclei.write_wan


@criterion("-space", panda="selection for space", source=SOURCE, gdpconfig=SPACE_KEYS, editions=("documented",))
def too_little_space(case: TaskCase) -> Answer:
    """Refuse nuclei where spaceFree + spaceExpired - normalizedExpOutSize x RW is not above the threshold (D1, D7)."""
    nuclei = case.nuclei
    left = nuclei.free_bytes + nuclei.expired_bytes - demand_gb(nuclei) * GB
    return at_most(left, _threshold_tb(case) * TB)


@criterion("-space", panda="selection for space", source="brokerage reference, T5c (D1, D7)", gdpconfig=SPACE_KEYS,
           editions=("deployed",))
def too_little_space_deployed(case: TaskCase) -> Answer:
    """Refuse nuclei whose usable space less the projected demand is below the threshold, in the code's GB."""
    return below(left_gib(case.nuclei), GB_PER_TB * _threshold_tb(case))


@criterion("-job", panda="check for ability to run jobs",
           source="JEDI TWiki, task brokerage; brokerage reference, T6 (D6)")
def cannot_run(case: TaskCase) -> np.ndarray:
    """Refuse nuclei without a queue that the job brokerage would use; it is asked about those that are left."""
    nuclei = case.nuclei
    return np.zeros(case.n_candidates, bool) if nuclei.can_run is None else ~nuclei.can_run(case.left)


@criterion("-preassign", panda="pre-assigned nucleus", source="brokerage reference, T1")
def not_preassigned(case: TaskCase) -> np.ndarray:
    """Refuse every nucleus but the one that the task names."""
    return case.nuclei.site != case.task.nucleus


def _threshold_tb(case: TaskCase) -> float:
    return case.cfg.family(TASKBROKERAGE, "DISK_THRESHOLD", case.task.gshare)
