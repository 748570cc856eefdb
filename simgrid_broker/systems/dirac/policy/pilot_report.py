"""Request that DIRAC's Matcher makes of the report of a pilot; source: DIRAC reference, section 6."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from simgrid_broker.systems.dirac.policy.edition import Edition

KEPT = ("Owner", "OwnerGroup", "CPUTime", "GridCE", "Site", "Platform", "JobType", "MaxRAM", "JobID",
        "OwnerDN", "Setup", "PilotType", "LHCbPlatform")
"""Fields of a report that become fields of the request as they are; bans do not, and OwnerDN to LHCbPlatform have a
meaning in the documented edition only."""
MOST_PROCESSORS = 1024
"""Largest number of processors for which each smaller number is offered as a tag; source: DIRAC reference, 6.3."""
MULTI, WHOLE_NODE = "MultiProcessor", "WholeNode"
ONLY_TESTS = {"JobType": "Test"}
"""Request of a pilot of a banned site."""


@dataclass(frozen=True)
class Credentials:
    """Who a pilot belongs to: a generic one serves all groups of its VO, a private one the group of its user."""

    generic: bool
    username: str = ""
    group: str = ""
    groups_of_vo: tuple[str, ...] = ()


def request_of_pilot(report: Mapping[str, Any], sharing: Collection[str] = (), credentials: Credentials | None = None,
                     banned_sites: Collection[str] = (), *, edition: Edition) -> tuple[dict[str, Any], bool]:
    """The request that the Matcher makes of a report, and whether task queues must name the GridCE.

    sharing: groups with JOB_SHARING; banned_sites: sites that are not in use.
    """
    request = {name: report[name] for name in KEPT if name in report} | _tags(report)
    request |= {} if credentials is None else _of_credentials(request, credentials, sharing, edition.owner)
    if report.get("Site") not in banned_sites or not isinstance(report.get("Site"), str):
        return request, False
    if edition.ce_if_banned:
        return {name: value for name, value in request.items() if name != "Site"}, True
    return request | ONLY_TESTS, False


def _tags(report: Mapping[str, Any]) -> dict[str, list[str]]:
    """Tag and RequiredTag: those of the report, of its processors and WholeNode; RequiredTag counts beside Tag only."""
    found: dict[str, list[str]] = {}
    if report.get("Tag") is not None:
        found = {name: listed_tags(report[name]) for name in ("Tag", "RequiredTag") if report.get(name) is not None}
    more = [*processor_tags(report.get("NumberOfProcessors")), *([WHOLE_NODE] if "WholeNode" in report else [])]
    if more:
        found["Tag"] = [*found.get("Tag", []), *more]
    return {name: list(dict.fromkeys(tags)) if all(isinstance(tag, str) for tag in tags) else tags
            for name, tags in found.items()}


def listed_tags(given: Any) -> list[Any]:
    """Tags of a list, or of a text such as "[a, 'b']"; anything else as the one tag, which a request refuses."""
    if not isinstance(given, str):
        return list(given) if isinstance(given, (list, tuple)) else [given]
    return [part.strip().strip("\"'").strip() for part in given.strip().strip("[]").split(",")]


def processor_tags(given: Any) -> list[str]:
    """Tags of n processors: kProcessors for each k up to n, none of them above 1024, and MultiProcessor above 1."""
    try:
        number = int(given)
    except (TypeError, ValueError):
        return []
    each = [f"{k}Processors" for k in range(1, number + 1)] if number <= MOST_PROCESSORS else []
    return [*each, *([MULTI] if number > 1 else [])]


def _of_credentials(request: Mapping[str, Any], pilot: Credentials, sharing: Collection[str],
                    owner: str) -> dict[str, Any]:
    """Owner and OwnerGroup of a pilot; a private one of a group without JOB_SHARING serves its own user only (D7)."""
    if pilot.generic:
        return {} if "OwnerGroup" in request else {"OwnerGroup": list(pilot.groups_of_vo)}
    group = {"OwnerGroup": pilot.group}
    return group if pilot.group in sharing else group | {owner: pilot.username}
