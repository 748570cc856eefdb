"""The door of worker modes: how workers come to the jobs of a PanDA queue, by the workflow that it has in CRIC."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from simgrid_broker.plugins import Door

GROUP = "simgrid_broker.worker_modes"
"""Group of entry points that offer modes, each by the workflow of the queues that it serves."""

FLAGS = "asked_by_server", "fetches_jobs", "serves_all_types", "asks_again"
"""Attributes of a mode that tables of a run hold."""


@dataclass(frozen=True, kw_only=True, eq=False)
class WorkerMode:
    """Way in which workers come to the jobs of a PanDA queue; source: lifecycle reference, section 5.1.

    name: as messages give it; template: last part of the name of Harvester's template for such queues; limits: options
    of that template, for queues of the types production and analysis. asked_by_server: the server says how many workers
    of each type are wanted; fetches_jobs: Harvester fetches jobs and submits one worker for each; where neither is so,
    Harvester looks at the activated jobs itself. serves_all_types: workers are of one type, that of most cores and
    memory, and take jobs of all types; asks_again: a pilot whose job has ended asks for another within the `timefloor`
    of its queue.

    wanted: workers to submit before limits count, (n_queues, n_types) from 0 on, of a `views.WorkerStatus`; only those
    of the mode's queues are read. options: names of `params` beside Harvester's that it reads, numbers from 0 on.
    checks, remarks: functions of a scenario that has a queue of the mode, which give a `Finding` for everything wrong,
    and sentences on what is legal but may not be meant.
    """

    name: str
    template: str
    limits: Mapping[str, Mapping[str, float]]
    asked_by_server: bool
    fetches_jobs: bool
    serves_all_types: bool
    asks_again: bool
    wanted: Callable[[Any], np.ndarray]
    options: tuple[str, ...]
    checks: tuple[Callable[[Any], Iterator[Any]], ...]
    remarks: tuple[Callable[[Any], Iterator[str]], ...]

    @property
    def counts_jobs(self) -> bool:
        """True if Harvester looks at the activated jobs itself."""
        return not (self.asked_by_server or self.fetches_jobs)


MEMBERS = "simgrid_broker.systems.harvester"
MODES = Door(GROUP, WorkerMode, (
    ("pull_ups", f"{MEMBERS}:STREAMING"), ("pull", f"{MEMBERS}:PULL"), ("push", f"{MEMBERS}:PUSH"),
    ("push_noheartbeat", f"{MEMBERS}:PUSH")))
"""All modes by workflow."""

WITHOUT_WORKFLOW = "pull"
"""Workflow whose mode serves a queue that has none."""


def mode_of(workflow: str | None) -> WorkerMode:
    """The mode of a queue with a workflow; raises PluginError if there is none."""
    return MODES.member(workflow or WITHOUT_WORKFLOW)
