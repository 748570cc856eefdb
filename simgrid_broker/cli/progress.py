"""Progress bars of runs and studies with the estimated time to completion, on stderr; Ctrl-C in a study."""

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from shutil import get_terminal_size
from statistics import median
from typing import TYPE_CHECKING

import typer

from simgrid_broker.cli.signals import INTERRUPTED, closing
from simgrid_broker.cli.trouble import BadArgument
from simgrid_broker.units import format_seconds

if TYPE_CHECKING:
    from simgrid_broker.experiments import running

RECENT = 20
"""Number of recent steps over which the pace is measured."""
OUTLIER = 3.0
"""Multiple of the median duration above which a step, delayed by compiling for example, is excluded from the pace."""
LINE_EVERY_S = 10.0
"""Seconds between two lines of output without a terminal."""
LAYOUT = "{{percentage:3.0f}} % |{{bar:{width}}}| {{desc}}"
STEPS_LAYOUT = "{desc} |{bar:20}| {n} of {total}"
TEXT_COLUMNS = 70
"""Columns of percentage and text next to the bar."""

FIRST_RUN = "First run of this version on this machine: compiling takes {time}, once."
NOT_KEPT = ("Compiling takes {time} in each run, because it has no folder that is yours alone; name one "
            "in the environment variable SIMGRID_BROKER_CACHE.")


class Pace:
    """Simulated seconds and ended jobs per second of wall-clock time over the last steps."""

    def __init__(self):
        self._marks: deque[tuple[float, float, int]] = deque(maxlen=RECENT + 1)

    def mark(self, now: float, simulated_s: float, jobs: int) -> None:
        """Add a measurement at wall-clock time `now`, s."""
        self._marks.append((now, simulated_s, jobs))

    def rates(self) -> tuple[float, float]:
        """Simulated s/s and jobs/s; both 0 before the third step."""
        steps = [tuple(after - before for before, after in zip(*marks, strict=True)) for marks in pairwise(self._marks)]
        if len(steps) < 3:
            return 0.0, 0.0
        typical = median(taken for taken, _, _ in steps)
        taken, simulated, jobs = (sum(column) for column in zip(
            *(step for step in steps if step[0] <= OUTLIER * typical), strict=True))
        return (simulated / taken, jobs / taken) if taken > 0 else (0.0, 0.0)


class Progress:
    """Progress callback for `engine.simulate`; call `close` after the run."""

    def __init__(self, duration_s: float, clock=time.monotonic):
        self.duration_s, self.clock = duration_s, clock
        self.pace = Pace()
        self.line_at = clock() + LINE_EVERY_S
        self.bar = _bar(duration_s) if sys.stderr.isatty() else None
        self.has_compiled = False

    def __call__(self, simulation) -> None:
        """Show the state of `simulation`."""
        now, simulated_s = self.clock(), simulation.env.now
        self.pace.mark(now, simulated_s, simulation.jobs_ended)
        if self.bar is not None:
            self.bar.set_description_str(self._text(simulated_s, simulation.running_cores), refresh=False)
            self.bar.update(simulated_s - self.bar.n)
        elif now >= self.line_at:
            self.line_at = now + LINE_EVERY_S
            text = self._text(simulated_s, simulation.running_cores)
            typer.echo(f"{100 * simulated_s / self.duration_s:3.0f} %  {text}", err=True)

    def compiling(self, name: str) -> None:
        """Show which function is being compiled, and once why."""
        if not self.has_compiled:
            from simgrid_broker.compiled.kept_code import kept_folder
            from simgrid_broker.compiled.stock import expected_time
            self.has_compiled = True
            write = typer.echo if self.bar is None else self.bar.write
            write((FIRST_RUN if kept_folder() else NOT_KEPT).format(time=expected_time()), file=sys.stderr)
        if self.bar is not None:
            self.bar.set_description_str(f"compiling {name}")

    def close(self) -> None:
        """End the bar and move to the next line."""
        if self.bar is not None:
            self.bar.close()

    def _text(self, simulated_s: float, running_cores: int) -> str:
        """Simulated time, running cores, pace and estimated end."""
        simulated, jobs = self.pace.rates()
        text = f"{format_seconds(simulated_s)} of {format_seconds(self.duration_s)}, {running_cores:,} cores"
        if simulated <= 0:
            return text
        left = (self.duration_s - simulated_s) / simulated
        end = time.strftime("%H:%M:%S", time.localtime(time.time() + left))
        return f"{text}, {jobs:,.0f} jobs/s, " + (f"ends {end}" if left > 0 else "done")


def steps(what: str) -> Callable[[Iterable], Iterable]:
    """A wrapper of iterables that shows a temporary progress bar on a terminal."""
    def shown(things: Iterable) -> Iterable:
        if not sys.stderr.isatty():
            return iter(things)
        return _tqdm(things, desc=what, bar_format=STEPS_LAYOUT, leave=False)
    return shown


def _bar(duration_s: float):
    layout = LAYOUT.format(width=min(max(get_terminal_size().columns - TEXT_COLUMNS, 8), 30))
    return _tqdm(total=duration_s, bar_format=layout, desc="starting")


def _tqdm(things: Iterable | None = None, **options):
    """A bar on stderr, with explicit size, because tqdm draws nothing on terminals that do not report theirs."""
    from tqdm import tqdm
    columns, rows = get_terminal_size()
    return tqdm(things, file=sys.stderr, ncols=columns, nrows=rows, **options)


ENCRYPTED = "tls://"
"""Beginning of the address of a scheduler that takes only clients and workers with its keys."""


@contextmanager
def watched(number: int | None, scheduler: str | None, pages: bool = False) -> "Iterator[running.Workers]":
    """Where to run a study, with progress on stderr; Ctrl-C ends it such that the same command continues it.

    Raises BadArgument if both a number of workers and a scheduler are given.
    """
    from simgrid_broker.experiments.running import Workers
    if number is not None and scheduler is not None:
        raise BadArgument("--workers", number, "has no effect with --scheduler, which has workers of its own")
    if scheduler is not None and not scheduler.startswith(ENCRYPTED):
        typer.echo(f"note: {scheduler} is not {ENCRYPTED}...: any user who reaches this scheduler or its workers can "
                   "run code there; use it in a network of your own alone, or with TLS (docs/studies.md)", err=True)
    progress = StudyProgress()
    try:
        with closing():
            yield Workers(number, scheduler, pages, progress)
    except KeyboardInterrupt:
        typer.echo("\nInterrupted; finished runs are kept, and the same command continues.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    finally:
        progress.close()


class StudyProgress:
    """Shows the progress of a study: a line that changes on a terminal, else a line from time to time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self.clock, self.line_at, self.width = clock, clock(), 0

    def __call__(self, progress: "running.Progress") -> None:
        """Show a state of the study."""
        text, now = text_of(progress), self.clock()
        if sys.stderr.isatty():
            typer.echo(f"\r{text:{self.width}}", nl=False, err=True)
            self.width = len(text)
        elif now >= self.line_at:
            self.line_at = now + LINE_EVERY_S
            typer.echo(text, err=True)

    def close(self) -> None:
        """End the line."""
        if self.width:
            typer.echo("", err=True)


def text_of(progress: "running.Progress") -> str:
    """A progress in words: done, failed, running, and when the study will end."""
    text = f"{progress.done} of {progress.total} runs done, {progress.failed} failed, {progress.running} running"
    if progress.left_s > 0:
        text += ", ends " + time.strftime("%H:%M:%S", time.localtime(time.time() + progress.left_s))
    return text
