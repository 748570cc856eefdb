"""Internal merging: merge jobs are made, brokered, run, and finish or cancel the jobs whose output they read."""

from dataclasses import replace

import numpy as np
import pytest
from builders import Stage, T, everyone, scenario, two_sites
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simgrid_broker.agents.harvester.workers import harvester_submitter
from simgrid_broker.agents.jedi.job_generator import job_generator
from simgrid_broker.agents.jedi.merger import Merger, merger
from simgrid_broker.agents.jedi.post_processor import post_processor
from simgrid_broker.agents.jedi.task_broker import task_broker
from simgrid_broker.agents.jedi.task_refiner import task_refiner
from simgrid_broker.agents.panda.copy_archive import copy_archive
from simgrid_broker.agents.panda.jobs import adder, setupper
from simgrid_broker.agents.panda.pilot_streaming import pilot_streaming
from simgrid_broker.agents.panda.statistics import statistics
from simgrid_broker.agents.run.timeline import task_source
from simgrid_broker.names import Cause, DecisionKind, JobStatus
from simgrid_broker.policy.brokerage.analysis.broker import broker_analysis
from simgrid_broker.policy.brokerage.production.broker import broker_jobs
from simgrid_broker.policy.tasks.merging import MIN_WORK_BYTES
from simgrid_broker.scenario.work.campaigns import MergeRule
from simgrid_broker.units import HOUR
from simgrid_broker.world.snapshot.tasks import PlannedMerge
from simgrid_broker.world.tasks.transitions import set_status
from simgrid_broker.world.world import World

S = JobStatus
LIFE = (task_source, task_refiner, statistics, adder, post_processor, merger, job_generator, setupper, pilot_streaming,
        harvester_submitter)
TASK = dict(label="user", mergeoutput=1, output_bytes_per_job=1e8, n_jobs=6)


class Merging(Stage):
    """A stage on which the members of each merge job are noted, by its panda_id."""

    def __init__(self, plan=None, rule=None, *said, agents=LIFE):
        self.rule = rule or dict(merge_failure_rate=0)
        World.merge_rule = lambda *_: MergeRule(**self.rule)
        super().__init__(agents, plan, *(said or (TASK,)))
        self.members, make = {}, self.fabric.make_merge_job

        def noting(order, rows):
            ids = self.arrays.jobs["panda_id"][rows].tolist()
            row = make(order, rows)
            self.members[int(self.arrays.jobs["panda_id"][row])] = ids
            return row
        self.fabric.make_merge_job = noting

    def broker(self, *candidates):
        """Let the job brokerage leave these candidates; first asked before anything is brokered."""
        order = np.array(candidates, np.int64)
        self.control.policies.job_brokerage = lambda task, queues, *_: replace(
            everyone(len(queues.queue)), order=order)

    def until(self, wanted):
        """Let time pass until something is so; it must be within some hours."""
        while not wanted(self.arrays.jobs["status"][self.live()]):
            assert self.now < 5 * HOUR
            self.run(self.now + 10)

    def merges(self):
        """Merge jobs that have ended."""
        rows = self.ended()
        return rows[rows["n_chunks"] == 0]

    def others(self):
        """Other jobs that have ended."""
        rows = self.ended()
        return rows[rows["n_chunks"] > 0]


def unmerged(statuses):
    """Whether some job waits to be merged."""
    return S.MERGING in statuses


@pytest.fixture(autouse=True)
def own_rule(monkeypatch):
    """Let the parameters of merging be put back after each test."""
    monkeypatch.setattr(World, "merge_rule", World.merge_rule)


@pytest.mark.rule("Merger._gather", "Merger._settle", "make_merge_job")
@pytest.mark.parametrize("edition", ["documented", "deployed"])
def test_output_is_merged_once_all_jobs_at_the_site_are_done(edition):
    stage = Merging(scenario(edition=edition))
    stage.run(6 * HOUR)
    merge, = stage.merges()
    words = stage.world.vocabularies["processing_types"]
    assert (merge["status"], merge["priority"], words[merge["processing_type"]]) == (S.FINISHED, 5000, "pmerge")
    assert (merge["n_input_files"], merge["input_bytes"]) == (6, 6e8)
    assert (stage.others()["status"] == S.FINISHED).all()
    assert stage.task() == "done"
    assert stage.entered(T.MERGING) < stage.entered(T.DONE)
    assert sum(not np.isnan(moment) for moment in stage.times(S.MERGING)) == 6
    stage.check()


@pytest.mark.rule("Merger._gather")
@pytest.mark.parametrize(("rule", "expected"), [
    pytest.param({}, [6], id="all in one"),
    pytest.param(dict(nFilesPerMergeJob=4), [2, 4], id="nFilesPerMergeJob"),
    pytest.param(dict(nGBPerMergeJob=0.3), [3, 3], id="nGBPerMergeJob"),
    pytest.param(dict(nEventsPerMergeJob=5), [1, 5], id="nEventsPerMergeJob"),
])
def test_the_limits_of_the_task_count(rule, expected):
    stage = Merging(None, dict(merge_failure_rate=0) | rule)
    stage.run(6 * HOUR)
    assert sorted(stage.merges()["n_input_files"].tolist()) == expected


@pytest.mark.rule("Merger._gather")
@pytest.mark.parametrize("workdisk", [pytest.param(0.0, id="no scratch"), pytest.param(np.nan, id="none is said")])
@pytest.mark.parametrize(("output_bytes", "expected"), [(1e8, [3, 3]), (100_000_001.0, [2, 2, 2])])
def test_the_scratch_disk_of_the_queue_counts(output_bytes, expected, workdisk):
    here = dict(atlas_site="HERE", maxwdir=MIN_WORK_BYTES / 1e6 + 3 * 220)                # 1.2 of output beside input
    said = dict(output_bytes_per_job=output_bytes, workdiskcount_mb=workdisk)
    stage = Merging(scenario(queues=dict(HERE=here)), None, TASK | said)
    stage.broker(0)
    stage.run(6 * HOUR)
    assert sorted(stage.merges()["n_input_files"].tolist()) == expected


@pytest.mark.rule("Merger._settle")
def test_a_merge_job_is_tried_three_times_and_then_its_input_anew():
    stage = Merging(None, dict(merge_failure_rate=1), TASK | dict(max_attempt=2))
    stage.run(24 * HOUR)
    merges, others = stage.merges(), stage.others()
    assert merges["attempt"].tolist() == [1, 2, 3] * 2
    assert (merges["cause"] == Cause.PAYLOAD_ERROR).all()
    assert (merges["old_panda_id"] > 0).tolist() == [False, True, True] * 2
    assert len(others) == 12
    assert set(others["status"].tolist()) == {int(S.CANCELLED)}
    assert set(others["cause"].tolist()) == {int(Cause.MERGE_FAILED)}
    assert stage.task() == "failed"
    stage.check()


@pytest.mark.rule("Merger._gather")
def test_a_throttled_task_is_merged_but_a_paused_one_waits():
    for status, merged in ((T.THROTTLED, True), (T.PAUSED, False)):
        stage = Merging()
        stage.until(unmerged)
        set_status(stage.world, 0, status, stage.now)
        stage.run(stage.now + 2 * HOUR)
        assert bool(len(stage.merges())) == merged


@pytest.mark.rule("make_merge_job")
def test_away_from_its_input_a_merge_job_waits_for_it():
    stage = Merging(two_sites())
    stage.broker(0)
    stage.until(unmerged)
    stage.broker(1)
    stage.run(stage.now + 12 * HOUR)
    merge = stage.merges()[0]
    assert (merge["queue"], merge["source_site"], merge["missing_bytes"]) == (1, 0, merge["input_bytes"])
    assert merge["status"] == S.FINISHED


def test_without_a_queue_output_waits_and_brokerage_looks_again_after_a_while():
    stage = Merging()
    stage.broker(0)
    stage.until(unmerged)
    stage.broker()
    stage.run(stage.now + 3 * HOUR)
    assert not len(stage.merges())
    stage.broker(0)
    stage.run(stage.now + 3 * HOUR)
    assert stage.task() == "done"


@pytest.mark.rule("Merger._mark_orphans", "copy_archive.end")
def test_a_merge_job_some_of_whose_input_is_gone_is_killed():
    without_workers = [a for a in LIFE if a not in (pilot_streaming, harvester_submitter)]
    stage = Merging(scenario(agents=dict(copy_archive=60)), None, TASK | dict(max_attempt=1),
                    agents=(*without_workers, copy_archive))
    stage.broker(0)
    stage.until(lambda statuses: (statuses == S.ACTIVATED).sum() == 6)
    stage.workers(6)
    stage.until(lambda statuses: stage.members)
    one = stage.live()[stage.arrays.jobs["status"][stage.live()] == S.MERGING][0]
    stage.take_back(one)
    stage.run(stage.now + 0.4 * HOUR)
    assert not len(stage.merges())
    stage.run(stage.now + 0.5 * HOUR)
    assert stage.merges()["cause"].tolist() == [Cause.TIMEOUT_MERGING]
    assert [len(ids) for ids in stage.members.values()] == [6, 5]       # those that are left are merged by another
    stage.check()


def test_others_know_what_has_ended_when_the_merger_looks():
    stage, seen = Stage((), None, TASK), []
    stage.fabric.watchers.append(lambda rows, times: seen.append(len(rows)))
    stage.world.state["n_done_jobs"] = 1
    Merger(stage.control).cycle()
    assert seen == [1]


@pytest.mark.rule("Merger._gather")
def test_nothing_is_merged_where_no_task_wants_it():
    stage = Stage((), None, dict(mergeoutput=0))
    assert list(merger(stage.control)) == []


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(n_jobs=st.integers(1, 20), failures=st.sampled_from([0.0, 0.2]), merge_failures=st.sampled_from([0.0, 0.5]),
       files=st.integers(0, 9), edition=st.sampled_from(["documented", "deployed"]), seed=st.integers(0, 99))
def test_every_finished_job_was_merged_exactly_once(n_jobs, failures, merge_failures, files, edition, seed):
    stage = Merging(two_sites(edition=edition, seed=seed),
                    dict(merge_failure_rate=merge_failures, nFilesPerMergeJob=files),
                    TASK | dict(n_jobs=n_jobs, failure_rate=failures, max_attempt=3))
    while stage.task() not in ("done", "finished", "failed") and stage.now < 48 * HOUR:
        stage.run(stage.now + HOUR)
    stage.check()
    merged = [one for merge in stage.merges() if merge["status"] == S.FINISHED
              for one in stage.members[int(merge["panda_id"])]]
    others = stage.others()
    finished = others["panda_id"][others["status"] == S.FINISHED].tolist()
    assert sorted(merged) == sorted(finished)
    assert stage.task() in ("done", "finished", "failed")


@pytest.mark.rule("turns.brokers.Brokers.broker")
@pytest.mark.parametrize("edition", ["documented", "deployed"])
@pytest.mark.parametrize(("label", "kind"), [
    pytest.param("user", DecisionKind.ANALYSIS_BROKERAGE, id="of a user"),
    pytest.param("managed", DecisionKind.JOB_BROKERAGE, id="of production"),
])
def test_merge_jobs_go_by_the_broker_of_their_task(label, kind, edition):
    stage = Merging(two_sites(edition=edition), None, TASK | dict(label=label), agents=(*LIFE, task_broker))
    found = []

    def check(kind, asked, verdict, sites=None):
        if isinstance(asked, PlannedMerge):
            found.append((kind, [stage.control.brokers.queues.names[k] for k in verdict.order]))
    stage.control.check, stage.control.books.decisions.log.record["looked_at"] = check, True
    stage.run(6 * HOUR)
    places = {stage.world.vocabularies["queues"][queue] for queue in stage.others()["queue"].tolist()}
    assert {one for one, _ in found} == {kind} and stage.task() == "done"
    assert kind is not DecisionKind.ANALYSIS_BROKERAGE or {name for _, names in found for name in names} <= places


@pytest.mark.parametrize("edition", ["documented", "deployed"])
@pytest.mark.parametrize(("label", "number"), [("user", 70), ("managed", 40)])
def test_compiled_brokers_and_those_in_python_send_merge_jobs_to_the_same_queues(label, number, edition):
    ended, rule = [], dict(merge_failure_rate=0.5, nFilesPerMergeJob=1, mergeRamCount=3000, mergeCoreCount=1)
    for compiled in (True, False):
        stage = Merging(two_sites(edition=edition), rule, TASK | dict(label=label, n_jobs=number),
                        agents=(*LIFE, task_broker))
        if not compiled:
            stage.control.policies.job_brokerage = lambda *asked: broker_jobs(*asked)
            stage.control.policies.analysis_brokerage = lambda *asked: broker_analysis(*asked)
        stage.run(8 * HOUR)
        ended.append(stage.merges())
    assert len(ended[0]) > number
    assert len(np.unique(ended[0]["queue"])) == 2
    assert ended[0].tobytes() == ended[1].tobytes()
