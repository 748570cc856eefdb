"""Constraints of a row beside its type: the things that it names, the keys that it needs, its limits and its edition.

A constraint is an annotation of the type of a key, as in `drives: Annotated[int | None, Needs("tape")]`; one check of
scenarios and snapshots (`scenario.checks.rows`) goes over all of them.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

Answer = Literal["refuse", "remark"]
"""Answers to a value that breaks a constraint: it is refused, or remarked and read as PanDA reads it."""


class Constraint:
    """Base of all constraints, each with the answer to a value that breaks it."""

    answer: Answer


@dataclass(frozen=True)
class Refers(Constraint):
    """A text that names a thing of a kind (`checks.rows.THINGS`); expected: said of a missing one, beside its name.

    patterns: a text with `*` names all things that fit.
    """

    to: str
    answer: Answer = "refuse"
    expected: str = ""
    patterns: bool = False


@dataclass(frozen=True)
class Needs(Constraint):
    """A key without effect unless another key of the same part has a value; why: reason, behind the message."""

    key: str
    why: str = ""
    answer: Answer = "refuse"


@dataclass(frozen=True)
class AtMost(Constraint):
    """A number that must not exceed that of another key of the same part, where both are given."""

    key: str
    answer: Answer = "refuse"


@dataclass(frozen=True)
class ActsIn(Constraint):
    """A key that only one edition reads."""

    edition: str
    answer: Answer = "remark"


SiteName = Annotated[str, Refers("site")]
QueueName = Annotated[str, Refers("queue")]
BackboneName = Annotated[str, Refers("backbone")]
RegionName = Annotated[str, Refers("region", expected="no site has this region")]
StorageName = Annotated[str, Refers("storage")]
ShareName = Annotated[str, Refers("share")]
LeafName = Annotated[str, Refers("leaf share")]
ResourceTypeName = Annotated[str, Refers("resource type")]
DatasetName = Annotated[str, Refers("dataset")]
ContainerName = Annotated[str, Refers("container of datasets")]
CampaignName = Annotated[str, Refers("campaign")]
WorkQueueName = Annotated[str, Refers("work queue with criteria")]
PartitionName = Annotated[str, Refers("partition")]
OwnerName = Annotated[str, Refers("user or working group", patterns=True)]
PandaResourceType = Annotated[str, Refers("resource type of PanDA", expected="PanDA has no such resource type")]
