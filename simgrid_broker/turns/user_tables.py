"""The tables of tasks of users in job generation: what analysis brokerage may know, where compiled turns read it."""

from typing import Protocol

import numpy as np

from simgrid_broker.names import ANALYSIS_LABELS, DecisionKind
from simgrid_broker.policy.brokerage.analysis.broker import broker_analysis, for_analysis, prepare, verdict_of
from simgrid_broker.policy.brokerage.analysis.decide import Tables, room
from simgrid_broker.policy.brokerage.analysis.gate import slots_of_class_a
from simgrid_broker.policy.brokerage.analysis.locality import input_room, why_unreadable
from simgrid_broker.policy.brokerage.analysis.question import TASK, AnalysisCase
from simgrid_broker.turns.plane import Plane
from simgrid_broker.turns.slots import Analysis
from simgrid_broker.turns.task_kinds import EqualRows, TaskKinds
from simgrid_broker.views import ANALYSIS_STORE, LOAD, USER, USER_AT, InputAt, Verdict
from simgrid_broker.world.jobs import loads
from simgrid_broker.world.jobs.counts import account_of_task
from simgrid_broker.world.tasks.rows import renewed
from simgrid_broker.world.views import observe
from simgrid_broker.world.views.users import user_figures, user_view

MOST_ARRAYS = 4096
"""First refusals by static rules, and marks, that are kept."""
READ = ("allows_incomplete", "avoid_vp", "bytes_per_job", "cloud", "excludedsite", "includedsite", "is_hpo",
        "is_scouting", "n_sites_per_job", "siteendpoint", "transuses", "uselocalio", "workinggroup")
"""Fields of a task that analysis brokerage reads, whether or not static rules read them, too."""


class Views(Protocol):
    """Views of the tasks of a turn."""

    def view(self, row: int, level: int = 0) -> tuple:
        """View of a task at a level of ramCount, and its input by site."""

    def input_at_queues(self, row: int) -> InputAt:
        """The input of a task at each PanDA queue."""


class UserTables:
    """The task of a user that is in hand, as analysis brokerage sees it.

    decides: whether a compiled turn brokers tasks of users; labels: which labels are theirs if they have a brokerage
    of their own; analysis: as `job_turn` reads it, replaced when something in it is.
    """

    first: EqualRows
    marks: EqualRows
    tables: Tables
    analysis: Analysis

    def __init__(self, control: Plane, work_queues: Views):
        policies, words = control.policies, control.world.vocabularies
        self.control, self.work_queues, self.brokerage = control, work_queues, policies.analysis_rules
        self.labels = np.isin(words["labels"], ANALYSIS_LABELS) & policies.asks_about_users
        self.decides = bool(self.labels.any()) and policies.analysis_brokerage is broker_analysis
        self.kinds = TaskKinds(self.brokerage.funnel.static, control.arrays.tasks, TASK, READ)
        self.is_fresh = np.zeros(1, bool)
        self.view = user_figures(control.world)
        self.of_users = (self.labels & self.decides)[control.arrays.tasks["label"]]
        self.renew(True, False, True)

    def renew(self, new_queues: bool, new_config: bool, new_statistics: bool) -> None:
        """Take over what was replaced: the description of the queues, gdpconfig, statistics."""
        new_queues |= len(self.first.number) + len(self.marks.number) > MOST_ARRAYS if hasattr(self, "first") else True
        if new_queues:
            n = len(self.control.brokers.queues.records)
            self.first, self.marks = EqualRows(n, np.int16), EqualRows(n, np.int64)
        if new_queues or new_config:
            self.kinds.forget(self.control.arrays.tasks)
        if new_queues:
            self._bundle()
        if new_queues or new_statistics:
            self.is_fresh[0] = False

    def look(self, sources: np.ndarray) -> None:
        """Take over the numbers of users; sources: of `ViewTables`."""
        self.view = user_figures(self.control.world)
        if self.tables.sources is not sources:
            self.tables = self.tables.with_arrays(sources=sources)

    def forget(self, rows: np.ndarray) -> None:
        """Forget the tasks that were in some rows."""
        world = self.control.world
        self.of_users = renewed(world, self.of_users, rows, False)
        self.of_users[rows] = (self.labels & self.decides)[world.arrays.tasks["label"][rows]]
        self.kinds.renew(world.arrays.tasks)
        self.analysis = self.analysis.with_arrays(decides=self.of_users)

    def current(self) -> Analysis:
        """The tables as they are now."""
        analysis, kinds = self.analysis, self.kinds.tables
        if analysis.kinds is not kinds or analysis.tables is not self.tables or analysis.users is not self.view:
            self.analysis = analysis = analysis.with_arrays(kinds=kinds, tables=self.tables, users=self.view)
        return analysis

    def prepare(self, row: int, level: int) -> int:
        """Describe a task at a level of ramCount, and with it its kind, which is returned."""
        control, brokers = self.control, self.control.brokers
        task, _ = self.work_queues.view(row, level)
        described = prepare(self.brokerage, task, brokers.queues, control.cfg, brokers.cache)
        first, marks = self.first.table, self.marks.table
        rows = self.first.row_of(described.first), self.marks.row_of(described.marks)
        if first is not self.first.table or marks is not self.marks.table:
            self.analysis = self.analysis.with_arrays(first=self.first.table, marks=self.marks.table)
        return self.kinds.add(control.arrays, row, level, described.record, rows)

    def read(self, row: int) -> None:
        """Put the numbers of a task's share, and the storages, into the tables."""
        world, snapshot = self.control.world, self.control.brokers.snapshot
        loads.load_row(world, snapshot, account_of_task(world.arrays, row), None)
        if not self.is_fresh[0]:
            shown = observe.analysis_stores_known(world, snapshot)
            self.tables.store.view(np.uint8)[:] = shown.view(np.uint8)     # NumPy copies field by field otherwise
            self.is_fresh[0] = True

    def verdict(self, row: int, level: int, n_best: int) -> Verdict:
        """The decision in hand, about a task at a level of ramCount, which shares the columns of the tables."""
        world, cfg = self.control.world, self.control.cfg
        task, _ = self.work_queues.view(row, level)

        def case() -> AnalysisCase:
            user = user_view(world, row, float(world.state["now_s"]), slots_of_class_a(cfg))
            given = self.work_queues.input_at_queues(row)
            failure = why_unreadable(given, int(self.tables.task[0]["unreadable"]), cfg)
            return AnalysisCase(task, self.control.brokers.queues, self.brokerage.edition, cfg, user, failure)
        return verdict_of(self.brokerage, self.tables, n_best, case)

    def _bundle(self) -> None:
        """Gather the tables again."""
        control, log, brokerage = self.control, self.control.books.decisions, self.brokerage
        queues, world = control.brokers.queues, control.world
        n, n_queues = len(queues.records), len(world.arrays.queues)
        self.tables = Tables(
            terms=brokerage.terms.copy(), task=np.zeros(1, TASK), queues=queues.records, load=np.zeros(n_queues, LOAD),
            user=np.zeros(n_queues, USER_AT), owner=np.zeros(1, USER), store=np.zeros(n_queues, ANALYSIS_STORE),
            for_analysis=for_analysis(queues, n_queues), sources=world.view_tables.sources,
            **input_room(1 + len(world.arrays.bunches), n_queues),
            first=np.zeros(n, np.int16), marks=np.zeros(n, np.int64), concern=brokerage.concern,
            **room(n, n_queues, len(brokerage.factors)))
        self.analysis = Analysis(
            tables=self.tables, kinds=self.kinds.tables, users=self.view, decides=self.of_users,
            is_fresh=self.is_fresh, first=self.first.table, marks=self.marks.table,
            site=world.places.site, counts=log.of_users, is_counted=log.users_counted,
            ranks=log.steps(DecisionKind.ANALYSIS_BROKERAGE, brokerage.tags).ranks)
