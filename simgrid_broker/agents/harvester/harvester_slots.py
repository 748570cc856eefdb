"""Harvester_Slots: rows expire, and the slots that come with some of them open and close.

Source: formats reference, section 7.3 (expirationtime). When slots open is the scenario's to say: the sources do not
tell how a resource gives what was requested of it.
"""

from simgrid_broker.agents.control import Control, Process
from simgrid_broker.world.queues.slots import openings


def harvester_slots(control: Control) -> Process:
    """Open slots and forget rows, each at its moment."""
    world, fabric, found = control.world, control.fabric, list(openings(control.world))
    expiries = {row.expires for rows in world.slots.values() for row in rows if row.expires is not None}
    for moment in sorted(expiries | {each.opens_s for each in found}):
        yield control.env.timeout(moment - control.now)
        world.forget_expired(moment)
        for each in found:
            if each.expires_s == moment:
                fabric.close_slots(each.pool, each.cores, each.memory_mb)
            if each.opens_s == moment:
                fabric.open_slots(each.pool, each.cores, each.memory_mb, moment)
