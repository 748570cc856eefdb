"""The state machines as sections of the reference."""

from simgrid_broker.cli.text import Section
from simgrid_broker.world.states import MACHINES, Machine

HEAD = ("status", "meaning", "moves to", "source")
FINAL = "- (final)"


def sections() -> list[Section]:
    """One section per state machine."""
    return [Section(machine.title, f"Statuses of a {machine.title}, their meaning and their successors.", HEAD,
                    _rows(machine), machine.title) for machine in MACHINES]


def _rows(machine: Machine) -> tuple[tuple[str, ...], ...]:
    return tuple((status.word, meaning, ", ".join(new.word for new in machine.next(status)) or FINAL,
                  machine.sources(status)) for status, meaning in machine.meaning.items())
