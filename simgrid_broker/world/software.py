"""Software and hardware of queues as the brokers see them.

What lives here: the scenario's models to the frozen views; queues that are alike share one object, so that the
brokerage asks once for all of them. What does not: the check itself (policy).
"""

from simgrid_broker import views


def queue_software(grid) -> tuple[views.QueueSoftware, ...]:
    """Software of each PanDA queue of the grid, in their order."""
    known = {}
    found = []
    for queue in grid.queues.values():
        software = views.QueueSoftware(
            releases=queue.releases, published=published_software(queue.software),
            gpus=tuple(_gpu(gpu) for gpu in queue.gpus),
            cpu_levels=tuple((level, 100 * part) for level, part in queue.cpu_levels.items()))
        found.append(known.setdefault(software, software))
    return tuple(found)


def published_software(software) -> views.PublishedSoftware | None:
    """What CRIC publishes for one queue or for ALL; None if there is no entry."""
    if software is None:
        return None
    return views.PublishedSoftware(
        software.cmtconfigs, software.containers, software.cvmfs,
        tuple(views.Hardware(each.type, each.arch, each.instr, each.vendor, each.model)
              for each in software.architectures),
        tuple(views.InstalledRelease(tag.project, tag.release, tag.cmtconfig, tag.container_name, tag.sources)
              for tag in software.tags))


def _gpu(gpu) -> views.WorkerNodeGpu:
    """One kind of GPU."""
    vram = None if gpu.vram is None else f"{gpu.vram:.15g}"
    return views.WorkerNodeGpu(gpu.vendor, gpu.model, vram, gpu.microarchitecture, gpu.version, gpu.driver_version)
