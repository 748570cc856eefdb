"""Caches of PanDA's and JEDI's processes: operators change the share tree and gdpconfig, processes learn of it later.

Source: lifecycle reference, section 1.3. Simplified: all processes load at the same time.
"""

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.world.shares import share_tree


def share_tree_cache(control: Control) -> Process:
    """Load the share tree."""
    def load() -> None:
        control.world.loaded_tree = share_tree(control.world.shares)
    yield from control.every(control.periods.share_tree, load, "share_tree")


def gdpconfig_cache(control: Control) -> Process:
    """Load the values of gdpconfig."""
    yield from control.every(control.periods.gdpconfig, control.policies.load_config, "gdpconfig")
