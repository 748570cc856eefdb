"""The seam between the two planes: a SimPy environment that lets the fabric run between control events.

What lives here: `FabricEnvironment`. What does not: processes (agents) and events of jobs (`loop`).

Nothing in the control plane can happen between two of its own events, so advancing the fabric to the time of the next
control event is exact. Of events at the same time, those of the fabric come first.
"""

import simpy


class FabricEnvironment(simpy.Environment):
    """SimPy's environment over a fabric."""

    def __init__(self, fabric):
        super().__init__()
        self.fabric = fabric

    def step(self) -> None:
        """Bring the fabric to the time of the next control event, then handle that event."""
        until = self.peek()
        if until < float("inf"):
            self.fabric.advance(until)
        super().step()
