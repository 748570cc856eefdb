"""Bandwidth, latency, limits and closeness of each directed pair of sites, as dense arrays."""

import numpy as np

from simgrid_broker.names import CLOSENESS_BLOCKED, CLOSENESS_UNKNOWN
from simgrid_broker.scenario.model import Grid, Scenario
from simgrid_broker.schema.attribute import columns_of
from simgrid_broker.schema.grid import Attachment, LinkDefaults

SIGNS = "-0123456789ab"
"""Signs of closeness -1 (blocked) to 11 in the short form of a scenario; "." is not given."""

_COLUMNS = {column.key: column for column in columns_of(LinkDefaults)}


def link_table(scenario: Scenario) -> dict[str, np.ndarray]:
    """Arrays (n_sites, n_sites), [source, destination]: bandwidth, file_rate (bytes/s, inf = no limit of its own),
    latency_s, max_active_files, min_active_files (0 = as many), failure_rate, closeness (0 to 11, CLOSENESS_BLOCKED,
    CLOSENESS_UNKNOWN).

    The sites that the links name exist: the loader has checked them. A site is close to itself, 0.
    """
    grid = scenario.grid
    number = {name: k for k, name in enumerate(grid.sites)}
    table = {column.name: _closeness(grid, number) if key == "closeness" else _settled(grid, key)
             for key, column in _COLUMNS.items()}
    for pair in grid.links.pairs:
        at = number[pair.source], number[pair.destination]
        for key, column in _COLUMNS.items():
            if getattr(pair, key) is not None:
                table[column.name][at] = getattr(pair, key)
        if pair.blocked:
            table["closeness"][at] = CLOSENESS_BLOCKED
    return table


def _settled(grid: Grid, field: str) -> np.ndarray:
    """One property of all links before `pairs`, (n_sites, n_sites): both ends together, or the default."""
    ends = np.array([_end(grid, name, field) for name in grid.sites])
    source, destination = ends[:, None], ends[None, :]
    if field == "failure_rate":
        both = 1 - (1 - np.nan_to_num(source)) * (1 - np.nan_to_num(destination))
        both[np.isnan(source) & np.isnan(destination)] = np.nan
    else:
        both = (np.fmax if field == "latency" else np.fmin)(source, destination)
    settled = np.where(np.isnan(both), _COLUMNS[field].of(grid.links.default), both)
    return settled.astype(_COLUMNS[field].dtype)


def _end(grid: Grid, name: str, field: str) -> float:
    """Value for the end of all links of a site, given for the site or else for its tier; NaN = not given."""
    links, nothing = grid.links, Attachment()
    for attachment in (links.by_site.get(name, nothing), links.by_tier.get(grid.sites[name].tier, nothing)):
        value = getattr(attachment, field)
        if value is not None:
            return float(value)
    return np.nan


def _closeness(grid: Grid, number: dict[str, int]) -> np.ndarray:
    """Closeness before `pairs`, (n_sites, n_sites), int16."""
    default = grid.links.default.closeness
    closeness = np.full((len(number), len(number)), CLOSENESS_UNKNOWN if default is None else default, np.int16)
    np.fill_diagonal(closeness, 0)
    matrix = grid.links.closeness
    if matrix is not None:
        at = np.array([number[name] for name in matrix.sites], int)
        value_of = {sign: value for value, sign in enumerate(SIGNS, start=CLOSENESS_BLOCKED)}
        given = np.array([[value_of.get(sign, CLOSENESS_UNKNOWN) for sign in row] for row in matrix.rows], np.int16)
        old = closeness[np.ix_(at, at)]
        closeness[np.ix_(at, at)] = np.where(given == CLOSENESS_UNKNOWN, old, given)
    return closeness


def matrix_rows(closeness: np.ndarray) -> tuple[str, ...]:
    """Rows of a `ClosenessMatrix` for values (n, n) from -1 to 11."""
    signs = np.array(list(SIGNS))
    return tuple("".join(row) for row in signs[np.asarray(closeness) - CLOSENESS_BLOCKED])
