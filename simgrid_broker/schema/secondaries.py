"""Secondary datasets of tasks, as a stream of a scenario says them."""

from pydantic import Field, model_validator

from simgrid_broker.names import MOST_FILES_OF_JOB
from simgrid_broker.schema.part import Bytes, Part


class SecondaryInput(Part):
    """A further dataset that the jobs of a task read beside their master files, with attributes of JEDI datasets."""

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
        if (self.nosplit or self.repeat or self.ru) and self.files is None:
            raise ValueError("nosplit, repeat and ru need files, the number of files of the dataset")
        if self.er is not None and self.events_per_file is None:
            raise ValueError("er needs events_per_file")
        if (self.np is not None) + (self.er is not None) + self.nosplit > 1:
            raise ValueError("give one of np, er and nosplit")
        return self

    def files_for(self, events_of_piece: float) -> float:
        """Files that go with a piece of master files as a job of its own."""
        if self.nosplit:
            return float(self.files or 0)
        if self.er is not None and self.events_per_file:
            return self.er * events_of_piece / self.events_per_file
        return float(self.np or self.ratio)
