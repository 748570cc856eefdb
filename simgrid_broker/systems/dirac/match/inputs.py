"""A snapshot of DIRAC's task queues as the matcher sees it, and what in the input has no effect."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from simgrid_broker.errors import did_you_mean, nearest
from simgrid_broker.systems.dirac.input.snapshot import DiracCredentials, DiracRequests, DiracSnapshot
from simgrid_broker.systems.dirac.policy.priorities import (
    DEFAULT_SHARE,
    DIRAC_EDITIONS,
    SCHEDULING,
    Group,
    Match,
    compute_priorities,
    corrected,
    correctors_of,
    is_on,
    option_remarks,
    over_running_limit,
    united,
    whole_option,
    within_delay,
)
from simgrid_broker.systems.dirac.policy.request import KEPT, Credentials, cpu_classes, request_of_pilot
from simgrid_broker.systems.dirac.policy.task_queues import Refused, TaskQueues

OF_REPORT = ("NumberOfProcessors", "WholeNode", "Credentials")
"""Fields that only the report of a pilot has."""
OTHER_NAMES = {"LHCbPlatforms": "Platforms", "LHCbPlatform": "Platform"}
"""Names of the page of 2009 for what has another name today."""


class MatchInput:
    """Task queues with their priorities, made of a snapshot in DIRAC's order of events.

    Jobs are inserted, priorities computed and overwritten, and jobs removed; refused: why jobs were not inserted.
    """

    def __init__(self, snapshot: DiracSnapshot) -> None:
        self.snapshot, self.edition = snapshot, DIRAC_EDITIONS[snapshot.edition]
        self.scheduling = snapshot.operations.get(SCHEDULING, {})
        self.classes = cpu_classes(self.edition, self.scheduling)
        self.groups = {name: Group(whole_option(group.job_share, DEFAULT_SHARE), group.job_sharing,
                                   group.allow_background) for name, group in snapshot.groups.items()}
        self.queues, self.refused = TaskQueues(self.edition, self.classes), dict[int, str]()
        self._insert()
        self._compute()

    @property
    def sharing(self) -> frozenset[str]:
        """Groups with JOB_SHARING."""
        return frozenset(name for name, group in self.groups.items() if group.job_sharing)

    def owner(self, name: Any) -> Any:
        """A user as the edition names owners: by certificate name as documented, if the user has one."""
        users = self.snapshot.users
        if self.edition.owner == "OwnerDN":
            return (users[name].DN or name) if isinstance(name, str) and name in users else name
        return next((user for user, about in users.items() if about.DN and about.DN == name), name)

    def request(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
        """The request that is asked, and whether task queues must name the GridCE."""
        asked, named_ce = dict(given), False
        if self.snapshot.raw_resource:
            asked, named_ce = request_of_pilot(given, self.sharing, self._credentials(given.get("Credentials")),
                                               self.snapshot.banned_sites, edition=self.edition)
        asked = self._renamed(asked)
        return {name: asked[name] for name in self.edition.request_fields if name in asked}, named_ce

    def bans(self, asked: Mapping[str, Any]) -> Any:
        """Negative condition of a request: that of the snapshot, else the one of limits and delays at its site."""
        site, limited = asked.get("Site"), dict[str, list[str]]()
        if self.snapshot.negative is not None or not isinstance(site, str):
            return self.snapshot.negative
        if is_on(self.scheduling.get("CheckJobLimits", True)):
            limited = over_running_limit(self.scheduling.get("RunningLimit", {}).get(site, {}), [
                (each.model_dump(), each.jobs) for each in self.snapshot.running if each.Site == site],
                str(asked.get("GridCE", "")))
        if is_on(self.scheduling.get("CheckMatchingDelay", True)):
            limited = united(limited, within_delay(self.scheduling.get("MatchingDelay", {}).get(site, {}), [
                Match(each.ago, each.model_dump()) for each in self.snapshot.matches if each.Site == site]))
        return limited

    def _insert(self) -> None:
        for job in self.snapshot.jobs:
            values = self._renamed(job.model_dump(exclude_unset=True, exclude={"id", "count"}))
            for number in range(job.id, job.id + job.count):
                try:
                    self.queues.insert(number, values)
                except Refused as why:
                    self.refused[number] = str(why)

    def _compute(self) -> None:
        """Priorities of all task queues; then those that are given, and jobs that are taken."""
        correctors, usage = correctors_of(self.scheduling), dict[tuple[int, str], dict[str, float]]()
        for slice_ in self.snapshot.history:
            of_users = {self.owner(name): used for name, used in slice_.data.items()}
            usage[slice_.span, slice_.group] = of_users if slice_.group else slice_.data
        compute_priorities(self.queues, self.groups, self.edition,
                           lambda shares, group: corrected(shares, group, correctors, usage))
        for number, priority in self.snapshot.set_priorities.items():
            if queue := self.queues.of_job(int(number)):
                queue.priority = priority
        for job in self.snapshot.after_recalculate_remove:
            self.queues.remove(job)

    def _renamed(self, given: dict[str, Any]) -> dict[str, Any]:
        """Values with the names of the edition: the page of 2009 has other ones for owner and platforms."""
        if self.edition.owner != "OwnerDN":
            return given
        owner = {"OwnerDN": self.owner(given["Owner"])} if "Owner" in given else {}
        return owner | {old: given[new] for old, new in OTHER_NAMES.items() if new in given} | given

    def _credentials(self, given: Mapping[str, Any] | None) -> Credentials | None:
        if given is None:
            return None
        pilot = DiracCredentials.model_validate(given)
        of_vo = tuple(name for name, group in self.snapshot.groups.items() if group.vo == pilot.VO)
        return Credentials(pilot.is_generic, self.owner(pilot.username), pilot.group, of_vo)


def remarks_on(prepared: MatchInput, asked: DiracRequests) -> tuple[str, ...]:
    """A sentence for everything in a snapshot and its requests that has no effect, or another than it seems to."""
    return (*_on_jobs(prepared), *_on_groups(prepared), *_on_options(prepared), *_on_requests(prepared, asked))


def _on_jobs(prepared: MatchInput) -> Iterator[str]:
    known = {*prepared.edition.fields, *_read_instead(prepared), "id", "count", "priority"}
    unread = Counter(name for job in prepared.snapshot.jobs for name in job.model_fields_set - known)
    for name, number in sorted(unread.items()):
        yield f"{name} of {_entries(number, 'job')} has no meaning in the {prepared.edition.name} edition"


def _on_groups(prepared: MatchInput) -> Iterator[str]:
    described = prepared.snapshot.groups
    unknown = Counter(queue.identity.single[1] for queue in prepared.queues)
    for name in sorted(unknown.keys() - described.keys()):
        yield (f"group {name!r} is not among the groups: its job_share is {DEFAULT_SHARE}, without job_sharing"
               + did_you_mean(nearest(name, described)))
    for name, group in described.items():
        if str(group.job_share) != str(prepared.groups[name].share):
            yield f"job_share {group.job_share!r} of group {name!r} is not a whole number; DIRAC reads {DEFAULT_SHARE}"
        if group.allow_background and not prepared.edition.background:
            yield f"allow_background of group {name!r} has no meaning in the {prepared.edition.name} edition"


def _on_options(prepared: MatchInput) -> Iterator[str]:
    yield from option_remarks(prepared.snapshot.operations, prepared.edition)
    if not prepared.edition.limits and prepared.snapshot.negative:
        yield "negative has no meaning in the documented edition, which has no limits"


def _on_requests(prepared: MatchInput, asked: DiracRequests) -> Iterator[str]:
    raw = prepared.snapshot.raw_resource
    known = {*prepared.edition.request_fields, *_read_instead(prepared)}
    if raw:
        known = {*(known & {*KEPT, "Tag", "RequiredTag"}), "Credentials", *(OF_REPORT if "Tag" in known else ())}
    unread = Counter(name for request in asked.requests for name in request.model_fields_set - known)
    for name, number in sorted(unread.items()):
        where = ("is not kept by DIRAC's Matcher" if raw and name in prepared.edition.request_fields else
                 "counts in the report of a pilot only (raw_resource)" if name in OF_REPORT and not raw else
                 f"has no meaning in the {prepared.edition.name} edition")
        yield f"{name} of {_entries(number, 'request')} {where}"
    if raw:
        yield from _on_pilots(prepared, asked)
    lost = sum(raw and "RequiredTag" in known & request.model_fields_set and "Tag" not in request.model_fields_set
               for request in asked.requests)
    if lost:
        yield f"RequiredTag of {_entries(lost, 'request')} without Tag is lost by DIRAC's Matcher"


def _on_pilots(prepared: MatchInput, asked: DiracRequests) -> Iterator[str]:
    """Generic pilots of a VO without a group, which match nothing."""
    known = {group.vo for group in prepared.snapshot.groups.values()} - {""}
    pilots = [request.Credentials for request in asked.requests if request.Credentials is not None]
    for name in dict.fromkeys(pilot.VO for pilot in pilots if pilot.is_generic and pilot.VO not in known):
        yield f"no group has the vo {name!r} of a generic pilot{did_you_mean(nearest(name, known))}"


def _read_instead(prepared: MatchInput) -> Iterable[str]:
    """Names that are read although the edition has another one for them."""
    return ("Owner", *OTHER_NAMES.values()) if prepared.edition.owner == "OwnerDN" else ()


def _entries(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
