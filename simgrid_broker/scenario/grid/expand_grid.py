"""Expansion of the grid: what is generated, over it what is imported, over it what the user wrote; its links.

The table of links is bandwidth, latency, limits and closeness of each directed pair of sites, as dense arrays.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from simgrid_broker.errors import InputFileError, Problem
from simgrid_broker.names import CLOSENESS_BLOCKED, CLOSENESS_UNKNOWN
from simgrid_broker.scenario.loading.documents import merged
from simgrid_broker.scenario.loading.origins import CRIC, SYNTHETIC, Draft, Key, Origin
from simgrid_broker.scenario.model import Grid, Scenario, SyntheticGrid
from simgrid_broker.schema.attribute import columns_of
from simgrid_broker.schema.grid import Attachment, LinkDefaults

SOURCES = ("grid.synthetic", "grid.pandaqueues", "grid.rses", "grid.closeness", "grid.software", "grid.auto_as_any")
"""Sources of the grid; they are applied before any other key."""

HOMES = {"synthetic_grid": "grid.synthetic_grid", "read_cric": "importers.cric",
         "read_software": "importers.cric", "trace_tasks": "importers.traces"}
"""Functions that make or read grid and work, and their modules; these need pandas or Numba, what is written out not."""

ENTRIES = ("sites", "queues", "storages")
"""Parts of a grid that are mappings of names."""


@dataclass
class Expansion:
    """A draft with its grid written out, what the sources could not use, and what is wrong with them."""

    draft: Draft
    remarks: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    failed: bool = False


def expanded(draft: Draft) -> Expansion:
    """`draft` with its grid expanded: generated parts, over them imported ones, over them what the user wrote."""
    expansion = Expansion(draft)
    grid = draft.values.get("grid")
    if draft.expanded or not isinstance(grid, dict):
        return expansion
    below, marks = dict[str, Any](), dict[Key, Any]()
    for read in (_made_up, _imported):
        source, origin = read(grid, expansion)
        below = merged_grid(below, source)
        marks |= {("grid", part, name): origin for part in ENTRIES for name in source.get(part, ())}
    software, origin = _software(merged_grid(below, grid), expansion)
    below = merged_grid(below, software)
    marks |= {("grid", "queues", name, "software"): origin
              for name, queue in software.get("queues", {}).items() if queue}
    whole = merged_grid(below, grid)
    if grid.get("auto_as_any") is True:
        whole = _auto_as_any(whole, expansion)
    expansion.draft = replace(draft, values=draft.values | {"grid": whole},
                              marks={**draft.marks, **marks})
    return expansion


def late_function(name: str) -> Callable[..., Any]:
    """A function of `HOMES`, whose module is imported on first use."""
    return getattr(import_module(f"simgrid_broker.scenario.{HOMES[name]}"), name)


def merged_grid(base: dict, over: dict) -> dict:
    """`over` laid over `base`; the links of two sites replace those of the same two sites and come first."""
    result = merged(base, over)
    rewritten = {_ends(pair) for pair in _pairs(over)}
    kept = [pair for pair in _pairs(base) if _ends(pair) not in rewritten]
    if kept:
        result["links"] = result["links"] | {"pairs": [*_pairs(over), *kept]}
    return result


def _made_up(grid: dict, expansion: Expansion) -> tuple[dict, Origin | None]:
    """The grid that `grid.synthetic` asks for, and its origin; nothing if it is not asked for or asked for wrongly."""
    if grid.get("synthetic") is None:
        return {}, None
    try:
        spec = SyntheticGrid.model_validate(grid["synthetic"])
    except ValidationError:             # `validate` reports it
        expansion.failed = True
        return {}, None
    return late_function("synthetic_grid")(spec), _origin(expansion.draft, SYNTHETIC, "synthetic")


def _imported(grid: dict, expansion: Expansion) -> tuple[dict, Origin | None]:
    """The grid in CRIC's files, and its origin; nothing if there is none or it cannot be read."""
    files = {key: grid[key] for key in ("pandaqueues", "rses", "closeness") if grid.get(key) is not None}
    if any(not isinstance(file, str) or not Path(file).is_file() for file in files.values()):
        expansion.failed = True         # `loader` reports missing files
        return {}, None
    if "pandaqueues" not in files:
        return {}, None
    try:
        source, remarks = late_function("read_cric")(*(
            Path(files[key]) if key in files else None for key in ("pandaqueues", "rses", "closeness")))
    except InputFileError as error:
        expansion.failed = True
        expansion.problems += error.problems
        return {}, None
    expansion.remarks += remarks
    return source, _origin(expansion.draft, CRIC, "pandaqueues")


def _software(grid: dict, expansion: Expansion) -> tuple[dict, Origin | None]:
    """Software that CRIC publishes for the queues of `grid`, to be laid below what the user wrote, and its origin.

    All queues are in it, so that they keep their order.
    """
    file = grid.get("software")
    if not isinstance(file, str) or not Path(file).is_file():
        expansion.failed |= file is not None        # `loader` reports missing files
        return {}, None
    queues = grid.get("queues")
    names = [name for name, queue in queues.items() if isinstance(queue, dict)] if isinstance(queues, dict) else ()
    try:
        published, everywhere, remarks = late_function("read_software")(Path(file), names)
    except InputFileError as error:
        expansion.failed = True
        expansion.problems += error.problems
        return {}, None
    expansion.remarks += remarks
    found = {"queues": {name: {"software": published[name]} if name in published else {} for name in names}}
    return found | ({"software_of_all": everywhere} if everywhere else {}), _origin(expansion.draft, CRIC, "software")


def _auto_as_any(grid: dict, expansion: Expansion) -> dict:
    """`grid` with releases ANY at the queues with AUTO that publish no software."""
    queues = grid["queues"] if isinstance(grid.get("queues"), dict) else {}
    silent = {name: queue | {"releases": ["ANY"]} for name, queue in queues.items() if isinstance(queue, dict)
              and not queue.get("software") and isinstance(queue.get("releases"), list) and "AUTO" in queue["releases"]}
    expansion.remarks.append(f"auto_as_any: {len(silent)} queue(s) with releases AUTO publish no software and take "
                             "tasks as with ANY, whatever release they ask for; PanDA would compare CRIC's tags.")
    return grid | {"queues": queues | silent} if silent else grid


def _origin(draft: Draft, kind: str, key: str) -> Origin:
    place = draft.place(("grid", key))
    return Origin(kind, place.file, place.line)


def _pairs(grid: dict) -> list:
    links = grid.get("links")
    pairs = links.get("pairs") if isinstance(links, dict) else None
    return pairs if isinstance(pairs, list) else []


def _ends(pair) -> tuple:
    """Source and destination of a link; of one that cannot be read, what no other has."""
    ends = (pair.get("source"), pair.get("destination")) if isinstance(pair, dict) else (None, None)
    return ends if all(isinstance(end, str) for end in ends) else (id(pair), None)


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
