"""Workers of Dask, on this machine or behind a scheduler, that run the points of a study.

The only module that imports Dask; the others import it when a study begins.
"""

import logging
import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import dask
from distributed import Client, LocalCluster, as_completed
from distributed.client import FutureCancelledError
from distributed.scheduler import KilledWorker

from simgrid_broker.errors import Problem, StudyError

PATIENCE_S = 5.0
"""Time within which a scheduler must answer, s."""
ANY_PORT = "127.0.0.1:0"
"""Where the scheduler listens for HTTP; its own default is one port of all networks, which two studies would share."""
CALM = {
    "distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s", "distributed.worker.memory.monitor-interval": "1s",
    "distributed.scheduler.active-memory-manager.start": False, "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.worker-saturation": 1.0, "distributed.client.scheduler-info-interval": "60s"}
"""Settings of Dask that keep workers of this machine from looking at themselves up to a hundred times a second, which
takes 5 % of a core in each process. With a saturation of 1 a worker has no second point that another one would have to
take over."""
QUIET = ("distributed", "distributed.nanny", "distributed.worker", "distributed.scheduler", "distributed.core")
"""Loggers whose warnings about dead workers would interrupt the progress; the study counts these itself."""


class Cluster:
    """Workers with one thread each; a context manager.

    workers: number of processes on this machine, default: one for each core; scheduler: address of a scheduler to use
    instead. Raises StudyError if it does not answer within PATIENCE_S.
    """

    def __init__(self, workers: int | None = None, scheduler: str | None = None):
        for name in QUIET:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._local = None
        if scheduler is not None:
            self._client = _connected(scheduler)
            return
        number = workers or _cores()
        with dask.config.set(CALM):
            self._local = LocalCluster(
                n_workers=number, threads_per_worker=1, processes=True, dashboard_address=None,
                scheduler_kwargs={"dashboard_address": ANY_PORT}, silence_logs=logging.CRITICAL)
            self._client = Client(self._local, set_as_default=False)

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()
        if self._local is not None:
            self._local.close()

    @property
    def n_workers(self) -> int:
        """Workers at this moment."""
        return len(self._client.nthreads())

    def pids(self) -> list[int]:
        """Process ids of the workers."""
        return list(self._client.run(os.getpid).values())

    def results(self, work: Callable[..., Any], common: object, tasks: Sequence[object]) -> Iterator[tuple[int, Any]]:
        """Position of each task and what `work(common, task)` returned, as they end.

        An exception is returned, not raised. A task whose worker dies is repeated, at most three times. `common` is
        unpickled once on each worker, and one that is started later takes it from another, or makes it again.
        """
        shared = self._client.submit(pickle.loads, pickle.dumps(common), pure=False)
        places = {self._client.submit(work, shared, task, pure=False): place for place, task in enumerate(tasks)}
        for future in as_completed(list(places), loop=self._client.loop):
            yield places.pop(future), _result(future)


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _result(future: Any) -> Any:
    try:
        return future.result()
    except KilledWorker:
        return RuntimeError("the worker that ran it died, and so did those that repeated it: it may need more memory "
                            "than a worker has")
    except FutureCancelledError:
        return RuntimeError("the scheduler dropped it")
    except Exception as error:
        return error


def _connected(address: str) -> Client:
    """A client of the scheduler at `address`. Raises StudyError."""
    try:
        return Client(address, timeout=PATIENCE_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise StudyError([Problem(None, None, "--scheduler", address, f"no scheduler answers there within "
                                  f"{PATIENCE_S:.0f} s ({str(error) or type(error).__name__})")]) from error
