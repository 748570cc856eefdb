"""What links share, and the service that moves files over them: their keys in a scenario."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from simgrid_broker.names import FTS_ACTIVITIES
from simgrid_broker.schema.constraint import RegionName, SiteName
from simgrid_broker.schema.part import Fraction, Part, Rate, Seconds

SHARED = tuple(activity.word for activity in FTS_ACTIVITIES[1:])
"""Activities of FTS that have a share: all but express."""
HOURS = 24
"""Hours of a day, which a profile of background traffic repeats."""


class Backbone(Part):
    """A capacity that links share: of those that cross the border of a group of sites, in each direction."""

    capacity: Rate = Field(gt=0, description="Capacity in each direction, bytes/s")
    sites: tuple[SiteName, ...] = Field((), description="Sites of the group")
    regions: tuple[RegionName, ...] = Field((), description="Regions whose sites belong to the group")


class Background(Part):
    """Traffic of others, which leaves less of every door and backbone; it changes with the cycles of FTS."""

    load: Fraction = Field(0, lt=1, description="Part of the capacity that it takes on average")
    by_hour: tuple[Annotated[float, Field(ge=0)], ...] = Field((), description="Factor of the load in each hour of "
                                                               "the day, 24 numbers; default: the same all day")

    @model_validator(mode="after")
    def whole_day(self) -> "Background":
        """Refuse a profile that is not of a day, or leaves nothing in an hour."""
        if len(self.by_hour) not in (0, HOURS):
            raise ValueError(f"by_hour has {len(self.by_hour)} numbers, not one for each hour of the day, {HOURS}")
        if self.load * max(self.by_hour, default=1) >= 1:
            raise ValueError("load x by_hour takes all of the capacity in an hour: it must stay below 1")
        return self

    def load_at(self, time_s: float) -> float:
        """Part of the capacity that is taken at a time, s from the start of the run, which is midnight."""
        return self.load * (self.by_hour[int(time_s // 3600) % HOURS] if self.by_hour else 1)


class Trouble(Part):
    """Troubles that befall the network of each site, or each link, at random: an outage, or less of the capacity."""

    of: Literal["sites", "links"] = Field("sites", description="What has them: each site with all its links and its "
                                          "doors, or each link by itself, in its direction")
    every: Seconds = Field(gt=0, description="Mean time from the end of one to the next at one site or link, "
                           "exponential")
    lasts: Seconds = Field(gt=0, description="Mean duration, exponential")
    factor: float = Field(0, ge=0, description="What is left of the capacity, as a factor; 0 = nothing")


class Fts(Part):
    """The file transfer service and Rucio's handling of what it could not transfer."""

    shares: dict[str, Annotated[float, Field(gt=0)]] = Field(
        default_factory=dict, description="Weight of each activity where several wait at a link ("
        + ", ".join(SHARED) + "); default: 1; express goes first")
    retries: int = Field(3, ge=0, description="Attempts after the first one before a transfer is stuck; source: Rucio "
                         "core/request.py, should_retry_request")
    retry_delay: Seconds = Field(600, ge=0, description="Time from a failed attempt to the next; assumed")
    stuck_delay: Seconds = Field(7200, ge=0, description="Time after which a stuck transfer gets as many attempts "
                                 "again, as of a rule that is repaired; assumed")
    lost_callbacks: Fraction = Field(0, description="Part of the callbacks of input that are lost: its jobs stay "
                                     "assigned until the datasetManager looks for their files, every 40 min and at "
                                     "each job at most once an hour")

    @model_validator(mode="after")
    def known_activities(self) -> "Fts":
        """Refuse shares of activities that do not exist, and of express, which has no share."""
        if wrong := sorted(set(self.shares) - set(SHARED)):
            raise ValueError(f"unknown activity {', '.join(wrong)}; there are {', '.join(SHARED)}")
        return self
