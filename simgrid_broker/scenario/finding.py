"""What a check finds wrong in a scenario, before it is known where that was written.

What lives here: `Finding`. What does not: the checks (`check`, `rules_*`), and files and lines (`resolve` adds them).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: the key as steps from the top of the scenario, its value, and what was expected.

    of_absence: the finding says that something is nowhere to be found, so it means nothing while entries that could
    not be read are left out; unknown: the name that nothing has, where that is not the value itself; hangs_on: keys of
    other values without which it means nothing.
    """

    key: tuple[str | int, ...]
    value: object
    expected: str
    nearest: tuple[str, ...] = ()
    of_absence: bool = False
    unknown: str | None = None
    hangs_on: tuple[tuple[str | int, ...], ...] = ()


def dotted(key: tuple[str | int, ...]) -> str:
    """A key as a user writes it: `grid.queues.CERN.corecount`, `shares[0].value`."""
    text = ""
    for step in key:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text
