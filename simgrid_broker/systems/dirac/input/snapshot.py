"""Input of one match of DIRAC: the jobs that wait, their groups and users, the resources that ask, and rules on the
options below Operations/JobScheduling: which are mappings of which values.

Jobs and requests have the names of DIRAC. Their values are read as they are written: what DIRAC refuses, it refuses in
the match, by its own rules. Values of options that DIRAC reads as a default, such as fractions where it expects whole
numbers, are left to it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import inf, isfinite
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from simgrid_broker.errors import RequestError, ScenarioError, SnapshotError, nearest
from simgrid_broker.scenario.loading.documents import read_yaml, text_of
from simgrid_broker.scenario.loading.loader import resolve, snapshot_of
from simgrid_broker.scenario.loading.origins import Draft, Finding, Key, Origin, Whole
from simgrid_broker.scenario.model import DiracCredentials
from simgrid_broker.schema.part import Part

SCHEDULING = ("operations", "JobScheduling")
EACH = "*"
"""Any name that a mapping does not list."""
MOST = 2**53
"""Largest number that an option may have."""


class Value(NamedTuple):
    """A value of an option: whether it can be read, and what was expected."""

    fits: Callable[[Any], bool]
    expected: str


def number(given: Any) -> float | None:
    """A number that an option gives, also as text, inf if it is too large for a float; None for anything else."""
    try:
        return None if isinstance(given, bool) else float(given)
    except OverflowError:
        return inf
    except (TypeError, ValueError):
        return None


def is_within(given: Any, least: float) -> bool:
    """True if an option gives a number from `least` on."""
    found = number(given)
    return found is not None and least <= found <= MOST


def is_whole(given: Any, least: int) -> bool:
    """True if an option gives a whole number from `least` on."""
    return isinstance(given, (int, str)) and is_within(given, least) and float(given).is_integer()


def is_text(given: Any) -> bool:
    """True if an option is text."""
    return isinstance(given, str)


def names_only(given: Any) -> bool:
    """True if an option is text or a list of texts."""
    return is_text(given) or (isinstance(given, list) and all(map(is_text, given)))


ANY = Value(lambda given: True, "")
AT_LEAST_ONE = Value(lambda given: number(given) is None or is_within(given, 1), "expected a whole number >= 1")
WEIGHT = Value(lambda given: number(given) is None or is_within(given, 0), "expected a whole number >= 0")
LIMITS = {EACH: {EACH: Value(lambda given: is_whole(given, 0), "expected a whole number >= 0")}}
BURSTS = {EACH: {EACH: Value(lambda given: is_whole(given, 1), "expected a whole number >= 1")}}
SECONDS = Value(lambda given: is_within(given, -MOST), "expected a number of seconds")
NAMES = Value(names_only, "expected a name or a list of names")
SLICE = {"TimeSpan": AT_LEAST_ONE, "Weight": WEIGHT, "MaxCorrection": AT_LEAST_ONE, EACH: ANY}
OPTIONS: dict[str, Any] = {
    "RunningLimit": {EACH: {"CEs": {EACH: LIMITS}, **LIMITS}},
    "MatchingDelay": {EACH: {"Burst": BURSTS, EACH: {EACH: SECONDS}}},
    "ShareCorrections": {"ShareCorrectorsToStart": NAMES, "WMSHistory": {EACH: {
        "Group": Value(is_text, "expected the name of a group"), "MaxGlobalCorrection": AT_LEAST_ONE,
        "MaxGlobalCorrectionFactor": ANY, "UpdateHistoryPeriod": AT_LEAST_ONE, EACH: SLICE}}, EACH: ANY},
    EACH: ANY}
"""Shape of each option; source: DIRAC reference, sections 8 and 12."""


def option_findings(operations: Mapping[str, Any], above: Key = ()) -> Iterator[Finding]:
    """Everything that is wrong with the options of DIRAC at a key."""
    scheduling = operations.get("JobScheduling", {})
    yield from misfits((*above, *SCHEDULING), scheduling, OPTIONS)


def misfits(key: Key, given: Any, shape: Any) -> Iterator[Finding]:
    """The values at and below a key that do not have a shape: a `Value`, or a mapping of shapes by name."""
    if isinstance(shape, Value):
        if not shape.fits(given):
            yield Finding(key, given, shape.expected)
    elif not isinstance(given, dict):
        yield Finding(key, given, "expected a mapping of options")
    else:
        for name, value in given.items():
            yield from misfits((*key, name), value, shape.get(name, shape[EACH]))


MOST_JOBS = 1_000_000
"""Most jobs of the same requirements; source: DIRAC Task Queue Matching, scenario."""
REQUIREMENT = "list of names; nothing = no requirement"


class DiracJob(Part):
    """A waiting job, or several alike, with its requirements."""

    id: int = Field(ge=0, description="Number of the job; one that comes again moves it")
    count: int = Field(1, ge=1, le=MOST_JOBS, description="Number of jobs of the same requirements, numbered "
                       "from `id` on")
    priority: Any = Field(1, description="UserPriority; fractions are cut")
    Owner: Any = Field(None, description="User who submitted it")
    OwnerDN: Any = Field(None, description="Certificate name of the user, documented edition; default: that of Owner "
                         "in `users`, or Owner")
    OwnerGroup: Any = Field(None, description="Group with which it was submitted")
    Setup: Any = Field("", description="Setup to which it was submitted, documented edition")
    CPUTime: Any = Field(86400, description="CPU work, normalised s")
    Sites: Any = Field((), description=f"Sites that can run it, {REQUIREMENT}")
    BannedSites: Any = Field((), description=f"Sites that cannot run it, {REQUIREMENT}")
    GridCEs: Any = Field((), description=f"CEs that can run it, {REQUIREMENT}")
    Platforms: Any = Field((), description=f"Platforms that can run it, {REQUIREMENT}")
    JobTypes: Any = Field((), description=f"Its types, deployed edition, {REQUIREMENT}")
    Tags: Any = Field((), description=f"Tags that the resource must have, deployed edition, {REQUIREMENT}")
    MinRAM: Any = Field(0, description="Memory that it needs, MB, deployed edition; 0 = no requirement")
    MaxRAM: Any = Field(0, description="Memory that it can use, MB, deployed edition; part of the identity only")
    LHCbPlatforms: Any = Field((), description="Platforms, documented edition; default: Platforms")
    PilotTypes: Any = Field((), description=f"Types of pilots that it accepts, documented edition, {REQUIREMENT}")
    SubmitPools: Any = Field((), description="Pools that submit pilots for it, documented edition; identity only")
    GridMiddlewares: Any = Field((), description="Middleware for its pilots, documented edition; identity only")


class DiracGroup(Part):
    """A group of users."""

    job_share: Any = Field(1000, description="JobShare, a whole number; anything else is read as 1000, as in DIRAC")
    job_sharing: bool = Field(False, description="JOB_SHARING: its users run each other's jobs and share its share")
    allow_background: bool = Field(False, description="AllowBackgroundTQs: jobs of priority 0 run if nothing else does")
    vo: str = Field("", description="VO; a generic pilot serves all groups of its own")


class DiracUser(Part):
    """A user."""

    DN: str = Field("", description="Certificate name; usage under it is that of the user")


class DiracUsage(Part):
    """Usage that share correctors see in one slice of time."""

    span: int = Field(604800, ge=1, description="TimeSpan of the slice, s")
    group: str = Field("", description="Group whose users' usage this is; empty = usage of groups")
    data: dict[str, float] = Field(description="Usage by group or user; what is absent had none")


class DiracRunning(Part):
    """Jobs at a site in status Running, Matched or Stalled, which count for its RunningLimit."""

    Site: str = Field(description="The site")
    jobs: int = Field(1, ge=0, description="Number of jobs")
    JobType: str = Field("", description="Their type")
    Owner: str = Field("", description="Their owner")
    OwnerGroup: str = Field("", description="Their group")
    Platform: str = Field("", description="Their platform")


class DiracMatch(DiracRunning):
    """A match at a site, which counts for its MatchingDelay."""

    ago: float = Field(ge=0, description="Time since it, s")


class DiracSnapshot(Whole):
    """Everything that a match depends on, except the request."""

    error: ClassVar[type[ScenarioError]] = SnapshotError

    name: str = Field("snapshot", min_length=1, description="Name, for the reader")
    description: str = Field("", description="One sentence for the reader")
    edition: Literal["documented", "deployed"] = Field(
        "deployed", description="Matching of the page of 2009, or of the current code")
    seed: int = Field(1, ge=0, description="Seed of the draws")
    jobs: tuple[DiracJob, ...] = Field(description="Waiting jobs, in the order in which they were inserted")
    groups: dict[str, DiracGroup] = Field(default_factory=dict, description="Groups; one that is not here has defaults")
    users: dict[str, DiracUser] = Field(default_factory=dict, description="Users; one that is not here has no DN")
    operations: dict[str, Any] = Field(default_factory=dict, description="Options below Operations; JobScheduling has "
                                       "taskQueueCPUTimeIntervals, EnableSharesCorrection, ShareCorrections, "
                                       "RunningLimit, MatchingDelay, CheckJobLimits, CheckMatchingDelay")
    history: tuple[DiracUsage, ...] = Field((), description="Usage that share correctors see")
    negative: Any = Field(None, description="Negative condition, or a list of them, of all requests: {attribute: "
                          "[values]}; default: that of limits and delays at the site of each")
    running: tuple[DiracRunning, ...] = Field((), description="Jobs that run at sites with a RunningLimit")
    matches: tuple[DiracMatch, ...] = Field((), description="Matches at sites with a MatchingDelay")
    banned_sites: tuple[str, ...] = Field((), description="Sites that are not in use; a pilot of theirs gets test jobs")
    raw_resource: bool = Field(False, description="Whether requests are reports of pilots, which DIRAC's Matcher "
                               "translates first")
    set_priorities: dict[str, float] = Field(default_factory=dict, description="Priority of the task queue of a job, "
                                             "by its id, instead of the computed one")
    after_recalculate_remove: tuple[int, ...] = Field((), description="Jobs that were taken after priorities were "
                                                      "computed")

    def findings(self) -> Iterator[Finding]:
        """Everything wrong between its parts."""
        yield from unknown_jobs(self)
        yield from unreadable_conditions(self)
        yield from option_findings(self.operations)


class DiracRequest(Part):
    """The description of a resource that asks for a job, or with `raw_resource` the report of a pilot."""

    CPUTime: Any = Field(None, description="CPU work that it can do, normalised s; required")
    Owner: Any = Field(None, description="User whose jobs it takes, deployed edition")
    OwnerDN: Any = Field(None, description="Certificate name of that user, documented edition; default: that of Owner")
    OwnerGroup: Any = Field(None, description="Group, or groups, whose jobs it takes")
    Setup: Any = Field(None, description="Setup, documented edition")
    Site: Any = Field(None, description="Its site or sites; ANY or nothing: any")
    GridCE: Any = Field(None, description="Its CE or CEs")
    Platform: Any = Field(None, description="Its platform or platforms")
    LHCbPlatform: Any = Field(None, description="Its platform, documented edition; default: Platform")
    PilotType: Any = Field(None, description="Type of the pilot, documented edition")
    JobType: Any = Field(None, description="Types of jobs that it takes, deployed edition")
    Tag: Any = Field(None, description="Its tags, deployed edition")
    RequiredTag: Any = Field(None, description="Tags that jobs must have, deployed edition")
    MaxRAM: Any = Field(None, description="Memory that it offers, MB, deployed edition")
    BannedSite: Any = Field(None, description="Jobs that name all of these sites are not taken, deployed edition")
    BannedGridCE: Any = Field(None, description="The same for CEs")
    BannedPlatform: Any = Field(None, description="The same for platforms")
    BannedJobType: Any = Field(None, description="The same for job types")
    BannedTag: Any = Field(None, description="The same for tags")
    JobID: Any = Field(None, description="The job that is wanted")
    NumberOfProcessors: Any = Field(None, description="Processors, in the report of a pilot")
    WholeNode: Any = Field(None, description="Present in the report of a pilot on a whole node, with any value")
    Credentials: DiracCredentials | None = Field(None, description="Who the pilot belongs to, in its report")


class DiracRequests(Whole):
    """The requests of a file: one, or a list of them."""

    error: ClassVar[type[ScenarioError]] = RequestError

    requests: tuple[DiracRequest, ...] = Field(description="Requests, each answered for itself")

    def findings(self) -> Iterator[Finding]:
        """A list of requests has at least one, and its numbers are finite."""
        if not self.requests:
            yield Finding(("requests",), None, "at least one request is needed", depends_on=(("requests", 0),))
        for position, request in enumerate(self.requests):
            for name, given in request.model_dump(exclude_unset=True).items():
                if any(isinstance(value, float) and not isfinite(value)
                       for value in (given if isinstance(given, list) else [given])):
                    yield Finding(("requests", position, name), given, "expected a finite number")


def unknown_jobs(snapshot: DiracSnapshot) -> Iterator[Finding]:
    """Jobs that are named elsewhere are among the jobs."""
    known = {job.id + k for job in snapshot.jobs for k in range(job.count)}
    named: list[tuple[Key, str]] = [(("set_priorities", number), number) for number in snapshot.set_priorities]
    named += [(("after_recalculate_remove", k), str(job)) for k, job in enumerate(snapshot.after_recalculate_remove)]
    for key, number in named:
        if not number.isdecimal() or int(number) not in known:
            yield Finding(key, number, "no job of the snapshot has this id", nearest(number, map(str, known)),
                          of_absence=True)


def unreadable_conditions(snapshot: DiracSnapshot) -> Iterator[Finding]:
    """Negative conditions are mappings of attributes to a value or a list of values."""
    given = snapshot.negative
    for position, ban in enumerate(given if isinstance(given, list) else [given] if given is not None else []):
        key = ("negative", position) if isinstance(given, list) else ("negative",)
        if not isinstance(ban, dict):
            yield Finding(key, ban, "expected a negative condition, {attribute: [values]}")
            continue
        for attribute, values in ban.items():
            if any(isinstance(value, (dict, list)) for value in (values if isinstance(values, list) else [values])):
                yield Finding((*key, attribute), values, "expected a value or a list of values")


def load_dirac_snapshot(path: str | Path, overrides: Iterable[str] = ()) -> DiracSnapshot:
    """The snapshot of DIRAC's task queues in a YAML or JSON file, as `load_snapshot`. Raises SnapshotError."""
    return snapshot_of(path, overrides, DiracSnapshot)


def load_requests(path: str | Path) -> DiracRequests:
    """The request, or list of requests, in a JSON or YAML file, checked. Raises RequestError."""
    try:
        document = read_yaml(text_of(Path(path)), str(path))
    except ScenarioError as error:
        raise RequestError(error.problems) from None
    if document.problems:
        raise RequestError(document.problems)
    several = isinstance(document.values, list)
    above = ("requests",) if several else ("requests", 0)
    marks = {(*above, *key): Origin("file", str(path), line) for key, line in document.lines.items()}
    values = {"requests": document.values if several else [document.values]}
    return resolve(Draft(values, {(): Origin("file", str(path)), **marks}), DiracRequests)
