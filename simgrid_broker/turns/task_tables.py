"""The tables of task brokerage in a run: what brokers may know, put where compiled turns (`task_cycle`) read it."""

from collections.abc import Callable, Iterator

import numpy as np

from simgrid_broker.compiled import compiled_with, uncompiled
from simgrid_broker.names import DecisionKind
from simgrid_broker.policy.brokerage.production.hint import Hints
from simgrid_broker.policy.brokerage.production.question import TASK as OF_JOBS
from simgrid_broker.policy.brokerage.task.broker import broker_task, figures
from simgrid_broker.policy.brokerage.task.question import TASK, templates
from simgrid_broker.turns.broker_rules import reason_at
from simgrid_broker.turns.brokers import WhyNot
from simgrid_broker.turns.plane import Plane
from simgrid_broker.turns.task_cycle import TURN, Desk, Listed, go_on
from simgrid_broker.turns.task_kinds import UNKNOWN, TaskKinds
from simgrid_broker.views import NUCLEUS, Gdpconfig, Verdict
from simgrid_broker.world.jobs import loads
from simgrid_broker.world.views import observe
from simgrid_broker.world.views.nuclei import Burden, Shown, nuclei_shown

KIND = DecisionKind.TASK_BROKERAGE
RAW = f"V{NUCLEUS.itemsize}"
"""NumPy copies structured rows field by field otherwise."""


class TaskTables:
    """Tasks that wait for a nucleus as the brokerage sees them, for one turn of the task broker after the other.

    state: of the turn in hand; kinds: of the tasks that `hints` have described; listed: the candidates of the task in
    hand.
    """

    desk: Desk
    listed: Listed
    burden: Burden
    hints: Hints

    def __init__(self, control: Plane):
        self.control, policies = control, control.policies
        asks = policies.task_brokerage is not broker_task
        self.rules, self.offset = policies.task_rules, len(control.world.vocabularies["pseudo_queues"])
        self._go_on: Callable[..., int] = uncompiled(go_on) if asks else compiled_with(
            go_on, decide=self.rules.decide, hint=policies.job_rules.decide)
        self.kinds = TaskKinds(policies.job_rules.described, control.arrays.tasks, OF_JOBS)
        self.state, self.question = np.zeros(1, TURN), np.zeros(1, TASK)
        state = self.state[0]
        state["deployed"], state["asks"], state["kind"] = control.edition == "deployed", asks, UNKNOWN
        state["ability"] = -1 if self.rules.ability is None else self.rules.ability
        state["never"], state["offset"] = policies.job_rules.funnel.never, self.offset
        self.templates: tuple[Gdpconfig | None, np.ndarray] = None, self.question
        self.lists: dict[bool, Listed] = {}
        self.refreshed = set[bool]()

    def begin(self, rows: np.ndarray, burden: Burden) -> None:
        """Begin a turn over the tasks in `rows`."""
        control, state, self.burden = self.control, self.state[0], burden
        hints, tasks = control.brokers.hints_about(np.zeros(0, np.int64)), control.arrays.tasks
        if getattr(self, "hints", None) is not hints:
            self.hints = hints
            self.kinds.forget(tasks)
        else:
            self.kinds.renew(tasks)
        if self.templates[0] is not control.cfg:
            self.templates = control.cfg, templates(control.cfg, control.world.vocabularies["shares"], control.edition)
        state["now_s"], state["next"], state["task"], state["n_moved"], state["n_put_off"] = control.now, 0, 0, 0, 0
        self.refreshed.clear()
        self._know_shares(rows)
        control.books.decisions.make_room(len(rows))
        self.desk = self._gathered(rows)
        without = rows[tasks["nucleus"][rows] < 0]                           # Python brokers the others
        self.show(int((without if len(without) else rows)[0]))

    def go_on(self, rows: np.ndarray) -> int:
        """Go on with a turn, as `task_cycle.go_on`."""
        control = self.control
        return self._go_on(control.arrays, self.desk, self.listed, self.hints.tables, control.world.sight,
                           self.kinds.tables, control.books.decisions.watch, self.burden.work, rows)

    def show(self, row: int) -> None:
        """Show the candidates of a task without nucleus."""
        tasks = self.control.arrays.tasks
        full_chain = self.state[0]["full_chain"] = bool(tasks["fullchain"][row] > 0)
        if full_chain not in self.refreshed:
            shown, known = nuclei_shown(self.control.world, row, self.burden), self.lists.get(full_chain)
            if known is None or not np.array_equal(known.groups[0], shown.site):
                self.lists[full_chain] = listed_of(shown)
            else:
                known.shown.view(RAW)[:] = np.frombuffer(shown.rows, RAW)
            self.refreshed.add(full_chain)
        self.listed = self.lists[full_chain]

    def prepare(self, row: int) -> None:
        """Describe a task, and with it its kind."""
        world = self.control.world
        record, first = self.hints.prepare(observe.task(world, row))
        self.state[0]["kind"] = self.kinds.add(world.arrays, row, 0, record, (first, 0))

    def verdict(self, row: int) -> Verdict:
        """The decision in hand, about the task in a row, which shares the columns of the tables."""
        listed, tags = self.listed, self.rules.tags
        why_not = WhyNot(self.control.brokers, row, observe.task(self.control.world, row))
        return Verdict(tags, listed.refused_by, listed.weight, listed.order[:self.state[0]["n_left"]],
                       figures=lambda: figures(self.rules, self.question, listed.nuclei, listed.refused_by, why_not,
                                               len(tags)))

    def moved(self) -> np.ndarray:
        """Rows of the tasks that the compiled turn gave a nucleus, (n,)."""
        return self.desk.moved[:self.state[0]["n_moved"]]

    def put_off(self) -> Iterator[tuple[np.ndarray, str]]:
        """Rows of the tasks without a nucleus since the last call, by what their errorDialog is to say."""
        n, self.state[0]["n_put_off"] = self.state[0]["n_put_off"], 0
        rows, last = self.desk.waiting[:n], self.desk.last[:n]
        for place in dict.fromkeys(last.tolist()):
            yield rows[last == place], reason_at(self.control.policies, KIND, self.rules.tags, place)

    def _know_shares(self, rows: np.ndarray) -> None:
        """Count the refusals of the shares of the tasks in `rows`, in this order, and read their job numbers."""
        if self.state[0]["asks"]:
            return
        control, log = self.control, self.control.books.decisions
        shares, types = (control.arrays.tasks[name][rows].tolist() for name in ("share", "resource_type"))
        for share, kind in dict.fromkeys(zip(shares, types, strict=True)):
            log.counts(KIND, share, log.steps(KIND, self.rules.tags), False)
            loads.load_row(control.world, control.brokers.snapshot, share,
                           kind if self.state[0]["deployed"] else None)

    def _gathered(self, rows: np.ndarray) -> Desk:
        """The tables for a turn over the tasks in `rows`."""
        control, log = self.control, self.control.books.decisions
        parents = np.full(len(rows), -1, np.int64)
        for place in np.flatnonzero(control.arrays.tasks["parent"][rows] > 0).tolist():
            parent = control.world.parent_of(int(rows[place]))
            parents[place] = -1 if parent is None else parent
        changing = dict(
            templates=self.templates[1], groups=self.hints.groups, room=log.room, parents=parents,
            moved=np.empty(len(rows), np.int64), waiting=np.empty(len(rows), np.int64),
            last=np.empty(len(rows), np.int16))
        if getattr(self, "desk", None) is not None:
            return self.desk.with_arrays(**changing)
        snapshot, n_sites = control.brokers.snapshot, len(control.arrays.sites)
        return Desk(
            state=self.state, question=self.question, n_types=np.array([snapshot.placed_by_type.shape[1]]),
            asked=np.zeros(n_sites, bool), able=np.zeros(n_sites, bool), numbers=log.numbers, counts=log.of_tasks,
            ranks=log.steps(KIND, self.rules.tags).ranks, furthest=log.furthest, **changing)


def listed_of(shown: Shown) -> Listed:
    """The tables for candidates of which this is seen."""
    records, n = np.frombuffer(bytearray(shown.rows), NUCLEUS), len(shown.site)
    return Listed(shown=records, nuclei=records.copy(), groups=np.stack([shown.site, shown.site]), keys=shown.keys,
                  places=np.arange(n), draws=np.empty((1, n)), refused_by=np.empty(n, np.int16), weight=np.empty(n),
                  order=np.empty(n, np.int64))
