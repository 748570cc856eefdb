"""The end of a task: final status, and what its datasets and its children become."""

from panda_cases.datasets import DATASETS, dataset, null
from panda_cases.shape import fields, reads, real, text, whole
from simgrid_broker.names import TaskStatus
from simgrid_broker.policy.tasks import ends

PROCESSORS = dict(production=ends.PRODUCTION, analysis=ends.ANALYSIS, general=ends.GENERAL)
REASONS = {ends.NO_INPUT: "no input", ends.PARENT_FAILED: "parent task is", ends.NOTHING_SUCCEEDED: "no file was",
           ends.BELOW_GOAL: "less than the goal", ends.PARENT_INCOMPLETE: "task was incomplete",
           ends.INCOMPLETE: "task was incomplete", ends.DUPLICATION: "duplication", "": None}
"""Reasons in the words of PanDA's errorDialog that the recordings keep."""
GONE = "pending"
"""Status of a parent without a row: it has not ended well."""


@reads(processor=text("general", PROCESSORS), datasets=DATASETS, nDuplication=whole(0),
       parent_status=text(None, TaskStatus.words()),
       task=fields(status=text("prepared", TaskStatus.words()), oldStatus=text(), goal=real(), gshare=text(""),
                   parent_tid=whole(), jediTaskID=whole(), splitRules=fields()))
def answer(case: dict) -> dict:
    """Status and reason of the task, its completeness, its datasets, and what is done to its children."""
    ending = ending_of(case)
    end = ends.end_of_task(ending, PROCESSORS[case["processor"]], case["edition"])
    after = {str(given["datasetID"]): ends.dataset_after(one, end.status)
             for given, one in zip(case["datasets"], ending.datasets, strict=True)}
    old = case["task"]["oldStatus"] if end.old_status is None else end.old_status.word
    return dict(
        task=dict(status=end.status.word, oldStatus=old), reason=REASONS[end.reason],
        completeness=null(ends.completeness(ending.datasets)),
        datasets={number: dict(status=one.status, nFiles=null(one.n_files)) for number, one in after.items()},
        children="killed" if end.status in ends.NO_PARENT_LEFT else "kicked",
        limits=["hpoWorkflow"] if case["task"]["splitRules"].get("hpoWorkflow") else [])


def ending_of(case: dict) -> ends.Ending:
    """The task that is about to end."""
    task, rules = case["task"], case["task"]["splitRules"]
    has_parent = task["parent_tid"] not in (None, task["jediTaskID"])
    return ends.Ending(
        TaskStatus.of(task["status"]), tuple(map(dataset, case["datasets"])), task["goal"],
        bool(rules.get("failGoalUnreached")), bool(rules.get("useExhausted")), task["gshare"],
        TaskStatus.of(case["parent_status"] or GONE) if has_parent else None, case["nDuplication"])
