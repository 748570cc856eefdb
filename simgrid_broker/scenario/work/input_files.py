"""Log-normal quantities that differ from task to task; the input of tasks as files, how it is split into jobs, and
the datasets of a scenario, which tasks share: their keys, single ones and populations of them."""

import math
from math import exp, log
from statistics import NormalDist
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from simgrid_broker.names import MOST_FILES_OF_JOB, TYPICAL_FILES
from simgrid_broker.schema.datasets import SecondaryInput
from simgrid_broker.schema.part import Bytes, Fraction, Megabytes, Needs, Part, Seconds, StorageName
from simgrid_broker.schema.tasks import N_REPLICAS, SplitParameters


class Spread(Part):
    """A log-normal quantity; a bare number is a quantity without spread. Draws above `max` become `max`."""

    median: float = Field(ge=0, description="Median")
    sigma: float = Field(0, ge=0, le=5, description="Standard deviation of the natural logarithm")
    max: float | None = Field(None, gt=0, description="Largest value; None = open")

    @model_validator(mode="before")
    @classmethod
    def bare_number(cls, value: Any) -> Any:
        """Read `3878` as `{median: 3878}`."""
        return value if isinstance(value, (dict, Spread)) else {"median": value}

    @property
    def mean(self) -> float:
        """Mean of the quantity, the limit `max` included."""
        if self.median == 0 or self.sigma == 0:
            return self.median if self.max is None else min(self.median, self.max)
        whole = self.median * exp(self.sigma**2 / 2)
        if self.max is None:
            return whole
        limit = log(self.max / self.median) / self.sigma
        normal = NormalDist()
        return whole * normal.cdf(limit - self.sigma) + self.max * normal.cdf(-limit)


MOST_THINGS = 10_000_000
"""Largest number that is drawn of jobs or files of a task."""


class NumberSpread(Spread):
    """A log-normal whole number, at least 1; draws above ten million become ten million."""

    median: float = Field(ge=1, le=MOST_THINGS, description="Median")
    max: float | None = Field(None, ge=1, le=MOST_THINGS, description="Largest value; None = open")


class BytesSpread(Spread):
    """A log-normal size, bytes."""

    median: Bytes = Field(ge=0, description="Median, bytes")
    max: Bytes | None = Field(None, gt=0, description="Largest value, bytes; None = open")


class MegabytesSpread(Spread):
    """A log-normal amount of memory, MB."""

    median: Megabytes = Field(ge=0, description="Median, MB")
    max: Megabytes | None = Field(None, gt=0, description="Largest value, MB; None = open")


class FractionSpread(Spread):
    """A log-normal fraction, never above 1."""

    median: Fraction = Field(description="Median")
    max: Fraction | None = Field(1, gt=0, description="Largest value")


FIXED_SIZE = ("jobs_per_task", "events_per_job", "files_per_job", "input_per_event", "input_per_job",
              "output_per_job", "secondary_input")
"""Keys of tasks whose jobs are all of one size."""


OF_OWN_INPUT = ("jobs_per_task", "input_per_event", "input_per_job", "replicas", "open_input", "secondary_input",
                "lost_input", "parent")
"""Keys of a stream that describe input of each task's own."""


class Replicas(Part):
    """Where the input of a task lies: the first replica is complete, each further one may be incomplete."""

    number: int = Field(2, ge=0, le=N_REPLICAS, description="Sites that hold input")
    where: Literal["nuclei", "any"] = Field("nuclei", description="Sites drawn by size of their storage; 'nuclei' "
                                            "means any site with a storage if the grid has no nucleus with one")
    incomplete: Fraction = Field(0.3, description="Probability that a further replica is incomplete")
    tape: Fraction = Field(0, description="Probability that a replica is on tape, not on disk")


class OpenInput(Part):
    """An input dataset to which files are added after the task was submitted, at an even rate until it is frozen."""

    at_first: Fraction = Field(0.1, description="Fraction of the files that exist when the task arrives, at "
                               "least one file")
    frozen_after: Seconds = Field(gt=0, description="Time after the arrival of the task when the last file comes")


class InputFiles(Part):
    """The files that a task reads, from which its jobs are cut; the same file is the same under every policy."""

    files: NumberSpread | None = Field(None, description="Master files of a task, over tasks, 1 to 10 million; needed "
                                       "unless the stream reads a dataset of `data`")
    events_per_file: int = Field(1000, ge=1, description="Mean number of events of a file")
    events_spread: float = Field(0, ge=0, le=3, description="Sigma of the spread of events between files of a task")
    file_size: BytesSpread = Field(BytesSpread(median=0), description="Mean size of the files of a task, over tasks")
    size_spread: float = Field(0, ge=0, le=3, description="Sigma of the spread of sizes of files of equal events")
    files_per_lumiblock: int = Field(0, ge=0, description="Files of a lumi block; 0 = files know none")
    files_per_boundary: int = Field(0, ge=0, description="Files with the same boundaryID; 0 = files have none")
    secondary_ratio: float = Field(0, ge=0, le=999, description="Secondary files that a job reads for each master file")
    secondary_file_size: Bytes = Field(0, ge=0, description="Size of a secondary file, bytes")
    secondaries: tuple[SecondaryInput, ...] = Field((), description="Further secondary datasets that the jobs read")


class SplitRule(SplitParameters):
    """The files of a task, and how they are split into jobs."""

    input: InputFiles | None = Field(None, description="Files from which jobs are cut as JEDI does; default: all jobs "
                                     "of a task have one size, jobs_per_task and the like")
    respectLB: bool = Field(False, description="No job has files of two lumi blocks")

    @model_validator(mode="after")
    def needs_files(self) -> "SplitRule":
        """Refuse rules of splitting without files, and keys of jobs of one size together with files."""
        given = [name for name in SplitRule.model_fields if name != "input" and getattr(self, name)]
        if self.input is None:
            if given:
                raise ValueError(f"{given[0]} needs input, the files of a task")
            return self
        fields = type(self).model_fields
        fixed = [name for name in FIXED_SIZE if name in fields and getattr(self, name) != fields[name].get_default()]
        if fixed:
            raise ValueError(f"{fixed[0]} is for tasks whose jobs are all of one size: leave it out with input "
                             "(files, events_per_file, file_size, secondary_ratio, output_per_event)")
        return self

    @model_validator(mode="after")
    def files_fit_the_rules(self) -> "SplitRule":
        """Refuse boundaries that no file has, jobs of too many files, and files of unequal events that are split."""
        files = self.input
        if files is None:
            return self
        if self.respectLB and not files.files_per_lumiblock:
            raise ValueError("respectLB needs input.files_per_lumiblock")
        if self.groupBoundaryID and not files.files_per_boundary:
            raise ValueError("groupBoundaryID needs input.files_per_boundary")
        if self.whole_files * (1 + files.secondary_ratio) > MOST_FILES_OF_JOB:
            raise ValueError(f"nFilesPerJob with the secondary files is more than {MOST_FILES_OF_JOB} files of a job")
        if self.events_per_piece and files.events_spread:
            raise ValueError(f"files of {files.events_per_file} events are split into jobs of fewer: leave out "
                             "input.events_spread, as then all files have the same number of events")
        return self

    @property
    def whole_files(self) -> int:
        """Files that every job has, as far as nFilesPerJob is in force; else 1."""
        return self.nFilesPerJob if self.nFilesPerJob and not self.nEventsPerJob else 1

    @property
    def events_per_piece(self) -> int:
        """Events of the pieces into which files are split; 0 = files stay whole.

        tgtNumEventsPerJob splits a file into as many equal pieces as are needed. Source: JEDI TWiki, event-level
        splitting; lifecycle reference, section 2.6 (precedence).
        """
        events = self.input.events_per_file if self.input else 0
        if self.nEventsPerJob:
            return self.nEventsPerJob if self.nEventsPerJob < events else 0
        target = 0 if self.nFilesPerJob or self.nGBPerJob else self.tgtNumEventsPerJob
        return math.ceil(events / math.ceil(events / target)) if 0 < target < events else 0

    @property
    def typical_files(self) -> float:
        """Estimate of the files of a job, below 1 for parts of one; source: lifecycle reference, section 2.3."""
        events = self.input.events_per_file if self.input else 1
        if self.nEventsPerJob:
            return (self.events_per_piece or self.nEventsPerJob) / events
        if self.nFilesPerJob:
            return self.nFilesPerJob
        return self.events_per_piece / events or TYPICAL_FILES


MOST_DATASETS = 100_000
"""Datasets of a population at the most."""


class DatasetReplica(Part):
    """A replica of a dataset at a DDM endpoint."""

    storage: StorageName = Field(description="DDM endpoint; one of tape makes it a copy on tape")
    part: Fraction = Field(1, gt=0, description="Part of the files that is there; below 1 the replica is incomplete")
    lifetime: Seconds | None = Field(None, ge=0, description="Time from the start of the run to the end of its "
                                     "lifetime, after which it may be deleted; 0 = it is over; default: a primary "
                                     "replica, which stays")
    virtual: bool = Field(False, description="Whether it is of virtual placement: brokers count it as a replica, jobs "
                          "there read through a cache, and it takes no space")


class Dataset(Part):
    """A dataset that tasks of several streams may read; its files are counted, not described one by one."""

    files: int = Field(ge=1, description="Files")
    bytes: Bytes = Field(gt=0, description="Size of all files")
    container: str | None = Field(None, description="Container to which it belongs, from which streams draw")
    popularity: Annotated[float, Needs("container", "only draws from one look at it")] = Field(
        1, gt=0, description="Weight in draws from its container")
    replicas: tuple[DatasetReplica, ...] = Field(min_length=1, description="Where it lies; at least one replica has "
                                                 "all files")

    @model_validator(mode="after")
    def is_whole_somewhere(self) -> "Dataset":
        """Refuse a dataset that no replica has whole, and two replicas at one endpoint."""
        if not any(replica.part == 1 and not replica.virtual for replica in self.replicas):
            raise ValueError("at least one replica must have all files (part: 1, not virtual): jobs that need the "
                             "others could never run")
        at = [replica.storage for replica in self.replicas]
        if twice := sorted({name for name in at if at.count(name) > 1}):
            raise ValueError(f"has two replicas at {', '.join(twice)}")
        return self


class PopulationReplicas(Part):
    """Where the datasets of a population lie: the first replica is complete, each further one may be incomplete."""

    number: int = Field(2, ge=1, le=20, description="Sites that hold each dataset")
    where: Literal["nuclei", "any"] = Field("nuclei", description="Sites drawn by size of their storage; 'nuclei' "
                                            "means any site with a storage if the grid has no nucleus with one")
    incomplete: Fraction = Field(0.3, description="Probability that a further replica is incomplete")
    secondary: Fraction = Field(0, description="Probability that a further replica has a lifetime")
    lifetime: Seconds = Field(14 * 86400, gt=0, description="Longest lifetime that is left of such a replica, drawn "
                              "evenly")


class Population(Part):
    """A container of datasets that are drawn; streams read them by Zipf's law.

    That few datasets get most of the accesses is what ATLAS and CMS report of their popularity services; the exponent
    is an assumption.
    """

    datasets: int = Field(ge=1, le=MOST_DATASETS, description="Number of datasets, named CONTAINER.00001 and so on")
    files: NumberSpread = Field(description="Files of a dataset, over datasets")
    file_size: BytesSpread = Field(description="Mean size of its files, over datasets, bytes")
    zipf: float = Field(1, ge=0, le=4, description="Exponent s of Zipf's law: popularity of the dataset of rank r ~ "
                        "r^-s; assumed")
    replicas: PopulationReplicas = Field(PopulationReplicas(), description="Where the datasets lie")
    source: str = Field("", description="Where the figures come from, or which of them are assumptions")

    @model_validator(mode="after")
    def files_have_a_size(self) -> "Population":
        """Refuse files of no size."""
        if self.file_size.median <= 0:
            raise ValueError("file_size must be above 0")
        return self


class Data(Part):
    """Datasets that tasks share; a task that names none reads a dataset of its own (`replicas` of its stream)."""

    datasets: dict[str, Dataset] = Field(default_factory=dict, description="Datasets by name")
    populations: dict[str, Population] = Field(default_factory=dict, description="Containers of drawn datasets, by "
                                               "name")
    dispatch_lifetime: Seconds = Field(7 * 86400, gt=0, description="Lifetime of files that were moved to a site for "
                                       "jobs, of shared datasets counted from the last job that reads them there; "
                                       "source: lifecycle reference, section 7.2")
    output_lifetime: Seconds | None = Field(None, gt=0, description="Lifetime of output at its destination, after "
                                            "which it may be deleted; default: it is never deleted")

    @model_validator(mode="after")
    def names_are_different(self) -> "Data":
        """Refuse a population with the name of a container that single datasets form."""
        formed = {dataset.container for dataset in self.datasets.values() if dataset.container is not None}
        if both := sorted(formed & set(self.populations)):
            raise ValueError(f"{', '.join(both)} is a population and the container of single datasets")
        return self

    def mean_files(self, dataset: str | None, container: str | None, whole: bool = False) -> float | None:
        """Mean number of files of a dataset that a stream reads, None if it names nothing that is there.

        whole: whether it reads all datasets of the container.
        """
        if dataset in self.datasets:
            return self.datasets[dataset].files
        members = self.members(container)
        if members and whole:
            return sum(one.files for one in members) / len(members)
        if members:
            return sum(one.files * one.popularity for one in members) / sum(one.popularity for one in members)
        population = self.populations.get(container or (dataset or "").rpartition(".")[0])
        return None if population is None else population.files.mean

    def members(self, container: str | None) -> list[Dataset]:
        """The single datasets of a container."""
        return [one for one in self.datasets.values() if container is not None and one.container == container]

    def n_datasets(self, container: str | None) -> int:
        """Number of datasets of a container; 1 if there is none of that name."""
        population = self.populations.get(container or "")
        return (len(self.members(container)) or 1) if population is None else population.datasets

    @property
    def containers(self) -> tuple[str, ...]:
        """Names of what streams may read."""
        formed = (dataset.container for dataset in self.datasets.values() if dataset.container is not None)
        return tuple(dict.fromkeys((*formed, *self.populations)))


def dataset_names(data: Data) -> tuple[str, ...]:
    """Names of all datasets, single ones first."""
    return (*data.datasets, *(f"{container}.{rank:05d}" for container, population in data.populations.items()
                              for rank in range(1, population.datasets + 1)))
