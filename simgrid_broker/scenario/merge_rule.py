"""The task parameters of internal merging, and what is true of merge jobs.

What lives here: the model. What does not: mergeOutput itself, which brokerage reads, too (`campaigns`), and grouping
outputs into merge jobs (policy).
"""

from pydantic import Field

from simgrid_broker.scenario.input_files import MOST_FILES_OF_JOB
from simgrid_broker.scenario.part import MOST_CORES_OF_JOB, Fraction, Megabytes, Part

NEED_MERGE_OUTPUT = ("nFilesPerMergeJob", "nMaxFilesPerMergeJob", "nGBPerMergeJob", "nEventsPerMergeJob",
                     "mergeCoreCount", "mergeRamCount", "merge_hs06sec_per_gb", "merge_memory", "merge_failure_rate")
"""Keys that say something only of tasks whose output is merged."""


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
