"""State machines: statuses with their meaning, and the allowed moves."""

from collections.abc import Mapping
from dataclasses import dataclass

from simgrid_broker.names import Word


@dataclass(frozen=True)
class Move:
    """An allowed move from one or several statuses to one.

    by: PanDA's name of the agent; when: condition; whence: common name of the statuses in `old`, if there are too many
    to draw.
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
        """Successors of a status, in the order of the moves, each once."""
        return tuple(dict.fromkeys(move.new for move in self.moves if status in move.old and status != move.new))

    def sources(self, status: Word) -> str:
        """Sources of a status and of the moves from it."""
        found = (*self.source.split("; "), *(move.source for move in self.moves if status in move.old))
        return "; ".join(dict.fromkeys(found))
