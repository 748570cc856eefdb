"""Dispatch orders: which activated job a pilot gets.

What lives here: the description of an order. What does not: the dispatcher, which is compiled (fabric) and obeys the
description with the ranks that `shares.share_order` gives.

Sources: Global Shares paper, section 2.3; lifecycle reference, section 1.4.
"""

from dataclasses import dataclass

from simgrid_broker.gdpconfig import jobdispatch
from simgrid_broker.views import Gdpconfig

KEYS = ("share", "priority", "age")
"""What an order can sort by: rank of the share, priority (highest first), PandaID (oldest first)."""
FIRST_SHARE = "Test"
"""Share that the code puts beside the most under-served one; source: lifecycle reference, section 1.4."""


@dataclass(frozen=True)
class DispatchOrder:
    """An order of dispatch: the keys in the order of their weight, each one of KEYS."""

    name: str
    keys: tuple[str, ...]


GLOBAL_SHARES = DispatchOrder("global_shares", ("share", "priority", "age"))
"""PanDA's order: the most under-served share, in it the highest priority, in that the oldest job."""
PRIORITY = DispatchOrder("priority", ("priority", "age"))
"""Shares do not count."""
AGE = DispatchOrder("age", ("age",))
"""First come, first served."""


def sloppy_fraction(cfg: Gdpconfig, edition: str) -> float:
    """Probability that a job is dispatched by age alone: none as documented, 11 of 100 numbers by default in the code.

    The code draws an integer from 0 to 99 and is sloppy when it is not above the key.
    """
    if edition == "documented":
        return 0.0
    return min(max((cfg.value(jobdispatch.SLOPPY_DISPATCH_RATIO) + 1) / 100, 0.0), 1.0)
