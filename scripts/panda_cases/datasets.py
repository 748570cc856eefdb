"""Datasets of a task in a case, as the rules read them."""

from math import nan

from panda_cases.shape import fields, rows, text, whole
from simgrid_broker.views import DatasetRow

DATASETS = rows(fields(
    datasetID=whole(), type=text(""), status=text(""), state=text(), masterID=whole(), **dict.fromkeys((
        "nFiles", "nFilesFinished", "nFilesFailed", "nFilesUsed", "nFilesToBeUsed", "nEvents", "nEventsUsed"), whole()),
    files=rows(fields(status=text(""), PandaID=whole(), failedAttempt=whole()))))


def dataset(given: dict) -> DatasetRow:
    """A row of JEDI_Datasets; a null count is NaN, with which no comparison holds, as in SQL."""
    return DatasetRow(type=given["type"], secondary=given["masterID"] is not None, status=given["status"],
                   state=given["state"], n_files=_count(given, "nFiles"), to_be_used=given["nFilesToBeUsed"],
                   used=_count(given, "nFilesUsed"), finished=_count(given, "nFilesFinished"),
                   failed=_count(given, "nFilesFailed"), events=given["nEvents"], events_used=given["nEventsUsed"])


def _count(given: dict, name: str):
    return nan if given[name] is None else given[name]


def null(count: float) -> float | None:
    """A count as the answer has it."""
    return None if count != count else count
