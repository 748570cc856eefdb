"""What is known of users in a run: their jobs by queue, classes of queues and tasks, and tasks that are throttled."""

from types import SimpleNamespace

import numpy as np
import pytest
from builders import S, Stage, T, ends_of_task, put_job, put_task, scenario

from simgrid_broker.agents.run.timeline import task_source
from simgrid_broker.agents.users.analysis_watch_dog import AnalysisWatchDog, analysis_watch_dog
from simgrid_broker.agents.users.metric_collector import MetricCollector, metric_collector, task_evaluator
from simgrid_broker.fabric.transfers.rows import empty_transfer
from simgrid_broker.names import Activity, Cause, SiteClass, TaskClass, ThrottledBy, TransferKind
from simgrid_broker.policy.users.classes import FEW_LONG, WINDOW_S
from simgrid_broker.policy.users.limits import WAIT_S
from simgrid_broker.schema import JOBS
from simgrid_broker.units import DAY, HOUR
from simgrid_broker.world.invariants import broken
from simgrid_broker.world.jobs.loads import queued_power
from simgrid_broker.world.jobs.transitions import move
from simgrid_broker.world.tasks.transitions import set_status
from simgrid_broker.world.users.jobs import ACTIVE, CORES, FIRST_USER_ROWS, QUEUED, RUNNING, THROTTLED
from simgrid_broker.world.users.metrics import FIRST_ENDS, Ends, Starts, note_use
from simgrid_broker.world.views.users import user_view

SHARES = [dict(name="User Analysis", value=1), dict(name="Express Analysis", value=1), dict(name="Production", value=1)]
USER, EXPRESS, PRODUCTION = range(3)
DAEMONS = (task_source, metric_collector, task_evaluator, analysis_watch_dog)


def stage_of(*tasks, agents=DAEMONS, queues=("HERE",), **values) -> Stage:
    """Tasks of users at work, whose jobs are counted."""
    said = dict(name="test", shares=SHARES, resource_types=dict(SCORE=dict()))
    stage = Stage(agents, scenario({name: {} for name in queues}, **said | values),
                  *(dict(label="user", share=USER) | task for task in tasks))
    stage.run(1.0)
    for row in range(len(tasks)):
        put_task(stage, row, T.RUNNING)
    stage.world.count_for_users(range(len(tasks)))
    return stage


def put(stage, status, number=1, task=0, **columns) -> list[int]:
    """Rows of jobs of a task in a status."""
    said = stage.arrays.tasks[task]
    return [put_job(stage, status, task=task, share=said["share"], user=said["user"], user_row=said["user_row"],
                    **columns) for _ in range(number)]


def numbers(stage, row=0, queue=0):
    """Queued, throttled and running jobs and running cores of a user in a share at a queue, and queued cores."""
    found = stage.arrays.user_jobs[row, queue]
    return [*found[[QUEUED, THROTTLED, RUNNING, CORES]].tolist(), int(stage.arrays.user_queued_cores[row])]


def test_jobs_are_counted_for_their_user_and_share_at_each_queue():
    stage = stage_of(dict(user="ann"), dict(user="bob"), dict(user="ann"), queues=("HERE", "THERE"))
    put(stage, S.ACTIVATED, 3, corecount=2)
    put(stage, S.RUNNING, task=1, corecount=8, queue=1)
    put(stage, S.THROTTLED, task=2, corecount=4)
    put(stage, S.TRANSFERRING, task=2)
    assert numbers(stage) == [3, 1, 0, 0, 10]                           # both tasks of ann, transferring not counted
    assert numbers(stage, 1, 1) == [0, 0, 1, 8, 0]
    assert stage.arrays.user_jobs[..., ACTIVE].sum(axis=1)[:2].tolist() == [5, 1]
    assert stage.arrays.user_jobs.sum() == 4 + 1 + 8 + 5 + 1


def test_the_counts_are_checked_against_the_jobs():
    stage = stage_of(dict(user="ann"))
    put(stage, S.ACTIVATED)
    assert not [message for message in broken(stage.arrays) if "users" in message]
    stage.arrays.user_jobs[0, 0, QUEUED] += 1
    stage.arrays.user_queued_cores[0] += 1
    assert [message for message in broken(stage.arrays) if "users" in message] == [
        "jobs of users by share and queue differ from a recount", "cores of queued jobs of users differ from a recount"]


def test_production_is_not_counted():
    stage = stage_of(dict(label="managed"))
    put(stage, S.RUNNING)
    assert stage.arrays.tasks["user_row"][0] == 0 and not stage.arrays.user_jobs.any()


def test_jobs_follow_their_task_to_another_share():
    stage = stage_of(dict(user="ann"))
    put(stage, S.DEFINED, 2)
    put(stage, S.RUNNING)
    stage.arrays.tasks["n_alive"][0] = 3
    stage.fabric.set_share([0], EXPRESS)
    assert (numbers(stage), numbers(stage, 1)) == ([0, 0, 1, 1, 0], [2, 0, 0, 0, 2])      # the running one stays
    assert [owner.share for owner in stage.world.user_rows.owners] == [USER, EXPRESS]


def test_members_of_a_group_are_counted_apart():
    stage = stage_of(dict(user="ann"), dict(user="ann", working_group="GP_Top"), dict(user="bob",
                     working_group="GP_Top"))
    for task in range(3):
        put(stage, S.RUNNING, 2 + task, task)
    rows = stage.world.user_rows
    accounts, work = rows.work(stage.arrays)
    ann, top = rows.accounts(stage.arrays.tasks, np.array([0, 1])).tolist()
    assert accounts.tolist() == [ann, top] and rows.is_group[accounts].tolist() == [False, True]
    assert rows.accounts(stage.arrays.tasks, np.array([2])).tolist() == [top]
    assert work[0].tolist() == [2, 7]


def test_the_work_of_an_account_is_that_of_all_its_shares_and_queues():
    stage = stage_of(dict(user="ann"), dict(user="ann", share=EXPRESS), dict(user="bob"), queues=("HERE", "THERE"))
    for task, cores in ((0, 2), (1, 8)):
        put(stage, S.RUNNING, 2, task, corecount=cores)
        put(stage, S.RUNNING, 1, task, corecount=cores, queue=1)
        put(stage, S.ACTIVATED, 1, task, corecount=cores, queue=task)
        put(stage, S.THROTTLED, 3, task, corecount=cores)
    put(stage, S.DEFINED, 1, 2)
    assert stage.world.user_rows.work(stage.arrays)[1].tolist() == [[6, 0], [8, 1], [30, 0], [40, 1]]


def test_rows_of_users_who_are_gone_are_given_to_others():
    stage = stage_of(*(dict(user=f"user-{number}") for number in range(FIRST_USER_ROWS + 3)))
    assert len(stage.arrays.user_jobs) == 2 * FIRST_USER_ROWS                       # all are alive: the table grows
    stage = stage_of(*(dict(user=f"user-{number}") for number in range(FIRST_USER_ROWS)), dict(label="managed"))
    stage.arrays.tasks["user_row"][:FIRST_USER_ROWS - 1] = 0
    job = put_job(stage, S.RUNNING, task=0, user_row=1)
    stage.arrays.tasks["label"][FIRST_USER_ROWS] = stage.arrays.tasks["label"][0]
    stage.arrays.tasks["share"][FIRST_USER_ROWS] = EXPRESS
    stage.world.count_for_users([FIRST_USER_ROWS])
    assert len(stage.arrays.user_jobs) == FIRST_USER_ROWS
    assert stage.arrays.tasks["user_row"][FIRST_USER_ROWS] == 2                     # the first row has a live job
    assert stage.arrays.jobs["user_row"][job] == 1


@pytest.mark.rule("AnalysisWatchDog._throttle")
@pytest.mark.parametrize(("cap", "running", "status"), [
    pytest.param(100, 95, "running", id="at 95 % of the cap"),
    pytest.param(100, 96, "throttled", id="above it"),
    pytest.param(None, 96, "running", id="no cap"),
])
def test_tasks_of_a_user_above_a_cap_are_throttled(cap, running, status):
    stage = stage_of(dict(user="ann"), dict(user="ann"), dict(user="bob"), edition="deployed",
                     gdpconfig={} if cap is None else {"CAP_RUNNING_USER_JOBS": cap})
    put(stage, S.RUNNING, running)
    stage.run(130.0)
    assert [stage.task(row) for row in range(3)] == [status, status, "running"]
    by = ThrottledBy.RUNNING_JOBS if status == "throttled" else ThrottledBy.NONE
    assert stage.arrays.tasks["throttled_by"].tolist() == [by, by, ThrottledBy.NONE]


@pytest.mark.rule("AnalysisWatchDog._throttle", "throttled_for_work")
@pytest.mark.parametrize(("before", "throttled"), [
    pytest.param(T.RUNNING, True, id="running"), pytest.param(T.ASSIGNING, False, id="without a nucleus"),
])
def test_tasks_on_hold_are_throttled_if_they_would_make_jobs(before, throttled):
    stage = stage_of(dict(user="ann"), edition="deployed", gdpconfig={"CAP_RUNNING_USER_JOBS": 20})
    put_task(stage, 0, T.PENDING)
    stage.arrays.tasks["old_status"][0] = before
    put(stage, S.RUNNING, 20)
    stage.run(130.0)
    assert stage.task() == ("throttled" if throttled else "pending")
    assert stage.arrays.tasks["old_status"][0] == before


@pytest.mark.rule("AnalysisWatchDog._merges")
@pytest.mark.parametrize(("merges", "in_merging", "status"), [
    (False, 1, "throttled"), (True, 1, "running"), (True, 0, "throttled"),
])
def test_tasks_with_jobs_in_merging_are_left_alone(merges, in_merging, status):
    stage = stage_of(dict(user="ann", mergeoutput=merges), dict(user="ann"), edition="deployed",
                     gdpconfig={"CAP_RUNNING_USER_JOBS": 20})
    put(stage, S.RUNNING, 20)
    put(stage, S.MERGING, in_merging)
    stage.arrays.tasks["n_alive"][0] = 20 + in_merging
    stage.run(130.0)
    assert stage.task() == status


@pytest.mark.rule("AnalysisWatchDog._throttle")
def test_the_documentation_throttles_tasks_in_brokerage_alone():
    stage = stage_of(dict(user="ann"), gdpconfig={"CAP_RUNNING_USER_JOBS": 1})
    put(stage, S.RUNNING, 9)
    stage.run(130.0)
    assert stage.task() == "running"


@pytest.mark.rule("AnalysisWatchDog._release")
@pytest.mark.parametrize(("waited_s", "status"), [(WAIT_S - 1, "throttled"), (WAIT_S, "running")])
def test_a_throttled_task_waits_for_two_hours(waited_s, status):
    stage = stage_of(dict(user="ann"), edition="deployed")
    set_status(stage.world, 0, T.THROTTLED, stage.now)
    dog = AnalysisWatchDog(stage.control)
    stage.arrays.tasks["throttled_by"][0], stage.arrays.tasks["old_status"][0] = ThrottledBy.RUNNING_JOBS, T.RUNNING
    dog.since_s[0] = stage.now - waited_s
    dog._release(np.array([0]), np.array([False]), (ThrottledBy.RUNNING_JOBS,))
    assert stage.task() == status


@pytest.mark.rule("AnalysisWatchDog._release")
def test_throttled_tasks_are_released_below_85_percent_or_after_two_hours():
    def throttled():
        stage = stage_of(dict(user="ann"), edition="deployed", gdpconfig={"CAP_RUNNING_USER_JOBS": 20})
        jobs = put(stage, S.RUNNING, 20)
        stage.run(130.0)
        assert stage.task() == "throttled"
        return stage, jobs
    stage, jobs = throttled()
    stage.run(130.0 + 3 * 3600.0)
    assert stage.task() == "throttled"                                               # its owner is above the cap
    for row in jobs[:2]:
        move(stage.arrays, row, int(S.HOLDING), stage.now)
    below_s = stage.now
    stage.run(below_s + 7000.0)
    assert stage.task() == "throttled"
    stage.run(below_s + 7300.0)
    assert stage.task() == "running"
    assert stage.entered(T.RUNNING) == pytest.approx(below_s + 7200.0, abs=61.0)
    assert stage.arrays.tasks["throttled_total_s"][0] == stage.entered(T.RUNNING) - stage.entered(T.THROTTLED)
    stage, jobs = throttled()
    for row in jobs[:2]:
        move(stage.arrays, row, int(S.HOLDING), stage.now)
    stage.run(300.0)
    assert stage.task() == "throttled"                                               # 18 of 20
    move(stage.arrays, jobs[2], int(S.HOLDING), stage.now)
    stage.run(500.0)
    assert stage.task() == "running"
    stage, _ = throttled()
    stage.control.policies.set_config("CAP_RUNNING_USER_JOBS", None)
    stage.run(300.0)
    assert stage.task() == "running"                                                 # nothing is limited any more


def test_tasks_get_classes_from_the_slots_of_their_users():
    stage = stage_of(dict(user="ann"), dict(user="bob"), dict(user="eve"), dict(user="eve", share=EXPRESS),
                     dict(user="ann", share=PRODUCTION), edition="deployed",
                     gdpconfig={"USER_USAGE_THRESHOLD_A": 10, "USER_USAGE_THRESHOLD_B": 20})
    put(stage, S.RUNNING, 5, corecount=1)
    put(stage, S.RUNNING, 3, task=1, corecount=8)
    stage.world.analysis.site_class[:], stage.world.analysis.has_class[:] = SiteClass.HI, True
    stage.world.analysis.sites_at = 0.0
    stage.run(1300.0)
    assert stage.world.analysis.task_class == {1: TaskClass.A, 2: TaskClass.C, 4: TaskClass.S, 5: TaskClass.A}
    assert stage.world.analysis.in_hi.tolist()[:2] == [5, 24] and np.isnan(stage.world.analysis.in_hi[2])


@pytest.mark.rule("AnalysisWatchDog._boost", "metric_collector.progress")
def test_a_task_that_is_nearly_done_moves_to_express_analysis():
    stage = stage_of(dict(user="ann", n_jobs=100, n_finished=95, n_attempts=100), dict(user="ann", n_jobs=100))
    put(stage, S.RUNNING, 5)
    stage.run(1600.0)
    assert stage.arrays.tasks["share"].tolist() == [EXPRESS, USER]
    assert stage.arrays.splitting["maxwalltime"].tolist() == [1.0, 0.0]
    stage.control.books.ledger.take_back_changes(0)
    assert stage.arrays.tasks["share"][0] == USER


@pytest.mark.rule("MetricCollector._site_classes")
@pytest.mark.parametrize(("edition", "started", "ago_s", "expected"), [
    pytest.param("deployed", 1, HOUR, (SiteClass.HI, True), id="a job of any kind has started within a day"),
    pytest.param("deployed", 0, HOUR, (SiteClass.MID, True), id="none has"),
    pytest.param("documented", 0, HOUR, (SiteClass.HI, True), id="as documented an analysis job"),
    pytest.param("deployed", 1, WINDOW_S, (SiteClass.HI, True), id="at the end of the window"),
    pytest.param("deployed", 1, WINDOW_S + 1, (SiteClass.MID, False), id="after it"),
])
def test_hi_needs_a_start_within_a_day_and_waits_of_the_window(edition, started, ago_s, expected):
    stage = stage_of(dict(user="gangarbt", processing_type="gangarobot"), edition=edition)
    collector = MetricCollector(stage.control)
    collector.begun = [(np.zeros(3, np.int64), np.full(3, 60.0), np.full(3, stage.now - ago_s))]
    stage.world.analysis.starts = SimpleNamespace(between=lambda since, until: np.array([started]))
    assert tuple(column[0] for column in collector._site_classes()) == expected


@pytest.mark.rule("MetricCollector._site_classes")
def test_jobs_whose_waits_are_measured():
    stage = stage_of(dict(user="gangarbt", processing_type="gangarobot"), dict(user="ann", processing_type="x"),
                     edition="deployed")
    kind = stage.world.vocabularies["processing_types"].index("gangarobot")
    put(stage, S.ACTIVATED, 2, processing_type=kind)
    put(stage, S.ACTIVATED, 1, task=1, processing_type=kind + 1)
    over = put(stage, S.ACTIVATED, 1, processing_type=kind)
    stage.arrays.jobs["panda_id"][over] = 0
    queue, age_s = MetricCollector(stage.control)._waiting()
    assert (queue.tolist(), len(age_s)) == ([0, 0], 2)


@pytest.mark.rule("MetricCollector._site_classes")
@pytest.mark.parametrize(("status", "waiting", "until_s", "expected"), [
    pytest.param(S.ACTIVATED, FEW_LONG, 4000.0, (SiteClass.HI, SiteClass.MID), id="few wait"),
    pytest.param(S.ACTIVATED, FEW_LONG + 1, 9000.0, (SiteClass.MID, SiteClass.HI), id="many wait for longer"),
    pytest.param(S.STARTING, FEW_LONG + 1, 9000.0, (SiteClass.HI, SiteClass.MID), id="they start at a pull queue"),
])
def test_queues_are_classified_by_the_waits_of_tests(status, waiting, until_s, expected):
    stage = stage_of(dict(user="gangarbt", processing_type="gangarobot"), agents=(metric_collector,),
                     queues=("FAST", "MIDDLE", "SLOW"), edition="deployed")
    collector_tests = {0: 600.0, 1: 2 * HOUR, 2: 9 * HOUR}
    rows = np.zeros(6, stage.arrays.jobs.dtype)
    times = np.full((6, len(S)), np.nan)
    kind = stage.world.vocabularies["processing_types"].index("gangarobot")
    for number in range(6):
        queue = number % 3
        rows[number]["queue"], rows[number]["processing_type"] = queue, kind
        times[number, [S.ACTIVATED, S.RUNNING]] = 0.0, collector_tests[queue] + number
    stage.arrays.queues["n_started"] = 1
    put(stage, status, waiting, processing_type=kind)
    stage.run(700.0)
    for watcher in stage.fabric.watchers:
        watcher(rows, times)
    stage.arrays.queues["n_started"] = 2
    stage.run(until_s)
    assert stage.world.analysis.site_class.tolist() == [*expected, SiteClass.LO]


def test_brokerage_sees_the_jobs_of_a_user_beside_those_of_others():
    stage = stage_of(dict(user="ann"), dict(user="bob"), dict(user="ann", share=EXPRESS), edition="deployed",
                     queues=("HERE", "THERE"), gdpconfig={"USER_USAGE_THRESHOLD_A": 10})
    put(stage, S.RUNNING, 2, corecount=3)
    put(stage, S.ACTIVATED, 4)
    put(stage, S.RUNNING, 5, task=1)
    put(stage, S.RUNNING, 7, task=2, queue=1)
    stage.world.analysis.site_class[:], stage.world.analysis.has_class[:] = SiteClass.HI, True
    stage.world.analysis.sites_at = 0.0
    stage.run(1300.0)
    seen = user_view(stage.world, 0, stage.now, 10)
    assert seen.at[["user_queued", "user_running", "users_running", "n_users"]][0].tolist() == (4, 2, 7, 2)
    assert np.isnan(seen.at["user_queued"][1]) and seen.at["n_users"][1] == 0               # not of this share
    assert seen.owner == (2 + 7, 4, 6 + 7, 4)
    assert seen.rem_slots_a == 10 - 13 and seen.task_class == TaskClass.B
    later = user_view(stage.world, 0, stage.now + 7200.0, 10)
    assert np.isnan([later.rem_slots_a, later.usage, later.equivalent_usage]).all() and later.task_class is None
    assert (later.at["site_class"] == SiteClass.MID).all()                                  # all of it is too old


def test_ends_of_jobs_count_for_the_window():
    ends = Ends()
    ends.window_s = 100.0
    rows, times = JOBS.empty(6), np.full((6, len(S)), np.nan)
    rows["status"] = S.FINISHED, S.FAILED, S.FAILED, S.CLOSED, S.CLOSED, S.FINISHED
    rows["cause"] = (Cause.NONE, Cause.PAYLOAD_ERROR, Cause.LOST_HEARTBEAT, Cause.REASSIGNED, Cause.TIMEOUT_THROTTLED,
                     Cause.NONE)
    rows["jeditaskid"] = 7
    rows["queue"] = 0, 1, 1, 1, 1, 0
    times[range(6), rows["status"]] = 50.0
    ends.note(rows, times, np.arange(6) < 5)
    assert ends_of_task(ends, 7, 150.0).tolist() == [(0, 0, 1), (1, 1, 0)]
    assert ends_of_task(ends, 8, 150.0).tolist() == ends_of_task(ends, 7, 151.0).tolist() == [(0, 0, 0)] * 2
    ends.forget(150.0)
    assert ends_of_task(ends, 7, 150.0).tolist() == [(0, 0, 1), (1, 1, 0)]
    ends.forget(151.0)
    assert ends_of_task(ends, 7, 151.0).tolist() == [(0, 0, 0)] * 2


def test_ends_before_the_window_make_room_once_they_are_many():
    ends = Ends()
    ends.window_s = 100.0
    rows, counted = JOBS.empty(FIRST_ENDS - 1), np.ones(FIRST_ENDS - 1, bool)
    rows["status"] = S.FINISHED
    ends.note(rows, np.full((len(rows), len(S)), 50.0), counted)
    ends.forget(151.0)
    assert ends.n == FIRST_ENDS - 1
    rows["status"][:1] = S.CLOSED
    rows["cause"][:1] = Cause.REASSIGNED
    ends.note(rows[:2], np.full((2, len(S)), 60.0), counted[:2])
    ends.forget(151.0)
    assert ends.n == 2 and ends_of_task(ends, 0, 151.0).tolist() == [(0, 1, 1), (0, 0, 0)]


def test_queues_of_tasks_that_are_gone_are_forgotten():
    stage = stage_of(dict(user="ann"), dict(user="bob"), queues=("HERE", "THERE"))
    used = stage.world.analysis.used
    used.lengthen(2)
    note_use(used.table, used.of, 0, 1, 1)
    assert [user_view(stage.world, row, stage.now, 10).at["used"].tolist() for row in (0, 1)] == [[0, 1], [0, 0]]
    stage.arrays.tasks["jeditaskid"][0] = 7                                  # another task takes the row of task 1
    assert not user_view(stage.world, 0, stage.now, 10).at["used"].any()
    note_use(used.table, used.of, 0, 7, 0)
    assert user_view(stage.world, 0, stage.now, 10).at["used"].tolist() == [True, False]


def test_power_that_waits_for_a_slot():
    stage = stage_of(dict(user="ann"), dict(user="ann", share=EXPRESS))
    put(stage, S.ACTIVATED, 3)
    put(stage, S.ACTIVATED, task=1)
    put(stage, S.DEFINED)
    power = stage.arrays.queues["corepower"][0] * stage.arrays.pseudo_queues["corecount"][0]
    assert queued_power(stage.arrays).tolist() == [3 * power, power, 0]


def test_starts_are_counted_between_six_hours_and_five_minutes_ago():
    starts = Starts(2)
    for hour in range(30):
        starts.note(np.array([60 * hour, 7]), hour * HOUR)
    assert starts.between(24 * HOUR, 29 * HOUR).tolist() == [300, 0]
    assert starts.rate(29 * HOUR) == pytest.approx([5 * 60 / (6 - 1 / 12), 0])       # samples at 28 h and 23 h
    assert len(starts.samples) <= 26


def moving_input(stage, size, task=0, activity=Activity.ANALYSIS_INPUT, kind=TransferKind.INPUT) -> int:
    """Row of a transfer, of input unless told otherwise, from the first site for the jobs of a task."""
    arrays = stage.arrays
    row = int(empty_transfer(arrays, kind, activity, 0, 0, stage.now))
    arrays.transfers["jeditaskid"][row], arrays.transfers["bytes"][row] = arrays.tasks["jeditaskid"][task], size
    return row


@pytest.mark.rule("AnalysisWatchDog._look_at_input")
@pytest.mark.parametrize(("edition", "on_tape", "by"), [
    pytest.param("documented", False, ThrottledBy.TRANSFER, id="documented, from disk"),
    pytest.param("documented", True, ThrottledBy.PRESTAGING, id="documented, from tape"),
    pytest.param("deployed", False, ThrottledBy.NONE, id="deployed, from disk, below its own limit"),
    pytest.param("deployed", True, ThrottledBy.PRESTAGING, id="deployed, from tape"),
])
def test_running_tasks_of_a_user_with_too_much_input_under_way_are_throttled(edition, on_tape, by):
    stage = stage_of(dict(user="ann", replicas={0: 1.0}), dict(user="ann", replicas={0: 1.0}), dict(user="bob"),
                     edition=edition, gdpconfig={"USER_PRESTAGE_LIMIT": 10, "USER_TRANSFER_LIMIT": 50})
    stage.arrays.replicas["tape"][:] = on_tape
    moving_input(stage, 30e9)
    moving_input(stage, 1e12, 2, Activity.PRODUCTION_INPUT)
    moving_input(stage, 1e12, 2, kind=TransferKind.READING)
    stage.run(130.0)
    assert stage.arrays.tasks["throttled_by"].tolist() == [by, ThrottledBy.NONE, ThrottledBy.NONE]
    assert stage.task() == ("throttled" if by else "running")


@pytest.mark.rule("AnalysisWatchDog._owners", "limits.counts_after")
@pytest.mark.parametrize(("edition", "group", "days", "status"), [
    pytest.param("deployed", "GP_Top", 13.9, "throttled", id="two users of a group together"),
    pytest.param("deployed", "GP_Top", 14.1, "running", id="asked for 14 days ago"),
    pytest.param("deployed", "", 0, "running", id="each for itself"),
    pytest.param("documented", "GP_Top", 0, "running", id="documented: each for itself"),
])
def test_whose_input_counts_together(edition, group, days, status):
    who = dict(replicas={0: 1.0}, working_group=group)
    stage = stage_of(dict(user="ann", **who), dict(user="bob", **who), edition=edition,
                     gdpconfig={"USER_TRANSFER_LIMIT": 40, "USER_PRESTAGE_LIMIT": 40})
    for task in range(2):
        stage.arrays.transfers["submitted_s"][moving_input(stage, 30e9, task)] = 61.0 - days * DAY
    stage.run(61.0)
    assert [stage.task(row) for row in range(2)] == [status] * 2


@pytest.mark.rule("AnalysisWatchDog._look_at_input", "AnalysisWatchDog._throttle")
def test_tasks_go_on_when_less_input_is_under_way_or_after_two_hours():
    stage = stage_of(dict(user="ann", replicas={0: 1.0}), edition="deployed", gdpconfig={"USER_TRANSFER_LIMIT": 50})
    row = moving_input(stage, 60e9)
    stage.run(130.0)
    assert stage.task() == "throttled" and stage.arrays.tasks["throttled_by"][0] == ThrottledBy.TRANSFER
    throttled_s = stage.entered(T.THROTTLED)
    stage.run(throttled_s + 7300.0)
    assert stage.entered(T.RUNNING) == pytest.approx(throttled_s + 7200.0, abs=61.0) and stage.task() == "throttled"
    stage.arrays.transfers["bytes"][row] = 50e9
    stage.run(throttled_s + 7400.0)
    assert stage.task() == "running"
