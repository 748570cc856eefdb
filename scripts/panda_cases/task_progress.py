"""Progress of tasks in one cycle: which leave scouting, are prepared to end, or go back for more input."""

from collections import Counter

from panda_cases.datasets import DATASETS, dataset
from panda_cases.shape import fields, flag, reads, real, rows, text, whole
from simgrid_broker.names import TaskStatus
from simgrid_broker.policy.tasks import ends
from simgrid_broker.policy.tasks.ends import Look
from simgrid_broker.policy.tasks.scouts import ASSESS_AGAIN_S
from simgrid_broker.views import DatasetRow
from simgrid_broker.views.tasks import usable_files

T = TaskStatus
FORCED = "ava"
USED, OVER = 2, 3
"""Values of useScout: scouts are used, and they are over."""


@reads(tasks=rows(fields(
    jediTaskID=whole(), status=text(None, T.words()), oldStatus=text(), walltimeUnit=text(), lockedBy=text(),
    assessmentTime_ago=real(), splitRules=fields(useScout=whole()), datasets=DATASETS,
    scouts=fields(succeeded=flag(), exhausted=flag()))))
def answer(case: dict) -> dict:
    """Status, scouts and datasets of all tasks afterwards; one of a status that JEDI has not stays as it is."""
    return dict(tasks={str(task["jediTaskID"]): after(task, case["edition"]) for task in case["tasks"]
                       if task["status"] is not None})


def after(task: dict, edition: str) -> dict:
    """A task after the cycle."""
    status, datasets = T.of(task["status"]), tuple(map(dataset, task["datasets"]))
    forced = task["walltimeUnit"] == FORCED
    is_due = task["assessmentTime_ago"] is None or task["assessmentTime_ago"] * 60 > ASSESS_AGAIN_S
    look = Look.NONE if task["lockedBy"] is not None else Look(ends.look_of(
        status, ends.is_over(datasets), is_due, *tried(task), task["walltimeUnit"] is not None, forced))
    uses = task["splitRules"].get("useScout")
    found = dict(status=task["status"], oldStatus=task["oldStatus"], walltimeUnit=task["walltimeUnit"],
                 after_scouts=uses == OVER, evaluation=None)
    if look is Look.MEASURED:
        found["evaluation"] = "data_only"
    elif look is not Look.NONE and (status is T.SCOUTING or (status is T.READY and uses == USED)):
        scouts = task["scouts"]
        succeeded = scouts["succeeded"] or look is Look.FORCED
        last = ends.judged(succeeded, scouts["succeeded"] and scouts["exhausted"])
        found |= dict(status=last.word, oldStatus=task["status"] if last is T.EXHAUSTED else None,
                      after_scouts=found["after_scouts"] or succeeded, evaluation="decide")
        found["walltimeUnit"] = None if look is Look.FORCED else task["walltimeUnit"]
        datasets = tuple(released(one, given) for one, given in zip(datasets, task["datasets"], strict=True))
    elif look is Look.OVER:
        after = ends.after_input(status, datasets)
        datasets = ends.datasets_after_input(after, datasets)
        if after is not None:
            found |= dict(status=after.word, oldStatus=None)
    return found | dict(datasets={str(given["datasetID"]): dict(status=one.status, nFilesToBeUsed=one.to_be_used)
                                  for given, one in zip(task["datasets"], datasets, strict=True)})


def released(row: DatasetRow, given: dict) -> DatasetRow:
    """A dataset after the avalanche; without usable files, or if it is no master, it stays as it is."""
    usable = usable_files(Counter(file["status"] for file in given.get("files", ())))
    return row._replace(to_be_used=usable) if usable and row.is_master_input else row


def tried(task: dict) -> tuple[int, int]:
    """Pairs of job and status of file in the master input that jobs read, finished and all."""
    pairs = {(file["PandaID"], file["status"]) for one in task["datasets"]
             if dataset(one).is_master_input and (one["nFilesToBeUsed"] or 0) > 0
             for file in one.get("files", ()) if file["PandaID"] is not None}
    return sum(status == "finished" for _, status in pairs), len(pairs)
