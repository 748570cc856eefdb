"""Tagging of tasks with share and resource type, and the limits that JEDI's TaskRefiner sets for tasks of users."""

from math import nan
from typing import Any

import numpy as np

from simgrid_broker.names import ANALYSIS_LABELS
from simgrid_broker.policy.jobs.resource_types import resource_type_of
from simgrid_broker.policy.shares.dispatch import UNDEFINED, TagRule, tag
from simgrid_broker.policy.users import tasks as user_tasks
from simgrid_broker.schema.tasks import RAM_UNITS
from simgrid_broker.views import Gdpconfig
from simgrid_broker.world.columns import limit_walltime, set_task
from simgrid_broker.world.shares import leaf_shares
from simgrid_broker.world.world import World

TAGGED_BY = ["label", "working_group", "campaign", "transpath", "processing_type", "preassigned"]
"""Columns by which tasks are tagged with their share."""

TYPED_BY = ["corecount", "ramcount", "ramunit", "baseramcount"]
"""Columns by which tasks get their resource type."""


def tag_rules(shares) -> list[TagRule]:
    """Rules that tag tasks with a share, one for each leaf of the tree."""
    return [TagRule(leaf, share.prodsourcelabel, share.workinggroup, share.campaign, share.processingtype,
                    share.transpath, share.rtype) for leaf, share in enumerate(leaf_shares(shares))]


class Tagger:
    """Finds the share and the resource type of tasks; answers are kept by the words and claims that decide."""

    def __init__(self, world: World, shares):
        self.world, self.rules = world, tag_rules(shares)
        self.bounds = tuple(world.scenario.resource_types.values())
        self.found: dict[Any, int] = {}
        self.types: dict[Any, int] = {}

    def share_of(self, tasks: np.ndarray, row: int) -> int:
        """The leaf whose rule matches first, UNDEFINED if none does."""
        codes = tasks[TAGGED_BY].item(row)
        if codes not in self.found:
            self.found[codes] = tag(self.rules, self._words(tasks[row]))
        return self.found[codes]

    def type_of(self, tasks: np.ndarray, row: int) -> int:
        """The first resource type that fits, UNDEFINED if none does."""
        claims = tasks[TYPED_BY].item(row)
        if claims not in self.types:
            corecount, ramcount, unit, baseramcount = claims
            self.types[claims] = resource_type_of(self.bounds, corecount, ramcount or nan, RAM_UNITS[unit],
                                                  baseramcount)
        return self.types[claims]

    def _words(self, task: np.void) -> dict[str, str]:
        words = self.world.vocabularies
        return dict(
            prodsourcelabel=words["labels"][task["label"]],
            workinggroup=words["working_groups"][task["working_group"]],
            campaign=words["campaigns"][task["campaign"]], transpath=words["transpaths"][task["transpath"]],
            processingtype=words["processing_types"][task["processing_type"]], rtype=_rtype(self.world, task))


def refines(label: str, edition: str) -> bool:
    """True if JEDI sets limits of its own for tasks of a prodSourceLabel."""
    return label in ANALYSIS_LABELS and user_tasks.TERMS[edition].refines


def limit_for_users(world: World, row: int, cfg: Gdpconfig) -> None:
    """Give a task of users that says none the most cores of a slot, and all such tasks the wall time of a job."""
    if world.arrays.tasks["maxcorecount"][row] == np.inf:
        set_task(world, row, maxcorecount=user_tasks.most_cores(cfg))
    if (target_s := user_tasks.target_walltime_s(cfg)) is not None:
        limit_walltime(world, row, target_s, always=True)


def tag_task(world: World, row: int, tagger: Tagger) -> bool:
    """Give a task its share, unless it names one, and its resource type; returns whether both were found."""
    tasks = world.arrays.tasks
    share, resource_type = tasks["share"].item(row), tagger.type_of(tasks, row)
    if share < 0:
        share = tagger.share_of(tasks, row)
    set_task(world, row, share=share, resource_type=resource_type)
    return share != UNDEFINED and resource_type != UNDEFINED


def _rtype(world: World, task: np.void) -> str:
    """Infrastructure type of the first queue that a task names, empty if it names none; lifecycle reference, 1.2."""
    named = world.vocabularies["preassigned"][task["preassigned"]]
    return world.scenario.grid.queues[named.split(",")[0]].resource_type if named else ""
