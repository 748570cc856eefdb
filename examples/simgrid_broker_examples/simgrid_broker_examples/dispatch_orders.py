"""Orders of dispatch: data that the compiled dispatcher reads, and a function that sorts the shares once a minute."""

import numpy as np

from simgrid_broker.policy.shares.dispatch import DispatchOrder

SMALL_FIRST = DispatchOrder("small_first", rank={"priority": 1, "corecount": -100})
"""PanDA's order of shares; within a share one core more costs as much as 100 points of priority."""


def least_power_first(tree, hs06_by_leaf: np.ndarray) -> np.ndarray:
    """Leaf shares by the power that they use, least first, whatever their targets are."""
    return np.argsort(hs06_by_leaf, kind="stable")


EQUAL_POWER = DispatchOrder("equal_power", share_order=least_power_first)
"""Each share gets the same power as long as it has jobs."""
