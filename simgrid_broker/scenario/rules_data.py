"""Checks of datasets, their replicas, and the streams and incidents that name them."""

from collections.abc import Iterator

from simgrid_broker.scenario.catalogue import catalogue
from simgrid_broker.scenario.locate import Finding, Rules
from simgrid_broker.scenario.model import Scenario

CONTAINED = ("data", "datasets")


def too_large_replicas(scenario: Scenario) -> Iterator[Finding]:
    """The replicas at a storage are part of what is in use there at the start, if its parts do not exceed it."""
    storages = scenario.grid.storages
    used_by = {replica.storage for dataset in scenario.data.datasets.values() for replica in dataset.replicas}
    if not used_by <= set(storages) or not {one.site for one in storages.values()} <= set(scenario.grid.sites):
        return                                             # another rule says what is missing
    names, shared = list(storages), catalogue(scenario)
    taken: dict[str, float] = {}
    for number, _, storage, part, _, _, virtual in shared.replicas:
        if storage >= 0 and not virtual:
            taken[names[storage]] = taken.get(names[storage], 0.0) + part * float(shared.bytes[number])
    for name, size in taken.items():
        used = storages[name].total - storages[name].free - storages[name].expired
        if size > used * (1 + 1e-9) and used >= 0:
            yield Finding(("grid", "storages", name, "free"), storages[name].free,
                          f"the replicas of `data` at this endpoint have {size:.6g} bytes, but only {used:.6g} are in "
                          "use (total - free - expired)", depends_on=(("data",),))


def container_without_draws(scenario: Scenario) -> Iterator[Finding]:
    """A popularity belongs to a container, from which a stream draws."""
    for name, dataset in scenario.data.datasets.items():
        if dataset.container is None and dataset.popularity != 1:
            yield Finding((*CONTAINED, name, "popularity"), dataset.popularity,
                          "needs `container`: only draws from one look at it")


def container_read_whole(scenario: Scenario) -> Iterator[str]:
    """No draw looks at the popularity of a dataset whose container is only read whole."""
    streams = [stream for stream in (*scenario.workload.campaigns, *scenario.workload.users) if stream.container]
    drawn = {stream.container for stream in streams if not stream.whole_container}
    for stream in streams:
        members = scenario.data.members(stream.container)
        if stream.container not in drawn and any(one.popularity != 1 for one in members):
            yield (f"The popularity of the datasets of {stream.container!r} has no effect: {stream.name!r} reads the "
                   "container whole.")


def lifetime_of_nothing(scenario: Scenario) -> Iterator[str]:
    """A lifetime of output that lies in no storage, or that ends after the run."""
    lifetime = scenario.data.output_lifetime
    if lifetime is not None and not scenario.grid.storages:
        yield "data.output_lifetime has no effect: the grid has no storages."
    elif lifetime is not None and lifetime >= scenario.duration:
        yield (f"data.output_lifetime, {lifetime:.15g} s, is not shorter than the run, {scenario.duration:.15g} s: no "
               "output expires.")


def jobs_of_shared_input(scenario: Scenario) -> Iterator[Finding]:
    """The number of jobs of a task with a shared dataset follows from its files."""
    shared = {stream.name for stream in scenario.workload.campaigns if stream.dataset or stream.container}
    for position, incident in enumerate(scenario.incidents):
        if incident.what == "task_arrival" and incident.jobs is not None and incident.campaign in shared:
            yield Finding(("incidents", position, "jobs"), incident.jobs,
                          f"the tasks of {incident.campaign} read a dataset, whose files say how many jobs there are")


DATA_RULES: Rules = (too_large_replicas, container_without_draws, jobs_of_shared_input)
DATA_REMARKS = (container_read_whole, lifetime_of_nothing)
