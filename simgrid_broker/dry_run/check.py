"""Check of a run's decisions: each is compared with the dry run on a snapshot of the state in which it was made."""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import isclose
from typing import Any

import numpy as np

from simgrid_broker import luck
from simgrid_broker.agents.control import Control
from simgrid_broker.agents.run.samples import snapshot_now
from simgrid_broker.dry_run.broker import broker, candidates_of
from simgrid_broker.dry_run.decision import Candidate
from simgrid_broker.errors import DecisionsDiffer
from simgrid_broker.names import DecisionKind
from simgrid_broker.scenario import Snapshot
from simgrid_broker.views import Verdict
from simgrid_broker.world.snapshot.tasks import InHand, PlannedMerge

TOLERANCE = 1e-9
"""Relative difference of figures that are still equal: sums may be taken in another order."""
COMPARED = ("criterion", "value", "limit", "weighed", "weight", "order", "probability", "running", "assigned", "queued",
            "cap", "network_weight", "longest", "room", "jumbo")
"""Figures of a candidate that are compared, beside its factors."""
DECISION_CHECK = luck.STREAMS["decision_check"]


class DecisionCheck:
    """Check of a part of the decisions of a run; raises DecisionsDiffer.

    A decision is chosen by its task, its broker and its number among those of this broker about the task. n_checked:
    decisions compared so far.
    """

    def __init__(self, control: Control, part: float):
        self.control, self.part, self.n_checked = control, part, 0
        self.numbers: Counter[tuple[DecisionKind, int]] = Counter()

    def __call__(self, kind: DecisionKind, asked: InHand | PlannedMerge, verdict: Verdict,
                 sites: np.ndarray | None = None) -> None:
        """Compare a decision, if it is chosen, with the dry run of the state in which it was made."""
        if not self._is_chosen(kind, asked.row):
            return
        self.n_checked += 1
        control, words = self.control, self.control.world.vocabularies["sites"]
        names = control.brokers.queues.names if sites is None else [words[site] for site in sites]
        made = candidates_of(control.brokers, kind.word, names, verdict)
        values = snapshot_now(control, asked)
        dry = broker(Snapshot.from_dict(values))
        found = list(differences(made, dry.candidates))
        if dry.brokerage != kind.word:
            found = [f"{kind.word} in the run, {dry.brokerage} in the dry run"]
        if found:
            jeditaskid = control.arrays.tasks["jeditaskid"][asked.row]
            raise DecisionsDiffer(f"{kind.word} at {control.now:.15g} s about task {jeditaskid}", found, values)

    def _is_chosen(self, kind: DecisionKind, row: int) -> bool:
        """Choose a part of the decisions."""
        task = self.control.arrays.tasks[row]
        key = kind, int(task["jeditaskid"])
        self.numbers[key] += 1
        draw = luck.uniform(self.control.seed, DECISION_CHECK, task["luck"], int(kind), self.numbers[key])
        return bool(draw < self.part)


def differences(made: Sequence[Candidate], dry: Sequence[Candidate]) -> Iterator[str]:
    """Sentences about the figures in which the candidates of a run and of a dry run differ."""
    of_dry = {each.name: each for each in dry}
    for each in made:
        other = of_dry.pop(each.name, None)
        if other is None:
            yield f"{each.name} is a candidate in the run alone"
            continue
        first, second = figures_of(each), figures_of(other)
        for name in first | second:
            if not is_equal(first.get(name), second.get(name)):
                yield (f"{each.name}: {name} {shown(first.get(name))} in the run, {shown(second.get(name))} in the "
                       f"dry run ({each.criterion or 'kept'} in the run, {other.criterion or 'kept'} in the dry run)")
                break
    yield from (f"{name} is a candidate in the dry run alone" for name in of_dry)


def figures_of(candidate: Candidate) -> dict[str, Any]:
    """Figures of a candidate by name."""
    return {name: getattr(candidate, name) for name in COMPARED} | {
        f"factor {name}": number for name, number in candidate.factors.items()}


def is_equal(one: Any, other: Any) -> bool:
    """Equality of two figures, of numbers within the tolerance."""
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return one == other or isclose(one, other, rel_tol=TOLERANCE, abs_tol=1e-300)
    return bool(one == other)


def shown(figure: Any) -> str:
    """Figure in a message."""
    return "none" if figure is None else f"{figure:.12g}" if isinstance(figure, float) else str(figure)
