"""A match request: the description of a resource, checked as DIRAC checks it, or made by the Matcher of the report of a
pilot; the conditions under which a task queue matches it, all of which must hold; and the fields, conditions and
priorities of an edition.

Source: DIRAC reference, section 6.
"""

import string
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

WILDCARD = "any"
WHOLE = ("CPUTime", "MaxRAM", "JobID")
"""Fields of a request that are whole numbers."""
NEVER_EMPTY = ("CPUTime", "Owner", "OwnerGroup")
"""Fields of which an empty list is an error."""
ONE_NUMBER = ("MaxRAM", "JobID")
"""Fields of which several values are an error."""
TAGS = ("Tag", "RequiredTag")
"""Fields of which an empty text is a value; for others it is no condition."""

Values = tuple[Any, ...]
Ban = Mapping[str, Values]
"""A negative condition: values by attribute."""


class Malformed(ValueError):
    """A request, or a negative condition, to which DIRAC answers with an error; kind: type, required tags or query."""

    def __init__(self, kind: str, text: str):
        self.kind = kind
        super().__init__(text)


@dataclass(frozen=True)
class Request:
    """A checked request.

    values: the fields that are given, each a tuple; sharing: groups with JOB_SHARING; named_ce: task queues must name
    the GridCE, because the site of the pilot is banned; bans: negative conditions, which exclude a task queue together.
    """

    values: Mapping[str, Values]
    sharing: frozenset[str] = frozenset()
    named_ce: bool = False
    bans: tuple[Ban, ...] = ()

    def given(self, name: str) -> Values:
        """Values of a field that are a condition: () if it is missing, empty or holds the wildcard."""
        return self._conditions.get(name, ())

    @cached_property
    def _conditions(self) -> Mapping[str, Values]:
        return {name: values for name, values in self.values.items() if not has_wildcard(values)}


def has_wildcard(values: Values) -> bool:
    """True if ANY is among the values, whatever its case and punctuation; blanks count: DIRAC reference, 7.2."""
    return any(isinstance(value, str) and _without_punctuation(value).lower() == WILDCARD for value in values)


def checked_request(given: Mapping[str, Any], fields: Iterable[str], sharing: Collection[str] = (), *,
                    named_ce: bool = False, negative: Any = None) -> Request:
    """A request with its values checked; raises Malformed.

    fields: those that have a meaning in the edition; sharing, named_ce: as of a `Request`; negative: a negative
    condition, or a list of them. Source: DIRAC reference, 7.1, 7.4 and 8.1. An empty list of CPU times, owners or
    groups, and several memories or job ids, are refused by name, where DIRAC fails (quirk malformed_request).
    """
    if given.get("CPUTime") is None:
        raise Malformed("type", "CPUTime is missing")
    values = {name: _values(name, given[name]) for name in fields if given.get(name) is not None}
    if values.get("JobID") == ():
        del values["JobID"]
    for name in ONE_NUMBER:
        if len(values.get(name, (0,))) != 1:
            raise Malformed("query", f"{name} {given[name]!r} is not one number")
    required = values.get("RequiredTag", ())
    if not has_wildcard(required) and not set(required) <= set(values.get("Tag", ())):
        raise Malformed("required tags", f"RequiredTag {', '.join(required) or repr('')} is not among the Tag of the "
                        f"resource ({', '.join(values.get('Tag', ())) or 'none'})")
    return Request(values, frozenset(sharing), named_ce, _bans(negative))


def _values(name: str, given: Any) -> Values:
    """The values of one field as a tuple; raises Malformed."""
    kind, called = (int, "a whole number") if name in WHOLE else (str, "text")
    if given == "" and name not in (*TAGS, *NEVER_EMPTY):
        return ()
    values = tuple(given) if isinstance(given, (list, tuple)) else (given,)
    if wrong := [value for value in values if not isinstance(value, kind) or isinstance(value, bool)]:
        raise Malformed("type", f"{name} {wrong[0]!r} is not {called}")
    if not values and name in NEVER_EMPTY:
        raise Malformed("query", f"{name} is an empty list")
    return values


def _bans(negative: Any) -> tuple[Ban, ...]:
    """Negative conditions with the attributes that are known; raises Malformed if one has none of these."""
    bans: list[Ban] = []
    for ban in negative if isinstance(negative, (list, tuple)) else [negative] if negative else []:
        known = {name: tuple(values) if isinstance(values, (list, tuple)) else (values,)
                 for name, values in ban.items() if name in BANNED_BY}
        if ban and not known:
            raise Malformed("query", f"the negative condition on {', '.join(ban)} has no known attribute; known are "
                            + ", ".join(BANNED_BY))
        bans += [known] if known else []
    return tuple(bans)


BANNED_BY = {"Owner": "Owner", "OwnerGroup": "OwnerGroup", "CPUTime": "CPUTime", "Site": "Sites", "GridCE": "GridCEs",
             "Platform": "Platforms", "JobType": "JobTypes", "Tag": "Tags"}
"""Attributes of negative conditions, with the fields of a task queue that they concern."""


def _without_punctuation(text: str) -> str:
    return text.translate(_PUNCTUATION)


_PUNCTUATION = str.maketrans("", "", string.punctuation)


REFERENCE = "DIRAC reference, "
PAGE = "DIRAC Task Queue Matching, resource matching; DIRAC reference, "


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A condition of matching.

    name: DIRAC's; queue: fields of a task queue that it reads, in the order of its arguments; request: fields of the
    request; source: document and section; says: the refusal in words, with {queue} and {request}; holds: function of
    the values of the task queue and of the request; membership: whether it holds, but for pilots of banned sites, if a
    value of the request is among those of the task queue, or one of them names none.
    """

    name: str
    queue: tuple[str, ...]
    request: tuple[str, ...]
    source: str
    says: str
    holds: Callable[..., bool]
    membership: bool = False
    together: bool = False

    def met(self, queue: Mapping[str, Any], request: Request) -> bool:
        """True if the condition holds for a task queue, given by its fields."""
        values = {name: queue[name] for name in self.queue}
        return self.holds(values, request) if self.together else self.holds(*values.values(), request)

    def reason(self, queue: Mapping[str, Any], request: Request) -> str:
        """Why it does not hold, in words."""
        of_queue = "; ".join(f"{name} {listed(queue[name])}" for name in self.queue)
        asked = "; ".join(f"{name} {listed(request.values[name])}" for name in self.request if name in request.values)
        return self.says.format(queue=of_queue, request=asked or "no " + " or ".join(self.request))


def listed(values: Any) -> str:
    """Values as a reader expects them."""
    if isinstance(values, (tuple, list, frozenset)):
        return ", ".join(sorted(map(str, values)) if isinstance(values, frozenset) else map(str, values)) or "none"
    return str(values) or "none"


def condition(name: str, *, queue: str | tuple[str, ...], request: str | tuple[str, ...], source: str,
              says: str = "task queue: {queue}; request: {request}",
              membership: bool = False, together: bool = False) -> Callable[[Callable[..., bool]], Condition]:
    """Make a condition of a function; arguments as the fields of `Condition`."""
    def make(holds: Callable[..., bool]) -> Condition:
        return Condition(name=name, queue=(queue,) if isinstance(queue, str) else queue, source=source, says=says,
                         request=(request,) if isinstance(request, str) else request, holds=holds,
                         membership=membership, together=together)
    return make


@condition("CPUTime", queue="CPUTime", request="CPUTime", source=PAGE + "7.1",
           says="CPU class above the offer: {queue}; request: {request}")
def cpu_time(cpu_class: int, request: Request) -> bool:
    """The CPU class is not above the CPU time that the resource offers, of several any."""
    return any(cpu_class <= offered for offered in request.given("CPUTime"))


@condition("OwnerGroup", queue=("Owner", "OwnerGroup"), request=("Owner", "OwnerGroup"), source=REFERENCE + "7.1")
def owner(of_owner: str, of_group: str, request: Request) -> bool:
    """The group is one of the resource's, and its owner is, too, unless the group has JOB_SHARING.

    With several groups all other conditions hold for each (quirk owner_and_several_groups); ANY is no wildcard.
    """
    return _of_resource(of_owner, of_group, request.values.get("Owner"), request)


@condition("OwnerDN", queue=("OwnerDN", "OwnerGroup"), request=("OwnerDN", "OwnerGroup"), source=PAGE + "7.1")
def owner_dn(of_owner: str, of_group: str, request: Request) -> bool:
    """The group of a private pilot, and its owner, too, unless the group has JOB_SHARING."""
    return _of_resource(of_owner, of_group, request.values.get("OwnerDN"), request)


def _of_resource(of_owner: str, of_group: str, owners: tuple | None, request: Request) -> bool:
    groups = request.values.get("OwnerGroup")
    if groups is not None and of_group not in groups:
        return False
    return owners is None or of_owner in owners or (groups is not None and of_group in request.sharing)


@condition("Setup", queue="Setup", request="Setup", source=PAGE + "1")
def setup(of_queue: str, request: Request) -> bool:
    """The setup is the resource's; a resource that names none gets jobs of any."""
    asked = request.values.get("Setup")
    return asked is None or of_queue in asked


@condition("PilotType", queue="PilotTypes", request="PilotType", source=PAGE + "7.9")
def pilot_type(accepted: frozenset[str], request: Request) -> bool:
    """The job accepts the type of the pilot; a pilot without a type gets jobs that require none."""
    given = request.given("PilotType")
    return not accepted or not accepted.isdisjoint(given)


@condition("Site", queue="Sites", request="Site", source=PAGE + "7.2", membership=True)
def site(accepted: frozenset[str], request: Request) -> bool:
    """A site of the resource is among those of the job, if both name any."""
    return _accepted(accepted, request.given("Site"))


@condition("BannedSites", queue="BannedSites", request="Site", source=PAGE + "7.3")
def banned_site(banned: frozenset[str], request: Request) -> bool:
    """Not all sites of the resource are banned by the job; without a site nothing is."""
    given = request.given("Site")
    return not given or not banned.issuperset(given)


@condition("GridCE", queue="GridCEs", request="GridCE", source=PAGE + "7.2 and 7.6", membership=True)
def grid_ce(accepted: frozenset[str], request: Request) -> bool:
    """A CE of the resource is among those of the job, if both name any; at a banned site the job must name it."""
    given = request.given("GridCE")
    return not accepted.isdisjoint(given) if request.named_ce else _accepted(accepted, given)


@condition("Platform", queue="Platforms", request="Platform", source=REFERENCE + "7.2", membership=True)
def platform(accepted: frozenset[str], request: Request) -> bool:
    """A platform of the resource is among those of the job, if both name any; D6."""
    return _accepted(accepted, request.given("Platform"))


@condition("LHCbPlatform", queue="LHCbPlatforms", request="LHCbPlatform", source=PAGE + "16 (D6)", membership=True)
def lhcb_platform(accepted: frozenset[str], request: Request) -> bool:
    """The platform of the resource is among those of the job, if both name any."""
    return _accepted(accepted, request.given("LHCbPlatform"))


@condition("JobType", queue="JobTypes", request="JobType", source=REFERENCE + "7.2", membership=True)
def job_type(accepted: frozenset[str], request: Request) -> bool:
    """A job type of the resource is among those of the job, if both name any."""
    return _accepted(accepted, request.given("JobType"))


def _accepted(accepted: frozenset[str], given: tuple) -> bool:
    return not given or not accepted or not accepted.isdisjoint(given)


@condition("Tag", queue="Tags", request="Tag", source=REFERENCE + "7.4 (D9)",
           says="tags that the resource lacks: {queue}; request: {request}")
def offered_tags(tags: frozenset[str], request: Request) -> bool:
    """All tags of the job are the resource's; one without Tag gets untagged jobs, unless it gives RequiredTag."""
    if "Tag" not in request.values and "RequiredTag" in request.values:
        return True
    given = request.values.get("Tag", ())
    return has_wildcard(given) or tags.issubset(given)


@condition("RequiredTag", queue="Tags", request="RequiredTag", source=REFERENCE + "7.4 (D9)",
           says="tags that the resource requires: {queue}; request: {request}")
def required_tag(tags: frozenset[str], request: Request) -> bool:
    """All tags that the resource requires are the job's; a tag that is given twice is required twice."""
    required = request.given("RequiredTag")
    return len(tags.intersection(required)) == len(required)


@condition("MaxRAM", queue="MinRAM", request="MaxRAM", source=REFERENCE + "7.6 (D9)",
           says="more memory than offered: {queue}; request: {request}")
def max_ram(least: int, request: Request) -> bool:
    """The job needs no more memory than the resource offers; MaxRAM of the job is no condition."""
    return all(least <= offered for offered in request.given("MaxRAM"))


def resource_bans(field: str) -> Condition:
    """The condition that a task queue does not have all values of a field that the resource bans."""
    @condition(f"Banned{field}", queue=BANNED_BY[field], request=f"Banned{field}", source=REFERENCE + "7.7",
               says="names all that the resource bans: {queue}; request: {request}")
    def not_banned(of_queue: frozenset[str], request: Request) -> bool:
        banned = request.given(f"Banned{field}")
        return not banned or not of_queue.issuperset(banned)
    return not_banned


@condition("negative condition", queue=tuple(BANNED_BY.values()), request=(), source=REFERENCE + "8.1 (D10)",
           says="excluded by a limit at the site: {queue}", together=True)
def negative_condition(of_queue: Mapping[str, Any], request: Request) -> bool:
    """Not all negative conditions exclude the task queue; one does if all its attributes do.

    Two values of an attribute of which a task queue has one exclude none, as in DIRAC.
    """
    return not request.bans or not all(all(_hit(of_queue[BANNED_BY[name]], values) for name, values in ban.items())
                                       for ban in request.bans)


def _hit(of_queue: Any, banned: tuple) -> bool:
    """True if an attribute of a task queue is banned; an empty list never is."""
    if isinstance(of_queue, frozenset):
        return not of_queue.isdisjoint(banned)
    return banned == (of_queue,)


WITHOUT_LIMIT = 0


@dataclass(frozen=True, kw_only=True)
class Edition:
    """Differences between the editions.

    single, lists: fields of a job that are the identity of its task queue, with one value and with several; memory:
    MinRAM and MaxRAM belong to it, too; cpu_classes: CPU times of task queues, s, ascending; configurable: these can
    be configured; conditions: all that a task queue must meet, in the order in which they are asked; longest_first:
    only the matching task queues of the highest CPU time compete; window: oldest jobs of a class among which one is
    drawn; most_jobs: of a task queue, 0 = no limit; weight: of a task queue inside its entity, from the real
    priorities of its jobs; least_priority: of a task queue; background: groups may allow background queues; pooled:
    task queues that differ in sites and memory only add up their priorities; ce_if_banned: a pilot of a banned site
    gets jobs that name its GridCE, else those of the type Test or of none; limits: running jobs and delays of sites are
    limited.
    """

    name: str
    single: tuple[str, ...]
    lists: tuple[str, ...]
    memory: bool
    cpu_classes: tuple[int, ...]
    configurable: bool
    conditions: tuple[Condition, ...]
    longest_first: bool
    window: int
    most_jobs: int
    weight: Callable[[Iterable[tuple[int, int]]], float]
    least_priority: float
    background: bool
    pooled: bool
    ce_if_banned: bool
    limits: bool

    @property
    def owner(self) -> str:
        """Field that names the owner of a job."""
        return self.single[0]

    @property
    def fields(self) -> tuple[str, ...]:
        """All fields of a job that have a meaning."""
        return (*self.single, "CPUTime", *self.lists, *(("MinRAM", "MaxRAM") if self.memory else ()))

    @property
    def request_fields(self) -> tuple[str, ...]:
        """All fields of a request that have a meaning."""
        asked = [name for condition in self.conditions for name in condition.request]
        return tuple(dict.fromkeys([*asked, "JobID"]))


def cpu_classes(edition: Edition, job_scheduling: object) -> tuple[int, ...]:
    """CPU times of task queues: option taskQueueCPUTimeIntervals, or the default if that is no strictly increasing
    list of positive whole numbers, which may also be text with commas; source: DIRAC reference, section 3."""
    option = job_scheduling.get("taskQueueCPUTimeIntervals") if isinstance(job_scheduling, dict) else None
    option = option.split(",") if isinstance(option, str) else option
    if not edition.configurable or not isinstance(option, (list, tuple)):
        return edition.cpu_classes
    try:
        classes = tuple(int(str(value)) for value in option)
    except ValueError:
        return edition.cpu_classes
    rising = all(lower < upper for lower, upper in zip((0, *classes), classes, strict=False))
    return classes if classes and rising else edition.cpu_classes


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
