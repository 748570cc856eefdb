"""Queues of merge jobs, and of retries with few events left; source: lifecycle reference, 6.2 and 6.6; panda-server,
`setSiteForEsMerge` and `setScoreSiteToEs`."""

from collections.abc import Iterable, Iterator

from simgrid_broker.names import QueueStatus
from simgrid_broker.systems.events.policy.jobset import EventJob, EventQueue, Jobset
from simgrid_broker.units import DAY

NUCLEUS = "nucleus:"
UCORE = "ucore"


def busiest(jobset: Jobset, names: Iterable[str]) -> str | None:
    """The queue with the most activity of pilots, None if there is none with any."""
    best = max(names, key=lambda name: jobset.queues[name].pilots, default=None)
    return best if best is not None and jobset.queues[best].pilots > 0 else None


def single_core_queue(jobset: Jobset, name: str) -> str | None:
    """Single-core or unified queue of the site of a queue for few events: online, with event service, the busiest."""
    site = jobset.queues[name].site
    return busiest(jobset, (other for other, queue in jobset.queues.items()
                            if queue.site == site and _is_small(queue) and queue.jobseed != "std"
                            and queue.status == QueueStatus.ONLINE))


def merge_queue(jobset: Jobset, job: EventJob) -> str:
    """Queue of the merge job of a consumer.

    Its own with localEsMergeNC; the destination if that is no nucleus; else the busiest of the first group in which
    pilots are active: queues of the same site if it has localEsMerge, else of the nucleus, that of the object store
    with mergeAtOs; those of the same site; all, if there was no queue yet or it takes jumbo jobs.
    """
    own = jobset.queues.get(job.queue)
    options = own.catchall if own is not None else ""
    if "localEsMergeNC" in options:
        return job.queue
    is_local = "localEsMerge" in options
    drained = is_local and "useBrokerOff" in options
    nearby = [*_merging(jobset, own.site, drained)] if own is not None else []
    if not job.destination.startswith(NUCLEUS) and not (is_local and nearby):
        return job.destination
    first = nearby if is_local and nearby else [*_merging(jobset, _nucleus(job, own))]
    groups = [first, [] if is_local else nearby]
    if "useJumboJobs" in options or not any(groups):
        groups.append([*_merging(jobset, None)])
    return next((name for group in groups if (name := busiest(jobset, group)) is not None), job.queue)


def _nucleus(job: EventJob, own: EventQueue | None) -> str:
    """Nucleus in which events are merged: that of their object store with mergeAtOs, else the destination."""
    if job.has("mergeAtOs") and own is not None and own.object_store_site is not None:
        return own.object_store_site
    return job.destination.removeprefix(NUCLEUS)


def _merging(jobset: Jobset, site: str | None, drained: bool = False) -> Iterator[str]:
    """Queues of a site, or of all, that take merge jobs; drained: also those in brokeroff."""
    for name, queue in jobset.queues.items():
        if (site in (None, queue.site) and _is_small(queue) and queue.jobseed != "es" and not queue.is_analysis
                and (queue.status == QueueStatus.ONLINE or (drained and queue.status == QueueStatus.BROKEROFF))
                and queue.maxtime is not None and (queue.maxtime == 0 or queue.maxtime >= DAY)
                and (queue.maxrss is None or queue.minrss == 0)
                and (not queue.wnconnectivity or queue.wnconnectivity.startswith("full"))):
            yield name


def _is_small(queue: EventQueue) -> bool:
    """True for single-core and unified queues."""
    return queue.corecount in (None, 1) or queue.capability == UCORE
