"""The server's Adder: ended payloads become failed, finished or transferring; lifecycle reference, section 3.1."""

from simgrid_broker.agents.control import Control, Process


def adder(control: Control) -> Process:
    """Handle ended payloads."""
    yield from control.every(control.periods.adder, lambda: control.fabric.add_jobs(control.now), "adder")
