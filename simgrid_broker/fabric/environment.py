"""The seam between the two planes: a SimPy environment that runs the fabric between control events, which is exact
because nothing in the control plane happens between two of them. At equal times, events of the fabric come first."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf

import simpy


class FabricEnvironment(simpy.Environment):
    """SimPy's environment over a fabric."""

    def __init__(self, fabric):
        super().__init__()
        self.fabric, self.interrupted = fabric, False

    def step(self) -> None:
        """Advance the fabric to the time of the next control event, then handle that event."""
        if self.interrupted:
            self._stop_if_interrupted()
        until = self.peek()
        if until < inf:
            self.fabric.advance(until)
        super().step()

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Within, a signal that would raise KeyboardInterrupt raises it between two events, where the tables agree.

        A second one raises it at once. In threads other than the main one, signals are as before.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = [number for number in (signal.SIGINT, signal.SIGTERM)
                   if signal.getsignal(number) is signal.default_int_handler]
        for number in numbers:
            signal.signal(number, self._note)
        try:
            yield
            self._stop_if_interrupted()
        finally:
            for number in numbers:
                signal.signal(number, signal.default_int_handler)

    def _note(self, number, frame) -> None:
        self.interrupted = True
        signal.signal(number, signal.default_int_handler)

    def _stop_if_interrupted(self) -> None:
        if self.interrupted:
            self.interrupted = False
            raise KeyboardInterrupt
