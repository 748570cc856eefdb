"""Types of the texts that name a thing of the scenario, such as a site."""

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True)
class Named:
    """Mark of a text that names a thing of the scenario; `rules_names` checks that it is there."""

    what: str


SiteName = Annotated[str, Named("site")]
QueueName = Annotated[str, Named("queue")]
BackboneName = Annotated[str, Named("backbone")]
StorageName = Annotated[str, Named("storage")]
ShareName = Annotated[str, Named("share")]
LeafName = Annotated[str, Named("leaf share")]
ResourceTypeName = Annotated[str, Named("resource type")]
DatasetName = Annotated[str, Named("dataset")]
ContainerName = Annotated[str, Named("container of datasets")]
CampaignName = Annotated[str, Named("campaign")]
WorkQueueName = Annotated[str, Named("work queue with criteria")]
