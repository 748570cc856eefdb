"""What a run has used of the rules, and the life of a task: every rule once, every change in order."""

import json
import sys
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from simgrid_broker import load_scenario, metrics, simulate
from simgrid_broker.cli.coverage import of_other_editions
from simgrid_broker.metrics import slots
from simgrid_broker.metrics.chain import LINKS, Cause, _cause_of_hour
from simgrid_broker.metrics.chain_words import in_effect, sweep_of, values_to_try, variation, without_sweep
from simgrid_broker.metrics.coverage import (
    CAUSES,
    NEEDS,
    agents_used,
    ends_used,
    factors_used,
    incidents_used,
    rules_used,
    why_never,
)
from simgrid_broker.metrics.job_life import QUARTER, job_life, task_life
from simgrid_broker.metrics.refusals import Verdict

MINIMAL = Path(__file__).parents[2] / "scenarios" / "minimal.yaml"
KEY = "gdpconfig.NRUNNINGCAP_Production"
LIFE = sys.modules["simgrid_broker.metrics.job_life"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    plan = load_scenario(MINIMAL).with_values({KEY: 1, "edition": "deployed", "duration": "8h"})
    return simulate(plan, folder=tmp_path_factory.mktemp("coverage") / "run")


def test_every_rule_of_every_broker_is_listed_once_and_refusals_add_up(run):
    rules = rules_used(run)
    assert not rules.duplicated(["kind", "rule"]).any()
    assert set(rules.kind) == {"job_brokerage", "task_brokerage", "analysis_brokerage"}
    for kind in set(rules.kind):
        assert list(rules.rule[rules.kind == kind]) == list(metrics.criteria(run, kind).label)
    total = run.refusals["count"][run.refusals.tag.notna()].sum()
    assert rules.refused.sum() == total > 0 and (rules.alone <= rules.refused).all()


def test_a_rule_that_never_refused_says_what_kept_it_from_that(run):
    rules = rules_used(run).set_index(["kind", "rule"])
    assert rules.why_not["job_brokerage", "-transferring"] == "all queues have one value of transferringlimit"
    assert ((rules.refused > 0) == (rules.why_not == "")).all()
    assert (rules.why_not[rules.asked == 0] != "").all()


def test_a_rule_is_asked_about_what_the_rules_before_it_left(run):
    used = run.refusals[run.refusals.tag.isna()].groupby("kind", observed=True)["count"].sum()
    for kind, rules in rules_used(run).groupby("kind"):
        assert (rules.asked.shift(-1, fill_value=used[kind]) == rules.asked - rules.refused).all()


@pytest.mark.parametrize(("weights", "changed", "alone"), [
    pytest.param({"A": (4, 1), "B": (3, 1)}, (1, 0), (1, 0), id="only one factor tells the candidates apart"),
    pytest.param({"A": (4, 2), "B": (3, 1)}, (0, 0), (0, 0), id="each alone gives the same order"),
    pytest.param({"A": (4, 1), "B": (3, 1.3)}, (1, 0), (1, 0), id="the larger factor wins"),
    pytest.param({"A": (9, 1), "B": (4, 1), "C": (3, 1.5)}, (1, 1), (1, 0), id="a change behind the first"),
    pytest.param({"A": (4, 1)}, (0, 0), (0, 0), id="nothing to order")])
def test_a_factor_decides_if_the_order_would_be_another_without_it(weights, changed, alone):
    rows = [(7, name, factor, value) for name, values in weights.items()
            for factor, value in zip(("x", "y"), values, strict=True)]
    tables = {"factors": pd.DataFrame(rows, columns=["decision", "candidate", "factor", "multiplier"]),
              "decisions": pd.DataFrame([(7, "job_brokerage")], columns=["decision", "kind"])}

    class OfTables:
        folder = None

        def table(self, name, columns):
            return tables[name]
    found = factors_used(OfTables())
    assert tuple(found.changed) == changed and tuple(found.alone) == alone
    assert set(found.asked) == {int(len(weights) > 1)}


def test_rules_of_other_editions_are_named_and_none_of_the_run(run):
    others, rules = of_other_editions(run)["job_brokerage"], rules_used(run)
    assert others["-cap_rt (too_many_queued)"] == "a rule of documented only"
    mine = set(metrics.criteria(run, "job_brokerage").criterion)
    assert not mine & {name.split("(")[1].rstrip(")") for name in others}
    assert set(of_other_editions(run)) == set(rules.kind)


def test_incidents_are_counted_by_kind_if_they_began_and_ended_within_the_run(run):
    planned = [dict(what="site_outage", at=3600, until=7200), dict(what="site_outage", at=3600, until=1e9),
               dict(what="gdpconfig", at=1e9)]
    of_run = SimpleNamespace(end_s=run.end_s, manifest={"scenario": {"incidents": planned}})
    assert incidents_used(of_run).to_numpy().tolist() == [["site_outage", 2, 2, 1], ["gdpconfig", 1, 0, 0]]
    assert incidents_used(run).empty


@pytest.mark.parametrize(("cause", "edition", "why"), [
    ("timeout_sent", "documented", "no job came to the shortest limit of its rules, 30 min"),
    ("timeout_running", "documented", "the shortest limit of its rules, 1 d, is longer than the run"),
    ("preempted", "deployed", "no queue has eviction_notice"),
    ("input_lost", "deployed", "no stream has lost_input and no incident is file_loss or replica_lost or "
                               "dataset_deleted"),
    ("walltime_exceeded", "deployed", "it could, and ended none")])
def test_a_cause_that_ended_no_attempt_says_what_kept_it_from_that(run, cause, edition, why):
    assert why_never(as_if(run, edition=edition), cause) == why


def as_if(run, said=None, **manifest):
    """The run with another scenario, or other entries of its manifest."""
    return SimpleNamespace(end_s=run.end_s, manifest=run.manifest | {"scenario": said or run.manifest["scenario"]}
                           | manifest)


def bare(run):
    """The scenario of a run without any circumstance of which a cause needs one."""
    said = deepcopy(run.manifest["scenario"])
    for place, name in {each for groups in NEEDS.values() for group in groups for each in group}:
        for thing in things(said, place):
            thing[name] = None
    return said | {"incidents": []}


def things(said, place):
    """Sites, queues or streams of a scenario."""
    grid, work = said["grid"], said["workload"]
    return {"site": grid["sites"].values(), "queue": grid["queues"].values(),
            "stream": (*work["campaigns"], *work["users"])}.get(place, ())


def with_circumstance(said, place, name):
    """A scenario with a circumstance at one place, and the agents of its run."""
    said = deepcopy(said)
    for thing in [*things(said, place)][:1]:
        thing[name] = 0.0 if name == "eviction_notice" else 1
    said["incidents"] += [{"what": name, "at": 0.0}] if place == "incident" else []
    return said, {name: [1, 0]} if place == "agent" else {}


@pytest.mark.parametrize("cause", NEEDS)
def test_what_a_cause_is_said_to_lack_is_no_reason_once_it_is_there(run, cause):
    said, agents = bare(run), {}
    for number, group in enumerate(NEEDS[cause]):
        reason = why_never(as_if(run, said, coverage={"agents": agents}), cause)
        assert all(name in reason for _, name in group), (number, reason)
        for each in group:
            there, ran = with_circumstance(said, *each)
            of_run = as_if(run, there, coverage={"agents": agents | ran})
            assert each[1] not in why_never(of_run, cause)
        said, agents = there, agents | ran
    assert why_never(as_if(run, said, coverage={"agents": agents}), cause).startswith(("it could", "no job came"))


def test_a_cause_that_ended_attempts_lacks_nothing(run):
    ends = ends_used(run)
    assert not ends.why_not[ends.attempts > 0].any() and (ends.why_not[ends.attempts == 0] != "").all()
    for cause in ends.cause[ends.attempts > 0]:
        assert why_never(run, cause).startswith(("it could", "no job came")), cause
    assert (ends.attempts > 0).any() and set(ends.cause) == set(CAUSES)


def test_a_limit_is_said_to_be_longer_than_the_run_only_if_it_is(run):
    assert "longer" in why_never(as_if(run, timeouts={"timeout_sent": run.end_s + 1}), "timeout_sent")
    assert "longer" not in why_never(as_if(run, timeouts={"timeout_sent": run.end_s}), "timeout_sent")
    assert why_never(as_if(run, timeouts={}), "timeout_sent") == (
        f"no rule of the edition {run.manifest['edition']}")


def test_ends_and_agents_are_those_of_the_run(run):
    ends = ends_used(run).set_index("cause").attempts
    assert ends.sum() == (run.jobs.cause != "none").sum() and ends["site_error"] >= 0
    agents = agents_used(run).set_index("agent")
    period_s = run.manifest["scenario"]["agents"]["task_broker"]
    assert agents.asked["task_broker"] == pytest.approx(run.end_s / period_s, abs=1)
    assert 0 < agents.acted["job_generator"] <= agents.asked["job_generator"]
    assert agents.acted["statistics"] == 0 and agents[["asked", "acted"]].loc["timeline"].isna().all()


def test_the_manifest_counts_what_the_tables_count(run):
    kept = run.manifest["coverage"]
    for kind, rules in rules_used(run).groupby("kind"):
        rules = rules[rules.asked > 0]
        known = metrics.criteria(run, kind).set_index("label").criterion
        assert {known[row.rule]: [row.asked, row.refused, row.alone] for row in rules.itertuples()} == (
            kept["rules"][kind])
    ends = ends_used(run).set_index("cause").attempts
    assert kept["ends"] == ends[ends > 0].to_dict() and kept["incidents"] == {}


def test_the_life_of_a_task_has_no_gap_that_nobody_explains(run):
    tasks = run.tasks[(run.tasks.share == "Production") & (run.tasks.n_attempts > 0)]
    life = task_life(run, int(tasks.jeditaskid.iloc[0]))
    assert life[0].what.startswith("created: ") and [each.start_s for each in life] == sorted(
        each.start_s for each in life)
    assert any("jobs made" in each.what for each in life) and any(
        each.what == "task brokerage: nucleus CENTRE, the only candidate" for each in life)
    held = [each.what for number in run.tasks.jeditaskid for each in task_life(run, int(number))
            if "held by the throttler" in each.what]
    assert held and set(held) == {"held by the throttler of Production: running > NRUNNINGCAP"}
    assert task_life(run, 10**9) == []
    json.dumps([each._asdict() for each in life])


def test_retries_of_a_quarter_of_a_day_are_one_line_of_the_life(run):
    for number, jobs in run.jobs.groupby("jeditaskid"):
        again = [each for each in task_life(run, int(number)) if each.what.partition(", ")[0].endswith(" made again")]
        assert sum(int(each.what.split()[0]) for each in again) == (jobs.attempt > 1).sum()
        assert len({each.start_s // QUARTER for each in again}) == len(again)
    assert (run.jobs.attempt > 1).any()


@pytest.mark.parametrize(("kept", "candidates", "says"), [
    (1, 1, "T1, the only candidate"), (1, 20, "T1, the only one of 20 candidates that passed all rules"),
    (3, 20, "T1, drawn by weight from the 3 of 20 candidates that passed all rules")])
def test_the_life_of_a_task_says_from_which_candidates_its_nucleus_was_drawn(run, monkeypatch, kept, candidates, says):
    decisions = run.decisions[run.decisions.kind == "task_brokerage"][:1].assign(
        n_kept=kept, n_candidates=candidates, best="T1")
    table = run.table
    monkeypatch.setattr(run, "table", lambda name, *given: decisions if name == "decisions" else table(name, *given))
    life = task_life(run, int(decisions.jeditaskid.iloc[0]))
    assert f"task brokerage: nucleus {says}" in [each.what for each in life]


def life_without_candidate(run, monkeypatch, refused, hints=()):
    """Lines of a task's life about decisions without a candidate; refused: criterion and count of its share."""
    decisions = run.decisions[run.decisions.kind == "task_brokerage"][:1].assign(n_kept=0)
    row = decisions.iloc[0]
    rows = pd.DataFrame([(row.time_s, row.kind, rule, row.share, count, 0) for rule, count in refused],
                        columns=["time_s", "kind", "criterion", "share", "count", "pool_count"])
    known = {"decisions": decisions, "refusals": rows, "candidates": run.table("candidates")[:0],
             "hints": pd.DataFrame([(row.time_s, row.share, *each) for each in hints],
                                   columns=["time_s", "share", "rule", "decisions"])}
    table = run.table
    monkeypatch.setattr(run, "table", lambda name, *given: known[name] if name in known else table(name, *given))
    return next(each.what for each in task_life(run, int(row.jeditaskid)) if "no candidate" in each.what)


@pytest.mark.parametrize(("refused", "hints", "says"), [
    ([("too_little_space", 3), ("cannot_run", 2)], [],
     "no candidate in a decision, -space refused most to Production (DISK_THRESHOLD_Production)"),
    ([("cannot_run", 2)], [("-lowmemory", 1), ("-cpucore", 3)],
     "no candidate in a decision, -job refused most to Production, as no queue passes -cpucore "
     "(grid.queues.*.capability)"),
    ([("cannot_run", 2)], [], "no candidate in a decision, -job refused most to Production"),
    ([], [], "no candidate in a decision")])
def test_decisions_without_a_candidate_name_the_rule_that_refused_most_and_its_key(
        run, monkeypatch, refused, hints, says):
    assert life_without_candidate(run, monkeypatch, refused, hints) == f"task brokerage: {says}"


def test_decisions_with_recorded_candidates_name_the_rule_that_came_furthest_with_most_sites(run, monkeypatch):
    number = run.decisions.decision[run.decisions.kind == "task_brokerage"].iloc[0]
    rows = [("A", "not_active"), ("A", "cannot_run"), ("B", "not_active"), ("C", "cannot_run"), ("D", "used")]
    rows = pd.DataFrame([(number, *row) for row in rows], columns=["decision", "queue", "criterion"])
    monkeypatch.setattr(LIFE, "explain", lambda *_: rows)
    said = life_without_candidate(run, monkeypatch, [("not_active", 9)])
    assert said == "task brokerage: no candidate in a decision, -job refused most"


def test_every_decision_of_a_task_is_a_line_if_all_are_wanted(run):
    task = int(run.decisions[run.decisions.kind == "job_brokerage"].jeditaskid.mode().iloc[0])
    some, every = (sum("brokerage: " in each.what for each in task_life(run, task, wanted)) for wanted in (False, True))
    assert some < every == (run.decisions.jeditaskid == task).sum()


def test_rules_that_hold_a_task_in_turn_are_one_line_with_the_hours_of_each(run, monkeypatch):
    task = run.tasks[~run.tasks.jeditaskid.isin(run.jobs.jeditaskid)].iloc[0]
    begun = int(task.arrival_s // 3600)
    rules = {begun: "first", begun + 1: "second"}
    monkeypatch.setattr(LIFE, "verdicts_of", lambda *_: rules)
    held = [each.what for each in task_life(run, int(task.jeditaskid)) if each.what.startswith("held")]
    assert held == [f"held by the throttler of {task.share}: first (1 h), second (1 h)"]


def test_the_throttler_holds_no_task_before_its_nucleus_or_while_job_brokerage_is_asked(run, monkeypatch):
    task = run.tasks[(run.tasks.arrival_s < 3600) & ~run.tasks.status.isin(["done", "finished", "failed"])].iloc[0]
    decisions = run.decisions[:2].assign(
        time_s=[5400.0, 4 * 3600.0 + 60], kind=["task_brokerage", "job_brokerage"], jeditaskid=task.jeditaskid,
        n_candidates=2, n_kept=[1, 0], best="CENTRE")
    rows = {"decisions": decisions, "jobs": run.jobs[:0]}
    table, batches = run.table, run.batches
    monkeypatch.setattr(run, "table", lambda name, *given: rows[name] if name in rows else table(name, *given))
    monkeypatch.setattr(run, "batches", lambda name, *given: [rows[name]] if name in rows else batches(name, *given))
    monkeypatch.setattr(LIFE, "verdicts_of", lambda *_: dict.fromkeys(range(6), "stopped"))
    held = [each for each in task_life(run, int(task.jeditaskid)) if each.what.startswith("held")]
    assert [(each.start_s, each.end_s) for each in held] == [(5400, 4 * 3600), (5 * 3600, 6 * 3600)]


def test_the_life_of_a_job_goes_from_its_decision_to_its_end_and_names_its_other_attempts(run):
    jobs = run.jobs.set_index("panda_id")
    retried = jobs[jobs.old_panda_id.isin(jobs.index)].iloc[0]
    first, second = int(retried.old_panda_id), int(retried.name)
    life = [each.what for each in job_life(run, first)]
    assert life[0].startswith("created: attempt 1 at input of task ") and " brokered to " in life[0]
    assert any(f"{jobs.status[first]} (" in what for what in life), "its end has a cause"
    assert life[-1].startswith(f"attempt {retried.attempt}, job {second} at {retried.queue}: ")
    assert job_life(run, second)[0].what.startswith(f"attempt {retried.attempt - 1}, job {first} at ")
    starts = [each.start_s for each in job_life(run, first)]
    assert starts == sorted(starts) and job_life(run, 10**9) == []


def test_a_job_that_waits_for_input_names_the_transfers_that_bring_it(run):
    jobs = run.jobs[(run.jobs.missing_bytes > 0) & run.jobs.assigned_s.notna() & run.jobs.activated_s.notna()]
    life = [each.what for each in job_life(run, int(jobs.panda_id.iloc[0]))]
    assert any(" of its input have to come to " in what and " from " in what for what in life)


@pytest.mark.parametrize(("key", "unit", "limit", "words"), [
    ("NQUEUELIMITSITE_Production", "jobs", 32, "NQUEUELIMITSITE_Production (20, acts above 32 only)"),
    ("NQUEUELIMITSITE_Production", "jobs", 20, "NQUEUELIMITSITE_Production (20)"),
    ("DISK_THRESHOLD_Production", "TB", 500, "DISK_THRESHOLD_Production (100)"),
    ("NRUNNINGCAP_Production", "jobs", 5, "NRUNNINGCAP_Production")])
def test_a_key_is_named_with_its_value_and_the_value_from_which_it_acts(key, unit, limit, words):
    found = {"jobbroker.NQUEUELIMITSITE": 20, "taskbrokerage.DISK_THRESHOLD": 100.0}
    manifest = {"gdpconfig": {name: {"value": value, "origin": "default"} for name, value in found.items()}}
    assert in_effect(SimpleNamespace(manifest=manifest), key, unit, limit) == words


@pytest.mark.parametrize(("key", "value", "figures", "tried"), [
    ("NRUNNINGCAP_Production", 50, (99, 50), (50, 100, 200)),
    ("NQUEUELIMIT_Production", 2, (124, 2), (2, 124, 248)),
    ("NQUEUECAP_Production", 3, (0, 0), (3, 30, 60)),
    ("THROTTLE_THRESHOLD", 2.0, (42, 8.88), (2, 9.46, 18.9)),
    ("DISK_THRESHOLD", 100.0, (float("nan"),) * 2, (100, 50, 0)),
    ("JOB_SUBMISSION", False, (0, 0), (False, True))])
def test_a_sweep_moves_a_key_until_what_was_compared_passes_or_to_nothing(key, value, figures, tried):
    manifest = {"gdpconfig": {f"component.{key}": {"value": value, "origin": "default"}}}
    cause = Cause("throttler", "rule", (f"gdpconfig.{key}",), *map(float, figures))
    assert values_to_try(SimpleNamespace(manifest=manifest), cause.settings[0], cause) == tried


@pytest.mark.parametrize(("link", "settings", "says"), [
    ("slots", (), "No sweep: no setting of the scenario is behind this. A share gets slots as the jobs in them end; "
                  "other work, other targets of the shares or more cores change it."),
    ("unknown", (), "No sweep: no setting of the scenario is behind this."),
    ("job brokerage", ("grid.queues.*.corecount",),
     "No sweep: the run does not tell which value of grid.queues.*.corecount lets more pass.")])
def test_a_cause_without_a_sweep_says_so(run, link, settings, says):
    cause = Cause(link, "rule", settings)
    assert sweep_of(run, cause, "Production") == "" and without_sweep(cause) == says


@pytest.mark.parametrize(("latency_s", "waiting", "rule"), [
    (None, 3, "workers are cut by maxWorkers"), (5 * 3600.0, 0, "workers are cut by maxWorkers"),
    (600.0, 3, "workers are cut by maxWorkers"),
    (5 * 3600.0, 3, "workers wait in the batch system although cores are free")])
def test_a_limit_of_harvester_is_no_cause_where_workers_wait_for_hours_beside_free_slots(
        monkeypatch, latency_s, waiting, rule):
    monkeypatch.setattr(slots, "_options", lambda *_: ())
    queue = {"atlas_site": "A", "batch_latency": latency_s, "params": {"maxWorkers": 5}}
    of_run = SimpleNamespace(manifest={"scenario": {"grid": {"queues": {"A": queue}}}})
    samples = pd.DataFrame({"time_s": [0.0], "waiting": [waiting]})
    asked = pd.DataFrame({"wanted": [100.0], "submitted": [5.0], "cut_by": ["maxWorkers"]})
    assert slots._of_free_slots(of_run, "A", "SCORE", samples, asked, 50.0)[0] == rule


@pytest.mark.parametrize(("verdict", "obstacle", "link"), [
    (("running > NRUNNINGCAP", ("cap",)), slots.Obstacle(1.0, "all slots for SCORE hold jobs"), "throttler"),
    (("queued > threshold x running", ("cap",)), slots.Obstacle(1.0, "all slots for SCORE hold jobs"), None),
    (("running > NRUNNINGCAP", ("cap",)), slots.Obstacle(1.0, "workers are cut", ("a limit",)), None)])
def test_a_cap_of_running_jobs_is_the_cause_where_slots_are_full_and_nothing_there_has_a_setting(
        monkeypatch, verdict, obstacle, link):
    widths = np.full((len(LINKS), 1, 1), 100.0)
    widths[-1] = 50.0                                            # 50 cores of jobs wait, and more than the target
    flow = SimpleNamespace(
        widths=widths, could_use=np.array([[100.0]]), running=np.array([[50.0]]), idle=np.zeros(1),
        held=np.full((len(LINKS), 1, 1), 150.0), waits_s=np.array([[7200.0]]), hours=np.array([3]), seldom=frozenset(),
        verdicts={(3, "A"): Verdict(*verdict, 116.0, 38.0)}, tree=SimpleNamespace(leaf_names=("A",)),
        waiting=SimpleNamespace(input_s={}))
    monkeypatch.setattr("simgrid_broker.metrics.chain._taken", lambda *_: 0.0)
    cause = _cause_of_hour(None, flow, 0, 0, [obstacle])
    assert (cause and cause.link) == link


def test_lives_and_what_was_used_are_answered_about_a_folder(run):
    agents, rules = metrics.agents_used(run.folder), metrics.rules_used(str(run.folder))
    assert len(agents) and len(rules) and metrics.ends_used(run.folder).attempts.sum()
    task, job = int(run.jobs.jeditaskid.iloc[0]), int(run.jobs.panda_id.iloc[0])
    assert metrics.task_life(run.folder, task) == task_life(run, task)
    assert metrics.job_life(run.folder, job) == job_life(run, job)


@pytest.mark.parametrize(("maxrss", "varied", "values"), [
    ((32000, 900, 32000, 900), "{B,D}", (900, 9000, 0)), ((900, 900, 900, 32000), "{A,B,C}", (900, 9000, 0)),
    ((900, 32000, 32000, 32000), "*", (32000, 320000, 0)), ((0, 900, 0, 900), "{B,D}", (900, 9000, 0)),
    ((500, 700, 800, 900), "*", (500, 5000, 0))])
def test_a_sweep_of_an_attribute_varies_the_queues_where_it_lets_least_pass(maxrss, varied, values):
    queues = {name: {"atlas_site": "S", "maxrss": value} for name, value in zip("ABCD", maxrss, strict=True)}
    of_run = SimpleNamespace(manifest={"scenario": {"grid": {"queues": queues}}, "gdpconfig": {}})
    found = variation(of_run, Cause("job brokerage", "-lowmemory", ("grid.queues.*.maxrss",)))
    assert found == (f"grid.queues.{varied}.maxrss", values)
