"""DIRAC's matcher: identity of task queues, the conditions of matching, requests and reports of pilots."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker.systems.dirac.policy.matching import Acceptance, failures
from simgrid_broker.systems.dirac.policy.priorities import DEPLOYED, DOCUMENTED
from simgrid_broker.systems.dirac.policy.request import (
    Credentials,
    Malformed,
    checked_request,
    cpu_classes,
    request_of_pilot,
)
from simgrid_broker.systems.dirac.policy.task_queues import Refused, TaskQueues, cpu_class, identity_of

ADA = dict(Owner="ada", OwnerDN="ada", OwnerGroup="user", CPUTime=300)


def failed(job, request, edition=DEPLOYED, sharing=(), **context):
    """Name of the first condition that the task queue of a job fails, None if it matches."""
    queues = TaskQueues(edition, edition.cpu_classes)
    queues.insert(1, ADA | job)
    asked = checked_request(dict(CPUTime=edition.cpu_classes[0]) | request, edition.request_fields, sharing, **context)
    found, = failures(queues.queues, asked, edition)
    return found and found.condition.name


def identity(edition=DEPLOYED, **job):
    """Identity of a job's task queue."""
    return identity_of(ADA | job, edition, edition.cpu_classes)


@pytest.mark.rule("task_queues.cpu_class")
@pytest.mark.parametrize(("cpu_time", "documented", "deployed"), [
    (-5, 500, 360), (0, 500, 360), (360, 500, 360), (361, 500, 1800), (500, 500, 1800), (501, 5000, 1800),
    (300_000, 300_000, 345_600), (300_001, 300_000, 345_600), (1_080_001, 300_000, 1_080_000)])
def test_cpu_time_is_raised_to_its_class(cpu_time, documented, deployed):
    assert identity(DOCUMENTED, CPUTime=cpu_time).cpu_time == documented
    assert identity(CPUTime=cpu_time).cpu_time == deployed == cpu_class(cpu_time, DEPLOYED.cpu_classes)


@pytest.mark.rule("request.cpu_classes")
@pytest.mark.parametrize(("option", "classes"), [
    ([100, 1000], (100, 1000)), (["100", "1000"], (100, 1000)), ("100, 1000", (100, 1000)), ("", None),
    ([100.5, 1000], None), ([100, 100], None), ([0, 5], None), (["x", 5], None),
    ([], None), (None, None), (7, None)])
def test_classes_are_configured_or_the_defaults_if_the_option_is_no_rising_list(option, classes):
    scheduling = {} if option is None else dict(taskQueueCPUTimeIntervals=option)
    assert cpu_classes(DEPLOYED, scheduling) == (classes or DEPLOYED.cpu_classes)
    assert cpu_classes(DOCUMENTED, scheduling) == DOCUMENTED.cpu_classes


@pytest.mark.rule("task_queues.identity_of")
@pytest.mark.parametrize(("job", "other", "same"), [
    pytest.param(dict(Sites=["A", "B"]), dict(Sites=["B", "A", "A", " B ", ""]), True, id="order, repetition, blanks"),
    pytest.param(dict(Sites=[]), {}, True, id="an empty list is no requirement"),
    pytest.param(dict(Sites=[" "]), {}, True, id="nor is one of blanks"),
    pytest.param(dict(Sites=["a"]), dict(Sites=["A"]), False, id="case counts"),
    pytest.param(dict(priority=5), dict(priority=7), True, id="priority is no requirement"),
    pytest.param(dict(Owner="bob"), dict(Owner="ada"), False, id="owner"),
    pytest.param(dict(OwnerGroup="prod"), {}, False, id="group"),
    pytest.param(dict(Tags=["GPU"]), {}, False, id="tags"),
    pytest.param(dict(MinRAM=2000, MaxRAM=0), dict(MinRAM=2000), True, id="no maximum"),
    pytest.param(dict(MinRAM=2000, MaxRAM=4000), dict(MinRAM=2000), False, id="maximum of memory"),
    pytest.param(dict(CPUTime=301), dict(CPUTime=302), True, id="same class of CPU time")])
def test_jobs_of_identical_requirements_share_a_task_queue(job, other, same):
    assert (identity(**job) == identity(**other)) == same


@pytest.mark.rule("task_queues.identity_of")
@pytest.mark.parametrize(("field", "value", "differs"), [
    ("Setup", "LHCb-Production", True), ("SubmitPools", ["p"], True), ("PilotTypes", ["private"], True),
    ("GridMiddlewares", ["gLite"], True), ("LHCbPlatforms", ["slc4"], True), ("Tags", ["GPU"], False),
    ("JobTypes", ["User"], False), ("MinRAM", 2000, False)])
def test_the_page_of_2009_has_its_own_requirements(field, value, differs):
    assert (identity(DOCUMENTED, **{field: value}) != identity(DOCUMENTED)) == differs
    assert (identity(**{field: value}) != identity()) != differs


@pytest.mark.rule("task_queues.identity_of", "task_queues.stored_priority", "task_queues.TaskQueues.insert")
@pytest.mark.parametrize(("job", "why"), [
    (dict(CPUTime="5000"), "CPUTime '5000' is not a whole number"), (dict(CPUTime=100.0), "CPUTime 100.0"),
    (dict(Owner=None), "Owner is missing"), (dict(Tags="GPU"), "Tags 'GPU' is not a list"),
    (dict(MaxRAM=1.5), "MaxRAM 1.5"), (dict(MinRAM=-1), "MinRAM -1 is negative"),
    (dict(MinRAM=5000, MaxRAM=4999), "MinRAM 5000 is above MaxRAM 4999"), (dict(priority="x"), "priority 'x'"),
    (dict(priority=-1), "priority -1 is negative")])
def test_a_job_of_wrong_values_is_refused(job, why):
    queues = TaskQueues(DEPLOYED, DEPLOYED.cpu_classes)
    with pytest.raises(Refused, match=why):
        queues.insert(1, ADA | job)
    assert len(queues.queues) == (why.startswith("priority -1"))       # it leaves its task queue behind
    assert not any(queue.jobs for queue in queues)


@pytest.mark.rule("task_queues.TaskQueues.insert")
def test_a_task_queue_holds_5000_jobs_as_deployed():
    for edition, sizes in ((DEPLOYED, [5000, 3]), (DOCUMENTED, [5003])):
        queues = TaskQueues(edition, edition.cpu_classes)
        for number in range(5003):
            queues.insert(number, ADA)
        assert [len(queue.jobs) for queue in queues] == sizes
        queues.remove(0)
        queues.insert(6000, ADA)
        assert [len(queue.jobs) for queue in queues] == ([4999, 4] if len(sizes) > 1 else [5003])


@pytest.mark.rule("task_queues.TaskQueues.insert")
def test_a_job_that_is_inserted_again_moves_and_an_empty_task_queue_is_not_joined():
    queues = TaskQueues(DEPLOYED, DEPLOYED.cpu_classes)
    for job in (ADA, ADA | dict(Tags=["GPU"], priority="3"), ADA):
        queues.insert(1, job)
    assert [queue.jobs for queue in queues] == [{}, {}, {1: 1}]


@pytest.mark.rule("request.cpu_time", "request.checked_request")
def test_the_resource_offers_the_cpu_time_of_the_class():
    assert failed({}, dict(CPUTime=359)) == "CPUTime"
    assert failed({}, dict(CPUTime=360)) is None
    assert failed({}, dict(CPUTime=[1, 360])) is None
    for wrong in (None, "360", 360.0, True, []):
        with pytest.raises(Malformed):
            failed({}, dict(CPUTime=wrong))


@pytest.mark.rule("request.owner", "request.owner_dn")
@pytest.mark.parametrize(("request_", "sharing", "matches"), [
    (dict(Owner="ada"), (), True), (dict(Owner="bob"), (), False), (dict(Owner=["bob", "ada"]), (), True),
    (dict(OwnerGroup="user"), (), True), (dict(OwnerGroup=["prod", "user"]), (), True),
    (dict(OwnerGroup="prod"), (), False),
    (dict(OwnerGroup="user", Owner="bob"), (), False), (dict(OwnerGroup="user", Owner="bob"), ("user",), True),
    (dict(OwnerGroup="user", Owner="ada"), (), True), (dict(OwnerGroup=["prod", "user"], Owner="ada"), (), True),
    (dict(OwnerGroup="prod", Owner="ada"), ("user",), False), (dict(Owner="bob"), ("user",), False),
    (dict(OwnerGroup="ANY"), (), False), (dict(Owner="ANY"), (), False)])
def test_a_private_resource_serves_its_group_and_its_owner(request_, sharing, matches):
    assert failed({}, request_, sharing=sharing) == (None if matches else "OwnerGroup")
    dn = {{"Owner": "OwnerDN"}.get(name, name): value for name, value in request_.items()}
    assert failed({}, dn, DOCUMENTED, sharing) == (None if matches else "OwnerDN")


@pytest.mark.rule("request.owner")
def test_all_conditions_hold_for_each_of_several_groups():
    asked = dict(OwnerGroup=["user", "prod"], Owner="ada")
    assert failed(dict(CPUTime=1800), asked) == "CPUTime"
    assert failed(dict(CPUTime=1800, OwnerGroup="prod"), asked) == "CPUTime"


LISTS = [("Site", "Sites", DEPLOYED), ("Site", "Sites", DOCUMENTED), ("GridCE", "GridCEs", DEPLOYED),
         ("GridCE", "GridCEs", DOCUMENTED), ("Platform", "Platforms", DEPLOYED), ("JobType", "JobTypes", DEPLOYED),
         ("LHCbPlatform", "LHCbPlatforms", DOCUMENTED)]


@pytest.mark.rule("request.site", "request.grid_ce", "request.platform", "request.job_type",
                  "request.lhcb_platform")
@pytest.mark.parametrize(("field", "required", "edition"), LISTS)
@pytest.mark.parametrize(("of_job", "of_resource", "matches"), [
    ([], "A", True), (["A"], "A", True), (["B"], "A", False), (["A", "B"], ["B", "C"], True),
    (["A"], ["B", "C"], False),
    (["A"], [], True), (["A"], "", True), (["A"], "ANY", True), (["A"], "Any", True), (["A"], "[ANY]", True),
    (["A"], ["B", "any!"], True), (["A"], " ANY", False), (["A"], "many", False), (["A"], [""], False),
    (["ANY"], "A", False), (["ANY"], "ANY", True)])
def test_a_value_of_the_resource_is_among_those_of_the_job(field, required, edition, of_job, of_resource, matches):
    assert failed({required: of_job}, {field: of_resource}, edition) == (None if matches else field)
    assert failed({required: of_job}, {}, edition) is None


@pytest.mark.rule("request.banned_site")
@pytest.mark.parametrize(("site", "matches"), [
    ("A", False), ("B", True), (["A", "C"], True), (["A"], False), ("ANY", True), ([], True), ("", True)])
def test_a_job_bans_a_resource_of_which_it_bans_every_site(site, matches):
    for edition in (DEPLOYED, DOCUMENTED):
        assert failed(dict(BannedSites=["A"]), dict(Site=site), edition) == (None if matches else "BannedSites")
    assert failed(dict(BannedSites=["A"]), {}) is None


def test_for_a_list_one_site_may_be_accepted_and_another_one_not_banned():
    assert failed(dict(Sites=["A"], BannedSites=["A"]), dict(Site=["A", "C"])) is None


@pytest.mark.rule("request.offered_tags", "request.required_tag", "request.checked_request")
@pytest.mark.parametrize(("tags", "request_", "answer"), [
    ([], {}, None), (["GPU"], {}, "Tag"), (["GPU"], dict(Tag=[]), "Tag"), (["GPU"], dict(Tag=""), "Tag"),
    (["GPU"], dict(Tag="GPU"), None), (["GPU", "x"], dict(Tag=["GPU"]), "Tag"), (["GPU"], dict(Tag=["GPU", "x"]), None),
    (["GPU"], dict(Tag="any"), None), ([], dict(Tag="GPU", RequiredTag="GPU"), "RequiredTag"),
    (["GPU"], dict(Tag=["GPU", "x"], RequiredTag="GPU"), None),
    (["GPU"], dict(Tag=["GPU"], RequiredTag=["GPU", "GPU"]), "RequiredTag"),
    ([], dict(Tag=["GPU"], RequiredTag=["ANY", "x"]), None), (["x"], dict(Tag=["GPU"], RequiredTag="ANY"), "Tag"),
    (["GPU"], dict(RequiredTag=[]), None), (["GPU"], dict(RequiredTag="ANY"), None),
    ([], dict(RequiredTag="GPU"), "required tags"), ([], dict(Tag="ANY", RequiredTag="GPU"), "required tags"),
    (["GPU"], dict(Tag=["ANY", "GPU"], RequiredTag="GPU"), None), ([], dict(RequiredTag=""), "required tags")])
def test_tags(tags, request_, answer):
    try:
        assert failed(dict(Tags=tags), request_) == answer
    except Malformed as wrong:
        assert wrong.kind == answer


@pytest.mark.rule("request.max_ram")
@pytest.mark.parametrize(("least", "offered", "matches"), [
    (2000, 1999, False), (2000, 2000, True), (2000, None, True), (1, 0, False), (0, 0, True)])
def test_memory(least, offered, matches):
    asked = {} if offered is None else dict(MaxRAM=offered)
    assert failed(dict(MinRAM=least, MaxRAM=9000), asked) == (None if matches else "MaxRAM")


@pytest.mark.rule("request.resource_bans")
@pytest.mark.parametrize("field", ["Site", "GridCE", "Platform", "JobType", "Tag"])
@pytest.mark.parametrize(("of_job", "banned", "matches"), [
    (["A"], "A", False), (["A", "B"], "A", False), (["A"], "B", True), ([], "A", True), (["A"], ["A", "B"], True),
    (["A", "B"], ["A", "B"], False), (["A"], [], True), (["A"], "", True), (["A"], "ANY", True)])
def test_a_resource_bans_task_queues_with_all_of_its_values(field, of_job, banned, matches):
    asked = {f"Banned{field}": banned} | (dict(Tag="ANY") if field == "Tag" else {})
    assert failed({f"{field}s": of_job}, asked) == (None if matches else f"Banned{field}")


@pytest.mark.rule("request.negative_condition", "request.checked_request")
@pytest.mark.parametrize(("negative", "matches"), [
    (dict(JobType=["T"]), False), (dict(JobType=["T", "S"]), False), (dict(JobType=["S"]), True),
    (dict(JobType=["T"], OwnerGroup=["user"]), False), (dict(JobType=["T"], OwnerGroup=["prod"]), True),
    (dict(OwnerGroup=["user", "prod"]), True), (dict(Site=["A"]), True), (dict(JobType=["T"], JobGroup=["7"]), False),
    ([dict(JobType=["T"]), dict(Owner=["ada"])], False), ([dict(JobType=["T"]), dict(Owner=["bob"])], True),
    (dict(CPUTime=[360]), False), ({}, True), ([], True)])
def test_a_negative_condition_excludes_if_all_its_attributes_do(negative, matches):
    job = dict(JobTypes=["T"])
    assert failed(job, {}, negative=negative) == (None if matches else "negative condition")
    assert failed(job, dict(JobID=1), negative=negative) is None             # a job that is named


def test_a_negative_condition_without_known_attributes_is_an_error():
    with pytest.raises(Malformed, match="no known attribute"):
        failed({}, {}, negative=dict(JobGroup=["7"]))


@pytest.mark.rule("request.checked_request")
@pytest.mark.parametrize("wrong", [
    dict(Site=5), dict(Tag=["GPU", 4]), dict(MaxRAM="2000"), dict(MaxRAM=[1000, 4000]), dict(Owner=[]),
    dict(OwnerGroup=[]), dict(JobID="7")])
def test_a_request_of_wrong_values_is_an_error(wrong):
    with pytest.raises(Malformed):
        failed({}, wrong)


@pytest.mark.rule("request.setup", "request.pilot_type")
@pytest.mark.parametrize(("job", "request_", "answer"), [
    (dict(Setup="S"), dict(Setup="S"), None), (dict(Setup="S"), dict(Setup="T"), "Setup"), (dict(Setup="S"), {}, None),
    ({}, dict(PilotType="private"), None), (dict(PilotTypes=["private"]), dict(PilotType="private"), None),
    (dict(PilotTypes=["private"]), {}, "PilotType"), (dict(PilotTypes=["private"]), dict(PilotType="x"), "PilotType")])
def test_setup_and_type_of_the_pilot_as_documented(job, request_, answer):
    assert failed(job, request_, DOCUMENTED) == answer


@pytest.mark.rule("request.request_of_pilot", "request.grid_ce")
def test_a_pilot_of_a_banned_site():
    report = dict(Site="A", GridCE="ce", CPUTime=500, JobType="User")
    assert request_of_pilot(report, banned_sites=["A"], edition=DEPLOYED)[0]["JobType"] == "Test"
    assert request_of_pilot(report, banned_sites=["B"], edition=DEPLOYED)[0]["JobType"] == "User"
    request_, named_ce = request_of_pilot(report, banned_sites=["A"], edition=DOCUMENTED)
    assert "Site" not in request_ and named_ce
    assert failed({}, request_, DOCUMENTED, named_ce=True) == "GridCE"
    assert failed(dict(GridCEs=["ce"], Sites=["B"]), request_, DOCUMENTED, named_ce=True) is None


@pytest.mark.rule("request.request_of_pilot", "request.processor_tags", "request.listed_tags")
@pytest.mark.parametrize(("report", "tags", "required"), [
    (dict(), None, None), (dict(NumberOfProcessors=1), ["1Processors"], None), (dict(NumberOfProcessors=0), None, None),
    (dict(NumberOfProcessors="2"), ["1Processors", "2Processors", "MultiProcessor"], None),
    (dict(NumberOfProcessors="many"), None, None), (dict(NumberOfProcessors=1025), ["MultiProcessor"], None),
    (dict(WholeNode=False), ["WholeNode"], None), (dict(Tag="[a, 'b']"), ["a", "b"], None), (dict(Tag=""), [""], None),
    (dict(Tag=["a", "a"], RequiredTag='"a"'), ["a"], ["a"]), (dict(WholeNode=1, RequiredTag="a"), ["WholeNode"], None)])
def test_tags_of_a_pilot(report, tags, required):
    request_, _ = request_of_pilot(report, edition=DEPLOYED)
    assert (request_.get("Tag"), request_.get("RequiredTag")) == (tags, required)


def test_1024_processors_are_the_most_that_become_tags():
    assert len(request_of_pilot(dict(NumberOfProcessors=1024), edition=DEPLOYED)[0]["Tag"]) == 1025


@pytest.mark.rule("request.request_of_pilot")
def test_credentials_of_a_pilot():
    generic = Credentials(True, groups_of_vo=("user", "prod"))
    private = Credentials(False, "ada", "user")
    assert request_of_pilot({}, (), generic, edition=DEPLOYED)[0] == dict(OwnerGroup=["user", "prod"])
    assert request_of_pilot(dict(OwnerGroup="x"), (), generic, edition=DEPLOYED)[0] == dict(OwnerGroup="x")
    assert request_of_pilot({}, ("user",), private, edition=DEPLOYED)[0] == dict(OwnerGroup="user")
    assert request_of_pilot({}, (), private, edition=DEPLOYED)[0] == dict(OwnerGroup="user", Owner="ada")
    assert request_of_pilot({}, (), private, edition=DOCUMENTED)[0] == dict(OwnerGroup="user", OwnerDN="ada")


def test_bans_of_a_report_are_dropped():
    assert request_of_pilot(dict(BannedSite="A", Processors=8, Site="B"), edition=DEPLOYED)[0] == dict(Site="B")


NAMES = st.lists(st.sampled_from(["A", "B", "C"]), max_size=3)
JOBS = st.fixed_dictionaries({}, optional=dict(
    Sites=NAMES, BannedSites=NAMES, GridCEs=NAMES, Platforms=NAMES, JobTypes=NAMES, Tags=NAMES,
    MinRAM=st.integers(0, 3), CPUTime=st.integers(1, 4000)))
REQUESTS = st.fixed_dictionaries(dict(CPUTime=st.integers(300, 4000)), optional=dict(
    Site=NAMES, GridCE=NAMES, Platform=NAMES, JobType=NAMES, Tag=NAMES, MaxRAM=st.integers(0, 3)))


@given(JOBS, REQUESTS, st.lists(st.sampled_from(["A", "B", "C"]), min_size=1))
def test_a_richer_resource_never_loses_a_task_queue(job, request_, more):
    if failed(job, request_) is None:
        assert failed(job, request_ | dict(Tag=[*request_.get("Tag", []), *more])) is None
        assert failed(job, request_ | dict(MaxRAM=request_.get("MaxRAM", 9) + 1)) is None
        assert failed(job, request_ | dict(CPUTime=request_["CPUTime"] + 1)) is None


@given(JOBS, REQUESTS)
def test_a_job_without_requirements_matches_wherever_one_with_them_does(job, request_):
    if failed(job, request_) is None:
        assert failed(dict(CPUTime=1), request_) is None


@pytest.mark.rule("matching.Acceptance.of")
@given(st.lists(JOBS, max_size=4), st.lists(REQUESTS, min_size=1, max_size=4))
def test_requests_that_are_known_in_advance_are_answered_alike(jobs, requests):
    asked = [checked_request(request | dict(CPUTime=10**6), DEPLOYED.request_fields) for request in requests]
    acceptance = Acceptance(DEPLOYED, asked)
    for job in jobs:
        found = acceptance.of(identity(**job)).tolist()
        assert found == [failed(job, request | dict(CPUTime=10**6)) is None for request in requests]


@given(JOBS, REQUESTS)
def test_an_untagged_pilot_never_gets_a_tagged_job(job, request_):
    request_.pop("Tag", None)
    assert failed(job, request_) is not None or not job.get("Tags")
