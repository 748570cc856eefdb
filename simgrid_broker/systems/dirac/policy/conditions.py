"""The conditions under which a task queue matches a request; all of them must hold."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from simgrid_broker.systems.dirac.policy.request import BANNED_BY, Request, has_wildcard

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
