"""Draws that tasks and datasets have in common: log-normal quantities, and the sites that hold input."""

import numpy as np

from simgrid_broker.luck import normal_quantile, uniforms
from simgrid_broker.scenario.model import Grid
from simgrid_broker.scenario.spread import MOST_THINGS, NumberSpread, Spread


def draw(spread: Spread, seed: int, key: int, index: np.ndarray, question: int,
         stream: str = "task_draw") -> np.ndarray:
    """Values of a log-normal quantity for the tasks `index` of a stream, (n,)."""
    if spread.sigma == 0:
        values = np.full(len(index), float(spread.median))
    else:
        normal = normal_quantile(uniforms(seed, stream, key, index, question))
        values = spread.median * np.exp(spread.sigma * normal)
    return values if spread.max is None else np.minimum(values, spread.max)


def draw_number(spread: NumberSpread, seed: int, key: int, index: np.ndarray, question: int,
                stream: str = "task_draw") -> np.ndarray:
    """Draws of a NumberSpread for the tasks `index` of a stream, whole numbers, (n,)."""
    return np.clip(np.rint(draw(spread, seed, key, index, question, stream)), 1, MOST_THINGS)


def holders(grid: Grid, where: str) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Sites that may hold input: names, numbers and weights (n_holders,): the bytes of their storages.

    Nuclei with a storage if asked for and there are any; else every site with a storage; else every site alike.
    """
    size = dict.fromkeys(grid.sites, 0.0)
    for storage in grid.storages.values():
        size[storage.site] += storage.total
    stored = [site for site in size if size[site] > 0]
    nuclei = [site for site in stored if grid.sites[site].nucleus]
    chosen = tuple((nuclei if where == "nuclei" else []) or stored or size)
    number = {site: k for k, site in enumerate(grid.sites)}
    weight = np.array([size[site] for site in chosen]) if stored else np.ones(len(chosen))
    return chosen, np.array([number[site] for site in chosen], np.int32), weight
