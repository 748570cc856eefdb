"""The gate of analysis brokerage: what throttles a task before any queue is looked at.

Each rule refuses all candidates or none, and says why in PanDA's words; the first one that refuses ends the attempt.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from simgrid_broker.compiled import compiled, uncompiled
from simgrid_broker.editions import ByEdition
from simgrid_broker.gdpconfig import analy_eval
from simgrid_broker.names import TaskClass
from simgrid_broker.policy.brokerage.analysis.question import AnalysisCase
from simgrid_broker.policy.rule import attempt_criterion
from simgrid_broker.views import Gdpconfig

STEP_1 = "PanDA brokerage documentation, analysis job brokerage, step 1"
QUEUED_PER_CAP = 2
"""Queued jobs or cores that an owner may have for each running one of the cap; source: step 1."""
CLASS_A, CLASS_B, CLASS_C = map(int, (TaskClass.A, TaskClass.B, TaskClass.C))
MOST_OF_A, MOST_OF_B, MOST_OF_C = 100.0, 95.0, 90.0
"""Usage of the share, % of its target, above which tasks of a class are throttled; source: step 1."""
MAY_EXCEED = ByEdition(False, True)
"""The slots of a user may count as more than USER_USAGE_THRESHOLD_A."""
RATIO_IF_UNKNOWN = 0.5
"""Slots of a user at hi sites over USER_USAGE_THRESHOLD_A where none are known; source: brokerage reference, 11.3."""
TINY = 2**-20
STAGE = "task check"
CAPS: Any = {"panda": "caps of the user or working group", "stage": STAGE,
             "source": f"{STEP_1}; brokerage reference, 3.1 G1"}
QUOTA: Any = {"panda": "global disk quota", "stage": STAGE,
              "source": f"{STEP_1}; brokerage reference, 3.1 G3"}


def spares_merging(task):
    """True if a rule that spares merge jobs concerns the jobs."""
    return not task["is_merging"]


@compiled
def capped(task, number, of_user, of_group, factor):
    """Refuse all if a number of the user, or of the working group, is above its cap; without a cap nothing is."""
    cap = of_group if task["of_group"] else of_user
    limit = factor * cap if cap != 0 else np.nan
    return number > limit and not task["is_merging"], number, limit


def words_of_cap(number: str, what: str, counted: str, times: str = "") -> Callable[[AnalysisCase, int], str]:
    """PanDA's words for a cap that is exceeded; counted: JOBS or CORES."""
    def words(case: AnalysisCase, k: int) -> str:
        assert case.user is not None
        key = f"CAP_RUNNING_{'GROUP' if case.task.workinggroup else 'USER'}_{counted}"
        return (f"throttle to generate jobs due to too many {what} {getattr(case.user.owner, number):.0f} > "
                f"{times}{key}")
    return words


@attempt_criterion("-cap_jobs", unit="jobs", says="{text}", applies=spares_merging,
                   text=words_of_cap("running_jobs", "running jobs", "JOBS"), **CAPS)
def too_many_running_jobs(task, user):
    """Throttle tasks whose user or working group has more running jobs than CAP_RUNNING_USER_JOBS or _GROUP_JOBS."""
    return capped(task, user["running_jobs"], task["CAP_RUNNING_USER_JOBS"], task["CAP_RUNNING_GROUP_JOBS"], 1)


@attempt_criterion("-cap_queued_jobs", unit="jobs", says="{text}", applies=spares_merging,
                   text=words_of_cap("queued_jobs", "queued jobs", "JOBS", "2x"), **CAPS)
def too_many_queued_jobs(task, user):
    """Throttle tasks whose user or working group has more queued jobs than twice the cap of running ones."""
    return capped(task, user["queued_jobs"], task["CAP_RUNNING_USER_JOBS"], task["CAP_RUNNING_GROUP_JOBS"],
                  QUEUED_PER_CAP)


@attempt_criterion("-cap_cores", unit="cores", says="{text}", applies=spares_merging,
                   text=words_of_cap("running_cores", "running cores", "CORES"), **CAPS)
def too_many_running_cores(task, user):
    """Throttle tasks whose user or working group runs on more than CAP_RUNNING_USER_CORES or _GROUP_CORES cores."""
    return capped(task, user["running_cores"], task["CAP_RUNNING_USER_CORES"], task["CAP_RUNNING_GROUP_CORES"],
                  1)


@attempt_criterion("-cap_queued_cores", unit="cores", says="{text}", applies=spares_merging,
                   text=words_of_cap("queued_cores", "queued cores", "CORES", "2x"), **CAPS)
def too_many_queued_cores(task, user):
    """Throttle tasks whose user or working group has more queued cores than twice the cap of running ones."""
    return capped(task, user["queued_cores"], task["CAP_RUNNING_USER_CORES"], task["CAP_RUNNING_GROUP_CORES"],
                  QUEUED_PER_CAP)


# ---- share ---------------------------------------------------------------------------------------------------------

def is_user_analysis(task):
    """True if the task is in the share whose tasks are throttled by class."""
    return task["user_analysis"]


def words_of_class(case: AnalysisCase, k: int) -> str:
    """PanDA's words for the usage of the share."""
    assert case.user is not None and case.cfg is not None
    number = TaskClass(case.user.task_class or 0)
    most = f"{uncompiled(usage_allowed)(number):g}%"
    if number == TaskClass.A:
        ratio = uncompiled(slot_ratio)(case.user.rem_slots_a, slots_of_class_a(case.cfg), MAY_EXCEED[case.edition])
        most = f"{1 / (ratio + TINY):.3%}"
    return (f"throttle to generate jobs due to gshare {case.task.gshare} > {most} of target and task in class "
            f"{number.name}")


@attempt_criterion("-share_throttle", unit="%", says="{text}", text=words_of_class, applies=is_user_analysis,
                   panda="throttle by the usage of the share and the class of the task", stage=STAGE,
                   source=f"{STEP_1}; brokerage reference, 3.1 G2 and 11.3 (D67)")
def share_above_target(task, user):
    """Throttle tasks of User Analysis: class C above 90 %, B above 95 % of the share's target, A by the user's slots.

    Tasks of class A are throttled above max(USER_USAGE_THRESHOLD_A / slots at hi sites, 1) x 100 %, in the deployed
    edition by the smaller of the usage and the equivalent one of the level-1 share, and above 200 % where no slots are
    known. Tasks of class S and unclassified ones never are.
    """
    percent, limit = 100 * usage_counted(task, user), usage_allowed(user["task_class"])
    if not task["user_analysis"] or limit < 0:
        return False, np.nan, np.nan
    if user["task_class"] == CLASS_A:
        ratio = slot_ratio(user["rem_slots_a"], task["USER_USAGE_THRESHOLD_A"], task["deployed"])
        return percent * ratio > limit, percent, limit / ratio if ratio > 0 else np.nan
    return percent > limit, percent, limit


@compiled
def usage_counted(task, user):
    """Usage of the share's target; in the deployed edition the level-1 share may use less."""
    used, equivalent = user["usage"], user["equivalent_usage"]
    if not task["deployed"] or np.isnan(equivalent):
        return used
    return equivalent if equivalent < used else used


@compiled
def usage_allowed(task_class):
    """Usage above which tasks of a class are throttled, % of the target; -1 = they never are."""
    if task_class == CLASS_A:
        return MOST_OF_A
    if task_class == CLASS_B:
        return MOST_OF_B
    return MOST_OF_C if task_class == CLASS_C else -1.0


@compiled
def slot_ratio(left, threshold, deployed):
    """Slots of the user at hi sites over USER_USAGE_THRESHOLD_A, as documented at most 1; left: of the threshold.

    The deployed edition counts the recorded rest of the threshold, which is never negative there.
    """
    ratio = RATIO_IF_UNKNOWN if np.isnan(left) else 1 - left / threshold
    return ratio if deployed else min(ratio, 1.0)


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


@attempt_criterion("-global_quota", says="{text}", text=words_over, **QUOTA)
def over_quota(task, user):
    """Throttle tasks whose user or working group exceeds the global disk quota."""
    return user["over_quota"], np.nan, np.nan


@attempt_criterion("-near_quota", says="{text}", text=words_near, applies=spares_merging, editions=("deployed",),
                   **QUOTA | {"source": "brokerage reference, 3.1 G3"})
def near_quota(task, user):
    """Throttle tasks, but for merge jobs, whose user or working group uses more than 90 % of the global quota."""
    return user["near_quota"] and not task["is_merging"], np.nan, np.nan


# ---- input -----------------------------------------------------------------------------------------------------------

@attempt_criterion("-incomplete", says="{text}", text=lambda case, k: case.failure,
                   panda="check of input datasets", stage=STAGE, source="brokerage reference, 3.1 G4")
def no_readable_input(task, user):
    """Throttle tasks with a dataset that is complete, or nearly so, at no storage that can be read.

    Distributed datasets need not be, nor do those of tasks that allow incomplete input. The documentation is silent.
    """
    return task["unreadable"] >= 0, np.nan, np.nan
