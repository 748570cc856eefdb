"""Shares and work queues of a run: the share tree as arrays, assignment of tasks, queues for which jobs are generated.

Sources: JEDI TWiki, work queues; lifecycle reference, section 1.6.
"""

from typing import NamedTuple

import numpy as np

from simgrid_broker.names import ROOT_SHARE
from simgrid_broker.scenario.criteria import parse, passes, variables_of
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.scenario.shares import (
    RESOURCE,
    active,
    by_queue,
    has_normal,
    n_resource_queues,
    queue_names,
    selecting,
)
from simgrid_broker.scenario.terms import TERMS
from simgrid_broker.schema.tasks import VOCABULARY_OF
from simgrid_broker.views import ShareTree
from simgrid_broker.world.world import World

NO_QUEUE = -1


class AlignedQueue(NamedTuple):
    """A queue with its own process of job generation, for one or several resource types.

    accounts: accounts of its jobs (`jobs.counts`); types: its resource types; core_types: types with the same prefix,
    SCORE or MCORE; all_types: all types; resource_type: its only type, empty = all.
    """

    name: str
    accounts: tuple[int, ...]
    types: tuple[int, ...]
    core_types: tuple[int, ...]
    all_types: tuple[int, ...]
    resource_type: str
    throttled: bool

    @property
    def full_name(self) -> str:
        """Name with the resource type, which no other queue has."""
        return f"{self.name} {self.resource_type}".rstrip()


class WorkQueueMap:
    """Maps tasks to work queues: the first, by order, whose criteria a task passes."""

    def __init__(self, scenario: Scenario):
        names = queue_names(scenario.work_queues)
        self.codes = {name: code for code, name in enumerate(names)}
        self.criteria = [(self.codes[queue.name], parse(queue.criteria, variables_of(queue.variables)))
                         for queue in selecting(scenario.work_queues)]
        self.required = has_normal(scenario)
        leaves = [leaf.name for leaf in leaf_shares(scenario.shares_in_use)]
        self.share_of = {code: leaves.index(name) for name, code in self.codes.items()} if by_queue(scenario) else {}
        self.queue_of_share = {share: code for code, share in self.share_of.items()}

    def queue_of(self, task) -> int:
        """Number of the first queue whose criteria a task passes, else NO_QUEUE; task: values by attribute."""
        return next((code for code, tree in self.criteria if passes(tree, task)), NO_QUEUE)


def attributes(world: World, row: int) -> dict:
    """Attributes of a task for criteria."""
    task, words = world.arrays.tasks[row], world.vocabularies
    texts = dict(prodSourceLabel="label", workingGroup="working_group", processingType="processing_type",
                 campaign="campaign", site="preassigned", userName="user", taskName="name", transPath="transpath",
                 architecture="architecture", transHome="transhome")
    values = {attribute: words[VOCABULARY_OF[column]][task[column]] for attribute, column in texts.items()}
    return values | dict(coreCount=float(task["corecount"]), eventService=float(task["eventservice"]),
                        currentPriority=float(task["priority"]), ramCount=float(task["ramcount"]))


def aligned_queues(scenario: Scenario) -> list[AlignedQueue]:
    """Queues for which jobs are generated: leaf shares, or normal queues and partitions; then the Resource queues.

    A partition is one queue, independent of its sub queues; a Resource queue covers all resource types.
    """
    names, shares = list(scenario.resource_types), scenario.shares_in_use
    leaves = leaf_shares(shares)
    number = {leaf.name: leaf_number for leaf_number, leaf in enumerate(leaves)}
    special = queue_names(scenario.work_queues)[:n_resource_queues(scenario.work_queues)]
    nodes = shares if by_queue(scenario) else leaves
    queues = []
    for node in nodes:
        if node.name not in special:
            accounts = tuple(number[leaf.name] for leaf in leaf_shares((node,)))
            queues += _of_types(node.name, accounts, names, node.throttled, scenario.edition)
    throttled = {queue.name: queue.share is not None or not by_queue(scenario) for queue in
                 active(scenario.work_queues) if queue.function == RESOURCE}
    every = tuple(range(len(names)))
    return queues + [AlignedQueue(name, (len(leaves) + k,), every, every, every, "", throttled[name])
                    for k, name in enumerate(special)]


def stretchable_nodes(world: World) -> np.ndarray | None:
    """Stretchable nodes of the share tree, (n_nodes,) bool; None if shares are not work queues (L1)."""
    if not by_queue(world.scenario):
        return None
    names = {queue.name for queue in active(world.scenario.work_queues) if queue.stretchable}
    return np.array([name in names for name in world.tree.names])


def core_types(resource_type: str, types) -> tuple[int, ...]:
    """Numbers of the types with the prefix of a type, SCORE or MCORE."""
    return tuple(number for number, other in enumerate(types) if other.startswith(resource_type[:len("SCORE")]))


def _of_types(name: str, accounts: tuple[int, ...], types: list[str], throttled: bool,
              edition: str) -> list[AlignedQueue]:
    """A queue for each resource type; as documented, `eventservice` is one queue for all of them."""
    every = tuple(range(len(types)))
    if name in TERMS[edition].event_queues:
        return [AlignedQueue(name, accounts, every, every, every, "", throttled)]
    return [AlignedQueue(name, accounts, (number,), core_types(kind, types), every, kind, throttled)
            for number, kind in enumerate(types)]


def share_tree(shares) -> ShareTree:
    """Tree of the scenario's shares, values normalised so that all leaves sum to 100.

    Top-down: value of a child = value of the parent x its value / sum of its siblings; source: lifecycle reference,
    section 1.1 (PanDA GlobalShares).
    """
    names, parents, values, leaves = [ROOT_SHARE], [-1], [100.0], []

    def add(children, parent):
        total = sum(share.value for share in children)
        for share in children:
            names.append(share.name)
            parents.append(parent)
            values.append(values[parent] * share.value / total if total else 0.0)
            node = len(names) - 1
            if share.children:
                add(share.children, node)
            else:
                leaves.append(node)

    add(shares, 0)
    return ShareTree(tuple(names), np.array(parents), np.array(values), np.array(leaves))


def with_value(shares, name: str, value: float):
    """The shares with the value of `name` replaced."""
    return tuple(share.model_copy(update={"value": value} if share.name == name else
                                  {"children": with_value(share.children, name, value)}) for share in shares)


def leaf_shares(shares) -> list:
    """The leaves of the scenario's share tree, depth first; their positions are the numbers of the shares."""
    leaves = []
    for share in shares:
        leaves += leaf_shares(share.children) if share.children else [share]
    return leaves
