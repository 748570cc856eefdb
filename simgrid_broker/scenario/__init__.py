"""Scenario and snapshot files to one checked, frozen `Scenario` or `Snapshot`."""

from simgrid_broker.gdpconfig import find
from simgrid_broker.scenario.checks.cross_checks import remarks
from simgrid_broker.scenario.gdpconfig import in_force, origins_in_force
from simgrid_broker.scenario.loading.loader import as_scenario, load_scenario, load_snapshot
from simgrid_broker.scenario.loading.origins import Origin
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.scenario.snapshot import Snapshot

__all__ = ["Scenario", "Snapshot", "as_scenario", "load_scenario", "load_snapshot", "remarks", "Origin", "find",
           "in_force", "origins_in_force"]
