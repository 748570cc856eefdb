"""The server's pilot streaming: says how many workers of each resource type every queue wants.

Source: Global Shares paper, section 2.4; lifecycle reference, section 5.3. Simplified: a queue that is not unified and
whose workflow is pull_ups is treated as one with a single type of worker.
"""

from collections.abc import Mapping

import numpy as np

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.policy.jobs.resource_types import is_high_memory
from simgrid_broker.policy.pilot_streaming import COUNTS_MEMORY, ignores_memory
from simgrid_broker.schema.harvester import HIGH_MEMORY, TARGET, TYPE_LIMITS
from simgrid_broker.schema.queues import option_number
from simgrid_broker.world.pilot_status import activated_by_type, pilot_status

IDLE_TYPE = "SCORE"
"""Resource type of the worker that keeps an idle queue alive; source: lifecycle reference, section 5.4."""


def pilot_streaming(control: Control) -> Process:
    """Ask for workers."""
    types = control.world.vocabularies["resource_types"]
    score = types.index(IDLE_TYPE) if IDLE_TYPE in types else 0
    queues, harvester = control.world.scenario.grid.queues.values(), control.books.harvester
    options = dict(streaming_options(queues, control.world.scenario.resource_types), score=score)
    activated = np.zeros(0, np.int64)
    if COUNTS_MEMORY[control.edition]:
        options |= memory_options(queues, control.world.scenario.resource_types)

    def stream() -> None:
        nonlocal activated
        if not control.is_unchanged("pilot_streaming", control.arrays.state["n_job_moves"].item()):
            activated = activated_by_type(control.arrays)
        harvester.command(control.policies.pilot_submission(pilot_status(
            control.arrays, harvester.types, activated, ignore_meanrss=ignores_memory(control.cfg), **options)))
    yield from control.every(control.periods.pilot_streaming, stream, "pilots")


def memory_options(queues, types: Mapping) -> dict[str, np.ndarray]:
    """`meanrss` of the queues and the bound of memory of each type as columns of the view; deployed edition only."""
    most = [np.inf if kind.maxrampercore is None else kind.maxrampercore for kind in types.values()]
    return dict(meanrss=np.array([queue.meanrss for queue in queues]), most_memory=np.array(most))


def streaming_options(queues, types: Mapping) -> dict[str, np.ndarray]:
    """`ups_core_target` and `resource_type_limits` of unified queues as columns of the view; formats reference, 1.4.

    types: bounds of the resource types by name.
    """
    def numbers(key: str, default: float) -> np.ndarray:
        return np.array([option_number(queue, key, default) if queue.capability == "ucore" else default
                         for queue in queues])
    limits = {name: numbers(f"{TYPE_LIMITS}.{name}", np.inf) for name in (*types, HIGH_MEMORY)}
    return dict(core_target=numbers(TARGET, 0), high_memory_limit=limits.pop(HIGH_MEMORY),
                limit_of_type=np.column_stack(list(limits.values())),
                high_memory=np.array([is_high_memory(kind) for kind in types.values()]))
