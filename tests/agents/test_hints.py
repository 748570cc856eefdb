"""Hints to the task brokerage: tables that are made once say the same as tables that are made for each task."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from builders import EVENTFUL, broker_hint

from simgrid_broker.engine import Simulation
from simgrid_broker.names import EDITIONS
from simgrid_broker.scenario import load_scenario
from simgrid_broker.turns import task_tables
from simgrid_broker.turns.brokers import Brokers
from simgrid_broker.world.views import observe

SCENARIOS = Path(__file__).parents[2] / "scenarios"
CHANGES = {"agents.task_broker": 300, "gdpconfig.DISK_THRESHOLD": -1000, "duration": "5h", "warm_up": 0,
           "grid.sites.NORTH.nucleus": True, "workload.campaigns[0].replicas.tape": 0.5,
           "workload.campaigns[0].input_per_event": "10 MB", "workload.campaigns[0].backlog_time": 7 * 3600,
           "incidents": [dict(at=3600, what="queue_status", queue="SOUTH", status="brokeroff"),
                         dict(at=7200, what="storage_status", storage="CENTRE_DATADISK", activity="read_lan",
                              status="OFF")]}
"""Two nuclei, one of which cannot read its input from some time on."""


def asked_of_all_queues(brokers, row, task, site, asked):
    """Which of the nuclei have a queue for the jobs of a task, by all queues and without anything that was kept."""
    world, policies = brokers.world, brokers.policies
    stats = observe.stats(world, brokers.snapshot, task.share, resource_type=brokers._type_asked(task))
    stats = stats._replace(link=observe.links_of_hint(world, stats.link))
    possible = broker_hint(policies.job_rules, task, brokers.queues, stats, policies.cfg, observe.datasets(world, row))
    return asked & np.isin(site, brokers.queues.site[possible])


@pytest.mark.slow
@pytest.mark.parametrize("edition", EDITIONS)
def test_what_is_kept_changes_no_hint_of_a_run(edition, tmp_path, monkeypatch):
    plan = load_scenario(SCENARIOS / "minimal.yaml").with_values(EVENTFUL | CHANGES | {"edition": edition})
    able, answers = Brokers._able, []

    def both(brokers, row, task, site, is_whole, asked):
        kept = able(brokers, row, task, site, is_whole, asked)
        assert kept.tolist() == asked_of_all_queues(brokers, row, task, site, asked).tolist()
        answers.append((kept.sum(), asked.sum()))
        return kept

    monkeypatch.setattr(task_tables, "broker_task", None)      # turns ask as they ask an own brokerage
    monkeypatch.setattr(Brokers, "_able", both)
    with Simulation(plan, tmp_path) as simulation:
        simulation.run()
    assert {(1, 2), (2, 2)} <= set(answers)


@pytest.mark.parametrize("change", [
    pytest.param(lambda control: control.world.network.forget_ways(), id="another reading of the ways"),
    pytest.param(lambda control: control.brokers.refresh_queues(), id="another description of the queues"),
    pytest.param(lambda control: control.policies.set_config("taskbrokerage.INPUT_NUM_THRESHOLD", 7), id="a key"),
    pytest.param(lambda control: None, id="nothing"),
])
def test_tables_are_made_again_when_something_has_changed(change, request, tmp_path):
    plan = load_scenario(SCENARIOS / "minimal.yaml").with_values({"duration": "1min", "warm_up": 0})
    with Simulation(plan, tmp_path) as simulation:
        control = simulation.control
        ask = partial(control.brokers.hints_about, np.array([0]))
        before = ask().tables
        change(control)
        assert (ask().tables is before) is ("nothing" in request.node.callspec.id)
