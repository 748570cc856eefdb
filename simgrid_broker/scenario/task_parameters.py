"""Task parameters of scouts and of internal merging, in PanDA's names."""

from pydantic import Field, model_validator

from simgrid_broker.names import MOST_FILES_OF_JOB
from simgrid_broker.schema.part import MOST_CORES_OF_JOB, Fraction, Megabytes, Part

NEED_MERGE_OUTPUT = ("nFilesPerMergeJob", "nMaxFilesPerMergeJob", "nGBPerMergeJob", "nEventsPerMergeJob",
                     "mergeCoreCount", "mergeRamCount", "merge_hs06sec_per_gb", "merge_memory", "merge_failure_rate")
"""Keys that have a meaning only with mergeOutput: true."""


class ScoutRule(Part):
    """Task parameters of scouts, in PanDA's names."""

    useScout: bool = Field(False, description="Ten scouts measure the tasks first: what they find replaces the claims, "
                           "or exhausts or breaks the task; without them a task claims what the stream says for good")
    skipScout: bool = Field(False, description="No scouts after all; of analysis only tasks with a working group may")
    scoutSuccessRate: int | None = Field(None, ge=0, le=10, description="Tenths of the scouts that must succeed; "
                                         "default: one of them, in the edition deployed 5")
    minCpuEfficiency: float = Field(0, ge=0, le=100, description="Median CPU efficiency of the scouts, %, below which "
                                    "the edition deployed exhausts a task; 0 = none")

    @model_validator(mode="after")
    def scouts_are_used(self) -> "ScoutRule":
        """Refuse parameters of scouts where there are none."""
        if not self.useScout and (self.skipScout or self.scoutSuccessRate is not None or self.minCpuEfficiency):
            raise ValueError("skipScout, scoutSuccessRate and minCpuEfficiency need useScout: true")
        return self


class MergeRule(Part):
    """How unmerged output is put into merge jobs, in PanDA's names of task parameters; all of mergeOutput: true."""

    nFilesPerMergeJob: int = Field(0, ge=0, le=MOST_FILES_OF_JOB, description="Unmerged files of a merge job; 0 = not "
                                   "given")
    nMaxFilesPerMergeJob: int = Field(0, ge=0, le=MOST_FILES_OF_JOB, description="Most unmerged files of a merge job, "
                                      "where nFilesPerMergeJob is not given; 0 = 50")
    nGBPerMergeJob: float = Field(0, ge=0, description="Largest output of a merge job, GB; 0 = 5")
    nEventsPerMergeJob: int = Field(0, ge=0, description="Most events of a merge job; 0 = any")
    mergeCoreCount: int = Field(0, ge=0, le=MOST_CORES_OF_JOB, description="Cores that merge jobs ask for; 0 = as the "
                                "others")
    mergeRamCount: Megabytes = Field(0, ge=0, description="Memory that merge jobs ask for, MB of a whole job; less "
                                     "than 2000 counts as that, 0 = not given")
    merge_hs06sec_per_gb: float = Field(100, ge=0, description="True wall time x cores x HS06 of merging a GB")
    merge_memory: Megabytes = Field(1000, gt=0, description="True memory of merge jobs, MB")
    merge_failure_rate: Fraction = Field(0.02, description="Payload failures of merge jobs")
