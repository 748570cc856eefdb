"""Criteria about the nucleus itself: its state, its backlog, its storage; tags: brokerage reference, section 1.2."""

import numpy as np

from simgrid_broker.gdpconfig import taskbrokerage
from simgrid_broker.policy.rule import Answer, criterion
from simgrid_broker.policy.task_brokerage.case import TaskCase

SOURCE = "PanDA brokerage documentation, production task brokerage, step 2; brokerage reference, 1.2"


@criterion("-status", panda="selection for status", source=f"{SOURCE}, 0.2 and T3 (D3)")
def not_active(case: TaskCase) -> np.ndarray:
    """Refuse nuclei that are not ACTIVE; the deployed edition loads all as ACTIVE and so refuses none (D3)."""
    return ~case.nuclei.active & (case.edition == "documented")


@criterion("-transfer_backlog", panda="selection for transfer backlog",
           source="PanDA brokerage documentation, production task brokerage, step 2; JEDI TWiki, task brokerage; "
                  "brokerage reference, T4 (D8)")
def transfer_backlog(case: TaskCase) -> Answer:
    """Refuse nuclei whose queued output files are not below NQUEUED_NUC_CAP, unless t1Weight is negative.

    In the deployed edition as many as the cap are accepted (D8).
    """
    files, cap = case.nuclei.queued_output_files, case.cfg.value(taskbrokerage.NQUEUED_NUC_CAP)
    return case.terms.fails_full(files, cap, case.task.t1weight >= 0)


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


@criterion("-space", panda="selection for space", source=f"{SOURCE}, T5c (D1, D7)")
def too_little_space(case: TaskCase) -> Answer:
    """Refuse nuclei where spaceFree + spaceExpired - normalizedExpOutSize x RW is not above the threshold (D1, D7).

    The deployed edition accepts the threshold, counts usable space only, and in whole GiB.
    """
    threshold_tb = case.cfg.value(taskbrokerage.DISK_THRESHOLD_OF_SHARE, gshare=case.task.gshare)
    return case.terms.fails_short(case.terms.space_left(case.nuclei), threshold_tb * case.terms.space_per_tb)


@criterion("-job", panda="check for ability to run jobs",
           source="JEDI TWiki, task brokerage; brokerage reference, T6 (D6)")
def cannot_run(case: TaskCase) -> np.ndarray:
    """Refuse nuclei without a queue that the job brokerage would use; only nuclei that are left are checked."""
    nuclei = case.nuclei
    return np.zeros(case.n_candidates, bool) if nuclei.can_run is None else ~nuclei.can_run(case.left)


@criterion("-preassign", panda="pre-assigned nucleus", source="brokerage reference, T1")
def not_preassigned(case: TaskCase) -> np.ndarray:
    """Refuse every nucleus but the one that the task names."""
    return case.nuclei.site != case.task.nucleus
