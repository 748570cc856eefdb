"""A snapshot that a run writes makes the brokers decide as they would have in the run at that moment."""

from pathlib import Path

import numpy as np
import pytest
from builders import EVENTFUL

from simgrid_broker.dry_run import broker
from simgrid_broker.editions import edition_of
from simgrid_broker.engine import Simulation
from simgrid_broker.names import TaskStatus
from simgrid_broker.scenario import load_scenario, load_snapshot
from simgrid_broker.views import KEPT
from simgrid_broker.world.snapshot.tasks import waiting
from simgrid_broker.world.views import observe
from simgrid_broker.world.views.nuclei import Burden

SCENARIOS = Path(__file__).parents[2] / "scenarios"
PUSHED = {"gdpconfig.jobbroker.MAX_PRIO_TO_BOOTSTRAP": 2000, "shares.Production.value": 70,
          "grid.queues.NORTH.fairsharepolicy": "type=simul:0%", "grid.queues.SOUTH.maxwdir": "1 MB",
          "workload.campaigns[0].ramcount": 700, "workload.campaigns[0].iointensity": 500,
          "workload.campaigns[0].input_per_event": "100 MB", "workload.campaigns[0].replicas.tape": 0.5,
          "workload.campaigns[0].backlog_time": 7 * 3600, "agents.task_broker": 3000, "gdpconfig.DISK_THRESHOLD": -1000}
"""What lets tasks of both kinds wait, and rules of many kinds speak."""
CASES = [pytest.param("minimal.yaml", EVENTFUL | PUSHED, 5400.0, edition, id=f"eventful, {edition}")
         for edition in ("documented", "deployed")]
SLOW = {"agents.task_broker": 3000, "agents.job_generator": 1200}
CASES += [pytest.param("full_chain.yaml", SLOW, at, edition, id=f"full chains, {edition}")
          for at, edition in ((7200.0, "documented"), (14400.0, "deployed"))]
THIN = {"agents.job_generator": 2400, "gdpconfig.NQUEUED_SAT_CAP": 100, "workload.campaigns[0].backlog_time": "8h"}
CASES += [pytest.param("network_weight.yaml", THIN, 4 * 3600.0, edition, id=f"a thin line, {edition}")
          for edition in ("documented", "deployed")]
CASES += [pytest.param("quickstart.yaml", {"agents.task_broker": 3000}, 5 * 3600.0, "deployed",
                       id="queues of all kinds, of which one class is chosen, deployed")]


def verdicts_now(control):
    """jeditaskid of each task that waits to its candidates: name to (tag, weight)."""
    world, tasks, found = control.world, control.arrays.tasks, {}
    for row in waiting(world, control.books.live_tasks.rows)[:control.world.scenario.record.snapshot_tasks].tolist():
        is_new = tasks["status"][row] == TaskStatus.ASSIGNING or tasks["old_status"][row] == TaskStatus.ASSIGNING
        if is_new and tasks["nucleus"][row] < 0:
            burden = Burden(world, control.books.live_tasks.rows)
            _, seen, verdict = control.brokers.nucleus_for(row, burden)
            names = [world.vocabularies["sites"][site] for site in seen.site]
        else:
            wanted = int(tasks["n_retry"][row] + tasks["n_jobs"][row] - tasks["next_chunk"][row])
            task, brokers = observe.task(world, row), control.brokers
            verdict = (brokers.analysis_queues_for(row, task, wanted, cache=False) if brokers.is_asked_about_users(task)
                       else brokers.queues_for(task, observe.job_input(world, row), wanted, cache=False))
            names = control.brokers.queues.names
        tags = [None if by == KEPT else verdict.tags[by] for by in verdict.refused_by]
        found[int(tasks["jeditaskid"][row])] = dict(zip(names, zip(tags, verdict.weight.tolist(), strict=True),
                                                        strict=True))
    return found


@pytest.mark.parametrize(("file", "changes", "at", "edition"), CASES)
def test_brokers_decide_as_in_the_run(file, changes, at, edition, tmp_path):
    plan = load_scenario(SCENARIOS / file).with_values(
        changes | {"edition": edition, "record.snapshots": [at], "duration": at + 60, "warm_up": 0,
                   "incidents": []})
    expected = {}
    with Simulation(plan, tmp_path) as simulation:
        keep = simulation.keep_snapshot

        def keep_and_decide(values):
            keep(values)
            expected.update(verdicts_now(simulation.control))
        simulation.keep_snapshot = keep_and_decide
        simulation.run()
    snapshot = load_snapshot(tmp_path / "snapshots" / f"t={at:.15g}.yaml")
    assert [int(number) for number in snapshot.tasks] == list(expected) and expected
    for number, candidates in expected.items():
        answer = broker(snapshot, number)
        assert answer.edition == edition_of(edition).name
        assert {each.name: each.tag for each in answer.candidates} == {name: of[0] for name, of in candidates.items()}
        weights = np.array([each.weight if each.kept else 0.0 for each in answer.candidates])
        assert weights == pytest.approx([weight for _, weight in candidates.values()], rel=1e-9)


def test_a_run_is_the_same_with_and_without_snapshots(tmp_path):
    base = load_scenario(SCENARIOS / "minimal.yaml").with_values({"duration": 7200, "warm_up": 0})
    from simgrid_broker.engine import simulate
    plain = simulate(base, folder=tmp_path / "plain").jobs
    seen = simulate(base.with_values({"record.snapshots": [1800, 3600]}), folder=tmp_path / "seen").jobs
    assert plain.equals(seen)
    assert sorted(path.name for path in (tmp_path / "seen" / "snapshots").iterdir()) == ["t=1800.yaml", "t=3600.yaml"]
    assert not (tmp_path / "plain" / "snapshots").exists()


def test_no_more_tasks_than_wanted_and_those_of_the_highest_priority(tmp_path):
    from simgrid_broker.engine import simulate
    base = load_scenario(SCENARIOS / "minimal.yaml").with_values(
        {"duration": 900, "warm_up": 0, "record.snapshots": [600], "record.snapshot_tasks": 3,
         "agents.job_generator": 90_000})
    simulate(base, folder=tmp_path)
    tasks = load_snapshot(tmp_path / "snapshots" / "t=600.yaml").tasks
    assert [task.priority for task in tasks.values()] == [1000] * 3
