"""Of agents that wake at the same time, those that stand first in `AGENTS` come first; the fabric before them all."""

from functools import partial

import numpy as np
from builders import S, Stage, scenario

from simgrid_broker.agents import AGENTS, control, start_agents

PERIODS = dict.fromkeys(("task_commando", "task_refiner", "task_broker", "job_generator", "setupper",
                         "pilot_streaming", "harvester_submitter", "harvester_monitor", "adder", "post_processor",
                         "watch_dog", "copy_archive", "transfer_optimiser", "network_metrics", "share_tree",
                         "gdpconfig", "statistics", "share_order", "sampler", "reaper"), 60)


def test_agents_of_one_moment_come_in_the_order_of_the_list(monkeypatch):
    monkeypatch.setattr(control.luck, "uniforms", lambda *key: np.float64(0.0))
    stage = Stage((), scenario(agents=PERIODS), {})
    woken = []
    every = control.Control.every

    def watched(self, period, work, name, _rests=None):
        def noted():
            woken.append((self.now, name))
            work()
        return every(self, period, noted, name)
    calendar = control.Control.calendar

    def watched_together(self, period, works, reader):
        for one in works:
            one.cycle = partial(woken_by, self, one)
        return calendar(self, period, works, reader)

    def woken_by(self, one):
        woken.append((self.now, one.name))
        return type(one).cycle(one)
    monkeypatch.setattr(control.Control, "every", watched)
    monkeypatch.setattr(control.Control, "calendar", watched_together)
    start_agents(stage.control)
    stage.run(61.0)
    names = ["reaper", "transfer_optimiser", "network_metrics", "share_tree", "gdpconfig", "statistics", "share_order",
             "taskcmd", "refiner", "taskbroker", "adder", "postprocessor", "watchdog", "prodwatchdog", "copyarchive",
             "jobgen All SCORE", "setupper", "pilots", "harvester_submitter", "harvester_monitor"]
    assert [(now, name) for now, name in woken] == [(now, name) for now in (0.0, 60.0) for name in names]


def test_every_agent_is_started():
    stage = Stage((), None, {})
    start_agents(stage.control)
    assert len(AGENTS) == 40
    stage.run(1.0)
    assert stage.control.books.live_tasks.rows.tolist() == [0]           # the source has run
    assert "storages" in stage.kept                                # and the sampler


def test_the_fabric_comes_before_agents_of_the_same_time():
    seen = []

    def looker(controls):
        yield controls.env.timeout(100.0)
        seen.append([S(status).word for status in controls.arrays.jobs["status"][:1]])

    stage = Stage((looker,))
    stage.submit()
    stage.workers()
    stage.run(101.0)
    assert seen == [["holding"]]                                   # the payload ended at 100 s


def test_time_of_the_world_follows_that_of_the_agents():
    stage = Stage(())
    stage.run(77.0)
    assert stage.world.state["now_s"] == 77.0
