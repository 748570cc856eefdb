"""What jobs of users mean for a queue: closed and bad jobs, overload, the stabilizer, and the weights."""

from math import nan

import pytest
from analysis_builders import DISK, EDITIONS, TAPE, VP, candidate, dataset, decide, queues, refuses, task, view, why

from simgrid_broker.names import SiteClass, TaskClass
from simgrid_broker.policy.brokerage.analysis import users

HI, MID, LO = map(int, (SiteClass.HI, SiteClass.MID, SiteClass.LO))
LONG = dict(activated=300, running=100, running_all=1000, to_running_rate=200)
"""A queue of the share that waits: 20 jobs of it begin in an hour."""


def numbers(edition="deployed", **columns):
    """The numbers of a queue."""
    return candidate(seen=view(**columns), edition=edition)[1]


def test_worked_stabilizer():
    user = dict(users_running=200, n_users=9, user_running=10, user_queued=0)
    found = numbers(**LONG | user)
    assert found["rate"] == 20
    assert found["longest"] == 40 and found["left"] == 40           # 400 x max(10 / 200, 1 / 10)


@pytest.mark.parametrize(("columns", "edition", "expected"), [
    pytest.param(dict(n_users=4, users_running=0, running=0, running_all=0), "deployed", 20, id="100 / (4 + 1)"),
    pytest.param(dict(n_users=4, users_running=0, running=0, running_all=0), "documented", 25, id="100 / 4"),
    pytest.param(dict(n_users=4, running=0, running_all=0), "deployed", 25, id="without the row of all users"),
    pytest.param(dict(running=0, running_all=0), "deployed", 100, id="no user has jobs there"),
    pytest.param(dict(n_users=99, users_running=0), "deployed", 5, id="at least 5"),
    pytest.param(dict(n_users=99, users_running=1000, running=1000), "deployed", 50, id="at least 5 % of the running"),
    pytest.param(dict(to_running_rate=100, running=10, running_all=20), "deployed", 600, id="12 h of the share's rate"),
    pytest.param(dict(to_running_rate=100, running=10, running_all=20), "documented", 1200, id="12 h of the rate"),
])
def test_longest_queue_of_a_user(columns, edition, expected):
    assert numbers(edition, **columns)["longest"] == pytest.approx(expected)


STABLE = dict(users_running=100, n_users=9, user_running=0)         # at most 240 / 10 = 24, or / 9 as documented


@pytest.mark.rule("long_queue_of_user", "long_queue_of_user_documented")
@pytest.mark.parametrize(("columns", "expected"), [
    pytest.param(dict(user_queued=24), False, id="as many as allowed"),
    pytest.param(dict(user_queued=25), True, id="more"),
    pytest.param(dict(user_queued=25, activated=99), False, id="the queue is short"),
    pytest.param(dict(user_queued=25, activated=159), False, id="the wait is short: 8 h x 20"),
    pytest.param(dict(user_queued=25, activated=160), True, id="the wait is long"),
    pytest.param(dict(user_queued=nan), False, id="the user has none"),
])
def test_long_queue_of_user(columns, expected):
    assert refuses(users.long_queue_of_user, seen=view(**LONG | STABLE | columns)) == expected


@pytest.mark.rule("long_queue_of_user_documented")
def test_long_queue_of_user_as_documented():
    def refused(queued):
        seen = view(activated=3000, running=100, to_running_rate=20, users_running=100, n_users=10, user_queued=queued)
        return refuses(users.long_queue_of_user_documented, seen=seen)
    assert [refused(24), refused(25)] == [False, True]


@pytest.mark.rule("many_bad_jobs", "many_bad_jobs_documented")
@pytest.mark.parametrize(("ended", "documented", "deployed"), [
    pytest.param(dict(failed=4), False, False, id="4 of at least 5"),
    pytest.param(dict(failed=5), True, False, id="5: not less, but not more"),
    pytest.param(dict(failed=6), True, True, id="6"),
    pytest.param(dict(failed=3, closed=3), True, True, id="closed ones count as well"),
    pytest.param(dict(failed=10, finished=5), True, False, id="twice the finished ones"),
    pytest.param(dict(failed=11, finished=5), True, True, id="more"),
])
def test_bad_jobs(ended, documented, deployed):
    seen = view(**LONG | STABLE | dict(user_queued=0) | ended)
    assert refuses(users.many_bad_jobs_documented, seen=seen) == documented
    assert refuses(users.many_bad_jobs, seen=seen) == deployed


@pytest.mark.rule("many_bad_jobs")
def test_bad_jobs_count_where_the_stabilizer_looks():
    assert not refuses(users.many_bad_jobs, seen=view(failed=99))
    assert not refuses(users.many_bad_jobs, seen=view(**LONG | dict(failed=99)))             # the user has no jobs


@pytest.mark.rule("had_closed_jobs")
def test_closed_jobs():
    assert [refuses(users.had_closed_jobs, seen=view(closed=closed)) for closed in (0, 1)] == [False, True]
    assert not refuses(users.had_closed_jobs, task(preassigned=(0,)), seen=view(closed=1))
    assert not refuses(users.had_closed_jobs, task(is_merging=True), seen=view(closed=1))


@pytest.mark.rule("nothing_runs")
def test_nothing_runs():
    assert [refuses(users.nothing_runs, seen=view(activated=jobs, running=0)) for jobs in (20, 21)] == [False, True]
    assert not refuses(users.nothing_runs, seen=view(activated=21, running=1))


@pytest.mark.rule("share_queue_too_long", "overloaded_vp_documented")
@pytest.mark.parametrize(("queued", "running", "expected"), [
    (40, 0, False), (41, 0, True), (50, 25, False), (51, 25, True)])
def test_queued_jobs_as_documented(queued, running, expected):
    seen = view(activated=queued, running=running)
    assert refuses(users.share_queue_too_long, seen=seen) == expected
    assert refuses(users.overloaded_vp_documented, queues_=queues(1, uses_vp=2), seen=seen) == expected
    assert not refuses(users.overloaded_vp_documented, seen=seen)


@pytest.mark.rule("lists.overloaded", "overloaded_virtual")
@pytest.mark.parametrize(("activated", "running", "expected"), [
    pytest.param([20, 0], [0, 100], ["", ""], id="20 queued jobs are few"),
    pytest.param([21, 0], [0, 100], ["overloaded", ""], id="none runs"),
    pytest.param([120, 80], [100, 100], ["", ""], id="1.2 x the ratio of all"),
    pytest.param([121, 79], [100, 100], ["overloaded", ""], id="more"),
    pytest.param([121, 500], [0, 0], ["nothing_runs", "nothing_runs"], id="all: only the mark is left"),
])
def test_overload(activated, running, expected):
    assert why(seen=view(2, activated=activated, running=running)) == expected
    assert "overloaded" not in why(task(is_merging=True), seen=view(2, activated=activated, running=running))


@pytest.mark.rule("overloaded_virtual")
def test_overloaded_queues_with_virtual_data_alone():
    seen = view(2, datasets=[dataset([TAPE, VP])], activated=[0, 300], running=[100, 10])
    assert why(seen=seen) == ["", "overloaded"]                          # the loop without data locality
    both = view(2, datasets=[dataset([VP, VP])], activated=[0, 300], running=[100, 10])
    assert why(seen=both) == ["", "overloaded_virtual"]


# ---- weights ---------------------------------------------------------------------------------------------------------

@pytest.mark.rule("locality.original")
@pytest.mark.parametrize(("columns", "expected"), [
    pytest.param(dict(running=10, activated=4), 11 / 5, id="(running + 1) / (queued + 1)"),
    pytest.param(dict(running=10, defined=1, assigned=1, starting=1, activated=1), 11 / 5, id="all that wait"),
    pytest.param(dict(running=10, n_batch_job=15), 16, id="workers"),
    pytest.param(dict(running=10, n_batch_job=25), 21, id="at most 20 workers"),
    pytest.param(dict(running=10, num_slots=30), 31, id="numSlots"),
    pytest.param(dict(running=10, num_slots=0, starting=12), 1, id="starting jobs if numSlots is 0"),
])
def test_original_weight(columns, expected):
    verdict, _ = decide(seen=view(**columns), edition="documented")
    assert verdict.weight[0] == pytest.approx(expected)


def weights(task_class, classes, n_jobs=10.0, share="User Analysis", longest=20, **columns):
    """New weights of queues of classes, each with room for 20 jobs of the user, and 2^-20 taken off."""
    user = dict(task_class=None if task_class is None else int(task_class))
    seen = view(len(classes), n_jobs=n_jobs, site_class=classes, user=user, running=0, running_all=0, **columns)
    verdict, _ = decide(task(gshare=share), seen=seen, anal_jobbroker=dict(BASE_QUEUE_LENGTH_PER_PQ=longest))
    return [pytest.approx(weight - 2**-20, abs=1e-9) for weight in verdict.weight]


@pytest.mark.rule("by_class")
@pytest.mark.parametrize(("task_class", "expected"), [
    pytest.param(TaskClass.A, [9.948, 0.051, 0.003], id="class A prefers hi"),
    pytest.param(TaskClass.S, [9.948, 0.051, 0.003], id="class S as well"),
    pytest.param(None, [9.948, 0.051, 0.003], id="so do tasks without a class"),
    pytest.param(TaskClass.B, [0.001, 9.9, 0.1], id="class B prefers mid"),
    pytest.param(TaskClass.C, [0.001, 0.001, 10], id="class C prefers lo"),
])
def test_classes(task_class, expected):
    found = weights(task_class, [HI, MID, LO])
    assert found == [main * max(20 - main, 0.001 * main) / (20 - main) for main in _main(task_class)]
    assert len(expected) == 3


def _main(task_class):
    """Main weights of hi, mid and lo sites for ten jobs, with room for 20 at each."""
    if task_class == TaskClass.C:
        return [0.001, 0.001, 10]
    if task_class == TaskClass.B:
        return [0.001, 9.9, 0.1]
    return [10 - 0.052, 0.05, 0.002]


@pytest.mark.rule("by_class")
def test_a_full_class_passes_its_jobs_on():
    found = weights(TaskClass.A, [HI, MID, LO], n_jobs=30)
    assert found[0] == 19.948 * (20 - 19.948) / (20 - 19.948)
    assert found[1] == 10.05 and found[2] == pytest.approx(0.002, abs=1e-6)


@pytest.mark.rule("by_class")
def test_room_within_a_class():
    full = [weights(TaskClass.A, [HI, HI], user_queued=queued)[1] for queued in ([0, 0], [0, 15])]
    main = 10 - 0.052
    assert full[0] == main * (20 - main / 2) / (40 - main)
    assert full[1] == main * max(5 - main / 2, 0.001 * main) / (25 - main)


@pytest.mark.rule("by_class")
def test_other_shares_have_no_classes():
    found = weights(TaskClass.C, [HI, LO], share="Group Analysis")
    assert found[0] == 10 * (20 - 5) / 30 and found[1] == 10 * (20 - 5) / 30
    none_left = weights(None, [HI, LO], share="Group Analysis", n_jobs=40)
    assert none_left[0] == 40 * 20 / 40


@pytest.mark.rule("by_data")
@pytest.mark.parametrize(("datasets", "total_gb", "expected"), [
    pytest.param([[DISK, 0]], 5, 1, id="a dataset on disk"),
    pytest.param([[DISK, 0], [DISK, 0]], 5, 2, id="two of them"),
    pytest.param([[TAPE, 0]], 5, 0.001, id="one on tape"),
    pytest.param([[DISK, 0], [0, DISK]], 0.9, 1, id="parts of it: too small to count"),
    pytest.param([[DISK, 0], [0, DISK]], 25, 1.5, id="parts of it: 5 GB here"),
])
def test_weight_of_data(datasets, total_gb, expected):
    rows = [dataset(states, name=f"data{k}", gigabytes=5.9) for k, states in enumerate(datasets)]
    verdict, _ = decide(seen=view(2, datasets=rows, total_gb=total_gb))
    assert verdict.figures().factors["input data"][0] == pytest.approx(expected)


def test_queues_that_the_task_uses_come_first():
    seen = view(3, used=[False, False, True], user_queued=[0, 0, 90])
    assert decide(seen=seen)[0].order.tolist()[0] == 2
    full = view(2, used=[False, True], activated=[0, 9])
    assert [decide(seen=full, edition=edition)[0].order.tolist() for edition in EDITIONS] == [[0, 1], [1, 0]]


def test_minimum_weight():
    assert why(jobbroker={"MIN_WEIGHT_user": 1e9}) == ["below_min_weight"]
    assert why(edition="documented", jobbroker={"MIN_WEIGHT_user": 1e9}) == [""]


@pytest.mark.parametrize("edition", EDITIONS)
def test_no_candidates(edition):
    verdict, names = decide(seen=view(2, n_pilot=0), edition=edition)
    assert names == ["pilots_missing"] * 2 and not len(verdict.order)
