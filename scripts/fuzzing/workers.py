"""Processes that do the work of the fuzzer: each is bounded, is replaced when it dies, and hashes texts its own way."""

import ctypes
import gc
import os
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

PATIENCE = 90.0
"""Processor time after which a worker that does not answer is ended, s; other programs do not count."""
AT_REST = 600 << 20
"""Memory of a worker between two tasks, bytes, above which it returns what is free."""
MOST_ADDRESSES = 6 << 30
"""Addresses of a process, bytes: code and libraries are most of them."""


@dataclass
class Task:
    """A call of a function of `fuzzing.cases`, and what it is for."""

    call: Callable[..., Any]
    arguments: tuple[Any, ...]
    about: Any = None
    not_by: int = -1


class Died(Exception):
    """A worker ended without an answer, or did not answer in time."""


class Worker:
    """One process that answers one call after the other."""

    def __init__(self, number: int, paths: list[str]):
        self.number, self.paths = number, paths
        self.task: Task | None = None
        self._start()

    def _start(self) -> None:
        """Start a process whose sets of texts are in an order of their own, in every other one agents never sleep."""
        variables = {"PYTHONHASHSEED": str(self.number + 1)}
        if self.number % 2:
            variables["SIMGRID_BROKER_AWAKE"] = "1"
        os.environ.update(variables)
        context = get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other, self.paths), daemon=True)
        self.process.start()
        other.close()
        for name in variables:
            os.environ.pop(name)

    def give(self, task: Task) -> None:
        """Ask for an answer."""
        self.task, self.begun = task, self._used()
        self.pipe.send((task.call, task.arguments))

    def _used(self) -> float:
        """Processor time of the process so far, s."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def answer(self) -> Any:
        """The answer, or `Died`; the worker is free again."""
        try:
            return self.pipe.recv()
        except EOFError:
            self.process.join()
            status = self.process.exitcode
            self._start()
            return Died(f"the process ended with status {status}")
        finally:
            self.task = None

    def end_if_late(self) -> bool:
        """End a process that does not answer in time; True if it was."""
        late = self.task is not None and self._used() - self.begun > PATIENCE
        if late:
            self.process.kill()
        return late


def serve(pipe: Connection, paths: list[str]) -> None:
    """Answer calls until the other end is closed."""
    sys.path[:0] = paths
    resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES, MOST_ADDRESSES))
    while True:
        try:
            call, arguments = pipe.recv()
        except EOFError:
            return
        pipe.send(call(*arguments))
        if memory() > AT_REST:
            give_memory_back()


def memory() -> int:
    """Memory of this process, bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def give_memory_back() -> None:
    """Return freed memory to the system, which glibc keeps otherwise."""
    gc.collect()
    gc.freeze()                                          # modules are not looked through again
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def answers(tasks: "Iterator[Task]", more: Callable[[Task, Any, int], list[Task]], number: int,
            paths: list[str]) -> Iterator[tuple[Task, Any]]:
    """Each task with its answer, as they come; more: gives the tasks that follow from an answer of a worker.

    number: workers that are busy at once; there are two at least, as a second run is by another process.
    """
    workers = [Worker(one, paths) for one in range(max(number, 2))]
    waiting: list[Task] = []
    while True:
        for worker in workers:
            free = number - sum(one.task is not None for one in workers)
            if free and worker.task is None and (task := _next(worker.number, waiting, tasks, number)) is not None:
                worker.give(task)
        busy = [worker for worker in workers if worker.task is not None]
        if not busy:
            return
        ready = wait([worker.pipe for worker in busy], timeout=1)
        for worker in busy:
            if worker.pipe in ready or worker.end_if_late():
                task, answer = worker.task, worker.answer()
                waiting += more(task, answer, worker.number)
                yield task, answer


def _next(worker: int, waiting: list[Task], tasks: Iterator[Task], number: int) -> Task | None:
    """The next task of a worker: one that waits and may be done by it, or a new one if few wait."""
    for place, task in enumerate(waiting):
        if task.not_by != worker:
            return waiting.pop(place)
    return next(tasks, None) if len(waiting) < number else None
