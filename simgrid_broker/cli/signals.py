"""Ctrl-C and SIGTERM end the program at once, except where a run must be closed first."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM)
INTERRUPTED = 130
"""Exit status after Ctrl-C and SIGTERM."""


def end_at_once() -> None:
    """Let both signals end the program without a word; one that the caller ignores stays ignored.

    An exception would not do while libraries are imported: some of them swallow or print it.
    """
    _handled(lambda number, frame: os._exit(INTERRUPTED))


@contextmanager
def closing() -> Iterator[None]:
    """Within, both signals raise KeyboardInterrupt, so that a run is closed and reported."""
    before = _handled(signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _handled(handler) -> dict:
    """The handlers before, by signal, of those signals that now have another one."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    before = {number: action for number, action in before.items() if action not in (signal.SIG_IGN, None)}
    for number in before:
        signal.signal(number, handler)
    return before
