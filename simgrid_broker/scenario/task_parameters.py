"""What a task says of itself, wherever a user writes one: in a workload or in a snapshot.

What lives here: the parameters that both have. What does not: what only a workload has (`campaigns`: spreads, truth,
arrivals) or only a task in a snapshot (`snapshot`: where its input lies, how far it has come).
"""

from typing import Literal

from pydantic import Field, field_validator, model_validator

from simgrid_broker.scenario.part import MOST_CORES_OF_JOB, Megabytes, Part, Seconds

CONNECTIVITIES, IP_STACKS = ("", "full", "http", "none"), ("", "IPv4", "IPv6")
"""Outbound networks and IP stacks; source: PanDA brokerage documentation, production job brokerage, step 2."""


class TaskParameters(Part):
    """What a task says of itself to both brokers, in PanDA's names of task parameters."""

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
