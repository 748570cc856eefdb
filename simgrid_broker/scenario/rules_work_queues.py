"""Checks of the work queues of a scenario."""

from collections.abc import Iterator
from typing import Any

from simgrid_broker.errors import nearest
from simgrid_broker.names import GROUP_ATTRIBUTES
from simgrid_broker.scenario.criteria import CriteriaError, parse, unused, variables_of
from simgrid_broker.scenario.locate import Finding
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.scenario.rules_shares import shares_with_keys
from simgrid_broker.scenario.work_queues import PARTITION, RESOURCE, by_queue

GROUP_KEY = "GROUPBYATTR_"


def queue_twice(scenario: Scenario) -> Iterator[Finding]:
    """The names of work queues are different, and none is that of a share of the tree that is in force."""
    shares = () if by_queue(scenario) else {share.name for _, share in shares_with_keys(scenario.shares)}
    seen = set()
    for number, queue in enumerate(scenario.work_queues):
        key = ("work_queues", number, "name")
        if queue.name in seen:
            yield Finding(key, queue.name, "another work queue has this name")
        elif queue.name in shares:
            yield Finding(key, queue.name, "a share has this name, and gdpconfig keys could not tell them apart")
        seen.add(queue.name)


def bad_order(scenario: Scenario) -> Iterator[Finding]:
    """Queues with criteria have an order of their own, partitions have none (JEDI TWiki: QUEUE_ORDER is unique)."""
    seen: dict[int, str] = {}
    for number, queue in enumerate(scenario.work_queues):
        key = ("work_queues", number, "order")
        if queue.function == PARTITION:
            if queue.order is not None:
                yield Finding(key, queue.order, "a partition has no order; its sub queues have")
        elif queue.order is None:
            yield Finding(key, None, "expected a whole number: queues are tried from the lowest")
        elif queue.order in seen:
            yield Finding(key, queue.order, f"{seen[queue.order]!r} has this order already")
        else:
            seen[queue.order] = queue.name


def bad_criteria(scenario: Scenario) -> Iterator[Finding]:
    """Criteria and variables can be read, variables are used, and partitions have neither."""
    for number, queue in enumerate(scenario.work_queues):
        for name in ("criteria", "variables"):
            if queue.function == PARTITION and getattr(queue, name):
                yield Finding(("work_queues", number, name), getattr(queue, name),
                              "a partition has none; its sub queues have")
        yield from _unreadable(number, queue)


def _unreadable(number: int, queue) -> Iterator[Finding]:
    """What cannot be read of one queue."""
    variables, name = {}, "variables"
    try:
        variables = variables_of(queue.variables)
        name = "criteria"
        parse(queue.criteria, variables)
    except CriteriaError as error:
        yield Finding(("work_queues", number, name), getattr(queue, name), str(error), error.nearest)
        return
    for variable in unused(variables, queue.criteria) if queue.function != PARTITION else ():
        yield Finding(("work_queues", number, "variables"), queue.variables,
                      f"the criteria do not use the variable {variable}")


def bad_partition(scenario: Scenario) -> Iterator[Finding]:
    """Sub queues are normal ones of a partition that exists, and every partition has some."""
    partitions = [queue.name for queue in scenario.work_queues if queue.function == PARTITION]
    used = {queue.partition for queue in scenario.work_queues}
    for number, queue in enumerate(scenario.work_queues):
        key = ("work_queues", number, "partition")
        if queue.partition is not None and queue.function in (PARTITION, RESOURCE):
            yield Finding(key, queue.partition, f"only normal queues are sub queues; this one is {queue.function}")
        elif queue.partition is not None and queue.partition not in partitions:
            yield Finding(key, queue.partition, "unknown partition", nearest(queue.partition, partitions))
        if queue.function == PARTITION and queue.name not in used:
            yield Finding(("work_queues", number, "name"), queue.name, "the partition has no sub queues")


def queues_of_nothing(scenario: Scenario) -> Iterator[Finding]:
    """Of normal queues and partitions that take the place of the share tree one at least has a share above 0."""
    if not by_queue(scenario):
        return
    groups: dict[str | None, list] = {}
    for queue in scenario.work_queues:
        if queue.status == "active":
            groups.setdefault(queue.partition, []).append(queue)
    nothing = {queue.name for queue in scenario.work_queues if not queue.share}
    for partition, group in groups.items():
        if not any(queue.share for queue in group) and partition not in nothing:
            of = f"of partition {partition!r}" if partition else "outside of partitions"
            yield Finding(("work_queues",), None, f"one queue {of} at least must have a share above 0")


def bad_group_attribute(scenario: Scenario) -> Iterator[Finding]:
    """GROUPBYATTR names an attribute of tasks; PanDA would go on by priority alone."""
    said: list[tuple[tuple, str, Any]]
    said = [(("gdpconfig", name), name, value) for name, value in scenario.gdpconfig.items()]
    said += [(("incidents", number, "value"), incident.key, incident.value) for number, incident in
             enumerate(scenario.incidents) if incident.what == "gdpconfig" and incident.key]
    for key, name, value in said:
        if name.partition(".")[2].startswith(GROUP_KEY) or name.startswith(GROUP_KEY):
            if isinstance(value, str) and value and value not in GROUP_ATTRIBUTES:
                yield Finding(key, value, "expected an attribute of tasks, or nothing for priority alone: "
                              f"{', '.join(GROUP_ATTRIBUTES)}", nearest(value, GROUP_ATTRIBUTES))


WORK_QUEUE_RULES = (queue_twice, bad_order, bad_criteria, bad_partition, queues_of_nothing, bad_group_attribute)
