"""Why the work of a user waits: one user each with work that is capped, throttled, refused, queued, or not yet made."""

import numpy as np
import pandas as pd
import pytest
from small_run import HOUR, VOCABULARIES, job, run_of, task_rows

from simgrid_broker import metrics
from simgrid_broker.cli import users
from simgrid_broker.cli.trouble import BadArgument
from simgrid_broker.names import JobStatus, TaskStatus, ThrottledBy
from simgrid_broker.schema.series import DECISIONS, QUEUE_SERIES, TASK_CLASSES

S, T = JobStatus, TaskStatus
REASONS = ("-cap_jobs", "-share_throttle", "-global_quota", "-incomplete", "-badsite (long queue of user)", "-status")
USERS = ("capped", "class", "quota", "data", "problems", "nowhere", "throttled", "attempts", "scouting", "turn",
         "paused", "jobs", "over")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A task of 10 jobs of each of USERS, over ten hours; the last is done."""
    for name, words in (("users", USERS), ("labels", ("user", "managed")), ("reasons", REASONS),
                        ("throttled_by", ("", *ThrottledBy.words()[1:])), ("task_class", ("C", "B", "A", "S"))):
        monkeypatch.setitem(VOCABULARIES, name, words)
    states = [T.PENDING] * 6 + [T.THROTTLED] * 2 + [T.SCOUTING, T.READY, T.PAUSED, T.RUNNING, T.DONE]
    rows, times = task_rows([(0, 1, status, 9) for status in states])
    rows["jeditaskid"], rows["user"], rows["label"], rows["n_jobs"] = range(1, 14), range(13), 0, 10
    rows["errordialog"][:6], rows["errordialog"][6:] = range(6), -1
    rows["throttled_by"][6:8] = ThrottledBy.QUEUED_CORES, ThrottledBy.ATTEMPTS
    rows["n_finished"][11], rows["n_failed"][11], rows["working_group"] = 2, 1, -1
    for row, status in enumerate(states):
        times[row, status] = 6 * HOUR
    jobs = [*(job(status=S.ACTIVATED, jeditaskid=12, n_chunks=1, queue=0, activated=8) for _ in range(3)),
            job(status=S.RUNNING, jeditaskid=12, n_chunks=1, queue=0, activated=2, running=3),
            job(status=S.THROTTLED, jeditaskid=12, n_chunks=1, queue=1, throttled=5),
            job(status=S.ASSIGNED, jeditaskid=12, n_chunks=2, queue=1, assigned=7),
            job(status=S.CLOSED, jeditaskid=12, n_chunks=1, queue=1, activated=1, closed=4)]
    made = np.zeros(2, DECISIONS.dtype)
    made["time_s"], made["jeditaskid"], made["n_jobs"] = (3 * HOUR, 5 * HOUR), 1, (4, 0)
    samples = np.zeros(2, QUEUE_SERIES.dtype)
    samples["time_s"], samples["queue"], samples["activated"], samples["free_cores"] = 10 * HOUR, (0, 1), 7, (0, 5)
    classes = np.array([(HOUR, 2, 2), (2 * HOUR, 2, 0), (HOUR, 3, 1), (2 * HOUR, 3, -1)], TASK_CLASSES.dtype)
    return run_of(tmp_path / "run", jobs=jobs, tasks=(rows, times), decisions=made, queues=samples,
                  task_classes=classes)


@pytest.mark.parametrize(("user", "cause", "rule"), [
    ("capped", "cap", "-cap_jobs"), ("class", "class", "-share_throttle"), ("quota", "quota", "-global_quota"),
    ("data", "no data", "-incomplete"), ("problems", "problematic queues", "-badsite (long queue of user)"),
    ("nowhere", "no queue", "-status"), ("throttled", "cap", "queued_cores"),
    ("attempts", "failed attempts", "attempts"), ("scouting", "scouts", ""), ("turn", "turn", "ready"),
    ("paused", "stopped", "paused")])
def test_jobs_that_are_not_made_wait_for_what_holds_their_task(run, user, cause, rule):
    tasks = metrics.tasks_of_users(run, user)
    held = metrics.held_work(run, tasks, metrics.live_jobs(run, tasks.jeditaskid))
    assert held[["cause", "rule", "jobs"]].values.tolist() == [[cause, rule, 10]]


def test_work_waits_since_the_last_jobs_were_made_or_the_task_arrived(run):
    tasks = metrics.tasks_of_users(run)
    held = metrics.held_work(run, tasks, metrics.live_jobs(run, tasks.jeditaskid)).set_index("jeditaskid").since_s
    assert held[1] == 3 * HOUR and held[2] == HOUR


def test_jobs_wait_for_what_their_status_says_and_what_is_alive_is_not_made_again(run):
    tasks = metrics.tasks_of_users(run, "jobs")
    jobs = metrics.live_jobs(run, tasks.jeditaskid)
    held = metrics.held_work(run, tasks, jobs).set_index("cause")
    assert held.jobs.to_dict() == {"slots": 3, "cap": 1, "input": 1}          # 3 of 10 are over, 7 are in jobs
    assert held.since_s.to_dict() == {"slots": 8 * HOUR, "cap": 5 * HOUR, "input": 7 * HOUR}
    places = metrics.places_of(run, jobs)[["queue", "waiting", "running", "all_waiting", "free_cores"]]
    assert places.values.tolist() == [["QX", 3, 1, 7, 0]]


@pytest.mark.parametrize(("made", "half"), [
    pytest.param((), 5, id="made jobs alone"), pytest.param((1,), 2, id="an old piece that is not made"),
    pytest.param((1, 1, 1), 1, id="half are not made")])
def test_half_of_the_jobs_have_waited_since(made, half):
    held = pd.DataFrame([(1, "slots", "", 3, 2, True), *((2, "turn", "", 1, since_s, False) for since_s in made)],
                        columns=["jeditaskid", "cause", "rule", "jobs", "since_s", "made"])
    jobs = pd.DataFrame({"status": ["activated", "running", "assigned", "activated"], "since_s": [5, 0, 2, 8]})
    assert metrics.half_since(held, jobs) == half


def test_the_class_of_a_task_is_the_last_that_it_had(run):
    assert metrics.last_classes(run, {2, 3}) == {2: "C", 3: "B"}


@pytest.mark.parametrize(("user", "words"), [
    ("capped", "10 jobs of capped have waited for 7 h: all wait because a cap holds them back: too many running jobs "
     "for CAP_RUNNING_USER_JOBS."),
    ("throttled", "too many queued cores for CAP_RUNNING_USER_CORES."),
    ("class", "A uses too much of its target for their class: -share_throttle."),
    ("jobs", "Half of the 5 waiting jobs of jobs have waited for at least 2 h, the first for 5 h: 3 wait because the "
     "slots are taken: they are activated at 1 queue (QX), 1 of them without a free core, and 1 because a cap holds "
     "them back: their jobs are throttled, as the running jobs or cores have reached CAP_RUNNING_USER_JOBS or _CORES."),
    ("over", "No job of over waits: 0 jobs run.")])
def test_one_sentence_says_why_a_user_waits(run, user, words):
    assert users.sentence(users.of_user(run, user)).endswith(words)


def test_the_answer_has_the_details(run):
    text = users.text(users.of_user(run, "jobs"))
    assert "task" in text and "QX" in text and "throttled" in text and "assigned" in text
    assert users.of_task(run, 2).classes == {2: "C"} and users.of_task(run, 99) is None


def test_an_unknown_user_is_refused_with_the_nearest(run):
    with pytest.raises(BadArgument, match="did you mean 'scouting'"):
        users.of_user(run, "scoutin")
