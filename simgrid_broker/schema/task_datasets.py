"""The sheet of a dataset of a container that a task reads whole, in `task_datasets.parquet`."""

from simgrid_broker.schema.column import Column, Table

DATASETS = "JEDI_Datasets"

TASK_DATASETS = Table("task_datasets", "one dataset of a container that a task reads whole", (
    Column("jeditaskid", "i8", "", DATASETS + " jediTaskID", "Task"),
    Column("dataset", "i4", "", DATASETS + " datasetName", "Dataset", codes="datasets"),
    Column("chunk", "i4", "", "JEDI input chunk", "Its first piece among those of the task, counted from 0; the next "
           "dataset begins where it ends"),
    Column("n_pieces", "i4", "chunks", DATASETS + " nFilesToBeUsed", "Pieces of input that it has: files, or what a "
           "job reads"),
    Column("n_used", "i4", "chunks", DATASETS + " nFilesUsed", "Pieces for which jobs were made"),
))
"""Columns of a dataset of a task; tasks with a single dataset have none."""
