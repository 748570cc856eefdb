"""Hints of job brokerage to task brokerage: which pseudo-queues could run the jobs of a task at all.

They survive all criteria but caps and weights. No nucleus is set, no queue is pre-assigned, and of the input only its
completeness is looked at. Source: brokerage reference, 1.2 (hint mode).
"""

from collections.abc import Hashable

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.policy.funnel import MaskCache
from simgrid_broker.policy.job_brokerage.broker import NO_PARTS, NO_REPLICAS, ask_about_input, ask_about_nucleus
from simgrid_broker.policy.job_brokerage.completeness import readable
from simgrid_broker.policy.job_brokerage.decide import ASKED, Tables, open_of, room
from simgrid_broker.policy.job_brokerage.editions import JobBrokerage
from simgrid_broker.policy.job_brokerage.preliminary import for_hint
from simgrid_broker.policy.job_brokerage.question import TASK, JobCase, task_record
from simgrid_broker.views import Gdpconfig, InputDataset, Queues, Stats, Task

RAW = f"V{TASK.itemsize}"
"""NumPy copies structured rows field by field otherwise."""


def broker_hint(brokerage: JobBrokerage, task: Task, queues: Queues, stats: Stats, cfg: Gdpconfig,
                inputs: tuple[InputDataset, ...] = ()) -> np.ndarray:
    """Pseudo-queues that could run jobs of a task, (n,) bool; inputs: datasets of the task."""
    hints = Hints(brokerage, queues, stats._replace(load=stats.load[None]), cfg)
    hints.ask(task, inputs)
    return hints.groups_possible(np.ones(len(queues.records), bool))


class Hints:
    """Hints about many tasks while queues, statistics and gdpconfig stay as they are; tables are made once.

    stats: as for a task without nucleus, but with a table of `load`, (n_loads, n_queues); groups: number of the group
    of each pseudo-queue, (n_pseudo_queues,), -1 = it is not looked at, None = each is a group; cache: of the grid of
    `queues`.
    """

    def __init__(self, brokerage: JobBrokerage, queues: Queues, stats: Stats, cfg: Gdpconfig,
                 groups: np.ndarray | None = None, cache: MaskCache | None = None):
        self.brokerage, self.queues, self.cfg = brokerage, queues, cfg
        groups = np.arange(len(queues.records)) if groups is None else groups
        self.about = np.flatnonzero(groups >= 0)
        self.groups, self.never = groups[self.about], brokerage.funnel.never
        self.cache = MaskCache() if cache is None else cache
        self.firsts: dict[Hashable, dict[str, np.ndarray]] = {}
        self.requirement: Hashable = None
        asked, n = np.zeros(1, ASKED), len(self.about)
        first = np.zeros((1, n), np.int16)
        asked["hint"], asked["parts"] = True, -1
        ask_about_nucleus(asked[0], stats)
        self.tables = Tables(
            asked=asked, task=np.zeros(1, TASK), **NO_REPLICAS, **brokerage.order._asdict(),
            queues=queues.records[self.about], load=stats.load, link=stats.link[None], store=stats.store,
            parts=NO_PARTS, first=first, **open_of(brokerage, first, hint=True),
            static_weight=np.ones((1, n)),
            **room(n, 1, len(brokerage.candidate_factors)))
        self.task, self.asked = self.tables.task.view(RAW), self.tables.asked[0]

    def ask(self, task: Task, inputs: tuple[InputDataset, ...] = (), load: int = 0) -> None:
        """Ask about a task: `tables.refused_by` is then the rank of the first refusal; load: row of the table."""
        task, tables = for_hint(task), self.tables
        self.task[:] = task_record(task, self.cfg, self.brokerage.edition).view(RAW)
        self._close(task)
        self.asked["load"] = load
        ask_about_input(self.asked, readable(inputs, task, self.cfg))
        self.brokerage.decide(tables, 0)

    def groups_possible(self, asked: np.ndarray) -> np.ndarray:
        """Which of the groups asked, (n_groups,) bool, have a pseudo-queue that could run jobs of the last task."""
        found = np.zeros(len(asked), bool)
        find_groups(self.tables.refused_by, self.never, self.groups, asked, found)
        return found

    def _close(self, task: Task) -> None:
        """Enter the first refusals by static criteria, unless they are those of the last task."""
        requirement = self.brokerage.funnel.requirement(task)
        if requirement == self.requirement:
            return
        if requirement not in self.firsts:
            case = JobCase(task, self.queues, self.brokerage.edition)
            first = self.cache.first_refusals(self.brokerage.funnel, case)[self.about][None]
            self.firsts[requirement] = dict(first=first, **open_of(self.brokerage, first, hint=True))
        self.requirement, self.tables.shown[0] = requirement, -1
        for name, column in self.firsts[requirement].items():
            getattr(self.tables, name)[:] = column


@compiled
def find_groups(refused_by, never, groups, asked, found):
    """Mark the groups asked, (n_groups,) bool, that have a candidate without a refusal; groups: of each, (n,)."""
    for k in range(len(groups)):
        if refused_by[k] == never and asked[groups[k]]:
            found[groups[k]] = True
