"""Workers of Dask behind a scheduler that run the points of a study.

The only module that imports Dask; the others import it when a study begins.
"""

import logging
import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from distributed import Client, as_completed
from distributed.client import FutureCancelledError
from distributed.scheduler import KilledWorker

from simgrid_broker.errors import Problem, StudyError

PATIENCE_S = 5.0
"""Time within which a scheduler must answer, s."""
QUIET = ("distributed", "distributed.nanny", "distributed.worker", "distributed.scheduler", "distributed.core")
"""Loggers whose warnings about dead workers would interrupt the progress; the study counts these itself."""


class Cluster:
    """Workers behind the scheduler at an address; a context manager.

    Keys of a scheduler with TLS are those of Dask's configuration. Raises StudyError if it does not answer within
    PATIENCE_S.
    """

    def __init__(self, scheduler: str):
        for name in QUIET:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._client = _connected(scheduler)

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    @property
    def n_workers(self) -> int:
        """Workers at this moment."""
        return len(self._client.nthreads())

    def results(self, work: Callable[..., Any], common: object, tasks: Sequence[object]) -> Iterator[tuple[int, Any]]:
        """Position of each task and what `work(common, task)` returned, as they end.

        An exception is returned, not raised. A task whose worker dies is repeated, at most three times. `common` is
        unpickled once on each worker, and one that is started later takes it from another, or makes it again.
        """
        shared = self._client.submit(pickle.loads, pickle.dumps(common), pure=False)
        places = {self._client.submit(work, shared, task, pure=False): place for place, task in enumerate(tasks)}
        for future in as_completed(list(places), loop=self._client.loop):
            yield places.pop(future), _result(future)


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
    except (OSError, ValueError, TypeError) as error:
        raise StudyError([Problem(None, None, "--scheduler", address, f"no scheduler answers there within "
                                  f"{PATIENCE_S:.0f} s ({str(error) or type(error).__name__})")]) from error
