"""`progress.json` in the folder of a run while it runs: how far it is, its jobs and shares so far, and its process."""

import json
import os
import platform
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from simgrid_broker.errors import OutputError
from simgrid_broker.files import write_whole

FILE = "progress.json"
EVERY_S = 1.0
"""Least wall-clock time between two writings."""


class ProgressFile:
    """Progress of a run, written at most once in EVERY_S, first when it begins, and removed at its end.

    shares: names of the leaf shares, with their targets, % of the power in use.
    """

    def __init__(self, folder: Path, duration_s: float, shares: Sequence[str], targets: np.ndarray):
        self.path = Path(folder) / FILE
        self._lasting = {"duration_s": duration_s, **this_process()}
        self._names, self._targets = list(shares), targets
        self._power, self._written = np.zeros(len(self._names)), -EVERY_S

    def add(self, simulated_s: float, power: np.ndarray, counts: Mapping[str, int]) -> None:
        """Add a moment: power in use by each leaf, (n_shares,), HS06; counts: figures by name."""
        self._power += power
        if time.monotonic() - self._written >= EVERY_S:
            self._written = time.monotonic()
            got = 100 * self._power / self._power.sum() if self._power.any() else self._power
            shares = [dict(share=name, target=float(target), got=float(part)) for name, target, part in zip(
                self._names, self._targets, got, strict=True)]
            with suppress(OutputError):                     # the tables say whether results can be written
                write_whole(self.path, json.dumps(self._lasting | {
                    "simulated_s": simulated_s, **counts, "shares": shares}, ensure_ascii=False))

    def remove(self) -> None:
        """Remove the file: the run is over."""
        self.path.unlink(missing_ok=True)


def read_progress(folder: Path) -> dict[str, Any] | None:
    """Progress of the run in a folder; None of one that does not run, as it has ended or its process was killed."""
    try:
        progress = json.loads((Path(folder) / FILE).read_text(encoding="utf-8"))
        return progress if is_alive(progress) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def this_process() -> dict[str, Any]:
    """Host, number and begin of this process, which tell it from every other one."""
    return process(os.getpid())


def process(pid: int) -> dict[str, Any]:
    """Host, number and begin of a process of this machine."""
    return {"host": platform.node(), "pid": pid, "begun": _begin_of(pid)}


def is_alive(given: Mapping[str, Any]) -> bool:
    """True if a process, as `process` tells it, runs; one of another machine is taken to run."""
    return given["host"] != platform.node() or _begin_of(int(given["pid"])) == given["begun"] is not None


def _begin_of(pid: int) -> str | None:
    """Begin of a process, in ticks since the machine was started; None if there is none, or it has ended."""
    try:
        state, *others = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    return None if state == "Z" else others[18]
