"""Files to one checked, frozen `Scenario`.

What lives here: the models, the loader, gdpconfig, checks, importers, synthetic grids and workloads. What does not:
the running world (`world`) and anything that happens in simulated time.
"""

from simgrid_broker.scenario.check import remarks
from simgrid_broker.scenario.gdpconfig import REGISTRY, find, in_force, origins_in_force, with_setting
from simgrid_broker.scenario.loader import load_scenario
from simgrid_broker.scenario.model import Scenario
from simgrid_broker.scenario.origin import Origin

__all__ = ["Scenario", "load_scenario", "remarks", "Origin", "REGISTRY", "find", "in_force", "origins_in_force",
           "with_setting"]
