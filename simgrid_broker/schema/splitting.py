"""The splitting table: one row is a task and how its input is cut into jobs; in `splitting.parquet`, too."""

from simgrid_broker.schema.column import Column, Table

PARAMETER = "JEDI task parameter"
DATASET = "JEDI_Datasets"
CONTENTS = "JEDI_Dataset_Contents"
NOT_GIVEN = "none"

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
    Column("neventsperjob", "i4", "events", PARAMETER + " nEventsPerJob", "Most events of a job", NOT_GIVEN),
    Column("nfilesperjob", "i4", "files", PARAMETER + " nFilesPerJob", "Master files of a job", NOT_GIVEN),
    Column("nmaxfilesperjob", "i4", "files", PARAMETER + " nMaxFilesPerJob", "Most master files of a job", NOT_GIVEN),
    Column("tgtnumeventsperjob", "i4", "events", PARAMETER + " tgtNumEventsPerJob", "Events of a job that are aimed at",
           NOT_GIVEN),
    Column("ngbperjob", "f4", "GB", PARAMETER + " nGBPerJob", "Most input, output and work space of a job", NOT_GIVEN),
    Column("tgtmaxoutputforng", "f4", "GB", PARAMETER + " tgtMaxOutputForNG", "Largest output that is aimed at",
           NOT_GIVEN),
    Column("maxwalltime", "f4", "h", PARAMETER + " maxWalltime", "Longest job", NOT_GIVEN),
))
"""Columns of a row of splitting; every task of a world has one, those with files are recorded."""
