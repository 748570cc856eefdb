"""Network metrics: throughput of every link over the last hour, day and week, as measured by FTS.

Simplified: the Network Weather Service, its collector and PanDA's table of metrics are one reading on a period, by
default an hour, the age up to which PanDA reads these records (brokerage reference, section 7). Numbers of queued files
are read with the job statistics (`statistics`).
"""

from simgrid_broker.agents.control import Control, Process


def network_metrics(control: Control) -> Process:
    """Average the throughput of the links."""
    def read() -> None:
        control.world.network.read_throughput(control.arrays, control.now)
    yield from control.every(control.periods.network_metrics, read, "network_metrics")
