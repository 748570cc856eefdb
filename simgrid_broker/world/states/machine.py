"""The shape of a state machine: statuses with their meaning, and the moves between them."""

from collections.abc import Mapping
from dataclasses import dataclass

from simgrid_broker.names import Word


@dataclass(frozen=True)
class Move:
    """One allowed move, or one to the same status from several.

    by: the agent that makes it, PanDA's name; when: on what condition; whence: how all the statuses in `old` are called
    together, if there are too many to draw.
    """

    old: tuple[Word, ...]
    new: Word
    by: str
    when: str
    source: str
    whence: str = ""


@dataclass(frozen=True)
class Machine:
    """All statuses of tasks or jobs with their meaning, and all their moves; source: of the statuses."""

    title: str
    meaning: Mapping[Word, str]
    moves: tuple[Move, ...]
    source: str

    @property
    def pairs(self) -> frozenset[tuple[Word, Word]]:
        """Every allowed move as (old, new)."""
        return frozenset((old, move.new) for move in self.moves for old in move.old if old != move.new)

    def next(self, status: Word) -> tuple[Word, ...]:
        """Statuses that can follow one, in the order of the table of moves, each once."""
        return tuple(dict.fromkeys(move.new for move in self.moves if status in move.old and status != move.new))

    def sources(self, status: Word) -> str:
        """Where the status and the moves out of it stand."""
        found = (*self.source.split("; "), *(move.source for move in self.moves if status in move.old))
        return "; ".join(dict.fromkeys(found))
