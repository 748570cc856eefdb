import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_builders import TB, cfg, nuclei, survivors, task

from simgrid_broker.names import EDITIONS
from simgrid_broker.policy.brokerage.task import nuclei as n_
from simgrid_broker.policy.brokerage.task.broker import NONE, broker_task, draw
from simgrid_broker.policy.brokerage.task.question import demand_gb, left_gib, task_record
from simgrid_broker.units import DAY
from simgrid_broker.views import KEPT, Verdict

TIB = 1024**4
GB = 1e9
GIB = 1024**3


def refused(rule, task_=None, config=None, edition="documented", **columns):
    record = task_record(task_ or task(), True, config or cfg(), edition)
    return bool(rule(record[0], nuclei(1, **columns).records[0])[0])


@pytest.mark.rule("not_active", "no_storage", "unreadable", "unwritable")
@pytest.mark.parametrize(("rule", "column"), [
    (n_.not_active, "active"), (n_.no_storage, "has_storage"), (n_.unreadable, "read_wan"),
    (n_.unwritable, "write_wan"),
])
def test_what_a_nucleus_must_have(rule, column):
    assert not refused(rule, **{column: True})
    assert refused(rule, **{column: False})


@pytest.mark.rule("no_storage", "output_unmatched")
@pytest.mark.parametrize(("edition", "left"), [
    pytest.param("documented", [0, 2], id="as documented it is refused"),
    pytest.param("deployed", [], id="in the code the attempt fails"),
])
def test_a_nucleus_without_a_storage_for_the_output(edition, left):
    verdict = broker_task(task(), nuclei(3, has_storage=[True, False, True]), cfg(), edition, 0.0)
    refused = [verdict.tags[place] for place in verdict.refused_by if place != KEPT]
    assert sorted(verdict.order) == left and refused == ["-match"] * (3 - len(left))


@pytest.mark.rule("output_unmatched")
def test_a_nucleus_that_was_refused_before_needs_no_storage():
    view = nuclei(2, has_storage=[True, False], queued_output_files=[0, 9999])
    assert broker_task(task(), view, cfg(), "deployed", 0.0).order.tolist() == [0]


@pytest.mark.rule("not_active")
def test_d3_the_code_never_sees_a_nucleus_that_is_not_active():
    assert refused(n_.not_active, active=False) is True
    assert refused(n_.not_active, edition="deployed", active=False) is False


@pytest.mark.rule("transfer_backlog")
@pytest.mark.parametrize(("files", "t1weight", "documented", "deployed"), [
    pytest.param(1999, 0, False, False, id="D8 below the cap"),
    pytest.param(2000, 0, True, False, id="D8 at the cap: the TWiki wants it below, the code accepts it"),
    pytest.param(2001, 0, True, True, id="D8 one file more"),
    pytest.param(2001, 1, True, True, id="a positive t1Weight changes nothing"),
    pytest.param(2001, -1, False, False, id="a negative t1Weight does not care"),
])
def test_d8_transfer_backlog(files, t1weight, documented, deployed):
    assert refused(n_.transfer_backlog, task(t1weight=t1weight), queued_output_files=files) is documented
    assert refused(n_.transfer_backlog, task(t1weight=t1weight), edition="deployed",
                   queued_output_files=files) is deployed


RW_2500_GB = 8.64e9
"""Work that asks for 2 500 GB."""


@pytest.mark.rule("nuclei.too_little_space")
@pytest.mark.parametrize(("columns", "documented", "deployed"), [
    pytest.param(dict(free_bytes=100 * TB), True, True, id="D7 100 TB are not above it, nor 100 TiB"),
    pytest.param(dict(free_bytes=100 * TB + 1), False, True, id="D7 one byte more is above 100 TB"),
    pytest.param(dict(free_bytes=100 * TIB - 1), False, True, id="D7 just below 100 TiB"),
    pytest.param(dict(free_bytes=100 * TIB), False, False, id="D7 the code accepts equality"),
    pytest.param(dict(free_bytes=50 * TB, expired_bytes=70 * TB), False, False, id="expired data count"),
    pytest.param(dict(free_bytes=120 * TB, min_free_bytes=15 * TB), False, True, id="D1 the code keeps some free"),
    pytest.param(dict(free_bytes=120 * TB, unavailable_bytes=15 * TB), False, True, id="D1 and what is promised"),
    pytest.param(dict(free_bytes=100 * TIB + GIB, unavailable_bytes=2 * GIB - 1), False, False, id="in whole GB"),
    pytest.param(dict(free_bytes=102.4 * TB, remaining_work_hs06s=RW_2500_GB), True, True, id="work needs space"),
    pytest.param(dict(free_bytes=102.6 * TB, remaining_work_hs06s=RW_2500_GB), False, True, id="2 500 GB of it"),
    pytest.param(dict(free_bytes=112.8 * TB, remaining_work_hs06s=RW_2500_GB), False, False, id="enough for both"),
])
def test_d1_d7_space(columns, documented, deployed):
    assert refused(n_.too_little_space, **columns) is documented
    assert refused(n_.too_little_space, edition="deployed", **columns) is deployed


@pytest.mark.rule("nuclei.too_little_space")
def test_a_share_may_have_its_own_threshold():
    config = cfg(taskbrokerage={"DISK_THRESHOLD_MC 16": 600})
    assert refused(n_.too_little_space, config=config)
    assert not refused(n_.too_little_space, task(gshare="Other"), config)


BIG = dict(total_input_bytes=1000 * GB, total_input_files=1000, iointensity=500.0)


@pytest.mark.rule("too_little_input")
@pytest.mark.parametrize(("local", "documented", "deployed"), [
    pytest.param(99 * GB, True, True, id="less than 10 %"),
    pytest.param(100 * GB, True, False, id="D9 the code accepts equality"),
    pytest.param(101 * GB, False, False, id="more than 10 %"),
])
def test_d9_size_of_input(local, documented, deployed):
    assert refused(n_.too_little_input, task(**BIG), local_input_bytes=local) is documented
    assert refused(n_.too_little_input, task(**BIG), edition="deployed", local_input_bytes=local) is deployed


@pytest.mark.rule("too_few_files")
@pytest.mark.parametrize(("fields", "local", "documented", "deployed"), [
    pytest.param({}, 99, True, True, id="less than 10 %"),
    pytest.param({}, 100, True, False, id="D9 the code accepts equality"),
    pytest.param({}, 101, False, False, id="more than 10 %"),
    pytest.param({"total_input_bytes": 100 * GB}, 0, False, True, id="D9 documented: the size decides, small"),
    pytest.param({"total_input_files": 100}, 0, True, False, id="D9 documented: the size decides, few files"),
])
def test_d9_number_of_files(fields, local, documented, deployed):
    assert refused(n_.too_few_files, task(**BIG | fields), local_input_files=local) is documented
    assert refused(n_.too_few_files, task(**BIG | fields), edition="deployed",
                   local_input_files=local) is deployed


@pytest.mark.rule("too_little_input", "too_few_files")
@pytest.mark.parametrize(("files", "documented", "deployed"), [
    pytest.param(0, False, True, id="D11 nothing is there: the code asks"),
    pytest.param(1, False, False, id="D11 one file is there: nobody asks"),
])
def test_d11_the_data_carousel_brings_the_rest(files, documented, deployed):
    for edition, answer in (("documented", documented), ("deployed", deployed)):
        for rule in (n_.too_little_input, n_.too_few_files):
            local = dict(local_input_bytes=files * GB, local_input_files=files)
            assert refused(rule, task(**BIG | {"inputprestaging": True}), edition=edition, **local) is answer
            assert refused(rule, task(**BIG), edition=edition, **local) is True


@pytest.mark.rule("no_complete_replica")
@pytest.mark.parametrize(("total", "complete", "refuses"), [
    pytest.param(1.0, True, False, id="somewhere"), pytest.param(1.0, False, True, id="nowhere"),
    pytest.param(0.0, True, False, id="no input"), pytest.param(0.0, False, True, id="input of unknown size"),
])
def test_t2_without_a_complete_replica_the_attempt_fails(total, complete, refuses):
    view = nuclei(2, complete_replica=complete)
    for edition, no_nucleus in (("documented", False), ("deployed", refuses)):
        verdict = broker_task(task(total_input_bytes=total), view, cfg(), edition, 0.5)
        assert (verdict.order.size == 0) is no_nucleus
        if no_nucleus:
            assert {verdict.tags[rule] for rule in verdict.refused_by} == {"-no_complete_replica"}


def ability(*answers):
    """A function that says which nuclei can run a task, and the list of what it was asked."""
    asked = []

    def can_run(left):
        asked.append(left.tolist())
        return np.array(answers)
    return can_run, asked


@pytest.mark.rule("cannot_run")
@pytest.mark.parametrize(("edition", "tags", "asked"), [
    pytest.param("documented", ["-insize", "-insize", "-job", None], [False, False, True, True],
                 id="D6 documented (TWiki): after the data"),
    pytest.param("deployed", ["-insize", "-job", "-job", None], [True, True, True, True],
                 id="D6 the code: before the data"),
])
def test_d6_ability_to_run_jobs(edition, tags, asked):
    can_run, questions = ability(True, False, False, True)
    view = nuclei(5, local_input_bytes=[0, 0, 1e18, 1e18, 1e18], read_wan=[True] * 4 + [False],
                  can_run=lambda left: np.append(can_run(left), False))
    verdict = broker_task(task(**BIG), view, cfg(), edition, 0.5)
    assert [None if rule == KEPT else verdict.tags[rule] for rule in verdict.refused_by] == [*tags, "-source_blacklist"]
    assert questions == [[*asked, False]]


@pytest.mark.rule("cannot_run")
@pytest.mark.parametrize("edition", EDITIONS)
def test_ability_is_not_asked_when_nobody_is_left(edition):
    can_run, questions = ability(True)
    assert not broker_task(task(), nuclei(1, has_storage=[False], can_run=can_run), cfg(), edition, 0.5).order.size
    assert not questions
    assert broker_task(task(nucleus=0), nuclei(1, has_storage=[False], can_run=can_run), cfg(), edition, 0.5).order.size
    assert not questions


@pytest.mark.rule("cannot_run")
@pytest.mark.parametrize("edition", EDITIONS)
def test_no_nucleus_can_run_the_jobs(edition):
    can_run, _ = ability(False, False)
    assert not broker_task(task(), nuclei(2, can_run=can_run), cfg(), edition, 0.5).order.size


@pytest.mark.rule("waived")
@pytest.mark.parametrize("edition", EDITIONS)
def test_locality_is_lifted_by_those_that_are_left(edition):
    """The only nucleus with data cannot send it, so no candidate passes."""
    view = nuclei(2, local_input_bytes=[0.0, 1e18], read_wan=[True, False])
    verdict = broker_task(task(**BIG | {"currentpriority": 900}), view, cfg(), edition, 0.5)
    assert verdict.order.tolist() == [0]


@pytest.mark.rule("too_little_input")
@pytest.mark.parametrize("fields", [
    pytest.param({"total_input_bytes": 1 * GB}, id="small input"),
    pytest.param({"frozen_for_s": 7 * DAY + 1}, id="after a week without success"),
])
def test_locality_is_not_asked(fields):
    for edition in EDITIONS:
        assert refused(n_.too_little_input, task(**BIG), edition=edition, local_input_bytes=0)
        assert not refused(n_.too_little_input, task(**BIG | fields), edition=edition, local_input_bytes=0)
    assert refused(n_.too_little_input, task(**BIG | {"frozen_for_s": 7 * DAY}), local_input_bytes=0)


@pytest.mark.rule("too_little_input")
@pytest.mark.parametrize(("total", "documented", "deployed"), [
    pytest.param(1e9, False, False, id="1 GB is not more than 1 GB"),
    pytest.param(1e9 + 1, True, False, id="one byte more is, but not in the code's GB"),
    pytest.param(1024**3, True, False, id="1 GiB is not more than 1 GiB"),
    pytest.param(1024**3 + 1, True, True, id="one byte more is"),
])
def test_input_size_threshold(total, documented, deployed):
    small = task(**BIG | {"total_input_bytes": float(total)})
    assert refused(n_.too_little_input, small, local_input_bytes=0) is documented
    assert refused(n_.too_little_input, small, edition="deployed", local_input_bytes=0) is deployed


@pytest.mark.rule("waived")
@pytest.mark.parametrize(("fields", "documented", "deployed"), [
    pytest.param({}, False, False, id="much input read fast must be local"),
    pytest.param({"iointensity": 200.0}, True, True, id="read slowly it need not"),
    pytest.param({"iointensity": np.nan}, True, True, id="nor at an unknown speed"),
    pytest.param({"iointensity": 201.0}, False, False, id="just too fast"),
    pytest.param({"iointensity": 200.0, "total_input_bytes": 1e13}, True, True, id="up to 10 TB"),
    pytest.param({"iointensity": 200.0, "total_input_bytes": 1.1e13}, False, False, id="but not 11 TB"),
    pytest.param({"currentpriority": 800}, True, True, id="high priority need not wait"),
    pytest.param({"currentpriority": 799}, False, False, id="just too low"),
    pytest.param({"currentpriority": 900, "taskpriority": 500}, False, True, id="D10 the code: the current one"),
    pytest.param({"currentpriority": 500, "taskpriority": 900}, True, False, id="D10 documented: the first one"),
])
def test_d10_locality_is_lifted_when_nobody_passes(fields, documented, deployed):
    view = nuclei(2, local_input_bytes=[0.0, 0.0], local_input_files=[0, 0])
    lifted = [broker_task(task(**BIG | fields), view, cfg(), edition, 0.5).order.size > 0 for edition in EDITIONS]
    assert lifted == [documented, deployed]


@pytest.mark.rule("waived")
def test_locality_is_not_lifted_while_somebody_passes():
    view = nuclei(2, local_input_bytes=[0.0, 1e18])
    verdict = broker_task(task(**BIG | {"currentpriority": 900}), view, cfg(), "documented", 0.5)
    assert verdict.order.tolist() == [1]
    assert verdict.tags[verdict.refused_by[0]] == "-insize"


def factor(rule, task_=None, lifted=False, edition="documented", **columns):
    record = task_record(task_ or task(), True, cfg(), edition)
    record["locality_lifted"] = lifted
    return float(rule(record[0], nuclei(1, **columns).records[0]))


@pytest.mark.rule("remaining_work")
@pytest.mark.parametrize(("work", "documented", "deployed"), [
    pytest.param(0, 1 / 50, 1, id="D12 an idle nucleus"),
    pytest.param(49, 1 / 50, 1, id="D12 below the jump"),
    pytest.param(50, 1 / 50, 1 / 50, id="D12 at the jump"),
    pytest.param(1000, 1 / 1000, 1 / 1000, id="above"),
])
def test_d12_remaining_work(work, documented, deployed):
    assert factor(n_.remaining_work, remaining_work_hs06s=work) == documented
    assert factor(n_.remaining_work, edition="deployed", remaining_work_hs06s=work) == deployed


@pytest.mark.rule("remaining_work")
def test_d15_the_code_weighs_work_of_the_share_and_priority():
    columns = dict(remaining_work_hs06s=1000, priority_work_hs06s=100)
    assert factor(n_.remaining_work, **columns) == 1 / 1000
    assert factor(n_.remaining_work, edition="deployed", **columns) == 1 / 100


@pytest.mark.rule("local_input")
@pytest.mark.parametrize(("fields", "lifted", "documented", "deployed"), [
    pytest.param({}, False, 0.25, 0.25, id="much is read: data count"),
    pytest.param({"iointensity": 200.0}, False, 1, 1, id="little is read: data do not"),
    pytest.param({"iointensity": np.nan}, False, 1, 0.25, id="D14 unknown intensity counts in the code"),
    pytest.param({"total_input_bytes": 0.0}, False, 1, 1, id="no input"),
    pytest.param({}, True, 0.25, 1, id="the code drops data terms with the check"),
])
def test_d14_local_input(fields, lifted, documented, deployed):
    question = task(**BIG | fields), lifted
    assert factor(n_.local_input, *question, local_input_bytes=250 * GB) == documented
    assert factor(n_.local_input, *question, "deployed", local_input_bytes=250 * GB) == deployed


@pytest.mark.rule("on_tape")
@pytest.mark.parametrize(("fields", "disk", "lifted", "documented", "deployed"), [
    pytest.param({}, 250 * GB, False, 1, 1, id="all that is local is on disk"),
    pytest.param({}, 249 * GB, False, 0.001, 0.001, id="some is on tape alone"),
    pytest.param({}, None, False, 1, 1, id="nothing is on tape anywhere"),
    pytest.param({"total_input_bytes": 0.0}, 0, False, 1, 1, id="no input"),
    pytest.param({"total_input_bytes": 1.0}, 0, False, 0.001, 0.001, id="a byte of input"),
    pytest.param({"iointensity": 1.0}, 0, False, 0.001, 0.001, id="however little is read"),
    pytest.param({}, 0, True, 0.001, 1, id="the code drops data terms with the check"),
])
def test_input_on_tape(fields, disk, lifted, documented, deployed):
    columns = dict(local_input_bytes=250 * GB) | ({} if disk is None else dict(disk_input_bytes=disk))
    assert factor(n_.on_tape, task(**BIG | fields), lifted, **columns) == documented
    assert factor(n_.on_tape, task(**BIG | fields), lifted, "deployed", **columns) == deployed


@pytest.mark.rule("free_part", "free_space")
def test_d13_space_in_the_weight():
    columns = dict(free_bytes=300.5 * TIB, expired_bytes=100 * TIB, total_bytes=1000 * TIB,
                   remaining_work_hs06s=RW_2500_GB)
    assert factor(n_.free_part, **columns) == pytest.approx(0.4005)
    assert factor(n_.free_space, **columns) == pytest.approx(300.5 * TIB / TB)
    assert factor(n_.free_part, edition="deployed", **columns) == pytest.approx((400.5 - 2500 / 1024) / 1000)
    assert factor(n_.free_space, edition="deployed", **columns) == 398


@pytest.mark.rule("free_space")
@pytest.mark.parametrize("edition", EDITIONS)
def test_the_cutoff_of_free_space(edition):
    assert factor(n_.free_space, edition=edition, free_bytes=5000 * TIB, total_bytes=9000 * TIB) == 1000


@pytest.mark.parametrize("edition", EDITIONS)
def test_more_work_means_less_weight(edition):
    verdict = broker_task(task(), nuclei(3, remaining_work_hs06s=[1e6, 1e5, 1e7]), cfg(), edition, 0.5)
    assert np.argsort(-verdict.weight).tolist() == [1, 0, 2]


@pytest.mark.rule("remaining_work")
def test_worked_numbers_of_the_reference():
    """Brokerage reference, section 14: RW 49 and 50; 8.64e9 HS06 s ask for 2 500 GB."""
    assert [factor(n_.remaining_work, edition="deployed", priority_work_hs06s=work)
            for work in (49, 50)] == [1, 0.02]
    view = nuclei(1, remaining_work_hs06s=[RW_2500_GB], free_bytes=[200_000.0 * GIB])
    assert (demand_gb(view.records[0]), left_gib(view.records[0])) == (2500, 197_500)


@pytest.mark.parametrize(("edition", "work", "free_tb"), [
    pytest.param("documented", 1e6, 256 * TIB / TB, id="documented: all work, raw free space in TB"),
    pytest.param("deployed", 1e4, 384, id="deployed: work of the share, usable space in the code's TB"),
])
def test_the_weight_as_a_whole(edition, work, free_tb):
    view = nuclei(2, remaining_work_hs06s=[1e6] * 2, priority_work_hs06s=[1e4] * 2, local_input_bytes=[250e9, 1e12],
                  disk_input_bytes=[250e9, 0], free_bytes=[256 * TIB] * 2, expired_bytes=[128 * TIB] * 2,
                  total_bytes=[512 * TIB] * 2)
    verdict = broker_task(task(**BIG), view, cfg(), edition, 0.5)
    assert verdict.weight == pytest.approx([0.25 * 0.75 * free_tb / work, 0.001 * 0.75 * free_tb / work])


@pytest.mark.parametrize("edition", EDITIONS)
def test_nuclei_are_drawn_in_proportion_to_their_weights(edition):
    view = nuclei(3, remaining_work_hs06s=[4e6, 1e6, 2e6])
    drawn = [broker_task(task(), view, cfg(), edition, (k + 0.5) / 700).order[0] for k in range(700)]
    assert np.bincount(drawn).tolist() == [100, 400, 200]


@pytest.mark.parametrize("edition", EDITIONS)
def test_numbers_of_their_own_draw_as_often_and_differ_for_few_tasks_if_one_weight_changes(edition):
    numbers = np.random.default_rng(1).random((2000, 3))

    def drawn(*work):
        views = (nuclei(3, remaining_work_hs06s=[*work], draw=row) for row in numbers)
        return np.array([broker_task(task(), view, cfg(), edition, 0.5).order[0] for view in views])
    before, after = drawn(4e6, 1e6, 2e6), drawn(5e6, 1e6, 2e6)
    assert np.bincount(before) / 2000 == pytest.approx([1 / 7, 4 / 7, 2 / 7], abs=0.04)
    assert (before[before != after] == 0).all() and 0.01 < (before != after).mean() < 0.05      # 1 / 7 - 4 / 34 = 0.025


@pytest.mark.parametrize("edition", EDITIONS)
def test_if_all_weights_are_0_the_first_of_the_list_is_taken(edition):
    """After a week without success nobody asks where the input is, but a task that reads much still weighs by it."""
    view = nuclei(3, read_wan=[False, True, True], local_input_bytes=[0.0] * 3, local_input_files=[0] * 3)
    verdict = broker_task(task(**BIG | {"frozen_for_s": 7 * DAY + 1}), view, cfg(), edition, 0.99)
    assert verdict.order.tolist() == [1, 2] and not verdict.weight.any()


@pytest.mark.rule("draw")
@pytest.mark.parametrize(("uniform", "order"), [
    pytest.param(0.01, [0, 1, 2], id="the first of the list"),
    pytest.param(0.3, [1, 2, 0], id="the heaviest of them"),
    pytest.param(0.99, [2, 1, 0], id="the last of the list"),
])
def test_the_drawn_nucleus_stands_first(uniform, order):
    verdict = broker_task(task(), nuclei(3, remaining_work_hs06s=[4e6, 1e6, 2e6]), cfg(), "documented", uniform)
    assert verdict.order.tolist() == order
    assert draw(verdict, uniform) == order[0]


def chosen(weights, uniform, refused_by=None):
    weights = np.asarray(weights, float)
    refused_by = np.full(len(weights), KEPT) if refused_by is None else np.asarray(refused_by)
    return draw(Verdict((), refused_by, weights, np.array([], int)), uniform)


@pytest.mark.parametrize(("weights", "refused_by", "uniform", "expected"), [
    pytest.param([], None, 0.5, NONE, id="no nuclei"),
    pytest.param([0, 0], [0, 0], 0.5, NONE, id="all refused"),
    pytest.param([0, 0], None, 0.9, 0, id="without any weight the first is taken"),
    pytest.param([0, 3, 0], None, 0.001, 1, id="weight 0 is never drawn beside others"),
    pytest.param([0, 3, 0], None, 0.999, 1, id="nor behind them"),
    pytest.param([1, 1, 2], [KEPT, 0, KEPT], 0.4, 2, id="the refused have no sector"),
])
def test_draw(weights, refused_by, uniform, expected):
    assert chosen(weights, uniform, refused_by) == expected


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=30), st.floats(0.0, 1.0))
def test_a_draw_always_finds_one_of_the_heaviest_sort(weights, uniform):
    k = chosen(weights, uniform)
    assert 0 <= k < len(weights)
    assert weights[k] > 0 or uniform == 0 or max(weights) == 0 or sum(weights) * uniform == 0


@pytest.mark.rule("nuclei.not_preassigned")
def test_a_task_may_name_its_nucleus():
    view = nuclei(3, active=[True, False, True])
    verdict = broker_task(task(nucleus=1), view, cfg(), "documented", 0.5)
    assert verdict.order.tolist() == [1]
    assert [verdict.tags[k] for k in verdict.refused_by[[0, 2]]] == ["-preassign"] * 2
    assert survivors(verdict)[-2:] == (3, 1)
    assert verdict.tags == broker_task(task(), view, cfg(), "documented", 0.5).tags
    assert broker_task(task(nucleus=9), view, cfg(), "documented", 0.5).order.size == 2
    assert broker_task(task(nucleus=0), view, cfg(), "documented", 0.99).order.tolist() == [0]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 12), st.integers(0, 10**6), st.sampled_from(EDITIONS))
def test_any_verdict_is_consistent(n, seed, edition):
    rng = np.random.default_rng(seed)
    view = nuclei(n, active=rng.random(n) < 0.8, free_bytes=rng.uniform(50, 900, n) * TB,
                  remaining_work_hs06s=rng.choice([0.0, 49.0, 1e6, 1e10], n),
                  local_input_bytes=rng.choice([0.0, 1e18], n))
    verdict = broker_task(task(**BIG), view, cfg(), edition, float(rng.random()))
    assert sorted(verdict.order) == np.flatnonzero(verdict.refused_by == KEPT).tolist()
    assert survivors(verdict)[-1] == verdict.order.size
    assert (verdict.weight >= 0).all()
