import numpy as np
import pytest
from policy_builders import cfg

from simgrid_broker.names import EDITIONS, Cause, JobMark, JobStatus, QueueStatus
from simgrid_broker.policy.jobs import timeouts
from simgrid_broker.policy.jobs.rebrokerage import Backlog, jobs_to_take_back, oldest_of_each, queues_left_alone
from simgrid_broker.policy.jobs.timeouts import (
    CLOCKS,
    KILLS,
    LABELS,
    STAGES,
    SilentJob,
    concerning,
    is_only_marked,
    rules,
    watcher_error,
)
from simgrid_broker.units import DAY, HOUR, MINUTE

S = JobStatus


def limits(edition, status, config=None, **properties):
    """Limits of the rules for any job in a status that have these properties."""
    return [rule.limit_s for rule in rules(config or cfg(), edition)
            if status in rule.statuses and not rule.only
            and all(getattr(rule, name) == value for name, value in properties.items())]


@pytest.mark.rule("rules")
@pytest.mark.parametrize(("status", "properties", "documented", "deployed"), [
    pytest.param(S.PENDING, {}, [HOUR], [7 * DAY, 12 * HOUR, HOUR], id="pending"),
    pytest.param(S.DEFINED, {}, [4 * HOUR], [7 * DAY, 4 * HOUR, 12 * HOUR], id="defined"),
    pytest.param(S.ASSIGNED, {}, [12 * HOUR], [7 * DAY, 12 * HOUR], id="assigned"),
    pytest.param(S.WAITING, {}, [30 * MINUTE], [7 * DAY, 12 * HOUR, HOUR], id="waiting"),
    pytest.param(S.MERGING, {}, [], [7 * DAY, 21 * DAY], id="merging"),
    pytest.param(S.THROTTLED, {}, [7 * DAY], [7 * DAY, 21 * DAY, 7 * DAY], id="throttled"),
    pytest.param(S.ACTIVATED, {"idle_queue": True}, [4 * HOUR], [4 * HOUR], id="activated at an idle queue"),
    pytest.param(S.ACTIVATED, {"idle_queue": False, "labels": "any"}, [2 * DAY], [7 * DAY, 21 * DAY], id="activated"),
    pytest.param(S.ACTIVATED, {"idle_queue": False, "labels": "managed"}, [], [2 * DAY], id="activated, managed"),
    pytest.param(S.STARTING, {"cause": Cause.TIMEOUT_STARTING, "idle_queue": True}, [4 * HOUR], [4 * HOUR],
                 id="starting at an idle queue"),
    pytest.param(S.STARTING, {"labels": "managed", "idle_queue": False}, [], [2 * DAY], id="starting, managed"),
    pytest.param(S.SENT, {"action": "fail"}, [30 * MINUTE], [30 * MINUTE], id="sent"),
    pytest.param(S.RUNNING, {"cause": Cause.TIMEOUT_RUNNING, "labels": "any"}, [21 * DAY], [21 * DAY], id="running"),
    pytest.param(S.RUNNING, {"cause": Cause.LOST_HEARTBEAT, "labels": "any"}, [2 * HOUR], [2 * HOUR, 21 * DAY],
                 id="heartbeat"),
    pytest.param(S.HOLDING, {"priority_at_least": 800}, [3 * HOUR], [], id="holding from priority 800"),
    pytest.param(S.HOLDING, {"priority_at_least": 801}, [], [3 * HOUR], id="holding above priority 800 in the code"),
    pytest.param(S.HOLDING, {"priority_below": 800}, [2 * DAY], [], id="holding below priority 800"),
    pytest.param(S.TRANSFERRING, {"priority_at_least": 800}, [2 * DAY], [2 * DAY], id="transferring, urgent"),
    pytest.param(S.TRANSFERRING, {"priority_below": 800}, [6 * DAY], [6 * DAY], id="transferring"),
])
def test_the_table(status, properties, documented, deployed):
    assert limits("documented", status, **properties) == documented
    assert limits("deployed", status, **properties) == deployed


@pytest.mark.rule("rules")
@pytest.mark.parametrize(("stage", "labels"), [
    pytest.param(0, {"analysis", "any"}, id="before fast rebrokerage: heartbeats, and seven days for all"),
    pytest.param(1, {"managed", "managed and test", "analysis and test", "any"}, id="before analysis rebrokerage"),
    pytest.param(2, {"managed and test", "any"}, id="at the end: three weeks, throttled and transferring jobs"),
])
def test_deployed_order_of_the_rules(stage, labels):
    found = [rule for rule in rules(cfg(), "deployed") if rule.stage == stage]
    assert {rule.labels for rule in found} == labels
    assert len(found) == (12, 24, 13)[stage]
    assert {rule.stage for rule in rules(cfg(), "documented")} == {0}


@pytest.mark.rule("rules")
def test_event_service_in_the_code():
    """Rows 21 to 23: consumers are spared the hour of waiting; a day ends them from 900, merge jobs at any priority."""
    rows = rules(cfg(), "deployed")
    waiting = [(rule.limit_s, rule.code, rule.spares) for rule in rows
               if rule.statuses == (S.WAITING,) and rule.clock == "created" and rule.stage == 1]
    assert waiting == [(HOUR, 4, JobMark.CONSUMES)]
    ended = [(rule.statuses, rule.only, rule.priority_at_least, rule.clock, rule.limit_s, rule.code)
             for rule in rows if rule.only in (JobMark.CONSUMES, JobMark.MERGES_EVENTS)]
    assert ended == [((status,), mark, priority, "entered", DAY, 2)
                     for mark, priority in ((JobMark.CONSUMES, 900), (JobMark.MERGES_EVENTS, None))
                     for status in (S.STARTING, S.RUNNING)]


@pytest.mark.rule("rules")
def test_silence_of_analysis_jobs_counts_from_the_watchers_own_hour():
    found = rules(cfg(watcher={"HEARTBEAT_TIMEOUT_analysis": 0.5}), "deployed")
    assert {(rule.limit_s, rule.silent_s) for rule in found
            if rule.labels == "analysis" and not rule.only} == {(HOUR / 2, HOUR)}


@pytest.mark.rule("concerning", "rules")
@pytest.mark.parametrize(("mark", "limits", "codes"), [
    pytest.param(JobMark.BUILDS, [4 * HOUR], [2], id="row 14: build jobs"),
    pytest.param(JobMark.NOT_JEDI, [4 * HOUR], [2], id="row 14: jobs that JEDI did not make"),
    pytest.param(JobMark.CHANGED_SINCE, [3 * HOUR], [0], id="row 4: holding analysis jobs that were changed since"),
    pytest.param(JobMark.PREMERGE_GONE, [HOUR / 2], [52], id="row 27: merge jobs without input"),
    pytest.param(JobMark.MERGES, [], [], id="no rule is about merge jobs alone"),
])
def test_rules_about_marked_jobs(mark, limits, codes):
    found = rules(cfg(), "deployed")
    own = [rule for rule in concerning(found, mark) if rule.only]
    assert [rule.limit_s for rule in own] == limits and [rule.code for rule in own] == codes
    assert not [rule for rule in concerning(found, JobMark(0)) if rule.only]


@pytest.mark.rule("rules")
@pytest.mark.parametrize(("row", "status", "code", "spares"), [
    pytest.param(12, S.STARTING, 51, JobMark.NOT_JEDI | JobMark.NO_RELOCATION_FLAG | JobMark.NOT_REASSIGNABLE
                 | JobMark.MERGES, id="12: not without a relocationFlag"),
    pytest.param(13, S.DEFINED, 51, JobMark.NOT_JEDI, id="13"),
    pytest.param(17, S.STARTING, 51, JobMark.NOT_JEDI | JobMark.NOT_REASSIGNABLE, id="17: also without one"),
])
def test_jobs_that_the_rows_spare(row, status, code, spares):
    limit = {12: 4 * HOUR, 13: 4 * HOUR, 17: 48 * HOUR}[row]
    assert [rule.spares for rule in rules(cfg(), "deployed")
            if (rule.statuses, rule.limit_s, rule.code) == ((status,), limit, code)] == [spares]


@pytest.mark.rule("rules")
def test_kill_codes_say_how_a_job_ends():
    for rule in rules(cfg(), "deployed"):
        assert (rule.code == 0) is (rule.action == "fail")
        if rule.code:
            assert KILLS[rule.code].status == {"close": S.CLOSED, "cancel": S.CANCELLED}[rule.action]
    assert {rule.code for rule in rules(cfg(), "documented")} == {0}


@pytest.mark.rule("without_waiting")
def test_rules_on_jobs_that_wait_for_a_pilot_are_left_out_for_dirac():
    rows = [(S.ACTIVATED,), (S.THROTTLED,), (S.ACTIVATED, S.THROTTLED), (S.ACTIVATED, S.RUNNING), (S.STARTING,)]
    some = [timeouts.TimeoutRule(Cause.TIMEOUT_ACTIVATED, statuses, "entered", 1.0, "close") for statuses in rows]
    assert [rule.statuses for rule in timeouts.without_waiting(some)] == rows[3:]


@pytest.mark.rule("is_only_marked")
@pytest.mark.parametrize(("code", "status", "production", "marked"), [
    pytest.param(2, S.RUNNING, True, True, id="expired, running: its pilot ends it"),
    pytest.param(2, S.STARTING, True, False, id="expired, starting"),
    pytest.param(2, S.MERGING, False, False, id="expired, merging"),
    pytest.param(52, S.RUNNING, False, True, id="forced, analysis"),
    pytest.param(52, S.RUNNING, True, False, id="forced, production"),
    pytest.param(0, S.RUNNING, True, False, id="no kill code"),
])
def test_running_jobs_are_marked(code, status, production, marked):
    rule = next(rule for rule in rules(cfg(), "deployed") if rule.code == code)
    assert is_only_marked(rule, np.array([status]), np.array([production])).tolist() == [marked]


@pytest.mark.rule("watcher_error")
@pytest.mark.parametrize(("job", "error", "already_done"), [
    pytest.param(SilentJob(S.SENT, False, has_error=True), "EC_SendError", False, id="sent, whatever it says"),
    pytest.param(SilentJob(S.RUNNING, False), "EC_Watcher", False, id="running"),
    pytest.param(SilentJob(S.RUNNING, True), "EC_Timeout", False, id="running, with an endTime"),
    pytest.param(SilentJob(S.HOLDING, True), "EC_Holding", False, id="holding"),
    pytest.param(SilentJob(S.HOLDING, False), "EC_Watcher", False, id="holding without an endTime"),
    pytest.param(SilentJob(S.TRANSFERRING, True), "EC_Transferring", False, id="transferring"),
    pytest.param(SilentJob(S.RUNNING, False, has_error=True), "EC_Recovery", False, id="with an error of the pilot"),
    pytest.param(SilentJob(S.RUNNING, False, worker_is_over=True), "EC_Watcher", True, id="worker already done"),
    pytest.param(SilentJob(S.RUNNING, True, True, worker_is_over=True), "EC_Recovery", False, id="it says no more"),
    pytest.param(SilentJob(S.RUNNING, False, has_dispatcher_error=True, worker_is_over=True), "", False,
                 id="it keeps the error of the server"),
])
def test_errors_that_the_watcher_sets(job, error, already_done):
    assert watcher_error(job) == (error, already_done)


WORKFLOWS = np.array(["push", "pull", "production", "analysis", ""])


@pytest.mark.rule("timeouts.limits")
@pytest.mark.parametrize(("edition", "online", "of_push", "of_others"), [
    pytest.param("deployed", True, [0], [1, 4], id="a third workflow leaves production and analysis out"),
    pytest.param("deployed", False, [], [0, 1, 2, 3, 4], id="it counts only while a queue of it is online"),
    pytest.param("documented", False, [0], [1, 2, 3, 4], id="as documented it always counts"),
])
def test_queues_of_a_workflow(edition, online, of_push, of_others):
    queues = np.zeros(5, [("status", "i4"), ("laststart_s", "f8"), ("disable_reassign", "?"), ("transtimehi_s", "f8"),
                          ("transtimelo_s", "f8")])
    queues["status"] = QueueStatus.ONLINE if online else QueueStatus.BROKEROFF
    found = rules(cfg(watcher={"HEARTBEAT_TIMEOUT_push": 9}), edition)
    table = timeouts.limits(found, queues, WORKFLOWS, DAY)
    places = {rule.workflow: np.flatnonzero(np.isfinite(row)).tolist() for rule, row in zip(found, table, strict=True)
              if rule.workflow is not None}
    assert places == {"push": of_push, "": of_others}


@pytest.mark.rule("timeouts.limits")
@pytest.mark.parametrize(("started", "is_idle"), [
    pytest.param(2 * HOUR, False, id="two hours ago"), pytest.param(2 * HOUR + 1, True, id="before"),
    pytest.param(np.nan, False, id="never as far as is known")])
def test_a_queue_without_a_last_start_is_not_idle(started, is_idle):
    queues = np.zeros(1, [("status", "i4"), ("laststart_s", "f8"), ("disable_reassign", "?")])
    queues["laststart_s"] = DAY - started
    high = [rule for rule in rules(cfg(), "deployed") if rule.idle_queue]
    assert np.isfinite(timeouts.limits(high, queues, np.array([""]), DAY)).all() == is_idle


@pytest.mark.rule("rules")
@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_gdpconfig_moves_the_limits(edition):
    workflows = {"production": 3, "push": 9, "pull": None}
    config = cfg(job_timeout={"TIMEOUT_defined": 5, "TIMEOUT_holding": 6},
                 watcher={f"HEARTBEAT_TIMEOUT_{workflow}": hours for workflow, hours in workflows.items()})
    assert 5 * HOUR in limits(edition, S.DEFINED, config)
    assert 6 * HOUR in limits(edition, S.HOLDING, config)
    heartbeats = {rule.workflow: rule.limit_s for rule in rules(config, edition)
                  if rule.workflow is not None}
    assert heartbeats == {"push": 9 * HOUR, "": 3 * HOUR}


@pytest.mark.rule("rules")
@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_zero_is_not_set(edition):
    config = cfg(job_timeout={"TIMEOUT_defined": 0})
    assert 4 * HOUR in limits(edition, S.DEFINED, config)


@pytest.mark.rule("rules")
def test_documented_a_paused_queue_or_disable_reassign_turns_everything_off():
    assert all(rule.off_if_paused and rule.off_if_disable_reassign for rule in rules(cfg(), "documented")
               if not rule.only)


@pytest.mark.rule("rules")
def test_deployed_only_heartbeats_heed_a_paused_queue():
    for rule in rules(cfg(), "deployed"):
        assert rule.off_if_paused is (rule.workflow is not None)


@pytest.mark.rule("rules")
@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_every_rule_is_well_formed(edition):
    for rule in rules(cfg(), edition):
        assert rule.clock in CLOCKS and rule.action in ("fail", "close", "cancel") and rule.labels in LABELS
        assert rule.limit_s > 0 and 0 <= rule.stage < len(STAGES)
        assert len(rule.statuses) == 1 or rule.cause == Cause.LOST_HEARTBEAT or rule.only


FAST = {"FAST_REBRO_THRESHOLD_NQUEUE_MC 16": 50}


def backlog(queued, running, others=0, left_alone=(False, False)):
    """Jobs of one share at the first of two queues, and queued ones at the second."""
    return Backlog(np.array([[queued], [others]]), np.array([[running], [10**6]]), ("MC 16",), np.array(left_alone))


def taken(queued, running, others=0, config=None, edition="documented", **options):
    """Jobs taken back of one share at the first of two queues."""
    keys = cfg(edition, rebroker=FAST if config is None else config)
    return int(jobs_to_take_back(backlog(queued, running, others, **options), keys, edition)[0, 0])


@pytest.mark.rule("jobs_to_take_back", "Backlog.overshoot")
@pytest.mark.parametrize(("queued", "running", "others", "documented", "deployed"), [
    pytest.param(300, 10, 0, 210, 209, id="what is too much for the fraction of all"),
    pytest.param(300, 99, 0, 3, 2, id="what is above three times the running"),
    pytest.param(300, 100, 0, 0, 0, id="three times the running is still fine"),
    pytest.param(60, 0, 0, 10, 9, id="what is above the share's own limit"),
    pytest.param(51, 0, 0, 1, 0, id="one more than the limit"),
    pytest.param(50, 0, 0, 0, 0, id="at the limit is still fine"),
    pytest.param(300, 0, 700, 0, 0, id="30 % of all is still fine"),
    pytest.param(300, 0, 699, 1, 0, id="a little more is not"),
    pytest.param(300, 0, 690, 3, 2, id="more is not"),
])
def test_l27_fast_rebrokerage_takes_the_excess_in_the_code_one_job_less(queued, running, others, documented, deployed):
    assert taken(queued, running, others) == documented
    assert taken(queued, running, others, edition="deployed") == deployed


@pytest.mark.rule("jobs_to_take_back", "Backlog.overshoot")
@pytest.mark.parametrize(("key", "queued", "running", "documented", "deployed"), [
    pytest.param("FAST_REBRO_THRESHOLD_NQUEUE_MC 16", 1, 0, 1, 0, id="one job is more than none"),
    pytest.param("FAST_REBRO_THRESHOLD_NQUEUE_MC 16", 0, 0, 0, 0, id="no job is not"),
    pytest.param("FAST_REBRO_THRESHOLD_NQNR_RATIO", 60, 30, 10, 0, id="any queued job is too many for the running"),
    pytest.param("FAST_REBRO_THRESHOLD_NQUEUE_FRAC", 60, 0, 10, 9, id="any fraction is too large"),
])
def test_a_threshold_of_0_is_one_and_in_the_code_not_set(key, queued, running, documented, deployed):
    config = FAST | {key: 0}
    assert taken(queued, running, config=config) == documented
    assert taken(queued, running, config=config, edition="deployed") == deployed


@pytest.mark.rule("jobs_to_take_back")
def test_a_part_of_a_job_too_many_is_a_job():
    config = FAST | {"FAST_REBRO_THRESHOLD_NQNR_RATIO": 2.5}
    assert taken(300, 101, config=config) == 48                             # 300 - 252.5 = 47.5
    assert taken(300, 101, config=config, edition="deployed") == 47


@pytest.mark.rule("jobs_to_take_back")
def test_a_ratio_exactly_at_the_threshold_is_decided_as_written():
    config = {"FAST_REBRO_THRESHOLD_NQUEUE_MC 16": 1, "FAST_REBRO_THRESHOLD_NQNR_RATIO": 0.29}
    assert taken(29, 100, config=config) == 0               # 0.29 x 100 is 28.999999999999996 in double precision
    assert taken(30, 100, config=config) > 0


@pytest.mark.rule("jobs_to_take_back", "Backlog.overshoot")
def test_fast_rebrokerage_is_off_without_a_key_of_the_share_and_where_slots_are_set():
    assert taken(300, 0, config={}) == 0
    assert taken(300, 0, config={"FAST_REBRO_THRESHOLD_NQUEUE_MC 16": 0}, edition="deployed") == 0
    assert [taken(300, 0, edition=edition, left_alone=(True, False)) for edition in EDITIONS] == [0, 0]


@pytest.mark.rule("jobs_to_take_back")
def test_a_share_without_a_key_is_left_alone_beside_one_that_has_it():
    seen = Backlog(np.full((1, 2), 300), np.full((1, 2), 10), ("MC 16", "Data Derivations"), np.array([False]))
    assert jobs_to_take_back(seen, cfg("documented", rebroker=FAST), "documented").tolist() == [[210, 0]]


@pytest.mark.rule("Backlog.total")
@pytest.mark.parametrize(("edition", "number"), [
    pytest.param("documented", 0, id="as documented all queues count for the total"),
    pytest.param("deployed", 209, id="in the code those without slot requests"),
])
def test_queued_jobs_of_a_share_where_a_queue_is_left_alone(edition, number):
    assert taken(300, 10, 1000, edition=edition, left_alone=(False, True)) == number


@pytest.mark.rule("Backlog.overshoot", "Backlog.margin")
def test_a_share_without_a_key_overshoots_from_ten_jobs_on_and_keeps_them_in_the_code():
    none, least = cfg("deployed", rebroker={}), cfg("deployed", rebroker=FAST)
    assert [bool(backlog(queued, 0).overshoot(none, "deployed")[0, 0]) for queued in (10, 11)] == [False, True]
    assert [bool(backlog(queued, 0).overshoot(least, "deployed")[0, 0]) for queued in (50, 51)] == [False, True]
    assert taken(11, 0, config={}, edition="deployed") == 0
    assert not backlog(300, 0).overshoot(cfg(rebroker={}), "documented").any()


@pytest.mark.rule("oldest_of_each")
def test_the_oldest_queued_jobs_of_a_queue_and_share():
    status = np.array([S.STARTING, S.ACTIVATED, S.DEFINED, S.ASSIGNED, S.RUNNING, S.THROTTLED, S.ASSIGNED])
    queue, share = np.array([0, 0, 0, 0, 0, 0, 1]), np.zeros(7, int)
    panda_id = np.array([7, 3, 5, 4, 1, 2, 0])
    chosen = oldest_of_each(np.array([[3], [0]]), status, queue, share, panda_id)
    assert chosen.tolist() == [1, 3, 2]


@pytest.mark.rule("queues_left_alone")
@pytest.mark.parametrize(("listed", "status", "disabled", "documented", "deployed"), [
    pytest.param(False, "online", 0, False, False, id="a plain queue"),
    pytest.param(True, "online", 0, True, True, id="listed in Harvester_Slots"),
    pytest.param(False, "paused", 0, True, False, id="L28 the code does not heed a paused queue"),
    pytest.param(False, "online", 1, True, False, id="L28 nor disableReassign"),
    pytest.param(False, "offline", 0, False, False, id="an offline queue"),
])
def test_queues_that_fast_rebrokerage_leaves_alone(listed, status, disabled, documented, deployed):
    queue = np.array([listed]), np.array([QueueStatus.of(status)]), np.array([disabled])
    assert queues_left_alone(*queue, "documented").tolist() == [documented]
    assert queues_left_alone(*queue, "deployed").tolist() == [deployed]


@pytest.mark.rule("jobs_to_take_back")
def test_fast_rebrokerage_with_other_thresholds():
    config = FAST | {"FAST_REBRO_THRESHOLD_NQNR_RATIO": 10, "FAST_REBRO_THRESHOLD_NQUEUE_FRAC": 0.01}
    assert taken(300, 29, config=config) == 10
    assert taken(300, 30, config=config) == 0
