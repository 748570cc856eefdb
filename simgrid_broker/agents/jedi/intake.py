"""Greatest number of jobs and tasks that the JobGenerator takes in, compared with those that a trace submits."""

from collections.abc import Iterator
from math import nan

import numpy as np

from simgrid_broker.agents.jedi.task_refiner import TAGGED_BY, Tagger
from simgrid_broker.policy.jobs.resource_types import UNDEFINED, resource_type_of
from simgrid_broker.policy.tasks.selection import selection
from simgrid_broker.policy.tasks.throttle import MAX_BUNCH
from simgrid_broker.schema.tasks import RAM_UNITS
from simgrid_broker.units import HOUR
from simgrid_broker.views import Gdpconfig
from simgrid_broker.world.tasks.rows import busiest_hours, kinds_of_tasks
from simgrid_broker.world.world import World

DECIDES = ("share", "corecount", "ramcount", "ramunit", *TAGGED_BY)
"""Columns of a task that decide its share and its resource type."""


def intake_remarks(world: World, cfg: Gdpconfig) -> Iterator[str]:
    """A sentence for each share and resource type of which a trace submits more in an hour than is taken in.

    A cycle looks at NTASKS tasks, and the next begins after `job_generator`; it makes at most half a bunch of jobs, and
    then the next begins after `job_generator_lacking`. Jobs that go to the server directly are not limited.
    """
    scenario = world.scenario
    if scenario.workload.trace is None or scenario.workload.trace.enters_as == "jobs":
        return
    most_jobs = int(MAX_BUNCH // 2 * HOUR / scenario.agents.job_generator_lacking)
    for (share, kind), of_queue in _work_queues(world).items():
        name, type_name = world.vocabularies["shares"][share], world.vocabularies["resource_types"][kind]
        most_tasks = int(selection(cfg, name, False, scenario.edition).n_tasks * HOUR / scenario.agents.job_generator)
        jobs, tasks = busiest_hours(world.arrays, of_queue)
        if tasks > most_tasks or jobs > most_jobs:
            yield (f"share {name!r} gets up to {jobs} recorded jobs, of {tasks} tasks, of type {type_name} in an hour, "
                   f"and the JobGenerator makes at most {most_jobs} jobs, of {most_tasks} tasks: jobs will wait while "
                   "cores are free; group more of them into a task (workload.trace.group_by), or submit them without "
                   "tasks (workload.trace.as: jobs)")


def _work_queues(world: World) -> dict[tuple[int, int], np.ndarray]:
    """Which tasks of a trace, (n_tasks,) bool, have each share and resource type."""
    tasks, tagger = world.arrays.tasks, Tagger(world, world.scenario.shares_in_use)
    bounds = tuple(world.scenario.resource_types.values())
    rows, kind_of = kinds_of_tasks(world.arrays, DECIDES)
    found: dict[tuple[int, int], np.ndarray] = {}
    for number, task in enumerate(tasks[rows]):
        share = int(task["share"]) if task["share"] >= 0 else tagger.share_of(task)
        kind = resource_type_of(bounds, int(task["corecount"]), float(task["ramcount"]) or nan,
                                RAM_UNITS[task["ramunit"]], 0.0)
        if UNDEFINED not in (share, kind):
            found[share, kind] = found.get((share, kind), False) | (kind_of == number)
    return found
