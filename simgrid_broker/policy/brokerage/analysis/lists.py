"""Rules about the whole list of candidates that are left: AUTO, pre-assignment, hospitals, overload, user problems.

Each is a compiled function of the tables of a decision and its own rank, which it enters for what it refuses.
"""

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.policy.brokerage.analysis.candidates import SITES
from simgrid_broker.policy.brokerage.analysis.users import is_no_merging, is_overloaded
from simgrid_broker.policy.rule import list_criterion

ON_LIST, HOSPITAL = 1, 2
"""Bits of the marks of a candidate: it is on includedSite; its name ends as that of a hospital queue."""
HOSPITAL_NAME = "_HOSPITAL"
FATAL = "preassigned_lost"
"""Name of the rule with which PanDA gives up the attempt for good."""
PREASSIGNED = {"stage": "preassign check", "panda": "pre-assigned queue", "editions": ("deployed",),
               "applies": lambda task: task["single"], "source": "brokerage reference, 3.3 A19"}


@compiled
def refuse(tables, k, rank, value, limit):
    """Enter the rank at which a candidate is refused, and the figures."""
    tables.rank[k], tables.value[k], tables.limit[k] = rank, value, limit


@compiled
def some_left(tables, marks):
    """True if a candidate with any of the marks is left."""
    never = tables.terms[0]["never"]
    for k in range(len(tables.queues)):
        if tables.rank[k] == never and (tables.marks[k] & marks) != 0:
            return True
    return False


@list_criterion("-notincluded", says="not on the task's includedSite, of which queues are left",
                **SITES | {"editions": ("deployed",), "source": "brokerage reference, 3.2 (D30)"})
def auto_not_needed(tables, rank):
    """Refuse queues that only AUTO lets in, if queues on includedSite are left."""
    if not some_left(tables, ON_LIST):
        return
    never = tables.terms[0]["never"]
    for k in range(len(tables.queues)):
        if tables.rank[k] == never and (tables.marks[k] & ON_LIST) == 0:
            refuse(tables, k, rank, np.nan, np.nan)


@list_criterion("-preassign", says="the queue that the task names is not left", **PREASSIGNED)
def preassigned_lost(tables, rank):
    """Refuse all queues if the one to which the task is pre-assigned is not left; PanDA logs no tag and gives up."""
    never, wanted = tables.terms[0]["never"], tables.task[0]["preassigned"]
    if wanted < 0:
        return
    for k in range(len(tables.queues)):
        if tables.rank[k] == never and tables.queues[k]["queue"] == wanted:
            return
    for k in range(len(tables.queues)):
        if tables.rank[k] == never:
            refuse(tables, k, rank, np.nan, np.nan)


@list_criterion("-nonpreassigned", says="the task names another queue", **PREASSIGNED)
def not_the_named_queue(tables, rank):
    """Refuse all queues but the one to which the task is pre-assigned."""
    never, wanted = tables.terms[0]["never"], tables.task[0]["preassigned"]
    for k in range(len(tables.queues)):
        if wanted >= 0 and tables.rank[k] == never and tables.queues[k]["queue"] != wanted:
            refuse(tables, k, rank, np.nan, np.nan)


@list_criterion("-hospital", says="a hospital queue, and others are left", panda="hospital queues",
                stage="hospital check", editions=("deployed",), source="brokerage reference, 3.3 A19b")
def hospital(tables, rank):
    """Refuse queues whose names end in _HOSPITAL, if any other queue is left."""
    never, others = tables.terms[0]["never"], False
    for k in range(len(tables.queues)):
        others = others or (tables.rank[k] == never and (tables.marks[k] & HOSPITAL) == 0)
    for k in range(len(tables.queues)):
        if others and tables.rank[k] == never and (tables.marks[k] & HOSPITAL) != 0:
            refuse(tables, k, rank, np.nan, np.nan)


OVERLOAD = {"panda": "overloaded queues", "stage": "overload check", "unit": "jobs per running job",
            "applies": is_no_merging, "editions": ("deployed",), "source": "brokerage reference, 3.3 A21 (D32)"}


@compiled
def is_real(task, data):
    """True if a queue has input that is not virtual placement, or needs none."""
    return data["real"] or not task["with_locality"] or not task["has_input"]


@compiled
def refuse_overloaded(tables, k, rank):
    """Refuse a candidate for its queued jobs per running one."""
    task, numbers = tables.task[0], tables.numbers[k]
    ratio = numbers["queued"] / numbers["running"] if numbers["running"] > 0 else np.inf
    refuse(tables, k, rank, ratio, task["grand_ratio"] * task["OVERLOAD_RATIO_OFFSET"])


@list_criterion("-overloaded", **OVERLOAD,
                says="{value:plain} jobs of the share queued for each running one, at most {limit:plain}")
def overloaded(tables, rank):
    """Refuse overloaded queues, if any other is left.

    There are more queued jobs of the share than OVERLOAD_MIN_QUEUE, and for each running one more than
    OVERLOAD_RATIO_OFFSET times as many as at all queues together, or none runs.
    """
    task, never, others = tables.task[0], tables.terms[0]["never"], False
    for k in range(len(tables.queues)):
        others = others or (tables.rank[k] == never and not is_overloaded(task, tables.numbers[k]))
    if not others or task["is_merging"]:
        return
    for k in range(len(tables.queues)):
        if tables.rank[k] == never and is_overloaded(task, tables.numbers[k]) and (
                is_real(task, tables.data[tables.queues[k]["queue"]])):
            refuse_overloaded(tables, k, rank)


@list_criterion("-overloaded_vp", says="{value:plain} jobs of the share queued for each running one, at most "
                "{limit:plain}, and the input there is virtual placement", **OVERLOAD)
def overloaded_virtual(tables, rank):
    """Refuse overloaded queues whose input is virtual placement, whatever else is left."""
    task, never = tables.task[0], tables.terms[0]["never"]
    for k in range(len(tables.queues)):
        if tables.rank[k] == never and not task["is_merging"] and is_overloaded(task, tables.numbers[k]) and (
                not is_real(task, tables.data[tables.queues[k]["queue"]])):
            refuse_overloaded(tables, k, rank)


@list_criterion("-tmp_user_problem", says="every queue with the input has a problem of the user, so others are asked",
                panda="temporary problems of the user", stage="temp user problem check", needs_numbers=True,
                applies=lambda task: task["loses_patience"], editions=("deployed",),
                source="brokerage reference, 3.3 A22b")
def only_problems(tables, rank):
    """Refuse all queues of a first loop if each has a problem and the locality of the input may be ignored."""
    task, never = tables.task[0], tables.terms[0]["never"]
    if not (task["loses_patience"] and task["with_locality"]):
        return
    for k in range(len(tables.queues)):
        if tables.rank[k] == never and tables.problem[k] == never:
            return
    for k in range(len(tables.queues)):
        if tables.rank[k] == never:
            refuse(tables, k, rank, np.nan, np.nan)


