"""Storages of the sites that can be nuclei, in the order in which task brokerage looks at them."""

from collections.abc import Callable, Iterable, Sequence

from simgrid_broker.schema.queues import QueueEndpoint

Endpoints = Sequence[QueueEndpoint]


def output_of_sites(grid, own: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Storages of each site for output: of each scope of a queue those at the site itself, by name.

    own: storages of each queue, for those that list none.
    Source: brokerage reference, 1.2 T5.
    """
    def local(endpoints: Endpoints) -> list[str]:
        return sorted(one.storage for one in endpoints if one.write and one.is_local)
    return _of_sites(grid, own, local)


def input_of_sites(grid, own: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Storages of each site for input; own: as for output; source: brokerage reference, 1.3."""
    def open_ones(endpoints: Endpoints) -> list[str]:
        return [one.storage for one in endpoints
                if one.read and not grid.storages[one.storage].blacklisted_read]
    return _of_sites(grid, own, open_ones)


def _of_sites(grid, own: Sequence[Sequence[int]],
              names: Callable[[Endpoints], Iterable[str]]) -> list[tuple[int, ...]]:
    """Storages of each site by its queues for production, one queue and scope after the other, each once.

    names: storages of one scope.
    """
    numbers = {name: number for number, name in enumerate(grid.storages)}
    found: dict[str, dict[int, None]] = {name: {} for name in grid.sites}
    for queue, of_queue in zip(grid.queues.values(), own, strict=True):
        if not queue.production:
            continue
        listed = queue.endpoints or ()
        used = tuple(of_queue) if queue.endpoints is None else ()
        for scope in dict.fromkeys(one.scope for one in listed):
            used += tuple(numbers[name] for name in names([one for one in listed if one.scope == scope]))
        found[queue.atlas_site] |= dict.fromkeys(used)
    return [tuple(one) for one in found.values()]
