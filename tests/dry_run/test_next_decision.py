"""The next decision of a run is the dry run's on the snapshot of that moment: view, verdict and drawn nucleus."""

from pathlib import Path

import pytest

from simgrid_broker.agents.run.samples import snapshot_now
from simgrid_broker.dry_run import broker
from simgrid_broker.engine import Simulation
from simgrid_broker.scenario import Snapshot, load_scenario
from simgrid_broker.turns import job_tables
from simgrid_broker.views import KEPT

SCENARIOS = Path(__file__).parents[2] / "scenarios"
STREAM = "workload.campaigns[0]."
QUICKSTART = {"duration": 2 * 3600}
MERGING = {
    "duration": 3.5 * 3600, STREAM + "jobs_per_task": 12, STREAM + "eventService": True, STREAM + "nEsConsumers": 2,
    "workload.campaigns[1].useScout": True,
    STREAM + "nJumboJobs": 1, STREAM + "minGranularity": 10, STREAM + "walltime": 3,
    STREAM + "input_per_event": "1 MB", STREAM + "replicas.tape": 0.5, STREAM + "hs06sec_per_event": 60,
    "workload.campaigns[1].diskIO": 200, "grid.storages.SOUTH_DATADISK.write_wan": "TEST"}
SPLITTING = {"duration": 3600}
RAISED = {"duration": 8 * 3600}
CASES = [pytest.param(f"{file}.yaml", changes, step, kinds, edition, id=f"{file}, {edition}")
         for file, changes, step, kinds in (
             ("quickstart", QUICKSTART, 59, {"nucleus", "jobs"}),
             ("merging", MERGING, 61, {"nucleus", "scout", "jobs", "merge"}),
             ("splitting", SPLITTING, 1, {"nucleus", "jobs"}), ("memory_retry", RAISED, 29, {"jobs", "raised"}))
         for edition in ("documented", "deployed")]
NOT_OF_JOBS = {"total_input_bytes", "total_input_files", "frozen_for_s", "n_jobs"}
"""Fields of a view that job brokerage does not read; for jobs a run keeps those of an earlier moment."""


class Listener:
    """Listens to the brokers of a run; before every `step`-th decision on jobs of a kind it writes a snapshot.

    It does so before the first decision of every turn of the task brokerage, too.

    found: of each decision the snapshot, the name of the task in it, the view and what was decided.
    """

    def __init__(self, control, step):
        self.control, self.step, self.found, self.heard, self.last = control, step, [], {}, None
        self.nucleus_for, self.queues_for = control.brokers.nucleus_for, control.brokers.queues_for
        control.brokers.nucleus_for, control.brokers.queues_for = self.of_nucleus, self.of_queues
        brokerage = control.policies.job_brokerage
        control.policies.job_brokerage = lambda *asked: brokerage(*asked)      # own ones are asked by Python
        tasks = control.policies.task_brokerage
        control.policies.task_brokerage = lambda *asked: tasks(*asked)

    def is_asked(self, kind):
        """Whether this decision is one of those that are compared."""
        self.heard[kind] = self.heard.get(kind, -1) + 1
        return self.heard[kind] % self.step == 0

    def snapshot(self):
        """The snapshot of this moment, as its file would be read."""
        return Snapshot.from_dict(snapshot_now(self.control))

    def of_nucleus(self, row, burden):
        """Task brokerage; only the first decision of a turn, before which no other has changed the work of nuclei."""
        told = self.snapshot() if burden.is_untouched else None
        self.heard["nucleus"] = self.heard.get("nucleus", 0) + 1
        task, seen, verdict = self.nucleus_for(row, burden)
        if told is not None:
            names = [self.control.world.vocabularies["sites"][site] for site in seen.site]
            drawn = names[verdict.order[0]] if len(verdict.order) else None
            self.found.append((told, str(task.jeditaskid), task, names, verdict, drawn))
        return task, seen, verdict

    def of_queues(self, task, parts, wanted, account=None, cache=True):
        """Job brokerage; only the first decision of a moment about a task, before which its input is as it was."""
        about = self.control.now, task.jeditaskid, task.is_merging
        told = self.snapshot() if about != self.last and self.is_asked(self.kind(task)) else None
        self.last = about
        verdict = self.queues_for(task, parts, wanted, account, cache)
        if told is not None:
            name = self.name_of(told, task)
            told = told.with_values({f"tasks.{name}.n_jobs_to_broker": wanted})       # the throttler allows so many
            self.found.append((told, name, task, list(self.control.brokers.queues.names), verdict, None))
        return verdict

    def kind(self, task):
        """Kind of a decision about jobs."""
        if task.is_merging or task.is_scout:
            return "merge" if task.is_merging else "scout"
        return "raised" if task.ramcount > self.control.arrays.tasks["ramcount"][task.jeditaskid - 1] else "jobs"

    @staticmethod
    def name_of(told, task):
        """Name of the task, or of the merge job, in a snapshot."""
        for name, about in told.tasks.items():
            if (about.jeditaskid or name) in (task.jeditaskid, str(task.jeditaskid)) and (
                    about.next_jobs.merging == task.is_merging) and (
                        not task.is_merging or about.input_per_job == task.input_bytes_per_job):
                return name
        raise AssertionError(f"task {task.jeditaskid} waits and is not in the snapshot")


def decisions(file, changes, edition, folder, step):
    """Decisions of a run that are compared."""
    plan = load_scenario(SCENARIOS / file).with_values(
        changes | {"edition": edition, "warm_up": 0, "record.snapshots": [60], "record.snapshot_tasks": 100_000,
                   "agents.sampler": 1e6})
    with Simulation(plan, folder) as simulation:
        listener = Listener(simulation.control, step)
        simulation.run()
    return listener


@pytest.mark.parametrize(("file", "changes", "step", "kinds", "edition"), CASES)
def test_the_next_decision_is_that_of_the_dry_run(file, changes, step, kinds, edition, tmp_path, monkeypatch):
    monkeypatch.setattr(job_tables, "broker_jobs", None)       # cycles ask the brokers, to whom the test listens
    listener = decisions(file, changes, edition, tmp_path, step)
    assert kinds <= listener.heard.keys()
    for told, name, task, names, verdict, drawn in listener.found:
        answer = broker(told, name)
        assert_same(answer.task, vars(task), answer.brokerage)
        tags = [None if by == KEPT else verdict.tags[by] for by in verdict.refused_by]
        assert [(one.name, one.tag) for one in answer.candidates] == list(zip(names, tags, strict=True))
        weights = [one.weight if one.kept else 0.0 for one in answer.candidates]
        assert weights == pytest.approx(verdict.weight.tolist(), rel=1e-9)
        assert answer.drawn == drawn


def assert_same(dry, run, brokerage):
    """A view of a task has the values of another one's fields, by name."""
    pairs = {name: (getattr(dry, name), value) for name, value in run.items()
             if brokerage == "task_brokerage" or name not in NOT_OF_JOBS}
    assert not {name: (one, other) for name, (one, other) in pairs.items()
                if one != other and not (one != one and other != other)}
