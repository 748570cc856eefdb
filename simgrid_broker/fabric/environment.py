"""The seam between the two planes: a SimPy environment that runs the fabric between control events, which is exact
because nothing in the control plane happens between two of them. At equal times, events of the fabric come first."""

import simpy


class FabricEnvironment(simpy.Environment):
    """SimPy's environment over a fabric."""

    def __init__(self, fabric):
        super().__init__()
        self.fabric = fabric

    def step(self) -> None:
        """Advance the fabric to the time of the next control event, then handle that event."""
        until = self.peek()
        if until < float("inf"):
            self.fabric.advance(until)
        super().step()
