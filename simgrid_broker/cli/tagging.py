"""Streams of work that no share of a scenario takes."""

from typing import TYPE_CHECKING

from simgrid_broker.errors import Problem, nearest

if TYPE_CHECKING:
    from simgrid_broker.scenario import Scenario
    from simgrid_broker.scenario.campaigns import Payload

TAGS = ("processingtype", "workinggroup", "campaign", "transpath", "prodsourcelabel")
"""Fields of a stream by which its tasks are tagged, those first that are most often at fault."""


def untagged_streams(scenario: "Scenario") -> list[Problem]:
    """A problem for each stream of work whose tasks no share takes, where shares alone take tasks."""
    from simgrid_broker.scenario.cross_checks import leaf_of
    if scenario.work_queues:
        return []
    return [_problem(scenario, f"workload.{kind}[{position}]", stream) for kind in ("campaigns", "users")
            for position, stream in enumerate(getattr(scenario.workload, kind)) if leaf_of(scenario, stream) is None]


def _problem(scenario: "Scenario", key: str, stream: "Payload") -> Problem:
    """What a stream says, with the nearest expression of a share."""
    from simgrid_broker.world.share_tree import leaf_shares
    leaves = leaf_shares(scenario.shares_in_use)
    close = [(name, nearest(getattr(stream, name), [text for leaf in leaves if (text := getattr(leaf, name))]))
             for name in TAGS if getattr(stream, name)]
    name, found = next(((name, found) for name, found in close if found), ("processingtype", ()))
    origin = scenario.origin(f"{key}.{name}")
    if origin.line is None:
        origin = scenario.origin(key)
    return Problem(origin.file or origin.kind, origin.line, f"{key}.{name}", getattr(stream, name),
                   "no share takes its tasks: name one (`gshare`), or give a share expressions that fit", found)
