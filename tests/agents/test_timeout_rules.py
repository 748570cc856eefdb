"""Every timeout rule at its boundary in both editions: how long a job may stay as it is, and what becomes of it."""

import numpy as np
import pytest
from builders import S, Stage, put_job, scenario

from simgrid_broker.agents.panda.copy_archive import copy_archive, end, overdue
from simgrid_broker.agents.panda.statistics import gdpconfig_cache
from simgrid_broker.agents.run.timeline import timeline
from simgrid_broker.names import Cause
from simgrid_broker.policy.jobs.timeouts import rules
from simgrid_broker.units import DAY, HOUR, MINUTE

pytestmark = pytest.mark.rule("labels_of", "limits")

NEVER = np.inf
PAUSED, REASSIGN_OFF = dict(status="paused"), dict(catchall="disableReassign")
BEATS = dict(heard=0.0)
"""The last heartbeat came just now."""


def outcome(edition, status, age, label="managed", queue=None, priority=500, heard=None, created=None, started=None):
    """What becomes of a job that entered its status so long ago, s: "fail" or "close" and the cause, or None.

    heard, created: age of its last heartbeat and of the job, by default the same; a running job with heartbeats has a
    payload. started: how long ago a job last started at the queue; None = never.
    """
    stage = Stage((), scenario(queues={"HERE": dict(atlas_site="HERE") | (queue or {})}, edition=edition),
                  dict(label=label))
    row = put_job(stage, status, priority=priority, due_sequence=0 if heard is None else 7)
    stage.run(1e9)
    stage.arrays.job_times[row, [S.PENDING, S.HOLDING, status]] = stage.now - age
    stage.arrays.job_times[row, S.PENDING] = stage.now - (age if created is None else created)
    stage.arrays.jobs["modification_s"][row] = stage.now - (age if heard is None else heard)
    if started is not None:
        stage.arrays.queues["laststart_s"] = stage.now - started
    in_force = rules(stage.control.cfg, edition)
    rows, broken = overdue(stage.control, in_force)
    assert rows.tolist() in ([], [row])
    return (in_force[broken[0]].action, Cause(in_force[broken[0]].cause).word) if len(rows) else None


CLOSED = [
    pytest.param(S.PENDING, {}, HOUR, HOUR, id="pending"),
    pytest.param(S.PENDING, dict(label="user"), HOUR, HOUR, id="pending, analysis"),
    pytest.param(S.WAITING, {}, 30 * MINUTE, HOUR, id="L25 waiting, 30 min in the TWiki, 1 h in the code"),
    pytest.param(S.DEFINED, {}, 4 * HOUR, 4 * HOUR, id="defined"),
    pytest.param(S.DEFINED, dict(label="test"), 4 * HOUR, 4 * HOUR, id="defined, test"),
    pytest.param(S.DEFINED, dict(label="user"), 4 * HOUR, 7 * DAY, id="defined, analysis"),
    pytest.param(S.DEFINED, dict(label="prod_test"), 4 * HOUR, 7 * DAY, id="defined, a label that no rule names"),
    pytest.param(S.ASSIGNED, {}, 12 * HOUR, 12 * HOUR, id="assigned"),
    pytest.param(S.ASSIGNED, dict(label="user"), 12 * HOUR, 7 * DAY, id="assigned, analysis"),
    pytest.param(S.ASSIGNED, dict(label="test"), 12 * HOUR, 7 * DAY, id="assigned, test"),
    pytest.param(S.THROTTLED, {}, 7 * DAY, 7 * DAY, id="throttled"),
    pytest.param(S.ACTIVATED, {}, 2 * DAY, 2 * DAY, id="activated"),
    pytest.param(S.ACTIVATED, dict(label="user"), 2 * DAY, 7 * DAY, id="activated, analysis"),
    pytest.param(S.ACTIVATED, dict(label="test"), 2 * DAY, 7 * DAY, id="activated, test"),
    pytest.param(S.ACTIVATED, dict(priority=799), 2 * DAY, 2 * DAY, id="activated at an idle queue, priority 799"),
    pytest.param(S.ACTIVATED, dict(priority=800), 4 * HOUR, 4 * HOUR, id="activated at an idle queue, priority 800"),
    pytest.param(S.ACTIVATED, dict(priority=800, started=2 * HOUR), 2 * DAY, 2 * DAY, id="laststart 2 hours ago"),
    pytest.param(S.ACTIVATED, dict(priority=800, started=2 * HOUR + 1), 4 * HOUR, 4 * HOUR, id="laststart before"),
    pytest.param(S.ACTIVATED, dict(priority=800, started=0, queue=dict(status="test")), 4 * HOUR, 4 * HOUR,
                 id="a queue in test counts as idle"),
    pytest.param(S.ACTIVATED, dict(priority=800, started=0, queue=dict(status="offline")), 4 * HOUR, 4 * HOUR,
                 id="so does one that is offline"),
    pytest.param(S.ACTIVATED, dict(priority=800, started=0, queue=dict(status="brokeroff")), 2 * DAY, 2 * DAY,
                 id="but not one in brokeroff"),
    pytest.param(S.ACTIVATED, dict(priority=800, label="user"), 2 * DAY, 7 * DAY, id="idle queue, analysis"),
    pytest.param(S.ACTIVATED, dict(priority=800, label="panda"), 2 * DAY, 7 * DAY, id="idle queue, panda"),
    pytest.param(S.ACTIVATED, dict(priority=800, label="test"), 4 * HOUR, 7 * DAY, id="idle queue, test"),
    pytest.param(S.ACTIVATED, dict(priority=800, label="prod_test"), 4 * HOUR, 7 * DAY, id="idle queue, prod_test"),
    pytest.param(S.STARTING, BEATS, 2 * DAY, 2 * DAY, id="starting"),
    pytest.param(S.STARTING, BEATS | dict(priority=800), 4 * HOUR, 4 * HOUR, id="starting at an idle queue"),
    pytest.param(S.RUNNING, BEATS, 21 * DAY, 21 * DAY, id="running"),
    pytest.param(S.RUNNING, BEATS | dict(created=25 * DAY), 21 * DAY, -1,
                 id="L24 the code counts 21 days from the creation"),
    pytest.param(S.MERGING, BEATS, NEVER, 21 * DAY, id="merging"),
    pytest.param(S.MERGING, dict(label="user"), NEVER, 7 * DAY, id="merging, analysis"),
    pytest.param(S.PENDING, dict(queue=PAUSED), NEVER, HOUR, id="L23 pending at a paused queue"),
    pytest.param(S.ACTIVATED, dict(queue=PAUSED), NEVER, 2 * DAY, id="L23 activated at a paused queue"),
    pytest.param(S.DEFINED, dict(queue=REASSIGN_OFF), NEVER, 4 * HOUR, id="L23 disableReassign, defined"),
    pytest.param(S.ACTIVATED, dict(queue=REASSIGN_OFF), NEVER, 7 * DAY,
                 id="L23 disableReassign, activated: only the 7 days since creation are left"),
    pytest.param(S.STARTING, BEATS | dict(queue=REASSIGN_OFF), NEVER, 21 * DAY,
                 id="L23 disableReassign, starting: only the 21 days since creation are left"),
]
"""Jobs that are taken back: status, what is said of job and queue, limits in documented and deployed."""

FAILED = [
    pytest.param(S.SENT, {}, 30 * MINUTE, 30 * MINUTE, "timeout_sent", id="sent"),
    pytest.param(S.RUNNING, {}, 2 * HOUR, 2 * HOUR, "lost_heartbeat", id="heartbeat of a running job"),
    pytest.param(S.STARTING, {}, 2 * HOUR, 2 * HOUR, "lost_heartbeat", id="heartbeat of a starting job"),
    pytest.param(S.RUNNING, dict(queue=PAUSED, label="user"), NEVER, 2 * HOUR, "lost_heartbeat",
                 id="L23 heartbeat of analysis at a paused queue"),
    pytest.param(S.RUNNING, dict(queue=PAUSED), NEVER, 21 * DAY, "lost_heartbeat", id="a silent job at a paused queue"),
    pytest.param(S.RUNNING, dict(queue=REASSIGN_OFF), NEVER, 2 * HOUR, "lost_heartbeat",
                 id="L23 heartbeat and disableReassign"),
    pytest.param(S.HOLDING, {}, 48 * HOUR, 48 * HOUR, "timeout_holding", id="holding"),
    pytest.param(S.HOLDING, dict(priority=800), 3 * HOUR, 48 * HOUR, "timeout_holding",
                 id="L21 holding, priority 800"),
    pytest.param(S.HOLDING, dict(priority=801), 3 * HOUR, 3 * HOUR, "timeout_holding", id="L21 holding, priority 801"),
    pytest.param(S.HOLDING, dict(label="user"), 48 * HOUR, 48 * HOUR, "timeout_holding",
                 id="holding, analysis: row 4 is about jobs that were changed since"),
    pytest.param(S.TRANSFERRING, {}, 6 * DAY, 6 * DAY, "timeout_transferring", id="transferring"),
    pytest.param(S.TRANSFERRING, dict(priority=799), 6 * DAY, 6 * DAY, "timeout_transferring",
                 id="transferring, priority 799"),
    pytest.param(S.TRANSFERRING, dict(priority=800), 2 * DAY, 2 * DAY, "timeout_transferring",
                 id="transferring, priority 800"),
    pytest.param(S.TRANSFERRING, dict(priority=800, queue=dict(transtimehi=1)), DAY, 2 * DAY, "timeout_transferring",
                 id="L26 transtimehi of the queue"),
    pytest.param(S.TRANSFERRING, dict(queue=dict(transtimelo=10)), 10 * DAY, 6 * DAY, "timeout_transferring",
                 id="L26 transtimelo of the queue"),
    pytest.param(S.TRANSFERRING, dict(label="user"), 6 * DAY, 2 * HOUR, "timeout_transferring",
                 id="lifecycle 4.1: transferring, analysis"),
]
"""Jobs that fail: status, what is said of job and queue, limits in documented and deployed, cause."""


def check(edition, status, said, limit_s, end):
    """At the limit nothing happens, a second later the job ends so."""
    if limit_s == NEVER:
        assert outcome(edition, status, 100 * DAY, **said) is None
        return
    if limit_s >= 0:
        assert outcome(edition, status, limit_s, **said) is None
    assert outcome(edition, status, limit_s + 1, **said) == end


@pytest.mark.rule("copy_archive.apply")
@pytest.mark.parametrize("edition", ["documented", "deployed"])
@pytest.mark.parametrize(("status", "said", "documented", "deployed"), CLOSED)
def test_a_job_is_taken_back(edition, status, said, documented, deployed):
    limit_s = documented if edition == "documented" else deployed
    check(edition, status, said, limit_s, ("close", f"timeout_{status.word}"))


@pytest.mark.rule("copy_archive.apply")
@pytest.mark.parametrize("edition", ["documented", "deployed"])
@pytest.mark.parametrize(("status", "said", "documented", "deployed", "cause"), FAILED)
def test_a_job_fails(edition, status, said, documented, deployed, cause):
    check(edition, status, said, documented if edition == "documented" else deployed, ("fail", cause))


@pytest.mark.parametrize(("limit", "created", "taken"), [
    pytest.param("created", 7 * DAY + 1, True, id="a defined job is taken 7 days after its creation"),
    pytest.param("created", 7 * DAY, False, id="at 7 days it is not"),
])
def test_in_the_code_changes_of_status_do_not_make_a_job_younger(limit, created, taken):
    found = outcome("deployed", S.DEFINED, HOUR, created=created)
    assert found == (("close", "timeout_defined") if taken else None)


@pytest.mark.rule("with_others", "changed_at")
@pytest.mark.parametrize("edition", ["documented", "deployed"])
@pytest.mark.parametrize(("first", "other", "both"), [
    pytest.param(4 * HOUR + 1, dict(assigned=4 * HOUR + 1), True, id="assigned before, and activated lately"),
    pytest.param(4 * HOUR + 1, dict(assigned=4 * HOUR), False, id="at the limit"),
    pytest.param(4 * HOUR + 1, dict(assigned=5 * HOUR, queue=1), False, id="at another queue"),
    pytest.param(4 * HOUR + 1, dict(assigned=5 * HOUR, priority=799), False, id="of a lower priority"),
    pytest.param(4 * HOUR + 1, dict(assigned=5 * HOUR, status=S.STARTING), False, id="starting lately"),
    pytest.param(4 * HOUR, dict(assigned=5 * HOUR), None, id="no job chooses the queue"),
])
def test_high_priority_at_an_idle_queue_draws_others_along(edition, first, other, both):
    queues = {name: dict(atlas_site="HERE") for name in ("HERE", "OTHER")}
    stage = Stage((), scenario(queues=queues, edition=edition), {})
    stage.run(1e9)
    status = other.get("status", S.ACTIVATED)
    rows = [put_job(stage, S.ACTIVATED, priority=800), put_job(stage, status, **(
        dict(priority=800) | {key: other[key] for key in ("queue", "priority") if key in other}))]
    stage.arrays.job_times[rows, S.PENDING] = stage.now - DAY
    for row, ages in zip(rows, ({S.ACTIVATED: first}, {status: HOUR, S.ASSIGNED: other["assigned"]}), strict=True):
        for moment, age in ages.items():
            stage.arrays.job_times[row, moment] = stage.now - age
        stage.arrays.jobs["modification_s"][row] = stage.now - min(ages.values())
    found, broken = overdue(stage.control, in_force := rules(stage.control.cfg, edition))
    taken = [] if both is None else rows if both and edition == "deployed" else rows[:1]
    assert found.tolist() == taken and all(in_force[rule].idle_queue for rule in broken)


@pytest.mark.rule("copy_archive.end")
@pytest.mark.parametrize(("edition", "due_sequence", "status"), [
    pytest.param("documented", 7, "closed", id="as documented a running job is closed"),
    pytest.param("deployed", 7, "cancelled", id="in the code its pilot ends it"),
    pytest.param("deployed", 0, None, id="a job without a pilot is only marked"),
])
def test_a_running_job_after_21_days(edition, due_sequence, status):
    stage = Stage((), scenario(queues={"HERE": dict(atlas_site="HERE", status="paused") if not due_sequence else
                                       dict(atlas_site="HERE")}, edition=edition), {})
    row = put_job(stage, S.RUNNING, due_sequence=due_sequence, slot=0)
    stage.arrays.tasks["n_alive"][0] = stage.arrays.tasks["next_chunk"][0] = 1
    rule = next(rule for rule in rules(stage.control.cfg, edition)
                if (rule.cause, rule.statuses, rule.limit_s) == (Cause.TIMEOUT_RUNNING, (S.RUNNING,), 21 * DAY))
    stage.fabric.take_back = lambda rows, into, cause, now: ends.extend([S(into).word] * len(rows))
    ends = []
    end(stage.control, rule, np.array([row]))
    assert ends == ([status] if status else [])


def defined_job(*incidents, edition="documented"):
    """A stage with one defined job that the timeline and copyArchive look after."""
    plan = scenario(edition=edition, incidents=list(incidents), agents=dict(gdpconfig=60))
    stage = Stage((timeline, gdpconfig_cache, copy_archive), plan, {})
    put_job(stage, S.DEFINED)
    stage.arrays.tasks["n_alive"][0] = stage.arrays.tasks["next_chunk"][0] = 1
    stage.arrays.job_times[stage.live(), S.PENDING] = 0.0
    return stage


@pytest.mark.parametrize("edition", ["documented", "deployed"])
@pytest.mark.parametrize(("value", "alive_h", "gone_h"), [
    pytest.param(10, 10, 11, id="a longer limit"), pytest.param(3, 3, 4, id="a shorter one"),
    pytest.param(0, 4, 5, id="0 is the default")])
def test_the_timeline_changes_a_rule_while_the_simulation_runs(edition, value, alive_h, gone_h):
    stage = defined_job(dict(at=HOUR, what="gdpconfig", key="TIMEOUT_defined", value=value), edition=edition)
    stage.run(alive_h * HOUR)
    assert stage.statuses() == ["defined"]
    stage.run(gone_h * HOUR)
    assert stage.statuses() == []


def test_a_queue_that_is_paused_for_a_while_delays_the_rules():
    stage = defined_job(dict(at=HOUR, what="queue_status", queue="HERE", status="paused"),
                        dict(at=9 * HOUR, what="queue_status", queue="HERE", status="online"))
    stage.run(9 * HOUR)
    assert stage.statuses() == ["defined"]
    stage.run(10 * HOUR)
    assert stage.statuses() == []


def test_a_workflow_gets_a_heartbeat_of_its_own_while_the_simulation_runs():
    plan = scenario(queues={"HERE": dict(atlas_site="HERE", workflow="push"), "PULL": dict(atlas_site="HERE")},
                    incidents=[dict(at=HOUR, what="gdpconfig", key="HEARTBEAT_TIMEOUT_push", value=12)],
                    agents=dict(gdpconfig=60))
    stage = Stage((timeline, gdpconfig_cache, copy_archive), plan, {})
    for queue in (0, 1):
        put_job(stage, S.RUNNING, queue=queue, pseudo_queue=queue)
    stage.arrays.tasks["n_alive"][0] = 2
    stage.run(11 * HOUR)
    assert stage.arrays.jobs["queue"][stage.live()].tolist() == [0]
    stage.run(13 * HOUR)
    assert stage.statuses() == []


@pytest.mark.rule("copy_archive.apply")
def test_a_rule_looks_as_often_as_the_scenario_says():
    plan = scenario(agents=dict(copy_archive=10 * HOUR))
    stage = Stage((copy_archive,), plan, {})
    put_job(stage, S.SENT)
    stage.arrays.tasks["n_alive"][0] = 1
    stage.run(20 * HOUR)
    assert stage.statuses() == []
    assert stage.times(S.FAILED)[0] < 10 * HOUR + 30 * MINUTE
