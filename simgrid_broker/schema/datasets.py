"""Datasets that tasks read: of a container in results, of a task in a snapshot, and secondary ones of a stream."""

from typing import Annotated

from pydantic import Field, model_validator

from simgrid_broker.names import MOST_FILES_OF_JOB
from simgrid_broker.schema.attribute import Column, Table
from simgrid_broker.schema.part import ActsIn, Bytes, DatasetName, Part, StorageName
from simgrid_broker.schema.tasks import DATASET

DATASET_TYPES = ("input", "output")
DATASET_STATUSES = ("ready", "done", "finished", "failed")
"""Types and statuses of the datasets of tasks; source: lifecycle reference, section 2.8."""

TASK_DATASETS = Table("task_datasets", "one dataset of a task that reads a container whole", (
    Column("jeditaskid", "i8", "", DATASET + " jediTaskID", "Task"),
    Column("type", "i1", "", DATASET + " type", "Input, or the output of the task", codes="dataset_types"),
    Column("dataset", "i4", "", DATASET + " datasetName", "Dataset; the output has no name", codes="datasets",
           none=-1),
    Column("chunk", "i4", "", "JEDI input chunk", "Its first piece among those of the task, counted from 0; the next "
           "dataset begins where it ends"),
    Column("n_pieces", "i4", "chunks", DATASET + " nFilesToBeUsed", "Pieces of input that it has: files, or what a "
           "job reads"),
    Column("n_used", "i4", "chunks", DATASET + " nFilesUsed", "Pieces for which jobs were made"),
    Column("n_finished", "i4", "chunks", DATASET + " nFilesFinished", "Pieces that were processed"),
    Column("status", "i1", "", DATASET + " status", "Status at the end: output is finished if some is missing, "
           "otherwise done, and all has failed with the task", codes="dataset_status"),
))
"""Columns of a dataset of a task; tasks with a single dataset have none."""


class InputFile(Part):
    """A file that the next jobs of a task read."""

    bytes: Bytes = Field(0, ge=0, description="Size; 0 = unknown")
    events: int | None = Field(None, ge=0, description="Events in the file; default: unknown")
    first_event: int | None = Field(None, ge=0, description="First event that jobs read; default: that of the file")
    last_event: int | None = Field(None, ge=0, description="Last event that jobs read")


class Replica(Part):
    """A replica of a dataset at a DDM endpoint, as Rucio counts it."""

    files: int = Field(ge=0, description="Files that are there")
    of_files: int | None = Field(None, ge=0, description="Files of the dataset; default: `n_files`")
    bytes: Bytes | None = Field(None, ge=0, description="Size of the files that are there; default: in proportion")
    of_bytes: Bytes | None = Field(None, ge=0, description="Size of the dataset; default: `bytes` of the dataset")


class DatasetOfTask(Part):
    """A dataset that a task reads; the first one that is not secondary is its primary input."""

    type: str = Field("input", description="Type in JEDI; pseudo_input = there are no files, jobs are only counted")
    secondary: bool = Field(False, description="Whether it is read beside the primary input")
    attributes: str = Field("", description="Attributes in JEDI, such as nosplit,repeat or ratio=2")
    n_files: int | None = Field(None, ge=0, description="Files in Rucio; default: unknown to Rucio")
    bytes: Bytes = Field(0, ge=0, description="Size in Rucio")
    files: dict[str, InputFile] = Field(default_factory=dict, description="Files that the next jobs read, by LFN")
    replicas: dict[StorageName, Replica] = Field(default_factory=dict, description="Replicas, by DDM endpoint")
    file_replicas: dict[str, tuple[StorageName, ...]] = Field(
        default_factory=dict, description="DDM endpoints of single files, by LFN; default: those of complete replicas")
    virtual: tuple[StorageName, ...] = Field((), description="DDM endpoints of virtual placement that offer it whole")
    distributed: Annotated[bool, ActsIn("deployed")] = Field(
        False, description="Whether it is scattered over sites on purpose")
    has_rules: Annotated[bool, ActsIn("deployed")] = Field(
        True, description="Whether Rucio has replication rules for it; without any it counts as distributed")
    constituent: bool = Field(False, description="Whether jobs read it only as a part of a container")
    constituents: tuple[str, ...] = Field((), description="Datasets of which a container consists")

    @property
    def is_pseudo(self) -> bool:
        """True if it has no files."""
        return self.type == "pseudo_input"


class SecondaryInput(Part):
    """A further dataset that the jobs of a task read beside their master files, with attributes of JEDI datasets."""

    dataset: DatasetName | None = Field(None, description="Dataset of `data` that says the number and size of the "
                                        "files and where they lie; default: they lie where the master files lie")
    file_size: Bytes = Field(0, ge=0, description="Size of a file, bytes")
    files: int | None = Field(None, ge=1, description="Files of the dataset; default: as many as the jobs ask for")
    events_per_file: int | None = Field(None, ge=1, description="Events of a file; default: unknown")
    ratio: float = Field(1, gt=0, le=999, description="Files for each master file")
    np: int | None = Field(None, ge=1, le=MOST_FILES_OF_JOB, description="Files of each job, instead of `ratio`")
    er: float | None = Field(None, gt=0, description="Events for each event of the master, instead of `ratio`")
    nosplit: bool = Field(False, description="Every job reads all files")
    repeat: bool = Field(False, description="The files are read again when they end")
    ru: bool = Field(False, description="The files are read again from the first one where too few are left for a job")

    @model_validator(mode="after")
    def attributes_fit(self) -> "SecondaryInput":
        """Refuse attributes without effect."""
        if self.dataset is not None and (self.files is not None or self.file_size):
            raise ValueError("dataset says how many files there are and how large they are: leave out files and "
                             "file_size")
        if self.is_read_again and self.files is None and self.dataset is None:
            raise ValueError("nosplit, repeat and ru need files, the number of files of the dataset, or dataset")
        if self.er is not None and self.events_per_file is None:
            raise ValueError("er needs events_per_file")
        if (self.np is not None) + (self.er is not None) + self.nosplit > 1:
            raise ValueError("give one of np, er and nosplit")
        return self

    @property
    def is_read_again(self) -> bool:
        """True if several jobs may read the same files."""
        return self.nosplit or self.repeat or self.ru

    def files_for(self, events_of_piece: float) -> float:
        """Files that go with a piece of master files as a job of its own."""
        if self.nosplit:
            return float(self.files or 0)
        if self.er is not None and self.events_per_file:
            return self.er * events_of_piece / self.events_per_file
        return float(self.np or self.ratio)
