"""The tables of job generation in a run: what brokers may know, put where compiled turns (`job_turn`) read it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from simgrid_broker import luck
from simgrid_broker.compiled import compiled_with
from simgrid_broker.names import DecisionKind
from simgrid_broker.policy.brokerage.analysis.editions import AnalysisBrokerage
from simgrid_broker.policy.brokerage.production.broker import (
    MAX_CANDIDATES,
    PLACE,
    broker_jobs,
    prepare,
    verdict_of,
)
from simgrid_broker.policy.brokerage.production.decide import ASKED, Question, Tables, last_first, room
from simgrid_broker.policy.brokerage.production.editions import JobBrokerage
from simgrid_broker.policy.brokerage.production.question import TASK
from simgrid_broker.policy.jobs.resource_types import OF_ONE_TYPE
from simgrid_broker.policy.tasks.selection import Selection
from simgrid_broker.turns import direct_turn, job_turn
from simgrid_broker.turns.brokers import last_refusal
from simgrid_broker.turns.decision_log import DecisionLog
from simgrid_broker.turns.job_turn import DONE, HAND, HELD, TERMS, Asked, Work
from simgrid_broker.turns.merge_turn import MERGE
from simgrid_broker.turns.plane import Plane
from simgrid_broker.turns.slots import SLOT, TYPES_OF, Production, types_by_row
from simgrid_broker.turns.task_kinds import ANYWHERE, UNKNOWN, Rows, TaskKinds
from simgrid_broker.turns.turn import ASK, BEGIN, CLEAR, LEARN, go_on
from simgrid_broker.turns.user_tables import UserTables, Views
from simgrid_broker.views import PART, Task, Verdict
from simgrid_broker.world.arrays import N_RAM_LEVELS, N_STATUS, ORDERED
from simgrid_broker.world.jobs import loads
from simgrid_broker.world.jobs.counts import account_of_task, tally_closed
from simgrid_broker.world.snapshot.tasks import InHand, PlannedMerge
from simgrid_broker.world.tasks.rows import renewed
from simgrid_broker.world.views import observe

FIRST_SLOTS, FIRST_ORDERS = 256, 1024
"""Room for tasks and for orders at first; it doubles when it is used up."""
MOST_ARRAYS = 16_384
"""First refusals by static rules that are kept: as many as those of requirements (`policy.funnel.MaskCache`)."""
KINDS = tuple(DecisionKind)
SLOT_TABLES = "slots", "asked", "record", "replica_site", "replica_part", "replica_tape", "parts"
"""Tables with a row for each slot."""


class Firsts(Rows):
    """First refusals by static criteria as rows, and what follows from each.

    open: as `decide.last_first`; times: (n_shares, n_rows, n_ranks) decisions since the last sample, as
    `counts.tally_closed`.
    """

    def __init__(self, brokerage: JobBrokerage, log: DecisionLog, n: int):
        super().__init__(n, np.int16)
        self.brokerage, self.log = brokerage, log
        self._derive()

    def row_of(self, array: np.ndarray) -> int:
        """As for `Rows`."""
        known, table = len(self.number), self.table
        row = super().row_of(array)
        if table is not self.table:
            self._derive()
        elif len(self.number) > known:
            self.open[row] = last_first(array[None])[0]
        return row

    def tally(self) -> None:
        """Count the closed candidates of the decisions so far."""
        tally_closed(self.log.of_jobs, self.times, self.table, self.brokerage.order.places,
                     self.log.log.groups, self.log.log.furthest)

    def _derive(self) -> None:
        if hasattr(self, "times"):
            self.tally()
        self.open = last_first(self.table)
        self.times = np.zeros((len(self.log.of_jobs), len(self.table), self.brokerage.funnel.never + 1), np.int32)


class JobTables:
    """Tasks as the brokerage of their jobs sees them, and the jobs ordered for them, for one turn after another.

    hand, done: the task in hand and the numbers of the turn; work_queues: give the views of tasks;
    apart: (n_tasks,), whether Python decides about the jobs of a task. steps: of the turn; stream: of its draws;
    n_merges: merge jobs for which there is room at first.
    """

    steps: Any = job_turn
    stream, n_merges = luck.STREAMS["queue_draw"], 0
    first: Firsts
    weight: Rows
    tables: Tables
    production: Production
    work: Work

    def __init__(self, control: Plane, work_queues: Views):
        self.control, self.work_queues = control, work_queues
        policies = control.policies
        self.brokerage = policies.job_rules
        self.asks = policies.dispatch.job_rules is None and policies.job_brokerage is not broker_jobs
        self.users = UserTables(control, work_queues)
        self._go_on = self._deciding()
        terms, hand, done = np.zeros(1, TERMS), np.zeros(1, HAND), np.zeros(1, DONE)
        self.terms, self.hand, self.done = terms[0], hand[0], done[0]
        self.state = dict(terms=terms, hand=hand, done=done)
        self.terms["by_type"], self.terms["asks"] = OF_ONE_TYPE[control.edition], self.asks
        self.terms["late"], self.hand["kind"] = not policies.dispatch.binds_jobs, UNKNOWN
        self.terms["stream"] = self.stream
        self.kinds = TaskKinds(self.brokerage.described, control.arrays.tasks, TASK)
        n_tasks = len(control.arrays.tasks)
        self.slot_of = np.full((n_tasks, N_RAM_LEVELS), -1, np.int32)
        self.own_rules = self.users.labels & (not self.users.decides)     # labels, and tasks, asked of Python
        self.apart = self.own_rules[control.arrays.tasks["label"]]
        self.types_of, self.types = types_by_row(control.world, {})
        self.orders = np.zeros(FIRST_ORDERS, ORDERED)
        n = FIRST_SLOTS
        self.slots, self.asked, self.record = np.zeros(n, SLOT), np.zeros(n, ASKED), np.zeros(n, TASK)
        most = control.world.most_sources
        self.replica_site, self.replica_part = np.full((n, most), -1, np.int32), np.zeros((n, most))
        self.replica_tape = np.zeros((n, most), bool)
        self.parts = np.zeros((n, len(control.arrays.queues) if len(control.arrays.secondaries) else 0), PART)
        self.numbers, self.named = np.zeros(0, np.int64), np.zeros(0, bool)
        self.merges = np.zeros(self.n_merges, MERGE)
        self.read: tuple[Any, Any, Any] = None, None, None
        self.view_tables = control.world.view_tables
        self.answer: tuple[DecisionKind, Task, Verdict] | None = None
        control.books.newcomers.append(self.forget)
        control.books.decisions.to_tally.append(lambda: self.first.tally())
        self.renew()

    def _deciding(self) -> Callable[..., int]:
        """The compiled turn with its own steps, and the decisions of the scenario's brokers in them."""
        own = self.steps
        decide = compiled_with(
            own.decide, **({} if self.asks else {"decide_production": self.brokerage.decide}),
            **({"decide_for_user": self.users.brokerage.decide} if self.users.decides else {}))
        return compiled_with(go_on, begin=own.begin, find_question=own.find_question, decide=decide,
                             draw=job_turn.draw, take_effect=own.take_effect, move_on=own.move_on)

    def forget(self, rows: np.ndarray) -> None:
        """Forget the tasks that were in some rows."""
        slots = self.slot_of[rows[rows < len(self.slot_of)]]
        self.slots["task"][slots[slots >= 0]] = -1
        self.slot_of = renewed(self.control.world, self.slot_of, rows, -1)
        self.apart = renewed(self.control.world, self.apart, rows, False)
        self.apart[rows] = self.own_rules[self.control.arrays.tasks["label"][rows]]
        self.types_of = renewed(self.control.world, self.types_of, rows, np.zeros((), TYPES_OF))
        self.kinds.renew(self.control.arrays.tasks)
        self.users.forget(rows)
        self._gather()

    def renew(self) -> None:
        """Take over what was replaced: statistics, the description of the queues, gdpconfig."""
        brokers, cfg = self.control.brokers, self.control.cfg
        snapshot, queues, read = self.read
        is_wider = self._make_room_for_replicas()
        if snapshot is brokers.snapshot and queues is brokers.queues and read is cfg and not is_wider:
            return
        replaced = queues is not brokers.queues or len(self.first.number) > MOST_ARRAYS
        if replaced:
            if queues is not None:
                self.first.tally()
            n = len(brokers.queues.records)
            self.first, self.weight = Firsts(self.brokerage, self.control.books.decisions, n), Rows(n, float)
        replaced |= read is not cfg or is_wider
        if replaced:
            self.slot_of[:], self.done["n_slots"] = -1, 0
            self.kinds.forget(self.control.arrays.tasks)
        types_at = brokers.snapshot.types_at
        if self.terms["by_type"] and (snapshot is None or snapshot.types_at is not types_at):
            self.types_of, self.types = types_by_row(self.control.world, types_at)
        self.users.renew(queues is not brokers.queues, read is not cfg, snapshot is not brokers.snapshot)
        self.read = brokers.snapshot, brokers.queues, cfg
        if replaced:
            self._gather()
        else:
            self._renew_statistics()

    def _make_room_for_replicas(self) -> bool:
        """Widen the tables of replicas if a dataset has more than they can show; returns whether they were."""
        world, n = self.control.world, self.replica_site.shape[1]
        if self.view_tables is world.view_tables:
            return False
        self.view_tables = world.view_tables
        if world.most_sources <= n:
            return False
        for name in ("replica_site", "replica_part", "replica_tape"):
            setattr(self, name, np.pad(getattr(self, name), ((0, 0), (0, world.most_sources - n))))
        return True

    def begin(self, analysis: bool = False) -> None:
        """Begin a turn; analysis: whether there are tasks of users."""
        self.renew()
        if analysis:
            self.users.look(self.view_tables.sources)
        self.terms["now_s"], self.hand["task"], self.hand["next"] = self.control.now, 0, BEGIN
        self.terms["plain"] = not self.control.world.slots
        self.done["n_started"] = self.done["n_held"] = 0

    def begin_with(self, left: int, rule: Selection, least: int, analysis: bool = False) -> np.void:
        """Begin a turn that may make `left` jobs of tasks of at least a priority; returns the task in hand."""
        self.begin(analysis)
        self.done["left"], self.done["n_tasks"] = left, rule.n_tasks
        self.terms["least"], self.terms["n_files"], self.terms["reads_more"] = least, rule.n_files, rule.reads_more
        return self.hand

    def go_on(self, rows: np.ndarray) -> int:
        """Go on with a turn about the tasks in `rows`; returns an Outcome."""
        world, users, production = self.control.world, self.users, self.production
        if production.kinds is not self.kinds.tables or production.tables is not self.tables:
            self.production = production = production.with_arrays(kinds=self.kinds.tables, tables=self.tables)
        return self._go_on(world.arrays, self.work, production, users.current(), self.control.books.decisions.log,
                           self.view_tables, rows)

    def act(self, outcome: int, rows: np.ndarray) -> None:
        """Do what a turn about the tasks in `rows` needs to go on."""
        if outcome == CLEAR:
            self.grow()
            return
        row = int(rows[self.hand["task"]])
        if outcome == LEARN:
            self.learn(row)
        elif outcome == ASK:
            self.answer = self.broker(row, int(self.hand["level"]), int(self.hand["wanted"]))
            self.answer_with(self.answer[2])
        else:
            self.look(row)

    def learn(self, row: int) -> None:
        """Describe the task in hand, and with it its kind, or else read the numbers behind its question."""
        hand, control = self.hand, self.control
        if not hand["is_described"]:
            hand["kind"] = (self.users.prepare if hand["of_users"] else self._prepare)(row, int(hand["level"]))
            return
        if hand["of_users"]:
            self.users.read(row)
        else:
            task = self.record[hand["slot"]]
            kind = int(task["resource_type"]) if self.terms["by_type"] else None
            loads.load_row(control.world, control.brokers.snapshot, account_of_task(control.arrays, row), kind)
            control.world.places.learn(int(task["nucleus"]))
        log, broker = control.books.decisions, KINDS[hand["broker"]]
        log.counts(broker, int(control.arrays.tasks["share"][row]), log.steps(broker, self._broker(broker).tags), True)

    def _prepare(self, row: int, level: int) -> int:
        """Describe a task at a level of ramCount, and with it its kind, which is returned."""
        control, brokers = self.control, self.control.brokers
        task, _ = self.work_queues.view(row, level)
        described = prepare(self.brokerage, task, brokers.queues, control.cfg,
                            None if task.is_merging else brokers.cache)      # their masks follow the time
        first, weight = self.first.open, self.weight.table
        rows = self.first.row_of(described.first), self.weight.row_of(described.static_weight)
        if first is not self.first.open or weight is not self.weight.table:
            self._gather()
        return self.kinds.add(control.arrays, row, level, described.task, rows, self.place_of(row))

    def broker(self, row: int, level: int, number: int) -> tuple[DecisionKind, Task, Verdict]:
        """Ask the scenario's brokers for queues of `number` jobs; returns which was asked, the task, its verdict."""
        control, account = self.control, account_of_task(self.control.arrays, row)
        task, parts = self.work_queues.view(row, level)
        kind, verdict = control.brokers.broker(row, task, parts, number, account)
        control.check(kind, InHand(row, level, number), verdict)
        control.books.waiting_place.place(row, level, task, verdict, control.brokers.queues, control.now)
        return kind, task, verdict

    def asked_about(self, row: int, level: int) -> InHand | PlannedMerge:
        """The jobs in hand, as decisions are checked."""
        return InHand(row, level, int(self.hand["wanted"]))

    def place_of(self, row: int) -> int:
        """Number of what else tells the kind of the jobs in hand from others, as `task_kinds.kind_of`."""
        return ANYWHERE

    def answer_with(self, verdict: Verdict) -> None:
        """Put a verdict about the task in hand where the turn draws from it."""
        hand, asked = self.hand, self.work.asked
        hand["n_best"], hand["counted"] = len(verdict.order), verdict.queued is not None
        asked.best[:len(verdict.order)], asked.weight[:] = verdict.order, verdict.weight
        asked.backlog[:] = 0.0 if verdict.queued is None else verdict.queued
        asked.cap[:] = np.inf if verdict.cap is None else verdict.cap

    def answer_by_name(self, queue: int) -> None:
        """Let the jobs in hand go to the candidate that they name, about which no broker is asked."""
        hand, asked = self.hand, self.work.asked
        hand["n_best"], hand["counted"], self.answer = 1, False, None
        asked.best[0], asked.weight[:] = queue, 1.0

    def look(self, row: int) -> None:
        """Record what is to be of the decision in hand, and find the task queue in which its jobs wait."""
        hand, control, level = self.hand, self.control, int(self.hand["level"])
        if hand["asked"]:
            self._note_answer()
            return
        kind, verdict = KINDS[hand["broker"]], self.verdict(row, level)
        control.check(kind, self.asked_about(row, level), verdict)
        if hand["whole"]:
            control.books.decisions.add_candidates(kind, verdict)
        if hand["elsewhere"]:
            task, _ = self.work_queues.view(row, level)
            control.books.waiting_place.place(row, level, task, verdict, control.brokers.queues, control.now)

    def _note_answer(self) -> None:
        """Record the decision of a broker in Python, and the queues that get jobs by it."""
        if self.answer is None:
            return
        (kind, task, verdict), hand, control = self.answer, self.hand, self.control
        control.books.decisions.add(kind, control.now, task, verdict, int(hand["placed"]))
        if not task.is_merging:                            # no queue for a merge job does not stop its task
            queues = control.brokers.queues.queue[self.work.chosen[:hand["n_blocks"]]]
            control.brokers.note_use(task, queues.tolist())
            self._note_refusal(kind, verdict)

    def note_made(self, made: int, is_complete: bool, kind: DecisionKind, verdict: Verdict) -> None:
        """Note jobs of the task in hand that were made beside the turn, by a verdict of a broker.

        is_complete: whether they take all input that was looked at.
        """
        self.hand["placed"], self.hand["is_complete"] = made, is_complete
        self.hand["made"] += made
        self._note_refusal(kind, verdict)

    def _note_refusal(self, kind: DecisionKind, verdict: Verdict) -> None:
        """Note the rule that left no candidate to the task in hand, if there is none for its first dataset."""
        hand = self.hand
        hand["broker"] = kind
        if not hand["placed"] and not hand["n_datasets"]:
            last = last_refusal(self.control.policies, kind, verdict)
            hand["refused_by"] = job_turn.ALL_FULL if last is None else self._broker(kind).rules.index(last)

    def _broker(self, kind: DecisionKind) -> JobBrokerage | AnalysisBrokerage:
        return self.users.brokerage if kind == DecisionKind.ANALYSIS_BROKERAGE else self.brokerage

    def reason(self, refused_by: int, kind: DecisionKind) -> str:
        """Value of errorDialog of a task that a rule left without a queue; empty if all queues were full."""
        brokerage = self._broker(kind)
        return brokerage.labels[brokerage.rules[refused_by].name] if refused_by >= 0 else ""

    def verdict(self, row: int, level: int) -> Verdict:
        """The decision in hand, about a task at a level of ramCount, which shares the columns of the tables."""
        slot, n_best = int(self.hand["slot"]), int(self.hand["n_best"])
        if self.hand["of_users"]:
            return self.users.verdict(row, level, n_best)
        task, _ = self.work_queues.view(row, level)
        return verdict_of(self.brokerage, Question(self.tables, slot), n_best, task, self.control.brokers.queues)

    def grow(self) -> None:
        """Make room for the next tasks, orders and decisions."""
        if self.done["n_slots"] == len(self.slots):
            self._compress()
        self.control.books.decisions.make_room()
        if self.done["n_orders"] + self.hand["n_blocks"] >= len(self.orders):
            more = max(len(self.orders), int(self.hand["n_blocks"]))
            self.orders = np.concatenate([self.orders, np.zeros(more, ORDERED)])
        self._gather()

    def take_orders(self) -> np.ndarray:
        """Orders of the turns since this was last asked, (k,) of ORDERED."""
        taken = self.orders[:self.done["n_orders"]]
        self.done["n_orders"] = 0
        return taken

    def take_moved(self) -> tuple[list[int], list[tuple[int, str]]]:
        """Tasks that got their first jobs since this was last asked, and that found no queue, with errorDialog."""
        *_, n_started, n_held = self.done.item()
        self.done["n_started"] = self.done["n_held"] = 0
        started, held = self.work.started[:n_started].tolist(), self.work.held[:n_held].tolist() if n_held else []
        return started, [(row, self.reason(refused_by, KINDS[broker])) for row, refused_by, broker in held]

    def _compress(self) -> None:
        """Keep the slots of live tasks, and make room for twice as many if they are more than half."""
        kept = np.flatnonzero(np.isin(self.slots["task"], self.control.books.live_tasks.rows))
        self.slot_of[:], self.done["n_slots"] = -1, len(kept)
        n = max(FIRST_SLOTS, 2 * len(kept), len(self.slots))
        for name in SLOT_TABLES:
            old = getattr(self, name)
            new = np.zeros((n, *old.shape[1:]), old.dtype)
            new[:len(kept)] = old[kept]
            setattr(self, name, new)
        self.slot_of[self.slots["task"][:len(kept)], self.slots["level"][:len(kept)]] = np.arange(len(kept))

    def _gather(self) -> None:
        """Gather the tables again."""
        control, brokers, log = self.control, self.control.brokers, self.control.books.decisions
        queues, network, n = brokers.queues, control.world.network, len(self.orders)
        n_queues, statistics = len(queues.records), self._statistics()         # which show the storages
        most = max(MAX_CANDIDATES, n_queues)
        weight, backlog, cap = np.zeros((3, n_queues))
        self.tables = Tables(
            asked=self.asked, task=self.record, replica_site=self.replica_site, replica_part=self.replica_part,
            replica_tape=self.replica_tape, **self.brokerage.order._asdict(), queues=queues.records,
            load=brokers.snapshot.load, link=network.ways, store=brokers.snapshot.store, parts=self.parts,
            first=self.first.table, open=self.first.open, static_weight=self.weight.table,
            **room(n_queues, MAX_CANDIDATES, len(self.brokerage.candidate_factors)))
        self.production = Production(
            tables=self.tables, kinds=self.kinds.tables, slots=self.slots, slot_of=self.slot_of, asks=self.apart,
            changes=control.books.scouts.changes, waiting=network.waiting, ways_known=network.ways_known,
            links=network.table, **control.world.places.ways(), counts=log.of_jobs, is_counted=log.is_counted,
            ranks=log.steps(DecisionKind.JOB_BROKERAGE, self.brokerage.tags).ranks, times=self.first.times,
            numbers=np.zeros(N_STATUS, np.int64), **statistics)
        self.work = Work(
            **self.state, asked=Asked(best=np.empty(most, np.int64), weight=weight, backlog=backlog, cap=cap),
            keys=luck.keys_of(queues.names), chosen=np.empty(n, np.int64), sizes=np.empty(n, np.int64),
            uniforms=np.empty((n, most)), places=np.empty(most, PLACE), orders=self.orders,
            started=np.empty(n, np.int64), held=np.empty(n, HELD), numbers=self.numbers, named=self.named,
            merges=self.merges)

    def _statistics(self) -> dict[str, np.ndarray]:
        """The tables that come with the statistics."""
        world, snapshot = self.control.world, self.control.brokers.snapshot
        return dict(placed=snapshot.placed, placed_by_type=snapshot.placed_by_type, load_known=snapshot.load_known,
                    load_of_all=loads.load_of_all(world, snapshot), by_share=snapshot.by_share,
                    by_queue=loads.of_types(snapshot), types_known=loads.types_known(snapshot), types_of=self.types_of,
                    types=self.types, nuclei=observe.stores_known(world, snapshot))

    def _renew_statistics(self) -> None:
        """Take over new statistics."""
        snapshot, statistics = self.control.brokers.snapshot, self._statistics()
        assert snapshot.store is not None
        self.tables = self.tables.with_arrays(load=snapshot.load, store=snapshot.store)
        self.production = self.production.with_arrays(tables=self.tables, **statistics)


class DirectTables(JobTables):
    """The tables of the server for jobs without a task in JEDI."""

    steps = direct_turn

    def begin_directly(self, numbers: np.ndarray, named: np.ndarray) -> np.void:
        """Begin a turn about jobs without a task in JEDI; returns the jobs in hand.

        numbers, named: how many wait of each row, and whether they name a queue.
        """
        self.begin(self.users.decides)
        self.numbers, self.named = numbers, named
        self.work = self.work.with_arrays(numbers=numbers, named=named)
        return self.hand
