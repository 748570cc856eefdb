"""The gate of analysis brokerage: what throttles a task before any queue is looked at.

Each rule refuses all candidates or none, and says why in PanDA's words; the first one that refuses ends the attempt.
"""

from collections.abc import Callable
from math import isnan, nan
from typing import Any

import numpy as np

from simgrid_broker.gdpconfig import GdpconfigKey, analy_eval, prio_mgr
from simgrid_broker.names import USER_ANALYSIS, TaskClass
from simgrid_broker.policy.analysis_brokerage.question import AnalysisCase
from simgrid_broker.policy.rule import Answer, criterion
from simgrid_broker.views import Gdpconfig

STEP_1 = "PanDA brokerage documentation, analysis job brokerage, step 1"
QUEUED_PER_CAP = 2
"""Queued jobs or cores that an owner may have for each running one of the cap; source: step 1."""
MOST_USAGE = {TaskClass.C: 90.0, TaskClass.B: 95.0, TaskClass.A: 100.0}
"""Usage of the share, % of its target, above which tasks of a class are throttled; source: step 1."""
RATIO_IF_UNKNOWN = 0.5
"""Slots of a user at hi sites over USER_USAGE_THRESHOLD_A where none are known; source: brokerage reference, 11.3."""
TINY = 2**-20
STAGE = "task check"
CAPS: Any = {"panda": "caps of the user or working group", "stage": STAGE, "static": (),
             "source": f"{STEP_1}; brokerage reference, 3.1 G1"}
QUOTA: Any = {"panda": "global disk quota", "stage": STAGE, "static": (),
              "source": f"{STEP_1}; brokerage reference, 3.1 G3"}


def spares_merging(case: AnalysisCase) -> bool:
    """Whether a rule that spares merge jobs concerns the jobs."""
    return not case.task.is_merging


def all_or_none(case: AnalysisCase, refused: bool, value: float = nan, limit: float = nan) -> Answer:
    """The answer of a rule of the gate."""
    return Answer(np.full(case.n_candidates, bool(refused)), value, limit)


def capped(case: AnalysisCase, number: str, keys: tuple[GdpconfigKey, GdpconfigKey], factor: int = 1) -> Answer:
    """Refuse all if a number of the user, or of the working group, is above its cap; without a cap nothing is."""
    assert case.cfg is not None and case.user is not None
    cap = case.cfg.value(keys[bool(case.task.workinggroup)])
    value, limit = getattr(case.user.owner, number), float(factor * cap) if cap else nan
    return all_or_none(case, spares_merging(case) and value > limit, value, limit)


def words_of_cap(number: str, what: str, keys: tuple[GdpconfigKey, GdpconfigKey],
                 times: str = "") -> Callable[[AnalysisCase, int], str]:
    """PanDA's words for a cap that is exceeded."""
    def words(case: AnalysisCase, k: int) -> str:
        assert case.user is not None
        key = keys[bool(case.task.workinggroup)]
        return (f"throttle to generate jobs due to too many {what} {getattr(case.user.owner, number):.0f} > "
                f"{times}{key.key}")
    return words


JOBS = prio_mgr.CAP_RUNNING_USER_JOBS, prio_mgr.CAP_RUNNING_GROUP_JOBS
CORES = prio_mgr.CAP_RUNNING_USER_CORES, prio_mgr.CAP_RUNNING_GROUP_CORES


@criterion("-cap_jobs", unit="jobs", says="{text}", applies=spares_merging,
           text=words_of_cap("running_jobs", "running jobs", JOBS), **CAPS)
def too_many_running_jobs(case: AnalysisCase) -> Answer:
    """Throttle tasks whose user or working group has more running jobs than CAP_RUNNING_USER_JOBS or _GROUP_JOBS."""
    return capped(case, "running_jobs", JOBS)


@criterion("-cap_queued_jobs", unit="jobs", says="{text}", applies=spares_merging,
           text=words_of_cap("queued_jobs", "queued jobs", JOBS, "2x"), **CAPS)
def too_many_queued_jobs(case: AnalysisCase) -> Answer:
    """Throttle tasks whose user or working group has more queued jobs than twice the cap of running ones."""
    return capped(case, "queued_jobs", JOBS, QUEUED_PER_CAP)


@criterion("-cap_cores", unit="cores", says="{text}", applies=spares_merging,
           text=words_of_cap("running_cores", "running cores", CORES), **CAPS)
def too_many_running_cores(case: AnalysisCase) -> Answer:
    """Throttle tasks whose user or working group runs on more than CAP_RUNNING_USER_CORES or _GROUP_CORES cores."""
    return capped(case, "running_cores", CORES)


@criterion("-cap_queued_cores", unit="cores", says="{text}", applies=spares_merging,
           text=words_of_cap("queued_cores", "queued cores", CORES, "2x"), **CAPS)
def too_many_queued_cores(case: AnalysisCase) -> Answer:
    """Throttle tasks whose user or working group has more queued cores than twice the cap of running ones."""
    return capped(case, "queued_cores", CORES, QUEUED_PER_CAP)


# ---- share ---------------------------------------------------------------------------------------------------------

def is_user_analysis(case: AnalysisCase) -> bool:
    """Whether the task is in the share whose tasks are throttled by class."""
    return case.task.gshare == USER_ANALYSIS


def words_of_class(case: AnalysisCase, k: int) -> str:
    """PanDA's words for the usage of the share."""
    assert case.user is not None
    number = TaskClass(case.user.task_class or 0)
    most = f"{MOST_USAGE[number]:g}%"
    if number == TaskClass.A:
        most = f"{1 / (slot_ratio(case) + TINY):.3%}"
    return (f"throttle to generate jobs due to gshare {case.task.gshare} > {most} of target and task in class "
            f"{number.name}")


@criterion("-share_throttle", unit="%", says="{text}", text=words_of_class, applies=is_user_analysis, static=(),
           panda="throttle by the usage of the share and the class of the task", stage=STAGE,
           source=f"{STEP_1}; brokerage reference, 3.1 G2 and 11.3 (D67)")
def share_above_target(case: AnalysisCase) -> Answer:
    """Throttle tasks of User Analysis: class C above 90 %, B above 95 % of the share's target, A by the user's slots.

    Tasks of class A are throttled above max(USER_USAGE_THRESHOLD_A / slots at hi sites, 1) x 100 %, in the deployed
    edition by the smaller of the usage and the equivalent one of the level-1 share, and above 200 % where no slots are
    known. Tasks of class S and unclassified ones never are.
    """
    user = case.user
    assert user is not None
    number, used = user.task_class, user.usage
    if case.edition == "deployed" and not isnan(user.equivalent_usage):
        used = min(used, user.equivalent_usage)
    if not is_user_analysis(case) or number not in MOST_USAGE:
        return all_or_none(case, False)
    percent, limit = 100 * used, MOST_USAGE[TaskClass(number)]
    if number == TaskClass.A:
        ratio = slot_ratio(case)
        return all_or_none(case, percent * ratio > limit, percent, limit / ratio if ratio > 0 else nan)
    return all_or_none(case, percent > limit, percent, limit)


def slot_ratio(case: AnalysisCase) -> float:
    """Slots of the user at hi sites over USER_USAGE_THRESHOLD_A, as documented at most 1.

    The deployed edition counts the recorded rest of the threshold, which is never negative there.
    """
    assert case.cfg is not None and case.user is not None
    left = case.user.rem_slots_a
    ratio = RATIO_IF_UNKNOWN if isnan(left) else 1 - left / slots_of_class_a(case.cfg)
    return min(ratio, 1.0) if case.edition == "documented" else ratio


def slots_of_class_a(cfg: Gdpconfig) -> float:
    """Slots of a user at hi sites up to which tasks are of class A: USER_USAGE_THRESHOLD_A."""
    return cfg.value(analy_eval.USER_USAGE_THRESHOLD_A)


# ---- disk quota ------------------------------------------------------------------------------------------------------

def words_over(case: AnalysisCase, k: int) -> str:
    """PanDA's words for a quota that is exceeded."""
    assert case.user is not None
    return f"throttle to generate jobs due to {case.user.quota.message}"


def words_near(case: AnalysisCase, k: int) -> str:
    """PanDA's words for a quota that is nearly exceeded."""
    assert case.user is not None
    return f"throttle to generate only merge jobs due to {case.user.quota.message}"


@criterion("-global_quota", says="{text}", text=words_over, **QUOTA)
def over_quota(case: AnalysisCase) -> Answer:
    """Throttle tasks whose user or working group exceeds the global disk quota."""
    assert case.user is not None
    return all_or_none(case, case.user.quota.over)


@criterion("-near_quota", says="{text}", text=words_near, applies=spares_merging, editions=("deployed",),
           **QUOTA | {"source": "brokerage reference, 3.1 G3"})
def near_quota(case: AnalysisCase) -> Answer:
    """Throttle tasks, but for merge jobs, whose user or working group uses more than 90 % of the global quota."""
    assert case.user is not None
    return all_or_none(case, case.user.quota.near and spares_merging(case))


# ---- input -----------------------------------------------------------------------------------------------------------

@criterion("-incomplete", says="{text}", text=lambda case, k: case.failure, static=(),
           panda="check of input datasets", stage=STAGE, source="brokerage reference, 3.1 G4")
def no_readable_input(case: AnalysisCase) -> Answer:
    """Throttle tasks with a dataset that is complete, or nearly so, at no storage that can be read.

    Distributed datasets need not be, nor do those of tasks that allow incomplete input. The documentation is silent.
    """
    return all_or_none(case, bool(case.failure))
