"""The tables of job generation in a run: what brokers may know, put where compiled cycles (`job_cycle`) read it."""

from collections.abc import Callable
from typing import Any

import numpy as np

import simgrid_broker.turns.job_cycle as job_cycle
from simgrid_broker import luck
from simgrid_broker.compiled import compiled_with
from simgrid_broker.names import DecisionKind
from simgrid_broker.policy.brokerage.production.broker import (
    MAX_CANDIDATES,
    NO_PARTS,
    broker_jobs,
    prepare,
    verdict_of,
)
from simgrid_broker.policy.brokerage.production.decide import ASKED, Question, Tables, last_first, room
from simgrid_broker.policy.brokerage.production.editions import JobBrokerage
from simgrid_broker.policy.brokerage.production.question import TASK
from simgrid_broker.policy.brokerage.production.selection import PLACE
from simgrid_broker.policy.tasks.selection import Selection
from simgrid_broker.schema.tasks import N_REPLICAS
from simgrid_broker.turns.decision_log import DecisionLog
from simgrid_broker.turns.job_cycle import CYCLE, HELD, Desk, decide, decide_for_user, go_on
from simgrid_broker.turns.job_slots import SLOT
from simgrid_broker.turns.plane import Plane
from simgrid_broker.turns.rows import Rows
from simgrid_broker.turns.task_kinds import UNKNOWN, TaskKinds
from simgrid_broker.turns.user_tables import UserTables
from simgrid_broker.turns.work_queues import WorkQueues
from simgrid_broker.views import Verdict
from simgrid_broker.world.arrays import N_RAM_LEVELS, ORDERED
from simgrid_broker.world.jobs import loads
from simgrid_broker.world.jobs.counts import account_of_task, tally_closed
from simgrid_broker.world.tasks.rows import renewed
from simgrid_broker.world.views import observe

FIRST_SLOTS, FIRST_ORDERS = 256, 1024
"""Room for tasks and for orders at first; it doubles when it is used up."""
MOST_ARRAYS = 16_384
"""First refusals by static rules that are kept: as many as those of requirements (`policy.funnel.MaskCache`)."""
SLOT_TABLES = "slots", "asked", "record", "replica_site", "replica_part", "replica_tape"
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
        tally_closed(self.log.of_jobs, self.times, self.table, self.brokerage.order.places, self.log.groups,
                     self.log.furthest)

    def _derive(self) -> None:
        if hasattr(self, "times"):
            self.tally()
        self.open = last_first(self.table)
        self.times = np.zeros((len(self.log.of_jobs), len(self.table), self.brokerage.funnel.never + 1), np.int32)


class JobTables:
    """Tasks that wait for jobs as the brokerage sees them: a slot for each task and level of ramCount.

    tables, desk: as `job_cycle` reads them, replaced when something in them is; state: of the cycle in hand; known: the
    statistics, queues and gdpconfig that they show.
    """

    tables: Tables
    desk: Desk
    first: Firsts
    weight: Rows

    def __init__(self, control: Plane, work_queues: WorkQueues):
        self.control, self.work_queues = control, work_queues
        self.brokerage = control.policies.job_rules
        policies = control.policies
        self.asks = policies.dispatch.job_rules is None and policies.job_brokerage is not broker_jobs
        self.users = UserTables(control, work_queues)
        self._go_on = self.deciding(go_on)
        self.state = np.zeros(1, CYCLE)
        self.state[0]["by_type"] = control.edition == "deployed"
        self.state[0]["asks"], self.state[0]["kind"] = self.asks, UNKNOWN
        self.state[0]["late"] = not policies.dispatch.binds_jobs
        self.kinds = TaskKinds(self.brokerage.described, control.arrays.tasks, TASK)
        n_tasks = len(control.arrays.tasks)
        self.slot_of = np.full((n_tasks, N_RAM_LEVELS), -1, np.int32)
        self.own_rules = self.users.labels & (not self.users.decides)     # labels, and tasks, asked of Python:
        self.apart = self.own_rules[control.arrays.tasks["label"]]        # these, or of other resource types somewhere
        self.of_users = (self.users.labels & self.users.decides)[control.arrays.tasks["label"]]
        self.orders = np.zeros(FIRST_ORDERS, ORDERED)
        n = FIRST_SLOTS
        self.slots, self.asked, self.record = np.zeros(n, SLOT), np.zeros(n, ASKED), np.zeros(n, TASK)
        self.replica_site, self.replica_part = np.full((n, N_REPLICAS), -1, np.int32), np.zeros((n, N_REPLICAS))
        self.replica_tape = np.zeros((n, N_REPLICAS), bool)
        self.known: tuple[Any, Any, Any] = None, None, None
        control.books.newcomers.append(self.forget)
        control.books.decisions.to_tally.append(lambda: self.first.tally())
        self.renew()

    def forget(self, rows: np.ndarray) -> None:
        """Forget the tasks that were in some rows."""
        slots = self.slot_of[rows[rows < len(self.slot_of)]]
        self.slots["task"][slots[slots >= 0]] = -1
        self.slot_of = renewed(self.control.world, self.slot_of, rows, -1)
        self.apart = renewed(self.control.world, self.apart, rows, False)
        label = self.control.arrays.tasks["label"][rows]
        self.apart[rows] = self.own_rules[label]
        self.of_users = renewed(self.control.world, self.of_users, rows, False)
        self.of_users[rows] = (self.users.labels & self.users.decides)[label]
        self.kinds.renew(self.control.arrays.tasks)
        self.users.kinds.renew(self.control.arrays.tasks)
        self._bundle()

    def renew(self) -> None:
        """Take over what was replaced: statistics, the description of the queues, gdpconfig, room for decisions."""
        brokers, cfg = self.control.brokers, self.control.cfg
        snapshot, queues, read = self.known
        is_wider, room = self._make_room_for_replicas(), self.control.books.decisions.room
        if (snapshot is brokers.snapshot and queues is brokers.queues and read is cfg and not is_wider
                and self.desk.room is room):
            return
        replaced = queues is not brokers.queues or len(self.first.number) > MOST_ARRAYS
        if replaced:
            if queues is not None:
                self.first.tally()
            n = len(brokers.queues.records)
            self.first, self.weight = Firsts(self.brokerage, self.control.books.decisions, n), Rows(n, float)
        replaced |= read is not cfg or is_wider
        if replaced:
            self._forget()
        if snapshot is not brokers.snapshot and self.state[0]["by_type"]:
            self.apart[:] = self.own_rules[self.control.arrays.tasks["label"]]
            rows = map(self.control.world.row_of.get, brokers.snapshot.types_at)        # some may be gone since
            self.apart[[row for row in rows if row is not None]] = True
        self.users.renew(queues is not brokers.queues, read is not cfg, snapshot is not brokers.snapshot)
        self.known = brokers.snapshot, brokers.queues, cfg
        if replaced:
            self._bundle()
        elif snapshot is not brokers.snapshot or self.desk.room is not room:
            self._renew_statistics()

    def _make_room_for_replicas(self) -> bool:
        """Widen the tables of replicas if a dataset has more than they can show; returns whether they were."""
        missing = self.control.world.most_sources - self.replica_site.shape[1]
        if missing <= 0 or self.control.world.state["most_replicas"] <= self.replica_site.shape[1]:
            return False
        for name in ("replica_site", "replica_part", "replica_tape"):
            setattr(self, name, np.pad(getattr(self, name), ((0, 0), (0, missing))))
        return True

    def deciding(self, cycle: Callable[..., int]) -> Callable[..., int]:
        """A compiled cycle with the decisions of the scenario's brokers in place of `decide` and `decide_for_user`."""
        return compiled_with(cycle, decide=decide if self.asks else self.brokerage.decide,
                             decide_for_user=self.users.brokerage.decide if self.users.decides else decide_for_user)

    def begin(self, now: float, analysis: bool = False) -> np.void:
        """Begin a cycle; returns its state. analysis: whether there are tasks of users."""
        self.renew()
        if analysis:
            self.users.look()
        state = self.state[0]
        state["now_s"], state["task"], state["next"], state["n_started"] = now, 0, job_cycle.BEGIN, 0
        state["n_held"], state["plain"] = 0, not (state["by_type"] or self.control.world.slots)
        return state

    def begin_with(self, now: float, left: int, rule: Selection, least: int, analysis: bool = False) -> np.void:
        """Begin a cycle that may make `left` jobs of tasks of at least a priority; returns its state."""
        state = self.begin(now, analysis)
        state["n_tasks"], state["least"] = rule.n_tasks, least
        state["left"], state["n_files"], state["reads_more"] = left, rule.n_files, rule.reads_more
        return state

    def act(self, reason: int, row: int) -> None:
        """Do what a cycle needs to go on with the task in a row, for a reason other than ASK and HOLD."""
        state, control = self.state[0], self.control
        level = int(state["level"])
        if reason == job_cycle.PREPARE:
            self.prepare(row, level)
        elif reason == job_cycle.READ:
            self.read(row, int(state["slot"]))
        elif reason == job_cycle.COUNT:
            self.count(int(control.arrays.tasks["share"][row]))
        elif reason == job_cycle.LOOK:
            control.books.decisions.add_candidates(self.kind, self.verdict(row, level))
        elif reason == job_cycle.PLACE:
            self.wait_in_queue(row, level)
        else:
            self.grow()

    def wait_in_queue(self, row: int, level: int) -> None:
        """Find the task queue in which the jobs of the decision in hand wait."""
        control = self.control
        task, _parts = self.work_queues.view(row, level)
        verdict = self.verdict(row, level)
        control.books.waiting_place.place(row, level, task, verdict, control.brokers.queues, control.now)

    def count(self, share: int) -> None:
        """Begin to count the refusals of a share."""
        log, kind = self.control.books.decisions, self.kind
        tags = (self.users if kind == DecisionKind.ANALYSIS_BROKERAGE else self).brokerage.tags
        log.counts(kind, share, log.steps(kind, tags), True)

    @property
    def kind(self) -> DecisionKind:
        """The broker of the task in hand."""
        return DecisionKind.ANALYSIS_BROKERAGE if self.state[0]["of_users"] else DecisionKind.JOB_BROKERAGE

    def order(self, values: tuple) -> None:
        """Order jobs beside the compiled cycle; values: of ORDERED."""
        state = self.state[0]
        if state["n_orders"] == len(self.orders):
            self.grow()
        self.orders[state["n_orders"]] = values
        state["n_orders"] += 1

    def go_on(self, rows: np.ndarray) -> int:
        """Go on with a cycle, as `job_cycle.go_on`."""
        control, users = self.control, self.users
        return self._go_on(control.arrays, self.tables, self.desk, control.world.sight, self.kinds.tables,
                           control.books.decisions.watch, users.tables, users.desk, users.kinds.tables, users.known,
                           rows)

    def prepare(self, row: int, level: int) -> None:
        """Describe a task at a level of ramCount, and with it its kind."""
        if self.state[0]["of_users"]:
            self.state[0]["kind"] = self.users.prepare(row, level)
            return
        control, brokers = self.control, self.control.brokers
        task, _ = self.work_queues.view(row, level)
        known = prepare(self.brokerage, task, brokers.queues, control.cfg, brokers.cache)
        first, weight = self.first.open, self.weight.table
        rows = self.first.row_of(known.first), self.weight.row_of(known.static_weight)
        self.state[0]["kind"] = self.kinds.add(control.arrays, row, level, known.task, rows)
        if first is not self.first.open or weight is not self.weight.table:
            self._bundle()

    def read(self, row: int, slot: int) -> None:
        """Put the numbers of a task's share, and the queues near its nucleus or the storages, into the tables."""
        if self.state[0]["of_users"]:
            self.users.read(row)
            return
        control, task = self.control, self.record[slot]
        kind = int(task["resource_type"]) if self.state[0]["by_type"] else None
        loads.load_row(control.world, control.brokers.snapshot, account_of_task(control.arrays, row), kind)
        control.world.places.learn(int(task["nucleus"]))

    def verdict(self, row: int, level: int) -> Verdict:
        """The decision in hand, about a task at a level of ramCount, which shares the columns of the tables."""
        slot, n_best = int(self.state[0]["slot"]), int(self.state[0]["n_best"])
        if self.state[0]["of_users"]:
            return self.users.verdict(row, level, n_best)
        task, _ = self.work_queues.view(row, level)
        return verdict_of(self.brokerage, Question(self.tables, slot), n_best, task, self.control.brokers.queues)

    def grow(self) -> None:
        """Make room for the next tasks, orders and decisions."""
        state = self.state[0]
        if state["n_slots"] == len(self.slots):
            self._compress()
        self.control.books.decisions.make_room()
        if state["n_orders"] + state["n_blocks"] >= len(self.orders):
            more = max(len(self.orders), int(state["n_blocks"]))
            self.orders = np.concatenate([self.orders, np.zeros(more, ORDERED)])
        self._bundle()

    def take_orders(self) -> np.ndarray:
        """Orders of the cycles since this was last asked, (k,) of ORDERED."""
        taken = self.orders[:self.state[0]["n_orders"]]
        self.state[0]["n_orders"] = 0
        return taken

    def take_started(self) -> list[int]:
        """Rows of the tasks that got their first jobs since this was last asked."""
        taken: list[int] = self.desk.started[:self.state[0]["n_started"]].tolist()
        self.state[0]["n_started"] = 0
        return taken

    def take_held(self) -> list[tuple[int, int, bool]]:
        """Tasks that found no queue since this was last asked: row, rule that left no candidate, whether of users."""
        taken: list[tuple[int, int, bool]] = self.desk.held[:self.state[0]["n_held"]].tolist()
        self.state[0]["n_held"] = 0
        return taken

    def _compress(self) -> None:
        """Keep the slots of live tasks, and make room for twice as many if they are more than half."""
        kept = np.flatnonzero(np.isin(self.slots["task"], self.control.books.live_tasks.rows))
        self.slot_of[:], self.state[0]["n_slots"] = -1, len(kept)
        n = max(FIRST_SLOTS, 2 * len(kept), len(self.slots))
        for name in SLOT_TABLES:
            old = getattr(self, name)
            new = np.zeros((n, *old.shape[1:]), old.dtype)
            new[:len(kept)] = old[kept]
            setattr(self, name, new)
        self.slot_of[self.slots["task"][:len(kept)], self.slots["level"][:len(kept)]] = np.arange(len(kept))

    def _forget(self) -> None:
        self.slot_of[:], self.state[0]["n_slots"] = -1, 0
        self.kinds.forget(self.control.arrays.tasks)

    def _bundle(self) -> None:
        """Gather the tables again."""
        control, brokers, log = self.control, self.control.brokers, self.control.books.decisions
        queues, network, places, n = brokers.queues, control.world.network, control.world.places, len(self.orders)
        most = max(MAX_CANDIDATES, len(queues.records))
        nuclei = observe.stores_known(control.world, brokers.snapshot)
        steps = log.steps(DecisionKind.JOB_BROKERAGE, self.brokerage.tags)
        self.tables = Tables(
            asked=self.asked, task=self.record, replica_site=self.replica_site, replica_part=self.replica_part,
            replica_tape=self.replica_tape, **self.brokerage.order._asdict(), queues=queues.records,
            load=brokers.snapshot.load, link=network.ways, store=brokers.snapshot.store, parts=NO_PARTS,
            first=self.first.table, open=self.first.open, static_weight=self.weight.table,
            **room(len(queues.records), MAX_CANDIDATES, len(self.brokerage.candidate_factors)))
        self.desk = Desk(
            state=self.state, slots=self.slots, slot_of=self.slot_of, asks=self.apart,
            of_users=self.of_users,
            changes=control.books.scouts.changes, nuclei=nuclei, waiting=network.waiting, ways_known=network.ways_known,
            links=network.table, **places.ways(), numbers=log.numbers, counts=log.of_jobs, is_counted=log.is_counted,
            groups=log.groups, ranks=steps.ranks, furthest=log.furthest,
            times=self.first.times, keys=luck.keys_of(queues.names),
            chosen=np.empty(n, np.int64), sizes=np.empty(n, np.int64), uniforms=np.empty((n, most)),
            places=np.empty(most, PLACE), orders=self.orders, started=np.empty(n, np.int64), held=np.empty(n, HELD),
            **self._statistics())

    def _statistics(self) -> dict[str, np.ndarray]:
        """The tables of the desk that come with the statistics, and the room for decisions."""
        snapshot = self.control.brokers.snapshot
        return dict(placed=snapshot.placed, placed_by_type=snapshot.placed_by_type, load_known=snapshot.load_known,
                    load_of_all=loads.load_of_all(self.control.world, snapshot), by_share=snapshot.by_share,
                    room=self.control.books.decisions.room)

    def _renew_statistics(self) -> None:
        """Take over new statistics."""
        snapshot = self.control.brokers.snapshot
        nuclei = observe.stores_known(self.control.world, snapshot)
        assert snapshot.store is not None
        self.tables = self.tables.with_arrays(load=snapshot.load, store=snapshot.store)
        self.desk = self.desk.with_arrays(nuclei=nuclei, **self._statistics())
