"""The policies that a scenario names, found.

What lives here: `Policies` and the look-up. What does not: the policies (policy) and their registry.
"""

from collections.abc import Callable
from dataclasses import dataclass

from simgrid_broker.policy.dispatch import DispatchOrder
from simgrid_broker.policy.registry import policy


@dataclass(frozen=True)
class Policies:
    """Every decision that can be swapped, ready to be called."""

    dispatch_order: DispatchOrder
    pilot_submission: Callable
    throttle: Callable
    job_brokerage: Callable
    task_brokerage: Callable


def policies_in_use(names) -> Policies:
    """The policies by the names in the scenario's `policies`; raises UnknownPolicy for one that nobody offers."""
    return Policies(**{kind: policy(kind, getattr(names, kind)) for kind in Policies.__dataclass_fields__})
