"""Which decisions are recorded with their candidates, decided where decisions are made, compiled or not."""

import numpy as np

from simgrid_broker import luck
from simgrid_broker.bundle import Bundle
from simgrid_broker.compiled import compiled
from simgrid_broker.names import DecisionKind
from simgrid_broker.world.arrays import Arrays
from simgrid_broker.world.world import World

DECISION_RECORD = luck.STREAMS["decision_record"]
MOST_STEPS = 63
FAILED = np.dtype([("jeditaskid", "i8"), ("number", "i8")])
"""A task, and its decisions without a candidate since it last had one."""
RECORD = np.dtype([("of_decisions", "f8"), ("of_candidates", "f8"), ("unplaced", "i8")])
"""Fractions of the tasks whose decisions, and whose candidates, are recorded; of `Watch.chosen`, the most of each."""


class Watch(Bundle):
    """What the scenario's `record` asks for, and which decisions without a candidate were chosen so far."""

    record: np.ndarray             # (1,) of RECORD
    whole: np.ndarray              # jeditaskids of tasks all of whose decisions are recorded with their candidates
    failed: np.ndarray             # (n_tasks, n_kinds) of FAILED
    chosen: np.ndarray             # (n_kinds, n_shares, MOST_STEPS): of the 1st, 2nd, 4th, ... about a task


def watch_of(world: World) -> Watch:
    """What the scenario asks for; of the tasks that it names those given by number."""
    said, n_kinds = world.scenario.record, 1 + max(map(int, DecisionKind))
    record = np.array([(max(said.decisions, said.candidates), said.candidates, said.unplaced)], RECORD)
    whole = np.array([task for task in said.tasks if isinstance(task, int)], np.int64)
    return Watch(record=record, whole=whole, failed=np.zeros((len(world.arrays.tasks), n_kinds), FAILED),
                 chosen=np.zeros((n_kinds, len(world.arrays.hs06_milli), MOST_STEPS), np.int64))


@compiled
def keeps(world: Arrays, watch, fraction, jeditaskid, key):
    """Whether decisions about a task belong to a fraction of all; larger fractions include smaller ones.

    key: of the task's random draws.
    """
    if fraction >= 1:
        return True
    for k in range(len(watch.whole)):
        if watch.whole[k] == jeditaskid:
            return True
    return fraction > 0 and luck.uniform(world.settings[0]["seed"], DECISION_RECORD, key, 0, 0) < fraction


@compiled
def chooses(world: Arrays, watch, kind, row, found):
    """Whether the candidates of a decision, to be asked about each, are recorded as one about an unplaced task.

    Of each kind of decision and share, at most a number that are the first such decision about a task, and as many that
    are the 2nd, 4th, 8th, ...; decisions that found a candidate, and tasks that have had a job, are left out.
    """
    task, failed = world.tasks[row], watch.failed[row, kind]
    if found or task["n_attempts"] > 0 or failed["jeditaskid"] != task["jeditaskid"]:
        failed["jeditaskid"], failed["number"] = task["jeditaskid"], 0
    if found or task["n_attempts"] > 0 or watch.record[0]["unplaced"] == 0:
        return False
    failed["number"] += 1
    number, step = failed["number"], 0
    while number >> step > 1:
        step += 1
    if number != 1 << step or watch.chosen[kind, task["share"], step] == watch.record[0]["unplaced"]:
        return False
    watch.chosen[kind, task["share"], step] += 1
    return True
