from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_builders import cfg, locality, queues, stats, survivors, task

from simgrid_broker.editions import family_of
from simgrid_broker.names import EDITIONS
from simgrid_broker.policy.brokerage.production.broker import MAX_CANDIDATES, broker_jobs, run_brokerage
from simgrid_broker.policy.brokerage.production.decide import RANKING
from simgrid_broker.policy.brokerage.production.editions import DOCUMENTED, PRODUCTION
from simgrid_broker.policy.brokerage.task.editions import PRODUCTION as TASK_PRODUCTION
from simgrid_broker.policy.funnel import Funnel, MaskCache
from simgrid_broker.policy.rule import refused_of
from simgrid_broker.views import KEPT, Premerge, Task

SMALL_MEMORY = dict(maxrss_mb=[2000.0, 16000.0])


def test_a_quiet_queue_gets_the_jobs():
    verdict = broker_jobs(task(), queues(2), stats(2, running=[10, 90]), None, cfg())
    assert verdict.order.tolist() == [1, 0]
    assert verdict.weight.tolist() == [1.1, 9.1]
    assert set(survivors(verdict)) == {2}


@pytest.mark.rule("note")
def test_a_refused_queue_has_its_tag_and_no_weight():
    verdict = broker_jobs(task(ramcount=9000), queues(2, **SMALL_MEMORY), stats(2), None, cfg())
    assert [verdict.tags[k] if k != KEPT else "" for k in verdict.refused_by] == ["-lowmemory", ""]
    assert verdict.weight[0] == 0
    assert verdict.order.tolist() == [1]
    assert survivors(verdict)[verdict.tags.index("-cpucore")] == 2
    assert survivors(verdict)[verdict.tags.index("-lowmemory")] == 1


@pytest.mark.rule("rank")
@pytest.mark.parametrize("edition", EDITIONS)
def test_the_best_ten_are_taken(edition):
    verdict = broker_jobs(task(), queues(12), stats(12, running=list(range(30, 42))), None, cfg(), edition)
    assert verdict.order.tolist() == list(range(11, 1, -1))
    assert [verdict.tags[k] for k in verdict.refused_by[:2]] == ["-low_weight"] * 2
    assert [column[:2].tolist() for column in (verdict.weight, verdict.queued, verdict.cap)] == [[0, 0]] * 3
    assert survivors(verdict)[-1] == MAX_CANDIDATES


@pytest.mark.rule("rank")
def test_equal_weights_keep_the_order_of_the_list():
    assert broker_jobs(task(), queues(20), stats(20), None, cfg()).order.tolist() == list(range(10))


@pytest.mark.rule("rank")
def test_equal_weights_are_gone_round_from_another_place_for_another_task():
    order = broker_jobs(task(luck=27), queues(20), stats(20), None, cfg()).order.tolist()
    assert order == [(k + 27) % 20 for k in range(10)]


@pytest.mark.rule("rank")
def test_d60_bootstrap_queues_come_first_in_the_code():
    numbers = stats(3, running=[10, 0, 0])
    verdict = broker_jobs(task(), queues(3), numbers, None, cfg(), "deployed")
    assert verdict.order.tolist() == [1, 2, 0]
    assert verdict.weight.tolist() == [1.1, 0, 0]
    assert set(verdict.refused_by) == {KEPT}
    assert broker_jobs(task(), queues(3), numbers, None, cfg()).order.tolist() == [0, 1, 2]


@pytest.mark.rule("rank")
def test_d60_too_many_bootstrap_queues():
    verdict = broker_jobs(task(), queues(12), stats(12, running=[0] * 12), None, cfg(), "deployed")
    assert verdict.order.tolist() == list(range(10))
    assert [verdict.tags[k] for k in verdict.refused_by[10:]] == ["-others_bootstrap"] * 2


@pytest.mark.rule("rank")
@pytest.mark.parametrize(("fields", "expected"), [
    pytest.param(dict(t1weight=-1), ["-t1_weight", None, "-t1_weight"], id="a task that stays at its nucleus"),
    pytest.param(dict(t1weight=-1, is_merging=True), [None] * 3, id="its merge jobs may use any queue there"),
    pytest.param(dict(t1weight=0), [None] * 3, id="a task that may leave it"),
])
def test_who_uses_the_busiest_queue_of_the_nucleus_alone_in_the_code(fields, expected):
    numbers = stats(3, running_all=[5, 50, 7], in_nucleus=True)
    verdict = broker_jobs(task(nucleus=0, **fields), queues(3), numbers, None, cfg(), "deployed")
    assert [None if k == KEPT else verdict.tags[k] for k in verdict.refused_by] == expected
    assert len(verdict.order) == expected.count(None)


def test_nobody_is_left():
    verdict = broker_jobs(task(corecount=8), queues(2), stats(2), None, cfg())
    assert verdict.order.tolist() == []
    assert survivors(verdict)[-1] == 0
    assert verdict.weight.tolist() == [0, 0]


@pytest.mark.parametrize("edition", EDITIONS)
def test_an_empty_grid(edition):
    verdict = broker_jobs(task(), queues(0), stats(0), None, cfg(), edition)
    assert (verdict.order.size, verdict.refused_by.size) == (0, 0)


def test_d59_all_queues_are_full_and_nobody_is_taken_nevertheless():
    assert broker_jobs(task(), queues(4), stats(4, activated=[21] * 4), None, cfg()).order.size == 0


def test_data_attract_jobs():
    data = locality(1e12, 100, [1e12, 0.0], [0, 100])
    verdict = broker_jobs(task(), queues(2), stats(2), data, cfg())
    assert verdict.order.tolist() == [0, 1]
    assert verdict.weight[0] / verdict.weight[1] == pytest.approx(4)


def test_one_static_criterion_can_be_left_out():
    kept = tuple(rule for rule in DOCUMENTED.funnel.steps if rule.rule.tag != "-cpucore")
    lenient = replace(DOCUMENTED, funnel=Funnel(kept))
    verdict = run_brokerage(lenient, task(corecount=8), queues(2), stats(2), None, cfg())
    assert verdict.order.tolist() == [0, 1]


def grid(draw_count, seed):
    """A grid of random queues with random numbers."""
    rng = np.random.default_rng(seed)
    n = draw_count
    view = queues(n, corecount=rng.choice([1, 8], n), maxrss_mb=rng.choice([2000.0, 16000.0, np.inf], n),
                  status=rng.choice(4, n), maxtime_s=rng.choice([3600.0, 1e5, np.inf], n),
                  resource_type=rng.integers(-1, 3, n),
                  fairsharepolicy=tuple(rng.choice(["", "type=any:0%", "type=evgen:0%"], n)))
    numbers = {name: rng.integers(0, 60, n) for name in ("running", "defined", "assigned", "activated", "starting",
                                                         "n_batch_job")}
    return view, stats(n, **numbers), locality(1e9, 10, rng.uniform(0, 1e9, n), rng.integers(0, 10, n))


@pytest.mark.rule("rank")
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 40), st.integers(0, 10**6), st.sampled_from(EDITIONS), st.sampled_from([0, 1, 8]))
def test_any_verdict_is_consistent_and_the_cache_changes_nothing(n, seed, edition, corecount):
    view, numbers, data = grid(n, seed)
    cache = MaskCache()
    question = task(corecount=corecount, ramcount=1500.0, is_scout=seed % 3 == 0), view, numbers, data, cfg(), edition
    verdict = broker_jobs(*question)
    for _ in range(2):
        cached = broker_jobs(*question, cache)
        assert cached.refused_by.tolist() == verdict.refused_by.tolist()
        assert cached.order.tolist() == verdict.order.tolist()
    kept = np.flatnonzero(verdict.refused_by == KEPT)
    assert sorted(verdict.order) == kept.tolist()
    assert len(kept) <= MAX_CANDIDATES
    assert survivors(verdict)[-1] == len(kept)
    assert list(survivors(verdict)) == sorted(survivors(verdict), reverse=True)
    assert len(survivors(verdict)) == len(verdict.tags)
    assert (verdict.weight[verdict.refused_by != KEPT] == 0).all()


ALL_EDITIONS = [*PRODUCTION.values(), *TASK_PRODUCTION.values()]
ALL_IDS = [*(f"jobs {name}" for name in PRODUCTION), *(f"tasks {name}" for name in TASK_PRODUCTION)]


@pytest.mark.parametrize("brokerage", ALL_EDITIONS, ids=ALL_IDS)
def test_every_rule_belongs_to_its_edition_and_says_where_it_comes_from(brokerage):
    for rule in (*brokerage.funnel.criteria, *brokerage.factors):
        assert family_of(brokerage.edition) in rule.rule.editions
        assert rule.rule.source
        assert rule.__doc__
    assert all(rule.rule.tag.startswith("-") for rule in brokerage.funnel.criteria if rule.__name__ != "set_apart")


@pytest.mark.parametrize("fields", [
    {}, {"is_merging": True, "mergeramcount": 1.0, "mergecorecount": 2}, {"is_scout": True, "corecount": 0},
    {"event_service": True}, {"event_service": True, "job_cloning": True, "max_attempt_es": 4},
    {"jumbo_events": 100}, {"allowinputlan": "only"}, {"ipconnectivity": "http#IPv4"}, {"preassigned": (0,)},
    {"premerge": Premerge(0, 1.0, 1.0)}, {"cputimeunit": "", "walltime_s_per_mib": 5.0}, {"cputimeunit": ""},
    {"min_granularity": 5}, {"maxcorecount": 8, "gshare": "test"},
], ids=str)
@pytest.mark.parametrize("brokerage", PRODUCTION.values(), ids=PRODUCTION)
def test_static_criteria_read_only_what_they_declare(brokerage, fields):
    """A static criterion sees a task that has nothing but the declared fields."""
    view = queues(2, use_jumbo_jobs=np.array([True, False]), min_events_for_jumbo=np.zeros(2))
    for rule in brokerage.funnel.static:
        assert set(rule.rule.static) <= set(Task.__dataclass_fields__)
        full = task(**fields)
        bare = type("Bare", (), {name: getattr(full, name) for name in rule.rule.static})()
        seen = type("Case", (), dict(task=bare, queues=view, edition=brokerage.edition, n_candidates=2))()
        assert refused_of(rule(seen)).shape == (2,), rule.__name__


@pytest.mark.rule("rank")
def test_ranking_tags_stand_last():
    tags = broker_jobs(task(), queues(1), stats(1), None, cfg()).tags
    assert tags[-len(RANKING):] == tuple(rule.tag for rule in RANKING)
