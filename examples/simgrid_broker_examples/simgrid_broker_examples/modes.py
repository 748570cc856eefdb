"""A worker mode: queues of the workflow `backfill` keep some workers waiting, with or without jobs for them."""

from dataclasses import replace

import numpy as np

from simgrid_broker.scenario.loading.origins import Finding
from simgrid_broker.systems.harvester import PULL, largest_type

IDLE, USUAL = "backfillWorkers", 20
"""Option of a queue: workers that wait; and its value where a queue does not have it."""


def idle_workers(status) -> np.ndarray:
    """Workers of the largest type up to the number that is to wait, (n_queues, n_types)."""
    lacking = np.maximum(status.option(IDLE, USUAL)[:, None] - status.queued, 0)
    return np.where(largest_type(status), lacking, 0)


def fewer_than_one(scenario):
    """Refuse an option with which a queue would never have a worker."""
    for name, queue in scenario.grid.queues.items():
        if IDLE in queue.mode.options and str(queue.params.get(IDLE)) == "0":
            yield Finding(("grid", "queues", name, "params", IDLE), 0, "expected at least one worker")


BACKFILL = replace(PULL, name="backfill", wanted=idle_workers, options=(IDLE,), checks=(fewer_than_one,))
"""As `PULL`, which counts jobs: workers of one type that take jobs of all types, within the same limits."""
