"""Watchers of the compiler, which are told what is about to be compiled."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

PACKAGE = f"{__name__.partition('.')[0]}."

_watchers: list[Callable[[str], None]] = []


@contextmanager
def watched(watcher: Callable[[str], None]) -> Iterator[None]:
    """Call `watcher` with the name of each function before it is compiled for Python."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


def announce(function: Callable) -> None:
    """Tell the watchers that a function is about to be compiled."""
    for watcher in _watchers:
        watcher(f"{function.__module__}.{function.__name__}".removeprefix(PACKAGE))
