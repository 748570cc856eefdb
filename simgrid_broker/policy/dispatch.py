"""Dispatch orders: which activated job a pilot gets; the dispatcher itself is compiled (fabric).

Sources: Global Shares paper, section 2.3; lifecycle reference, section 1.4.
"""

from dataclasses import dataclass

from simgrid_broker.gdpconfig import jobdispatch
from simgrid_broker.views import Gdpconfig

KEYS = ("share", "priority", "age")
"""Sort keys of an order: rank of the share, priority (highest first), PandaID (oldest first)."""


@dataclass(frozen=True)
class DispatchOrder:
    """An order of dispatch; keys: names of KEYS, the most significant first."""

    name: str
    keys: tuple[str, ...]


GLOBAL_SHARES = DispatchOrder("global_shares", ("share", "priority", "age"))
"""PanDA's order: the most under-served share, in it the highest priority, in that the oldest job."""
PRIORITY = DispatchOrder("priority", ("priority", "age"))
"""Priority and age, without shares."""
AGE = DispatchOrder("age", ("age",))
"""First come, first served."""


def sloppy_fraction(cfg: Gdpconfig, edition: str) -> float:
    """Probability that a job is dispatched by age alone: 0 as documented, 0.11 by default in the deployed edition.

    PanDA draws an integer from 0 to 99 and ignores shares if it is not above the key.
    """
    if edition == "documented":
        return 0.0
    return min(max((cfg.value(jobdispatch.SLOPPY_DISPATCH_RATIO) + 1) / 100, 0.0), 1.0)
