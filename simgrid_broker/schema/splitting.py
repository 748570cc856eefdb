"""The sheet of splitting: how the input of a task is cut into jobs, in a scenario and in `splitting.parquet`."""

from functools import partial

from simgrid_broker.names import MOST_FILES_OF_JOB
from simgrid_broker.schema.attribute import attribute, columns_of
from simgrid_broker.schema.column import Column, Table
from simgrid_broker.schema.part import Part

PARAMETER = "JEDI task parameter"
DATASET = "JEDI_Datasets"
CONTENTS = "JEDI_Dataset_Contents"

number = partial(attribute, 0, ge=0, zero_means="not given", source=PARAMETER, dtype="i4")


class SplitParameters(Part):
    """Task parameters by which input is split into jobs; of the targets of a job's size the first given counts.

    Their order is nEventsPerJob, nFilesPerJob, nGBPerJob, tgtNumEventsPerJob, tgtMaxOutputForNG (lifecycle reference,
    section 2.6).
    """

    nEventsPerJob: int = number("Most events of a job; below those of a file, files are split", unit="events")
    nFilesPerJob: int = number("Master files of a job", le=MOST_FILES_OF_JOB, unit="files")
    nMaxFilesPerJob: int = number("Most master files of a job (maxNumFilesPerJob)", zero_means="200", unit="files",
                                  le=MOST_FILES_OF_JOB)
    tgtNumEventsPerJob: int = number("Events of a job that are aimed at: files with more are split evenly",
                                     unit="events")
    nGBPerJob: float = number("Most input, output and work space of a job, GB", unit="GB", dtype="f4")
    tgtMaxOutputForNG: float = number("Largest output of a job that is aimed at through nGBPerJob, GB", unit="GB",
                                      dtype="f4")
    maxWalltime: float = number("Longest job, h", zero_means="as long as the queue allows", unit="h", dtype="f4")


SPLITTING = Table("splitting", "how the input of one task is split", (
    Column("jeditaskid", "i8", "", "JEDI_Tasks jediTaskID", "Task"),
    Column("file_bytes", "f8", "bytes", CONTENTS + " fsize", "Mean size of a master file"),
    Column("secondary_bytes", "f8", "bytes", CONTENTS + " fsize", "Size of a secondary file"),
    Column("output_bytes_per_event", "f8", "bytes", PARAMETER + " outDiskCount", "Output of one event"),
    Column("n_files", "i4", "files", DATASET + " nFiles", "Master files; 0 = all jobs of the task have one size"),
    Column("events_per_file", "i4", "events", CONTENTS + " nEvents", "Mean number of events of a master file"),
    Column("events_per_piece", "i4", "events", PARAMETER + " nEventsPerJob",
           "Events of the pieces into which files are split; 0 = files stay whole"),
    Column("across_files", "i1", "", "JEDI TWiki, event-level splitting", "1 if a piece may begin in one file and end "
           "in the next"),
    Column("events_spread", "f4", "", "simulator", "Sigma of the spread of events between files"),
    Column("size_spread", "f4", "", "simulator", "Sigma of the spread of sizes of files of equal events"),
    Column("secondary_ratio", "f4", "files", DATASET + " attributes ratio", "Secondary files for each master file"),
    Column("files_per_lumiblock", "i4", "files", CONTENTS + " lumiBlockNr",
           "Files of a lumi block that are kept apart from others; 0 = none are"),
    Column("files_per_boundary", "i4", "files", CONTENTS + " boundaryID",
           "Files of a boundaryID that are kept apart from others; 0 = none are"),
    *columns_of(SplitParameters),
))
"""Columns of a row of splitting; every task of a world has one, those with files are recorded."""
