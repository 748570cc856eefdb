"""Event service: what consumers get and report, how they end and are killed, jumbo jobs, automatic conversion."""

from dataclasses import replace

import numpy as np
import pytest
from policy_builders import cfg

import simgrid_broker.systems.events.table as ranges
from simgrid_broker.names import EventService, EventStatus, JobMark, JobStatus, QueueStatus, TaskStatus
from simgrid_broker.policy.jobs.retry_module import jumbo_limits
from simgrid_broker.policy.jobs.timeouts import rules
from simgrid_broker.scenario.work.event_rule import EventRule
from simgrid_broker.systems.events.policy import jumbo
from simgrid_broker.systems.events.policy.audit import audit
from simgrid_broker.systems.events.policy.conversion import EventTask, Keys, Pool, convert, event_pool
from simgrid_broker.systems.events.policy.ends import End, end_job
from simgrid_broker.systems.events.policy.jobset import WAITING_CO_JUMBO, EventFile, EventJob, EventQueue, Jobset
from simgrid_broker.systems.events.policy.jumbo import JumboTask, Limits, files_to_reset, flag_after_kick, watch
from simgrid_broker.systems.events.policy.kills import kill
from simgrid_broker.systems.events.policy.queues import merge_queue, single_core_queue
from simgrid_broker.systems.events.policy.requests import get_event_ranges, processed_events, update_event_range
from simgrid_broker.systems.events.table import ANY, EventRanges
from simgrid_broker.units import DAY, HOUR, MINUTE

S, J, E = EventStatus, JobStatus, EventService
SET, ME, OTHER, OLD = 5000, 1001, 1002, 990
LETTERS = dict(zip("rsnfcxdFamk", S, strict=True))
"""Letters of the statuses of ranges: ready, sent, ruNning, finished, cancelled, x discarded, done, Failed, fAtal."""


def consumer(panda_id, status=J.RUNNING, **values):
    """A consumer of the input of the jobset."""
    return EventJob(panda_id, SET, status, **dict(
        kind=E.CONSUMER, queue="Q", flags=frozenset({"eventservice"}), files=(1,), file_attempts=(0,), max_attempt=3,
        corecount=8, ramcount=16000, destination="nucleus:A", share="Simul") | values)


def jobset(letters, *jobs, owners=None, attempts=3, queue=None, **values):
    """A task with one file; letters: statuses of its ranges, which belong to ME unless they are ready."""
    table, statuses = EventRanges(), [LETTERS[letter] for letter in letters]
    numbers = range(1, len(letters) + 1)
    table.add_chunk(SET, 1, numbers, numbers, status=statuses, attempts=attempts,
                    owner=owners or [SET if status == S.READY else ME for status in statuses])
    jobs = jobs or (consumer(ME),)
    return Jobset(TaskStatus.RUNNING, {job.panda_id: job for job in jobs},
                  {1: EventFile(1, "running", "running", 0, 3, 0, 3, ME)}, table,
                  queues={"Q": queue or EventQueue("A", QueueStatus.ONLINE, 8, pilots=1)}, **values)


def letters(task):
    """Statuses of all ranges in order, in letters."""
    back, table = {status: letter for letter, status in LETTERS.items()}, task.ranges
    return "".join(back[int(table.rows["status"][row])] for chunk in range(table.n_chunks)
                   for row in table.rows_of(chunk))


def ended(task, status=J.FINISHED, **values):
    """What the end of ME gives: the code, its status and sub-status, and the kinds and queues of new jobs."""
    code, _ = end_job(task, replace(task.jobs[ME], status=status, **values))
    job = task.jobs[ME]
    return code, job.status, job.sub_status, [(one.kind, one.queue) for one in task.made]


def test_a_range_takes_less_than_40_bytes():
    assert ranges.RANGE.itemsize == 35


@pytest.mark.rule("get_event_ranges", "table.take")
@pytest.mark.parametrize(("given", "asked", "got", "closes"), [
    pytest.param("rrrr", 3, [1, 2, 3], False, id="one more is left, so the others may wait"),
    pytest.param("rrr", 3, [1, 2, 3], True, id="the last ranges: consumers that wait are not needed"),
    pytest.param("dsr", 8, [3], True, id="only ready ranges"),
    pytest.param("dd", 8, [], True, id="none"),
])
def test_ranges_are_given_in_order(given, asked, got, closes):
    task = jobset(given, consumer(ME), consumer(OTHER, J.ACTIVATED))
    rows = get_event_ranges(task, ME, SET, asked)
    assert task.ranges.rows["first"][rows].tolist() == got
    assert (task.ranges.rows["status"][rows] == S.SENT).all() and (task.ranges.rows["owner"][rows] == ME).all()
    assert (task.jobs[OTHER].sub_status == "es_unused") is closes


@pytest.mark.rule("get_event_ranges")
@pytest.mark.parametrize(("job", "n"), [
    *[(consumer(ME, status), 3) for status in (J.SENT, J.STARTING, J.RUNNING)],
    *[(consumer(ME, status), 0) for status in (J.ACTIVATED, J.HOLDING, J.TRANSFERRING)],
    (consumer(ME, is_to_be_killed=True), 0), (consumer(ME, is_archived=True), 0)])
def test_only_dispatched_jobs_get_ranges(job, n):
    assert len(get_event_ranges(jobset("rrr", job), ME, SET)) == n


@pytest.mark.rule("get_event_ranges")
def test_jumbo_jobs_take_ranges_of_all_jobsets_but_hopeless_ones_stay():
    task = jobset("rr", consumer(ME, kind=E.JUMBO), attempts=[0, 1])
    task.ranges.add_chunk(SET + 1, 2, [1], [1], attempts=2)
    rows = get_event_ranges(task, ME, 0)
    assert task.ranges.rows["first"][rows].tolist() == [2, 1] and task.ranges.rows["is_jumbo"][rows].all()


@pytest.mark.rule("update_event_range", "processed_events")
@pytest.mark.parametrize(("status", "report", "accepted", "letter", "attempts"), [
    (J.RUNNING, "finished", True, "f", 3), (J.TRANSFERRING, "failed", True, "F", 3), (J.SENT, "fatal", True, "F", 1),
    (J.STARTING, "finished", True, "f", 3), (J.ACTIVATED, "finished", False, "s", 3),
    (J.RUNNING, "running", None, "s", 3), (J.RUNNING, "ok", False, "s", 3), (J.HOLDING, "finished", False, "s", 3)])
def test_reports(status, report, accepted, letter, attempts):
    task = jobset("s", consumer(ME, status))
    assert update_event_range(task, 0, ME, report) is accepted
    assert letters(task) == letter and task.ranges.rows["attempts"][0] == attempts
    assert processed_events(task, ME, 5) == (5 if letter == "f" else 0)


@pytest.mark.rule("settle_ranges")
@pytest.mark.parametrize(("given", "flags", "left", "attempts"), [
    pytest.param("fsnd", (), "drrd", [3, 2, 2, 3], id="finished ones are done, others ready with an attempt less"),
    pytest.param("s", ("decAttOnFailedES",), "r", [3], id="which decAttOnFailedES keeps"),
    pytest.param("Fxc", ("decAttOnFailedES",), "Frxc", [3, 2, 3, 3], id="but not that of the copy of a failed one"),
    pytest.param("a", (), "r", [2], id="its fatal ones are ready too"),
])
def test_ranges_at_the_end_of_a_consumer(given, flags, left, attempts):
    task = jobset(given, consumer(ME, flags=frozenset({"eventservice", *flags, "notDiscardEvents"})))
    ended(task)
    assert letters(task) == left
    assert [int(task.ranges.rows["attempts"][row]) for row in task.ranges.rows_of(0)] == attempts


RETRY, MERGE, FAKE = (E.CONSUMER, "Q"), (E.MERGE, "Q"), (E.CONSUMER, WAITING_CO_JUMBO)


@pytest.mark.rule("end_job", "process_ranges")
@pytest.mark.parametrize(("given", "values", "code", "status", "sub_status", "made"), [
    pytest.param("fr", {}, End.RETRIED, J.MERGING, "es_retry", [RETRY], id="ready ranges, some were processed"),
    pytest.param("sr", {}, End.RETRIED_IDLE, J.CLOSED, "es_noevent", [RETRY], id="ready ranges, none processed"),
    pytest.param("ff", {}, End.MERGED, J.MERGING, "es_merge", [MERGE], id="all done"),
    pytest.param("aa", dict(owners=[SET, SET]), End.ALL_FAILED, J.FAILED, None, [], id="none done"),
    pytest.param("fs", dict(owners=[ME, OTHER], jobs=[consumer(OTHER)]), End.WAITS, J.MERGING, "es_wait", [],
                 id="another one works"),
    pytest.param("ss", dict(owners=[OTHER, OTHER], jobs=[consumer(OTHER)]), End.INACTIVE, J.CLOSED, "es_inaction", [],
                 id="another one works, and this one did nothing"),
    pytest.param("ss", dict(owners=[OTHER, OTHER]), End.INACTIVE, J.FAILED, "es_inaction", [], id="no job works on"),
    pytest.param("ss", dict(owners=[OTHER, OTHER], use_jumbo="R"), End.INACTIVE, J.CLOSED, "es_inaction", [FAKE],
                 id="a fake co-jumbo job waits for jumbo jobs"),
    pytest.param("dd", dict(owners=[OLD, OLD]), End.INACTIVE, J.FAILED, "es_inaction", [], id="all done by others"),
    pytest.param("dd", dict(owners=[OLD, OLD], flags=("allOkEvents",)), End.MERGED_IDLE, J.CLOSED, "es_merge", [MERGE],
                 id="all done by others, and all events are good"),
    pytest.param("fr", dict(attempt=3), End.LAST, J.CLOSED, None, [], id="last attempt"),
    pytest.param("fr", dict(attempt=2), End.RETRIED, J.MERGING, "es_retry", [RETRY], id="the attempt before"),
    pytest.param("ff", dict(attempt=3), End.MERGED, J.MERGING, "es_merge", [MERGE], id="last attempt, all done"),
    pytest.param("fs", dict(attempts=1), End.LAST, J.CLOSED, None, [], id="a hopeless range"),
    pytest.param("fs", dict(attempts=1, flags=("acceptPartial",)), End.LAST, J.CLOSED, None, [],
                 id="a hopeless range, with acceptPartialFinish too"),
    pytest.param("fr", dict(error=111), End.NOTHING, J.FINISHED, None, [], id="retried before"),
])
def test_how_a_consumer_ends(given, values, code, status, sub_status, made):
    job = {name: values.pop(name) for name in ("attempt", "error") if name in values}
    flags = frozenset({"eventservice", *values.pop("flags", ())})
    task = jobset(given, consumer(ME, flags=flags, **job), *values.pop("jobs", ()), **values)
    assert ended(task) == (code, status, sub_status, made)


PREEMPTS = EventQueue("A", QueueStatus.ONLINE, 8, is_preemptable=True)


@pytest.mark.rule("end_job", "abort_others", "close_unused")
@pytest.mark.parametrize(("given", "values", "reported", "documented", "deployed"), [
    pytest.param("sr", {}, {}, "merging es_inaction", "closed es_noevent", id="retried without events"),
    pytest.param("sr", {}, dict(sub_status="pilot_killed"), "merging es_inaction", "failed pilot_killed", id="evicted"),
    pytest.param("sr", {}, dict(sub_status="es_heartbeat"), *["failed es_heartbeat"] * 2, id="lost without events"),
    pytest.param("fr", {}, dict(sub_status="es_heartbeat", n_events=1), "merging es_retry", "failed es_heartbeat",
                 id="lost with events"),
    pytest.param("sr", dict(queue=PREEMPTS), dict(sub_status="es_heartbeat"), "failed es_heartbeat",
                 "closed es_preempted", id="lost at a queue that preempts"),
    pytest.param("fr", {}, dict(sub_status="pilot_failed", n_events=1), *["failed pilot_failed"] * 2, id="pilot"),
    pytest.param("fs", dict(attempts=1), dict(n_events=1), "failed None", "merging es_wait", id="a hopeless range"),
    pytest.param("fs", dict(attempts=1), {}, "failed None", "closed None", id="a hopeless range, without an error"),
    pytest.param("fs", dict(attempts=1, other=J.RUNNING), {}, "failed None, closed es_aborted",
                 "closed es_inaction, running None", id="a hopeless range, and another consumer"),
    pytest.param("aa", dict(owners=[SET, SET], other=J.RUNNING), {}, "failed None, closed es_aborted",
                 "failed None, running None", id="none done, and another consumer"),
    pytest.param("ff", dict(other=J.RUNNING), {}, "merging es_merge, closed es_killed",
                 "merging es_merge, closed es_unused", id="merged while another is at work"),
    *[pytest.param("ff", dict(other=status), {}, *["merging es_merge, closed es_unused"] * 2, id=status.word)
      for status in (J.ACTIVATED, J.DEFINED)]])
def test_ends_that_differ_between_the_page_and_the_code(given, values, reported, documented, deployed):
    for edition, expected in (("documented", documented), ("deployed", deployed)):
        kept = dict(values)
        others = [consumer(OTHER, kept.pop("other"))] if "other" in kept else []
        task = jobset(given, consumer(ME), *others, edition=edition, **kept)
        ended(task, J.FAILED if reported else J.FINISHED, **reported)
        assert ", ".join(f"{job.status.word} {job.sub_status}" for job in task.jobs.values()) == expected, edition


@pytest.mark.rule("end_job")
@pytest.mark.parametrize(("status", "made", "after"), [
    (J.ACTIVATED, [RETRY], J.ACTIVATED), (J.ASSIGNED, [RETRY], J.ASSIGNED), (J.DEFINED, [], None)])
def test_a_retry_waits_where_its_job_waited(status, made, after):
    task = jobset("fr", consumer(ME, status))
    assert ended(task, J.FAILED)[3] == made
    assert [one.status for one in task.made] == ([after] if after is not None else [])


@pytest.mark.rule("end_job")
@pytest.mark.parametrize(("queue", "made"), [
    (dict(status=QueueStatus.BROKEROFF), [RETRY]), (dict(status=QueueStatus.OFFLINE), []), (dict(jobseed="std"), [])])
def test_queues_without_event_service_get_no_retry(queue, made):
    task = jobset("fr", queue=replace(EventQueue("A", QueueStatus.ONLINE, 8), **queue))
    assert ended(task)[3] == made
    assert task.jobs[ME].status == (J.MERGING if made else J.FAILED)


@pytest.mark.rule("single_core_queue", "fewest_ranges")
@pytest.mark.parametrize(("n_left", "minimum", "queue"), [
    (7, None, "ONE"), (8, None, "Q"), (9, 10, "ONE"), (10, 10, "Q")])
def test_few_ranges_are_retried_on_one_core(n_left, minimum, queue):
    task = jobset("f" + "r" * n_left, minimum=minimum)
    task.queues["ONE"] = EventQueue("A", QueueStatus.ONLINE, 1, pilots=5)
    ended(task)
    assert (task.made[0].queue, task.made[0].corecount) == (queue, 1 if queue == "ONE" else 8)
    assert task.made[0].priority == 1 and task.made[0].attempt == 2


@pytest.mark.rule("end_job")
def test_a_merge_job_is_of_high_priority_and_allows_five_failures():
    task = jobset("f")
    task.files[1].max_failure = None
    ended(task)
    new = task.made[0]
    assert (new.priority, new.share, new.corecount, new.ramcount, new.max_attempt) == (5000, "Express", None, 2000, 2)
    assert new.flags == {"esmerge"} and task.files[1].max_failure == 5 and task.files[1].proc_status == "merging"


def merge_job(status, attempt=0, **values):
    """A jobset whose merge job ends, and whose consumer waits in merging."""
    merger = consumer(ME, kind=E.MERGE, flags=frozenset({"esmerge"}), file_attempts=(attempt,), **values)
    task = jobset("dd", merger, consumer(OLD, J.MERGING, is_archived=True), owners=[OLD, OLD])
    end_job(task, replace(merger, status=status))
    return task


@pytest.mark.rule("end_job", "update_related")
@pytest.mark.parametrize(("status", "of_merger", "of_consumer", "left", "file"), [
    (J.FINISHED, J.FINISHED, J.FINISHED, "mm", "finished"), (J.FAILED, J.FAILED, J.FAILED, "xx", "ready"),
    (J.CLOSED, J.CLOSED, J.MERGING, "dd", "ready")])
def test_the_end_of_a_merge_job(status, of_merger, of_consumer, left, file):
    task = merge_job(status)
    assert (task.jobs[ME].status, task.jobs[OLD].status, letters(task)) == (of_merger, of_consumer, left)
    assert (task.files[1].status, task.files[1].attempt) == (file, 1)


@pytest.mark.rule("update_related")
@pytest.mark.parametrize(("status", "after"), [
    *[(status, J.FINISHED) for status in (J.MERGING, J.CLOSED, J.FAILED)], (J.CANCELLED, J.CANCELLED)])
def test_consumers_of_merged_events(status, after):
    merger = consumer(ME, kind=E.MERGE, flags=frozenset({"esmerge"}))
    task = jobset("dr", merger, consumer(OLD, status, is_archived=True), consumer(OTHER, status, is_archived=True),
                  owners=[OLD, SET])
    end_job(task, replace(merger, status=J.FINISHED))
    assert [task.jobs[one].status for one in (OLD, OTHER)] == [after, status], "one without processed events stays"


@pytest.mark.rule("update_related", "end_job")
@pytest.mark.parametrize(("keeps", "other", "left"), [
    (False, (J.FAILED, "es_ass_failed"), "xcc"), (True, (J.MERGING, "es_retry"), "dsr")])
def test_a_consumer_that_fails_takes_the_events_of_those_before(keeps, other, left):
    """It is the last one, in its last attempt; ranges of an archived one are discarded or cancelled, ready ones
    cancelled, without notDiscardEvents."""
    flags = frozenset({"eventservice", *(["notDiscardEvents"] if keeps else [])})
    task = jobset("dsr", consumer(ME, attempt=3, flags=flags),
                  consumer(OLD, J.MERGING, sub_status="es_retry", is_archived=True), owners=[OLD, OLD, SET])
    ended(task, J.FAILED, has_pilot_error=True)
    assert (task.jobs[OLD].status, task.jobs[OLD].sub_status) == other and letters(task) == left


@pytest.mark.rule("end_job")
def test_a_merge_job_of_another_attempt_fails():
    task = merge_job(J.FINISHED, attempt=1)
    assert (task.jobs[ME].status, task.jobs[ME].error) == (J.FAILED, 124)


@pytest.mark.rule("end_job")
@pytest.mark.parametrize(("sub_status", "preempts", "found"), [
    ("pilot_failed", False, (J.FAILED, "pilot_failed")), ("pilot_failed", True, (J.FAILED, "pilot_failed")),
    ("es_heartbeat", False, (J.FAILED, "es_heartbeat")), ("es_heartbeat", True, (J.CLOSED, "es_preempted")),
    ("pilot_killed", True, (J.MERGING, "es_retry"))])
def test_reports_of_the_pilot_overrule(sub_status, preempts, found):
    task = jobset("fr", queue=EventQueue("A", QueueStatus.ONLINE, 8, is_preemptable=preempts))
    assert ended(task, J.FAILED, sub_status=sub_status)[1:3] == found
    assert len(task.made) == 1, "a retry is made all the same"


@pytest.mark.rule("kill", "kill_consumers", "close_unused")
@pytest.mark.parametrize(("code", "status", "own", "other"), [
    (2, J.CLOSED, "xc", "xc"), (51, J.CLOSED, "xc", "xc"), (9, J.CANCELLED, "fs", "xc"), (55, J.CLOSED, "xc", "xc")])
def test_a_kill_takes_the_other_consumers_and_their_events(code, status, own, other):
    task = jobset("fsfsr", consumer(ME), consumer(OTHER), consumer(1003, J.ACTIVATED),
                  owners=[ME, ME, OTHER, OTHER, SET])
    assert kill(task, ME, code) == (True, True)
    assert task.jobs[ME].status == status and letters(task) == own + other + "c"
    assert (task.jobs[OTHER].status, task.jobs[OTHER].sub_status) == (J.CANCELLED, "es_killed")
    assert task.jobs[1003].sub_status == "es_unused"


@pytest.mark.rule("kill")
def test_events_are_kept_with_not_discard_events():
    task = jobset("fsfsr", consumer(ME, flags=frozenset({"eventservice", "notDiscardEvents"})), consumer(OTHER),
                  owners=[ME, ME, OTHER, OTHER, SET])
    kill(task, ME, 2)
    assert letters(task) == "fsfcr"


@pytest.mark.rule("merge_queue")
@pytest.mark.parametrize(("options", "destination", "flags", "queue"), [
    ("", "nucleus:A", (), "A1"), ("localEsMergeNC", "nucleus:A", (), "Q"), ("", "B1", (), "B1"),
    ("localEsMerge", "nucleus:B", (), "A1"), ("", "nucleus:B", (), "B1"), ("", "nucleus:A", ("mergeAtOs",), "B1"),
    ("", "nucleus:LOST", (), "A1")])
def test_queues_of_merge_jobs(options, destination, flags, queue):
    job = consumer(ME, destination=destination, flags=frozenset(flags))
    task = jobset("f", job)
    task.queues.update(
        Q=EventQueue("A", QueueStatus.ONLINE, 8, catchall=options, object_store_site="B", pilots=9),
        A1=EventQueue("A", QueueStatus.ONLINE, 1, pilots=1, maxtime=DAY),
        B1=EventQueue("B", QueueStatus.ONLINE, pilots=5),
        B2=EventQueue("B", QueueStatus.ONLINE, 1, maxtime=DAY - 1, pilots=7),
        B3=EventQueue("B", QueueStatus.ONLINE, 1, jobseed="es", pilots=8))
    assert merge_queue(task, job) == queue


def test_without_pilots_a_queue_is_not_chosen():
    task = jobset("f")
    task.queues["ONE"] = EventQueue("A", QueueStatus.ONLINE, 1, pilots=0)
    assert single_core_queue(task, "Q") is None and merge_queue(task, task.jobs[ME]) == "Q"


def test_rows_are_used_again_and_copies_keep_their_place():
    table = EventRanges()
    numbers = np.arange(1, 40)
    chunk = table.add_chunk(SET, 1, numbers, numbers, status=S.FAILED, attempts=2, owner=ME)
    table.make_room(39)
    which = np.array([chunk])
    assert ranges.copy_failed(table.rows, table.chunks, table.state, which, ME, SET, ANY) == 39
    assert ranges.copy_failed(table.rows, table.chunks, table.state, which, ME, SET, ANY) == 0, "copied once"
    assert ranges.tally(table.rows, table.chunks, which, SET, 1 << S.READY, 1, 1, ranges.STAYS) == (39, 39)
    taken = np.empty(9, np.int64)
    assert ranges.take(table.rows, table.chunks, which, SET, OTHER, False, 8, taken) == 9
    assert table.rows["first"][taken[:8]].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert ranges.take(table.rows, table.chunks, which, SET, OTHER, False, 8, taken) == 9
    assert table.rows["first"][taken[:8]].tolist() == [9, 10, 11, 12, 13, 14, 15, 16]


def test_chunks_count_the_ranges_that_are_ready_in_work_and_processed():
    """Ready ones with attempts left; a wrong number is a fault of the table, and the ranges of a chunk in order are
    walked only if it may have some in the statuses asked for."""
    task = jobset("rrsnfdFac", attempts=[1, 0] + [2] * 7)

    def counted():
        return tuple(int(task.ranges.chunks[name][0]) for name in ("n_open", "n_taken", "n_processed"))

    assert counted() == (1, 2, 2)
    update_event_range(task, 2, ME, "finished")
    assert counted() == (1, 1, 3)
    get_event_ranges(task, ME, SET)
    assert counted() == (0, 2, 3) and not task.is_processed
    ended(task)
    assert counted() == (3, 0, 3), "running and fatal ones are ready, and a copy; one has no attempt left"
    task.ranges.chunks["n_open"][0] = 0
    assert task.is_processed and task.count(None, statuses=1 << S.READY, least=1) == 0
    faults, n = audit(task.ranges.rows, task.ranges.chunks, task.chunks, np.array([ME]), np.zeros(10, bool))
    assert faults & 8 and n == 10


def watched(**values):
    """A running task with an active jumbo job, 200 000 of 1 000 000 events left, and 600 files."""
    return JumboTask(**dict(status=TaskStatus.RUNNING, use_jumbo="R", priority=600, is_preassigned=False,
                            n_events=1_000_000, n_done=0, n_files=600, n_files_done=0, n_active=1) | values)


@pytest.mark.rule("jumbo.watch")
@pytest.mark.parametrize(("values", "found"), [
    (dict(n_done=900_000), jumbo.Actions()), (dict(n_done=900_001), jumbo.Actions(disables=True)),
    (dict(n_done=900_001, is_preassigned=True), jumbo.Actions()),
    (dict(n_done=900_001, use_jumbo="D"), jumbo.Actions()),
    (dict(use_jumbo="D", priority=499), jumbo.Actions(priorities=(500,))),
    (dict(use_jumbo="D", priority=500), jumbo.Actions()),
    (dict(n_files_done=101, n_done=50_000), jumbo.Actions()),
    (dict(n_files_done=101, n_done=50_001), jumbo.Actions(priorities=(900,))),
    (dict(n_files_done=100, n_done=50_001), jumbo.Actions()), (dict(n_active=0), jumbo.Actions(kicks=True)),
    (dict(n_active=0, use_jumbo="W"), jumbo.Actions()), (dict(n_active=0, status=TaskStatus.READY), jumbo.Actions()),
    (dict(priority=899), jumbo.Actions()), (dict(priority=900), jumbo.Actions(resets=True)),
    (dict(n_active=0, use_jumbo=""), jumbo.Actions()), (dict(n_active=0, status=TaskStatus.PAUSED), jumbo.Actions())])
def test_what_the_jumbo_watchdog_does(values, found):
    assert watch(watched(**values), Limits()) == found


@pytest.mark.rule("flag_after_kick", "files_to_reset")
def test_kicked_flags_and_files_that_are_used_again():
    assert [flag_after_kick(*case) for case in (("R", False), ("P", False), ("R", True), ("D", False))] == [
        "L", "L", "R", "D"]
    assert files_to_reset({1: [11, 12], 2: [11, 14], 3: [], 4: [13]}, [1, 2, 3, 4], [14, 13]) == [1, 2]


@pytest.mark.rule("tasks_to_enable")
@pytest.mark.parametrize(("limits", "enabled"), [
    (dict(most_tasks=2), [7]), (dict(most_tasks=3), [7]), (dict(most_tasks=3, most_events=5_000_000), [7, 8]),
    (dict(most_tasks=1), []), (dict(most_tasks=3, most_events=1_000_000), []),
    (dict(most_tasks=9, most_events=1e9, enabling=100), [7, 8, 9])])
def test_jumbo_jobs_are_enabled_in_the_largest_tasks(limits, enabled):
    others = {8: watched(n_events=2_000_000, priority=100), 7: watched(n_events=3_000_000, priority=499),
              6: watched(n_events=9_000_000, priority=500), 9: watched(n_events=1_000_000, priority=1)}
    assert jumbo.tasks_to_enable([watched()], others, Limits(**dict(most_events=1_500_000) | limits)) == enabled


@pytest.mark.rule("jobs_wanted")
@pytest.mark.parametrize(("flag", "statuses", "edition", "n"), [
    ("W", [], "deployed", 3), ("P", [J.RUNNING], "deployed", 2), ("L", [J.TRANSFERRING, J.HOLDING], "deployed", 3),
    ("R", [], "deployed", 0), ("R", [], "documented", 3), ("D", [], "documented", 0),
    ("W", [J.RUNNING, J.SENT, J.ACTIVATED, J.DEFINED], "deployed", 0)])
def test_jumbo_jobs_that_are_made(flag, statuses, edition, n):
    assert jumbo.jobs_wanted(flag, 3, statuses, 1, edition) == n
    assert jumbo.jobs_wanted(flag, 3, statuses, 0, edition) == 0, "no range is ready"


@pytest.mark.rule("are_due")
@pytest.mark.parametrize(("edition", "after_s", "finished"), [
    ("documented", 3600, (J.WAITING, J.ASSIGNED, J.ACTIVATED)), ("deployed", 1800, (J.ASSIGNED, J.ACTIVATED))])
def test_co_jumbo_jobs_that_are_looked_at_again(edition, after_s, finished):
    """QUIRK of the code: a fake one in waiting cannot be archived."""
    looked_s = np.array([-np.inf, 5000 - after_s, 5001 - after_s, 5000])
    assert jumbo.are_due(looked_s, 5000.0, edition).tolist() == [True, True, False, False]
    assert jumbo.TERMS[edition].finished == finished


@pytest.mark.rule("in_pass")
@pytest.mark.parametrize(("edition", "n"), [("documented", 1002), ("deployed", 1000)])
def test_co_jumbo_jobs_that_are_looked_at_in_a_pass(edition, n):
    """1 002 jobs of the defined table, the first and last of all, before and after 1 001 of the active one."""
    defined = np.array([True] * 1001 + [False] * 1001 + [True])
    looked = jumbo.in_pass(defined, edition)
    assert looked[defined].sum() == n and looked[~defined].sum() == min(n, 1001)
    assert looked[:1000].all() and looked[1001:2001].all(), "the first ones"


@pytest.mark.rule("next_flag")
@pytest.mark.parametrize(("flag", "all_used", "made", "n_running", "after"), [
    ("W", False, False, 0, "W"), ("W", False, True, 0, "P"), ("W", True, True, 0, "R"), ("P", True, False, 49, "R"),
    ("P", True, False, 50, "P"), ("P", False, True, 0, "P"), ("R", False, False, 0, "P"), ("R", True, False, 50, "R"),
    ("L", False, True, 0, "L"), ("L", True, True, 0, "R"), ("L", True, False, 0, "L"), ("D", True, True, 0, "D")])
def test_flags_of_tasks_with_jumbo_jobs(flag, all_used, made, n_running, after):
    assert jumbo.next_flag(flag, all_used, made, n_running) == after


@pytest.mark.rule("needs_no_more", "in_edition")
def test_jumbo_jobs_that_are_closed_and_what_the_documented_watchdog_leaves():
    running = TaskStatus.RUNNING
    assert [jumbo.needs_no_more(*case) for case in (
        (running, "R", 10, 9), (running, "R", 10, 10), (running, "D", 10, 0), (TaskStatus.DONE, "R", 10, 0))] == [
        False, True, True, True]
    wanted = jumbo.Actions(disables=True, priorities=(900,), kicks=True, resets=True)
    assert jumbo.in_edition(wanted, "deployed") == wanted
    assert jumbo.in_edition(wanted, "documented") == jumbo.Actions(disables=True)


@pytest.mark.rule("jumbo_limits")
def test_limits_of_the_jumbo_watchdog_follow_from_each_other():
    found = jumbo_limits(cfg(JumboWatchDog=dict(JUMBO_MIN_EVENTS_DISABLE=70, JUMBO_MAX_TASKS=3)))
    assert (found["enabling"], found["most_events"]) == (700, 1050)


@pytest.mark.rule("timeouts.rules")
def test_rows_of_copy_archive_for_event_service():
    """Rows 21 to 23: co-jumbo jobs wait on; consumers of high priority, and merge jobs, run for a day."""
    for edition in ("documented", "deployed"):
        waiting = [rule for rule in rules(cfg(edition), edition)
                   if rule.statuses == (J.WAITING,) and rule.limit_s <= HOUR]
        assert len(waiting) == 1 and waiting[0].spares == JobMark.CONSUMES
    day = {rule.only: (rule.statuses, rule.priority_at_least, rule.limit_s, rule.code)
           for rule in rules(cfg("deployed"), "deployed") if rule.only in (JobMark.CONSUMES, JobMark.MERGES_EVENTS)
           and rule.statuses == (J.RUNNING,)}
    assert day == {JobMark.CONSUMES: ((J.RUNNING,), 900, DAY, 2), JobMark.MERGES_EVENTS: ((J.RUNNING,), None, DAY, 2)}


@pytest.mark.rule("event_pool")
def test_the_pool_of_events():
    def one(status=TaskStatus.RUNNING, share="Simul", age=10 * MINUTE, n_files=10, used=4, events=100):
        return EventTask(status, share, age, n_files, used, events)
    pending = one(TaskStatus.PENDING, share="Validation", age=7 * MINUTE)
    assert event_pool([one(), one(share=None), one(share="Validation"), one(TaskStatus.THROTTLED, age=1),
                       one(n_files=0), pending]) == Pool(60, 7 * MINUTE, 1)
    assert event_pool([]) == Pool(0, None, 0)


@pytest.mark.rule("convert", "is_wanted")
@pytest.mark.parametrize(("params", "pool", "keys", "is_converted"), [
    ({}, Pool(99, None, 1), {}, True), ({}, Pool(100, None, 1), {}, False), ({}, Pool(99, None, 2), {}, False),
    ({}, Pool(0, 5 * MINUTE, 0), {}, False), ({}, Pool(0, 5 * MINUTE + 1, 0), {}, True),
    ({}, Pool(0, None, 0), dict(pool_size=None), False), ({}, Pool(0, None, 0), dict(most_pending=None), False),
    (dict(taskPriority=501), Pool(0, None, 0), dict(most_priority=500), False),
    (dict(taskPriority=499), Pool(0, None, 0), dict(least_priority=500), False),
    (dict(nEventsPerWorker=5), Pool(0, None, 0), {}, False), (dict(esConvertible=False), Pool(0, None, 0), {}, False),
    (dict(esConvertible=False, esFraction=0.5), Pool(0, None, 0), {}, False),
    (dict(esConvertible=False, esFraction=0.51), Pool(0, None, 0), {}, True)])
def test_tasks_that_are_converted(params, pool, keys, is_converted):
    given = dict(taskPriority=500, esConvertible=True) | params
    found = convert(given, pool, Keys(**dict(pool_size=100, most_pending=2) | keys), 0.5)
    assert bool(found) is is_converted


@pytest.mark.rule("convert")
def test_given_parameters_stay_but_the_core_count():
    found = convert(dict(taskPriority=1, coreCount=8, esFraction=1, maxAttemptES=4, nEsConsumers=2), Pool(0, None, 0),
                    Keys(n_consumers=3, n_sites=2), 0.0)
    assert (found["coreCount"], found["nSitesPerJob"]) == (0, 2)
    assert not {"maxAttemptES", "nEsConsumers"} & found.keys()
    converted = convert(dict(taskPriority=1, esFraction=1), Pool(0, None, 0), Keys(), 0.0)
    names = ("nEventsPerWorker", "nEsConsumers", "maxAttemptES", "maxAttemptEsJob", "notDiscardEvents",
             "decAttOnFailedES")
    assert [converted[name] for name in names] == [1, 1, 1, 0, True, True] and "nSitesPerJob" not in converted


def test_codes_of_jobs_and_ranges():
    assert [one.word for one in E] == ["none", "consumer", "merge", "clone", "jumbo", "co_jumbo", "fine_grained"]
    assert " ".join(one.word for one in S) == (
        "ready sent running finished cancelled discarded done failed fatal merged corrupted")
    assert [[*one] for one in (E, S)] == [[*range(7)], [*range(11)]] and EventRule().maxAttemptES == 10


def test_a_request_without_a_number_gets_eight_ranges():
    assert len(get_event_ranges(jobset("r" * 9), ME, SET)) == 8


@pytest.mark.rule("settle_ranges", "process_ranges")
def test_ranges_without_attempts():
    """The copy of a fatal range has none; with acceptPartialFinish those that wait for the jobset are fatal."""
    task = jobset("s")
    update_event_range(task, 0, ME, "fatal")
    ended(task)
    assert [int(task.ranges.rows["attempts"][row]) for row in task.ranges.rows_of(0)] == [1, 0]
    for flags, left in (((), "drx"), (("acceptPartial",), "dax")):
        task = jobset("frx", consumer(ME, flags=frozenset({"notDiscardEvents", *flags})), attempts=[2, 0, 0])
        ended(task)
        assert letters(task) == left


@pytest.mark.rule("kill")
@pytest.mark.parametrize(("code", "own"), [(3, "fs"), (50, "fs"), (52, "fs"), (91, "fs"), (4, "xc"), (60, "xc")])
def test_a_cancelled_consumer_keeps_its_own_ranges(code, own):
    task = jobset("fs")
    kill(task, ME, code)
    assert letters(task) == own and (task.jobs[ME].status == J.CANCELLED) is (own == "fs")


@pytest.mark.rule("end_job", "process_ranges", "settle_ranges")
@pytest.mark.parametrize(("given", "values", "end", "error", "made"), [
    pytest.param("fr", dict(status=J.DEFINED), "failed es_badstatus", 125, [], id="not dispatched, and the last"),
    pytest.param("fr", dict(status=J.PENDING, other=J.ACTIVATED), "closed es_badstatus", 126, [], id="another goes on"),
    pytest.param("sr", dict(jobseed="std", other=J.RUNNING), "closed es_noevent", 123, [], id="no retry, another"),
    pytest.param("sr", dict(jobseed="std"), "failed es_noevent", 125, [], id="no retry, and the last"),
    pytest.param("fs", dict(owners=[ME, OLD]), "merging es_wait", 115, [], id="a consumer that is gone works"),
    pytest.param("fs", dict(owners=[ME, OLD], use_jumbo="R"), "merging es_wait", 115, [FAKE], id="jumbo jobs work"),
    pytest.param("fs", dict(owners=[ME, OLD], kind=E.CO_JUMBO), "merging es_wait", 115,
                 [(E.CO_JUMBO, WAITING_CO_JUMBO)], id="so for co-jumbo"),
    pytest.param("ff", dict(owners=[OLD, OLD], kind=E.CO_JUMBO, by_jumbo=True), "closed es_merge", 112, [MERGE],
                 id="jumbo jobs finished all: done now"),
    pytest.param("FF", dict(owners=[OLD, OLD], kind=E.CO_JUMBO, by_jumbo=True), "closed es_noevent", 123,
                 [(E.CO_JUMBO, "Q")], id="jumbo jobs failed all: copied now")])
def test_ends_without_a_retry_and_of_co_jumbo_jobs(given, values, end, error, made):
    others = [consumer(OTHER, values["other"])] if "other" in values else []
    own = {name: values[name] for name in ("status", "kind") if name in values}
    kept = {name: values[name] for name in ("owners", "use_jumbo") if name in values}
    task = jobset(given, consumer(ME, **own), *others, **kept,
                  queue=EventQueue("A", QueueStatus.ONLINE, 8, jobseed=values.get("jobseed", ""), pilots=1))
    task.ranges.rows["is_jumbo"][:len(given)] = values.get("by_jumbo", False)
    _, status, sub_status, new = ended(task, J.FAILED)
    assert (f"{status.word} {sub_status}", task.jobs[ME].error, new) == (end, error, made)


@pytest.mark.rule("end_job")
@pytest.mark.parametrize(("given", "attempt", "reported", "end"), [
    ("fr", 3, dict(sub_status="es_toolong", n_events=1), "merging es_toolong"),
    ("fr", 3, dict(n_events=1), "merging es_wait"),
    ("fr", 3, dict(has_pilot_error=True), "failed None"), ("fr", 3, {}, "closed None"),
    ("fr", 3, dict(has_pilot_error=True, sub_status="pilot_noevents"), "closed pilot_noevents")])
def test_the_last_consumer_in_the_archive(given, attempt, reported, end):
    task = jobset(given, consumer(ME, attempt=attempt))
    _, status, sub_status, _ = ended(task, J.FAILED, **reported)
    assert f"{status.word} {sub_status}" == end


@pytest.mark.rule("end_job")
def test_a_retry_whose_input_is_not_ready_waits_for_it():
    task = jobset("fr", consumer(ME, is_input_ready=False))
    ended(task)
    assert [one.status for one in task.made] == [J.ASSIGNED]


@pytest.mark.rule("single_core_queue")
@pytest.mark.parametrize(("corecount", "small", "chosen"), [
    (8, {}, True), (1, {}, False), (8, dict(jobseed="std"), False), (8, dict(status=QueueStatus.TEST), False),
    (8, dict(site="B"), False), (8, dict(corecount=8), False), (8, dict(corecount=8, capability="ucore"), True)])
def test_single_core_queues_of_retries(corecount, small, chosen):
    task = jobset("fr", consumer(ME, corecount=corecount), minimum=9)
    task.queues["ONE"] = replace(EventQueue("A", QueueStatus.ONLINE, 1, pilots=5), **small)
    ended(task)
    assert (task.made[0].queue, task.made[0].ramcount) == (("ONE", 0) if chosen else ("Q", 16000))


@pytest.mark.rule("end_job")
@pytest.mark.parametrize(("most", "failed", "allowed"), [(3, 0, 3), (5, 0, 5), (6, 0, 5), (9, 3, 8)])
def test_failures_that_a_merge_job_allows(most, failed, allowed):
    task = jobset("f")
    task.files[1].max_failure, task.files[1].failed_attempts = most, failed
    ended(task)
    assert task.files[1].max_failure == allowed


@pytest.mark.rule("merge_queue")
@pytest.mark.parametrize(("fields", "chosen"), [
    ({}, True), (dict(maxtime=0), True), (dict(maxtime=DAY), True), (dict(maxtime=DAY - 1), False),
    (dict(maxtime=None), False), (dict(minrss=1, maxrss=1), False), (dict(minrss=1), True),
    (dict(minrss=0, maxrss=1), True), (dict(is_analysis=True), False), (dict(jobseed="es"), False),
    (dict(wnconnectivity="http"), False), (dict(wnconnectivity="full#IPv4"), True), (dict(corecount=8), False),
    (dict(corecount=8, capability="ucore"), True), (dict(corecount=None), True), (dict(pilots=0), False),
    (dict(status=QueueStatus.BROKEROFF), False)])
def test_queues_that_take_merge_jobs(fields, chosen):
    task = jobset("f")
    task.queues["ONE"] = replace(EventQueue("A", QueueStatus.ONLINE, 1, pilots=5), **fields)
    assert merge_queue(task, task.jobs[ME]) == ("ONE" if chosen else "Q")


@pytest.mark.rule("merge_queue")
@pytest.mark.parametrize(("options", "near", "far", "queue"), [
    ("localEsMerge,useBrokerOff", dict(status=QueueStatus.BROKEROFF), {}, "NEAR"),
    ("localEsMerge", dict(status=QueueStatus.BROKEROFF), {}, "FAR"), ("", dict(pilots=0), {}, "Q"),
    ("useJumboJobs", dict(pilots=0), {}, "FAR"), ("", dict(jobseed="es"), {}, "FAR")])
def test_groups_of_queues_for_merge_jobs(options, near, far, queue):
    """Any queue is the last group, if there was none before, or for a queue that takes jumbo jobs."""
    task = jobset("f")
    task.queues.update(
        Q=EventQueue("A", QueueStatus.ONLINE, 8, catchall=options),
        NEAR=replace(EventQueue("A", QueueStatus.ONLINE, 1, pilots=1), **near),
        FAR=replace(EventQueue("C", QueueStatus.ONLINE, 1, pilots=9), **far))
    assert merge_queue(task, task.jobs[ME]) == queue


@pytest.mark.rule("end_job", "update_related")
def test_a_merge_job_that_fails_leaves_events_that_are_kept():
    merger = consumer(ME, kind=E.MERGE, flags=frozenset({"esmerge", "notDiscardEvents"}))
    task = jobset("dd", merger, consumer(OLD, J.MERGING, is_archived=True), owners=[OLD, OLD])
    end_job(task, replace(merger, status=J.FAILED))
    assert (task.jobs[ME].status, task.jobs[OLD].status, letters(task)) == (J.FAILED, J.MERGING, "dd")


@pytest.mark.rule("jumbo.watch")
def test_a_boost_overwrites_the_priority_of_disabled_jumbo_jobs():
    task = watched(use_jumbo="D", priority=1, n_done=50_001, n_files_done=101)
    assert watch(task, Limits()).priorities == (500, 900)
