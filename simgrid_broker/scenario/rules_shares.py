"""Checks of the share tree, the resource types and gdpconfig."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from simgrid_broker.errors import nearest
from simgrid_broker.names import EVENT_SERVICE_QUEUE, KNOWN_RESOURCE_TYPES, ROOT_SHARE
from simgrid_broker.scenario.gdpconfig import find, settings
from simgrid_broker.scenario.locate import Finding, Rules
from simgrid_broker.scenario.model import Scenario, Share
from simgrid_broker.scenario.work_queues import by_queue

TAGS = ("prodsourcelabel", "workinggroup", "campaign", "processingtype", "transpath", "rtype")
"""Fields of a share that are regular expressions."""
OFTEN_AT_FAULT = ("processingtype", "workinggroup", "campaign", "transpath", "prodsourcelabel")
"""Fields of a stream by which its tasks are tagged, those first that are most often at fault."""

WORK_QUEUES_BESIDE_SHARES = (EVENT_SERVICE_QUEUE,)
"""Work queues that gdpconfig may name and that are not shares; source: lifecycle reference, section 1.6."""


def shares_with_keys(shares: tuple[Share, ...], key: tuple = ("shares",)) -> Iterator[tuple[tuple, Share]]:
    """Every share of the tree with its key, parents before their children."""
    for position, share in enumerate(shares):
        yield (*key, position), share
        yield from shares_with_keys(share.children, (*key, position, "children"))


def leaf_names(scenario: Any) -> list[str]:
    """Names of the leaf shares."""
    return [share.name for _, share in shares_with_keys(scenario.shares_in_use) if not share.children]


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


def unknown_resource_type(scenario: Scenario) -> Iterator[Finding]:
    """The resource types are PanDA's, and there is one."""
    if not scenario.resource_types:
        yield Finding(("resource_types",), None, "at least one resource type is needed", of_absence=True)
    for name in scenario.resource_types:
        if name not in KNOWN_RESOURCE_TYPES:
            yield Finding(("resource_types", name), name, "PanDA has no such resource type",
                          nearest(name, KNOWN_RESOURCE_TYPES))


def bounds_upside_down(scenario: Scenario) -> Iterator[Finding]:
    """The lower bounds of a resource type do not exceed the upper ones."""
    for name, bounds in scenario.resource_types.items():
        for what in ("core", "rampercore"):
            lower, upper = getattr(bounds, f"min{what}"), getattr(bounds, f"max{what}")
            if lower is not None and upper is not None and lower > upper:
                yield Finding(("resource_types", name, f"min{what}"), lower, f"must not exceed max{what}, {upper}")


def wrong_setting(scenario: Scenario) -> Iterator[Finding]:
    """The keys of gdpconfig exist, and their values have the right type."""
    yield from settings(scenario.gdpconfig)[1]


def work_without_share(scenario: Scenario) -> Iterator[Finding]:
    """Some leaf share takes the tasks of each campaign and group of users: PanDA declares other tasks broken."""
    if by_queue(scenario):
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


def leaf_of(scenario: Scenario, stream) -> str | None:
    """The leaf share of the tasks of a campaign or a group of users, without work queues; None if there is none."""
    if stream.gshare is not None:
        return stream.gshare
    leaves = (share for _, share in shares_with_keys(scenario.shares) if not share.children)
    return next((leaf.name for leaf in leaves if _takes(leaf, stream)), None)


def _takes(leaf: Share, stream) -> bool:
    """Whether the rules of a leaf match all tasks of a stream.

    Matched from the start of the field; an empty field is not tested, but an empty working group is one blank.
    `rtype` is that of the task's queue, which tasks here do not name. Source: lifecycle reference, section 1.2.
    """
    fields = {tag: getattr(stream, tag) for tag in TAGS if tag != "rtype"}
    fields["workinggroup"] = fields["workinggroup"] or " "
    return all(re.match(getattr(leaf, tag), value) for tag, value in fields.items()
               if value and getattr(leaf, tag) is not None)


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

SHARE_RULES: Rules = (share_twice, share_below_nothing, siblings_of_nothing, bad_expression, unknown_resource_type,
                      bounds_upside_down, wrong_setting, setting_of_unknown_share)
