"""Remarks on a scenario: what is legal but suspicious by itself, and settings that no policy reads."""

from collections.abc import Iterator

from simgrid_broker.policy.readers import readers
from simgrid_broker.scenario import Scenario, cross_checks, find


def remarks(scenario: Scenario) -> tuple[str, ...]:
    """Warnings about legal but suspicious settings, and remarks from the importers; one sentence each."""
    return (*cross_checks.remarks(scenario), *settings_without_effect(scenario))


def settings_without_effect(scenario: Scenario) -> Iterator[str]:
    """Keys of gdpconfig that nothing in the simulator reads, or nothing in the edition of the scenario."""
    for name in cross_checks.settings_of(scenario):
        read = [match.entry for match in find(name) if match.entry in readers()]
        if not read:
            yield f"gdpconfig key {name!r} has no effect: nothing in the simulator reads it."
        elif not any(scenario.edition in entry.editions for entry in read):
            yield f"gdpconfig key {name!r} has no effect: only the {read[0].editions[0]} edition reads it."
