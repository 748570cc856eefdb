"""Control: what an agent is given."""

import os
from collections.abc import Callable, Generator, Sequence
from functools import partial
from math import floor
from operator import itemgetter
from typing import Any, Protocol

import numpy as np
import simpy

from simgrid_broker import luck
from simgrid_broker.agents.books import Books, Recorder
from simgrid_broker.fabric.fabric import Fabric
from simgrid_broker.ledgers.dues import Dues, Input
from simgrid_broker.turns.brokers import Brokers
from simgrid_broker.turns.plane import Check, unchecked
from simgrid_broker.turns.policies import InForce, Policies
from simgrid_broker.views import Gdpconfig
from simgrid_broker.world.arrays import STATE, Arrays
from simgrid_broker.world.jobs.counts import take_snapshot
from simgrid_broker.world.views.tasks import offset_of
from simgrid_broker.world.world import World

Process = Generator[simpy.Event, object, None]
"""Generator that an agent returns when it is called, which SimPy runs as a process."""
AWAKE = "SIMGRID_BROKER_AWAKE" in os.environ
"""True if agents look even where nothing that they read has changed; what a run does is the same."""
COUNTED = itemgetter(*(slice(offset_of(STATE, first), offset_of(STATE, after)) for first, after in (
    ("now_s", "n_done_jobs"), ("n_job_moves", "n_job_rows"), ("n_done_tasks", "next_cycle_s"),
    ("n_left", "fault_row"))))
"""Bytes of the world's counters without those that change where an agent only empties outboxes, or notes when it looks
again."""


class Control:
    """All that an agent can reach; env: SimPy's environment; periods: the `agents` section of the scenario.

    check: of the decisions; due: when each piece of work that is done on a period is done next, s, by its name, those
    of a calendar by that of the first one; cycles: how often each agent that works on a period has worked, and how
    often it has moved anything, by the agent's name; inputs: versions of what agents read when they last looked, by
    their names.
    """

    def __init__(self, env: simpy.Environment, world: World, fabric: Fabric, in_force: InForce, recorder: Recorder):
        self.env, self.world, self.fabric, self.recorder = env, world, fabric, recorder
        self.seed, self.periods = world.scenario.seed, world.scenario.agents
        self.policies = Policies(world.scenario, in_force)
        counts = world.arrays.counts.copy()
        self.brokers = Brokers(world, self.policies, take_snapshot(world.arrays, 0.0, counts, in_detail=True))
        self.books = Books(world, fabric, self.policies, recorder)
        self.due: dict[str, float] = {}
        self.cycles: dict[str, list[int]] = {}
        self.periodic: list[Rounds] = []
        self.inputs: dict[str, tuple[int, ...]] = {}
        self.check: Check = unchecked
        self.books.live_tasks.on_arrival = self.wake

    @property
    def now(self) -> float:
        """Simulated time, s."""
        return self.env.now

    @property
    def arrays(self) -> Arrays:
        """The tables of the world as they are now; do not keep them, growing replaces them."""
        return self.world.arrays

    @property
    def cfg(self) -> Gdpconfig:
        """gdpconfig in force now."""
        return self.policies.cfg

    @property
    def edition(self) -> str:
        """Edition of the rules."""
        return self.policies.edition

    @property
    def is_awake(self) -> bool:
        """True if agents look even where nothing that they read has changed."""
        return AWAKE

    def is_unchanged(self, name: str, *versions: int) -> bool:
        """True if an agent, by its name, asked with the same versions before: what it reads has not changed since.

        A look that acts must change a version, so that it is followed by another one.
        """
        known, self.inputs[name] = self.inputs.get(name), versions
        return known == versions and not self.is_awake

    def every(self, period: float, work: Callable[[], float | None], name: str,
              rests: Callable[[], bool] | None = None) -> Process:
        """Call `work()` on a period, s, first at a random phase that depends on the seed and the name.

        If `work()` returns a delay, s, it replaces the period once. The phase is a multiple of 1/1024 s: sums of whole
        seconds are then exact, and 30 minutes remain 1800 s. The cycles count for the agent that calls this. `rests()`:
        whether they do nothing while there are no tasks, jobs and commands; such cycles are counted alone.
        """
        return _until_broken(partial(Rounds, self, period, work, name, count_of(self, name),
                                     rests and (lambda: not self.books.has_work() and rests())))

    def calendar(self, period: float, works: Sequence["Work"], reader: "Reader") -> Process:
        """As `every` for several pieces of work of an agent, where cycles that would find nothing to do cost little."""
        return _until_broken(partial(Calendar, self, period, works, reader, count_of(self, "calendar")))

    def cycles_so_far(self) -> dict[str, list[int]]:
        """The counts of `cycles` up to now."""
        for work in self.periodic:
            work.settle()
        return self.cycles

    def wake(self) -> None:
        """Let all periodic work that is asleep look for something to do, at once only behind what calls this."""
        for work in self.periodic:
            work.wake()


def count_of(control: Control, name: str) -> list[int]:
    """Counts of the agent that begins periodic work."""
    agent = control.env.active_process
    return control.cycles.setdefault(agent.name if agent else name, [0, 0])


def _until_broken(begin: Callable[[], "Rounds"]) -> Process:
    """Begin periodic work, and end it with the process."""
    work = begin()
    try:
        yield work.broken
    finally:
        work.callbacks = work.again = []


def first_delay(control: Control, period: float, name: str) -> float:
    """Time to the first cycle of periodic work, s: its phase."""
    return floor(float(luck.uniforms(control.seed, "phase", luck.key_of(name))) * period * 1024) / 1024


def act(world: World, work: Callable[[], float | None], count: list[int]) -> float | None:
    """Do a piece of work, and count it; returns what it does."""
    moves, before = world.n_moves, world.arrays.state.tobytes()
    delay = work()
    count[0] += 1
    count[1] += world.n_moves != moves or has_moved(before, world.arrays.state.tobytes())
    return delay


class Rounds(simpy.Event):
    """Periodic work of an agent: one event that reschedules itself, without a Timeout and a resumed process per period.

    broken: an event that fails with what the work raises; count: cycles so far, and those that moved anything; sleeps:
    tells whether no cycle will find anything to do before `wake`.
    """

    def __init__(self, control: Control, period: float, work: Callable[[], float | None], name: str, count: list[int],
                 sleeps: Callable[[], bool] | None):
        super().__init__(control.env)
        self._ok, self._value = True, None                           # as of a timeout
        self.period, self.work, self.name, self.due = period, work, name, control.due
        self.count, self.world, self.sleeps, self.priority = count, control.world, sleeps, next_priority(control)
        self.again: list[Callable[[Any], None]] = [self._turn]
        self.broken = control.env.event()
        control.periodic.append(self)
        self.due[name] = self.env.now + first_delay(control, period, name)
        self._wait()

    def wake(self) -> None:
        """Look for cycles with something to do again, if there were none."""
        if self.is_asleep:
            self.settle()
            self._wait()

    def settle(self) -> None:
        """Count the cycles before now."""
        while self.is_asleep and self.due[self.name] < self.env.now:
            self.due[self.name] += self.period
            self.count[0] += 1

    def _turn(self, _event: simpy.Event) -> None:
        """Work, then wait."""
        try:
            self._cycle()
            self._wait()
        except Exception as thrown:
            self.broken.fail(thrown)

    def _cycle(self) -> None:
        """Do the work that is due."""
        self.due[self.name] = self.env.now + (act(self.world, self.work, self.count) or self.period)

    def _wait(self) -> None:
        """Wait for the next cycle with something to do."""
        self.callbacks = self.again
        self.is_asleep = self.sleeps is not None and not AWAKE and self.sleeps()
        if self.again and not self.is_asleep:
            self.env.schedule(self, self.priority, self._next() - self.env.now)

    def _next(self) -> float:
        """Time of that cycle, s."""
        return self.due[self.name]


class Work(Protocol):
    """Periodic work of a calendar."""

    name: str

    def cycle(self) -> float | None:
        """Work; returns a delay, s, that replaces the period once."""


class Reader(Input, Protocol):
    """Reader of the input of all work of a calendar."""

    def sleeps(self) -> bool:
        """True if no cycle will find anything to do before the calendar is woken."""

    def pass_by(self, at: float) -> None:
        """Note a cycle at a time that was skipped."""


class Calendar(Rounds):
    """Periodic work of an agent under many names: one event, in which the cycles that would do nothing are skipped.

    dues: when each work is done next; skipped: times of cycles that are not counted yet, some of them ahead of time.
    """

    def __init__(self, control: Control, period: float, works: Sequence[Work], reader: Reader, count: list[int]):
        self.works, self.reader, self.skipped = works, reader, list[float]()
        self.dues = Dues(control.env.now + np.array([first_delay(control, period, work.name) for work in works]))
        super().__init__(control, period, works[0].cycle, works[0].name, count, reader.sleeps)

    def settle(self) -> None:
        """Count the cycles before now."""
        while self.is_asleep and (first := self.dues.first())[1] < self.env.now:
            self.reader.pass_by(first[1])
            self.skipped.append(first[1])
            self.dues.put_off(first[0], self.period)
        past = sum(due_s < self.env.now for due_s in self.skipped)
        self.count[0] += past
        del self.skipped[:past]

    def _cycle(self) -> None:
        place, _ = self.dues.first()
        self.count[0] += len(self.skipped)
        self.skipped.clear()
        self.dues.put_off(place, act(self.world, self.works[place].cycle, self.count) or self.period)

    def _next(self) -> float:
        if not AWAKE:
            self.skipped += self.dues.skip_idle(self.period, self.reader)
        self.due[self.name] = self.dues.first()[1]
        return self.due[self.name]


def next_priority(control: Control) -> simpy.events.EventPriority:
    """Priority of periodic work among events of an instant: behind all others, in the order in which it begins."""
    return simpy.events.EventPriority(simpy.events.NORMAL + 1 + len(control.due))


def has_moved(before: bytes, after: bytes) -> bool:
    """True if a job, worker, transfer or replica has changed, by the world's counters before and after."""
    return before != after and COUNTED(before) != COUNTED(after)
