"""The tables of task brokerage in a run: what brokers may know, put where compiled turns (`task_turn`) read it."""

from collections.abc import Iterator

import numpy as np

from simgrid_broker.compiled import compiled_with
from simgrid_broker.names import DecisionKind
from simgrid_broker.policy.brokerage.production.broker import Hints
from simgrid_broker.policy.brokerage.production.question import TASK as OF_JOBS
from simgrid_broker.policy.brokerage.task.broker import broker_task, figures
from simgrid_broker.policy.brokerage.task.question import TASK, templates
from simgrid_broker.policy.jobs.resource_types import OF_ONE_TYPE
from simgrid_broker.turns import task_turn
from simgrid_broker.turns.brokers import WhyNot, last_refusal, reason_at
from simgrid_broker.turns.plane import Plane
from simgrid_broker.turns.task_kinds import UNKNOWN, TaskKinds
from simgrid_broker.turns.task_turn import DONE, HAND, TERMS, HintTables, Nuclei, Work
from simgrid_broker.turns.turn import BEGIN, go_on
from simgrid_broker.views import KEPT, NUCLEUS, Gdpconfig, Verdict
from simgrid_broker.world.jobs import loads
from simgrid_broker.world.snapshot.tasks import InHand
from simgrid_broker.world.views import observe
from simgrid_broker.world.views.nuclei import BY_PRIORITY, Burden, Shown, nuclei_shown

KIND = DecisionKind.TASK_BROKERAGE
RAW = f"V{NUCLEUS.itemsize}"
"""NumPy copies structured rows field by field otherwise."""


class TaskTables:
    """Tasks that wait for a nucleus as the brokerage sees them, for one turn of the task broker after the other.

    hand, done: the task in hand and the numbers of the turn; kinds: of the tasks that `hints` have described; nuclei:
    the candidates of the task in hand.
    """

    work: Work
    nuclei: Nuclei
    burden: Burden
    hints: Hints

    def __init__(self, control: Plane):
        self.control, policies = control, control.policies
        asks = policies.task_brokerage is not broker_task
        self.rules, self.offset = policies.task_rules, len(control.world.vocabularies["pseudo_queues"])
        decide = task_turn.decide if asks else compiled_with(
            task_turn.decide, decide_nucleus=self.rules.decide, hint=policies.job_rules.decide)
        self._go_on = compiled_with(
            go_on, begin=task_turn.begin, find_question=task_turn.find_question, decide=decide, draw=task_turn.draw,
            take_effect=task_turn.take_effect, move_on=task_turn.move_on)
        self.kinds = TaskKinds(policies.job_rules.described, control.arrays.tasks, OF_JOBS)
        terms, hand, done = np.zeros(1, TERMS), np.zeros(1, HAND), np.zeros(1, DONE)
        self.terms, self.hand, self.done = terms[0], hand[0], done[0]
        self.state, self.question = dict(terms=terms, hand=hand, done=done), np.zeros(1, TASK)
        self.terms["by_type"], self.terms["by_priority"] = OF_ONE_TYPE[control.edition], BY_PRIORITY[control.edition]
        self.terms["asks"] = asks
        self.terms["ability"] = -1 if self.rules.ability is None else self.rules.ability
        self.terms["never"], self.terms["offset"] = policies.job_rules.funnel.never, self.offset
        self.hand["kind"] = UNKNOWN
        self.templates: tuple[Gdpconfig | None, np.ndarray] = None, self.question
        self.lists: dict[bool, Nuclei] = {}
        self.refreshed = set[bool]()
        self.gathered: HintTables | None = None

    def begin(self, rows: np.ndarray, burden: Burden) -> np.void:
        """Begin a turn about the tasks in `rows`; returns the task in hand."""
        control, self.burden = self.control, burden
        hints, tasks = control.brokers.hints_about(np.zeros(0, np.int64)), control.arrays.tasks
        if getattr(self, "hints", None) is not hints:
            self.hints = hints
            self.kinds.forget(tasks)
        else:
            self.kinds.renew(tasks)
        if self.templates[0] is not control.cfg:
            self.templates = control.cfg, templates(control.cfg, control.world.vocabularies["shares"], control.edition)
        self.terms["now_s"], self.terms["n_types"] = control.now, control.brokers.snapshot.placed_by_type.shape[1]
        self.hand["next"], self.hand["task"], self.done["n_moved"], self.done["n_put_off"] = BEGIN, 0, 0, 0
        self.refreshed.clear()
        self._count_and_read(rows)
        control.books.decisions.make_room(len(rows))
        n = len(rows)
        self.work = Work(**self.state, parents=self._parents(rows), moved=np.empty(n, np.int64),
                         waiting=np.empty(n, np.int64), last=np.empty(n, np.int16), behind=np.empty(n, np.int16))
        without = rows[tasks["nucleus"][rows] < 0]                           # Python brokers the others
        self.show(int((without if len(without) else rows)[0]))
        return self.hand

    def go_on(self, rows: np.ndarray) -> int:
        """Go on with a turn about the tasks in `rows`; returns an Outcome."""
        control = self.control
        return self._go_on(control.arrays, self.work, self.nuclei, self._hint_tables(), control.books.decisions.log,
                           control.world.view_tables, rows)

    def learn(self, row: int) -> None:
        """Show the candidates of the task in hand if they are others, or else describe it, and with it its kind."""
        if (self.control.arrays.tasks["fullchain"][row] > 0) != self.hand["full_chain"]:
            self.show(row)
            return
        world = self.control.world
        record, first = self.hints.prepare(observe.task(world, row))
        self.hand["kind"] = self.kinds.add(world.arrays, row, 0, record, (first, 0))

    def show(self, row: int) -> None:
        """Show the candidates of a task without nucleus."""
        full_chain = self.hand["full_chain"] = bool(self.control.arrays.tasks["fullchain"][row] > 0)
        if full_chain not in self.refreshed:
            shown, shown_before = nuclei_shown(self.control.world, row, self.burden), self.lists.get(full_chain)
            if shown_before is None or not np.array_equal(shown_before.groups[0], shown.site):
                shown_before = self._listed(shown)
            else:
                shown_before.shown.view(RAW)[:] = np.frombuffer(shown.rows, RAW)
            self.lists[full_chain] = shown_before.with_arrays(burden=self.burden.work, templates=self.templates[1])
            self.refreshed.add(full_chain)
        self.nuclei = self.lists[full_chain]

    def answer(self, row: int) -> None:
        """Let the scenario's broker decide about the task in hand."""
        control, hand = self.control, self.hand
        task, seen, verdict = control.brokers.nucleus_for(row, self.burden)
        control.check(KIND, InHand(row, burden=self.burden), verdict, seen.site)
        control.books.decisions.add(KIND, control.now, task, verdict, 0, self.offset, seen.site)
        hand["n_left"], last = len(verdict.order), last_refusal(control.policies, KIND, verdict)
        hand["site"] = seen.site[verdict.order[0]] if len(verdict.order) else -1
        hand["last"], hand["behind"] = KEPT if last is None else self.rules.rules.index(last), -1

    def look(self, row: int) -> None:
        """Record the candidates of the decision in hand, and check it; both is done for a broker in Python."""
        if self.hand["asked"]:
            return
        verdict, sites = self.verdict(row), self.nuclei.groups[0]
        self.control.check(KIND, InHand(row, burden=self.burden), verdict, sites)
        if self.hand["whole"]:
            self.control.books.decisions.add_candidates(KIND, verdict, self.offset, sites)

    def verdict(self, row: int) -> Verdict:
        """The decision in hand, about the task in a row, which shares the columns of the tables."""
        nuclei, tags = self.nuclei, self.rules.tags
        why_not = WhyNot(self.control.brokers, row, observe.task(self.control.world, row))
        return Verdict(tags, nuclei.refused_by, nuclei.weight, nuclei.order[:self.hand["n_left"]],
                       figures=lambda: figures(self.rules, self.question, nuclei.nuclei, nuclei.refused_by, why_not,
                                               len(tags)))

    def moved(self) -> np.ndarray:
        """Rows of the tasks that the turn gave a nucleus, (n,)."""
        return self.work.moved[:self.done["n_moved"]]

    def put_off(self) -> Iterator[tuple[np.ndarray, str, str]]:
        """Rows of the tasks without a nucleus since the last call, by what their errorDialog is to say.

        Last comes the rule of job brokerage that refused the last queue where none could run their jobs, else nothing.
        """
        n, self.done["n_put_off"] = self.done["n_put_off"], 0
        rows, last, behind = self.work.waiting[:n], self.work.last[:n], self.work.behind[:n]
        labels = self.control.policies.job_rules.funnel.labels_by_rank
        for place, rank in dict.fromkeys(zip(last.tolist(), behind.tolist(), strict=True)):
            yield (rows[(last == place) & (behind == rank)],
                   reason_at(self.control.policies, KIND, self.rules.tags, place), labels[rank] if rank >= 0 else "")

    def _count_and_read(self, rows: np.ndarray) -> None:
        """Count the refusals of the shares of the tasks in `rows`, in this order, and read their job numbers."""
        if self.terms["asks"]:
            return
        control, log = self.control, self.control.books.decisions
        shares, types = (control.arrays.tasks[name][rows].tolist() for name in ("share", "resource_type"))
        for share, kind in dict.fromkeys(zip(shares, types, strict=True)):
            log.counts(KIND, share, log.steps(KIND, self.rules.tags), False)
            loads.load_row(control.world, control.brokers.snapshot, share, kind if self.terms["by_type"] else None)

    def _parents(self, rows: np.ndarray) -> np.ndarray:
        """Row of the parent of each of the tasks in `rows`, -1 = none."""
        parents = np.full(len(rows), -1, np.int64)
        for place in np.flatnonzero(self.control.arrays.tasks["parent"][rows] > 0).tolist():
            parent = self.control.world.parent_of(int(rows[place]))
            parents[place] = -1 if parent is None else parent
        return parents

    def _hint_tables(self) -> HintTables:
        """The tables of hints as they are now."""
        hints, kinds, gathered = self.hints, self.kinds.tables, self.gathered
        if gathered is None or gathered.tables is not hints.tables or gathered.groups is not hints.groups:
            n_sites = len(self.control.arrays.sites)
            gathered = HintTables(tables=hints.tables, kinds=kinds, groups=hints.groups, asked=np.zeros(n_sites, bool),
                                  able=np.zeros(n_sites, bool))
        if gathered.kinds is not kinds:
            gathered = gathered.with_arrays(kinds=kinds)
        self.gathered = gathered
        return gathered

    def _listed(self, shown: Shown) -> Nuclei:
        """The tables for candidates of which this is shown."""
        log, n = self.control.books.decisions, len(shown.site)
        records = np.frombuffer(bytearray(shown.rows), NUCLEUS)
        return Nuclei(
            burden=self.burden.work, question=self.question, templates=self.templates[1], shown=records,
            nuclei=records.copy(), groups=np.stack([shown.site, shown.site]), keys=shown.keys, places=np.arange(n),
            draws=np.empty((1, n)), refused_by=np.empty(n, np.int16), weight=np.empty(n), order=np.empty(n, np.int64),
            counts=log.of_tasks, ranks=log.steps(KIND, self.rules.tags).ranks)
