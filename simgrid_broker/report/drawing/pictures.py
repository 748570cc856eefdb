"""Plots drawn by one process on each core, or by this one alone where no other can be started."""

import gc
import os
import pickle
import signal
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import IO, NamedTuple

from simgrid_broker.records import write_whole
from simgrid_broker.report.blocks import Plot, Section
from simgrid_broker.report.drawing.artists import without_help

FEWEST = 6
"""Smallest number of plots for each process, below which starting one takes longer than it saves."""
PATIENCE_S = 60.0
"""Wall-clock time after which a process that draws a single plot is given up, s."""


def plots_of(sections: Iterable[Section]) -> list[Plot]:
    """The plots of some sections, in order."""
    return [block for section in sections for block in section.blocks if isinstance(block, Plot)]


def save_plots(plots: Sequence[Plot], folder: Path, steps: Callable[[Iterable], Iterable] = iter) -> dict[str, bytes]:
    """Write `<name>.png` and the table `<name>.csv` of each plot, and return the PNGs by name; raises OutputError."""
    pictures = dict(zip([plot.name for plot in plots], drawn(plots, steps), strict=True))
    for plot in plots:
        write_whole(folder / f"{plot.name}.png", pictures[plot.name])
        write_whole(folder / f"{plot.name}.csv", plot.table.to_csv(index=False, lineterminator="\n"))
    return pictures


def drawn(plots: Sequence[Plot], steps: Callable[[Iterable], Iterable] = iter) -> list[bytes]:
    """PNG of each plot; steps: wraps the plots, to show progress."""
    canvas()                                                 # before there are children, which would import it each
    turns = _turns(len(plots))
    children = list(_children(plots, turns, min(_cores(), len(plots) // FEWEST) - 1))
    done = {}
    for (number, picture), _ in zip(_drawing(plots, turns), steps(plots), strict=False):
        done[number] = picture
    os.close(turns)
    for child in children:
        done |= _collected(child)
    return [done[number] if number in done else _picture(plot) for number, plot in enumerate(plots)]


class _Child(NamedTuple):
    """A copy of this process, and the file into which it writes what it draws."""

    pid: int
    results: IO[bytes]


def _picture(plot: Plot) -> bytes:
    return canvas().png(plot.draw, plot.table, plot.size, plot.panels)


def canvas() -> ModuleType:
    """Import the module that draws, the only one that needs Matplotlib."""
    with without_help():
        return import_module("simgrid_broker.report.drawing.canvas")


def _cores() -> int:
    """Cores that this process may use; 1 on systems whose libraries do not stand a fork."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def _turns(number: int) -> int:
    """A pipe that gives each reader the next of the numbers from 0 to `number`."""
    turns, given = os.pipe()
    os.write(given, bytes(range(number)))
    os.close(given)
    return turns


def _drawing(plots: Sequence[Plot], turns: int) -> Iterator[tuple[int, bytes]]:
    """Number and PNG of each plot whose turn comes to this process."""
    while turn := os.read(turns, 1):
        yield turn[0], _picture(plots[turn[0]])


def _children(plots: Sequence[Plot], turns: int, most: int) -> Iterator[_Child]:
    """Copies of this process that draw, as many as the system lets it start."""
    for _ in range(most):
        results = tempfile.TemporaryFile()
        pid = _forked()
        if pid == 0:
            _draw_and_end(plots, turns, results)
        if pid is None:
            results.close()
            return
        yield _Child(pid, results)


def _forked() -> int | None:
    """`os.fork` without Python's warning about threads, because a child only draws; None where the system refuses."""
    with warnings.catch_warnings(), suppress(OSError):
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()
    return None


def _draw_and_end(plots: Sequence[Plot], turns: int, results: IO[bytes]) -> None:
    """Write what comes to this process into `results` and end it; a plot that fails is left to the parent."""
    try:
        gc.disable()                                           # would copy the pages that both processes share
        for result in _drawing(plots, turns):
            pickle.dump(result, results)
            results.flush()
    finally:
        os._exit(0)


def _collected(child: _Child) -> Mapping[int, bytes]:
    """Pictures of a child process once it has ended; one that does not end is stopped."""
    until = time.monotonic() + PATIENCE_S
    while os.waitpid(child.pid, os.WNOHANG)[0] == 0:
        if time.monotonic() > until:
            os.kill(child.pid, signal.SIGKILL)
            os.waitpid(child.pid, 0)
            break
        time.sleep(0.002)
    with child.results as results:
        results.seek(0)
        return dict(_loaded(results))


def _loaded(results: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """The whole results in a file."""
    while True:
        try:
            yield pickle.load(results)
        except (EOFError, pickle.UnpicklingError):
            return
