"""The feed of network metrics: throughput of the last hour, day and week of every link, as FTS measured it.

Simplified: the Network Weather Service, its collector and PanDA's table of metrics are one reading on a period. The
default of an hour is the age up to which PanDA reads such records (brokerage reference, section 7); the numbers of
queued files are read with the job statistics (`statistics`).
"""


def network_metrics(control):
    """The process that averages the throughput of the links."""
    def read():
        control.world.network.read_throughput(control.world.arrays, control.now)
    yield control.every(control.periods.network_metrics, read, "network_metrics")
