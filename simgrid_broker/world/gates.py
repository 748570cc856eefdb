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


class Capacities:
    """Capacities in force: what the scenario gives to links and gates, times the factors of what goes on now."""

    def __init__(self, grid: Grid, links: np.ndarray, gates: np.ndarray):
        self.bandwidth, self.nominal = links["bandwidth"].copy(), gates["nominal"].copy()
        self.number = {key: place for place, key in enumerate(capacities(grid))}
        self.sites = tuple(grid.sites)
        self.factors: dict[object, tuple[list[int], list[int], float]] = {}
        self.background = 0.0

    def of_site(self, name: str) -> tuple[list[int], list[int]]:
        """Links of a site, and its doors."""
        site, n = self.sites.index(name), len(self.sites)
        links = [k for other in range(n) for k in (site * n + other, other * n + site) if other != site]
        return links, [self.number[key] for way in (OUT, IN) if (key := ("site", name, way)) in self.number]

    def of_link(self, source: str, destination: str) -> tuple[list[int], list[int]]:
        """A link, which has no gate of its own."""
        return [self.sites.index(source) * len(self.sites) + self.sites.index(destination)], []

    def of_backbone(self, name: str) -> tuple[list[int], list[int]]:
        """The gates of a backbone."""
        return [], [self.number["backbone", name, way] for way in (OUT, IN)]

    def put_in_force(self, links: np.ndarray, gates: np.ndarray) -> None:
        """Write the capacities of links and gates; rates follow when the gates are shared."""
        links["bandwidth"] = self.bandwidth
        for numbers, _, factor in self.factors.values():
            links["bandwidth"][numbers] *= factor
        self.put_gates_in_force(gates)

    def put_gates_in_force(self, gates: np.ndarray) -> None:
        """Write the capacities of gates, which alone depend on `background`."""
        gates["capacity"] = self.nominal * (1 - self.background)
        for _, crossed, factor in self.factors.values():
            gates["capacity"][crossed] *= factor
