"""`match`: one snapshot of DIRAC's task queues, asked by resources and pilots."""

import json
from math import erfc
from pathlib import Path

import pytest

import simgrid_broker as sb
from simgrid_broker.systems.dirac.match.match import FORMAT, OF_MATCHING, OF_REQUEST, OF_TASK_QUEUE
from simgrid_broker.systems.dirac.policy.priorities import DEPLOYED

SCENARIOS = Path(__file__).parents[2] / "scenarios"
EXAMPLE = SCENARIOS / "dirac_snapshot.yaml"
JOBS = [dict(id=1, count=60, Owner="ada", OwnerGroup="user", CPUTime=300, Sites=["A"]),
        dict(id=61, count=2, Owner="bob", OwnerGroup="user", CPUTime=300, Tags=["GPU"]),
        dict(id=63, Owner="bob", OwnerGroup="user", CPUTime=20_000, priority=5),
        dict(id=64, Owner="bob", OwnerGroup="user", CPUTime="300")]
SNAPSHOT = dict(jobs=JOBS, groups=dict(user=dict(job_share=900)))


def job(number, **fields):
    """A job of one group."""
    return dict(id=number, Owner="ada", OwnerGroup="user") | fields


def asked(request, draws=0, snapshot=SNAPSHOT, **changes):
    """The answer to one request."""
    return sb.match(snapshot, request, draws, **changes).requests[0]


def test_every_task_queue_matches_or_names_the_first_condition_that_it_fails():
    answer = asked(dict(CPUTime=360, Site="B"))
    assert [(queue.name, queue.failed["condition"]) for queue in answer.queues] == [
        (1, "Site"), (61, "Tag"), (63, "CPUTime")]
    assert answer.queues[0].failed["queue"] == {"Sites": ["A"]}
    assert answer.queues[0].failed["request"] == {"Site": ["B"]}
    assert answer.queues[0].failed["reason"] == "task queue: Sites A; request: Site B"
    assert answer.outcomes == {"no match": 1} and answer.jobs == {} and answer.matching == ()


def test_priorities_probabilities_and_draws_agree():
    answer = asked(dict(CPUTime=10**6, Tag="GPU"), draws=4000)
    found = {queue.name: (round(queue.priority, 4), queue.probability) for queue in answer.queues}
    assert {name: priority for name, (priority, _) in found.items()} == {1: 450, 61: 75, 63: 375}
    assert sum(chance for _, chance in found.values()) == pytest.approx(1) == pytest.approx(sum(answer.jobs.values()))
    assert all(abs(queue.drawn / 4000 - queue.probability) < 0.03 for queue in answer.queues)
    assert answer.jobs.keys() == {*range(1, 51), 61, 62, 63} and sum(answer.drawn.values()) == 4000
    assert answer.drawn.keys() <= answer.jobs.keys()


def test_the_draws_of_a_seed_are_always_the_same_and_those_of_another_differ():
    asking = dict(CPUTime=10**6, Tag="GPU")
    first = asked(asking, 200)
    assert asked(asking, 200) == first != asked(asking, 200, seed=2)


def test_the_json_has_the_described_fields():
    answer = sb.match(SNAPSHOT, [dict(CPUTime=10**6, Tag="GPU"), dict(CPUTime="x"), dict(CPUTime=1)], draws=10)
    told = json.loads(json.dumps(answer.to_dict(), allow_nan=False))
    assert told.keys() == OF_MATCHING.keys() and told["format"] == FORMAT
    assert told["refused"] == [dict(id=64, reason="CPUTime '300' is not a whole number")]
    for request in told["requests"]:
        assert request.keys() == OF_REQUEST.keys()
        assert all(queue.keys() == OF_TASK_QUEUE.keys() for queue in request["task_queues"])
    assert told["requests"][1]["error"] == dict(type="type", text="CPUTime 'x' is not a whole number")
    assert told["requests"][0]["task_queues"][0]["identity"] == dict(
        Owner="ada", OwnerGroup="user", CPUTime=360, Sites=["A"])
    assert told["requests"][2]["outcomes"] == [dict(outcome="no match", probability=1.0, drawn=10, frequency=1.0)]


@pytest.mark.parametrize(("jobs", "job", "chance", "otherwise"), [
    pytest.param([1, 2], 1, 1 - 0.75 ** 3, "error", id="its class may lose three draws"),
    pytest.param([1], 1, 1, None, id="the only class"),
    pytest.param([1], 7, 0, "error", id="a job that does not wait")])
def test_a_request_may_name_a_job(jobs, job, chance, otherwise):
    snapshot = dict(jobs=[dict(id=u, Owner="a", OwnerGroup="g", priority=u) for u in jobs])
    answer = asked(dict(CPUTime=10**6, JobID=job), 3000, snapshot)
    assert answer.jobs.get(job, 0) == pytest.approx(chance) and set(answer.outcomes) == {otherwise} - {None}
    assert abs(answer.drawn[job] / 3000 - chance) < 0.03


def test_after_priorities_are_computed_some_are_set_and_jobs_are_taken():
    answer = asked(dict(CPUTime=360, Tag="GPU"), snapshot=SNAPSHOT | dict(
        set_priorities={"1": 25}, after_recalculate_remove=[61]))
    assert [(queue.name, queue.priority, queue.jobs) for queue in answer.queues[:2]] == [(1, 25, 60), (62, 75, 1)]
    taken = asked(dict(CPUTime=360, Site="B", Tag="GPU"), snapshot=SNAPSHOT | dict(after_recalculate_remove=[61, 62]))
    assert taken.outcomes == {"no match": 1} and [queue.name for queue in taken.queues] == [1, 63]


def test_a_snapshot_can_be_asked_in_both_editions():
    found = sb.match(EXAMPLE, SCENARIOS / "dirac_resource.json", edition="documented")
    first = found.requests[0]
    assert first.request == dict(CPUTime=400_000, Site="LCG.CERN.cern", GridCE="ce501.cern.ch",
                                 LHCbPlatform="x86_64-el9")
    assert {queue.name: round(queue.probability, 4) for queue in first.matching} == {1: 0.9, 201: 0.1, 241: 0, 404: 0}
    assert first.queues[2].identity["OwnerDN"] == "/DC=org/CN=ada" and first.jobs.keys() == {*range(1, 11),
                                                                                              *range(201, 211)}
    assert "Tags of 1 job has no meaning in the documented edition" in found.remarks


def test_usage_under_a_certificate_name_is_that_of_the_user():
    corrector = dict(EnableSharesCorrection=True, ShareCorrections=dict(
        ShareCorrectorsToStart="WMSHistory", WMSHistory=dict(inside=dict(Group="user", Week={}))))
    used = dict(span=604800, group="user", data={"/CN=ada": 30, "bob": 10})
    snapshot = SNAPSHOT | dict(users=dict(ada=dict(DN="/CN=ada")), operations=dict(JobScheduling=corrector),
                               history=[used])
    answer = asked(dict(CPUTime=10**6, Tag="GPU"), snapshot=snapshot)
    assert [round(queue.priority, 4) for queue in answer.queues] == [300, 150, 750]


def test_a_pilot_reports_and_is_translated():
    found = sb.match(EXAMPLE, SCENARIOS / "dirac_pilots.json", report=True)
    first, second = found.requests
    assert "8Processors" in first.request["Tag"] and first.request["OwnerGroup"] == ["prod", "user"]
    assert {queue.name for queue in first.matching} == {1, 201, 241, 404}
    assert second.request["Owner"] == "ada" and {queue.name for queue in second.matching} == {241}
    banned = sb.match(EXAMPLE, SCENARIOS / "dirac_pilots.json", report=True, banned_sites=["LCG.CERN.cern"])
    assert banned.requests[0].request["JobType"] == "Test" and not banned.requests[0].matching


def correcting(**options):
    """A snapshot whose shares are corrected by a corrector with these options."""
    return dict(operations=dict(JobScheduling=dict(EnableSharesCorrection=True, ShareCorrections=dict(
        ShareCorrectorsToStart="WMSHistory", WMSHistory=dict(all=options)))))


@pytest.mark.parametrize(("snapshot", "request_", "remark"), [
    (dict(jobs=[dict(id=1, Owner="a", OwnerGroup="usr")], groups=dict(user={})), {}, "did you mean 'user'?"),
    (dict(groups=dict(user=dict(job_share="0.5"))), {}, "job_share '0.5' of group 'user' is not a whole number"),
    (dict(operations=dict(JobSheduling={})), {}, "operations.JobSheduling has no effect; did you mean 'JobScheduling'"),
    (dict(operations=dict(JobScheduling=dict(taskQueueCPUTimeIntervals=[5, 5]))), {}, "is not in force"),
    (dict(operations=dict(JobScheduling=dict(EnableSharesCorection=1))), {}, "did you mean 'EnableSharesCorrection'"),
    (correcting(MaxGlobalCorrectionFactor=3), {}, "MaxGlobalCorrectionFactor has no effect"),
    (correcting(MaxGlobalCorrection="2.5"), {}, "MaxGlobalCorrection '2.5' is not a whole number; DIRAC reads 5"),
    (correcting(Week=dict(Weight=0.5)), {}, "Weight 0.5 is not a whole number; DIRAC reads 1"),
    (dict(operations=dict(JobScheduling=dict(ShareCorrections=dict(WMSHistory={})))), {},
     "ShareCorrections has no effect without EnableSharesCorrection"),
    ({}, dict(NumberOfProcessors=4), "NumberOfProcessors of 1 request counts in the report of a pilot only"),
    ({}, dict(OwnerDN="x"), "OwnerDN of 1 request has no meaning in the deployed edition"),
    (dict(raw_resource=True, groups=dict(user=dict(vo="atlas"))), dict(Credentials=dict(
        properties=["GenericPilot"], VO="atls")), "the vo 'atls' of a generic pilot; did you mean 'atlas'?"),
    (dict(raw_resource=True), dict(BannedSite="A"), "BannedSite of 1 request is not kept by DIRAC's Matcher"),
    (dict(raw_resource=True), dict(RequiredTag="A"), "RequiredTag of 1 request without Tag is lost"),
    (dict(jobs=[dict(id=1, Owner="a", OwnerGroup="user", Setup="S")]), {}, "Setup of 1 job has no meaning"),
    (dict(edition="documented", jobs=[], negative=dict(Site=["A"])), {}, "negative has no meaning in the documented")])
def test_what_has_no_effect_is_remarked(snapshot, request_, remark):
    remarks = sb.match(SNAPSHOT | snapshot, dict(CPUTime=360) | request_).remarks
    assert len(remarks) == 1 and remark in remarks[0]


def test_nothing_of_the_example_is_remarked():
    assert sb.match(EXAMPLE, SCENARIOS / "dirac_resource.json").remarks == ()


@pytest.mark.parametrize(("snapshot", "request_", "error", "message"), [
    (dict(jobs=[dict(id=1, Ownr="a")]), {}, sb.SnapshotError, "unknown key; did you mean 'Owner'"),
    (dict(jobs=[dict(Owner="a")]), {}, sb.SnapshotError, "jobs\\[0\\].id: is missing"),
    (dict(after_recalculate_remove=[99]), {}, sb.SnapshotError, "no job of the snapshot has this id"),
    (dict(set_priorities={"x": 1}), {}, sb.SnapshotError, "no job of the snapshot has this id"),
    (dict(negative="JobType"), {}, sb.SnapshotError, "expected a negative condition"),
    (dict(negative=dict(JobType={})), {}, sb.SnapshotError, "negative.JobType = {}: expected a value or a list"),
    (dict(operations=dict(JobScheduling=3)), {}, sb.SnapshotError, "expected a mapping of options"),
    (dict(jobs=[dict(id=1, count=1_000_001)]), {}, sb.SnapshotError, "expected less than or equal to 1000000"),
    ({}, dict(CPUTime=10**30), sb.RequestError, "expected a whole number between"),
    ({}, dict(CPUTime=float("nan")), sb.RequestError, "CPUTime = nan: expected a finite number"),
    ({}, dict(Site=["A", float("inf")]), sb.RequestError, "expected a finite number"),
    ({}, dict(Sit="A"), sb.RequestError, "unknown key; did you mean 'Site'?"),
    (dict(negativ=3), dict(Sit="A"), sb.SnapshotError, r"(?s)2 problems.*negativ.*Sit")])
def test_unknown_keys_and_names_are_refused(snapshot, request_, error, message):
    with pytest.raises(error, match=message):
        sb.match(SNAPSHOT | snapshot, request_)


@pytest.mark.parametrize(("options", "message"), [
    (dict(RunningLimit=dict(A=3)), "RunningLimit.A = 3: expected a mapping of options"),
    (dict(RunningLimit=dict(A=dict(JobType=dict(T=1.5)))), "A.JobType.T = 1.5: expected a whole number >= 0"),
    (dict(RunningLimit=dict(A=dict(CEs=dict(ce=dict(JobType=dict(T=-1)))))), "CEs.ce.JobType.T = -1: expected a whole"),
    (dict(MatchingDelay=dict(A=dict(JobType=dict(T="soon")))), "JobType.T = 'soon': expected a number of seconds"),
    (dict(MatchingDelay=dict(A=dict(Burst=dict(JobType=dict(T=0))))), "Burst.JobType.T = 0: expected a whole"),
    (dict(ShareCorrections=[]), "ShareCorrections = \\[\\]: expected a mapping of options"),
    (dict(ShareCorrections=dict(ShareCorrectorsToStart=3)), "expected a name or a list of names"),
    (dict(ShareCorrections=dict(WMSHistory=dict(all=dict(MaxGlobalCorrection=0)))), "0: expected a whole number >= 1"),
    (dict(ShareCorrections=dict(WMSHistory=dict(all=dict(Week=dict(MaxCorrection=10**400))))), ">= 1")])
def test_options_of_the_wrong_shape_are_refused(options, message):
    with pytest.raises(sb.SnapshotError, match=message):
        sb.match(SNAPSHOT | dict(operations=dict(JobScheduling=options)), {})


@pytest.mark.parametrize(("request_", "raw", "answer"), [
    (dict(CPUTime=2**31 - 1), False, None), (dict(CPUTime=360, Tag=7), False, "type"),
    (dict(CPUTime=360, Owner=[]), False, "query"), (dict(CPUTime=360, JobID=[]), False, None),
    (dict(CPUTime=360, JobID=[1, 2]), False, "query"), (dict(CPUTime=360, Tag=7), True, "type"),
    (dict(CPUTime=360, Tag=[["GPU"]]), True, "type"), (dict(CPUTime=360, Tag=None), True, None)])
def test_values_of_a_request_that_are_wrong_are_answered_with_an_error(request_, raw, answer):
    error = asked(request_, report=raw).error
    assert (error and error["type"]) == answer


def test_no_request_is_refused():
    with pytest.raises(sb.RequestError, match="at least one request is needed"):
        sb.match(SNAPSHOT, [])


@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_drawn_frequencies_follow_the_closed_forms(edition):
    """Priorities 1, 2, 3; in the third task queue three jobs of priority 1 and one of 2; chi-square, p > 0.001."""
    jobs = [dict(id=k, Owner="a", OwnerGroup="g", CPUTime=300, Sites=[f"S{k}", "A"]) for k in (1, 2, 3)]
    jobs += [jobs[2] | dict(id=k, priority=1 + (k == 6)) for k in (4, 5, 6)]
    long = dict(id=9, Owner="a", OwnerGroup="g", CPUTime=10)      # of the same class as the others
    snapshot = dict(jobs=[*jobs, long], set_priorities={"1": 1, "2": 2, "3": 3}, after_recalculate_remove=[9])
    answer, n = asked(dict(CPUTime=600, Site="A"), 6000, snapshot, edition=edition), 6000
    expected = {1: 7 / 54, 2: 8 / 27, 3: 31 / 54}
    assert {queue.name: queue.probability for queue in answer.matching} == pytest.approx(expected)
    assert sum((queue.drawn - n * expected[queue.name]) ** 2 / (n * expected[queue.name])
               for queue in answer.matching) < 13.8
    of_jobs = {1: 7 / 54, 2: 8 / 27, **dict.fromkeys((3, 4, 5), 31 / 54 * 0.53125 / 3), 6: 31 / 54 * 0.46875}
    assert answer.jobs == pytest.approx(of_jobs)
    assert sum((answer.drawn[job] - n * chance) ** 2 / (n * chance) for job, chance in of_jobs.items()) < 20.5


def test_a_number_that_was_refused_once_is_named_though_it_came_again():
    found = sb.match(dict(jobs=[job(1, priority="x"), job(1), job(2), job(2, Sites="A")]), dict(CPUTime=10**6))
    assert set(found.refused) == {1, 2} and [jobs for _, jobs in found.queues] == [(1, 2)]


def test_the_default_classes_may_be_written_down():
    classes = sb.match(dict(jobs=[job(1)]), dict(CPUTime=1)).remarks
    given = dict(JobScheduling=dict(taskQueueCPUTimeIntervals=list(DEPLOYED.cpu_classes)))
    assert sb.match(dict(jobs=[job(1)], operations=given), dict(CPUTime=1)).remarks == classes


def p_of_chi_square(counts, expected):
    """Probability of a larger chi-square, by the normal approximation of Wilson and Hilferty."""
    free = len(counts) - 1
    chi = sum((counts[name] - number) ** 2 / number for name, number in expected.items())
    z = ((chi / free) ** (1 / 3) - (1 - 2 / (9 * free))) / (2 / (9 * free)) ** 0.5
    return erfc(z / 2**0.5) / 2


def test_draws_as_documented_follow_the_closed_forms_of_the_longest_task_queues():
    """Priorities 1, 2 and 3; jobs of two user priorities in the last task queue; source: DIRAC reference, 14.2."""
    jobs = [job(1, CPUTime=400, priority=9), job(10, count=12, CPUTime=4000), job(30, CPUTime=4000, Sites=["A"]),
            job(50, count=3, CPUTime=4000, Sites=["B", "C"]), job(60, CPUTime=4000, Sites=["B", "C"], priority=2)]
    snapshot = dict(jobs=jobs, edition="documented", set_priorities={"10": 1, "30": 2, "50": 3})
    answer = asked(dict(CPUTime=10**6), 20_000, snapshot)
    chances = {10: 7 / 54, 30: 8 / 27, 50: 31 / 54}
    assert {queue.name: queue.probability for queue in answer.queues} == pytest.approx({1: 0} | chances)
    drawn = {queue.name: queue.drawn for queue in answer.queues}
    assert drawn.pop(1) == 0
    assert p_of_chi_square(drawn, {name: 20_000 * chance for name, chance in chances.items()}) > 0.001
    of_jobs = {number: 7 / 54 / 10 for number in range(10, 20)} | {30: 8 / 27, 60: 31 / 54 * 0.46875}
    of_jobs |= {number: 31 / 54 * 0.53125 / 3 for number in (50, 51, 52)}
    assert answer.jobs == pytest.approx(of_jobs)
    assert p_of_chi_square(answer.drawn, {number: 20_000 * chance for number, chance in of_jobs.items()}) > 0.001
