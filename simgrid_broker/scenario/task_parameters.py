"""Task parameters in PanDA's names: those of every task, and those of scouts and of internal merging."""

from typing import Literal

from pydantic import Field, field_validator, model_validator

from simgrid_broker.names import MOST_FILES_OF_JOB
from simgrid_broker.schema.part import MOST_CORES_OF_JOB, Fraction, Megabytes, Part, Seconds

CONNECTIVITIES, IP_STACKS = ("", "full", "http", "none"), ("", "IPv4", "IPv6")
"""Outbound networks and IP stacks; source: PanDA brokerage documentation, production job brokerage, step 2."""

NEED_MERGE_OUTPUT = ("nFilesPerMergeJob", "nMaxFilesPerMergeJob", "nGBPerMergeJob", "nEventsPerMergeJob",
                     "mergeCoreCount", "mergeRamCount", "merge_hs06sec_per_gb", "merge_memory", "merge_failure_rate")
"""Keys that have a meaning only with mergeOutput: true."""


class TaskParameters(Part):
    """Parameters that tasks of a workload and of a snapshot share; both brokers read them."""

    prodsourcelabel: str = Field("managed", description="managed and test are production, user and panda analysis")
    processingtype: str = Field("simul", description="Kind of payload, as rules and shares address it")
    workinggroup: str = Field("", description="Working group, for shares and zero share")
    campaign: str = Field("", description="Campaign, for shares")
    transpath: str = Field("", description="Transformation, for shares")
    gshare: str | None = Field(None, description="Leaf share; default: found by the regular expressions of the tree")
    priority: int = Field(500, ge=-10000, le=10000, description="Priority within the share")
    corecount: int = Field(8, ge=0, le=MOST_CORES_OF_JOB, description="Cores asked for; 0 = any")
    events_per_job: int = Field(1000, ge=1, description="Events of a job")
    basewalltime: Seconds = Field(600, ge=0, description="Wall time beside the events, s")
    ramunit: Literal["MB", "MBPerCore", "MBPerCoreFixed"] = Field(
        "MBPerCore", description="What `ramcount` counts: a job or a core; Fixed: the task's own stays as it is")
    baseramcount: Megabytes = Field(0, ge=0, description="Memory added once per job, MB")
    workdiskcount: Megabytes = Field(500, ge=0, description="Scratch beside input and output, MB")
    files_per_job: int = Field(1, ge=0, description="Input files of a job")

    architecture: str = Field("", description="Platform, base image, CPU and GPU asked for, as a string "
                              "(`x86_64-el9-gcc13-opt#x86_64&nvidia:vram>=40960`) or JSON")
    transhome: str = Field("", description="transHome: release such as Athena-24.0.5, or nightly; without one the "
                           "edition deployed asks for no software or hardware at all")
    container_name: str = Field("", description="Fat container in which the payload runs")
    onlyTagsForFC: bool = Field(False, description="Whether the container must be among the published tags")

    site: tuple[str, ...] = Field((), description="PanDA queues to which all jobs go; default: brokerage finds them")
    maxCoreCount: int = Field(0, ge=0, le=MOST_CORES_OF_JOB, description="Most cores of a slot; 0 = open")
    walltime: float = Field(0, ge=0, description="Wall time of a MiB of input, s, claimed instead of CPU time; 0 = CPU "
                            "time is claimed")
    allowInputLAN: Literal["use", "only"] | None = Field("use", description="Whether jobs may or must read from the "
                                                         "storage where a queue can; null = brokerage counts on copies")
    useLocalIO: bool = Field(False, description="Brokerage counts on copies of the input in any case")
    ipConnectivity: str = Field("", description="Outbound network that jobs need: full, http or "
                                "none, and behind `#` the IP stack, such as http#IPv4")
    mergeOutput: bool = Field(False, description="Output is merged at the site where it was made before it goes to the "
                              "nucleus; jobs do not wait at inactive queues")
    eventService: bool = Field(False, description="Brokerage picks queues for event service; jobs are ordinary ones")
    nEsConsumers: int = Field(1, ge=1, description="Jobs of event service that share the events of an input")
    maxAttemptES: int = Field(0, ge=0, description="Attempts at an event before the last; 0 = 3 in all")
    nJumboJobs: int = Field(0, ge=0, description="Jumbo jobs of a task of event service; brokerage minds them, there "
                            "are none")
    minGranularity: int = Field(0, ge=0, description="Fewest events of a job, for brokerage, where the number of "
                                "events is dynamic; 0 = it is fixed")
    maxEventsPerJob: int | None = Field(None, ge=1, description="Most events of such a job; default: open")

    @field_validator("ipConnectivity")
    @classmethod
    def network_and_stack(cls, value: str) -> str:
        """Refuse a network or an IP stack that no queue has."""
        network, _, stack = value.partition("#")
        if network not in CONNECTIVITIES or stack not in IP_STACKS:
            raise ValueError("expected full, http or none, and behind # the IP stack, IPv4 or IPv6, such as http#IPv4")
        return value

    @model_validator(mode="after")
    def parts_of_event_service(self) -> "TaskParameters":
        """Refuse parameters of event service without it, and a largest number of events below the smallest."""
        if not self.eventService and (self.nJumboJobs or self.nEsConsumers > 1 or self.maxAttemptES):
            raise ValueError("nEsConsumers, maxAttemptES and nJumboJobs need eventService: true")
        if self.maxEventsPerJob is not None and self.maxEventsPerJob < self.minGranularity:
            raise ValueError(f"maxEventsPerJob must not be below minGranularity, {self.minGranularity}")
        return self

    @property
    def preassigned(self) -> str:
        """The queues of `site`, joined by commas."""
        return ",".join(self.site)


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
