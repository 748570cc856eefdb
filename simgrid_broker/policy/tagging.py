"""Tagging: which leaf of the share tree a task is in; source: Global Shares paper, 2.2; lifecycle reference, 1.2."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property

UNDEFINED = -1
"""Leaf of a task that no rule matches; PanDA declares such a task broken."""
BLANK = " "
"""Text of an empty working group."""


@dataclass(frozen=True)
class TagRule:
    """Regular expressions of one leaf, matched from the start of a field; None matches everything."""

    leaf: int
    prodsourcelabel: str | None = None
    workinggroup: str | None = None
    campaign: str | None = None
    processingtype: str | None = None
    transpath: str | None = None
    rtype: str | None = None

    @cached_property
    def patterns(self) -> tuple[tuple[str, re.Pattern], ...]:
        """The fields that the rule tests, compiled; raises re.error for an invalid expression."""
        expressions = ((field.name, getattr(self, field.name)) for field in fields(self) if field.name != "leaf")
        return tuple((name, re.compile(text)) for name, text in expressions if text is not None)


def tag(rules: Iterable[TagRule], task: Mapping[str, str]) -> int:
    """Leaf of the first rule that matches, UNDEFINED if none does.

    `task` gives the fields of `TagRule` by name; a field that is empty or missing is not tested, except the working
    group, which is then a blank. `rtype` is the CRIC resource_type of the first queue that the task names.
    """
    for rule in rules:
        if all(_matches(name, pattern, task.get(name) or "") for name, pattern in rule.patterns):
            return rule.leaf
    return UNDEFINED


def _matches(name: str, pattern: re.Pattern, value: str) -> bool:
    if not value:
        if name != "workinggroup":
            return True
        value = BLANK
    return pattern.match(value) is not None
