"""Files of a run: streaming writers of the recorded tables, the manifest, and their readers."""

from simgrid_broker.files import write_csv, write_whole
from simgrid_broker.records.acts import Acts, incidents_so_far
from simgrid_broker.records.layout import JOB_END_TIMES, JOB_END_WORDS
from simgrid_broker.records.manifest import entry_of, new_run_folder, read_manifest, texts_of, write_manifest
from simgrid_broker.records.progress import ProgressFile
from simgrid_broker.records.reader import TAKEN, Run, as_run, of_run, read_run
from simgrid_broker.records.writer import FAILURE, EndedJobs, RunWriter, write_failure, write_snapshot

__all__ = ["Acts", "FAILURE", "EndedJobs", "JOB_END_WORDS", "JOB_END_TIMES", "ProgressFile", "Run", "RunWriter",
           "TAKEN", "as_run", "entry_of", "incidents_so_far", "new_run_folder", "of_run", "read_manifest", "read_run",
           "texts_of", "write_csv", "write_failure", "write_manifest", "write_snapshot", "write_whole"]
