"""Queues and cores at which the first task of each stream of work, or trace, can run, asked of the brokers before a
run.

The grid is empty and no input is looked for, so that only rules about descriptions of queues and tasks refuse any.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simgrid_broker.names import DecisionKind
from simgrid_broker.policy.rule import FINAL_STAGE
from simgrid_broker.scenario import Scenario, in_force
from simgrid_broker.scenario.work.tasklist import TaskList
from simgrid_broker.turns.brokers import Brokers, rules_of
from simgrid_broker.turns.policies import Policies
from simgrid_broker.turns.tagging import Tagger, limit_for_users, refines, tag_task
from simgrid_broker.views import KEPT, InputAt
from simgrid_broker.wording import labels
from simgrid_broker.world.build import build
from simgrid_broker.world.jobs.counts import take_snapshot
from simgrid_broker.world.views import observe
from simgrid_broker.world.views.nuclei import Burden


class Reach(NamedTuple):
    """Reach of the first task of a stream.

    queues, cores: PanDA queues that take its jobs, and cores of their batch systems; taken: cores that rules take, by
    the label of the one that refused the last queue of a batch system, most first; nucleus: for which was asked, empty
    if there is none, or none is needed.
    """

    queues: int
    cores: int
    taken: tuple[tuple[str, int], ...]
    nucleus: str


def reach_of_streams(scenario: Scenario, tasks: TaskList) -> dict[str, Reach]:
    """Reach of each campaign and group of users of which a task comes, and of each prodSourceLabel of a trace.

    tasks: those that come first.
    """
    world, cfg = build(scenario, tasks), in_force(scenario)
    brokers = Brokers(world, Policies(world.scenario, lambda changes: cfg),
                      take_snapshot(world.arrays, 0.0, world.arrays.counts.copy(), in_detail=True))
    tagger, found = Tagger(world, scenario.shares), {}
    for name, row in _first_tasks(scenario, tasks).items():
        if refines(world.vocabularies["labels"][world.arrays.tasks["label"][row]], scenario.edition):
            limit_for_users(world, row, brokers.policies.cfg)
        if tag_task(world, row, tagger):
            found[name] = _reach(brokers, row)
    return found


def _first_tasks(scenario: Scenario, tasks: TaskList) -> dict[str, int]:
    """Row of the first task of each stream, and of each prodSourceLabel of a trace, by what it is called."""
    names = np.array(tasks.vocabularies["task_names"], object)[tasks.rows["name"]]
    work = scenario.workload
    rows = {stream.name: np.flatnonzero(names == stream.name) for stream in (*work.campaigns, *work.users)}
    if work.trace:
        label, words = tasks.rows["label"], tasks.vocabularies["labels"]
        rows |= {f"{work.trace.file.name} ({words[code]})": np.flatnonzero((names == work.trace.file.name)
                                                                           & (label == code))
                 for code in np.unique(label).tolist()}
    return {name: int(of[0]) for name, of in rows.items() if len(of)}


def _reach(brokers: Brokers, row: int) -> Reach:
    """Reach of the task in a row, which goes to the nucleus that it would get on an empty grid, or to the first."""
    world = brokers.world
    if brokers.is_asked_about_users(observe.task(world, row)):
        kind, nucleus = DecisionKind.ANALYSIS_BROKERAGE, ""
        verdict = brokers.analysis_queues_for(row, observe.task(world, row), 1, given=InputAt())
    else:
        kind, (_, seen, chosen) = DecisionKind.JOB_BROKERAGE, brokers.nucleus_for(
            row, Burden(world, np.zeros(0, np.int64)))
        site = int(seen.site[chosen.order[0]]) if len(chosen.order) else int(
            np.argmax(world.arrays.sites["nucleus"] > 0))
        world.arrays.tasks["nucleus"][row], nucleus = site, world.vocabularies["sites"][site]
        verdict = brokers.queues_for(observe.task(world, row), None, 1)
    steps, order = rules_of(brokers.policies, kind.word, verdict)
    names = ["" if step is None else step.name for step in steps]
    best = [step is not None and step.stage == FINAL_STAGE for step in steps]     # the best of those that can run
    refused_by = np.where(np.array([*best, True])[verdict.refused_by], KEPT, verdict.refused_by)
    cores, kept = world.arrays.pools["cores"], refused_by == KEPT
    pool = world.arrays.pseudo_queues["pool"][:len(kept)]
    taken = _taken(refused_by, order, pool, cores)
    called = labels(names, verdict.tags) if all(names) else verdict.tags
    return Reach(len(np.unique(brokers.queues.queue[kept])), int(cores[np.unique(pool[kept])].sum()),
                 tuple((called[rule], number) for rule, number in taken), nucleus)


def _taken(refused_by: np.ndarray, order: Sequence[int], pool: np.ndarray, cores: np.ndarray) -> list[tuple[int, int]]:
    """Rules and the cores that they take, most first; refused_by, pool: of the candidates; order: of the rules."""
    place = np.full(len(order) + 1, len(order))             # of KEPT, -1, behind all rules
    place[list(order)] = np.arange(len(order))
    first_last = np.argsort(place[refused_by], kind="stable")
    last = np.full(len(cores), KEPT, refused_by.dtype)      # rule that refused the last candidate of a batch system
    last[pool[first_last]] = refused_by[first_last]
    sums = Counter[int]()
    for number in dict.fromkeys(pool[first_last].tolist()):
        if last[number] != KEPT:
            sums[int(last[number])] += int(cores[number])
    return sums.most_common()
