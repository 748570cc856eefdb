"""Acts in a run: agents that changed something, incidents that took effect, worker modes and policies in use.

An agent has acted when the tables of the world, or what agents remember together, are not the same after its turn.
"""

import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, get_args

import numpy as np

from simgrid_broker import agents as package
from simgrid_broker import engine
from simgrid_broker.agents.control import Control
from simgrid_broker.agents.own import GROUP
from simgrid_broker.bundle import Bundle
from simgrid_broker.plugins import offered
from simgrid_broker.policy import registry
from simgrid_broker.records import Run
from simgrid_broker.scenario.model import Incident, Policies
from simgrid_broker.systems.dispatch import DISPATCHERS
from simgrid_broker.systems.worker_mode import MODES, WITHOUT_WORKFLOW
from simgrid_broker.world.arrays import GROWING, REUSED

OUTBOXES = {*GROWING} - {*REUSED}
"""Tables that a fingerprint leaves out: counters of the world change with them."""
PATIENCE, SELDOM = 20, 7
"""Turns of an agent after which only one of so many is looked at."""
ENOUGH = 10
"""Acts of an agent in one run after which its turns are no longer looked at."""


def all_acts() -> list[str]:
    """Everything that can act, as lines of the table."""
    dispatchers = [(name, DISPATCHERS.member(name)) for name in DISPATCHERS.names()]
    return [*(f"agent {agent.__name__}" for agent in package.AGENTS if agent is not package.agents_of_dispatch),
            *(f"agent {agent.__name__} of {name}" for name, one in dispatchers for agent in one.agents),
            *(f"own agent {name}" for name in offered(GROUP)),
            *(f"incident {what}" for what in get_args(Incident.model_fields["what"].annotation)),
            *(f"command {word}" for word in commands()), *(f"mode {name}" for name in MODES.names()),
            *(f"dispatch {name}" for name, _ in dispatchers),
            *(f"policy {kind} {name}" for kind in Policies.model_fields for name in registry.names(kind))]


def commands() -> tuple[str, ...]:
    """Words of the commands to tasks."""
    kind = Incident.model_fields["command"].annotation
    return tuple(word for part in get_args(kind) for word in get_args(part) if isinstance(word, str))


class Watch:
    """Counts the turns of agents that changed something; `counts` is by line of the table."""

    def __init__(self, dispatch: str):
        self.counts, self.turns = Counter[str](), Counter[str]()
        self.dispatch, self.control, self.agent = dispatch, None, ""

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Within, agents are watched that are started."""
        every, agents, guarded = Control.every, engine.AGENTS, engine.guarded
        engine.guarded = lambda plugin: self._watched(guarded(plugin), f"own agent {plugin.name}")
        Control.every = self._every(every)
        engine.AGENTS = tuple(self._watched(agent, f"agent {agent.__name__}") for agent in agents)
        try:
            yield
        finally:
            Control.every, engine.AGENTS, engine.guarded = every, agents, guarded

    def _watched(self, agent: Callable, name: str) -> Callable:
        """An agent whose own steps are looked at."""
        @wraps(agent)
        def watched(control: Control) -> Iterator[Any]:
            self.control = control
            if agent is package.agents_of_dispatch:
                started = [control.env.process(self._steps(one, f"agent {one.__name__} of {self.dispatch}"))
                           for one in control.policies.dispatch.agents]
                yield control.env.all_of(started)
                return
            yield from self._steps(agent, name)
        return watched

    def _steps(self, agent: Callable, name: str) -> Iterator[Any]:
        """The events of an agent, one after the other."""
        steps, sent = agent(self.control), None
        while True:
            try:
                with self._turn(name):
                    event = steps.send(sent)
            except StopIteration:
                return
            sent = yield event

    def _every(self, every: Callable) -> Callable:
        """`Control.every` whose work is a turn of the agent that calls it."""
        def watched(control: Control, period: float, work: Callable, name: str) -> Any:
            agent = self.agent or next((f"agent {one.__name__}" for one in package.AGENTS if inspect.getmodule(
                one) is inspect.getmodule(work)), f"agent {name}")

            def turn() -> float | None:
                with self._turn(agent):
                    return work()
            return every(control, period, turn, name)
        return watched

    @contextmanager
    def _turn(self, name: str) -> Iterator[None]:
        """One turn of an agent, counted if it changes something."""
        outer, self.agent = self.agent, name
        self.turns[name] += not outer
        look = self.counts[name] < ENOUGH and not outer and (
            self.turns[name] < PATIENCE or self.turns[name] % SELDOM == 0)
        before = fingerprint(self.control) if look else 0
        try:
            yield
        finally:
            self.agent = outer
        if look and fingerprint(self.control) != before:
            self.counts[name] += 1


def fingerprint(control: Control) -> int:
    """A number that changes with the tables of the world and with what agents remember together."""
    found = _of_bundle(control.world.arrays, 0)
    for holder in (control.books, control.policies, control.brokers):
        for thing in vars(holder).values():
            found += hash(repr([_shown(thing), *map(_shown, getattr(thing, "__dict__", {}).values())]))
    return found


def _of_bundle(bundle: Bundle, found: int) -> int:
    """A number of all arrays of a bundle."""
    for name, array in bundle.arrays().items():
        if isinstance(array, Bundle):
            found = _of_bundle(array, found)
        elif name not in OUTBOXES and array.size:
            found += _sum(array)
    return found


def _sum(array: np.ndarray) -> int:
    """The sum of the bytes of an array, eight at a time."""
    content = array.reshape(-1).view(np.uint8)
    whole = len(content) // 8 * 8
    return int(content[:whole].view(np.uint64).sum()) + int(content[whole:].sum())


def _shown(thing: Any) -> Any:
    """A thing as a fingerprint sees it: a number, the sum of an array, the length of a collection, else which it is."""
    if isinstance(thing, (int, float, str)):
        return thing
    if isinstance(thing, np.ndarray) and thing.dtype != object and thing.size:
        return _sum(np.ascontiguousarray(thing))
    return len(thing) if isinstance(thing, (list, dict, set, tuple)) else id(thing)


def acts_of_run(run: Run) -> Counter[str]:
    """Acts that a run itself records: commands that were carried out, workers of each mode that had a job, policies."""
    counts: Counter[str] = Counter()
    scenario, simulated = run.manifest["scenario"], run.manifest["simulated_s"]
    for incident in scenario["incidents"]:
        counts[f"incident {incident['what']}"] += incident["at"] < simulated
    for given in run.manifest["commands"]:
        if given["command"] in commands():
            counts[f"command {given['command']}"] += given["n_done"]
    if scenario["record"]["jobs"] and len(run.jobs):
        started = run.jobs[run.jobs.running_s.notna()]
        for queue, number in started.queue.value_counts().items():
            workflow = scenario["grid"]["queues"][queue]["workflow"] or WITHOUT_WORKFLOW
            counts[f"mode {workflow}"] += int(number)
        counts[f"dispatch {scenario['dispatch']}"] += len(started)
        for kind, name in scenario["policies"].items():
            counts[f"policy {kind} {name}"] += bool(len(started))
    return counts
