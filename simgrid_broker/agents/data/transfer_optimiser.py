"""Transfer optimiser: FTS shares doors and backbones among the links, and adapts their limits of active files."""

from simgrid_broker.agents.control import Control, Process


def transfer_optimiser(control: Control) -> Process:
    """Let FTS look at every link with files, in each cycle."""
    period, background = control.periods.transfer_optimiser, control.world.scenario.grid.links.background

    def cycle() -> None:
        load = background.load_at(control.now)
        if load != control.world.capacities.background:
            control.fabric.set_background(load)
        control.fabric.share_gates(control.now, period)
    yield from control.every(period, cycle, "transfer_optimiser")
