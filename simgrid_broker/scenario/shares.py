"""Global shares and JEDI's work queues: their keys, the tree in force, its leaves, and the share of a stream.

Sources: JEDI TWiki, work queues, shares and the JEDI_Work_Queue table; lifecycle reference, section 1.6.
"""

import re
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field

from simgrid_broker.scenario.terms import TERMS
from simgrid_broker.schema.part import Part, PartitionName

TAGS = ("prodsourcelabel", "workinggroup", "campaign", "processingtype", "transpath", "rtype")
"""Fields of a share that are regular expressions."""

NORMAL, PARTITION, RESOURCE = "normal", "partition", "Resource"


class Share(Part):
    """A node of the share tree; regular expressions tag tasks to leaves, matched from the start of the field."""

    name: str = Field(description="Name, unique among all shares")
    value: float = Field(ge=0, description="Weight among the siblings")
    prodsourcelabel: str | None = Field(None, description="Regular expression for the task's prodsourcelabel")
    workinggroup: str | None = Field(None, description="Regular expression for the task's workinggroup")
    campaign: str | None = Field(None, description="Regular expression for the task's campaign")
    processingtype: str | None = Field(None, description="Regular expression for the task's processingtype")
    transpath: str | None = Field(None, description="Regular expression for the task's transpath")
    rtype: str | None = Field(None, description="Regular expression for the resource_type of the task's queue")
    throttled: bool = Field(True, description="Whether job generation is throttled")
    children: tuple["Share", ...] = Field((), description="Shares below this one; only shares without any take tasks")


class WorkQueue(Part):
    """A row of JEDI_Work_Queue."""

    name: str = Field(min_length=1, description="QUEUE_NAME; gdpconfig keys name it")
    function: Literal["normal", "partition", "Resource"] = Field(
        "normal", description="normal: takes the tasks that pass its criteria; partition: is made of sub queues; "
        "Resource: for dedicated facilities, with a throttler of its own for all resource types together. Normal and "
        "partition queues take the place of the share tree in `documented`; in `deployed` they have no effect on jobs")
    order: int | None = Field(None, description="QUEUE_ORDER: queues are tried from the lowest; not for partitions")
    criteria: str = Field("", description="Selection criteria in SQL, such as `processingType IN (:p1,:p2)`; empty = "
                          "every task passes")
    variables: str = Field("", description="Values of the variables in the criteria, such as `p1:evgen,p2:simul`")
    share: float | None = Field(None, ge=0, description="QUEUE_SHARE: part of the power, relative to the queues of the "
                                "same partition or outside of all; null = the queue is not throttled, and is served "
                                "last")
    partition: PartitionName | None = Field(None, description="Partition of which this is a sub queue")
    stretchable: bool = Field(False, description="Whether it comes first where queues without tasks leave power")
    status: Literal["active", "inactive"] = Field("active", description="Inactive queues are left out")


def active(queues: tuple[WorkQueue, ...]) -> list[WorkQueue]:
    """Queues that are not left out."""
    return [queue for queue in queues if queue.status == "active"]


def selecting(queues: tuple[WorkQueue, ...]) -> list[WorkQueue]:
    """Queues that tasks are mapped to, in the order in which they are tried."""
    found = [queue for queue in active(queues) if queue.function != PARTITION]
    return sorted(found, key=lambda queue: queue.order if queue.order is not None else 0)


def queue_names(queues: tuple[WorkQueue, ...]) -> tuple[str, ...]:
    """Names of the queues that tasks are mapped to: the codes of tasks' `work_queue`, Resource queues first."""
    return tuple(queue.name for queue in sorted(selecting(queues), key=lambda queue: queue.function != RESOURCE))


def n_resource_queues(queues: tuple[WorkQueue, ...]) -> int:
    """Number of Resource queues among `queue_names`."""
    return sum(queue.function == RESOURCE for queue in active(queues))


def by_queue(scenario) -> bool:
    """True if normal and partition queues replace the share tree: JEDI TWiki; not in the deployed edition (L4)."""
    return TERMS[scenario.edition].own_queues and has_normal(scenario)


def has_normal(scenario) -> bool:
    """True if there are normal queues, so that every task must pass the criteria of some queue."""
    return any(queue.function == NORMAL for queue in active(scenario.work_queues))


def shares_in_use(scenario) -> tuple[Share, ...]:
    """The share tree in force: the scenario's, or the one made of its normal queues and partitions.

    A Resource queue has a share, like normal queues.
    """
    if not by_queue(scenario):
        return scenario.shares
    queues = active(scenario.work_queues)
    return tuple(_share(queue, queues) for queue in queues if queue.partition is None)


def _share(queue: WorkQueue, queues: list[WorkQueue]) -> Share:
    """The share of a queue, with its sub queues as children."""
    children = tuple(_share(sub, queues) for sub in queues if sub.partition == queue.name)
    return Share(name=queue.name, value=queue.share or 0.0, throttled=queue.share is not None, children=children)


def shares_with_keys(shares: tuple[Share, ...], key: tuple = ("shares",)) -> Iterator[tuple[tuple, Share]]:
    """Every share of the tree with its key, parents before their children."""
    for position, share in enumerate(shares):
        yield (*key, position), share
        yield from shares_with_keys(share.children, (*key, position, "children"))


def targets_of(shares: tuple[Share, ...], whole: float = 100.0,
               level: int = 1) -> Iterator[tuple[str, int, float, None]]:
    """Every share with its level and its target, % of all power, parents before their children."""
    total = sum(share.value for share in shares)
    for share in shares:
        target = whole * share.value / total if total else 0.0
        yield share.name, level, target, None
        yield from targets_of(share.children, target, level + 1)


def leaf_names(scenario: Any) -> list[str]:
    """Names of the leaf shares."""
    return [share.name for _, share in shares_with_keys(scenario.shares_in_use) if not share.children]


def leaf_of(scenario: Any, stream) -> str | None:
    """The leaf share of the tasks of a campaign or a group of users, without work queues; None if there is none."""
    if stream.gshare is not None:
        return stream.gshare
    leaves = (share for _, share in shares_with_keys(scenario.shares) if not share.children)
    return next((leaf.name for leaf in leaves if _takes(leaf, stream)), None)


def _takes(leaf: Share, stream) -> bool:
    """True if the rules of a leaf match all tasks of a stream.

    Matched from the start of the field; an empty field is not tested, but an empty working group is one blank.
    `rtype` is that of the task's queue, which tasks here do not name. Source: lifecycle reference, section 1.2.
    """
    fields = {tag: getattr(stream, tag) for tag in TAGS if tag != "rtype"}
    fields["workinggroup"] = fields["workinggroup"] or " "
    return all(re.match(getattr(leaf, tag), value) for tag, value in fields.items()
               if value and getattr(leaf, tag) is not None)
