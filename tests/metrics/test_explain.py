"""Recorded decisions of the brokers as tables."""

import numpy as np
import pytest
from fake_run import write_fake_run
from small_run import HOUR, VOCABULARIES, run_of

from simgrid_broker import metrics
from simgrid_broker.metrics import USED, wide
from simgrid_broker.records import read_run
from simgrid_broker.schema import RECORDED

JOBS, TASKS = 1, 0
PSEUDO = ("QX/SCORE", "QX/MCORE", "QY")
WORDS = {"pseudo_queues": PSEUDO, "brokered": (*PSEUDO, "X", "Y"), "tags": ("-t1", "-t2", "-late"),
         "criteria": ("one", "two", "late"),
         "factors": ("half",), "texts": ("brokeroff", "test"), "sites": ("X", "Y"), "queues": ("QX", "QY")}


def step(criterion, tag, panda):
    """One step of a manifest."""
    return dict(criterion=criterion, tag=tag, panda=panda, temporary=False, unit="jobs", says="{value} wait, at most "
                "{limit:plain}" if criterion == "one" else "{text}")


CRITERIA = {"job_brokerage": [step("two", "-t2", "selection for two"), step("one", "-t1", "selection for one"),
                              step("late", "-late", "weight")],
            "task_brokerage": [step("one", "-t1", "selection for one")]}
NAN = np.nan


def rows_of(name, *rows):
    """Rows of a recorded table from tuples in the order of its columns."""
    return np.array(list(rows), RECORDED[name].dtype)


@pytest.fixture
def words(monkeypatch):
    """The vocabulary of a grid of two queues, of which one is unified, and two sites."""
    for name, known in WORDS.items():
        monkeypatch.setitem(VOCABULARIES, name, known)


def decision(number, hour, kind, task, n_jobs=5):
    """A row of decisions."""
    return hour * HOUR, number, kind, task, 0, 0, 3, 1, n_jobs, 0, 1.0


def refusal(hour, kind, candidate, rule, share, count, of_queue):
    """A row of refusals; the numbers of tags and of criteria are equal, and each queue is a pool."""
    return hour * HOUR, kind, candidate, rule, rule, share, count, of_queue, of_queue


@pytest.fixture
def run(tmp_path, words):
    """Two decisions about jobs of task 7, one about its nucleus, and one of task 8 without candidates."""
    found = run_of(
        tmp_path, 0, 4,
        decisions=rows_of("decisions", decision(1, 0, TASKS, 7, 0), decision(2, 1, JOBS, 7), decision(3, 2, JOBS, 7),
                          decision(4, 2, JOBS, 8)),
        candidates=rows_of(
            "candidates", (1, 3, -1, -1, 0, 0.5, NAN, NAN, -1), (1, 4, 0, 0, -1, 0, NAN, NAN, -1),
            (2, 0, 0, 0, -1, 0, 30, 20, -1), (2, 1, 1, 1, -1, 0, NAN, NAN, 0), (2, 2, -1, -1, 0, 0.5, NAN, NAN, -1),
            (3, 0, 0, 0, -1, 0, 21, 20, -1), (3, 1, 1, 1, -1, 0, NAN, NAN, 1), (3, 2, 2, 2, -1, 0, 0, 0, -1)),
        steps=rows_of("steps", (1, 0, 1, 1), (2, 1, 1, 2), (2, 0, 1, 1), (2, 2, 0, 1), (3, 1, 1, 2), (3, 0, 1, 1),
                      (3, 2, 1, 0)),
        factors=rows_of("factors", (1, 3, 0, 0.5), (2, 2, 0, 0.5)),
        refusals=rows_of("refusals", refusal(1, JOBS, 0, 0, 0, 3, 3), refusal(1, JOBS, 0, 1, 0, 4, 0),
                         refusal(1, JOBS, 0, -1, 0, 1, 1), refusal(4, JOBS, 1, -1, 0, 4, 4),
                         refusal(4, JOBS, 0, 1, 1, 2, 1), refusal(4, TASKS, 2, 0, 0, 1, 1)))
    found.manifest["criteria"] = CRITERIA
    return found


def test_every_candidate_of_a_task_with_its_figures(run):
    rows = metrics.explain(run, 7)
    assert rows.decision.tolist() == [1] * 2 + [2] * 3 + [3] * 3
    assert rows.candidate.tolist()[:5] == ["X", "Y", "QX/SCORE", "QX/MCORE", "QY"]
    assert rows.queue.tolist()[:5] == ["X", "Y", "QX", "QX", "QY"]
    assert rows.tag.tolist()[2:5] == ["-t1", "-t2", USED]
    assert rows.distance.tolist()[2] == 10 and rows.nearness[5] == pytest.approx(1 / 21)
    assert np.isnan(rows.nearness[7])                                    # 0 against 0: as near as can be, or not at all


def test_every_refusal_reads_as_a_sentence(run):
    rows = metrics.explain(run, 7)
    assert dict(zip(rows.candidate[2:5], metrics.reasons(run, rows)[2:5], strict=True)) == {
        "QX/SCORE": "30 jobs wait, at most 20", "QX/MCORE": "brokeroff", "QY": ""}
    table = metrics.by_rule(rows[rows.candidate == "QX/SCORE"])
    assert metrics.reasons(run, table) == ["21 jobs wait, at most 20"]           # the nearest to the limit


def test_steps_that_did_not_concern_the_task_are_not_passed(run, tmp_path, words):
    asked = run_of(tmp_path / "other", 0, 4, candidates=rows_of("candidates", (1, 0, 0, 0, -1, 0, 30, 20, -1)),
                   decisions=rows_of("decisions", decision(1, 1, JOBS, 7)), steps=rows_of("steps", (1, 0, 1, 0)))
    asked.manifest["criteria"] = CRITERIA
    assert metrics.funnels(asked, metrics.explain(asked, 7)).panda.tolist() == ["selection for one"]


def test_a_task_without_candidates_has_no_rows(run):
    assert len(metrics.explain(run, 8)) == 0 and len(metrics.explain(run)) == 8


def test_the_funnel_counts_down_in_the_order_of_the_criteria(run):
    table = metrics.funnels(run, metrics.explain(run, 7))
    assert table[table.decision == 2][["panda", "refused", "left"]].values.tolist() == [
        ["selection for two", 1, 2], ["selection for one", 1, 1], ["weight", 0, 1]]
    assert table[table.decision == 3].left.tolist() == [2, 1, 0]
    assert table[table.decision == 1].left.tolist() == [1]


def test_consecutive_rules_with_one_name_are_one_step(run):
    run.manifest["criteria"] = {"job_brokerage": [step("two", "-t2", "memory"), step("one", "-t1", "memory"),
                                                  step("late", "-late", "weight")],
                                "task_brokerage": CRITERIA["task_brokerage"]}
    table = metrics.funnels(run, metrics.explain(run, 7))
    assert table[table.decision == 2][["tags", "left"]].values.tolist() == [["-t2 -t1", 1], ["-late", 1]]


def test_rules_that_share_a_tag_are_told_apart_by_their_names(run):
    run.manifest["criteria"] = {"job_brokerage": [step("two", "-t", "two"), step("one", "-t", "one"),
                                                  step("late", "-late", "weight")]}
    assert metrics.criteria(run, "job_brokerage").label.tolist() == ["-t (two)", "-t (one)", "-late"]
    found = metrics.funnels(run, metrics.explain(run, 7))
    assert found[found.decision == 2][["tags", "criteria", "refused"]].values.tolist() == [
        ["-t", "two", 1], ["-t", "one", 1], ["-late", "late", 0]]


def test_stretches_of_equal_decisions(run):
    rows = metrics.explain(run, 7)
    table = metrics.stretches(rows[rows.queue == "QX"])
    assert table.candidate.tolist() == ["QX/MCORE", "QX/SCORE"]
    score = table.iloc[1]
    assert (score.start_s, score.end_s, score.decisions) == (HOUR, 2 * HOUR, 2)
    assert (score.time_s, score.value, score.limit, score.distance) == (2 * HOUR, 21, 20, 1)
    assert metrics.stretches(rows[rows.queue == "QY"]).tag.tolist() == [USED, "-late"]


def test_rules_by_frequency(run):
    rows = metrics.explain(run, 7)
    table = metrics.by_rule(rows[rows.queue == "QY"])
    assert table[["tag", "decisions", "part"]].values.tolist() == [[USED, 1, 50.0], ["-late", 1, 50.0]]


def test_refusals_of_a_queue_by_share_and_rule(run):
    table = metrics.refusal_counts(run, "QX")
    assert table[["share", "tag", "count", "part"]].values.tolist() == [
        ["A", "-t1", 3, 75.0], ["A", USED, 1, 25.0], ["B1", "-t2", 1, 100.0]]


def test_refusals_over_time_count_for_the_time_before_the_sample(run):
    table = metrics.refusals_over_time(run, "QX", bins=4)
    assert table[["start_s", "tag", "count"]].values.tolist() == [
        [0, "-t1", 3], [0, USED, 1], [3 * HOUR, "-t2", 1]]


def test_the_funnel_of_a_share_is_a_mean_over_its_decisions(run):
    table = wide(metrics.brokerage_funnel(run))
    of_a = table[table.share == "A"]
    assert of_a.tag.tolist() == ["-t2", "-t1"]                           # asked 12 times about 3 candidates
    assert of_a.left.tolist() == [2.0, 1.25]


def test_rates_of_queues_by_rule(run):
    table = wide(metrics.refusal_rates(run))
    assert table.candidate.tolist() == ["QX"] * 3                        # QY was never refused
    assert dict(zip(table.tag, table.rate, strict=True)) == {"-t2": 20.0, "-t1": 60.0, USED: 20.0}
    assert table.tag.tolist() == ["-t2", "-t1", USED]


def test_a_run_without_criteria_uses_the_order_of_its_tags(tmp_path):
    fake = read_run(write_fake_run(tmp_path, n_jobs=200, sample_s=3600.0))
    assert metrics.criteria(fake, "job_brokerage").tag.tolist() == list(fake.manifest["vocabularies"]["tags"])
    assert metrics.refusal_rates(fake).candidate.nunique() == len(fake.manifest["vocabularies"]["queues"])


def test_a_run_without_counts_of_used_candidates_has_no_funnel(tmp_path, words):
    run = run_of(tmp_path, 0, 4, refusals=rows_of("refusals", refusal(1, JOBS, 0, 0, 0, 3, 3)))
    assert len(metrics.brokerage_funnel(run)) == 0 and len(metrics.refusal_rates(run)) == 1


def test_a_run_without_decisions_has_empty_tables(tmp_path, words):
    empty = run_of(tmp_path)
    rows = metrics.explain(empty)
    for table in (rows, metrics.funnels(empty, rows), metrics.stretches(rows), metrics.by_rule(rows),
                  metrics.refusal_counts(empty), metrics.refusals_over_time(empty), metrics.factors(empty, set())):
        assert len(table) == 0 and len(table.columns)
