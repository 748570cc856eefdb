"""Software and hardware of queues as brokers see them; equal ones share one object, so that brokerage asks once."""

from simgrid_broker import views


def queue_software(grid) -> tuple[views.QueueSoftware, ...]:
    """Software of each PanDA queue, in the order of the grid."""
    known: dict[views.QueueSoftware, views.QueueSoftware] = {}
    of_queues = (views.QueueSoftware(queue.releases, queue.software, queue.gpus,
                                     tuple((level, 100 * part) for level, part in queue.cpu_levels.items()))
                 for queue in grid.queues.values())
    return tuple(known.setdefault(software, software) for software in of_queues)
