"""Error messages and exit statuses.

Statuses: 1 for results that cannot be written and internal errors, 2 for unusable input, 130 after Ctrl-C or SIGTERM,
141 when the reader of the output has closed it.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from simgrid_broker import errors
from simgrid_broker.cli.signals import INTERRUPTED
from simgrid_broker.units import seconds

FAILED, BAD_INPUT, NO_READER = 1, 2, 141

PLEASE_REPORT = ("This is a bug in the program, not in your scenario. Please report it with the message above, the "
                 "scenario and the command line.")


class BadArgument(errors.InputFileError):
    """An invalid argument of a command."""

    about = "the command line"

    def __init__(self, key: str, value: object, expected: str, nearest: tuple[str, ...] = ()):
        super().__init__([errors.Problem(None, None, key, value, expected, nearest)])


def moment_of(at: str) -> float:
    """The time of `--at`, s, given in s or with a unit; raises BadArgument."""
    try:
        return seconds(float(at) if at.replace(".", "", 1).isdigit() else at)
    except ValueError as error:
        raise BadArgument("--at", at, str(error)) from error


@contextmanager
def errors_as_messages() -> Iterator[None]:
    """Turn an exception into a message on stderr and an exit status."""
    try:
        with errors.extras_named():
            yield
        sys.stdout.flush()
    except KeyboardInterrupt:
        stop("interrupted", INTERRUPTED)
    except (errors.ScenarioError, errors.InputFileError, errors.PluginError) as error:
        stop(error, BAD_INPUT)
    except (errors.ForbiddenMove, errors.OutOfRows, errors.InvariantBroken) as error:
        error.add_note(PLEASE_REPORT)
        stop(error, FAILED)
    except errors.SimgridBrokerError as error:
        stop(error, FAILED)
    except MemoryError as error:
        error.args = ("out of memory; a run with fewer cores, tasks or days needs less",)
        stop(error, FAILED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())     # discards what is still buffered
        raise typer.Exit(NO_READER) from None
    except OSError as error:
        stop(error, FAILED)


def stop(reason: object, status: int) -> None:
    """Print the reason with the notes of an exception, and exit with `status`."""
    typer.echo("\n".join([f"simgrid-broker: {reason}", *getattr(reason, "__notes__", ())]), err=True)
    raise typer.Exit(status)
