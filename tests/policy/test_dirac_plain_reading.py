"""DIRAC's matcher against a plain reading of its conditions, on random jobs and resources."""

from hypothesis import given, settings
from hypothesis import strategies as st

from simgrid_broker.systems.dirac.policy.matching import Acceptance, failures
from simgrid_broker.systems.dirac.policy.priorities import DEPLOYED, DOCUMENTED
from simgrid_broker.systems.dirac.policy.request import Malformed, checked_request
from simgrid_broker.systems.dirac.policy.task_queues import TaskQueues

NAMES, OWNERS, GROUPS = st.sampled_from(["A", "B", "C"]), st.sampled_from(["ada", "bob"]), st.sampled_from(["g", "h"])
SETS, CPU = st.lists(NAMES, max_size=3), st.sampled_from([100, 400, 2000, 10**7])
VALUE = st.one_of(NAMES, st.sampled_from(["ANY", "Any!", ""]), st.lists(st.one_of(NAMES, st.just("ANY")), max_size=3))
PLAIN = {"Site": "Sites", "GridCE": "GridCEs", "Platform": "Platforms", "JobType": "JobTypes",
         "LHCbPlatform": "LHCbPlatforms"}
"""Fields of a request with those of a job that they must be among."""
JOBS = st.fixed_dictionaries(
    dict(Owner=OWNERS, OwnerDN=OWNERS, OwnerGroup=GROUPS, CPUTime=CPU, Setup=st.sampled_from(["", "S"])),
    optional=dict.fromkeys((*PLAIN.values(), "BannedSites", "Tags", "PilotTypes"), SETS) | dict(
        MinRAM=st.sampled_from([0, 1000, 2000])))
REQUESTS = st.fixed_dictionaries(
    dict(CPUTime=st.one_of(CPU, st.lists(CPU, min_size=1, max_size=2))),
    optional=dict.fromkeys((*PLAIN, "Tag", "RequiredTag", "PilotType"), VALUE)
    | {f"Banned{field}": VALUE for field in ("Site", "GridCE", "Platform", "JobType", "Tag")}
    | dict(Owner=st.one_of(OWNERS, st.lists(OWNERS, min_size=1)), OwnerDN=OWNERS, Setup=st.sampled_from(["S", "T"]),
           OwnerGroup=st.one_of(GROUPS, st.lists(GROUPS, min_size=1)), MaxRAM=st.sampled_from([0, 1000, 1999])))
SHARING = st.sets(GROUPS)


def listed(value):
    """The values of a field of a request, a list."""
    return value if isinstance(value, list) else [value]


def asks_nothing(value):
    """Whether a field of a request is no condition: missing, empty, or with ANY in any spelling."""
    return value in (None, "", []) or any("".join(filter(str.isalpha, each)).lower() == "any" for each in listed(value))


def suits_in_both(job, request, owner, sharing, highest):
    """The conditions of both editions: owner, group, CPU time, site, banned sites, CE."""
    groups = listed(request.get("OwnerGroup", job["OwnerGroup"]))
    shared = "OwnerGroup" in request and job["OwnerGroup"] in sharing
    site = request.get("Site")
    return (job["OwnerGroup"] in groups
            and (owner not in request or job[owner] in listed(request[owner]) or shared)
            and any(highest(job["CPUTime"]) <= offer for offer in listed(request["CPUTime"]))
            and all(accepts(job, request, field) for field in ("Site", "GridCE"))
            and (asks_nothing(site) or not all(each in job.get("BannedSites", []) for each in listed(site))))


def accepts(job, request, field):
    """Whether a job without a requirement, or with one of the values of the resource, is accepted."""
    required, offered = job.get(PLAIN[field], []), request.get(field)
    return not required or asks_nothing(offered) or any(each in required for each in listed(offered))


def suits_tags(job, request):
    """Tags: all of the job's are offered, and it has all that are required."""
    tags, offered, required = job.get("Tags", []), request.get("Tag"), request.get("RequiredTag")
    if "Tag" not in request and "RequiredTag" in request:
        offered = "ANY"
    ok = (offered is not None and offered not in ("", []) and asks_nothing(offered)) or all(
        tag in listed(offered or []) for tag in tags)
    return ok and (required is None or asks_nothing(required) or (
        len(set(listed(required))) == len(listed(required)) and all(tag in tags for tag in listed(required))))


def suits_deployed(job, request, sharing):
    """The conditions of the current code."""
    def banned(field):
        value = request.get(f"Banned{field}")
        return not asks_nothing(value) and all(each in job.get(f"{field}s", []) for each in listed(value))
    return (suits_in_both(job, request, "Owner", sharing, lambda cpu: next(
                bound for bound in (360, 1800, 3600, 1_080_000) if cpu <= bound or bound == 1_080_000))
            and accepts(job, request, "Platform") and accepts(job, request, "JobType") and suits_tags(job, request)
            and job.get("MinRAM", 0) <= request.get("MaxRAM", 10**9)
            and not any(map(banned, ("Site", "GridCE", "Platform", "JobType", "Tag"))))


def suits_documented(job, request, sharing):
    """The conditions of the page of 2009."""
    types, offered = job.get("PilotTypes", []), request.get("PilotType")
    return (suits_in_both(job, request, "OwnerDN", sharing, lambda cpu: next(
                bound for bound in (500, 5000, 50_000, 300_000) if cpu <= bound or bound == 300_000))
            and accepts(job, request, "LHCbPlatform") and request.get("Setup", job["Setup"]) == job["Setup"]
            and (not types or (not asks_nothing(offered) and any(each in types for each in listed(offered)))))


@given(job=JOBS, request=REQUESTS, sharing=SHARING)
@settings(max_examples=400)
def test_the_matcher_is_the_plain_reading(job, request, sharing):
    for edition, suits in ((DEPLOYED, suits_deployed), (DOCUMENTED, suits_documented)):
        queues = TaskQueues(edition, edition.cpu_classes)
        queues.insert(1, job)
        try:
            asked = checked_request(request, edition.request_fields, sharing)
        except Malformed:
            required = request.get("RequiredTag")
            assert edition is DEPLOYED and not set(listed(required)) <= set(listed(request.get("Tag", [])))
            continue
        found, = failures(queues.queues, asked, edition)
        assert (found is None) == suits(job, request, sharing), found


@given(jobs=st.lists(JOBS, min_size=1, max_size=5), requests=st.lists(REQUESTS, min_size=1, max_size=4),
       sharing=SHARING)
def test_the_conditions_that_are_kept_in_a_run_are_the_same(jobs, requests, sharing):
    for edition in (DEPLOYED, DOCUMENTED):
        queues = TaskQueues(edition, edition.cpu_classes)
        for number, job in enumerate(jobs):
            queues.insert(number, job)
        asked = [checked_request({name: value for name, value in request.items() if name != "RequiredTag"}
                                 | dict(CPUTime=10**9), edition.request_fields, sharing) for request in requests]
        kept = Acceptance(edition, asked)
        for queue in queues:
            assert kept.of(queue.identity).tolist() == [failures([queue], each, edition) == [None] for each in asked]
