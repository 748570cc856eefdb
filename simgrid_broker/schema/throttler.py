"""Harvester's throttler of a PanDA queue, in the words of its plug-in SimpleThrottler."""

from typing import Literal

from pydantic import Field

from simgrid_broker.schema.part import Minutes, Part


class RuleForMissed(Part):
    """Most workers that may be missed within a time."""

    level: Literal["pq", "site"] = Field("pq", description="Whose missed workers count: the PanDA queue's, or those of "
                                         "all queues of its site")
    timeWindow: Minutes = Field(gt=0, description="Time in which they count, minutes")
    maxMissed: int = Field(ge=0, description="Missed workers above which the rule is met")


class Throttler(Part):
    """Stops the submission of workers to a queue while rules are met."""

    logicType: Literal["OR", "AND"] = Field("OR", description="Whether one rule is enough, or all must be met")
    rulesForMissed: tuple[RuleForMissed, ...] = Field(min_length=1, description="Rules, of which there is at least one")
