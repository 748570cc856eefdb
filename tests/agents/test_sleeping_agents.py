"""Agents that sleep until something they read has changed leave what agents leave that always look."""

import heapq
import itertools
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import simpy
from builders import Stage, assert_same_tables
from hypothesis import given
from hypothesis import strategies as st

from simgrid_broker.agents import control
from simgrid_broker.engine import simulate
from simgrid_broker.ledgers.dues import Dues
from simgrid_broker.scenario import Scenario
from simgrid_broker.scenario.loading.loader import load_scenario
from simgrid_broker.world.arrays import STATE

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def run_of(folder, file, hours):
    """Some hours of a scenario of the project."""
    return simulate(load_scenario(SCENARIOS / f"{file}.yaml").with_values({"duration": hours * 3600, "warm_up": 0}),
                    folder=folder)


@pytest.mark.parametrize(("file", "hours"), [("full_chain", 8), ("scouts", 4), ("task_commands", 25), ("merging", 5)])
def test_sleeping_agents_leave_the_same_rows(file, hours, tmp_path, monkeypatch):
    sleeping = run_of(tmp_path / "sleeping", file, hours)
    monkeypatch.setattr(control, "AWAKE", True)
    awake = run_of(tmp_path / "awake", file, hours)
    assert sleeping.manifest["coverage"]["agents"] == awake.manifest["coverage"]["agents"]
    assert_same_tables(sleeping.folder, awake.folder)


RARE = {
    "name": "rare", "duration": "60h", "shares": [{"name": "Production", "value": 1, "prodsourcelabel": "managed"}],
    "grid": {"sites": {"A": {"tier": 1, "cores": 800, "nucleus": True, "failure_rate": 0.5}},
             "queues": {"A": {"atlas_site": "A", "corepower": 10}},
             "storages": {"A_DISK": {"site": "A", "total": "2 PB", "free": "1 PB"}}},
    "workload": {"campaigns": [{"name": "first", "offered_cores": 20, "jobs_per_task": {"median": 100},
                                "hs06sec_per_event": {"median": 100}, "max_attempt": 1}]},
    "incidents": [{"what": "task_command", "task": "first", "command": "retry", "at": at} for at in ("20h", "50h")]}
"""One task, which is retried twice when nothing else is to be done."""


def test_agents_rest_until_a_task_arrives_or_a_command_is_given(tmp_path, monkeypatch):
    found, looks = [], []
    act = control.act
    monkeypatch.setattr(control, "act", lambda *work: looks.append(None) or act(*work))
    for is_awake in (False, True):
        monkeypatch.setattr(control, "AWAKE", is_awake)
        found.append((simulate(Scenario.from_dict(RARE), folder=tmp_path / str(is_awake)), len(looks)))
    (resting, few), (awake, both) = found
    assert few < 0.6 * (both - few)
    assert [command["n_done"] for command in resting.manifest["commands"]] == [1, 1]
    assert resting.manifest["coverage"]["agents"] == awake.manifest["coverage"]["agents"]
    assert_same_tables(resting.folder, awake.folder)


def test_a_job_that_outlives_its_task_is_work():
    stage = Stage(())
    stage.control.books.live_tasks.remove(stage.control.books.live_tasks.rows)
    assert not stage.control.books.has_work()
    stage.submit()
    assert stage.control.books.has_work()


def test_an_agent_sleeps_while_the_versions_of_what_it_reads_stay():
    found = control.Control.__new__(control.Control)
    found.inputs = {}
    asked = [("a", 1, 1), ("a", 1, 1), ("b", 1, 1), ("a", 1, 2), ("a", 1, 2), ("a", 1, 1)]
    assert [found.is_unchanged(*one) for one in asked] == [False, True, False, False, True, False]


class Office:
    """Three desks that look for work every minute, of which there is some at one desk from 1000 s to 2000 s."""

    def __init__(self, awake, monkeypatch):
        monkeypatch.setattr(control, "AWAKE", awake)
        self.env, self.done, self.looks = simpy.Environment(), [], 0
        world = SimpleNamespace(n_moves=0, arrays=SimpleNamespace(state=np.zeros(1, STATE)))
        self.control = SimpleNamespace(env=self.env, seed=1, due={}, cycles={}, periodic=[], world=world)
        desks = [SimpleNamespace(name=name, cycle=lambda name=name: self.look(name)) for name in "abc"]
        self.has_input, self.read_at, self.age_s = np.array([False, True, False]), 0.0, 1e9
        self.env.process(control.Control.calendar(self.control, 60.0, desks, self))
        self.env.process(self.open())

    def open(self):
        yield self.env.timeout(1000.0)
        control.Control.wake(self.control)
        yield self.env.timeout(1000.0)

    def sleeps(self):
        return not 1000 <= self.env.now < 2000

    def pass_by(self, at):
        pass

    def look(self, name):
        self.looks += 1
        if name == "b" and not self.sleeps():
            self.done.append(self.env.now)

    def close(self):
        self.env.run(until=3000.0)
        return self.done, control.Control.cycles_so_far(self.control)


def test_a_calendar_skips_cycles_without_work_and_counts_them(monkeypatch):
    asleep = Office(False, monkeypatch)
    found = asleep.close()
    awake = Office(True, monkeypatch)
    assert found == awake.close()
    assert len(found[0]) in (16, 17) and asleep.looks < 20 < awake.looks == 150


@given(times=st.lists(st.integers(0, 12), min_size=1, max_size=6), data=st.data())
def test_idle_cycles_are_skipped_in_the_order_of_a_heap(times, data):
    """Works of one time follow each other as they were put off."""
    has_input = data.draw(st.lists(st.booleans(), min_size=len(times), max_size=len(times)))
    work = SimpleNamespace(has_input=np.array(has_input), read_at=0.0, age_s=data.draw(st.integers(1, 60)))
    dues, heap, expected = Dues(np.array(times, float)), [(at, n, n) for n, at in enumerate(times)], []
    heapq.heapify(heap)
    numbers = itertools.count(len(times))
    for delay in data.draw(st.lists(st.integers(1, 9), max_size=4)):
        assert dues.first() == (heap[0][2], heap[0][0])
        dues.put_off(heap[0][2], delay)
        heapq.heapreplace(heap, (heap[0][0] + delay, next(numbers), heap[0][2]))
    while not has_input[heap[0][2]] and heap[0][0] < work.age_s:
        expected.append(heap[0][0])
        heapq.heapreplace(heap, (heap[0][0] + 5, next(numbers), heap[0][2]))
    assert dues.skip_idle(5, work) == expected
    assert dues.first() == (heap[0][2], heap[0][0])
