"""Datasets of a task in a case, as the rules read them."""

from simgrid_broker.views import DatasetRow


def dataset(given: dict) -> DatasetRow:
    """A row of JEDI_Datasets."""
    return DatasetRow(type=given["type"], secondary=given["masterID"] is not None, status=given["status"],
                   state=given["state"], n_files=given["nFiles"], to_be_used=given.get("nFilesToBeUsed"),
                   used=given.get("nFilesUsed") or 0, finished=given["nFilesFinished"],
                   failed=given.get("nFilesFailed") or 0, events=given.get("nEvents"),
                   events_used=given.get("nEventsUsed"))
