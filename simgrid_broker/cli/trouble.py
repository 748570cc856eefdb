"""What a user is told when something goes wrong, and the exit status.

What lives here: errors to words. What does not: the errors (`errors`), and interrupted runs (`run`).

Statuses: 1 for results that cannot be written and errors of the program, 2 for input that cannot be used, 130 after
Ctrl-C, 141 when the reader of the output has gone.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from simgrid_broker.errors import (
    ForbiddenMove,
    InputFileError,
    InvariantBroken,
    PluginError,
    ScenarioError,
    SimgridBrokerError,
)

FAILED, BAD_INPUT, INTERRUPTED, NO_READER = 1, 2, 130, 141

PLEASE_REPORT = ("This is an error of the program, not of your scenario. Please report it with the text above, the "
                 "scenario and the command line.")


class BadArgument(InputFileError):
    """A name on the command line that means nothing."""

    about = "the command line"


@contextmanager
def told() -> Iterator[None]:
    """Turn what goes wrong inside into a message on stderr and an exit status."""
    try:
        yield
        sys.stdout.flush()
    except KeyboardInterrupt:
        stop("interrupted", INTERRUPTED)
    except (ScenarioError, InputFileError, PluginError) as error:
        stop(error, BAD_INPUT)
    except (ForbiddenMove, InvariantBroken) as error:
        error.add_note(PLEASE_REPORT)
        stop(error, FAILED)
    except SimgridBrokerError as error:
        stop(error, FAILED)
    except MemoryError as error:
        error.args = ("there is not enough memory; fewer cores, tasks or days take less",)
        stop(error, FAILED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())     # what is still buffered has no reader either
        raise typer.Exit(NO_READER) from None
    except OSError as error:
        stop(error, FAILED)


def stop(reason: object, status: int) -> None:
    """Print why, with the notes that an exception carries, and exit with `status`."""
    typer.echo("\n".join([f"simgrid-broker: {reason}", *getattr(reason, "__notes__", ())]), err=True)
    raise typer.Exit(status)
