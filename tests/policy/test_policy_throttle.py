import pytest
from policy_builders import cfg

from simgrid_broker.policy.tasks.throttle import (
    SWITCHED_OFF,
    UNLIMITED,
    Standby,
    bound,
    counted_by,
    lift,
    throttle,
    throttle_limits,
    with_standby,
)
from simgrid_broker.views import WorkQueueCounts

pytestmark = pytest.mark.rule("throttle", "throttle_limits", "lift", "with_standby")


def counts(running=0, not_running=0, defined=0, waiting=0, walltime_s=None):
    return WorkQueueCounts(running, not_running, defined, waiting, walltime_s)


@pytest.mark.parametrize(("standby", "running", "not_running"), [
    pytest.param([], 10, 5, id="no queue is in standby"),
    pytest.param([(40, 3)], 50, 5, id="a fixed number of slots counts as running"),
    pytest.param([(0, 3)], 13, 2, id="with 0 slots the starting jobs do"),
    pytest.param([(40, 3), (0, 2)], 52, 3, id="each queue by itself"),
])
def test_standby_slots_count_as_running(standby, running, not_running):
    assert with_standby(counts(10, 5), Standby.of(standby), of_type=False) == counts(running, not_running)


def decide(edition="documented", keys=None, throttled=True, core_type=None, share=None, **numbers):
    limits = throttle_limits(cfg(prod_job_throttler=keys or {}), "MC 16", "MCORE", edition=edition, throttled=throttled)
    return throttle(counts(**numbers), limits, core_type, share)


@pytest.mark.parametrize(("numbers", "skip", "max_jobs"), [
    pytest.param({}, False, 250, id="an empty work queue starts with half the least bunch"),
    pytest.param(dict(not_running=1), True, 250, id="without running jobs one queued job is more than twice"),
    pytest.param(dict(running=100, not_running=200), False, 250, id="twice the running is still fine"),
    pytest.param(dict(running=100, not_running=201), True, 250, id="one more is not"),
    pytest.param(dict(running=100, not_running=150, defined=51), True, 250, id="defined jobs count"),
    pytest.param(dict(running=1000, not_running=1450), False, 275, id="half of the 550 that are lacking"),
    pytest.param(dict(running=9000), False, 300, id="at most half of 600"),
    pytest.param(dict(running=10, waiting=10**6), False, 250, id="waiting jobs do not count"),
])
def test_documented(numbers, skip, max_jobs):
    assert decide(**numbers)[:2] == (skip, max_jobs)


@pytest.mark.parametrize(("keys", "numbers", "skip", "max_jobs"), [
    pytest.param({"NQUEUELIMIT_MC 16_MCORE": 1000}, dict(not_running=1000), False, 250, id="up to the lower limit"),
    pytest.param({"NQUEUELIMIT_MC 16_MCORE": 1000}, dict(not_running=1001), True, 250, id="above it"),
    pytest.param({"NQUEUELIMIT_MC 16_MCORE": 8000}, dict(not_running=7199), False, 400, id="far below: a 20th of it"),
    pytest.param({"NQUEUELIMIT_MC 16_MCORE": 8000}, dict(not_running=7200), False, 250, id="from 90 % on no more"),
    pytest.param({"NQUEUECAP_MC 16_MCORE": 1000}, dict(running=900, not_running=1000), False, 200, id="a 5th of a cap"),
    pytest.param({"NQUEUECAP_MC 16_MCORE": 1000}, dict(running=9000, not_running=1001), True, 200, id="above the cap"),
    pytest.param({"NRUNNINGCAP_MC 16_MCORE": 50}, dict(running=50), False, 250, id="running up to a cap"),
    pytest.param({"NRUNNINGCAP_MC 16_MCORE": 50}, dict(running=51), True, 250, id="running above it"),
    pytest.param({"THROTTLE_THRESHOLD": 3.0}, dict(running=100, not_running=300), False, 250, id="another threshold"),
    pytest.param({"NQUEUECAP_Other": 1}, dict(running=9000, not_running=1000), False, 300, id="another share's cap"),
])
def test_limits(keys, numbers, skip, max_jobs):
    assert decide(keys=keys, **numbers)[:2] == (skip, max_jobs)


@pytest.mark.parametrize(("keys", "numbers", "skip", "max_jobs"), [
    pytest.param({"NQUEUELIMIT_MC 16": 1000}, dict(not_running=1000), False, 250, id="up to the lower limit"),
    pytest.param({"NQUEUELIMIT_MC 16": 1000}, dict(not_running=1001), True, 250, id="above it"),
    pytest.param({"NQUEUELIMIT_MC 16": 8000}, dict(running=9000, defined=8000), False, 400, id="defined jobs up to it"),
    pytest.param({"NQUEUELIMIT_MC 16": 1000}, dict(running=600, not_running=1200), False, 250, id="twice the running"),
    pytest.param({"NQUEUELIMIT_MC 16": 8000}, dict(running=9000, defined=8001), True, 300, id="defined jobs above it"),
    pytest.param({"NQUEUELIMIT_MC 16": 8000}, dict(not_running=7199), False, 400, id="far below: a 20th of it"),
    pytest.param({"NQUEUELIMIT_MC 16": 8000}, dict(running=7201, not_running=7200), False, 400,
                 id="or with fewer queued than running jobs"),
    pytest.param({"NQUEUELIMIT_MC 16": 8000}, dict(running=7200, not_running=7200), False, 300, id="else half a bunch"),
    pytest.param({"NQUEUECAP_MC 16": 1000}, dict(running=400, not_running=1000), False, 200, id="a 5th of a cap"),
    pytest.param({"NQUEUECAP_MC 16": 1000}, dict(running=900, not_running=1001), True, 200, id="above the cap"),
    pytest.param({"NRUNNINGCAP_MC 16": 50}, dict(running=51), True, 250, id="running above a cap"),
])
def test_limits_deployed(keys, numbers, skip, max_jobs):
    assert decide("deployed", keys, **numbers)[:2] == (skip, max_jobs)


@pytest.mark.parametrize(("numbers", "documented", "deployed"), [
    pytest.param(dict(running=10, not_running=2000), True, False, id="the code allows 2 000 queued jobs"),
    pytest.param(dict(running=10, not_running=2001), True, True, id="but not more"),
    pytest.param(dict(running=10, not_running=2001, walltime_s=5e7), True, False, id="unless they are little work"),
    pytest.param(dict(running=10, not_running=2001, walltime_s=5e7 + 0.5), True, True, id="much work counts"),
    pytest.param(dict(running=0, not_running=2001), True, True, id="nothing runs"),
    pytest.param(dict(running=2000, defined=2401), False, True, id="the code limits defined jobs too"),
    pytest.param(dict(running=10, waiting=1000), False, False, id="waiting jobs"),
    pytest.param(dict(running=10, waiting=1001), False, True, id="too many waiting jobs"),
    pytest.param(dict(running=400, waiting=1600), False, False, id="four times the running jobs wait"),
    pytest.param(dict(running=400, waiting=1601), False, True, id="one more is too many"),
])
def test_difference_the_code_also_needs_a_long_queue(numbers, documented, deployed):
    assert (decide(**numbers).skip, decide("deployed", **numbers).skip) == (documented, deployed)


@pytest.mark.parametrize(("numbers", "max_jobs"), [
    pytest.param({}, 250, id="lacking: a 20th of 2 000 is less than half a bunch"),
    pytest.param(dict(running=1000, not_running=1450), 275, id="half a bunch"),
])
def test_deployed_number_of_jobs(numbers, max_jobs):
    assert decide("deployed", **numbers).max_jobs == max_jobs
    assert decide("deployed", {"NQUEUELIMIT_MC 16": 10000}, **numbers).max_jobs == 500


def test_an_exempt_share_is_never_throttled():
    assert decide(throttled=False, not_running=10**6)[:2] == (False, UNLIMITED)


@pytest.mark.parametrize(("key", "level"), [
    ("NQUEUECAP_MC 16_MCORE_HIMEM", 0), ("NQUEUECAP_MC 16_MCORE*", 1), ("NQUEUECAP_MC 16", 2),
])
def test_the_key_fixes_the_level(key, level):
    limits = throttle_limits(cfg(prod_job_throttler={key: 70}), "MC 16", "MCORE_HIMEM")
    assert limits.queue_cap[:2] == (70, level)
    busy, quiet = counts(running=900, not_running=71), counts(running=900)
    at_level = [quiet, quiet, quiet]
    at_level[level] = busy
    assert throttle(at_level[0], limits, *at_level[1:]).reason == "queued > NQUEUECAP"
    assert not throttle(quiet, limits, quiet, quiet).skip


def test_the_most_special_key_that_is_not_zero_wins():
    keys = {"NQUEUECAP_MC 16_SCORE": 0, "NQUEUECAP_MC 16_SCORE*": 5, "NQUEUECAP_MC 16": 9}
    assert throttle_limits(cfg(prod_job_throttler=keys), "MC 16", "SCORE").queue_cap[:2] == (5, 1)


@pytest.mark.parametrize(("shortage", "expected"), [(False, 2.5), (True, 4.0)])
def test_work_shortage_has_its_own_threshold(shortage, expected):
    config = cfg(core={"WORK_SHORTAGE": shortage}, prod_job_throttler={
        "THROTTLE_THRESHOLD": 2.5, "THROTTLE_THRESHOLD_FOR_WORK_SHORTAGE": 4.0})
    assert throttle_limits(config, "MC 16", "SCORE").threshold == expected


def test_nothing_set():
    limits = throttle_limits(cfg(), "MC 16", "SCORE")
    assert {limit.jobs for limit in (limits.queue_limit, limits.queue_cap, limits.running_cap)} == {None}
    assert limits.queue_cap.key == "NQUEUECAP_MC 16", "the key that would set it"


def test_another_component():
    config = cfg(anal_job_throttler={"NQUEUECAP_Analysis": 3})
    assert throttle_limits(config, "Analysis", "SCORE", analysis=True).queue_cap.jobs == 3
    assert throttle_limits(config, "Analysis", "SCORE").queue_cap.jobs is None


@pytest.mark.parametrize(("numbers", "documented", "deployed"), [
    pytest.param(dict(running=100, not_running=201), True, False, id="L8: queued > 2 x running is not enough"),
    pytest.param(dict(running=100, not_running=2001), True, True, id="L8: with more than four bunches it is"),
    pytest.param(dict(running=100, not_running=2001, walltime_s=5e7), True, False, id="L8: unless it is little work"),
])
def test_criterion_of_the_twiki_and_of_the_code(numbers, documented, deployed):
    assert (decide(**numbers).skip, decide("deployed", **numbers).skip) == (documented, deployed)


def of_queue(name, keys=None, resource_type="MCORE", **numbers):
    limits = throttle_limits(cfg(prod_job_throttler=keys or {}), name, resource_type, edition="deployed")
    return throttle(counts(**numbers), limits)


@pytest.mark.parametrize(("name", "keys", "numbers", "jobs"), [
    pytest.param("MC 16", {}, dict(running=1000, not_running=1500), 250, id="an ordinary queue"),
    pytest.param("Heavy Ion", {}, dict(running=1000, not_running=1400), 300,
                 id="far from the limit: the longest bunch"),
    pytest.param("Reprocessing default", {}, dict(running=1000, not_running=1500), 250, id="just a bunch short"),
    pytest.param("Heavy Ion", {"NQUEUELIMIT_Heavy Ion": 2050}, dict(running=1000, not_running=1500), 275,
                 id="550 short of the limit"),
])
def test_the_two_shares_with_long_bunches(name, keys, numbers, jobs):
    assert of_queue(name, keys, **numbers).max_jobs == jobs


@pytest.mark.parametrize(("waiting", "skip"), [(1200, False), (1201, True)])
def test_a_long_bunch_has_600_jobs_at_most(waiting, skip):
    assert of_queue("Heavy Ion", running=10, waiting=waiting).skip is skip


@pytest.mark.parametrize(("name", "numbers", "by_walltime"), [
    pytest.param("MC 16", dict(running=10, not_running=2001), True, id="too long a queue, if it is much work"),
    pytest.param("MC 16", dict(running=2000, defined=2401), False, id="too many defined jobs, whatever their work"),
    pytest.param("eventservice", dict(running=10, not_running=2001), False, id="event service does not mind"),
    pytest.param("MC 16", dict(running=10), False, id="no skip"),
])
def test_which_skips_hold_for_much_work_only(name, numbers, by_walltime):
    assert of_queue(name, resource_type="", **numbers).by_walltime is by_walltime


def test_event_service_does_not_mind_wall_time():
    little = dict(running=10, not_running=2001, walltime_s=1.0)
    assert of_queue("eventservice", resource_type="", **little).skip
    assert not of_queue("MC 16", **little).skip


def test_a_queue_for_all_resource_types_has_one_key():
    config = cfg(prod_job_throttler={"NQUEUECAP_HPC": 9, "NQUEUECAP_HPC_MCORE": 5, "NQUEUECAP_HPC_SCORE*": 7})
    assert throttle_limits(config, "HPC", "").queue_cap[:2] == (9, 2)


TOO_MANY = dict(running=10, not_running=2001)


@pytest.mark.parametrize(("keys", "numbers", "soft", "jobs"), [
    pytest.param({}, TOO_MANY, True, 250, id="too long a queue"),
    pytest.param({}, dict(running=2000, defined=2401), True, 300, id="defined jobs"),
    pytest.param({}, dict(running=10, waiting=1001), True, 250, id="waiting jobs"),
    pytest.param({"NQUEUECAP_MC 16": 1000}, dict(running=900, not_running=1001), True, 200, id="cap on queued jobs"),
    pytest.param({"NRUNNINGCAP_MC 16": 50}, dict(running=51), False, 250, id="the cap on running jobs is hard"),
])
def test_soft_skips_may_be_lifted(keys, numbers, soft, jobs):
    decision = decide("deployed", keys, **numbers)
    assert decision[:2] == (True, jobs) and decision.soft is soft
    lifted = lift(decision, 901, 900, 0)
    assert (lifted.skip, lifted.min_priority, lifted.max_jobs) == (not soft, 901 if soft else None, jobs)


def test_skips_of_analysis_and_of_the_documents_are_not_lifted():
    limits = throttle_limits(cfg(), "Analysis", "SCORE", edition="deployed", analysis=True)
    for decision in (decide("documented", **TOO_MANY), throttle(counts(**TOO_MANY), limits)):
        assert decision.skip and lift(decision, 900, 100, 0) == decision


@pytest.mark.parametrize(("waiting", "queued", "n_highest", "passes"), [
    (901, 900, 10**6, True), (900, 900, 499, True), (900, 900, 500, False), (899, 900, 0, False),
])
def test_high_priority(waiting, queued, n_highest, passes):
    assert lift(decide("deployed", **TOO_MANY), waiting, queued, n_highest).skip is not passes


def test_without_a_known_priority_not_even_merge_jobs_are_made():
    decision = decide("deployed", running=10)
    assert (decision.skip, decision.merging) == (False, True)
    assert lift(decision, None, 0, 0)[:2] == (True, 250) and not lift(decision, None, 0, 0).merging
    exempt = decide("deployed", throttled=False)
    assert lift(exempt, None, 0, 0) == exempt


def test_merge_jobs_are_made_in_spite_of_a_skip():
    assert decide("deployed", **TOO_MANY).merging


def test_a_twentieth_of_the_limit_is_not_rounded():
    assert decide("deployed", {"NQUEUELIMIT_MC 16": 5010}).max_jobs == 250.5


@pytest.mark.parametrize(("standby", "of_type", "running", "not_running"), [
    pytest.param(Standby(), True, 10, 100, id="no slots"),
    pytest.param(Standby(static=7), True, 7, 100, id="a fixed number replaces the running jobs of a type"),
    pytest.param(Standby(starting=40), True, 40, 60, id="starting jobs replace them, too"),
    pytest.param(Standby(7, 40), True, 40, 60, id="the last one counts"),
    pytest.param(Standby(7, 40), False, 57, 60, id="of several types all are added"),
])
def test_standby_slots(standby, of_type, running, not_running):
    assert with_standby(counts(10, 100), standby, of_type)[:2] == (running, not_running)


def of_event_service(edition="deployed", keys=None, share=None, **numbers):
    limits = throttle_limits(cfg(prod_job_throttler=keys or {}), "eventservice", "MCORE", edition=edition)
    return throttle(counts(**numbers), limits, share=counts(**share or {}))


@pytest.mark.parametrize(("keys", "share", "numbers", "skip", "jobs"), [
    pytest.param({}, dict(running=100, not_running=200), dict(not_running=2001), False, 250,
                 id="the ratio is that of all types"),
    pytest.param({}, dict(running=100, not_running=201), dict(not_running=2000), False, 250,
                 id="queued jobs of the type are within the limit"),
    pytest.param({}, dict(running=100, not_running=201), dict(not_running=2001), True, 250, id="both are above"),
    pytest.param({}, dict(not_running=1), dict(running=9, not_running=2001), True, 250, id="none of any type runs"),
    pytest.param({}, dict(running=1000, not_running=1450), dict(), False, 275, id="the bunch is that of all types"),
    pytest.param({"NQUEUECAP_eventservice_MCORE": 1000}, dict(), dict(not_running=1001), True, 200,
                 id="a cap of the type"),
    pytest.param({}, dict(running=9000), dict(waiting=1201), True, 300, id="waiting jobs are those of the type"),
])
def test_event_service_in_the_code(keys, share, numbers, skip, jobs):
    assert of_event_service("deployed", keys, share, **numbers)[:2] == (skip, jobs)


@pytest.mark.parametrize(("share", "lacking"), [
    pytest.param(dict(running=1900, not_running=1899), True, id="fewer queued than running of all types"),
    pytest.param(dict(running=1900, not_running=1900), False, id="as many"),
])
def test_event_service_lacks_jobs_by_all_types(share, lacking):
    assert of_event_service(share=share, not_running=2300).lacking is lacking


@pytest.mark.parametrize(("keys", "numbers", "lacking"), [
    pytest.param({}, dict(running=1000, not_running=1799), True, id="below nine tenths of the limit"),
    pytest.param({}, dict(running=1000, not_running=1800), False, id="not below"),
    pytest.param({}, dict(running=1801, not_running=1800), True, id="fewer than run"),
    pytest.param({"NQUEUELIMIT_MC 16": 1000}, dict(running=600, not_running=899), True, id="a limit of its own"),
    pytest.param({"NQUEUELIMIT_MC 16": 1000}, dict(running=600, not_running=900), False, id="nine tenths of it"),
])
def test_lack_of_jobs(keys, numbers, lacking):
    assert decide("deployed", keys, **numbers).lacking is lacking


@pytest.mark.parametrize(("edition", "keys", "numbers", "expected"), [
    pytest.param("documented", {}, dict(running=10, not_running=30), (("THROTTLE_THRESHOLD", "NQUEUELIMIT_MC 16"), 20),
                 id="the ratio alone; the lower limit is not set and would lift it"),
    pytest.param("documented", {"NQUEUELIMIT_MC 16_MCORE": 25}, dict(running=10, not_running=30),
                 (("NQUEUELIMIT_MC 16_MCORE", "THROTTLE_THRESHOLD"), 25), id="the ratio above the lower limit"),
    pytest.param("documented", {"NQUEUECAP_MC 16": 7}, dict(running=10, not_running=8), (("NQUEUECAP_MC 16",), 7),
                 id="too many queued jobs"),
    pytest.param("deployed", {"NRUNNINGCAP_MC 16_MCORE*": 5}, dict(running=10), (("NRUNNINGCAP_MC 16_MCORE*",), 5),
                 id="too many running jobs, of the core type"),
    pytest.param("documented", {"NQUEUECAP_MC 16": 100}, dict(running=10), (("NQUEUECAP_MC 16",), 20),
                 id="jobs are made, a fifth of the cap in a cycle"),
    pytest.param("documented", {}, dict(running=10), ((), 250), id="jobs are made, half a bunch, by no key"),
])
def test_a_decision_names_the_keys_behind_it(edition, keys, numbers, expected):
    limits = throttle_limits(cfg(prod_job_throttler=keys), "MC 16", "MCORE", edition=edition)
    assert bound(throttle(counts(**numbers), limits), limits, counts(**numbers)) == expected


@pytest.mark.parametrize(("key", "reason", "running"), [
    pytest.param("NRUNNINGCAP_MC 16", "running > NRUNNINGCAP", 60, id="of all types"),
    pytest.param("NRUNNINGCAP_MC 16_MCORE*", "running > NRUNNINGCAP", 20, id="of the core type"),
    pytest.param("NRUNNINGCAP_MC 16_MCORE", "running > NRUNNINGCAP", 10, id="of the resource type"),
    pytest.param("NQUEUECAP_MC 16", "queued > NQUEUECAP", 60, id="queued jobs of all types"),
])
def test_the_jobs_that_a_cap_counts_are_those_of_its_level(key, reason, running):
    limits = throttle_limits(cfg(prod_job_throttler={key: 5}), "MC 16", "MCORE")
    levels = [counts(running=n, not_running=8) for n in (10, 20, 60)]
    decision = throttle(levels[0], limits, *levels[1:])
    assert decision.reason == reason and counted_by(decision, limits, *levels).running == running


def test_the_switch_of_generation_is_a_key_too():
    assert bound(SWITCHED_OFF) == (("JOB_SUBMISSION",), 0)
