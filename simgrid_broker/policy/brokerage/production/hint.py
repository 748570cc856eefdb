"""Hints of job brokerage to task brokerage: which pseudo-queues could run the jobs of a task at all.

They survive all criteria but caps and weights. No nucleus is set, no queue is pre-assigned, and of the input only its
completeness is looked at. Source: brokerage reference, 1.2 (hint mode).
"""

from collections.abc import Hashable

import numpy as np

from simgrid_broker.compiled import compiled
from simgrid_broker.policy.brokerage.production.broker import NO_PARTS, NO_REPLICAS, ask_about_input, ask_about_nucleus
from simgrid_broker.policy.brokerage.production.candidates import for_hint
from simgrid_broker.policy.brokerage.production.decide import ASKED, Tables, last_first, room
from simgrid_broker.policy.brokerage.production.editions import JobBrokerage
from simgrid_broker.policy.brokerage.production.question import TASK, JobCase, task_record
from simgrid_broker.policy.brokerage.production.storage import readable
from simgrid_broker.policy.funnel import MaskCache
from simgrid_broker.views import Gdpconfig, InputDataset, Queues, Stats, Task

RAW = f"V{TASK.itemsize}"
"""NumPy copies structured rows field by field otherwise."""
FIRST_ROWS = 64
"""Room for first refusals by static criteria at first; it doubles when it is used up."""


class Hints:
    """Hints about many tasks while queues and gdpconfig stay as they are; tables are made once.

    stats: as for a task without nucleus, but with a table of `load`, (n_loads, n_queues); groups: number of the group
    of each pseudo-queue, (n_pseudo_queues,), -1 = it is not looked at, None = each is a group; cache: of the grid of
    `queues`. tables: of which the first row is asked, replaced when statistics are.
    """

    def __init__(self, brokerage: JobBrokerage, queues: Queues, stats: Stats, cfg: Gdpconfig,
                 groups: np.ndarray | None = None, cache: MaskCache | None = None):
        self.brokerage, self.queues, self.cfg = brokerage, queues, cfg
        groups = np.arange(len(queues.records)) if groups is None else groups
        self.about = np.flatnonzero(groups >= 0)
        self.groups, self.never = groups[self.about], brokerage.funnel.never
        self.cache = MaskCache() if cache is None else cache
        self.rows: dict[Hashable, int] = {}
        asked, n = np.zeros(1, ASKED), len(self.about)
        first = np.zeros((FIRST_ROWS, n), np.int16)
        asked["hint"], asked["parts"] = True, -1
        ask_about_nucleus(asked[0], stats)
        self.tables = Tables(
            asked=asked, task=np.zeros(1, TASK), **NO_REPLICAS, **brokerage.order._asdict(),
            queues=queues.records[self.about], load=stats.load, link=stats.link[None], store=stats.store,
            parts=NO_PARTS, first=first, open=last_first(first), static_weight=np.ones((1, n)),
            **room(n, 1, len(brokerage.candidate_factors)))

    def renew(self, stats: Stats) -> None:
        """Take over new statistics."""
        self.tables = self.tables.with_arrays(load=stats.load, link=stats.link[None], store=stats.store)

    def ask(self, task: Task, inputs: tuple[InputDataset, ...] = (), load: int = 0) -> None:
        """Ask about a task: `tables.refused_by` is then the rank of the first refusal; load: row of the table."""
        record, row = self.prepare(task)
        self.tables.task.view(RAW)[:] = record.view(RAW)
        asked = self.tables.asked[0]
        asked["first"], asked["load"] = row, load
        ask_about_input(asked, readable(inputs, task, self.cfg))
        self.brokerage.decide(self.tables, 0)

    def prepare(self, task: Task) -> tuple[np.ndarray, int]:
        """Part of a question common to tasks of one kind: the record, (1,), and its row of `tables.first`."""
        task = for_hint(task)
        return task_record(task, self.cfg, self.brokerage.edition), self._row_of(task)

    def groups_possible(self, asked: np.ndarray) -> np.ndarray:
        """Which of the groups asked, (n_groups,) bool, have a pseudo-queue that could run jobs of the last task."""
        found = np.zeros(len(asked), bool)
        find_groups(self.tables.refused_by, self.never, self.groups, asked, found)
        return found

    def _row_of(self, task: Task) -> int:
        """Row of the first refusals by static criteria."""
        requirement = self.brokerage.funnel.requirement(task)
        if requirement not in self.rows:
            if len(self.rows) == len(self.tables.first):
                self._grow()
            row = self.rows[requirement] = len(self.rows)
            case = JobCase(task, self.queues, self.brokerage.edition)
            first = self.cache.first_refusals(self.brokerage.funnel, case)[self.about]
            self.tables.first[row], self.tables.open[row] = first, last_first(first[None])[0]
        return self.rows[requirement]

    def _grow(self) -> None:
        """Make room for as many first refusals again."""
        old = {name: getattr(self.tables, name) for name in ("first", "open")}
        self.tables = self.tables.with_arrays(
            **{name: np.concatenate([column, np.zeros_like(column)]) for name, column in old.items()})


@compiled
def find_groups(refused_by, never, groups, asked, found):
    """Mark the groups asked, (n_groups,) bool, that have a candidate without a refusal; groups: of each, (n,)."""
    for k in range(len(groups)):
        if refused_by[k] == never and asked[groups[k]]:
            found[groups[k]] = True
