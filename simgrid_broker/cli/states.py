"""The state machines as sections of the reference and as Mermaid diagrams."""

from simgrid_broker.cli.text import Section
from simgrid_broker.world.states import MACHINES, Machine, Move

HEAD = ("status", "meaning", "moves to", "source")
MOVE_HEAD = ("from", "to", "by", "when")
FINAL = "- (final)"


def sections() -> list[Section]:
    """One section per state machine."""
    return [Section(machine.title, f"Statuses of a {machine.title}, their meaning and their successors.", HEAD,
                    _rows(machine), machine.title) for machine in MACHINES]


def _rows(machine: Machine) -> tuple[tuple[str, ...], ...]:
    return tuple((status.word, meaning, ", ".join(new.word for new in machine.next(status)) or FINAL,
                  machine.sources(status)) for status, meaning in machine.meaning.items())


def moves(machine: Machine) -> Section:
    """The moves of a machine, with the agent that makes each and its condition."""
    rows = tuple((whence(move), move.new.word, move.by, move.when) for move in machine.moves)
    return Section(f"Moves of a {machine.title}", "Who makes each move, and when.", MOVE_HEAD, rows, machine.title)


def whence(move: Move) -> str:
    """The statuses from which a move is allowed, as text."""
    return move.whence or ", ".join(old.word for old in move.old)


def diagram(machine: Machine) -> str:
    """A machine as a Mermaid state diagram; moves from almost every status have one arrow from a group."""
    lines = ["stateDiagram-v2", "    direction LR"]
    groups = tuple(dict.fromkeys(move.whence for move in machine.moves if move.whence))
    lines += [f'    state "{text}" as group{number}' for number, text in enumerate(groups)]
    arrows = []
    for move in machine.moves:
        olds = [f"group{groups.index(move.whence)}"] if move.whence else [old.word for old in move.old]
        arrows += [f"    {old} --> {move.new.word}" for old in olds if old != move.new.word]
    return "\n".join([*lines, *dict.fromkeys(arrows)])
