"""The datasets of a scenario, which tasks share: their keys, single ones and populations of them."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from simgrid_broker.scenario.work.input_files import BytesSpread, NumberSpread
from simgrid_broker.schema.part import Bytes, Fraction, Needs, Part, Seconds, StorageName

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
