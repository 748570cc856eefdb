"""Checks of the share tree, the work queues, the resource types and gdpconfig."""

import re
from collections.abc import Iterator, Sequence

from simgrid_broker.errors import nearest
from simgrid_broker.gdpconfig import find
from simgrid_broker.names import EVENT_SERVICE_QUEUE, GROUP_ATTRIBUTES, ROOT_SHARE
from simgrid_broker.scenario.criteria import CriteriaError, parse, unused, variables_of
from simgrid_broker.scenario.gdpconfig import settings, values_as_written
from simgrid_broker.scenario.loading.origins import Finding, Rules
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.scenario.shares import (
    PARTITION,
    RESOURCE,
    TAGS,
    Share,
    by_queue,
    leaf_names,
    leaf_of,
    shares_with_keys,
)

OFTEN_AT_FAULT = ("processingtype", "workinggroup", "campaign", "transpath", "prodsourcelabel")
"""Fields of a stream by which its tasks are tagged, those first that are most often at fault."""

WORK_QUEUES_BESIDE_SHARES = (EVENT_SERVICE_QUEUE,)
"""Work queues that gdpconfig may name and that are not shares; source: lifecycle reference, section 1.6."""


def share_twice(scenario: Scenario) -> Iterator[Finding]:
    """The names of shares are different, and none is empty or that of the root."""
    seen = {ROOT_SHARE}
    for key, share in shares_with_keys(scenario.shares):
        if share.name in seen:
            yield Finding((*key, "name"), share.name, "another share has this name" if share.name != ROOT_SHARE else
                          "the node above all shares has this name")
        elif not share.name.strip():
            yield Finding((*key, "name"), share.name, "expected a name")
        seen.add(share.name)


def share_below_nothing(scenario: Scenario) -> Iterator[Finding]:
    """A share of value 0 has no children with a value."""
    for key, share in shares_with_keys(scenario.shares):
        if share.value == 0 and any(child.value > 0 for child in share.children):
            yield Finding((*key, "value"), share.value, "must be above 0, because a child's value is")


def siblings_of_nothing(scenario: Scenario) -> Iterator[Finding]:
    """Among siblings one value at least is above 0, unless their parent's is 0, too."""
    groups = [(("shares",), scenario.shares)]
    groups += [((*key, "children"), share.children) for key, share in shares_with_keys(scenario.shares)
               if share.children and share.value > 0]
    for key, group in groups:
        if all(share.value == 0 for share in group):
            yield Finding(key, None, "one of the values at least must be above 0")


def bad_expression(scenario: Scenario) -> Iterator[Finding]:
    """The rules of shares are regular expressions."""
    for key, share in shares_with_keys(scenario.shares):
        for tag in TAGS:
            text = getattr(share, tag)
            try:
                re.compile(text or "")
            except re.error as error:
                yield Finding((*key, tag), text, f"is not a regular expression: {error}")


def no_resource_type(scenario: Scenario) -> Iterator[Finding]:
    """There is a resource type."""
    if not scenario.resource_types:
        yield Finding(("resource_types",), None, "at least one resource type is needed", of_absence=True)


def wrong_setting(scenario: Scenario) -> Iterator[Finding]:
    """The keys of gdpconfig exist, and their values have the right type."""
    yield from settings(scenario.gdpconfig)[1]


def work_without_share(scenario: Scenario) -> Iterator[Finding]:
    """Some leaf share takes the tasks of each campaign and group of users: PanDA declares other tasks broken."""
    if by_queue(scenario) or any(bad_expression(scenario)):
        return
    leaves = [share for _, share in shares_with_keys(scenario.shares) if not share.children]
    for kind in ("campaigns", "users"):
        for position, stream in enumerate(getattr(scenario.workload, kind)):
            if leaf_of(scenario, stream) is None:
                tag, close = _at_fault(stream, leaves)
                yield Finding(("workload", kind, position, tag), getattr(stream, tag), "no share takes its tasks: name "
                              "one (`gshare`), or give a share expressions that fit", close)


def _at_fault(stream, leaves: Sequence[Share]) -> tuple[str, tuple[str, ...]]:
    """The field of a stream that no leaf's expression matches although some are close, and these."""
    for tag in OFTEN_AT_FAULT:
        text, rules = getattr(stream, tag), [rule for leaf in leaves if (rule := getattr(leaf, tag))]
        if text and not any(re.match(rule, text) for rule in rules) and (close := nearest(text, rules)):
            return tag, close
    return "processingtype", ()


def setting_of_unknown_share(scenario: Scenario) -> Iterator[Finding]:
    """Keys of gdpconfig that name a share name a leaf."""
    for name, value in scenario.gdpconfig.items():
        yield from unknown_member(scenario, ("gdpconfig", name), name, value)


def unknown_member(scenario: Scenario, key: tuple, name: str, value) -> Iterator[Finding]:
    """A finding if the gdpconfig key `name` names a share that is not a leaf."""
    leaves = [*leaf_names(scenario), *(queue.name for queue in getattr(scenario, "work_queues", ()))]
    for member in dict.fromkeys(match.members.get(place) for match in find(name) for place in PLACES_OF_SHARES):
        if member and member not in (*leaves, *WORK_QUEUES_BESIDE_SHARES):
            yield Finding(key, value, f"no leaf share or work queue is called {member!r}", nearest(member, leaves),
                          unknown=member)


PLACES_OF_SHARES = ("gshare", "queue", "queueOrNone")
"""Placeholders of a key in whose place a share is named."""

SHARE_RULES: Rules = (share_twice, share_below_nothing, siblings_of_nothing, bad_expression, no_resource_type,
                      wrong_setting, setting_of_unknown_share)


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
    """Faults in the criteria and variables of one queue."""
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
    """Sub queues are normal ones, and every partition has some."""
    used = {queue.partition for queue in scenario.work_queues}
    for number, queue in enumerate(scenario.work_queues):
        key = ("work_queues", number, "partition")
        if queue.partition is not None and queue.function in (PARTITION, RESOURCE):
            yield Finding(key, queue.partition, f"only normal queues are sub queues; this one is {queue.function}")
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
    for key, name, value in values_as_written(scenario):
        if name.partition(".")[2].startswith(GROUP_KEY) or name.startswith(GROUP_KEY):
            if isinstance(value, str) and value and value not in GROUP_ATTRIBUTES:
                yield Finding(key, value, "expected an attribute of tasks, or nothing for priority alone: "
                              f"{', '.join(GROUP_ATTRIBUTES)}", nearest(value, GROUP_ATTRIBUTES))


WORK_QUEUE_RULES = (queue_twice, bad_order, bad_criteria, bad_partition, queues_of_nothing, bad_group_attribute)
