"""Harvester's monitor: cancels workers that have waited for too long; source: lifecycle reference, section 5.4."""

from simgrid_broker.agents.control import Control, Process


def harvester_monitor(control: Control) -> Process:
    """Cancel old workers."""
    def look() -> None:
        control.fabric.cancel_old_workers(control.now)
    yield from control.every(control.periods.harvester_monitor, look, "harvester_monitor")
