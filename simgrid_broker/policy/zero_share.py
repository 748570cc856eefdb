"""Zero share: what a queue's `fairsharepolicy` says about a task.

What lives here: the grammar and its evaluation. What does not: the criterion (`job_brokerage.candidates`), and what is
wrong with a policy (`zero_share_strict`).

Sources: PanDA brokerage documentation, Zero Share; brokerage reference, section 6 (differences D42, D43). Text that is
not understood never stops a decision: a field that is no known filter is no filter, as in PanDA.
"""

import re
from dataclasses import dataclass
from functools import cache
from operator import eq, ge, gt, le, lt, ne

from simgrid_broker.names import PROCESSING_GROUPS

COMPARISONS = {">": gt, "<": lt, ">=": ge, "<=": le, "==": eq, "!=": ne}
UNDOCUMENTED_GROUPS = ("mcore",)
"""Groups that the code knows and the documentation's list lacks; source: D43."""

TEST_GROUP = "test"
"""Group of tests. The documentation lists it among the types that a policy may name; the code asks no policy for it."""

PRIORITY = re.compile(r"\s*(>=|<=|==|!=|>|<)\s*([-+]?(?:0+|[1-9]\d*|\d+\.\d*|\.\d+))\s*", re.ASCII)
"""A comparison that the code can evaluate: Python knows no whole number with a leading 0."""


@dataclass(frozen=True)
class SubPolicy:
    """One sub-policy; a filter that is None is absent. `priority` is the comparison as written."""

    zero: bool
    type: str | None = None
    group: str | None = None
    gshare: str | None = None
    priority: str | None = None


@cache
def parse_policy(text: str) -> tuple[SubPolicy, ...]:
    """The sub-policies of a `fairsharepolicy` in order; any text is accepted, empty text has none."""
    return tuple(_parse_sub_policy(part) for part in text.split(",")) if text else ()


def processing_group(processingtype: str, edition: str) -> str:
    """The group that `type=` addresses: PanDA's group of the processing type, or `others`."""
    group = PROCESSING_GROUPS.get(processingtype, "others")
    return "others" if edition == "documented" and group in UNDOCUMENTED_GROUPS else group


def has_zero_share(policy: str, *, processingtype: str, workinggroup: str, gshare: str, currentpriority: int,
                   is_merging: bool, edition: str) -> bool:
    """Whether the first sub-policy that matches the task says zero; without a match it does not.

    As documented a policy may name tests (`type=test:0%`); as deployed tests are never refused.
    """
    group = processing_group(processingtype, edition)
    if group == TEST_GROUP and edition == "deployed":
        return False
    for sub in parse_policy(policy):
        try:
            matches = (_matches(sub.type, group) and _matches(sub.group, workinggroup or "")
                       and (not gshare or _matches(sub.gshare, gshare))
                       and _priority_matches(sub.priority, currentpriority, is_merging, edition))
        except re.error:
            return False                        # as in PanDA: an error while matching refuses nobody
        if matches:
            return sub.zero
    return False


def _parse_sub_policy(text: str) -> SubPolicy:
    fields = text.split(":")
    filters = {}
    for field in fields:
        for name in ("type", "group", "gshare"):
            if field.startswith(name + "="):
                filters[name] = field.split("=")[-1]
        if field.startswith("priority"):
            filters["priority"] = field.removeprefix("priority")
    return SubPolicy(fields[-1] in ("0", "0%"), **filters)


def _matches(pattern: str | None, value: str) -> bool:
    return pattern in (None, "any") or re.fullmatch(pattern.replace("*", ".*"), value) is not None


def _priority_matches(expression: str | None, priority: int, is_merging: bool, edition: str) -> bool:
    """Whether the priority filter holds; for merge jobs it is passed over (documented) or holds unseen (D42)."""
    if expression in (None, "any"):
        return True
    if is_merging:
        return edition == "deployed"
    comparison = PRIORITY.fullmatch(expression)
    return comparison is None or COMPARISONS[comparison[1]](priority, float(comparison[2]))
