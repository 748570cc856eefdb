"""Processes of this machine that are the workers of a study.

They speak with the study by pipes without a name, and listen on no port: no other user can send them anything. What a
task needs is imported with it, after the process is set up.
"""

import multiprocessing
import os
import pickle
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from simgrid_broker import process

MOST_DEATHS = 3
"""Deaths of its worker after which a task is repeated; one more fails it."""


class Worker(NamedTuple):
    """A process, and the study's end of the pipe to it."""

    process: multiprocessing.process.BaseProcess
    pipe: Connection


class Processes:
    """Worker processes of this machine; a context manager. number: default: one for each core."""

    def __init__(self, number: int | None = None):
        self._context = multiprocessing.get_context("spawn")
        self._idle = [self._started() for _ in range(number or _cores())]
        self.n_workers = len(self._idle)

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *_: object) -> None:
        self._end(self._idle)

    def results(self, work: Callable[..., Any], common: object, tasks: Sequence[object]) -> Iterator[tuple[int, Any]]:
        """Position of each task and what `work(common, task)` returned, as they end.

        An exception is returned, not raised. A task whose worker dies is repeated, at most MOST_DEATHS times. `common`
        is unpickled once on each worker.
        """
        shared, left, deaths = pickle.dumps((work, common)), deque(range(len(tasks))), Counter[int]()
        knows, busy = set[int](), dict[Connection, tuple[Worker, int]]()
        try:
            while left or busy:
                while left and self._idle:
                    worker, place = self._idle.pop(), left.popleft()
                    busy[worker.pipe] = worker, place
                    self._give(worker, shared, knows, tasks[place])
                for pipe in [each for each in wait(list(busy)) if isinstance(each, Connection)]:
                    worker, place = busy.pop(pipe)
                    try:
                        result = worker.pipe.recv()
                    except (EOFError, OSError):
                        result = self._replaced(worker, place, left, deaths)
                    else:
                        self._idle.append(worker)
                    if result is not None:
                        yield place, result[0]
        finally:
            self._end([worker for worker, _ in busy.values()])

    def _give(self, worker: Worker, shared: bytes, knows: set[int], task: object) -> None:
        """Send a task, and before the first one what all share; that a worker is dead is seen when it is read from."""
        pid = worker.process.pid or 0
        try:
            worker.pipe.send((None if pid in knows else shared, task))
            knows.add(pid)
        except OSError:
            pass

    def _replaced(self, worker: Worker, place: int, left: deque[int], deaths: Counter[int]) -> tuple[Exception] | None:
        """Start a worker for a dead one, whose task comes again; the result of a task that has killed too many."""
        self._end([worker])
        self._idle.append(self._started())
        deaths[place] += 1
        if deaths[place] <= MOST_DEATHS:
            left.appendleft(place)
            return None
        return (RuntimeError("the worker that ran it died, and so did those that repeated it: it may need more memory "
                             "than there is"),)

    def _started(self) -> Worker:
        ours, theirs = self._context.Pipe()
        started = self._context.Process(target=serve, args=(theirs,), daemon=True)
        started.start()
        theirs.close()
        return Worker(started, ours)

    @staticmethod
    def _end(workers: Sequence[Worker]) -> None:
        for worker in workers:
            worker.process.kill()
            worker.pipe.close()
        for worker in workers:
            worker.process.join()


def serve(pipe: Connection) -> None:
    """Run the tasks that come through a pipe until the study closes it or is gone; Ctrl-C is the study's affair."""
    process.begin()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    work: Any = None
    common: Any = None
    while True:
        try:
            shared, task = pipe.recv()
        except EOFError:
            return
        try:
            if shared is not None:
                work, common = pickle.loads(shared)
            result = work(common, task)
        except Exception as error:
            result = error
        pipe.send((_portable(result),))


def _portable(result: Any) -> Any:
    """A result that can be sent, else the error that it cannot."""
    try:
        pickle.loads(pickle.dumps(result))
    except Exception:
        return RuntimeError(f"{type(result).__name__}: {result}")
    return result


def _end_with(sentinel: int) -> None:
    """End this process when the one behind a sentinel ends, in the middle of a task too."""
    wait([sentinel])
    os._exit(1)


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
