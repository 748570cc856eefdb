"""The server's Setupper: defines new jobs, activates them or lets them await input; lifecycle reference, 3.1, 7.2."""

from simgrid_broker.agents.control import Control, Process


def setupper(control: Control) -> Process:
    """Set up pending jobs."""
    yield from control.every(control.periods.setupper, lambda: control.fabric.set_up_jobs(control.now), "setupper")
