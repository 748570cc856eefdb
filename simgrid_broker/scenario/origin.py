"""Where the values of a scenario come from.

What lives here: `Origin`. What does not: keeping track of origins while files are read and laid over each other
(`draft`).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Origin:
    """Where a value comes from.

    kind: "default", "file", "command line", "python", "synthetic grid" or "CRIC"; file and line say where it was
    written, or for a grid that was made up or imported, where that was asked for.
    """

    kind: str
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        if self.kind == "file":
            return str(place)
        return self.kind if place is None else f"{self.kind} ({place})"


DEFAULT = Origin("default")
"""Origin of what nobody wrote."""

COMMAND_LINE = Origin("command line")
"""Origin of what was set on the command line."""

PYTHON = Origin("python")
"""Origin of what a program set."""

SYNTHETIC = "synthetic grid"
"""Kind of origin of a grid that was made up."""

CRIC = "CRIC"
"""Kind of origin of a grid that was imported from CRIC."""
