"""Control: what an agent is given."""

import os
from collections.abc import Callable, Generator
from math import floor
from typing import Any

import simpy

from simgrid_broker import luck
from simgrid_broker.agents.books import Books, Recorder
from simgrid_broker.fabric.fabric import Fabric
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
COUNTED = tuple(slice(offset_of(STATE, first), offset_of(STATE, after)) for first, after in (
    ("now_s", "n_done_jobs"), ("n_job_moves", "n_job_rows"), ("n_done_tasks", "next_cycle_s"), ("n_left", "fault_row")))
"""Bytes of the world's counters without those that change where an agent only empties outboxes, or notes when it looks
again."""


class Control:
    """All that an agent can reach; env: SimPy's environment; periods: the `agents` section of the scenario.

    check: of the decisions; due: when each piece of work that is done on a period is done next, s, by its name; cycles:
    how often each agent that works on a period has worked, and how often it has moved anything, by the agent's name;
    inputs: versions of what agents read when they last looked, by their names.
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
        self.inputs: dict[str, tuple[int, ...]] = {}
        self.check: Check = unchecked

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

    def is_unchanged(self, name: str, *versions: int) -> bool:
        """True if an agent, by its name, asked with the same versions before: what it reads has not changed since.

        A look that acts must change a version, so that it is followed by another one.
        """
        known, self.inputs[name] = self.inputs.get(name), versions
        return known == versions and not AWAKE

    def every(self, period: float, work: Callable[[], float | None], name: str) -> Process:
        """Call `work()` on a period, s, first at a random phase that depends on the seed and the name.

        If `work()` returns a delay, s, it replaces the period once. The phase is a multiple of 1/1024 s: sums of whole
        seconds are then exact, and 30 minutes remain 1800 s. The cycles count for the agent that calls this.
        """
        agent = self.env.active_process
        return _rounds(self, period, work, name, self.cycles.setdefault(agent.name if agent else name, [0, 0]))


def _rounds(control: Control, period: float, work: Callable[[], float | None], name: str, count: list[int]) -> Process:
    """Start periodic work at its first phase, and end it with the process."""
    delay = floor(float(luck.uniforms(control.seed, "phase", luck.key_of(name))) * period * 1024) / 1024
    rounds = Rounds(control, period, work, name, delay, count)
    try:
        yield rounds.broken
    finally:
        rounds.callbacks = []


class Rounds(simpy.Event):
    """Periodic work of an agent: one event that reschedules itself, without a Timeout and a resumed process per period.

    broken: an event that fails with what the work raises; count: cycles so far, and those that moved anything.
    """

    def __init__(self, control: Control, period: float, work: Callable[[], float | None], name: str, delay: float,
                 count: list[int]):
        super().__init__(control.env)
        self._ok, self._value = True, None                           # as of a timeout
        self.period, self.work, self.name, self.due = period, work, name, control.due
        self.count, self.world = count, control.world
        self.again: list[Callable[[Any], None]] = [self._turn]
        self.broken = control.env.event()
        self._wait(delay)

    def _turn(self, _event: simpy.Event) -> None:
        """Work, count, then wait."""
        world = self.world
        moves, before = world.n_moves, world.arrays.state.tobytes()
        try:
            delay = self.work() or self.period
        except Exception as thrown:
            self.broken.fail(thrown)
        else:
            self.count[0] += 1
            self.count[1] += world.n_moves != moves or has_moved(before, world.arrays.state.tobytes())
            self._wait(delay)

    def _wait(self, delay: float) -> None:
        self.callbacks = self.again
        self.due[self.name] = self.env.now + delay
        self.env.schedule(self, delay=delay)


def has_moved(before: bytes, after: bytes) -> bool:
    """True if a job, worker, transfer or replica has changed, by the world's counters before and after."""
    return before != after and any(before[part] != after[part] for part in COUNTED)
