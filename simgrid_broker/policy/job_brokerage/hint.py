"""Hints of job brokerage to task brokerage: which pseudo-queues could run the jobs of a task at all.

They survive all criteria but caps and weights. No nucleus is set, no queue is pre-assigned, and of the input only its
completeness is looked at. Source: brokerage reference, 1.2 (hint mode).
"""

from collections.abc import Hashable

import numpy as np

from simgrid_broker.policy.funnel import MaskCache
from simgrid_broker.policy.job_brokerage.broker import NO_PARTS, NO_REPLICAS, ask_about_input, ask_about_nucleus
from simgrid_broker.policy.job_brokerage.completeness import readable
from simgrid_broker.policy.job_brokerage.decide import ASKED, Tables, room
from simgrid_broker.policy.job_brokerage.editions import JobBrokerage
from simgrid_broker.policy.job_brokerage.preliminary import for_hint
from simgrid_broker.policy.job_brokerage.question import TASK, JobCase, task_record
from simgrid_broker.views import Gdpconfig, InputDataset, Queues, Stats, Task


def broker_hint(brokerage: JobBrokerage, task: Task, queues: Queues, stats: Stats, cfg: Gdpconfig,
                inputs: tuple[InputDataset, ...] = ()) -> np.ndarray:
    """Pseudo-queues that could run jobs of a task, (n,) bool; inputs: datasets of the task."""
    return Hints(brokerage, queues, stats._replace(load=stats.load[None]), cfg).possible(task, inputs).copy()


class Hints:
    """Hints about many tasks while queues, statistics and gdpconfig stay as they are; tables are made once.

    stats: as for a task without nucleus, but with a table of `load`, (n_loads, n_queues); about: numbers of the
    pseudo-queues that are looked at, (n,), None = all; cache: of the grid of `queues`.
    """

    def __init__(self, brokerage: JobBrokerage, queues: Queues, stats: Stats, cfg: Gdpconfig,
                 about: np.ndarray | None = None, cache: MaskCache | None = None):
        self.brokerage, self.queues, self.cfg = brokerage, queues, cfg
        self.about = np.arange(len(queues.records)) if about is None else about
        self.cache = MaskCache() if cache is None else cache
        self.firsts: dict[Hashable, np.ndarray] = {}
        asked, n = np.zeros(1, ASKED), len(self.about)
        asked["hint"], asked["parts"] = True, -1
        ask_about_nucleus(asked[0], stats)
        self.tables = Tables(
            asked=asked, task=np.zeros(1, TASK), **NO_REPLICAS, **brokerage.order._asdict(),
            queues=queues.records[self.about], load=stats.load, link=stats.link[None], store=stats.store,
            parts=NO_PARTS, first=np.empty((1, n), np.int16), static_weight=np.ones((1, n)), **room(n, 1))

    def possible(self, task: Task, inputs: tuple[InputDataset, ...] = (), load: int = 0) -> np.ndarray:
        """Which of the pseudo-queues could run jobs of a task, (n,) bool, until the next task; load: row of the table.
        """
        task, tables = for_hint(task), self.tables
        tables.task[0] = task_record(task, self.cfg, self.brokerage.edition)[0]
        tables.first[0] = self._first(task)
        asked = tables.asked[0]
        asked["load"] = load
        ask_about_input(asked, readable(inputs, task, self.cfg))
        self.brokerage.decide(tables, 0)
        return tables.refused_by == self.brokerage.funnel.never

    def _first(self, task: Task) -> np.ndarray:
        """First refusals by static criteria, (n,)."""
        requirement = self.brokerage.funnel.requirement(task)
        if requirement not in self.firsts:
            case = JobCase(task, self.queues, self.brokerage.edition)
            self.firsts[requirement] = self.cache.first_refusals(self.brokerage.funnel, case)[self.about]
        return self.firsts[requirement]
