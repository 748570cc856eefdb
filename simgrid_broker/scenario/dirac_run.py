"""DIRAC's dispatch in a run: how users and shares of PanDA become owners and groups, whose pilots run, and options."""

from typing import Annotated, Any

from pydantic import Field

from simgrid_broker.schema.part import ActsIn, LeafName, Part, QueueName

GENERIC_PILOT = "GenericPilot"
"""Property of a pilot that serves all groups of its VO."""
PRIVATE = "private"
"""Type of a private pilot, as jobs may require it; source: DIRAC Task Queue Matching, task queue requirements."""
ATTRIBUTES_OF_RUN = ("Owner", "OwnerGroup", "JobType")
"""Attributes of jobs that limits of a run may name; JobType is the processing type of the task."""


class DiracCredentials(Part):
    """Who a pilot belongs to."""

    properties: tuple[str, ...] = Field((), description="GenericPilot, or none for a private pilot")
    username: str = Field("", description="User of a private pilot")
    group: str = Field("", description="Group of a private pilot")
    VO: str = Field("", description="VO of a generic pilot")

    @property
    def is_generic(self) -> bool:
        """True if the pilot serves all groups of its VO."""
        return GENERIC_PILOT in self.properties


class DiracGroupOfRun(Part):
    """A group of DIRAC, and the work that belongs to it."""

    shares: tuple[LeafName, ...] = Field((), description="Leaf shares whose tasks are submitted with this group")
    job_share: int = Field(1000, ge=0, description="JobShare")
    job_sharing: bool = Field(False, description="JOB_SHARING: the owners of the group share its share, and private "
                              "pilots of the group run the jobs of all of them")
    allow_background: Annotated[bool, ActsIn("deployed")] = Field(
        False, description="AllowBackgroundTQs, deployed edition")
    user_priority: int = Field(1, ge=0, description="UserPriority of its jobs")
    vo: str = Field("", description="VO; a generic pilot of a VO serves the groups of that VO")
    private_pilots: Annotated[bool, ActsIn("documented")] = Field(
        False, description="Whether only private pilots run its jobs, documented edition")


class DiracRun(Part):
    """DIRAC's dispatch: groups by name. A share that no group names is a group of its own name, with JOB_SHARING and a
    JobShare of ten for each percent of its target."""

    groups: dict[str, DiracGroupOfRun] = Field(default_factory=dict, description="Groups by name; owners are the users "
                                               "of the tasks")
    pilots: dict[QueueName, DiracCredentials] = Field(default_factory=dict, description="Whom the pilots of a queue "
                                                      "belong to; default: generic ones that serve all groups")
    operations: dict[str, Any] = Field(default_factory=dict, description="Options below Operations; JobScheduling has "
                                       "taskQueueCPUTimeIntervals, EnableSharesCorrection, ShareCorrections, "
                                       "RunningLimit, MatchingDelay, CheckJobLimits, CheckMatchingDelay")

    def vo(self, group: str) -> str:
        """VO of a group."""
        return self.groups[group].vo if group in self.groups else ""

    def pilot_types(self, group: str) -> list[str]:
        """Types of pilots that the jobs of a group require."""
        return [PRIVATE] if group in self.groups and self.groups[group].private_pilots else []
