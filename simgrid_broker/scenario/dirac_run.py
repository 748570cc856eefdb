"""DIRAC's dispatch in a run: how users and shares of PanDA become owners and groups."""

from pydantic import Field

from simgrid_broker.schema.named import LeafName
from simgrid_broker.schema.part import Part


class DiracGroupOfRun(Part):
    """A group of DIRAC, and the work that belongs to it."""

    shares: tuple[LeafName, ...] = Field((), description="Leaf shares whose tasks are submitted with this group")
    job_share: int = Field(1000, ge=0, description="JobShare")
    job_sharing: bool = Field(False, description="JOB_SHARING: the owners of the group share its share")
    allow_background: bool = Field(False, description="AllowBackgroundTQs, deployed edition")
    user_priority: int = Field(1, ge=0, description="UserPriority of its jobs")


class DiracRun(Part):
    """DIRAC's dispatch: groups by name. A share that no group names is a group of its own name, with JOB_SHARING and a
    JobShare of ten for each percent of its target."""

    groups: dict[str, DiracGroupOfRun] = Field(default_factory=dict, description="Groups by name; owners are the users "
                                               "of the tasks")
