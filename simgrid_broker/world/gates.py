"""Gates: doors of sites and endpoints, and directions of backbones, that have a capacity, and who crosses them."""

from collections.abc import Iterator

import numpy as np

from simgrid_broker.scenario.model import Grid
from simgrid_broker.world.arrays import GATE

OUT, IN = "out", "in"


def capacities(grid: Grid) -> dict[tuple[str, str, str], float]:
    """Capacity of every gate, bytes/s, by kind (`site`, `storage`, `backbone`), name and direction (OUT, IN)."""
    found: dict[tuple[str, str, str], float] = {}
    for kind, things in (("site", grid.sites), ("storage", grid.storages)):
        for name, thing in things.items():
            found |= {(kind, name, way): capacity for way, capacity in ((OUT, thing.door_out), (IN, thing.door_in))
                      if capacity is not None}
    for name, backbone in grid.links.backbones.items():
        found |= {("backbone", name, way): backbone.capacity for way in (OUT, IN)}
    return found


def group_of(grid: Grid, name: str) -> tuple[str, ...]:
    """Sites on the inner side of a backbone, in the order of the grid."""
    backbone = grid.links.backbones[name]
    return tuple(site for site, said in grid.sites.items()
                 if site in backbone.sites or said.region in backbone.regions)


def gate_tables(grid: Grid, storage_of_site: np.ndarray) -> dict[str, np.ndarray]:
    """The arrays `gates` and `link_gates`; storage_of_site: (n_sites,), the one that takes output, -1 = none."""
    found = capacities(grid)
    gates = np.zeros(len(found), GATE)
    gates["nominal"] = gates["capacity"] = gates["free"] = list(found.values())
    gates["part"] = 1.0
    number = {key: place for place, key in enumerate(found)}
    n_sites = len(grid.sites)
    layers = [np.broadcast_to(way, (n_sites, n_sites)) for way in _doors(grid, number, storage_of_site)]
    layers += [_border(grid, number, name) for name in grid.links.backbones]
    return dict(gates=gates, link_gates=_packed(layers, n_sites))


def _doors(grid: Grid, number: dict[tuple[str, str, str], int], storage_of_site: np.ndarray) -> Iterator[np.ndarray]:
    """Doors of sites and of their storages: gates by source, (n_sites, 1), and by destination, (n_sites,)."""
    for way in (OUT, IN):
        of_site = np.array([number.get(("site", name, way), -1) for name in grid.sites], np.int32)
        of_storage = np.array([*(number.get(("storage", name, way), -1) for name in grid.storages), -1], np.int32)
        for gates in (of_site, of_storage[storage_of_site]):
            yield gates[:, None] if way == OUT else gates


def _border(grid: Grid, number: dict[tuple[str, str, str], int], name: str) -> np.ndarray:
    """Gate of a backbone that each link crosses, (n_sites, n_sites), -1 = none."""
    group = group_of(grid, name)
    inside = np.array([site in group for site in grid.sites])
    layer = np.full((len(inside), len(inside)), -1, np.int32)
    layer[np.ix_(inside, ~inside)] = number["backbone", name, OUT]
    layer[np.ix_(~inside, inside)] = number["backbone", name, IN]
    return layer


def _packed(layers: list[np.ndarray], n_sites: int) -> np.ndarray:
    """Gates of each link from the left on, (n_links, w), w the most that any crosses, at least 1."""
    crossed = np.stack([layer.ravel() for layer in layers], axis=1)
    crossed[::n_sites + 1] = -1                            # a site is not linked to itself
    there = crossed >= 0
    width = max(int(there.sum(axis=1).max(initial=0)), 1)
    order = np.argsort(~there, axis=1, kind="stable")[:, :width]
    return np.ascontiguousarray(np.take_along_axis(crossed, order, axis=1))
