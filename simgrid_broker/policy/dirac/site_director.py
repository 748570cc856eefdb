"""How many pilots a queue gets with DIRAC's dispatch; our own reading of DIRAC's SiteDirector, see docs/fidelity.md."""

import numpy as np


def pilots_wanted(accepts: np.ndarray, cpu_class: np.ndarray, n_classes: np.ndarray, n_jobs: np.ndarray,
                  waiting: np.ndarray) -> np.ndarray:
    """Pilots to submit at each pseudo-queue, (n,): jobs that wait in matching task queues less waiting pilots.

    accepts: (n, n_task_queues); cpu_class, n_jobs: of each task queue; n_classes: CPU classes that a new pilot of each
    pseudo-queue reaches; waiting: pilots that wait in its batch system, (n,).
    """
    matching = accepts & (cpu_class[None, :] < n_classes[:, None])
    return np.maximum(matching @ n_jobs - waiting, 0)
