"""Policies by name, from the package or from entry points of other packages.

Another package offers a policy in its `pyproject.toml` as an entry point of the group `simgrid_broker.policies`, called
`<kind>.<name>`:

    [project.entry-points."simgrid_broker.policies"]
    "throttle.gentle" = "my_package.policies:gentle_throttle"

It must be callable like the package's own policy of that kind; a dispatch order is a `dispatch.DispatchOrder`.
"""

from importlib.metadata import entry_points

import simgrid_broker.policy.dispatch as dispatch  # not `from simgrid_broker.policy`, which imports this module
from simgrid_broker.policy.job_brokerage.broker import broker_jobs
from simgrid_broker.policy.pilots import new_workers
from simgrid_broker.policy.task_brokerage.broker import broker_task
from simgrid_broker.policy.throttle import throttle

GROUP = "simgrid_broker.policies"
"""Group of entry points in which policies are looked for."""

BUILT_IN = {
    "dispatch_order": {order.name: order for order in (dispatch.GLOBAL_SHARES, dispatch.PRIORITY, dispatch.AGE)},
    "pilot_submission": {"unified_pilot_streaming": new_workers},
    "throttle": {"job_throttler": throttle},
    "job_brokerage": {"production": broker_jobs},
    "task_brokerage": {"production": broker_task},
}
"""The package's own policies by kind and name."""


class UnknownPolicy(LookupError):
    """No policy of this kind has this name; known: the valid names."""

    def __init__(self, kind: str, name: str, known: tuple[str, ...]):
        super().__init__(f"no {kind} policy is called {name!r}; known are {', '.join(known)}")
        self.kind, self.name, self.known = kind, name, known


def policy(kind: str, name: str):
    """The policy of a kind by name; those of the package win over entry points of the same name.

    Raises UnknownPolicy for an unknown name, KeyError for a kind that does not exist, and whatever the import
    of another package raises.
    """
    if name in BUILT_IN[kind]:
        return BUILT_IN[kind][name]
    for entry in entry_points(group=GROUP):
        if entry.name == f"{kind}.{name}":
            return entry.load()
    raise UnknownPolicy(kind, name, names(kind))


def names(kind: str) -> tuple[str, ...]:
    """Names of all policies of a kind, sorted; entry points are not imported."""
    offered = (entry.name.removeprefix(f"{kind}.") for entry in entry_points(group=GROUP)
               if entry.name.startswith(f"{kind}."))
    return tuple(sorted({*BUILT_IN[kind], *offered}))
