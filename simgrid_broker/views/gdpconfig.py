"""Gdpconfig and the share tree, as decisions read them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from simgrid_broker.gdpconfig import GdpconfigKey

T = TypeVar("T")


@dataclass(frozen=True)
class Gdpconfig:
    """Values of gdpconfig in force, by (component, key), defaults included; None = off or no limit."""

    values: Mapping[tuple[str, str], Any]
    kept: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def value(self, key: GdpconfigKey, **members: str) -> Any:
        """Value of a key, of a family that of its most specific member that is set, such as gshare="Express"."""
        asked = key, *members.items()
        if asked not in self.kept:
            values = (self.values.get((key.component, name)) for name in key.names(**members))
            self.kept[asked] = next((value for value in values if value is not None), None)
        return self.kept[asked]

    def own(self, key: GdpconfigKey, **members: str) -> Any:
        """Value of precisely this member of a family; None if it is not set."""
        return self.values.get((key.component, key.names(**members)[0]))

    def members(self, key: GdpconfigKey) -> list[tuple[dict[str, str], Any]]:
        """Placeholders and value of every member of a family that is set."""
        return [(match.groupdict(), value) for (component, name), value in self.values.items()
                if component == key.component and (match := key.pattern.fullmatch(name))]

    def once(self, make: Callable[..., T], *key: Any) -> T:
        """`make(self, *key)`, computed once for each key, since values never change; not to be changed."""
        result = self.kept.get((make, key))
        if result is None:
            result = self.kept[make, key] = make(self, *key)
        return result


@dataclass(frozen=True)
class ShareTree:
    """The share tree as arrays; node 0 is the root, parents come before their children.

    names: (n_nodes,); parent: (n_nodes,) index, -1 for the root; value: (n_nodes,) normalised so that all leaves sum
    to 100; leaves: (n_leaves,) node of each leaf, in the order of the table.
    """

    names: tuple[str, ...]
    parent: np.ndarray
    value: np.ndarray
    leaves: np.ndarray

    @cached_property
    def children(self) -> list[list[int]]:
        """Nodes below each node, in the order of the table."""
        below: list[list[int]] = [[] for _ in self.names]
        for node, parent in enumerate(self.parent.tolist()):
            if parent >= 0:
                below[parent].append(node)
        return below

    @cached_property
    def leaf_at(self) -> dict[int, int]:
        """Number of each leaf by its node."""
        return {node: leaf for leaf, node in enumerate(self.leaves.tolist())}
