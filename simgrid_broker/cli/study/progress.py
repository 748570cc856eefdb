"""The progress of a study on stderr, and what Ctrl-C does to it."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from simgrid_broker.cli.progress import LINE_EVERY_S
from simgrid_broker.cli.signals import INTERRUPTED, closing
from simgrid_broker.cli.trouble import BadArgument

if TYPE_CHECKING:
    from simgrid_broker.experiments.running import Progress, Workers


@contextmanager
def watched(number: int | None, scheduler: str | None, pages: bool = False) -> "Iterator[Workers]":
    """Where to run a study, with progress on stderr; Ctrl-C ends it such that the same command continues it.

    Raises BadArgument if both a number of workers and a scheduler are given.
    """
    from simgrid_broker.experiments.running import Workers
    if number is not None and scheduler is not None:
        raise BadArgument("--workers", number, "has no effect with --scheduler, which has workers of its own")
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

    def __call__(self, progress: "Progress") -> None:
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


def text_of(progress: "Progress") -> str:
    """A progress in words: done, failed, running, and when the study will end."""
    text = f"{progress.done} of {progress.total} runs done, {progress.failed} failed, {progress.running} running"
    if progress.left_s > 0:
        text += ", ends " + time.strftime("%H:%M:%S", time.localtime(time.time() + progress.left_s))
    return text
