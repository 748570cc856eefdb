"""Acts in a run: agents that changed something, incidents that took effect, worker modes and policies in use.

An agent acts in a turn, from when it wakes until it waits, in which a table of the world, or what agents share in their
books, is not the same afterwards, or in which it records something. The processes that it starts act for it. Before its
first wait it only prepares itself: there, what it puts into the books does not count. An incident acts if its effect is
a change; a command, or a change of tasks, for each task that takes it; a worker mode, a dispatcher for each job that
starts by it; an edition or a policy in a run in which jobs start; a key by which slots end early for each job that was
preempted, which is with a notice, at a queue with no other such key; a kind of job of event service for each job that
processed events, or merged them; an object store at each sample at which it has less room than at the start.
"""

import inspect
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial, wraps
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np

from simgrid_broker import agents as package
from simgrid_broker import editions, engine
from simgrid_broker.agents.control import Control, Reader, Work
from simgrid_broker.agents.run import timeline
from simgrid_broker.bundle import Bundle
from simgrid_broker.names import Cause, EventService, JobStatus
from simgrid_broker.plugins import AGENT_GROUP, offered
from simgrid_broker.policy import registry
from simgrid_broker.records import Run
from simgrid_broker.scenario.checks.work import TASK_INCIDENTS
from simgrid_broker.scenario.model import Incident, Policies
from simgrid_broker.schema.grid import OS_ES
from simgrid_broker.systems.dispatch import DISPATCHERS
from simgrid_broker.systems.events.jumbo_jobs import jumbo_jobs
from simgrid_broker.systems.events.service import EVENTS, event_service
from simgrid_broker.systems.worker_mode import MODES, WITHOUT_WORKFLOW
from simgrid_broker.world.arrays import GROWING, REUSED

OUTBOXES = {*GROWING} - {*REUSED} | {"done_times", "done_jobs"}
"""Tables that a fingerprint leaves out: counters of the world change with them."""
PATIENCE = 10
"""Turns of an agent that are all looked at; then ever fewer, one of n after so many times n."""
EARLY_ENDS = ("eviction_by_hour", "eviction_rate", "slot_life", "window")
"""Keys of a queue by which its batch system takes slots away."""
OF_EVENTS = tuple(kind.word for kind in (EventService.CONSUMER, EventService.MERGE, EventService.CLONE,
                                         EventService.JUMBO, EventService.CO_JUMBO))
"""Kinds of jobs of event service."""
OF_STORES = "events object_store"
"""Line of samples at which an object store held output of event ranges."""
ENOUGH = 3
"""Acts of an agent in one run after which its turns are no longer looked at."""


def all_acts() -> list[str]:
    """Everything that can act, as lines of the table."""
    dispatchers = [(name, DISPATCHERS.member(name)) for name in DISPATCHERS.names()]
    return [*(f"agent {agent.__name__}" for agent in (*package.AGENTS, event_service, jumbo_jobs)
              if agent is not package.agents_of_dispatch),
            *(f"agent {agent.__name__} of {name}" for name, one in dispatchers for agent in one.agents),
            *(f"own agent {name}" for name in offered(AGENT_GROUP)),
            *(f"incident {what}" for what in get_args(Incident.model_fields["what"].annotation)
              if what != "task_command"),
            *(f"command {word}" for word in commands()), *(f"mode {name}" for name in MODES.names()),
            *(f"dispatch {name}" for name, _ in dispatchers),
            *(f"slots {key}" for key in EARLY_ENDS), *(f"events {kind}" for kind in OF_EVENTS), OF_STORES,
            *(f"edition {name}" for name in get_args(editions.Name)),
            *(f"policy {kind} {name}" for kind in Policies.model_fields for name in registry.names(kind))]


def commands() -> tuple[str, ...]:
    """Words of the commands to tasks."""
    kind = Incident.model_fields["command"].annotation
    return tuple(word for part in get_args(kind) for word in get_args(part) if isinstance(word, str))


class Watch:
    """Counts turns of agents, and effects of incidents, that changed something; `counts` is by line of the table.

    dispatch: name of the dispatcher; lines: of the agents that are watched.
    """

    def __init__(self, dispatch: str, lines: Collection[str]):
        self.lines = {line for line in lines if line.startswith(("agent ", "own agent "))}
        self.counts, self.turns = Counter[str](), Counter[str]()
        self.dispatch, self.control, self.agent, self.records = dispatch, None, "", 0

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Within, incidents are watched, and agents that are started."""
        every, calendar, effects = Control.every, Control.calendar, timeline.EFFECTS
        in_package, of_scenario, guarded = engine.AGENTS, engine.agents_of, engine.guarded
        timeline.EFFECTS = {what: self._effect(effect, what) for what, effect in effects.items()}
        if self.lines:
            engine.guarded = lambda plugin: self._watched(guarded(plugin), f"own agent {plugin.name}")
            Control.every, Control.calendar = self._every(every), self._calendar(calendar)
            engine.AGENTS = tuple(self._watched(agent, f"agent {agent.__name__}") for agent in in_package)
            engine.agents_of = lambda scenario: tuple(
                self._watched(agent, f"agent {agent.__name__}") for agent in of_scenario(scenario))
        try:
            yield
        finally:
            Control.every, Control.calendar, timeline.EFFECTS = every, calendar, effects
            engine.AGENTS, engine.agents_of, engine.guarded = in_package, of_scenario, guarded

    def _effect(self, effect: Callable, what: str) -> Callable:
        """The effect of incidents of a kind, each of which is counted if it changes something."""
        def watched(control: Control, incident: Incident) -> None:
            before = of_tables(control), of_books(control)
            effect(control, incident)
            changed = before != (of_tables(control), of_books(control))
            self.counts[f"incident {what}"] += changed and what not in TASK_INCIDENTS
        return watched

    def _watched(self, agent: Callable, name: str) -> Callable:
        """An agent whose own turns are looked at."""
        @wraps(agent)
        def watched(control: Control) -> Generator[Any, Any, Any]:
            self._meet(control)
            if agent is package.agents_of_dispatch:
                started = [control.env.process(self._turns(one(control), f"agent {one.__name__} of {self.dispatch}"))
                           for one in control.policies.dispatch.agents]
                yield control.env.all_of(started)
                return
            yield from self._turns(agent(control), name)
        return watched

    def _meet(self, control: Control) -> None:
        """Know the control of a run; what is recorded by it is counted, and processes belong to who starts them."""
        if self.control is control:
            return
        self.control, env, recorder = control, control.env, control.recorder
        process, write, keep = env.process, recorder.write, recorder.keep_snapshot

        def begun(steps: Generator) -> Any:
            return process(self._turns(steps, self.agent, False) if self.agent else steps)

        def counted(record: Callable) -> Callable:
            def recorded(*args: Any) -> None:
                self.records += 1
                record(*args)
            return recorded
        env.process, recorder.write, recorder.keep_snapshot = begun, counted(write), counted(keep)

    def _turns(self, steps: Generator, name: str, prepares: bool = True) -> Generator[Any, Any, Any]:
        """The events of an agent, one after the other; prepares: whether it does so before the first one."""
        advance, first = partial(next, steps), prepares
        while True:
            try:
                with self._turn(name, first):
                    event = advance()
            except StopIteration as end:
                return end.value
            first = False
            try:
                advance = partial(steps.send, (yield event))
            except Exception as thrown:             # a failed event, or an interrupt of the process
                advance = partial(steps.throw, thrown)

    def _every(self, every: Callable) -> Callable:
        """`Control.every` whose work is a turn of the agent that calls it."""
        def watched(control: Control, period: float, work: Callable, name: str, *rests: Callable) -> Any:
            agent = self.agent or next((f"agent {one.__name__}" for one in package.AGENTS if inspect.getmodule(
                one) is inspect.getmodule(work)), f"agent {name}")
            return every(control, period, self._as_turn(agent, work), name, *rests)
        return watched

    def _calendar(self, calendar: Callable) -> Callable:
        """`Control.calendar` whose pieces of work are turns of the agent that calls it."""
        def watched(control: Control, period: float, works: Sequence[Work], reader: Reader) -> Any:
            turns = [SimpleNamespace(name=work.name, cycle=self._as_turn(self.agent, work.cycle)) for work in works]
            return calendar(control, period, turns, reader)
        return watched

    def _as_turn(self, agent: str, work: Callable) -> Callable:
        """A piece of work as a turn of an agent."""
        def turn() -> float | None:
            with self._turn(agent):
                return work()
        return turn

    @contextmanager
    def _turn(self, name: str, prepares: bool = False) -> Iterator[None]:
        """One turn of an agent, counted if it changes or records something."""
        outer, self.agent = self.agent, name
        self.turns[name] += not outer
        look = name in self.lines and self.counts[name] < ENOUGH and not outer and (
            self.turns[name] % (self.turns[name] // PATIENCE + 1) == 0)
        before = self._state(prepares) if look else ()
        try:
            yield
        finally:
            self.agent = outer
        if look and self._state(prepares) != before:
            self.counts[name] += 1

    def _state(self, prepares: bool) -> tuple[int, ...]:
        """State that a turn must change to count as an act."""
        return self.records, of_tables(self.control), 0 if prepares else of_books(self.control)


def of_tables(control: Control) -> int:
    """A number that changes with the tables of the world."""
    return _of_bundle(control.world.arrays, 0)


def of_books(control: Control) -> int:
    """A number that changes with what agents share beside the tables: public attributes that are no cached values."""
    found = 0
    for holder in (control.world, control.books, control.policies, control.brokers):
        for thing in _shared(holder):
            found += hash(repr([_shown(thing), *map(_shown, _shared(thing))]))
    return found


def _shared(thing: Any) -> list[Any]:
    """The public attributes of a thing, but the tables, in the order of their names."""
    if isinstance(thing, Bundle):
        return []
    return [value for name, value in sorted(getattr(thing, "__dict__", {}).items()) if not name.startswith("_")
            and not isinstance(getattr(type(thing), name, None), cached_property)]


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
    """A thing as a fingerprint sees it: a number, the sum of an array, the content of what cannot change, such as a
    tuple of shares, the length of another collection, else which it is."""
    if isinstance(thing, (int, float, str)):
        return thing
    if isinstance(thing, np.ndarray) and thing.dtype != object and thing.size:
        return _sum(np.ascontiguousarray(thing))
    if isinstance(thing, tuple):
        with suppress(TypeError):
            return hash(thing)
    return len(thing) if isinstance(thing, (list, dict, set, tuple)) else id(thing)


def acts_of_run(run: Run) -> Counter[str]:
    """Acts that a run itself records: commands that were carried out, jobs of each mode, policies of runs with jobs."""
    counts: Counter[str] = Counter()
    scenario, simulated = run.manifest["scenario"], run.manifest["simulated_s"]
    counts["incident task_arrival"] += sum(one["what"] == "task_arrival" and one["at"] < simulated
                                           for one in scenario["incidents"])
    for given in run.manifest["commands"]:
        word = given["command"]
        counts[f"command {word}" if word in commands() else f"incident task_{word}"] += given["n_done"]
    if scenario["record"]["jobs"] and len(run.jobs):
        started = run.jobs[run.jobs.running_s.notna()]
        for queue, number in started.queue.value_counts().items():
            workflow = scenario["grid"]["queues"][queue]["workflow"] or WITHOUT_WORKFLOW
            counts[f"mode {workflow}"] += int(number)
        counts[f"dispatch {scenario['dispatch']}"] += len(started)
        counts[f"edition {scenario['edition']}"] += bool(len(started))
        for kind, name in scenario["policies"].items():
            counts[f"policy {kind} {name}"] += bool(len(started))
        preempted = run.jobs.queue[run.jobs.cause == Cause.PREEMPTED.word].value_counts()
        for queue, number in preempted.items():
            said = scenario["grid"]["queues"][queue]
            ends = [key for key in EARLY_ENDS if said[key]]
            if ends in ([key] for key in EARLY_ENDS) or ends == ["eviction_by_hour", "eviction_rate"]:
                counts[f"slots {ends[0]}"] += int(number)
    return counts + of_events(run)


def of_events(run: Run) -> Counter[str]:
    """Jobs of event service that processed events, or merged them, by kind."""
    counts: Counter[str] = Counter()
    if EVENTS.name in run.tables:
        rows = run.table(EVENTS.name)
        merged = (rows.kind == EventService.MERGE.word) & (rows.status == JobStatus.FINISHED.word)
        for kind, number in rows[(rows.ranges > 0) | merged].groupby("kind", observed=True).jobs.sum().items():
            counts[f"events {kind}"] += int(number)
        counts[OF_STORES] += filled_stores(run)
    return counts


def filled_stores(run: Run) -> int:
    """Samples at which an object store has less room than at the start."""
    stores = [name for name, one in run.manifest["scenario"]["grid"]["storages"].items() if one["type"] == OS_ES]
    rows = run.table("storages", ["time_s", "storage", "free_bytes"])
    room = rows[rows.storage.isin(stores)].groupby("storage", observed=True).free_bytes
    return int(sum((one < one.iloc[0]).sum() for _, one in room))
